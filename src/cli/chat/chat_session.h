// SPDX-License-Identifier: Apache-2.0
// What `cachalot chat` does with each thing the user says: a command, a turn, or a tool's result. Knows no terminal.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/chat/chat_report.h"
#include "cli/chat/chat_view.h"
#include "cli/chat/line_completion.h"
#include "engine/conversation.h"

namespace cachalot {

// "on", "off", "low", "high", "max" or 1 to 100, into mode and effort. Error: Errc::usage.
Status set_thinking(std::string_view text, ChatOptions& options);

class ChatSession {
 public:
  struct Hooks {
    std::function<void()> answer_begins{};  // before each answer
    std::function<bool()> interrupted{};
    std::function<bool()> output_lost{};  // where that is why an answer was interrupted, nobody reads how it ended
    std::function<void(std::int64_t done, std::int64_t total)> prompt_progress{};
    std::function<void()> progress_over{};  // before anything is shown
    std::function<void()> answer_over{};    // behind each answer, where no line is open
  };

  // Borrows all but the hooks. What the conversation holds now is what /reset goes back to.
  ChatSession(Conversation& conversation, const GenerateOptions& generate, ChatView& view, Hooks hooks);

  // What the next input is for: "> ", or the call whose result it is.
  std::string prompt() const;

  enum class Next { go_on, quit };
  // One input, as ChatInput gives it. Errors are told, and the session goes on.
  Next take(std::string_view input);
  // What a block held that the end of input left open: an error, and a turn all the same.
  void take_unclosed(std::string_view input);

  bool failed() const { return failed_; }            // whether an error was told
  std::int64_t answers() const { return answers_; }  // that were kept

  // What Tab adds to an input.
  static LineCompletion complete(std::string_view before);

  // Tells what calls wait for a result, if any.
  void tell_open_calls();

 private:
  struct Command {
    std::string_view name, argument;
    std::string_view words;  // that the argument may be, with | between; may be empty
    std::string_view help;
    void (ChatSession::*run)(const std::string& argument);
  };
  static std::span<const Command> commands();

  void run_command(std::string_view input);
  void help(const std::string&);
  void reset(const std::string&);
  void save(const std::string& path);
  void load(const std::string& path);
  void stats(const std::string&);
  void think(const std::string& text);
  void system(const std::string& text);

  void give_result(std::string text);
  void answer(const Json& said);
  void tell_end(const Answer& answer);
  void tell(const Error& error);

  Conversation& conversation_;
  const GenerateOptions& generate_;
  ChatView& view_;
  Hooks hooks_;
  std::vector<Json> beginning_;  // the system message, if there is one
  bool failed_ = false;

  std::int64_t answers_ = 0;
  AnswerTotals last_, all_;  // since /reset
};

}  // namespace cachalot
