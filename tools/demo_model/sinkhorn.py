# SPDX-License-Identifier: Apache-2.0
"""Sinkhorn normalisation of the hyper-connections' 4 x 4 matrices (docs/spec/model.md section 2).

Forward exactly as specified. Backward not through the iterations but through the projection they converge to: for a doubly
stochastic P = diag(a) exp(Z) diag(b) the gradient is P * (G - u - v), with u (rows) and v (columns) such that it has zero
row and column sums; a few alternating steps find u and v. On a GPU each direction is one kernel.
"""
import torch

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

SOLVE = 20


def forward_plain(z, iters, eps):
    m = torch.softmax(z, -1) + eps
    m = m / (m.sum(-2, keepdim=True) + eps)
    for _ in range(iters - 1):
        m = m / (m.sum(-1, keepdim=True) + eps)
        m = m / (m.sum(-2, keepdim=True) + eps)
    return m


def backward_plain(p, g):
    x = p * g
    rows, columns = x.sum(-1, keepdim=True), x.sum(-2, keepdim=True)
    v = torch.zeros_like(columns)
    for _ in range(SOLVE):
        u = rows - (p * v).sum(-1, keepdim=True)
        v = columns - (p * u).sum(-2, keepdim=True)
    return p * (g - u - v)


if triton is not None:
    @triton.jit
    def forward_kernel(z_ptr, out_ptr, n, eps, ITERS: tl.constexpr, BLOCK: tl.constexpr):
        t = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        at = t[:, None, None] * 16 + tl.arange(0, 4)[None, :, None] * 4 + tl.arange(0, 4)[None, None, :]
        inside = (t < n)[:, None, None]
        m = tl.load(z_ptr + at, mask=inside, other=0.0)
        m = tl.exp(m - tl.max(m, axis=2, keep_dims=True))
        m = m / tl.sum(m, axis=2, keep_dims=True) + eps
        m = m / (tl.sum(m, axis=1, keep_dims=True) + eps)
        for _ in range(ITERS - 1):
            m = m / (tl.sum(m, axis=2, keep_dims=True) + eps)
            m = m / (tl.sum(m, axis=1, keep_dims=True) + eps)
        tl.store(out_ptr + at, m, mask=inside)

    @triton.jit
    def backward_kernel(p_ptr, g_ptr, out_ptr, n, STEPS: tl.constexpr, BLOCK: tl.constexpr):
        t = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        at = t[:, None, None] * 16 + tl.arange(0, 4)[None, :, None] * 4 + tl.arange(0, 4)[None, None, :]
        inside = (t < n)[:, None, None]
        p = tl.load(p_ptr + at, mask=inside, other=0.25)
        g = tl.load(g_ptr + at, mask=inside, other=0.0)
        x = p * g
        rows = tl.sum(x, axis=2, keep_dims=True)
        columns = tl.sum(x, axis=1, keep_dims=True)
        u = rows
        v = columns - tl.sum(p * u, axis=1, keep_dims=True)
        for _ in range(STEPS - 1):
            u = rows - tl.sum(p * v, axis=2, keep_dims=True)
            v = columns - tl.sum(p * u, axis=1, keep_dims=True)
        tl.store(out_ptr + at, p * (g - u - v), mask=inside)


def use_kernel(t):
    return triton is not None and t.is_cuda and t.shape[-2:] == (4, 4)


class Sinkhorn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, iters, eps):
        if use_kernel(z):
            z = z.contiguous()
            p, n = torch.empty_like(z), z.numel() // 16
            forward_kernel[(triton.cdiv(n, 64),)](z, p, n, eps, ITERS=iters, BLOCK=64)
        else:
            p = forward_plain(z, iters, eps)
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx, g):
        p, = ctx.saved_tensors
        if not use_kernel(p):
            return backward_plain(p, g), None, None
        g = g.contiguous()
        out, n = torch.empty_like(p), p.numel() // 16
        backward_kernel[(triton.cdiv(n, 64),)](p, g, out, n, STEPS=SOLVE, BLOCK=64)
        return out, None, None


def sinkhorn(z, iters, eps):
    return Sinkhorn.apply(z.float(), iters, eps)
