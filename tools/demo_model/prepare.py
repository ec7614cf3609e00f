# SPDX-License-Identifier: Apache-2.0
"""Text to token files with their SHA-256 (SHA256SUMS), and the check that nothing held out is in the training text.

`python3 prepare.py FOLDER`: reads FOLDER/text and FOLDER/tokenizer.json, writes FOLDER/tokens.npz.xz (uint16 arrays NAME and
NAME.held, and facts.json for the chats). A held-out text leaks if a stretch of it occurs in the training text that is too
long for a coincidence; quotations that several old books share, above all of the Bible, are counted and shown.
"""
import glob
import hashlib
import io
import json
import lzma
import os
import re
import sys

import numpy as np

import sources
import tokenizer as tokenizers

SPAN = 80                                                # letters and digits, case folded
# Share of held-out spans that may occur in training text: none of the two novels; the others share formulas and quotations.
ALLOWED = {"moby.held": 0, "austen.held": 0, "devil.held": 0.005, "sotu.held": 0.005}


def letters(text):
    return np.frombuffer(re.sub(r"[^a-z0-9]", "", text.lower()).encode(), np.uint8)


def span_hashes(a, base=np.uint64(0x9E3779B97F4A7C15 | 1)):
    """one number for every stretch of SPAN letters: sum of letter[i+k] base^k modulo 2^64"""
    if len(a) < SPAN:
        return np.zeros(0, np.uint64)
    h = np.zeros(len(a) - SPAN + 1, np.uint64)
    with np.errstate(over="ignore"):
        power = np.uint64(1)
        for k in range(SPAN):
            h += a[k:len(a) - SPAN + 1 + k].astype(np.uint64) * power
            power *= base
    return h


def check_held_out(train, held):
    """raises if a held-out text is in the training text; -> one line per held-out text"""
    wanted = {name: np.unique(span_hashes(letters(text))[::20]) for name, text in held.items()}
    found = {name: set() for name in held}
    for source, text in train.items():
        a = letters(text)
        for at in range(0, len(a), 2_000_000):
            part = np.sort(span_hashes(a[at:at + 2_000_000 + SPAN - 1]))
            for name, spans in wanted.items():
                place = np.searchsorted(part, spans)
                hit = spans[(place < len(part)) & (part[np.minimum(place, len(part) - 1)] == spans)]
                found[name].update((source, int(h)) for h in hit)
    lines = []
    for name, spans in wanted.items():
        by = {}
        for source, _ in found[name]:
            by[source] = by.get(source, 0) + 1
        share = len({h for _, h in found[name]}) / max(len(spans), 1)
        lines.append(f"{name}: {len(spans)} spans of {SPAN} letters, {share:.2%} also in training text {by or ''}")
        if share > ALLOWED[name]:
            raise SystemExit("held-out text in the training data: " + lines[-1])
    return lines


def capitals(folder):
    """[(country, capital)] of the World Factbook, one-word or two-word names only"""
    out = []
    for name, page in sources.countries(os.path.join(folder, "x")):
        text = page.get("Government", {}).get("Capital", {}).get("name", {}).get("text", "")
        capital = re.split(r"[;(,]", text)[0].strip()
        if re.fullmatch(r"[A-Z][a-z]+( [A-Z][a-z]+)?", name) and re.fullmatch(r"[A-Z][a-z]+( [A-Z][a-z]+)?", capital):
            out.append((name, capital))
    return sorted(set(out))


def nouns(folder, tokenizer):
    """plain words of at most two tokens for made-up facts, from WordNet's headwords"""
    words = re.findall(r"(?m)^([A-Z]{4,9}), n\.", sources.read(os.path.join(folder, "text", "wordnet.txt")))
    text = sources.read(os.path.join(folder, "text", "austen.txt")).lower() + sources.read(os.path.join(folder, "text", "moby.txt")).lower()
    common = set(re.findall(r"[a-z]+", text))
    return sorted({w.lower() for w in words if w.lower() in common and len(tokenizer.encode(" " + w.lower())) <= 2})


def write_sums(folder, arrays):
    """SHA-256 of each text, of the tokenizer, and of each list of tokens as little-endian uint16, in the format of sha256sum"""
    files = [f"text/{name}.txt" for name in sorted(arrays)] + ["tokenizer.json", "facts.json"]
    lines = []
    for file in files:
        with open(os.path.join(folder, file), "rb") as f:
            lines.append(f"{hashlib.sha256(f.read()).hexdigest()}  {file}")
    lines += [f"{hashlib.sha256(arrays[name].astype('<u2').tobytes()).hexdigest()}  tokens/{name}" for name in sorted(arrays)]
    with open(os.path.join(folder, "SHA256SUMS"), "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")


def main(folder):
    tokenizer = tokenizers.load(os.path.join(folder, "tokenizer.json"))
    train, held = {}, {}
    for file in sorted(glob.glob(os.path.join(folder, "text", "*.txt"))):
        name = os.path.basename(file)[:-4]
        (held if name.endswith(".held") else train)[name] = sources.read(file)
    print("\n".join(check_held_out(train, held)), flush=True)
    arrays = {}
    for name, text in {**train, **held}.items():
        arrays[name] = np.array(tokenizer.encode(text), np.uint16)
        print(f"{name:16} {len(text.encode()):>9} bytes {len(arrays[name]):>8} tokens {len(text.encode()) / len(arrays[name]):.2f} bytes a token", flush=True)
    facts = {"capitals": capitals(folder), "nouns": nouns(folder, tokenizer),
             "bytes": {k: len(v.encode()) for k, v in {**train, **held}.items()}}
    print(len(facts["capitals"]), "capitals,", len(facts["nouns"]), "nouns")
    with open(os.path.join(folder, "facts.json"), "w", encoding="utf-8") as f:
        json.dump(facts, f)
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    with lzma.open(os.path.join(folder, "tokens.npz.xz"), "wb", preset=3) as f:
        f.write(packed.getvalue())
    write_sums(folder, arrays)


if __name__ == "__main__":
    main(sys.argv[1])
