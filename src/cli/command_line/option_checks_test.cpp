// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line/option_checks.h"

#include <gtest/gtest.h>

namespace cachalot::option_checks_test {
namespace {

constexpr std::uint64_t most = ~std::uint64_t{0};

TEST(OptionChecks, WholeNumbersAreDecimalAndInsideTheirBorders) {
  for (const char* good : {"0", "7", "010", "18446744073709551615"})
    EXPECT_TRUE(parse_whole_number(good, 0, most).has_value()) << good;
  EXPECT_EQ(parse_whole_number("010", 0, most).value(), 10u);  // leading zeros do not make octal
  for (const char* bad : {"", " ", "-1", "+1", "18446744073709551616", "0x10", "1e3", "1.5", "1 ", " 1", "nan"}) {
    const auto none = parse_whole_number(bad, 0, most);
    ASSERT_FALSE(none.has_value()) << bad;
    EXPECT_NE(none.error().message.find("is no whole number from 0"), std::string::npos) << bad;
  }
  EXPECT_FALSE(parse_whole_number("2", 3, 5).has_value());
  EXPECT_TRUE(parse_whole_number("3", 3, 5).has_value());
  EXPECT_TRUE(parse_whole_number("5", 3, 5).has_value());
  EXPECT_FALSE(parse_whole_number("6", 3, 5).has_value());
}

TEST(OptionChecks, RealNumbersAreFiniteAndInsideTheirBorders) {
  for (const char* good : {"-2", "2", "0", "-0", "1.5", "1e-3", ".5", "2.0"})
    EXPECT_TRUE(parse_real_number(good, -2, 2).has_value()) << good;
  EXPECT_EQ(parse_real_number("1e-3", -2, 2).value(), 1e-3);
  for (const char* bad : {"", " ", "-2.01", "2.01", "+1", "nan", "inf", "1e400", "0x1", "1,5", "1 ", " 1", "1f"}) {
    const auto none = parse_real_number(bad, -2, 2);
    ASSERT_FALSE(none.has_value()) << bad;
    EXPECT_EQ(none.error().message, fmt::format("{:?} is no number from -2 to 2", bad));
  }
  EXPECT_TRUE(parse_real_number("0", 0, 1).has_value());
  const auto border = parse_real_number("0", 0, 1, Least::excluded);
  ASSERT_FALSE(border.has_value());
  EXPECT_EQ(border.error().message, "\"0\" is no number above 0, at most 1");
}

TEST(OptionChecks, AnIdAndItsValueStandAroundAnEqualsSign) {
  const auto pair = parse_id_and_value("012=-2.5", -100, 100);
  ASSERT_TRUE(pair.has_value());
  EXPECT_EQ(pair->id, 12);
  EXPECT_EQ(pair->value, -2.5);
  for (const char* bad :
       {"", "=", "1", "1=", "=1", "-1=1", "1.5=1", "1=x", "1=nan", "1=101", "1=-101", "1=1=1", "1 =1"}) {
    const auto none = parse_id_and_value(bad, -100, 100);
    ASSERT_FALSE(none.has_value()) << bad;
    EXPECT_EQ(none.error().code, Errc::usage);
    EXPECT_NE(none.error().message.find("number from -100 to 100"), std::string::npos);
  }
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
}  // namespace cachalot::option_checks_test
