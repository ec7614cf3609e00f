// SPDX-License-Identifier: Apache-2.0
// The cgroups this process is in: what a container, a service or a batch system lets it have.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cachalot {

// One group of cgroup 2, or of the named controller's hierarchy of cgroup 1.
struct Cgroup {
  int version = 2;
  std::filesystem::path name;    // "/a/b"
  std::filesystem::path folder;  // of its files
};

// Shows the group that the process is in for `controller` ("memory", "cpu"), and all groups around it, to the root:
// each may have limits of its own. Reads proc/ and sys/ under `root`. Inside a container the name may be that of the
// host, which is not mounted there; the container's own limit then lies at the root.
void each_cgroup(const std::filesystem::path& root, std::string_view controller,
                 const std::function<void(const Cgroup&)>& see);

// The text of a small file, empty where it can't be read.
std::string small_file(const std::filesystem::path& path);

// A whole number at the start of a text; nothing for "max", "unlimited" and what does not fit.
std::optional<std::int64_t> leading_number(std::string_view text);

}  // namespace cachalot
