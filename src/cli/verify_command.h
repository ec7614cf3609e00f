// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command_line/command.h"

namespace cachalot {

// `cachalot verify`: a checkpoint's structure and values, a model or the operators against golden numbers.
// Exit codes: 0 all good, 1 something failed or nothing was compared, 2 usage.
void add_verify_command(Command& program);

}  // namespace cachalot
