// SPDX-License-Identifier: Apache-2.0
// Whether a whole run left the golden path because a stored code fell to the other side of a rounding. The golden taps
// hold what some of the tokens' compressed KV and index keys decode to; a run's own are compared with them where the
// tokens are the same.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/config.h"
#include "verify/lab/ties.h"
#include "verify/taps.h"

namespace cachalot {

// The first code of a sequence that differs from the golden one.
struct CodeDifference {
  NearTie at;
  std::string what;   // tensor, group, both values, and why it is a flip or none
  bool flip = false;  // one code step, and the value before rounding lies next to the tie between the two
};

// What is known of the codes of certain token prefixes.
class CodeWitness {
 public:
  // Codes of a golden call: ids of one sequence up to and with the call's rows; the rows under the names of what is
  // rounded (ties.h).
  void add(std::vector<std::int64_t> ids, CodeRows rows) { known_.push_back({std::move(ids), std::move(rows)}); }
  // The code that differs from a known one of the same tokens, and of those the one that no other can have caused: the
  // earliest, in the lowest layer. own: what the run's codes are rounded from.
  std::optional<CodeDifference> first_difference(std::span<const std::int64_t> ids, std::int64_t sequence,
                                                 const CodeRows& own, const Config& config) const;
  bool knows(std::span<const std::int64_t> ids) const;  // some code of a prefix of these ids

 private:
  struct Known {
    std::vector<std::int64_t> ids;
    CodeRows rows;
  };
  std::vector<Known> known_;
};

// The codes among golden taps, for sequence `sequence` of `batch`.
CodeRows codes_of(const TapObserver::Taps& taps, const Config& config, const ReferenceCall& call, std::int64_t sequence,
                  std::int64_t batch);

}  // namespace cachalot
