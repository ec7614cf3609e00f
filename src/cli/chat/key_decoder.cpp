// SPDX-License-Identifier: Apache-2.0
#include "cli/chat/key_decoder.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace cachalot {
namespace {

constexpr char escape = '\x1b';
constexpr std::string_view paste_begins = "\x1b[200~", paste_ends = "\x1b[201~";

constexpr std::array<KeySequence, 26> sequences = {{
    {"[A", "ed-prev-history"},        {"[B", "ed-next-history"}, {"[C", "ed-next-char"},    {"[D", "ed-prev-char"},
    {"[H", "ed-move-to-beg"},         {"[F", "ed-move-to-end"},  {"OA", "ed-prev-history"}, {"OB", "ed-next-history"},
    {"OC", "ed-next-char"},           {"OD", "ed-prev-char"},    {"OH", "ed-move-to-beg"},  {"OF", "ed-move-to-end"},
    {"[1~", "ed-move-to-beg"},        {"[7~", "ed-move-to-beg"}, {"[4~", "ed-move-to-end"}, {"[8~", "ed-move-to-end"},
    {"[3~", "ed-delete-next-char"},   {"[1;5C", "em-next-word"}, {"[1;5D", "ed-prev-word"},  // Ctrl and an arrow
    {"[1;3C", "em-next-word"},        {"[1;3D", "ed-prev-word"},                             // Alt
    {"[5C", "em-next-word"},          {"[5D", "ed-prev-word"},                               // Ctrl on older terminals
    {"Oc", "em-next-word"},           {"Od", "ed-prev-word"},                                // and on rxvt
    {"[3;5~", "em-delete-next-word"},                                                        // Ctrl and Delete
}};

bool in(char c, char first, char last) { return c >= first && c <= last; }

// As a person would have typed it.
std::string lines_of(std::string_view pasted) {
  std::string text;
  for (std::size_t i = 0; i < pasted.size(); ++i) {
    const char c = pasted[i];
    if (c == '\r') {
      text += '\n';
      if (i + 1 < pasted.size() && pasted[i + 1] == '\n') ++i;
    } else if (c != '\0') {
      text += c;
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  std::string valid;
  Utf8Stream stream;
  stream.push(text, valid);
  stream.finish(valid);
  return valid;
}

}  // namespace

std::span<const KeySequence> key_sequences() { return sequences; }

// A sequence as ECMA-48 has it: ESC [, parameters, and a letter that ends it. The Linux console's F1 is ESC [ [ A.
std::optional<std::size_t> KeyDecoder::sequence_length() const {
  const std::string_view text = rest();
  if (text.size() < 2) return {};
  if (text[1] == 'O') return text.size() < 3 ? std::nullopt : std::optional<std::size_t>(3);
  std::size_t end = 2;
  while (end < text.size() && in(text[end], ' ', '?')) ++end;
  if (end < text.size() && end == 2 && text[end] == '[') ++end;
  if (end == text.size()) return {};
  return in(text[end], '@', '~') ? end + 1 : end;  // else it is broken: what comes is a key of its own
}

std::optional<KeyDecoder::Key> KeyDecoder::end_of_paste() {
  const std::string_view text = rest();
  const std::size_t end = text.find(paste_ends, scan_);
  if (const std::size_t left = text.find(ctrl_c, scan_); left < end) {
    drop(left);
    pasting_ = false;
    return next();
  }
  if (end == std::string_view::npos) {
    scan_ = text.size() - std::min(text.size(), paste_ends.size() - 1);
    return {};
  }
  Key key{.pasted = lines_of(text.substr(0, end))};
  drop(end + paste_ends.size());
  pasting_ = false;
  return key;
}

std::optional<KeyDecoder::Key> KeyDecoder::next() {
  while (true) {
    if (at_ > 0 && at_ >= bytes_.size() / 2) {
      bytes_.erase(0, at_);
      at_ = 0;
    }
    if (pasting_) return end_of_paste();
    const std::string_view text = rest();
    if (text.empty()) return {};
    if (passed_ > 0) {
      --passed_;
      drop(1);
      return Key{static_cast<unsigned char>(text[0])};
    }
    if (text[0] != escape) break;
    if (text.size() < 2) return {};
    if (text[1] != '[' && text[1] != 'O') {  // Meta and a key
      passed_ = 1;
      continue;
    }
    const auto length = sequence_length();
    if (!length) return {};
    const std::string_view sequence = text.substr(0, *length);
    if (sequence == paste_begins) {
      pasting_ = true;
      scan_ = 0;
      drop(*length);
    } else if (std::ranges::find(sequences, sequence.substr(1), [](const KeySequence& s) {
                 return std::string_view(s.sequence);
               }) != sequences.end()) {
      passed_ = *length;
    } else {
      drop(*length);
    }
  }
  const Utf8Char c = read_utf8(rest());
  if (c.kind == Utf8Kind::cut) return {};
  drop(c.bytes);
  return Key{c.kind == Utf8Kind::good ? c.code : U'\uFFFD'};
}

}  // namespace cachalot
