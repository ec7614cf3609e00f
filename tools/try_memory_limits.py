#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does a run that a limit on memory stops end with a message, and never in a crash? Runs the bundled model under limits on
address space and on data (ulimit -v, ulimit -d), from the least under which the program starts at all to the first under which
it succeeds. And does one that may write no larger files (ulimit -f) still answer, where it keeps states in a folder? Usage: tools/try_memory_limits.py CACHALOT"""
import pathlib
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEP = 4 << 20
KINDS = {"ulimit -v": resource.RLIMIT_AS, "ulimit -d": resource.RLIMIT_DATA}


def run(kind, limit, *command):
    return subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          preexec_fn=lambda: resource.setrlimit(kind, (limit, limit)))


def sweep(program, name, kind):
    """What went wrong under one kind of limit."""
    faults, refused = [], False
    started = False
    command = (program, "run", "--model", ROOT / "models/demo", "--ids", "1,2,3", "--max-tokens", "3", "--threads", "4")
    for limit in range(STEP, 2 << 30, STEP):
        started = started or run(kind, limit, program, "--version").returncode == 0
        if not started:
            continue
        got = run(kind, limit, *command)
        told = got.stderr.splitlines()
        refused = refused or (got.returncode == 1 and f"{name} leaves" in got.stderr)
        if got.returncode == 0:
            return faults + ([] if refused else [f"{name}: no run was refused by the plan"])
        if got.returncode != 1 or not told or not told[-1].startswith("cachalot: "):
            faults.append(f"{name} {limit >> 10}: exit code {got.returncode}, wanted 1 and a message; {got.stderr.strip()!r}")
    return faults + [f"{name}: no limit lets it run"]


def small_files(program):
    """What went wrong where no state can be kept."""
    with tempfile.TemporaryDirectory() as folder:
        got = run(resource.RLIMIT_FSIZE, 4096, program, "run", "--model", ROOT / "models/demo", "--ids", "1,2,3", "--max-tokens", "3",
                  "--json", "--cache", folder)
        left = [p.name for p in pathlib.Path(folder).iterdir()]
    if got.returncode != 0 or '"ids":[' not in got.stdout or "can't write" not in got.stderr or left:
        return [f"ulimit -f: exit code {got.returncode}, wanted 0, an answer and a warning; left {left}; {got.stderr.strip()!r}"]
    return []


def main(program):
    faults = [fault for name, kind in KINDS.items() for fault in sweep(program, name, kind)] + small_files(program)
    for fault in faults:
        print(fault)
    print("BAD" if faults else "good")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
