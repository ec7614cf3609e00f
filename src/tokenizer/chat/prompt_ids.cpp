// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat/prompt_ids.h"

#include <algorithm>
#include <span>

#include "tokenizer/chat/format_text.h"

namespace cachalot {
namespace {

// Calls token(t) and plain(text) for the pieces of trusted text, in order. No format token begins inside another.
template <class Token, class Plain>
void split_at_tokens(std::string_view text, Token token, Plain plain) {
  std::size_t done = 0;
  for (std::size_t at = text.find_first_of("<｜"); at < text.size(); at = text.find_first_of("<｜", at)) {
    const std::string_view rest = text.substr(at);
    const auto found = std::ranges::find_if(format_tokens, [&](std::string_view t) { return rest.starts_with(t); });
    if (found == format_tokens.end()) {
      ++at;
      continue;
    }
    if (at > done) plain(text.substr(done, at - done));
    token(*found);
    done = at += found->size();
  }
  if (done < text.size()) plain(text.substr(done));
}

Status expect_tokens(const Tokenizer& tokenizer, std::span<const std::string_view> tokens, std::string_view whose) {
  std::string missing;
  for (const std::string_view token : tokens) {
    if (tokenizer.id_of(token)) continue;
    missing += missing.empty() ? "" : ", ";
    missing += token;
  }
  if (missing.empty()) return {};
  return fail(Errc::missing, "the tokenizer lacks tokens of {}: {}; use the tokenizer.json of a DeepSeek-V4.1 model",
              whose, missing);
}

// Each run between tokens at once, so that it is cut into tokens as it would be in the whole prompt.
Expected<std::vector<TokenId>> ids_without_message_tokens(const Tokenizer& tokenizer, const PromptText& prompt) {
  std::vector<TokenId> ids;
  std::string run;
  Status failed;
  const auto end_run = [&] {
    if (!failed || run.empty()) return;
    const auto plain = tokenizer.encode_plain(run);
    if (!plain) {
      failed = tl::unexpected(plain.error());
      return;
    }
    ids.insert(ids.end(), plain->begin(), plain->end());
    run.clear();
  };
  for (const Segment& segment : prompt.segments()) {
    if (!segment.trusted) {
      run += segment.text;
      continue;
    }
    split_at_tokens(
        segment.text,
        [&](std::string_view token) {
          end_run();
          ids.push_back(*tokenizer.id_of(token));
        },
        [&](std::string_view text) { run += text; });
  }
  end_run();
  if (!failed) return tl::unexpected(failed.error());
  return ids;
}

}  // namespace

Status expect_chat_tokens(const Tokenizer& tokenizer) {
  const std::span all(format_tokens);
  if (expect_tokens(tokenizer, all.first(needed_tokens), "the chat format")) return {};
  return expect_tokens(tokenizer, all, "the chat format");
}

Status expect_prompt_tokens(const Tokenizer& tokenizer, const PromptText& prompt) {
  std::vector<std::string_view> needed;
  for (const Segment& segment : prompt.segments()) {
    if (!segment.trusted) continue;
    split_at_tokens(
        segment.text,
        [&](std::string_view token) {
          if (std::ranges::find(needed, token) == needed.end()) needed.push_back(token);
        },
        [](std::string_view) {});
  }
  return expect_tokens(tokenizer, needed, "this prompt");
}

Expected<std::vector<TokenId>> prompt_ids(const Tokenizer& tokenizer, const PromptText& prompt, MessageTokens tokens) {
  if (auto s = expect_prompt_tokens(tokenizer, prompt); !s) return tl::unexpected(s.error());
  if (tokens == MessageTokens::as_written) return tokenizer.encode(prompt.joined());
  return ids_without_message_tokens(tokenizer, prompt);
}

}  // namespace cachalot
