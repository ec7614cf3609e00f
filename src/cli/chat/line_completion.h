// SPDX-License-Identifier: Apache-2.0
// What Tab adds to a line of a conversation: the rest of a command's name, of its argument, or of a file's name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cachalot {

struct LineCompletion {
  std::string insert{};                // may be empty
  std::vector<std::string> choices{};  // where nothing can be inserted, what there is to choose from
};

struct CommandWords {
  std::string_view name;
  std::string_view argument;  // "FILE"; words with | between; else anything
};

// `before` is the line up to the cursor. Only lines that begin with a slash are completed.
LineCompletion complete_command(std::string_view before, std::span<const CommandWords> commands);

}  // namespace cachalot
