# SPDX-License-Identifier: Apache-2.0
"""Number formats of the released checkpoint as round trips: value -> nearest value that the format holds.

Written with plain tensor operations (exponent bits, round half to even), so that the same code runs on any device and in
any version of PyTorch. Source: docs/spec/model.md section 7.
"""
import torch


def exponent_scale(value, up):
    """2^k of a positive float32: k = ceil(log2 value) with `up`, floor without; from the bits, so it is exact"""
    bits = value.float().contiguous().view(torch.int32)
    exponent = bits >> 23
    if up:
        exponent = exponent + ((bits & 0x7FFFFF) != 0).to(torch.int32)
    return (exponent << 23).view(torch.float32)


def to_e4m3(x):
    """nearest e4m3 value, ties to even, saturating at 448"""
    x = x.clamp(-448, 448)
    quantum = exponent_scale(x.abs().clamp(min=2.0 ** -6), False) * 0.125
    return torch.round(x / quantum) * quantum


def to_e2m1(x):
    """nearest of 0 .5 1 1.5 2 3 4 6 and negatives, ties to the even code"""
    x = x.clamp(-6, 6)
    quantum = exponent_scale(x.abs().clamp(min=1.0), False) * 0.5
    return torch.round(x / quantum) * quantum


def grouped(x, group):
    return x.float().reshape(x.shape[:-1] + (x.shape[-1] // group, group))


def fp8_parts(x, group=32):
    """activations and Engram rows -> (value/scale in e4m3, scale), one power of two per group of the last axis"""
    g = grouped(x, group)
    scale = exponent_scale(g.abs().amax(-1, keepdim=True).clamp(min=1e-4) * (1.0 / 448.0), True)
    return to_e4m3(g / scale), scale


def fp4_parts(x, group=32):
    """expert weights, index queries and keys -> (value/scale in e2m1, scale), one power of two per group"""
    g = grouped(x, group)
    scale = exponent_scale(g.abs().amax(-1, keepdim=True).clamp(min=6.0 * 2.0 ** -126) * (1.0 / 6.0), True)
    return to_e2m1(g / scale), scale


def latent_parts(x, group=16):
    """compressed KV -> (value/scale in e2m1, scale in e4m3)"""
    g = grouped(x, group)
    scale = to_e4m3(g.abs().amax(-1, keepdim=True).clamp(min=6.0 * 2.0 ** -9) / 6.0)
    return to_e2m1(g / scale), scale


def block_parts(w):
    """fp8 weights [..., n, k] -> (value/scale [..., n/32, 32, k/32, 32] in e4m3, scale), one power of two per 32 x 32"""
    n, k = w.shape[-2:]
    g = w.float().reshape(w.shape[:-2] + (n // 32, 32, k // 32, 32))
    scale = exponent_scale(g.abs().amax((-3, -1), keepdim=True).clamp(min=1e-4) * (1.0 / 448.0), True)
    return to_e4m3(g / scale), scale


def joined(parts, like):
    return (parts[0] * parts[1]).reshape(like.shape)


def straight_through(x, rounded):
    """forward the rounded value, backward as if nothing was rounded; in float32, or x + (q - x) would not be q"""
    x = x.float()
    return x + (rounded - x).detach()


def fp8_activation(x):
    return straight_through(x, joined(fp8_parts(x.detach()), x))


def fp4_index(x):
    return straight_through(x, joined(fp4_parts(x.detach()), x))


def fp4_latent(x):
    return straight_through(x, joined(latent_parts(x.detach()), x))


def fp8_weight(w):
    return straight_through(w, joined(block_parts(w.detach()), w))


def fp4_weight(w):
    return straight_through(w, joined(fp4_parts(w.detach()), w))


def fp8_rows(w):
    return straight_through(w, joined(fp8_parts(w.detach()), w))


def bf16_weight(w):
    return straight_through(w, w.to(torch.bfloat16).float())
