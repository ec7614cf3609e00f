// SPDX-License-Identifier: Apache-2.0
// A bit is a bit (design idea 4): the logits of a position are the same whether its sequence came whole, in chunks, one
// by one, among others, or after a truncation. Compared as bits, with the reference backend, on the golden model
// mini-a, whose window is 56 in rings of 72 and whose groups hold 2 tokens or 1.
#include "sequence_runner.h"

namespace cachalot::decode_equals_prefill_test {
namespace {

const Model& mini_a(Numerics numerics) {
  static const Model released = load_mini_a({.numerics = Numerics::released, .drafts = true});
  static const Model f32 = load_mini_a({.numerics = Numerics::f32, .drafts = true});
  return numerics == Numerics::released ? released : f32;
}

// Each length at once; and every `batch_every`-th of them as the middle one of three, between a short and a long one,
// all starting together.
void whole_equals_one_by_one(Numerics numerics, const std::vector<std::int64_t>& lengths, std::size_t batch_every) {
  const Model& model = mini_a(numerics);
  const std::int64_t most = std::ranges::max(lengths), vocab = model.config().vocab_size;
  const auto rows = random_rows(most, 1, vocab);
  Runner decode(model, {rows});
  decode.one_by_one(most);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::int64_t n = lengths[i];
    Runner whole(model, {rows});
    whole.step({n});
    EXPECT_EQ(first_difference(whole.outcome(0), decode.outcome(0), n), -1) << "a prompt of " << n << " at once";
    if (i % batch_every != 0) continue;
    Runner batch(model, {random_rows(7, 2, vocab), rows, random_rows(61, 3, vocab)});
    batch.step({7, n, 61});
    EXPECT_EQ(first_difference(batch.outcome(1), decode.outcome(0), n), -1) << "a prompt of " << n << " among others";
  }
}

void any_schedule_equals_one_by_one(Numerics numerics, std::int64_t longest, std::uint32_t schedules) {
  const Model& model = mini_a(numerics);
  std::vector<std::vector<Row>> rows;
  std::vector<Outcome> want;
  for (std::uint32_t s = 0; s < 3; ++s) {
    rows.push_back(random_rows(longest - 13 * s, 10 + s, model.config().vocab_size));
    Runner alone(model, {rows.back()});
    alone.one_by_one(alone.left());
    want.push_back(alone.outcome(0));
  }
  for (std::uint32_t schedule = 0; schedule < schedules; ++schedule) {
    std::mt19937 random(schedule);
    Runner run(model, rows);
    run_random_schedule(run, 3, random, model.state_shape().slack, false);
    for (std::size_t s = 0; s < 3; ++s) {
      EXPECT_EQ(first_difference(run.outcome(s), want[s], static_cast<std::int64_t>(rows[s].size())), -1)
          << "schedule " << schedule << ", sequence " << s;
    }
  }
}

// Through the first turn of the rings and a little beyond.
std::vector<std::int64_t> every_length() {
  std::vector<std::int64_t> n;
  for (std::int64_t i = 1; i <= 82; ++i) n.push_back(i);
  n.push_back(120);
  return n;
}

const std::vector<std::int64_t> borders = {1, 2, 3, 24, 56, 57, 72, 73, 80};

TEST(DecodeEqualsPrefill, AtTheBordersOfGroupsWindowAndRingReleased) {
  whole_equals_one_by_one(Numerics::released, borders, 3);
}
TEST(SlowDecodeEqualsPrefill, AtTheBordersOfGroupsWindowAndRingF32) {
  whole_equals_one_by_one(Numerics::f32, borders, 4);
}
TEST(DecodeEqualsPrefill, InAnyMixOfChunks) { any_schedule_equals_one_by_one(Numerics::released, 90, 1); }

TEST(SlowDecodeEqualsPrefill, AtEveryLengthReleased) { whole_equals_one_by_one(Numerics::released, every_length(), 9); }
TEST(SlowDecodeEqualsPrefill, AtEveryLengthF32) { whole_equals_one_by_one(Numerics::f32, every_length(), 9); }
TEST(SlowDecodeEqualsPrefill, InAnyMixOfChunksReleased) { any_schedule_equals_one_by_one(Numerics::released, 120, 12); }
TEST(SlowDecodeEqualsPrefill, InAnyMixOfChunksF32) { any_schedule_equals_one_by_one(Numerics::f32, 120, 8); }

}  // namespace
}  // namespace cachalot::decode_equals_prefill_test
