// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command_line/command.h"

namespace cachalot {

// `cachalot inspect [MODEL]`: what a checkpoint is made of; `--state`: what a sequence of it takes in
// memory; `--backends`: what this build can compute with.
void add_inspect_command(Command& program);

}  // namespace cachalot
