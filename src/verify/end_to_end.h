// SPDX-License-Identifier: Apache-2.0
// Rows of a whole run against the golden ones, and the rule for them: docs/spec/tolerances.md, "end to end".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "verify/code_witness.h"
#include "verify/report.h"

namespace cachalot {

struct EndToEndRow {
  std::string where;     // for messages: "row 17", "sequence 1 position 60"
  bool flipped = false;  // at or behind a code that is shown to have flipped
  bool left = false;     // behind a choice that the margin allowed to differ: not comparable any more
};

struct EndToEndRows {
  std::int64_t width = 0;
  bool argmax = true;         // the rows are logits: their best token must be the same
  bool short_prompt = false;  // spec: nothing to flip yet, so `released` is held to f32's median
  std::vector<EndToEndRow> rows;
  std::vector<float> got;  // [rows, width]
  std::vector<float> want;

  void add(EndToEndRow row, std::span<const float> got_row, std::span<const float> want_row);
};

// Judges the rows as one tensor. `evidence` says what was found or looked for when a row is far off.
void judge_end_to_end(std::string_view tensor, const EndToEndRows& rows, Numerics numerics, std::string_view evidence,
                      CaseReport& report);

// The first flip of each sequence of a batch, and words for it.
struct Evidence {
  std::vector<std::optional<CodeFlip>> flips;  // [batch]
  std::string words;

  bool flipped(std::int64_t sequence, std::int64_t position) const {
    const auto& flip = flips[static_cast<std::size_t>(sequence)];
    return flip && position >= flip->position;
  }
};
// ids: [batch, width].
Evidence look_for_flips(const CodeWitness& witness, const CodeRecorder& own, std::span<const std::int64_t> ids,
                        std::int64_t width, const Config& config);

}  // namespace cachalot
