// SPDX-License-Identifier: Apache-2.0
// How many threads can really run at once.
#pragma once

#include <filesystem>

namespace cachalot {

// Cores this process may run on, at least 1: its affinity, and the time that its cgroups (1 or 2) grant it, rounded up.
// Reads proc/ and sys/ under `root`.
int usable_cores(const std::filesystem::path& root = "/");

}  // namespace cachalot
