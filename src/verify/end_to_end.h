// SPDX-License-Identifier: Apache-2.0
// Rows of a whole run against the golden ones, and the rule for them: docs/spec/tolerances.md, "end to end".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "verify/report.h"

namespace cachalot {

struct EndToEndRow {
  std::string where;  // for messages: "row 17", "sequence 1 position 60"
  bool left = false;  // behind a choice that the margin allowed to differ: not comparable any more
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

// Judges the rows as one tensor.
void judge_end_to_end(std::string_view tensor, const EndToEndRows& rows, Numerics numerics, CaseReport& report);

}  // namespace cachalot
