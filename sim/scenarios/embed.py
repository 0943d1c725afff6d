#!/usr/bin/env python3
"""Writes a C++ source that holds all scenario files: embed.py OUTPUT FILE..."""
import pathlib
import sys

out = ['#include <array>\n', '#include "sim/scenarios/scenario.h"\n\nnamespace exa::sim {\n\nnamespace {\n\n']
files = sorted(map(pathlib.Path, sys.argv[2:]))
out.append(f"constexpr std::array<BuiltIn, {len(files)}> scenarios{{{{\n")
for file in files:
    out.append(f'    {{"{file.stem}", R"toml({file.read_text(encoding="utf-8")})toml"}},\n')
out.append("}};\n\n}  // namespace\n\nstd::span<const BuiltIn> built_in_scenarios() {\n    return scenarios;\n}\n\n"
           "}  // namespace exa::sim\n")
pathlib.Path(sys.argv[1]).write_text("".join(out), encoding="utf-8")
