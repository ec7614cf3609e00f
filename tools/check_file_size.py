#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No code file is longer than 400 lines, except those tools/long_files.txt names with a reason. Usage: check_file_size.py ROOT"""
import pathlib
import sys

from source_files import is_code, written_files

LIMIT = 400


def faults(root):
    excused = {}
    listing = root / "tools" / "long_files.txt"
    for number, line in enumerate(listing.read_text().splitlines() if listing.exists() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        path, _, reason = line.partition(" ")
        if not reason.strip():
            yield f"{listing}:{number}: {path} gives no reason"
        excused[path] = number
    for file in written_files(root):
        if not is_code(file):
            continue
        lines = file.read_bytes().count(b"\n")
        name = str(file.relative_to(root))
        if lines > LIMIT and name not in excused:
            yield f"{file}: {lines} lines, at most {LIMIT}: split it by idea, or give a reason in tools/long_files.txt"
        if lines > LIMIT:
            excused.pop(name, None)
    for name, number in excused.items():
        yield f"{listing}:{number}: {name} is no file of more than {LIMIT} lines: remove the entry"


if __name__ == "__main__":
    found = list(faults(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or f"file size: no code file is longer than {LIMIT} lines without a reason")
    sys.exit(bool(found))
