#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Handlers of signals are installed by handle_signal() alone, so that no call ends early for one, and masks are a thread's.
Usage: check_signals.py ROOT"""
import pathlib
import re
import sys

from source_files import is_code, written_files

HANDLER = "installs a handler past handle_signal() of base/signals.h, which lets system calls go on"
MASK = "changes which signals a thread takes: SignalsBlocked of base/signals.h does that"
PROCESS = "is undefined where there are threads, or another way of doing what base/signals.h does"
# Setting SIG_DFL or SIG_IGN, or asking what is set, installs nothing.
KINDS = (
    (re.compile(r"\bsignal\s*\(\s*[^,();]+,(?!\s*SIG_(?:DFL|IGN)\b)"), HANDLER),
    (re.compile(r"\bsigaction\s*\(\s*[^,();]+,(?!\s*(?:nullptr|NULL|0)\b)"), HANDLER),
    (re.compile(r"\bsa_(?:handler|sigaction)\s*=(?!=)"), HANDLER),
    (re.compile(r"\bpthread_sigmask\s*\("), MASK),
    (re.compile(r"\b(?:sigprocmask|bsd_signal|sysv_signal|sigvec|sigset|sighold|sigrelse|siginterrupt|signalfd"
                r"|sigwait|sigwaitinfo|sigtimedwait|sigsuspend|sigaltstack)\s*\("), PROCESS),
)
ALLOWED = {  # file: what of the above, and why there
    "src/base/signals.cpp": {HANDLER: "it is the place", MASK: "it is the place"},
    "src/cli/output/lost_pages.cpp": {HANDLER: "it asks which address could not be read, of a fault that no call is tried again for"},
    "src/cli/chat/typing.cpp": {MASK: "signals come in its ppoll() and nowhere else"},
    "src/cli/chat/input_lines.cpp": {MASK: "signals come in its ppoll() and nowhere else"},
}


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def faults(root):
    for file in written_files(root):
        path = file.relative_to(root).as_posix()
        if not path.startswith("src/") or not is_code(file) or "_test." in path:
            continue
        text, met = without_comments(file.read_text()), set()
        for pattern, what in KINDS:
            for found in pattern.finditer(text):
                met.add(what)
                if what not in ALLOWED.get(path, {}):
                    line = text.count("\n", 0, found.start()) + 1
                    yield f"{path}:{line}: {re.match('[a-z_]+', found.group()).group()} {what}"
        for what in ALLOWED.get(path, {}):
            if what not in met:
                yield f"{path}: needs no excuse any more, for nothing there {what}"


if __name__ == "__main__":
    found = list(faults(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "signals: every handler is installed in one place")
    sys.exit(bool(found))
