// SPDX-License-Identifier: Apache-2.0
#include "cli/chat/line_editor.h"

#include <fmt/core.h>
#include <histedit.h>
#include <langinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/shown_text.h"
#include "base/signals.h"
#include "cli/chat/key_decoder.h"
#include "cli/chat/typing.h"
#include "cli/output/terminal.h"

namespace cachalot {
namespace {

constexpr wchar_t own_key = 0x1e;  // Ctrl-^, which nobody types: bound to what is to be done between two keys
constexpr int most_lines = 1000;

std::filesystem::path folder_from(const char* variable) {
  const char* value = std::getenv(variable);
  const std::filesystem::path path(value == nullptr ? "" : value);
  return path.is_absolute() ? path : std::filesystem::path();  // as the XDG rules have it
}

}  // namespace

struct LineEditor::State {
  struct EndEditor {
    void operator()(EditLine* it) const noexcept { el_end(it); }
  };
  struct EndHistory {
    void operator()(History* it) const noexcept { history_end(it); }
  };

  std::string file;
  Completer completer{};
  FILE* out = nullptr;
  std::string prompt{};
  KeyDecoder keys{};
  std::optional<Typing> typing{};  // while a line is read
  std::string pasted{};            // waits for insert_or_redraw(), as does the next
  bool redraw = false;
  bool interrupted = false, signalled = false;
  HistEvent event{};
  std::unique_ptr<History, EndHistory> history{};
  std::unique_ptr<EditLine, EndEditor> editor{};

  static State& of(EditLine* editor) {
    void* state = nullptr;
    el_get(editor, EL_CLIENTDATA, &state);
    return *static_cast<State*>(state);
  }

  // libedit's source of characters: 1, or 0 where no more will come. No exception may pass through it.
  static int read_key(EditLine* editor, wchar_t* to) noexcept;
  bool next_key(wchar_t* to);
  bool read_bytes();
  void take_terminal();
  void suspend();
  void go_on();

  static unsigned char insert_or_redraw(EditLine* editor, int);
  static unsigned char complete(EditLine* editor, int);
  void show_choices(const std::vector<std::string>& choices) const;
};

int LineEditor::State::read_key(EditLine* editor, wchar_t* to) noexcept {
  State& s = of(editor);
  try {
    return s.next_key(to) ? 1 : 0;
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

bool LineEditor::State::next_key(wchar_t* to) {
  while (true) {
    if (auto key = keys.next()) {
      if (key->character == 0) pasted += key->pasted;
      *to = key->character == 0 ? own_key : static_cast<wchar_t>(key->character);
      return true;
    }
    switch (typing->wait()) {
      case 0:
        if (!read_bytes()) return false;
        break;
      case SIGINT:
        await_interrupt();
        keys.clear();
        signalled = true;
        *to = ctrl_c;
        return true;
      case SIGTERM:
        return false;
      case SIGTSTP:
        suspend();
        break;
      case SIGCONT:
        go_on();
        [[fallthrough]];
      default:
        redraw = true;
        *to = own_key;
        return true;
    }
  }
}

bool LineEditor::State::read_bytes() {
  std::array<char, 4096> bytes;
  const ssize_t n = through_signals([&] { return ::read(STDIN_FILENO, bytes.data(), bytes.size()); });
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;  // a program before us left it so; wait() waits
  if (n > 0) keys.push(std::string_view(bytes.data(), static_cast<std::size_t>(n)));
  return n > 0;
}

// The signal for going on again comes behind it, and redraws.
void LineEditor::State::suspend() {
  el_set(editor.get(), EL_PREP_TERM, 0);
  typing->suspend();
  go_on();
}

void LineEditor::State::take_terminal() {
  el_set(editor.get(), EL_PREP_TERM, 1);
  typing->taken();
}

// Whoever had the terminal meanwhile may have left it otherwise, and libedit sets only what it believes to be changed.
void LineEditor::State::go_on() {
  if (typing->still_taken()) return;
  el_set(editor.get(), EL_PREP_TERM, 0);
  take_terminal();
  typing->marks(true);
}

unsigned char LineEditor::State::insert_or_redraw(EditLine* editor, int) {
  State& s = of(editor);
  const std::string text = std::exchange(s.pasted, {});
  if (!text.empty() && el_insertstr(editor, text.c_str()) != 0) return CC_ERROR;
  if (!std::exchange(s.redraw, false)) return text.empty() ? CC_NORM : CC_REFRESH;
  el_resize(editor);
  return CC_REDISPLAY;
}

unsigned char LineEditor::State::complete(EditLine* editor, int) {
  const State& s = of(editor);
  if (!s.completer) return CC_ERROR;
  const LineInfo* line = el_line(editor);
  const LineCompletion found = s.completer({line->buffer, static_cast<std::size_t>(line->cursor - line->buffer)});
  if (!found.insert.empty()) return el_insertstr(editor, found.insert.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
  if (found.choices.empty()) return CC_ERROR;
  s.show_choices(found.choices);
  return CC_REDISPLAY;
}

void LineEditor::State::show_choices(const std::vector<std::string>& choices) const {
  constexpr std::size_t most = 60;
  std::string text = "\n";
  for (std::size_t i = 0; i < std::min(choices.size(), most); ++i) text += visible_line(choices[i]) + "  ";
  if (choices.size() > most) text += fmt::format("and {} more", choices.size() - most);
  text += '\n';
  std::fwrite(text.data(), 1, text.size(), out);
  std::fflush(out);
}

std::filesystem::path history_file() {
  std::filesystem::path folder = folder_from("XDG_STATE_HOME");
  if (folder.empty()) {
    folder = folder_from("HOME");
    if (folder.empty()) return {};
    folder /= ".local/state";
  }
  return folder / "cachalot" / "history";
}

LineEditor::LineEditor(std::filesystem::path history, Completer completer) : state_(std::make_unique<State>()) {
  // libedit asks the locale what the bytes of a character are. One without UTF-8 would lose what is typed.
  if (std::setlocale(LC_CTYPE, "") == nullptr || std::string_view(nl_langinfo(CODESET)) != "UTF-8")
    std::setlocale(LC_CTYPE, "C.UTF-8");
  State& s = *state_;
  s.file = history.string();
  s.completer = std::move(completer);
  if (!history.empty()) {
    std::error_code ignored;
    std::filesystem::create_directories(history.parent_path(), ignored);
  }
  // Where standard output goes elsewhere, the line is shown where messages are.
  s.out = isatty(STDOUT_FILENO) != 0 ? stdout : stderr;
  s.history.reset(history_init());
  s.editor.reset(el_init("cachalot", stdin, s.out, stderr));
  if (s.history) {
    ::history(s.history.get(), &s.event, H_SETSIZE, most_lines);
    ::history(s.history.get(), &s.event, H_SETUNIQUE, 1);
    if (!s.file.empty()) ::history(s.history.get(), &s.event, H_LOAD, s.file.c_str());
  }
  if (s.editor) bind_keys();
}

void LineEditor::bind_keys() {
  State& s = *state_;
  EditLine* editor = s.editor.get();
  el_set(editor, EL_CLIENTDATA, &s);
  const auto prompt = +[](EditLine* e) { return State::of(e).prompt.data(); };
  el_set(editor, EL_PROMPT, prompt);
  el_set(editor, EL_EDITOR, "emacs");
  el_set(editor, EL_GETCFN, &State::read_key);  // with it, no handler of libedit's is needed
  if (s.history) el_set(editor, EL_HIST, ::history, s.history.get());
  el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  for (const KeySequence& key : key_sequences())
    el_set(editor, EL_BIND, (std::string("\\e") + key.sequence).c_str(), key.action, nullptr);
  el_wset(editor, EL_ADDFN, L"cachalot-complete", L"complete a command", &State::complete);
  el_set(editor, EL_BIND, "^I", "cachalot-complete", nullptr);
  el_source(editor, nullptr);  // ~/.editrc
  // Ctrl-C as a key: as a signal it would have to break out of a read() somewhere within the library.
  const auto interrupt = +[](EditLine* e, int) -> unsigned char {
    State::of(e).interrupted = true;
    return CC_NEWLINE;
  };
  el_wset(editor, EL_ADDFN, L"cachalot-interrupt", L"leave the line", interrupt);  // el_set would leak the names
  el_set(editor, EL_BIND, "^C", "cachalot-interrupt", nullptr);
  const auto suspend = +[](EditLine* e, int) -> unsigned char {
    State::of(e).suspend();
    return CC_REDISPLAY;
  };
  el_wset(editor, EL_ADDFN, L"cachalot-suspend", L"stop the program", suspend);
  el_set(editor, EL_BIND, "^Z", "cachalot-suspend", nullptr);
  el_wset(editor, EL_ADDFN, L"cachalot-insert", L"insert what was pasted, or draw anew", &State::insert_or_redraw);
  el_set(editor, EL_BIND, "^^", "cachalot-insert", nullptr);
  // CR and LF stay what they are, so that both in what is pasted are one end of a line.
  el_set(editor, EL_SETTY, "-d", "-isig", "-icrnl", "-inlcr", nullptr);
}

LineEditor::~LineEditor() = default;

LineEditor::Line LineEditor::read(const std::string& prompt) {
  State& s = *state_;
  if (!s.editor) return {.end = End::end};
  s.prompt = prompt;
  s.interrupted = s.signalled = s.redraw = false;
  s.pasted.clear();
  s.typing.emplace(STDIN_FILENO, ::fileno(s.out));
  el_resize(s.editor.get());  // between two lines nobody hears of a new size
  // Before the prompt shows, not with the first key: whoever sees it may press Ctrl-C at once, and has to mean the
  // line.
  s.take_terminal();
  int count = 0;
  const char* text = el_gets(s.editor.get(), &count);
  s.typing.reset();
  std::string line = text == nullptr || count <= 0 ? "" : std::string(text, static_cast<std::size_t>(count));
  if (s.interrupted) return {.end = s.signalled ? End::signal : End::interrupt, .text = std::move(line)};
  if (text == nullptr || count <= 0) return {.end = End::end};
  if (line.ends_with('\n')) line.pop_back();
  return {.end = End::line, .text = std::move(line)};
}

void LineEditor::remember(const std::string& line) {
  State& s = *state_;
  constexpr std::size_t most_bytes = 16 << 10;  // the file is written anew for each line
  if (!s.history || line.empty() || line.size() > most_bytes) return;
  ::history(s.history.get(), &s.event, H_ENTER, line.c_str());
  if (!s.file.empty()) ::history(s.history.get(), &s.event, H_SAVE, s.file.c_str());
}

}  // namespace cachalot
