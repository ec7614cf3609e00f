// SPDX-License-Identifier: Apache-2.0
// The index of the largest value of each row; the lower index on a tie (spec 3.4: everywhere). Source: spec 6, greedy
// decoding.
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "tensor/view.h"

namespace cachalot {

struct ArgmaxArgs {
  View<const float, 2> x;       // [rows, n], n > 0; NaN never wins
  View<std::int32_t, 1> index;  // [rows]; 0 for a row that is all NaN

  template <class S>
  void each(S&& s) {
    s.in(x);
    s.out(index);
  }
};

void argmax_ref(Context& context, const ArgmaxArgs& args);
void argmax_cpu(Context& context, const ArgmaxArgs& args);

}  // namespace cachalot
