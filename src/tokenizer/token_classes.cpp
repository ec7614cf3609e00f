// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/token_classes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/seeded_hash.h"
#include "base/utf8.h"
#include "tokenizer/char_class.h"
#include "tokenizer/fold_table.h"

namespace cachalot {
namespace {

bool is_blank(char32_t code) { return code == ' ' || code == '\t' || code == '\r' || code == '\n'; }

// Hangul syllables are leading consonant, vowel and perhaps a trailing consonant, by arithmetic (Unicode 3.12).
bool append_hangul(std::u32string& out, char32_t code) {
  constexpr char32_t vowels = 21, trails = 28, syllables = 19 * vowels * trails;
  if (code < 0xAC00 || code >= 0xAC00 + syllables) return false;
  const char32_t index = code - 0xAC00;
  out += 0x1100 + index / (vowels * trails);
  out += 0x1161 + index / trails % vowels;
  if (index % trails != 0) out += 0x11A7 + index % trails;
  return true;
}

// NFKC, NFD, no marks, lower case: all of it acts on one character at a time once the marks are gone.
void append_folded(std::u32string& out, char32_t code) {
  if (char_class(code) == CharClass::mark || append_hangul(out, code)) return;
  const FoldTable table = fold_table();
  if (const auto text = std::ranges::lower_bound(table.texts, code, {}, &FoldText::from);
      text != table.texts.end() && text->from == code) {
    out += table.letters.substr(text->at, text->size);
    return;
  }
  const auto after = std::ranges::upper_bound(table.runs, code, {}, &FoldRun::first);
  if (after != table.runs.begin()) {
    const FoldRun& run = *std::prev(after);
    const char32_t steps = (code - run.first) / run.step;
    if (steps < run.count && (code - run.first) % run.step == 0)
      code = static_cast<char32_t>(static_cast<std::int32_t>(code) + run.distance);
  }
  out += code;
}

// Each run of blanks becomes one space.
std::u32string join_blanks(const std::u32string& text) {
  std::u32string out;
  for (const char32_t code : text) {
    if (!is_blank(code)) {
      out += code;
    } else if (out.empty() || out.back() != ' ') {
      out += ' ';
    }
  }
  return out;
}

std::u32string_view trim(std::u32string_view text) {
  const auto is_space = [](char32_t code) { return char_class(code) == CharClass::space; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// The key of a token whose text is valid and holds no U+FFFD.
std::string folded_key(std::string_view text) {
  std::u32string folded;
  for (std::string_view rest = text; !rest.empty();) {
    const Utf8Char c = read_utf8(rest);
    append_folded(folded, c.code);
    rest.remove_prefix(c.bytes);
  }
  folded = join_blanks(folded);
  const std::u32string_view kept = folded == U" " ? folded : trim(folded);
  std::string key;
  for (const char32_t code : kept) append_utf8(key, code);
  return key.empty() ? std::string(text) : key;
}

}  // namespace

TokenClasses token_classes(const Tokenizer& tokenizer) {
  TokenClasses result{.class_of = {}, .classes = 0};
  HashMap<std::string, std::int32_t> class_of_key;  // folded texts and raw spellings share it
  for (std::int32_t i = 0; i < tokenizer.vocab_size(); ++i) {
    const std::array id = {TokenId{i}};
    const auto text = tokenizer.decode(id, SpecialTokens::keep);
    check(text.has_value(), "ids below vocab_size decode");
    const bool partial = text->find("\xEF\xBF\xBD") != std::string::npos;  // U+FFFD: part of a character, or itself
    std::string key = partial ? std::string(tokenizer.spelling(id[0])) : folded_key(*text);
    const auto next = static_cast<std::int32_t>(class_of_key.size());
    result.class_of.push_back(class_of_key.try_emplace(std::move(key), next).first->second);
  }
  result.classes = static_cast<std::int64_t>(class_of_key.size());
  return result;
}

}  // namespace cachalot
