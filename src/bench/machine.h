// SPDX-License-Identifier: Apache-2.0
// The machine that numbers were measured on.
#pragma once

#include <cstdint>
#include <string>

namespace cachalot {

struct Machine {
  std::string cpu;  // model name
  int cores;        // that this process may use
  std::int64_t last_cache_bytes;
};
Machine this_machine();  // what the system does not tell is "unknown CPU" and 32 MiB

// The load averages of 1, 5 and 15 minutes, "0.10 0.20 0.30"; "unknown" where the system does not tell.
std::string load_average();

}  // namespace cachalot
