# SPDX-License-Identifier: Apache-2.0
"""What a training run reads: rows of real text, of recall documents and of chats, fixed by the seed and the number of steps.

No source is read more than MOST times, the real text inside recall documents and chats counted.
"""
import io
import json
import lzma
import multiprocessing
import os
import sys

import numpy as np

import synthetic
import tokenizer as tokenizers

LENGTH = 2048
ROWS = {"text": 19, "recall": 8, "chat": 5}             # of a step
MOST = 8.0
# passes over each source, to be scaled by what the run needs
PASSES = {"moby": 7.5, "austen": 7.5, "novels": 7.5, "opticks": 6, "sotu": 6, "kjv": 4, "web": 4, "treasury": 6, "henry": 7,
          "scofield": 4, "wordnet": 4, "factbook": 2, "jargon": 6}
CAP = 7.7
# where the real text of recall documents and chats comes from: sources with room left
FILLER = {"factbook": .25, "wordnet": .3, "web": .13, "kjv": .08, "treasury": .14, "scofield": .05, "sotu": .05}
CHUNK = 64


def load_tokens(folder):
    with lzma.open(os.path.join(folder, "tokens.npz.xz")) as f:
        return dict(np.load(io.BytesIO(f.read())))


def load_facts(folder):
    with open(os.path.join(folder, "facts.json"), encoding="utf-8") as f:
        return json.load(f)


class Filler:
    """real text from a sentence's start"""

    def __init__(self, tokens, tokenizer, sources, seed):
        ends = np.array([b.rstrip(b'"').endswith((b".", b"?", b"!")) for b in tokenizer.bytes])
        begins = np.array([b[:1] == b" " and b[1:2].isupper() or b[:1] == b"\n" for b in tokenizer.bytes])
        self.names = list(sources)
        self.share = np.array([sources[n] for n in self.names], float)
        self.share /= self.share.sum()
        self.tokens = [tokens[n] for n in self.names]
        self.starts = [np.flatnonzero(ends[t[:-1]] & begins[t[1:]]) + 1 for t in self.tokens]
        self.rng = np.random.default_rng(seed)
        self.used = np.zeros(len(self.names))

    def __call__(self, n):
        i = self.rng.choice(len(self.names), p=self.share)
        at = self.starts[i][self.rng.integers(len(self.starts[i]))]
        got = self.tokens[i][at:at + n].tolist()
        self.used[i] += len(got)
        return got


SHARED = {}


def make_rows(job):
    """one chunk of recall or chat rows, the same whatever process makes it"""
    kind, number, seed = job
    filler = Filler(SHARED["tokens"], SHARED["tokenizer"], FILLER, seed * 1_000_003 + number)
    writer = synthetic.Writer(SHARED["tokenizer"], SHARED["facts"], f"{kind} {seed} {number}")
    writer.memo = SHARED["memo"]

    def documents():
        while True:
            yield writer.recall(filler, LENGTH) if kind == "recall" else writer.chat(filler)

    rows = [synthetic.pack(documents(), LENGTH + 1) for _ in range(CHUNK)]
    return np.stack([r[0] for r in rows]), np.stack([r[1] for r in rows]), filler.used


def synthetic_rows(tokens, tokenizer, facts, counts, seed, processes):
    """{kind: (ids [n,LENGTH+1], weights)}, tokens taken from each source"""
    SHARED.update(tokens=tokens, tokenizer=tokenizer, facts=facts, memo={})
    jobs = [(kind, i, seed) for kind, n in counts.items() for i in range(-(-n // CHUNK))]
    with multiprocessing.Pool(processes) as pool:
        made = pool.map(make_rows, jobs, chunksize=1)
    out = {}
    for kind, n in counts.items():
        mine = [m for j, m in zip(jobs, made) if j[0] == kind]
        out[kind] = tuple(np.concatenate([m[i] for m in mine])[:n] for i in (0, 1))
    return out, dict(zip(FILLER, sum(m[2] for m in made)))


def text_rows(tokens, used, need, seed):
    """`need` places to read LENGTH tokens from -> (names, source number, offset), passes per source with `used` counted"""
    rng = np.random.default_rng(seed)
    names = sorted(PASSES)
    sizes = np.array([len(tokens[n]) for n in names], float)
    spent = np.array([used.get(n, 0) for n in names]) / sizes
    wanted, low, high = need * 1.01 + 2 * len(names), 0.0, 50.0
    for _ in range(60):
        f = (low + high) / 2
        passes = np.minimum(np.array([PASSES[n] for n in names]) * f, CAP - spent)
        low, high = (f, high) if (passes * (sizes // LENGTH - 1)).sum() < wanted else (low, f)
    places = []
    for i, (p, size) in enumerate(zip(passes, sizes)):
        for turn in range(int(np.ceil(p))):
            at = np.arange(rng.integers(LENGTH), size - LENGTH - 1, LENGTH).astype(np.int64)
            part = p - turn
            if part < 1:
                at = rng.permutation(at)[:int(round(len(at) * part))]
            places.append(np.stack([np.full_like(at, i), at], 1))
    places = rng.permutation(np.concatenate(places))
    if len(places) < need:
        raise SystemExit(f"not enough text: {len(places)} rows for {need}; fewer steps, or more sources")
    places = places[:need]
    total = np.bincount(places[:, 0], minlength=len(names)) * LENGTH / sizes + spent
    assert total.max() <= MOST, dict(zip(names, total))
    return names, places, dict(zip(names, total.round(2).tolist()))


def plan(folder, steps, seed, processes):
    """everything a run of `steps` steps reads, and the held-out texts, as a dict of arrays; passes over each source"""
    tokens, tokenizer, facts = load_tokens(folder), tokenizers.load(os.path.join(folder, "tokenizer.json")), load_facts(folder)
    held = {k: v for k, v in tokens.items() if k.endswith(".held")}
    made, used = synthetic_rows({k: v for k, v in tokens.items() if not k.endswith(".held")}, tokenizer, facts,
                                {k: ROWS[k] * steps for k in ("recall", "chat")}, seed, processes)
    names, places, passes = text_rows(tokens, used, ROWS["text"] * steps, seed)
    start = np.cumsum([0] + [len(tokens[n]) for n in names])
    return {**held, "stream": np.concatenate([tokens[n] for n in names]), "text": start[places[:, 0]] + places[:, 1],
            "recall": made["recall"][0], "recall_weight": made["recall"][1], "chat": made["chat"][0],
            "chat_weight": made["chat"][1]}, passes


def main(data, file, steps, seed, processes):
    arrays, passes = plan(data, int(steps), int(seed), int(processes))
    np.savez(file + ".part.npz", **arrays)
    os.replace(file + ".part.npz", file)
    print("passes over each source:", passes, flush=True)


if __name__ == "__main__":                               # corpus.py DATA FILE STEPS SEED PROCESSES
    main(*sys.argv[1:])
