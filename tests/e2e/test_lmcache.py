"""LMCache's own remote connectors against the Redis ports of several peers. Opt-in: EXASERVE_LMCACHE_PYTHON names a Python
that has the package `lmcache`, which is not among the tests' own (docs/redis.md)."""

import json
import os
import pathlib
import subprocess

import pytest

from test_resp_peers import started

PYTHON = os.environ.get("EXASERVE_LMCACHE_PYTHON")
CLIENT = pathlib.Path(__file__).with_name("lmcache_client.py")

pytestmark = pytest.mark.skipif(not PYTHON, reason="EXASERVE_LMCACHE_PYTHON names no Python with lmcache")


@pytest.fixture(scope="module")
def four(tmp_path_factory, tiny_model):
    with started(tmp_path_factory.mktemp("cluster"), tiny_model) as ports:
        yield ports


@pytest.mark.parametrize("scheme", ["redis", "resp", "valkey"])
def test_chunks_that_lmcache_writes_at_one_peer_it_reads_at_another(four, scheme, tmp_path):
    ports = [client.connection_pool.connection_kwargs["port"] for client in four.clients]
    run = subprocess.run([PYTHON, CLIENT, scheme, str(ports[0]), str(ports[1]), "8"], capture_output=True, text=True,
                         timeout=180, cwd=tmp_path)
    assert run.returncode == 0, run.stderr[-3000:]
    result = json.loads(run.stdout.splitlines()[-1])
    assert result == {"chunks": 8, "bytes": 2_097_152, "whole": 8}
