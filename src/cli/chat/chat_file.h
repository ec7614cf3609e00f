// SPDX-License-Identifier: Apache-2.0
// Conversations as files: one JSON object with the messages (system text and tools among them) and the options of the
// format. How tokens are drawn, and whether messages are sanitized, is the command line's and not kept.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "base/expected.h"
#include "base/json.h"
#include "tokenizer/chat/encode.h"

namespace cachalot {

struct ChatFile {
  std::vector<Json> messages;
  ChatOptions options;  // mode, effort and drop_thinking
};

// The file is there as a whole or as it was before. Error: Errc::io.
Status save_chat(const std::filesystem::path& path, std::span<const Json> messages, const ChatOptions& options);

// A conversation is no longer than this: a hundred times what a million tokens of text are. Nor has it more values than
// JsonRules say.
inline constexpr std::size_t most_chat_bytes = std::size_t{64} << 20;

// From a regular file. Errors: those of read_text_file; Errc::memory; Errc::format for a file that is no such object.
// What messages may hold, the encoder says.
Expected<ChatFile> load_chat(const std::filesystem::path& path);

// A JSON list, such as messages or tools, from a file or a pipe, or from standard input where `path` is "-". Errors:
// those of read_text_file; Errc::memory, Errc::format.
Expected<Json> load_json_list(const std::filesystem::path& path);

}  // namespace cachalot
