#!/usr/bin/env python3
"""Writes src/model/unicode_tables.cc: the runs of code points that are letters, numbers, white space or none of these.

Usage: tools/unicode/generate.py            (needs a Python whose unicodedata is UNICODE_VERSION; 3.13 is)

The version is pinned because token ids hang on it: a code point that becomes a letter in a newer Unicode splits text
elsewhere. 15.1 is what llama.cpp's tables hold (compared code point by code point in planes 0 to 3 and 14).
"""

import pathlib
import subprocess
import sys
import unicodedata

UNICODE_VERSION = "15.1.0"
OTHER, LETTER, NUMBER, SPACE = range(4)  # exa::model::CharClass

# Property White_Space. It is not a general category: it takes in six control characters and leaves out U+200B.
WHITE_SPACE = {*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}


def char_class(code_point: int) -> int:
    if code_point in WHITE_SPACE:
        return SPACE
    return {"L": LETTER, "N": NUMBER}.get(unicodedata.category(chr(code_point))[0], OTHER)


def main() -> None:
    if unicodedata.unidata_version != UNICODE_VERSION:
        sys.exit(f"this Python knows Unicode {unicodedata.unidata_version}, the tables are {UNICODE_VERSION}")
    runs = []
    previous = None
    for code_point in range(0x110000):
        kind = char_class(code_point)
        if kind != previous:
            runs.append(f"0x{code_point << 2 | kind:x},")
            previous = kind
    target = pathlib.Path(__file__).parents[2] / "src/model/unicode_tables.cc"
    target.write_text(f"""\
// Written by tools/unicode/generate.py from Unicode {UNICODE_VERSION}; do not edit.
#include "model/unicode_tables.h"

namespace exa::model {{

const std::array<std::uint32_t, char_class_run_count> char_class_runs = {{
{chr(10).join(" ".join(runs[i:i + 12]) for i in range(0, len(runs), 12))}
}};

}}  // namespace exa::model
""")
    print(f"{len(runs)} runs: char_class_run_count in unicode_tables.h must say so", file=sys.stderr)
    subprocess.run(["clang-format-19", "-i", target], check=True)


if __name__ == "__main__":
    main()
