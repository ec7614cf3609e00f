// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/planted.h"

#include <gtest/gtest.h>

#include <set>

#include "checkpoint/make_checkpoint.h"
#include "checkpoint/test_checkpoint.h"

namespace cachalot::planted_test {
namespace {

class Made {
 public:
  explicit Made(const Plants& plants) {
    const auto made = make_checkpoint({.config = mini_a() / "config.json", .out = folder_.path(), .plants = plants});
    EXPECT_TRUE(made.has_value()) << made.error().message;
    checkpoint_.emplace(*Checkpoint::open(folder_.path()));
  }
  const Checkpoint& checkpoint() const { return *checkpoint_; }
  std::span<const std::byte> operator[](const std::string& name) const {
    const TensorInfo* tensor = checkpoint_->find(name);
    check(tensor != nullptr, "the test's tensor is there");
    return {tensor->data, static_cast<std::size_t>(tensor->bytes)};
  }
  std::span<const std::byte> row(const std::string& name, std::int64_t row) const {
    const auto all = (*this)[name];
    const std::size_t size = all.size() / static_cast<std::size_t>(checkpoint_->find(name)->shape[0]);
    return all.subspan(static_cast<std::size_t>(row) * size, size);
  }

 private:
  TestFolder folder_;
  std::optional<Checkpoint> checkpoint_;
};

bool same(std::span<const std::byte> a, std::span<const std::byte> b) { return std::ranges::equal(a, b); }

std::set<std::string> differing(const Made& a, const Made& b) {
  std::set<std::string> names;
  for (const TensorInfo& tensor : a.checkpoint().tensors()) {
    if (!same(a[tensor.name], b[tensor.name])) names.insert(tensor.name);
  }
  return names;
}

TEST(Planted, TiesMakeExpertsTokensAndIndexKeysEqualAndTouchNothingElse) {
  const Made plain({}), tied({.ties = true});
  std::set<std::string> want = {"head.weight", "mtp.2.markov_head.head.weight"};
  for (const TensorInfo& tensor : plain.checkpoint().tensors()) {
    if (tensor.name.find(".ffn.gate.") != tensor.name.npos || tensor.name.ends_with("indexer.wk.weight") ||
        tensor.name.ends_with("indexer.k_norm.weight"))
      want.insert(tensor.name);
  }
  EXPECT_EQ(differing(plain, tied), want);

  // The best 2 of 8 cut groups of 3, and so do those of the draft stages.
  for (const char* name : {"layers.3.ffn.gate.weight", "layers.3.ffn.gate.bias", "layers.3.ffn.gate.bias_vl"}) {
    for (std::int64_t expert = 0; expert < 8; ++expert) {
      EXPECT_TRUE(same(tied.row(name, expert), plain.row(name, expert - expert % 3))) << name << " " << expert;
    }
  }
  EXPECT_TRUE(same(tied.row("mtp.1.ffn.gate.weight", 2), tied.row("mtp.1.ffn.gate.weight", 0)));
  EXPECT_FALSE(same(tied.row("mtp.1.ffn.gate.weight", 3), tied.row("mtp.1.ffn.gate.weight", 0)));
  for (std::int64_t token = 0; token < 497; ++token) {
    EXPECT_TRUE(same(tied.row("head.weight", token), plain.row("head.weight", token - token % 2))) << token;
  }
}

TEST(Planted, TiedIndexKeysAreOfOneValueUpToItsSignAndNotRotated) {
  const Made plain({}), tied({.ties = true});
  const std::string wk = "layers.2.attn.indexer.wk.weight", norm = "layers.2.attn.indexer.k_norm.weight";
  for (std::int64_t row = 0; row < 32; ++row) {
    std::vector<std::byte> want(plain.row(wk, 0).begin(), plain.row(wk, 0).end());
    for (std::size_t i = 1; row % 2 == 1 && i < want.size(); i += 2) want[i] ^= std::byte{0x80};
    EXPECT_TRUE(same(tied.row(wk, row), want)) << row;
  }
  const auto rope_dim = static_cast<std::size_t>(tied.checkpoint().config().rope_head_dim);
  const std::size_t kept = tied[norm].size() - 2 * rope_dim;
  EXPECT_TRUE(same(tied[norm].first(kept), plain[norm].first(kept)));
  EXPECT_TRUE(std::ranges::all_of(tied[norm].subspan(kept), [](std::byte b) { return b == std::byte{}; }));
  EXPECT_EQ(tied[norm].size() - kept, 2 * rope_dim);
}

TEST(Planted, ClampsMakeSomeRowsOfW1AndW3LargeInBothOrOne) {
  const Made plain({}), clamped({.clamps = true});
  const auto raised = [&](const std::string& name, std::int64_t row) {
    const auto before = plain.row(name, row), after = clamped.row(name, row);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const int by = std::to_integer<int>(after[i]) - std::to_integer<int>(before[i]);
      if (by != 0 && by != 6) return -1;
      if (by != (after[0] == before[0] ? 0 : 6)) return -1;
    }
    return after[0] == before[0] ? 0 : 1;
  };
  for (std::int64_t row = 0; row < 64; ++row) {
    EXPECT_EQ(raised("layers.4.ffn.experts.1.w1.scale", row), row % 4 < 2) << row;
    EXPECT_EQ(raised("layers.4.ffn.experts.1.w3.scale", row), row % 2 == 0) << row;
  }
  for (std::int64_t block = 0; block < 2; ++block) {
    EXPECT_EQ(raised("mtp.0.ffn.shared_experts.w1.scale", block), 1);
    EXPECT_EQ(raised("mtp.0.ffn.shared_experts.w3.scale", block), block == 0);
  }
  for (const std::string& name : differing(plain, clamped)) {
    EXPECT_TRUE(name.ends_with(".w1.scale") || name.ends_with(".w3.scale")) << name;
  }
}

TEST(Planted, BothTogetherAreBoth) {
  const Made plain({}), tied({.ties = true}), clamped({.clamps = true}), both({.ties = true, .clamps = true});
  auto want = differing(plain, tied);
  want.merge(differing(plain, clamped));
  EXPECT_EQ(differing(plain, both), want);
  EXPECT_TRUE(same(both["head.weight"], tied["head.weight"]));
  EXPECT_TRUE(same(both["layers.0.ffn.experts.0.w3.scale"], clamped["layers.0.ffn.experts.0.w3.scale"]));
}

}  // namespace
}  // namespace cachalot::planted_test
