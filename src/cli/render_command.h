// SPDX-License-Identifier: Apache-2.0
// cachalot render: conversations to prompts and completions back to messages, for people and for programs.
#pragma once

#include <CLI/CLI.hpp>

namespace cachalot {

// Adds the subcommand to `app`. When it has run, `exit_code` is 0 (done), 1 (failed) or 2 (options that do not fit). A
// line that has no answer but an error does not count as a failure of the command.
void add_render_command(CLI::App& app, int& exit_code);

}  // namespace cachalot
