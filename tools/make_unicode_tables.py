#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/tokenizer/char_ranges.cpp and fold_table.cpp.

    tools/make_unicode_tables.py

The character classes of Unicode 16 are those of tests/golden/tokenizer/unicode_classes.json; what token classes make of a
character is computed, for all that are assigned there, by Python 3.14 or node, and must be what engram_map.json has.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import unicodedata

UNICODE = 16

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


# Compatibility decomposition of every code point, marks removed, each character in lower case; what changes, by code point.
FOLDS_BY_NODE = r"""
const folds = {};
for (let code = 0; code < 0x110000; code++) {
  if (code >= 0xD800 && code < 0xE000) continue;
  const text = String.fromCodePoint(code);
  let fold = "";
  for (const part of text.normalize("NFKC").normalize("NFD")) if (!/\p{M}/u.test(part)) fold += part.toLowerCase();
  if (fold !== text) folds[code] = fold;
}
console.log(JSON.stringify(folds));
"""


def fold_by_python(code):
    parts = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", chr(code)))
    return "".join(part.lower() for part in parts if unicodedata.category(part)[0] != "M")


def all_folds():
    """Of Unicode 16 or later: Python's own, or node's. Decompositions and cases of assigned characters never change."""
    if int(unicodedata.unidata_version.split(".")[0]) >= UNICODE:
        return {code: fold for code in range(0x110000) if not 0xD800 <= code < 0xE000 and (fold := fold_by_python(code)) != chr(code)}
    node = shutil.which("node")
    if node and int(float(subprocess.run([node, "-p", "process.versions.unicode"], stdout=subprocess.PIPE, check=True).stdout)) >= UNICODE:
        folds = subprocess.run([node, "-"], input=FOLDS_BY_NODE.encode(), stdout=subprocess.PIPE, check=True).stdout
        return {int(code): fold for code, fold in json.loads(folds).items()}
    sys.exit(f"Python has Unicode {unicodedata.unidata_version}, and no node of Unicode {UNICODE} is there: Python 3.14 has it")


def listed_folds(classes):
    """Without what is not assigned in the classes' Unicode, and without what goes by rule: marks and Hangul syllables."""
    assigned = {code for spans in classes.values() for first, last in spans for code in range(first, last + 1)}
    marks = {code for first, last in classes["M"] for code in range(first, last + 1)}
    folds = {code: fold for code, fold in all_folds().items() if code in assigned}
    for code in marks:
        if folds.pop(code, None) != "":
            sys.exit(f"U+{code:04X} is a mark, and does not fold to nothing")
    return {code: fold for code, fold in sorted(folds.items()) if not 0xAC00 <= code <= 0xD7A3}


def runs_of(folds):
    """[first, count, step, distance] for characters that become one other, at the same distance, next to one another or at
    every second place; no run reaches over the beginning of another."""
    runs = []
    for code, fold in folds.items():
        if len(fold) != 1:
            continue
        distance = ord(fold) - code
        if runs:
            first, count, step, before = run = runs[-1]
            if before == distance and code - first in (1, 2) and count == 1:
                run[1:3] = 2, code - first
                continue
            if before == distance and count > 1 and code == first + count * step:
                run[1] += 1
                continue
        runs.append([code, 1, 1, distance])
    return runs


def fold_table(folds):
    runs = [f"{{0x{first:x}, {count}, {step}, {distance}}}," for first, count, step, distance in runs_of(folds)]
    texts, all_texts = [], ""
    for code, fold in folds.items():
        if len(fold) != 1:
            at = all_texts.find(fold)
            if at < 0:
                at, all_texts = len(all_texts), all_texts + fold
            texts.append(f"{{0x{code:x}, {at}, {len(fold)}}},")
    letters = [f"0x{ord(c):x}," for c in all_texts]
    return f"""#include "tokenizer/fold_table.h"

#include <iterator>

namespace cachalot {{
namespace {{

// clang-format off
constexpr FoldRun runs[] = {{
{rows_of(runs)}
}};

constexpr FoldText texts[] = {{
{rows_of(texts)}
}};

constexpr char32_t letters[] = {{
{rows_of(letters)}
}};
// clang-format on

}}  // namespace

FoldTable fold_table() {{ return {{runs, texts, {{letters, std::size(letters)}}}}; }}

}}  // namespace cachalot
"""


def main():
    classes = json.loads((GOLDEN / "unicode_classes.json").read_text())["classes"]
    fold = json.loads((GOLDEN / "engram_map.json").read_text())["fold"]
    folds = listed_folds(classes)
    for code, text in fold.items():
        if folds.get(int(code), "") != text:
            sys.exit(f"U+{int(code):04X} folds to {folds.get(int(code))!r}, and in the released vocabulary to {text!r}")
    write("char_ranges.cpp", "tests/golden/tokenizer/unicode_classes.json", class_table(classes))
    write("fold_table.cpp", f"the data of Unicode {UNICODE}", fold_table(folds))


if __name__ == "__main__":
    main()
