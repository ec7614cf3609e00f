// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command_line/command.h"

namespace cachalot {

// `cachalot plan [MODEL]`: what a model will take of this machine's memory, before anything is loaded.
void add_plan_command(Command& program);

}  // namespace cachalot
