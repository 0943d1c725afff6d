#!/usr/bin/env python3
"""Proves from the compiler's own dependency files that cores reach no IO header, that folders include only folders above,
and that the simulator is made of cores (and io/crypto, which is pure).

Usage: layering.py BUILD_DIR
"""
import re
import subprocess
import sys

from common import ALLOWED, APP, CORES, SANS_IO, finish

FORBIDDEN = re.compile(r"/boost/(asio|beast)/|/rocksdb/|/openssl/|(?<!/predef/language)/cuda|/nccl|/infiniband/")

build = sys.argv[1]
listing = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
faults = []
cores = set()
machines = set()
objects = 0
simulator = 0
for block in listing.split("\n\n"):
    lines = block.splitlines()
    if not lines or ":" not in lines[0]:
        continue
    if lines[0].startswith("sim/libexa_sim"):
        simulator += 1
        for path in (line.strip() for line in lines[1:]):
            if re.match(r"\.\./src/(io/(?!crypto/)|model/|app/)", path) or re.search(r"/boost/(asio|beast)/", path):
                faults.append(f"sim/ must not reach {path}")
        continue
    source = re.search(r"libexa_(\w+)\.a\.p/src_(\w+?)_[\w.]+\.cc\.o", lines[0])
    if not source or source[1] not in ALLOWED:
        continue
    folder = source[1]
    objects += 1
    if folder == "gateway" and re.search(r"src_gateway_(receiver|admission)\.cc", lines[0]):
        faults += [f"a receiver never forwards: {lines[1].strip()[3:]} must not reach {path[3:]}"
                   for path in (line.strip() for line in lines[1:]) if path.startswith("../src/router/")]
    place = re.match(r"\.\./src/app/(\w+)/", lines[1].strip())
    below = APP[place[1]] | {place[1]} if place and place[1] in APP else None
    if folder == "app" and place and below is None:
        faults.append(f"{place[0]} has no place in the graph of src/app (tools/lint/common.py)")
    if folder in CORES:
        cores.add(folder)
    is_machine = lines[1].strip().removeprefix("../") in SANS_IO
    if is_machine:
        machines.add(lines[1].strip())
    for path in (line.strip() for line in lines[1:]):
        if (folder in CORES or is_machine) and FORBIDDEN.search("/" + path):
            faults.append(f"{lines[0].split(':')[0]}: a core reaches {path}")
        ours = re.match(r"\.\./src/(\w+)/", path)
        if ours and ours[1] != folder and ours[1] not in ALLOWED[folder]:
            faults.append(f"src/{folder} must not include {path[3:]}")
        if below and (theirs := re.match(r"\.\./src/app/(?:(\w+)/)?\w+\.h", path)) and theirs[1] not in below:
            faults.append(f"{lines[1].strip()[3:]} must not include {path[3:]}")
        if folder == "io" and (inner := re.match(r"\.\./src/io/(\w+)/", path)):
            own = re.search(r"src_io_([a-z0-9]+)_", lines[0])
            # What HTTPS and links share of OpenSSL stands below both.
            if own and inner[1] not in (own[1], "tls"):
                faults.append(f"siblings of src/io must not include each other: {lines[0].split(':')[0]} -> {path[3:]}")
if len(machines) < len(SANS_IO):
    faults.append("not every machine of src/io (SANS_IO in tools/lint/common.py) was found")
missing = [folder for folder in CORES if folder not in cores]
if not simulator:
    faults.append("no object of sim/ was found")
if missing:
    faults.append(f"no object of these cores was found: {', '.join(missing)}")
finish(objects, sorted(set(faults)), "objects")
