# SPDX-License-Identifier: Apache-2.0
"""The element-wise stretches between matrix products, as functions that a compiler fuses into one kernel each.

Every function takes rows first: T rows of a token each. `quant` says whether the input of a quantized linear goes through
its fp8 round trip ('train', 'released') or not ('f32'). Source: docs/spec/model.md, sections as named.
"""
import functools
import os

import torch
import torch.nn.functional as F

import formats

COMPILE = os.environ.get("DEMO_COMPILE", "0") == "1" and hasattr(torch, "compile")
if COMPILE:
    import torch._dynamo
    torch._dynamo.config.recompile_limit = 64


USE = {"compiled": True}


def fuse(f):
    if not COMPILE:
        return f
    compiled = torch.compile(f, dynamic=False)

    @functools.wraps(f)
    def either(*arguments):
        return (compiled if USE["compiled"] else f)(*arguments)
    return either


def rms(x, w, eps=1e-20):
    f = x.float()
    return (f * torch.rsqrt(f.square().mean(-1, keepdim=True) + eps) * w.float()).to(x.dtype)


def quantized(x, quant):
    return formats.fp8_activation(x).to(x.dtype) if quant else x


# ------------------------------------------------------------------ section 2

@fuse
def hc_pre_post(h, raw, base, scale, hc: int, hc_eps: float):
    """h [T,hc,dim], raw [T,(2+hc)hc] = fn . h -> pre [T,hc], post [T,hc], logits of comb [T,hc,hc]"""
    rho = torch.rsqrt(h.float().square().mean((-2, -1)) + 1e-20).unsqueeze(-1)
    m = raw.float() * rho
    pre = torch.sigmoid(m[:, :hc] * scale[0] + base[:hc]) + hc_eps
    post = 2 * torch.sigmoid(m[:, hc:2 * hc] * scale[1] + base[hc:2 * hc])
    comb = m[:, 2 * hc:] * scale[2] + base[2 * hc:]
    return pre, post, comb.reshape(-1, hc, hc)


@fuse
def fold(h, mix):
    return (h.float() * mix.unsqueeze(-1)).sum(-2).to(h.dtype)


@fuse
def fold_norm(h, mix, w, quant: bool):
    """-> the sublayer's input, and the same as a quantized linear sees it"""
    x = rms((h.float() * mix.unsqueeze(-1)).sum(-2).to(h.dtype), w)
    return x, quantized(x, quant)


@fuse
def expand(y, h, post, comb):
    """h'[c] = post[c] y + sum_k comb[k][c] h[k]"""
    out = post.unsqueeze(-1) * y.float().unsqueeze(-2)
    for k in range(h.shape[-2]):
        out = out + comb[:, k, :].unsqueeze(-1) * h[:, k, :].float().unsqueeze(-2)
    return out.to(h.dtype)


# ------------------------------------------------------------------ section 3

@fuse
def norm_quant(x, w, quant: bool):
    x = rms(x, w)
    return x, quantized(x, quant)


def rotate(x, cos, sin):
    """the last 2n of x in adjacent pairs by angles [.., n]"""
    n = cos.shape[-1]
    pairs = x[..., -2 * n:].float().unflatten(-1, (n, 2))
    a, b = pairs[..., 0], pairs[..., 1]
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2).to(x.dtype)
    return torch.cat([x[..., :-2 * n], turned], -1)


@fuse
def rope(x, cos, sin):
    return rotate(x, cos, sin)


@fuse
def window_kv(x, w, cos, sin):
    return formats.fp8_activation(rotate(rms(x, w), cos, sin)).to(x.dtype)


@fuse
def index_code(x, w, cos, sin):
    """an index key (w: its norm's weight) or query (None), rotated and through fp4"""
    x = x if w is None else rms(x, w)
    return formats.fp4_index(rotate(x, cos, sin)).to(x.dtype)


@fuse
def latent_code(x, cos, sin):
    return formats.fp4_latent(rotate(x, cos, sin)).to(x.dtype)


@fuse
def pool(kv, gate, w, dtype: torch.dtype):
    """groups of tokens [T,r,d] -> normed latents [T,d]"""
    p = torch.softmax(gate.float(), 1)
    return rms((p * kv.float()).sum(1).to(dtype), w)


@fuse
def index_scores(dots, weights):
    """dots [B,S,heads,groups], weights [B,S,heads] -> [B,S,groups]"""
    return (dots.float().clamp(min=0) * weights.unsqueeze(-1)).sum(2)


@fuse
def softmax_forward(near, far, near_ok, far_ok, sink, scale: float):
    """near [B,S,H,2W], far [B,S,H,G] or None: scores; *_ok: which count; -> probabilities and the log of their sum"""
    a = torch.where(near_ok, near.float() * scale, float("-inf"))
    m = a.amax(-1, keepdim=True)
    if far is not None:
        b = torch.where(far_ok, far.float() * scale, float("-inf"))
        m = torch.maximum(m, b.amax(-1, keepdim=True))
    a = torch.exp(a - m)
    total = a.sum(-1, keepdim=True) + torch.exp(sink.unsqueeze(-1) - m)
    if far is not None:
        b = torch.exp(b - m)
        total = total + b.sum(-1, keepdim=True)
        b = (b / total).to(far.dtype)
    return (a / total).to(near.dtype), b if far is not None else None, (m + torch.log(total)).squeeze(-1)


@fuse
def softmax_backward(near, far, d_near, d_far, sink, lse, scale: float):
    mean = (near.float() * d_near.float()).sum(-1, keepdim=True)
    if far is not None:
        mean = mean + (far.float() * d_far.float()).sum(-1, keepdim=True)
    g_near = (near.float() * (d_near.float() - mean) * scale).to(near.dtype)
    g_far = (far.float() * (d_far.float() - mean) * scale).to(far.dtype) if far is not None else None
    return g_near, g_far, -torch.exp(sink - lse) * mean.squeeze(-1)


class SinkSoftmax(torch.autograd.Function):
    """softmax over two lists of slots and a sink that takes part in the denominator alone (section 3.5)"""

    @staticmethod
    def forward(ctx, near, far, near_ok, far_ok, sink, scale):
        p, q, lse = softmax_forward(near, far, near_ok, far_ok, sink, scale)
        ctx.save_for_backward(p, q, sink, lse)
        ctx.scale = scale
        ctx.mark_non_differentiable(lse)
        return p, q, lse

    @staticmethod
    def backward(ctx, d_near, d_far, _):
        p, q, sink, lse = ctx.saved_tensors
        g_near, g_far, g_sink = softmax_backward(p, q, d_near, d_far, sink, lse, ctx.scale)
        return g_near, g_far, None, None, g_sink.flatten(0, -2).sum(0), None


class Lookup(torch.autograd.Function):
    """rows of a float32 table; the gradient is added up in float32 without sorting, which a captured graph allows"""

    @staticmethod
    def forward(ctx, table, index):
        ctx.save_for_backward(index)
        ctx.rows = table.shape[0]
        return table[index]

    @staticmethod
    def backward(ctx, g):
        index, = ctx.saved_tensors
        total = torch.zeros(ctx.rows, g.shape[-1], device=g.device)
        return total.index_add_(0, index.flatten(), g.flatten(0, -2).float()).to(g.dtype), None


lookup = Lookup.apply


# ------------------------------------------------------------------ sections 4 and 5

@fuse
def swiglu(gate, up, weight, limit: float, quant: bool):
    """gate, up [T,E,inter], weight [T,E] or None -> what w2 sees"""
    y = F.silu(gate.float().clamp(max=limit)) * up.float().clamp(-limit, limit)
    if weight is not None:
        y = y * weight.unsqueeze(-1)
    return quantized(y.to(gate.dtype), quant)


def route(logits, bias, top: int, scale: float, exact: bool):
    """-> weights [T,E], zero where an expert is not chosen, and 0/1 of the chosen"""
    score = torch.sqrt(F.softplus(logits).clamp(min=1e-12))
    biased = (score + bias).detach()
    if exact:
        index = torch.sort(biased, dim=-1, descending=True, stable=True).indices[:, :top]
    else:
        index = torch.topk(biased, top, -1).indices
    chosen = torch.zeros_like(score).scatter(-1, index, 1.0)
    weight = score * chosen
    return weight / (weight.sum(-1, keepdim=True) + 1e-20) * scale, chosen


@fuse
def engram_add(h, kv, qk):
    """h [T,hc,dim], kv [T,(hc+1)dim], qk [hc,dim]"""
    hc, dim = h.shape[-2:]
    f, key, value = h.float(), kv[:, :hc * dim].reshape(-1, hc, dim).float(), kv[:, hc * dim:].float()
    dot = (f * qk * key).sum(-1) * torch.rsqrt(f.square().mean(-1) + 1e-20) * torch.rsqrt(key.square().mean(-1) + 1e-20)
    dot = dot * dim ** -0.5
    gate = torch.sigmoid(torch.sign(dot) * torch.sqrt(dot.abs().clamp(min=1e-6)))
    return (f + gate.unsqueeze(-1) * value.unsqueeze(-2)).to(h.dtype)
