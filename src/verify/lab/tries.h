// SPDX-License-Identifier: Apache-2.0
// Whether what is beyond a limit hangs on one rounding. Then one run that differs from the plain one by that rounding
// alone satisfies every finding of the case at once; a fault is there in every run.
#pragma once

#include <functional>
#include <span>

#include "base/expected.h"
#include "verify/lab/code_witness.h"
#include "verify/report.h"
#include "verify/run_observer.h"

namespace cachalot {

// Runs a case from its start, every forward under the observer, and judges it.
using Attempt = std::function<Status(RunObserver& watcher, CaseReport& findings)>;

struct TryRules {
  bool ties = false;    // also with one value moved that lies next to a tie
  bool nudged = false;  // also with the mixes nudged
};

// The tokens of a case, and what golden codes are known of them.
struct KnownCodes {
  const CodeWitness& witness;
  std::span<const std::int64_t> ids;  // [batch, width]
  std::int64_t width = 0;
};

// Reports the findings of the run as it is; where one of them fails, those of the first try that fails in none, and how
// that came about; where there is no such try, the failures with what was looked for. Tries, in this order: the first
// code of each sequence that differs from a golden one, moved across its tie, if it is one step and next to the tie;
// index queries, index keys and compressed KV next to a tie, one at a time, the nearest first; the mixes, nudged.
Status judge_with_tries(const Config& config, const TryRules& rules, const KnownCodes& known, const Attempt& attempt,
                        CaseReport& report);

}  // namespace cachalot
