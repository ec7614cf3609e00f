# SPDX-License-Identifier: Apache-2.0
"""Shards and indexes that are cut, contradict themselves, or are not the config's."""
import os
import struct

from damaged_cases import INDEX, OTHER, SHARD, Case, both, bytes_changed, json_file, replace, shard, without

NORM = "layers.0.attn_norm.weight"  # of the first shard
S = SHARD.replace(".", r"\.")


def entry(name, **keys):
    return shard(lambda h, _: h[name].update(keys))


def length(n):
    return bytes_changed(SHARD, lambda b: struct.pack("<Q", n) + b[8:])


def renamed(old, new):
    """Of a tensor, in its shard and in the index."""

    def in_shards(folder):
        for file in (SHARD, OTHER):
            shard(lambda h, _: {(new if k == old else k): v for k, v in h.items()}, file)(folder)

    def in_index(index):
        index["weight_map"] = {(new if k == old else k): v for k, v in index["weight_map"].items()}

    return both(in_shards, json_file(INDEX, in_index))


def index(change):
    return json_file(INDEX, change)


def in_index(**entries):
    return index(lambda i: i["weight_map"].update(entries))


def place_of(header, name):
    return header[name]["data_offsets"]


def overlapping(header, _):
    names = sorted((n for n in header if n != "__metadata__"), key=lambda n: place_of(header, n)[0])
    first, second = names[0], names[1]
    size = place_of(header, second)[1] - place_of(header, second)[0]
    start = place_of(header, first)[0]
    header[second]["data_offsets"] = [start, start + size]


def of_a_larger_shape(header, _):
    header[NORM]["shape"] = [header[NORM]["shape"][0] + 1]


def twice(header, _):
    import json

    text = json.dumps(header)
    return (text[:-1] + f', "{NORM}": ' + json.dumps(header[NORM]) + "}").encode()


def with_scale(name):
    """One byte more, a scale beside a weight that has none."""

    def more(header, data):
        header[name] = {"dtype": "F8_E8M0", "shape": [1, 1], "data_offsets": [len(data), len(data) + 1]}
        return header, data + b"\x80"

    return both(shard(more), in_index(**{name: SHARD}))


def no_number(suffix):
    """Every tensor whose name ends so."""

    def change(header, data):
        data = bytearray(data)
        for name, tensor in header.items():
            if name.endswith(suffix):
                begin, end = tensor["data_offsets"]
                data[begin:end] = b"\0\0\xc0\x7f" * ((end - begin) // 4)
        return header, bytes(data)

    return both(shard(change), shard(change, OTHER))


def as_pipe(file):
    def damage(folder):
        (folder / file).unlink()
        os.mkfifo(folder / file)

    return damage


def as_zeros(file):
    def damage(folder):
        (folder / file).unlink()
        (folder / file).symlink_to("/dev/zero")

    return damage


def as_folder(folder):
    (folder / SHARD).unlink()
    (folder / SHARD).mkdir()


def as_loop(folder):
    (folder / SHARD).unlink()
    (folder / SHARD).symlink_to(SHARD)


def cases():
    yield Case("shard of no bytes", bytes_changed(SHARD, lambda b: b""), S)
    yield Case("shard of 7 bytes", bytes_changed(SHARD, lambda b: b[:7]), S)
    yield Case("shard that ends in its header", bytes_changed(SHARD, lambda b: b[:100]), S)
    yield Case("shard without its last byte", bytes_changed(SHARD, lambda b: b[:-1]), S)
    yield Case("shard cut in half", bytes_changed(SHARD, lambda b: b[: len(b) // 2]), S)
    yield Case("shard with bytes behind its tensors", bytes_changed(SHARD, lambda b: b + b"more"), S)
    yield Case("shard of zeros", bytes_changed(SHARD, lambda b: bytes(len(b))), S)
    yield Case("shard that is another kind of file", bytes_changed(SHARD, lambda b: b"GGUF" + b[4:]), S)
    yield Case("shard that is a folder", as_folder, S)
    yield Case("shard that is a link to itself", as_loop, S)
    yield Case("shard that is not there", lambda f: (f / SHARD).unlink(), S)
    yield Case("header length of 0", length(0), S)
    yield Case("header past the end", length(1 << 33), S)
    yield Case("header of 2^63 bytes", length(1 << 63), S)
    yield Case("header of 2^64 - 1 bytes", length((1 << 64) - 1), S)
    yield Case("header that is no JSON", shard(lambda h, d: (b"{not json}", d)), S)
    yield Case("header that is a list", shard(lambda h, d: ([], d)), S)
    yield Case("header that is cut", shard(lambda h, d: (b'{"a": {"dtype": "F32", ', d)), S)
    yield Case("header with a byte that is no UTF-8", shard(lambda h, d: (b'{"a\xff": 1}', d)), S)
    yield Case("header nested a thousand deep", shard(lambda h, d: (b'{"a":' * 1000 + b"1" + b"}" * 1000, d)), S)
    yield Case("header with a name twice", shard(twice), NORM)
    yield Case("tensor that is a number", shard(lambda h, _: h.update({NORM: 7})), NORM)
    yield Case("tensor without dtype", shard(lambda h, _: h[NORM].pop("dtype") and None), NORM)
    yield Case("tensor without shape", shard(lambda h, _: h[NORM].pop("shape") and None), NORM)
    yield Case("tensor without place", shard(lambda h, _: h[NORM].pop("data_offsets") and None), NORM)
    yield Case("dtype that is a number", entry(NORM, dtype=16), NORM)
    yield Case("dtype that nobody knows", entry(NORM, dtype="F7"), NORM)
    yield Case("dtype of another size", entry(NORM, dtype="F32"), NORM)
    yield Case("shape with a negative number", entry(NORM, shape=[-128]), NORM)
    yield Case("shape with a fraction", entry(NORM, shape=[128.5]), NORM)
    yield Case("shape whose product overflows", entry(NORM, shape=[1 << 62, 1 << 62]), NORM)
    yield Case("shape absurdly large", entry(NORM, shape=[1 << 50]), NORM)
    yield Case("shape that does not fill its bytes", shard(of_a_larger_shape), NORM)
    yield Case("place past the end", entry(NORM, data_offsets=[1 << 40, (1 << 40) + 256]), NORM)
    yield Case("place that ends before it begins", entry(NORM, data_offsets=[512, 256]), NORM)
    yield Case("place that is negative", entry(NORM, data_offsets=[-256, 0]), NORM)
    yield Case("place of three numbers", entry(NORM, data_offsets=[0, 1, 2]), NORM)
    yield Case("place of texts", entry(NORM, data_offsets=["0", "256"]), NORM)
    yield Case("places that overlap", shard(overlapping), S)
    yield Case("bytes that belong to nobody", shard(lambda h, d: (without(h, NORM), d)), S)

    for suffix in ("gate.bias", "attn_sink", "hc_attn_fn", "hc_ffn_base", "hc_attn_scale"):
        yield Case(f"{suffix} that is no number", no_number(suffix), rf"tensor \S+{suffix}: \[[0-9, ]+\] is nan, expected a finite number")
    yield Case("scale beside a weight that is not quantized", with_scale("layers.2.attn.compressor.wkv.scale"),
               r"layers\.2\.attn\.compressor\.wkv\.scale is a scale beside .*wkv\.weight, which is BF16")
    for file in (SHARD, INDEX, "config.json", "tokenizer.json"):
        yield Case(f"{file} that is a pipe", as_pipe(file), rf"{file} is a pipe, expected a regular file")
        yield Case(f"{file} that never ends", as_zeros(file), rf"{file} is a device, expected a regular file")

    yield Case("tensor that is missing", renamed(NORM, "layers.0.attn_norm.weigth"), rf"missing: {NORM}")
    yield Case("router bias under another name", renamed("layers.3.ffn.gate.bias", "layers.3.ffn.gate.e_score_correction_bias"),
               r"missing: layers\.3\.ffn\.gate\.bias")
    yield Case("scale without weight", renamed("layers.0.attn.wq_a.weight", "x"), r"layers\.0\.attn\.wq_a\.weight .*partner")
    yield Case("weight without scale", renamed("layers.0.attn.wq_a.scale", "x"), r"layers\.0\.attn\.wq_a\.scale .*partner")
    yield Case("expert scale that is missing", renamed("layers.1.ffn.experts.3.w2.scale", "x"), r"experts\.3\.w2\.scale")
    yield Case("draft tensor that is missing", renamed("mtp.1.ffn.shared_experts.w2.scale", "x"), r"mtp\.1\.ffn\.shared_experts\.w2\.scale")
    yield Case("tensor of another shape", shard(lambda h, _: h["layers.0.attn.wq_a.weight"].update(shape=[128, 64])),
               r"layers\.0\.attn\.wq_a\.weight.*shape")
    yield Case("tensor of another rank", shard(lambda h, _: h[NORM].update(shape=[1, 128])), NORM)
    yield Case("norm of a type that no norm has", entry(NORM, dtype="I16"), f"{NORM} is I16, expected BF16 or F16 or F32")
    yield Case("fp8 weight that says it is bytes of another kind", entry("layers.0.attn.wq_a.weight", dtype="I8"),
               r"layers\.0\.attn\.wq_a\.weight")

    I = INDEX.replace(".", r"\.")
    yield Case("index of no bytes", lambda f: replace(f / INDEX, ""), I)
    yield Case("index that is no JSON", lambda f: replace(f / INDEX, "weight_map"), I)
    yield Case("index that is cut", bytes_changed(INDEX, lambda b: b[: len(b) // 2]), I)
    yield Case("index that is a list", lambda f: replace(f / INDEX, "[]"), I)
    yield Case("index without weight_map", index(lambda i: i.pop("weight_map") and None), "weight_map")
    yield Case("index whose weight_map is a list", index(lambda i: i.update(weight_map=[])), "weight_map")
    yield Case("index whose weight_map is empty", index(lambda i: i.update(weight_map={})), "weight_map.*names a tensor")
    yield Case("index with a number for a shard", in_index(**{NORM: 1}), NORM)
    yield Case("index that leaves the folder", in_index(**{NORM: "../other.safetensors"}), "other")
    yield Case("index with a path from the root", in_index(**{NORM: "/etc/passwd"}), "passwd")
    yield Case("index with an empty name of a shard", in_index(**{NORM: ""}), NORM)
    yield Case("index that names a shard that is not there", in_index(**{NORM: "model-00009-of-00009.safetensors"}), "00009-of-00009")
    yield Case("index that names the other shard", in_index(**{NORM: OTHER}), NORM)
    yield Case("index with a tensor that is in no shard", in_index(**{"layers.99.norm": SHARD}), r"layers\.99\.norm")
    yield Case("index with invalid UTF-8", bytes_changed(INDEX, lambda b: b.replace(b"layers.0", b"layers\xc0", 1)), I)
    yield Case("folder with neither index nor model", lambda f: [(f / n).unlink() for n in (INDEX, SHARD, OTHER)], "safetensors")
