// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "base/ids.h"
#include "ops/lookup/lookup.h"

#include "device/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/lookup/lookup_cpu.cpp"
#include "hwy/foreach_target.h"
// Highway wants the line above before those below.
#include "device/cpu/packed-inl.h"
#include "device/cpu/values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cachalot {
namespace HWY_NAMESPACE {

// One row of the table into its columns. decoded: [padded width].
void lookup_one(const PackedRows& t, std::int64_t id, View<float, 1> decoded, Values<1> out) {
  decode_packed(t.format, t[id], t.width, decoded.data(), decoded.extent(0));
  for (std::int64_t i = 0; i < t.width; i += width) store(hn::LoadU(F32(), &decoded[i]), out, i);
}

}  // namespace HWY_NAMESPACE
}  // namespace cachalot
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cachalot {

HWY_EXPORT(lookup_one);

void lookup_cpu(Context& context, const LookupArgs& a) {
  const std::int64_t columns = a.id.extent(1);
  check(a.out.extent(0) == a.id.extent(0) && a.out.extent(1) == columns * a.table.width, "lookup: shapes fit");
  const Arena::Frame frame(context.scratch);
  const auto decoded =
      context.scratch.take<float, 2>({context.pool.threads(), ceil_div<std::int64_t>(a.table.width, 16) * 16});
  context.pool.parallel(a.id.size(), 8, [&](std::int64_t begin, std::int64_t end, int thread) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = i / columns;
      const std::int64_t id = a.id[row][i % columns];
      const Values<1> whole = a.out[row];
      HWY_DYNAMIC_DISPATCH(lookup_one)
      (a.table, id, decoded[thread], whole.part(i % columns * a.table.width, a.table.width));
    }
  });
}

}  // namespace cachalot
#endif
