#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants the faults of tests/planted_faults/faults.toml one by one and demands that the named tests notice.

    tools/plant_faults.py                   all of them; tens of minutes
    tools/plant_faults.py --only NAME...    some
    tools/plant_faults.py --list            their names
    tools/plant_faults.py --markdown        write the table of docs/PLANTED_FAULTS.md anew

Works on a copy of the tree, below --folder (build/planted_faults), which is kept so that the next run builds little.
Exit code 1: a fault that no named test notices, that does not compile or whose text is no longer there.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

LIST = "tests/planted_faults/faults.toml"
PAGE = "docs/PLANTED_FAULTS.md"
BEGIN, END = "<!-- table: tools/plant_faults.py --markdown -->", "<!-- end of table -->"
NOT_COPIED = {".git", ".cache", "build", "__pycache__"}
TEST = re.compile(r"^TEST(?:_[FP])?\((\w+),\s*(\w+)\)", re.M)
TEST_SECONDS = 600


def read_list(root):
    return tomllib.loads((root / LIST).read_text())["fault"]


def program_of(file):
    """The test program that a *_test.cpp is built into (tests/CMakeLists.txt)."""
    if file.parts[0] == "tests":
        return "crossing_test"
    return file.parts[1] + ("_threads_test" if "thread" in file.name else "_test")


def known_tests(root):
    """Suite.Name -> program."""
    found = {}
    for file in [*(root / "src").rglob("*_test.cpp"), *(root / "tests").glob("*_test.cpp")]:
        for suite, name in TEST.findall(file.read_text()):
            found[f"{suite}.{name}"] = program_of(file.relative_to(root))
    return found


def table(faults):
    lines = ["| fault | what is wrong | where | noticed by |", "|---|---|---|---|"]
    for f in faults:
        tests = ", ".join(f"`{t}`" for t in f["tests"])
        lines.append(f"| {f['name']} | {f['what']} | `{f['file']}` | {tests} |")
    return "\n".join(lines)


def page_with_table(text, faults):
    head, rest = text.split(BEGIN)
    return head + BEGIN + "\n" + table(faults) + "\n" + END + rest.split(END)[1]


def copy_tree(root, to):
    """Copies what differs, so that untouched files keep their time and are not built again; removes what is gone."""
    wanted = set()
    folders = [root]
    while folders:
        for entry in folders.pop().iterdir():
            if entry.name in NOT_COPIED or entry.is_symlink():
                continue
            if entry.is_dir():
                folders.append(entry)
                continue
            copy = to / entry.relative_to(root)
            wanted.add(copy)
            if not copy.exists() or copy.read_bytes() != entry.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(entry, copy)
    for file in [f for f in to.rglob("*") if f.is_file() and f not in wanted]:
        file.unlink()


class Bench:
    """The copy and its build."""

    def __init__(self, folder, jobs):
        self.source, self.build, self.jobs = folder / "source", folder / "build", jobs

    def prepare(self, root):
        copy_tree(root, self.source)
        # Little optimisation: most of the time goes into compiling.
        subprocess.run(["cmake", "-S", self.source, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCACHALOT_UNITY=OFF",
                        "-DCMAKE_CXX_FLAGS_RELEASE=-O1"], check=True, stdout=subprocess.DEVNULL)

    def compiles(self, programs):
        run = subprocess.run(["ninja", "-C", self.build, f"-j{self.jobs}", *sorted(programs)], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        if run.returncode != 0:
            print(run.stdout[-4000:])
        return run.returncode == 0

    def failed(self, program, tests):
        """Those of the tests that did not end well: they failed, crashed or hung."""
        every = ":".join(f"{t}:{t}/*" for t in tests)  # TEST_P: once for each backend
        command = [self.build / "tests" / program, "--gtest_color=no", "--gtest_filter=" + every]
        try:
            output = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    timeout=TEST_SECONDS).stdout.decode(errors="replace")
        except subprocess.TimeoutExpired as late:
            output = (late.stdout or b"").decode(errors="replace")
        began = re.findall(r"^\[ RUN      \] (\S+)", output, re.M)
        well = re.findall(r"^\[       OK \] (\S+)", output, re.M)
        return [t for t in began if t not in well]

    def all_failed(self, tests, known):
        programs = sorted({known[t] for t in tests})
        return [f for p in programs for f in self.failed(p, [t for t in tests if known[t] == p])]

    def try_fault(self, fault, known):
        """What noticed it; None when it could not be tried."""
        file = self.source / fault["file"]
        text = file.read_text()
        if text.count(fault["old"]) != 1:
            return None
        try:
            file.write_text(text.replace(fault["old"], fault["new"]))
            return self.all_failed(fault["tests"], known) if self.compiles({known[t] for t in fault["tests"]}) else None
        finally:
            file.write_text(text)


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description="Plants known faults and demands that tests notice them.")
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--markdown", action="store_true", help=f"write the table of {PAGE} anew")
    parser.add_argument("--folder", type=pathlib.Path, default=root / "build" / "planted_faults")
    parser.add_argument("--jobs", type=int, default=2, help="for ninja (default: 2)")
    flags = parser.parse_args()

    faults = read_list(root)
    if flags.markdown:
        page = root / PAGE
        page.write_text(page_with_table(page.read_text(), faults))
        return 0
    if flags.only:
        unknown = set(flags.only) - {f["name"] for f in faults}
        if unknown:
            parser.error("no such fault: " + ", ".join(sorted(unknown)))
        faults = [f for f in faults if f["name"] in flags.only]
    if flags.list:
        print("\n".join(f["name"] for f in faults))
        return 0

    known = known_tests(root)
    missing = sorted({t for f in faults for t in f["tests"]} - set(known))
    if missing:
        print("no such test: " + ", ".join(missing))
        return 1
    bench = Bench(flags.folder.resolve(), flags.jobs)
    bench.prepare(root)
    tests = sorted({t for f in faults for t in f["tests"]})
    if not bench.compiles({known[t] for t in tests}):
        return 1
    ill = bench.all_failed(tests, known)
    if ill:
        print("fail without any fault: " + ", ".join(ill))
        return 1
    escaped = []
    for fault in faults:
        noticed = bench.try_fault(fault, known)
        verdict = "caught" if noticed else "NOT TRIED" if noticed is None else "NOT CAUGHT"
        if not noticed:
            escaped.append(fault["name"])
        print(f"{verdict:10}  {fault['name']:28}  {', '.join(noticed or [])}", flush=True)
    print(f"{len(faults) - len(escaped)} of {len(faults)} faults caught" + ("; not: " + ", ".join(escaped) if escaped else ""))
    return bool(escaped)


if __name__ == "__main__":
    sys.exit(main())
