#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documents hold together. Usage: check_docs.py ROOT

Relative links of *.md files lead to a file; every room of src/ has a README of at most 30 lines; and a section cited in
code or text exists: "spec 3.5" means docs/spec/model.md, other pages are cited as "tokenizer.md 2.2".
"""
import pathlib
import re
import sys

from source_files import is_code, written_files

README_LINES = 30
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE_SPAN = re.compile(r"```.*?```|`[^`\n]*`", re.S)
HEADING = re.compile(r"^#+ (\d+(?:\.\d+)?)[. ]", re.M)
COMMENT_BREAK = re.compile(r"\n\s*(?://|#)?\s*")
NUMBERS = r"((?:sections? )?\d+(?:\.\d+)?(?:(?:, | and )\d+(?:\.\d+)?)*)(?![\w%])"
SPEC = re.compile(r"\bspec " + NUMBERS)
PAGE = re.compile(r"\b(model|tokenizer|engram|chat-format|images|api)\.md`?,? " + NUMBERS)


def sections(root):
    """Page name -> the numbers of its sections."""
    return {page.stem: set(HEADING.findall(page.read_text())) for page in (root / "docs" / "spec").glob("*.md")}


def cited(text):
    """(page, section) for every citation in text."""
    text = COMMENT_BREAK.sub(" ", text)
    for numbers in SPEC.findall(text):
        yield from (("model", number) for number in re.findall(r"\d+(?:\.\d+)?", numbers))
    for page, numbers in PAGE.findall(text):
        yield from ((page, number) for number in re.findall(r"\d+(?:\.\d+)?", numbers))


def faults(root):
    known = sections(root)
    for file in written_files(root):
        if file.suffix != ".md" and not is_code(file):
            continue
        text = file.read_text()
        for page, section in cited(text):
            if section not in known.get(page, ()):
                yield f"{file}: cites section {section} of docs/spec/{page}.md, which has no such section"
        if file.suffix == ".md":
            for link in LINK.findall(CODE_SPAN.sub("", text)):
                target = link.split("#")[0]
                if target and "://" not in target and not target.startswith("mailto:") and not (file.parent / target).exists():
                    yield f"{file}: the link {link} leads nowhere"
    for room in sorted(p for p in (root / "src").iterdir() if any(f.is_file() for f in p.rglob("*"))):
        readme = room / "README.md"
        if not readme.exists():
            yield f"{room}: no README.md"
        elif len(readme.read_text().splitlines()) > README_LINES:
            yield f"{readme}: more than {README_LINES} lines"


if __name__ == "__main__":
    found = list(faults(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "docs: links, room READMEs and cited sections are in order")
    sys.exit(bool(found))
