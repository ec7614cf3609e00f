// SPDX-License-Identifier: Apache-2.0
#include "verify/lab/tries.h"

#include <fmt/core.h>

#include <memory>
#include <string>
#include <vector>

#include "verify/lab/nudge.h"

namespace cachalot {
namespace {

constexpr std::size_t most_ties = 32;

bool failed(const Finding& f) { return f.verdict == Verdict::fail; }

// What the golden codes say of the plain run, and the flips among it.
struct Codes {
  std::vector<NearTie> flips;
  std::string words;
};
Codes compare_codes(const Config& config, const KnownCodes& known, const TieFinder& plain) {
  Codes codes;
  bool any = false;
  for (std::int64_t b = 0; b * known.width < std::ssize(known.ids); ++b) {
    const auto ids =
        known.ids.subspan(static_cast<std::size_t>(b * known.width), static_cast<std::size_t>(known.width));
    any |= known.witness.knows(ids);
    const auto first = known.witness.first_difference(ids, b, plain.stored(b), config);
    if (!first) continue;
    codes.words += (codes.words.empty() ? "" : "; ") + first->what;
    if (first->flip) codes.flips.push_back(first->at);
  }
  if (codes.words.empty())
    codes.words = any ? "the golden codes of these tokens equal the engine's" : "no golden codes of these tokens";
  return codes;
}

// A run that differs from the plain one by about a unit in the last place.
struct Try {
  std::string how;  // "once …"
  std::unique_ptr<RunObserver> observer;
};

std::vector<Try> list_tries(const Config& config, const TryRules& rules, const Codes& codes, const TieFinder& plain) {
  std::vector<Try> tries;
  if (rules.ties && !codes.flips.empty()) {
    tries.push_back(
        {"the flipped code is the golden one: " + codes.words, std::make_unique<MoveAcross>(config, codes.flips)});
  }
  if (rules.ties) {
    for (const NearTie& tie : plain.ties()) {
      if (tries.size() >= most_ties) break;
      tries.push_back({fmt::format("{}, {:.1e} beside a tie, is moved across it", tie.words(), tie.distance),
                       std::make_unique<MoveAcross>(config, std::vector<NearTie>{tie})});
    }
  }
  for (std::uint32_t n = 1; rules.nudged && n <= nudges; ++n) {
    tries.push_back({fmt::format("the mixes are nudged by one f32 unit (nudge {})", n), std::make_unique<Nudge>(n)});
  }
  return tries;
}

}  // namespace

Status judge_with_tries(const Config& config, const TryRules& rules, const KnownCodes& known, const Attempt& attempt,
                        CaseReport& report) {
  TieFinder look(config);
  CaseReport plain("");
  if (Status done = attempt(look, plain); !done) return done;
  const auto add_all = [&](const CaseReport& from,
                           const std::function<std::string(const Finding&, std::size_t)>& more) {
    for (std::size_t i = 0; i < from.findings().size(); ++i) {
      Finding f = from.findings()[i];
      if (more) f.error += more(f, i);
      report.add(std::move(f));
    }
    return Status{};
  };
  if (plain.verdict() != Verdict::fail || (!rules.ties && !rules.nudged)) return add_all(plain, {});

  const Codes codes = compare_codes(config, known, look);
  const std::vector<Try> tries = list_tries(config, rules, codes, look);
  for (const Try& one : tries) {
    CaseReport again("");
    if (Status done = attempt(*one.observer, again); !done) return done;
    if (again.verdict() == Verdict::fail) continue;
    return add_all(again, [&](const Finding&, std::size_t i) {
      const Finding& before = plain.findings()[i];
      return failed(before)
                 ? fmt::format(", and all else is within its limits, once {}; as it is: {}", one.how, before.error)
                 : std::string();
    });
  }
  return add_all(plain, [&](const Finding& f, std::size_t) {
    return failed(f) ? fmt::format(
                           "; no rounding explains it: {}, and none of {} runs with one value moved across a tie or "
                           "the mixes nudged is within all limits at once",
                           codes.words, tries.size())
                     : std::string();
  });
}

}  // namespace cachalot
