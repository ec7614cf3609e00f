// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat/prompt_ids.h"

#include <algorithm>

#include "tokenizer/chat/format_text.h"
#include "tokenizer/golden_files.h"

namespace cachalot::prompt_ids_test {
namespace {

std::vector<TokenId> ids_of(const PromptText& prompt, MessageTokens tokens) {
  auto ids = prompt_ids(released_tokenizer(), prompt, tokens);
  EXPECT_TRUE(ids.has_value());
  return ids ? std::move(*ids) : std::vector<TokenId>();
}

TEST(FormatText, EveryTokenIsOneIdOfTheReleasedTokenizer) {
  const std::int32_t ids[] = {0,      1,      128799, 128803, 128804, 128821, 128822, 128825,
                              128828, 129264, 128829, 128830, 128831, 128832, 128836, 128845};
  for (std::size_t i = 0; i < format_tokens.size(); ++i) {
    EXPECT_EQ(released_tokenizer().id_of(format_tokens[i]), TokenId{ids[i]}) << format_tokens[i];
    EXPECT_EQ(released_tokenizer().encode(format_tokens[i]).value(), std::vector{TokenId{ids[i]}});
  }
}

TEST(PromptText, NeighboursOfOneKindAreOneSegmentAndNoneIsEmpty) {
  PromptText prompt, other;
  prompt.trusted("a").trusted("").trusted("b").text("").text("c").text("d").trusted("e");
  other.trusted("f").text("g");
  prompt.append(other).append(PromptText());
  EXPECT_EQ(std::vector(prompt.segments().begin(), prompt.segments().end()),
            (std::vector<Segment>{{true, "ab"}, {false, "cd"}, {true, "ef"}, {false, "g"}}));
  EXPECT_EQ(prompt.joined(), "abcdefg");
  EXPECT_TRUE(PromptText().empty());
}

TEST(PromptIds, ATokenInAMessageIsOneOnlyAsWritten) {
  for (const std::string_view token : format_tokens) {
    PromptText prompt;
    prompt.trusted(user_token).text(token).trusted(assistant_token);
    EXPECT_EQ(ids_of(prompt, MessageTokens::as_written).size(), 3u) << token;
    const std::vector<TokenId> plain = ids_of(prompt, MessageTokens::never);
    EXPECT_GT(plain.size(), 3u) << token;
    EXPECT_EQ(std::ranges::count(plain, *released_tokenizer().id_of(token)),
              token == user_token || token == assistant_token)
        << token;
    EXPECT_EQ(released_tokenizer().decode(plain, SpecialTokens::keep).value(), prompt.joined());
  }
}

TEST(PromptIds, ATokenHalfTrustedIsNone) {
  PromptText prompt;
  prompt.trusted("<").text("think").trusted(">").text("</thi").trusted("nk>");
  const std::vector<TokenId> plain = ids_of(prompt, MessageTokens::never);
  EXPECT_EQ(plain, released_tokenizer().encode_plain("<think></think>").value());
}

TEST(PromptIds, TextBesideTemplatesIsCutIntoTokensAsInTheWholePrompt) {
  PromptText prompt;
  prompt.trusted("<｜DSML｜ invoke name=\"")
      .text("get_weather")
      .trusted("\">\n")
      .text(" \n")
      .trusted(eos_token)
      .text("a");
  EXPECT_EQ(ids_of(prompt, MessageTokens::never), ids_of(prompt, MessageTokens::as_written));
  EXPECT_TRUE(ids_of(PromptText(), MessageTokens::never).empty());
}

TEST(PromptIds, TextThatIsNotUtf8IsRefused) {
  for (const MessageTokens tokens : {MessageTokens::as_written, MessageTokens::never})
    EXPECT_FALSE(prompt_ids(released_tokenizer(), PromptText().trusted(user_token).text("\xFF"), tokens).has_value());
}

TEST(ChatTokens, TheReleasedTokenizerHasThemAll) {
  EXPECT_TRUE(expect_chat_tokens(released_tokenizer()).has_value());
  PromptText prompt;
  for (const std::string_view token : format_tokens) prompt.trusted(token);
  EXPECT_TRUE(expect_prompt_tokens(released_tokenizer(), prompt).has_value());
}

TEST(ChatTokens, ATokenizerWithoutSomeIsRefusedByNamingAllAtOnce) {
  const auto refused = expect_chat_tokens(mini_tokenizer());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::missing);
  EXPECT_EQ(refused.error().message,
            "the tokenizer lacks tokens of the chat format: <｜System｜>, <｜action｜>, <｜query｜>, <｜authority｜>, "
            "<｜domain｜>, "
            "<｜title｜>, <｜read_url｜>; use the tokenizer.json of a DeepSeek-V4.1 model");
}

TEST(ChatTokens, APromptIsRefusedForTheTokensItNeedsAndNoOthers) {
  EXPECT_TRUE(expect_prompt_tokens(mini_tokenizer(), PromptText().trusted(user_token).text(system_token)).has_value());
  const PromptText prompt = PromptText().trusted(system_token).text("a").trusted("<｜title｜><｜User｜><｜System｜>");
  for (const MessageTokens tokens : {MessageTokens::as_written, MessageTokens::never}) {
    const auto ids = prompt_ids(mini_tokenizer(), prompt, tokens);
    ASSERT_FALSE(ids.has_value());
    EXPECT_TRUE(
        ids.error().message.starts_with("the tokenizer lacks tokens of this prompt: <｜System｜>, <｜title｜>;"))
        << ids.error().message;
  }
}

}  // namespace
}  // namespace cachalot::prompt_ids_test
