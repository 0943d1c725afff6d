#!/usr/bin/env python3
"""Fails when clang-tidy (.clang-tidy says what is off and why) finds something in a core folder, headers included.

Usage: tidy.py BUILD_DIR [FILE.cc ...]

The cores alone: all of src would take a quarter of an hour. What passed once is not looked at again until it, a header
that it includes or .clang-tidy changes (BUILD_DIR/tidy).
"""
import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess
import sys

from common import CORES, ROOT, finish

build = pathlib.Path(sys.argv[1]).resolve()
passed = build / "tidy"


def dependencies() -> dict[pathlib.Path, list[pathlib.Path]]:
    """Of each source that the build has compiled: itself and the headers of ours that it includes."""
    listing = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    found = {}
    for block in listing.split("\n\n"):
        ours = [(build / line.strip()).resolve() for line in block.splitlines()[1:] if not line.strip().startswith("/usr/")]
        if ours:
            found[ours[0]] = ours
    return found


def state_of(files: list[pathlib.Path]) -> str:
    state = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for file in files:
        state.update(file.read_bytes() if file.is_file() else b"gone")
    return state.hexdigest()


def check(source: pathlib.Path, state: str) -> list[str]:
    run = subprocess.run(["clang-tidy-19", "-p", build, "--quiet", source], capture_output=True, text=True, check=False)
    if run.returncode == 0:
        (passed / state).touch()
        return []
    lines = [line for line in run.stdout.splitlines() if re.search(r": (error|warning): ", line)]
    return lines or [f"{source}: clang-tidy failed: {run.stderr[-300:]}"]


known = dependencies()
asked = {pathlib.Path(name).resolve() for name in sys.argv[2:]}
sources = sorted(source for folder in CORES for source in (ROOT / "src" / folder).glob("*.cc"))
if asked:
    sources = [source for source in known if source in asked]
passed.mkdir(exist_ok=True)
states = {source: state_of(known.get(source, [source])) for source in sources}
todo = [source for source in sources if not (passed / states[source]).exists()]
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    faults = {line for lines in pool.map(lambda source: check(source, states[source]), todo) for line in lines}
finish(len(sources), sorted(faults), "sources")
