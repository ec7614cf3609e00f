// SPDX-License-Identifier: Apache-2.0
// cachalot chat: a conversation on a terminal, or one turn a line from a pipe.
#pragma once

#include "cli/command_line/command.h"

namespace cachalot {

// Adds the command. Exit code: 0 done; 1 failed, from a pipe also where one turn
// did; 2 options that do not fit.
void add_chat_command(Command& program);

}  // namespace cachalot
