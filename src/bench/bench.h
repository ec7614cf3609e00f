// SPDX-License-Identifier: Apache-2.0
// Measures operators: the median of runs, as a share of the roof that binds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/memory.h"
#include "bench/roofs.h"
#include "bench/work.h"
#include "ops/backend.h"

namespace cachalot {

// One measured shape.
struct BenchReport {
  std::string op;
  std::string shape;
  std::int64_t rows = 0;
  Work work;              // of one run
  std::int64_t runs = 0;  // measured ones
  double seconds = 0;     // median
  double best = 0;        // seconds of the fastest run: on a busy machine, what the others left once
  Roofs roofs{};          // measured just before the operator, with the same threads

  std::int64_t bytes() const { return work.read + work.written; }
  double bytes_per_second() const { return static_cast<double>(bytes()) / seconds; }
  double flops_per_second() const { return static_cast<double>(work.flops) / seconds; }
  // The roof that allows least: "read", "copy" (where at least a quarter of the bytes is written) or "fma".
  const char* roof() const;
  // The time that roof allows, over the time taken. Above 1 where inputs fit the caches after all, or where the machine
  // was busy while the roof was measured.
  double share() const;

 private:
  double floor_of_bytes() const;
  double floor_of_flops() const;
};

struct BenchOptions {
  const Backend* backend = &cpu_backend();
  int threads = 1;
  std::vector<std::int64_t> rows = {1, 64};  // of a step; a shape that has no rows is measured once
  bool tiny = false;                         // shapes for tests instead of the released model's
  double seconds = 0.3;                      // to spend on each shape; at least one run
  std::int64_t working_set = 0;              // bytes that inputs and outputs rotate over, to find caches cold
  std::function<void(const BenchReport&)> report{};
  std::function<bool()> stopped = [] { return false; };  // asked before each shape and run
};

class Bench {
 public:
  explicit Bench(BenchOptions options);

  const std::vector<std::int64_t>& rows() const { return options_.rows; }
  // A dimension of the released model, or the one for tests.
  std::int64_t size(std::int64_t released, std::int64_t tiny) const { return options_.tiny ? tiny : released; }

  // Roofs with the threads of the options, and with one.
  Roofs roofs() { return meter_.measure(context_.pool); }
  Roofs roofs_of_one_thread();

  // Measures roofs anew for the shapes that follow, which are `op`'s.
  void begin(std::string_view op);

  // Runs one entry of the backend at one shape. make(memory) gives arguments; it is called until the working set is
  // reached, so what all runs shall share lives in a Memory outside. work(args) counts what a run does.
  template <class Args, class Make>
  void measure(void (*Backend::*entry)(Context&, const Args&), std::string shape, std::int64_t rows,
               Work (*work)(const Args&), Make make) {
    if (options_.stopped()) return;
    Memory memory;
    std::vector<Args> sets;
    std::vector<std::size_t> outputs = {0};  // set i has outputs outputs[i] … outputs[i + 1] - 1
    do {
      sets.push_back(make(memory));
      outputs.push_back(memory.outputs());
    } while (memory.bytes() < options_.working_set && sets.size() < most_sets);
    const auto run = [&](std::size_t set) { (options_.backend->*entry)(context_, sets[set]); };
    time({.op = op_, .shape = std::move(shape), .rows = rows, .work = work(sets[0]), .roofs = roofs_}, memory, outputs,
         run);
  }

 private:
  static constexpr std::size_t most_sets = 4096;

  void time(BenchReport report, Memory& memory, const std::vector<std::size_t>& outputs,
            const std::function<void(std::size_t set)>& run);

  BenchOptions options_;
  Context context_;
  RoofMeter meter_;
  std::string op_;
  Roofs roofs_;
};

}  // namespace cachalot
