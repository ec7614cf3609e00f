// SPDX-License-Identifier: Apache-2.0
#include "cli/verify_command.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "base/test_folder.h"
#include "cli/output/terminal.h"
#include "cli/test_command.h"

namespace cachalot::verify_command_test {
namespace {

const std::string golden = CACHALOT_BUILD_DIR "/golden";

// Exit code and what was written to standard output.
std::pair<int, std::string> run(const std::string& arguments) {
  std::istringstream words("verify " + arguments);
  const std::vector<std::string> line{std::istream_iterator<std::string>(words), {}};
  const Ran ran = run_line(line, {add_verify_command});
  return {ran.exit_code, ran.out + ran.error};
}

TEST(VerifyCommand, GoodOperatorsGiveZeroAndALinePerCase) {
  const auto [code, out] = run("--ops " + golden + "/ops-a");
  EXPECT_EQ(code, 0) << out;
  EXPECT_NE(out.find("reference gemm_3"), std::string::npos) << out;
  EXPECT_NE(out.find(" 0 failed"), std::string::npos) << out;
}

TEST(VerifyCommand, VerboseHasALinePerTensor) {
  const auto [code, out] = run("--ops " + golden + "/ops-a -v");
  EXPECT_EQ(code, 0);
  EXPECT_NE(out.find("pass    128_300_0"), std::string::npos) << out;
}

TEST(VerifyCommand, ModelAloneIsCheckedForStructureAndSaysThatNothingWasRun) {
  const auto [code, out] = run(golden + "/mini-a");
  EXPECT_EQ(code, 0) << out;
  EXPECT_NE(out.find("structure: "), std::string::npos) << out;
  EXPECT_NE(out.find("nothing was read or run"), std::string::npos) << out;
}

TEST(VerifyCommand, ValuesAreReadWhenAsked) {
  const auto [code, out] = run(golden + "/mini-a --values");
  EXPECT_EQ(code, 0) << out;
  EXPECT_NE(out.find("values: "), std::string::npos) << out;
}

TEST(VerifyCommand, NotOneCaseGivesOne) {
  const TestFolder empty;
  EXPECT_EQ(run("--ops " + empty.path().string()).first, 1);
  EXPECT_EQ(run(golden + "/mini-a --golden " + empty.path().string()).first, 1);
}

TEST(VerifyCommand, FolderThatIsNotThereGivesOneAndItsName) {
  const TestFolder empty;
  const auto [code, out] = run("--ops " + empty.path().string() + "/nowhere");
  EXPECT_EQ(code, 1);
  EXPECT_NE(out.find("nowhere"), std::string::npos) << out;
  EXPECT_EQ(run(empty.path().string()).first, 1);
}

TEST(VerifyCommand, UsageThatCantBeMeantGivesTwo) {
  const std::string model = golden + "/mini-a";
  for (const char* idle : {"--strict", "-v", "--backend cpu", "--simd portable", "--threads 2", "--numerics f32"})
    EXPECT_EQ(run(model + " " + idle).first, 2) << idle;  // nothing is compared, nothing is computed
  EXPECT_EQ(run("--ops x --threads 2").first, 2);
  EXPECT_EQ(run("--ops x --numerics f32").first, 2);
  EXPECT_EQ(run(model + " --model " + model).first, 2);
  EXPECT_EQ(run(golden + "/mini-a --numerics half").first, 2);
  EXPECT_EQ(run(golden + "/mini-a --no-such-option").first, 2);
  EXPECT_EQ(run("--ops x --backend abacus").first, 2);
  EXPECT_EQ(run("--ops x --simd mmx").first, 2);
  EXPECT_EQ(run("--ops x --threads 0").first, 2);
  EXPECT_EQ(run("--ops x --backend cpu --reference-op abacus").first, 2);
  EXPECT_EQ(run("--ops x --reference-op rope").first, 2);  // of which backend?
}

TEST(VerifyCommand, WithoutAModelTheUsualOneIsMeant) {
  ::setenv("CACHALOT_MODEL", (golden + "/mini-a").c_str(), 1);
  for (const char* arguments : {"", "--values"}) {
    const auto [code, out] = run(arguments);
    EXPECT_EQ(code, 0) << out;
    EXPECT_TRUE(out.starts_with("model: " + golden + "/mini-a\n")) << out;
  }
  EXPECT_EQ(run("--ops " + golden + "/ops-a").second.find("model: "), std::string::npos);
  ::unsetenv("CACHALOT_MODEL");
  EXPECT_EQ(run("--model " + golden + "/mini-a").first, 0);
}

TEST(VerifyCommand, AnInterruptGives130AndSaysWhatWasDone) {
  for (const std::string& arguments : {"--ops " + golden + "/ops-a", golden + "/mini-a --values"}) {
    catch_interrupts();
    std::raise(SIGINT);
    const auto [code, out] = run(arguments);
    await_interrupt();  // the flag is as new
    EXPECT_EQ(code, 130) << out;
    EXPECT_NE(out.find("verify: interrupted after 0 "), std::string::npos) << out;
  }
}

TEST(VerifyCommand, HelpHasExamples) {
  EXPECT_NE(run("--help").second.find("Examples:\n  cachalot verify"), std::string::npos);
}

}  // namespace
}  // namespace cachalot::verify_command_test
