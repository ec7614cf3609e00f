// SPDX-License-Identifier: Apache-2.0
// The machine that numbers were measured on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cachalot {

struct Machine {
  std::string cpu;  // model name
  int cores;        // that this process may use
  std::int64_t last_cache_bytes;
};
Machine this_machine();  // what the system does not tell is "unknown CPU" and 32 MiB

// The load averages of 1, 5 and 15 minutes, "0.10 0.20 0.30"; "unknown" where the system does not tell.
std::string load_average();

// What these read out of the kernel's files.
std::string cpu_model_of(std::string_view cpuinfo);           // /proc/cpuinfo; empty where no processor is named
std::int64_t cache_bytes_of(std::string_view size);           // of a cache's "size", such as 32768K; 0 for other text
std::string load_average_of(std::string_view load_averages);  // /proc/loadavg

}  // namespace cachalot
