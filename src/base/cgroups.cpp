// SPDX-License-Identifier: Apache-2.0
#include "base/cgroups.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace cachalot {

std::string small_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return std::move(text).str();
}

std::optional<std::int64_t> leading_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::int64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) return std::nullopt;
  return value;
}

// Lines "0::/a/b" of cgroup 2, "7:memory,hugetlb:/a/b" of cgroup 1; a path may have colons.
void each_cgroup(const std::filesystem::path& root, std::string_view controller,
                 const std::function<void(const Cgroup&)>& see) {
  std::istringstream lines(small_file(root / "proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const bool unified = controllers == ",,";
    if (!unified && controllers.find(fmt::format(",{},", controller)) == controllers.npos) continue;
    const std::filesystem::path mount =
        unified ? root / "sys/fs/cgroup" : root / "sys/fs/cgroup" / std::filesystem::path(controller);
    std::filesystem::path group = (std::filesystem::path("/") / line.substr(second + 1)).lexically_normal();
    for (;; group = group.parent_path()) {
      see({unified ? 2 : 1, group, mount / group.relative_path()});
      if (group == group.parent_path()) break;
    }
  }
}

}  // namespace cachalot
