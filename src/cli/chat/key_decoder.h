// SPDX-License-Identifier: Apache-2.0
// The bytes that a terminal sends, as keys: UTF-8, the sequences of cursor keys, and pasted text, which a terminal puts
// between marks where it is asked to (bracketed paste).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cachalot {

// The character of Ctrl-C, where it is no signal.
inline constexpr char ctrl_c = '\x03';

// A sequence behind ESC, and what libedit does at it. Others that a terminal may send are dropped as a whole, so that
// no tail of one is taken for text: what ~/.editrc binds to them is not reached.
struct KeySequence {
  const char* sequence;
  const char* action;
};
std::span<const KeySequence> key_sequences();

// Written to a terminal, they turn the marks around pasted text on and off.
inline constexpr std::string_view paste_marks_on = "\x1b[?2004h", paste_marks_off = "\x1b[?2004l";

class KeyDecoder {
 public:
  struct Key {
    char32_t character = 0;  // none where something was pasted
    std::string pasted{};    // UTF-8; lines end in LF, and the last one has no end; may be empty
  };

  void push(std::string_view bytes) { bytes_ += bytes; }
  // The next key; nothing while the bytes that are there may be the beginning of one. ESC alone is such. Ctrl-C leaves
  // a paste whose end does not come.
  std::optional<Key> next();

  void clear() { *this = {}; }

 private:
  std::optional<Key> end_of_paste();
  // The length of the sequence at the front; nothing where it has no end yet.
  std::optional<std::size_t> sequence_length() const;
  void drop(std::size_t bytes) { at_ += bytes; }
  std::string_view rest() const { return std::string_view(bytes_).substr(at_); }

  std::string bytes_;
  std::size_t at_ = 0;      // before this, all is read
  std::size_t passed_ = 0;  // bytes of a sequence that are passed on as they are
  bool pasting_ = false;
  std::size_t scan_ = 0;  // of what is pasted, how much is known not to hold the mark
};

}  // namespace cachalot
