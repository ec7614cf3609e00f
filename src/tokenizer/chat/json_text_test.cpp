// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat/json_text.h"

#include <cmath>
#include <cstring>
#include <random>

#include "tokenizer/chat/chat_goldens.h"

namespace cachalot::json_text_test {
namespace {

TEST(JsonText, WholeNumbersKeepTheirDigitsAndMinusZeroIsZero) {
  const std::string huge(400, '9');
  for (const std::string& text : {std::string("0"), std::string("-7"), std::string("18446744073709551616"), huge})
    EXPECT_EQ(json_number_text(text), text);
  EXPECT_EQ(json_number_text("-0"), "0");
}

TEST(JsonText, DoublesHaveTheFewestDigitsThatReadBackEqualPlainBetweenTheirBorders) {
  const std::pair<const char*, const char*> cases[] = {
      {"1.0", "1.0"},
      {"2.50", "2.5"},
      {"1e3", "1000.0"},
      {"1E+2", "100.0"},
      {"-0.0", "-0.0"},
      {"0e5", "0.0"},
      {"-1.5e3", "-1500.0"},
      {"0.1", "0.1"},
      {"0.30000000000000004", "0.30000000000000004"},
      {"0.0001", "0.0001"},
      {"0.00001", "1e-05"},
      {"0.000123", "0.000123"},
      {"0.0000123", "1.23e-05"},
      {"1e15", "1000000000000000.0"},
      {"1234567890123456.7", "1234567890123456.8"},
      {"9999999999999998.0", "9999999999999998.0"},
      {"1e16", "1e+16"},
      {"12345678901234567890.0", "1.2345678901234567e+19"},
      {"2.5e20", "2.5e+20"},
      {"1e100", "1e+100"},
      {"5e-324", "5e-324"},
      {"1.7976931348623157e308", "1.7976931348623157e+308"},
  };
  for (const auto& [text, printed] : cases) EXPECT_EQ(json_number_text(text), printed) << text;
}

TEST(JsonText, WhatIsTooLargeIsInfinityAndWhatIsTooSmallZero) {
  const std::string zeros(400, '0');
  for (const std::string& text :
       {std::string("1e400"), std::string("1.8e308"), "1" + zeros + ".0", "0." + zeros + "1e800",
        std::string("1e99999999999999999999"), std::string("0.1e999999999999999999999")}) {
    EXPECT_EQ(json_number_text(text), "Infinity") << text;
    EXPECT_EQ(json_number_text("-" + text), "-Infinity") << text;
  }
  for (const std::string& text : {std::string("1e-400"), "0." + zeros + "1", "1" + zeros + "e-800",
                                  std::string("1e-99999999999999999999"), std::string("2e-324")}) {
    EXPECT_EQ(json_number_text(text), "0.0") << text;
    EXPECT_EQ(json_number_text("-" + text), "-0.0") << text;
  }
  EXPECT_EQ(json_number_text("1" + zeros + "e-400"), "1.0");
  EXPECT_EQ(json_number_text("0e99999999999999999999"), "0.0");
  for (const char* text : {"NaN", "Infinity", "-Infinity"}) EXPECT_EQ(json_number_text(text), text);
}

TEST(JsonText, RandomDoublesReadBackEqual) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t bits = random();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    const std::string text = json_number_text(fmt::format("{:.17e}", value));
    EXPECT_EQ(std::strtod(text.c_str(), nullptr), value) << text;
    EXPECT_NE(text.find_first_of(".e"), std::string::npos) << text;
  }
}

TEST(JsonText, SeparatorsHaveOneSpaceAndOrderIsKept) {
  EXPECT_EQ(json_text(parse_or_fail(R"({"b":[1,2,{}],"a":{"x":null,"y":true},"c":[]})")),
            R"({"b": [1, 2, {}], "a": {"x": null, "y": true}, "c": []})");
  EXPECT_EQ(json_text(parse_or_fail(R"({"a":1,"b":2,"a":3})")), R"({"a": 3, "b": 2})");
  EXPECT_EQ(json_text(parse_or_fail("[NaN, Infinity, -Infinity, 1e999]")), "[NaN, Infinity, -Infinity, Infinity]");
}

TEST(JsonText, StringsEscapeOnlyWhatMustBe) {
  EXPECT_EQ(json_text(Json("\"\\/\n\r\t\b\f\x01\x1F\x7F\u2028é😀")),
            "\"\\\"\\\\/\\n\\r\\t\\b\\f\\u0001\\u001f\x7F\u2028é😀\"");
  EXPECT_EQ(json_text(Json(std::string(1, '\0'))), "\"\\u0000\"");
}

TEST(JsonCheck, AgreesWithTheParserWhereverThatReads) {
  for (const char* text : {"",
                           " ",
                           "null",
                           " true ",
                           "false",
                           "nul",
                           "nulll",
                           "0",
                           "-0",
                           "01",
                           "-",
                           "1.",
                           ".5",
                           "1e",
                           "1e+",
                           "1E5",
                           "+1",
                           "NaN",
                           "Infinity",
                           "\"\"",
                           "\"a",
                           "\"\\\"",
                           "\"\\u12G4\"",
                           "\"\\u00e9\"",
                           "\"\\x\"",
                           "\"\t\"",
                           "[]",
                           "[ ]",
                           "[1",
                           "[1,",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "]",
                           "{}",
                           "{ }",
                           "{\"a\"",
                           "{\"a\":",
                           "{\"a\":1",
                           "{\"a\":1,",
                           "{\"a\":1,}",
                           "{\"a\" : [ {\"b\" : 1 } , 2 ] , \"c\":{}}",
                           "{a:1}",
                           "{1:2}",
                           "{\"a\":1]",
                           "[1}",
                           "1 2",
                           "{} {}",
                           "[[],[[]]]",
                           "\"a\"b",
                           "[\"]\"]",
                           "tru",
                           "\xEF\xBB\xBF{}",
                           "\v1"}) {
    EXPECT_EQ(is_json(text), parse_json(text, "text").has_value()) << text;
  }
}

TEST(JsonCheck, TakesAnyDepthAndLoneSurrogates) {
  EXPECT_TRUE(is_json(std::string(1'000'000, '[') + std::string(1'000'000, ']')));
  EXPECT_FALSE(is_json(std::string(1'000'000, '[')));
  EXPECT_TRUE(is_json(R"("\ud800")"));
}

}  // namespace
}  // namespace cachalot::json_text_test
