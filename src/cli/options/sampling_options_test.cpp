// SPDX-License-Identifier: Apache-2.0
#include "cli/options/sampling_options.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cachalot::sampling_options_test {
namespace {

struct Parsed {
  SamplingFlags flags;
  std::string error;  // of the command line
};

Parsed parse(const std::vector<std::string>& arguments) {
  Parsed parsed;
  Command program("cachalot", "test");
  add_sampling_flags(program, parsed.flags);
  std::string text;
  program.argument("text", text, "a text");
  program.runs([]() -> Expected<int> { return 0; });
  testing::internal::CaptureStderr();
  program.run(arguments);
  parsed.error = testing::internal::GetCapturedStderr();
  return parsed;
}

// What the flags make of options, for a vocabulary of 100.
GenerateOptions options(const std::vector<std::string>& arguments) {
  const Parsed parsed = parse(arguments);
  EXPECT_EQ(parsed.error, "");
  GenerateOptions o;
  const Status set = set_sampling(parsed.flags, 100, o);
  EXPECT_TRUE(set.has_value()) << set.error().message;
  return o;
}

TEST(SamplingOptions, WithoutAFlagOnlyTheTemperatureIsOn) {
  const GenerateOptions o = options({});
  EXPECT_EQ(o.sampling.temperature, 0.8);
  EXPECT_EQ(o.sampling.top_k, 0);
  EXPECT_EQ(o.sampling.top_p, 1);
  EXPECT_EQ(o.sampling.min_p, 0);
  EXPECT_FALSE(o.sampling.penalizes());
  EXPECT_EQ(o.sampling.min_tokens, 0);
  EXPECT_TRUE(o.sampling.logit_bias.empty());
  EXPECT_TRUE(o.stop_strings.empty());
}

TEST(SamplingOptions, EachFlagReachesItsField) {
  const GenerateOptions o = options({"--temperature",
                                     "1.5",
                                     "--top-k",
                                     "40",
                                     "--top-p",
                                     "0.9",
                                     "--min-p",
                                     "0.05",
                                     "--seed",
                                     "7",
                                     "--min-tokens",
                                     "3",
                                     "--logit-bias",
                                     "5=-100",
                                     "--repetition-penalty",
                                     "1.25",
                                     "--presence-penalty",
                                     "-0.5",
                                     "--frequency-penalty",
                                     "0.75",
                                     "--logit-bias",
                                     "99=1e1",
                                     "--stop",
                                     "END"});
  EXPECT_EQ(o.sampling.temperature, 1.5);
  EXPECT_EQ(o.sampling.top_k, 40);
  EXPECT_EQ(o.sampling.top_p, 0.9);
  EXPECT_EQ(o.sampling.min_p, 0.05);
  EXPECT_EQ(o.sampling.seed, 7u);
  EXPECT_EQ(o.sampling.min_tokens, 3);
  EXPECT_EQ(o.sampling.repetition_penalty, 1.25);
  EXPECT_EQ(o.sampling.presence_penalty, -0.5);
  EXPECT_EQ(o.sampling.frequency_penalty, 0.75);
  ASSERT_EQ(o.sampling.logit_bias.size(), 2u);
  EXPECT_EQ(o.sampling.logit_bias[0].id, TokenId{5});
  EXPECT_EQ(o.sampling.logit_bias[0].bias, -100);
  EXPECT_EQ(o.sampling.logit_bias[1].id, TokenId{99});
  EXPECT_EQ(o.sampling.logit_bias[1].bias, 10);
  EXPECT_EQ(o.stop_strings, (std::vector<std::string>{"END"}));
}

TEST(SamplingOptions, StopTextsAreTakenAsTheyAreAndLeaveTheNextArgumentAlone) {
  const Parsed parsed =
      parse({"--stop", "[a,b]", "--stop", "{}", "--stop", "a,b", "the text", "--stop", "\n", "--stop=-x"});
  EXPECT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.flags.stop, (std::vector<std::string>{"[a,b]", "{}", "a,b", "\n", "-x"}));
}

TEST(SamplingOptions, BordersAreAllowedAndWhatLiesBeyondIsRefusedByNameAndRange) {
  struct Range {
    std::string option;
    std::vector<std::string> good, bad;
    std::string allowed;
  };
  const std::vector<Range> ranges = {
      {"--temperature", {"0", "100", "1e-5"}, {"-0.1", "100.5"}, "from 0 to 100"},
      {"--top-k", {"0", "1", "129280", "2147483648"}, {"-1", "1.5", "2147483649"}, "from 0 to 2147483648"},
      {"--top-p", {"1e-9", "1"}, {"0", "-1", "1.0001"}, "above 0, at most 1"},
      {"--min-p", {"0", "1"}, {"-0.1", "1.1"}, "from 0 to 1"},
      {"--repetition-penalty", {"0.01", "2"}, {"0", "-1", "2.1"}, "above 0, at most 2"},
      {"--presence-penalty", {"-2", "2", "0"}, {"-2.1", "2.1"}, "from -2 to 2"},
      {"--frequency-penalty", {"-2", "2", "0"}, {"-2.1", "2.1"}, "from -2 to 2"},
      {"--logit-bias",
       {"0=-100", "3=100", "99=0"},
       {"3=-100.5", "3=101", "3", "=1", "3=", "-1=1", "a=1", "3=1,4=1"},
       "from -100 to 100"},
      {"--min-tokens", {"0", "7"}, {"-1", "1.5"}, "from 0 to"},
      {"--seed", {"0", "18446744073709551615"}, {"-1", "18446744073709551616"}, "from 0 to"}};
  for (const Range& r : ranges) {
    for (const std::string& value : r.good) EXPECT_EQ(parse({r.option, value}).error, "") << r.option << " " << value;
    std::vector<std::string> bad = r.bad;
    const std::string before = r.option == "--logit-bias" ? "3=" : "";
    for (const char* no_number : {"nan", "-nan", "inf", "-inf", "1e999", "0x1", "1 ", "", "one"})
      bad.push_back(before + no_number);
    for (const std::string& value : bad) {
      const std::string error = parse({r.option + "=" + value}).error;
      EXPECT_TRUE(error.starts_with("cachalot: " + r.option)) << r.option << " " << value << ": " << error;
      EXPECT_NE(error.find(fmt::format("{:?}", value)), std::string::npos) << error;
      EXPECT_NE(error.find(r.allowed), std::string::npos) << error;
    }
  }
}

TEST(SamplingOptions, AStopTextThatIsEmptyOrNoTextIsRefused) {
  EXPECT_NE(parse({"--stop", ""}).error.find("--stop"), std::string::npos);
  EXPECT_NE(parse({"--stop", "a\xFF"}).error.find("UTF-8"), std::string::npos);
}

TEST(SamplingOptions, ABiasedTokenMustBeOneOfTheModels) {
  const Parsed parsed = parse({"--logit-bias", "100=1"});
  EXPECT_EQ(parsed.error, "");
  GenerateOptions o;
  const Status set = set_sampling(parsed.flags, 100, o);
  ASSERT_FALSE(set.has_value());
  EXPECT_EQ(set.error().code, Errc::usage);
  EXPECT_EQ(set.error().message, "--logit-bias: 100 is no token id; the model has ids 0 to 99");
}

}  // namespace
}  // namespace cachalot::sampling_options_test
