// SPDX-License-Identifier: Apache-2.0
#include "ops/hyper_connections/fold/fold.h"

#include "ops/test_backends.h"

namespace cachalot::fold_test {
namespace {

using Fold = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, Fold, each_backend(), place_name);

std::vector<float> fold(const On& on, DType out_type, ConstValues<3> h, View<const float, 2> mix) {
  Tensor<2> out(out_type, {h.extent(0), h.extent(2)});
  on(&Backend::fold, {h, mix, out});
  return floats(out);
}
std::vector<float> fold(const On& on, DType type, std::int64_t copies, std::int64_t dim, const std::vector<float>& h,
                        const std::vector<float>& mix) {
  const std::int64_t rows = std::ssize(mix) / copies;
  Tensor<3> stream(type, {rows, copies, dim}, h);
  return fold(on, type, stream, {mix.data(), {rows, copies}});
}

TEST_P(Fold, WeighsEachCopyByItsOwnMix) {
  EXPECT_EQ(fold(on, DType::f32, 2, 3, {1, 2, 3, 10, 20, 30}, {2, 0.5f}), (std::vector<float>{7, 14, 21}));
}

TEST_P(Fold, OneHotMixReturnsThatCopyExactly) {
  Random random(2);
  for (const DType type : {DType::bf16, DType::f32}) {
    for (const std::ptrdiff_t dim : {17, 37}) {
      const std::vector<float> all = floats(Tensor<3>(type, {1, 4, dim}, random));
      for (std::ptrdiff_t c = 0; c < 4; ++c) {
        std::vector<float> mix(4);
        mix[static_cast<std::size_t>(c)] = 1;
        const auto copy = all.begin() + dim * c;
        EXPECT_EQ(fold(on, type, 4, dim, all, mix), std::vector<float>(copy, copy + dim));
      }
    }
  }
}

TEST_P(Fold, SumsCopiesAscending) {
  EXPECT_EQ(fold(on, DType::f32, 3, 1, {1e30f, -1e30f, 1}, {1, 1, 1}), (std::vector<float>{1}));
  EXPECT_EQ(fold(on, DType::f32, 3, 1, {1, 1e30f, -1e30f}, {1, 1, 1}), (std::vector<float>{0}));
}

TEST_P(Fold, RoundsOnceAtTheEnd) {
  EXPECT_EQ(fold(on, DType::bf16, 3, 1, {1, 1, 1}, {1, 0x1p-8f, 0x1p-8f}), (std::vector<float>{1 + 0x1p-7f}));
}

TEST_P(Fold, NoRowsAndOneCopyWork) {
  EXPECT_TRUE(fold(on, DType::f32, 4, 2, {}, {}).empty());
  EXPECT_EQ(fold(on, DType::f32, 1, 2, {3, 5}, {2}), (std::vector<float>{6, 10}));
}

TEST_P(Fold, RowAloneGivesTheBitsItHasAmongOthers) {
  Random random(3);
  for (const std::int64_t dim : {11, 21}) {
    Tensor<3> h(DType::bf16, {9, 4, dim}, random);
    const Array<float, 2> mix({9, 4}, random_floats(36, random));
    EXPECT_TRUE(rows_stand_alone(9, [&](std::int64_t first, std::int64_t n) {
      return fold(on.with_threads(2), DType::bf16, h.values().part(first, n), mix.view().part(first, n));
    }));
  }
}

TEST(FoldAgreement, AtEverySizeAndType) {
  for (const DType out_type : {DType::bf16, DType::f32}) {
    Random random(1);
    Agreement agreement;
    for (const DType type : {DType::bf16, DType::f32}) {
      for (const std::int64_t copies : {1, 2, 3, 4, 8}) {
        for (const std::int64_t dim : {1, 3, 4, 7, 8, 9, 15, 16, 17, 33, 5120}) {
          for (const std::int64_t rows : {0, 1, 5}) {
            Tensor<3> h(type, {rows, copies, dim}, random);
            const Array<float, 2> mix({rows, copies}, random_floats(rows * copies, random));
            agreement.add([&](const On& on) { return fold(on, out_type, h, mix.view()); });
          }
        }
      }
    }
    expect_agrees(agreement, out_type);
  }
}

}  // namespace
}  // namespace cachalot::fold_test
