// SPDX-License-Identifier: Apache-2.0
#include "cli/chat/chat_loop.h"

#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

#include "cli/chat/chat_input.h"
#include "cli/chat/input_lines.h"
#include "cli/chat/line_editor.h"
#include "cli/output/terminal.h"

namespace cachalot {
namespace {

void talk(ChatSession& session) {
  LineEditor editor(history_file(), ChatSession::complete);
  ChatInput input;
  for (int interrupts = 0; interrupts < 2 && output_is_good();) {
    await_interrupt();  // a Ctrl-C that came too late for the answer is no reason to end
    const LineEditor::Line line = editor.read(input.pending() ? "... " : session.prompt());
    if (ended_by() != 0) return;
    switch (line.end) {
      case LineEditor::End::end:
        print_error(input.in_block() ? "\n[the text that \"\"\" began was not closed: it is dropped]\n" : "\n");
        return;
      case LineEditor::End::interrupt:
      case LineEditor::End::signal:
        print_error("^C\n");
        if (line.end == LineEditor::End::interrupt)
          interrupts = line.text.empty() && !input.pending() ? interrupts + 1 : 0;
        input.clear();
        if (interrupts == 1) print_error("[Ctrl-C once more, or Ctrl-D, ends the program]\n");
        break;
      case LineEditor::End::line:
        interrupts = 0;
        editor.remember(line.text);
        if (const auto text = input.push(line.text)) {
          if (session.take(*text) == ChatSession::Next::quit || ended_by() != 0) return;
        }
    }
  }
}

}  // namespace

int converse_on_terminal(ChatSession& session) {
  outlast_interrupts();
  talk(session);
  if (ended_by() == 0) return 0;
  print_error(fmt::format("\n[ended by {}]\n", ended_by() == SIGHUP ? "SIGHUP" : "SIGTERM"));
  return 128 + ended_by();
}

Expected<int> converse_by_lines(ChatSession& session, std::size_t most_bytes) {
  catch_interrupts();
  InputLines lines(STDIN_FILENO);
  ChatInput input;
  while (output_is_good()) {
    const auto line = lines.next();
    if (!line) return tl::unexpected(line.error());
    if (!*line) break;
    if (input.bytes() + (*line)->size() > most_bytes) {
      return fail(Errc::range, "standard input has a message of more than {} bytes: the model's context can't hold it",
                  most_bytes);
    }
    if (const auto text = input.push(**line)) {
      if (session.take(*text) == ChatSession::Next::quit) return session.failed() ? 1 : 0;
    }
  }
  if (!interrupted() && output_is_good() && input.pending()) {
    const bool unclosed = input.in_block();
    const std::string text = *input.finish();
    if (unclosed) {
      session.take_unclosed(text);
    } else {
      session.take(text);
    }
  }
  if (interrupted()) {
    print_error(
        fmt::format("cachalot: interrupted: {} turns were answered, no further line is read\n", session.answers()));
    return interrupt_exit_code();
  }
  return session.failed() ? 1 : 0;
}

}  // namespace cachalot
