#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What would let a text of others, or a raw message of the system, past src/base/shown_text.h to a terminal or a log:
output by another way than cli/output/terminal.h and cli/output/log.h, what() of an exception, a call of std::filesystem that throws.
Usage: check_foreign_text.py ROOT"""
import pathlib
import re
import sys

OUTPUT = re.compile(r"std::(cout|cerr|clog)\b|\bf?(?:write|puts|printf)\((?:[^;]*, *)?(?:stdout|stderr)\b|\bfmt::print\(|(?<![\w:])printf\(")
MAY_PRINT = {"src/cli/output/terminal.cpp", "src/base/check.cpp"}
WHAT = re.compile(r"\.what\(\)")
MAY_ASK_WHAT = {"src/cli/main.cc"}
# Each of these has an overload that gives a std::error_code instead.
THROWING = re.compile(
    r"(?:\bfs|std::filesystem)::(absolute|canonical|weakly_canonical|copy|copy_file|create_director(?:y|ies)|create_symlink|"
    r"current_path|equivalent|exists|file_size|is_directory|is_empty|is_regular_file|is_symlink|last_write_time|permissions|"
    r"read_symlink|remove|remove_all|rename|resize_file|space|status|symlink_status|temp_directory_path|"
    r"(?:recursive_)?directory_iterator(?: +\w+)?)\(")
CODE = re.compile(r"\b(?:error|ignored|none|gone|wrong|\w+_gone)\b[^,]*$")
STATUS = re.compile(r"^\(status\)$")  # of a status that was asked for before


def arguments(text, at):
    """The text from the bracket at `at` to the one that closes it."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return text[at:i + 1]
    return text[at:]


def faults(root):
    root = pathlib.Path(root)
    for file in sorted((root / "src").rglob("*")):
        name = file.relative_to(root).as_posix()
        if file.suffix not in (".cpp", ".h", ".cc") or re.search(r"_test\.cpp$|_fuzz\.cpp$|/test_[^/]*$", name):
            continue
        text = file.read_text()
        code = re.sub(r"//[^\n]*", "", text)

        def line(at):
            return code.count("\n", 0, at) + 1

        for found in OUTPUT.finditer(code):
            if name not in MAY_PRINT:
                yield f"{file}:{line(found.start())}: prints by itself; print_out() and print_error() make foreign text visible"
        for found in WHAT.finditer(code):
            if name not in MAY_ASK_WHAT:
                yield f"{file}:{line(found.start())}: tells a person what() of an exception"
        for found in THROWING.finditer(code):
            given = arguments(code, found.end() - 1)
            ends = found.group(1).endswith("directory_iterator") and given == "()"
            if not ends and not STATUS.match(given) and not CODE.search(given[:-1]):
                yield f"{file}:{line(found.start())}: std::filesystem::{found.group(1)} throws here; give it a std::error_code"


if __name__ == "__main__":
    found = list(faults(sys.argv[1]))
    print("\n".join(found) or "foreign text: every output, exception and call of std::filesystem is looked after")
    sys.exit(bool(found))
