// SPDX-License-Identifier: Apache-2.0
#include "ops/dspark/confidence_head/confidence_head.h"

#include <gtest/gtest.h>

#include "ops/test_tensors.h"

namespace cachalot {
namespace {

std::vector<float> confidence(DType type, std::int64_t dim, std::int64_t rank, const std::vector<float>& x,
                              const std::vector<float>& embedding, const std::vector<float>& proj) {
  const std::int64_t rows = static_cast<std::int64_t>(x.size()) / dim;
  const TestTensor<2> xs(type, {rows, dim}, x), es(type, {rows, rank}, embedding);
  const TestTensor<2> w(type, {1, static_cast<std::int64_t>(proj.size())}, proj);
  std::vector<float> out(static_cast<std::size_t>(rows));
  Context context;
  confidence_head_ref(context,
                      {.x = xs.view(), .embedding = es.view(), .proj = w.weight(), .confidence = {out.data(), {rows}}});
  return out;
}

TEST(ConfidenceHead, ProjectsTheStreamAndThenTheEmbedding) {
  EXPECT_EQ(confidence(DType::f32, 2, 1, {1, 2}, {3}, {100, 10, 1}), (std::vector<float>{123}));
}

TEST(ConfidenceHead, StaysF32WithBf16Inputs) {
  EXPECT_EQ(confidence(DType::bf16, 1, 1, {1}, {0x1p-10f}, {1, 1}), (std::vector<float>{1 + 0x1p-10f}));
}

TEST(ConfidenceHead, SumsWiderThanF32) {
  EXPECT_EQ(confidence(DType::f32, 2, 1, {0x1p24f, 1}, {-0x1p24f}, {1, 1, 1}), (std::vector<float>{1}));
}

TEST(ConfidenceHead, NoRowsIsNoWork) { EXPECT_TRUE(confidence(DType::f32, 1, 1, {}, {}, {1, 1}).empty()); }

TEST(ConfidenceHead, ProjectionOfAnotherWidthStops) {
  EXPECT_DEATH(confidence(DType::f32, 2, 1, {1, 2}, {3}, {1, 2}), "confidence_head");
}

TEST(ConfidenceHead, RowAloneGivesTheBitsItHasAmongOthers) {
  const std::int64_t rows = 5, dim = 19, rank = 7;
  const std::vector<float> x = noise(rows * dim, 1), e = noise(rows * rank, 2), proj = noise(dim + rank, 3);
  EXPECT_TRUE(rows_stand_alone(rows, [&](std::int64_t first, std::int64_t n) {
    return confidence(DType::bf16, dim, rank, std::vector(x.begin() + first * dim, x.begin() + (first + n) * dim),
                      std::vector(e.begin() + first * rank, e.begin() + (first + n) * rank), proj);
  }));
}

}  // namespace
}  // namespace cachalot
