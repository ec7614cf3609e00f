#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants the faults of tests/planted_faults/verify_faults.toml; shows on which goldens `cachalot verify` catches each.

    tools/judge_faults.py                   all of them, on all goldens; the table on standard output
    tools/judge_faults.py --only NAME...    some
    tools/judge_faults.py --markdown        writes the table of docs/PLANTED_FAULTS.md anew

One program holds all faults, each behind a switch, so that it is built once; without a switch every golden must pass.
Works on a copy of the tree below --folder (build/judge_faults), which is kept. Exit code 1: a golden fails without a
fault, or a fault is caught on none.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tomllib

from plant_faults import PAGE, copy_tree

LIST = "tests/planted_faults/verify_faults.toml"
BEGIN, END = "<!-- table: tools/judge_faults.py --markdown -->", "<!-- end of table: judge_faults -->"
SWITCH = "CACHALOT_PLANTED"
GOLDENS = {  # name in the table: what to verify
    "ops-a": ["--ops", "{golden}/ops-a"],
    "mini-a f32": ["{golden}/mini-a", "--golden", "{golden}/mini-a/cases", "--numerics", "f32"],
    "mini-a released": ["{golden}/mini-a", "--golden", "{golden}/mini-a/cases", "--numerics", "released"],
    "prototype f32": ["{source}/models/prototype", "--golden", "{golden}/prototype", "--numerics", "f32"],
    "prototype released": ["{source}/models/prototype", "--golden", "{golden}/prototype", "--numerics", "released"],
}
CASE = re.compile(r"^FAIL +(.{34}).*?  worst (\S+):")
TENSOR = re.compile(r"^    FAIL +(\S+)")


def read_list(root):
    return tomllib.loads((root / LIST).read_text())["fault"]


def switch(name):
    of = f'std::getenv("{SWITCH}")'
    return f'[] {{ static const bool on = {of} != nullptr && std::string_view({of}) == "{name}"; return on; }}()'


def planted_files(root, faults):
    """File -> its text with every fault in it, behind its switch. Raises ValueError where one does not fit."""
    texts = {}
    for fault in faults:
        text = texts.get(fault["file"]) or (root / fault["file"]).read_text()
        if text.count(fault["old"]) != 1:
            raise ValueError(f"{fault['name']}: its old text occurs {text.count(fault['old'])} times in {fault['file']},"
                             " wanted once")
        if "PLANTED" not in fault["new"]:
            raise ValueError(f"{fault['name']}: its new text has no PLANTED")
        texts[fault["file"]] = text.replace(fault["old"], fault["new"].replace("PLANTED", switch(fault["name"])))
    return {file: "#include <cstdlib>\n#include <string_view>\n" + text for file, text in texts.items()}


def build(root, folder, faults, jobs):
    source, out = folder / "source", folder / "build"
    planted = planted_files(root, faults)
    kept = {file: (source / file).read_text() for file in planted if (source / file).exists()}
    copy_tree(root, source)
    for file, text in planted.items():
        (source / file).write_text(text)
        if kept.get(file) == text:  # as it was: not built again
            os.utime(source / file, (0, 0))
    subprocess.run(["cmake", "-S", source, "-B", out, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCACHALOT_UNITY=OFF"], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", out, f"-j{jobs}", "cachalot"], check=True, stdout=subprocess.DEVNULL)
    return source, out


def verify(source, out, golden, fault, threads):
    """{case that failed: its tensors beyond their limits}; {"": []} where the program itself failed."""
    places = {"golden": out / "golden", "source": source}
    command = [out / "cachalot", "verify", *(part.format(**places) for part in GOLDENS[golden]), "--backend", "cpu",
               "--threads", str(threads)]
    run = subprocess.run(command, env={**os.environ, SWITCH: fault}, capture_output=True, text=True)
    failed = {}
    for line in run.stdout.splitlines():
        if case := CASE.match(line):
            tensors = failed.setdefault(case[1].strip(), [])
            tensors.append(case[2])
        elif (tensor := TENSOR.match(line)) and failed:
            tensors.append(tensor[1])
    return failed or ({"": []} if run.returncode != 0 else {})


def whole_runs(caught):
    """Where runs from end to end catch it."""
    parts = []
    for golden, cases in caught.items():
        count = sum(any(not of_a_layer(t) for t in tensors) or not tensors for tensors in cases.values())
        if count and golden != "ops-a":
            parts.append(golden if golden.startswith("prototype") else f"{golden} ({count})")
    return ", ".join(parts) or "none"


def of_a_layer(tensor):
    return tensor.startswith(("layers.", "final_hidden"))


def layers(caught):
    """What shows it where every layer, or every operator, is fed golden inputs."""
    tensors = [t for cases in caught.values() for case, found in cases.items() if "prefill" in case
               for t in found if of_a_layer(t)]
    operators = [case for case in caught.get("ops-a", {})]
    shown = [f"`{tensors[0]}`" + (f" and {len(tensors) - 1} more" if len(tensors) > 1 else "")] if tensors else []
    return ", ".join(shown + [f"`{case}`" for case in operators]) or "none"


def table(rows):
    lines = ["| fault | what is wrong | whole runs that catch it (cases) | layers and operators fed golden inputs |",
             "|---|---|---|---|"]
    for fault, caught in rows:
        only = f": {fault['only']}" if "only" in fault else ""
        lines.append(f"| {fault['name']} | {fault['what']} | {whole_runs(caught)}{only} | {layers(caught)} |")
    return "\n".join(lines)


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description="Which goldens catch which fault.")
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--goldens", nargs="+", choices=GOLDENS, default=list(GOLDENS))
    parser.add_argument("--markdown", action="store_true", help=f"write the table of {PAGE} anew")
    parser.add_argument("--folder", type=pathlib.Path, default=root / "build" / "judge_faults")
    parser.add_argument("--jobs", type=int, default=2, help="for ninja and for verify (default: 2)")
    flags = parser.parse_args()
    faults = read_list(root)
    source, out = build(root, flags.folder.resolve(), faults, flags.jobs)
    chosen = [f for f in faults if not flags.only or f["name"] in flags.only]
    ill = [g for g in flags.goldens if verify(source, out, g, "", flags.jobs)]
    if ill:
        print("fail without any fault: " + ", ".join(ill))
        return 1
    rows = []
    for fault in chosen:
        caught = {g: verify(source, out, g, fault["name"], flags.jobs) for g in flags.goldens}
        rows.append((fault, caught))
        print(f"{fault['name']:28}  whole runs: {whole_runs(caught)}; layers, operators: {layers(caught)}", flush=True)
    escaped = [fault["name"] for fault, caught in rows if not any(caught.values())]
    print(f"{len(rows) - len(escaped)} of {len(rows)} faults caught" + (", not " + ", ".join(escaped) if escaped else ""))
    if flags.markdown:
        page = root / PAGE
        head, rest = page.read_text().split(BEGIN)
        page.write_text(head + BEGIN + "\n" + table(rows) + "\n" + END + rest.split(END)[1])
    return bool(escaped)


if __name__ == "__main__":
    sys.exit(main())
