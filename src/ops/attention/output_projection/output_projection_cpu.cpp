// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "device/cpu/matmul.h"
#include "device/cpu/rows.h"
#include "ops/attention/output_projection/output_projection.h"

namespace cachalot {

void output_projection_cpu(Context& context, const OutputProjectionArgs& a) {
  const Weight& w = a.weight;
  const std::int64_t rows = a.x.extent(0), o_lora = w.out / a.groups;
  check(o_lora * a.groups == w.out && a.x.extent(1) == a.groups * w.in && a.out.extent(1) == w.out,
        "output_projection: shapes fit");
  if (rows == 0) return;
  for (std::int64_t g = 0; g < a.groups; ++g) {
    const Arena::Frame frame(context.scratch);
    // A weight can be cut only between its scale blocks, so a group that begins within one takes the block's rows
    // along.
    const std::int64_t first = g * o_lora, ahead = w.format == WeightFormat::e4m3_block32 ? first % 32 : 0;
    const bool in_place = ahead == 0 && !a.out.is_bf16();
    const auto x = load_rows(context.pool, context.scratch, a.x.columns(g * w.in, w.in));
    const auto out = a.out.columns(first, o_lora);
    const auto sum = in_place ? out.as<float>() : context.scratch.take<float, 2>({rows, ahead + o_lora});
    matmul(context.pool, context.scratch,
           {row_pointers(context.scratch, View<const float, 2>(x)), w.rows(first - ahead, ahead + o_lora),
            row_pointers(context.scratch, sum)});
    if (in_place) continue;
    store_rows(context.pool, View<const float, 2>(sum.data() + ahead, {rows, o_lora}, sum.strides()), out);
  }
}

}  // namespace cachalot
