// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command_line/command.h"

namespace cachalot {

// `cachalot make-checkpoint`: random weights of any shape, in the released layout.
void add_make_checkpoint_command(Command& program);

}  // namespace cachalot
