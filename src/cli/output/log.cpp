// SPDX-License-Identifier: Apache-2.0
#include "cli/output/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "base/shown_text.h"
#include "cli/output/terminal.h"

namespace cachalot {
namespace {

class ShownLines : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& line, spdlog::memory_buf_t& to) override {
    const ShownText shown(std::string_view(line.payload.data(), line.payload.size()));
    spdlog::details::log_msg clean = line;
    clean.payload = spdlog::string_view_t(shown.data(), shown.size());
    pattern_.format(clean, to);
    line.color_range_start = clean.color_range_start;
    line.color_range_end = clean.color_range_end;
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<ShownLines>(); }

 private:
  spdlog::pattern_formatter pattern_{"cachalot: %^%l%$: %v"};
};

}  // namespace

std::unique_ptr<spdlog::formatter> log_formatter() { return std::make_unique<ShownLines>(); }

void start_log() {
  spdlog::set_default_logger(spdlog::stderr_color_mt(
      "cachalot", takes_escapes(STDERR_FILENO) ? spdlog::color_mode::always : spdlog::color_mode::never));
  spdlog::set_formatter(log_formatter());
}

}  // namespace cachalot
