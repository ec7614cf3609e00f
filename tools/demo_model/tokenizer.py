# SPDX-License-Identifier: Apache-2.0
"""Byte-level BPE with the released pre-tokenizer and format tokens: training, tokenizer.json, encoding (docs/spec/tokenizer.md).

`python3 tokenizer.py TEXT_FOLDER OUT.json` trains it. Needs the package regex for the character classes.
"""
import collections
import heapq
import json
import sys

import regex

from shape import byte_alphabet

VOCABULARY = 2560
FIRST = ["<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜▁pad▁｜>"]
LAST = ["<｜System｜>", "<｜User｜>", "<｜Assistant｜>", "<think>", "</think>", "｜DSML｜", "<｜latest_reminder｜>", "<｜action｜>",
        "<｜query｜>", "<｜authority｜>", "<｜domain｜>", "<｜title｜>", "<｜read_url｜>", "<｜deepseek_image｜>"]
DIGITS = r"\p{N}{1,3}"
CJK = "[一-龥\u3040-ゟ゠-ヿ]+"
REST = (r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"""
        r"""|\s*[\r\n]+|\s+(?!\S)|\s+""").replace(r"\r\n", "\r\n")
# how much a source counts for the merges: the vocabulary is meant for prose
SHARE = {"moby": 4, "austen": 3, "novels": 3, "opticks": 2, "sotu": 0.6, "kjv": 0.6, "web": 0.6, "treasury": 0.6, "henry": 0.6,
         "scofield": 0.6, "wordnet": 0.6, "factbook": 0.2, "jargon": 0.6}
SAMPLE = 3_000_000                                       # characters of each source


def splitter():
    digits, cjk, rest = regex.compile(f"({DIGITS})"), regex.compile(f"({CJK})"), regex.compile(REST)

    def split(text):
        out = []
        for i, part in enumerate(digits.split(text)):
            if i % 2:
                out.append(part)
            elif part:
                for j, piece in enumerate(cjk.split(part) if cjk.search(part) else (part,)):
                    out.extend(rest.findall(piece))
        return out
    return split


def count_words(texts):
    split, total = splitter(), collections.Counter()
    for name, text in texts.items():
        for word, n in collections.Counter(split(text[:SAMPLE])).items():
            total[word] += n * SHARE[name] * max(1, len(text) / SAMPLE) ** 0.5
    return total


def train(counts, merges):
    """most frequent adjacent pair first; ties to the pair that sorts first"""
    spell = {b: c for c, b in byte_alphabet().items()}
    words = [([spell[b] for b in w.encode()], n) for w, n in sorted(counts.items()) if n >= 2 and len(w) < 40]
    pairs, where = collections.Counter(), collections.defaultdict(set)
    for i, (symbols, n) in enumerate(words):
        for pair in zip(symbols, symbols[1:]):
            pairs[pair] += n
            where[pair].add(i)
    heap = [(-n, pair) for pair, n in pairs.items()]
    heapq.heapify(heap)
    out = []
    while len(out) < merges:
        n, pair = heapq.heappop(heap)
        if -n != pairs[pair]:
            if pairs[pair] > 0:
                heapq.heappush(heap, (-pairs[pair], pair))
            continue
        out.append(pair)
        changed = set()
        for i in where.pop(pair):
            symbols, n = words[i]
            before = list(zip(symbols, symbols[1:]))
            j = 0
            while j < len(symbols) - 1:
                if (symbols[j], symbols[j + 1]) == pair:
                    symbols[j:j + 2] = [pair[0] + pair[1]]
                j += 1
            after = list(zip(symbols, symbols[1:]))
            for p in before:
                pairs[p] -= n
                changed.add(p)
            for p in after:
                pairs[p] += n
                where[p].add(i)
                changed.add(p)
        pairs[pair] = 0
        for p in sorted(changed - {pair}):
            heapq.heappush(heap, (-pairs[p], p))
    return out


def file_of(merges):
    """the tokenizer.json as an object"""
    alphabet = byte_alphabet()
    symbols = FIRST + sorted(alphabet, key=lambda c: alphabet[c]) + [a + b for a, b in merges]
    vocab = {}
    for s in symbols:
        vocab.setdefault(s, len(vocab))
    added = list(zip(range(3), FIRST)) + [(VOCABULARY - len(LAST) + i, c) for i, c in enumerate(LAST)]
    split = lambda p: {"type": "Split", "pattern": {"Regex": p}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": i, "content": c, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                          "special": i < 3} for i, c in added],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split(DIGITS), split(CJK), split(REST), level]},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": vocab, "merges": [list(m) for m in merges]},
    }


class Tokenizer:
    """encode(text): plain text; encode(text, True): format tokens in it become their ids"""

    def __init__(self, file):
        self.file = file
        self.vocab = file["model"]["vocab"]
        self.rank = {tuple(m): i for i, m in enumerate(file["model"]["merges"])}
        self.added = {a["content"]: a["id"] for a in file["added_tokens"]}
        self.spell = {b: c for c, b in byte_alphabet().items()}
        self.split, self.cache = splitter(), {}
        self.specials = regex.compile("(" + "|".join(regex.escape(c) for c in sorted(self.added, key=len, reverse=True)) + ")")
        alphabet = byte_alphabet()
        self.bytes = [b""] * VOCABULARY
        for s, i in self.vocab.items():
            self.bytes[i] = s.encode() if s in self.added else bytes(alphabet[c] for c in s)
        for c, i in self.added.items():
            self.bytes[i] = c.encode()

    def piece(self, piece):
        symbols = [self.spell[b] for b in piece.encode()]
        while len(symbols) > 1:
            best = min(range(len(symbols) - 1), key=lambda i: self.rank.get((symbols[i], symbols[i + 1]), 1 << 30))
            if (symbols[best], symbols[best + 1]) not in self.rank:
                break
            symbols[best:best + 2] = [symbols[best] + symbols[best + 1]]
        return [self.vocab[s] for s in symbols]

    def encode(self, text, special=False):
        out, cache = [], self.cache
        for i, part in enumerate(self.specials.split(text) if special else (text,)):
            if i % 2:
                out.append(self.added[part])
                continue
            for piece in self.split(part):
                ids = cache.get(piece)
                if ids is None:
                    ids = cache[piece] = self.piece(piece)
                out.extend(ids)
        return out

    def decode(self, ids):
        return b"".join(self.bytes[i] for i in ids).decode("utf-8", "replace")


def load(path):
    with open(path, encoding="utf-8") as f:
        return Tokenizer(json.load(f))


def main(folder, path):
    texts = {}
    for name in SHARE:
        with open(f"{folder}/{name}.txt", encoding="utf-8") as f:
            texts[name] = f.read()
    merges = train(count_words(texts), VOCABULARY - len(LAST) - len(FIRST) - 256)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(file_of(merges), f, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main(*sys.argv[1:])
