// SPDX-License-Identifier: Apache-2.0
// cachalot bench: each operator at the released model's shapes, as a share of this machine's measured roofs.
#pragma once

#include "cli/command_line/command.h"

namespace cachalot {

// Adds the command. Exit code: 0 done; 1 failed; 2 an operator, backend or SIMD level that does
// not exist.
void add_bench_command(Command& program);

}  // namespace cachalot
