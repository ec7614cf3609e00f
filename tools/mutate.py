#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes seeded small mutations over all rooms and tells which of them no test notices (docs/PLANTED_FAULTS.md).

    tools/mutate.py --count 100 --jobs 2          until 100 were judged; goes on where an earlier run stopped
    tools/mutate.py --list --count 20             shows the first 20, tries nothing
    tools/mutate.py --only 3f2a…                  tries these again, whatever was found before
    tools/mutate.py --summary                     what the result file says

Builds the tree once below --build. A mutation changes no file of the tree: a changed copy is compiled (of a header, all
that include it), and linked before the libraries, so that it takes the place of what they hold. Then the tests run that
could notice: the room's own, those of rooms that build on it, nearest first, and those that cross rooms; without the
suites named Slow…, stopped at the first that fails. What compiles to the same code as before is not counted.
"""
import argparse
import collections
import concurrent.futures
import difflib
import itertools
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

import mutations

CPU_SECONDS = 240       # of one process with unchanged tests; with a mutation 20 more than six times what they took
MEMORY_BYTES = 8 << 30  # of data that a process may have
OBJECTS = 40            # that are compiled anew for a header; programs that would take more are left out


def room_depends(root):
    """Room -> the rooms that it is built on, from CMakeLists.txt."""
    text = (root / "CMakeLists.txt").read_text()
    direct = {m[1]: set(re.findall(r"cachalot_(\w+)", m[2])) | {"base"}
              for m in re.finditer(r"^cachalot_room\((\w+)([^)]*)\)", text, re.M)}
    return direct


def distance(direct, room):
    """Room -> how many steps above `room` it stands; only rooms that build on it."""
    found, wave = {room: 0}, [room]
    while wave:
        wave = [r for r, below in direct.items() if r not in found and below & set(wave)]
        found.update({r: max(found.values()) + 1 for r in wave})
    return found


class Tree:
    """The tree as it stands, built once; how each object is compiled and each program linked."""

    def __init__(self, root, build, programs):
        self.root, self.build, self.wanted = root, build, programs

    def prepare(self, cmake_arguments, jobs):
        subprocess.run(["cmake", "-S", self.root, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCACHALOT_UNITY=OFF",
                        "-DCMAKE_CXX_FLAGS_RELEASE=-O1", *cmake_arguments], check=True, stdout=subprocess.DEVNULL)
        ran = subprocess.run(["ninja", "-C", self.build, f"-j{jobs}", *(self.wanted or ["fast_tests", "cachalot"])], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        if ran.returncode != 0:
            sys.exit("the tree itself does not build:\n" + ran.stdout[-4000:])
        self.compile = {}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            words = words[1 + max([i for i, w in enumerate(words) if w.endswith("/ccache")], default=-1):]
            self.compile[words[words.index("-o") + 1]] = (words, pathlib.Path(entry["file"]))
        self.includes = collections.defaultdict(set)
        target = None
        for line in self.ninja("-t", "deps").splitlines():
            if line.startswith("    "):
                self.includes[os.path.normpath(self.build / line.strip())].add(target)
            else:
                target = line.split(":")[0]
        self.link = {}
        for program in sorted(self.programs()):
            last = self.ninja("-t", "commands", program).splitlines()[-1]
            self.link[program] = shlex.split(last.removeprefix(": && ").removesuffix(" && :"))

    def ninja(self, *words):
        return subprocess.run(["ninja", "-C", self.build, "--quiet", *words], check=True, stdout=subprocess.PIPE, text=True).stdout

    def programs(self):
        """Names of executables as ninja knows them."""
        names = re.findall(r"^build (\S+): CXX_EXECUTABLE_LINKER", (self.build / "build.ninja").read_text(), re.M)
        return [n for n in names if n != "tests/released_test" and (not self.wanted or n.split("/")[-1] in self.wanted)]

    def objects_of(self, file):
        """What is compiled anew where `file` is changed: objects, by what ninja noted."""
        return {o for o in self.includes[os.path.normpath(self.root / file)] if o in self.compile}


def programs_for(tree, room):
    """The programs whose tests could notice a change in a room, those that will notice soonest first."""
    near = distance(room_depends(tree.root), room)
    order = []
    for program in tree.link:
        name = program.split("/")[-1]
        fuzzer = name.endswith("_fuzz")
        owner = name.removesuffix("_test").removesuffix("_threads")
        if fuzzer:
            source = next(o for o in tree.link[program] if "_fuzz.cpp" in o)
            owner = re.search(r"/src/(\w+)/", source)[1]
        if name == "cachalot":
            if room in ("numerics", "tensor", "device", "ops", "bench", "verify"):
                continue
            order.append((50, program))
        elif owner == "crossing":
            order.append((40 + ("threads" in name), program))
        elif owner in near:
            order.append((near[owner] * 3 + ("threads" in name) + 2 * fuzzer, program))
    return [p for _, p in sorted(order)]


def run_limited(command, seconds, folder, env=None):
    """-> (return code or None for too late, output)."""
    def limits():
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 2))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open(folder / f"output.{threading.get_ident()}", "w+b") as output:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=folder,
                                 env={**os.environ, "TMPDIR": str(folder), **(env or {})}, preexec_fn=limits,
                                 start_new_session=True)
        try:
            code = child.wait(2 * seconds)
        except subprocess.TimeoutExpired:
            code = None
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
        output.seek(0)
        return code, output.read().decode(errors="replace")


class Judge:
    """Runs the tests of programs, mutated or not, each in `shards` processes side by side."""

    def __init__(self, tree, shards):
        self.tree, self.shards = tree, shards
        self.usual = {}  # program -> {"failing": [...], "seconds": s}, unchanged
        self.kept = tree.build / "usual.json"
        self.writing = threading.Lock()
        self.locks = {program: threading.Lock() for program in tree.link}

    def commands(self, program, path, failing, first_failure_ends):
        root, build = self.tree.root, self.tree.build
        if program == "cachalot":
            mini, prototype = build / "golden/mini-a", root / "models/prototype"
            scripts = [[root / "tests/damaged/damaged_inputs.py", path, mini],
                       [root / "tests/chat_terminal_test.py", path, prototype, mini]]
            return [(["python3", *s], {}) for s in scripts if s[0].name not in failing]
        if program.endswith("_fuzz"):
            return [([path, root / "tests/fuzz" / program.split("/")[-1]], {})]
        command = [path, "--gtest_color=no", "--gtest_brief=1", "--gtest_filter=-" + ":".join(["Slow*", *failing])]
        if first_failure_ends:
            command.append("--gtest_fail_fast")
        return [(command, {"GTEST_TOTAL_SHARDS": str(self.shards), "GTEST_SHARD_INDEX": str(i)}) for i in range(self.shards)]

    def failures(self, program, path, folder, seconds, failing=(), first_failure_ends=True):
        """Names of what failed: tests, scripts, `crash` or `too late`."""
        with concurrent.futures.ThreadPoolExecutor(self.shards) as pool:
            commands = self.commands(program, path, failing, first_failure_ends)
            runs = list(pool.map(lambda c: run_limited(c[0], seconds, folder, c[1]), commands))
        failed = []
        for (command, _), (code, output) in zip(commands, runs):
            if code == 0:
                continue
            if command[0] == "python3":
                failed.append(command[1].name)
                continue
            found = re.findall(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", output, re.M)
            failed += found or (["too late"] if code in (None, -signal.SIGXCPU, -signal.SIGKILL) else ["crash"])
        return list(dict.fromkeys(failed))

    def recall(self):
        """Takes over what an earlier run learnt of programs that are still the same."""
        if self.kept.exists():
            self.usual = {p: u for p, u in json.loads(self.kept.read_text()).items()
                          if p in self.locks and u["stamp"] == (self.tree.build / p).stat().st_mtime}

    def usual_of(self, program, folder):
        """What the unchanged program does: a test that fails there is not held against a mutation."""
        with self.locks[program]:
            if program not in self.usual:
                start = time.monotonic()
                failing = self.failures(program, self.tree.build / program, folder, CPU_SECONDS, first_failure_ends=False)
                seconds = round(time.monotonic() - start, 1)
                self.usual[program] = {"failing": failing, "seconds": seconds, "stamp": (self.tree.build / program).stat().st_mtime}
                print(f"unchanged: {program:34} {seconds:6.1f} s  {' '.join(failing)}", flush=True)
                with self.writing:
                    self.kept.write_text(json.dumps(dict(self.usual)))
            return self.usual[program]


class Trial:
    """One mutation: compiled and linked in a folder of its own."""

    def __init__(self, tree, judge, folder, mutation):
        self.tree, self.judge, self.folder, self.mutation = tree, judge, folder, mutation
        self.text = (tree.root / mutation.file).read_text()
        self.overlay = folder / "overlay"
        self.objects = {}  # as ninja names them -> compiled anew

    def changed(self):
        file = self.overlay / self.mutation.file
        file.parent.mkdir(parents=True)
        file.write_text(self.mutation.of(self.text))
        return file

    def compile(self, target):
        """-> whether it compiles."""
        words, source = self.tree.compile[target]
        words, to = list(words), self.folder / target.replace("/", "_")
        self.objects[target] = to
        words[words.index("-o") + 1] = str(to)
        if source == self.tree.root / self.mutation.file:
            words = [str(self.overlay / self.mutation.file) if w == str(source) else w for w in words]
        first = ["-I", str(self.overlay / "src")]
        last = [f"-fmacro-prefix-map={self.overlay}/=", "-w"]
        return subprocess.run([words[0], *first, *words[1:], *last], cwd=self.tree.build, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, preexec_fn=lambda: os.nice(5)).returncode == 0

    def same_code(self):
        return all(new.read_bytes() == (self.tree.build / old).read_bytes() for old, new in self.objects.items())

    def needed(self, program, targets):
        """Of the targets, those that the program holds."""
        words = self.tree.link[program]
        libraries = {m[1] for w in words if (m := re.search(r"lib(cachalot_\w+)\.a$", w))}
        return [t for t in sorted(targets) if t in words or re.search(r"CMakeFiles/(\w+)\.dir", t)[1] in libraries]

    def build(self, program):
        words = list(self.tree.link[program])
        to = self.folder / program.split("/")[-1]
        words[words.index("-o") + 1] = str(to)
        held = self.needed(program, self.objects)
        words = [str(self.objects[w]) if w in held else w for w in words]
        first = next(i for i, w in enumerate(words) if w.endswith(".o"))
        words[first:first] = [str(self.objects[t]) for t in held if t not in self.tree.link[program]]
        linked = subprocess.run(words, cwd=self.tree.build, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if linked.returncode != 0:
            raise RuntimeError(f"{program} does not link: {linked.stdout[-2000:]}")
        return to

    def judged(self):
        """-> (verdict, by what, programs that ran)."""
        self.changed()
        targets, ran = self.tree.objects_of(self.mutation.file), []
        for program in programs_for(self.tree, self.mutation.file.split("/")[1]):
            needed = self.needed(program, targets)
            if not needed:
                continue
            todo = [t for t in needed if t not in self.objects]
            if len(self.objects) + len(todo) > OBJECTS:
                continue
            with concurrent.futures.ThreadPoolExecutor(self.judge.shards) as pool:
                if not all(pool.map(self.compile, todo)):
                    return "no program", "", ran
            if len(self.objects) == len(targets) and todo and self.same_code():
                return "same code", "", ran
            usual = self.judge.usual_of(program, self.folder)
            if any("." not in f for f in usual["failing"]):  # where it crashes or hangs unchanged, it tells nothing
                continue
            path = self.build(program)
            failed = self.judge.failures(program, path, self.folder, 20 + 6 * usual["seconds"], usual["failing"])
            path.unlink()
            ran.append(program.split("/")[-1])
            if failed:
                return "killed", f"{ran[-1]}: {failed[0]}", ran
        return ("lived", "", ran) if ran else ("skipped", "no program holds it", ran)


def diff(mutation, text):
    lines = difflib.unified_diff(text.splitlines(), mutation.of(text).splitlines(), mutation.file, mutation.file, lineterm="", n=1)
    return "\n".join(lines)


def read_results(file):
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def summary(results):
    by = collections.Counter(r["verdict"] for r in results)
    tried = by["killed"] + by["lived"]
    share = f" ({100 * by['killed'] / tried:.0f} %)" if tried else ""
    print(f"\n{tried} mutations judged: {by['killed']} killed{share}, {by['lived']} lived. Not counted: "
          f"{by['no program']} that do not compile, {by['same code']} of the same code, {by['skipped']} skipped.")
    rooms = collections.defaultdict(collections.Counter)
    for r in results:
        rooms[r["file"].split("/")[1]][r["verdict"]] += 1
    print("by room, killed of judged: " + ", ".join(f"{n} {c['killed']}/{c['killed'] + c['lived']}" for n, c in sorted(rooms.items())))
    for r in [r for r in results if r["verdict"] == "lived"]:
        print(f"\nlived {r['id']} ({r['kind']})\n{r['diff']}")


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description="Seeded mutations over all rooms: which does no test notice?")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100, help="mutations that are killed or live (default: 100)")
    parser.add_argument("--jobs", type=int, default=1, help="mutations at a time (default: 1)")
    parser.add_argument("--cores", type=int, default=2, help="cores for each (default: 2)")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no other after so long")
    parser.add_argument("--build", type=pathlib.Path, default=root / "build" / "mutate")
    parser.add_argument("--results", type=pathlib.Path, help="JSON lines (default: results.jsonl in the build folder)")
    parser.add_argument("--only", nargs="+", metavar="ID", help="mutations of this seed, tried anew")
    parser.add_argument("--rooms", nargs="+", help="these alone (default: all)")
    parser.add_argument("--programs", nargs="+", help="build and run these alone (default: all that could notice)")
    parser.add_argument("--cmake", action="append", default=[], metavar="-DNAME=VALUE", help="for configuring; may be repeated")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--summary", action="store_true")
    flags = parser.parse_args()
    start = time.monotonic()
    results_file = flags.results or flags.build / "results.jsonl"
    if flags.summary:
        return summary(read_results(results_file))
    texts = dict(mutations.sources(root))
    all_picked = (m for m in mutations.picked(root, flags.seed) if not flags.rooms or m.file.split("/")[1] in flags.rooms)
    if flags.list:
        for m in itertools.islice(all_picked, flags.count):
            print(f"{m.name(texts[m.file])} {m.kind}\n{diff(m, texts[m.file])}\n")
        return
    tree = Tree(root, flags.build.resolve(), flags.programs)
    tree.prepare(flags.cmake, flags.jobs * flags.cores)
    judge = Judge(tree, flags.cores)
    work = tree.build / "mutants"
    shutil.rmtree(work, ignore_errors=True)
    judge.recall()
    results_file.parent.mkdir(parents=True, exist_ok=True)
    results = [] if flags.only else read_results(results_file)
    done, lock = {r["id"] for r in results}, threading.Lock()

    def next_one():
        judged = sum(r["verdict"] in ("killed", "lived") for r in results)
        if (not flags.only and judged + len(running) >= flags.count) or time.monotonic() - start > 60 * flags.minutes:
            return None
        for m in itertools.islice(all_picked, 5000):
            name = m.name(texts[m.file])
            if (name in flags.only) if flags.only else (name not in done):
                running.add(name)
                return m
        return None

    def worker():
        while True:
            with lock:
                m = next_one()
            if m is None:
                return
            name, begun = m.name(texts[m.file]), time.monotonic()
            folder = work / name
            folder.mkdir(parents=True)
            try:
                verdict, by, ran = Trial(tree, judge, folder, m).judged()
            except RuntimeError as error:
                verdict, by, ran = "skipped", str(error), []
            shutil.rmtree(folder, ignore_errors=True)
            found = {"id": name, "file": m.file, "line": texts[m.file].count("\n", 0, m.start) + 1, "kind": m.kind, "verdict": verdict,
                     "by": by, "ran": ran, "seconds": round(time.monotonic() - begun, 1), "seed": flags.seed, "diff": diff(m, texts[m.file])}
            with lock:
                running.discard(name)
                results.append(found)
                with open(results_file, "a") as out:
                    out.write(json.dumps(found) + "\n")
                print(f"{verdict:10} {name} {found['seconds']:6.1f} s  {m.file}:{found['line']} {m.kind}  {by}", flush=True)

    running = set()
    with concurrent.futures.ThreadPoolExecutor(flags.jobs) as pool:
        for w in [pool.submit(worker) for _ in range(flags.jobs)]:
            w.result()
    summary(results)


if __name__ == "__main__":
    sys.exit(main())
