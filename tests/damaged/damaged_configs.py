# SPDX-License-Identifier: Apache-2.0
"""Configs that miss a key, mean another model or contradict themselves; tokenizers that are damaged or of another kind."""
import json

from damaged_cases import Case, bytes_changed, config, replace, text_config, tokenizer

# Keys of mini-a's config.json that may be left out: they say what is computed anyway, or nothing.
OPTIONAL = {"model_type", "num_key_value_heads", "hidden_act", "attention_bias", "tie_word_embeddings", "n_shared_experts",
            "topk_method", "norm_topk_prob", "candidate_source_layer_id", "max_wh_ratio", "num_nextn_predict_layers"}
PROMPT = ("run", "Hello", "--max-tokens", "1")
C, T = r"config\.json", r"tokenizer\.json"


def missing_keys(model):
    settings = json.loads((model / "config.json").read_text())
    for part in ("text_config", "vision_config"):
        for key in settings[part]:
            if key not in OPTIONAL:
                yield Case(f"config without {part}.{key}", config(lambda c, p=part, k=key: c[p].pop(k) and None),
                           rf'{C}.*"{part}\.{key}(\.\w+)?" is missing')
    for key in settings["text_config"]["rope_scaling"]:
        if key != "rope_type":
            yield Case(f"config without rope_scaling.{key}",
                       config(lambda c, k=key: c["text_config"]["rope_scaling"].pop(k) and None), rf"rope_scaling\.{key}")


def top(**keys):
    return config(lambda c: c.update(keys))


def configs(model):
    yield Case("config that is not there", lambda f: (f / "config.json").unlink(), C)
    yield Case("config of no bytes", lambda f: replace(f / "config.json", ""), C)
    yield Case("config that is no JSON", lambda f: replace(f / "config.json", "model_type: deepseek"), C)
    yield Case("config that is cut", bytes_changed("config.json", lambda b: b[: len(b) // 2]), C)
    yield Case("config that is a list", lambda f: replace(f / "config.json", "[1]"), C)
    yield Case("config with invalid UTF-8", bytes_changed("config.json", lambda b: b.replace(b"silu", b"si\xfflu")), C)
    yield Case("config with NaN", bytes_changed("config.json", lambda b: b.replace(b"1e-06", b"NaN")), C)
    yield Case("config with a key twice", bytes_changed("config.json", lambda b: b.replace(b'"hc_mult": 4', b'"hc_mult": 4, "hc_mult": 8')), "hc_mult")
    yield from missing_keys(model)
    yield Case("config without model_type", config(lambda c: c.pop("model_type") and None), "model_type")
    for name in ("deepseek_v4", "deepseek_v41x", "deepseek_v3", "llama", "", 41, None):
        yield Case(f"family {name!r}", top(model_type=name), "model_type")
    yield Case("text_config that is a number", top(text_config=7), "text_config")
    yield Case("config without text_config", config(lambda c: c.pop("text_config") and None), "text_config|missing")
    yield Case("vision_config that is a text", top(vision_config="none"), "vision_config")
    yield Case("experts of another format", top(expert_dtype="int4"), "expert_dtype")
    yield Case("quantization_config that is a text", top(quantization_config="fp8"), "quantization_config")
    for key, value in {"quant_method": "awq", "activation_scheme": "static", "weight_block_size": [128, 128], "scale_fmt": "float"}.items():
        yield Case(f"quantization with another {key}", config(lambda c, k=key, v=value: c["quantization_config"].update({k: v})), key)
    for key, value in {"hidden_act": "gelu", "attention_bias": True, "tie_word_embeddings": True, "n_shared_experts": 2,
                       "num_key_value_heads": 4, "topk_method": "greedy", "norm_topk_prob": False, "scoring_func": "tanh"}.items():
        yield Case(f"{key} of another model", text_config(**{key: value}), key)
    yield Case("another kind of rope_scaling", config(lambda c: c["text_config"]["rope_scaling"].update(rope_type="linear")), "rope_type")
    for key, value in {"hidden_size": 0, "num_hidden_layers": -1, "vocab_size": 1 << 40, "num_attention_heads": 4.5, "head_dim": "64",
                       "sliding_window": 0, "index_topk": 0, "hc_mult": 1000, "max_position_embeddings": 1 << 40, "n_routed_experts": None,
                       "num_experts_per_tok": 9, "qk_rope_head_dim": 33, "o_groups": 3, "rope_theta": 0, "rms_norm_eps": -1,
                       "routed_scaling_factor": "1.5", "hc_sinkhorn_iters": 0, "dspark_block_size": 0, "engram_max_ngram_size": 1,
                       "moe_intermediate_size": 65, "q_lora_rank": [64]}.items():
        yield Case(f"{key} of {json.dumps(value)}", text_config(**{key: value}), key)
    ratios = [0, 0, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0]
    for name, value in {"too short": ratios[:-1], "too long": [*ratios, 0], "with a negative": [-1, *ratios[1:]], "with a text": ["0", *ratios[1:]],
                        "with a fraction": [0.5, *ratios[1:]], "that is empty": [], "that is a number": 2, "that is not its source's": [0, 0, 2, 3, *ratios[4:]]}.items():
        yield Case(f"ratio list {name}", text_config(compress_ratios=value), "compress_ratios|ratio")
    for key, value in {"kv_source_layer_ids": [2, 4, 99], "index_source_layer_ids": [2, 4, 8], "candidate_source_layer_id": 3,
                       "engram_layer_ids": [1, 40], "engram_num_embeddings": [660], "dspark_target_layer_ids": [7, 8, 99]}.items():
        yield Case(f"{key} that fits nothing", text_config(**{key: value}), f"{key}|{key[:-4]}|layer")
    yield Case("sources that are not in order", text_config(kv_source_layer_ids=[4, 2, 6]), "kv_source")
    yield Case("Engram tables of no prime columns", text_config(engram_num_embeddings=[661, 864]), "engram_num_embeddings|engram")
    yield Case("shapes that the tensors do not have", text_config(moe_intermediate_size=96), "shape")
    yield Case("more layers than there are tensors", text_config(num_hidden_layers=11, compress_ratios=[0, 0, 2, 2, 2, 2, 1, 1, 1, 1, 1, 0, 0, 0]), r"missing: .*layers\.10")
    yield Case("vocabulary larger than the embedding", text_config(vocab_size=500), "shape|embed")


def model(**keys):
    return tokenizer(lambda t: t["model"].update(keys))


def vocab(change):
    return tokenizer(lambda t: change(t["model"]["vocab"]) and None)


def tokenizers():
    def case(name, damage, error=T):
        return Case(name, damage, error, PROMPT)

    yield case("tokenizer that is not there", lambda f: (f / "tokenizer.json").unlink())
    yield case("tokenizer of no bytes", lambda f: replace(f / "tokenizer.json", ""))
    yield case("tokenizer that is no JSON", lambda f: replace(f / "tokenizer.json", "tokens"))
    yield case("tokenizer that is cut", bytes_changed("tokenizer.json", lambda b: b[: len(b) // 3]))
    yield case("tokenizer that is a list", lambda f: replace(f / "tokenizer.json", "[]"))
    yield case("tokenizer with invalid UTF-8", bytes_changed("tokenizer.json", lambda b: b.replace(b'"ByteLevel"', b'"Byte\xffLevel"')))
    yield case("tokenizer without model", tokenizer(lambda t: t.pop("model") and None))
    yield case("tokenizer of another model", model(type="WordPiece"))
    yield case("tokenizer with dropout", model(dropout=0.1))
    yield case("tokenizer whose vocabulary is a list", model(vocab=[]))
    yield case("tokenizer with an empty vocabulary", model(vocab={}))
    yield case("tokenizer with an id twice", vocab(lambda v: v.update({"!": 5})))
    yield case("tokenizer with an id too large", vocab(lambda v: v.update({"!": 1 << 40})))
    yield case("tokenizer with a negative id", vocab(lambda v: v.update({"!": -1})))
    yield case("tokenizer without the token of a byte", vocab(lambda v: v.pop("!")))
    yield case("tokenizer whose merges are a text", model(merges="a b"))
    yield case("tokenizer with a merge of one part", tokenizer(lambda t: t["model"]["merges"].insert(0, "ab")))
    yield case("tokenizer with a merge of strangers", tokenizer(lambda t: t["model"]["merges"].insert(0, ["qqqq", "zzzz"])))
    yield case("tokenizer with a normalizer", tokenizer(lambda t: t.update(normalizer={"type": "NFC"})))
    yield case("tokenizer without pre-tokenizer", tokenizer(lambda t: t.update(pre_tokenizer=None)))
    yield case("tokenizer with another split pattern", bytes_changed("tokenizer.json", lambda b: b.replace(b"{1,3}", b"{1,4}", 1)))
    yield case("tokenizer with another decoder", tokenizer(lambda t: t.update(decoder={"type": "WordPiece"})))
    yield case("added token whose id another has", tokenizer(lambda t: t["added_tokens"][0].update(id=7)))
    yield case("added token without content", tokenizer(lambda t: t["added_tokens"][0].pop("content") and None))
    yield case("added token far behind the rest", tokenizer(lambda t: t["added_tokens"][0].update(id=1 << 30)))
    yield case("tokenizer of a larger vocabulary", vocab(lambda v: v.update({"hello": 497})), "token")


def cases(model_folder):
    yield from configs(model_folder)
    yield from tokenizers()
