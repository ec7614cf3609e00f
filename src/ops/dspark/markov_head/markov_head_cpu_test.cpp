// SPDX-License-Identifier: Apache-2.0
#include "ops/dspark/markov_head/markov_head.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

TEST(MarkovHeadCpu, AgreesWithTheReference) {
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
            agreement.add(markov_head_ref, markov_head_cpu, [&](auto op, Context& context) {
              std::vector<float> logits = before;
              op(context, {x, w.weight, View<float, 2>(logits.data(), {rows, vocab})});
              return logits;
            });
          }
        }
      }
    }
    expect_f32_agrees(agreement);
  }
}

TEST(MarkovHeadCpu, LongVocabularyIsAddedToTheEnd) {
  const std::int64_t vocab = 40000;
  const std::vector<float> head(static_cast<std::size_t>(vocab), 2);
  std::vector<float> logits(head.size() * 2, 1);
  Tensor<2> x(DType::f32, {2, 1});
  x.set(0, 3);
  x.set(1, 4);
  Context context(3);
  markov_head_cpu(context, {x, {WeightFormat::f32, vocab, 1, head.data()}, {logits.data(), {2, vocab}}});
  EXPECT_EQ(std::count(logits.begin(), logits.begin() + vocab, 7.0f), vocab);
  EXPECT_EQ(std::count(logits.begin() + vocab, logits.end(), 9.0f), vocab);
}

// The product is a hair above 1: as an f32 it is 1, and 2^24 + 1 goes to even.
TEST(MarkovHeadCpu, RoundsTheProductToF32BeforeItIsAdded) {
  const std::vector<float> head = {1, 1};
  std::vector<float> logits = {0x1p24f};
  Tensor<2> x(DType::f32, {1, 2});
  x.set(0, 1);
  x.set(1, 0x1p-25f);
  Context context;
  markov_head_cpu(context, {x, {WeightFormat::f32, 1, 2, head.data()}, {logits.data(), {1, 1}}});
  EXPECT_EQ(logits[0], 0x1p24f);
}

TEST(MarkovHeadCpu, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(2);
  const StoredWeight w(WeightFormat::bf16, 90, 256, random);
  Tensor<2> x(DType::bf16, {5, 256}, random);
  const std::vector<float> before = random_floats(5 * 90, random);
  EXPECT_TRUE(rows_stand_alone(5, [&](std::int64_t first, std::int64_t n) {
    Context context(2);
    std::vector<float> logits(before.begin() + first * 90, before.begin() + (first + n) * 90);
    markov_head_cpu(context, {ConstValues<2>(x).part(first, n), w.weight, View<float, 2>(logits.data(), {n, 90})});
    return logits;
  }));
}

}  // namespace
}  // namespace cachalot
