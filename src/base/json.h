// SPDX-License-Identifier: Apache-2.0
// One JSON value that keeps the order of members and the text of numbers. Strict RFC 8259 in, UTF-8 in and out.
// Decided where the standard leaves a choice: a key that comes twice keeps its first place and its last value (or is
// refused, see JsonRules); \u escapes of lone surrogates are refused (or become U+FFFD); a byte order mark is refused.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/expected.h"

namespace cachalot {

enum class JsonSpacing { compact, spaced };  // {"a":1,"b":2} or {"a": 1, "b": 2}, always one line

// A template only so that it may be named before Json is complete.
template <class Value>
struct JsonMember {
  std::string key;
  Value value;
  bool operator==(const JsonMember&) const = default;
};

class Json {
 public:
  using Member = JsonMember<Json>;
  enum class Kind { null, boolean, number, string, array, object };

  Json() = default;
  Json(std::nullptr_t) {}
  Json(std::same_as<bool> auto value) : value_(value) {}
  Json(const char* text) : Json(std::string_view(text)) {}
  Json(std::string_view text) : value_(std::string(text)) {}
  Json(std::string text) : value_(std::move(text)) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Json(T value) : value_(Number{std::to_string(value)}) {}
  Json(double value);  // shortest text that reads back equal; NaN and infinities have no JSON and become null
  Json(float value);   // the same, shortest for a float

  static Json array(std::vector<Json> items = {});
  static Json object(std::vector<Member> members = {});  // keys must differ
  static Json number(std::string text);                  // text must be a JSON number; it is kept as it is

  Kind kind() const { return static_cast<Kind>(value_.index()); }
  bool is_null() const { return kind() == Kind::null; }
  bool is_object() const { return kind() == Kind::object; }
  bool is_array() const { return kind() == Kind::array; }
  bool is_string() const { return kind() == Kind::string; }
  bool is_number() const { return kind() == Kind::number; }
  bool is_bool() const { return kind() == Kind::boolean; }

  // Empty where the value is of another kind; the numbers also where the text is out of range. as_int64 takes whole
  // numbers written as such: 12 and -0, but neither 12.0 nor 1e3.
  std::optional<bool> as_bool() const;
  std::optional<std::int64_t> as_int64() const;
  std::optional<double> as_double() const;
  const std::string* as_string() const { return std::get_if<std::string>(&value_); }
  const std::string* number_text() const;
  std::span<const Json> items() const;      // of an array; empty for any other kind
  std::span<const Member> members() const;  // of an object; empty for any other kind

  // The value of a member; null where there is none or this is no object. Looks at each member in turn.
  const Json* find(std::string_view key) const;
  Json* find(std::string_view key);

  // Building. push_back makes a null an array, set makes a null an object; set replaces a value in place. Both return
  // *this.
  Json& push_back(Json item);
  Json& set(std::string_view key, Json value);

  std::string dump(JsonSpacing spacing = JsonSpacing::compact) const;

  bool operator==(const Json&) const;  // order of members and text of numbers count: 1 is not 1.0

 private:
  struct Number {
    std::string text;
    bool operator==(const Number&) const = default;
  };
  void dump_to(std::string& out, JsonSpacing spacing) const;

  // In the order of Kind.
  std::variant<std::nullptr_t, bool, Number, std::string, std::vector<Json>, std::vector<Member>> value_;
};

struct JsonRules {
  int max_depth = 100;                   // arrays and objects inside one another
  bool unique_keys = false;              // refuse a key that comes twice
  bool replace_lone_surrogates = false;  // "\ud800" becomes U+FFFD
  bool not_finite = false;               // NaN, Infinity and -Infinity are numbers too, as some libraries write them
  std::size_t max_values = std::size_t{1} << 21;  // in all; each costs memory, be its text one byte long

  // What reading a text of so many bytes takes of memory at most, beside the text itself.
  std::int64_t most_memory(std::size_t text_bytes) const;
};

// Reads exactly one value, white space around it allowed. `what` names the text in messages ("config.json").
// Errors: Errc::format, with line, column and byte.
Expected<Json> parse_json(std::string_view text, std::string_view what, const JsonRules& rules = {});

// Reads an object of many members without holding it: `take` gets each as soon as it was read. Where the value of the
// member `opened` is an object, its members are handed over likewise, with its name as `inside`, which else is "". The
// rules are for each member by itself, but for unique_keys: whether a key came before, only the taker can tell.
// Errors: those of parse_json, a text that is no object, and what `take` returns, which ends the reading.
using TakeJsonMember = std::function<Status(std::string_view inside, Json::Member member)>;
Status read_json_members(std::string_view text, std::string_view what, std::string_view opened, const JsonRules& rules,
                         const TakeJsonMember& take);

// Appends "text" with its quotes; only ", \ and U+0000..U+001F are escaped.
void append_json_string(std::string& out, std::string_view text);

}  // namespace cachalot
