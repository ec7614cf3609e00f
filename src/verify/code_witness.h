// SPDX-License-Identifier: Apache-2.0
// Whether a whole run left the golden path because a stored code fell to the other side of a rounding. The golden taps
// hold what some of the tokens' compressed KV and index keys decode to; a run records its own and the two are compared
// where the tokens are the same.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/config.h"
#include "model/observer.h"
#include "verify/taps.h"

namespace cachalot {

using CodeRows = std::map<std::pair<std::string, std::int64_t>, std::vector<float>>;  // by tap name and group

// Records what each sequence stores.
class CodeRecorder : public Observer {
 public:
  CodeRecorder(const Config& config, std::int64_t batch) : config_(config), rows_(static_cast<std::size_t>(batch)) {}

  // Before each forward: the positions every sequence gets in it.
  void begin(std::int64_t first_position, std::int64_t count) { start_ = first_position, count_ = count; }
  void values(std::string_view name, std::int64_t first_row, Values<2> rows) override;

  const CodeRows& of(std::int64_t sequence) const { return rows_[static_cast<std::size_t>(sequence)]; }

 private:
  const Config& config_;
  std::int64_t start_ = 0;
  std::int64_t count_ = 0;
  std::vector<CodeRows> rows_;
};

struct CodeFlip {
  std::int64_t position;  // from which on rows read the code
  std::string what;       // tensor, group, both values
};

// What is known of the codes of certain token prefixes.
class CodeWitness {
 public:
  // Codes of a golden call: ids of one sequence up to and with the call's rows.
  void add(std::vector<std::int64_t> ids, CodeRows rows) { known_.push_back({std::move(ids), std::move(rows)}); }
  // The earliest code of the run that differs from a known one of the same tokens.
  std::optional<CodeFlip> first_flip(std::span<const std::int64_t> ids, const CodeRows& own,
                                     const Config& config) const;
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
