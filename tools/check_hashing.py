#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hash tables are those of base/seeded_hash.h: the keys of any other can be chosen to meet. Usage: check_hashing.py ROOT"""
import pathlib
import re
import sys

from source_files import is_code, written_files

FOREIGN = re.compile(r"\bunordered_(multi)?(map|set)\b|\bstd::hash\b|\bboost::hash\b")
ALLOWED = ("src/base/seeded_hash.h",)


def faults(root):
    for file in written_files(root):
        path = file.relative_to(root).as_posix()
        if not path.startswith("src/") or not is_code(file) or path in ALLOWED:
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if found := FOREIGN.search(line):
                yield f"{path}:{number}: {found.group()}: take HashMap or HashSet of base/seeded_hash.h, whose keys may come from anybody"


if __name__ == "__main__":
    found = list(faults(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "hashing: every table is a seeded one")
    sys.exit(bool(found))
