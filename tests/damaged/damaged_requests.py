# SPDX-License-Identifier: Apache-2.0
"""Prompts and options that can't be used, and files that change under a run."""
import os
import pathlib

from damaged_cases import SHARD, Case, bytes_changed, nothing, shard


# One whose tokenizer has the chat format's tokens.
CHAT_MODEL = ("--model", str(pathlib.Path(__file__).resolve().parent.parent.parent / "models/prototype"))


def usage(name, *arguments, error=None, **more):
    """An option that can't be meant: exit code 2, and the option is named."""
    option = error or next(a for a in arguments if str(a).startswith("--")).split("=")[0]
    return Case(name, nothing, option, arguments, exit_code=2, **more)


def run(*arguments):
    return ("run", "Hello", "--max-tokens", "2", *arguments)


def cut(folder):
    os.truncate((folder / SHARD).resolve() if not (folder / SHARD).is_symlink() else folder / SHARD, 0)


def nan_in_the_first_norm(header, data):
    begin, end = header["layers.0.attn_norm.weight"]["data_offsets"]
    return header, data[:begin] + b"\xff" * (end - begin) + data[end:]


def nan_code_in_a_weight(header, data):
    begin = header["layers.0.attn.wkv.weight"]["data_offsets"][0]
    return header, data[:begin] + b"\x7f" + data[begin + 1 :]


def cases():
    yield Case("text that is no UTF-8", nothing, "UTF-8", ("run", b"a\xffb", "--max-tokens", "1"))
    yield Case("text on standard input that is no UTF-8", nothing, "UTF-8", ("run", "--max-tokens", "1"), stdin=b"\xc3(")
    yield Case("prompt past the context", nothing, "513.*512|512.*513", ("run", "--ids", ",".join(["5"] * 513)))
    yield Case("text past the context", nothing, "512", ("run",), stdin=b"word " * 2000)
    yield Case("empty prompt", nothing, "empty|nothing", ("run", "", "--no-bos"), exit_code=2)
    yield Case("prompt that never ends", nothing, "more than the [0-9]+ bytes.*has 512 positions", ("run", "--max-tokens", "1"), stdin="/dev/zero")
    yield Case("conversation that never ends", nothing, "/dev/zero is a device", ("render", "--messages", "/dev/zero", *CHAT_MODEL), own_model=False)
    yield Case("standard input for a conversation that never ends", nothing, "standard input has more than", ("render", "--messages", "-", *CHAT_MODEL), stdin="/dev/zero", own_model=False)
    yield Case("tools that never end", nothing, "/dev/zero is a device", ("render", "--tools", "/dev/zero", "x", *CHAT_MODEL), own_model=False)
    yield Case("lines that never end", nothing, "/dev/zero is a device", ("render", "--jsonl", "/dev/zero", *CHAT_MODEL), own_model=False)
    yield Case("chat that never ends", nothing, "a line of standard input has more than", ("chat", *CHAT_MODEL), stdin="/dev/zero", own_model=False)
    yield Case("text to score that never ends", nothing, "/dev/zero is a device", ("perplexity", "/dev/zero"))
    yield Case("text to score that is a pipe nobody writes to", lambda f: os.mkfifo(f / "pipe"), "pipe is a pipe, and nobody writes to it",
               ("perplexity", lambda f: f / "pipe"))
    yield usage("id past the vocabulary", "run", "--ids", "3,497")
    yield usage("id that is negative", "run", "--ids=-1")
    yield usage("id that is no number", "run", "--ids", "3,x")
    yield usage("id list with an empty item", "run", "--ids", "3,,4")
    yield usage("id list of nothing", "run", "--ids", "")
    yield usage("id of twenty digits", "run", "--ids", "99999999999999999999")
    for option, values in {
        "--temperature": ("-1", "nan", "inf", "1e9", "warm", ""),
        "--max-tokens": ("-1", "1.5", "many", "99999999999999999999"),
        "--threads": ("0", "-1", "1025", "two", "0x2"),
        "--chunk": ("0", "-5", "nan"),
        "--seed": ("-1", "18446744073709551616", "x"),
        "--top-p": ("-0.1", "1.5", "nan"),
        "--top-k": ("-1", "x"),
        "--min-p": ("-1", "2", "nan"),
        "--repetition-penalty": ("0", "-1", "nan", "inf"),
        "--presence-penalty": ("nan", "1e9"),
        "--frequency-penalty": ("inf", "x"),
        "--logit-bias": ("5", "5=x", "x=1", "5=nan"),
        "--min-tokens": ("-1", "x"),
        "--choices": ("0", "-1", "x"),
        "--numerics": ("f16", ""),
        "--backend": ("abacus", ""),
        "--simd": ("mmx", ""),
        "--reference-op": ("abacus", ""),
        "--index-keys": ("mine",),
    }.items():
        for value in values:
            given = (f"{option}={value}",) if value else (option, value)
            yield usage(f"{option} {value!r}", *run(*given), error=option[2:] + "|operator|backend|level")
    yield usage("option that there is not", *run("--temprature", "1"), error="temprature|not expected")
    yield usage("command that there is not", "rum", "Hello", error="rum|not expected|command", own_model=False)
    yield usage("two texts", "run", "Hello", "world", error="world|not expected")
    yield usage("logprobs without json", *run("--logprobs", "3"), error="--logprobs")
    yield usage("logit bias of no token", *run("--logit-bias", "497=1"), error="--logit-bias")
    yield Case("model that is not there", nothing, "/no/such/model", ("run", "x", "--model", "/no/such/model"), own_model=False)
    yield Case("model that is a file", nothing, r"config\.json", ("run", "x", "--model", lambda f: f / "config.json"), own_model=False)
    yield Case("model that is an empty name", nothing, "model", ("run", "x", "--model", ""), own_model=False, exit_code=2)

    yield Case("norm that is no number", shard(nan_in_the_first_norm), r"layers\.0\.attn_norm\.weight: \[0\] is -?nan, expected a finite")
    yield Case("one code that is no number", shard(nan_code_in_a_weight), "not numbers")
    yield Case("shard cut while it is mapped", bytes_changed(SHARD, lambda b: b), "can't be read any more.*has 0 now",
               ("run", "--ids", "3,4,5", "--max-tokens", "500", "--ignore-eos", "--backend", "reference"), later=cut)
