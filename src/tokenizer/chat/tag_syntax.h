// SPDX-License-Identifier: Apache-2.0
// The inside of tool-call tags, as both readers of completions understand it (spec: chat-format.md 10 and 11).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cachalot {

// How many bytes of white space (Unicode's White_Space) `text` begins with.
std::size_t leading_white_space(std::string_view text);

// The NAME of an invoke whose tag, after its opener, is all of `head`: white space, name="NAME">, one newline or two.
// What looks like another attribute belongs to NAME.
std::optional<std::string_view> invoke_name(std::string_view head);
// The NAME where `head` merely begins with white space and name="NAME".
std::optional<std::string_view> invoke_name_at_start(std::string_view head);

// Where KEY begins in a parameter's tag after its opener: behind white space and name=". Empty where that does not
// stand there. `text` must hold all of it.
std::optional<std::size_t> parameter_key_start(std::string_view text);
// The two ends that a KEY may have; the first one behind the key's start counts.
inline constexpr std::string_view key_end_string = "\" string=\"true\">";
inline constexpr std::string_view key_end_json = "\" string=\"false\">";

// What ends a tag that has no key.
inline constexpr std::string_view tag_end = ">\n";

// Appends `"key": value` to the members of an arguments object, with a comma where they are not empty. A value that is
// a string becomes a JSON string; else it is JSON text and kept.
void append_argument(std::string& members, std::string_view key, std::string_view value, bool is_string);

}  // namespace cachalot
