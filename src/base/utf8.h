// SPDX-License-Identifier: Apache-2.0
// UTF-8 one character at a time, and bytes to text as a stream (spec: tokenizer.md 3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/expected.h"

namespace cachalot {

enum class Utf8Kind : std::uint8_t {
  good,  // a character
  bad,   // ill-formed: `bytes` is the length of the maximal part that one U+FFFD stands for
  cut,   // all of the input is the beginning of a character
};

struct Utf8Char {
  Utf8Kind kind;
  std::uint8_t bytes;
  char32_t code;  // 0 unless good
};

// Reads the first character. `text` must not be empty.
Utf8Char read_utf8(std::string_view text);

// `code` must be a Unicode scalar value.
void append_utf8(std::string& out, char32_t code);

// Error (Errc::format) with the offset of the first byte that is not UTF-8. `what` names the text.
Status expect_utf8(std::string_view text, std::string_view what);

// Bytes that come in parts to text: each maximal ill-formed part becomes one U+FFFD, as soon as it is certain (the
// first two bytes of a surrogate wait for the third). At most three bytes wait for the next push.
class Utf8Stream {
 public:
  void push(std::string_view bytes, std::string& out);
  void finish(std::string& out);  // what still waits becomes U+FFFD; the stream is as new

 private:
  std::string waiting_;
};

}  // namespace cachalot
