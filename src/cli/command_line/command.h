// SPDX-License-Identifier: Apache-2.0
// What a command line may hold: commands, their options and arguments, and what --help says of each. A command declares
// them (any *_command.cpp shows how), command.cpp reads a line by them, help_text.cpp shows them.
//
// A line is read as getopt_long would: --name value, --name=value, -n value, -n5, flags together as in -vj; `--` ends
// the options, and what else does not look like one (-, -5, "- a list") is an argument. An option is known after the
// command that has it and after those below. One given twice is an error, but for flags and texts().
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"

namespace cachalot {

// "" where a text will do, else what is wrong with it.
using TextCheck = std::function<std::string(const std::string&)>;

enum class Least { allowed, excluded };  // whether a range of numbers holds its lower border

class Option {
 public:
  enum class Kind { flag, value, values, action };

  Option(Kind kind, std::string_view names, std::string_view help);

  Option& placeholder(std::string what);      // of its value, in --help: "DIR"
  Option& check(TextCheck what_is_wrong);     // the checks are asked in turn, before the value is taken
  Option& not_empty();                        // an empty text is what a shell makes of a variable that is not set
  Option& with_default();                     // --help shows the value it has now
  Option& environment(const char* variable);  // which says it where the line does not
  Option& required();
  Option& needs(const Option& other);
  Option& excludes(const Option& other);

  bool given() const { return times_ > 0; }  // by the line, not by the environment

  // The rest is for command.cpp and help_text.cpp.
  Kind kind() const { return kind_; }
  bool takes_value() const { return kind_ == Kind::value || kind_ == Kind::values; }
  bool is_argument() const { return short_name_.empty() && !long_name_.starts_with("--"); }
  const std::string& name() const { return long_name_; }         // "--max-tokens"; of an argument "text"
  const std::string& short_name() const { return short_name_; }  // "-n", or empty
  const std::string& help() const { return help_; }
  const std::string& shown_value() const { return placeholder_; }
  const std::string& shown_default() const { return shown_default_; }
  const char* variable() const { return variable_; }
  bool is_required() const { return required_; }
  // Errors (Errc::usage) name the option as it was written.
  Status take(std::string_view written, const std::string& value);
  Status take_environment();
  Status check_others() const;  // needs, excludes
  void act() const { action_(); }

 private:
  friend class OptionGroup;
  Kind kind_;
  std::string long_name_, short_name_, help_, placeholder_, initial_, shown_default_;
  const char* variable_ = nullptr;
  bool required_ = false;
  int times_ = 0;
  std::vector<TextCheck> checks_;
  std::function<void(const std::string&)> set_;
  std::function<void()> action_;
  std::vector<const Option*> needs_, excludes_;
};

// Options under one heading of --help. `names` is "--max-tokens" or "-n,--max-tokens". What a reference is given for
// must live as long as the command.
class OptionGroup {
 public:
  explicit OptionGroup(std::string_view heading) : heading_(heading) {}

  Option& flag(std::string_view names, bool& value, std::string_view help);
  Option& text(std::string_view names, std::string& value, std::string_view help);
  Option& text(std::string_view names, std::optional<std::string>& value, std::string_view help);
  Option& path(std::string_view names, std::filesystem::path& value, std::string_view help);
  // May be given more than once; each time adds one text, whatever it holds.
  Option& texts(std::string_view names, std::vector<std::string>& values, std::string_view help);
  Option& choice(std::string_view names, std::string& value, const std::vector<std::string>& among,
                 std::string_view help);
  // Decimal digits only, and the number they write is from `least` to `most`.
  template <class Number>
  Option& whole(std::string_view names, Number& value, std::uint64_t least, std::uint64_t most, std::string_view help) {
    if constexpr (std::integral<Number>) {
      return whole_number(names, std::to_string(value), least, most, help,
                          [&value](std::uint64_t n) { value = static_cast<Number>(n); });
    } else {  // std::optional
      return whole_number(names, {}, least, most, help,
                          [&value](std::uint64_t n) { value = static_cast<typename Number::value_type>(n); });
    }
  }
  // With a fraction or an exponent; neither infinite nor NaN.
  Option& number(std::string_view names, double& value, double least, double most, std::string_view help,
                 Least border = Least::allowed);
  // Done in the command's place, such as --version.
  Option& action(std::string_view names, std::string_view help, std::function<void()> act);

  const std::string& heading() const { return heading_; }
  const std::vector<std::unique_ptr<Option>>& options() const { return options_; }

 private:
  Option& add(Option::Kind kind, std::string_view names, std::string_view help);
  Option& whole_number(std::string_view names, std::string initial, std::uint64_t least, std::uint64_t most,
                       std::string_view help, std::function<void(std::uint64_t)> set);
  std::string heading_;
  std::vector<std::unique_ptr<Option>> options_;
};

class Command {
 public:
  Command(std::string_view name, std::string_view summary);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  Command& add_command(std::string_view name, std::string_view summary);
  OptionGroup& group(std::string_view heading);  // the one of this heading, new at the end where there is none

  // By its place on the line; the last may be a list, which takes all that is left.
  Option& argument(std::string_view name, std::string& value, std::string_view help);
  Option& argument(std::string_view name, std::optional<std::string>& value, std::string_view help);
  Option& arguments(std::string_view name, std::vector<std::string>& values, std::string_view help);

  void notes(std::string_view paragraphs);         // of --help, behind the options; wrapped there
  void examples(std::vector<std::string> lines);   // as they are typed
  void before(std::function<void()> prepare);      // once the line was read; of commands below too
  void runs(std::function<Expected<int>()> work);  // gives the exit code
  Option* find(std::string_view name) const;       // "--seed", "-s" or an argument's name; of this command

  // Reads a line (without the program's name), does what it says, reports what is wrong. Gives the exit code. Once
  // only: the options keep what they took.
  int run(const std::vector<std::string>& line);

  // For help_text.cpp, and for tests that walk over everything there is.
  const std::string& name() const { return name_; }
  std::string full_name() const;  // "cachalot cache ls"
  const std::string& summary() const { return summary_; }
  const Command* above() const { return above_; }
  const std::vector<std::unique_ptr<Command>>& commands() const { return commands_; }
  const std::vector<std::unique_ptr<OptionGroup>>& groups() const { return groups_; }
  const OptionGroup& placed() const { return arguments_; }
  const std::string& shown_notes() const { return notes_; }
  const std::vector<std::string>& shown_examples() const { return examples_; }

 private:
  friend class LineReader;
  Expected<int> do_line(const std::vector<std::string>& line);

  std::string name_, summary_, notes_;
  const Command* above_ = nullptr;
  std::vector<std::unique_ptr<Command>> commands_;
  std::vector<std::unique_ptr<OptionGroup>> groups_;
  OptionGroup arguments_{"Arguments"};
  std::vector<std::string> examples_;
  std::function<void()> before_;
  std::function<Expected<int>()> work_;
};

}  // namespace cachalot
