// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "cli/command_line/command.h"

namespace cachalot {

// What --help shows of a command, in lines of at most `columns` (a word longer than that has a line of its own).
std::string help_text(const Command& command, int columns);

// A text of paragraphs (each ends with \n or the text) in lines of at most `columns`, each behind `indent` spaces.
std::string wrapped(std::string_view text, int columns, int indent);

// How many columns a text takes; every character counts as one.
int shown_width(std::string_view text);

// Of a table on standard output: the terminal's, or without end where it is none and lines may be read by a program.
int table_columns();

// Of --help: those of the terminal that standard output is; else what $COLUMNS says; else 80. From 40 to 120: longer
// lines are hard to read.
int help_columns();

}  // namespace cachalot
