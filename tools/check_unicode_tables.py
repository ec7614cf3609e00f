#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The fold table says of every character what Python's Unicode data say, as far as they know it. Usage: check_unicode_tables.py ROOT"""
import json
import pathlib
import re
import sys
import unicodedata

from make_unicode_tables import fold_by_python


def numbers(text, table):
    """The rows of one of the C++ tables."""
    body = re.search(rf"\b{table}\[\] = \{{\n(.*?)\n\}};", text, re.S).group(1)
    rows = re.findall(r"\{([^{}]*)\}", body) or re.findall(r"0x[0-9a-f]+", body)
    return [[int(n, 0) for n in row.split(",")] for row in rows]


def folds_of(text):
    letters = "".join(chr(code) for [code] in numbers(text, "letters"))
    folds = {code: letters[at : at + size] for code, at, size in numbers(text, "texts")}
    for first, count, step, distance in numbers(text, "runs"):
        folds.update((code, chr(code + distance)) for code in range(first, first + count * step, step))
    return folds


def faults(root):
    folds = folds_of((root / "src/tokenizer/fold_table.cpp").read_text())
    classes = json.loads((root / "tests/golden/tokenizer/unicode_classes.json").read_text())["classes"]
    for name, spans in classes.items():
        for code in (code for first, last in spans for code in range(first, last + 1)):
            if unicodedata.category(chr(code)) == "Cn" or 0xAC00 <= code <= 0xD7A3:  # younger than Python, or by rule
                continue
            found = "" if name == "M" else folds.get(code, chr(code))
            if found != (wanted := fold_by_python(code)):
                yield f"U+{code:04X} folds to {found!r}; by Unicode {unicodedata.unidata_version} to {wanted!r}"


if __name__ == "__main__":
    found = list(faults(pathlib.Path(sys.argv[1])))
    print("\n".join(found[:20]) or f"unicode tables: as in Python's Unicode {unicodedata.unidata_version}")
    sys.exit(bool(found))
