// SPDX-License-Identifier: Apache-2.0
#include "base/machine_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <vector>

namespace cachalot {
namespace {

constexpr std::int64_t default_stack = 8 << 20;  // where the limit on stacks says nothing

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return std::move(text).str();
}

// A whole number at the start of a text; nothing for "max", "unlimited" and what does not fit.
std::optional<std::int64_t> number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::int64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) return std::nullopt;
  return value;
}

// The number after a word that starts a line: "MemTotal:  123 kB", "inactive_file 123".
std::optional<std::int64_t> value_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(key)) return number(line.substr(key.size()));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return std::nullopt;
}

// The same for what is told in kB.
std::optional<std::int64_t> kib_of(std::string_view text, std::string_view key) {
  const auto kib = value_of(text, key);
  if (!kib || *kib < 0 || *kib > std::numeric_limits<std::int64_t>::max() / 1024) return std::nullopt;
  return *kib * 1024;
}

void lower(std::optional<MemoryBound>& bound, std::int64_t bytes, std::string from) {
  if (!bound || bytes < bound->bytes) bound = MemoryBound{std::max<std::int64_t>(0, bytes), std::move(from)};
}

// The files of one of the two kinds of memory cgroups.
struct CgroupFiles {
  std::filesystem::path mount;
  std::vector<const char*> limits;
  const char* used;
  std::array<const char*, 2> files;  // memory.stat's keys for pages of files, idle and in use
};

// A group and all groups around it. Inside a container the path may be that of the host, which is not mounted there;
// the container's own limit then lies at the mount.
void lower_by_cgroups(MachineMemory& memory, const CgroupFiles& kind, std::filesystem::path group) {
  for (;; group = group.parent_path()) {
    const std::filesystem::path folder = kind.mount / group.relative_path();
    const std::string stat = text_of(folder / "memory.stat");
    for (const char* name : kind.limits) {
      const auto limit = number(text_of(folder / name)), used = number(text_of(folder / kind.used));
      if (!limit || *limit < 0) continue;
      const std::string from = fmt::format("cgroup {}, {}", group.string(), name);
      std::int64_t kept = used.value_or(0);
      for (const char* key : kind.files) kept -= value_of(stat, key).value_or(0);
      lower(memory.limit, *limit, from);
      lower(memory.available, *limit - std::max<std::int64_t>(0, kept), from);
    }
    if (group == group.parent_path()) return;
  }
}

// Lines "0::/a/b" of cgroup 2, "7:memory,hugetlb:/a/b" of cgroup 1; a path may have colons.
void lower_by_cgroups(MachineMemory& memory, const std::filesystem::path& root) {
  std::istringstream lines(text_of(root / "proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const std::filesystem::path group = std::filesystem::path("/") / line.substr(second + 1);
    if (controllers == ",,") {
      lower_by_cgroups(
          memory,
          {root / "sys/fs/cgroup", {"memory.max", "memory.high"}, "memory.current", {"inactive_file ", "active_file "}},
          group.lexically_normal());
    } else if (controllers.find(",memory,") != controllers.npos) {
      lower_by_cgroups(memory,
                       {root / "sys/fs/cgroup/memory",
                        {"memory.limit_in_bytes"},
                        "memory.usage_in_bytes",
                        {"total_inactive_file ", "total_active_file "}},
                       group.lexically_normal());
    }
  }
}

}  // namespace

MachineMemory machine_memory(const std::filesystem::path& root) {
  MachineMemory memory;
  const std::string system = text_of(root / "proc/meminfo");
  if (const auto total = kib_of(system, "MemTotal:")) lower(memory.limit, *total, "this machine's memory");
  if (const auto left = kib_of(system, "MemAvailable:")) lower(memory.available, *left, "this machine, MemAvailable");
  if (number(text_of(root / "proc/sys/vm/overcommit_memory")) == 2) {  // the system promises no more than it has
    const auto most = kib_of(system, "CommitLimit:"), promised = kib_of(system, "Committed_AS:");
    if (most && promised) lower(memory.available, *most - *promised, "this machine, CommitLimit");
  }
  lower_by_cgroups(memory, root);

  const std::string status = text_of(root / "proc/self/status"), limits = text_of(root / "proc/self/limits");
  if (const auto most = value_of(limits, "Max address space"))
    lower(memory.address_space, *most - kib_of(status, "VmSize:").value_or(0), "ulimit -v");
  if (const auto most = value_of(limits, "Max data size"))
    lower(memory.data, *most - kib_of(status, "VmData:").value_or(0), "ulimit -d");
  memory.thread_stack = value_of(limits, "Max stack size").value_or(default_stack);
  return memory;
}

}  // namespace cachalot
