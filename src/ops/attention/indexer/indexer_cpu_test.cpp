// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "ops/attention/indexer/indexer.h"
#include "ops/test_agreement.h"

namespace cachalot {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float unseen = -3;

// Rows of one or more sequences; scores come back with `unseen` for -inf, so that Agreement can look at them.
struct Case {
  std::int64_t heads, width, groups;
  RowFormat format;
  StoredRows q;
  Tensor<2> weight;
  PagedRows keys;
  Array<std::int32_t, 1> sequence;
  Array<std::int64_t, 1> visible;

  Case(std::int64_t rows, std::int64_t h, std::int64_t w, std::int64_t g, const PagedRows& k, RowFormat f,
       DType weight_type, Random& random)
      : heads(h),
        width(w),
        groups(g),
        format(f),
        q(f, w, random_floats(rows * h * w, random, 3)),
        weight(weight_type, {rows, h}, random),
        keys(k),
        sequence({rows}),
        visible({rows}) {
    for (std::int32_t& s : sequence.at) s = static_cast<std::int32_t>(random.below(keys.readable.extent(0)));
    for (std::int64_t& v : visible.at) v = random.below(groups + 1);
  }

  template <class Operator>
  std::vector<float> scores(Operator op, Context& context, std::int64_t first, std::int64_t n) {
    PackedRows some = q.rows;
    some.rows = n * heads;
    some.codes += first * heads * code_bytes(format, width);
    some.scales += first * heads * scale_bytes(format, width);
    Array<float, 2> score({n, groups}, 99);
    op(context, {some, ConstValues<2>(weight).part(first, n), 1 / std::sqrt(static_cast<float>(heads * width)), keys,
                 sequence.view().part(first, n), visible.view().part(first, n), score});
    for (float& s : score.at) {
      if (s == -infinity) s = unseen;
    }
    return score.at;
  }
  std::int64_t rows() const { return sequence.shape[0]; }
};

TEST(IndexerCpu, AgreesWithTheReferenceAtEveryShape) {
  Random random(1);
  for (const RowFormat f : {RowFormat::e2m1_e8m0_32, RowFormat::bf16, RowFormat::e4m3_e8m0_32, RowFormat::f32}) {
    Agreement agreement;
    for (int round = 0; round < 25; ++round) {
      const std::int64_t width = f == RowFormat::f32 ? 1 + random.below(70) : 32 * (1 + random.below(4));
      const StoredRows one(f, width, random_floats((1 + random.below(150)) * width, random, 2));
      const StoredRows two(f, width, random_floats((1 + random.below(40)) * width, random, 2));
      const StoredPages pages({&one, &two}, 1 + random.below(40),
                              round % 3 == 0 ? RowLayout::records : RowLayout::planes);
      const std::int64_t rows = 1 + random.below(7), heads = 1 + random.below(9);
      const std::int64_t groups = std::max(one.rows.rows, two.rows.rows) + random.below(3);
      Case c(rows, heads, width, groups, pages.rows, f, round % 2 == 0 ? DType::f32 : DType::bf16, random);
      agreement.add(indexer_ref, indexer_cpu,
                    [&](auto op, Context& context) { return c.scores(op, context, 0, c.rows()); });
    }
    expect_f32_agrees(agreement, 1e-6);
  }
}

TEST(IndexerCpu, AgreesWithTheReferenceAtTheModelsSizeAndPastABandOfRows) {
  Random random(2);
  Agreement agreement;
  const StoredRows keys(RowFormat::e2m1_e8m0_32, 128, random_floats(300 * 128, random, 2));
  const StoredPages pages({&keys}, 64);
  for (const std::int64_t rows : {1, 2, 70}) {
    Case c(rows, 32, 128, 300, pages.rows, RowFormat::e2m1_e8m0_32, DType::bf16, random);
    agreement.add(indexer_ref, indexer_cpu, [&](auto op, Context& context) { return c.scores(op, context, 0, rows); });
  }
  EXPECT_EQ(agreement.unequal, 0) << agreement;  // the dots are exact
}

TEST(IndexerCpu, EveryRowIsTheSameAloneAndAmongOthers) {
  Random random(3);
  const StoredRows one(RowFormat::e2m1_e8m0_32, 64, random_floats(77 * 64, random));
  const StoredRows two(RowFormat::e2m1_e8m0_32, 64, random_floats(50 * 64, random));
  const StoredPages pages({&one, &two}, 8);
  Case c(90, 6, 64, 80, pages.rows, RowFormat::e2m1_e8m0_32, DType::f32, random);
  EXPECT_TRUE(rows_stand_alone(90, [&](std::int64_t from, std::int64_t n) {
    Context context(2);
    return c.scores(indexer_cpu, context, from, n);
  }));
}

// Every code under scales from subnormal to NaN: with one-hot queries, the score is the decoded key.
TEST(IndexerCpu, DecodesEveryCodeOfAKey) {
  std::vector<std::uint8_t> codes(16 * 16),
      scales = {0, 1, 2, 100, 126, 127, 128, 129, 130, 140, 150, 160, 170, 180, 254, 255};
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>(i);
  StoredRows keys(RowFormat::e2m1_e8m0_32, 32, std::vector<float>(16 * 32));
  keys.codes = codes;
  keys.scales = scales;
  keys.rows.codes = keys.codes.data();
  keys.rows.scales = keys.scales.data();
  const StoredPages pages({&keys}, 5);
  Random random(4);
  Case c(32, 1, 32, 16, pages.rows, RowFormat::e2m1_e8m0_32, DType::f32, random);
  std::vector<float> one_hot(32 * 32);
  for (std::size_t i = 0; i < 32; ++i) one_hot[33 * i] = i % 2 == 0 ? 1.0f : -1.0f;
  const StoredRows q(RowFormat::e2m1_e8m0_32, 32, one_hot);
  c.q.codes = q.codes;
  c.q.scales = q.scales;
  c.q.rows.codes = c.q.codes.data();
  c.q.rows.scales = c.q.scales.data();
  for (std::int64_t& v : c.visible.at) v = 16;
  Context context;
  const auto got = c.scores(indexer_cpu, context, 0, 32);
  const auto want = c.scores(indexer_ref, context, 0, 32);
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << i;
    } else {
      EXPECT_EQ(got[i], want[i]) << i;
    }
  }
}

TEST(IndexerCpu, VisibleGroupWithoutAKeyCountsAsAZeroKeyAndNanStaysNan) {
  Random random(5);
  const StoredRows rows(RowFormat::bf16, 32, std::vector<float>(2 * 32, 1.0f));
  const StoredPages pages({&rows, nullptr}, 4);
  Case c(2, 1, 32, 40, pages.rows, RowFormat::bf16, DType::f32, random);
  c.sequence.at = {0, 1};
  c.visible.at = {39, 2};
  Context context;
  auto y = c.scores(indexer_cpu, context, 0, 2);
  for (std::size_t g = 2; g < 39; ++g) EXPECT_TRUE(y[g] == 0 && !std::signbit(y[g])) << g;
  EXPECT_EQ(y[39], unseen);
  EXPECT_EQ(y[40], 0);
  EXPECT_EQ(y[42], unseen);
  const bf16 nan = to_bf16(std::nanf(""));
  std::memcpy(c.q.codes.data() + 6, &nan, 2);
  y = c.scores(indexer_cpu, context, 0, 2);
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]) && std::isnan(y[5]));
  EXPECT_EQ(y[39], unseen);
  EXPECT_EQ(y[40], 0);
}

TEST(IndexerCpu, NoRowsAndNoGroupsAreNothingToDo) {
  Random random(6);
  const StoredPages none({nullptr}, 4);
  for (const std::int64_t rows : {0, 2}) {
    Case c(rows, 3, 32, 0, none.rows, RowFormat::e2m1_e8m0_32, DType::f32, random);
    Context context;
    EXPECT_TRUE(c.scores(indexer_cpu, context, 0, rows).empty());
  }
}

}  // namespace
}  // namespace cachalot
