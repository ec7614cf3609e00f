// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line/help_text.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <vector>

namespace cachalot {
namespace {

int terminal_columns() {  // 0 where standard output is no terminal, or one that does not say
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

constexpr char no_break = '\x1f';  // shown as a space at which no line ends
constexpr int indent_of_name = 2, indent_of_help = 28, narrowest_with_two_columns = 76;

// A name and what is said of it: side by side where there is room, else one below the other.
std::string entry(std::string_view label, std::string_view help, int columns) {
  const bool two_columns = columns >= narrowest_with_two_columns;
  const int indent = two_columns ? indent_of_help : 8;
  std::string text = fmt::format("{:{}}{}", "", indent_of_name, label);
  std::string below = wrapped(help, columns, indent);
  if (two_columns && shown_width(text) + 2 <= indent) {
    below.erase(0, static_cast<std::size_t>(shown_width(text)));
    return text + below;
  }
  return text + '\n' + below;
}

std::string label(const Option& option) {
  std::string text;
  if (option.is_argument()) {
    std::ranges::transform(option.name(), std::back_inserter(text), [](unsigned char c) { return std::toupper(c); });
    return option.kind() == Option::Kind::values ? text + "..." : text;
  }
  text = option.short_name().empty() ? "    " : option.short_name() + ", ";
  text += option.name();
  if (option.takes_value()) text += ' ' + option.shown_value();
  return text;
}

std::string said(const Option& option) {
  std::string text = option.help();
  if (!option.shown_default().empty()) text += fmt::format(" (default:{}{})", no_break, option.shown_default());
  if (option.variable() != nullptr && !option.takes_value()) {
    text += fmt::format(" (or{}{}=1)", no_break, option.variable());
  } else if (option.variable() != nullptr) {
    text += fmt::format(" (default:{}${})", no_break, option.variable());
  }
  return text;
}

std::string entries(const OptionGroup& group, int columns) {
  std::string text;
  for (const auto& option : group.options()) text += entry(label(*option), said(*option), columns);
  return text;
}

std::string usage_line(const Command& command) {
  std::string text = "Usage: " + command.full_name();
  if (!command.commands().empty()) text += " COMMAND";
  for (const auto& argument : command.placed().options())
    text += argument->is_required() ? ' ' + label(*argument) : " [" + label(*argument) + ']';
  return text + " [OPTION]...";
}

// A line for the shell, broken where it does not fit so that it can be pasted all the same.
std::string example(std::string_view line, int columns) {
  std::string text = "  ";
  int used = 2;
  char quote = 0;
  std::string word;
  const auto put = [&] {
    const int width = shown_width(word);
    if (used > 4 && used + 1 + width + 2 > columns) {
      text += " \\\n      ";
      used = 6;
    } else if (used > 2) {
      text += ' ';
      ++used;
    }
    text += word;
    used += width;
    word.clear();
  };
  for (const char c : line) {
    if (quote == 0 && c == ' ') {
      put();
      continue;
    }
    if (c == '\'' || c == '"') quote = quote == 0 ? c : quote == c ? '\0' : quote;
    word += c;
  }
  put();
  return text + '\n';
}

}  // namespace

std::string wrapped(std::string_view text, int columns, int indent) {
  std::string out;
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  for (bool more = true; more;) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    more = end < text.size();
    std::string_view paragraph = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    more = more && !text.empty();
    int used = 0;
    while (!paragraph.empty()) {
      const std::size_t space = std::min(paragraph.find(' '), paragraph.size());
      const std::string_view word = paragraph.substr(0, space);
      paragraph.remove_prefix(std::min(space + 1, paragraph.size()));
      if (word.empty()) continue;
      const int width = shown_width(word);
      if (used > 0 && used + 1 + width > columns) {
        out += '\n';
        used = 0;
      }
      if (used == 0) {
        out += margin;
        used = indent;
      } else {
        out += ' ';
        ++used;
      }
      out += word;
      used += width;
    }
    out += '\n';
  }
  std::ranges::replace(out, no_break, ' ');
  return out;
}

std::string help_text(const Command& command, int columns) {
  std::string text = wrapped(command.summary() + ".", columns, 0) + '\n' + wrapped(usage_line(command), columns, 0);
  if (!command.commands().empty()) {
    text += "\nCommands:\n";
    for (const auto& below : command.commands()) text += entry(below->name(), below->summary(), columns);
    if (command.above() == nullptr) text += entry("help [COMMAND]", "The same as COMMAND --help", columns);
  }
  if (!command.placed().options().empty()) text += "\nArguments:\n" + entries(command.placed(), columns);
  for (const auto& group : command.groups())
    text += fmt::format("\n{}:\n{}", group->heading(), entries(*group, columns));
  text += command.above() == nullptr ? "" : "\nOf every command:\n";
  for (const Command* above = command.above(); above != nullptr; above = above->above()) {
    for (const auto& group : above->groups()) {
      for (const auto& option : group->options()) {
        if (option->kind() != Option::Kind::action) text += entry(label(*option), said(*option), columns);
      }
    }
  }
  text += entry("-h, --help", "show this", columns);
  if (!command.shown_notes().empty()) text += '\n' + wrapped(command.shown_notes(), columns, 0);
  if (!command.shown_examples().empty()) text += "\nExamples:\n";
  for (const std::string& line : command.shown_examples()) text += example(line, columns);
  return text;
}

int shown_width(std::string_view text) {
  return static_cast<int>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

int table_columns() {
  const int columns = terminal_columns();
  return columns > 0 ? columns : std::numeric_limits<int>::max();
}

int help_columns() {
  int columns = terminal_columns();
  if (const char* said_so = std::getenv("COLUMNS"); columns == 0 && said_so != nullptr) {
    const std::string_view digits = said_so;
    std::from_chars(digits.data(), digits.data() + digits.size(), columns);
  }
  return std::clamp(columns == 0 ? 80 : columns, 40, 120);
}

}  // namespace cachalot
