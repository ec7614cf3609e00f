#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does a run hold its state and little more? Makes a checkpoint of at least 2 GiB in a temporary folder, continues a long
prompt with it, and compares the peak of memory that no file stands behind with the state's bytes + 200 MB. A copy of the
weights, or of one format of them, would show. Usage: tools/measure_memory.py [CACHALOT [--threads N]]"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ALLOWED = 200_000_000
LEAST_BYTES = 2 << 30


def output(*command):
    return json.loads(subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE).stdout)


def main(program=ROOT / "build/release/cachalot", *options):
    prototype = ROOT / "models/prototype"
    config = json.loads((prototype / "config.json").read_text())
    text = config["text_config"]
    # Experts are most of any such model. Of this size they are about as many as the released model has, so that what
    # is kept per tensor counts as it does there.
    text["moe_intermediate_size"] = 352
    expert_bytes = 3 * text["hidden_size"] * text["moe_intermediate_size"] * 17 // 32
    text["n_routed_experts"] = LEAST_BYTES // (text["num_hidden_layers"] * expert_bytes) + 1
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "model"
        shape = pathlib.Path(folder) / "config.json"
        shape.write_text(json.dumps(config))
        subprocess.run([str(program), "make-checkpoint", "--config", str(shape), "--out", str(model), "--tokenizer",
                        str(prototype / "tokenizer.json")], check=True)
        ids = ",".join(str(3 + i * 37 % 2000) for i in range(1000))
        stats = output(program, "run", "--model", model, "--ids", ids, "--max-tokens", 20, "--ignore-eos", "--json",
                       "--stats", *options)["stats"]
        weights = sum(f.stat().st_size for f in model.glob("*.safetensors"))
    state = stats["state_fixed_bytes"] + stats["state_page_bytes"]
    own = stats["peak_anonymous_bytes"]
    print(f"weights {weights / 1e6:.1f} MB, of them in memory at once {stats['peak_file_bytes'] / 1e6:.1f} MB")
    print(f"own memory {own / 1e6:.1f} MB at most; state {state / 1e6:.1f} MB, scratch {stats['scratch_bytes'] / 1e6:.1f} MB")
    good = own <= state + ALLOWED and weights >= LEAST_BYTES and stats["peak_file_bytes"] > weights // 10
    print("good" if good else f"BAD: more than state + {ALLOWED / 1e6:.0f} MB, or the weights were not there to be read")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
