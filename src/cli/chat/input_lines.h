// SPDX-License-Identifier: Apache-2.0
// Standard input line by line, where no person types it: an interrupt ends the wait for a line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/expected.h"

namespace cachalot {

class InputLines {
 public:
  // A longer line is refused: it is no text that anybody says.
  static constexpr std::size_t longest = std::size_t{64} << 20;

  explicit InputLines(int descriptor) : descriptor_(descriptor) {}

  // Without its LF; nothing at the end of input, or once the program was interrupted (terminal.h). Error: Errc::io,
  // Errc::range.
  Expected<std::optional<std::string>> next();

 private:
  Expected<bool> read_more();

  int descriptor_;
  std::string bytes_;
  std::size_t scan_ = 0;  // before this there is no LF
  bool over_ = false;
};

}  // namespace cachalot
