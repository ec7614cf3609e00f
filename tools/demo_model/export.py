# SPDX-License-Identifier: Apache-2.0
"""Write the parameters as a checkpoint in the released layout (docs/spec/model.md section 9), the same bytes every time."""
import json
import os
import struct
import sys

import torch

import formats
import shape as shapes
import weights as W

E2M1 = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6])
LIMIT = 15 * 2 ** 20                                     # bytes of tensors in one file; the draft stages have their own


def e4m3_bytes(values):
    """values that e4m3 holds exactly -> their codes"""
    sign = torch.signbit(values).to(torch.int32) << 7
    bits = values.abs().contiguous().view(torch.int32)
    normal = ((bits >> 23) - 120 << 3) | ((bits >> 20) & 7)
    small = torch.round(values.abs() * 512).to(torch.int32)
    return (torch.where(values.abs() >= 2.0 ** -6, normal, small) | sign).to(torch.uint8)


def e2m1_bytes(values):
    code = torch.searchsorted(E2M1, values.abs().contiguous()).to(torch.uint8)
    code = code | (torch.signbit(values).to(torch.uint8) << 3)
    return code[..., 0::2] | (code[..., 1::2] << 4)


def scale_bytes(scale):
    return (scale.contiguous().view(torch.int32) >> 23).to(torch.uint8)


def bf16_bytes(w):
    return w.to(torch.bfloat16).contiguous().view(torch.int16)


def encoded(name, w, how):
    """-> {name: (dtype, shape, tensor)} of one weight, with its scale where it has one"""
    stem = name[:-len("weight")]
    if how == "f32":
        return {name: ("F32", w.float())}
    if how == "bf16":
        return {name: ("BF16", bf16_bytes(w))}
    if how == "fp8":
        code, scale = formats.block_parts(w)
        return {name: ("F8_E4M3", e4m3_bytes(code).reshape(w.shape)), stem + "scale": ("F8_E8M0", scale_bytes(scale)[:, 0, :, 0])}
    code, scale = (formats.fp8_parts if how == "rows" else formats.fp4_parts)(w)
    if how == "rows":
        return {name: ("F8_E4M3", e4m3_bytes(code).reshape(w.shape)), stem + "scale": ("F8_E8M0", scale_bytes(scale)[..., 0])}
    return {name: ("I8", e2m1_bytes(code.reshape(w.shape))), stem + "scale": ("F8_E8M0", scale_bytes(scale)[..., 0])}


def block_names(s, prefix, layer):
    """(parameter, its name in the checkpoint) of what every block has"""
    names = {"attn_norm": "attn_norm.weight", "ffn_norm": "ffn_norm.weight", "attn.sink": "attn.attn_sink",
             "attn.q_norm": "attn.q_norm.weight", "attn.kv_norm": "attn.kv_norm.weight", "gate.weight": "ffn.gate.weight",
             "gate.bias": "ffn.gate.bias"}
    names.update({f"attn.{k}": f"attn.{k}.weight" for k in ("wq_a", "wq_b", "wkv", "wo_a", "wo_b")})
    names.update({f"shared.{k}": f"ffn.shared_experts.{k}.weight" for k in ("w1", "w2", "w3")})
    names.update({f"hc_{sub}_{k}": f"hc_{sub}_{k}" for sub in ("attn", "ffn") for k in ("fn", "base", "scale")})
    return {prefix + k: f"{layer}.{v}" for k, v in names.items()}


def tensors(s, P):
    """the checkpoint's tensors, those of the draft stages last"""
    out = {}

    def put(parameter, name, w):
        out.update(encoded(name, w, W.number_format(parameter)))

    put("embed", "embed.weight", P["embed"])
    put("head", "head.weight", P["head"])
    put("norm", "norm.weight", P["norm"])
    for prefix, stem, count in (("main.", "layers", s.layers), ("draft.", "mtp", s.drafts)):
        for l in range(count):
            layer = f"{stem}.{l}"
            for parameter, name in block_names(s, prefix, layer).items():
                put(parameter, name, P[parameter][l])
            put("main.gate.bias", f"{layer}.ffn.gate.bias_vl", P[prefix + "gate.bias"][l])
            for e in range(P[prefix + "experts.w1"].shape[1]):
                for k in ("w1", "w2", "w3"):
                    put(prefix + "experts." + k, f"{layer}.ffn.experts.{e}.{k}.weight", P[prefix + "experts." + k][l, e])
    gates = 0
    for n, l in enumerate(s.kv_source_layer_ids):
        a = f"layers.{l}.attn."
        put("source.compressor.wkv", a + "compressor.wkv.weight", P["source.compressor.wkv"][n])
        put("source.compressor.norm", a + "compressor.norm.weight", P["source.compressor.norm"][n])
        if s.compress_ratios[l] > 1:
            put("source.compressor.wgate", a + "compressor.wgate.weight", P["source.compressor.wgate"][gates])
            gates += 1
        put("source.indexer.wk", a + "indexer.wk.weight", P["source.indexer.wk"][n])
        put("source.indexer.k_norm", a + "indexer.k_norm.weight", P["source.indexer.k_norm"][n])
    for n, l in enumerate(s.index_source_layer_ids):
        put("index.indexer.wq_b", f"layers.{l}.attn.indexer.wq_b.weight", P["index.indexer.wq_b"][n])
        put("index.indexer.weights_proj", f"layers.{l}.attn.indexer.weights_proj.weight", P["index.indexer.weights_proj"][n])
    for n, l in enumerate(s.engram_layer_ids):
        a = f"layers.{l}.engram."
        put("engram.embed", a + "embed.weight", P[f"engram.embed.{n}"])
        put("engram.wkv", a + "wkv.weight", P["engram.wkv"][n])
        put("engram.q_weight", a + "q_weight", P["engram.q_weight"][n])
        put("engram.k_weight", a + "k_weight", P["engram.k_weight"][n])
    last = f"mtp.{s.drafts - 1}."
    for parameter, name in (("main_proj", "mtp.0.main_proj.weight"), ("main_norm", "mtp.0.main_norm.weight"),
                            ("draft_norm", last + "norm.weight"), ("markov.embed", last + "markov_head.embed.weight"),
                            ("markov.head", last + "markov_head.head.weight"), ("confidence", last + "confidence_head.proj.weight")):
        put(parameter, name, P[parameter])
    return dict(sorted(out.items(), key=lambda item: item[0].startswith("mtp.")))


def write_file(path, part):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    blobs = []
    for name, (dtype, tensor) in part.items():
        blob = tensor.contiguous().cpu().numpy().tobytes()
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [at, at + len(blob)]}
        at += len(blob)
        blobs.append(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def export(text, P, tokenizer, folder):
    """config.json, tokenizer.json, shards and their index"""
    os.makedirs(folder, exist_ok=True)
    parts, size, total = [{}], 0, 0
    for name, (dtype, tensor) in tensors(shapes.Shape(text), {k: v.detach().cpu() for k, v in P.items()}).items():
        n = tensor.numel() * tensor.element_size()
        if size + n > LIMIT or (name.startswith("mtp.") and not any(k.startswith("mtp.") for k in parts[-1])):
            parts.append({})
            size = 0
        parts[-1][name] = (dtype, tensor)
        size, total = size + n, total + n
    where = {}
    for i, part in enumerate(parts):
        file = f"model-{i + 1:05}-of-{len(parts):05}.safetensors"
        write_file(os.path.join(folder, file), part)
        where.update({name: file for name in part})
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(where.items()))}
    for file, what in (("model.safetensors.index.json", index), ("config.json", shapes.config(text, tokenizer)),
                       ("tokenizer.json", tokenizer)):
        with open(os.path.join(folder, file), "w", encoding="utf-8") as f:
            json.dump(what, f, indent=1 if file == "config.json" else None, ensure_ascii=False,
                      separators=None if file == "config.json" else (",", ":"))
            f.write("\n")
    return total


if __name__ == "__main__":                               # export.py CHECKPOINT.pt TOKENIZER.json FOLDER
    with open(sys.argv[2], encoding="utf-8") as f:
        tokenizer = json.load(f)
    saved = torch.load(sys.argv[1], map_location="cpu")
    print(export(shapes.complete(tokenizer)[0], saved["P"], tokenizer, sys.argv[3]), "bytes of tensors")
