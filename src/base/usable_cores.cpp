// SPDX-License-Identifier: Apache-2.0
#include "base/usable_cores.h"

#include <sched.h>

#include <algorithm>
#include <optional>
#include <string>
#include <thread>

#include "base/cgroups.h"

namespace cachalot {

int usable_cores(const std::filesystem::path& root) {
  cpu_set_t set;
  std::int64_t cores = sched_getaffinity(0, sizeof set, &set) == 0
                           ? CPU_COUNT(&set)
                           : static_cast<std::int64_t>(std::thread::hardware_concurrency());
  each_cgroup(root, "cpu", [&](const Cgroup& group) {
    std::optional<std::int64_t> quota, period;  // microseconds of all cores together in each period
    if (group.version == 2) {
      const std::string both = small_file(group.folder / "cpu.max");  // "max 100000" or "200000 100000"
      quota = leading_number(both);
      period = leading_number(std::string_view(both).substr(std::min(both.find(' '), both.size())));
    } else {
      quota = leading_number(small_file(group.folder / "cpu.cfs_quota_us"));  // -1: none
      period = leading_number(small_file(group.folder / "cpu.cfs_period_us"));
    }
    if (quota && period && *quota > 0 && *period > 0) cores = std::min(cores, (*quota + *period - 1) / *period);
  });
  return static_cast<int>(std::max<std::int64_t>(1, cores));
}

}  // namespace cachalot
