"""The store under kill -9: what it acknowledged is there, and nothing is corrupt."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("EXASERVE_BUILD", ROOT / "build"))


@pytest.mark.parametrize("durability, loops", [("wal", 30), ("sync", 10), ("none", 10)])
def test_a_killed_store_has_all_it_acknowledged(durability, loops):
    run = subprocess.run([ROOT / "tools/bench/store/crash", "--loops", str(loops), "--durability", durability,
                          "--build", BUILD], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_file_system_that_is_too_small_refuses_nobody():
    run = subprocess.run([ROOT / "tools/bench/store/full", "--bytes", "400M", "--size", "100M", "--build", BUILD],
                         capture_output=True, text=True, timeout=300)
    if run.returncode == 77:
        pytest.skip("no file system can be mounted here")
    assert run.returncode == 0, run.stdout + run.stderr
