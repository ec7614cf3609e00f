// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/pretokenizer.h"

#include "base/utf8.h"
#include "tokenizer/char_class.h"

namespace cachalot {
namespace {

struct Char {
  char32_t code;
  CharClass kind;
  std::size_t end;  // offset behind it
};

// The end of a piece reads as U+0000 of class other, which no pattern takes and no loop steps over.
Char at(std::string_view piece, std::size_t pos) {
  if (pos == piece.size()) return {0, CharClass::other, pos};
  const Utf8Char c = read_utf8(piece.substr(pos));
  return {c.code, char_class(c.code), pos + c.bytes};
}

bool in_word(const Char& c) { return c.kind == CharClass::letter || c.kind == CharClass::mark; }
bool is_sign(const Char& c) { return c.kind == CharClass::punctuation || c.kind == CharClass::symbol; }
bool is_break(const Char& c) { return c.code == '\r' || c.code == '\n'; }
bool is_ascii_letter(const Char& c) { return c.code < 0x80 && c.kind == CharClass::letter; }
bool is_ascii_sign(const Char& c) { return c.code < 0x80 && is_sign(c); }

template <class Test>
std::size_t skip(std::string_view piece, std::size_t pos, Test test) {
  for (Char c = at(piece, pos); test(c); c = at(piece, pos)) pos = c.end;
  return pos;
}

// Alternatives d, e and f, where a run of white space starts at `pos`.
std::size_t match_space(std::string_view piece, std::size_t pos) {
  std::size_t end = pos, last = pos, after_break = pos;
  for (Char c = at(piece, pos); c.kind == CharClass::space; c = at(piece, end)) {
    last = end;
    end = c.end;
    if (is_break(c)) after_break = end;
  }
  if (after_break > pos) return after_break;          // d
  if (end < piece.size() && last > pos) return last;  // e leaves one for what follows
  return end;                                         // e at the end of the piece, else f
}

// The end of the third pattern's match at `pos`; `pos` itself where nothing matches.
std::size_t match(std::string_view piece, std::size_t pos) {
  const Char c = at(piece, pos);
  const Char next = at(piece, c.end);
  if (is_ascii_sign(c) && is_ascii_letter(next)) return skip(piece, next.end, is_ascii_letter);  // a
  if (in_word(c)) return skip(piece, c.end, in_word);                                            // b
  if (in_word(next) && !is_sign(c) && !is_break(c)) return skip(piece, next.end, in_word);       // b
  if (is_sign(c) || (c.code == ' ' && is_sign(next))) {                                          // c
    return skip(piece, skip(piece, c.end, is_sign), is_break);
  }
  return c.kind == CharClass::space ? match_space(piece, pos) : pos;
}

void split_words(std::string_view piece, std::vector<std::string_view>& out) {
  std::size_t done = 0, pos = 0;
  const auto cut = [&](std::size_t end) {
    if (end > done) out.push_back(piece.substr(done, end - done));
    done = end;
  };
  while (pos < piece.size()) {
    const std::size_t end = match(piece, pos);
    if (end > pos) {
      cut(pos);  // what matched nothing before
      cut(end);
      pos = end;
    } else {
      pos = at(piece, pos).end;
    }
  }
  cut(pos);
}

void split_digits(std::string_view piece, std::vector<std::string_view>& out) {
  while (!piece.empty()) {
    std::size_t end = 0;
    for (int digits = 0; digits < 3 && end < piece.size(); ++digits) end = at(piece, end).end;
    out.push_back(piece.substr(0, end));
    piece.remove_prefix(end);
  }
}

enum class Stretch { digits, cjk, rest };

// What the first two patterns take.
Stretch stretch_of(const Char& c) {
  if (c.kind == CharClass::number) return Stretch::digits;
  const bool cjk = (c.code >= 0x4E00 && c.code <= 0x9FA5) || (c.code >= 0x3040 && c.code <= 0x30FF);
  return cjk ? Stretch::cjk : Stretch::rest;
}

}  // namespace

std::vector<std::string_view> split_pretokens(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    const Stretch stretch = stretch_of(at(text, begin));
    while (end < text.size()) {
      const Char c = at(text, end);
      if (stretch_of(c) != stretch) break;
      end = c.end;
    }
    const std::string_view piece = text.substr(begin, end - begin);
    if (stretch == Stretch::digits) {
      split_digits(piece, out);
    } else {
      split_words(piece, out);
    }
  }
  return out;
}

}  // namespace cachalot
