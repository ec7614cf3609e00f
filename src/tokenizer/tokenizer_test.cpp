// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer.h"

#include <chrono>
#include <thread>

#include "tokenizer/golden_files.h"
#include "tokenizer/sha256.h"

namespace cachalot::tokenizer_test {
namespace {

std::string decode(const Tokenizer& tokenizer, std::span<const TokenId> ids,
                   SpecialTokens special = SpecialTokens::keep) {
  auto text = tokenizer.decode(ids, special);
  EXPECT_TRUE(text.has_value());
  return text.value_or("");
}

TEST(ReleasedTokenizer, FileIsTheReleasedOneByteForByte) {
  const std::string file = text_of_file(released_path);
  EXPECT_EQ(file.size(), 6367257u);
  EXPECT_EQ(sha256_hex(file), string_at(*golden_json("v41_added_tokens.json").find("v41_tokenizer_json"), "sha256"));
}

TEST(ReleasedTokenizer, EncodesEveryGolden) {
  for (const Json& one : golden_cases("encode.jsonl")) {
    const std::string id = string_at(one, "id"), text = string_at(one, "text");
    const auto ids = released_tokenizer().encode(text), plain = released_tokenizer().encode_plain(text);
    ASSERT_TRUE(ids.has_value() && plain.has_value()) << id;
    EXPECT_EQ(*ids, ids_at(one, "ids")) << id;
    EXPECT_EQ(*plain, ids_at(one, one.find("plain_ids") ? "plain_ids" : "ids")) << id;
    EXPECT_EQ(decode(released_tokenizer(), *ids), text) << id;
    EXPECT_EQ(decode(released_tokenizer(), *plain), text) << id;
  }
}

TEST(ReleasedTokenizer, DecodesEveryGoldenWholeAndInPieces) {
  for (const Json& one : golden_cases("decode.jsonl")) {
    const std::string id = string_at(one, "id");
    const std::vector<TokenId> ids = ids_at(one, "ids");
    std::string hex;
    for (const TokenId token : ids) {
      for (const char c : released_tokenizer().token_bytes(token))
        hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
    }
    EXPECT_EQ(hex, string_at(one, "bytes")) << id;
    EXPECT_EQ(decode(released_tokenizer(), ids), string_at(one, "text")) << id;
    EXPECT_EQ(decode(released_tokenizer(), ids, SpecialTokens::skip), string_at(one, "text_skip_special")) << id;

    TextStream stream(released_tokenizer(), SpecialTokens::keep);
    std::vector<std::string> pieces, expected;
    for (const TokenId token : ids) pieces.push_back(stream.push(token).value());
    pieces.push_back(stream.finish());
    for (const Json& piece : one.find("pieces")->items()) expected.push_back(*piece.as_string());
    EXPECT_EQ(pieces, expected) << id;
  }
}

TEST(ReleasedTokenizer, TokenBytesHaveTheGoldenHashAndSamples) {
  const Json golden = golden_json("token_bytes.json");
  ASSERT_EQ(released_tokenizer().vocab_size(), int_of(*golden.find("n")));
  std::string all;
  for (std::int32_t i = 0; i < released_tokenizer().vocab_size(); ++i) {
    const std::string_view bytes = released_tokenizer().token_bytes(TokenId{i});
    for (int shift = 0; shift < 32; shift += 8) all += static_cast<char>(bytes.size() >> shift & 0xFF);
    all += bytes;
  }
  EXPECT_EQ(sha256_hex(all), string_at(golden, "sha256"));
  const auto hex_of = [](TokenId token) {
    std::string hex;
    for (const char c : released_tokenizer().token_bytes(token))
      hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return hex;
  };
  for (const Json& row : golden.find("sample")->items()) {
    const auto id = static_cast<std::int32_t>(int_of(row.items()[0]));
    EXPECT_EQ(hex_of(TokenId{id}), *row.items()[1].as_string()) << id;
  }
  const std::vector<TokenId> byte_ids = ids_at(golden, "byte_ids");
  for (std::size_t byte = 0; byte < 256; ++byte) EXPECT_EQ(hex_of(byte_ids[byte]), fmt::format("{:02x}", byte));
}

TEST(ReleasedTokenizer, AddedTokensHaveTheirIdsAndFlags) {
  const Json golden = golden_json("v41_added_tokens.json");
  for (const Json& row : golden.find("tokens")->items()) {
    const TokenId id{static_cast<std::int32_t>(int_of(row.items()[0]))};
    const std::string& content = *row.items()[1].as_string();
    EXPECT_EQ(released_tokenizer().id_of(content), id) << content;
    EXPECT_EQ(released_tokenizer().is_special(id), int_of(row.items()[3]) == 1) << content;
    EXPECT_EQ(released_tokenizer().encode(content).value(), std::vector{id}) << content;
    EXPECT_EQ(released_tokenizer().spelling(id), content);
  }
  EXPECT_EQ(released_tokenizer().id_of("Hello"), std::nullopt);
  EXPECT_FALSE(released_tokenizer().is_special(TokenId{19923}));
}

TEST(ReleasedTokenizer, SkippingSpecialTokensKeepsWhatTheChatFormatParses) {
  const std::string text =
      "<｜begin▁of▁sentence｜><｜User｜>a<｜Assistant｜><think></think>｜DSML｜<｜end▁of▁sentence｜>";
  const auto ids = released_tokenizer().encode(text).value();
  EXPECT_EQ(ids.size(), 8u);
  EXPECT_EQ(decode(released_tokenizer(), ids, SpecialTokens::skip),
            "<｜User｜>a<｜Assistant｜><think></think>｜DSML｜");
}

// A quadratic encoder needs hours for one of these; the bound only has to be far from that.
TEST(ReleasedTokenizer, OnePretokenOfAMillionCharactersTakesSeconds) {
  const auto start = std::chrono::steady_clock::now();
  for (const std::string& text :
       {std::string(1'000'000, 'a'), std::string(1'000'000, ' '), std::string(1'000'000, '\n')}) {
    EXPECT_EQ(decode(released_tokenizer(), released_tokenizer().encode(text).value()), text);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(Tokenizer, EmptyTextIsNoTokensAndNoTokensAreEmptyText) {
  EXPECT_TRUE(mini_tokenizer().encode("").value().empty());
  EXPECT_TRUE(mini_tokenizer().encode_plain("").value().empty());
  EXPECT_EQ(decode(mini_tokenizer(), {}), "");
}

TEST(Tokenizer, TextThatIsNotUtf8IsRefused) {
  for (const auto encode : {&Tokenizer::encode, &Tokenizer::encode_plain}) {
    const auto ids = (mini_tokenizer().*encode)("ab\xC3");
    ASSERT_FALSE(ids.has_value());
    EXPECT_EQ(ids.error().code, Errc::format);
    EXPECT_EQ(ids.error().message, "text to encode: byte 2 (0xc3) is not UTF-8");
  }
}

TEST(Tokenizer, IdsOutsideTheVocabularyAreRefused) {
  for (const std::int32_t id : {-1, 497, 2147483647, -2147483647 - 1}) {
    const std::vector ids = {TokenId{5}, TokenId{id}};
    const auto text = mini_tokenizer().decode(ids, SpecialTokens::keep);
    ASSERT_FALSE(text.has_value());
    EXPECT_EQ(text.error().code, Errc::range);
    EXPECT_EQ(text.error().message, fmt::format("token id {}, expected 0 to 496", id));
    EXPECT_FALSE(mini_tokenizer().contains(TokenId{id}));
  }
  EXPECT_TRUE(mini_tokenizer().contains(TokenId{496}));
}

TEST(TokenizerDeathTest, BytesOfAnIdOutsideTheVocabularyAreOurFault) {
  EXPECT_DEATH((void)mini_tokenizer().token_bytes(TokenId{497}), "in the vocabulary");
}

TEST(Tokenizer, ARefusedIdLeavesTheStreamAsItWas) {
  TextStream stream(released_tokenizer(), SpecialTokens::keep);
  EXPECT_EQ(stream.push(TokenId{163}).value(), "");  // e4
  EXPECT_FALSE(stream.push(TokenId{129280}).has_value());
  EXPECT_EQ(stream.push(TokenId{119}).value(), "");    // b8
  EXPECT_EQ(stream.push(TokenId{225}).value(), "一");  // 80
}

TEST(Tokenizer, SkippedSpecialTokensDoNotBreakACharacter) {
  const std::vector ids = {TokenId{163}, TokenId{0}, TokenId{119}, TokenId{225}};
  EXPECT_EQ(decode(released_tokenizer(), ids, SpecialTokens::skip), "一");
  EXPECT_EQ(decode(released_tokenizer(), ids), "\uFFFD<｜begin▁of▁sentence｜>\uFFFD\uFFFD");
}

TEST(Tokenizer, ManyThreadsMayEncodeAtOnce) {
  const std::string text = "The quick brown fox, 12345 中文 <think>";
  const auto expected = released_tokenizer().encode(text).value();
  std::vector<std::thread> threads;
  std::vector<int> same(4);
  for (int& count : same) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) count += released_tokenizer().encode(text).value() == expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, (std::vector<int>{200, 200, 200, 200}));
}

TEST(Tokenizer, StillWorksAfterItMoved) {
  Tokenizer first = load_or_stop(mini_path);
  const Tokenizer second = std::move(first);
  const std::string text = "some text <think> and then";
  EXPECT_EQ(second.encode(text).value(), mini_tokenizer().encode(text).value());
}

TEST(Tokenizer, LoadsFromADirectoryOrItsFileAndNamesAMissingOne) {
  EXPECT_EQ(Tokenizer::load(mini_path).value().vocab_size(), 497);
  EXPECT_EQ(Tokenizer::load(mini_path + "/tokenizer.json").value().vocab_size(), 497);
  const auto missing = Tokenizer::load("/no/such/model");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, Errc::missing);
  EXPECT_NE(missing.error().message.find("/no/such/model"), std::string::npos);
}

}  // namespace
}  // namespace cachalot::tokenizer_test
