#!/usr/bin/env python3
"""Holds the tree against its own rules: every folder stands in docs/architecture.md, every core source has a test, every
header has #pragma once and the namespace of its folder, no file has outgrown its noun."""
import re

from common import CORES, ROOT, finish

faults = []
checked = 0
architecture = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
for top in ("src", "kernels", "proto", "tools", "tests", "sim", "docs"):
    base = ROOT / top
    if not base.is_dir():
        continue
    folders = [base] + sorted(path for path in base.rglob("*") if path.is_dir())
    for folder in folders:
        name = folder.relative_to(ROOT).as_posix()
        if "__pycache__" in name or ".pytest_cache" in name or not any(folder.iterdir()):
            continue
        checked += 1
        # tests/<suite>/<folder> mirrors src/<folder>: one line for the suite covers them.
        if name.startswith("tests/") and name.count("/") > 1:
            continue
        if f"`{name}/`" not in architecture:
            faults.append(f"docs/architecture.md does not name `{name}/`")
for folder in CORES:
    for source in sorted((ROOT / "src" / folder).glob("*.cc")):
        checked += 1
        if source.stem in ("errc", "unicode_tables"):
            continue
        test = ROOT / "tests/unit" / folder / f"{source.stem}_test.cc"
        if not test.is_file():
            faults.append(f"src/{folder}/{source.name} has no {test.relative_to(ROOT)}")
for path in sorted([*(ROOT / "src").rglob("*.h"), *(ROOT / "kernels").rglob("*.h")]):
    checked += 1
    text = path.read_text(encoding="utf-8")
    if "#pragma once" not in text:
        faults.append(f"{path.relative_to(ROOT)} lacks #pragma once")
    folders = path.parent.relative_to(ROOT).parts
    if folders[0] != "src":
        continue
    namespace = "::".join(("exa", *(name for name in folders[1:] if name != "base")))
    for name in re.findall(r"^namespace (exa[\w:]*) {", text, re.MULTILINE):
        if name != namespace:
            faults.append(f"{path.relative_to(ROOT)} opens {name}: its folder's namespace is {namespace}")
for pattern in ("src/**/*.h", "src/**/*.cc", "kernels/**/*.h", "kernels/**/*.cc", "tools/**/*.cc"):
    for path in sorted(ROOT.glob(pattern)):
        lines = path.read_text(encoding="utf-8").count("\n")
        if lines > 800 and path.stem != "unicode_tables":
            faults.append(f"{path.relative_to(ROOT)} has {lines} lines: look for the second noun")
finish(checked, faults, "folders and files")
