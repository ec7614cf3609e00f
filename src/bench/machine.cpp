// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/thread_pool.h"
#include "base/usable_cores.h"

namespace cachalot {
namespace {

// Empty where there is no such file.
std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string cpu_model() {
  std::string model = cpu_model_of(text_of("/proc/cpuinfo"));
  return model.empty() ? "unknown CPU" : model;
}

std::int64_t last_cache() {
  std::int64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    largest = std::max(largest, cache_bytes_of(text_of(folder + "/size")));
  }
  return largest > 0 ? largest : std::int64_t{32} << 20;
}

}  // namespace

Machine this_machine() { return {cpu_model(), usable_cores(), last_cache()}; }

std::string load_average() { return load_average_of(text_of("/proc/loadavg")); }

std::string cpu_model_of(std::string_view cpuinfo) {
  std::istringstream lines{std::string(cpuinfo)};
  for (std::string line; std::getline(lines, line);) {
    const auto at = line.find(": ");
    if (line.starts_with("model name") && at != std::string::npos) return line.substr(at + 2);
  }
  return {};
}

std::int64_t cache_bytes_of(std::string_view size) {
  std::int64_t number = 0;
  const char* end = size.data() + size.size();
  const auto [unit, error] = std::from_chars(size.data(), end, number);
  if (error != std::errc() || unit == end || number < 0 || number >= std::int64_t{1} << 40) return 0;
  return *unit == 'K' ? number << 10 : *unit == 'M' ? number << 20 : 0;
}

std::string load_average_of(std::string_view load_averages) {
  std::istringstream words{std::string(load_averages)};
  std::string one, five, fifteen;
  if (words >> one >> five >> fifteen) return one + " " + five + " " + fifteen;
  return "unknown";
}

}  // namespace cachalot
