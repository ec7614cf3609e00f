// SPDX-License-Identifier: Apache-2.0
// Any bytes are a tokenizer or an error; any UTF-8 text encodes, whole and in plain, and decodes to itself.
// The first byte chooses: 'J' reads the rest as tokenizer.json, 'T' as text, 'I' as pairs of bytes that are ids.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/token_classes.h"
#include "tokenizer/tokenizer.h"

namespace {

using namespace cachalot;

// The bytes, a few merges, and added tokens of both passes that begin alike.
std::string json_of_tiny_tokenizer() {
  int id = 0;
  Json vocab = Json::object(), merges, added, parts;
  for (int byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    vocab.set(spelling_of_bytes({&text, 1}), id++);
  }
  for (const auto& [left, right] :
       {std::pair("a", "b"), {"a", "a"}, {"aa", "aa"}, {"Ġ", "Ġ"}, {"Ġ", "a"}, {"ä", "¸"}}) {
    vocab.set(fmt::format("{}{}", left, right), id++);
    merges.push_back(Json::array({left, right}));
  }
  for (const char* content : {"<a>", "<a>b", "<a>bcd", "bc", "｜a"}) {
    added.push_back(
        Json::object({{"id", id}, {"content", content}, {"normalized", id % 2 == 0}, {"special", id % 3 == 0}}));
    ++id;
  }
  for (const std::string_view pattern : pretoken_patterns) {
    const Json regex = Json::object({{"Regex", pattern}});
    parts.push_back(Json::object({{"type", "Split"}, {"pattern", regex}, {"behavior", "Isolated"}, {"invert", false}}));
  }
  parts.push_back(Json::object({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}));
  return Json::object({{"added_tokens", added},
                       {"pre_tokenizer", Json::object({{"type", "Sequence"}, {"pretokenizers", parts}})},
                       {"decoder", Json::object({{"type", "ByteLevel"}})},
                       {"model", Json::object({{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}})}})
      .dump();
}

const Tokenizer& tiny() {
  static const Tokenizer tokenizer = [] {
    auto made = Tokenizer::parse(json_of_tiny_tokenizer(), "tiny");
    check(made.has_value(), made ? "" : made.error().message.c_str());
    return std::move(*made);
  }();
  return tokenizer;
}

void expect_round_trip(const Tokenizer& tokenizer, std::string_view text) {
  const auto ids = tokenizer.encode(text), plain = tokenizer.encode_plain(text);
  check(ids.has_value() == expect_utf8(text, "").has_value(), "all UTF-8 and nothing else encodes");
  if (!ids) return;
  check(tokenizer.decode(*ids, SpecialTokens::keep).value() == text, "encode keeps the text");
  check(tokenizer.decode(*plain, SpecialTokens::keep).value() == text, "encode_plain keeps the text");
}

void expect_utf8_text(const Tokenizer& tokenizer, std::string_view bytes) {
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    const int high = static_cast<unsigned char>(bytes[i]), low = static_cast<unsigned char>(bytes[i + 1]);
    ids.push_back(TokenId{(high * 256 + low) % static_cast<int>(tokenizer.vocab_size())});
  }
  for (const SpecialTokens special : {SpecialTokens::keep, SpecialTokens::skip}) {
    const std::string text = tokenizer.decode(ids, special).value();
    check(expect_utf8(text, "").has_value(), "decode gives UTF-8");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'J':
      if (const auto tokenizer = Tokenizer::parse(rest, "fuzz")) {
        (void)token_classes(*tokenizer);
        expect_round_trip(*tokenizer, "a <think> 12 中\n");
      }
      break;
    case 'T':
      expect_round_trip(tiny(), rest);
      break;
    case 'I':
      expect_utf8_text(tiny(), rest);
      break;
  }
  return 0;
}
