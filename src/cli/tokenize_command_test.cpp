// SPDX-License-Identifier: Apache-2.0
#include "cli/tokenize_command.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/utf8.h"
#include "cli/test_command.h"

namespace cachalot::tokenize_command_test {
namespace {

const std::string mini_model = CACHALOT_BUILD_DIR "/golden/mini-a";

const Tokenizer& mini() {
  static const Tokenizer tokenizer = std::move(Tokenizer::load(mini_model).value());
  return tokenizer;
}

std::string encode(std::string_view line) { return answer_line(mini(), TokenizeWay::encode, line); }
std::string decode(std::string_view line) { return answer_line(mini(), TokenizeWay::decode, line); }
bool is_error(std::string_view answer) { return answer.starts_with("{\"error\":\"") && answer.ends_with("\"}"); }

TEST(TokenizeLine, GivesTheIdsOfAText) {
  EXPECT_EQ(encode(R"({"text": ""})"), R"({"ids":[]})");
  EXPECT_EQ(encode(R"({"text": "!\"#"})"), R"({"ids":[3,4,5]})");
}

TEST(TokenizeLine, AddedTokensBecomeIdsOnlyOnRequest) {
  EXPECT_EQ(encode(R"({"text": "<think>", "special": true})"), R"({"ids":[491]})");
  const std::string plain = encode(R"({"text": "<think>"})");
  EXPECT_EQ(plain.find("491"), std::string::npos);
  EXPECT_EQ(encode(R"({"text": "<think>", "special": false})"), plain);
}

TEST(TokenizeLine, GivesTheTextOfIds) {
  EXPECT_EQ(decode(R"({"ids": []})"), R"({"text":""})");
  EXPECT_EQ(decode(R"({"ids": [3, 4, 5, 491, 0]})"), R"({"text":"!\"#<think><｜begin▁of▁sentence｜>"})");
}

TEST(TokenizeLine, TextSurvivesTheWayThereAndBack) {
  for (const char* text : {R"("a\nb\t\\\" \u0000\u001f")", R"("中文 é 😀")", R"("\ud83d\ude00")"}) {
    const std::string there = encode(fmt::format(R"({{"text":{}}})", text));
    const std::string back = decode(there);
    EXPECT_EQ(encode(back), there) << text;
  }
  EXPECT_EQ(decode(encode(R"({"text":"中é😀"})")), R"({"text":"中é😀"})");  // raw, not \u
}

TEST(TokenizeLine, WhatIsNoRequestIsAnError) {
  for (const char* line : {"",
                           " ",
                           "{",
                           "null",
                           "[]",
                           "\"text\"",
                           "7",
                           "{}",
                           R"({"text":1})",
                           R"({"text":null})",
                           R"({"text":["a"]})",
                           R"({"text":"a","special":1})",
                           R"({"text":"a","special":null})",
                           R"({"text":"a"} {"text":"b"})",
                           R"({"text":"\ud800"})",
                           R"({"text":"\udc00\ud800"})",
                           "{\"text\":\"\xFF\"}",
                           "{\"text\":\"\xED\xA0\x80\"}",
                           "{\"text\":\"a\nb\"}",
                           R"({"text":"a)"}) {
    EXPECT_TRUE(is_error(encode(line))) << line << " gave " << encode(line);
    EXPECT_TRUE(expect_utf8(encode(line), "answer").has_value()) << line;
  }
  EXPECT_EQ(encode(R"({"text":1})"), R"({"error":"\"text\" is 1, expected a string"})");
  EXPECT_EQ(encode("{}"), R"({"error":"no member \"text\""})");
}

TEST(TokenizeLine, IdsThatAreNotInTheVocabularyAreErrors) {
  for (const char* id :
       {"-1", "497", "2147483648", "4294967296", "1e400", "1.5", "3.0", "\"3\"", "null", "true", "[3]", "{}"}) {
    EXPECT_TRUE(is_error(decode(fmt::format(R"({{"ids":[3,{}]}})", id)))) << id;
  }
  EXPECT_EQ(decode(R"({"ids":[3,497]})"), R"({"error":"ids[1] is 497, expected a whole number from 0 to 496"})");
  EXPECT_TRUE(is_error(decode(R"({"ids":3})")));
  EXPECT_TRUE(is_error(decode(R"({"text":"a"})")));
  const std::string huge = decode(fmt::format(R"({{"ids":[{}]}})", std::string(100000, '9')));
  EXPECT_TRUE(is_error(huge));
  EXPECT_LT(huge.size(), 200u);
}

TEST(TokenizeLines, EachLineHasOneAnswerAndABadOneStopsNothing) {
  std::istringstream in("{\"text\":\"!\"}\r\n\nnonsense\n{\"text\":\"#\"}");
  std::ostringstream out;
  EXPECT_TRUE(answer_lines(mini(), TokenizeWay::encode, in, out));
  std::vector<std::string> answers;
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) answers.push_back(line);
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_EQ(answers[0], R"({"ids":[3]})");
  EXPECT_TRUE(is_error(answers[1]));
  EXPECT_TRUE(is_error(answers[2]));
  EXPECT_EQ(answers[3], R"({"ids":[5]})");
}

TEST(TokenizeLines, NoInputHasNoAnswer) {
  std::istringstream in("");
  std::ostringstream out;
  EXPECT_TRUE(answer_lines(mini(), TokenizeWay::encode, in, out));
  EXPECT_EQ(out.str(), "");
}

TEST(TokenizeLines, ALineTooLongIsAnErrorAndTheNextIsRead) {
  const std::string just = R"({"text":"!"})";
  std::istringstream in(just + " \n" + just + "\n" + just + "        \n" + just + "\n");
  std::ostringstream out;
  EXPECT_TRUE(answer_lines(mini(), TokenizeWay::encode, in, out, just.size()));
  const std::string error = fmt::format("{{\"error\":\"a line of more than {} bytes\"}}\n", just.size()),
                    good = "{\"ids\":[3]}\n";
  EXPECT_EQ(out.str(), error + good + error + good);
}

TEST(ShownTokens, QuoteTextAndSpellOutBytes) {
  const auto ids = mini().encode("\"\\\n\x01<think>é").value();
  EXPECT_EQ(shown_tokens(mini(), std::vector{TokenId{3}}), "       3  \"!\"\n");
  std::string all = shown_tokens(mini(), ids);
  for (const char* piece : {"\"\\\"", "\\\\", "\\n", "\\x01", "\"<think>\""})
    EXPECT_NE(all.find(piece), std::string::npos) << piece;
  EXPECT_TRUE(expect_utf8(all, "shown").has_value());
  EXPECT_EQ(shown_tokens(mini(), {}), "");
}

int exit_code_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "tokenize");
  return run_line(arguments, {add_tokenize_command}).exit_code;
}

TEST(TokenizeCommand, ExitCodesTellUseFromFailure) {
  EXPECT_EQ(exit_code_of({"--model", mini_model, "hello"}), 0);
  EXPECT_EQ(exit_code_of({"--model", mini_model, "--special", "<think> a"}), 0);
  EXPECT_EQ(exit_code_of({"--model", mini_model, "--decode", "3", "4"}), 0);
  EXPECT_EQ(exit_code_of({"--model", "/no/such/model", "hello"}), 1);
  EXPECT_EQ(exit_code_of({"--model", mini_model, "--decode", "497"}), 1);
  EXPECT_EQ(exit_code_of({"--model", mini_model, "--decode", "4x"}), 2);
  EXPECT_EQ(exit_code_of({"--model", mini_model, "--decode"}), 2);
  EXPECT_EQ(exit_code_of({"--model", mini_model}), 2);
  EXPECT_EQ(exit_code_of({"--model", mini_model, "two", "texts"}), 2);
  EXPECT_EQ(exit_code_of({"--model", mini_model, "--jsonl", "text"}), 2);
  EXPECT_EQ(exit_code_of({"--model", mini_model, "--jsonl", "--special"}), 2);
  EXPECT_EQ(exit_code_of({"--model", mini_model, "--no-such-option"}), 2);
}

}  // namespace
}  // namespace cachalot::tokenize_command_test
