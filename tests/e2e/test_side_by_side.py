"""The comparisons of tools/bench run and say what they must; their figures are not judged here."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from bench.cluster import BUILD

TOOLS = pathlib.Path(__file__).parents[2] / "tools/bench"


def run(script: str, *flags: str) -> dict:
    path = f"{os.environ['PATH']}:/usr/sbin"
    for program in ("haproxy", "nginx", "wrk"):
        if shutil.which(program, path=path) is None:
            pytest.skip(f"{program} is missing; tools/setup --bench installs it")
    if not (BUILD / "tools/exa-mock-upstream").exists():
        pytest.skip("the mock server is not built")
    done = subprocess.run([sys.executable, TOOLS / script, "--json", f"--build={BUILD}", "--rounds=1", "--seconds=1", *flags],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("script", ["haproxy", "nginx"])
def test_whole_answers(script):
    result = run(script, "--bytes=200")
    assert len(result["cases"]) == 2
    for case in result["cases"]:
        assert case["ours"] > 0 and case["theirs"] > 0 and case["ratio"] > 0 and case["unit"] == "requests/s"
        assert {"name", "spread", "cpu_us_per_request", "rss_mib"} <= case.keys()


def test_streams():
    result = run("sse/run", "--streams=20", "--events=8", "--interval-us=10000")
    assert len(result["cases"]) == 2
    for case in result["cases"]:
        assert case["ours"] > 0 and case["theirs"] > 0 and case["unit"] == "CPU us/event"
        assert case["reads_per_event"]["ours"] > 0
