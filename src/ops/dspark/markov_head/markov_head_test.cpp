// SPDX-License-Identifier: Apache-2.0
#include "ops/dspark/markov_head/markov_head.h"

#include "ops/test_backends.h"

namespace cachalot::markov_head_test {
namespace {

using MarkovHead = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, MarkovHead, each_backend(), place_name);

std::vector<float> add(const On& on, ConstValues<2> embedding, const Weight& head, std::vector<float> logits) {
  on(&Backend::markov_head, {embedding, head, {logits.data(), {embedding.extent(0), head.out}}});
  return logits;
}
std::vector<float> add(const On& on, DType type, std::int64_t rank, const std::vector<float>& embedding,
                       const std::vector<float>& head, std::vector<float> logits) {
  Tensor<2> e(type, {std::ssize(embedding) / rank, rank}, embedding);
  return add(on, e, Tensor<2>(type, {std::ssize(head) / rank, rank}, head).weight(), std::move(logits));
}

TEST_P(MarkovHead, AddsToTheLogitsThatAreThere) {
  EXPECT_EQ(add(on, DType::f32, 2, {2, 3}, {1, 0, 0, 1, 10, 100}, {0.5f, 0, -1}), (std::vector<float>{2.5f, 3, 319}));
}

TEST_P(MarkovHead, Bf16TablesGiveUnroundedF32) {
  // 1 + 2^-10 does not fit bf16.
  EXPECT_EQ(add(on, DType::bf16, 2, {1, 0x1p-10f}, {1, 1}, {0}), (std::vector<float>{1 + 0x1p-10f}));
}

TEST_P(MarkovHead, RoundsTheProductToF32BeforeItIsAdded) {
  // The product is a hair above 1. As an f32 it is 1, and 2^24 + 1 is a tie that goes to even; added in double it would
  // be 2^24 + 2.
  EXPECT_EQ(add(on, DType::f32, 2, {1, 0x1p-25f}, {1, 1}, {0x1p24f}), (std::vector<float>{0x1p24f}));
}

TEST(MarkovHeadReference, SumsTheProductWiderThanF32) {
  EXPECT_EQ(add(On(), DType::f32, 3, {0x1p24f, 1, -0x1p24f}, {1, 1, 1}, {0}), (std::vector<float>{1}));
}

TEST_P(MarkovHead, LongVocabularyIsAddedToTheEnd) {
  const std::int64_t vocab = 40000;
  const std::vector<float> head(static_cast<std::size_t>(vocab), 2);
  const std::vector<float> logits =
      add(on.with_threads(3), DType::f32, 1, {3, 4}, head, std::vector<float>(2 * head.size(), 1));
  EXPECT_EQ(std::count(logits.begin(), logits.begin() + vocab, 7.0f), vocab);
  EXPECT_EQ(std::count(logits.begin() + vocab, logits.end(), 9.0f), vocab);
}

TEST_P(MarkovHead, NoRowsIsNoWork) { EXPECT_TRUE(add(on, DType::f32, 2, {}, {1, 2}, {}).empty()); }

TEST_P(MarkovHead, RowAloneGivesTheBitsItHasAmongOthers) {
  Random random(2);
  for (const auto& [rank, vocab] : {std::pair<std::int64_t, std::int64_t>{17, 9}, {256, 90}}) {
    const StoredWeight w(WeightFormat::bf16, vocab, rank, random);
    Tensor<2> x(DType::bf16, {5, rank}, random);
    const std::vector<float> before = random_floats(5 * vocab, random);
    EXPECT_TRUE(rows_stand_alone(5, [&](std::int64_t first, std::int64_t n) {
      const auto at = before.begin() + first * vocab;
      return add(on.with_threads(2), x.values().part(first, n), w.weight, {at, at + n * vocab});
    }));
  }
}

TEST(MarkovHeadAgreement, AtEverySizeFormatAndType) {
  Random random(1);
  for (const WeightFormat f : {WeightFormat::bf16, WeightFormat::f32, WeightFormat::e4m3_block32}) {
    Agreement agreement;
    for (const DType type : {DType::bf16, DType::f32}) {
      for (const std::int64_t rank : {2, 15, 17, 256}) {
        for (const std::int64_t vocab : {1, 5, 400}) {
          for (const std::int64_t rows : {0, 1, 5}) {
            const StoredWeight w(f, vocab, rank, random);
            Tensor<2> x(type, {rows, rank}, random);
            const std::vector<float> before = random_floats(rows * vocab, random, 8);
            agreement.add([&](const On& on) { return add(on, x, w.weight, before); });
          }
        }
      }
    }
    expect_f32_agrees(agreement);
  }
}

}  // namespace
}  // namespace cachalot::markov_head_test
