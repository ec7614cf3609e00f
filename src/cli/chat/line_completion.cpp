// SPDX-License-Identifier: Apache-2.0
#include "cli/chat/line_completion.h"

#include <algorithm>
#include <filesystem>

namespace cachalot {
namespace {

// Of all that begin as `begun`, what they have in common behind it. `end` is added to the only one.
LineCompletion complete_from(std::string_view begun, std::vector<std::string> all, std::string_view end) {
  std::erase_if(all, [&](const std::string& word) { return !word.starts_with(begun); });
  std::ranges::sort(all);
  if (all.empty()) return {};
  if (all.size() == 1) {
    const bool goes_on = all[0].ends_with('/');
    return {.insert = all[0].substr(begun.size()) + std::string(goes_on ? "" : end)};
  }
  std::size_t common = begun.size();
  const auto same = [&](const std::string& word) { return word.size() > common && word[common] == all[0][common]; };
  while (common < all[0].size() && std::ranges::all_of(all, same)) ++common;
  while (common > begun.size() && common < all[0].size() && (all[0][common] & 0xC0) == 0x80) --common;  // a character
  if (common > begun.size()) return {.insert = all[0].substr(begun.size(), common - begun.size())};
  return {.choices = std::move(all)};
}

// Names in the folder that `path` is in; of folders, with a slash behind. Hidden ones only where a dot was typed.
LineCompletion complete_file(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view begun = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const std::filesystem::path folder = slash == std::string_view::npos ? "." : std::string(path.substr(0, slash + 1));
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name.starts_with('.') && !begun.starts_with('.')) continue;
    std::error_code unknown;
    if (it->is_directory(unknown)) name += '/';
    names.push_back(std::move(name));
  }
  return complete_from(begun, std::move(names), "");
}

std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find('|'), list.size());
    const std::string_view word = list.substr(0, end);
    if (word.find("..") == std::string_view::npos) words.emplace_back(word);  // a range is no word
    list.remove_prefix(std::min(list.size(), end + 1));
  }
  return words;
}

}  // namespace

LineCompletion complete_command(std::string_view before, std::span<const CommandWords> commands) {
  if (!before.starts_with('/') || before.starts_with("//") || before.find('\n') != std::string_view::npos) return {};
  before.remove_prefix(1);
  const std::size_t space = before.find(' ');
  if (space == std::string_view::npos) {
    std::vector<std::string> names;
    bool takes_more = false;
    for (const CommandWords& c : commands) {
      names.emplace_back(c.name);
      takes_more = takes_more || (c.name.starts_with(before) && !c.argument.empty());
    }
    return complete_from(before, std::move(names), takes_more ? " " : "");
  }
  const auto command = std::ranges::find(commands, before.substr(0, space), &CommandWords::name);
  if (command == commands.end()) return {};
  std::string_view argument = before.substr(space);
  argument.remove_prefix(std::min(argument.find_first_not_of(' '), argument.size()));
  if (command->argument == "FILE") return complete_file(argument);
  if (command->argument.find('|') == std::string_view::npos) return {};
  return complete_from(argument, words_of(command->argument), "");
}

}  // namespace cachalot
