// SPDX-License-Identifier: Apache-2.0
// Content of messages: strings, lists of blocks, images (spec: chat-format.md 4).
#pragma once

#include <vector>

#include "base/expected.h"
#include "base/json.h"
#include "tokenizer/chat/prompt_text.h"

namespace cachalot {

struct Block {
  enum class Kind { text, tool_result, other };
  Kind kind = Kind::text;
  PromptText body{};          // as it is printed in a user turn
  std::string tool_use_id{};  // of a tool_result
};

struct Content {
  PromptText text{};            // for the roles that print no blocks; null is empty
  std::vector<Block> blocks{};  // content_blocks, or a list that stood in content
};

// Reads content and content_blocks, and looks for the image token in them and in reasoning_content.
// Errors (Errc::format): the image token in text, an image without a source, a value of the wrong type.
Expected<Content> read_content(const Json& message, bool check_string_results);

Block text_block(PromptText text);
Block tool_result_block(std::string tool_use_id, const PromptText& content);

// Bodies with a blank line between, which is the format's own.
PromptText join_blocks(std::span<const Block> blocks);

}  // namespace cachalot
