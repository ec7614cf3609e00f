// SPDX-License-Identifier: Apache-2.0
// How a line is read by what commands declare (command.h).
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "cli/command_line/command.h"
#include "cli/command_line/help_text.h"
#include "cli/command_line/nearest_name.h"
#include "cli/output/terminal.h"

namespace cachalot {
namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// A word as an error shows it: a plain name as it is, anything else in quotes and not without end.
std::string shown_word(std::string_view word) {
  constexpr std::size_t most = 60;
  const bool plain = std::ranges::all_of(word, [](char c) {
    return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  });
  if (plain && word.size() <= most) return std::string(word);
  return word.size() <= most ? fmt::format("{:?}", word) : fmt::format("{:?}…", word.substr(0, most));
}

// "-x", "--xyz", "--xyz=…", but not "-", "-5", "--", nor a text such as "-- he said" or "- one".
bool looks_like_option(std::string_view word) {
  if (!word.starts_with('-')) return false;
  const std::string_view name = word.substr(word.starts_with("--") ? 2 : 1);
  return !name.empty() && is_letter(name[0]) && name.substr(0, name.find('=')).find_first_of(" \t\n") == name.npos;
}

std::string list_of_commands(const Command& command) {
  std::vector<std::string> names;
  for (const auto& below : command.commands()) names.push_back(below->name());
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

class LineReader {
 public:
  LineReader(Command& program, const std::vector<std::string>& line) : command_(&program), line_(line) {}

  // Gives every option its value, until one asks for something else than the command's work (action()).
  Status read() {
    if (!line_.empty() && line_[0] == "help") return read_help();
    while (at_ < line_.size() && !action_) {
      const std::string& word = line_[at_++];
      Status taken;
      if (!options_end_ && word == "--") {
        options_end_ = true;
      } else if (!options_end_ && looks_like_option(word)) {
        taken = word.starts_with("--") ? take_long(word) : take_short(word);
      } else {
        taken = take_word(word);
      }
      if (!taken) return told(taken.error());
    }
    if (action_) return {};
    if (Status good = check_options(); !good) return told(good.error());
    return {};
  }

  Command& command() const { return *command_; }
  const std::function<void()>& action() const { return action_; }

 private:
  // `cachalot help cache ls`
  Status read_help() {
    for (at_ = 1; at_ < line_.size(); ++at_) {
      if (Status went = go_below(line_[at_]); !went) return told(went.error());
    }
    action_ = show_help();
    return {};
  }

  std::function<void()> show_help() const {
    return [command = command_] { print_out(help_text(*command, help_columns())); };
  }

  Status go_below(const std::string& word) {
    std::vector<std::string> names{"help"};
    for (const auto& below : command_->commands_) {
      names.push_back(below->name());
      if (below->name() == word) {
        command_ = below.get();
        return {};
      }
    }
    const std::string near = nearest_name(word, names);
    return fail(Errc::usage, "unknown command {}{} `{} --help` lists them", shown_word(word),
                near.empty() ? ";" : fmt::format(", did you mean {}?", near), command_->full_name());
  }

  Status take_word(const std::string& word) {
    if (!command_->commands_.empty()) return go_below(word);
    const auto& places = command_->arguments_.options();
    const std::size_t place = std::min(words_, places.empty() ? 0 : places.size() - 1);
    if (places.empty() || (words_ >= places.size() && places[place]->kind() != Option::Kind::values)) {
      return fail(Errc::usage, "an argument too many: {}; {}", shown_word(word),
                  places.empty() ? "options are all that it takes" : "a text of several words is put in quotes");
    }
    ++words_;
    return places[place]->take(places[place]->name(), word);
  }

  Option* find(std::string_view name) const {
    for (const Command* from = command_; from != nullptr; from = from->above_) {
      if (Option* option = from->find(name)) return option;
    }
    return nullptr;
  }

  Status take_long(std::string_view word) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    Option* option = find(name);
    if (equals == word.npos) return take(name, option);
    if (option != nullptr && option->takes_value()) return option->take(name, std::string(word.substr(equals + 1)));
    return option == nullptr && name != "--help" ? unknown(name) : fail(Errc::usage, "{} takes no value", name);
  }

  Status take_short(std::string_view word) {
    if (find(fmt::format("-{}", word)) != nullptr) return unknown(word);  // "-seed": one dash for two
    for (bool first = true; word.size() >= 2 && !action_; first = false) {
      const std::string name{'-', word[1]};
      Option* option = find(name);
      if (option == nullptr && name != "-h") return unknown(first ? word : name);
      std::string_view rest = word.substr(2);
      if (option != nullptr && option->takes_value() && !rest.empty()) {
        if (rest.starts_with('=')) rest.remove_prefix(1);
        return option->take(name, std::string(rest));
      }
      if (Status taken = take(name, option); !taken) return taken;
      if (rest.empty()) break;
      word.remove_prefix(1);
    }
    return {};
  }

  // An option whose value, if it takes one, is the next word.
  Status take(std::string_view name, Option* option) {
    if (option == nullptr) {
      if (name != "--help" && name != "-h") return unknown(name);
      action_ = show_help();
      return {};
    }
    if (option->kind() == Option::Kind::action) {
      action_ = [option] { option->act(); };
      return {};
    }
    if (!option->takes_value()) return option->take(name, {});
    // Whatever stands there is the value, but for an option of ours: then the value was forgotten.
    const bool forgotten =
        at_ == line_.size() || (looks_like_option(line_[at_]) && line_[at_].starts_with("--") &&
                                find(std::string_view(line_[at_]).substr(0, line_[at_].find('='))) != nullptr);
    if (forgotten) {
      return fail(Errc::usage, "{} needs a value: {} {}", name, name, option->shown_value());
    }
    return option->take(name, line_[at_++]);
  }

  tl::unexpected<Error> unknown(std::string_view name) const {
    std::vector<std::string> names{"--help"};
    for (const Command* from = command_; from != nullptr; from = from->above_) {
      for (const auto& group : from->groups_) {
        for (const auto& option : group->options()) names.push_back(option->name());
      }
    }
    const std::string near = nearest_name(name, names);
    const Command* other = near.empty() ? owner_of(name) : nullptr;
    std::string_view text;
    if (near.empty() && !name.starts_with("--") && !command_->arguments_.options().empty())
      text = ", and -- stands before a text that begins with a dash";
    return fail(Errc::usage, "unknown option {}{} `{} --help` lists them{}", shown_word(name),
                !near.empty()      ? fmt::format(", did you mean {}?", near)
                : other != nullptr ? fmt::format(" (it is one of `{}`);", other->full_name())
                                   : ";",
                command_->full_name(), text);
  }

  // Another command that has an option of this name.
  const Command* owner_of(std::string_view name) const {
    const Command* program = command_;
    while (program->above_ != nullptr) program = program->above_;
    for (const auto& below : program->commands_) {
      if (below->find(name) != nullptr) return below.get();
    }
    return nullptr;
  }

  Status check_options() const {
    for (const Command* from = command_; from != nullptr; from = from->above_) {
      for (const auto& group : from->groups_) {
        for (const auto& option : group->options()) {
          if (Status good = option->take_environment(); !good) return good;
          if (Status good = option->check_others(); !good) return good;
        }
      }
    }
    for (const auto& argument : command_->arguments_.options()) {
      if (Status good = argument->check_others(); !good) return good;
    }
    return {};
  }

  // The command stands before what is wrong with its line.
  tl::unexpected<Error> told(const Error& error) const {
    if (command_->above_ == nullptr) return tl::unexpected(error);
    return fail(error.code, "{}: {}", command_->full_name().substr(command_->full_name().find(' ') + 1), error.message);
  }

  Command* command_;
  const std::vector<std::string>& line_;
  std::size_t at_ = 0, words_ = 0;
  bool options_end_ = false;
  std::function<void()> action_;
};

Expected<int> Command::do_line(const std::vector<std::string>& line) {
  LineReader reader(*this, line);
  if (Status good = reader.read(); !good) return tl::unexpected(good.error());
  if (reader.action()) {
    reader.action()();
    return 0;
  }
  const Command& chosen = reader.command();
  if (!chosen.work_) {
    return chosen.above_ == nullptr
               ? fail(Errc::usage, "a command is expected, such as `{} run TEXT`; `{} --help` lists them", name_, name_)
               : fail(Errc::usage, "{}: a command is expected: {}", chosen.name_, list_of_commands(chosen));
  }
  for (const Command* from = &chosen; from != nullptr; from = from->above_) {
    if (from->before_) from->before_();
  }
  return chosen.work_();
}

int Command::run(const std::vector<std::string>& line) {
  const auto code = do_line(line);
  return code ? *code : report(code.error());
}

}  // namespace cachalot
