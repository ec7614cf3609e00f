#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every code file says its licence in its first line, or in its second under a #! line. Usage: check_spdx.py ROOT"""
import pathlib
import sys

from source_files import is_code, written_files

TAG = "SPDX-License-Identifier: Apache-2.0"


def faults(root):
    for file in written_files(root):
        if not is_code(file):
            continue
        lines = file.read_text().splitlines()
        if lines and lines[0].startswith("#!"):
            lines = lines[1:]
        if not lines or lines[0] not in (f"// {TAG}", f"# {TAG}"):
            yield f"{file}: the first line must be the comment {TAG}"


if __name__ == "__main__":
    found = list(faults(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "spdx: every code file names its licence")
    sys.exit(bool(found))
