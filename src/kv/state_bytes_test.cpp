// SPDX-License-Identifier: Apache-2.0
#include "kv/state_bytes.h"

#include <gtest/gtest.h>

#include "kv/sequence.h"

namespace cachalot::state_bytes_test {
namespace {

StateShape shape_of(std::vector<SourceShape> sources, std::int64_t block, std::int64_t history) {
  StateShape s;
  s.rings = 5;
  s.window = 40;
  s.slack = 16;
  s.head_dim = 96;
  s.index_head_dim = 64;
  s.history = history;
  s.sources = std::move(sources);
  s.page_tokens = page_tokens_for(s.sources, block);
  return s;
}

TEST(StateBytes, AreThoseOfASequenceAtEveryLength) {
  const StateShape shapes[] = {shape_of({}, 1, 0), shape_of({{0, 1}}, 3, 3), shape_of({{0, 3}, {2, 5}, {3, 1}}, 7, 2),
                               shape_of({{1, 2}, {4, 4}}, 1, 15)};
  for (const StateShape& shape : shapes) {
    Sequence sequence(shape);
    for (std::int64_t length = 0; length < 3 * shape.page_tokens; ++length) {
      for (std::size_t i = 0; i < shape.sources.size(); ++i) {  // what a step over position length - 1 writes
        const std::int64_t ratio = shape.sources[i].ratio, source = static_cast<std::int64_t>(i);
        if (length == 0 || length % ratio != 0) continue;
        sequence.make_groups(source, length / ratio - 1, length / ratio);
      }
      const StateBytes bytes = state_bytes(shape, length);
      ASSERT_EQ(bytes.pages(), sequence.page_bytes()) << length;
      ASSERT_EQ(bytes.fixed(), sequence.fixed_bytes());
    }
  }
}

TEST(StateBytes, PerTokenIsTheSlopeOverWholePages) {
  const StateShape shape = shape_of({{0, 3}, {2, 5}, {3, 1}}, 7, 2);
  const TokenBytes token = token_bytes(shape);
  const StateBytes one = state_bytes(shape, shape.page_tokens), nine = state_bytes(shape, 9 * shape.page_tokens);
  const auto tokens = static_cast<double>(8 * shape.page_tokens);
  EXPECT_DOUBLE_EQ(token.compressed, static_cast<double>(nine.compressed - one.compressed) / tokens);
  EXPECT_DOUBLE_EQ(token.index_keys, static_cast<double>(nine.index_keys - one.index_keys) / tokens);
  EXPECT_DOUBLE_EQ(token.all(), token.compressed + token.index_keys);
}

}  // namespace
}  // namespace cachalot::state_bytes_test
