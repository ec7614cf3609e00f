// SPDX-License-Identifier: Apache-2.0
#include "cli/verify_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_text.h"
#include "base/shown_text.h"
#include "cli/options/default_model.h"
#include "cli/options/model_options.h"
#include "cli/output/terminal.h"
#include "verify/verify_model.h"
#include "verify/verify_ops.h"
#include "verify/verify_structure.h"

namespace cachalot {
namespace {

struct VerifyFlags {
  std::string model;
  std::string golden;
  std::string ops;
  std::string numerics = "both";
  BackendFlags compute;
  bool has_backend = false;  // else all for operators, the reference for a model
  bool has_numerics = false, has_threads = false;
  bool values = false;
  bool strict = false;
  bool verbose = false;
};

void print_line(std::string_view line) {
  print_out(visible_line(line) + '\n');  // it has names of tensors and files in it
  std::fflush(stdout);
}

Status print_structure(const VerifyFlags& flags, bool& good) {
  auto facts = verify_structure(flags.model);
  if (!facts) return tl::unexpected(facts.error());
  for (const ShownText& warning : facts->warnings) print_line("warning: " + warning);
  print_line(
      fmt::format("structure: {} tensors in {} shards, {}: names, shapes and types are those the config asks for",
                  facts->tensors, facts->shards, byte_text(facts->bytes)));
  if (!flags.values) {
    if (flags.golden.empty())
      print_line("nothing was read or run: --values reads all tensors, --golden DIR compares with golden numbers");
    return {};
  }
  auto checkpoint = Checkpoint::open(flags.model);
  if (!checkpoint) return tl::unexpected(checkpoint.error());
  Progress progress;
  const ValueFacts values = verify_values(*checkpoint, [&](std::int64_t done, std::int64_t total) {
    constexpr std::int64_t mib = 1 << 20;
    progress.show("MiB read", done / mib, total / mib);
    return !interrupted();
  });
  progress.clear();
  for (const std::string& problem : values.problems) print_line("FAIL    " + problem);
  print_line(fmt::format("values: {} tensors, {} read, {} with values that no weight may have", values.tensors,
                         byte_text(values.bytes), values.problems.size()));
  if (values.stopped) {
    return fail(Errc::stopped, "verify: interrupted after {} of {} of values", byte_text(values.bytes),
                byte_text(checkpoint->bytes()));
  }
  good = good && values.problems.empty();
  return {};
}

// What works only with something to compare. A flag without it would promise a check that nobody makes.
Status expect_consistent(const VerifyFlags& flags) {
  const bool ops = !flags.ops.empty(), golden = !flags.golden.empty();
  if (flags.compute.reference_operators && !flags.has_backend)
    return fail(Errc::usage, "--reference-op sets back operators of one backend: name it with --backend");
  if (!golden && flags.has_numerics) return fail(Errc::usage, "--numerics works with --golden only");
  if (!golden && flags.has_threads) return fail(Errc::usage, "--threads works with --golden only");
  if (ops || golden) return {};
  for (const auto& [given, name] : {std::pair(flags.strict, "--strict"),
                                    {flags.verbose, "--verbose"},
                                    {flags.has_backend, "--backend"},
                                    {flags.compute.simd.has_value(), "--simd"}}) {
    if (given) return fail(Errc::usage, "{} works with --golden or --ops only: else nothing is computed", name);
  }
  return {};
}

Expected<bool> run(VerifyFlags& flags) {
  if (Status good = expect_consistent(flags); !good) return tl::unexpected(good.error());
  if (Status chosen = choose_backend(flags.compute); !chosen) return tl::unexpected(chosen.error());
  const bool operators_alone = !flags.ops.empty() && flags.model.empty() && flags.golden.empty() && !flags.values;
  if (!operators_alone) {
    const auto model = resolve_model(flags.model);
    if (!model) return tl::unexpected(model.error());
    flags.model = model->string();
    print_line(fmt::format("model: {}", flags.model));
  }
  const Backend* const chosen = flags.has_backend ? &flags.compute.table : nullptr;
  catch_interrupts();
  bool good = true;
  if (!operators_alone) {
    if (Status done = print_structure(flags, good); !done) return tl::unexpected(done.error());
  }
  if (flags.ops.empty() && flags.golden.empty()) return good;

  Progress progress;
  const auto show = [&](std::string_view at) { at.empty() ? progress.clear() : progress.show(at); };
  Report report(print_line,
                {.verbose = flags.verbose, .strict = flags.strict, .stopped = interrupted, .progress = show});
  if (!flags.ops.empty()) {
    const auto backends = chosen == nullptr ? all_backends() : std::span(&chosen, 1);
    if (Status done = verify_ops(flags.ops, backends, report); !done) return tl::unexpected(done.error());
  }
  if (!flags.golden.empty() && !interrupted()) {
    VerifyModelOptions options;
    options.backend = chosen;
    options.memory = chosen == nullptr ? nullptr : flags.compute.memory_space;
    options.threads = flags.compute.threads;
    if (flags.numerics != "both") {
      options.numerics = {flags.numerics == "f32" ? Numerics::f32 : Numerics::released};
    }
    options.progress = show;
    if (Status done = verify_model(flags.model, flags.golden, options, report); !done) {
      return tl::unexpected(done.error());
    }
  }
  progress.clear();
  if (interrupted()) {
    (void)report.finish();
    return fail(Errc::stopped, "verify: interrupted after {} case{}; the rest was not run", report.cases(),
                report.cases() == 1 ? "" : "s");
  }
  const bool all = report.finish();
  return all && good;
}

}  // namespace

void add_verify_command(Command& program) {
  Command& command =
      program.add_command("verify", "Check a checkpoint, or compare what is computed with golden numbers");
  auto flags = std::make_shared<VerifyFlags>();
  add_model_argument(
      command, flags->model,
      "folder of a checkpoint: its structure is always checked (default: the bundled model; with --ops alone, none)");
  OptionGroup& checks = command.group("Checks");
  checks.flag("--values", flags->values, "read all tensors: every value finite, no NaN among codes and scales");
  checks
      .text("--golden", flags->golden,
            "run the cases of this folder: those of its manifest.json, or the long text in released.safetensors and "
            "f32.safetensors")
      .placeholder("DIR");
  checks.text("--ops", flags->ops, "run every operator file of this folder").placeholder("DIR");
  const Option& numerics =
      checks.choice("--numerics", flags->numerics, {"released", "f32", "both"}, "which of the golden cases")
          .with_default();
  checks.flag("--strict", flags->strict, "fail also when something was not run");
  checks.flag("-v,--verbose", flags->verbose, "one line per tensor");
  flags->compute.backend = "reference";
  const Option& backend =
      add_backend_flags(command, flags->compute, "whose operators (default: all with --ops, else reference)");
  command.notes(
      "Exit code: 0 all good; 1 something failed, was left unread, or nothing was compared; 2 usage; 130 Ctrl-C, which "
      "ends it after the case that runs (a second one at once).");
  command.examples({"cachalot verify", "cachalot verify models/demo --values",
                    "cachalot verify models/prototype --golden build/release/golden/prototype",
                    "cachalot verify --ops build/release/golden/ops-a -v",
                    "cachalot verify models/prototype --golden build/release/golden/prototype --backend cpu "
                    "--reference-op sparse_attention --simd avx2 --threads 4"});
  const Option& threads = *command.find("--threads");
  command.runs([&backend, &numerics, &threads, flags]() -> Expected<int> {
    flags->has_backend = backend.given();
    flags->has_numerics = numerics.given();
    flags->has_threads = threads.given();
    const auto good = run(*flags);
    if (!good) return tl::unexpected(good.error());
    return *good ? 0 : 1;
  });
}

}  // namespace cachalot
