// SPDX-License-Identifier: Apache-2.0
// tokenizer.json spells bytes as printable characters, one each (spec: tokenizer.md 2.3).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cachalot {

// Empty where `spelling` (UTF-8) has a character that stands for no byte.
std::optional<std::string> bytes_of_spelling(std::string_view spelling);

std::string spelling_of_bytes(std::string_view bytes);

}  // namespace cachalot
