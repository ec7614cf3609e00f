# SPDX-License-Identifier: Apache-2.0
"""The demo model's shape, its config.json, and the numbers of the Engram hash that follow from it (docs/spec/engram.md)."""
import copy
import json
import unicodedata

TEXT = {
    "model_type": "deepseek_v41_text",
    "vocab_size": 2560,
    "hidden_size": 256,
    "moe_intermediate_size": 96,
    "num_hidden_layers": 9,
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
    "head_dim": 128,
    "qk_rope_head_dim": 32,
    "q_lora_rank": 128,
    "o_lora_rank": 64,
    "o_groups": 2,
    "hidden_act": "silu",
    "swiglu_limit": 10.0,
    "rms_norm_eps": 1e-20,
    "attention_bias": False,
    "tie_word_embeddings": False,
    "max_position_embeddings": 8192,
    "rope_theta": 10000.0,
    "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "beta_fast": 32, "beta_slow": 1,
                     "original_max_position_embeddings": 2048},
    "n_routed_experts": 16,
    "n_shared_experts": 1,
    "num_experts_per_tok": 4,
    "scoring_func": "sqrtsoftplus",
    "topk_method": "noaux_tc",
    "norm_topk_prob": True,
    "routed_scaling_factor": 1.5,
    "sliding_window": 32,
    "compress_ratios": [0, 0, 2, 2, 2, 1, 1, 1, 1, 0, 0],
    "compress_rope_theta": 10000.0,
    "kv_source_layer_ids": [2, 4, 5],
    "index_source_layer_ids": [2, 4, 5, 7],
    "index_n_heads": 4,
    "index_head_dim": 64,
    "index_topk": 64,
    "candidate_source_layer_id": 5,
    "candidate_topk_blocks": 32,
    "candidate_block_size": 8,
    "hc_mult": 4,
    "hc_sinkhorn_iters": 20,
    "hc_eps": 1e-06,
    "engram_layer_ids": [1, 4],
    "engram_max_ngram_size": 4,
    "engram_vocab_size": 1536,
    "engram_n_heads": 2,
    "engram_head_dim": 32,
    "engram_pad_token_id": 2,
    "num_nextn_predict_layers": 2,
    "dspark_block_size": 5,
    "dspark_target_layer_ids": [6, 7, 8],
    "dspark_markov_rank": 32,
    "dspark_n_routed_experts": 8,
    "dspark_num_experts_per_tok": 3,
}


class Shape:
    """the text part of a config as attributes, with the spec's short names beside the file's"""

    def __init__(self, text):
        self.__dict__.update(text)
        self.text = text
        self.dim, self.layers, self.heads = text["hidden_size"], text["num_hidden_layers"], text["num_attention_heads"]
        self.rope_dim, self.window, self.drafts = text["qk_rope_head_dim"], text["sliding_window"], text["num_nextn_predict_layers"]
        self.inter, self.hc, self.eps = text["moe_intermediate_size"], text["hc_mult"], text["rms_norm_eps"]
        self.columns = (self.engram_max_ngram_size - 1) * self.engram_n_heads
        self.primes = primes(text)
        self.multipliers = [multipliers(l, self.engram_compressed_vocab_size, self.engram_max_ngram_size)
                            for l in self.engram_layer_ids]

    def source(self, ids, layer):
        return max(i for i in ids if i <= layer)


def complete(tokenizer, text=TEXT):
    """fill in what depends on the tokenizer -> (text part, class of every token)"""
    text = copy.deepcopy(text)
    classes, count = token_classes(tokenizer)
    names = {a["content"]: a["id"] for a in tokenizer["added_tokens"]}
    text["engram_compressed_vocab_size"] = count
    text["dspark_noise_token_id"] = names["<｜System｜>"]
    text["engram_num_embeddings"] = [sum(p for row in rows for p in row) for rows in primes(text)]
    return text, classes


def config(text, tokenizer):
    names = {a["content"]: a["id"] for a in tokenizer["added_tokens"]}
    return {
        "architectures": ["DeepseekV41ForCausalLM"],
        "model_type": "deepseek_v41",
        "torch_dtype": "bfloat16",
        "expert_dtype": "fp4",
        "bos_token_id": 0,
        "eos_token_id": 1,
        "pad_token_id": 2,
        "image_token_id": names["<｜deepseek_image｜>"],
        "quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [32, 32],
                                "scale_fmt": "ue8m0"},
        "text_config": text,
    }


def byte_alphabet():
    """character of the tokenizer file -> byte"""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return {**{chr(b): b for b in plain}, **{chr(256 + i): b for i, b in enumerate(rest)}}


def class_key(raw, text):
    if "\ufffd" in text:
        return raw
    folded = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text))
    folded = "".join(c.lower() for c in folded if unicodedata.category(c)[0] != "M")
    blanks = " \t\r\n"
    out = []
    for c in folded:
        if c not in blanks:
            out.append(c)
        elif not out or out[-1] != " ":
            out.append(" ")
    folded = "".join(out)
    return folded if folded == " " else folded.strip() or text


def token_classes(tokenizer):
    alphabet = byte_alphabet()
    spelled = {a["id"]: (a["content"], a["content"]) for a in tokenizer["added_tokens"]}
    for s, i in tokenizer["model"]["vocab"].items():
        spelled.setdefault(i, (s, bytes(alphabet.get(c, 0) for c in s).decode("utf-8", "replace")))
    number = {}
    return [number.setdefault(class_key(*spelled[i]), len(number)) for i in range(len(spelled))], len(number)


def is_prime(n):
    return n > 1 and all(n % d for d in range(2, int(n ** 0.5) + 1))


def primes(text):
    """[Engram layer][n-gram size][head]: the smallest primes not below engram_vocab_size, each used once"""
    taken, out = set(), []
    for _ in text["engram_layer_ids"]:
        rows = []
        for _ in range(text["engram_max_ngram_size"] - 1):
            n, row = text["engram_vocab_size"] - 1, []
            while len(row) < text["engram_n_heads"]:
                n += 1
                if n not in taken and is_prime(n):
                    taken.add(n)
                    row.append(n)
            rows.append(row)
        out.append(rows)
    return out


def multipliers(layer, classes, count):
    """odd numbers drawn by NumPy's default generator (PCG64 behind a seed sequence), as the released code draws them"""
    import numpy
    bound = max(1, (2 ** 63 - 1) // classes // 2)
    return [int(v) * 2 + 1 for v in numpy.random.default_rng(10007 * layer).integers(0, bound, size=count)]


def load(folder):
    with open(f"{folder}/config.json", encoding="utf-8") as f:
        return Shape(json.load(f)["text_config"])
