// SPDX-License-Identifier: Apache-2.0
// For tests: the golden completions as cases of the stream.
#pragma once

#include "tokenizer/chat/chat_goldens.h"
#include "tokenizer/chat/format_text.h"
#include "tokenizer/chat/stream_cases.h"

namespace cachalot {

struct StreamCase {
  std::string id;
  ChatMode mode = ChatMode::chat;
  CompletionEnd end = CompletionEnd::eos;
  Pieces chunks{};
  Json expected{};

  std::string text() const {
    std::string all;
    for (const std::string& chunk : chunks) all += chunk;
    return all;
  }
};

inline ChatMode mode_of(const Json& one) {
  return string_at(one, "mode") == "thinking" ? ChatMode::thinking : ChatMode::chat;
}

inline std::vector<StreamCase> stream_goldens() {
  std::vector<StreamCase> cases;
  for (const Json& one : chat_goldens("stream.jsonl")) {
    StreamCase& made = cases.emplace_back(StreamCase{string_at(one, "id"), mode_of(one)});
    made.end = string_at(one, "end") == "length" ? CompletionEnd::length : CompletionEnd::eos;
    for (const Json& chunk : one.find("chunks")->items()) made.chunks.push_back(*chunk.as_string());
    made.expected = *one.find("expect");
  }
  return cases;
}

// Those of stream.jsonl, and those of parse.jsonl without the EOS that ends them, well-formed or not.
inline std::vector<StreamCase> completions_of_all_goldens() {
  std::vector<StreamCase> cases = stream_goldens();
  for (const Json& one : chat_goldens("parse.jsonl")) {
    std::string text = string_at(one, "text");
    if (text.ends_with(eos_token)) text.resize(text.size() - eos_token.size());
    cases.push_back({string_at(one, "id"), mode_of(one), CompletionEnd::eos, {std::move(text)}});
  }
  return cases;
}

// As `expect` of stream.jsonl.
inline Json result_json(const StreamResult& result) {
  Json calls = Json::array(), flags = Json::array();
  for (const ToolCall& call : result.message.calls) {
    Json one = Json::object();
    if (!call.space.empty()) one.set("namespace", call.space);
    one.set("name", call.name).set("arguments", call.arguments);
    calls.push_back(std::move(one));
  }
  for (const std::string_view flag : result.flags) flags.push_back(flag);
  return Json::object({{"reasoning", result.message.reasoning},
                       {"content", result.message.content},
                       {"tool_calls", std::move(calls)},
                       {"finish_reason", finish_reason_name(result.reason)},
                       {"flags", std::move(flags)}});
}

}  // namespace cachalot
