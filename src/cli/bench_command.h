// SPDX-License-Identifier: Apache-2.0
// cachalot bench: each operator at the released model's shapes, as a share of this machine's measured roofs.
#pragma once

#include <CLI/CLI.hpp>

namespace cachalot {

// Adds the subcommand to `app`. When it has run, `exit_code` is 0 (done), 1 (failed or interrupted) or 2 (an operator,
// backend or SIMD level that does not exist).
void add_bench_command(CLI::App& app, int& exit_code);

}  // namespace cachalot
