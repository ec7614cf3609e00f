// SPDX-License-Identifier: Apache-2.0
// Reading fields of messages. Absent and null mean the same throughout the chat format.
#pragma once

#include <string>
#include <string_view>

#include "base/expected.h"
#include "base/json.h"

namespace cachalot {

// The member; a null pointer where it is absent, null, or `object` is no object.
const Json* find_value(const Json& object, std::string_view key);

// Null, false, zero, and what has no characters, items or members.
bool is_empty_value(const Json& value);

// What a value is, for a message: `"text"`, `12`, `an array`. Long ones are cut, at a character.
std::string described(const Json& value);

// These name `what` in their error, which is Errc::format: `content is 5, expected a string or null`.
Expected<std::string_view> read_string_or_empty(const Json& object, std::string_view key);
Expected<bool> read_flag(const Json& object, std::string_view key, bool otherwise);

}  // namespace cachalot
