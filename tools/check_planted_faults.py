#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lists of planted faults fit the source: each text to replace occurs once in its file, each named test exists, and
the table of docs/PLANTED_FAULTS.md is the list's. Plants nothing: tools/plant_faults.py and judge_faults.py do.
Usage: check_planted_faults.py ROOT
"""
import pathlib
import sys

import judge_faults
from plant_faults import LIST, PAGE, known_tests, page_with_table, read_list


def problems(root):
    known = known_tests(root)
    faults = read_list(root)
    seen = set()
    for fault in faults:
        where = f"{root / LIST}: {fault['name']}"
        file = root / fault["file"]
        found = file.read_text().count(fault["old"]) if file.exists() else 0
        if found != 1:
            yield f"{where}: its old text occurs {found} times in {fault['file']}, wanted once"
        if fault["old"] == fault["new"]:
            yield f"{where}: changes nothing"
        if fault["name"] in seen:
            yield f"{where}: a second fault of this name"
        seen.add(fault["name"])
        if not fault["tests"]:
            yield f"{where}: names no test"
        for test in fault["tests"]:
            if test not in known:
                yield f"{where}: no *_test.cpp has the test {test}"
    try:
        judge_faults.planted_files(root, judge_faults.read_list(root))
    except ValueError as error:
        yield f"{root / judge_faults.LIST}: {error}"
    page = (root / PAGE).read_text()
    if page_with_table(page, faults) != page:
        yield f"{root / PAGE}: its table is not that of the list: run tools/plant_faults.py --markdown"


if __name__ == "__main__":
    found = list(problems(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "planted faults: each fits the source, and its tests are there")
    sys.exit(bool(found))
