// SPDX-License-Identifier: Apache-2.0
// cachalot render: conversations to prompts and completions back to messages, for people and for programs.
#pragma once

#include "cli/command_line/command.h"

namespace cachalot {

// Adds the subcommand to `program`. A
// line that has no answer but an error does not count as a failure of the command.
void add_render_command(Command& program);

}  // namespace cachalot
