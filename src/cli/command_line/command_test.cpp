// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line/command.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/command_line/help_text.h"

namespace cachalot::command_test {
namespace {

// A small program, and what a line made of it.
struct Line {
  Command program{"cachalot", "Tests command lines"};
  std::string level = "warn", text, model, mode = "fast";
  std::optional<std::string> ids;
  std::vector<std::string> stop, rest;
  std::int64_t tokens = 256;
  std::optional<std::int64_t> limit;
  double heat = 0.5;
  bool json = false, verbose = false;
  std::string done;  // the command that ran
  int prepared = 0;
  int exit_code = 0;
  std::string out, error;

  explicit Line(const std::vector<std::string>& words) {
    program.group("Options").text("--level", level, "what to tell");
    program.group("Options").action("-V,--version", "which this is", [this] { done = "version"; });
    program.before([this] { ++prepared; });
    Command& run = program.add_command("run", "Continue a text");
    const Option& argument = run.argument("text", text, "what to continue");
    OptionGroup& options = run.group("Options");
    options.whole("-n,--tokens", tokens, 0, 1000, "how many").with_default();
    options.whole("--limit", limit, 1, 1000, "at most");
    options.number("--heat", heat, 0, 1, "how hot").with_default();
    options.text("-m,--model", model, "which").not_empty().environment("CACHALOT_TEST_MODEL").placeholder("DIR");
    options.choice("--mode", mode, {"fast", "slow"}, "how fast");
    options.texts("--stop", stop, "where to end");
    options.text("--ids", ids, "instead of a text").excludes(argument);
    const Option& as_json = options.flag("-j,--json", json, "as JSON");
    options.flag("-v,--verbose", verbose, "tell more").needs(as_json);
    run.runs([this]() -> Expected<int> { return did("run"); });
    Command& cache = program.add_command("cache", "Kept states");
    Command& list = cache.add_command("ls", "List them");
    list.arguments("name", rest, "which");
    list.runs([this]() -> Expected<int> { return did("cache ls"); });
    Command& make = program.add_command("make", "Make one");
    make.group("Options").text("--out", model, "where").required();
    make.runs([this]() -> Expected<int> { return fail(Errc::io, "the disk is full"); });

    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    exit_code = program.run(words);
    std::fflush(stdout);
    out = testing::internal::GetCapturedStdout();
    error = testing::internal::GetCapturedStderr();
  }

  int did(const char* what) {
    done = what;
    return 7;
  }
};

TEST(CommandLine, EveryWayOfWritingAValueReachesIt) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"run", "a b", "--tokens", "5"},
                                                                                     {"run", "--tokens=5", "a b"},
                                                                                     {"run", "-n", "5", "a b"},
                                                                                     {"run", "a b", "-n5"},
                                                                                     {"run", "-n=5", "a b"},
                                                                                     {"run", "-jvn5", "a b"},
                                                                                     {"run", "-n5", "--", "a b"}}) {
    const Line line(words);
    EXPECT_EQ(line.exit_code, 7) << line.error;
    EXPECT_EQ(line.done, "run");
    EXPECT_EQ(line.prepared, 1);
    EXPECT_EQ(line.tokens, 5);
    EXPECT_EQ(line.text, "a b");
  }
}

TEST(CommandLine, OptionsOfTheProgramAreKnownBeforeAndAfterTheCommand) {
  EXPECT_EQ(Line({"--level", "x", "run"}).level, "x");
  EXPECT_EQ(Line({"run", "--level", "x"}).level, "x");
  EXPECT_EQ(Line({"cache", "ls", "--level=x"}).level, "x");
}

TEST(CommandLine, WhatDoesNotLookLikeAnOptionIsAnArgument) {
  for (const char* text : {"-", "-5", "- one", "-- he said", "--- Chapter 1 ---", "", "-.5", "—"})
    EXPECT_EQ(Line({"run", text}).text, text) << text;
  EXPECT_EQ(Line({"run", "--", "--json"}).text, "--json");
  EXPECT_FALSE(Line({"run", "--", "--json"}).json);
  EXPECT_EQ(Line({"cache", "ls", "a", "-5", "--", "-v"}).rest, (std::vector<std::string>{"a", "-5", "-v"}));
}

TEST(CommandLine, AValueMayLookLikeAnythingButAKnownOption) {
  EXPECT_EQ(Line({"run", "--stop", "--no-such", "--stop", "-", "--stop=--json", "--stop", "", "--stop", "-j"}).stop,
            (std::vector<std::string>{"--no-such", "-", "--json", "", "-j"}));
  EXPECT_EQ(Line({"run", "--stop", "--json"}).error, "cachalot: run: --stop needs a value: --stop TEXT\n");
  EXPECT_EQ(Line({"run", "-m"}).error, "cachalot: run: -m needs a value: -m DIR\n");
}

TEST(CommandLine, AnUnknownOptionIsNamedAndTheNearestSuggested) {
  const auto starts = [](const std::vector<std::string>& words, const std::string& beginning) {
    const Line line(words);
    EXPECT_EQ(line.exit_code, 2);
    EXPECT_EQ(line.done, "");
    EXPECT_TRUE(line.error.starts_with(beginning)) << line.error;
    EXPECT_NE(line.error.find(" --help` lists them"), std::string::npos) << line.error;
  };
  starts({"run", "--tokns", "5", "a text"}, "cachalot: run: unknown option --tokns, did you mean --tokens?");
  starts({"run", "a text", "--tokns=5"}, "cachalot: run: unknown option --tokns, did you mean --tokens?");
  starts({"run", "-tokens", "5"}, "cachalot: run: unknown option -tokens, did you mean --tokens?");
  starts({"run", "--level2"}, "cachalot: run: unknown option --level2, did you mean --level?");
  starts({"run", "-x"}, "cachalot: run: unknown option -x; ");
  starts({"run", "-jx"}, "cachalot: run: unknown option -x; ");
  starts({"--tokens", "5"}, "cachalot: unknown option --tokens (it is one of `cachalot run`); ");
  starts({"run", "--a\x1b[31m"}, "cachalot: run: unknown option \"--a\\x1b[31m\"; ");
  EXPECT_LT(Line({"run", "--" + std::string(100'000, 'a')}).error.size(), 300u);
}

TEST(CommandLine, AnUnknownCommandIsNamedAndTheNearestSuggested) {
  EXPECT_EQ(Line({"rnu", "a text"}).error,
            "cachalot: unknown command rnu, did you mean run? `cachalot --help` lists them\n");
  EXPECT_EQ(Line({"zzz"}).error, "cachalot: unknown command zzz; `cachalot --help` lists them\n");
  EXPECT_EQ(Line({"cache", "lss"}).error,
            "cachalot: cache: unknown command lss, did you mean ls? `cachalot cache --help` lists them\n");
  EXPECT_EQ(Line({"cache"}).error, "cachalot: cache: a command is expected: ls\n");
  EXPECT_EQ(Line({"cache"}).exit_code, 2);
  EXPECT_NE(Line({}).error.find("a command is expected"), std::string::npos);
}

TEST(CommandLine, WhatIsWrongIsNamed) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> lines = {
      {{"run", "--tokens", "x"}, "run: --tokens: \"x\" is no whole number from 0 to 1000"},
      {{"run", "-n", "1001"}, "run: -n: \"1001\" is no whole number from 0 to 1000"},
      {{"run", "--heat=2"}, "run: --heat: \"2\" is no number from 0 to 1"},
      {{"run", "--mode", "quick"}, "run: --mode: \"quick\" is none of fast, slow"},
      {{"run", "--model", ""}, "run: --model: an empty text is given"},
      {{"run", "--tokens", "1", "-n", "2"}, "run: -n is given twice"},
      {{"run", "--json=yes"}, "run: --json takes no value"},
      {{"run", "-v"}, "run: --verbose works with --json only"},
      {{"run", "--ids", "1", "text"}, "run: --ids and text do not go together"},
      {{"run", "one", "two"}, "run: an argument too many: two; a text of several words is put in quotes"},
      {{"make"}, "make: --out must be given"},
      {{"make", "x", "--out", "y"}, "make: an argument too many: x; options are all that it takes"},
      {{"run", "--help=1"}, "run: --help takes no value"}};
  for (const auto& [words, message] : lines) {
    const Line line(words);
    EXPECT_EQ(line.error, "cachalot: " + message + "\n");
    EXPECT_EQ(line.exit_code, 2);
    EXPECT_EQ(line.done, "");
  }
}

TEST(CommandLine, AFlagMayBeGivenTwice) { EXPECT_TRUE(Line({"run", "--json", "-j"}).json); }

TEST(CommandLine, ErrorsOfTheWorkAreReportedWithTheirExitCode) {
  const Line line({"make", "--out", "x"});
  EXPECT_EQ(line.exit_code, 1);
  EXPECT_EQ(line.error, "cachalot: the disk is full\n");
}

TEST(CommandLine, TheEnvironmentStandsInForAnOptionThatIsNotGiven) {
  setenv("CACHALOT_TEST_MODEL", "from the environment", 1);
  EXPECT_EQ(Line({"run"}).model, "from the environment");
  EXPECT_EQ(Line({"run", "-m", "given"}).model, "given");
  setenv("CACHALOT_TEST_MODEL", "", 1);
  EXPECT_EQ(Line({"run"}).model, "");
  EXPECT_EQ(Line({"run"}).exit_code, 7);
  unsetenv("CACHALOT_TEST_MODEL");
}

TEST(CommandLine, HelpIsShownForEveryWayOfAsking) {
  const std::string help = Line({"run", "--help"}).out;
  EXPECT_NE(help.find("Usage: cachalot run [TEXT] [OPTION]..."), std::string::npos) << help;
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"help", "run"}, {"run", "-h"}, {"run", "text", "--help", "--no-such"}, {"run", "-jh"}}) {
    const Line line(words);
    EXPECT_EQ(line.out, help);
    EXPECT_EQ(line.exit_code, 0);
    EXPECT_EQ(line.done, "");
  }
  EXPECT_EQ(Line({"help"}).out, Line({"--help"}).out);
  EXPECT_EQ(Line({"help", "cache", "ls"}).out, Line({"cache", "ls", "--help"}).out);
  EXPECT_EQ(Line({"help", "rnu"}).exit_code, 2);
  EXPECT_EQ(Line({"-V"}).done, "version");
  EXPECT_EQ(Line({"run", "--version"}).done, "version");
}

TEST(HelpText, FitsItsWidthAndHasEveryOption) {
  const Line line({"run"});
  const Command& run = *line.program.commands()[0];
  for (const int columns : {40, 60, 80, 120}) {
    const std::string help = help_text(run, columns);
    std::size_t begin = 0;
    while (begin < help.size()) {
      const std::size_t end = help.find('\n', begin);
      EXPECT_LE(end - begin, static_cast<std::size_t>(columns)) << help.substr(begin, end - begin);
      EXPECT_TRUE(end == begin || help[end - 1] != ' ');
      begin = end + 1;
    }
    for (const char* name :
         {"  -n, --tokens N", "      --heat X", "(default: 256)", "(default: 0.5)", "-m, --model DIR",
          "(default: $CACHALOT_TEST_MODEL)", "--mode fast|slow", "--level TEXT", "-h, --help"})
      EXPECT_NE(help.find(name), std::string::npos) << name << " in: " << help;
  }
}

TEST(HelpText, AnExampleThatIsBrokenCanStillBePasted) {
  Command program("cachalot", "x");
  program.examples({"cachalot run 'a quoted text that stays as it is' --tokens 5 --seed 7 --stop \"a b c\""});
  EXPECT_NE(help_text(program, 60)
                .find("  cachalot run 'a quoted text that stays as it is' \\\n      --tokens 5 --seed 7 "
                      "--stop \"a b c\"\n"),
            std::string::npos)
      << help_text(program, 60);
}

}  // namespace
}  // namespace cachalot::command_test
