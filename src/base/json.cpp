// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace cachalot {
namespace {

template <class T>
std::string shortest_number(T value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end.ptr);
}

}  // namespace

Json::Json(double value) {
  if (std::isfinite(value)) value_ = Number{shortest_number(value)};
}

Json::Json(float value) {
  if (std::isfinite(value)) value_ = Number{shortest_number(value)};
}

Json Json::array(std::vector<Json> items) {
  Json json;
  json.value_ = std::move(items);
  return json;
}

Json Json::object(std::vector<Member> members) {
  Json json;
  json.value_ = std::move(members);
  return json;
}

Json Json::number(std::string text) {
  Json json;
  json.value_ = Number{std::move(text)};
  return json;
}

std::optional<bool> Json::as_bool() const {
  const bool* value = std::get_if<bool>(&value_);
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<std::int64_t> Json::as_int64() const {
  const std::string* text = number_text();
  if (!text) return std::nullopt;
  std::int64_t value = 0;
  const char* end = text->data() + text->size();
  const auto read = std::from_chars(text->data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

std::optional<double> Json::as_double() const {
  const std::string* text = number_text();
  if (!text) return std::nullopt;
  double value = 0;
  const char* end = text->data() + text->size();
  const auto read = std::from_chars(text->data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

const std::string* Json::number_text() const {
  const Number* number = std::get_if<Number>(&value_);
  return number ? &number->text : nullptr;
}

std::span<const Json> Json::items() const {
  const auto* items = std::get_if<std::vector<Json>>(&value_);
  return items ? std::span<const Json>(*items) : std::span<const Json>();
}

std::span<const Json::Member> Json::members() const {
  const auto* members = std::get_if<std::vector<Member>>(&value_);
  return members ? std::span<const Member>(*members) : std::span<const Member>();
}

const Json* Json::find(std::string_view key) const {
  for (const Member& member : members()) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

Json* Json::find(std::string_view key) { return const_cast<Json*>(std::as_const(*this).find(key)); }

Json& Json::push_back(Json item) {
  if (is_null()) value_ = std::vector<Json>();
  check(is_array(), "Json::push_back needs an array");
  std::get<std::vector<Json>>(value_).push_back(std::move(item));
  return *this;
}

Json& Json::set(std::string_view key, Json value) {
  if (is_null()) value_ = std::vector<Member>();
  check(is_object(), "Json::set needs an object");
  if (Json* old = find(key)) {
    *old = std::move(value);
  } else {
    std::get<std::vector<Member>>(value_).push_back({std::string(key), std::move(value)});
  }
  return *this;
}

bool Json::operator==(const Json& other) const { return value_ == other.value_; }

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  constexpr std::string_view escaped = "\"\\\n\r\t\b\f", names = "\"\\nrtbf";
  out += '"';
  while (!text.empty()) {
    const char c = text.front();
    const auto byte = static_cast<unsigned char>(c);
    const Utf8Char next = byte < 0x80 ? Utf8Char{Utf8Kind::good, 1, byte} : read_utf8(text);
    if (const std::size_t name = escaped.find(c); name != std::string_view::npos) {
      out += '\\';
      out += names[name];
    } else if (byte < 0x20) {
      out += "\\u00";
      out += hex[byte >> 4];
      out += hex[byte & 15];
    } else if (next.kind == Utf8Kind::good) {
      out.append(text, 0, next.bytes);
    } else {
      out += "\xEF\xBF\xBD";  // a file's name may be any bytes, JSON may not
    }
    text.remove_prefix(next.bytes);
  }
  out += '"';
}

void Json::dump_to(std::string& out, JsonSpacing spacing) const {
  const std::string_view comma = spacing == JsonSpacing::spaced ? ", " : ",";
  const std::string_view colon = spacing == JsonSpacing::spaced ? ": " : ":";
  switch (kind()) {
    case Kind::null:
      out += "null";
      break;
    case Kind::boolean:
      out += *as_bool() ? "true" : "false";
      break;
    case Kind::number:
      out += *number_text();
      break;
    case Kind::string:
      append_json_string(out, *as_string());
      break;
    case Kind::array: {
      out += '[';
      bool first = true;
      for (const Json& item : items()) {
        if (!std::exchange(first, false)) out += comma;
        item.dump_to(out, spacing);
      }
      out += ']';
      break;
    }
    case Kind::object: {
      out += '{';
      bool first = true;
      for (const Member& member : members()) {
        if (!std::exchange(first, false)) out += comma;
        append_json_string(out, member.key);
        out += colon;
        member.value.dump_to(out, spacing);
      }
      out += '}';
      break;
    }
  }
}

std::string Json::dump(JsonSpacing spacing) const {
  std::string out;
  dump_to(out, spacing);
  return out;
}

}  // namespace cachalot
