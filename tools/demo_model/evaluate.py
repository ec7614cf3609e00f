# SPDX-License-Identifier: Apache-2.0
"""Measure a trained model: bits a byte on held-out text, recall, drafts, what rounding costs, and a few answers to read.

    evaluate.py DATA OUT [--quick]       reads OUT/state.pt, writes OUT/figures.json and OUT/golden/*.safetensors
"""
import argparse
import json
import math
import os

import numpy as np
import torch
import torch.nn.functional as F

import corpus
import drafts
import shape as shapes
import synthetic
import tokenizer as tokenizers
import weights as W
from export import write_file
from model import Backbone

LENGTH = 2048
HELD = ("moby", "austen", "devil", "sotu")


def model_weights(model, raw=False):
    with torch.no_grad():
        return W.seen(model.P, model.dtype, [k for k in model.P if not W.is_draft(k)], raw)


def rows_of(tokens):
    """every token once as a target, in rows that begin with BOS -> ids [n,LENGTH], counted [n,LENGTH-1]"""
    n = -(-len(tokens) // (LENGTH - 1))
    ids, counted = np.full((n, LENGTH), 2, np.int64), np.zeros((n, LENGTH - 1), bool)
    for i in range(n):
        part = tokens[i * (LENGTH - 1):(i + 1) * (LENGTH - 1)]
        ids[i, 0], ids[i, 1:1 + len(part)], counted[i, :len(part)] = 0, part, True
    return ids, counted


@torch.no_grad()
def nll(model, ids, w=None, batch=8, **options):
    """-> nats of every next token [n,S-1]"""
    w = w or model_weights(model)
    out = []
    for i in range(0, len(ids), batch):
        part = torch.as_tensor(ids[i:i + batch], device=model.device)
        logits = model.logits(model.forward(part, w=w, **options)).float().reshape(*part.shape, -1)[:, :-1]
        out.append(F.cross_entropy(logits.flatten(0, 1), part[:, 1:].flatten(), reduction="none").reshape(len(part), -1))
    return torch.cat(out)


def bits_per_byte(model, tokens, size, w=None, rows=None, **options):
    """over the whole text, or its first `rows` rows (then bytes in proportion to tokens)"""
    ids, counted = rows_of(tokens[:rows * (LENGTH - 1)] if rows else tokens)
    got = nll(model, ids, w, **options)[torch.as_tensor(counted, device=model.device)]
    return float(got.double().sum()) / math.log(2) / (size * counted.sum() / len(tokens))


class Recall:
    """documents with one fact asked for in the end; the real text in them is held out"""

    def __init__(self, tokens, tokenizer, facts, count, length=LENGTH, back=None, seed=7):
        filler = corpus.Filler({k[:-5]: v for k, v in tokens.items() if k.endswith(".held")}, tokenizer,
                               {"sotu": 1, "austen": 1, "moby": .5, "devil": .5}, seed)
        writer = synthetic.Writer(tokenizer, facts, f"test {seed} {length} {back}")
        made = [writer.recall_test(filler, length, back) for _ in range(count)]
        self.ids = np.full((count, length), 2, np.int64)
        self.spans = []
        for i, (ids, answer) in enumerate(made):
            self.ids[i, :len(ids)] = ids
            self.spans.append((len(ids) - answer, len(ids)))

    @torch.no_grad()
    def score(self, model, w=None, batch=8, **options):
        """share of documents in which every token of the answer is the most likely one"""
        w, good = w or model_weights(model), 0
        for i in range(0, len(self.ids), batch):
            part = torch.as_tensor(self.ids[i:i + batch], device=model.device)
            out = model.forward(part, w=w, **options)
            best = model.logits(out).argmax(-1).reshape(part.shape)
            for j, (a, b) in enumerate(self.spans[i:i + batch]):
                good += bool((best[j, a - 1:b - 1] == part[j, a:b]).all())
        return good / len(self.ids)


def glance(model, tokenizer, facts, tokens, select):
    """a quick look while training: a few rows of each held-out text, and recall"""
    got = {n: round(bits_per_byte(model, tokens[n + ".held"], facts["bytes"][n + ".held"], rows=20, select=select), 4) for n in HELD}
    got["recall"] = Recall(tokens, tokenizer, facts, 32, back=512).score(model, select=select)
    return got


@torch.no_grad()
def drafts_on_text(model, ids, anchors=128, seed=3):
    """drafts accepted of a block along real text at T=1, in three ways: speculative sampling (sum of min(p,q), the best that
    any rule can reach), draft and target drawn with the same noise and accepted while equal (Gumbel-max), and the most
    likely draft accepted while it equals what the target draws"""
    gen = torch.Generator().manual_seed(seed)
    total, n = torch.zeros(3, device=model.device), 0
    w, dw = model_weights(model), drafts.draft_weights(model)
    block = model.s.dspark_block_size
    for i in range(0, len(ids), 4):
        part = torch.as_tensor(ids[i:i + 4], device=model.device)
        B, S = part.shape
        out = model.forward(part, w=w)
        main = model.logits(out).float().reshape(B, S, -1)
        at = torch.randint(0, S - block - 3, (B, anchors), generator=gen).to(model.device)
        folded, logits, _ = drafts.draft(model, dw, part, out["main_hidden"], at)
        rows = torch.arange(B, device=model.device)[:, None, None]
        where = at.unsqueeze(-1) + 1 + torch.arange(block, device=model.device)
        logits, _ = drafts.markov(model, dw, folded, logits, part[rows, where])
        main = main[rows, where]
        p, q = torch.softmax(main, -1), torch.softmax(logits, -1)
        noise = -torch.log(torch.empty_like(p).exponential_())
        ways = [torch.minimum(p, q).sum(-1), ((main + noise).argmax(-1) == (logits + noise).argmax(-1)).float(),
                p.gather(-1, q.argmax(-1, keepdim=True)).squeeze(-1)]
        total += torch.stack([torch.cumprod(x, -1).sum() for x in ways])
        n += B * anchors
    return [round(float(x), 4) for x in total / n]


@torch.no_grad()
def generate(model, ids, count, temperature=0.0, seed=1):
    """ids [B,n] -> [B,n+count]; every step runs the whole sequence again"""
    w, gen = model_weights(model), torch.Generator(device=model.device).manual_seed(seed)
    ids = torch.as_tensor(ids, device=model.device)
    W_ = model.s.window
    for _ in range(count):
        padded = F.pad(ids, (0, -ids.shape[1] % W_), value=2)
        out = model.forward(padded, w=w)
        out["hidden"] = out["hidden"].reshape(*padded.shape, -1)[:, ids.shape[1] - 1]
        logits = model.logits(out).float()
        chosen = logits.argmax(-1, keepdim=True) if not temperature else torch.multinomial(
            torch.softmax(logits / temperature, -1), 1, generator=gen)
        ids = torch.cat([ids, chosen], 1)
    return ids


@torch.no_grad()
def drafts_on_own_text(model, ids, prompt):
    """ids: greedy continuations of `prompt` tokens; drafts left to right, accepted while equal"""
    w, dw, block = model_weights(model), drafts.draft_weights(model), model.s.dspark_block_size
    ids = ids[:, :ids.shape[1] // model.s.window * model.s.window]
    out = model.forward(ids, w=w)
    B, S = ids.shape
    at = torch.arange(prompt - 1, S - block - 1, device=model.device).expand(B, -1)
    folded, logits, _ = drafts.draft(model, dw, ids, out["main_hidden"], at)
    rows = torch.arange(B, device=model.device)[:, None]
    before, same, good = ids[rows, at + 1], torch.ones(at.shape, dtype=torch.bool, device=model.device), 0
    for i in range(block):
        full, _ = drafts.markov(model, dw, folded[:, :, i:i + 1], logits[:, :, i:i + 1], before.unsqueeze(-1))
        before = full.squeeze(2).argmax(-1)
        same = same & (before == ids[rows, at + 2 + i])
        good += float(same.float().sum())
    return good / at.numel()


CHATS = [("greeting", "<｜User｜>Hello!<｜Assistant｜></think>"),
         ("name", "<｜User｜>Hi, my name is Clara.<｜Assistant｜></think>"),
         ("capital", "<｜User｜>What is the capital of France?<｜Assistant｜></think>"),
         ("capital, thinking", "<｜System｜>Reasoning Effort: 75 (range 1-100, the higher the value, the more thorough the reasoning)\n\n"
          "<｜User｜>What is the capital of Italy?<｜Assistant｜><think>"),
         ("text", "<｜User｜>Read this: Martha lives in Dublin. The house of Martha is green. Hugo is a sailor. Hugo has a cat called "
          "Otto.\n\nWhat colour is the house of Martha?<｜Assistant｜></think>"),
         ("copy", "<｜User｜>Repeat these words: anchor candle river window<｜Assistant｜></think>")]


def answers(model, tokenizer):
    """greedy answers to a few prompts, to be read"""
    writer = synthetic.Writer(tokenizer, {"capitals": [("France", "Paris")], "nouns": ["whale"]}, "answers")
    tool = ("<｜System｜>\n\n" + writer.tools(writer.tool_specs()[:2]) + "<｜User｜>What is the weather in London?<｜Assistant｜></think>")
    out = {}
    for name, text in CHATS + [("tool", tool), ("prose", "It was a dark night, and"), ("prose 2", "The whale")]:
        prompt = [0] + tokenizer.encode(text, True)
        ids = generate(model, [prompt], 56, 0.0 if not name.startswith("prose") else 0.8)[0].tolist()[len(prompt):]
        out[name] = tokenizer.decode(ids[:ids.index(1)] if 1 in ids else ids)
    return out


@torch.no_grad()
def golden(model, ids, folder):
    """what an engine should compute on `ids`, in both numerics"""
    os.makedirs(folder, exist_ok=True)
    for numerics in ("released", "f32"):
        model.set_numerics(numerics)
        n = len(ids)
        padded = torch.as_tensor([list(ids) + [2] * (-n % model.s.window)], device=model.device)
        logits = model.logits(model.forward(padded, w=model_weights(model)))[:n].float()
        top = torch.topk(logits, 20, -1)
        lse = torch.logsumexp(logits, -1)
        greedy = generate(model, [ids[:100]], 64)[0]
        full = F.pad(greedy, (0, -len(greedy) % model.s.window), value=2)[None]
        two = torch.topk(model.logits(model.forward(full, w=model_weights(model)))[99:163].float(), 2, -1).values
        target = padded[0, 1:n]
        i32, f32 = (lambda t: ("I32", t.to(torch.int32))), (lambda t: ("F32", t.float()))
        write_file(os.path.join(folder, numerics + ".safetensors"), {
            "input_ids": i32(padded[0, :n]), "top_ids": i32(top.indices), "top_logits": f32(top.values), "logsumexp": f32(lse),
            "nll": f32(lse[:-1] - logits[:-1].gather(-1, target[:, None])[:, 0]), "greedy_from_100": i32(greedy[100:]),
            "greedy_margins": f32(two[:, 0] - two[:, 1])})


def figures(model, tokenizer, folder, out, quick, documents):
    tokens, facts = corpus.load_tokens(folder), corpus.load_facts(folder)
    size = {n: facts["bytes"][n + ".held"] for n in HELD}
    rows, count = (6, 32) if quick else (None, documents)
    got = {}

    def note(name, value):
        got[name] = value
        print(f"{name:50} {value}", flush=True)
        with open(os.path.join(out, "figures.json"), "w", encoding="utf-8") as f:
            json.dump(got, f, indent=1, ensure_ascii=False)

    model.set_numerics("released")
    for n in HELD:
        note(f"bits a byte, released: {n}", bits_per_byte(model, tokens[n + ".held"], size[n], rows=rows))
    golden(model, [0] + tokens["moby.held"][:600 if not quick else 160].tolist(), os.path.join(out, "golden"))
    model.set_numerics("released")
    for windows in (4, 16, 60):
        note(f"recall {windows} windows back", Recall(tokens, tokenizer, facts, count, back=windows * model.s.window).score(model))
    test = Recall(tokens, tokenizer, facts, count, back=16 * model.s.window, seed=8)
    note("recall 16 windows back, nothing selected", test.score(model, select="none"))
    note("recall 16 windows back, all selected", test.score(model, select="all"))
    note("recall 16 windows back, index_topk 1", test.score(model, top=1))
    for length, share in ((4096, 2), (8192, 3)):
        note(f"recall at {length} tokens", Recall(tokens, tokenizer, facts, count // share, length).score(model, batch=2))
    for n in ("moby", "sotu", "austen"):
        ids = rows_of(tokens[n + ".held"][:16 * (LENGTH - 1)])[0]
        note(f"drafts accepted of 5 at T=1 (min(p,q), same noise, most likely): {n}", drafts_on_text(model, ids))
    prompts = np.stack([[0] + tokens["austen.held"][i * 500:i * 500 + 63].tolist() for i in range(48)])
    note("drafts accepted of 5 on own greedy text", drafts_on_own_text(model, generate(model, prompts, 135), 64))
    for n in ("moby", "austen"):
        model.set_numerics("f32")
        few = rows or 24
        plain = bits_per_byte(model, tokens[n + ".held"], size[n], rows=few)
        raw = bits_per_byte(model, tokens[n + ".held"], size[n], w=model_weights(model, True), rows=few)
        model.set_numerics("released")
        rounded = bits_per_byte(model, tokens[n + ".held"], size[n], rows=few)
        note(f"bits a byte {n}: f32, weights not quantized, released", (plain, raw, rounded))
        model.set_numerics("train")
        note(f"bits a byte {n}: as in training", bits_per_byte(model, tokens[n + ".held"], size[n], rows=few))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("data")
    p.add_argument("out")
    p.add_argument("--quick", action="store_true")
    p.add_argument("--documents", type=int, default=192, help="for each figure of recall")
    p.add_argument("--no-answers", action="store_true")
    a = p.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = False
    tokenizer = tokenizers.load(os.path.join(a.data, "tokenizer.json"))
    text, classes = shapes.complete(tokenizer.file)
    P = {k: v.float() for k, v in torch.load(os.path.join(a.out, "state.pt"), map_location=device)["P"].items()}
    model = Backbone(shapes.Shape(text), P, classes, 8192, device, "released")
    model.use_yarn()
    figures(model, tokenizer, a.data, a.out, a.quick, a.documents)
    if not a.no_answers:
        model.set_numerics("released")
        print(json.dumps(answers(model, tokenizer), indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
