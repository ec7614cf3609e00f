// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

namespace cachalot {

// `cachalot cache ls|clear`: the states that --cache keeps.
void add_cache_command(CLI::App& app, int& exit_code);

}  // namespace cachalot
