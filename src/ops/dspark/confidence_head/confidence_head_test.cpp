// SPDX-License-Identifier: Apache-2.0
#include "ops/dspark/confidence_head/confidence_head.h"

#include "ops/test_backends.h"

namespace cachalot::confidence_head_test {
namespace {

using ConfidenceHead = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, ConfidenceHead, each_backend(), place_name);

std::vector<float> confidence(const On& on, ConstValues<2> x, ConstValues<2> embedding, const Weight& proj) {
  Array<float, 1> out({x.extent(0)});
  on(&Backend::confidence_head, {x, embedding, proj, out});
  return out.at;
}
std::vector<float> confidence(const On& on, DType type, std::int64_t dim, std::int64_t rank,
                              const std::vector<float>& x, const std::vector<float>& embedding,
                              const std::vector<float>& proj) {
  const std::int64_t rows = std::ssize(x) / dim;
  Tensor<2> xs(type, {rows, dim}, x), es(type, {rows, rank}, embedding);
  return confidence(on, xs, es, Tensor<2>(type, {1, std::ssize(proj)}, proj).weight());
}

TEST_P(ConfidenceHead, ProjectsTheStreamAndThenTheEmbedding) {
  EXPECT_EQ(confidence(on, DType::f32, 2, 1, {1, 2}, {3}, {100, 10, 1}), (std::vector<float>{123}));
}

TEST_P(ConfidenceHead, StaysF32WithBf16Inputs) {
  EXPECT_EQ(confidence(on, DType::bf16, 1, 1, {1}, {0x1p-10f}, {1, 1}), (std::vector<float>{1 + 0x1p-10f}));
}

TEST(ConfidenceHeadReference, SumsWiderThanF32) {
  EXPECT_EQ(confidence(On(), DType::f32, 2, 1, {0x1p24f, 1}, {-0x1p24f}, {1, 1, 1}), (std::vector<float>{1}));
}

TEST_P(ConfidenceHead, NoRowsIsNoWork) { EXPECT_TRUE(confidence(on, DType::f32, 1, 1, {}, {}, {1, 1}).empty()); }

TEST_P(ConfidenceHead, ProjectionOfAnotherWidthStops) {
  EXPECT_DEATH(confidence(on, DType::f32, 2, 1, {1, 2}, {3}, {1, 2}), "confidence_head");
}

TEST_P(ConfidenceHead, RowAloneGivesTheBitsItHasAmongOthers) {
  Random random(2);
  for (const auto& [dim, rank] : {std::pair<std::int64_t, std::int64_t>{19, 7}, {33, 19}}) {
    const StoredWeight w(WeightFormat::bf16, 1, dim + rank, random);
    Tensor<2> x(DType::bf16, {5, dim}, random), embedding(DType::bf16, {5, rank}, random);
    EXPECT_TRUE(rows_stand_alone(5, [&](std::int64_t first, std::int64_t n) {
      return confidence(on.with_threads(2), x.values().part(first, n), embedding.values().part(first, n), w.weight);
    }));
  }
}

TEST(ConfidenceHeadAgreement, AtEverySizeAndType) {
  Random random(1);
  Agreement agreement;
  for (const DType x_type : {DType::bf16, DType::f32}) {
    for (const DType embedding_type : {DType::bf16, DType::f32}) {
      for (const WeightFormat f : {WeightFormat::bf16, WeightFormat::f32}) {
        for (const std::int64_t dim : {1, 15, 16, 33, 5120}) {
          for (const std::int64_t rank : {1, 16, 31, 256}) {
            const StoredWeight w(f, 1, dim + rank, random);
            for (const std::int64_t rows : {0, 1, 5}) {
              Tensor<2> x(x_type, {rows, dim}, random), embedding(embedding_type, {rows, rank}, random);
              agreement.add([&](const On& on) { return confidence(on, x, embedding, w.weight); });
            }
          }
        }
      }
    }
  }
  expect_f32_agrees(agreement, 2e-5);  // a lone row may cancel
}

}  // namespace
}  // namespace cachalot::confidence_head_test
