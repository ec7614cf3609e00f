// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command_line/command.h"

namespace cachalot {

// `cachalot run "text"`: continues a text.
void add_run_command(Command& program);

}  // namespace cachalot
