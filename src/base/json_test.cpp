// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <gtest/gtest.h>

#include <limits>

namespace cachalot::json_test {
namespace {

std::string round_trip(std::string_view text, const JsonRules& rules = {}) {
  const auto value = parse_json(text, "text", rules);
  return value ? value->dump() : "error: " + value.error().message;
}

std::string error_of(std::string_view text, const JsonRules& rules = {}) {
  const auto value = parse_json(text, "text", rules);
  return value ? "no error" : value.error().message;
}

TEST(Json, EveryKindReadsAndWritesBack) {
  for (const char* text : {"null", "true", "false", "0", "-1.50e+3", "\"\"", "[]", "{}", "[1,[2,{\"a\":null}]]",
                           "{\"b\":1,\"a\":[true,false]}", "\"\xE2\x88\xAB \xF0\x9F\x90\xB3 \x7F\""}) {
    EXPECT_EQ(round_trip(text), text);
  }
}

TEST(Json, WhiteSpaceAroundEverythingIsDropped) {
  EXPECT_EQ(round_trip(" \t\r\n{ \"a\" : [ 1 , 2 ] , \"b\" : { } } \n"), "{\"a\":[1,2],\"b\":{}}");
}

TEST(Json, NumberKeepsItsText) {
  for (const char* text : {"1", "1.0", "1e5", "1E+05", "-0", "-0.0", "123456789012345678901234567890", "0.10"}) {
    EXPECT_EQ(round_trip(text), text);
  }
}

TEST(Json, WhatIsNotJsonIsRefused) {
  for (const char* text : {"",           " ",
                           "nul",        "nulll",
                           "True",       "NaN",
                           "Infinity",   "-",
                           "+1",         "01",
                           "-01",        "1.",
                           ".5",         "1e",
                           "1e+",        "0x10",
                           "[",          "[1",
                           "[1,",        "[1,]",
                           "[,1]",       "[1 2]",
                           "]",          "{",
                           "{\"a\"",     "{\"a\":",
                           "{\"a\":1",   "{\"a\":1,",
                           "{\"a\":1,}", "{a:1}",
                           "{\"a\" 1}",  "{1:2}",
                           "\"",         "\"abc",
                           "\"\\\"",     "\"\\x\"",
                           "\"\\u12\"",  "\"\\u12g4\"",
                           "\"\\u",      "\"\\",
                           "'a'",        "1 2",
                           "{} {}",      "[]]",
                           "// c\n1",    "\xEF\xBB\xBF{}",
                           "\"\t\"",     "\"\n\"",
                           "\"\x01\""}) {
    EXPECT_FALSE(parse_json(text, "text").has_value()) << text;
  }
  EXPECT_FALSE(parse_json(std::string_view("1\0", 2), "text").has_value());
  EXPECT_FALSE(parse_json(std::string_view("\0", 1), "text").has_value());
  EXPECT_FALSE(parse_json(std::string_view("\"a\0b\"", 5), "text").has_value());
}

TEST(Json, InvalidUtf8IsRefused) {
  for (const char* bytes : {"\x80", "\xC0\xAF", "\xC1\xBF", "\xC3", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82",
                            "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF0\x9F\x90", "\xF5\x80\x80\x80", "\xFF"}) {
    EXPECT_NE(error_of('"' + std::string(bytes) + '"').find("invalid UTF-8"), std::string::npos);
    EXPECT_NE(error_of('"' + std::string(bytes)).find("invalid UTF-8"), std::string::npos);
  }
  for (const char* bytes : {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xEF\xBF\xBF",
                            "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(round_trip('"' + std::string(bytes) + '"'), '"' + std::string(bytes) + '"');
  }
}

TEST(Json, EscapesDecodeAndOnlyNeededOnesAreWritten) {
  EXPECT_EQ(round_trip(R"("\" \\ \/ \b \f \n \r \t \u0000 \u001F \u007f \u00e9 \u20AC \uD83D\uDC33")"),
            "\"\\\" \\\\ / \\b \\f \\n \\r \\t \\u0000 \\u001f \x7F \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x90\xB3\"");
}

TEST(Json, LoneSurrogateIsRefusedOrReplaced) {
  for (const char* text : {R"("\ud800")", R"("\udc00")", R"("\ud800x")", R"("\ud800\n")", R"("\ud83d\u0041")",
                           R"("\ud800\ud800")", R"("\ud800\u12")"}) {
    EXPECT_FALSE(parse_json(text, "text").has_value()) << text;
  }
  const JsonRules replace{.replace_lone_surrogates = true};
  EXPECT_EQ(round_trip(R"("a\ud800b")", replace),
            "\"a\xEF\xBF\xBD"
            "b\"");
  EXPECT_EQ(round_trip(R"("\ud800\ud83d\udc33")", replace), "\"\xEF\xBF\xBD\xF0\x9F\x90\xB3\"");
}

TEST(Json, RepeatedKeyKeepsFirstPlaceAndLastValue) {
  EXPECT_EQ(round_trip(R"({"a":1,"b":2,"a":3,"c":4,"a":5,"b":6})"), R"({"a":5,"b":6,"c":4})");
  EXPECT_NE(error_of(R"({"a":1,"b":2,"a":3})", {.unique_keys = true}).find("\"a\" comes twice"), std::string::npos);
  EXPECT_EQ(round_trip(R"({"a":{"a":1},"b":{"a":1}})", {.unique_keys = true}), R"({"a":{"a":1},"b":{"a":1}})");
}

TEST(Json, DepthIsLimited) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(parse_json(nested(100), "text").has_value());
  EXPECT_FALSE(parse_json(nested(101), "text").has_value());
  EXPECT_FALSE(parse_json(std::string(1'000'000, '['), "text").has_value());
  EXPECT_TRUE(parse_json("[{\"a\":[]}]", "text", {.max_depth = 3}).has_value());
  EXPECT_FALSE(parse_json("[{\"a\":[{}]}]", "text", {.max_depth = 3}).has_value());
}

TEST(Json, ErrorNamesTextLineColumnAndByte) {
  EXPECT_EQ(error_of("{\n  \"a\": 1,\n  \"b\" 2\n}"), "text: line 3, column 7 (byte 18): ':' is expected after a key");
  EXPECT_EQ(error_of("x"), "text: line 1, column 1 (byte 0): a value is expected");
}

TEST(Json, NotFiniteNumbersAreReadOnRequestAndInOneSpelling) {
  const JsonRules rules{.not_finite = true};
  EXPECT_EQ(round_trip("[NaN, Infinity, -Infinity, -1]", rules), "[NaN,Infinity,-Infinity,-1]");
  for (const char* text : {"-NaN", "nan", "inf", "infinity", "Infinit", "+Infinity", "NaNs", "--Infinity", "-"}) {
    EXPECT_FALSE(parse_json(text, "text", rules).has_value()) << text;
  }
  EXPECT_FALSE(parse_json("[NaN]", "text").has_value());
}

TEST(Json, AccessorsAnswerForTheirKindOnly) {
  const auto value = parse_json(R"({"i":12,"d":1.5,"s":"x","b":true,"n":null,"a":[1,2]})", "text");
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(value->find("i")->as_int64(), 12);
  EXPECT_EQ(value->find("i")->as_double(), 12.0);
  EXPECT_EQ(value->find("d")->as_double(), 1.5);
  EXPECT_EQ(value->find("d")->as_int64(), std::nullopt);
  EXPECT_EQ(*value->find("s")->as_string(), "x");
  EXPECT_EQ(value->find("s")->as_double(), std::nullopt);
  EXPECT_EQ(value->find("b")->as_bool(), true);
  EXPECT_EQ(value->find("i")->as_bool(), std::nullopt);
  EXPECT_TRUE(value->find("n")->is_null());
  EXPECT_EQ(value->find("a")->items().size(), 2u);
  EXPECT_TRUE(value->find("a")->members().empty());
  EXPECT_EQ(value->members().size(), 6u);
  EXPECT_EQ(value->find("absent"), nullptr);
  EXPECT_EQ(value->find("s")->find("x"), nullptr);
}

TEST(Json, WholeNumbersAreReadUpToTheirBorders) {
  EXPECT_EQ(parse_json("9223372036854775807", "text")->as_int64(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_json("-9223372036854775808", "text")->as_int64(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse_json("9223372036854775808", "text")->as_int64(), std::nullopt);
  EXPECT_EQ(parse_json("-0", "text")->as_int64(), 0);
  EXPECT_EQ(parse_json("1e3", "text")->as_int64(), std::nullopt);
  EXPECT_EQ(parse_json("1e3", "text")->as_double(), 1000.0);
  EXPECT_EQ(parse_json("1e999", "text")->as_double(), std::nullopt);
}

TEST(Json, BuiltValuesDumpAsWritten) {
  Json json;
  json.set("name", "Cachalot").set("layers", 40).set("eps", 1e-20).set("ok", true).set("none", nullptr);
  json.set("list", Json().push_back(1).push_back(2.5).push_back(0.1f));
  json.set("layers", 41);
  EXPECT_EQ(json.dump(), R"({"name":"Cachalot","layers":41,"eps":1e-20,"ok":true,"none":null,"list":[1,2.5,0.1]})");
  EXPECT_EQ(Json::object({{"a", Json::array({1, "x"})}, {"b", Json::object()}}).dump(JsonSpacing::spaced),
            R"({"a": [1, "x"], "b": {}})");
  EXPECT_EQ(Json(std::numeric_limits<double>::quiet_NaN()).dump(), "null");
  EXPECT_EQ(Json(std::numeric_limits<float>::infinity()).dump(), "null");
  EXPECT_EQ(Json(std::uint64_t{18446744073709551615u}).dump(), "18446744073709551615");
}

// A file's name may be any bytes, and is told in JSON.
TEST(Json, BytesThatAreNotUtf8AreWrittenAsReplacements) {
  EXPECT_EQ(Json("a\xff"
                 "b\xc3\xa9\xe2\x82\"\xed\xa0\x80")
                .dump(),
            "\"a\xEF\xBF\xBD"
            "b\xc3\xa9\xEF\xBF\xBD\\\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = Json(std::string("x") + static_cast<char>(byte) + "y").dump();
    EXPECT_TRUE(parse_json(text, "text").has_value()) << byte;
  }
}

TEST(Json, ManyKeysCostLittle) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += fmt::format("\"k{}\":{},", i % 100'000, i);
  text.back() = '}';
  const auto value = parse_json(text, "text");
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(value->members().size(), 100'000u);
  EXPECT_EQ(value->members()[7].value.as_int64(), 100'007);
}

TEST(Json, ValuesAreCountedAndTooManyRefused) {
  const JsonRules four{.max_values = 4};
  EXPECT_EQ(round_trip("[1,{\"a\":2}]", four), "[1,{\"a\":2}]");
  EXPECT_NE(error_of("[1,{\"a\":2},3]", four).find("more than the 4 values"), std::string::npos);
  EXPECT_NE(error_of("[[],[],[],[]]", four).find("more than the 4 values"), std::string::npos);
}

TEST(Json, MemoryIsBoundedByValuesAndByTheText) {
  const JsonRules few{.max_values = 10};
  EXPECT_LT(few.most_memory(1 << 20), (3 << 20) + 4096);
  EXPECT_LT(JsonRules{}.most_memory(1000), 200'000);
  EXPECT_GT(JsonRules{}.most_memory(1000), 500 * static_cast<std::int64_t>(sizeof(Json)));
}

// "key=value;" of each member, "inside." before it.
std::string members_of(std::string_view text, std::string_view opened, const JsonRules& rules = {}) {
  std::string all;
  const Status read = read_json_members(text, "text", opened, rules, [&](std::string_view inside, Json::Member m) {
    all += fmt::format("{}{}{}={};", inside, inside.empty() ? "" : ".", m.key, m.value.dump());
    return m.key == "stop" ? Status(fail(Errc::range, "stopped")) : Status();
  });
  return read ? all : all + "error: " + read.error().message;
}

TEST(JsonMembers, AreHandedOverOneByOneAndThoseOfTheOpenedOneToo) {
  EXPECT_EQ(members_of(" { } ", ""), "");
  EXPECT_EQ(members_of("{\"a\":1, \"m\" : { \"x\":[1,2] , \"y\":{} } ,\"b\":null}", "m"),
            "a=1;m.x=[1,2];m.y={};b=null;");
  EXPECT_EQ(members_of("{\"a\":1,\"m\":{\"x\":1}}", ""), "a=1;m={\"x\":1};");
  EXPECT_EQ(members_of("{\"m\":7,\"n\":{}}", "m"), "m=7;n={};");
  EXPECT_EQ(members_of("{\"m\":{}}", "m"), "");
}

TEST(JsonMembers, ReadingEndsWhereTheTakerSaysSo) {
  EXPECT_EQ(members_of("{\"a\":1,\"stop\":2,\"b\":nonsense", ""), "a=1;stop=2;error: stopped");
}

TEST(JsonMembers, WhatIsNoObjectIsRefusedAsEverywhere) {
  for (const char* text : {"", "[]", "7", "{", "{\"a\"}", "{\"a\":1,}", "{\"a\":1} 2", "{\"m\":{\"x\":1,}}",
                           "{\"m\":{\"x\":1}", "{\"m\":{\"x\" 1}}"}) {
    EXPECT_NE(members_of(text, "m").find("error: text: line 1"), std::string::npos) << text;
  }
  EXPECT_NE(members_of("[]", "m").find("a JSON object is expected"), std::string::npos);
}

TEST(JsonMembers, RulesAreForEachMemberByItself) {
  const JsonRules rules{.max_depth = 3, .unique_keys = true, .max_values = 3};
  EXPECT_EQ(members_of("{\"a\":[1,2],\"b\":[1,2],\"a\":0}", "m", rules), "a=[1,2];b=[1,2];a=0;");
  EXPECT_NE(members_of("{\"a\":[1,2,3]}", "m", rules).find("more than the 3 values"), std::string::npos);
  EXPECT_NE(members_of("{\"a\":{\"k\":1,\"k\":1}}", "m", rules).find("comes twice"), std::string::npos);
  EXPECT_NE(members_of("{\"m\":{},\"m\":{}}", "m", rules).find("\"m\" comes twice"), std::string::npos);
  EXPECT_EQ(members_of("{\"a\":[[1]],\"m\":{\"x\":[1]}}", "m", rules), "a=[[1]];m.x=[1];");
  EXPECT_NE(members_of("{\"a\":[[[1]]]}", "m", rules).find("deeper than 3"), std::string::npos);
  EXPECT_NE(members_of("{\"m\":{\"x\":[[1]]}}", "m", rules).find("deeper than 3"), std::string::npos);
}

}  // namespace
}  // namespace cachalot::json_test
