// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command_line/command.h"

namespace cachalot {

// Everything that `cachalot` can do: its commands, and the options of them all. `program` is empty before.
void add_everything(Command& program);

}  // namespace cachalot
