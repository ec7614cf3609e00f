// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

namespace cachalot {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

// Of a first byte: how many bytes the character has (0: none starts so) and what the second byte may be. Those limits
// alone exclude overlong forms, surrogates and codes above U+10FFFF (the Unicode standard, table 3-7).
struct Lead {
  std::uint8_t bytes, low, high;
};

constexpr Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte < 0xF0)
    return {3, byte == 0xE0 ? std::uint8_t{0xA0} : std::uint8_t{0x80},
            byte == 0xED ? std::uint8_t{0x9F} : std::uint8_t{0xBF}};
  if (byte < 0xF5)
    return {4, byte == 0xF0 ? std::uint8_t{0x90} : std::uint8_t{0x80},
            byte == 0xF4 ? std::uint8_t{0x8F} : std::uint8_t{0xBF}};
  return {0, 0, 0};
}

// The beginning of a surrogate, which UTF-8 does not have. The reference's incremental decoder lets it wait for its
// third byte, unlike other impossible beginnings; the pieces that clients see shall be the same.
bool is_open_surrogate(std::string_view text) {
  return text.size() == 2 && text[0] == '\xED' && static_cast<unsigned char>(text[1]) >= 0xA0 &&
         static_cast<unsigned char>(text[1]) <= 0xBF;
}

}  // namespace

Utf8Char read_utf8(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const Lead lead = lead_of(first);
  if (lead.bytes == 1) return {Utf8Kind::good, 1, first};
  if (lead.bytes == 0) return {Utf8Kind::bad, 1, 0};
  char32_t code = first & (0x7Fu >> lead.bytes);
  for (std::uint8_t i = 1; i < lead.bytes; ++i) {
    if (i == text.size()) return {Utf8Kind::cut, i, 0};
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool fits = i == 1 ? byte >= lead.low && byte <= lead.high : (byte & 0xC0) == 0x80;
    if (!fits) return {Utf8Kind::bad, i, 0};
    code = code << 6 | (byte & 0x3F);
  }
  return {Utf8Kind::good, lead.bytes, code};
}

void append_utf8(std::string& out, char32_t code) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

Status expect_utf8(std::string_view text, std::string_view what) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = read_utf8(text.substr(at));
    if (c.kind != Utf8Kind::good) {
      return fail(Errc::format, "{}: byte {} (0x{:02x}) is not UTF-8", what, at, static_cast<unsigned char>(text[at]));
    }
    at += c.bytes;
  }
  return {};
}

void Utf8Stream::push(std::string_view bytes, std::string& out) {
  waiting_ += bytes;
  std::string_view rest = waiting_;
  while (!rest.empty()) {
    const Utf8Char c = read_utf8(rest);
    if (c.kind == Utf8Kind::cut || is_open_surrogate(rest)) break;
    out += c.kind == Utf8Kind::good ? rest.substr(0, c.bytes) : replacement;
    rest.remove_prefix(c.bytes);
  }
  waiting_.erase(0, waiting_.size() - rest.size());
}

void Utf8Stream::finish(std::string& out) {
  for (std::string_view rest = waiting_; !rest.empty(); rest.remove_prefix(read_utf8(rest).bytes)) out += replacement;
  waiting_.clear();
}

}  // namespace cachalot
