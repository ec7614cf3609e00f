# SPDX-License-Identifier: Apache-2.0
"""The draft stages over many anchors of a sequence at once (docs/spec/model.md section 6).

An anchor is a position p whose next token is known: the block then sits at p+1 .. p+5, its first token is that next token,
the others are noise, and row i predicts the token at p+2+i. Nothing flows back into the backbone.
"""
import torch
import torch.nn.functional as F

import pieces as K
import weights as W

ACCEPTED, LIKELIEST = 1.5, 0.3                           # weights in the loss: number of drafts accepted at T=1, most likely token

def draft_weights(model):
    """the draft stages' own weights, with the backbone's embedding and head held still"""
    w = W.seen(model.P, model.dtype, [k for k in model.P if W.is_draft(k)])
    with torch.no_grad():
        w.update(W.seen(model.P, model.dtype, ["embed", "head"]))
    return w


def draft(model, w, ids, main_hidden, anchors):
    """ids [B,S], main_hidden [B*S, targets*dim], anchors [B,A] -> folded [B,A,block,dim], logits without the Markov part
    [B,A,block,V], choices of the experts per stage"""
    s = model.s
    B, S = ids.shape
    A, n, dtype = anchors.shape[1], s.dspark_block_size, model.dtype
    rows = torch.arange(B, device=ids.device)[:, None]
    main_x, main_xq = K.norm_quant(F.linear(K.quantized(main_hidden, model.quant), w["main_proj"]), w["main_norm"], model.quant)
    back = torch.arange(s.window - 1, -1, -1, device=ids.device)
    slots = anchors.unsqueeze(-1) - back                                                       # [B,A,window]
    in_block = anchors.unsqueeze(-1) + 1 + torch.arange(n, device=ids.device)                  # positions, [B,A,block]
    tokens = torch.full_like(in_block, s.dspark_noise_token_id)
    tokens[..., 0] = ids[rows, (anchors + 1).clamp(max=S - 1)]
    h = K.lookup(w["embed"], tokens.flatten()).to(dtype).unsqueeze(1).expand(-1, s.hc, s.dim).contiguous()
    mix = torch.zeros(B * A * n, s.hc, device=ids.device)
    mix[:, 0] = 1
    table = tuple(t[in_block] for t in model.plain)
    ok = torch.cat([slots >= 0, torch.ones_like(in_block, dtype=torch.bool)], -1)[:, :, None, None, :]
    chosen = []
    for i in range(s.drafts):
        ring = K.window_kv(F.linear(main_xq, w["draft.attn.wkv"][i]).reshape(B, S, -1), w["draft.attn.kv_norm"][i],
                           *(t[:S] for t in model.plain))
        ring = K.lookup(ring.flatten(0, 1), slots.clamp(min=0) + rows.unsqueeze(-1) * S)

        def attention(x, xq, i=i, ring=ring):
            _, q = model.queries(w, "draft.", i, (B, A, n), xq, table)
            own = K.window_kv(F.linear(xq, w["draft.attn.wkv"][i]).reshape(B, A, n, -1), w["draft.attn.kv_norm"][i], *table)
            keys = torch.cat([ring, own], 2).flatten(0, 1)
            score = torch.bmm(q.reshape(B * A, n * s.heads, -1), keys.transpose(1, 2)).reshape(B, A, n, s.heads, -1)
            p, _, _ = K.SinkSoftmax.apply(score, None, ok, None, w["draft.attn.sink"][i], s.head_dim ** -0.5)
            o = torch.bmm(p.reshape(B * A, n * s.heads, -1), keys).reshape(B, A, n, s.heads, -1)
            return model.project(w, "draft.", i, o, table)

        h, mix, took = model.block(w, "draft.", i, s.dspark_num_experts_per_tok, h, mix, attention)
        chosen.append(took)
    folded = K.fold(h, mix)
    x = K.rms(folded, w["draft_norm"])
    logits = F.linear(x.float(), w["head"].float()) if model.exact else F.linear(x, w["head"])
    return folded.reshape(B, A, n, -1), logits.reshape(B, A, n, -1), chosen


def markov(model, w, folded, logits, before):
    """add what the token drafted before says: before [B,A,block] -> logits in float32, confidence [B,A,block]"""
    e = K.lookup(w["markov.embed"], before)
    logits = logits.float() + F.linear(e.to(w["markov.head"].dtype), w["markov.head"]).float()
    return logits, F.linear(torch.cat([folded.float(), e], -1), w["confidence"].float()).squeeze(-1)


def draft_loss(model, ids, frozen, anchors):
    """frozen: the backbone's main_hidden and logits for ids. Soft targets from the model itself on the real text, and the
    number of drafts accepted; the confidence learns how often -> loss, that number, choices of the experts per stage"""
    s = model.s
    w = draft_weights(model)
    folded, logits, chosen = draft(model, w, ids, frozen["main_hidden"], anchors)
    B, A, n = folded.shape[:3]
    rows = torch.arange(B, device=ids.device)[:, None, None]
    at = anchors.unsqueeze(-1) + 1 + torch.arange(n, device=ids.device)        # the row of the main model with the same target
    logits, confidence = markov(model, w, folded, logits, ids[rows, at])
    with torch.no_grad():
        target = torch.softmax(frozen["logits"].reshape(B, ids.shape[1], -1)[rows, at].float(), -1)
    log_q = torch.log_softmax(logits, -1)
    likeliest = log_q.gather(-1, target.argmax(-1, keepdim=True)).squeeze(-1)  # what greedy text needs
    cross = -(target * log_q).sum(-1) - LIKELIEST * likeliest
    shared = torch.minimum(target, log_q.exp()).sum(-1)                         # chance that a sampled draft is accepted
    certainty = F.binary_cross_entropy_with_logits(confidence, shared.detach())
    weight = model.draft_weight
    running = expected = shared[..., 0]
    for i in range(1, n):                                                       # torch.cumprod would wait for the GPU here
        running = running * shared[..., i]
        expected = expected + running
    expected = expected.mean()
    return (cross * weight).sum(-1).mean() / weight.sum() - ACCEPTED * expected + 0.1 * certainty, expected.detach(), chosen
