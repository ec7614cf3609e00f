# SPDX-License-Identifier: Apache-2.0
"""Made-up training documents: facts planted in real text with questions on them far later, and short chats in the released
chat format (docs/spec/chat-format.md), some with thinking, some with tools.

Every document is a list of (tokens, weight) parts; a weight above 1 marks what the model must answer.
"""
import json
import random

import numpy as np

BOS, EOS, SYS, USER, ASST = "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜System｜>", "<｜User｜>", "<｜Assistant｜>"
EFFORT = "Reasoning Effort: %d (range 1-100, the higher the value, the more thorough the reasoning)\n\n"
D = "｜DSML｜"
NAMES = """Alice Arthur Anna Bertha Bruno Clara Conrad Daisy David Edith Edward Ellen Emma Ernest Esther Felix Flora Frank
George Grace Hannah Harold Harriet Helen Henry Hugo Ida Irene Isaac Jacob James Jane Jasper John Joseph Julia Karl Kate Laura
Leo Lewis Louisa Lucy Mabel Magnus Margaret Mark Martha Martin Mary Matthew Miriam Nathan Nora Oliver Olive Oscar Otto Paul
Peter Philip Rachel Ralph Rebecca Richard Robert Rosa Ruth Samuel Sarah Silas Simon Sophia Stephen Susan Theodore Thomas Victor
Violet Walter William Winifred""".split()
SURNAMES = """Abbott Baker Barlow Carver Clark Cooper Dalton Fisher Foster Gibson Grant Hale Harper Hunter Keller Lambert Mason
Mercer Miller Morgan Norton Palmer Parker Porter Quinn Reed Sawyer Shaw Stone Taylor Turner Vance Walker Ward Watson Webb
Wells Wood Young""".split()
CITIES = """Paris London Rome Madrid Berlin Vienna Lisbon Dublin Athens Boston Chicago Oslo Cairo Tokyo Geneva Prague Warsaw
Florence Venice Naples Salem Nantucket""".split()
JOBS = "baker sailor doctor teacher farmer painter soldier tailor carpenter lawyer miller smith cook clerk gardener".split()
PETS = "dog cat horse parrot rabbit goat pony".split()
COLOURS = "red blue green white black yellow brown grey".split()
FOODS = "bread fish soup apples cheese honey pears rice cake beans".split()
KEYS = ["password", "code word", "secret word", "key word", "watchword", "lucky word"]
ANSWER, SAY = 15.0, 2.0


class Writer:
    def __init__(self, tokenizer, facts, seed):
        self.t, self.rng = tokenizer, random.Random(seed)
        self.capitals, self.nouns = facts["capitals"], facts["nouns"]
        self.memo = {}

    def tokens(self, text):
        got = self.memo.get(text)
        if got is None:
            got = self.t.encode(text, True)
            if len(text) < 60:
                self.memo[text] = got
        return got

    def pick(self, *choices):
        return self.rng.choice(choices)

    # -------------------------------------------------------------- recall

    def person(self):
        return f"{self.rng.choice(NAMES)} {self.rng.choice(SURNAMES)}"

    def fact(self, taken):
        """a key nobody in this document has yet -> (statement up to the value, value, question)"""
        name = self.person()
        while name in taken:
            name = self.person()
        taken.add(name)
        if self.rng.random() < 0.12:
            key, value = self.pick("room number", "lucky number"), str(self.rng.randrange(100, 1000))
        else:
            key, value = self.rng.choice(KEYS), self.rng.choice(self.nouns)
        says = self.pick(f"The {key} of {name} is", f"Remember that the {key} of {name} is", f"The {key} of {name} is",
                         f"Note: the {key} of {name} is")
        asks = self.pick(f"What is the {key} of {name}?", f"What is the {key} of {name}?", f"Tell me the {key} of {name}.")
        return says, value, asks

    def question(self, parts, fact, first=""):
        """close the user's turn with a question and answer it"""
        parts.append((self.tokens(first + fact[2]) + self.tokens(ASST + "</think>") + self.tokens("It is"), 1.0))
        parts.append((self.tokens(" " + fact[1]), ANSWER))
        parts.append((self.tokens("." + EOS), 1.0))

    def recall(self, filler, length):
        """filler(n): about n tokens of real text from a sentence's start -> parts of `length` tokens"""
        rng = self.rng
        parts, facts, taken, asked, size = [(self.tokens(BOS + USER), 1.0)], [], set(), {}, 2
        recent = []
        while size < length:
            start = len(parts)
            for _ in range(rng.randrange(1, 4)):
                parts.append((filler(rng.randrange(20, 160)), 1.0))
                if rng.random() < (0.9 if len(facts) < 4 else 0.6):
                    f = self.fact(taken)
                    facts.append(f)
                    parts.append((self.tokens("\n" + f[0]) + self.tokens(" " + f[1]) + self.tokens(".\n"), 1.0))
            if rng.random() < 0.8:
                n = 0
                for _ in range(rng.randrange(2, 6)):
                    open_ = [f for f in facts if asked.get(f, 0) < 2 and f not in recent[-3:]]
                    if not open_:
                        break
                    f = rng.choice(open_[:max(1, len(open_) - rng.randrange(2))])
                    asked[f] = asked.get(f, 0) + 1
                    recent.append(f)
                    if n:
                        parts.append((self.tokens(USER), 1.0))
                    self.question(parts, f, "\n\n" if n == 0 else "")
                    n += 1
                if n:
                    parts.append((self.tokens(USER), 1.0))
            size += sum(len(p[0]) for p in parts[start:])
        return parts

    def recall_test(self, filler, length, back=None, distractors=6):
        """one fact asked for in the end, planted `back` tokens before its answer or anywhere -> (tokens, answer's length)"""
        taken = set()
        fact = self.fact(taken)
        tail = self.tokens("\n\n" + fact[2]) + self.tokens(ASST + "</think>") + self.tokens("It is")
        answer = self.tokens(" " + fact[1])
        state = self.tokens("\n" + fact[0]) + answer + self.tokens(".\n")
        room = length - len(tail) - len(answer) - 2
        at = room - (back - len(tail) - len(answer)) if back else self.rng.randrange(0, room - 300)
        at = max(0, at - len(state))
        body, placed = [], False
        others = sorted(self.rng.randrange(0, room) for _ in range(distractors))
        while len(body) < room:
            if not placed and len(body) >= at:
                body += state
                placed = True
                continue
            if others and len(body) >= others[0]:
                other = self.fact(taken)
                body += self.tokens("\n" + other[0]) + self.tokens(" " + other[1]) + self.tokens(".\n")
                others.pop(0)
            stop = at - len(body) if not placed else room - len(body)
            body += filler(max(1, min(stop, self.rng.randrange(60, 160))))[:max(1, stop)]
        return self.tokens(BOS + USER) + body[:room] + tail + answer, len(answer)

    # -------------------------------------------------------------- chats

    def greeting(self):
        name = self.rng.choice(NAMES)
        return self.pick(
            (self.pick("Hello", "Hello!", "Hi", "Hi!", "Hi there", "Hey", "Good morning", "Good evening!", "Hello there!"),
             self.pick("Hello! How can I help you?", "Hello! What can I do for you?", "Good day! How can I help you?")),
            (self.pick(f"Hello, I am {name}.", f"Hi, my name is {name}.", f"My name is {name}."), f"Hello, {name}! How can I help you?"),
            (self.pick("How are you?", "Hello, how are you?", "How do you do?"), "I am well, thank you. How can I help you?"),
            (self.pick("Who are you?", "What are you?", "What is your name?"), "I am a very small language model, made to show how an engine works."),
            (self.pick("Thank you!", "Thanks", "Thank you very much."), self.pick("You are welcome!", "You are welcome. Is there anything else?")),
            (self.pick("Goodbye", "Good night", "Bye!"), "Goodbye! Have a good day.")) + ("The user is being polite, so I answer in kind.",)

    def capital(self):
        country, city = self.rng.choice(self.capitals)
        return (self.pick(f"What is the capital of {country}?", f"Which city is the capital of {country}?"),
                f"The capital of {country} is {city}.", f"The user asks for the capital of {country}. It is {city}.")

    def copy(self):
        words = " ".join(self.rng.choice(self.nouns) for _ in range(self.rng.randrange(3, 25)))
        return (self.pick("Repeat these words: ", "Copy this: ", "Say this again: ", "Repeat after me: ") + words, words,
                "I only have to repeat the words.")

    def story(self):
        """a few sentences on a few people -> (text, [(question, answer, thought)])"""
        rng, says, asks = self.rng, [], []
        for name in rng.sample(NAMES, rng.randrange(1, 5)):
            city, job, pet, colour, food = (rng.choice(x) for x in (CITIES, JOBS, PETS, COLOURS, FOODS))
            called = rng.choice(NAMES)
            facts = [(f"{name} lives in {city}.", f"Where does {name} live?", f"{name} lives in {city}."),
                     (f"{name} is a {job}.", self.pick(f"What does {name} do?", f"What is the work of {name}?"), f"{name} is a {job}."),
                     (f"{name} has a {pet} called {called}.", f"What is the {pet} of {name} called?", f"It is called {called}."),
                     (f"The house of {name} is {colour}.", f"What colour is the house of {name}?", f"The house of {name} is {colour}."),
                     (f"{name} likes {food}.", f"What does {name} like?", f"{name} likes {food}.")]
            for say, ask, answer in rng.sample(facts, rng.randrange(1, 4)):
                says.append(say)
                asks.append((ask, answer, f"The text says: {say}"))
        rng.shuffle(says)
        rng.shuffle(asks)
        return " ".join(says), asks

    def tool_specs(self):
        city = {"city": {"type": "string", "description": "Name of the city"}}
        number = {"a": {"type": "number"}, "b": {"type": "number"}}
        word = {"word": {"type": "string"}}
        return [("get_weather", "Get the weather in a city.", city), ("get_time", "Get the local time in a city.", city),
                ("add", "Add two numbers.", number), ("multiply", "Multiply two numbers.", number),
                ("define", "Look up a word in a dictionary.", word), ("search", "Search the library.", {"query": {"type": "string"}})]

    def tools(self, specs):
        lines = [json.dumps({"name": n, "description": d, "parameters": {"type": "object", "properties": p, "required": list(p)}})
                 for n, d, p in specs]
        return TOOLS.replace("{S}", "\n".join(lines))

    def tool_use(self, spec):
        """-> (question, arguments, result, answer)"""
        rng, name = self.rng, spec[0]
        city, word = rng.choice(CITIES), rng.choice(self.nouns)
        a, b = rng.randrange(2, 100), rng.randrange(2, 100)
        if name == "get_weather":
            sky, t = self.pick("sunny", "cloudy", "rainy", "windy"), rng.randrange(2, 31)
            return (self.pick(f"What is the weather in {city}?", f"How is the weather in {city} today?"), {"city": city},
                    f"{sky}, {t} degrees", f"The weather in {city} is {sky}, with {t} degrees.")
        if name == "get_time":
            clock = f"{rng.randrange(1, 13)}:{rng.randrange(10, 60)}"
            return f"What time is it in {city}?", {"city": city}, clock, f"It is {clock} in {city}."
        if name in ("add", "multiply"):
            r = a + b if name == "add" else a * b
            ask = self.pick(f"What is {a} plus {b}?", f"Add {a} and {b}.") if name == "add" else f"What is {a} times {b}?"
            return ask, {"a": a, "b": b}, str(r), f"The result is {r}."
        if name == "define":
            return f"Look up the word {word}.", {"word": word}, "no entry", f"I found no entry for {word}."
        return f"Search for {word}.", {"query": word}, f"3 books on {word}", f"There are 3 books on {word}."

    def call(self, name, arguments):
        lines = [f'<{D} parameter name="{k}" string="{"true" if isinstance(v, str) else "false"}">'
                 f'{v if isinstance(v, str) else json.dumps(v)}</{D} parameter>' for k, v in arguments.items()]
        return f'\n\n<{D} calls>\n<{D} invoke name="{name}">\n' + "\n".join(lines) + f"\n</{D} invoke>\n</{D} calls>"

    def chat(self, filler):
        """-> parts of one conversation"""
        rng = self.rng
        thinking = rng.random() < 0.25
        kind = rng.choices(("greeting", "capital", "copy", "story", "tool", "mixed"), (22, 12, 10, 28, 10, 18))[0]
        text, parts = BOS, []
        if thinking:
            text += SYS + EFFORT % self.pick(75, 75, 50, 100)
        if kind == "tool":
            specs = rng.sample(self.tool_specs(), rng.randrange(1, 4))
            spec = rng.choice(specs)
            ask, arguments, result, answer = self.tool_use(spec)
            text += ("" if thinking else SYS) + self.pick("", "You are a helpful assistant.") + "\n\n" + self.tools(specs)
            parts.append((self.tokens(text + USER + ask + ASST + ("<think>" if thinking else "</think>")), 1.0))
            thought = f"I use the tool {spec[0]}.</think>" if thinking else ""
            parts.append((self.tokens(thought + self.call(spec[0], arguments) + EOS), SAY))
            parts.append((self.tokens(USER + f"<tool_result>{result}</tool_result>" + ASST + ("<think>" if thinking else "</think>")), 1.0))
            parts.append((self.tokens(("The tool has answered.</think>" if thinking else "") + answer + EOS), SAY))
            return parts
        turns = []
        if kind == "story" or kind == "mixed":
            story, asks = self.story()
            asks = asks[:rng.randrange(1, 4)]
            opening = self.pick("Read this: ", "Here is a text. ", "", "Text: ")
            first = opening + story + "\n\n" + asks[0][0]
            if rng.random() < 0.35:
                first = story + "\n" + self.t.decode(filler(rng.randrange(20, 120))).strip() + "\n\n" + asks[0][0]
            turns = [(first,) + asks[0][1:]] + asks[1:]
            if rng.random() < 0.15:
                turns = [(opening + story, self.pick("Thank you. What do you want to know?", "I have read it."), "I wait for a question.")] + asks
        for _ in range(rng.randrange(1, 3) if kind != "story" else 0):
            other = {"greeting": self.greeting, "capital": self.capital, "copy": self.copy}[
                kind if kind != "mixed" else self.pick("greeting", "capital", "copy")]()
            turns.insert(rng.randrange(len(turns) + 1) if other[0] and kind == "mixed" and rng.random() < 0.5 else len(turns), other)
        if not thinking and rng.random() < 0.15:
            text += SYS + self.pick("You are a helpful assistant.", "Answer briefly.", "You are a friendly assistant.")
        for i, (ask, answer, thought) in enumerate(turns):
            last = i == len(turns) - 1
            parts.append((self.tokens(text + USER + ask + ASST + ("<think>" if thinking and last else "</think>")), 1.0))
            parts.append((self.tokens((thought + "</think>" if thinking and last else "") + answer + EOS), SAY))
            text = ""
        return parts


def pack(documents, length):
    """concatenate documents of parts and cut at `length` -> tokens uint16, weights float16"""
    ids, weight = [], []
    while len(ids) < length:
        for tokens, w in next(documents):
            ids += tokens
            weight += [w] * len(tokens)
    return np.array(ids[:length], np.uint16), np.array(weight[:length], np.float16)


TOOLS = f"""## Tools

You have access to a set of tools to help answer the user's question. You can invoke tools by writing a "<{D} calls>" block like the following:

<{D} calls>
<{D} invoke name="$TOOL_NAME">
<{D} parameter name="$PARAMETER_NAME" string="true|false">$PARAMETER_VALUE</{D} parameter>
...
</{D} invoke>
<{D} invoke name="$TOOL_NAME2">
...
</{D} invoke>
</{D} calls>

String parameters should be specified as is and set `string="true"`. For all other types (numbers, booleans, arrays, objects), pass the value in JSON format and set `string="false"`.

If thinking_mode is enabled (triggered by <think>), you MUST output your complete reasoning inside <think>...</think> BEFORE any tool calls or final response.

Otherwise, output directly after </think> with tool calls or final response.

### Available Tool Schemas

{{S}}

You MUST strictly follow the above defined tool name and parameter schemas to invoke tool calls.
"""
