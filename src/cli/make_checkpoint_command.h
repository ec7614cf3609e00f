// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

namespace cachalot {

// `cachalot make-checkpoint`: random weights of any shape, in the released layout.
void add_make_checkpoint_command(CLI::App& app, int& exit_code);

}  // namespace cachalot
