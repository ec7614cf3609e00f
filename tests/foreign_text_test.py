#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants control characters, and texts of megabytes, at every place of what others may give: whatever the program says
then is short and can steer no terminal. Usage: foreign_text_test.py PROGRAM GOLDEN_MODEL CHAT_MODEL"""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM, MODEL, CHAT_MODEL = (os.path.abspath(a) for a in sys.argv[1:4])
STEER = "\x1b]0;owned\x07\x1b[31m\u009b5m\u202e\x7f\r\n"
LONG = "A" * 500_000  # a config of a megabyte can hold it
PLANTED = "x" + STEER + LONG + STEER  # a cut keeps both ends
# What no line of ours holds: C0 but newline, DEL, C1 and the controls of direction; the words of a raw exception.
BAD = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|filesystem error|what\\(\\)|terminate called|std::")
MOST = 20_000  # bytes; a help text or a table of all layers has less
SHARD = "model-00001-of-00002.safetensors"


def json_places(tree, path=()):
    """Each place of a tree: as a path, and whether it is the key or the value that is replaced."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield path + (key,), "key"
            yield path + (key,), "value"
            yield from json_places(value, path + (key,))
    elif isinstance(tree, list):
        for i, value in enumerate(tree[:2]):
            yield path + (i,), "value"
            yield from json_places(value, path + (i,))


def planted(tree, path, what, text):
    tree = json.loads(json.dumps(tree))
    at = tree
    for step in path[:-1]:
        at = at[step]
    if what == "key":
        at[text] = at.pop(path[-1])
    else:
        at[path[-1]] = text
    return tree


def header_of(shard):
    data = shard.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + size]), data[8 + size:]


def write_shard(shard, header, data):
    text = json.dumps(header).encode()
    shard.write_bytes(struct.pack("<Q", len(text)) + text + data)


class ForeignText(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        self.model = self.home / "model"
        self.model.mkdir()
        for file in pathlib.Path(MODEL).iterdir():
            if file.is_file():
                shutil.copyfile(file, self.model / file.name)

    def say(self, *arguments, text=b"", most=MOST):
        """Runs the program, and looks at what it says but for answers and prompts, which a pipe gets as they are."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "XDG_STATE_HOME": str(self.home),
                       "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}
        done = subprocess.run([PROGRAM, *map(str, arguments)], input=text, capture_output=True, env=environment, cwd=self.home,
                              timeout=300)
        shown = [str(a)[:60] for a in arguments]
        self.assertIn(done.returncode, (0, 1, 2), shown)
        answers = arguments[0] in ("run", "chat", "render") and done.returncode == 0
        for stream in (done.stderr,) if answers else (done.stdout, done.stderr):
            said = stream.decode("utf-8")  # which it always is
            self.assertIsNone(BAD.search(said), f"{shown}: {said[:2000]!r}")
            self.assertLess(len(stream), most, f"{shown}: {said[:2000]!r}")
        return done

    def each_place(self, name, commands, limit=None):
        """The text at places of a JSON file of the model, all or about `limit` of them; the commands take turns."""
        file = self.model / name
        tree = json.loads(file.read_text())
        places = list(json_places(tree))
        if limit is not None:
            places = places[::max(1, len(places) // limit)]
        for i, (path, what) in enumerate(places):
            with self.subTest(file=name, path=path, what=what):
                file.write_text(json.dumps(planted(tree, path, what, PLANTED)))
                self.say(*commands[i % len(commands)], self.model)
        file.write_text(json.dumps(tree))

    def test_config(self):
        self.each_place("config.json", [("inspect", "--state"), ("plan",)], limit=24)

    def test_an_unknown_key_of_the_config_and_many_of_them(self):
        file = self.model / "config.json"
        tree = json.loads(file.read_text())
        for keys in ({PLANTED: 1}, {f"key {i}{STEER}": 1 for i in range(8000)}):
            file.write_text(json.dumps(tree | keys))
            said = self.say("inspect", self.model).stderr
            self.assertIn(b"unknown keys, not used", said)
        self.assertIn(b" and 7992 more", said)

    def test_index(self):
        self.each_place("model.safetensors.index.json", [("inspect",)], limit=8)

    def test_names_of_shards_that_no_file_can_have(self):
        file = self.model / "model.safetensors.index.json"
        index = json.loads(file.read_text())
        first = next(iter(index["weight_map"]))
        for name in ("n" * 300, "\x1b[31m" * 40, "loop", STEER):
            index["weight_map"][first] = name
            file.write_text(json.dumps(index))
            if name == "loop":
                (self.model / name).symlink_to("loop")
            for command in ("inspect", "plan"):
                self.assertIn(self.say(command, self.model).returncode, (0, 1) if command == "plan" else (1,))

    def test_header_of_a_shard(self):
        header, data = header_of(self.model / SHARD)
        tensor = next(name for name in header if name != "__metadata__")
        many = [1] * 1_000_000
        text = PLANTED
        variants = {
            "name": {text if k == tensor else k: v for k, v in header.items()},
            "dtype": header | {tensor: header[tensor] | {"dtype": text}},
            "shape": header | {tensor: header[tensor] | {"shape": text}},
            "extents": header | {tensor: header[tensor] | {"shape": many}},
            "text in the shape": header | {tensor: header[tensor] | {"shape": [text, *many]}},
            "offsets": header | {tensor: header[tensor] | {"data_offsets": [text, 1]}},
            "many offsets": header | {tensor: header[tensor] | {"data_offsets": many}},
            "large offsets": header | {tensor: header[tensor] | {"data_offsets": [0, 10**15]}},
            "another tensor": header | {text: {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}},
            "metadata": header | {"__metadata__": {text: text}},
        }
        for place, made in variants.items():
            with self.subTest(place=place):
                write_shard(self.model / SHARD, made, data)
                self.say("run", "hi", "--max-tokens", "1", "--model", self.model)
                self.say("inspect", "--tensors", self.model, most=400_000)

    def test_many_tensors_that_nothing_uses(self):
        header, data = header_of(self.model / SHARD)
        for i in range(5000):
            header[f"extra.{i}.\x1b[31m"] = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
        write_shard(self.model / SHARD, header, data)
        for command in (("inspect",), ("verify",), ("run", "hi", "--max-tokens", "1", "--model")):
            self.say(*command, self.model)

    def test_tokenizer(self):
        self.each_place("tokenizer.json", [("tokenize", "hi", "--model")], limit=24)

    def test_states(self):
        states = self.home / "states"
        run = ("run", "hi there", "--max-tokens", "1", "--cache", states, "--model", self.model)
        self.say(*run)
        file = next(states.iterdir())
        data, text = file.read_bytes(), PLANTED.encode()[:60_000]
        file.write_bytes(data[:12] + struct.pack("<I", len(text)) + text + data[16:])
        self.say("cache", "ls", "--cache", states)
        self.assertIn(b"it is removed", self.say(*run).stderr)
        # Under names of its own, which the header has.
        steered = self.home / ("m" + STEER)
        shutil.copytree(self.model, steered)
        self.say("run", "another text", "--max-tokens", "1", "--cache", states, "--model", steered)
        self.assertIn(b"\\x1b]0;owned", self.say("cache", "ls", "--cache", states).stdout)

    def test_conversations_and_tools(self):
        messages = [{"role": "user", "content": "hi"}]
        saved = {"format": "cachalot-chat", "version": 1, "options": {"mode": "chat"}, "messages": messages}
        tools = [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}]
        file = self.home / "file.json"
        text = PLANTED
        for path, what in json_places(saved):
            with self.subTest(conversation=path, what=what):
                file.write_text(json.dumps(planted(saved, path, what, text)))
                if path[-1] != "content" or what == "key":  # a file gets what was said as it was
                    self.say("chat", "--max-tokens", "1", "--model", CHAT_MODEL, text=f"/load {file}\n".encode())
        for path, what in json_places(tools):
            with self.subTest(tools=path, what=what):
                file.write_text(json.dumps(planted(tools, path, what, text)))
                done = subprocess.run([PROGRAM, "render", "--tools", file, "hi"], capture_output=True)
                self.assertIsNone(BAD.search(done.stderr.decode()), done.stderr[:500])
                self.assertLess(len(done.stderr), MOST)
        for broken in (text, json.dumps(text), json.dumps([text]), json.dumps({text: text}), '{"a": ' + text):
            file.write_text(broken)
            for command in (("render", "--messages", file), ("render", "--tools", file, "hi")):
                self.say(*command)

    def test_paths_and_words_of_the_command_line(self):
        (self.home / STEER).mkdir()
        (self.home / STEER / "file").write_text("no folder")
        for word in (STEER, "\x1b[31m" * 20_000):
            for line in (("inspect", word), ("run", "hi", "--model", word), ("run", "hi", "--cache", word + "/file/below", "--model", MODEL),
                         ("cache", "ls", "--cache", word + "/absent"), ("verify", word), ("verify", MODEL, "--golden", word), (word,),
                         ("--x" + word.strip(),), ("run", "--x" + word.strip()), ("run", "hi", "--max-tokens", word), ("run", "--ids", word),
                         ("run", "hi", "--logit-bias", word), ("run", "hi", "--backend", word), ("run", "hi", "--memory", word),
                         ("render", "--messages", word), ("render", "--effort", word, "hi"), ("chat", "--tools", word),
                         ("tokenize", "--decode", word), ("perplexity", word), ("plan", word), ("bench", word),
                         ("make-checkpoint", word), ("make-checkpoint", self.home / "new", "--config", word)):
                with self.subTest(line=[str(a)[:20] for a in line]):
                    self.assertNotEqual(self.say(*line).returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
