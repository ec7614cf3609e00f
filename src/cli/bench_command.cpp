// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_command.h"

#include <fmt/ranges.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>

#include "base/usable_cores.h"
#include "bench/operators.h"
#include "bench/report.h"
#include "cli/options/model_options.h"
#include "cli/output/terminal.h"
#include "device/cpu/simd_level.h"

namespace cachalot {
namespace {

struct BenchFlags {
  std::vector<std::string> operators;
  std::string backend = "cpu";
  std::optional<std::string> simd;  // none: the best there is
  int threads = usable_cores();
  std::int64_t rows = 0;  // 0: one and 64
  double seconds = 0.3;
  std::string csv;
};

// The command as it could be typed again, for the results' file.
std::string command_line(const BenchFlags& flags) {
  std::string text = fmt::format("cachalot bench{}{} --backend {} --threads {} --simd {} --seconds {}",
                                 flags.operators.empty() ? "" : " ", fmt::join(flags.operators, " "), flags.backend,
                                 flags.threads, simd_level().name, flags.seconds);
  if (flags.rows > 0) text += fmt::format(" --rows {}", flags.rows);
  return text;
}

Status measure(const BenchFlags& flags) {
  constexpr std::int64_t most_memory = std::int64_t{192} << 20;
  const auto benches = find_benches(flags.operators);
  if (!benches) return tl::unexpected(benches.error());
  const auto backend = find_backend(flags.backend);
  if (!backend) return tl::unexpected(backend.error());
  if (flags.simd) {
    const auto level = find_simd_level(*flags.simd);
    if (!level) return tl::unexpected(level.error());
    force_simd_level(*level);
  }
  std::ofstream csv;
  if (!flags.csv.empty()) {
    csv.open(flags.csv);
    if (!csv) return fail(Errc::io, "{}: can't be opened for writing", flags.csv);
  }

  catch_interrupts();
  BenchRun run{.command = command_line(flags),
               .backend = flags.backend,
               .simd = simd_level().name,
               .threads = flags.threads,
               .machine = this_machine(),
               .load = load_average()};
  BenchOptions options{.backend = *backend, .threads = flags.threads, .seconds = flags.seconds};
  if (flags.rows > 0) options.rows = {flags.rows};
  options.working_set = std::min(4 * run.machine.last_cache_bytes, most_memory);
  Progress progress;
  std::int64_t shapes = 0, operators = 0;
  options.report = [&](const BenchReport& report) {
    progress.clear();
    print_out(table_line(report));
    ++shapes;
    std::fflush(stdout);
    if (csv.is_open()) csv << csv_line(run, report) << std::flush;
  };
  options.stopped = interrupted;

  progress.show("measuring this machine's roofs …");
  Bench bench(options);
  run.one_thread = bench.roofs_of_one_thread();
  run.all_threads = bench.roofs();
  progress.clear();
  if (interrupted()) return fail(Errc::stopped, "bench: interrupted before the first operator");
  print_out(machine_text(run) + table_header());
  std::fflush(stdout);
  if (csv.is_open()) csv << csv_header(run);
  for (const OperatorBench& b : *benches) {
    progress.show(fmt::format("{} ({} of {}) …", b.op, ++operators, benches->size()));
    bench.begin(b.op);
    b.run(bench);
    progress.clear();
    if (interrupted()) return fail(Errc::stopped, "bench: interrupted in {}, after {} shapes", b.op, shapes);
  }
  print_out(fmt::format("load average at the end {}\n", load_average()));
  if (csv.is_open() && !csv) return fail(Errc::io, "{}: can't be written", flags.csv);
  return {};
}

}  // namespace

void add_bench_command(Command& program) {
  Command& command = program.add_command("bench", "How fast each operator is, as a share of this machine's roofs");
  const auto flags = std::make_shared<BenchFlags>();
  command.arguments("op", flags->operators,
                    fmt::format("operators: {} (default: all)", fmt::join(operator_names, ", ")));
  OptionGroup& what = command.group("Measurement");
  what.whole("--rows", flags->rows, 1, 4096, "rows of a step (default: 1, then 64)");
  what.number("--seconds", flags->seconds, 0, 3600, "to spend on each shape; at least one run").with_default();
  what.text("--csv", flags->csv, "also write the measurements to this file").not_empty().placeholder("FILE");
  OptionGroup& machine = command.group("Machine");
  machine.whole("-t,--threads", flags->threads, 1, 1024, "threads that compute, for the operators and for the roofs")
      .with_default();
  machine.text("--backend", flags->backend, "whose operators; see `cachalot inspect --backends`")
      .placeholder("NAME")
      .with_default();
  add_simd_flag(command, flags->simd);
  command.notes(
      "Weights are synthetic, at the released model's shapes: no checkpoint is needed. \"read\" and \"copy\" are "
      "streams from memory, \"fma\" f32 multiply-adds, measured before each operator with the same threads.\n"
      "A share above 100% means that inputs were found in the caches, or that others were using the machine while its "
      "roofs were measured.");
  command.examples({"cachalot bench", "cachalot bench linear expert_ffn --rows 1 --threads 2",
                    "cachalot bench --csv bench/results/my_cpu.csv"});
  command.runs([flags]() -> Expected<int> {
    const Status status = measure(*flags);
    if (!status) return tl::unexpected(status.error());
    return 0;
  });
}

}  // namespace cachalot
