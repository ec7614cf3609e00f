// SPDX-License-Identifier: Apache-2.0
#include "cli/output/log.h"

#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include <sstream>
#include <string>

namespace cachalot::log_test {
namespace {

TEST(Log, ALineIsOneLineWithoutControlCharactersOfBoundedLength) {
  std::ostringstream out;
  const auto sink = std::make_shared<spdlog::sinks::ostream_sink_st>(out);
  spdlog::logger log("test", sink);
  log.set_formatter(log_formatter());
  log.warn("{} is not used", "a\x1b]0;owned\a\ncachalot: error: none");
  EXPECT_EQ(out.str(), "cachalot: warning: a\\x1b]0;owned\\x07\\x0acachalot: error: none is not used\n");
  out.str("");
  log.warn("{}", std::string(5000000, 'x'));
  EXPECT_LT(out.str().size(), 2200u);
}

}  // namespace
}  // namespace cachalot::log_test
