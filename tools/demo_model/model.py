# SPDX-License-Identifier: Apache-2.0
"""The text model over whole sequences, for training and evaluation (docs/spec/model.md sections 1 to 5).

Numerics: 'train' (released's rounding points, fast), 'released' and 'f32' (exact ties, scores in float32). Attention is
masked dense attention and every expert is computed for every token: wasteful in operations, quick on a GPU.
"""
import torch
import torch.nn.functional as F

import formats
import pieces as K
import weights as W
from sinkhorn import sinkhorn


def rope_table(s, compressed, yarn, length):
    """cos, sin [length, rope_dim/2]"""
    i = torch.arange(0, s.rope_dim, 2, dtype=torch.float64)
    base = s.compress_rope_theta if compressed else s.rope_theta
    f = base ** (-i / s.rope_dim)
    if yarn and compressed:
        y = s.rope_scaling
        corrected = lambda n: s.rope_dim * torch.log(torch.tensor(y["original_max_position_embeddings"] / (2 * torch.pi * n))) / (
            2 * torch.log(torch.tensor(base)))
        low = max(float(torch.floor(corrected(y["beta_fast"]))), 0)
        high = min(float(torch.ceil(corrected(y["beta_slow"]))), s.rope_dim - 1)
        ramp = ((torch.arange(s.rope_dim // 2) - low) / max(high - low, 1e-3)).clamp(0, 1).double()
        f = f / y["factor"] * ramp + f * (1 - ramp)
    angle = (torch.arange(length, dtype=torch.float32)[:, None] * f.float()[None]).double()
    return angle.cos().float(), angle.sin().float()


class Backbone:
    def __init__(self, shape, P, classes, length, device, numerics="train"):
        self.s, self.P, self.device = shape, P, device
        self.classes = torch.tensor(classes, device=device)
        self.pad_class = classes[shape.engram_pad_token_id]
        self.multipliers = torch.tensor(shape.multipliers, device=device)
        self.plain = tuple(t.to(device) for t in rope_table(shape, False, False, length))
        self.compressed = tuple(t.to(device) for t in rope_table(shape, True, False, length))
        W_ = shape.window
        i, j = torch.arange(W_)[:, None], torch.arange(2 * W_)[None]
        self.dense = torch.zeros((), dtype=torch.bool, device=device)     # 'top' selects everything while this is set
        self.draft_weight = torch.tensor([1.0, 0.9, 0.8, 0.7, 0.6], device=device)[:shape.dspark_block_size]
        self.near_ok = ((j > i) & (j <= i + W_)).to(device)
        self.set_numerics(numerics)

    def set_numerics(self, numerics):
        self.numerics, self.exact = numerics, numerics != "train"
        self.quant = numerics != "f32"
        self.dtype = torch.float32 if numerics == "f32" else torch.bfloat16

    def use_yarn(self):
        """in place, so that a captured graph reads the new table"""
        for old, new in zip(self.compressed, rope_table(self.s, True, True, self.compressed[0].shape[0])):
            old.copy_(new)

    # -------------------------------------------------------------- sections 2, 4, 5

    def hc(self, w, prefix, l, sub, h):
        s = self.s
        fn = w[prefix + f"hc_{sub}_fn"][l]
        flat = h.flatten(1)
        raw = F.linear(flat.float(), fn) if self.exact else F.linear(flat, fn.to(h.dtype))
        pre, post, comb = K.hc_pre_post(h, raw, w[prefix + f"hc_{sub}_base"][l], w[prefix + f"hc_{sub}_scale"][l], s.hc, s.hc_eps)
        return pre, post, sinkhorn(comb, s.hc_sinkhorn_iters, s.hc_eps)

    def block(self, w, prefix, l, top, h, mix, attention):
        """h [T,hc,dim], mix [T,hc] -> the same after one layer, and the experts' 0/1 choices"""
        s = self.s
        pre, post, comb = self.hc(w, prefix, l, "attn", h)
        x, xq = K.fold_norm(h, mix, w[prefix + "attn_norm"][l], self.quant)
        h = K.expand(attention(x, xq), h, post, comb)
        pre2, post, comb = self.hc(w, prefix, l, "ffn", h)
        x, xq = K.fold_norm(h, pre, w[prefix + "ffn_norm"][l], self.quant)
        y, chosen = self.moe(w, prefix, l, top, x, xq)
        return K.expand(y, h, post, comb), pre2, chosen

    def moe(self, w, prefix, l, top, x, xq):
        s = self.s
        logits = F.linear(x.float(), w[prefix + "gate.weight"][l])
        weight, chosen = K.route(logits, w[prefix + "gate.bias"][l], top, s.routed_scaling_factor, self.exact)
        w1, w3, w2 = (w[prefix + "experts." + k][l] for k in ("w1", "w3", "w2"))
        E, I = w1.shape[0], w1.shape[1]
        gate, up = F.linear(xq, w1.flatten(0, 1)), F.linear(xq, w3.flatten(0, 1))
        y = K.swiglu(gate.unflatten(-1, (E, I)), up.unflatten(-1, (E, I)), weight, s.swiglu_limit, self.quant)
        out = F.linear(y.flatten(1), w2.permute(1, 0, 2).reshape(s.dim, E * I))
        gate, up = (F.linear(xq, w[prefix + "shared." + k][l]).unsqueeze(1) for k in ("w1", "w3"))
        y = K.swiglu(gate, up, None, s.swiglu_limit, self.quant).squeeze(1)
        return out + F.linear(y, w[prefix + "shared.w2"][l]), chosen

    def engram_rows(self, ids, i):
        """[B,S] -> row numbers [B,S,columns]"""
        s = self.s
        c = self.classes[ids]
        mix, rows, offset = c * self.multipliers[i, 0], [], 0
        for k in range(1, s.engram_max_ngram_size):
            back = torch.cat([torch.full_like(c[:, :k], self.pad_class), c[:, :-k]], 1)
            mix = torch.bitwise_xor(mix, back * self.multipliers[i, k])
            for prime in s.primes[i][k - 1]:
                rows.append(mix % prime + offset)
                offset += prime
        return torch.stack(rows, -1)

    def engram(self, w, i, ids, h):
        found = K.lookup(w[f"engram.embed.{i}"], self.engram_rows(ids, i).flatten(0, 1)).flatten(1).to(self.dtype)
        kv = F.linear(K.quantized(found, self.quant), w["engram.wkv"][i])
        return K.engram_add(h, kv, w["engram.q_weight"][i] * w["engram.k_weight"][i])

    # -------------------------------------------------------------- section 3

    def queries(self, w, prefix, l, x_shape, xq, table):
        """-> qr as a quantized linear sees it, rotated q [.., heads, head_dim]"""
        s = self.s
        _, qr = K.norm_quant(F.linear(xq, w[prefix + "attn.wq_a"][l]), w[prefix + "attn.q_norm"][l], self.quant)
        q = F.linear(qr, w[prefix + "attn.wq_b"][l]).reshape(*x_shape, s.heads, s.head_dim)
        return qr, K.rope(q, *(t.unsqueeze(-2) for t in table))

    def project(self, w, prefix, l, o, table):
        """o [.., heads, head_dim] rotated back, then wo_a by groups and wo_b -> [T, dim]"""
        s = self.s
        o = K.rope(o, table[0].unsqueeze(-2), -table[1].unsqueeze(-2)).reshape(-1, s.o_groups, s.heads * s.head_dim // s.o_groups)
        wa = w[prefix + "attn.wo_a"][l].unflatten(0, (s.o_groups, s.o_lora_rank))
        z = torch.cat([F.linear(o[:, g], wa[g]) for g in range(s.o_groups)], -1)
        return F.linear(K.quantized(z, self.quant), w[prefix + "attn.wo_b"][l])

    def compress(self, w, n, r, x, B, S):
        """KV source number n: x [T,dim] -> codes [B,G,d] for attention, index keys [B,G,64]"""
        s = self.s
        kv = F.linear(x, w["source.compressor.wkv"][n])
        norm = w["source.compressor.norm"][n]
        if r == 1:
            latent = K.rms(kv, norm)
        else:
            gate = F.linear(x, w["source.compressor.wgate"][n])
            latent = K.pool(kv.reshape(-1, r, s.head_dim), gate.reshape(-1, r, s.head_dim), norm, self.dtype)
        latent = latent.reshape(B, S // r, -1)
        table = tuple(t[:S:r] for t in self.compressed)
        keys = K.index_code(F.linear(latent.detach(), w["source.indexer.wk"][n]), w["source.indexer.k_norm"][n], *table)
        return K.latent_code(latent, *table), keys

    def index_queries(self, w, i, x, qr, shape, table):
        """index source number i -> queries [.., heads, 64] and their weights [.., heads]; nothing flows back into x, qr"""
        s = self.s
        q = F.linear(qr.detach(), w["index.indexer.wq_b"][i]).reshape(*shape, s.index_n_heads, s.index_head_dim)
        q = K.index_code(q, None, *(t.unsqueeze(-2) for t in table))
        weight = F.linear(x.detach(), w["index.indexer.weights_proj"][i]).float().reshape(*shape, s.index_n_heads)
        return q, weight * (s.index_head_dim ** -0.5 * s.index_n_heads ** -0.5)

    def index_score(self, q, weight, keys):
        if self.exact:
            q, keys = q.float(), keys.float()
        B, S, H, d = q.shape
        dots = torch.bmm(q.reshape(B, S * H, d), keys.transpose(1, 2)).reshape(B, S, H, -1)
        return K.index_scores(dots, weight)

    def best(self, score, k):
        """[.., n] with -inf where not allowed -> bool, the k best; ties to the lower position when exact"""
        if score.shape[-1] > k:
            if self.exact:
                at = torch.sort(score, dim=-1, descending=True, stable=True).indices[..., :k]
            else:
                at = torch.topk(score, k, -1, sorted=False).indices
            return torch.zeros_like(score, dtype=torch.bool).scatter(-1, at, True) & (score > float("-inf"))
        return score > float("-inf")

    @torch.no_grad()
    def select(self, score, visible, candidates, top):
        score = torch.where(visible if candidates is None else visible & candidates, score, float("-inf"))
        return self.best(score, top)

    @torch.no_grad()
    def candidate_blocks(self, score, visible):
        s = self.s
        size = s.candidate_block_size
        score = torch.where(visible, score, float("-inf"))
        pad = -score.shape[-1] % size
        blocks = F.pad(score, (0, pad), value=float("-inf")).unflatten(-1, (-1, size)).amax(-1)
        newest = (visible.sum(-1, keepdim=True) - 1).expand(blocks.shape[:-1] + (1,))
        pinned = torch.zeros_like(blocks, dtype=torch.bool).scatter(-1, newest.clamp(min=0) // size, True) & (newest >= 0)
        keep = self.best(torch.where(pinned, float("inf"), blocks), s.candidate_topk_blocks)
        return keep.repeat_interleave(size, -1)[..., :score.shape[-1]]

    def attend(self, q, near, far, far_ok, sink):
        """q [B,S,H,d]; near [B,S,d], far [B,G,d] or None, far_ok [.,S,1,G] -> [B,S,H,d], log of the sums [B,S,H]"""
        s = self.s
        B, S, H, d = q.shape
        n, scale = S // s.window, d ** -0.5
        chunks = near.reshape(B, n, s.window, d)
        keys = torch.cat([F.pad(chunks[:, :-1], (0, 0, 0, 0, 1, 0)), chunks], 2).flatten(0, 1)
        score = torch.bmm(q.reshape(B * n, s.window * H, d), keys.transpose(1, 2)).reshape(B, S, H, 2 * s.window)
        first = torch.arange(S, device=q.device)[:, None] >= s.window
        late = torch.arange(2 * s.window, device=q.device)[None] >= s.window
        ok = (self.near_ok.repeat(n, 1) & (first | late)).unsqueeze(1)
        wide = torch.bmm(q.reshape(B, S * H, d), far.transpose(1, 2)).reshape(B, S, H, -1) if far is not None else None
        p, pf, lse = K.SinkSoftmax.apply(score, wide, ok, far_ok, sink, scale)
        out = torch.bmm(p.reshape(B * n, s.window * H, -1), keys).reshape(B, S, H, d)
        if far is not None:
            out = out + torch.bmm(pf.reshape(B, S * H, -1), far).reshape(B, S, H, d)
        return out, lse

    # -------------------------------------------------------------- the whole

    def forward(self, ids, select="top", sample=None, top=None, w=None):
        """ids [B,S], S a multiple of the window; select 'all', 'top' or 'none'; sample [B,n]: queries that train the indexer
        -> dict of hidden [T,dim], main_hidden, chosen (per layer), index_loss"""
        s = self.s
        w = w or W.seen(self.P, self.dtype, [k for k in self.P if not W.is_draft(k)])
        B, S = ids.shape
        T = B * S
        position = torch.arange(S, device=ids.device)
        h = K.lookup(w["embed"], ids.flatten()).to(self.dtype).unsqueeze(1).expand(T, s.hc, s.dim).contiguous()
        mix = torch.zeros(T, s.hc, device=ids.device)
        mix[:, 0] = 1
        context = {"candidates": None, "index_loss": [], "top": top or s.index_topk}
        means, chosen = [], []
        for l in range(s.layers):
            if l in s.engram_layer_ids:
                h = self.engram(w, s.engram_layer_ids.index(l), ids, h)
            if l in s.dspark_target_layer_ids:
                means.append(h.detach().float().mean(1).to(h.dtype))
            h, mix, took = self.block(w, "main.", l, s.num_experts_per_tok, h, mix,
                                      lambda x, xq, l=l: self.attention(w, l, x, xq, B, S, position, select, sample, context))
            chosen.append(took)
        self.finish_index_source(context)
        hidden = K.rms(K.fold(h, mix), w["norm"])
        losses = context["index_loss"]
        return {"hidden": hidden, "main_hidden": torch.cat(means, -1), "chosen": chosen, "w": w,
                "index_loss": torch.stack(losses).mean() if losses else None}

    def logits(self, out):
        return F.linear(out["hidden"].float(), out["w"]["head"].float()) if self.exact else F.linear(out["hidden"], out["w"]["head"])

    def attention(self, w, l, x, xq, B, S, position, select, sample, context):
        s, r, prefix = self.s, self.s.compress_ratios[l], "main."
        tables = self.plain if r == 0 else self.compressed
        table = tuple(t[:S] for t in tables)
        qr, q = self.queries(w, prefix, l, (B, S), xq, table)
        near = K.window_kv(F.linear(xq, w[prefix + "attn.wkv"][l]).reshape(B, S, -1), w[prefix + "attn.kv_norm"][l], *table)
        sink = w[prefix + "attn.sink"][l]
        if r == 0:
            o, _ = self.attend(q, near, None, None, sink)
            return self.project(w, prefix, l, o, table)
        if l in s.kv_source_layer_ids:
            n = s.kv_source_layer_ids.index(l)
            context["far"], context["keys"] = self.compress(w, n, r, x, B, S)
            context["visible"] = (torch.arange(S // r, device=x.device)[None] < ((position + 1) // r)[:, None]).unsqueeze(0)
        if l in s.index_source_layer_ids:
            self.finish_index_source(context)
            self.index(w, l, x, qr, B, S, table, select, sample, context)
        far, ok = context["far"], context["ok"]
        o, lse = self.attend(q, near, far, ok.unsqueeze(2), sink)
        if sample is not None:
            self.add_mass(q, far, lse, sample, context)
        return self.project(w, prefix, l, o, table)

    def index(self, w, l, x, qr, B, S, table, select, sample, context):
        s, i = self.s, self.s.index_source_layer_ids.index(l)
        visible = context["visible"]
        if select == "top":
            with torch.no_grad():
                score = self.index_score(*self.index_queries(w, i, x, qr, (B, S), table), context["keys"])
            if l == s.candidate_source_layer_id:
                later = self.candidate_blocks(score, visible)
                context["ok"] = self.select(score, visible, None, context["top"])
                context["candidates"] = later
            else:
                context["ok"] = self.select(score, visible, context["candidates"], context["top"])
            context["ok"] = context["ok"] | (visible & self.dense)
        else:
            context["ok"] = visible if select == "all" else torch.zeros_like(visible)
        if sample is not None:
            at = (sample + torch.arange(B, device=sample.device)[:, None] * S).flatten()
            part = tuple(t[sample] for t in table)
            q, weight = self.index_queries(w, i, x[at], qr[at], sample.shape, part)
            context["sampled"] = (self.index_score(q, weight, context["keys"]), visible[0][sample])
            context["mass"] = 0

    @torch.no_grad()
    def add_mass(self, q, far, lse, sample, context):
        """attention mass of the sampled queries on every visible group, summed over heads and over layers that share them"""
        B, n = sample.shape
        rows = torch.arange(B, device=sample.device)[:, None]
        q, lse = q[rows, sample], lse[rows, sample]
        score = torch.bmm(q.reshape(B, -1, q.shape[-1]), far.transpose(1, 2)).reshape(B, n, q.shape[2], -1).float()
        mass = torch.exp((score * q.shape[-1] ** -0.5 - lse.unsqueeze(-1)).clamp(max=20)).sum(2)
        context["mass"] = context["mass"] + torch.where(context["sampled"][1], mass, 0.0)

    def finish_index_source(self, context):
        """loss of the index source whose layers are done: divergence of its softmax from the attention mass"""
        if "sampled" not in context:
            return
        score, seen = context.pop("sampled")
        mass = context.pop("mass")
        target = mass / mass.sum(-1, keepdim=True).clamp(min=1e-9)
        log_p = torch.log_softmax(torch.where(seen, score, -1e9), -1)
        kl = (target * (torch.log(target.clamp(min=1e-9)) - log_p)).sum(-1)
        some = seen.any(-1).float()
        context["index_loss"].append((kl * some).sum() / some.sum().clamp(min=1))
