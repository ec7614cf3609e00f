// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

namespace cachalot {

// `cachalot plan [MODEL]`: what a model will take of this machine's memory, before anything is loaded.
void add_plan_command(CLI::App& app, int& exit_code);

}  // namespace cachalot
