// SPDX-License-Identifier: Apache-2.0
#include "verify/verify_model.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "verify/cases/model_cases.h"
#include "verify/taps.h"

namespace cachalot {
namespace {

struct Kind {
  std::string_view name;
  Status (*run)(ModelCase&);
};
constexpr std::array<Kind, 5> kinds = {{{"prefill", verify_prefill},
                                        {"step", verify_step},
                                        {"decode", verify_decode},
                                        {"greedy", verify_greedy},
                                        {"image", verify_image}}};

// The codes of every prefill with taps. What can't be read is left out here: its own case says so.
CodeWitness read_witness(const std::filesystem::path& folder, std::span<const ManifestEntry> manifest,
                         Numerics numerics, ModelSource& models) {
  CodeWitness witness;
  for (const ManifestEntry& entry : manifest) {
    const Json* with_taps = entry.json.find("taps");
    if (entry.kind != "prefill" || entry.numerics != numerics || with_taps == nullptr || *with_taps != Json(true))
      continue;
    auto golden = GoldenFile::open(folder / entry.file);
    auto model = models.get(numerics, IndexKeys::owner, false);
    if (!golden || !model) continue;
    auto ids = golden->read({"input_ids", 'n', 2});
    if (!ids || ids->numbers.empty()) continue;
    const Config& config = (*model)->config();
    const std::int64_t batch = ids->extent(0), rows = ids->extent(1);
    const ReferenceCall call{.start = 0, .rows = rows, .window = config.window_size};
    const auto taps = read_taps(*golden, config, call, batch, {"input_ids", "logits_all"});
    for (std::int64_t b = 0; taps && b < batch; ++b) {
      const auto first = ids->numbers.begin() + b * rows;
      witness.add({first, first + rows}, codes_of(*taps, config, call, b, batch));
    }
  }
  return witness;
}

void run_manifest(const std::filesystem::path& golden, std::span<const ManifestEntry> manifest,
                  const VerifyModelOptions& options, ModelSource& models, Report& report) {
  std::map<Numerics, CodeWitness> witnesses;
  for (const Numerics n : options.numerics) witnesses.emplace(n, read_witness(golden, manifest, n, models));
  std::set<std::string> listed;
  for (const ManifestEntry& entry : manifest) {
    if (report.stopped()) return;
    listed.insert(entry.file);
    const auto witness = witnesses.find(entry.numerics);
    if (witness == witnesses.end()) continue;
    CaseReport one(entry.case_name());
    const auto* kind = std::ranges::find(kinds, entry.kind, &Kind::name);
    if (kind == kinds.end()) {
      one.fail("case", fmt::format("not run: no case is of the kind {}", entry.kind));
    } else {
      options.progress(one.name());
      ModelCase c{.entry = entry,
                  .folder = golden,
                  .manifest = manifest,
                  .witness = witness->second,
                  .models = models,
                  .progress = [&](std::string_view at) { options.progress(fmt::format("{}: {}", one.name(), at)); },
                  .report = one};
      if (Status done = kind->run(c); !done) one.fail("case", done.error().message);
    }
    options.progress("");
    report.add(one);
  }
  std::error_code error;
  for (std::filesystem::directory_iterator it(golden, error), end; !error && it != end; it.increment(error)) {
    const std::string file = it->path().filename().string();
    if (it->path().extension() != ".safetensors" || listed.contains(file)) continue;
    CaseReport one(file);
    one.not_run("file", "the manifest does not list it");
    report.add(one);
  }
}

}  // namespace

Status verify_model(const std::filesystem::path& model, const std::filesystem::path& golden,
                    const VerifyModelOptions& options, Report& report) {
  ModelSource models(model, options.backend, options.threads, options.memory);
  std::error_code error;
  if (!std::filesystem::is_directory(golden, error)) return fail(Errc::missing, "{}: no such folder", golden.string());
  if (std::filesystem::exists(golden / "manifest.json", error)) {
    auto manifest = read_manifest(golden);
    if (!manifest) return tl::unexpected(manifest.error());
    run_manifest(golden, *manifest, options, models, report);
    return {};
  }
  const auto file_of = [&](Numerics n) { return golden / fmt::format("{}.safetensors", name(n)); };
  if (std::ranges::none_of(std::array{Numerics::released, Numerics::f32},
                           [&](Numerics n) { return std::filesystem::exists(file_of(n), error); })) {
    return fail(Errc::missing, "{}: neither manifest.json nor released.safetensors or f32.safetensors",
                golden.string());
  }
  for (const Numerics n : options.numerics) {
    if (report.stopped()) break;
    CaseReport one(fmt::format("text_{}", name(n)));
    options.progress(one.name());
    const auto progress = [&](std::string_view at) { options.progress(fmt::format("{}: {}", one.name(), at)); };
    if (Status done = verify_trained(file_of(n), n, models, progress, one); !done) {
      one.fail("case", done.error().message);
    }
    options.progress("");
    report.add(one);
  }
  return {};
}

}  // namespace cachalot
