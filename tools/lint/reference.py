#!/usr/bin/env python3
"""Fails when a page of docs/reference is not what the program says of itself: command-line.md is its --help,
configuration.md its list of options. Fix with: reference.py EXASERVE --fix"""
import json
import os
import re
import subprocess
import sys

from common import ROOT, finish

PAGES = ROOT / "docs/reference"
exaserve = os.path.abspath(sys.argv[1])
environment = {"PATH": os.environ["PATH"], "HOME": "/home/you", "LC_ALL": "C.UTF-8"}


def run(*command: str) -> str:
    return subprocess.run([exaserve, *command], capture_output=True, text=True, check=True, env=environment).stdout


def command_line() -> str:
    top = run("--help").rstrip()
    commands = re.findall(r"^  ([\w-]+) {2,}", top.split("Subcommands:")[1].split("\n\n")[0], re.MULTILINE)
    text = "# Command line\n\nMade from `exaserve --help` (`tools/lint/reference.py`); do not edit.\n\n"
    text += f"```\n{top}\n```\n"
    for name in commands:
        text += f"\n## exaserve {name}\n\n```\n{run(name, '--help').rstrip()}\n```\n"
    return text


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def configuration() -> str:
    text = ("# Configuration\n\nMade from `exaserve config options` (`tools/lint/reference.py`); do not edit.\n\n"
            "Each option is a key of the TOML file of `exaserve peer --config FILE`, in the table that heads its section, "
            "and a flag of\n`exaserve peer`: `idle_seconds` in `[http]` is `--http-idle-seconds`. Flags override the file, "
            "the file overrides `membership.profile`,\nand that overrides the defaults. Live options change with "
            "`exaserve config reload` or SIGHUP, the others with a restart.\n")
    section = None
    for option in json.loads(run("config", "options", "--json"))["options"]:
        table, _, name = option["name"].rpartition(".")
        if table != section:
            section = table
            text += f"\n## {f'[{table}]' if table else 'Top level'}\n\n"
            text += "| option | type | range | default | live | meaning |\n|---|---|---|---|---|---|\n"
        limits = ", ".join(filter(None, (option["range"], option["unit"])))
        text += "| " + " | ".join((f"`{name}`", option["type"], cell(limits), cell(option["default"]) or "none",
                                  "yes" if option["live"] else "no", cell(option["help"]))) + " |\n"
    return text


pages = {"command-line.md": command_line(), "configuration.md": configuration()}
faults = []
for name, text in pages.items():
    page = PAGES / name
    if "--fix" in sys.argv[2:]:
        page.parent.mkdir(exist_ok=True)
        page.write_text(text, encoding="utf-8")
    if not page.is_file() or page.read_text(encoding="utf-8") != text:
        faults.append(f"{page.relative_to(ROOT)} differs from what the program says")
finish(len(pages), faults, "pages")
