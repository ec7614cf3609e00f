// SPDX-License-Identifier: Apache-2.0
#include "cli/chat/chat_session.h"

#include <gtest/gtest.h>

#include "checkpoint/test_checkpoint.h"
#include "engine/test_conversation.h"
#include "tokenizer/chat/json_text.h"

namespace cachalot::chat_session_test {
namespace {

constexpr std::string_view two_calls =
    "\n\n<｜DSML｜ calls>\n"
    "<｜DSML｜ invoke name=\"get_weather\">\n<｜DSML｜ parameter name=\"city\" string=\"true\">Paris</｜DSML｜ "
    "parameter>\n</｜DSML｜ invoke>\n"
    "<｜DSML｜ invoke name=\"now\">\n\n</｜DSML｜ invoke>\n</｜DSML｜ calls>";

// A session with a model that says what it is told to.
struct Talk {
  ScriptedModel model;
  Conversation conversation;
  GenerateOptions generate;
  std::string out, notes;
  ChatView view;
  ChatSession session;

  explicit Talk(std::vector<Json> beginning = {}, std::int64_t max_tokens = 12)
      : conversation(begun(std::ref(model), std::move(beginning))),
        generate(short_answers(max_tokens)),
        view(
            {.show_thinking = false}, [this](std::string_view t) { out += t; },
            [this](std::string_view t) { notes += t; }),
        session(conversation, generate, view, {}) {}

  static Conversation begun(Generator generator, std::vector<Json> beginning) {
    Conversation c = begin(std::move(generator));
    EXPECT_TRUE(c.replace(std::move(beginning), {.chat = {.mode = ChatMode::chat}}));
    return c;
  }
  std::string take(std::string_view input) {  // what it tells
    out.clear();
    notes.clear();
    EXPECT_EQ(session.take(input), ChatSession::Next::go_on);
    return out + notes;
  }
  std::string say(std::string_view input, std::string_view answer) {
    model.lines = {std::string(answer)};
    return take(input);
  }
  std::string messages() const {
    std::string all;
    for (const Json& m : conversation.messages()) all += json_text(m) + '\n';
    return all;
  }
};

const Json system_message = Json::object({{"role", "system"}, {"content", "Be brief."}});

TEST(ChatSession, ATurnIsAnswered) {
  Talk talk;
  EXPECT_EQ(talk.session.prompt(), "> ");
  EXPECT_EQ(talk.say("Hello.", "Aye."), "Aye.\n");
  EXPECT_EQ(talk.say("//slash", "No."), "No.\n");
  EXPECT_NE(talk.messages().find(R"("content": "/slash")"), std::string::npos) << talk.messages();
  EXPECT_EQ(talk.say("/reset\n", "No."), "No.\n");  // several lines are no command
  EXPECT_NE(talk.messages().find(R"("content": "/reset\n")"), std::string::npos) << talk.messages();
  EXPECT_EQ(talk.say("//a\nb", "No."), "No.\n");
  EXPECT_NE(talk.messages().find(R"("content": "//a\nb")"), std::string::npos) << talk.messages();
  EXPECT_EQ(talk.take(""), "");
  EXPECT_EQ(talk.take(" \t"), "");
  EXPECT_EQ(talk.conversation.messages().size(), 8u);
  EXPECT_FALSE(talk.session.failed());
  EXPECT_EQ(talk.session.take("/quit"), ChatSession::Next::quit);
}

TEST(ChatSession, ResultsAreAskedForCallByCall) {
  Talk talk;
  EXPECT_EQ(talk.say("How is the weather?", two_calls),
            "get_weather(city=\"Paris\")\nnow()\n[type the result of each call]\n");
  EXPECT_EQ(talk.session.prompt(), "result of get_weather(city=\"Paris\")> ");
  EXPECT_EQ(talk.take("rain"), "");
  EXPECT_EQ(talk.session.prompt(), "result of now()> ");
  EXPECT_EQ(talk.say("", "It rains."), "It rains.\n");
  EXPECT_EQ(talk.session.prompt(), "> ");
  EXPECT_NE(talk.messages().find(R"({"role": "tool", "tool_call_id": "call_1_0", "content": "rain"})"),
            std::string::npos)
      << talk.messages();
  EXPECT_NE(talk.messages().find(R"({"role": "tool", "tool_call_id": "call_1_1", "content": ""})"), std::string::npos)
      << talk.messages();
}

TEST(ChatSession, AnAnswerThatWasCutSaysSo) {
  Talk talk({}, 3);
  EXPECT_NE(talk.take("Hello.").find("[length: cut after 3 tokens, see --max-tokens"), std::string::npos);
  talk.model.end = EndReason::interrupted;
  EXPECT_NE(talk.say("Hello.", "Aye.").find("[interrupted: what there is"), std::string::npos);
  talk.model.end = EndReason::context;
  EXPECT_NE(talk.say("Hello.", "Aye.").find("all 8192 positions of the model are used; /reset"), std::string::npos);
  EXPECT_FALSE(talk.session.failed());
}

TEST(ChatSession, ResetForgetsTheTurnsAndKeepsTheSystemText) {
  Talk talk({system_message});
  (void)talk.say("Hello.", "Aye.");
  (void)talk.take("/reset");
  EXPECT_EQ(talk.messages(), json_text(system_message) + '\n');
  (void)talk.say("Hello.", two_calls);
  (void)talk.take("/reset");
  EXPECT_EQ(talk.session.prompt(), "> ");
}

TEST(ChatSession, SaveAndLoadGoOnWhereItWas) {
  const TestFolder folder;
  const std::string file = (folder.path() / "a chat.json").string();
  Talk talk({system_message});
  (void)talk.say("Weather?", two_calls);
  (void)talk.take("/think 7");
  EXPECT_NE(talk.take("/save " + file).find("[3 messages saved"), std::string::npos);
  const std::string saved = talk.messages();
  Talk other;
  EXPECT_NE(other.take("/load  " + file + " ").find("thinking is on, effort 7"), std::string::npos);
  EXPECT_EQ(other.messages(), saved);
  EXPECT_EQ(other.session.prompt(), "result of get_weather(city=\"Paris\")> ");
  EXPECT_EQ(other.conversation.options().chat.effort, 7);
  (void)other.take("/reset");
  EXPECT_EQ(other.messages(), json_text(system_message) + '\n');
}

TEST(ChatSession, ADamagedFileLeavesTheConversation) {
  const TestFolder folder;
  Talk talk;
  (void)talk.say("Hello.", "Aye.");
  const std::string before = talk.messages();
  const std::string head = R"({"format": "cachalot-chat", "version": 1, "options": {"mode": "thinking"}, "messages": )";
  for (const char* messages : {R"([{"role": "nobody"}]})", R"([3]})", R"([{"role": "user", "content": 5}]})", "[}",
                               R"([{"role": "user", "content": "<｜deepseek_image｜>"}]})"}) {
    const std::string told = talk.take("/load " + folder.write("bad.json", head + messages).string());
    EXPECT_NE(told.find("bad.json"), std::string::npos) << told;
    EXPECT_EQ(std::ranges::count(told, '\n'), 1) << told;
    EXPECT_EQ(talk.messages(), before);
    EXPECT_EQ(talk.conversation.options().chat.mode, ChatMode::chat);
  }
  EXPECT_TRUE(talk.session.failed());
}

TEST(ChatSession, CommandsThatDoNotFitAreErrors) {
  Talk talk;
  for (const char* input : {"/", "/nothing", "/Help", "/reset now", "/save", "/load", "/load /absent", "/think loud",
                            "/think 0", "/think 101", "/think medium", "/save /absent/x", "/quit now"}) {
    const std::string told = talk.take(input);
    EXPECT_TRUE(told.starts_with("cachalot: ")) << input << ": " << told;
  }
  EXPECT_TRUE(talk.session.failed());
  EXPECT_TRUE(talk.take("\xff").starts_with("cachalot: "));
  EXPECT_TRUE(talk.conversation.messages().empty());
}

TEST(ChatSession, ThinkSetsModeAndEffort) {
  Talk talk;
  EXPECT_EQ(talk.take("/think"), "[thinking is off]\n");
  for (const auto& [text, told] : {std::pair{"on", "on, effort 75"},
                                   {"low", "on, effort 50"},
                                   {"off", "off"},
                                   {"max", "on, effort 100"},
                                   {"3", "on, effort 3"},
                                   {"on", "on, effort 3"}})
    EXPECT_EQ(talk.take(fmt::format("/think {}", text)), fmt::format("[thinking is {}]\n", told));
}

TEST(ChatSession, SystemSetsTheTextAndKeepsTheTools) {
  Talk talk;
  EXPECT_EQ(talk.take("/system"), "no system text\n");
  (void)talk.say("Hello.", "Aye.");
  (void)talk.take("/system Be brief.");
  EXPECT_EQ(talk.take("/system"), "Be brief.\n");
  EXPECT_TRUE(talk.messages().starts_with(json_text(system_message) + "\n{\"role\": \"user\"")) << talk.messages();
  Json with_tools = system_message;
  with_tools.set("tools", Json::array({Json::object({{"function", Json::object({{"name", "f"}})}})}));
  Talk other({with_tools});
  (void)other.take("/system Be long.");
  EXPECT_NE(other.messages().find("tools"), std::string::npos);
  EXPECT_NE(other.messages().find("Be long."), std::string::npos);
  EXPECT_TRUE(other.take("/system <｜deepseek_image｜>").starts_with("cachalot: "));
  EXPECT_NE(other.messages().find("Be long."), std::string::npos);
}

TEST(ChatSession, StatsTellWhatWasCached) {
  Talk talk;
  EXPECT_EQ(talk.take("/stats"),
            "Conversation\n  messages   0\n  context    0 of 8192 tokens used\n  thinking   off\n"
            "  states     0 B in 0 snapshots to go on from\n");
  (void)talk.say("Hello.", "Aye, and a long way to go.");
  EXPECT_NE(talk.take("/stats").find("tokens: 0 cached"), std::string::npos) << talk.out;
  (void)talk.say("And?", "Nay.");
  const std::string told = talk.take("/stats");
  EXPECT_TRUE(told.starts_with("Last answer\n  prompt ")) << told;
  EXPECT_EQ(told.substr(0, told.find("answer ")).find(" 0 cached"), std::string::npos) << told;
  EXPECT_NE(told.find("All 2 answers\n"), std::string::npos) << told;
  EXPECT_NE(talk.take("/help").find("/stats"), std::string::npos);
}

TEST(ChatSession, HelpAndStatsFitSixtyColumns) {
  Talk talk;
  (void)talk.say("Hello.", "Aye, and a long way to go.");
  (void)talk.say("And?", "Nay.");
  for (const char* command : {"/help", "/stats"}) {
    const std::string told = talk.take(command);
    for (std::string_view rest = told; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1))
      EXPECT_LE(rest.find('\n'), 60u) << rest.substr(0, rest.find('\n'));
  }
}

TEST(ChatSession, TabCompletesCommandsAndWhatTheyTake) {
  EXPECT_EQ(ChatSession::complete("/he").insert, "lp");
  EXPECT_EQ(ChatSession::complete("/lo").insert, "ad ");
  EXPECT_EQ(ChatSession::complete("/s").choices, (std::vector<std::string>{"save", "stats", "system"}));
  EXPECT_EQ(ChatSession::complete("/think m").insert, "ax");
  EXPECT_TRUE(ChatSession::complete("/think 1").insert.empty());
  EXPECT_TRUE(ChatSession::complete("/reset ").choices.empty());
}

TEST(ChatSession, AnAnswerThatNobodyCanReadDoesNotSayItWasInterrupted) {
  Talk talk;
  ChatSession session(talk.conversation, talk.generate, talk.view, {.output_lost = [] { return true; }});
  talk.model.end = EndReason::interrupted;
  talk.model.lines = {"Aye."};
  (void)session.take("Hello.");
  EXPECT_EQ(talk.notes, "");
}

TEST(ChatSession, ABlockThatWasNotClosedIsAnErrorAndATurn) {
  Talk talk;
  talk.model.lines = {"Aye."};
  talk.session.take_unclosed("a\nb\n");
  EXPECT_NE(talk.notes.find("is not closed"), std::string::npos) << talk.notes;
  EXPECT_EQ(talk.out, "Aye.\n");
  EXPECT_TRUE(talk.session.failed());
}

TEST(ChatSession, APromptPastTheContextSaysWhatToDoAndTheConversationGoesOn) {
  Talk talk;
  (void)talk.say("Hello.", "Aye.");
  std::string endless;
  for (int i = 0; i < 9000; ++i) endless += " whale";
  EXPECT_NE(talk.take(endless).find("/reset"), std::string::npos) << talk.notes;
  EXPECT_EQ(talk.conversation.messages().size(), 2u);
  EXPECT_EQ(talk.say("And?", "Nay."), "Nay.\n");
}

TEST(SetThinking, EffortsAreThoseOfTheFormat) {
  ChatOptions options;
  EXPECT_TRUE(set_thinking("100", options));
  for (const char* text : {"", "0", "101", "-1", "7.5", "7 ", "xhigh", "ON"}) {
    EXPECT_EQ(set_thinking(text, options).error().code, Errc::usage) << text;
    EXPECT_EQ(options.effort, 100);
  }
}

}  // namespace
}  // namespace cachalot::chat_session_test
