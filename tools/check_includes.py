#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which room may include which: the table of docs/style.md section 1. Usage: check_includes.py ROOT

A *_bench.cpp stands beside its operator but belongs to the room bench.
"""
import pathlib
import re
import sys

# Besides itself and base. A room that is not listed here does not exist.
MAY_INCLUDE = {
    "base": "",
    "numerics": "",
    "tensor": "numerics",
    "device": "numerics tensor",
    "checkpoint": "numerics tensor",
    "tokenizer": "",
    "image": "",
    "ops": "numerics tensor device",
    "kv": "numerics tensor device",
    "model": "weights checkpoint ops kv numerics tensor device",
    "weights": "checkpoint numerics tensor device",
    "engine": "model weights kv ops tensor device checkpoint tokenizer image",
    "server": "engine tokenizer image",
}
ALL = set(MAY_INCLUDE) | {"verify", "bench", "cli"}
ALLOWED = {room: {"base", room, *others.split()} for room, others in MAY_INCLUDE.items()}
ALLOWED["verify"] = ALLOWED["bench"] = ALL - {"server", "cli"}
ALLOWED["cli"] = ALL

SOURCES = {".h", ".cpp", ".cc", ".cu", ".cuh", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def faults(root):
    source = root / "src"
    for file in sorted(p for p in source.rglob("*") if p.suffix in SOURCES):
        room = "bench" if file.name.endswith("_bench.cpp") else file.relative_to(source).parts[0]
        if room not in ALLOWED:
            yield f"{file}: no room is called {room}; the rooms are in docs/style.md section 1"
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            path = found.group(1)
            target = path.split("/")[0]
            where = f"{file}:{number}"
            if path == "version.h":
                if room != "cli":
                    yield f"{where}: only src/cli may include version.h"
            elif path.startswith("hwy/"):
                continue  # Highway's own way of writing includes, for its frame is one
            elif "/" not in path or target not in ALL:
                yield f'{where}: "{path}" is not a path relative to src/'
            elif target not in ALLOWED[room]:
                yield f"{where}: {room} may not include {target} (allowed: {' '.join(sorted(ALLOWED[room] - {room}))})"


if __name__ == "__main__":
    found = list(faults(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "includes: every room keeps to its neighbours")
    sys.exit(bool(found))
