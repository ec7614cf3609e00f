// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat/tag_syntax.h"

#include "base/json.h"
#include "base/utf8.h"
#include "tokenizer/char_class.h"

namespace cachalot {
namespace {

constexpr std::string_view name_opener = "name=\"";

// What follows name=" in a tag that begins with it.
std::optional<std::string_view> after_name_opener(std::string_view text) {
  text.remove_prefix(leading_white_space(text));
  if (!text.starts_with(name_opener)) return std::nullopt;
  return text.substr(name_opener.size());
}

}  // namespace

std::size_t leading_white_space(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Utf8Char c = read_utf8(text.substr(at));
    if (c.kind != Utf8Kind::good || char_class(c.code) != CharClass::space) break;
    at += c.bytes;
  }
  return at;
}

std::optional<std::string_view> invoke_name(std::string_view head) {
  auto name = after_name_opener(head);
  if (!name) return std::nullopt;
  for (const std::string_view end : {"\">\n\n", "\">\n"}) {
    if (name->ends_with(end)) return name->substr(0, name->size() - end.size());
  }
  return std::nullopt;
}

std::optional<std::string_view> invoke_name_at_start(std::string_view head) {
  const auto name = after_name_opener(head);
  const std::size_t end = name ? name->find('"') : std::string_view::npos;
  return end == std::string_view::npos ? std::nullopt : std::optional(name->substr(0, end));
}

std::optional<std::size_t> parameter_key_start(std::string_view text) {
  const auto key = after_name_opener(text);
  return key ? std::optional(text.size() - key->size()) : std::nullopt;
}

void append_argument(std::string& members, std::string_view key, std::string_view value, bool is_string) {
  if (!members.empty()) members += ", ";
  append_json_string(members, key);
  members += ": ";
  if (is_string) {
    append_json_string(members, value);
  } else {
    members += value;
  }
}

}  // namespace cachalot
