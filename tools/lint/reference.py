#!/usr/bin/env python3
"""Fails when a page is not what the program says of itself: docs/reference/command-line.md is its --help,
docs/reference/configuration.md its list of options, and the tables of docs/api.md are its table of request fields.
Fix with: reference.py EXASERVE REQUEST_FIELDS --fix"""
import json
import os
import re
import subprocess
import sys

from common import ROOT, finish

PAGES = ROOT / "docs/reference"
exaserve, request_fields = map(os.path.abspath, sys.argv[1:3])
environment = {"PATH": os.environ["PATH"], "HOME": "/home/you", "LC_ALL": "C.UTF-8"}


def run(*command: str, program: str = exaserve) -> str:
    return subprocess.run([program, *command], capture_output=True, text=True, check=True, env=environment).stdout


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


FIELDS_BEGIN = "<!-- fields: made from src/openai/field_rows.cc by tools/lint/reference.py; do not edit -->\n"
FIELDS_END = "<!-- end of fields -->\n"


def fields_table(rows: list[dict], head: str, cells) -> str:
    columns = head.count("|") - 1
    return head + "\n|" + "---|" * columns + "\n" + "".join("| " + " | ".join(cells(row)) + " |\n" for row in rows)


def where(row: dict) -> str:
    generation = ["chat", "completions", "responses"]
    names = row["endpoints"]
    if names[:3] == generation:
        names = ["generation"] + names[3:]
    return ", ".join("one of `messages`" if name == "messages" else name for name in names)


def fields() -> str:
    rows = json.loads(run(program=request_fields))

    def by(treatment: str) -> list[dict]:
        return [row for row in rows if row["treatment"] == treatment]

    return (
        "\nHonoured (\"generation\" is chat, completions and responses):\n\n"
        + fields_table(by("honoured"), "| field | of | type and range | what |", lambda row: (
            f"`{row['name']}`", where(row), cell(", ".join(filter(None, (row["type"], row["range"])))),
            cell(row["help"])))
        + "\nA 400 that names the field, unless it asks for nothing (null, false, an empty text, list or object, and what "
        "the last column says):\n\n"
        + fields_table(by("refused"), "| field | of | why | asks for nothing |", lambda row: (
            f"`{row['name']}`", where(row), cell(row["help"]), cell(row["neutral"])))
        + "\nWithout effect, because the answer is the same either way:\n\n"
        + fields_table(by("ignored"), "| field | of | why |", lambda row: (
            f"`{row['name']}`", where(row), cell(row["help"])))
        + "\n")


def api() -> str:
    text = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    before, rest = text.split(FIELDS_BEGIN)
    return before + FIELDS_BEGIN + fields() + FIELDS_END + rest.split(FIELDS_END)[1]


pages = {PAGES / "command-line.md": command_line(), PAGES / "configuration.md": configuration(),
         ROOT / "docs/api.md": api()}
faults = []
for page, text in pages.items():
    if "--fix" in sys.argv[3:]:
        page.parent.mkdir(exist_ok=True)
        page.write_text(text, encoding="utf-8")
    if not page.is_file() or page.read_text(encoding="utf-8") != text:
        faults.append(f"{page.relative_to(ROOT)} differs from what the program says")
finish(len(pages), faults, "pages")
