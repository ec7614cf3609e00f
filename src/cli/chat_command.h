// SPDX-License-Identifier: Apache-2.0
// cachalot chat: a conversation on a terminal, or one turn a line from a pipe.
#pragma once

#include <CLI/CLI.hpp>

namespace cachalot {

// Adds the subcommand to `app`. When it has run, `exit_code` is 0 (done), 1 (failed; from a pipe also where one turn
// did) or 2 (options that do not fit).
void add_chat_command(CLI::App& app, int& exit_code);

}  // namespace cachalot
