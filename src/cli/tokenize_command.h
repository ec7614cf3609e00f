// SPDX-License-Identifier: Apache-2.0
// cachalot tokenize: text to token ids and back, for people and for programs (one JSON value a line).
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "cli/command_line/command.h"
#include "tokenizer/tokenizer.h"

namespace cachalot {

// Adds the command. Exit code: 0 done, 1 failed, 2 options that do not fit.
void add_tokenize_command(Command& program);

enum class TokenizeWay { encode, decode };

// One line of --jsonl, without its end, to one JSON object, without an end.
// encode: {"text": string, "special": bool, false if absent} gives {"ids": [...]}; `special` lets added tokens that
// stand in the text become their ids. decode: {"ids": [...]} gives {"text": string}, special tokens kept. Other members
// are ignored. What is wrong with a line comes back as {"error": string}.
std::string answer_line(const Tokenizer& tokenizer, TokenizeWay way, std::string_view line);

// Answers each line of `in` at once, so that a partner on a pipe can wait for it; a line of more than `most_bytes` is
// answered with an error. Returns whether `out` took everything.
bool answer_lines(const Tokenizer& tokenizer, TokenizeWay way, std::istream& in, std::ostream& out,
                  std::size_t most_bytes = std::size_t{64} << 20);

// For people: one token a line, its id and its bytes in quotes, with \n, \t, \" and \\, and \xE4 for what is not UTF-8.
std::string shown_tokens(const Tokenizer& tokenizer, std::span<const TokenId> ids);

}  // namespace cachalot
