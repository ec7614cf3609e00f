#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Feeds structured mutants of good inputs to the program: config, shard index, safetensors header, tokenizer, kept states and
conversations. Each run has to end by itself, in success or in one clear error: no crash, no report of a sanitizer, within a
limit of time and of memory. Best with a build of the preset asan:
    tools/mutate_inputs.py build/asan/cachalot build/release/golden/mini-a --minutes 10 [--seed 1] [--only header] [--keep FOLDER]
A run that breaks a rule is told with its number; `--seed S --at N` runs that one again, and --keep keeps its files."""
import argparse
import collections
import copy
import ctypes
import ctypes.util
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

SECONDS, MEMORY, MOST_ERROR = 60, 3 << 30, 16 << 10  # a sanitizer's run on a busy machine
BAD = re.compile(r"AddressSanitizer|UndefinedBehavior|runtime error|LeakSanitizer|terminate called|Segmentation|Bus error|internal error")
INDEX = "model.safetensors.index.json"
ODD = [None, True, False, 0, -1, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 255, 4096, 65536, 2**31 - 1, 2**31, 2**32, 2**40, 2**62, 2**63 - 1, 2**63,
       -(2**63), 2**64, 1e-300, 1e300, 1.5, float("inf"), float("nan"), "", "0", "a", "\x1b[2J", "..", "../x", "/etc/passwd", "\u0000", "\ud800", "x" * 5000, [], {},
       [0], [[]], {"a": 1}, [0] * 300, {"": None}]
RUN = ("run", "--ids", "3,4,5", "--max-tokens", "2", "--temperature", "0")


def places(value, path=()):
    """The path of every value below this one, and of itself; of what an earlier change buried deep, only the beginning."""
    yield path
    if len(path) > 50:
        return
    items = value.items() if isinstance(value, dict) else enumerate(value[:40]) if isinstance(value, list) else ()
    for key, below in items:
        yield from places(below, path + (key,))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def mutate_json(rng, value):
    """One change of the structure; the value itself is changed where it can be."""
    path = rng.choice(list(places(value)))
    if not path:
        return rng.choice([value, copy.deepcopy(rng.choice(ODD))])
    parent, key = at(value, path[:-1]), path[-1]
    old = parent[key]
    kind = rng.randrange(9)
    if kind == 0:
        parent[key] = copy.deepcopy(rng.choice(ODD))
    elif kind == 1:
        del parent[key]
    elif kind == 2 and isinstance(old, (int, float)) and not isinstance(old, bool):
        parent[key] = rng.choice([old + 1, old - 1, old * 2, old // 2 if isinstance(old, int) else old / 2, -old, float(old), str(old)])
    elif kind == 3 and isinstance(parent, dict):
        parent[rng.choice([key + "x", key[:-1], key.upper(), "", rng.choice([key, *parent])])] = parent.pop(key)
    elif kind == 4:
        other = rng.choice(list(places(value))[1:])
        parent[key] = copy.deepcopy(at(value, other))
    elif kind == 5:
        parent[key] = [old] if rng.random() < 0.5 else {"a": old}
    elif kind == 6 and isinstance(old, list) and old:
        parent[key] = rng.choice([old * 3, old[:-1], old[::-1], old + old[:1], [old]])
    elif kind == 7 and isinstance(old, str):
        parent[key] = rng.choice([old + "\x1b]0;x\x07", old[:-1], old * 50, old.upper(), "\u202e" + old])
    else:
        for _ in range(rng.choice([3, 60, 3000])):
            old = [old]
        try:
            json.dumps(old)
            parent[key] = old
        except RecursionError:
            parent[key] = "deep"
    return value


def mutate_text(rng, text):
    """A change of the bytes that need not be JSON any more."""
    kind, where = rng.randrange(7), rng.randrange(len(text) + 1)
    if kind == 0:
        return text[:where]
    if kind == 1:
        return text[:where] + bytes([rng.randrange(256)]) + text[where + 1 :]
    if kind == 2:
        return text[:where] + rng.choice([b",", b"{", b"]", b'"', b"\\", b"\\u12", b"\xff", b"\0", b"1e999", b"NaN", b"[" * 4000, b" " * 70000]) + text[where:]
    if kind == 3:
        end = min(len(text), where + rng.randrange(1, 200))
        return text[:where] + text[end:]
    if kind == 4:
        end = min(len(text), where + rng.randrange(1, 200))
        return text[:end] + text[where:end] + text[end:]
    if kind == 5:
        return text + rng.choice([b"x", b"{}", b"\0", text[:100]])
    return re.sub(rb"(-?\d+)", lambda m: str(rng.choice([x for x in ODD if type(x) is int])).encode() if rng.random() < 0.02 else m[0], text)


def mutated(rng, text):
    value = json.loads(text)
    if rng.random() < 0.7:
        for _ in range(rng.choice([1, 1, 1, 2, 4])):
            try:
                value = mutate_json(rng, value)
            except RecursionError:  # of what an earlier change nested deep
                break
        try:
            text = json.dumps(value, ensure_ascii=rng.random() < 0.5).encode(errors="surrogatepass")
        except (RecursionError, ValueError):
            pass
    return text if rng.random() < 0.7 else mutate_text(rng, text)


def write(path, content):
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def mutate_file(rng, path):
    write(path, mutated(rng, path.read_bytes()))


def mutate_header(rng, folder):
    path = rng.choice(sorted(folder.glob("*.safetensors")))
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    header, data = content[8 : 8 + size], content[8 + size :]
    header = mutated(rng, header)
    header += b" " * (-len(header) % rng.choice([8, 8, 8, 1]))
    size = len(header) if rng.random() < 0.9 else rng.choice([0, 1, len(header) - 1, len(header) + 1, 2**31, 2**63, 2**64 - 1, 100_000_001])
    if rng.random() < 0.1:
        data = rng.choice([data[:-1], data + b"x", b""])
    write(path, struct.pack("<Q", size) + header + data)


def checksum(data, before=0):
    library = ctypes.CDLL(ctypes.util.find_library("xxhash"))
    library.XXH3_64bits_withSeed.restype = ctypes.c_uint64
    return library.XXH3_64bits_withSeed(data, ctypes.c_size_t(len(data)), ctypes.c_uint64(before))


def mutate_snapshot(rng, path):
    """Of the header, of a section's size or of its bytes; with the right checksums, so that what is behind them is reached."""
    content = path.read_bytes()
    size = struct.unpack("<I", content[12:16])[0]
    header, rest = content[16 : 16 + size], bytearray(content[16 + size + 8 :])
    kind = rng.randrange(4)
    if kind <= 1:
        header = mutated(rng, header)
    start = content[:12] + struct.pack("<I", len(header)) + header
    sections, place = [], 0
    while place + 16 <= len(rest):
        length = struct.unpack("<Q", rest[place : place + 8])[0]
        sections.append(bytes(rest[place + 8 : place + 8 + length]))
        place += length + 16
    if kind == 2 and sections:
        i = rng.randrange(len(sections))
        sections[i] = rng.choice([b"", sections[i][:-1], sections[i] + b"x", bytes(rng.randrange(256) for _ in sections[i][:4096]), sections[0]])
    if kind == 3:
        rng.shuffle(sections) if rng.random() < 0.3 else sections.pop()
    out = start + struct.pack("<Q", checksum(start))
    for section in sections:
        length = struct.pack("<Q", len(section) if rng.random() < 0.98 else rng.choice([0, 2**63, 2**64 - 1]))
        out += length + section + struct.pack("<Q", checksum(section, checksum(length)))
    write(path, out if rng.random() < 0.9 else mutate_text(rng, out))


MESSAGES = [{"role": "system", "content": "Be brief.", "tools": [{"type": "function", "function": {"name": "look", "description": "d", "parameters": {
    "type": "object", "properties": {"place": {"type": "string"}, "n": {"type": "integer", "minimum": 0}}, "required": ["place"]}}}]},
            {"role": "user", "content": "Where is it?"},
            {"role": "assistant", "content": "", "reasoning_content": "look", "tool_calls": [
                {"type": "function", "id": "1", "function": {"name": "look", "arguments": '{"place": "sea", "n": 2}'}}]},
            {"role": "tool", "tool_call_id": "1", "content": "in the sea"}, {"role": "user", "content": "And now?"}]
CHAT = {"format": "cachalot-chat", "version": 1, "options": {"mode": "thinking", "reasoning_effort": 75, "drop_thinking": True}, "messages": MESSAGES}


class Kinds:
    """For each kind of input: makes a mutant in a copy of the model, and gives the command that reads it, and its input."""

    def __init__(self, states, chat_model):
        self.states, self.chat_model = states, chat_model

    def config(self, rng, folder):
        mutate_file(rng, folder / "config.json")
        return rng.choice([("plan", folder), ("run", "--model", folder, *RUN[1:]), ("inspect", folder), ("inspect", folder, "--state")]), b""

    def index(self, rng, folder):
        mutate_file(rng, folder / INDEX)
        return rng.choice([("plan", folder), ("run", "--model", folder, *RUN[1:]), ("inspect", folder, "--tensors")]), b""

    def header(self, rng, folder):
        mutate_header(rng, folder)
        return rng.choice([("run", "--model", folder, *RUN[1:]), ("inspect", folder), ("verify", folder, "--golden", folder / "none")]), b""

    def tokenizer(self, rng, folder):
        mutate_file(rng, folder / "tokenizer.json")
        return rng.choice([("tokenize", "--model", folder, "Hello \u4e2d 12345"), ("run", "hello", "--model", folder, "--max-tokens", "2")]), b""

    def snapshot(self, rng, folder):
        states = folder / "states"
        shutil.copytree(self.states, states)
        mutate_snapshot(rng, rng.choice(sorted(p for p in states.rglob("*") if p.is_file() and p.stat().st_size > 1000)))
        os.chmod(states, 0o700)
        return rng.choice([("run", "--model", folder, *RUN[1:], "--cache", states), ("cache", "ls", "--cache", states)]), b""

    def conversation(self, rng, folder):
        kind = rng.randrange(4)
        path = folder / "conversation.json"
        write(path, mutated(rng, json.dumps(CHAT if kind == 0 else MESSAGES if kind == 1 else MESSAGES[0]["tools"] if kind == 2 else
                                            {"messages": MESSAGES, "options": {"mode": "chat"}}).encode()))
        model = ("--model", self.chat_model)
        if kind == 0:
            return ("chat", *model, "--max-tokens", "1"), f"/load {path}\n/quit\n".encode()
        if kind == 1:
            return ("render", *model, "--messages", path), b""
        if kind == 2:
            return ("render", *model, "--tools", path, "Hello"), b""
        return ("render", *model, "--jsonl"), path.read_bytes().replace(b"\n", b" ") + b"\n"


def answer(command, stdin):
    """(exit code or None, standard error, seconds, bytes of memory at most)"""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as error:
        given.write(stdin)
        given.seek(0)
        start = time.monotonic()
        process = subprocess.Popen(command, stdin=given, stdout=subprocess.DEVNULL, stderr=error, start_new_session=True)
        signal.signal(signal.SIGALRM, lambda *_: process.kill())
        signal.alarm(SECONDS)
        _, status, used = os.wait4(process.pid, 0)
        signal.alarm(0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - start
        error.seek(0)
        return process.returncode, error.read(1 << 22).decode(errors="replace"), seconds, used.ru_maxrss << 10


def fault_of(code, error, seconds, memory):
    lines = [line for line in error.splitlines() if line.startswith("cachalot: ") and "warning" not in line]
    if BAD.search(error):
        return "broke"
    if seconds >= SECONDS:
        return f"still running after {SECONDS} s"
    if code not in (0, 1, 2):
        return f"ended with {code}"
    if memory > MEMORY:
        return f"took {memory >> 20} MiB"
    if len(error) > MOST_ERROR:
        return f"{len(error)} bytes of error"
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]", error):
        return "control characters in the error"
    if code != 0 and len(lines) != 1:
        return f"{len(lines)} lines of error, wanted one"
    return None


def copied(model, folder):
    folder.mkdir()
    for file in model.iterdir():
        if file.is_file():
            (folder / file.name).symlink_to(file)
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path, help="with an index of shards, and small")
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at", type=int, help="only this run")
    parser.add_argument("--only", help="only this kind")
    parser.add_argument("--keep", type=pathlib.Path, help="where the files of runs that break a rule are kept")
    given = parser.parse_args()
    program, model = given.program.resolve(), given.model.resolve()
    counts, slowest, largest, faults = collections.Counter(), 0.0, 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        temporary = pathlib.Path(temporary)
        states = temporary / "states"
        subprocess.run([program, "run", "--model", model, "--ids", ",".join(str(i) for i in range(3, 60)), "--max-tokens", "2", "--cache", states],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        kinds = Kinds(states, pathlib.Path(__file__).resolve().parent.parent / "models/prototype")
        names = [given.only] if given.only else ["config", "index", "header", "tokenizer", "snapshot", "conversation"]
        end, number = time.monotonic() + 60 * given.minutes, given.at or 0
        while time.monotonic() < end:
            rng = random.Random(f"{given.seed} {number}")
            name = names[number % len(names)]
            folder = copied(model, temporary / "mutant")
            command, stdin = getattr(kinds, name)(rng, folder)
            result = answer([str(program), *map(str, command)], stdin)
            counts[name, "success" if result[0] == 0 else "error"] += 1
            slowest, largest = max(slowest, result[2]), max(largest, result[3])
            if fault := fault_of(*result):
                faults += 1
                print(f"FAULT {number} ({name}): {fault}: {' '.join(map(str, command))}\n  {result[1][:1500]!r}", flush=True)
                if given.keep:
                    shutil.copytree(folder, given.keep / f"{given.seed}.{number}", symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(folder)
            number += 1
            if given.at is not None:
                print(f"exit {result[0]}: {result[1]}")
                break
    for name in names:
        print(f"{name:<13} {counts[name, 'success']:5} ended well, {counts[name, 'error']:5} with one clear error")
    print(f"seed {given.seed}: {sum(counts.values())} mutants, {faults} faults; the slowest took {slowest:.1f} s, the largest {largest >> 20} MiB")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
