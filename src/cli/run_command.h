// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

namespace cachalot {

// `cachalot run "text"`: continues a text.
void add_run_command(CLI::App& app, int& exit_code);

}  // namespace cachalot
