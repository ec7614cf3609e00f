# SPDX-License-Identifier: Apache-2.0
"""Muon for matrices, Adam for the rest.

Muon: momentum, made orthogonal by a few Newton-Schulz steps, scaled so that its elements are about as large as Adam's
(K. Jordan 2024; scale 0.2 sqrt(max(n, m)) after Moonshot AI 2025). Stacks of matrices are one batched product.
"""
import torch

MUON = ("attn.wq_a", "attn.wq_b", "attn.wkv", "attn.wo_a", "attn.wo_b", "experts.", "shared.", "compressor.wkv", "compressor.wgate",
        "indexer.wk", "indexer.wq_b", "engram.wkv", "main_proj")
# of Adam's rate. The hyper-connections go slowly: at the full rate their scales grew from 0.1 to 2.7 within 1,700 steps, the
# mixing became hard and different for every token, and the gradient grew tenfold from each layer to the one below.
RATE = {"_fn": 0.1, "_scale": 0.1, "_base": 0.3, "gate.weight": 0.5, "markov.head": 0.5}


def orthogonal(m, steps=5):
    """nearest matrix with singular values near 1, for a batch [n,r,c]"""
    x = m.to(torch.bfloat16)
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = x.transpose(-2, -1)
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        a = torch.bmm(x, x.transpose(1, 2))
        x = 3.4445 * x + torch.bmm(-4.7750 * a + 2.0315 * torch.bmm(a, a), x)
    return (x.transpose(-2, -1) if tall else x).float()


class Optimizer:
    def __init__(self, P, decay, betas=(0.9, 0.95), momentum=0.95):
        self.P, self.decay, self.betas, self.momentum = P, decay, betas, momentum
        self.muon = [k for k in P if any(m in k for m in MUON)]
        self.adam = [k for k in P if k not in self.muon and "gate.bias" not in k]
        self.state = {k: torch.zeros_like(P[k]) for k in self.muon}
        for k in self.adam:
            self.state[k], self.state[k + "/2"] = torch.zeros_like(P[k]), torch.zeros_like(P[k])
        self.count = {k: 0 for k in self.adam}

    @torch.no_grad()
    def step(self, rate, active, fine):
        """rate(name) -> learning rate; active(name): whether it is being trained; fine: 0 where the step is to be skipped.
        A skipped step must not move anything: Muon would go on at full speed along its old momentum."""
        for k in self.muon:
            if not active(k):
                continue
            p, buf = self.P[k], self.state[k]
            g = p.grad
            buf.mul_(self.momentum).add_(g)
            r, c = p.shape[-2:]
            if k.endswith("wo_a"):
                r //= 2                                   # two output groups, each a matrix of its own
            update = orthogonal((g + self.momentum * buf).reshape(-1, r, c)).reshape(p.shape)
            lr = rate(k)
            p.mul_(1 - lr * self.decay).add_(update * fine, alpha=-lr * 0.2 * max(r, c) ** 0.5)
        names = [k for k in self.adam if active(k)]
        b1, b2 = self.betas
        grads = [self.P[k].grad for k in names]
        first, second = [self.state[k] for k in names], [self.state[k + "/2"] for k in names]
        torch._foreach_mul_(first, b1)
        torch._foreach_add_(first, grads, alpha=1 - b1)
        torch._foreach_mul_(second, b2)
        torch._foreach_addcmul_(second, grads, grads, 1 - b2)
        root = torch._foreach_sqrt(second)
        torch._foreach_add_(root, 1e-10)
        for k, m, v in zip(names, first, root):
            self.count[k] += 1
            n = self.count[k]
            scale = next((s for part, s in RATE.items() if part in k), 1.0) * (1 - b2 ** n) ** 0.5 / (1 - b1 ** n)
            self.P[k].addcdiv_(m * fine, v, value=-rate(k) * scale)
