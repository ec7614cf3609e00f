// SPDX-License-Identifier: Apache-2.0
// A tokenizer.json of another kind, or one that contradicts itself, is refused with a message that says what and where.
#include "tokenizer/tokenizer_file.h"

#include "tokenizer/golden_files.h"

namespace cachalot::tokenizer_file_test {
namespace {

Json mini_json() { return json_of_text(text_of_file(mini_path + "/tokenizer.json"), "tokenizer.json"); }

std::string message_of_text(std::string_view text) {
  const auto tokenizer = Tokenizer::parse(text, "T");
  if (tokenizer) return "loaded";
  EXPECT_EQ(tokenizer.error().code, Errc::format);
  return tokenizer.error().message;
}
std::string message_of(const Json& json) { return message_of_text(json.dump()); }

std::string message_with(std::string_view key, Json value) {
  Json json = mini_json();
  json.set(key, std::move(value));
  return message_of(json);
}
std::string message_with_model(std::string_view key, Json value) {
  Json json = mini_json();
  json.find("model")->set(key, std::move(value));
  return message_of(json);
}

Json text_json(std::string_view text) { return json_of_text(text, "test"); }

TEST(TokenizerFile, TheTinyOneLoads) { EXPECT_EQ(message_of(mini_json()), "loaded"); }

TEST(TokenizerFile, WhatIsNoJsonIsRefused) {
  EXPECT_NE(message_of_text("").find("T: "), std::string::npos);
  EXPECT_NE(message_of_text("{\"model\":"), "loaded");
  EXPECT_NE(message_of_text("{\"a\xFF\":1}"), "loaded");
  EXPECT_NE(message_of_text(std::string(2000, '[')), "loaded");
  EXPECT_EQ(message_of_text("[1]"), "T: not a JSON object");
  EXPECT_EQ(message_of_text("{}"), "T: no object \"model\"");
}

TEST(TokenizerFile, NormalizersAreRefused) {
  EXPECT_EQ(message_with("normalizer", text_json(R"({"type":"NFC"})")),
            R"(T: normalizer is {"type":"NFC"}, but only a tokenizer without it is supported)");
  EXPECT_NE(message_with("normalizer", text_json(R"({"type":"Sequence","normalizers":[{"type":"NFC"}]})")), "loaded");
  EXPECT_EQ(message_with("normalizer", text_json(R"({"type":"Sequence","normalizers":[]})")), "loaded");
}

TEST(TokenizerFile, OtherPretokenizersAreRefused) {
  EXPECT_EQ(message_with("pre_tokenizer", nullptr),
            "T: pre_tokenizer is null, supported is a Sequence of DeepSeek-V4.1's three Splits and ByteLevel");
  EXPECT_NE(
      message_with("pre_tokenizer", text_json(R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":true})")),
      "loaded");
  for (std::size_t part = 0; part < 4; ++part) {
    Json json = mini_json();
    Json& parts = *json.find("pre_tokenizer")->find("pretokenizers");
    Json changed = Json::array();
    for (std::size_t i = 0; i < 4; ++i) {
      Json one = parts.items()[i];
      if (i == part) one.set(i == 3 ? "use_regex" : "behavior", i == 3 ? Json(true) : Json("Removed"));
      changed.push_back(std::move(one));
    }
    parts = std::move(changed);
    EXPECT_NE(message_of(json).find(fmt::format("T: pre_tokenizer part {} is {{\"type\"", part)), std::string::npos)
        << part;
  }
}

TEST(TokenizerFile, AnotherSplitPatternIsRefusedByName) {
  std::string text = mini_json().dump();
  const std::string pattern = R"(\\p{N}{1,3})";
  text.replace(text.find(pattern), pattern.size(), R"(\\p{N})");
  const std::string message = message_of_text(text);
  EXPECT_NE(message.find(R"("Regex":"\\p{N}")"), std::string::npos) << message;
  EXPECT_NE(message.find("{1,3}"), std::string::npos) << message;
}

TEST(TokenizerFile, OtherModelsAndModelSettingsAreRefused) {
  EXPECT_EQ(message_with_model("type", "Unigram"), "T: model.type is Unigram, supported is BPE");
  EXPECT_EQ(message_with_model("byte_fallback", true),
            "T: model: byte_fallback is true, but only a tokenizer without it is supported");
  EXPECT_EQ(message_with_model("unk_token", "<unk>"),
            R"(T: model: unk_token is "<unk>", but only a tokenizer without it is supported)");
  EXPECT_NE(message_with_model("dropout", 0.1), "loaded");
  EXPECT_NE(message_with_model("continuing_subword_prefix", "##"), "loaded");
  EXPECT_NE(message_with_model("end_of_word_suffix", "</w>"), "loaded");
  EXPECT_NE(message_with_model("fuse_unk", true), "loaded");
  EXPECT_NE(message_with_model("ignore_merges", true), "loaded");
  EXPECT_EQ(message_with_model("continuing_subword_prefix", ""), "loaded");
}

TEST(TokenizerFile, OtherDecodersAndPostProcessorsAreRefused) {
  EXPECT_EQ(message_with("decoder", text_json(R"({"type":"WordPiece"})")),
            R"(T: decoder is {"type":"WordPiece"}, supported is ByteLevel)");
  EXPECT_EQ(message_with("decoder", nullptr), "T: decoder is null, supported is ByteLevel");
  EXPECT_NE(message_with("post_processor", text_json(R"({"type":"TemplateProcessing"})")), "loaded");
  EXPECT_EQ(message_with("post_processor", text_json(R"({"type":"ByteLevel"})")), "loaded");
  EXPECT_NE(message_with("truncation", text_json(R"({"max_length":5})")), "loaded");
  EXPECT_NE(message_with("padding", text_json(R"({"pad_id":5})")), "loaded");
}

TEST(TokenizerFile, VocabularyAndMergesOfTheWrongShapeAreRefused) {
  EXPECT_EQ(message_with_model("vocab", Json::array()), "T: model.vocab is no object");
  EXPECT_EQ(message_with_model("vocab", text_json(R"({"a":"b"})")), R"(T: model.vocab gives "a" the id "b")");
  EXPECT_EQ(message_with_model("vocab", text_json(R"({"a":1.5})")), R"(T: model.vocab gives "a" the id 1.5)");
  EXPECT_EQ(message_with_model("merges", Json::object()), "T: model.merges is no array");
  const std::string want = ", expected \"left right\" or [\"left\", \"right\"]";
  for (const char* bad : {R"("ab")", R"(["a"])", R"(["a","b","c"])", R"(["a",1])", "7"}) {
    EXPECT_EQ(message_with_model("merges", text_json(fmt::format("[{}]", bad))),
              fmt::format("T: merge 0 is {}{}", bad, want));
  }
  EXPECT_EQ(message_with_model("merges", text_json(R"(["a zzz"])")),
            R"(T: merge 0 needs the token "zzz", which the vocabulary lacks)");
}

TEST(TokenizerFile, MergesMayBeTextOrPairs) {
  Json json = mini_json();
  Json texts = Json::array();
  for (const Json& pair : json.find("model")->find("merges")->items()) {
    texts.push_back(*pair.items()[0].as_string() + " " + *pair.items()[1].as_string());
  }
  json.find("model")->set("merges", std::move(texts));
  const auto tokenizer = Tokenizer::parse(json.dump(), "T");
  ASSERT_TRUE(tokenizer.has_value());
  const std::string text = "there is then some more of these";
  EXPECT_EQ(tokenizer->encode(text).value(), mini_tokenizer().encode(text).value());
}

TEST(TokenizerFile, AByteWithoutATokenIsRefused) {
  Json json = mini_json();
  json.find("model")->set("merges", Json::array());
  json.find("model")->set("vocab", Json::object());
  json.set("added_tokens", Json::array());
  EXPECT_EQ(message_of(json), "T: no token for the single byte 0x00");
}

std::string message_with_id(std::string_view spelling, Json id) {
  Json json = mini_json();
  json.find("model")->find("vocab")->set(spelling, std::move(id));
  return message_of(json);
}

TEST(TokenizerFile, IdsThatRepeatLeaveGapsOrRunAwayAreRefused) {
  EXPECT_NE(message_with_id("!", 4).find("share the id 4"), std::string::npos);
  EXPECT_NE(message_with_id("!", -1).find("has id -1"), std::string::npos);
  EXPECT_NE(message_with_id("!", std::int64_t{1} << 40).find("has id 1099511627776"), std::string::npos);
  EXPECT_EQ(message_with_id("!", 500), "T: no token has id 3, though ids go up to 500");
}

std::string message_with_added(std::string_view row) {
  Json json = mini_json();
  json.find("added_tokens")->push_back(text_json(row));
  return message_of(json);
}

TEST(TokenizerFile, AddedTokensThatDoNotFitAreRefused) {
  const auto row = [](std::string_view id, std::string_view content, std::string_view more = "") {
    return fmt::format(R"({{"id":{},"content":"{}","normalized":false,"special":false{}}})", id, content, more);
  };
  EXPECT_EQ(message_with_added(row("497", "<x>")), "loaded");
  EXPECT_NE(message_with_added(row("498", "<x>")).find("no token has id 497"), std::string::npos);
  EXPECT_NE(message_with_added(row("5", "<x>")).find("share the id 5"), std::string::npos);
  EXPECT_NE(message_with_added(row("497", "!")).find("and 497 as added token"), std::string::npos);
  EXPECT_NE(message_with_added(row("491", "<think>")).find("listed twice"), std::string::npos);
  EXPECT_NE(message_with_added(row("497", "")).find("needs id, content"), std::string::npos);
  EXPECT_NE(message_with_added(row("\"497\"", "<x>")).find("needs id, content"), std::string::npos);
  EXPECT_NE(message_with_added(R"({"id":497,"content":"<x>"})").find("normalized and special"), std::string::npos);
  EXPECT_NE(message_with_added("7").find("is no object"), std::string::npos);
  for (const char* flag : {"lstrip", "rstrip", "single_word"}) {
    EXPECT_NE(message_with_added(row("497", "<x>", fmt::format(",\"{}\":true", flag))).find(flag), std::string::npos);
  }
}

TEST(TokenizerFile, TokensAreCountedBeforeAMergeIsRead) {
  Json json = mini_json();
  json.find("model")->find("merges")->push_back(7);
  const auto message = [&](const TokenCount& count) {
    return Tokenizer::parse(json.dump(), "T", count).error().message;
  };
  EXPECT_NE(message({}).find("merge 230 is 7"), std::string::npos) << message({});
  EXPECT_NE(message({.least = 497, .most = 497}).find("merge 230 is 7"), std::string::npos);
  EXPECT_EQ(message({.least = 498, .most = 498}),
            "T: only 497 tokens, config.json says vocab_size 498: tokenizer.json and config.json are not of the same "
            "model");
  EXPECT_NE(message({.most = 496}).find("T: more than 496 tokens"), std::string::npos) << message({.most = 496});
}

TEST(TokenizerFile, ALongValueIsCutInTheMessageBetweenCharacters) {
  std::string longest;
  for (int i = 0; i < 100; ++i) longest += "中";
  const std::string message = message_with("normalizer", longest);
  EXPECT_LT(message.size(), 250u);
  EXPECT_TRUE(expect_utf8(message, "message").has_value());
}

}  // namespace
}  // namespace cachalot::tokenizer_file_test
