// SPDX-License-Identifier: Apache-2.0
#include "base/seeded_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace cachalot::seeded_hash_test {
namespace {

constexpr HashSecret counted{0x0706050403020100, 0x0f0e0d0c0b0a0908};  // bytes 0 to 15, as in the authors' vectors

std::string counted_bytes(std::size_t n) {
  std::string text;
  for (std::size_t i = 0; i < n; ++i) text += static_cast<char>(i);
  return text;
}

TEST(SeededHash, SipHash24GivesItsAuthorsVectors) {
  EXPECT_EQ((sip_hash<2, 4>(counted, "")), 0x726fdb47dd0e0e31u);
  EXPECT_EQ((sip_hash<2, 4>(counted, counted_bytes(1))), 0x74f839c593dc67fdu);
  EXPECT_EQ((sip_hash<2, 4>(counted, counted_bytes(7))), 0xab0200f58b01d137u);
  EXPECT_EQ((sip_hash<2, 4>(counted, counted_bytes(8))), 0x93f5f5799a932462u);
  EXPECT_EQ((sip_hash<2, 4>(counted, counted_bytes(15))), 0xa129ca6149be45e5u);
}

TEST(SeededHash, TheSecretIsNotZeroAndStaysTheSame) {
  EXPECT_NE(hash_secret().first, 0u);
  EXPECT_NE(hash_secret().second, 0u);
  EXPECT_EQ(SeededHash{}("text"), SeededHash{}(std::string("text")));
}

// The largest share of `keys` in one of `buckets` places.
template <class Key>
std::size_t fullest(const std::vector<Key>& keys, std::size_t buckets, const auto& hash) {
  std::vector<std::size_t> count(buckets);
  for (const Key& key : keys) ++count[hash(key) % buckets];
  return std::ranges::max(count);
}

TEST(SeededHash, NumbersThatAreEqualModuloTheBucketsSpread) {
  for (const std::size_t buckets : {std::size_t{1} << 16, std::size_t{62'233}, std::size_t{107'897}}) {
    std::vector<std::uint64_t> keys;
    for (std::uint64_t i = 0; i < 20'000; ++i) keys.push_back(i * buckets);
    const auto identity = [](std::uint64_t key) { return key; };
    EXPECT_EQ(fullest(keys, buckets, identity), keys.size());
    EXPECT_LE(fullest(keys, buckets, SeededHash{}), 12u) << buckets;  // 20,000 balls: more are one in 10^9
  }
}

TEST(SeededHash, NumbersThatDifferInFewBitsSpread) {
  std::vector<std::uint64_t> high, pairs;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    high.push_back(i << 44);
    pairs.push_back((i / 128) << 32 | i % 128);
  }
  EXPECT_LE(fullest(high, 1 << 16, SeededHash{}), 12u);
  EXPECT_LE(fullest(pairs, 1 << 16, SeededHash{}), 12u);
}

TEST(SeededHash, TextsSpread) {
  std::vector<std::string> keys;
  for (int i = 0; i < 20'000; ++i) keys.push_back("layers." + std::to_string(i) + ".weight");
  EXPECT_LE(fullest(keys, 1 << 16, SeededHash{}), 12u);
}

TEST(SeededHash, TablesHoldTextsNumbersAndPlaces) {
  HashMap<std::string_view, int> texts{{"a", 1}};
  HashMultimap<std::uint64_t, int> numbers{{7, 1}, {7, 2}};
  HashSet<const void*> places{&texts};
  EXPECT_EQ(texts.at("a"), 1);
  EXPECT_EQ(numbers.count(7), 2u);
  EXPECT_TRUE(places.contains(&texts));
}

}  // namespace
}  // namespace cachalot::seeded_hash_test
