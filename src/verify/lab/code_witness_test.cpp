// SPDX-License-Identifier: Apache-2.0
#include "verify/lab/code_witness.h"

#include <gtest/gtest.h>

namespace cachalot::code_witness_test {
namespace {

const std::string kv = "layers.1.attn.compress_kv", upper = "layers.3.attn.compress_kv";

Config four_layers() {
  Config config;
  config.n_layers = 4;
  config.compress_ratios = {0, 3, 0, 3};
  return config;
}

// Under a scale of 1.
std::vector<float> row_of(float first) {
  std::vector<float> row(16, 0.0f);
  row.front() = first;
  row.back() = 6;
  return row;
}
const std::vector<std::int64_t> sevens(9, 7);

// The difference where group 1's first value is `before` rounding and decodes to `golden`.
CodeDifference difference(float before, float golden) {
  CodeWitness witness;
  witness.add(sevens, {{{kv, 1}, row_of(golden)}});
  const auto found = witness.first_difference(sevens, 0, {{{kv, 1}, row_of(before)}}, four_layers());
  EXPECT_TRUE(found);
  return found.value_or(CodeDifference{});
}

TEST(CodeWitness, FlipIsOneStepFromAValueNextToTheTie) {
  const CodeDifference flip = difference(2.5f * (1 - 1e-6f), 3);
  EXPECT_TRUE(flip.flip) << flip.what;
  EXPECT_EQ(flip.at.words(), kv + " sequence 0 group 1 value 0");
  EXPECT_NE(flip.what.find("value 0: 2, golden 3"), std::string::npos) << flip.what;
}

TEST(CodeWitness, ValueFarFromTheTieIsNoFlip) {
  const CodeDifference far = difference(2.4f, 3);
  EXPECT_FALSE(far.flip);
  EXPECT_NE(far.what.find("too far for a flip"), std::string::npos) << far.what;
  EXPECT_FALSE(difference(2.5f * (1 - 1e-5f), 3).flip);
}

TEST(CodeWitness, TwoStepsAreNoFlip) {
  const CodeDifference two = difference(2.5f * (1 - 1e-6f), 4);
  EXPECT_FALSE(two.flip);
  EXPECT_NE(two.what.find("more than one code step"), std::string::npos) << two.what;
}

TEST(CodeWitness, FindsTheEarliestInTheLowestLayerWhereTokensAreTheSame) {
  const Config config = four_layers();
  CodeWitness witness;
  witness.add(sevens, {{{kv, 0}, row_of(1)}, {{kv, 1}, row_of(3)}, {{upper, 1}, row_of(3)}, {{kv, 2}, row_of(3)}});
  CodeRows own = {{{kv, 0}, row_of(1)}, {{kv, 1}, row_of(2)}, {{upper, 1}, row_of(2)}, {{kv, 2}, row_of(2)}};
  auto first = witness.first_difference(sevens, 5, own, config);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->at.words(), kv + " sequence 5 group 1 value 0");

  std::vector<std::int64_t> other = sevens;
  other[4] = 8;
  EXPECT_FALSE(witness.first_difference(other, 0, own, config)) << "the tokens of group 1 are others";
  EXPECT_TRUE(witness.knows(other));
  other[0] = 8;
  EXPECT_FALSE(witness.knows(other));

  own[{kv, 1}] = row_of(3);
  first = witness.first_difference(sevens, 0, own, config);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->at.tensor, upper);
}

}  // namespace
}  // namespace cachalot::code_witness_test
