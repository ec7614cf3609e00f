#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signals while a terminal is in use: chat, run, verify and bench on pseudo terminals, as a session's leader (docker -it) and as a shell's
job, with 1, 2 and 4 threads. SIGCONT, SIGWINCH, SIGTSTP, SIGUSR1 and SIGINT in any order and at any time must end no conversation and lose
none of it, and leave other commands' results as they are; however a session ends, the terminal is as it was.
No clock judges: what has to come is waited for as long as the program does anything, or waits for a processor.
Usage: terminal_storm_test.py PROGRAM CHAT_MODEL GOLDEN_MODEL [SESSIONS [SEED]]
A few sessions by default, as part of the tests. A release is judged by 216: SESSIONS 72 with SEED 1, 2 and 3, at the same time."""
import collections
import json
import os
import pathlib
import random
import re
import select
import signal
import subprocess
import sys
import tempfile
import termios
import time
import fcntl
import resource
import struct

PROGRAM, MODEL, GOLDEN = (os.path.abspath(a) for a in sys.argv[1:4])
SESSIONS = int(sys.argv[4]) if len(sys.argv) > 4 else 3
RANDOM = random.Random(int(sys.argv[5]) if len(sys.argv) > 5 else 1)
IDLE_LOOKS = 600  # so often, 0.05 s apart, the program is found asleep and not once awake between: it waits for what never comes
TRIES = 20  # to have a conversation saved: what is typed may come too late, or be lost, more than once
ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r|\x07")
CLEAR = b"\x15"  # Ctrl-U, also where a line waits for the end of an answer
PASTE = b"\x1b[200~one\rtwo\r\x1b[201~"
HARMLESS = (signal.SIGCONT, signal.SIGWINCH, signal.SIGTSTP, signal.SIGUSR1)


class Session:
    """A command on a terminal of its own; as a `job`, below a shell that lets it go on whenever it was stopped."""

    def __init__(self, arguments, job, home):
        self.master, self.slave = os.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.news, news = os.pipe()
        self.output, self.code, self.buffer = b"", None, b""
        self.child = os.fork()
        if self.child == 0:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for stream in range(3):
                os.dup2(self.slave, stream)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            # The leak sanitizer stops its program by a SIGSTOP, which a SIGCONT of ours takes away: both would wait for ever.
            no_leaks = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
            environment = {**os.environ, "TERM": "xterm", "LANG": "C.UTF-8", "HOME": home, "XDG_STATE_HOME": home, "ASAN_OPTIONS": no_leaks}
            try:
                self.begin(arguments, job, environment, news)
            finally:
                os._exit(127)  # nothing of this script runs a second time
        os.close(news)
        self.pid = int(self.line_of_news() or self.child)
        while not self.ended() and not self.ignores(signal.SIGUSR1):  # it has only begun
            self.read(0.01)

    @staticmethod
    def begin(arguments, job, environment, news):
        def execute():
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGPIPE):  # whoever began this may ignore them
                signal.signal(number, signal.SIG_DFL)
            os.set_inheritable(news, False)
            os.write(news, b"%d\n" % os.getpid())
            os.execve(PROGRAM, [PROGRAM, *arguments], environment)
        if not job:
            execute()
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            os.tcsetpgrp(0, os.getpid())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            execute()
        while True:
            _, status = os.waitpid(pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                os.write(news, b"%d\n" % os.waitstatus_to_exitcode(status))
                os._exit(0)
            time.sleep(0.01)
            os.tcsetpgrp(0, os.getpgrp())
            os.tcsetpgrp(0, pid)
            os.killpg(pid, signal.SIGCONT)

    def ignores(self, number):
        try:
            status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        except OSError:
            return False
        return bool(int(re.search(r"SigIgn:\s*(\w+)", status).group(1), 16) >> number - 1 & 1)

    def line_of_news(self):
        while b"\n" not in self.buffer:
            self.read(0.05)
            if select.select([self.news], [], [], 0)[0]:
                data = os.read(self.news, 100)
                if not data:
                    return None
                self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            try:
                self.output += os.read(self.master, 65536)
            except OSError:
                time.sleep(seconds)

    def text(self):
        return ESCAPES.sub(b"", self.output)

    def sleep_of(self, pid):
        """What tells one sleep of all its threads from another; None where one of them runs, or could."""
        sleep = []
        try:
            for status in sorted(pathlib.Path(f"/proc/{pid}/task").glob("*/status")):
                state, waits = re.search(r"State:\s*(\w).*^voluntary_ctxt_switches:\s*(\d+)", status.read_text(), re.S | re.M).groups()
                if state not in "STt":
                    return None
                sleep.append((status, state, waits))
        except OSError:
            return None
        return sleep or None

    def sleep(self):
        """Of the program, and of the shell that would wake it."""
        program, shell = self.sleep_of(self.pid), self.sleep_of(self.child)
        return program and shell and (program, shell, len(self.output))

    def wait(self, done):
        """Until it is so. False where the program has ended, or does nothing any more."""
        looks, before = 0, None
        while not done():
            if self.ended():
                return done()
            self.read(0.05)
            now = self.sleep()
            looks, before = looks + 1 if now and now == before else 0, now
            if looks > IDLE_LOOKS:
                return False
        return True

    def expect(self, pattern):
        if not self.wait(lambda: re.search(pattern, self.text())):
            raise AssertionError(f"no {pattern!r}, exit {self.code}: ...{self.text()[-400:]!r}")

    def ended(self):
        if self.code is None and self.child:
            pid, status = os.waitpid(self.child, os.WNOHANG)
            if pid:
                self.child = 0
                # The shell's own end says nothing, the job's stands in the news.
                news = self.buffer
                while data := os.read(self.news, 100):
                    news += data
                self.code = int(news) if news.strip() else os.waitstatus_to_exitcode(status)
        return self.code is not None

    def type(self, keys):
        os.write(self.master, keys)

    def send(self, number):
        if number == signal.SIGWINCH:
            size = struct.pack("HHHH", RANDOM.randint(1, 50), RANDOM.randint(2, 150), 0, 0)
            fcntl.ioctl(self.slave, termios.TIOCSWINSZ, size)
        if not self.ended():
            self.kill(self.pid, number)

    def come_to_rest(self, meanwhile=lambda: None):
        """Until a line is waited for, and none is answered that was typed before: nothing is left to read, and the program sleeps."""
        before = None

        def rests():
            nonlocal before
            now = self.wants_marks() and not self.unread() and self.sleep()
            same, before = now and now == before, now
            if not now:
                meanwhile()
            return same
        if not self.wait(rests):
            raise AssertionError(f"no rest, exit {self.code}: ...{self.text()[-400:]!r}")

    def unread(self):
        """Bytes that were typed and not yet taken."""
        return struct.unpack("i", fcntl.ioctl(self.slave, termios.FIONREAD, b"\0" * 4))[0]

    @staticmethod
    def kill(pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:  # a job that has ended, and its shell does not know yet
            pass

    def storm(self, signals, seconds, keys=()):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.ended():
            for _ in range(RANDOM.randint(1, 3)):
                self.send(RANDOM.choice(signals))
            if keys and ((key := RANDOM.choice(keys)) != PASTE or self.wants_marks()):
                self.type(key)
            self.read(RANDOM.choice((0, 0.001, 0.003, 0.02)))

    def end(self):
        if not self.wait(self.ended):
            raise AssertionError(f"still running: ...{self.text()[-400:]!r}")
        self.read_rest()
        return self.code, termios.tcgetattr(self.slave) == self.before and not self.wants_marks()

    def read_rest(self):
        """All that the program left on its terminal: what is written last comes last."""
        while select.select([self.master], [], [], 0)[0]:
            self.read(0)
        last = b"<the end of it>"
        os.write(self.slave, last)
        while not self.output.endswith(last):
            self.read(1)
        self.output = self.output[:-len(last)]

    def wants_marks(self):
        """Whether a terminal puts pasted text between marks now."""
        return self.output.rfind(b"\x1b[?2004h") > self.output.rfind(b"\x1b[?2004l")

    def close(self):
        if self.child:
            self.kill(self.pid, signal.SIGKILL)
            self.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
        for file in (self.master, self.slave, self.news):
            os.close(file)


ENDS = {  # how a conversation ends: what is done, the exit code
    "/quit": (lambda s: s.type(CLEAR + b"/quit\r"), 0),
    "Ctrl-D": (lambda s: s.type(CLEAR + b"\x04"), 0),
    "SIGTERM": (lambda s: s.send(signal.SIGTERM), 128 + signal.SIGTERM),
    "SIGHUP": (lambda s: s.send(signal.SIGHUP), 128 + signal.SIGHUP),
    "SIGQUIT": (lambda s: s.send(signal.SIGQUIT), -signal.SIGQUIT),
    "SIGTERM in an answer": (lambda s: (s.type(b"Go on\r"), time.sleep(RANDOM.random() / 4), s.send(signal.SIGTERM)),
                             128 + signal.SIGTERM),
}


def chat(threads, job, how, home):
    """A turn in peace, turns in a storm, then nothing may be lost."""
    session = Session(["chat", "--model", MODEL, "--thinking", "off", "--max-tokens", "12", "--seed", "5", "--threads", str(threads)],
                      job, home)
    try:
        session.expect(rb"> $")
        session.type(b"Call me\r")
        session.expect(rb"\[length[^\n]*\n> $")
        keys = (b"x\x7f", b"\r", b"Tell\r", b"abc", CLEAR, b"\x1b[A", b"\x1b[1;5D", PASTE, "鯨".encode(), b"\t")
        session.storm((*HARMLESS, signal.SIGINT), 0.5 + RANDOM.random(), keys)
        session.storm(HARMLESS, 0.3)
        saved = pathlib.Path(home) / "saved.json"
        for _ in range(TRIES):  # what was typed meanwhile is still being answered, or stands in the line
            session.come_to_rest(lambda: session.send(signal.SIGINT))
            if saved.exists():
                break
            session.send(signal.SIGINT)  # out of a paste as well, whose end may be lost where more was typed than a terminal keeps
            session.come_to_rest()
            shown = len(session.output)
            session.type(CLEAR + f"/save {saved}\r".encode())
            session.wait(lambda: len(session.output) > shown)  # it is taken: a terminal hands on what is typed when it likes
        else:
            raise AssertionError(f"nothing is saved: ...{session.text()[-400:]!r}")
        messages = json.loads(saved.read_text())["messages"]
        if [m["content"] for m in messages][:1] != ["Call me"] or len(messages) < 2 or not messages[1]["content"]:
            raise AssertionError(f"the first turn is lost: {messages}")
        session.come_to_rest()
        do, code = ENDS[how]
        do(session)
        ended, restored = session.end()
        if (ended, restored) != (code, True):
            raise AssertionError(f"exit {ended}, not {code}; terminal restored: {restored}; ...{session.output[-300:]!r}")
    finally:
        session.close()


def command(arguments, job, home, wanted):
    """The result of a command in a storm is that in peace, and SIGINT ends it without harm to the terminal."""
    session = Session(arguments, job, home)
    try:
        for _ in range(20):  # most of it, or all
            session.storm(HARMLESS, 0.5)
        code, restored = session.end()
        if code != 0 or not restored or wanted not in session.text():
            raise AssertionError(f"{arguments}: exit {code}, restored {restored}: ...{session.text()[-300:]!r}")
    finally:
        session.close()
    session = Session(arguments, job, home)
    try:
        session.storm(HARMLESS, RANDOM.random() / 2)
        session.send(signal.SIGINT)
        code, restored = session.end()
        if code not in (0, 1, 130, -signal.SIGINT) or not restored:
            raise AssertionError(f"{arguments} with SIGINT: exit {code}, restored {restored}: ...{session.text()[-300:]!r}")
    finally:
        session.close()


def main():
    if not os.access(PROGRAM, os.X_OK):
        sys.exit(f"{PROGRAM}: no program is there")
    failed, done = [], collections.Counter()

    def attempt(what, how, *arguments):
        try:
            with tempfile.TemporaryDirectory() as home:
                how(*arguments, home)
            done[what] += 1
        except AssertionError as error:
            failed.append(f"{what}: {error}")
            print(failed[-1], flush=True)
    ends = list(ENDS)
    for i in range(SESSIONS):
        threads, job, end = (1, 2, 4)[i % 3], i % 2 == 1, ends[i // 2 % len(ends)]
        attempt(f"chat, {threads} threads, {'a job' if job else 'a leader'}", chat, threads, job, end)
    text = ["run", "He said", "--model", MODEL, "--max-tokens", "60", "--seed", "1"]
    said = subprocess.run([PROGRAM, *text], capture_output=True, check=True).stdout.replace(b"\r", b"")
    for arguments, wanted in ((text, said), (["bench", "rope", "--rows", "4"], b"rope"), (["verify", "--ops", GOLDEN], b"")):
        for threads in (2, 1, 4)[:1 + SESSIONS // 9]:
            given = arguments if arguments[0] == "verify" else [*arguments, "--threads", str(threads)]
            for job in (False, True):
                attempt(arguments[0], lambda a, j, w, h: command(a, j, h, w), given, job, wanted)
    for what, n in sorted(done.items()):
        print(f"{n:4} {what}: good")
    print(f"{len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
