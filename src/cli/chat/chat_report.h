// SPDX-License-Identifier: Apache-2.0
// What /help and /stats say: headings, and lines of at most 60 columns.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/conversation.h"

namespace cachalot {

struct AnswerTotals {
  std::int64_t answers = 0, prompt = 0, cached = 0, tokens = 0;
  double prompt_seconds = 0, decode_seconds = 0;
  DraftCounts drafts{};
  LayerTokens layer_tokens{};

  void add(const Answer& answer);
};

struct CommandHelp {
  std::string usage;
  std::string_view help;
};

std::string chat_help(std::span<const CommandHelp> commands);

std::string chat_stats(const Conversation& conversation, const AnswerTotals& last, const AnswerTotals& all);

// "on, effort 75"
std::string thinking_text(const ChatOptions& options);

}  // namespace cachalot
