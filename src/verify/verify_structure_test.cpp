// SPDX-License-Identifier: Apache-2.0
#include "verify/verify_structure.h"

#include <cstdint>
#include <initializer_list>
#include <limits>

#include "checkpoint/test_checkpoint.h"

namespace cachalot::verify_structure_test {
namespace {

// What is said of a checkpoint that holds these values alone, under a name that no model has.
template <class Stored>
std::vector<std::string> problems_of(DType type, const std::vector<Stored>& values) {
  EditedCheckpoint edited;
  edited.tensors.clear();
  edited.tensors.push_back({{"surplus", type, {std::ssize(values)}}, std::as_bytes(std::span(values))});
  const auto checkpoint = edited.open();
  EXPECT_TRUE(checkpoint) << checkpoint.error().message;
  return verify_values(*checkpoint, [](std::int64_t, std::int64_t) { return true; }).problems;
}

template <class Stored>
void expect_third_named(DType type, Stored good, std::initializer_list<Stored> bad, std::string_view said) {
  EXPECT_TRUE(problems_of<Stored>(type, {good, good, good, good}).empty()) << name(type);
  for (const Stored b : bad) {
    const auto problems = problems_of<Stored>(type, {good, good, b, good});
    ASSERT_EQ(problems.size(), 1u) << name(type);
    EXPECT_TRUE(problems[0].starts_with("surplus in ")) << problems[0];
    EXPECT_TRUE(problems[0].ends_with(said)) << problems[0];
  }
}

TEST(VerifyValues, TheFirstThatIsNotFiniteIsNamedInEveryTypeOfNumbers) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  constexpr std::string_view said = "value 2 is NaN or infinite";
  expect_third_named<double>(DType::f64, 1e300, {nan, infinity, -infinity}, said);
  expect_third_named<float>(DType::f32, -3e38f, {static_cast<float>(nan), -static_cast<float>(infinity)}, said);
  expect_third_named<std::uint16_t>(DType::f16, 0x7BFF, {0x7C00, 0xFC00, 0x7E00}, said);
  expect_third_named<std::uint16_t>(DType::bf16, 0xFF7F, {0x7F80, 0xFF80, 0x7FC0}, said);
}

TEST(VerifyValues, CodesOfNanAreNamedInFp8AndInScales) {
  expect_third_named<std::uint8_t>(DType::e4m3, 0x7E, {0x7F, 0xFF}, "value 2 is an e4m3 code of NaN");
  expect_third_named<std::uint8_t>(DType::e8m0, 254, {255}, "scale 2 is the ue8m0 code 255, which is NaN");
  EXPECT_TRUE(problems_of<std::uint8_t>(DType::u8, {255, 0x7F}).empty()) << "bytes of no known meaning";
}

TEST(VerifyValues, StopsWhenAskedAndSaysHowFarItCame) {
  EditedCheckpoint edited;
  const std::vector<float> values = {1, 2};
  edited.tensors.clear();
  for (const char* name : {"a", "b", "c"})
    edited.tensors.push_back({{name, DType::f32, {2}}, std::as_bytes(std::span(values))});
  const auto checkpoint = edited.open();
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  const ValueFacts facts = verify_values(*checkpoint, [](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(total, 24);
    return done < 16;
  });
  EXPECT_TRUE(facts.stopped);
  EXPECT_EQ(facts.tensors, 2);
  EXPECT_EQ(facts.bytes, 16);
}

}  // namespace
}  // namespace cachalot::verify_structure_test
