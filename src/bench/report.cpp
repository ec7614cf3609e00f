// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"

#include <fmt/core.h>

namespace cachalot {
namespace {

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string roofs_text(int threads, const Roofs& r) {
  return fmt::format("roofs, {} thread{}: read {:.1f} GB/s, copy {:.1f} GB/s read + written, f32 FMA {:.1f} GFLOP/s",
                     threads, threads == 1 ? "" : "s", r.read / 1e9, r.copy / 1e9, r.flops / 1e9);
}

std::string csv_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

}  // namespace

std::string machine_text(const BenchRun& run) {
  std::string text =
      fmt::format("{}, {} cores, {} MiB last cache; {} ({}), {} threads; load average {}\n", run.machine.cpu,
                  run.machine.cores, run.machine.last_cache_bytes >> 20, run.backend, run.simd, run.threads, run.load);
  text += roofs_text(1, run.one_thread) + '\n';
  if (run.threads > 1) text += roofs_text(run.threads, run.all_threads) + '\n';
  return text;
}

std::string table_header() {
  return fmt::format("{:<18} {:<44} {:>5} {:>10} {:>8} {:>9} {:>12}\n", "operator", "shape", "rows", "median", "GB/s",
                     "GFLOP/s", "of its roof");
}

std::string table_line(const BenchReport& r) {
  return fmt::format("{:<18} {:<44} {:>5} {:>10} {:>8.2f} {:>9.2f} {:>6.1f}% {}\n", r.op, r.shape, r.rows,
                     time_text(r.seconds), r.bytes_per_second() / 1e9, r.flops_per_second() / 1e9, 100 * r.share(),
                     r.roof());
}

std::string csv_header(const BenchRun& run) {
  std::string text = fmt::format("# {}\n", run.command);
  std::string machine = machine_text(run);
  for (std::size_t begin = 0; begin < machine.size();) {
    const std::size_t end = machine.find('\n', begin);
    text += "# " + machine.substr(begin, end - begin) + '\n';
    begin = end + 1;
  }
  return text +
         "op,shape,rows,backend,threads,simd,runs,bytes_read,bytes_written,flops,median_seconds,best_seconds,gb_per_s,"
         "gflop_per_s,"
         "roof,share,roof_read_gb_per_s,roof_copy_gb_per_s,roof_fma_gflop_per_s\n";
}

std::string csv_line(const BenchRun& run, const BenchReport& r) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{:.4g},{:.4g},{:.3f},{:.3f},{},{:.3f},{:.1f},{:.1f},{:.1f}\n", r.op,
                     csv_text(r.shape), r.rows, run.backend, run.threads, run.simd, r.runs, r.work.read, r.work.written,
                     r.work.flops, r.seconds, r.best, r.bytes_per_second() / 1e9, r.flops_per_second() / 1e9, r.roof(),
                     r.share(), r.roofs.read / 1e9, r.roofs.copy / 1e9, r.roofs.flops / 1e9);
}

}  // namespace cachalot
