// SPDX-License-Identifier: Apache-2.0
// How much memory this process may have: what the machine has left, and the limits that a container, a service or a
// shell has set on it. A plan made from the machine's memory alone ends with the process killed in its middle.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/expected.h"

namespace cachalot {

// A number of bytes, and who says so: "cgroup /a/b, memory.max".
struct MemoryBound {
  std::int64_t bytes = 0;
  std::string from;
};

struct MachineMemory {
  std::optional<MemoryBound> limit;      // the least of MemTotal and the limits of this process's cgroups
  std::optional<MemoryBound> available;  // what may still be taken: the least of MemAvailable and the room they leave
  std::optional<MemoryBound> address_space;  // what RLIMIT_AS leaves; mapped files count
  std::optional<MemoryBound> data;           // what RLIMIT_DATA leaves; mapped files do not count
  std::int64_t thread_stack = 0;             // address space of each new thread
};

// Pages of files that can be read again count as room, in a cgroup as in the machine. Swap does not: a model in swap
// runs, but not as anybody would want it to. Reads proc/ and sys/ under `root`; what is not there or can't be read sets
// no bound.
MachineMemory machine_memory(const std::filesystem::path& root = "/");

// Whether `bytes` more can be taken for `what`, asked before work whose size a file or a client decides.
// Errors: Errc::memory, with what is left and who says so.
Status expect_room(std::int64_t bytes, std::string_view what);
Status expect_room(std::int64_t bytes, std::string_view what, const MachineMemory& machine);

}  // namespace cachalot
