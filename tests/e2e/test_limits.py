"""The door's limits as an operator sets them, and the numbers of a peer with several threads."""

import http.client
import json
import pathlib
import time

import pytest

from bench.cluster import Cluster, wait_for

NULL = pathlib.Path("null")
FLAGS = ["--model-engine=null", "--model-in-flight-limit=64", "--http-threads=3", "--http-header-bytes=2048",
         "--http-body-bytes=4096", "--http-idle-seconds=1", "--http-first-byte-seconds=1", "--null-prefill-us=10000"]


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("limits"), NULL, 1, 1, FLAGS) as cluster:
        yield cluster.peers[0]


def ask(peer, prompt="hi", headers=None, **settings):
    connection = http.client.HTTPConnection("127.0.0.1", peer.http_port, timeout=30)
    body = json.dumps({"model": "null", "prompt": prompt, "max_tokens": 2, **settings})
    connection.request("POST", "/v1/completions", body, {"content-type": "application/json", **(headers or {})})
    reply = connection.getresponse()
    status, text = reply.status, reply.read()
    connection.close()
    return status, text


def test_headers_and_bodies_have_their_bounds(peer):
    assert ask(peer)[0] == 200
    assert ask(peer, headers={"x-long": "x" * 3000})[0] == 431
    assert ask(peer, prompt="x" * 5000)[0] == 413


def test_a_connection_that_is_idle_for_longer_is_closed(peer):
    connection = http.client.HTTPConnection("127.0.0.1", peer.http_port, timeout=10)
    connection.request("GET", "/health/live")
    connection.getresponse().read()
    begun = time.monotonic()
    assert connection.sock.recv(1) == b""
    assert 0.5 < time.monotonic() - begun < 5


def test_an_answer_that_does_not_begin_in_time_is_given_up(peer):
    begun = time.monotonic()
    status, text = ask(peer, prompt="word " * 700)
    assert status in (502, 503, 504), text
    assert time.monotonic() - begun < 6
    wait_for(lambda: peer.metric("replica_in_flight") == 0, 5, "the replica is free")


def test_a_scrape_tells_of_all_threads(peer):
    before = peer.metric("requests_total")
    for _ in range(30):
        assert ask(peer)[0] == 200
    wait_for(lambda: peer.metric("requests_total") >= before + 30, 5, "every thread's requests are told")
