// SPDX-License-Identifier: Apache-2.0
// One function per kind of golden case of a whole model. Shapes, ratios, batch sizes, numbers of steps and positions
// are the files' own.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "base/json.h"
#include "verify/golden_file.h"
#include "verify/lab/code_witness.h"
#include "verify/lab/tries.h"
#include "verify/model_run.h"
#include "verify/report.h"

namespace cachalot {

// An entry of the manifest.
struct ManifestEntry {
  std::string kind;
  std::string file;  // empty for a case that lies in the manifest itself
  Numerics numerics = Numerics::released;
  Json json;

  std::string case_name() const;
  // Errors: Errc::format naming the key.
  Expected<std::int64_t> number(std::string_view key) const;
  Expected<std::vector<std::int64_t>> numbers(std::string_view key) const;
  Expected<std::vector<double>> reals(std::string_view key) const;
};

// Errors: Errc::missing, Errc::format naming file, entry and key.
Expected<std::vector<ManifestEntry>> read_manifest(const std::filesystem::path& folder);
std::optional<Numerics> parse_numerics(std::string_view text);
const char* name(Numerics numerics);

struct ModelCase {
  const ManifestEntry& entry;
  std::filesystem::path folder;
  std::span<const ManifestEntry> manifest;
  const CodeWitness& witness;  // codes of the golden taps of the same numerics
  ModelSource& models;
  std::function<void(std::string_view)> progress;
  CaseReport& report;

  // In `released` every nudge flips something somewhere, so only prompts too short for that are tried again.
  TryRules tries(bool is_short) const {
    const bool f32 = entry.numerics == Numerics::f32;
    return {.ties = f32, .nudged = f32 || is_short};
  }
};

// Each judges into the case's report. Errors: the files or the model can't be read or used.
Status verify_prefill(ModelCase& c);                      // logits of every row; with taps also layer by layer
Status verify_step(ModelCase& c);                         // one step after the engine's own prefill and steps
Status verify_decode(ModelCase& c);                       // prefill, then given tokens; drafts where there are any
Status verify_greedy(ModelCase& c);                       // the most likely token, again and again
Status verify_image(ModelCase& c);                        // image spans from golden features
Status verify_trained(const std::filesystem::path& file,  // the 20 best logits of a long text, and greedy decoding
                      Numerics numerics, ModelSource& models, const std::function<void(std::string_view)>& progress,
                      CaseReport& report);

// Ids equal until the first margin below `margin`; a finding says how far they were judged.
void judge_greedy(std::string_view tensor, std::span<const std::int64_t> got, std::span<const std::int64_t> want,
                  std::span<const double> margins, double margin, CaseReport& report);
// The most likely token, `count` times, each fed back in. `logits` are the last row's.
Expected<std::vector<std::int64_t>> run_greedy(ModelRun& run, std::vector<float> logits, std::size_t count);

}  // namespace cachalot
