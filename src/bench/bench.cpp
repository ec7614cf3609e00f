// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "base/check.h"

namespace cachalot {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double median(std::vector<double>& v) {
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::ranges::nth_element(v, middle);
  return *middle;
}

bool writes_much(const Work& w) { return 4 * w.written >= w.read + w.written; }

}  // namespace

double BenchReport::floor_of_bytes() const {
  return static_cast<double>(bytes()) / (writes_much(work) ? roofs.copy : roofs.read);
}
double BenchReport::floor_of_flops() const { return static_cast<double>(work.flops) / roofs.flops; }

const char* BenchReport::roof() const {
  if (floor_of_flops() > floor_of_bytes()) return "fma";
  return writes_much(work) ? "copy" : "read";
}

double BenchReport::share() const { return std::max(floor_of_bytes(), floor_of_flops()) / seconds; }

Bench::Bench(BenchOptions options)
    : options_(std::move(options)), context_(options_.threads), meter_(options_.working_set) {}

Roofs Bench::roofs_of_one_thread() {
  ThreadPool one(1);
  return meter_.measure(one);
}

void Bench::begin(std::string_view op) {
  op_ = op;
  roofs_ = roofs();
}

void Bench::time(BenchReport report, Memory& memory, const std::vector<std::size_t>& outputs,
                 const std::function<void(std::size_t set)>& run) {
  constexpr std::int64_t enough = 5;  // runs, unless they take very long
  const std::size_t sets = outputs.size() - 1;
  memory.poison(0, outputs.back());
  run(sets - 1);  // not measured: scratch grows, threads wake
  std::vector<double> seconds;
  bool done = false;
  const auto start = Clock::now();
  while (!done) {
    // All sets at once, before and after a turn, so that neither brings a run's memory into the caches.
    memory.poison(0, outputs.back());
    std::size_t ran = 0;
    while (ran < sets && !done) {
      if (options_.stopped()) return;
      const auto begin = Clock::now();
      run(ran++);
      seconds.push_back(since(begin));
      const double spent = since(start) / std::max(options_.seconds, 1e-9);
      done = spent >= 4 || (spent >= 1 && std::ssize(seconds) >= enough);
    }
    const std::string what =
        fmt::format("{} [{}], {} rows: every output written, and finite", report.op, report.shape, report.rows);
    check(memory.filled(0, outputs[ran]), what.c_str());
  }
  report.runs = std::ssize(seconds);
  report.best = std::ranges::min(seconds);
  report.seconds = median(seconds);
  options_.report(report);
}

}  // namespace cachalot
