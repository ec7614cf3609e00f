// SPDX-License-Identifier: Apache-2.0
// Lines of spdlog on standard error.
#pragma once

#include <memory>

namespace spdlog {
class formatter;
}

namespace cachalot {

// "cachalot: warning: …". Whatever a line quotes, it is one line of bounded length without control characters.
std::unique_ptr<spdlog::formatter> log_formatter();

// Makes standard error the place of the log: standard output is for results.
void start_log();

}  // namespace cachalot
