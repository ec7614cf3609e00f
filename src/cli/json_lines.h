// SPDX-License-Identifier: Apache-2.0
// Commands that answer JSON lines: one value in, one object out, in order, whatever is wrong with a line.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "base/json.h"

namespace cachalot {

using LineAnswer = std::function<Expected<Json>(std::string_view line)>;

// The answer to one line, without an end: the object, or {"error": "..."}.
std::string answer_text(const Expected<Json>& answer);

// Answers each line of `in` at once, so that a partner on a pipe can wait for it; a line of more than `most_bytes` is
// answered with an error. Returns whether `out` took everything.
bool answer_lines(const LineAnswer& answer, std::istream& in, std::ostream& out,
                  std::size_t most_bytes = std::size_t{256} << 20);

// What a value is, for a message: "a string", "an array", 12. Long ones are cut.
std::string shown(const Json& value);

}  // namespace cachalot
