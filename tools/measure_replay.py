#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What replaying prompts (--prefill replay) costs in accuracy and saves in time, beside exact prefill.

    tools/measure_replay.py TEXT... [--program build/release/cachalot] [--model models/demo]

TEXT are files that the model was not trained on. Three parts, as CSV:
- logprobs: at the last position of prompts of --prompt tokens, --places of them spread over the files: largest and rms difference over
  the vocabulary (of log probabilities: logits up to a constant), and whether the likeliest token is the same;
- nats: a token, of the 64 tokens that follow such prompts (`perplexity --prompt`), of the first --windows windows of each file;
- seconds: of a prompt of --long tokens, the two in turns, medians of --rounds.
"""
import argparse
import json
import math
import os
import statistics
import subprocess

WAYS = ("exact", "replay")
SCORED = 64


def output(a, *arguments, **more):
    return subprocess.run([a.program, *map(str, arguments)], capture_output=True, check=True, text=True, **more).stdout


def tokens(a, file):
    line = json.dumps({"text": open(file, encoding="utf-8").read()}) + "\n"
    return json.loads(output(a, "tokenize", "--model", a.model, "--jsonl", input=line))["ids"]


def run(a, ids, way, *more):
    return json.loads(output(a, "run", "--model", a.model, "--ids", ",".join(map(str, ids)), "--temperature", 0, "--draft", "off", "--json",
                             "--prefill", way, *more))


def logprobs(a, ids, way):
    vocab = a.config["vocab_size"]
    top = run(a, ids, way, "--max-tokens", 1, "--logprobs", vocab)["logprobs"][0]["top"]
    by_id = [0.0] * vocab
    for entry in top:
        by_id[entry["id"]] = entry["logprob"]
    return by_id, top[0]["id"]


def compare_logprobs(a, texts):
    worst, squares, same, spread = [], [], 0, []
    for i in range(a.places):
        ids = texts[i % len(texts)]
        first = (len(ids) - a.prompt) * (i // len(texts)) // max(1, math.ceil(a.places / len(texts)) - 1)
        prompt = [a.config.get("bos_token_id", 0)] + ids[first:first + a.prompt - 1]
        (exact, best), (replay, other) = (logprobs(a, prompt, way) for way in WAYS)
        difference = [x - y for x, y in zip(exact, replay)]
        worst.append(max(map(abs, difference)))
        squares.append(statistics.fmean(d * d for d in difference))
        spread.append(statistics.pstdev(exact))
        same += best == other
    print("logprobs,places,prompt,median_largest,largest,rms,rms_of_logprobs_about_their_mean,same_likeliest")
    print(f"logprobs,{a.places},{a.prompt},{statistics.median(worst):.4f},{max(worst):.4f},{math.sqrt(statistics.fmean(squares)):.4f},"
          f"{statistics.fmean(spread):.3f},{same}", flush=True)


def compare_nats(a):
    print("nats,file,tokens,exact,replay,difference")
    total, all_tokens = {way: 0.0 for way in WAYS}, 0
    context = a.prompt + SCORED
    for file in a.texts:
        got = {way: json.loads(output(a, "perplexity", a.model, file, "--context", context, "--prompt", a.prompt, "--prefill", way,
                                      "--limit", a.windows * (context - 1), "--json")) for way in WAYS}
        count = got["exact"]["tokens"]
        nats = [got[way]["nats"] / count for way in WAYS]
        print(f"nats,{os.path.basename(file)},{count},{nats[0]:.4f},{nats[1]:.4f},{nats[1] - nats[0]:+.4f}", flush=True)
        all_tokens += count
        for way in WAYS:
            total[way] += got[way]["nats"]
    nats = [total[way] / all_tokens for way in WAYS]
    print(f"nats,all,{all_tokens},{nats[0]:.4f},{nats[1]:.4f},{nats[1] - nats[0]:+.4f}", flush=True)


def compare_seconds(a, ids):
    seconds, work = {way: [] for way in WAYS}, {}
    for _ in range(a.rounds):
        for way in WAYS:
            stats = run(a, (ids * (a.long // len(ids) + 1))[:a.long], way, "--max-tokens", 0, "--stats")["stats"]
            seconds[way].append(stats["prompt_seconds"])
            work[way] = stats["prefill"]["layer_tokens"]
    exact, replay = (statistics.median(seconds[way]) for way in WAYS)
    print("seconds,prompt,exact,replay,ratio,best_exact,best_replay,layer_tokens_exact,layer_tokens_replay,ratio_of_layer_tokens")
    print(f"seconds,{a.long},{exact:.3f},{replay:.3f},{exact / replay:.2f},{min(seconds['exact']):.3f},{min(seconds['replay']):.3f},"
          f"{work['exact']},{work['replay']},{work['exact'] / work['replay']:.2f}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("texts", nargs="+")
    p.add_argument("--program", default="build/release/cachalot")
    p.add_argument("--model", default="models/demo")
    p.add_argument("--prompt", type=int, default=1000)
    p.add_argument("--places", type=int, default=20)
    p.add_argument("--windows", type=int, default=20)
    p.add_argument("--long", type=int, default=4096)
    p.add_argument("--rounds", type=int, default=5)
    a = p.parse_args()
    config = json.load(open(os.path.join(a.model, "config.json"), encoding="utf-8"))
    a.config = {**config, **config.get("text_config", {})}
    texts = [tokens(a, file) for file in a.texts]
    print(f"# load average {' '.join(f'{x:.2f}' for x in os.getloadavg())}", flush=True)
    compare_seconds(a, texts[0])
    compare_logprobs(a, texts)
    compare_nats(a)
    print(f"# load average {' '.join(f'{x:.2f}' for x in os.getloadavg())}")


if __name__ == "__main__":
    main()
