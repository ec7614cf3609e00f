// SPDX-License-Identifier: Apache-2.0
// A conversation with a model: its messages, their prompt, and the answer to it (spec: chat-format.md).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "base/json.h"
#include "engine/generate.h"
#include "kv/prefix_cache.h"
#include "tokenizer/chat/completion_stream.h"
#include "tokenizer/chat/encode.h"
#include "tokenizer/chat/prompt_ids.h"

namespace cachalot {

struct ConversationOptions {
  ChatOptions chat{};  // its context is not used
  MessageTokens tokens = MessageTokens::as_written;
};

// All may be empty.
struct AnswerEvents {
  std::function<void(std::int64_t done, std::int64_t total)> prompt{};  // of the tokens that have to be run
  std::function<void(std::string_view)> reasoning{};
  std::function<void(std::string_view)> content{};
  std::function<void(const ToolCall&)> call{};
  std::function<bool()> interrupted{};  // as generate() asks it
};

struct Answer {
  AssistantMessage message{};
  EndReason end = EndReason::stop;
  bool kept = false;  // whether it is in the conversation now: an interrupt before its first token takes all back
  std::vector<std::string_view> flags{};  // what was odd about the completion
  std::int64_t prompt_tokens = 0;         // of the whole prompt
  std::int64_t cached_tokens = 0;         // of them, those that had not to be run again
  std::int64_t tokens = 0;                // of the answer
  double prompt_seconds = 0;
  double decode_seconds = 0;
  DraftCounts drafts{};
  LayerTokens layer_tokens{};  // of the prompt tokens that were run
};

// Who continues a prompt; generate() with a model, or a test.
using Generator = std::function<Expected<Generation>(Sequence&, std::span<const TokenId> prompt, const GenerateOptions&,
                                                     const GenerateEvents&)>;

class Conversation {
 public:
  // Borrows `loaded`, and a cache and a store where `prefixes` has some; without a cache the conversation makes one of
  // its own, so that a turn runs only what is new in its prompt. Error: Errc::missing as expect_chat_tokens.
  static Expected<Conversation> start(const LoadedModel& loaded, Generator generator,
                                      const ConversationOptions& options = {}, const Prefixes& prefixes = {});

  std::span<const Json> messages() const { return messages_; }
  const ConversationOptions& options() const { return options_; }
  std::int64_t context_tokens() const;  // positions of the model
  // Of the states that the last answer could go on from: replayed and exact ones are kept apart.
  const PrefixCacheStats& cache_stats() const { return (replays_ ? *replays_ : *prefixes_.cache).stats(); }

  // Replaces both. Error, and nothing is replaced: that of encode_chat or prompt_ids.
  Status replace(std::vector<Json> messages, const ConversationOptions& options);

  // Adds messages that want no answer yet. Error, and nothing is added: as replace().
  Status add(std::span<const Json> messages);

  // Adds `said` and the model's answer to it, run from the first token on that no state is kept for. What
  // GenerateOptions say about the text's end counts; its special tokens, choices, `before` and prefixes are ours.
  // An answer that was cut (length, context, interrupted) stays as far as it came, as a turn without EOS (`wo_eos`),
  // unless it has complete calls; calls of an interrupted answer are dropped. Errors, and the conversation is as
  // before: those of replace() and generate(), a prompt that leaves the context no room (Errc::range), an answer that
  // can't stand in a prompt, such as one that spells an image.
  Expected<Answer> answer(std::span<const Json> said, const GenerateOptions& options, const AnswerEvents& events);

 private:
  Conversation(const LoadedModel& loaded, Generator generator, const ConversationOptions& options,
               const Prefixes& prefixes);

  Expected<std::vector<TokenId>> prompt_of(std::span<const Json> messages, const ConversationOptions& options) const;
  Expected<Generation> run(std::span<const TokenId> prompt, const GenerateOptions& options,
                           const GenerateEvents& events);

  const LoadedModel* loaded_;
  Generator generator_;
  ConversationOptions options_;
  std::vector<Json> messages_;
  std::unique_ptr<PrefixCache> own_cache_;
  std::unique_ptr<PrefixCache> replays_;  // once a prompt was replayed; never in the store
  Prefixes prefixes_;
};

// The calls of the last assistant message that no tool message answers, in their order; none once the user went on.
std::vector<ToolCall> open_calls(std::span<const Json> messages);

}  // namespace cachalot
