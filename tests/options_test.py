#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every option of every command does something: usage: options_test.py CACHALOT MINI_MODEL CHAT_MODEL OPS_GOLDEN

Walks over what `cachalot help` lists. For each option the table below has a line without it and what to add: what is
written, or the exit code, must then be another. An option that changes speed alone stands in SPEED: there what is
written must stay, and a value that can't be meant must be refused. An option that has no line here fails the test.
"""
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM, MINI, CHAT, OPS = sys.argv[1:5]
FOLDER = tempfile.TemporaryDirectory()
PLACE = pathlib.Path(FOLDER.name)
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("CACHALOT_")} | {
    "CACHALOT_MODEL": MINI, "COLUMNS": "120", "XDG_STATE_HOME": FOLDER.name}


def cachalot(*arguments, text=""):
    ran = subprocess.run([PROGRAM, *arguments], input=text, capture_output=True, text=True, env=ENVIRONMENT)
    return ran.returncode, ran.stdout, re.sub(r"\d+\.\d+ s|\d+(\.\d+)? tokens/s", "", ran.stderr)


@functools.lru_cache(None)
def once(*arguments, text=""):
    """Of a line without the option, which many options share. Only where a line leaves nothing behind."""
    return cachalot(*arguments, text=text)


def usual_answer(command, line, text):
    answer = once if command[0] in ("run", "chat", "perplexity", "plan", "inspect") and "--cache" not in line else cachalot
    return answer(*command, *line, text=text)


def options_of(*command):
    """Long names in the order of --help, without those of every command."""
    page = cachalot("help", *command)[1]
    page = page.split("\nOf every command:")[0]
    return re.findall(r"^  (?:-\w, |    )(--[a-z][a-z-]*)", page, re.M)


def commands():
    page = cachalot("help")[1]
    names = re.findall(r"^  ([a-z][a-z-]*)  ", page.split("\nCommands:\n")[1].split("\nOptions:")[0], re.M)
    below = {name: re.findall(r"^  ([a-z]+)  ", part[1].split("\n\n")[0], re.M)
             for name in names if name != "help" and len(part := cachalot("help", name)[1].split("\nCommands:\n")) > 1}
    return [(name,) for name in names if name != "help" and name not in below] + \
           [(name, sub) for name, subs in below.items() for sub in subs]


def write(name, text):
    path = PLACE / name
    path.write_text(text)
    return str(path)


IDS = ",".join(str(3 + 7 * i % 400) for i in range(90))
TEXT = write("text.txt", "It was the best of times, it was the worst of times. " * 20)
TOOLS = write("tools.json", json.dumps([{"type": "function", "function": {
    "name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}}]))
MESSAGES = write("messages.json", json.dumps([{"role": "user", "content": "Hi"}]))
DRAWN = ["--ids", IDS, "--json", "-n", "40", "--temperature", "1.5"]
ENDS = [*DRAWN, "--logit-bias", "1=99"]
TOLD = [*DRAWN, "--logprobs", "1"]
TURN = ["--model", CHAT, "-n", "30", "--temperature", "1.5"]
SCORE = [TEXT, "--json", "--context", "64", "--limit", "300"]
FRESH = iter(range(1000))


def fresh(name="new"):
    return str(PLACE / f"{name}{next(FRESH)}")


SHARED = fresh("shared")  # everybody may write there
pathlib.Path(SHARED).mkdir()
pathlib.Path(SHARED).chmod(0o777)


LOADED = {"--tokenizer": (["--tokenizer", "/absent"],), "--memory": (["--memory", "1MiB"],), "--backend": (["--backend", "abacus"],),
           "--reference-op": (["--reference-op", "abacus"],), "--simd": (["--simd", "mmx"],)}
SAMPLER = {"--temperature": (["--temperature", "0.1"],), "--top-k": (["--top-k", "1"],), "--top-p": (["--top-p", "0.01"],),
           "--min-p": (["--min-p", "1"],), "--repetition-penalty": (["--repetition-penalty", "2"],),
           "--presence-penalty": (["--presence-penalty", "2"],), "--frequency-penalty": (["--frequency-penalty", "2"],),
           "--logit-bias": (["--logit-bias", "5=100"],), "--seed": (["--seed", "7"],),
           "--stop": ([argument for letter in "aeiou tn" for argument in ("--stop", letter)],)}
# Option: (what is added,) to the command's usual line, or (what is added, another line[, standard input]).
EFFECTS = {
    ("run",): (DRAWN, {
        **SAMPLER, **LOADED, "--temperature": (["--temperature", "9"], ["--ids", IDS, "--json"]),
        "--ids": (["--ids", "3,4"], ["-n", "3", "--json"], "Hello"), "--no-bos": (["--no-bos"], ["Hello", "--json", "-n", "3"]),
        "--plain": (["--plain"], ["<think>", "--json", "-n", "3"]), "--max-tokens": (["-n", "3"], ["--ids", IDS, "--json"]),
        "--ignore-eos": (["--ignore-eos"], ENDS), "--choices": (["--choices", "2"],),
        "--json": (["--json"], ["--ids", "3,4", "-n", "3"]), "--logprobs": (["--logprobs", "2"],), "--stats": (["--stats"],),
        "--min-tokens": (["--min-tokens", "3"], ENDS), "--model": (["--model", CHAT],), "--numerics": (["--numerics", "f32"], TOLD),
        "--index-keys": (["--index-keys", "published-slot"], TOLD), "--prefill": (["--prefill", "replay"], TOLD),
        "--cache": (["--cache", fresh("states")],), "--cache-budget": (["--cache-budget", "1GiB"],),
        "--trust-cache": (["--trust-cache"], [*DRAWN, "--cache", SHARED])}),
    ("chat",): (TURN, {
        **SAMPLER, **LOADED, "--temperature": (["--temperature", "9"], ["--model", CHAT, "-n", "30"]),
        "--system": (["--system", "Be brief."],), "--tools": (["--tools", TOOLS],), "--thinking": (["--thinking", "off"],),
        "--effort": (["--effort", "10"],), "--keep-thinking": (["--keep-thinking"], TURN, "Hello\nAnd?\nMore?\n"),
        "--show-thinking": (["--show-thinking"],), "--sanitize": (["--sanitize"], [*TURN, "--show-thinking"], "a<think>b</think>c\n"),
        "--max-tokens": (["-n", "3"], ["--model", CHAT]), "--min-tokens": (["--min-tokens", "9"], [*TURN, "--show-thinking", "--logit-bias", "1=99"]),
        "--model": (["--model", CHAT], ["-n", "3"]), "--numerics": (["--numerics", "f32"],),
        "--cache": (["--cache", write("none", "")],), "--cache-budget": (["--cache-budget", "much"],),
        "--prefill": (["--prefill", "replay", "--cache", fresh()],), "--trust-cache": (["--trust-cache"], [*TURN, "--cache", SHARED])}),
    ("tokenize",): (["Hello <think>"], {
        "--model": (["--model", CHAT],), "--decode": (["--decode"], ["3"]), "--special": (["--special"],),
        "--jsonl": (["--jsonl"], [], '{"text": "a"}\n')}),
    ("render",): (["--model", CHAT, "Hello <think>"], {
        "--model": (["--model", CHAT], ["Hello"]), "--messages": (["--messages", MESSAGES], ["--model", CHAT], "Hello"),
        "--system": (["--system", "Be brief."],), "--tools": (["--tools", TOOLS],), "--mode": (["--mode", "chat"],),
        "--effort": (["--effort", "10"],), "--keep-thinking": (["--keep-thinking"], ["--model", CHAT, "--messages", write(
            "turns.json", json.dumps([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "reasoning_content": "c"},
                                      {"role": "user", "content": "d"}]))]),
        "--sanitize": (["--sanitize", "--ids"], ["--model", CHAT, "Hello <think>"]), "--ids": (["--ids"],),
        "--jsonl": (["--jsonl"], ["--model", CHAT], '{"messages": []}\n'), "--parse": (["--parse"], ["--model", CHAT], "{}\n"),
        "--stream": (["--stream"], ["--model", CHAT], "{}\n")}),
    ("inspect",): ([], {
        "--model": (["--model", CHAT],), "--tensors": (["--tensors"],), "--state": (["--state"],), "--json": (["--json"],),
        "--context": (["--context", "7"], ["--state"]), "--backends": (["--backends"],)}),
    ("perplexity",): (SCORE, {
        **LOADED,
        "--model": (["--model", CHAT],), "--context": (["--context", "32"], [TEXT, "--json", "--limit", "300"]),
        "--limit": (["--limit", "200"], [TEXT, "--json", "--context", "64"]), "--json": (["--json"], [TEXT, "--limit", "50"]),
        "--prompt": (["--prompt", "9"],), "--numerics": (["--numerics", "f32"],),
        "--prefill": (["--prefill", "replay"], [*SCORE, "--prompt", "60"])}),
    ("plan",): (["--json"], {
        "--model": (["--model", CHAT],), "--numerics": (["--numerics", "f32"],), "--context": (["--context", "9"],),
        "--sequences": (["--sequences", "3"],), "--draft": (["--draft", "off"],), "--chunk": (["--chunk", "7"],),
        "--cache-budget": (["--cache-budget", "3GiB"],), "--threads": (["--threads", "7"],), "--memory": (["--memory", "1MiB"],),
        "--json": (["--json"], ["--context", "9"])}),
    ("verify",): ([], {
        "--model": (["--model", CHAT],), "--values": (["--values"],), "--golden": (["--golden", FOLDER.name],),
        "--ops": (["--ops", OPS],), "--numerics": (["--numerics", "f32"],), "--strict": (["--strict"],),
        "--verbose": (["--verbose"], ["--ops", OPS]), "--threads": (["--threads", "2"],), "--backend": (["--backend", "cpu"], ["--ops", OPS]),
        "--reference-op": (["--reference-op", "rope"], ["--ops", OPS]), "--simd": (["--simd", "mmx"], ["--ops", OPS])}),
    ("bench",): ([], {
        "--rows": (["--rows", "1"], ["rope", "--seconds", "0", "--threads", "1"]),
        "--seconds": (["--seconds", "x"], ["rope", "--rows", "1"]), "--csv": (["--csv", "/absent/x.csv"], ["rope", "--seconds", "0", "--rows", "1"]),
        "--threads": (["--threads", "0"], ["rope", "--seconds", "0", "--rows", "1"]),
        "--backend": (["--backend", "abacus"], ["rope", "--seconds", "0", "--rows", "1"]),
        "--simd": (["--simd", "mmx"], ["rope", "--seconds", "0", "--rows", "1"])}),
    ("cache", "ls"): (["--cache", FOLDER.name], {"--cache": (["--cache", FOLDER.name], []), "--json": (["--json"],),
        "--trust-cache": (["--trust-cache"], ["--cache", SHARED])}),
    ("cache", "clear"): (["--cache", fresh("absent")], {
        "--cache": (["--cache", FOLDER.name], []), "--json": (["--json"], ["--cache", FOLDER.name]),
        "--older": (["--older", "x"], ["--cache", FOLDER.name]), "--trust-cache": (["--trust-cache"], ["--cache", SHARED])}),
    ("make-checkpoint",): (["--config", f"{MINI}/config.json", "--out", FOLDER.name], {
        "--shape": (["--shape", "released"], ["--out", FOLDER.name]), "--config": (["--config", f"{MINI}/config.json"], ["--out", FOLDER.name]),
        "--out": (["--out", fresh()], ["--config", f"{MINI}/config.json"]), "--force": (["--force"],),
        "--shards": (["--shards", "2", "--force"],), "--seed": (["--seed", "x"],), "--tokenizer": (["--tokenizer", f"{CHAT}/tokenizer.json"],),
        "--sparse": (["--sparse", "--force"],), "--fill-layers": (["--fill-layers", "1", "--force"],), "--engram-ids": (["--engram-ids", "x"], ["--config", f"{MINI}/config.json", "--out", fresh(), "--tokenizer", f"{MINI}/tokenizer.json", "--sparse"]),
        "--plant": (["--plant", "x"],), "--threads": (["--threads", "0"],)}),
}
# Command: {option: (a value that changes nothing that is written, a value that is refused)}
SPEED = {
    ("run",): {"--threads": ("1", "0"), "--chunk": ("7", "0"), "--draft": ("off", "1000")},
    ("chat",): {"--threads": ("1", "0"), "--chunk": ("7", "0"), "--draft": ("off", "1000")},
    ("perplexity",): {"--threads": ("1", "0"), "--chunk": ("7", "0")},
}
TIMES = re.compile(r'"(seconds|tokens_per_second)":[^,}]*')


class Options(unittest.TestCase):
    maxDiff = None

    def test_every_option_has_an_effect(self):
        self.assertEqual(set(commands()), set(EFFECTS))
        for command, (usual, effects) in EFFECTS.items():
            speed = SPEED.get(command, {})
            self.assertEqual(set(options_of(*command)), set(effects) | set(speed), command)
            text = "Hello\n" if command == ("chat",) else ""
            for option, row in effects.items():
                with_, line, given = row[0], row[1] if len(row) > 1 else usual, row[2] if len(row) > 2 else text
                with self.subTest(command=command, option=option):
                    without, with_it = usual_answer(command, line, given), cachalot(*command, *line, *with_, text=given)
                    self.assertNotEqual(without, with_it, f"{line} and {with_}")
                    self.assertNotIn("unknown option", with_it[2])
                    self.assertNotIn("given twice", with_it[2])
            for option, (value, refused) in speed.items():
                with self.subTest(command=command, option=option):
                    without = usual_answer(command, usual, text)
                    with_it = cachalot(*command, *usual, option, value, text=text)
                    self.assertEqual(TIMES.sub("", without[1]), TIMES.sub("", with_it[1]))
                    self.assertEqual((without[0], with_it[0]), (0, 0))
                    self.assertEqual(cachalot(*command, *usual, option, refused, text=text)[0], 2)

    def test_help_pages_fit_and_have_an_example(self):
        for command in [(), ("cache",), *EFFECTS]:
            for columns in (60, 80, 120):
                ENVIRONMENT["COLUMNS"] = str(columns)
                page = cachalot("help", *command)[1]
                self.assertIn("\nExamples:\n  ", page, command)
                self.assertEqual([line for line in page.splitlines() if len(line) > columns], [], (command, columns))
                self.assertEqual(page, cachalot(*command, "--help")[1])
            ENVIRONMENT["COLUMNS"] = "120"


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
