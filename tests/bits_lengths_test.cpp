// SPDX-License-Identifier: Apache-2.0
// A bit is a bit on the cpu backend: a prompt at once, in equal chunks, or one by one. With any number of threads, with
// the drafts that follow, at every SIMD level; and the levels but the portable one give the same bits as each other.
#include "bits_settings.h"

namespace cachalot::bits_lengths_test {
namespace {

Outcome one_by_one(const Model& model, const std::vector<Row>& rows) {
  Runner run(model, {rows});
  run.one_by_one(run.left(), true);
  return run.outcome(0);
}

std::vector<Row> text(const Model& model, std::int64_t n) { return random_rows(n, 1, model.config().vocab_size, 9); }

// Each length at once, and a block drafted behind it. Threads: 1 to 4, in turn.
void whole_equals_one_by_one(Levels levels, const std::vector<std::int64_t>& lengths) {
  in_every_setting(levels, [&](const Model& model, const std::string& setting) {
    const auto rows = text(model, std::ranges::max(lengths));
    const Outcome want = one_by_one(model, rows);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      Runner whole(model, {rows}, 1 + static_cast<int>(i % 4));
      whole.step({lengths[i]});
      whole.draft();
      EXPECT_EQ(first_difference(whole.outcome(0), want, lengths[i]), -1)
          << "a prompt of " << lengths[i] << ", " << setting << ", " << 1 + i % 4 << " threads";
    }
  });
}

void chunks_equal_one_by_one(Levels levels, std::int64_t length, const std::vector<std::int64_t>& chunks) {
  in_every_setting(levels, [&](const Model& model, const std::string& setting) {
    const auto rows = text(model, length);
    const Outcome want = one_by_one(model, rows);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      Runner run(model, {rows}, 1 + static_cast<int>((i + 1) % 4));
      while (run.left(0) > 0) {
        run.step({std::min(chunks[i], run.left(0))});
        if (run.length(0) % 7 == 0) run.draft();
      }
      EXPECT_EQ(first_difference(run.outcome(0), want, length), -1)
          << "chunks of " << chunks[i] << ", " << setting << ", " << 1 + (i + 1) % 4 << " threads";
    }
  });
}

std::vector<std::int64_t> from_one_to(std::int64_t most, std::int64_t step = 1) {
  std::vector<std::int64_t> n;
  for (std::int64_t i = 1; i <= most; i += step) n.push_back(i);
  return n;
}

const std::vector<std::int64_t> borders = {1, 2, 15, 16, 17, 55, 56, 57, 71, 72, 73, 80};

TEST(Bits, PromptAtOnceIsOneByOne) { whole_equals_one_by_one(Levels::vector, borders); }
TEST(Bits, PromptAtOnceIsOneByOneAtThePortableLevel) { whole_equals_one_by_one(Levels::portable, {1, 3, 17, 41}); }
TEST(Bits, PromptInChunksIsOneByOne) { chunks_equal_one_by_one(Levels::vector, 90, {2, 3, 16, 33, 64}); }

TEST(Bits, VectorLevelsGiveTheSame) {
  for (const Numerics numerics : {Numerics::released, Numerics::f32}) {
    const Model& model = mini_a_cpu(numerics);
    const auto rows = text(model, 100);
    const Outcome best = one_by_one(model, rows);
    for (const SimdLevel& level : simd_levels()) {
      if (is_portable(level) || is_portable(simd_level())) continue;
      const AtLevel at(level);
      EXPECT_EQ(first_difference(one_by_one(model, rows), best, 100), -1) << level.name;
    }
  }
}

TEST(SlowBits, PromptOfEveryLengthIsOneByOne) { whole_equals_one_by_one(Levels::vector, from_one_to(200)); }
TEST(SlowBits, PromptOfAnyLengthIsOneByOneAtThePortableLevel) {
  whole_equals_one_by_one(Levels::portable, from_one_to(200, 19));
}
TEST(SlowBits, ChunksOfEverySizeAreOneByOne) { chunks_equal_one_by_one(Levels::vector, 100, from_one_to(64)); }
TEST(SlowBits, ChunksOfAnySizeAreOneByOneAtThePortableLevel) {
  chunks_equal_one_by_one(Levels::portable, 120, from_one_to(64, 9));
}

}  // namespace
}  // namespace cachalot::bits_lengths_test
