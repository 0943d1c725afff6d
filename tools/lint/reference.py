#!/usr/bin/env python3
"""Fails when docs/reference/command-line.md is not what the program's --help says. Mend with: reference.py EXASERVE --fix"""
import os
import re
import subprocess
import sys

from common import ROOT, finish

PAGE = ROOT / "docs/reference/command-line.md"
exaserve = os.path.abspath(sys.argv[1])
environment = {"PATH": os.environ["PATH"], "HOME": "/home/you", "LC_ALL": "C.UTF-8"}


def help_of(*command: str) -> str:
    return subprocess.run(
        [exaserve, *command, "--help"], capture_output=True, text=True, check=True, env=environment
    ).stdout.rstrip()


top = help_of()
commands = re.findall(r"^  (\w+) {2,}", top.split("Subcommands:")[1].split("\n\n")[0], re.MULTILINE)
text = "# Command line\n\nMade from `exaserve --help` (`tools/lint/reference.py`); do not edit.\n\n"
text += f"```\n{top}\n```\n"
for name in commands:
    text += f"\n## exaserve {name}\n\n```\n{help_of(name)}\n```\n"
if "--fix" in sys.argv[2:]:
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
same = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text
finish(len(commands), [] if same else [f"{PAGE.relative_to(ROOT)} is behind the program's --help"], "commands")
