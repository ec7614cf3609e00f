// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "engine/perplexity.h"
#include "engine/test_generate.h"

namespace cachalot::perplexity_threads_test {
namespace {

TEST(PerplexityThreads, TheFigureHasTheSameBitsWhateverTheChunkAndTheThreads) {
  const std::vector<TokenId> text = tokens(60);
  std::vector<std::uint64_t> bits;
  for (const int threads : {1, 2}) {
    for (const std::int64_t chunk : {1, 7, 256}) {
      Context context(threads);
      const auto got = score_tokens(mini(), context, text, {.context = 40, .chunk = chunk});
      ASSERT_TRUE(got) << got.error().message;
      bits.push_back(std::bit_cast<std::uint64_t>(got->nats));
    }
  }
  EXPECT_EQ(std::ranges::count(bits, bits[0]), 6);
}

}  // namespace
}  // namespace cachalot::perplexity_threads_test
