# SPDX-License-Identifier: Apache-2.0
"""The damaged inputs of damaged_inputs.py: what is done to a good model, the command, and what has to be said."""
import dataclasses
import json
import os
import struct

SHARD = "model-00001-of-00002.safetensors"
OTHER = "model-00002-of-00002.safetensors"
INDEX = "model.safetensors.index.json"
RUN = ("run", "--ids", "3,4,5", "--max-tokens", "1", "--temperature", "0")


@dataclasses.dataclass
class Case:
    name: str
    damage: object  # called with the folder of a copy
    error: str  # a pattern that standard error has to hold
    arguments: tuple = RUN
    exit_code: int = 1
    stdin: object = b""  # bytes, or the name of a file
    later: object = None  # called with the folder once the program writes
    own_model: bool = True  # give --model

    def command(self, folder):
        arguments = [a(folder) if callable(a) else a for a in self.arguments]
        return arguments + (["--model", str(folder)] if self.own_model else [])


def nothing(_):
    pass


def replace(path, content):
    path.unlink(missing_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def bytes_changed(file, change):
    return lambda folder: replace(folder / file, change((folder / file).read_bytes()))


def shard(change, file=SHARD):
    """change(header, data) -> header or (header, data); the header may be a value or bytes."""

    def damage(folder):
        content = (folder / file).read_bytes()
        length = struct.unpack("<Q", content[:8])[0]
        header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
        changed = change(header, data)
        header, data = changed if isinstance(changed, tuple) else (changed if changed is not None else header, data)
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        replace(folder / file, struct.pack("<Q", len(text)) + text + data)

    return damage


def json_file(file, change):
    def damage(folder):
        value = json.loads((folder / file).read_text())
        changed = change(value)
        replace(folder / file, json.dumps(value if changed is None else changed, ensure_ascii=False))

    return damage


def config(change):
    return json_file("config.json", change)


def text_config(**keys):
    return config(lambda c: c["text_config"].update(keys))


def tokenizer(change):
    return json_file("tokenizer.json", change)


def both(*damages):
    def damage(folder):
        for one in damages:
            one(folder)

    return damage


def without(mapping, key):
    return {k: v for k, v in mapping.items() if k != key}


def all_cases(model):
    import damaged_checkpoints
    import damaged_configs
    import damaged_requests

    cases = [*damaged_checkpoints.cases(), *damaged_configs.cases(model), *damaged_requests.cases()]
    assert len({c.name for c in cases}) == len(cases), "two cases of one name"
    return cases
