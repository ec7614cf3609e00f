// SPDX-License-Identifier: Apache-2.0
// The released encoder's own answers.
#include <algorithm>

#include "tokenizer/chat/chat_goldens.h"
#include "tokenizer/chat/prompt_ids.h"
#include "tokenizer/sha256.h"

namespace cachalot::encode_golden_test {
namespace {

EncodedChat encode_case(const Json& one) {
  const auto options = read_chat_options(*one.find("options"));
  if (!options) return tl::unexpected(ChatError{options.error().message, {}});
  return encode_chat(one.find("messages")->items(), *options);
}

bool is_error(const Json& one) { return one.find("error") != nullptr; }

std::string hash_of(std::span<const TokenId> ids) {
  std::string bytes;
  for (const TokenId id : ids) {
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(raw(id) >> shift & 0xFF);
  }
  return sha256_hex(bytes);
}

TEST(ChatGolden, EveryPromptComesOutByteForByteWithItsImages) {
  for (const Json& one : chat_goldens("encode.jsonl")) {
    if (is_error(one)) continue;
    const auto encoded = encode_case(one);
    ASSERT_TRUE(encoded.has_value()) << string_at(one, "id") << ": " << encoded.error().message;
    EXPECT_EQ(encoded->joined(), string_at(one, "prompt")) << string_at(one, "id");
    EXPECT_EQ(Json::array({encoded->images().begin(), encoded->images().end()}), *one.find("images"))
        << string_at(one, "id");
  }
}

TEST(ChatGolden, EveryErrorIsRefusedAndAMessageAtFaultIsNamed) {
  int errors = 0;
  for (const Json& one : chat_goldens("encode.jsonl")) {
    if (!is_error(one)) continue;
    ++errors;
    const auto encoded = encode_case(one);
    ASSERT_FALSE(encoded.has_value()) << string_at(one, "id");
    const std::string category = string_at(one, "category");
    EXPECT_EQ(encoded.error().index.has_value(), category != "effort_error" && category != "mode_error")
        << string_at(one, "id");
  }
  EXPECT_EQ(errors, 25);
}

TEST(ChatGolden, EveryPromptHasItsIds) {
  for (const Json& one : chat_goldens("encode.jsonl")) {
    if (is_error(one)) continue;
    const auto ids = prompt_ids(released_tokenizer(), encode_case(one).value(), MessageTokens::as_written);
    ASSERT_TRUE(ids.has_value()) << string_at(one, "id");
    EXPECT_EQ(std::ssize(*ids), int_of(*one.find("n_tokens"))) << string_at(one, "id");
    EXPECT_EQ(hash_of(*ids), string_at(one, "ids_sha256")) << string_at(one, "id");
  }
}

TEST(ChatGolden, PlainMessageTextChangesIdsOnlyWhereItHoldsAddedTokens) {
  int different = 0;
  for (const Json& one : chat_goldens("encode.jsonl")) {
    if (is_error(one)) continue;
    const PromptText prompt = encode_case(one).value();
    const bool imitates = std::ranges::any_of(prompt.segments(), [](const Segment& s) {
      return !s.trusted &&
             released_tokenizer().encode(s.text).value() != released_tokenizer().encode_plain(s.text).value();
    });
    const auto whole = prompt_ids(released_tokenizer(), prompt, MessageTokens::as_written).value();
    const auto sanitized = prompt_ids(released_tokenizer(), prompt, MessageTokens::never).value();
    EXPECT_EQ(whole != sanitized, imitates) << string_at(one, "id");
    different += imitates;
    const auto text = released_tokenizer().decode(sanitized, SpecialTokens::keep);
    EXPECT_EQ(text.value(), prompt.joined()) << string_at(one, "id");
  }
  EXPECT_GE(different, 7);
}

}  // namespace
}  // namespace cachalot::encode_golden_test
