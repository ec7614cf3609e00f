#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every operator is whole: contract, code, test, benchmark, a line in src/ops/README.md, an entry in the backend table.
Usage: check_operators.py ROOT

A contract is a header X.h in a folder below src/ops/. X_ref.cpp beside it makes X an operator, which the table of
backend.h must hold under the name X or FOLDER_X; X.cpp makes it a pure function that all backends share.
"""
import pathlib
import re
import sys

SUFFIXES = ("_cpu", "_config", "_cuda")  # headers that belong to a contract of the same folder
ENTRY = re.compile(r"void \(\*(\w+)\)\(Context&")
LISTED = re.compile(r's\("(\w+)", Entry<&Backend::(\w+)>\(\)\);')


def faults(root):
    ops = root / "src" / "ops"
    table = (ops / "backend.h").read_text()
    entries = ENTRY.findall(table)
    readme = (ops / "README.md").read_text() if (ops / "README.md").exists() else ""
    if LISTED.findall(table) != [(e, e) for e in entries]:
        yield f"{ops / 'backend.h'}: each_operator does not list the table's entries in their order, each by its name"

    covered = set()
    for header in sorted(ops.rglob("*.h")):
        folder, name = header.parent, header.stem
        if folder == ops or name.endswith(SUFFIXES):
            continue
        reference, pure = folder / f"{name}_ref.cpp", folder / f"{name}.cpp"
        if not reference.exists() and not pure.exists():
            yield f"{header}: no {reference.name} (operator) and no {pure.name} (pure function) beside it"
        test = folder / f"{name}_test.cpp"
        if not test.exists():
            yield f"{header}: no {name}_test.cpp beside it"
        place = str(folder.relative_to(ops))
        if f"`{place}`" not in readme:
            yield f"{header}: src/ops/README.md has no line for `{place}`"
        if pure.exists() and not reference.exists():
            continue
        if not (folder / f"{name}_bench.cpp").exists():
            yield f"{header}: no {name}_bench.cpp beside it"
        entry = next((e for e in (f"{folder.parent.name}_{name}", name) if e in entries), None)
        if entry is None:
            yield f"{header}: the table in backend.h has no entry {name}"
        if test.exists() and "each_backend()" not in test.read_text():
            yield f"{test}: no suite of it runs on every backend, see src/ops/test_backends.h"
        if "void each(S&& s)" not in header.read_text():
            yield f"{header}: its arguments have no each(), see src/ops/operands.h"
        covered.add(entry)
    for entry in entries:
        if entry not in covered:
            yield f"{ops / 'backend.h'}: no folder holds the contract of {entry}"


if __name__ == "__main__":
    found = list(faults(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "operators: each has contract, code, test, benchmark, README line and table entry")
    sys.exit(bool(found))
