#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time and memory against size, for files that others write: config.json, shard index, safetensors header, tokenizer.json and
conversations, each of a harmless and of a hostile kind, up to the limit. Linear means that the time of a byte stays the same.
    tools/measure_input_limits.py [build/release/cachalot] [--csv FILE] [--only tokenizer] [--most-megabytes 64]
Sizes double; CPU seconds and peak memory are those of one process, less what a tiny input of the kind takes."""
import argparse
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = ROOT / "models/demo"
MIB = 1 << 20


def config_of_lists(size):
    return b'{"a":[' + b"0," * (size // 2) + b"0]}"


def config_of_keys(size):
    config = json.loads((MODEL / "config.json").read_text())
    config.update((f"key{i:06}", i) for i in range(size // 20))
    return json.dumps(config).encode()


def entries(size, entry):
    """As many of entry(0), entry(1), … as fit into `size` bytes, with commas between."""
    parts, left, i = [], size, 0
    while len(part := entry(i)) < left:
        parts.append(part)
        left -= len(part) + 1
        i += 1
    return b",".join(parts)


def index(size, entry):
    return b'{"weight_map":{' + entries(size, entry) + b"}}"


def index_of_names(size):
    return index(size, lambda i: f'"layers.{i:07}.ffn.experts.0.w1.weight":"model-{i % 99:05}-of-00099.safetensors"'.encode())


def index_of_little(size):
    return index(size, lambda i: f'"{i:x}":"{i % 256:x}"'.encode())


def header(size, entry):
    text = b"{" + entries(size, entry) + b"}"
    return struct.pack("<Q", len(text)) + text


def header_of_tensors(size):
    return header(size, lambda i: f'"layers.{i:07}.ffn.experts.0.w1.weight":{{"dtype":"I8","shape":[0,2048],"data_offsets":[0,0]}}'.encode())


def header_of_little(size):
    return header(size, lambda i: f'"{i:x}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'.encode())


def header_of_numbers(size):  # refused at once: no tensor has so many axes
    text = b'{"a":{"dtype":"U8","shape":[' + b"0," * (size // 2) + b"0]}}"
    return struct.pack("<Q", len(text)) + text


def word(i, letters="abcdefghijklmnop"):
    text = ""
    while True:
        text, i = text + letters[i % 16], i // 16
        if i == 0:
            return text


def tokenizer(vocab, merges):
    good = json.loads((MODEL / "tokenizer.json").read_text())
    good["model"].update(vocab=vocab, merges=merges)
    good["added_tokens"] = []
    return json.dumps(good, ensure_ascii=False, separators=(",", ":")).encode()


def byte_alphabet():
    vocab = json.loads((MODEL / "tokenizer.json").read_text())["model"]["vocab"]
    return [t for t in sorted(vocab, key=vocab.get) if len(t) == 1]


def pairs(count):
    """Left, right and merged spellings, all different, of letters that are no single token."""
    return [(f"A{word(i)}", f"B{word(i)}", f"A{word(i)}B{word(i)}") for i in range(count)]


def tokenizer_of(size, buckets=None):
    """`count` merges, each of tokens of its own. With `buckets`, ids are such that (left << 32 | right) % buckets(count) is the
    same for nearly all: a flood of any table that takes the key for its hash."""
    count = size // 82
    alphabet, triples = byte_alphabet(), pairs(count)
    total = len(alphabet) + 3 * count
    free, ids = set(range(total)), {}

    def give(token, number):
        free.discard(number)
        ids[token] = number

    for number, token in enumerate(alphabet):
        give(token, number)
    modulus = buckets(count) if buckets else None
    unused = len(ids)
    for left, right, _ in triples if modulus else ():
        while unused not in free:
            unused += 1
        a = unused
        b = next((n for n in range((7 - (a << 32)) % modulus, total, modulus) if n in free and n != a), None)
        if b is not None:
            give(left, a)
            give(right, b)
    rest = sorted(free)
    random.Random(1).shuffle(rest)
    for token in (token for triple in triples for token in triple):
        if token not in ids:
            ids[token] = rest.pop()
    return tokenizer(ids, [[left, right] for left, right, _ in triples])


def buckets_of(count):
    """How many buckets the compiler's library makes for so many keys."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "a.cpp"
        source.write_text("#include <cstdio>\n#include <cstdlib>\n#include <unordered_map>\nint main(int, char** v) {\n"
                          "std::unordered_map<unsigned long, int> m; m.reserve(std::strtoul(v[1], nullptr, 10)); std::printf(\"%zu\", m.bucket_count()); }\n")
        subprocess.run([os.environ.get("CXX", "g++"), str(source), "-o", str(source.with_suffix(""))], check=True)
        return int(subprocess.run([str(source.with_suffix("")), str(count)], check=True, stdout=subprocess.PIPE).stdout)


def tokenizer_of_merges(size):
    return tokenizer_of(size)


def tokenizer_flood(size):
    return tokenizer_of(size, buckets_of)


def tokenizer_of_numbers(size):  # what a reader of all the file must hold, though nobody asks for it
    good = (MODEL / "tokenizer.json").read_bytes().strip()
    return good[:-1] + b',"x":[' + b"0," * (size // 2) + b"0]}"


def messages_of_text(size):
    return json.dumps([{"role": "user", "content": "word " * (size // 5)}]).encode()


def messages_of_numbers(size):
    return b"[" + b"0," * (size // 2) + b"0]"


KINDS = {  # name: (file, limit in bytes, makers, command; F is the folder)
    "config": ("config.json", 1 * MIB, (config_of_keys, config_of_lists), ("plan", "F/config.json")),
    "index": ("model.safetensors.index.json", 64 * MIB, (index_of_names, index_of_little), ("plan", "F")),
    "header": ("model.safetensors", 100_000_000, (header_of_tensors, header_of_little, header_of_numbers), ("inspect", "F")),
    "tokenizer": ("tokenizer.json", 256 * MIB, (tokenizer_of_merges, tokenizer_flood, tokenizer_of_numbers), ("tokenize", "--model", "F/tokenizer.json", "a")),
    "conversation": ("c.json", 64 * MIB, (messages_of_text, messages_of_numbers), ("render", "--model", str(MODEL), "--messages", "F/c.json")),
}


def made(maker, size, path):
    """In a process of its own: what this one has taken of memory would count as the peak of the programs that it starts."""
    subprocess.run([sys.executable, __file__, "--make", maker.__name__, str(size), path], check=True)
    return os.path.getsize(path)


def measured(program, kind, maker, size):
    """(bytes of the file, CPU seconds, peak bytes, exit code, what it said)"""
    file, _, _, command = KINDS[kind]
    with tempfile.TemporaryDirectory() as folder:
        if kind in ("index", "header"):
            (pathlib.Path(folder) / "config.json").write_bytes((MODEL / "config.json").read_bytes())
        size = made(maker, size, os.path.join(folder, file))
        with tempfile.TemporaryFile() as error:
            process = subprocess.Popen([str(program), *(c.replace("F", folder, 1) if c.startswith("F") else c for c in command)], stdout=subprocess.DEVNULL, stderr=error)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            error.seek(0)
            said = error.read(300).decode(errors="replace").replace(folder, "").strip().replace("\n", " ").replace(",", ";")
        return size, used.ru_utime + used.ru_stime, used.ru_maxrss << 10, process.returncode, said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", type=pathlib.Path, default=ROOT / "build/release/cachalot")
    parser.add_argument("--csv", type=pathlib.Path)
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--most-megabytes", type=float, default=256)
    if sys.argv[1:2] == ["--make"]:
        maker, size, path = sys.argv[2:]
        pathlib.Path(path).write_bytes(globals()[maker](int(size)))
        return 0
    given = parser.parse_args()
    rows = ["input,maker,bytes,cpu_seconds,ns_a_byte,peak_bytes,memory_share,exit_code,said"]
    print(f"{'input':<34} {'MB':>8} {'CPU s':>8} {'ns/byte':>8} {'peak MB':>9} {'x size':>7}")
    for kind, (_, limit, makers, _) in KINDS.items():
        if given.only not in (None, kind):
            continue
        least = min(limit, int(given.most_megabytes * MIB))
        for maker in makers:
            _, seconds0, peak0, _, _ = measured(given.program, kind, maker, 2000)
            for step in (32, 16, 8, 4, 2, 1):
                size, seconds, peak, code, said = measured(given.program, kind, maker, (least - 20000) // step)
                seconds = max(0.0, seconds - seconds0)
                share = (peak - peak0) / size
                print(f"{kind + ' ' + maker.__name__:<34} {size / 1e6:8.2f} {seconds:8.3f} {seconds / size * 1e9:8.1f} {peak / 1e6:9.1f} {share:7.1f}  exit {code}", flush=True)
                rows.append(f"{kind},{maker.__name__},{size},{seconds:.3f},{seconds / size * 1e9:.1f},{peak},{share:.1f},{code},{said[:100]}")
    if given.csv:
        given.csv.write_text("\n".join(rows) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
