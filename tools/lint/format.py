#!/usr/bin/env python3
"""Fails when clang-format would change a source of ours. Mend with: tools/lint/format.py --fix"""
import subprocess
import sys

from common import ROOT, finish

files = sorted(
    str(path)
    for top in ("src", "kernels", "tools", "tests", "proto", "sim")
    for pattern in ("*.h", "*.cc")
    for path in (ROOT / top).rglob(pattern)
)
if "--fix" in sys.argv[1:]:
    subprocess.run(["clang-format-19", "-i", *files], check=True)
result = subprocess.run(["clang-format-19", "--dry-run", *files], capture_output=True, text=True, check=False)
faults = sorted({line.split(":")[0] + ": clang-format would change it" for line in result.stderr.splitlines()
                 if "clang-format-violations" in line})
finish(len(files), faults, "files")
