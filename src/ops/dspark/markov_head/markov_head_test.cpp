// SPDX-License-Identifier: Apache-2.0
#include "ops/dspark/markov_head/markov_head.h"

#include <gtest/gtest.h>

#include "ops/test_tensors.h"

namespace cachalot {
namespace {

std::vector<float> add(DType type, std::int64_t rank, const std::vector<float>& embedding,
                       const std::vector<float>& head, std::vector<float> logits) {
  const std::int64_t rows = static_cast<std::int64_t>(embedding.size()) / rank;
  const std::int64_t vocab = static_cast<std::int64_t>(head.size()) / rank;
  const TestTensor<2> e(type, {rows, rank}, embedding), w(type, {vocab, rank}, head);
  Context context;
  markov_head_ref(context, {.embedding = e.view(), .head = w.weight(), .logits = {logits.data(), {rows, vocab}}});
  return logits;
}

TEST(MarkovHead, AddsToTheLogitsThatAreThere) {
  EXPECT_EQ(add(DType::f32, 2, {2, 3}, {1, 0, 0, 1, 10, 100}, {0.5f, 0, -1}), (std::vector<float>{2.5f, 3, 319}));
}

TEST(MarkovHead, Bf16TablesGiveUnroundedF32) {
  // 1 + 2^-10 does not fit bf16.
  EXPECT_EQ(add(DType::bf16, 2, {1, 0x1p-10f}, {1, 1}, {0}), (std::vector<float>{1 + 0x1p-10f}));
}

TEST(MarkovHead, RoundsTheProductToF32BeforeItIsAdded) {
  // The product is a hair above 1. As an f32 it is 1, and 2^24 + 1 is a tie that goes to even; added in double it would
  // be 2^24 + 2.
  EXPECT_EQ(add(DType::f32, 2, {1, 0x1p-25f}, {1, 1}, {0x1p24f}), (std::vector<float>{0x1p24f}));
}

TEST(MarkovHead, SumsTheProductWiderThanF32) {
  EXPECT_EQ(add(DType::f32, 3, {0x1p24f, 1, -0x1p24f}, {1, 1, 1}, {0}), (std::vector<float>{1}));
}

TEST(MarkovHead, NoRowsIsNoWork) { EXPECT_TRUE(add(DType::f32, 2, {}, {1, 2}, {}).empty()); }

TEST(MarkovHead, RowAloneGivesTheBitsItHasAmongOthers) {
  const std::int64_t rows = 5, rank = 17, vocab = 9;
  const std::vector<float> e = noise(rows * rank, 1), head = noise(vocab * rank, 2), logits = noise(rows * vocab, 3);
  EXPECT_TRUE(rows_stand_alone(rows, [&](std::int64_t first, std::int64_t n) {
    return add(DType::bf16, rank, std::vector(e.begin() + first * rank, e.begin() + (first + n) * rank), head,
               std::vector(logits.begin() + first * vocab, logits.begin() + (first + n) * vocab));
  }));
}

}  // namespace
}  // namespace cachalot
