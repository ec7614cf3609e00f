// SPDX-License-Identifier: Apache-2.0
#include "ops/lookup/lookup.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

TEST(LookupCpu, GivesTheReferencesNumbersFromEveryFormatIntoBothTypes) {
  Random random(1);
  for (const RowFormat f :
       {RowFormat::f32, RowFormat::bf16, RowFormat::e4m3_e8m0_32, RowFormat::e2m1_e4m3_16, RowFormat::e2m1_e8m0_32}) {
    for (const DType type : {DType::bf16, DType::f32}) {
      Agreement agreement;
      for (const std::int64_t width : {32, 256, 5120}) {
        const StoredRows table(f, width, random_floats(7 * width, random, 30));
        for (const std::array<std::int64_t, 2> shape : {std::array<std::int64_t, 2>{0, 3}, {3, 0}, {1, 1}, {5, 24}}) {
          Array<std::int64_t, 2> id(shape);
          for (std::int64_t& i : id.at) i = random.below(7);
          agreement.add(lookup_ref, lookup_cpu, [&](auto op, Context& context) {
            Tensor<2> y(type, {shape[0], shape[1] * width});
            op(context, {table.rows, id, y});
            return floats(y);
          });
        }
      }
      EXPECT_EQ(agreement.unequal, 0) << name(f);
    }
  }
}

TEST(LookupCpu, TakesWidthsThatFillNoRegister) {
  Random random(2);
  for (const std::int64_t width : {1, 2, 3, 15, 17, 33, 47}) {
    const StoredRows table(RowFormat::bf16, width, random_floats(3 * width, random));
    Array<std::int64_t, 2> id({2, 2});
    id.at = {2, 0, 1, 1};
    Agreement agreement;
    agreement.add(lookup_ref, lookup_cpu, [&](auto op, Context& context) {
      Tensor<2> y(DType::bf16, {2, 2 * width});
      op(context, {table.rows, id, y});
      return floats(y);
    });
    EXPECT_EQ(agreement.unequal, 0) << width;
  }
  const StoredRows table(RowFormat::e2m1_e4m3_16, 48, random_floats(96, random));
  Array<std::int64_t, 2> id({1, 1}, 1);
  Context context;
  Tensor<2> y(DType::f32, {1, 48});
  lookup_cpu(context, {table.rows, id, y});
  EXPECT_EQ(floats(y), table.row(1));
}

// Every code of the eight-bit format, NaN among them, under large, small and NaN scales.
TEST(LookupCpu, DecodesEveryCodeUnderEveryScale) {
  std::vector<std::uint8_t> codes(256 * 256), scales(256 * 8);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>(i);
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<std::uint8_t>(i / 8);
  for (const RowFormat f : {RowFormat::e4m3_e8m0_32, RowFormat::e2m1_e8m0_32, RowFormat::e2m1_e4m3_16}) {
    const std::int64_t width = f == RowFormat::e4m3_e8m0_32 ? 256 : f == RowFormat::e2m1_e8m0_32 ? 256 : 128;
    const PackedRows table{f, width, 256, codes.data(), scales.data()};
    Array<std::int64_t, 2> id({256, 1});
    for (std::size_t i = 0; i < 256; ++i) id.at[i] = static_cast<std::int64_t>(i);
    Agreement agreement;
    agreement.add(lookup_ref, lookup_cpu, [&](auto op, Context& context) {
      Tensor<2> y(DType::f32, {256, width});
      op(context, {table, id, y});
      for (std::int64_t i = 0; i < y.size(); ++i) {
        if (!std::isfinite(y.get(i))) y.set(i, std::isnan(y.get(i)) ? -77 : 77);
      }
      return floats(y);
    });
    EXPECT_EQ(agreement.unequal, 0) << name(f);
  }
}

TEST(LookupCpuDeathTest, RowOutsideTheTableIsOurMistake) {
  const StoredRows table(RowFormat::bf16, 2, {1, 2});
  for (const std::int64_t wrong : {-1, 1}) {
    Array<std::int64_t, 2> id({1, 1}, wrong);
    Tensor<2> y(DType::bf16, {1, 2});
    Context context;
    EXPECT_DEATH(lookup_cpu(context, {table.rows, id, y}), "exists");
  }
}

}  // namespace
}  // namespace cachalot
