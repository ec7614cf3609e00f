#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives `cachalot chat` as a person does, on a pseudo terminal.
Usage: chat_terminal_test.py PROGRAM MODEL"""
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import sys
import tempfile
import termios
import time
import unittest

PROGRAM, MODEL = (os.path.abspath(a) for a in sys.argv[1:3])
SECONDS = 60  # also under a sanitizer on a busy machine
CTRL_C, CTRL_D, UP = b"\x03", b"\x04", b"\x1b[A"
COLOR = re.compile(rb"\x1b\[[02]m")
OTHER_ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-HJ-Za-ln-z]|\x1b[=>]|\r|\x07")


class Terminal:
    """The program on a terminal of its own. expect() looks only at what came since the last expect()."""

    def __init__(self, state, *arguments, **variables):
        environment = {"PATH": os.environ["PATH"], "TERM": "xterm", "LANG": "C.UTF-8", "HOME": state,
                       "XDG_STATE_HOME": state, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""), **variables}
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            try:
                command = [PROGRAM, "chat", "--model", MODEL, "--seed", "5", "--threads", "1", *arguments]
                os.execve(PROGRAM, command, environment)
            finally:
                os._exit(127)  # else what is left of this script would run a second time, on a terminal that nobody reads
        self.raw, self.seen, self.ended = b"", 0, False

    def read(self, seconds):
        if not select.select([self.terminal], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.terminal, 65536)
        except OSError:  # the other side is closed
            self.ended = True
            return False
        self.raw += data
        return True

    def expect(self, pattern):
        end = time.monotonic() + SECONDS
        while not (found := re.search(pattern, self.text()[self.seen:])):
            if time.monotonic() > end or not self.read(1) and self.ended:
                raise AssertionError(f"no {pattern!r} in {self.text()[self.seen:]!r}")
        self.seen += found.end()

    def text(self):
        return OTHER_ESCAPES.sub(b"", self.raw)

    def type(self, keys):
        os.write(self.terminal, keys if isinstance(keys, bytes) else keys.encode())

    def exit_code(self):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
        raise AssertionError(f"still running: {self.text()[-300:]!r}")

    def close(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.terminal)


PROMPT = rb"(?:^|\n)> $"
LONG = ("--thinking", "off", "--max-tokens", "100000", "--logit-bias", "1=-100")  # goes on until it is stopped
SHORT = ("--thinking", "off", "--max-tokens", "4")


class OnATerminal(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, *arguments, **variables):
        terminal = Terminal(str(self.folder), *arguments, **variables)
        self.addCleanup(terminal.close)
        terminal.expect(PROMPT)
        return terminal

    def saved(self, terminal):
        file = self.folder / "saved.json"
        terminal.type(f"/save {file}\r")
        terminal.expect(rb"messages saved")
        terminal.expect(PROMPT)
        return json.loads(file.read_text())["messages"]

    def test_ctrl_c_stops_the_answer_and_nothing_else(self):
        t = self.start(*LONG)
        t.type("Call me\r")
        t.expect(rb"Call me\n[^>]*\w+ \w+")
        t.type(CTRL_C)
        t.expect(rb"\[interrupted: what there is of the answer stays\]\n")
        t.expect(PROMPT)
        messages = self.saved(t)
        self.assertEqual([m["role"] for m in messages], ["user", "assistant"])
        self.assertTrue(messages[1]["content"])
        self.assertIs(messages[1]["wo_eos"], True)
        t.type("Go on\r")  # and again: the first interrupt left nothing behind
        t.expect(rb"Go on\n[^>]*\w+ \w+")
        t.type(CTRL_C)
        t.expect(rb"\[interrupted")
        t.expect(PROMPT)
        t.type(CTRL_D)
        self.assertEqual(t.exit_code(), 0)

    def test_a_long_prompt_shows_where_it_is_and_ctrl_c_takes_the_turn_back(self):
        file = self.folder / "long.json"
        file.write_text(json.dumps({"format": "cachalot-chat", "version": 1, "options": {"mode": "chat"}, "messages": [
            {"role": "user", "content": " whale" * 3000}, {"role": "assistant", "content": "Aye."}]}))
        t = self.start(*SHORT, "--chunk", "64")
        t.type(f"/load {file}\r")
        t.expect(rb"\[2 messages loaded")
        t.expect(PROMPT)
        t.type("Hello\r")
        t.expect(rb"prompt \[ *\] 64/\d\d\d\d+")
        t.type(CTRL_C)
        t.expect(rb"\[interrupted before the answer began: nothing was added\]\n")
        t.expect(PROMPT)
        self.assertEqual(len(self.saved(t)), 2)

    def test_ctrl_c_at_an_empty_prompt_twice_ends(self):
        t = self.start(*SHORT)
        t.type("half a line")
        t.expect(rb"half a line$")
        t.type(CTRL_C)
        t.expect(rb"\^C\n> $")
        t.type(CTRL_C)
        t.expect(rb"\[Ctrl-C once more, or Ctrl-D, ends the program\]\n> $")
        t.type("Hello\r")  # something in between
        t.expect(PROMPT)
        t.type(CTRL_C)
        t.expect(rb"once more[^\n]*\n> $")
        t.type(CTRL_C)
        self.assertEqual(t.exit_code(), 0)
        self.assertNotIn("half", (self.folder / "cachalot/history").read_text())

    def test_thinking_is_dim_where_colors_are_wanted(self):
        t = self.start("--max-tokens", "8")
        t.type("Call me\r")
        t.expect(rb"\[length")
        self.assertRegex(t.raw, rb"\x1b\[2m[^\x1b]+\x1b\[0m")
        t = self.start("--max-tokens", "8", NO_COLOR="1")
        t.type("Call me\r")
        t.expect(rb"<think>\n(?s:.*)</think>\n(?s:.*)\[length")
        self.assertIsNone(COLOR.search(t.raw), t.raw)
        t = self.start(*SHORT)
        t.type("Call me\r")
        t.expect(rb"\[length")
        self.assertIsNone(COLOR.search(t.raw), t.raw)

    def test_the_history_outlives_the_program(self):
        t = self.start(*SHORT)
        t.type("/system Sei kurz, großer Wal 鯨.\r")
        t.expect(rb"\[system text set\]")
        t.expect(PROMPT)
        t.type(CTRL_D)
        self.assertEqual(t.exit_code(), 0)
        history = self.folder / "cachalot/history"
        self.assertEqual(history.stat().st_mode & 0o77, 0)
        t = self.start(*SHORT, LC_ALL="C")  # whatever the locale says of characters
        t.type(UP + b"\r")
        t.expect(rb"\[system text set\]")
        t.expect(PROMPT)
        t.type("/system\r")
        t.expect("/system\nSei kurz, großer Wal 鯨.\n".encode())

    def test_a_history_that_cannot_be_kept_is_no_error(self):
        (self.folder / "cachalot").write_text("a file where a folder should be")
        t = self.start(*SHORT)
        t.type("Hello\r")
        t.expect(rb"\[length")
        t.expect(PROMPT)
        t.type(UP)
        t.expect(rb"> Hello$")
        t.type(b"\r")
        t.expect(PROMPT)
        t.type(CTRL_D)
        self.assertEqual(t.exit_code(), 0)

    def test_several_lines_are_one_text(self):
        t = self.start(*SHORT)
        t.type('one\\\r')
        t.expect(rb"\n\.\.\. $")
        t.type('two\r')
        t.expect(rb"\[length")
        t.expect(PROMPT)
        t.type('"""\r')
        t.expect(rb"\n\.\.\. $")
        t.type('/reset\r\r"""\r')
        t.expect(rb"\[length")
        t.expect(PROMPT)
        t.type('"""dropped\r')
        t.expect(rb"\n\.\.\. $")
        t.type(CTRL_C)
        t.expect(rb"\^C\n> $")
        texts = [m["content"] for m in self.saved(t) if m["role"] == "user"]
        self.assertEqual(texts, ["one\ntwo", "/reset\n"])

    def test_the_result_of_a_loaded_call_is_asked_for(self):
        function = {"name": "get_weather", "arguments": '{"city": "Pa\\u001b[2Jris"}'}
        call = {"id": "c", "type": "function", "function": function}
        file = self.folder / "call.json"
        file.write_text(json.dumps({"format": "cachalot-chat", "version": 1, "options": {"mode": "chat"}, "messages": [
            {"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "", "tool_calls": [call]}]}))
        t = self.start(*SHORT)
        t.type(f"/load {file}\r")
        t.expect(rb'result of get_weather\(city="Pa\\u001b\[2Jris"\)> $')
        t.type("rain\r")
        t.expect(rb"\[length")
        t.expect(PROMPT)
        self.assertEqual(self.saved(t)[2], {"role": "tool", "tool_call_id": "c", "content": "rain"})
        self.assertNotIn(b"\x1b[2J", t.raw)

    def test_lines_pasted_are_one_text(self):
        t = self.start(*SHORT)
        t.type("> \x1b[200~one\r  two\r\n/quit\r\x1b[201~")
        t.expect(rb"/quit$")
        t.type(b" now\r")
        t.expect(rb"\[length")
        t.expect(PROMPT)
        t.type("\x1b[200~three\r\x1b[201~")
        t.type(CTRL_C)
        t.expect(PROMPT)
        self.assertEqual(self.saved(t)[0]["content"], "> one\n  two\n/quit now")

    def test_keys_that_are_not_known_leave_no_tail_and_ctrl_arrows_go_by_words(self):
        t = self.start(*SHORT)
        t.type(b"/system one \x1b[15~\x1b[1;2P\x1b[5~two\x1b[1;5D\x1b[1;5Dbig \x1b[1;5C\x1b[1;5C!\r")
        t.expect(rb"\[system text set\]")
        t.expect(PROMPT)
        t.type("/system\r")
        t.expect(rb"/system\nbig one two!\n|/system\n/?.*big one two!\n")

    def test_tab_completes_commands_and_files(self):
        t = self.start(*SHORT)
        t.type(b"/sy\tBe brief.\r")
        t.expect(rb"\[system text set\]")
        t.expect(PROMPT)
        t.type(f"/sa\t{self.folder}/a chat.json\r")
        t.expect(rb"1 messages saved")
        t.expect(PROMPT)
        t.type(f"/lo\t{self.folder}/a c\t\r")
        t.expect(rb"1 messages loaded from [^\n]*a chat.json")
        t.expect(PROMPT)
        t.type(b"/s\t")
        t.expect(rb"save  stats  system  \n> /s$")

    def test_a_dumb_terminal_gets_no_escapes(self):
        t = self.start(*SHORT, TERM="dumb")
        t.type(b"/help\r")
        t.expect(PROMPT)
        t.type(b"Call me\r")
        t.expect(rb"\[length")
        t.expect(PROMPT)
        t.type(" whale" * 200 + "\r")
        t.expect(rb"\[length")
        t.expect(PROMPT)
        t.type(CTRL_D)
        self.assertEqual(t.exit_code(), 0)
        self.assertNotIn(b"\x1b", t.raw)

    def test_signals_take_nothing_away(self):
        t = self.start(*LONG)
        before = termios.tcgetattr(t.terminal)
        t.type("Call m")
        t.expect(rb"Call m$")
        for number in (signal.SIGTSTP, signal.SIGCONT, signal.SIGUSR1):  # nobody can stop a session's leader
            os.kill(t.pid, number)
        fcntl.ioctl(t.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 30, 0, 0))
        os.kill(t.pid, signal.SIGWINCH)
        t.type("e\r")
        t.expect(rb"\n[^>]*\w+ \w+")
        for _ in range(3):
            os.kill(t.pid, signal.SIGINT)
        t.expect(rb"\[interrupted: what there is of the answer stays\]\n")
        t.expect(PROMPT)
        for _ in range(3):
            os.kill(t.pid, signal.SIGINT)
            t.expect(rb"\^C\n> $")
        self.assertEqual(self.saved(t)[0]["content"], "Call me")
        self.assertEqual(termios.tcgetattr(t.terminal), before)
        os.kill(t.pid, signal.SIGTERM)
        self.assertEqual(t.exit_code(), 128 + signal.SIGTERM)
        self.assertIn(b"[ended by SIGTERM]", t.raw)


if __name__ == "__main__":
    if not os.access(PROGRAM, os.X_OK):
        sys.exit(f"{PROGRAM}: no program is there")
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
