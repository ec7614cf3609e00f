// SPDX-License-Identifier: Apache-2.0
// Whether drafting is worth its time just now: measured, not believed.
//
// The rule. Rounds are timed. A round with drafts goes on being worth it while, over the last rounds, it makes at least
// as many tokens a second as plain rounds do. So first `trial` plain rounds are run, then `trial` drafted ones, and
// then the better kind, with `trial` rounds of the other kind after every `rest` rounds of it; each time that drafting
// loses, its rest doubles, up to `longest_rest`, and once it wins that is forgotten. It goes on from request to request
// as long as one DraftPause serves them. Rates are sums over the newest 4 · trial rounds of a kind.
#pragma once

#include <array>
#include <cstdint>
#include <deque>

namespace cachalot {

class DraftPause {
 public:
  static constexpr std::int64_t trial = 4, rest = 64, longest_rest = 1024;

  bool draft_next() const { return drafting_; }

  // A round is over: it made `tokens` in `seconds`.
  void note(bool drafted, std::int64_t tokens, double seconds);

 private:
  struct Round {
    std::int64_t tokens;
    double seconds;
  };
  double rate(bool drafted) const;

  std::array<std::deque<Round>, 2> rounds_;  // plain, drafted; the newest last
  bool drafting_ = false;
  std::int64_t left_ = trial;  // rounds of this kind before the next look
  bool on_trial_ = true;
  std::int64_t pause_ = rest;
};

}  // namespace cachalot
