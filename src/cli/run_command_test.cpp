// SPDX-License-Identifier: Apache-2.0
#include "cli/run_command.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "base/json.h"
#include "base/test_folder.h"
#include "cli/output/terminal.h"
#include "cli/test_command.h"
#include "engine/generate.h"

namespace cachalot::run_command_test {
namespace {

Ran run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"run", "--model", CACHALOT_BUILD_DIR "/golden/mini-a"});
  return run_line(std::move(arguments), {add_run_command});
}

Json json_of(const Ran& ran) {
  EXPECT_EQ(ran.exit_code, 0) << ran.error;
  auto json = parse_json(ran.out, "out");
  EXPECT_TRUE(json.has_value()) << ran.out;
  return json ? std::move(*json) : Json();
}

std::string dump(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value != nullptr ? value->dump() : "";
}

const std::vector<std::string> request = {"--ids", "3,40,77", "--temperature", "1.5"};

Ran run_with(std::vector<std::string> more, std::int64_t max_tokens = 6) {
  more.insert(more.begin(), request.begin(), request.end());
  more.insert(more.end(), {"--max-tokens", std::to_string(max_tokens)});
  return run(std::move(more));
}

TEST(RunCommand, EachOfSeveralChoicesIsInTheListAndTheFirstIsThatOfASingleRun) {
  const Json one = json_of(run_with({"--json", "--logprobs", "2"}));
  const Json many = json_of(run_with({"--json", "--logprobs", "2", "--choices", "3"}));
  EXPECT_EQ(one.find("choices"), nullptr);
  EXPECT_EQ(many.find("ids"), nullptr);
  EXPECT_EQ(dump(many, "prompt_ids"), "[3,40,77]");
  ASSERT_EQ(many.find("choices")->items().size(), 3u);
  const Json& first = many.find("choices")->items()[0];
  for (const char* key : {"ids", "text", "end", "logprobs"}) EXPECT_EQ(dump(first, key), dump(one, key)) << key;
  EXPECT_NE(dump(many.find("choices")->items()[1], "ids"), dump(first, "ids"));
  EXPECT_EQ(json_of(run_with({"--json", "--choices", "1"})).find("choices")->items().size(), 1u);
}

TEST(RunCommand, ChoicesArePrintedOneAfterTheOtherUnderAHeader) {
  const Json many = json_of(run_with({"--json", "--choices", "2"}));
  const auto text = [&](std::size_t c) { return *many.find("choices")->items()[c].find("text")->as_string(); };
  const Ran ran = run_with({"--choices", "2", "--stats"});
  EXPECT_EQ(ran.out, "--- choice 0, ended by length ---\n" + text(0) + "\n\n--- choice 1, ended by length ---\n" +
                         text(1) + "\n");
  EXPECT_NE(ran.error.find("ended by length, length"), std::string::npos) << ran.error;
}

TEST(RunCommand, AStopStringEndsTheTextAndIsNamed) {
  const std::string text = *json_of(run_with({"--json"}, 30)).find("text")->as_string();
  const auto letter = std::ranges::find_if(text, [](char c) { return c > ' ' && c <= '~'; });
  ASSERT_NE(letter, text.end());
  const std::string stop(1, *letter);
  const Json json = json_of(run_with({"--json", "--stop", stop, "--stop", "not in it"}, 30));
  EXPECT_EQ(*json.find("end")->as_string(), "stop_string");
  EXPECT_EQ(*json.find("stop_string")->as_string(), stop);
  EXPECT_EQ(*json.find("text")->as_string(), text.substr(0, static_cast<std::size_t>(letter - text.begin())));
  EXPECT_EQ(run_with({"--stop", stop}, 30).out, *json.find("text")->as_string() + "\n");
}

TEST(RunCommand, FlagsOfTheSamplerChangeWhatIsDrawn) {
  const std::string plain = dump(json_of(run_with({"--json"})), "ids");
  const std::string only = dump(json_of(run_with({"--json", "--logit-bias", "5=100"})), "ids");
  EXPECT_EQ(only, "[5,5,5,5,5,5]");
  EXPECT_EQ(dump(json_of(run_with({"--json", "--top-k", "1"})), "ids"),
            dump(json_of(run_with({"--json", "--min-p", "1"})), "ids"));
  EXPECT_NE(dump(json_of(run_with({"--json", "--top-k", "1"})), "ids"), plain);
  const Json end = json_of(run_with({"--json", "--logit-bias", "1=99", "--min-tokens", "2"}));
  EXPECT_EQ(end.find("ids")->items().size(), 3u);
  EXPECT_EQ(*end.find("end")->as_string(), "stop");
}

TEST(RunCommand, WrongValuesAreUsageErrorsThatNameTheOption) {
  for (const auto& [option, value] : std::vector<std::pair<std::string, std::string>>{{"--top-p", "0"},
                                                                                      {"--temperature", "nan"},
                                                                                      {"--choices", "0"},
                                                                                      {"--choices", "129"},
                                                                                      {"--logit-bias", "497=1"},
                                                                                      {"--stop", ""}}) {
    const Ran ran = run_with({option, value});
    EXPECT_EQ(ran.exit_code, 2) << option;
    EXPECT_NE(ran.error.find(option), std::string::npos) << ran.error;
  }
}

TEST(RunCommand, AnEmptyPromptIsAnError) {
  const Ran ran = run({""});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.error.find("the prompt is empty: give a text"), std::string::npos) << ran.error;
  EXPECT_EQ(run({"--ids", ""}).exit_code, 2);
}

TEST(RunCommand, ADashReadsStandardInputAndNothingThereIsAnEmptyPrompt) {
  const auto read = [](const std::string& input) {
    const GivenInput given(input);
    return run({"-", "--max-tokens", "2", "--json", "--temperature", "0"});
  };
  EXPECT_EQ(dump(json_of(read("Hello")), "prompt_ids"),
            dump(json_of(run({"Hello", "--max-tokens", "2", "--json"})), "prompt_ids"));
  const Ran empty = read("");
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_NE(empty.error.find("nothing came from standard input"), std::string::npos) << empty.error;
}

TEST(RunCommand, OfATextOfManyLinesOnlyTheLastIsShownAgain) {
  const auto shown = [](const std::string& text) { return run({text, "--max-tokens", "0"}).out; };
  EXPECT_EQ(shown("one line"), "one line\n");
  EXPECT_EQ(shown("one\ntwo\nthree"), "… three\n");
  EXPECT_EQ(shown("one\ntwo\n"), "… two\n\n");
  EXPECT_EQ(shown(std::string(450, 'a').replace(49, 2, "é")), "… " + std::string(399, 'a') + "\n");
}

TEST(RunCommand, APromptBeyondTheContextSaysWhatCanBeDone) {
  std::string ids = "3";
  for (int i = 1; i < 520; ++i) ids += ",3";
  const Ran ran = run({"--ids", ids});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.error.find("the prompt has 520 tokens, the model's context 512 positions: shorten the text by about 9 "
                           "tokens"),
            std::string::npos)
      << ran.error;
}

// Spec 10 defines its keys for one whole prompt and single steps behind it. A chunk that completes no group of some
// source would read the keys of another.
TEST(RunCommand, WithPublishedKeysThePromptIsRunAsAWholeAndTakesNoChunk) {
  const auto loaded = load_model(CACHALOT_BUILD_DIR "/golden/mini-a",
                                 {.backend = &cpu_backend(), .index_keys = IndexKeys::published_slot});
  ASSERT_TRUE(loaded);
  std::vector<TokenId> prompt;
  for (std::int32_t i = 0; i < 257; ++i) prompt.push_back(TokenId{3 + i * 37 % 400});
  const auto logprobs_by = [&](std::int64_t chunk) {
    Context context;
    Sequence sequence = loaded->model.new_sequence();
    const auto made = generate(*loaded, context, sequence, prompt,
                               {.max_tokens = 4, .sampling = {.temperature = 0}, .logprobs = 1, .chunk = chunk});
    EXPECT_TRUE(made);
    std::vector<double> all;
    for (const GeneratedToken& t : made->choices[0].tokens) all.push_back(t.logprob);
    return all;
  };
  const std::vector<double> whole = logprobs_by(257);
  ASSERT_NE(whole, logprobs_by(GenerateOptions{}.chunk)) << "the prompt tells the two apart";
  std::string ids;
  for (const TokenId id : prompt) ids += fmt::format("{}{}", ids.empty() ? "" : ",", raw(id));
  std::vector<std::string> line = {
      "--ids",         ids, "--index-keys", "published-slot", "--max-tokens", "4", "--json", "--logprobs", "1",
      "--temperature", "0", "--ignore-eos"};
  const Json json = json_of(run(line));
  std::vector<double> told;
  for (const Json& one : json.find("logprobs")->items()) told.push_back(*one.find("logprob")->as_double());
  EXPECT_EQ(told, whole);
  line.insert(line.end(), {"--chunk", "256"});  // the usual one as well: it was asked for, and would not be had
  const Ran cut = run(line);
  EXPECT_EQ(cut.exit_code, 2);
  EXPECT_NE(cut.error.find("--chunk 256 does not go with --index-keys published-slot"), std::string::npos) << cut.error;
}

TEST(RunCommand, OptionsThatWouldHaveNoEffectAreRefused) {
  for (const std::vector<std::string>& idle : {std::vector<std::string>{"--no-bos"}, {"--plain"}}) {
    const Ran ran = run_with(idle);
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_NE(ran.error.find(idle[0] + " and --ids do not go together"), std::string::npos) << ran.error;
  }
  const Ran beyond = run_with({"--json", "--logprobs", "498"});
  EXPECT_EQ(beyond.exit_code, 2);
  EXPECT_NE(beyond.error.find("--logprobs 498: the model has 497 tokens"), std::string::npos) << beyond.error;
  EXPECT_EQ(run_with({"--json", "--logprobs", "497"}).exit_code, 0);
  EXPECT_EQ(run_with({"--cache-budget", "1GiB"}).exit_code, 2);
}

TEST(RunCommand, AnInterruptGives130AndSaysWhatWasDone) {
  catch_interrupts();
  std::raise(SIGINT);
  const Ran ran = run_with({});
  await_interrupt();  // the flag is as new
  EXPECT_EQ(ran.exit_code, 130);
  EXPECT_NE(ran.error.find("cachalot: interrupted after 0 of the prompt's 3 tokens"), std::string::npos) << ran.error;
}

TEST(RunCommand, WithoutATokenizerTheErrorSaysHowToNameOneAndThatWorks) {
  const TestFolder bare;
  const std::string model = bare.path().string(), mini = CACHALOT_BUILD_DIR "/golden/mini-a";
  for (const auto& file : std::filesystem::directory_iterator(mini)) {
    if (file.is_regular_file() && file.path().filename() != "tokenizer.json")
      std::filesystem::copy_file(file.path(), bare.path() / file.path().filename());
  }
  const auto run_bare = [&](const std::vector<std::string>& more) {
    std::vector<std::string> line = {"run", "--model", model, "Hello", "--max-tokens", "3", "--json"};
    line.insert(line.end(), more.begin(), more.end());
    return run_line(line, {add_run_command});
  };
  const Ran without = run_bare({});
  EXPECT_EQ(without.exit_code, 1);
  EXPECT_NE(without.error.find("there is no tokenizer.json"), std::string::npos) << without.error;
  EXPECT_NE(without.error.find("--tokenizer FILE"), std::string::npos) << without.error;
  EXPECT_EQ(dump(json_of(run_bare({"--tokenizer", mini + "/tokenizer.json"})), "ids"),
            dump(json_of(run({"Hello", "--max-tokens", "3", "--json"})), "ids"));
  const Ran other = run_bare({"--tokenizer", CACHALOT_TEST_DATA "/../../models/prototype/tokenizer.json"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_NE(other.error.find("tokenizer.json: more than 497 tokens, config.json says vocab_size 497"),
            std::string::npos)
      << other.error;
  EXPECT_EQ(run_bare({"--tokenizer", mini, "--cache", "states"}).exit_code, 2);
}

}  // namespace
}  // namespace cachalot::run_command_test
