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

void add_verify_command(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("verify", "Check a checkpoint, or compare what is computed with golden numbers");
  auto flags = std::make_shared<VerifyFlags>();
  command->add_option("model", flags->model, "a checkpoint's folder: its structure is always checked");
  command->add_flag("--values", flags->values, "read all tensors: every value finite, no NaN among codes and scales");
  command->add_option("--golden", flags->golden,
                      "run the cases of this folder: those of its manifest.json, or the long text in "
                      "released.safetensors and f32.safetensors");
  command->add_option("--ops", flags->ops, "run every operator file of this folder");
  command->add_option("--numerics", flags->numerics, "which of the golden cases")
      ->check(CLI::IsMember({"released", "f32", "both"}))
      ->capture_default_str();
  flags->compute.backend = "reference";
  add_backend_flags(*command, flags->compute);
  command->get_option("--backend")
      ->description("whose operators (default: all with --ops, else reference)")
      ->default_str("");
  command->add_flag("--strict", flags->strict, "fail also when something was not run");
  command->add_flag("-v,--verbose", flags->verbose, "one line per tensor");
  command->footer(
      "Exit code: 0 all good; 1 something failed, was left unread, or nothing was compared; 2 usage.\n"
      "Example: cachalot verify models/demo --values\n"
      "         cachalot verify models/prototype --golden build/release/golden/prototype\n"
      "         cachalot verify --ops build/release/golden/ops-a -v\n"
      "         cachalot verify models/prototype --golden build/release/golden/prototype --backend cpu \\\n"
      "             --reference-op sparse_attention --simd avx2 --threads 4");
  command->callback([command, flags, &exit_code] {
    flags->has_backend = command->count("--backend") > 0;
    auto good = run(*flags);
    exit_code = good ? (*good ? 0 : 1) : report(good.error());
  });
}

}  // namespace cachalot
