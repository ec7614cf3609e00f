// SPDX-License-Identifier: Apache-2.0
#include "cli/chat/chat_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/utf8.h"
#include "cli/chat/chat_file.h"

namespace cachalot {
namespace {

constexpr std::string_view white_space = " \t\r\n";

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(white_space);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(white_space) - first + 1));
}

}  // namespace

Status set_thinking(std::string_view text, ChatOptions& options) {
  if (text == "on" || text == "off") {
    options.mode = text == "on" ? ChatMode::thinking : ChatMode::chat;
    return {};
  }
  int number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  const bool is_number = read.ec == std::errc() && read.ptr == end;
  const Json given = is_number ? Json(number) : Json(text);
  const auto effort = read_effort(&given);
  if (!effort) return fail(Errc::usage, "{:?}: expected on, off, low, high, max, or an effort of 1 to 100", text);
  options.mode = ChatMode::thinking;
  options.effort = *effort;
  return {};
}

ChatSession::ChatSession(Conversation& conversation, const GenerateOptions& generate, ChatView& view, Hooks hooks)
    : conversation_(conversation),
      generate_(generate),
      view_(view),
      hooks_(std::move(hooks)),
      beginning_(conversation.messages().begin(), conversation.messages().end()) {}

std::span<const ChatSession::Command> ChatSession::commands() {
  static constexpr std::array<Command, 8> all = {{
      {"help", "", "", "this list", &ChatSession::help},
      {"reset", "", "", "forget all turns; system text, tools and options stay", &ChatSession::reset},
      {"save", "FILE", "", "write the conversation", &ChatSession::save},
      {"load", "FILE", "", "go on with a saved one", &ChatSession::load},
      {"stats", "", "", "tokens, times and memory", &ChatSession::stats},
      {"think", "HOW", "on|off|low|high|max",
       "whether answers begin with reasoning, and how much: on, off, low, high, max, or 1 to 100", &ChatSession::think},
      {"system", "TEXT", "", "set the system text; alone: show it", &ChatSession::system},
      {"quit", "", "", "end, as Ctrl-D does", nullptr},
  }};
  return all;
}

std::string ChatSession::prompt() const {
  const auto open = open_calls(conversation_.messages());
  return open.empty() ? "> " : view_.shown(fmt::format("result of {}> ", call_text(open.front())));
}

void ChatSession::tell_open_calls() {
  const auto open = open_calls(conversation_.messages());
  if (open.empty()) return;
  view_.note(fmt::format("[type the result of {}]\n", open.size() == 1 ? "the call" : "each call"));
}

void ChatSession::tell(const Error& error) {
  failed_ = true;
  view_.note(fmt::format("cachalot: {}\n", error.message));
}

ChatSession::Next ChatSession::take(std::string_view input) {
  if (const Status text = expect_utf8(input, "what was typed"); !text) {
    tell(text.error());
    return Next::go_on;
  }
  const bool several_lines = input.find('\n') != std::string_view::npos;  // never a command
  if (input.starts_with("//") && !several_lines) {
    input.remove_prefix(1);  // a text that begins with a slash
  } else if (input.starts_with('/') && !several_lines) {
    if (trimmed(input) == "/quit") return Next::quit;
    run_command(input.substr(1));
    return Next::go_on;
  }
  if (!open_calls(conversation_.messages()).empty()) {
    give_result(std::string(input));
  } else if (!trimmed(input).empty()) {
    answer(Json::object({{"role", "user"}, {"content", input}}));
  }
  return Next::go_on;
}

void ChatSession::take_unclosed(std::string_view input) {
  tell({Errc::format, "the text that \"\"\" began is not closed: all up to the end of input is taken for it"});
  (void)take(input);
}

void ChatSession::run_command(std::string_view input) {
  const std::size_t end = std::min(input.find_first_of(white_space), input.size());
  const std::string_view name = input.substr(0, end);
  const std::string argument = trimmed(input.substr(end));
  const auto found = std::ranges::find(commands(), name, &Command::name);
  if (found == commands().end() || found->run == nullptr) {
    tell({Errc::usage,
          fmt::format("there is no command /{}; /help lists them, and // begins a text with a slash", name)});
  } else if (found->argument.empty() && !argument.empty()) {
    tell({Errc::usage, fmt::format("/{} takes nothing behind it, found {:?}", name, argument)});
  } else {
    (this->*found->run)(argument);
  }
}

void ChatSession::help(const std::string&) {
  std::vector<CommandHelp> lines;
  for (const Command& c : commands())
    lines.push_back({fmt::format("/{}{}{}", c.name, c.argument.empty() ? "" : " ", c.argument), c.help});
  view_.say(chat_help(lines));
}

LineCompletion ChatSession::complete(std::string_view before) {
  std::vector<CommandWords> words;
  for (const Command& c : commands()) words.push_back({c.name, c.words.empty() ? c.argument : c.words});
  return complete_command(before, words);
}

void ChatSession::reset(const std::string&) {
  const Status done = conversation_.replace(beginning_, conversation_.options());
  if (!done) return tell(done.error());
  last_ = all_ = {};
  view_.note("[a new conversation]\n");
}

void ChatSession::save(const std::string& path) {
  if (path.empty()) return tell({Errc::usage, "/save needs the name of a file"});
  const Status saved = save_chat(path, conversation_.messages(), conversation_.options().chat);
  if (!saved) return tell(saved.error());
  view_.note(fmt::format("[{} messages saved in {}]\n", conversation_.messages().size(), path));
}

void ChatSession::load(const std::string& path) {
  if (path.empty()) return tell({Errc::usage, "/load needs the name of a file"});
  auto file = load_chat(path);
  if (!file) return tell(file.error());
  ConversationOptions options = conversation_.options();
  options.chat = file->options;
  std::vector<Json> beginning;
  if (!file->messages.empty()) {
    const Json* role = file->messages.front().find("role");
    if (role != nullptr && *role == Json("system")) beginning.push_back(file->messages.front());
  }
  if (const Status good = conversation_.replace(std::move(file->messages), options); !good)
    return tell({good.error().code, fmt::format("{}: {}", path, good.error().message)});
  beginning_ = std::move(beginning);
  last_ = all_ = {};
  view_.note(fmt::format("[{} messages loaded from {}; thinking is {}]\n", conversation_.messages().size(), path,
                         thinking_text(options.chat)));
  tell_open_calls();
}

void ChatSession::stats(const std::string&) { view_.say(chat_stats(conversation_, last_, all_)); }

void ChatSession::think(const std::string& text) {
  ConversationOptions options = conversation_.options();
  if (!text.empty()) {
    if (const Status set = set_thinking(text, options.chat); !set)
      return tell({set.error().code, "/think " + set.error().message});
    const auto messages = conversation_.messages();
    if (const Status set = conversation_.replace({messages.begin(), messages.end()}, options); !set)
      return tell(set.error());
  }
  view_.note(fmt::format("[thinking is {}]\n", thinking_text(options.chat)));
}

void ChatSession::system(const std::string& text) {
  std::vector<Json> messages(conversation_.messages().begin(), conversation_.messages().end());
  if (text.empty()) {
    const Json* content = beginning_.empty() ? nullptr : beginning_.front().find("content");
    const std::string* now = content == nullptr ? nullptr : content->as_string();
    return view_.say(now == nullptr || now->empty() ? "no system text\n" : *now + '\n');
  }
  std::vector<Json> beginning = beginning_;
  if (beginning.empty()) {
    beginning.push_back(Json::object({{"role", "system"}, {"content", text}}));
    messages.insert(messages.begin(), beginning.front());
  } else {
    beginning.front().set("content", text);
    messages.front() = beginning.front();
  }
  if (const Status set = conversation_.replace(std::move(messages), conversation_.options()); !set)
    return tell(set.error());
  beginning_ = std::move(beginning);
  view_.note("[system text set]\n");
}

void ChatSession::give_result(std::string text) {
  const auto open = open_calls(conversation_.messages());
  Json result = Json::object({{"role", "tool"}, {"tool_call_id", open.front().id}, {"content", std::move(text)}});
  if (open.size() == 1) return answer(result);
  if (const Status added = conversation_.add({&result, 1}); !added) tell(added.error());
}

void ChatSession::answer(const Json& said) {
  const auto show = [&](auto part) {
    if (hooks_.progress_over) hooks_.progress_over();
    part();
  };
  AnswerEvents events;
  events.prompt = hooks_.prompt_progress;
  events.reasoning = [&](std::string_view text) { show([&] { view_.reasoning(text); }); };
  events.content = [&](std::string_view text) { show([&] { view_.content(text); }); };
  events.call = [&](const ToolCall& call) { show([&] { view_.call(call); }); };
  events.interrupted = hooks_.interrupted;
  if (hooks_.answer_begins) hooks_.answer_begins();
  const auto answer = conversation_.answer({&said, 1}, generate_, events);
  if (hooks_.progress_over) hooks_.progress_over();
  view_.end_answer();
  if (hooks_.answer_over) hooks_.answer_over();
  if (!answer) return tell(answer.error());
  if (answer->kept) {
    ++answers_;
    last_ = {};
    last_.add(*answer);
    all_.add(*answer);
  }
  tell_end(*answer);
  tell_open_calls();
}

void ChatSession::tell_end(const Answer& answer) {
  switch (answer.end) {
    case EndReason::length:
      return view_.note(
          fmt::format("[length: cut after {} tokens, see --max-tokens; what there is stays]\n", answer.tokens));
    case EndReason::context:
      return view_.note(fmt::format("[context: all {} positions of the model are used; /reset begins anew]\n",
                                    conversation_.context_tokens()));
    case EndReason::interrupted:
      if (hooks_.output_lost && hooks_.output_lost()) return;  // that is told once, as the command's error
      return view_.note(answer.kept ? "[interrupted: what there is of the answer stays]\n"
                                    : "[interrupted before the answer began: nothing was added]\n");
    case EndReason::stop:
    case EndReason::stop_string:
    case EndReason::enough:
      return;
  }
}

}  // namespace cachalot
