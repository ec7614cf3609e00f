// SPDX-License-Identifier: Apache-2.0
#include "cli/line_editor.h"

#include <histedit.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace cachalot {
namespace {

constexpr int most_lines = 1000;

std::filesystem::path folder_from(const char* variable) {
  const char* value = std::getenv(variable);
  const std::filesystem::path path(value == nullptr ? "" : value);
  return path.is_absolute() ? path : std::filesystem::path();  // as the XDG rules have it
}

struct EndEditor {
  void operator()(EditLine* editor) const noexcept { el_end(editor); }
};
struct EndHistory {
  void operator()(History* history) const noexcept { history_end(history); }
};

}  // namespace

struct LineEditor::State {
  std::string file;
  std::string prompt{};
  bool interrupted = false;
  HistEvent event{};
  std::unique_ptr<History, EndHistory> history{};
  std::unique_ptr<EditLine, EndEditor> editor{};

  static State& of(EditLine* editor) {
    void* state = nullptr;
    el_get(editor, EL_CLIENTDATA, &state);
    return *static_cast<State*>(state);
  }
};

std::filesystem::path history_file() {
  std::filesystem::path folder = folder_from("XDG_STATE_HOME");
  if (folder.empty()) {
    folder = folder_from("HOME");
    if (folder.empty()) return {};
    folder /= ".local/state";
  }
  return folder / "cachalot" / "history";
}

LineEditor::LineEditor(std::filesystem::path history) : state_(std::make_unique<State>()) {
  // libedit asks the locale what the bytes of a character are. A locale without UTF-8 would lose what is typed.
  if (std::setlocale(LC_CTYPE, "") == nullptr || MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
  State& s = *state_;
  s.file = history.string();
  if (!history.empty()) {
    std::error_code ignored;
    std::filesystem::create_directories(history.parent_path(), ignored);
  }
  // Where standard output goes elsewhere, the line is shown where messages are.
  FILE* out = isatty(STDOUT_FILENO) != 0 ? stdout : stderr;
  s.history.reset(history_init());
  s.editor.reset(el_init("cachalot", stdin, out, stderr));
  if (s.history) {
    ::history(s.history.get(), &s.event, H_SETSIZE, most_lines);
    ::history(s.history.get(), &s.event, H_SETUNIQUE, 1);
    if (!s.file.empty()) ::history(s.history.get(), &s.event, H_LOAD, s.file.c_str());
  }
  if (!s.editor) return;
  EditLine* editor = s.editor.get();
  el_set(editor, EL_CLIENTDATA, &s);
  const auto prompt = +[](EditLine* e) { return State::of(e).prompt.data(); };
  el_set(editor, EL_PROMPT, prompt);
  el_set(editor, EL_EDITOR, "emacs");
  el_set(editor, EL_SIGNAL, 1);
  if (s.history) el_set(editor, EL_HIST, ::history, s.history.get());
  el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  el_source(editor, nullptr);  // ~/.editrc
  // Ctrl-C as a key: as a signal it would have to break out of a read() somewhere within the library.
  const auto interrupt = +[](EditLine* e, int) -> unsigned char {
    State::of(e).interrupted = true;
    return CC_NEWLINE;
  };
  el_wset(editor, EL_ADDFN, L"cachalot-interrupt", L"leave the line", interrupt);  // el_set would leak the names
  el_set(editor, EL_BIND, "^C", "cachalot-interrupt", nullptr);
  // With it goes Ctrl-Z, which is raised here; libedit leaves and takes the terminal at its signals.
  const auto suspend = +[](EditLine*, int) -> unsigned char {
    std::raise(SIGTSTP);
    return CC_REDISPLAY;
  };
  el_wset(editor, EL_ADDFN, L"cachalot-suspend", L"stop the program", suspend);
  el_set(editor, EL_BIND, "^Z", "cachalot-suspend", nullptr);
  el_set(editor, EL_SETTY, "-d", "-isig", nullptr);
}

LineEditor::~LineEditor() = default;

LineEditor::Line LineEditor::read(const std::string& prompt) {
  State& s = *state_;
  if (!s.editor) return {.end = End::end};
  s.prompt = prompt;
  s.interrupted = false;
  // Before the prompt shows, not with the first key: whoever sees it may press Ctrl-C at once, and has to mean the
  // line.
  el_set(s.editor.get(), EL_PREP_TERM, 1);
  int count = 0;
  const char* text = el_gets(s.editor.get(), &count);
  std::string line = text == nullptr || count <= 0 ? "" : std::string(text, static_cast<std::size_t>(count));
  if (s.interrupted) return {.end = End::interrupt, .text = std::move(line)};
  if (text == nullptr || count <= 0) return {.end = End::end};
  if (line.ends_with('\n')) line.pop_back();
  return {.end = End::line, .text = std::move(line)};
}

void LineEditor::remember(const std::string& line) {
  State& s = *state_;
  if (!s.history || line.empty()) return;
  ::history(s.history.get(), &s.event, H_ENTER, line.c_str());
  if (!s.file.empty()) ::history(s.history.get(), &s.event, H_SAVE, s.file.c_str());
}

}  // namespace cachalot
