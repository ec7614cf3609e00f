// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "kv/state_bytes.h"
#include "kv/test_sequence.h"

namespace cachalot::sequence_parts_test {
namespace {

TEST(SequenceParts, AreAsManyBytesAsTheStateHasAtEveryLength) {
  Sequence s(small_shape());
  for (std::int64_t length = 0; length < 600; ++length) {
    ASSERT_EQ(std::ssize(bytes_of(s)), state_bytes(s.shape(), length).all()) << length;
    run(s, 1);
  }
}

TEST(SequenceParts, ARestoredSequenceHoldsTheSameAtOddAndEvenLengths) {
  for (const std::int64_t length : {0, 1, 2, 3, 16, 17, 39, 40, 264, 265, 601}) {
    Sequence s(small_shape());
    while (s.length() < length) run(s, std::min<std::int64_t>(7, length - s.length()));
    auto again = restored(s.shape(), s.numbers(), bytes_of(s));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->length(), length);
    EXPECT_EQ(again->reachable(), s.reachable());
    EXPECT_EQ(again->published_source(), s.published_source());
    EXPECT_EQ(bytes_of(*again), bytes_of(s));
    run(s, 5);
    run(*again, 5);
    EXPECT_EQ(bytes_of(*again), bytes_of(s));
  }
}

TEST(SequenceParts, OfATruncatedSequenceArePagesOnlyThatItsLengthFills) {
  Sequence s(small_shape());
  while (s.length() < 270) run(s, 1);
  ASSERT_TRUE(s.truncate(260));
  const auto bytes = bytes_of(s);
  EXPECT_EQ(std::ssize(bytes), state_bytes(s.shape(), 260).all());
  auto again = restored(s.shape(), s.numbers(), bytes);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->truncate(254));
  EXPECT_FALSE(again->truncate(253)) << "the slack is not counted anew";
}

TEST(SequenceParts, NumbersThatNoSequenceHasAreRefused) {
  Sequence s(small_shape());
  run(s, 40);
  const auto bytes = bytes_of(s);
  const StateNumbers good = s.numbers();
  EXPECT_TRUE(restored(s.shape(), good, bytes));
  for (const StateNumbers& bad :
       {StateNumbers{-1, 0, -1}, {40, 23, -1}, {40, 41, -1}, {40, -1, -1}, {40, 24, 2}, {40, 24, -2}}) {
    const auto refused = restored(s.shape(), bad, bytes);
    ASSERT_FALSE(refused) << bad.length << " " << bad.reachable << " " << bad.published;
    EXPECT_EQ(refused.error().code, Errc::format);
  }
  EXPECT_FALSE(restored(s.shape(), good, std::span(bytes).first(bytes.size() - 1)));
}

TEST(SequenceParts, AHistoryWithImagesOrNegativeClassesIsRefused) {
  Sequence s(small_shape());
  run(s, 40);
  const auto history = static_cast<std::size_t>(s.shape().ring_bytes());  // behind the only ring
  for (const std::size_t at : {history + 3, history + 19 * sizeof(std::int32_t)}) {
    auto bytes = bytes_of(s);
    bytes[at] = std::byte{0x80};
    EXPECT_FALSE(restored(s.shape(), s.numbers(), bytes)) << at;
  }
}

TEST(SequenceParts, ASequenceRemembersThatItHadAnImage) {
  Sequence s(small_shape());
  run(s, 20);
  EXPECT_TRUE(s.text_only());
  Leftovers step(s, 1);
  step.dead = {1};
  s.commit(step.state());
  run(s, 100);
  EXPECT_FALSE(s.text_only());
  EXPECT_FALSE(s.share().text_only());
}

TEST(SequenceParts, PagesThatTwoSequencesShareAreTheSame) {
  Sequence s(small_shape());
  run(s, 300);
  Sequence other = s.share();
  run(other, 1);
  std::set<std::uint64_t> pages;
  std::int64_t bytes = 0;
  const auto see = [&](std::uint64_t page, std::int64_t size) {
    if (pages.insert(page).second) bytes += size;
  };
  s.each_page(see);
  EXPECT_EQ(bytes, s.page_bytes());
  other.each_page(see);
  EXPECT_EQ(pages.size(), 4u + 1u) << "two pages of each source, and the newest of the one that got a group";
}

}  // namespace
}  // namespace cachalot::sequence_parts_test
