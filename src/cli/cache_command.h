// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command_line/command.h"

namespace cachalot {

// `cachalot cache ls|clear`: the states that --cache keeps.
void add_cache_command(Command& program);

}  // namespace cachalot
