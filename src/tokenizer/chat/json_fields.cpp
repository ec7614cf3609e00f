// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat/json_fields.h"

#include "base/utf8.h"

namespace cachalot {

const Json* find_value(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value && !value->is_null() ? value : nullptr;
}

bool is_empty_value(const Json& value) {
  switch (value.kind()) {
    case Json::Kind::null:
      return true;
    case Json::Kind::boolean:
      return !*value.as_bool();
    case Json::Kind::number:
      // No digit that counts before the exponent, if there is one; NaN and Infinity are not zero.
      return value.number_text()->find_first_of("123456789IN") >= value.number_text()->find_first_of("eE");
    case Json::Kind::string:
      return value.as_string()->empty();
    case Json::Kind::array:
      return value.items().empty();
    case Json::Kind::object:
      return value.members().empty();
  }
  return true;
}

std::string described(const Json& value) {
  constexpr std::size_t longest = 60;
  if (value.is_array()) return "an array";
  if (value.is_object()) return "an object";
  std::string text = value.dump();
  if (text.size() <= longest) return text;
  std::size_t end = longest;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

Expected<std::string_view> read_string_or_empty(const Json& object, std::string_view key) {
  const Json* value = find_value(object, key);
  if (!value) return std::string_view();
  const std::string* text = value->as_string();
  if (!text) return fail(Errc::format, "{} is {}, expected a string or null", key, described(*value));
  return std::string_view(*text);
}

Expected<bool> read_flag(const Json& object, std::string_view key, bool otherwise) {
  const Json* value = find_value(object, key);
  if (!value) return otherwise;
  const auto flag = value->as_bool();
  if (!flag) return fail(Errc::format, "{} is {}, expected true or false", key, described(*value));
  return *flag;
}

}  // namespace cachalot
