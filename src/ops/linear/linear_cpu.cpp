// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "device/cpu/matmul.h"
#include "device/cpu/rows.h"
#include "ops/linear/linear.h"

namespace cachalot {

void linear_cpu(Context& context, const LinearArgs& a) {
  const Weight& w = a.weight;
  check(a.x.extent(1) == w.in && a.out.extent(1) == w.out && a.x.extent(0) == a.out.extent(0), "linear: shapes fit");
  const bool quantized = w.quantized() && a.x.is_bf16();
  check(!quantized || w.in % 32 == 0, "linear: a quantized input has whole groups of 32");
  const Arena::Frame frame(context.scratch);
  const auto x = load_rows(context.pool, context.scratch, a.x, quantized ? RoundTrip::fp8 : RoundTrip::none);
  const auto sum = a.out.is_bf16() ? context.scratch.take<float, 2>(a.out.shape()) : a.out.as<float>();
  matmul(context.pool, context.scratch,
         {row_pointers(context.scratch, View<const float, 2>(x)), w, row_pointers(context.scratch, sum)});
  if (a.out.is_bf16()) store_rows(context.pool, sum, a.out);
}

}  // namespace cachalot
