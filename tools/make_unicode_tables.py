#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/tokenizer/char_ranges.cpp and fold_table.cpp from the golden files of tests/golden/tokenizer.

    tools/make_unicode_tables.py

unicode_classes.json lists Unicode 16's character classes, engram_map.json the substitutions of token classes.
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).parent.parent
GOLDEN = ROOT / "tests/golden/tokenizer"
CLASS_OF = {"L": "letter", "M": "mark", "N": "number", "P": "punctuation", "S": "symbol", "White_Space": "space"}
HEAD = "// SPDX-License-Identifier: Apache-2.0\n// Written by tools/make_unicode_tables.py from {}; not edited by hand.\n"


def rows_of(items, width=120):
    rows, row = [], "   "
    for item in items:
        if len(row) + 1 + len(item) > width:
            rows.append(row)
            row = "   "
        row += " " + item
    return "\n".join(rows + [row])


def write(name, source, body):
    (ROOT / "src/tokenizer" / name).write_text(HEAD.format(source) + body)


def class_table(classes):
    ranges = sorted((first, last, CLASS_OF[name]) for name, spans in classes.items() for first, last in spans)
    for (_, last, name), (first, _, other) in zip(ranges, ranges[1:]):
        if first <= last:
            sys.exit(f"classes {name} and {other} overlap at U+{first:04X}")
    short = {"letter": "l", "mark": "m", "number": "n", "punctuation": "p", "symbol": "s", "space": "w"}
    names = "\n".join(f"constexpr CharClass {short[name]} = CharClass::{name};" for name in CLASS_OF.values())
    items = [f"{{0x{first:x}, 0x{last:x}, {short[name]}}}," for first, last, name in ranges]
    return f"""#include "tokenizer/char_class.h"

namespace cachalot {{
namespace {{

{names}

// clang-format off
constexpr CharRange ranges[] = {{
{rows_of(items)}
}};
// clang-format on

}}  // namespace

std::span<const CharRange> char_ranges() {{ return ranges; }}

}}  // namespace cachalot
"""


def fold_table(fold, marks):
    items = []
    for code, text in sorted((int(code), text) for code, text in fold.items()):
        is_mark = any(first <= code <= last for first, last in marks)
        if is_mark != (text == "") or len(text) > 3:
            sys.exit(f"U+{code:04X}: a mark folds to nothing, all else to one to three characters")
        if not is_mark:  # marks go by their class
            items.append(f"{{0x{code:x}, {{{', '.join(f'0x{ord(c):x}' for c in text)}}}}},")
    return f"""#include "tokenizer/fold_table.h"

namespace cachalot {{
namespace {{

// clang-format off
constexpr Fold folds[] = {{
{rows_of(items)}
}};
// clang-format on

}}  // namespace

std::span<const Fold> fold_table() {{ return folds; }}

}}  // namespace cachalot
"""


def main():
    classes = json.loads((GOLDEN / "unicode_classes.json").read_text())["classes"]
    fold = json.loads((GOLDEN / "engram_map.json").read_text())["fold"]
    write("char_ranges.cpp", "tests/golden/tokenizer/unicode_classes.json", class_table(classes))
    write("fold_table.cpp", "tests/golden/tokenizer/engram_map.json", fold_table(fold, classes["M"]))


if __name__ == "__main__":
    main()
