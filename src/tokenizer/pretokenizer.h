// SPDX-License-Identifier: Apache-2.0
// Cuts text into the pieces inside which BPE merges (spec: tokenizer.md 2.2): the released file's three patterns, each
// applied to every piece of the one before, written by hand because no packaged library has Unicode 16 classes.
#pragma once

#include <array>
#include <string_view>
#include <vector>

namespace cachalot {

// The patterns as tokenizer.json spells them, in order. A file with others is refused by name.
inline constexpr std::array<std::string_view, 3> pretoken_patterns = {
    R"(\p{N}{1,3})",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^)"
    "\r\n"
    R"(\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[)"
    "\r\n"
    R"(]*|\s*[)"
    "\r\n"
    R"(]+|\s+(?!\S)|\s+)",
};

// The pieces in order; together they are `text`, none is empty, and they view it. `text` must be UTF-8. Time is linear.
std::vector<std::string_view> split_pretokens(std::string_view text);

}  // namespace cachalot
