#!/usr/bin/env python3
"""Proves that mutants live in production's cores: every one of base/mutant.h is a switch somewhere in src/, and the
simulator acts on none itself (sim/checks/mutants.cc lists them for people)."""
import re

from common import ROOT, finish

LISTS = {"sim/checks/mutants.cc", "sim/checks/mutants.h"}
USE = re.compile(r"\bMutant::(\w+)")

header = (ROOT / "src/base/mutant.h").read_text()
known = re.findall(r"^ {4}(\w+),", header, re.MULTILINE)
faults = []
switched = set()
for folder in ("src", "sim"):
    for path in sorted((ROOT / folder).rglob("*.[ch]*")):
        name = str(path.relative_to(ROOT))
        if name in LISTS or name == "src/base/mutant.h":
            continue
        for mutant in USE.findall(path.read_text()):
            if mutant == "none":
                continue
            if folder == "src":
                switched.add(mutant)
            else:
                faults.append(f"{name} acts on Mutant::{mutant}: the switch belongs in a core of src/")
faults += [f"Mutant::{mutant} is no switch in src/" for mutant in known if mutant != "none" and mutant not in switched]
finish(len(known), sorted(set(faults)), "mutants")
