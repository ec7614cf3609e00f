// SPDX-License-Identifier: Apache-2.0
// From what is typed, or from the lines of a pipe, to the end of a conversation. Both give the program's exit code: 0,
// 1 where an error was told, 128 and the number of the signal that ended it.
#pragma once

#include <cstddef>

#include "base/expected.h"
#include "cli/chat/chat_session.h"

namespace cachalot {

// Ctrl-C stops an answer, and nothing but the user, SIGTERM and SIGHUP ends the conversation.
int converse_on_terminal(ChatSession& session);

// SIGINT ends it: what the answer has come to by then is written. Errors: that of reading; Errc::range for a message of
// more than `most_bytes`, which the model's context can't hold.
Expected<int> converse_by_lines(ChatSession& session, std::size_t most_bytes);

}  // namespace cachalot
