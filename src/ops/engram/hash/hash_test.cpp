// SPDX-License-Identifier: Apache-2.0
#include "ops/engram/hash/hash.h"

#include <gtest/gtest.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "base/json.h"

namespace cachalot::hash_test {
namespace {

Json read(const std::string& name) {
  std::ifstream file(std::string(CACHALOT_TEST_DATA) + "/engram/" + name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  auto json = parse_json(text, name);
  EXPECT_TRUE(json) << (json ? "" : json.error().message);
  return json ? *std::move(json) : Json();
}

// Numbers above 2^53 stand in the files as decimal strings.
std::optional<std::uint64_t> number(const Json& value) {
  const std::string& text = value.is_string() ? *value.as_string() : *value.number_text();
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return n;
}

// All numbers in a value, arrays in arrays opened.
std::vector<std::uint64_t> numbers(const Json& value) {
  if (!value.is_array()) return {*number(value)};
  std::vector<std::uint64_t> all;
  for (const Json& item : value.items()) {
    const auto some = numbers(item);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

const EngramShape released{.layers = {1, 14}, .vocab_size = 16'000'000, .classes = 99'092, .max_ngram = 4, .heads = 8};

void expect_layout(const EngramShape& shape, std::span<const Json> want) {
  const std::vector<EngramColumns> got = engram_columns(shape);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(static_cast<std::uint64_t>(shape.layers[i]), *number(*want[i].find("layer")));
    EXPECT_EQ(got[i].multiplier, numbers(*want[i].find("multipliers")));
    EXPECT_EQ(got[i].prime, numbers(*want[i].find("primes")));
    EXPECT_EQ(got[i].offset, numbers(*want[i].find("offsets")));
    EXPECT_EQ(static_cast<std::uint64_t>(got[i].table_rows()), *number(*want[i].find("rows")));
    EXPECT_EQ(got[i].columns(), (shape.max_ngram - 1) * shape.heads);
    EXPECT_EQ(got[i].max_ngram(), shape.max_ngram);
  }
}

TEST(EngramHash, ReleasedLayoutIsReproduced) {
  const Json file = read("released_layout.json");
  expect_layout(released, file.find("layout")->items());
}

TEST(EngramHash, TinyLayoutsAreReproduced) {
  const Json file = read("hash_rows.json");
  const auto tiny = file.find("tiny_layouts")->items();
  ASSERT_EQ(tiny.size(), 3u);
  expect_layout({{1, 4}, 97, 64, 4, 2}, tiny[0].items());
  expect_layout({{0, 2, 3}, 1000, 500, 3, 4}, tiny[1].items());
  expect_layout({{5}, 16, 10, 2, 3}, tiny[2].items());
}

TEST(EngramHash, SmallCheckpointsPrimesAndMultipliersAreReproduced) {
  const Json file = read("mini_a.json");
  const auto columns = engram_columns({{1, 4}, 101, *file.find("compressed_vocab")->as_int64(), 4, 2});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(columns[i].prime, numbers(file.find("primes")->items()[i]));
    EXPECT_EQ(columns[i].multiplier, numbers(file.find("multipliers")->items()[i]));
  }
}

TEST(EngramHash, OneClassAndTheSmallestTableStillGiveALayout) {
  const auto columns = engram_columns({{0}, 1, 1, 2, 1});
  EXPECT_EQ(columns[0].prime, (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(columns[0].multiplier.size(), 2u);
  EXPECT_TRUE(engram_columns({{}, 16, 10, 4, 2}).empty());
}

// Class of each token that hash_rows.json lists, in the released tokenizer.
const std::map<std::int64_t, std::int32_t> class_of = {
    {0, 0},         {3, 3},          {5, 5},          {6, 6},          {7, 7},          {8, 8},
    {14, 14},       {303, 14},       {1175, 3},       {2058, 1751},    {3427, 2901},    {19923, 15844},
    {30594, 24024}, {128799, 98611}, {128803, 98615}, {128804, 98616}, {128822, 98634}, {129264, 99076}};

TEST(EngramHash, EveryGoldenListGivesItsRows) {
  const Json file = read("hash_rows.json");
  const auto columns = engram_columns(released);
  int rows = 0;
  for (const Json& c : file.find("cases")->items()) {
    const auto tokens = c.find("tokens")->items();
    std::vector<std::int32_t> back;  // newest first
    std::vector<std::uint8_t> dead;
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      back.insert(back.begin(), class_of.at(*tokens[t].as_int64()));
      const Json* mask = c.find("mask");
      dead.insert(dead.begin(), mask != nullptr && !*mask->items()[t].as_bool());
      std::vector<std::int32_t> classes(4);
      engram_history(back, dead, 2, classes);
      for (std::size_t i = 0; i < 2; ++i) {
        std::vector<std::int64_t> got(24);
        engram_rows(columns[i], classes, got);
        const Json& want = c.find("rows")->find(std::to_string(released.layers[i]))->items()[t];
        EXPECT_EQ(std::vector<std::uint64_t>(got.begin(), got.end()), numbers(want))
            << *c.find("name")->as_string() << " token " << t << " layer " << released.layers[i];
        ++rows;
      }
    }
  }
  EXPECT_EQ(rows, 2 * (4 + 1 + 8 + 4 + 9));
}

TEST(EngramHash, RowsLieInsideTheColumnTheyBelongTo) {
  const auto columns = engram_columns({{1, 4}, 97, 64, 4, 2});
  std::vector<std::int64_t> row(6);
  for (std::int32_t a = 0; a < 64; ++a) {
    engram_rows(columns[1], std::vector<std::int32_t>{a, 63 - a, a / 2, 63}, row);
    for (std::size_t i = 0; i < row.size(); ++i) {
      EXPECT_GE(row[i], static_cast<std::int64_t>(columns[1].offset[i]));
      EXPECT_LT(row[i], static_cast<std::int64_t>(columns[1].offset[i] + columns[1].prime[i]));
    }
  }
}

TEST(EngramHash, HandComputedRows) {
  // h = 5·3 = 15; 15 ^ 2·7 = 1; 1 ^ 1·11 = 10.
  const EngramColumns layer{.multiplier = {3, 7, 11}, .prime = {5, 7, 3, 11}, .offset = {0, 5, 12, 15}, .heads = 2};
  std::vector<std::int64_t> row(4);
  engram_rows(layer, std::vector<std::int32_t>{5, 2, 1}, row);
  EXPECT_EQ(row, (std::vector<std::int64_t>{1, 6, 13, 25}));
}

std::vector<std::int32_t> history(const std::vector<std::int32_t>& back, const std::vector<std::uint8_t>& dead,
                                  std::size_t max_ngram = 4) {
  std::vector<std::int32_t> out(max_ngram, -7);
  engram_history(back, dead, 2, out);
  return out;
}

using Classes = std::vector<std::int32_t>;

TEST(EngramHistory, FullHistoryIsTakenAsItIs) {
  EXPECT_EQ(history({10, 11, 12, 13}, {0, 0, 0, 0}), (Classes{10, 11, 12, 13}));
  EXPECT_EQ(history({10, 11, 12, 13, 14}, {0, 0, 0, 0, 1}), (Classes{10, 11, 12, 13}));
}

TEST(EngramHistory, BeforeTheStartIsPad) {
  EXPECT_EQ(history({10, 11}, {0, 0}), (Classes{10, 11, 2, 2}));
  EXPECT_EQ(history({10}, {0}), (Classes{10, 2, 2, 2}));
  EXPECT_EQ(history({}, {}), (Classes{2, 2, 2, 2}));
}

TEST(EngramHistory, DeadPositionAndAllFurtherBackArePad) {
  EXPECT_EQ(history({10, 11, 12, 13}, {0, 1, 0, 0}), (Classes{10, 2, 2, 2}));
  EXPECT_EQ(history({10, 11, 12, 13}, {0, 0, 1, 0}), (Classes{10, 11, 2, 2}));
  EXPECT_EQ(history({10, 11, 12, 13}, {1, 0, 0, 0}), (Classes{2, 2, 2, 2}));
}

TEST(EngramHistory, ClassOfADeadPositionIsNotLookedAt) {
  EXPECT_EQ(history({10, -1, -1, 13}, {0, 1, 1, 0}), (Classes{10, 2, 2, 2}));
}

TEST(EngramHistory, ContradictionsStop) {
  EXPECT_DEATH(history({10, -1}, {0, 0}), "not negative");
  EXPECT_DEATH(history({10, 11}, {0}), "a mark each");
  std::vector<std::int64_t> row(2);
  const EngramColumns layer{.multiplier = {3, 7}, .prime = {5, 7}, .offset = {0, 5}, .heads = 2};
  EXPECT_DEATH(engram_rows(layer, Classes{1, -1}, row), "not negative");
  EXPECT_DEATH(engram_rows(layer, Classes{1}, row), "engram_rows");
  EXPECT_DEATH((void)engram_columns({{1}, 0, 10, 4, 2}), "in range");
}

TEST(Pcg64, GoldenSeedsGiveTheirRawNumbersAndDraws) {
  const Json file = read("pcg64.json");
  int tried = 0, skipped = 0;
  for (const Json& v : file.find("vectors")->items()) {
    const auto seed = number(*v.find("seed"));
    if (!seed) {  // more than 64 bits: no seed of ours
      ++skipped;
      continue;
    }
    ++tried;
    Pcg64 raw(*seed);
    for (std::uint64_t want : numbers(*v.find("raw64"))) EXPECT_EQ(raw.next64(), want) << "seed " << *seed;
    for (const Json& draws : v.find("integers")->items()) {
      const std::uint64_t bound = *number(*draws.find("bound"));
      Pcg64 fresh(*seed);
      for (std::uint64_t want : numbers(*draws.find("values"))) {
        EXPECT_EQ(fresh.below(bound), want) << "seed " << *seed << " bound " << bound;
      }
    }
  }
  EXPECT_EQ(tried, 35);
  EXPECT_EQ(skipped, 2);
}

TEST(Pcg64, BoundsThatRejectOftenAgreeWithTheGoldenDraws) {
  const Json file = read("pcg64.json");
  for (const Json& v : file.find("rejection")->items()) {
    Pcg64 generator(*number(*v.find("seed")));
    for (std::uint64_t want : numbers(*v.find("values"))) EXPECT_EQ(generator.below(*number(*v.find("bound"))), want);
  }
}

TEST(Pcg64, Next32GivesTheLowHalfFirstAndKeepsTheHighOne) {
  Pcg64 whole(7), halves(7);
  const std::uint64_t first = whole.next64(), second = whole.next64();
  EXPECT_EQ(halves.next32(), static_cast<std::uint32_t>(first));
  EXPECT_EQ(halves.next64(), second);  // a whole one in between leaves the kept half alone
  EXPECT_EQ(halves.next32(), static_cast<std::uint32_t>(first >> 32));
}

TEST(Pcg64, BoundOneConsumesNothing) {
  Pcg64 a(3), b(3);
  EXPECT_EQ(a.below(1), 0u);
  EXPECT_EQ(a.next64(), b.next64());
}

TEST(Pcg64, BoundsOutOfRangeStop) {
  EXPECT_DEATH((void)Pcg64(1).below(0), "bound");
  EXPECT_DEATH((void)Pcg64(1).below((std::uint64_t{1} << 63) + 1), "bound");
}

}  // namespace
}  // namespace cachalot::hash_test
