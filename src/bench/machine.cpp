// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.h"

#include <fstream>

#include "base/thread_pool.h"
#include "base/usable_cores.h"

namespace cachalot {
namespace {

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) {
      const auto at = line.find(": ");
      if (at != std::string::npos) return line.substr(at + 2);
    }
  }
  return "unknown CPU";
}

std::int64_t last_cache() {
  std::int64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    std::int64_t size = 0;
    char unit = 0;  // "32768K", "32M"
    if (file >> size >> unit) largest = std::max(largest, size << (unit == 'M' ? 20 : 10));
  }
  return largest > 0 ? largest : std::int64_t{32} << 20;
}

}  // namespace

Machine this_machine() { return {cpu_model(), usable_cores(), last_cache()}; }

std::string load_average() {
  std::ifstream file("/proc/loadavg");
  std::string one, five, fifteen;
  if (file >> one >> five >> fifteen) return one + " " + five + " " + fifteen;
  return "unknown";
}

}  // namespace cachalot
