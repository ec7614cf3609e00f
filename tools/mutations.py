# SPDX-License-Identifier: Apache-2.0
"""Where C++ source can be made wrong by one small change, for tools/mutate.py. Knows no C++ but its layout here: binary
operators stand between spaces (tools/format), so `a < b` is a comparison and `View<float, 2>` is none.
"""
import dataclasses
import hashlib
import math
import random
import re

SWAPS = {  # kind -> (what to look for, what to write instead)
    "comparison": (r"(?<= )(<=|>=|==|!=|<|>)(?= )",
                   {"<": ["<="], ">": [">="], "<=": ["<"], ">=": [">"], "==": ["!="], "!=": ["=="]}),
    "arithmetic": (r"(?<=[\w)\]] )([+\-*/%])(?= [\w(*!~-])",
                   {"+": ["-"], "-": ["+"], "*": ["+"], "/": ["*"], "%": ["*"]}),
    "assignment": (r"(?<= )(\+=|-=|\|=|&=)(?= )", {"+=": ["-="], "-=": ["+="], "|=": ["&="], "&=": ["|="]}),
    "logic": (r"(?<= )(&&|\|\|)(?= )", {"&&": ["||"], "||": ["&&"]}),
    "bits": (r"(?<=[\w)] )([&|])(?= [\w(~])", {"&": ["|"], "|": ["&"]}),
    "negation": (r"(?<=[( ])(!)(?=[\w(])", {"!": [""]}),
    "truth": (r"\b(true|false)\b", {"true": ["false"], "false": ["true"]}),
    "border": (r"\b(min|max|lower_bound|upper_bound|front|back|any_of|all_of|floor|ceil)(?=\()",
               {"min": ["max"], "max": ["min"], "lower_bound": ["upper_bound"], "upper_bound": ["lower_bound"],
                "front": ["back"], "back": ["front"], "any_of": ["all_of"], "all_of": ["any_of"], "floor": ["ceil"],
                "ceil": ["floor"]}),
    "flow": (r"\b(continue)(?=;)", {"continue": ["break"]}),
}
NUMBER = re.compile(r"(?<![\w.'])(0[xX][0-9a-fA-F]+|\d+\.\d+|\d+)(?![\w.'xX])(?=f?u?\b|$)|(?<![\w.'])(\d+)(?=u\b)")
IN_TEMPLATE = re.compile(r"\w<[^<>;()]*>")
DECLARES = re.compile(r"^\s*(?:const )?(?:auto|[\w:]+(?:<[^;]*>)?)[&*]? \**&?\w+ = ")
KEYWORDS = re.compile(r"(return|if|for|while|else|case|default|using|static|const|auto|struct|class|template|break|"
                      r"continue|switch|do|public|private|goto|check|namespace|delete|friend|enum)\b")
NO_LOSS = re.compile(r"\.reserve\(|shrink_to_fit|^spdlog|^std::fflush")  # dropping it changes no result


@dataclasses.dataclass(frozen=True)
class Mutation:
    file: str  # below the root
    kind: str
    start: int
    end: int
    new: str

    def of(self, text):
        return text[:self.start] + self.new + text[self.end:]

    def name(self, text):
        seen = f"{self.file} {self.kind} {self.start} {text[self.start:self.end]} {self.new} {hashlib.sha1(text.encode()).hexdigest()}"
        return hashlib.sha1(seen.encode()).hexdigest()[:10]


def masked(text):
    """The text with comments, literals and preprocessor lines blanked, every character in its place."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'|'
                         r"^[ \t]*#(?:\\\n|[^\n])*|\bstatic_assert\b[^;]*;", re.S | re.M)
    return pattern.sub(lambda m: re.sub(r"[^\n]", "\x00", m.group()), text)


def closing(code, at):
    """The place of the bracket that closes the one at `at`; None where there is none."""
    depth = 0
    for i in range(at, len(code)):
        if code[i] in "([{":
            depth += 1
        elif code[i] in ")]}":
            depth -= 1
            if depth == 0:
                return i
    return None


def end_of_statement(code, at):
    """Behind the semicolon that ends the statement at `at`; None where it is no simple one."""
    depth = 0
    for i in range(at, min(len(code), at + 600)):
        if code[i] in "([{":
            if code[i] == "{" and depth == 0:
                return None
            depth += 1
        elif code[i] in ")]}":
            depth -= 1
            if depth < 0:
                return None
        elif code[i] == ";" and depth == 0:
            return i + 1
    return None


def blank(text):
    """Keeps line numbers: what a message says of its place stays the same."""
    return ";" + "\n" * text.count("\n")


def conditions(code):
    for m in re.finditer(r"\b(if|while) \(", code):
        end = closing(code, m.end() - 1)
        if end is None:
            continue
        start = m.end() + code[m.end():end].rfind(";") + 1
        condition = code[start:end]
        if condition.strip() and not condition.strip().startswith("!") and not DECLARES.match(condition):
            yield "condition", start, end, None
        after = re.compile(r"\s*(return\b|continue;|break;)").match(code, end + 1)
        if m.group(1) == "if" and after:
            stop = end_of_statement(code, after.start(1))
            if stop and not re.compile(r"\s*else\b").match(code, stop):
                yield "guard", m.start(), stop, None


def statements(code):
    for m in re.finditer(r"^ +(?=[\w*(+\-])", code, re.M):
        if KEYWORDS.match(code, m.end()) or not re.search(r"[;{}):]\s*$", code[max(0, m.start() - 200):m.start()].replace("\x00", " ")):
            continue
        end = end_of_statement(code, m.end())
        if end is None:
            continue
        text = code[m.end():end - 1]
        left = re.sub(r"\[[^\]]*\]", "", re.split(r"\(| [-+*/|&^%]?= ", text)[0])
        if " " in left or NO_LOSS.search(text) or not re.search(r"\)$|^\S+ [-+*/|&^%]?= |^(\+\+|--)", text):
            continue
        yield "statement", m.end(), end, None


def returns(code):
    for m in re.finditer(r"\breturn (?=[^;\s])", code):
        end = end_of_statement(code, m.end())
        if end is None:
            continue
        if re.match(r"(fail|tl::unexpected)\(", code[m.end():end]):
            yield "error", m.end(), end - 1, "{}"
        elif not re.search(r"[{\x00]|std::move|\btrue\b|\bfalse\b|nullptr|&&|\|\|| [<>=!]=? ", code[m.end():end]):
            yield "return", m.end(), end - 1, None


def mutations(file, text):
    code = masked(text)
    for kind, (pattern, swaps) in SWAPS.items():
        for m in re.finditer(pattern, code):
            for new in swaps[m.group(1)]:
                yield Mutation(file, kind, m.start(1), m.end(1), new)
    in_template = [range(m.start(), m.end()) for m in IN_TEMPLATE.finditer(code)]
    for m in NUMBER.finditer(code):
        if any(m.start() in r for r in in_template):
            continue
        old = m.group()
        if "." in old:
            news = [str(2 * float(old)) if float(old) else "1.0"]
        elif old[:2].lower() == "0x":
            news = [hex(int(old, 16) + 1), hex(max(0, int(old, 16) - 1))]
        else:
            news = [str(int(old) + 1)] + ([str(int(old) - 1)] if int(old) else [])
        for new in news:
            yield Mutation(file, "constant", m.start(), m.end(), new)
    for find in (conditions, statements, returns):
        for kind, start, end, new in find(code):
            old = text[start:end]
            if kind == "condition":
                new = f"!({old})" if not old.startswith(" ") else f" !({old[1:]})"
            elif kind == "return":
                new = f"({old}) + 1"
            yield Mutation(file, kind, start, end, blank(old) if new is None else new)


def sources(root):
    """The files that may be changed: no tests, benchmarks, fuzzers, nothing that a tool wrote."""
    for file in sorted((root / "src").rglob("*")):
        if file.suffix in (".h", ".cpp", ".cc") and not re.search(r"_(test|bench|fuzz)\.cpp$|^test_", file.name):
            text = file.read_text()
            if "Written by tools/" not in text[:300]:
                yield str(file.relative_to(root)), text


def picked(root, seed):
    """Without end but for want of places: the same for the same tree and seed. Rooms take turns by the root of what they
    hold, so that none is left out; within one, kinds and files go by the root of theirs."""
    rooms = {}
    for file, text in sources(root):
        for m in mutations(file, text):
            rooms.setdefault(file.split("/")[1], []).append(m)
    dice = random.Random(seed)
    weight = {room: math.sqrt(len(all)) for room, all in rooms.items()}
    taken = dict.fromkeys(sorted(rooms), 0)

    def choose(all, key):
        groups = {}
        for m in all:
            groups.setdefault(key(m), []).append(m)
        names = sorted(groups)
        return groups[dice.choices(names, [math.sqrt(len(groups[n])) for n in names])[0]]

    while rooms:
        room = min(rooms, key=lambda r: ((taken[r] + 0.5) / weight[r], r))
        taken[room] += 1
        chosen = dice.choice(choose(choose(rooms[room], lambda m: m.kind), lambda m: m.file))
        rooms[room] = [m for m in rooms[room] if m.file != chosen.file or m.end <= chosen.start or m.start >= chosen.end]
        if not rooms[room]:
            del rooms[room]
        yield chosen
