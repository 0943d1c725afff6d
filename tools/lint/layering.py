#!/usr/bin/env python3
"""Proves from the compiler's own dependency files that cores reach no IO header and folders include only folders above.

Usage: layering.py BUILD_DIR
"""
import re
import subprocess
import sys

from common import ALLOWED, CORES, finish

FORBIDDEN = re.compile(r"/boost/(asio|beast)/|/rocksdb/|/openssl/|/cuda|/nccl|/infiniband/|/spdlog/|/sys/socket\.h$")

build = sys.argv[1]
listing = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
faults = []
cores = set()
objects = 0
for block in listing.split("\n\n"):
    lines = block.splitlines()
    if not lines or ":" not in lines[0]:
        continue
    source = re.search(r"libexa_(\w+)\.a\.p/src_(\w+?)_[\w.]+\.cc\.o", lines[0])
    if not source or source[1] not in ALLOWED:
        continue
    folder = source[1]
    objects += 1
    if folder in CORES:
        cores.add(folder)
    for path in (line.strip() for line in lines[1:]):
        if folder in CORES and FORBIDDEN.search("/" + path) and not path.endswith("sys/socket.h"):
            faults.append(f"{lines[0].split(':')[0]}: a core reaches {path}")
        ours = re.match(r"\.\./src/(\w+)/", path)
        if ours and ours[1] != folder and ours[1] not in ALLOWED[folder]:
            faults.append(f"src/{folder} must not include {path[3:]}")
        if folder == "io" and (inner := re.match(r"\.\./src/io/(\w+)/", path)):
            own = re.search(r"src_io_([a-z0-9]+)_", lines[0])
            if own and own[1] != inner[1]:
                faults.append(f"siblings of src/io must not include each other: {lines[0].split(':')[0]} -> {path[3:]}")
missing = [folder for folder in CORES if folder not in cores]
if missing:
    faults.append(f"no object of these cores was found: {', '.join(missing)}")
finish(objects, sorted(set(faults)), "objects")
