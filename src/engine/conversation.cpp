// SPDX-License-Identifier: Apache-2.0
#include "engine/conversation.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "engine/state_key.h"
#include "tokenizer/chat/format_text.h"
#include "tokenizer/chat/json_fields.h"
#include "tokenizer/chat/json_text.h"
#include "tokenizer/chat/tool_name.h"

namespace cachalot {
namespace {

bool has_role(const Json& message, std::string_view role) {
  const Json* found = message.find("role");
  return found != nullptr && *found == Json(role);
}

bool was_cut(EndReason end) {
  return end == EndReason::length || end == EndReason::context || end == EndReason::interrupted;
}

std::vector<Json> joined(std::span<const Json> first, std::span<const Json> second) {
  std::vector<Json> all(first.begin(), first.end());
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

std::string text_at(const Json& object, std::string_view key) {
  const Json* value = find_value(object, key);
  if (value == nullptr) return {};
  return value->is_string() ? *value->as_string() : json_text(*value);
}

}  // namespace

Conversation::Conversation(const LoadedModel& loaded, Generator generator, const ConversationOptions& options,
                           const Prefixes& prefixes)
    : loaded_(&loaded), generator_(std::move(generator)), options_(options), prefixes_(prefixes) {
  if (prefixes_.cache != nullptr) return;
  own_cache_ = std::make_unique<PrefixCache>(PrefixCacheOptions{.mode = state_mode(loaded.model)});
  prefixes_.cache = own_cache_.get();
}

Expected<Conversation> Conversation::start(const LoadedModel& loaded, Generator generator,
                                           const ConversationOptions& options, const Prefixes& prefixes) {
  if (Status good = expect_chat_tokens(loaded.tokenizer); !good) return tl::unexpected(good.error());
  return Conversation(loaded, std::move(generator), options, prefixes);
}

std::int64_t Conversation::context_tokens() const { return loaded_->model.config().max_seq_len; }

Expected<std::vector<TokenId>> Conversation::prompt_of(std::span<const Json> messages,
                                                       const ConversationOptions& options) const {
  ChatOptions chat = options.chat;
  chat.context = {};
  const auto prompt = encode_chat(messages, chat);
  if (!prompt) return tl::unexpected(prompt.error().as_error());
  return prompt_ids(loaded_->tokenizer, *prompt, options.tokens);
}

Status Conversation::replace(std::vector<Json> messages, const ConversationOptions& options) {
  if (const auto good = prompt_of(messages, options); !good) return tl::unexpected(good.error());
  messages_ = std::move(messages);
  options_ = options;
  return {};
}

Status Conversation::add(std::span<const Json> messages) { return replace(joined(messages_, messages), options_); }

Expected<Generation> Conversation::run(std::span<const TokenId> prompt, const GenerateOptions& options,
                                       const GenerateEvents& events) {
  GenerateOptions ours = options;
  ours.choices = 1;
  ours.special = SpecialTokens::skip;
  ours.before = {};
  ours.prefixes = prefixes_;
  if (options.prefill == Prefill::replay) {
    PrefixCacheOptions apart = prefixes_.cache->options();
    apart.replays = true;
    if (!replays_) replays_ = std::make_unique<PrefixCache>(apart);
    ours.prefixes = {.cache = replays_.get()};
  } else {
    replays_.reset();
  }
  // A model that begins another turn by itself has ended its own.
  for (const std::string_view opener : {bos_token, system_token, user_token, assistant_token}) {
    if (const auto id = loaded_->tokenizer.id_of(opener)) ours.stop_tokens.push_back(*id);
  }
  Sequence sequence = loaded_->model.new_sequence();
  return generator_(sequence, prompt, ours, events);
}

Expected<Answer> Conversation::answer(std::span<const Json> said, const GenerateOptions& options,
                                      const AnswerEvents& events) {
  std::vector<Json> messages = joined(messages_, said);
  const auto prompt = prompt_of(messages, options_);
  if (!prompt) return tl::unexpected(prompt.error());
  const auto tokens = static_cast<std::int64_t>(prompt->size());
  if (tokens > context_tokens()) {
    return fail(Errc::range,
                "the conversation would have {} tokens, and the model's context has {} positions: say less, or begin "
                "a new conversation (in `cachalot chat`: /reset)",
                tokens, context_tokens());
  }

  Answer answer;
  CompletionEvents shown;
  shown.reasoning = events.reasoning;
  shown.content = events.content;
  shown.call = [&](const ToolCall& call, std::size_t) {
    if (events.call) events.call(call);
  };
  CompletionStream stream(options_.chat.mode, std::move(shown), fmt::format("call_{}_", messages.size()));
  const GenerateEvents generating{
      .prompt = events.prompt,
      .text = [&](std::int64_t, std::string_view text) { stream.push(text); },
      .interrupted = events.interrupted,
      .complete =
          [&](const Generation& all) {
            stream.finish(was_cut(all.choices[0].end) ? CompletionEnd::length : CompletionEnd::eos);
          }};
  const auto result = run(*prompt, options, generating);
  if (!result) return tl::unexpected(result.error());
  const Completion& completion = result->choices[0];
  answer.end = completion.end;
  answer.prompt_tokens = tokens;
  answer.cached_tokens = result->cached_tokens;
  answer.tokens = static_cast<std::int64_t>(completion.tokens.size());
  answer.prompt_seconds = result->prompt_seconds;
  answer.decode_seconds = result->decode_seconds;
  answer.drafts = result->drafts;
  answer.layer_tokens = result->layer_tokens;
  answer.message = stream.message();
  answer.flags = stream.flag_names();
  if (answer.end == EndReason::interrupted) answer.message.calls.clear();
  if (answer.end == EndReason::interrupted && answer.tokens == 0) return answer;

  Json message = message_json(answer.message);
  if (was_cut(answer.end) && answer.message.calls.empty()) message.set("wo_eos", true);
  messages.push_back(std::move(message));
  if (const Status good = replace(std::move(messages), options_); !good)
    return fail(good.error().code, "the answer can't stay in the conversation: {}", good.error().message);
  answer.kept = true;
  return answer;
}

std::vector<ToolCall> open_calls(std::span<const Json> messages) {
  std::vector<ToolCall> open;
  for (const Json& message : messages) {
    if (!has_role(message, "tool")) open.clear();
    if (has_role(message, "tool")) {
      const std::string id = text_at(message, "tool_call_id");
      const auto answered = std::ranges::find(open, id, &ToolCall::id);
      if (answered != open.end()) open.erase(answered);
    } else if (const Json* calls = message.find("tool_calls"); calls != nullptr && has_role(message, "assistant")) {
      for (const Json& call : calls->items()) {
        const auto name = read_tool_name(call);
        const Json* function = call.find("function");
        if (!name || function == nullptr) continue;  // the encoder refuses such a message
        std::string id = text_at(call, "id");
        open.push_back({.id = id.empty() ? text_at(*function, "id") : std::move(id),
                        .space = name->space,
                        .name = name->name,
                        .arguments = text_at(*function, "arguments")});
      }
    }
  }
  return open;
}

}  // namespace cachalot
