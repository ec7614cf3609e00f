// SPDX-License-Identifier: Apache-2.0
// The parser of json.h: recursive descent, as deep as JsonRules::max_depth allows and no deeper.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"

namespace cachalot {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  Parser(std::string_view text, std::string_view what, const JsonRules& rules)
      : text_(text), what_(what), rules_(rules) {}

  Expected<Json> document() {
    auto value = this->value(0);
    if (!value) return value;
    skip_space();
    if (at_ < text_.size()) return error("text after the end of the value");
    return value;
  }

  Status members(std::string_view opened, const TakeJsonMember& take_member) {
    const auto hand_over = [&](std::string_view inside, std::string key) -> Status {
      values_ = 0;
      auto member = value(inside.empty() ? 1 : 2);
      if (!member) return tl::unexpected(member.error());
      return take_member(inside, {std::move(key), std::move(*member)});
    };
    skip_space();
    if (peek() != '{') return error("a JSON object is expected");
    bool was_opened = false;
    const Status read = each_member([&](std::string key) -> Status {
      skip_space();
      if (opened.empty() || key != opened || peek() != '{') return hand_over("", std::move(key));
      if (std::exchange(was_opened, true) && rules_.unique_keys)
        return error(fmt::format("key \"{}\" comes twice", opened));
      return each_member([&](std::string inner) { return hand_over(opened, std::move(inner)); });
    });
    if (!read) return read;
    skip_space();
    if (at_ < text_.size()) return error("text after the end of the value");
    return {};
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\n\r", at_), text_.size()); }

  tl::unexpected<Error> error(std::string_view problem) const {
    const std::string_view before = text_.substr(0, at_);
    const auto line = std::ranges::count(before, '\n') + 1;
    const std::size_t column = at_ - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0: the first line
    return fail(Errc::format, "{}: line {}, column {} (byte {}): {}", what_, line, column, at_, problem);
  }

  // The members of an object, each read by `each`, which stands at its value and is given its key.
  template <class Each>
  Status each_member(const Each& each) {
    ++at_;
    skip_space();
    if (take('}')) return {};
    while (true) {
      skip_space();
      if (peek() != '"') return error("a key in double quotes is expected");
      auto key = string();
      if (!key) return tl::unexpected(key.error());
      skip_space();
      if (!take(':')) return error("':' is expected after a key");
      if (Status done = each(std::move(*key)); !done) return done;
      skip_space();
      if (take('}')) return {};
      if (!take(',')) return error("',' or '}' is expected");
    }
  }

  Expected<Json> value(int depth) {
    skip_space();
    if (at_ == text_.size()) return error("the text ends where a value is expected");
    if (++values_ > rules_.max_values)
      return error(fmt::format("more than the {} values that there may be", rules_.max_values));
    switch (peek()) {
      case '{':
        return object(depth + 1);
      case '[':
        return array(depth + 1);
      case '"': {
        auto text = string();
        if (!text) return tl::unexpected(text.error());
        return Json(std::move(*text));
      }
      case 't':
        return word("true", Json(true));
      case 'f':
        return word("false", Json(false));
      case 'n':
        return word("null", Json());
      default:
        return number();
    }
  }

  Expected<Json> word(std::string_view spelling, Json value) {
    if (!text_.substr(at_).starts_with(spelling)) return error("a value is expected");
    at_ += spelling.size();
    return value;
  }

  Expected<Json> number() {
    const std::size_t start = at_;
    const auto digits = [&] {
      const std::size_t first = at_;
      while (is_digit(peek())) ++at_;
      return at_ > first;
    };
    take('-');
    if (rules_.not_finite) {
      for (const std::string_view word : {"Infinity", "NaN"}) {
        if (!text_.substr(at_).starts_with(word) || (word == "NaN" && at_ > start)) continue;
        at_ += word.size();
        return Json::number(std::string(text_.substr(start, at_ - start)));
      }
    }
    if (!is_digit(peek())) return error(at_ > start ? "a digit is expected after '-'" : "a value is expected");
    if (take('0')) {
      if (is_digit(peek())) return error("a number can't start with 0 and another digit");
    } else {
      digits();
    }
    if (take('.') && !digits()) return error("a digit is expected after '.'");
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (!digits()) return error("a digit is expected in the exponent");
    }
    return Json::number(std::string(text_.substr(start, at_ - start)));
  }

  Expected<Json> array(int depth) {
    if (depth > rules_.max_depth) return error(fmt::format("values are nested deeper than {}", rules_.max_depth));
    ++at_;
    std::vector<Json> items;
    skip_space();
    if (take(']')) return Json::array();
    while (true) {
      auto item = value(depth);
      if (!item) return item;
      items.push_back(std::move(*item));
      skip_space();
      if (take(']')) return Json::array(std::move(items));
      if (!take(',')) return error("',' or ']' is expected");
    }
  }

  Expected<Json> object(int depth) {
    if (depth > rules_.max_depth) return error(fmt::format("values are nested deeper than {}", rules_.max_depth));
    std::vector<Json::Member> members;
    const Status read = each_member([&](std::string key) -> Status {
      auto member = value(depth);
      if (!member) return tl::unexpected(member.error());
      members.push_back({std::move(key), std::move(*member)});
      return {};
    });
    if (!read) return tl::unexpected(read.error());
    return unite(std::move(members));
  }

  // Sorting an index finds repeated keys in n·log n, so that a hostile object of many keys costs no more than a long
  // one.
  Expected<Json> unite(std::vector<Json::Member> members) const {
    std::vector<std::size_t> order(members.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
      const int compared = members[a].key.compare(members[b].key);
      return compared != 0 ? compared < 0 : a < b;
    });
    std::vector<bool> dropped(members.size());
    bool any = false;
    for (std::size_t i = 0, first = 0; i < order.size(); ++i) {
      if (members[order[i]].key != members[order[first]].key) first = i;
      if (i == first) continue;
      if (rules_.unique_keys)
        return error(fmt::format("key \"{}\" comes twice in the object that ends here", members[order[i]].key));
      members[order[first]].value = std::move(members[order[i]].value);
      dropped[order[i]] = any = true;
    }
    if (!any) return Json::object(std::move(members));
    std::vector<Json::Member> kept;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (!dropped[i]) kept.push_back(std::move(members[i]));
    }
    return Json::object(std::move(kept));
  }

  Expected<std::string> string() {
    ++at_;
    std::string out;
    while (true) {
      if (at_ == text_.size()) return error("the text ends inside a string");
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        ++at_;
        return out;
      }
      if (c < 0x20) return error("a control character in a string must be escaped");
      if (c == '\\') {
        if (Status done = escape(out); !done) return tl::unexpected(done.error());
        continue;
      }
      const Utf8Char next = read_utf8(text_.substr(at_));
      if (next.kind != Utf8Kind::good) return error("invalid UTF-8");
      out.append(text_, at_, next.bytes);
      at_ += next.bytes;
    }
  }

  Status escape(std::string& out) {
    constexpr std::string_view names = "\"\\/bfnrt", values = "\"\\/\b\f\n\r\t";
    const char name = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (name == 'u') {
      const auto code = hex4(at_ + 2);
      if (!code) return error("\\u needs four hexadecimal digits");
      const bool high = *code >= 0xD800 && *code <= 0xDBFF, low = *code >= 0xDC00 && *code <= 0xDFFF;
      if (high && text_.substr(at_ + 6).starts_with("\\u")) {
        const auto second = hex4(at_ + 8);
        if (second && *second >= 0xDC00 && *second <= 0xDFFF) {
          append_utf8(out, 0x10000 + ((*code - 0xD800) << 10) + (*second - 0xDC00));
          at_ += 12;
          return {};
        }
      }
      if ((high || low) && !rules_.replace_lone_surrogates) return error("a lone surrogate is no character");
      append_utf8(out, high || low ? 0xFFFD : *code);
      at_ += 6;
      return {};
    }
    const std::size_t which = name == '\0' ? std::string_view::npos : names.find(name);
    if (which == std::string_view::npos) return error("unknown escape");
    out += values[which];
    at_ += 2;
    return {};
  }

  std::optional<std::uint32_t> hex4(std::size_t at) const {
    if (at > text_.size() || text_.size() - at < 4) return std::nullopt;
    std::uint32_t code = 0;
    for (const char c : text_.substr(at, 4)) {
      const char lower = static_cast<char>(c | 0x20);
      if (is_digit(c)) {
        code = code * 16 + static_cast<std::uint32_t>(c - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        code = code * 16 + static_cast<std::uint32_t>(lower - 'a' + 10);
      } else {
        return std::nullopt;
      }
    }
    return code;
  }

  std::string_view text_, what_;
  JsonRules rules_;
  std::size_t at_ = 0;
  std::size_t values_ = 0;
};

}  // namespace

Expected<Json> parse_json(std::string_view text, std::string_view what, const JsonRules& rules) {
  return Parser(text, what, rules).document();
}

Status read_json_members(std::string_view text, std::string_view what, std::string_view opened, const JsonRules& rules,
                         const TakeJsonMember& take) {
  return Parser(text, what, rules).members(opened, take);
}

std::int64_t JsonRules::most_memory(std::size_t text_bytes) const {
  // A growing list or text is there twice while it moves to a place of twice its size.
  constexpr std::size_t growing = 3, place = sizeof(std::size_t);
  const std::size_t values = std::min(max_values, text_bytes / 2 + 1);  // a value and its comma
  return static_cast<std::int64_t>(growing * (values * (sizeof(Json::Member) + place) + text_bytes));
}

}  // namespace cachalot
