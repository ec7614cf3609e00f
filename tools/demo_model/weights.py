# SPDX-License-Identifier: Apache-2.0
"""The parameters: layers of one kind stacked in one tensor, their start values, and what a forward pass sees of them.

A name is `main.KIND` or `draft.KIND` for what every block has (first axis: the block), `source.`, `index.`, `engram.` for
what some have, or a single tensor. FORMAT says in which format a kind is stored (docs/spec/model.md section 9).
"""
import math

import torch

import formats

FORMAT = {
    "attn.wq_a": "fp8", "attn.wq_b": "fp8", "attn.wkv": "fp8", "attn.wo_a": "fp8", "attn.wo_b": "fp8",
    "shared.w1": "fp8", "shared.w2": "fp8", "shared.w3": "fp8", "indexer.wq_b": "fp8", "engram.wkv": "fp8",
    "main_proj": "fp8", "experts.w1": "fp4", "experts.w2": "fp4", "experts.w3": "fp4", "engram.embed": "rows",
    "attn.sink": "f32", "gate.bias": "f32",
    "hc_attn_fn": "f32", "hc_attn_base": "f32", "hc_attn_scale": "f32",
    "hc_ffn_fn": "f32", "hc_ffn_base": "f32", "hc_ffn_scale": "f32",
}
ROUND = {"fp8": formats.fp8_weight, "fp4": formats.fp4_weight, "rows": formats.fp8_rows, "bf16": formats.bf16_weight,
         "f32": lambda w: w}
KEEP_FLOAT = ("norm", "sink", "bias", "hc_", "q_weight", "k_weight", "gate.weight", "embed")      # tables: see model.py


def kind(name):
    """`main.attn.wq_a` -> `attn.wq_a`; `engram.embed.0` -> `engram.embed`"""
    for prefix in ("main.", "draft.", "source.", "index."):
        if name.startswith(prefix):
            name = name[len(prefix):]
    return name.rstrip("0123456789").rstrip(".") if name.startswith("engram.embed") else name


def number_format(name):
    return FORMAT.get(kind(name), "bf16")


def draw(s, seed=1):
    """start values of all parameters of Shape s, in float32"""
    gen = torch.Generator().manual_seed(seed)
    P = {}

    def matrix(name, *shape, std=None):
        P[name] = torch.randn(shape, generator=gen) * (shape[-1] ** -0.5 if std is None else std)

    def ones(name, *shape):
        P[name] = torch.ones(shape)

    d, c, dim = s.head_dim, s.hc, s.dim
    for prefix, n, experts in (("main.", s.layers, s.n_routed_experts), ("draft.", s.drafts, s.dspark_n_routed_experts)):
        depth = (2 * s.layers) ** -0.5
        matrix(prefix + "attn.wq_a", n, s.q_lora_rank, dim)
        matrix(prefix + "attn.wq_b", n, s.heads * d, s.q_lora_rank)
        matrix(prefix + "attn.wkv", n, d, dim)
        matrix(prefix + "attn.wo_a", n, s.o_groups * s.o_lora_rank, s.heads * d // s.o_groups)
        matrix(prefix + "attn.wo_b", n, dim, s.o_groups * s.o_lora_rank, std=depth * (s.o_groups * s.o_lora_rank) ** -0.5)
        P[prefix + "attn.sink"] = torch.zeros(n, s.heads)
        ones(prefix + "attn.q_norm", n, s.q_lora_rank)
        ones(prefix + "attn.kv_norm", n, d)
        ones(prefix + "attn_norm", n, dim)
        ones(prefix + "ffn_norm", n, dim)
        matrix(prefix + "gate.weight", n, experts, dim)
        P[prefix + "gate.bias"] = torch.zeros(n, experts)
        for w, shape in (("w1", (s.inter, dim)), ("w3", (s.inter, dim)), ("w2", (dim, s.inter))):
            std = depth * s.inter ** -0.5 if w == "w2" else None
            matrix(prefix + "experts." + w, n, experts, *shape, std=std)
            matrix(prefix + "shared." + w, n, *shape, std=std)
        for sub in ("attn", "ffn"):
            matrix(prefix + f"hc_{sub}_fn", n, (2 + c) * c, c * dim)
            base = torch.zeros(n, (2 + c) * c)
            base[:, :c] = -1.1                             # hand on the mean of the copies
            base[:, 2 * c:] = 3 * torch.eye(c).flatten()   # and leave each copy nearly alone
            P[prefix + f"hc_{sub}_base"] = base
            P[prefix + f"hc_{sub}_scale"] = torch.full((n, 3), 0.1)
    sources, index = len(s.kv_source_layer_ids), len(s.index_source_layer_ids)
    matrix("source.compressor.wkv", sources, d, dim)
    matrix("source.compressor.wgate", sum(s.compress_ratios[l] > 1 for l in s.kv_source_layer_ids), d, dim)
    ones("source.compressor.norm", sources, d)
    matrix("source.indexer.wk", sources, s.index_head_dim, d)
    ones("source.indexer.k_norm", sources, s.index_head_dim)
    matrix("index.indexer.wq_b", index, s.index_n_heads * s.index_head_dim, s.q_lora_rank)
    matrix("index.indexer.weights_proj", index, s.index_n_heads, dim)
    for i, rows in enumerate(s.engram_num_embeddings):
        matrix(f"engram.embed.{i}", rows, s.engram_head_dim, std=0.5)
    matrix("engram.wkv", len(s.engram_layer_ids), (c + 1) * dim, s.columns * s.engram_head_dim)
    ones("engram.q_weight", len(s.engram_layer_ids), c, dim)
    ones("engram.k_weight", len(s.engram_layer_ids), c, dim)
    matrix("embed", s.vocab_size, dim, std=0.7)
    matrix("head", s.vocab_size, dim, std=0.5 * dim ** -0.5)
    ones("norm", dim)
    matrix("main_proj", dim, len(s.dspark_target_layer_ids) * dim)
    ones("main_norm", dim)
    ones("draft_norm", dim)
    matrix("markov.embed", s.vocab_size, s.dspark_markov_rank, std=0.5)
    matrix("markov.head", s.vocab_size, s.dspark_markov_rank, std=0.02)
    matrix("confidence", 1, dim + s.dspark_markov_rank, std=0.02)
    assert all(math.prod(v.shape) for v in P.values())
    return P


@torch.no_grad()
def start_drafts(s, P):
    """a better start for the draft stages, once the backbone is trained: its last layers, with the first of their experts"""
    for k in [k for k in P if k.startswith("draft.")]:
        for i in range(s.drafts):
            layer = P["main." + k[len("draft."):]][s.layers - s.drafts + i]
            P[k][i] = layer[:P[k].shape[1]]
    targets = len(s.dspark_target_layer_ids)
    P["main_proj"].copy_(torch.cat([torch.eye(s.dim) / targets] * targets, 1))


def is_draft(name):
    return name.startswith(("draft", "main_proj", "main_norm", "markov", "confidence"))


def seen(P, dtype, names=None, raw=False):
    """what a forward pass computes with: every weight through its format (not if raw), matrices in `dtype`, others in float32"""
    out = {}
    for name in names or P:
        w = P[name] if raw else ROUND[number_format(name)](P[name])
        out[name] = w if any(k in name for k in KEEP_FLOAT) else w.to(dtype)
    return out
