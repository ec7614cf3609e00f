// SPDX-License-Identifier: Apache-2.0
// For tests and the fuzzer of the completion stream: completions, ways to cut them, and results that can be compared.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "tokenizer/chat/completion_stream.h"
#include "tokenizer/chat/format_text.h"

namespace cachalot {

using Names = std::vector<std::string_view>;
using Pieces = std::vector<std::string>;

struct StreamResult {
  AssistantMessage message;
  FinishReason reason = FinishReason::stop;
  Names flags;
  bool has(std::string_view flag) const { return std::ranges::find(flags, flag) != flags.end(); }
  bool operator==(const StreamResult&) const = default;
};

// Checks on the way that the events tell the same as message().
inline StreamResult read_in_pieces(ChatMode mode, const Pieces& pieces, CompletionEnd end) {
  AssistantMessage told;
  CompletionEvents events;
  events.reasoning = [&](std::string_view text) { told.reasoning += text; };
  events.content = [&](std::string_view text) { told.content += text; };
  events.call = [&](const ToolCall& call, std::size_t index) {
    check(index == told.calls.size(), "calls are numbered in order");
    told.calls.push_back(call);
  };
  CompletionStream stream(mode, events);
  for (const std::string& piece : pieces) stream.push(piece);
  const FinishReason reason = stream.finish(end);
  check(told == stream.message(), "the events tell the message");
  return {stream.message(), reason, stream.flag_names()};
}

// Whether it shows a call, and yet some of the block of calls as text.
inline bool shows_call_and_markup(const StreamResult& result, std::string_view text) {
  const std::size_t shown = result.message.reasoning.size() + result.message.content.size();
  return !result.message.calls.empty() && shown > text.find(calls_opener);
}

inline Pieces single_bytes(std::string_view text) {
  Pieces pieces;
  for (const char byte : text) pieces.emplace_back(1, byte);
  return pieces;
}

inline Pieces random_pieces(std::string_view text, std::mt19937& random) {
  Pieces pieces;
  while (!text.empty()) {
    const std::size_t size = std::min<std::size_t>(random() % 12, text.size());  // empty ones as well
    pieces.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return pieces;
}

}  // namespace cachalot
