// SPDX-License-Identifier: Apache-2.0
#include "base/shown_text.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/utf8.h"

namespace cachalot {
namespace {

enum class Where { text, line };

bool is_between(char32_t code, char32_t first, char32_t last) { return code >= first && code <= last; }

// Also what is not seen but changes what is seen, or carries what nobody sees: the controls of Unicode's bidirectional
// algorithm, the tags of plane 14; in a line also spaces of no width, and what ends a line.
bool is_seen(char32_t code, Where where) {
  if (code < 0x20) return where == Where::text && (code == '\n' || code == '\t');
  if (is_between(code, 0x7F, 0x9F)) return false;
  if (is_between(code, 0x202A, 0x202E) || is_between(code, 0x2066, 0x2069) || is_between(code, 0xE0000, 0xE007F))
    return false;
  if (where == Where::text) return true;
  return !(code == 0xAD || code == 0x61C || code == 0x180E || is_between(code, 0x200B, 0x200F) ||
           is_between(code, 0x2028, 0x2029) || is_between(code, 0x2060, 0x2065) || code == 0xFEFF ||
           is_between(code, 0xFFF9, 0xFFFB));
}

void append_escape(std::string& out, char32_t code) {
  const auto number = static_cast<std::uint32_t>(code);
  if (number < 0x80) {
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", number);
  } else if (number < 0x10000) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", number);
  } else {
    fmt::format_to(std::back_inserter(out), "\\U{:08x}", number);
  }
}

// `text` must not be empty. Bytes that are no UTF-8 are escaped one by one, so that each can be told.
std::size_t append_first(std::string& out, std::string_view text, Where where) {
  const Utf8Char c = read_utf8(text);
  if (c.kind != Utf8Kind::good) {
    for (const char byte : text.substr(0, c.bytes))
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(byte));
  } else if (is_seen(c.code, where)) {
    out += text.substr(0, c.bytes);
  } else {
    append_escape(out, c.code);
  }
  return c.bytes;
}

std::string visible(std::string_view text, Where where) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) text.remove_prefix(append_first(out, text, where));
  return out;
}

// The nearest place at or before `at` where a character begins, so that none is cut in two.
std::size_t start_of_char(std::string_view text, std::size_t at) {
  for (std::size_t back = 0; back < 4 && back <= at; ++back) {
    if ((static_cast<unsigned char>(text[at - back]) & 0xC0) != 0x80) return at - back;
  }
  return at;  // no UTF-8
}

}  // namespace

std::string visible_text(std::string_view text) { return visible(text, Where::text); }
std::string visible_line(std::string_view text) { return visible(text, Where::line); }

std::string VisibleStream::push(std::string_view bytes) {
  waiting_ += bytes;
  std::string out;
  std::string_view rest = waiting_;
  while (!rest.empty() && read_utf8(rest).kind != Utf8Kind::cut)
    rest.remove_prefix(append_first(out, rest, Where::text));
  waiting_.erase(0, waiting_.size() - rest.size());
  return out;
}

std::string VisibleStream::finish() {
  const std::string out = visible_text(waiting_);
  waiting_.clear();
  return out;
}

ShownText::Cut ShownText::cut_line(std::string_view text, std::size_t most, std::size_t head) {
  // Before it is made visible, so that the work does not grow with a text of megabytes; and after, as escapes are long.
  const auto cut = [&](std::string_view whole) {
    constexpr std::size_t words = 40;  // how much " [… N bytes more …] " takes
    const std::size_t first = start_of_char(whole, head);
    const std::size_t last = start_of_char(whole, whole.size() - (most - head - words));
    return fmt::format("{} [… {} bytes more …] {}", visible_line(whole.substr(0, first)), last - first,
                       visible_line(whole.substr(last)));
  };
  if (text.size() > most) return {cut(text)};
  return {visible_line(text)};
}

ShownText shown_text(std::string_view foreign) { return ShownText(ShownText::cut_line(foreign, 300, 180)); }
ShownText shown_name(std::string_view foreign) { return ShownText(ShownText::cut_line(foreign, 120, 50)); }

ShownText made_message(fmt::string_view format, fmt::format_args args) { return fmt::vformat(format, args); }

}  // namespace cachalot

fmt::format_context::iterator fmt::formatter<cachalot::Quoted>::format(const cachalot::Quoted& quoted,
                                                                       fmt::format_context& context) const {
  const std::string_view mark = marks_ ? "\"" : "";
  return fmt::format_to(context.out(), "{}{}{}", mark, std::string_view(cachalot::shown_text(quoted.text)), mark);
}
