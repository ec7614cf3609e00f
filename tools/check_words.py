#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No text names a place on somebody's machine: the project must build anywhere. No test but by base/test_folder.h names a
place in the common temporary folder: tests run side by side. Usage: check_words.py ROOT"""
import pathlib
import re
import sys

from source_files import is_text, written_files

# Each is written in two pieces, so that this file does not find itself.
PLACES = ["/wo" "rk/", "/ro" "ot/", "/ho" "me/", "/Us" "ers/"]
FORBIDDEN = re.compile(r"(?<![\w.$}>)\]*])(" + "|".join(map(re.escape, PLACES)) + ")")
COMMON = re.compile(r"\b(TempDir|temp_directory_path) *\(")


def faults(root):
    for file in written_files(root):
        if not is_text(file):
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            found = FORBIDDEN.search(line)
            if found:
                yield f"{file}:{number}: names {found.group(1)}, a place on one machine only"
            if file.suffix in (".cpp", ".h") and file.name != "test_folder.h" and COMMON.search(line):
                yield f"{file}:{number}: another test may have the same file there; use TestFolder (base/test_folder.h)"


if __name__ == "__main__":
    found = list(faults(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "words: no text names a place on one machine, no test a file that another may have")
    sys.exit(bool(found))
