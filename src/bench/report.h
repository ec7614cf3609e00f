// SPDX-License-Identifier: Apache-2.0
// Measurements as text: a table for people, CSV for comparing.
#pragma once

#include <string>
#include <vector>

#include "bench/bench.h"
#include "bench/machine.h"

namespace cachalot {

// What all measurements of a run have in common.
struct BenchRun {
  std::string command;  // that was typed
  std::string backend;
  std::string simd;
  int threads = 1;
  Machine machine;
  Roofs one_thread{}, all_threads{};  // at the start
  std::string load{};                 // at the start
};

// CPU, cores, SIMD level, roofs, load.
std::string machine_text(const BenchRun& run);

std::string table_header();
std::string table_line(const BenchReport& report);

// Comment lines (#) with the command and the machine, then a line of names.
std::string csv_header(const BenchRun& run);
std::string csv_line(const BenchRun& run, const BenchReport& report);

}  // namespace cachalot
