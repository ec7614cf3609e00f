// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "cli/command_line/option_checks.h"

namespace cachalot {

Option::Option(Kind kind, std::string_view names, std::string_view help) : kind_(kind), help_(help) {
  const std::size_t comma = names.find(',');
  if (comma != names.npos) short_name_ = names.substr(0, comma);
  long_name_ = names.substr(comma == names.npos ? 0 : comma + 1);
}

Option& Option::placeholder(std::string what) {
  placeholder_ = std::move(what);
  return *this;
}

Option& Option::check(TextCheck what_is_wrong) {
  checks_.push_back(std::move(what_is_wrong));
  return *this;
}

Option& Option::not_empty() {
  return check([](const std::string& text) { return text.empty() ? "an empty text is given" : std::string(); });
}

Option& Option::with_default() {
  shown_default_ = initial_;
  return *this;
}

Option& Option::environment(const char* variable) {
  variable_ = variable;
  return *this;
}

Option& Option::required() {
  required_ = true;
  return *this;
}

Option& Option::needs(const Option& other) {
  needs_.push_back(&other);
  return *this;
}

Option& Option::excludes(const Option& other) {
  excludes_.push_back(&other);
  return *this;
}

Status Option::take(std::string_view written, const std::string& value) {
  if (kind_ == Kind::value && given()) return fail(Errc::usage, "{} is given twice", written);
  ++times_;
  for (const TextCheck& check : checks_) {
    if (const std::string wrong = check(value); !wrong.empty()) return fail(Errc::usage, "{}: {}", written, wrong);
  }
  if (set_) set_(value);
  return {};
}

Status Option::take_environment() {
  const char* value = variable_ == nullptr || given() ? nullptr : std::getenv(variable_);
  if (value == nullptr || *value == '\0') return {};
  const Status taken = take(fmt::format("{} (which stands for {})", variable_, long_name_), value);
  times_ = 0;
  return taken;
}

Status Option::check_others() const {
  if (!given()) return required_ ? fail(Errc::usage, "{} must be given", long_name_) : Status();
  for (const Option* other : needs_) {
    if (!other->given()) return fail(Errc::usage, "{} works with {} only", long_name_, other->name());
  }
  for (const Option* other : excludes_) {
    if (other->given()) return fail(Errc::usage, "{} and {} do not go together", long_name_, other->name());
  }
  return {};
}

Option& OptionGroup::add(Option::Kind kind, std::string_view names, std::string_view help) {
  return *options_.emplace_back(std::make_unique<Option>(kind, names, help));
}

Option& OptionGroup::flag(std::string_view names, bool& value, std::string_view help) {
  Option& option = add(Option::Kind::flag, names, help);
  option.set_ = [&value](const std::string&) { value = true; };
  return option;
}

Option& OptionGroup::action(std::string_view names, std::string_view help, std::function<void()> act) {
  Option& option = add(Option::Kind::action, names, help);
  option.action_ = std::move(act);
  return option;
}

Option& OptionGroup::text(std::string_view names, std::string& value, std::string_view help) {
  Option& option = add(Option::Kind::value, names, help);
  option.placeholder("TEXT");
  option.initial_ = value;
  option.set_ = [&value](const std::string& text) { value = text; };
  return option;
}

Option& OptionGroup::text(std::string_view names, std::optional<std::string>& value, std::string_view help) {
  Option& option = add(Option::Kind::value, names, help);
  option.placeholder("TEXT");
  option.set_ = [&value](const std::string& text) { value = text; };
  return option;
}

Option& OptionGroup::path(std::string_view names, std::filesystem::path& value, std::string_view help) {
  Option& option = add(Option::Kind::value, names, help);
  option.set_ = [&value](const std::string& text) { value = text; };
  return option.placeholder("PATH").not_empty();
}

Option& OptionGroup::texts(std::string_view names, std::vector<std::string>& values, std::string_view help) {
  Option& option = add(Option::Kind::values, names, help);
  option.placeholder("TEXT");
  option.set_ = [&values](const std::string& text) { values.push_back(text); };
  return option;
}

Option& OptionGroup::choice(std::string_view names, std::string& value, const std::vector<std::string>& among,
                            std::string_view help) {
  Option& option = text(names, value, help);
  option.placeholder_ = fmt::format("{}", fmt::join(among, "|"));
  return option.check([among](const std::string& given) {
    return std::ranges::find(among, given) != among.end()
               ? std::string()
               : fmt::format("{:?} is none of {}", given, fmt::join(among, ", "));
  });
}

Option& OptionGroup::number(std::string_view names, double& value, double least, double most, std::string_view help,
                            Least border) {
  Option& option = add(Option::Kind::value, names, help);
  option.placeholder("X");
  option.initial_ = fmt::format("{}", value);
  option.check([=](const std::string& text) {
    const auto number = parse_real_number(text, least, most, border);
    return number ? std::string() : std::string(number.error().message);
  });
  option.set_ = [=, &value](const std::string& text) { value = *parse_real_number(text, least, most, border); };
  return option;
}

Option& OptionGroup::whole_number(std::string_view names, std::string initial, std::uint64_t least, std::uint64_t most,
                                  std::string_view help, std::function<void(std::uint64_t)> set) {
  Option& option = add(Option::Kind::value, names, help);
  option.placeholder("N");
  option.initial_ = std::move(initial);
  option.check([=](const std::string& text) {
    const auto number = parse_whole_number(text, least, most);
    return number ? std::string() : std::string(number.error().message);
  });
  option.set_ = [=](const std::string& text) { set(*parse_whole_number(text, least, most)); };
  return option;
}

Command::Command(std::string_view name, std::string_view summary) : name_(name), summary_(summary) {}

Command& Command::add_command(std::string_view name, std::string_view summary) {
  Command& command = *commands_.emplace_back(std::make_unique<Command>(name, summary));
  command.above_ = this;
  return command;
}

OptionGroup& Command::group(std::string_view heading) {
  const auto there = std::ranges::find_if(groups_, [&](const auto& group) { return group->heading() == heading; });
  if (there != groups_.end()) return **there;
  return *groups_.emplace_back(std::make_unique<OptionGroup>(heading));
}

Option& Command::argument(std::string_view name, std::string& value, std::string_view help) {
  return arguments_.text(name, value, help);
}

Option& Command::argument(std::string_view name, std::optional<std::string>& value, std::string_view help) {
  return arguments_.text(name, value, help);
}

Option& Command::arguments(std::string_view name, std::vector<std::string>& values, std::string_view help) {
  return arguments_.texts(name, values, help);
}

void Command::notes(std::string_view paragraphs) { notes_ = paragraphs; }
void Command::examples(std::vector<std::string> lines) { examples_ = std::move(lines); }
void Command::before(std::function<void()> prepare) { before_ = std::move(prepare); }
void Command::runs(std::function<Expected<int>()> work) { work_ = std::move(work); }

Option* Command::find(std::string_view name) const {
  const auto in = [&](const OptionGroup& group) -> Option* {
    for (const auto& option : group.options()) {
      if (option->name() == name || (!option->short_name().empty() && option->short_name() == name))
        return option.get();
    }
    return nullptr;
  };
  for (const auto& group : groups_) {
    if (Option* option = in(*group)) return option;
  }
  return in(arguments_);
}

std::string Command::full_name() const { return above_ == nullptr ? name_ : above_->full_name() + " " + name_; }

}  // namespace cachalot
