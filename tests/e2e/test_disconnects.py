"""A thousand clients that reset their connections leave nothing behind; tools/bench/disconnects says how soon."""

import json
import os
import pathlib
import subprocess
import sys

from bench.cluster import BINARY, BUILD

SCRIPT = pathlib.Path(__file__).parents[2] / "tools/bench/disconnects"


def test_a_thousand_abrupt_disconnects_leave_nothing_behind():
    done = subprocess.run([sys.executable, SCRIPT, "--json"], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "EXASERVE_BUILD": str(BUILD), "EXASERVE_BIN": str(BINARY)})
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert max(report["descriptors_left"]) <= 0
    assert max(report["kib_grown"]) <= 4096
