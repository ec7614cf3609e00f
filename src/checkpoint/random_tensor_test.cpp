// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/random_tensor.h"

#include <gtest/gtest.h>

#include <vector>

#include "checkpoint/test_checkpoint.h"

namespace cachalot::random_tensor_test {
namespace {

Config mini_config() { return parse_config(text_of(mini_a() / "config.json"), "config")->config; }

std::vector<std::byte> whole(const ExpectedTensor& tensor, const Planted& planted = {}) {
  std::vector<std::byte> all(static_cast<std::size_t>(tensor.bytes()));
  RandomTensor(tensor, 7, planted).bytes(0, all);
  return all;
}

ExpectedTensor named(std::string_view name) {
  const auto tensors = expected_tensors(mini_config());
  const auto at = std::ranges::find(tensors, name, &ExpectedTensor::name);
  check(at != tensors.end(), "the test's tensor is there");
  return *at;
}

TEST(RandomTensor, PiecesOfAnySizeAreThoseOfTheWhole) {
  const Config config = mini_config();
  for (const ExpectedTensor& tensor : expected_tensors(config)) {
    for (const bool plant : {false, true}) {
      const Planted planted = planted_in(tensor, config, {.ties = plant, .clamps = plant});
      if (plant && !planted.any()) continue;
      const std::vector<std::byte> all = whole(tensor, planted);
      const RandomTensor random(tensor, 7, planted);
      for (const std::int64_t piece : {4, 20, 260}) {
        std::vector<std::byte> pieces(all.size());
        for (std::int64_t first = 0; first < tensor.bytes(); first += piece) {
          const std::int64_t size = std::min(piece, tensor.bytes() - first);
          random.bytes(first,
                       std::span(pieces).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(size)));
        }
        ASSERT_EQ(pieces, all) << tensor.name << " in pieces of " << piece;
      }
    }
  }
}

// Weights of a seed are used to compare machines and versions, so they stay what they are.
TEST(RandomTensor, SeedSevenHasTheBytesItAlwaysHad) {
  const std::pair<const char*, const char*> first_bytes[] = {
      {"embed.weight", "bfbf13bf3ebee23f"},
      {"layers.0.hc_attn_fn", "5ed57c3db1da803d"},
      {"layers.0.attn.wq_a.weight", "ec745ad4f16ce5db"},
      {"layers.0.attn.wq_a.scale", "7574747575767575"},
      {"layers.2.ffn.experts.3.w2.weight", "45520a4451e3b21d"},
      {"layers.2.ffn.experts.3.w2.scale", "7b7c7b7c7b7b7b7c"},
      {"layers.1.engram.embed.weight", "6967e162ea6ce861"},
      {"layers.1.engram.embed.scale", "7979797978797979"},
      {"layers.2.ffn.gate.bias", "d0c8a73ecd2de63d"},
      {"layers.2.ffn.gate.weight", "883d283ef6bd8abd"},
      {"norm.weight", "703f443f803f913f"},
  };
  for (const auto& [name, want] : first_bytes) {
    std::string got;
    const std::vector<std::byte> all = whole(named(name));
    for (std::size_t i = 0; i < 8; ++i) got += fmt::format("{:02x}", std::to_integer<int>(all[i]));
    EXPECT_EQ(got, want) << name;
  }
}

}  // namespace
}  // namespace cachalot::random_tensor_test
