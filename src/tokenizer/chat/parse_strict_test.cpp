// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat/stream_goldens.h"

namespace cachalot::parse_strict_test {
namespace {

constexpr std::string_view opener = "\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n";
constexpr std::string_view closer = "\n</｜DSML｜ invoke>\n</｜DSML｜ calls><｜end▁of▁sentence｜>";

std::string with_parameter(std::string_view parameter) { return fmt::format("{}{}{}", opener, parameter, closer); }

// The arguments of the only call, or "error".
std::string arguments_of(std::string_view text) {
  const auto message = parse_strict(text, ChatMode::chat);
  return message && message->calls.size() == 1 ? message->calls[0].arguments : "error";
}

TEST(ParseStrictGolden, EveryCompletionGivesItsMessageOrAnError) {
  int errors = 0;
  for (const Json& one : chat_goldens("parse.jsonl")) {
    const auto message = parse_strict(string_at(one, "text"), mode_of(one));
    const Json* expected = one.find("message");
    ASSERT_EQ(message.has_value(), expected != nullptr)
        << string_at(one, "id") << ": " << (message ? "accepted" : message.error().message);
    if (expected) {
      EXPECT_EQ(message_json(*message), *expected) << string_at(one, "id");
    } else {
      ++errors;
    }
  }
  EXPECT_EQ(errors, 29);
}

TEST(ParseStrict, ErrorsNameTheByteWhereReadingEnded) {
  const auto message = parse_strict("a<｜end▁of▁sentence｜>b", ChatMode::chat);
  ASSERT_FALSE(message.has_value());
  EXPECT_EQ(message.error().code, Errc::format);
  EXPECT_EQ(message.error().message,
            fmt::format("completion, byte {}: there is text after the end", 1 + eos_token.size()));
}

TEST(ParseStrict, AParameterThatComesTwiceIsAnError) {
  const std::string_view a = "<｜DSML｜ parameter name=\"a\" string=\"true\">1</｜DSML｜ parameter>";
  EXPECT_EQ(arguments_of(with_parameter(a)), "{\"a\": \"1\"}");
  EXPECT_EQ(arguments_of(with_parameter(fmt::format("{}\n{}", a, a))), "error");
}

TEST(ParseStrict, AKeyIsTheShortestMatchAndAValueKeepsWhatLooksLikeAnotherAttribute) {
  EXPECT_EQ(arguments_of(with_parameter(
                "<｜DSML｜ parameter name=\"a\" string=\"false\">1 \" string=\"true\">2</｜DSML｜ parameter>")),
            "{\"a\": 1 \" string=\"true\">2}");
  EXPECT_EQ(arguments_of(with_parameter(
                "<｜DSML｜ parameter name=\" string=\"true\">v\" string=\"true\">w</｜DSML｜ parameter>")),
            "{\" string=\\\"true\\\">v\": \"w\"}");
  EXPECT_EQ(arguments_of(with_parameter("<｜DSML｜ parameter name=\" string=\"true\">v</｜DSML｜ parameter>")),
            "error");
}

TEST(ParseStrict, NewlinesBeforeTheSlashAreToleratedOneAtMost) {
  const auto value = [](std::string_view end) {
    return arguments_of(
        with_parameter(fmt::format("<｜DSML｜ parameter name=\"a\" string=\"true\">v{}/｜DSML｜ parameter>", end)));
  };
  EXPECT_EQ(value("<"), "{\"a\": \"v\"}");
  EXPECT_EQ(value("<\n"), "{\"a\": \"v\"}");
  EXPECT_EQ(value("<<\n"), "{\"a\": \"v<\"}");
  EXPECT_EQ(value("<\n\n"), "error");
  EXPECT_EQ(value("\n"), "error");
  EXPECT_EQ(value(""), "error");
}

TEST(ParseStrict, AnInvokeMayHaveOneNewlineOrTwoAndWhiteSpaceBeforeItsNameOfAnyKind) {
  const auto name = [](std::string_view head) {
    const auto message =
        parse_strict(fmt::format("\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke{}</｜DSML｜ invoke>\n</｜DSML｜ calls>", head),
                     ChatMode::chat);
    return message ? message->calls.at(0).name : "error";
  };
  for (const char* good :
       {" name=\"f\">\n", " name=\"f\">\n\n", "name=\"f\">\n", "\t\n name=\"f\">\n", "\u3000name=\"f\">\n"})
    EXPECT_EQ(name(good), "f") << good;
  for (const char* bad :
       {" name=\"f\">", " name=\"f\">\n\n\n", " name=\"f\"\n", " x name=\"f\">\n", " name=\"f\"> \n", ""})
    EXPECT_EQ(name(bad), "error") << bad;
  EXPECT_EQ(name(" name=\"\">\n"), "");
  EXPECT_EQ(name(" name=\"a\n\">\n"), "a\n");
}

TEST(ParseStrict, TokensOfTheFormatMayNotStandInTextButMayInValues) {
  for (const std::string_view token : {bos_token, think_token, end_think_token, dsml_token}) {
    EXPECT_FALSE(parse_strict(fmt::format("a{}<｜end▁of▁sentence｜>", token), ChatMode::chat).has_value()) << token;
    EXPECT_NE(arguments_of(with_parameter(
                  fmt::format("<｜DSML｜ parameter name=\"a\" string=\"true\">{}</｜DSML｜ parameter>", token))),
              "error")
        << token;
  }
  for (const std::string_view token : {bos_token, eos_token, think_token, dsml_token}) {
    EXPECT_FALSE(parse_strict(fmt::format("a{}</think><｜end▁of▁sentence｜>", token), ChatMode::thinking).has_value());
  }
  EXPECT_TRUE(parse_strict("<｜User｜><｜System｜><｜end▁of▁sentence｜>", ChatMode::chat).has_value());
}

TEST(ParseStrict, AHundredThousandParametersTakeALinearTime) {
  std::string parameters;
  for (int i = 0; i < 100'000; ++i) {
    if (i > 0) parameters += '\n';
    parameters += fmt::format("<｜DSML｜ parameter name=\"k{}\" string=\"true\"><</｜DSML｜ parameter>", i);
  }
  EXPECT_GT(arguments_of(with_parameter(parameters)).size(), 100'000u * 8);
}

}  // namespace
}  // namespace cachalot::parse_strict_test
