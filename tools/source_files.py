# SPDX-License-Identifier: Apache-2.0
"""The files the checks look at: what people write here. Needs no git, so it skips what .gitignore names by hand."""
import os

SKIPPED = {".git", ".cache", "build", "golden", "fuzz", "node_modules", "__pycache__"}
CODE = {".h", ".cpp", ".cc", ".cu", ".cuh", ".py", ".cmake", ".sh"}
TEXT = CODE | {".md", ".txt", ".json", ".yml", ".yaml", ".html", ".css", ".ts"}
PLAIN_NAMES = {"LICENSE", "NOTICE", ".clang-format", ".clang-tidy", ".gitignore"}


def written_files(root):
    """Every file below root, in order, except build output, test data and models' data."""
    for folder, below, names in os.walk(root):
        below[:] = sorted(name for name in below if name not in SKIPPED)
        in_models = os.path.relpath(folder, root).split(os.sep)[0] == "models"
        for name in sorted(names):
            if not in_models or name.endswith(".md"):
                yield root / os.path.relpath(os.path.join(folder, name), root)


def is_script(file):
    """A program without an ending, such as quickstart."""
    if file.suffix or file.name in PLAIN_NAMES:
        return False
    with open(file, "rb") as opened:
        return opened.read(2) == b"#!"


def is_code(file):
    return file.suffix in CODE or file.name == "CMakeLists.txt" or is_script(file)


def is_text(file):
    return file.suffix in TEXT or file.name in PLAIN_NAMES or is_code(file)
