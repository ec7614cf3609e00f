// SPDX-License-Identifier: Apache-2.0
// The one way of writing JSON inside prompts (spec: chat-format.md 8): `, ` and `: `, order of members kept, text raw
// but for the escapes that must be, numbers as below.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace cachalot {

// What JSON text inside a conversation may say: NaN and infinities are read, lone surrogates become U+FFFD.
inline constexpr JsonRules chat_json_rules{.max_depth = 500, .replace_lone_surrogates = true, .not_finite = true};

std::string json_text(const Json& value);

// Whole numbers keep their digits (-0 is 0). With a fraction or exponent a number is a double, in the fewest digits
// that read back equal: plain with a decimal from 1e-4 to below 1e16 (1.0, 0.0001), else 1e+16 or 2.5e-05; what is too
// large is Infinity. `number` must be a JSON number, NaN, Infinity or -Infinity.
std::string json_number_text(std::string_view number);

// Whether `text` is one JSON value of RFC 8259, white space around it allowed, however deep. No value is built.
// It says nothing about UTF-8: bytes from 0x80 on are taken as they are.
bool is_json(std::string_view text);

}  // namespace cachalot
