// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_command.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/test_folder.h"
#include "cli/test_command.h"
#include "ops/backend.h"

namespace cachalot::bench_command_test {
namespace {

Ran run(std::vector<std::string> arguments) { return run_line(std::move(arguments), {add_bench_command}); }

TEST(BenchCommand, OneOperatorGivesTheMachineATableLineAndTheSameAsCsv) {
  const TestFolder folder;
  const std::string file = folder.path() / "bench.csv";
  const Ran ran = run({"bench", "sinkhorn", "--rows", "2", "--seconds", "0", "--threads", "1", "--csv", file});
  EXPECT_EQ(ran.exit_code, 0) << ran.error;
  EXPECT_NE(ran.out.find("roofs, 1 thread: read "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("\nsinkhorn "), std::string::npos) << ran.out;
  std::stringstream csv;
  csv << std::ifstream(file).rdbuf();
  EXPECT_TRUE(csv.str().starts_with("# cachalot bench sinkhorn --backend cpu --threads 1 ")) << csv.str();
  EXPECT_NE(csv.str().find("\nsinkhorn,\"4 copies, 20 iterations\",2,cpu,1,"), std::string::npos) << csv.str();
}

TEST(BenchCommand, UnknownOperatorIsAUsageErrorThatNamesThemAll) {
  const Ran ran = run({"bench", "sinkhole"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.out, "");
  for (const std::string_view op : operator_names) EXPECT_NE(ran.error.find(op), std::string::npos) << ran.error;
}

TEST(BenchCommand, BackendLevelAndRowsThatDoNotExistAreUsageErrors) {
  EXPECT_EQ(run({"bench", "fold", "--backend", "abacus"}).exit_code, 2);
  EXPECT_EQ(run({"bench", "fold", "--simd", "mmx"}).exit_code, 2);
  EXPECT_EQ(run({"bench", "fold", "--simd", ""}).exit_code, 2);
  EXPECT_EQ(run({"bench", "fold", "--rows", "0"}).exit_code, 2);
}

TEST(BenchCommand, NumbersThatAreNoneAreUsageErrors) {
  for (const char* text : {"nan", "inf", "-1", "1e4", "", "1s"}) {
    EXPECT_EQ(run({"bench", "fold", "--rows", "1", "--seconds", text}).exit_code, 2) << text;
  }
  for (const char* text : {"nan", "0x10", "-1", "0", "1025", ""}) {
    EXPECT_EQ(run({"bench", "fold", "--rows", "1", "--seconds", "0", "--threads", text}).exit_code, 2) << text;
  }
}

TEST(BenchCommand, AFileThatCantBeWrittenFailsBeforeAnythingIsMeasured) {
  const Ran ran = run({"bench", "fold", "--csv", "/proc/nowhere/x.csv"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.error.find("/proc/nowhere/x.csv"), std::string::npos) << ran.error;
}

TEST(BenchCommand, HelpHasAnExample) {
  const Ran ran = run({"bench", "--help"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_NE(ran.out.find("  cachalot bench linear"), std::string::npos) << ran.out;
}

}  // namespace
}  // namespace cachalot::bench_command_test
