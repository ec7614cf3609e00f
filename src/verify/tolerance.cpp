// SPDX-License-Identifier: Apache-2.0
#include "verify/tolerance.h"

#include <fmt/core.h>

#include <algorithm>

namespace cachalot {

Judgement judge(const ErrorStats& s, const Tolerance& t) {
  Judgement j;
  const auto look = [&](std::string_view what, double found, double limit, bool share) {
    if (limit == Tolerance::any) return;
    const double used = found <= 0 ? 0 : limit == 0 ? Tolerance::any : found / limit;
    j.used = std::max(j.used, used);
    if (!j.error.empty()) j.error += ", ", j.allowed += ", ";
    if (share) {
      j.error += fmt::format("unequal {} of {}", s.unequal, s.count);
      j.allowed += limit == 0 ? "exact" : fmt::format("{:g}% unequal", 100 * limit);
    } else {
      j.error += fmt::format("{} {:.1e}", what, found);
      j.allowed += fmt::format("{} {:g}", what, limit);
    }
  };
  look("median", s.median, t.median, false);
  look("p99", s.p99, t.p99, false);
  look("max", s.max, t.max, false);
  look("rms", s.rms, t.rms, false);
  look("abs", s.max_abs, t.max_abs, false);
  look("bf16 ulps", s.max_ulps, t.max_ulps, false);
  look("unequal", s.unequal_share(), t.unequal, true);
  if (t.unequal == 0 && s.unequal > 0) j.error += fmt::format(", first at {}", s.first_unequal);
  if (!s.special_places_match) {
    j.used = Tolerance::any;
    j.error += fmt::format(", NaN or infinity out of place");
  }
  return j;
}

}  // namespace cachalot
