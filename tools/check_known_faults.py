#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every known fault of the kinds we answer for has a row in docs/known_faults.md, and every row names tests that exist or
says why the fault does not apply. Usage: check_known_faults.py ROOT
"""
import pathlib
import re
import sys

from plant_faults import known_tests

PAGE = "docs/known_faults.md"
IDS = {
    "A": (2, 3, 4, 7, 10, 11, 12, 13, 15, 16, 18, 19, 20, 21, 22),
    "B": (2, 3, 4, 5, 6, 8, 9),
    "C": (1, 4, 6, 7, 8, 10, 11, 12),
    "D": (3, 4, 6, 7, 9, 10, 11),
    "E": (3, 6, 7, 8, 10, 11),
    "F": (2, 4, 5, 6, 8, 10, 11, 12, 14, 15),
    "G": (3, 5, 6, 8, 9),
    "H": (3, 5, 7, 9, 10, 11, 12, 13),
    "J": (1, 4, 6),
    "L": (6, 8, 9),
}
ROW = re.compile(r"^\| ([A-Z]\d+) \| (.+) \| (.+) \|$", re.M)
NO_TEST = ("does not apply: ", "not built yet: ")


def is_ctest(root, cmake, name):
    """A test of its own, such as verify.mini-a, memory.plan or replay.json_fuzz."""
    if name.startswith("replay."):
        return (root / "tests/fuzz" / name.removeprefix("replay.")).is_dir()
    return re.fullmatch(r"[a-z]\w+\.[\w.-]+", name) and (f"NAME {name} " in cmake or f'"{name.split(".", 1)[1]} ' in cmake)


def faults(root):
    page = root / PAGE
    known = set(known_tests(root))
    cmake = (root / "tests/CMakeLists.txt").read_text()
    rows = ROW.findall(page.read_text())
    for kind, numbers in IDS.items():
        for fault in (f"{kind}{n}" for n in numbers):
            found = sum(name == fault for name, _, _ in rows)
            if found != 1:
                yield f"{page}: {fault} has {found} rows, wanted 1"
    for fault, _, answer in rows:
        tests = re.findall(r"`([^`]+)`", answer)
        if answer.startswith(NO_TEST):
            if len(answer) < 40:
                yield f"{page}: {fault} gives no reason: {answer}"
            continue
        if not tests:
            yield f"{page}: {fault} names no test, and does not start with {' or '.join(repr(n) for n in NO_TEST)}"
        for test in tests:
            if test not in known and not is_ctest(root, cmake, test):
                yield f"{page}: {fault} names {test}, which is no test"


if __name__ == "__main__":
    found = list(faults(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "known faults: each has its tests, or the reason why it needs none")
    sys.exit(bool(found))
