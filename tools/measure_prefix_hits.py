#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a prompt costs whose beginning is in the prefix store, beside running all of it.

    tools/measure_prefix_hits.py [--program build/release/cachalot] [--model models/demo] [--shared 2000] [--rounds 7]

Seconds are from the prompt's first token to its last, the state's look-up and reading included; the ways take turns, and the least and
the median of the rounds are told. `bound` is a cold run of the new part and 512 tokens more, the distance of periodic snapshots, plus 5 %.
The text must be the same in each way.
"""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile


def run(a, ids, folder=None):
    cache = ["--cache", folder] if folder else []
    out = subprocess.run([a.program, "run", "--model", a.model, "--ids", ",".join(map(str, ids)), "--max-tokens", "8", "--ignore-eos",
                          "--json", "--stats", "--temperature", "0", "--draft", "off", *cache], capture_output=True, check=True)
    return json.loads(out.stdout)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--program", default="build/release/cachalot")
    p.add_argument("--model", default="models/demo")
    p.add_argument("--shared", type=int, default=2000)
    p.add_argument("--rounds", type=int, default=7)
    a = p.parse_args()
    vocab = json.loads((pathlib.Path(a.model) / "config.json").read_text())
    vocab = vocab.get("text_config", vocab)["vocab_size"]
    ids = [random.Random(1).randrange(300, vocab - 300) for _ in range(a.shared + 600)]
    print("shared,new,way,cached_tokens,best_seconds,median_seconds")
    for new in (1, 100, 500):
        seconds = {"cold": [], "cold, states kept": [], "hit": [], "bound": []}
        cached = dict.fromkeys(seconds, 0)
        for _ in range(a.rounds):
            with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
                run(a, ids[:a.shared], folder)
                prompt = ids[:a.shared + new]
                got = {"cold": run(a, prompt), "cold, states kept": run(a, prompt, other), "hit": run(a, prompt, folder),
                       "bound": run(a, ids[a.shared - 512:a.shared + new])}
            if not got["cold"]["text"] == got["hit"]["text"] == got["cold, states kept"]["text"]:
                sys.exit("the prefix store changed the text")
            for way, result in got.items():
                seconds[way].append(result["stats"]["prompt_seconds"] * (1.05 if way == "bound" else 1))
                cached[way] = result["stats"]["cached_tokens"]
        for way, all_of_it in seconds.items():
            print(f'{a.shared},{new},"{way}",{cached[way]},{min(all_of_it):.4f},{statistics.median(all_of_it):.4f}', flush=True)


if __name__ == "__main__":
    main()
