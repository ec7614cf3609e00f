#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Feeds damaged checkpoints, configs, tokenizers, prompts and options to the program. Each has to end by itself, with the
stated exit code and one line of error that says what is wrong: never a crash, a hang or a text made of wrong numbers.
Usage: damaged_inputs.py PROGRAM GOLDEN_MODEL [-v] [NAME...]"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from damaged_cases import all_cases

SECONDS = 120  # a hang, also under a sanitizer on a busy machine
BAD = re.compile(r"AddressSanitizer|runtime error|LeakSanitizer|terminate called|Segmentation|Bus error|internal error")


def copy_of(model, folder):
    """The model with links instead of files: whoever changes one replaces it."""
    folder.mkdir()
    for file in model.iterdir():
        if file.is_file():
            (folder / file.name).symlink_to(file)
    return folder


def answer(command, stdin, while_running):
    given = subprocess.PIPE
    if isinstance(stdin, str):
        with open(stdin, "rb") as file:
            given, stdin = os.dup(file.fileno()), None
    process = subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if given != subprocess.PIPE:
        os.close(given)
    if while_running:
        process.stdin.close()
        process.stdin = None
        process.stdout.read(1)  # it writes: the model is loaded and at work
        while_running()
    try:
        out, error = process.communicate(stdin, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None, "", ""
    return process.returncode, out.decode(errors="replace"), error.decode(errors="replace")


def problem(program, model, case, verbose):
    with tempfile.TemporaryDirectory() as folder:
        copy = copy_of(model, pathlib.Path(folder) / "model")
        case.damage(copy)
        command = [program, *(os.fsencode(a) if isinstance(a, str) else a for a in case.command(copy))]
        code, out, error = answer(command, case.stdin, (lambda: case.later(copy)) if case.later else None)
        shown = error.replace(folder, "").strip()
        if verbose:
            print(f"{case.name}: exit {code}: {shown}")
        if code is None:
            return f"still running after {SECONDS} s"
        if code != case.exit_code:
            return f"exit code {code}, wanted {case.exit_code}: {shown[-2000:]}"
        if BAD.search(error):
            return f"broke: {shown[-2000:]}"
        if not re.search(case.error, shown):
            return f"no /{case.error}/ in: {shown[-2000:]}"
        lines = [line for line in shown.splitlines() if line.startswith("cachalot: ") and "warning" not in line]
        if case.exit_code == 1 and len(lines) != 1:
            return f"{len(lines)} lines of error, wanted one: {shown[-2000:]}"
    return None


def main(program, model, *names):
    verbose = "-v" in names
    names = [n for n in names if n != "-v"]
    cases = [c for c in all_cases(pathlib.Path(model)) if not names or c.name in names]
    bad = 0
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda c: problem(program, pathlib.Path(model).resolve(), c, verbose), cases)
        for case, found in zip(cases, results):
            if found:
                bad += 1
                print(f"FAIL {case.name}: {found}")
    print(f"{len(cases)} damaged inputs, {bad} not answered as they should be, {time.monotonic() - start:.0f} s")
    return 0 if bad == 0 and len(cases) > 0 else 1


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
