#!/usr/bin/env python3
"""Fails when ruff (pyproject.toml) or shellcheck finds something in a script. Fix imports and the like with: scripts.py --fix"""
import pathlib
import subprocess
import sys

from common import ROOT, finish

RUFF = ROOT / ".venv/bin/ruff"


def interpreter(path: pathlib.Path) -> str:
    with path.open("rb") as file:
        line = file.readline(80)
    return line.decode(errors="replace") if line.startswith(b"#!") else ""


files = sorted(path for top in (".ci", "tools", "tests") for path in (ROOT / top).rglob("*") if path.is_file())
python = [str(path) for path in files if path.suffix == ".py" or "python3" in interpreter(path)]
shell = [str(path) for path in files if "/sh" in interpreter(path) or "bash" in interpreter(path)]
fix = ["--fix"] if "--fix" in sys.argv[1:] else []
faults = []
for command in ([RUFF, "check", "--quiet", "--no-cache", "--output-format=concise", *fix, *python], ["shellcheck", "--format=gcc", *shell]):
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if run.returncode:
        faults += (run.stdout + run.stderr).splitlines()
finish(len(python) + len(shell), faults, "scripts")
