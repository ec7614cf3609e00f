// SPDX-License-Identifier: Apache-2.0
// Sum of a row's experts, in an order that batching can't change: expert number ascending, the shared expert last.
// Source: spec 4.
#pragma once

#include <cstdint>
#include <span>

#include "ops/context.h"
#include "tensor/values.h"
#include "tensor/view.h"

namespace cachalot {

struct CombineArgs {
  ConstValues<3> routed;               // [rows, top_k, dim]
  View<const std::int32_t, 2> expert;  // [rows, top_k], all different in a row
  ConstValues<2> shared;               // [rows, dim]
  Values<2> out;                       // [rows, dim]

  template <class S>
  void each(S&& s) {
    s.in(routed, expert, shared);
    s.out(out);
  }
};

// The places k of a row in the order they are added. order: [top_k].
void order_of_sum(View<const std::int32_t, 1> expert, std::span<std::int64_t> order);

// Numerics: sum in the order above, in f32, one rounding at the store.
void combine_ref(Context& context, const CombineArgs& args);

// Numerics: sum in the order above, in f32, one rounding at the store.
void combine_cpu(Context& context, const CombineArgs& args);

}  // namespace cachalot
