// SPDX-License-Identifier: Apache-2.0
#include "engine/stop_strings.h"

#include <algorithm>

#include "base/utf8.h"

namespace cachalot {
namespace {

std::vector<std::size_t> borders(std::string_view text) {
  std::vector<std::size_t> border(text.size() + 1, 0);
  for (std::size_t n = 1, b = 0; n < text.size(); ++n) {
    while (b > 0 && text[n] != text[b]) b = border[b];
    if (text[n] == text[b]) ++b;
    border[n + 1] = b;
  }
  return border;
}

}  // namespace

StopStrings::StopStrings(std::span<const std::string> strings) {
  for (const std::string& s : strings) patterns_.push_back({s, borders(s)});
}

std::string StopStrings::push(std::string_view piece, bool may_stop) {
  if (found_) return {};
  if (patterns_.empty()) return std::string(piece);
  held_ += piece;
  const std::size_t before = held_.size() - piece.size();
  std::size_t waiting = 0;  // bytes at the end that may become a stop string
  for (std::size_t i = 0; i < piece.size(); ++i) {
    std::size_t longest = 0;
    waiting = 0;
    for (std::size_t k = 0; k < patterns_.size(); ++k) {
      Pattern& p = patterns_[k];
      if (p.matched == p.text.size()) p.matched = p.border[p.matched];
      while (p.matched > 0 && p.text[p.matched] != piece[i]) p.matched = p.border[p.matched];
      if (p.text[p.matched] == piece[i]) ++p.matched;
      if (p.matched < p.text.size()) {
        waiting = std::max(waiting, p.matched);
      } else if (may_stop && p.matched > longest) {
        longest = p.matched;
        found_ = k;
      } else {
        waiting = std::max(waiting, p.border[p.matched]);
      }
    }
    if (!found_) continue;
    std::string text = held_.substr(0, before + i + 1 - longest);
    held_.clear();
    return text;
  }
  if (piece.empty()) return {};
  std::string text = held_.substr(0, held_.size() - waiting);
  held_.erase(0, text.size());
  return text;
}

std::string StopStrings::finish() {
  if (found_) return {};
  for (Pattern& p : patterns_) p.matched = 0;
  return std::exchange(held_, {});
}

Status check_stop_strings(std::span<const std::string> strings) {
  for (std::size_t i = 0; i < strings.size(); ++i) {
    if (strings[i].empty()) return fail(Errc::usage, "a stop string is empty: it would end every text at its start");
    if (Status good = expect_utf8(strings[i], fmt::format("stop string {}", i + 1)); !good) {
      return fail(Errc::usage, "{}", good.error().message);
    }
  }
  return {};
}

}  // namespace cachalot
