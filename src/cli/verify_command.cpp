// SPDX-License-Identifier: Apache-2.0
#include "cli/verify_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/model_options.h"
#include "cli/terminal.h"
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
  bool values = false;
  bool strict = false;
  bool verbose = false;
};

void print_line(std::string_view line) {
  print_out(fmt::format("{}\n", line));
  std::fflush(stdout);
}

Status print_structure(const VerifyFlags& flags, bool& good) {
  auto facts = verify_structure(flags.model);
  if (!facts) return tl::unexpected(facts.error());
  for (const std::string& warning : facts->warnings) print_line("warning: " + warning);
  print_line(
      fmt::format("structure: {} tensors in {} shards, {} bytes: names, shapes and types are those the config asks for",
                  facts->tensors, facts->shards, facts->bytes));
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
  });
  progress.clear();
  for (const std::string& problem : values.problems) print_line("FAIL    " + problem);
  print_line(fmt::format("values: {} tensors, {} bytes read, {} with values that no weight may have", values.tensors,
                         values.bytes, values.problems.size()));
  good = good && values.problems.empty();
  return {};
}

Expected<bool> run(VerifyFlags& flags) {
  if (flags.model.empty() && flags.ops.empty()) return fail(Errc::usage, "give a model's folder, or --ops DIR");
  if (flags.model.empty() && (!flags.golden.empty() || flags.values)) {
    return fail(Errc::usage, "{} needs a model's folder", flags.values ? "--values" : "--golden");
  }
  if (Status chosen = choose_backend(flags.compute); !chosen) return tl::unexpected(chosen.error());
  if (flags.compute.reference_operators && !flags.has_backend) {
    return fail(Errc::usage, "--reference-op sets back operators of one backend: name it with --backend");
  }
  const Backend* const chosen = flags.has_backend ? &flags.compute.table : nullptr;
  bool good = true;
  if (!flags.model.empty()) {
    if (Status done = print_structure(flags, good); !done) return tl::unexpected(done.error());
  }
  if (flags.ops.empty() && flags.golden.empty()) return good;

  Report report(print_line, {.verbose = flags.verbose, .strict = flags.strict});
  if (!flags.ops.empty()) {
    const auto backends = chosen == nullptr ? all_backends() : std::span(&chosen, 1);
    if (Status done = verify_ops(flags.ops, backends, report); !done) return tl::unexpected(done.error());
  }
  if (!flags.golden.empty()) {
    VerifyModelOptions options;
    options.backend = chosen;
    options.threads = flags.compute.threads;
    if (flags.numerics != "both") {
      options.numerics = {flags.numerics == "f32" ? Numerics::f32 : Numerics::released};
    }
    Progress progress;
    options.progress = [&](std::string_view at) { at.empty() ? progress.clear() : progress.show(at); };
    if (Status done = verify_model(flags.model, flags.golden, options, report); !done) {
      return tl::unexpected(done.error());
    }
  }
  const bool all = report.finish();
  return all && good;
}

}  // namespace

void add_verify_command(Command& program) {
  Command& command =
      program.add_command("verify", "Check a checkpoint, or compare what is computed with golden numbers");
  auto flags = std::make_shared<VerifyFlags>();
  add_model_argument(command, flags->model, "a checkpoint's folder: its structure is always checked");
  OptionGroup& checks = command.group("Checks");
  checks.flag("--values", flags->values, "read all tensors: every value finite, no NaN among codes and scales");
  checks
      .text("--golden", flags->golden,
            "run the cases of this folder: those of its manifest.json, or the long text in released.safetensors and "
            "f32.safetensors")
      .placeholder("DIR");
  checks.text("--ops", flags->ops, "run every operator file of this folder").placeholder("DIR");
  checks.choice("--numerics", flags->numerics, {"released", "f32", "both"}, "which of the golden cases").with_default();
  checks.flag("--strict", flags->strict, "fail also when something was not run");
  checks.flag("-v,--verbose", flags->verbose, "one line per tensor");
  flags->compute.backend = "reference";
  const Option& backend =
      add_backend_flags(command, flags->compute, "whose operators (default: all with --ops, else reference)");
  command.notes("Exit code: 0 all good; 1 something failed, was left unread, or nothing was compared; 2 usage.");
  command.examples({"cachalot verify models/demo --values",
                    "cachalot verify models/prototype --golden build/release/golden/prototype",
                    "cachalot verify --ops build/release/golden/ops-a -v",
                    "cachalot verify models/prototype --golden build/release/golden/prototype --backend cpu "
                    "--reference-op sparse_attention --simd avx2 --threads 4"});
  command.runs([&backend, flags]() -> Expected<int> {
    flags->has_backend = backend.given();
    const auto good = run(*flags);
    if (!good) return tl::unexpected(good.error());
    return *good ? 0 : 1;
  });
}

}  // namespace cachalot
