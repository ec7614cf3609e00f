// SPDX-License-Identifier: Apache-2.0
#include "cli/option_checks.h"

#include <gtest/gtest.h>

namespace cachalot {
namespace {

constexpr std::uint64_t most = ~std::uint64_t{0};

TEST(OptionChecks, WholeNumbersAreDecimalAndInsideTheirBorders) {
  for (const char* good : {"0", "7", "010", "18446744073709551615"}) {
    std::string text = good;
    EXPECT_EQ(whole_number(0, most)(text), "") << good;
  }
  for (const char* bad : {"", " ", "-1", "+1", "18446744073709551616", "0x10", "1e3", "1.5", "1 ", " 1", "nan"}) {
    std::string text = bad;
    EXPECT_NE(whole_number(0, most)(text).find("is no whole number from 0"), std::string::npos) << bad;
  }
  for (const char* bad : {"2", "6"}) {
    std::string text = bad;
    EXPECT_NE(whole_number(3, 5)(text), "") << bad;
  }
}

TEST(OptionChecks, LeadingZerosDoNotMakeOctal) {
  CLI::App app;
  std::uint64_t seed = 0;
  app.add_option("--seed", seed)->transform(whole_number(0, most));
  app.parse("--seed 010");
  EXPECT_EQ(seed, 10u);
}

TEST(OptionChecks, ListsKeepTheirEmptyParts) {
  EXPECT_EQ(split_at_commas("a"), (std::vector<std::string>{"a"}));
  EXPECT_EQ(split_at_commas(""), (std::vector<std::string>{""}));
  EXPECT_EQ(split_at_commas("a,,b,"), (std::vector<std::string>{"a", "", "b", ""}));
}

TEST(OptionChecks, NumberListsAreReadInFullOrNotAtAll) {
  EXPECT_EQ(*parse_whole_numbers("1", "--ids"), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(*parse_whole_numbers("1,-2,030", "--ids"), (std::vector<std::int64_t>{1, -2, 30}));
  for (const char* bad : {"", ",", "1,", ",1", "1,,2", "1, 2", "1 2", "a", "1.0", "9223372036854775808"}) {
    const auto numbers = parse_whole_numbers(bad, "--ids");
    ASSERT_FALSE(numbers.has_value()) << bad;
    EXPECT_EQ(numbers.error().code, Errc::usage);
    EXPECT_NE(numbers.error().message.find("--ids: \""), std::string::npos) << numbers.error().message;
  }
}

}  // namespace
}  // namespace cachalot
