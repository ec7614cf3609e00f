#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does a run take what `cachalot plan` says, and no copy of the weights? Makes a checkpoint of at least 2 GiB in a temporary
folder (in FOLDER, where one is given), continues a prompt that reaches every expert with it, in small steps and in one, and
compares the peaks of the process's own memory and of mapped files with the plan: each within 10 %.
Usage: tools/measure_memory.py [CACHALOT [FOLDER [--threads N]]]"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEAST_BYTES = 2 << 30
TOLERANCE = 0.10
PROMPT, MADE = 1000, 20
CHUNKS = (256, 64)


def output(*command):
    return json.loads(subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE).stdout)


def config():
    """The bundled model's, but wider, so that scratch is more than the program itself takes; and with 2 GiB of experts, each of
    which about 40 of the prompt's tokens choose."""
    shape = json.loads((ROOT / "models/demo/config.json").read_text())
    text = shape["text_config"]
    text.update(hidden_size=2048, num_attention_heads=16, moe_intermediate_size=512, num_experts_per_tok=6)
    expert_bytes = 3 * text["hidden_size"] * text["moe_intermediate_size"] * 17 // 32
    text["n_routed_experts"] = LEAST_BYTES // (text["num_hidden_layers"] * expert_bytes) + 1
    return shape


def compare(what, planned, measured):
    off = planned / measured - 1
    print(f"  {what:<12} planned {planned / 1e6:8.1f} MB, measured {measured / 1e6:8.1f} MB: {100 * off:+.1f} %")
    return abs(off) <= TOLERANCE


def main(program=ROOT / "build/release/cachalot", at=None, *options):
    with tempfile.TemporaryDirectory(dir=at) as folder:
        model = pathlib.Path(folder) / "model"
        shape = pathlib.Path(folder) / "config.json"
        shape.write_text(json.dumps(config()))
        subprocess.run([str(program), "make-checkpoint", "--config", str(shape), "--out", str(model), "--tokenizer",
                        str(ROOT / "models/demo/tokenizer.json")], check=True)
        weights = sum(f.stat().st_size for f in model.glob("*.safetensors"))
        good = weights >= LEAST_BYTES
        ids = ",".join(str(3 + i * 37 % 2000) for i in range(PROMPT))
        for chunk in CHUNKS:
            plan = output(program, "plan", model, "--context", PROMPT + MADE, "--chunk", chunk, "--json", *options)
            stats = output(program, "run", "--model", model, "--ids", ids, "--max-tokens", MADE, "--ignore-eos", "--chunk", chunk,
                           "--json", "--stats", *options)["stats"]
            print(f"{weights / 1e6:.0f} MB of weights, {chunk} rows a step:")
            good &= compare("own memory", plan["peak_bytes"], stats["peak_anonymous_bytes"])
            good &= compare("mapped", plan["used_bytes"], stats["peak_file_bytes"])
    print("good" if good else "BAD: the plan and the run are more than 10 % apart")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
