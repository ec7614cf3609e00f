// SPDX-License-Identifier: Apache-2.0
#include "cli/output/render_lines.h"

#include "cli/output/json_lines.h"
#include "tokenizer/chat/completion_stream.h"
#include "tokenizer/chat/json_text.h"
#include "tokenizer/chat/prompt_ids.h"

namespace cachalot {
namespace {

Expected<Json> read_row(std::string_view line) {
  auto row = parse_json(line, "input", chat_json_rules);
  if (row && !row->is_object()) return fail(Errc::format, "input is {}, expected an object", shown(*row));
  return row;
}

Expected<const Json*> member(const Json& row, std::string_view key, Json::Kind kind, std::string_view expected) {
  const Json* value = row.find(key);
  if (!value) return fail(Errc::missing, "no member \"{}\"", key);
  if (value->kind() != kind) return fail(Errc::format, "\"{}\" is {}, expected {}", key, shown(*value), expected);
  return value;
}

// One of two words.
Expected<bool> is_first(const Json& row, std::string_view key, std::string_view first, std::string_view second) {
  const auto value = member(row, key, Json::Kind::string, fmt::format("\"{}\" or \"{}\"", first, second));
  if (!value) return tl::unexpected(value.error());
  const std::string& word = *(*value)->as_string();
  if (word != first && word != second) {
    return fail(Errc::format, "\"{}\" is {}, expected \"{}\" or \"{}\"", key, (*value)->dump(), first, second);
  }
  return word == first;
}

Expected<ChatMode> read_mode(const Json& row) {
  const auto thinking = is_first(row, "mode", "thinking", "chat");
  if (!thinking) return tl::unexpected(thinking.error());
  return *thinking ? ChatMode::thinking : ChatMode::chat;
}

}  // namespace

Expected<PromptText> render_messages(const Tokenizer& tokenizer, const RenderRules& rules,
                                     std::span<const Json> messages, ChatOptions options) {
  options.check_string_results = rules.sanitize;
  auto prompt = encode_chat(messages, options);
  if (!prompt) return tl::unexpected(prompt.error().as_error());
  if (auto s = expect_prompt_tokens(tokenizer, *prompt); !s) return tl::unexpected(s.error());
  return std::move(*prompt);
}

Expected<std::vector<TokenId>> render_ids(const Tokenizer& tokenizer, const RenderRules& rules,
                                          const PromptText& prompt) {
  return prompt_ids(tokenizer, prompt, rules.sanitize ? MessageTokens::never : MessageTokens::as_written);
}

Expected<Json> render_line(const Tokenizer& tokenizer, const RenderRules& rules, std::string_view line) {
  const auto row = read_row(line);
  if (!row) return row;
  const auto messages = member(*row, "messages", Json::Kind::array, "a list");
  if (!messages) return tl::unexpected(messages.error());
  const auto given = member(*row, "options", Json::Kind::object, "an object");
  if (!given) return tl::unexpected(given.error());
  const auto options = read_chat_options(**given);
  if (!options) return tl::unexpected(options.error());
  const auto prompt = render_messages(tokenizer, rules, (*messages)->items(), *options);
  if (!prompt) return tl::unexpected(prompt.error());
  Json answer = Json::object({{"prompt", prompt->joined()}});
  if (!rules.ids) return answer;
  const auto ids = render_ids(tokenizer, rules, *prompt);
  if (!ids) return tl::unexpected(ids.error());
  Json numbers = Json::array();
  for (const TokenId id : *ids) numbers.push_back(raw(id));
  answer.set("ids", std::move(numbers));
  return answer;
}

Expected<Json> parse_line(std::string_view line) {
  const auto row = read_row(line);
  if (!row) return row;
  const auto mode = read_mode(*row);
  if (!mode) return tl::unexpected(mode.error());
  const auto text = member(*row, "text", Json::Kind::string, "a string");
  if (!text) return tl::unexpected(text.error());
  const auto message = parse_strict(*(*text)->as_string(), *mode);
  if (!message) return tl::unexpected(message.error());
  return Json::object({{"message", message_json(*message)}});
}

Expected<Json> stream_line(std::string_view line) {
  const auto row = read_row(line);
  if (!row) return row;
  const auto mode = read_mode(*row);
  if (!mode) return tl::unexpected(mode.error());
  const auto by_itself = is_first(*row, "end", "eos", "length");
  if (!by_itself) return tl::unexpected(by_itself.error());
  const auto chunks = member(*row, "chunks", Json::Kind::array, "a list of strings");
  if (!chunks) return tl::unexpected(chunks.error());
  CompletionStream stream(*mode);
  for (const Json& chunk : (*chunks)->items()) {
    if (!chunk.is_string()) return fail(Errc::format, "a chunk is {}, expected a string", shown(chunk));
    stream.push(*chunk.as_string());
  }
  const FinishReason reason = stream.finish(*by_itself ? CompletionEnd::eos : CompletionEnd::length);
  Json calls = Json::array(), flags = Json::array();
  for (const ToolCall& call : stream.message().calls) {
    Json one = Json::object();
    if (!call.space.empty()) one.set("namespace", call.space);
    one.set("name", call.name).set("arguments", call.arguments);
    calls.push_back(std::move(one));
  }
  for (const std::string_view flag : stream.flag_names()) flags.push_back(flag);
  return Json::object({{"reasoning", stream.message().reasoning},
                       {"content", stream.message().content},
                       {"tool_calls", std::move(calls)},
                       {"finish_reason", finish_reason_name(reason)},
                       {"flags", std::move(flags)}});
}

}  // namespace cachalot
