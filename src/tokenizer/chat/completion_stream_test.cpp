// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat/completion_stream.h"

#include <chrono>
#include <random>

#include "tokenizer/chat/stream_goldens.h"
#include "tokenizer/chat/tag_syntax.h"

namespace cachalot::completion_stream_test {
namespace {

TEST(CompletionStreamGolden, EveryCaseComesOutAsItWasCut) {
  for (const StreamCase& one : stream_goldens()) {
    EXPECT_EQ(result_json(read_in_pieces(one.mode, one.chunks, one.end)), one.expected) << one.id;
  }
}

TEST(CompletionStreamGolden, EveryCaseComesOutInOnePieceAndInSingleBytes) {
  for (const StreamCase& one : stream_goldens()) {
    EXPECT_EQ(result_json(read_in_pieces(one.mode, {one.text()}, one.end)), one.expected) << one.id;
    EXPECT_EQ(result_json(read_in_pieces(one.mode, single_bytes(one.text()), one.end)), one.expected) << one.id;
  }
}

TEST(CompletionStreamGolden, EveryCutInTwoAndManyCutsGiveTheWholeCompletionsResult) {
  std::mt19937 random(7);
  for (const StreamCase& one : completions_of_all_goldens()) {
    const std::string text = one.text();
    const StreamResult whole = read_in_pieces(one.mode, {text}, one.end);
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
      ASSERT_EQ(read_in_pieces(one.mode, {text.substr(0, cut), text.substr(cut)}, one.end), whole)
          << one.id << ' ' << cut;
    }
    for (int i = 0; i < 20; ++i)
      ASSERT_EQ(read_in_pieces(one.mode, random_pieces(text, random), one.end), whole) << one.id;
    ASSERT_EQ(read_in_pieces(one.mode, single_bytes(text), one.end), whole) << one.id;
  }
}

TEST(CompletionStreamGolden, EveryPrefixHasAResultThatKeepsCallsAndMarkupApart) {
  for (const StreamCase& one : completions_of_all_goldens()) {
    const std::string text = one.text();
    for (std::size_t size = 0; size <= text.size(); ++size) {
      for (const CompletionEnd end : {CompletionEnd::eos, CompletionEnd::length}) {
        const StreamResult result = read_in_pieces(one.mode, {text.substr(0, size)}, end);
        ASSERT_FALSE(shows_call_and_markup(result, text)) << one.id << ' ' << size;
        const bool markup = result.message.content.find(calls_opener) != std::string::npos;
        ASSERT_FALSE(markup && end == CompletionEnd::length) << one.id << ' ' << size;
      }
    }
  }
}

// What the strict reader accepts and the stream understands another way: values that are no JSON become strings, a
// completion that stops after `calls` or `invoke`, and a < apart from its tag, are markup that did not end.
TEST(CompletionStreamGolden, EqualsTheStrictReaderWhereNothingIsFlagged) {
  int equal = 0;
  for (const Json& one : chat_goldens("parse.jsonl")) {
    const ChatMode mode = mode_of(one);
    std::string text = string_at(one, "text");
    const auto strict = parse_strict(text, mode);
    if (!strict) continue;
    if (text.ends_with(eos_token)) text.resize(text.size() - eos_token.size());
    const StreamResult stream = read_in_pieces(mode, {text}, CompletionEnd::eos);
    if (stream.flags.empty()) {
      EXPECT_EQ(stream.message, *strict) << string_at(one, "id");
      ++equal;
    } else {
      EXPECT_TRUE(stream.flags == Names{"bad_json"} || stream.flags == Names{"unterminated_calls"})
          << string_at(one, "id");
    }
  }
  EXPECT_EQ(equal, 37 - 4);  // args-13 and quirk-01, -03, -07
}

StreamResult chat(std::string_view text, CompletionEnd end = CompletionEnd::eos) {
  return read_in_pieces(ChatMode::chat, {std::string(text)}, end);
}
std::string block(std::string_view inside) {
  return fmt::format("\n\n<｜DSML｜ calls>\n{}\n</｜DSML｜ calls>", inside);
}
std::string invoke(std::string_view inside) {
  return fmt::format("<｜DSML｜ invoke name=\"f\">\n{}\n</｜DSML｜ invoke>", inside);
}
const std::string parameter_a = "<｜DSML｜ parameter name=\"a\" string=\"true\">1</｜DSML｜ parameter>";

std::string only_arguments(const StreamResult& result) {
  return result.message.calls.size() == 1 ? result.message.calls[0].arguments : "not one call";
}

TEST(CompletionStream, BlockEndInsideAnInvokeCompletesTheCall) {
  const std::string begun = "\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n" + parameter_a;
  EXPECT_EQ(only_arguments(chat(begun + "\n</｜DSML｜ calls>")), "{\"a\": \"1\"}");
  EXPECT_EQ(chat(begun + "\n</｜DSML｜ calls>").flags, Names{"unclosed_invoke"});
  EXPECT_EQ(chat(begun + "\n\n</｜DSML｜ calls>").flags, (Names{"gap", "unclosed_invoke"}));
}

TEST(CompletionStream, TextBehindANameIsFlaggedAndTheCallStands) {
  const StreamResult result = chat(block("<｜DSML｜ invoke name=\"f\">\nhmm\n" + parameter_a + "\n</｜DSML｜ invoke>"));
  EXPECT_EQ(only_arguments(result), "{\"a\": \"1\"}");
  EXPECT_EQ(result.message.calls.at(0).name, "f");
  EXPECT_EQ(result.flags, Names{"bad_invoke"});
}

TEST(CompletionStream, AnInvokeWithoutANameIsLostAndTheNextIsRead) {
  const StreamResult result = chat(block("<｜DSML｜ invoke>\n" + parameter_a + "\n</｜DSML｜ invoke>\n" + invoke("")));
  ASSERT_EQ(result.message.calls.size(), 1u);
  EXPECT_EQ(result.message.calls[0].arguments, "{}");
  EXPECT_EQ(result.flags, Names{"bad_invoke"});
}

TEST(CompletionStream, OddWhiteSpaceBeforeAParametersNameIsFlaggedAndTheParameterStands) {
  for (const char* space : {"  ", "\n", "", "\t"}) {
    const StreamResult result = chat(
        block(invoke(fmt::format("<｜DSML｜ parameter{}name=\"a\" string=\"true\">1</｜DSML｜ parameter>", space))));
    EXPECT_EQ(only_arguments(result), "{\"a\": \"1\"}") << space;
    EXPECT_EQ(result.flags, Names{"bad_parameter"}) << space;
  }
}

TEST(CompletionStream, AParameterCutShortByAnotherCloserIsLostAlone) {
  for (const char* broken :
       {"<｜DSML｜ parameter name=\"b\">2", "<｜DSML｜ parameter", "<｜DSML｜ parameter foo=\"b\" string=\"true\">2"}) {
    const StreamResult closed =
        chat(block("<｜DSML｜ invoke name=\"f\">\n" + parameter_a + "\n" + broken + "</｜DSML｜ invoke>"));
    EXPECT_EQ(only_arguments(closed), "{\"a\": \"1\"}") << broken;
    EXPECT_EQ(closed.flags, Names{"bad_parameter"}) << broken;
    const StreamResult ended =
        chat("\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n" + std::string(broken) + "</｜DSML｜ calls>");
    EXPECT_EQ(only_arguments(ended), "{}") << broken;
    EXPECT_EQ(ended.flags, (Names{"bad_parameter", "unclosed_invoke"})) << broken;
  }
}

TEST(CompletionStream, TextBehindTheBlockIsDroppedUnlessItIsWhiteSpace) {
  const std::string good = fmt::format("a{}", block(invoke(parameter_a)));
  for (const char* space : {"", "\n", " \t\r\n", "\u00A0\u3000\u2028"})
    EXPECT_TRUE(chat(good + space).flags.empty()) << space;
  for (const char* tail : {"x", "\n\nmore", "\u200B", "\xE3\x80", "</think>", "\n\n<｜DSML｜ calls>\n"}) {
    const StreamResult result = chat(good + tail);
    EXPECT_EQ(result.flags, Names{"trailing_text"}) << tail;
    EXPECT_EQ(result.message.content, "a") << tail;
    EXPECT_EQ(result.message.calls.size(), 1u) << tail;
  }
}

TEST(CompletionStream, AnEmptyBlockLeavesNothingAndABrokenOneItsText) {
  const StreamResult empty = chat("a\n\n<｜DSML｜ calls>\n</｜DSML｜ calls>");
  EXPECT_EQ(empty.message, (AssistantMessage{.content = "a"}));
  EXPECT_TRUE(empty.flags.empty());
  const std::string broken = "a\n\n<｜DSML｜ calls> ? </｜DSML｜ calls> tail";
  EXPECT_EQ(chat(broken).message.content, broken);
  EXPECT_EQ(chat(broken).flags, (Names{"gap", "trailing_text"}));
  EXPECT_EQ(chat(broken, CompletionEnd::length).message.content, "a");
}

TEST(CompletionStream, ACutWithinTheMarkerOfCallsLeavesNothingOfIt) {
  for (const ChatMode mode : {ChatMode::chat, ChatMode::thinking}) {
    const auto text = [&](const std::string& written, CompletionEnd end) {
      const StreamResult result = read_in_pieces(mode, single_bytes(written), end);
      return mode == ChatMode::chat ? result.message.content : result.message.reasoning;
    };
    const std::string marker(calls_opener);
    const std::size_t token_end = marker.find(dsml_token) + dsml_token.size();
    for (const char* separator : {"", "\n", "\n\n", "\n\n\n"}) {
      const std::string before = std::string("Sure.") + (std::string_view(separator).size() > 2 ? "\n" : "");
      for (std::size_t size = 1; size < marker.size(); ++size) {
        const std::string written = std::string("Sure.") + separator + marker.substr(0, size);
        EXPECT_EQ(text(written, CompletionEnd::length), size < token_end ? written : before) << size;
        EXPECT_EQ(text(written, CompletionEnd::eos), written) << size;
      }
      const std::string other = std::string("Sure.") + separator + marker + "?";
      EXPECT_EQ(text(other, CompletionEnd::length), before);
    }
  }
}

// Where the text before a parameter is forgotten while its key is read, the key is still found.
TEST(CompletionStream, AKeyThatLooksLikeItsTagsEndIsReadOverAnyCut) {
  const std::string odd = "<｜DSML｜ parameter name=\"" + std::string(key_end_string.substr(1)) +
                          "\" string=\"true\">1</｜DSML｜ parameter>";
  const std::string text = block(invoke(parameter_a) + "\n" + invoke(odd));
  const StreamResult whole = chat(text);
  ASSERT_EQ(whole.message.calls.size(), 2u);
  EXPECT_EQ(whole.message.calls[1].arguments, "{\" string=\\\"true\\\">\": \"1\"}");
  for (std::size_t cut = 0; cut <= text.size(); ++cut)
    ASSERT_EQ(read_in_pieces(ChatMode::chat, {text.substr(0, cut), text.substr(cut)}, CompletionEnd::eos), whole)
        << cut;
  EXPECT_EQ(read_in_pieces(ChatMode::chat, single_bytes(text), CompletionEnd::eos), whole);
}

TEST(CompletionStream, NewlinesThatTurnOutToBeTextAreTold) {
  std::vector<std::string> pieces;
  CompletionStream stream(ChatMode::chat, {.content = [&](std::string_view text) { pieces.emplace_back(text); }});
  for (const char* piece : {"a\n\n\n", "<", "｜DSML｜ cal", "m\n", "b", "\n\n</th", "ink>\n", "c"}) stream.push(piece);
  EXPECT_EQ(stream.finish(CompletionEnd::eos), FinishReason::stop);
  EXPECT_EQ(pieces, (std::vector<std::string>{"a\n", "\n\n<｜DSML｜ calm", "\nb", "\n\n", "\nc"}));
  EXPECT_EQ(stream.message().content, "a\n\n\n<｜DSML｜ calm\nb\n\n\nc");
}

TEST(CompletionStream, NewlinesOnTheOtherSideOfAnEndOfThoughtAreNoSeparator) {
  const StreamResult result = chat("a\n</think>\n" + block(invoke("")).substr(2));
  EXPECT_EQ(result.message.content, "a\n");
  EXPECT_EQ(result.flags, (Names{"extra_think_end", "separator"}));
}

TEST(CompletionStream, CallsAreNumberedAndToldOnceTheyAreComplete) {
  std::vector<std::string> told;
  CompletionStream stream(
      ChatMode::chat,
      {.call = [&](const ToolCall& c, std::size_t i) { told.push_back(fmt::format("{} {} {}", i, c.id, c.name)); }},
      "call_");
  const std::string text = block(invoke("") + "\n" + invoke(parameter_a));
  const std::size_t first = text.find("</｜DSML｜ invoke") + invoke_closer.size();
  stream.push(text.substr(0, first - 1));
  EXPECT_TRUE(told.empty());
  stream.push(text.substr(first - 1, 1));
  EXPECT_EQ(told, (std::vector<std::string>{"0 call_0 f"}));
  stream.push(text.substr(first));
  EXPECT_EQ(stream.finish(CompletionEnd::eos), FinishReason::tool_calls);
  EXPECT_EQ(told, (std::vector<std::string>{"0 call_0 f", "1 call_1 f"}));
}

TEST(CompletionStream, JsonValuesOfAnyDepthAndSizeAreJson) {
  const auto arguments = [](const std::string& value) {
    return only_arguments(
        chat(block(invoke("<｜DSML｜ parameter name=\"a\" string=\"false\">" + value + "</｜DSML｜ parameter>"))));
  };
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(arguments(deep), "{\"a\": " + deep + "}");
  EXPECT_EQ(arguments("123456789012345678901234567890e9999"), "{\"a\": 123456789012345678901234567890e9999}");
  EXPECT_EQ(arguments("NaN"), "{\"a\": \"NaN\"}");
}

// The price of a completion must not grow with the square of anything: the last of these takes minutes if it does, the
// others seconds.
TEST(CompletionStream, LongCompletionsInOnePieceOrInBytesTakeALinearTime) {
  std::string parameters;
  for (int i = 0; i < 5'000; ++i)
    parameters +=
        fmt::format("{}<｜DSML｜ parameter name=\"k{}\" string=\"true\"><</｜DSML｜ parameter>", i ? "\n" : "", i);
  std::string calls = invoke("");
  for (int i = 0; i < 5'000; ++i) calls += fmt::format("\n{}", invoke(""));
  std::string ends;
  for (int i = 0; i < 10'000; ++i) ends += "</think>\n<";
  std::string hopeless = "<｜DSML｜ parameter" + std::string(50'000, ' ');
  for (int i = 0; i < 5'000; ++i) hopeless += key_end_string;
  const auto start = std::chrono::steady_clock::now();
  for (const std::string& text :
       {std::string(100'000, '<'), std::string(100'000, '\n'), ends, block(invoke(parameters)), block(calls),
        block(invoke(hopeless)), "\n\n<｜DSML｜ calls" + std::string(1'000'000, '<')}) {
    const StreamResult whole = chat(text);
    EXPECT_EQ(read_in_pieces(ChatMode::chat, single_bytes(text), CompletionEnd::eos), whole);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(CompletionStreamDeathTest, TextAfterTheEndIsOurFault) {
  CompletionStream stream(ChatMode::chat);
  stream.finish(CompletionEnd::eos);
  EXPECT_DEATH(stream.push("a"), "does not go on");
  EXPECT_DEATH(stream.finish(CompletionEnd::eos), "ends once");
}

}  // namespace
}  // namespace cachalot::completion_stream_test
