#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast a model writes with drafts and without, in turns, and how many drafts are accepted.

    tools/measure_drafts.py [--program build/release/cachalot] [--model models/demo] [--tokens 400] [--rounds 5]

Tokens a second are medians over the rounds; the ratio is to `off` in the same run. The text must be the same in each way.
"""
import argparse
import json
import statistics
import subprocess
import sys

WAYS = ("off", "auto", "1", "2", "3", "5")
PROMPT = "It was a bright cold morning, and"


def run(a, way, temperature, seed):
    out = subprocess.run([a.program, "run", "--model", a.model, PROMPT, "--max-tokens", str(a.tokens), "--ignore-eos", "--json", "--stats",
                          "--temperature", str(temperature), "--seed", str(seed), "--draft", way], capture_output=True, check=True)
    return json.loads(out.stdout)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--program", default="build/release/cachalot")
    p.add_argument("--model", default="models/demo")
    p.add_argument("--tokens", type=int, default=400)
    p.add_argument("--rounds", type=int, default=5)
    a = p.parse_args()
    print("temperature,draft,tokens_per_second,ratio_to_off,accepted_per_drafted_round,drafted_rounds,plain_rounds")
    for temperature in (0, 0.8, 1):
        rates, counts, texts = {w: [] for w in WAYS}, {w: [0, 0, 0] for w in WAYS}, {}
        for r in range(a.rounds):
            for way in WAYS:
                got = run(a, way, temperature, r)
                if texts.setdefault(r, got["text"]) != got["text"]:
                    sys.exit(f"--draft {way} changed the text")
                rates[way].append(got["stats"]["tokens"] / got["stats"]["decode_seconds"])
                d = got["stats"]["drafts"]
                for i, n in enumerate((sum(d["accepted"]), d["drafted_rounds"], d["plain_rounds"])):
                    counts[way][i] += n
        base = statistics.median(rates["off"])
        for way in WAYS:
            accepted, drafted, plain = counts[way]
            rate = statistics.median(rates[way])
            print(f"{temperature},{way},{rate:.1f},{rate / base:.2f},{accepted / drafted if drafted else 0:.2f},{drafted},{plain}")


if __name__ == "__main__":
    main()
