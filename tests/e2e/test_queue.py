"""Every replica at its limit: requests wait for a place, in turn, and are told when to come back if there is none."""

import concurrent.futures
import time

import pytest

from bench.cluster import Cluster, post_json


def start(tmp_path_factory, model, *flags):
    flags = ["--model-engine=null", "--model-in-flight-limit=1", "--null-decode-us=20000", *flags]
    return Cluster(tmp_path_factory.mktemp("cluster"), model, peers=2, replicas=1, flags=flags)


@pytest.fixture(scope="module")
def patient(tmp_path_factory, tiny_model):
    with start(tmp_path_factory, tiny_model, "--router-queue-wait-ms=20000", "--model-queue-requests=4") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def hasty(tmp_path_factory, tiny_model):
    with start(tmp_path_factory, tiny_model, "--router-queue-wait-ms=300") as cluster:
        yield cluster


def ask_many(cluster, count, tokens):
    body = {"model": cluster.model, "prompt": "Hello", "max_tokens": tokens}
    urls = [peer.url + "/v1/completions" for peer in cluster.peers]
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda i: post_json(urls[i % len(urls)], body), range(count)))


def test_more_requests_than_places_are_all_answered(patient):
    began = time.monotonic()
    answers = ask_many(patient, 8, tokens=20)
    assert [status for status, _, _ in answers] == [200] * 8
    # Four in turn at each of two places, 0.4 s each.
    assert time.monotonic() - began > 1.2


def test_full_queues_are_a_503_that_says_when_to_come_back(patient):
    answers = ask_many(patient, 16, tokens=40)
    refused = [headers for status, headers, _ in answers if status == 503]
    assert len(refused) >= 2
    assert sum(status == 200 for status, _, _ in answers) == 16 - len(refused)
    assert sum(peer.metric("replica_waiting") for peer in patient.peers) == 0
    assert all(peer.metric("replica_limit") == 1 for peer in patient.peers)
    for headers in refused:
        assert int(headers["retry-after-ms"]) > 0 and headers["x-should-retry"] == "true"


def test_nobody_waits_past_the_deadline(hasty):
    began = time.monotonic()
    answers = ask_many(hasty, 4, tokens=100)
    assert sorted(status for status, _, _ in answers) == [200, 200, 503, 503]
    assert time.monotonic() - began < 4
