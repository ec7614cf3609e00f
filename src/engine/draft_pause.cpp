// SPDX-License-Identifier: Apache-2.0
#include "engine/draft_pause.h"

#include <algorithm>

namespace cachalot {

double DraftPause::rate(bool drafted) const {
  double tokens = 0, seconds = 0;
  for (const Round& r : rounds_[drafted ? 1 : 0]) {
    tokens += static_cast<double>(r.tokens);
    seconds += r.seconds;
  }
  return seconds > 0 ? tokens / seconds : 0;
}

void DraftPause::note(bool drafted, std::int64_t tokens, double seconds) {
  std::deque<Round>& kind = rounds_[drafted ? 1 : 0];
  kind.push_back({tokens, seconds});
  if (kind.size() > 4 * trial) kind.pop_front();
  // A round that was to draft and could not, as at a completion's end, is no part of a trial.
  if (drafted != drafting_ || --left_ > 0) return;

  if (rounds_[1].empty()) {
    drafting_ = true;  // the plain trial is over
    left_ = trial;
    return;
  }
  if (!on_trial_) {  // time to look at the other kind again
    on_trial_ = true;
    drafting_ = !drafting_;
    left_ = trial;
    return;
  }
  on_trial_ = false;
  drafting_ = rate(true) >= rate(false);
  left_ = drafting_ ? rest : pause_;
  pause_ = drafting_ ? rest : std::min(longest_rest, 2 * pause_);
}

}  // namespace cachalot
