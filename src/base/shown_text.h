// SPDX-License-Identifier: Apache-2.0
// Between text that is not ours (names in a checkpoint, values of a config, paths, arguments, what a model says) and a
// terminal or a log. What a terminal would act upon, and what would hide or turn other text, is made visible: a control
// character or a byte that is no UTF-8 as \x1b, one beyond ASCII as \u009b. What is quoted is cut. What was made
// visible stays as it is when it is made visible again.
//
// message(), and fail() of expected.h with it, does all this with each text it is given, so an error can't forget it.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace cachalot {

// Of a text that is shown as it is, such as an answer: newlines and tabs stay, and what writing joins or turns letters
// with in some scripts (U+200C to U+200F).
std::string visible_text(std::string_view text);
// Of a word in a line of ours: nothing but what is seen stays.
std::string visible_line(std::string_view text);

// visible_text() of a text that comes in parts, which may end within a character.
class VisibleStream {
 public:
  std::string push(std::string_view bytes);
  std::string finish();  // what still waits, which is no character; the stream is as new

 private:
  std::string waiting_;
};

// A text that may be printed, since it was made so: one line, of a length that a person reads. Made of a whole message.
class ShownText : public std::string {
 public:
  static constexpr std::size_t longest = 2000;  // bytes; longer ones lose their middle

  ShownText() = default;
  template <std::convertible_to<std::string_view> Text>
  ShownText(const Text& message) : ShownText(cut_line(message, longest, longest - 400)) {}

 private:
  friend ShownText shown_text(std::string_view foreign);
  friend ShownText shown_name(std::string_view foreign);

  struct Cut {
    std::string text;
  };
  explicit ShownText(Cut cut) : std::string(std::move(cut.text)) {}
  // A text longer than `most` becomes its first `head` bytes, how much is left out, and its end.
  static Cut cut_line(std::string_view text, std::size_t most, std::size_t head);
};

// A value that a message quotes. Some hundred bytes; a longer one loses its middle.
ShownText shown_text(std::string_view foreign);
// A name in a list.
ShownText shown_name(std::string_view foreign);

// "a, b and 17 more": the first names or numbers of a list.
template <class List>
ShownText shown_list(const List& list, std::size_t most = 8) {
  std::string text;
  std::size_t count = 0;
  for (const auto& item : list) {
    if (count++ >= most) continue;
    if (count > 1) text += ", ";
    if constexpr (std::is_convertible_v<decltype(item), std::string_view>) {
      text += shown_name(item);
    } else {
      text += fmt::format("{}", item);
    }
  }
  if (count > most) text += fmt::format(" and {} more", count - most);
  return text;
}

// What message() prints in the place of a text: shown_text() of it, with {:?} in quotes.
struct Quoted {
  std::string_view text;
};

}  // namespace cachalot

template <>
struct fmt::formatter<cachalot::Quoted> {
  constexpr auto parse(fmt::format_parse_context& context) {
    auto at = context.begin();
    if (at != context.end() && *at == '?') {
      marks_ = true;
      ++at;
    }
    return at;
  }
  fmt::format_context::iterator format(const cachalot::Quoted& quoted, fmt::format_context& context) const;

 private:
  bool marks_ = false;
};

namespace cachalot {

// What message() makes of an argument. Text is taken for foreign, unless it was made fit to be shown before, as a
// message is that another one quotes; literals are ours.
template <class T>
decltype(auto) message_argument(const T& value) {
  constexpr bool literal = std::is_array_v<T> || std::is_pointer_v<T>;
  if constexpr (std::is_convertible_v<const T&, std::string_view> && !std::is_same_v<T, ShownText> && !literal) {
    return Quoted{value};
  } else {
    return (value);
  }
}

// What fmt::join() makes of a list.
template <class T>
concept WholeList = requires(const T& list) {
  list.begin;
  list.end;
  list.sep;
};

template <class... Args>
using MessageFormat = fmt::format_string<decltype(message_argument(std::declval<const Args&>()))...>;

// What every message() comes to: here, so that fmt's writers are not compiled wherever one is made.
ShownText made_message(fmt::string_view format, fmt::format_args args);

// A line for a person, with foreign texts in it: message("{} tensors are not used: {}", count, shown_list(names))
template <class... Args>
ShownText message(MessageFormat<Args...> format, const Args&... args) {
  static_assert(!(WholeList<Args> || ...), "a list has any length: shown_list() cuts it");
  return [&](const auto&... shown) {
    return made_message(format, fmt::make_format_args(shown...));
  }(message_argument(args)...);
}

}  // namespace cachalot
