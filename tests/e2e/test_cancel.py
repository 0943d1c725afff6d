"""A client that goes away, or an entry that dies, frees the replica at work and hurts nobody else."""

import http.client
import json

import pytest

from bench.cluster import Cluster, post_json, wait_for


def long_request(model: str) -> dict:
    return {"model": model, "messages": [{"role": "user", "content": "What is a ring?"}], "temperature": 0,
            "max_tokens": 1900}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, steady_model):
    with Cluster(tmp_path_factory.mktemp("cluster"), steady_model) as cluster:
        # Noise may end an answer after a few milliseconds, before anybody has seen it at work.
        _, _, reply = post_json(cluster.peers[0].url + "/v1/chat/completions", long_request(cluster.model))
        assert json.loads(reply)["choices"][0]["finish_reason"] == "length"
        yield cluster


def begin(entry, model: str, session: str, stream: bool) -> http.client.HTTPConnection:
    """A request that will be at work for a while; its answer has begun when it is a stream."""
    connection = http.client.HTTPConnection("127.0.0.1", entry.http_port, timeout=30)
    body = {**long_request(model), "stream": stream}
    connection.request("POST", "/v1/chat/completions", json.dumps(body),
                       {"content-type": "application/json", "x-session-id": session})
    if stream:
        assert connection.getresponse().read(1)
    return connection


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("target", [0, 2], ids=["local", "remote"])
def test_a_client_that_goes_away_frees_its_replica(cluster, target, stream):
    entry, replica = cluster.peers[0], cluster.peers[target]
    session = entry.session_at(replica.name)
    cancelled = replica.metric("served_cancelled_total")
    for _ in range(3):
        connection = begin(entry, cluster.model, session, stream)
        wait_for(lambda: replica.metric("replica_in_flight") >= 1, 10, "the replica is at work", interval=0.01)
        connection.close()
        wait_for(lambda: replica.metric("replica_in_flight") == 0, 1, "the replica is free", interval=0.01)
    wait_for(lambda: replica.metric("served_cancelled_total") >= cancelled + 3, 5, "cancels are counted")
    cluster.wait_ready(10)


@pytest.mark.parametrize("target", [0, 2], ids=["local", "remote"])
@pytest.mark.parametrize("path, work", [
    ("/v1/completions", {"prompt": ["Hello", "there"], "n": 20, "max_tokens": 1500, "stream": True}),
    ("/v1/completions", {"prompt": "Hello", "n": 20, "max_tokens": 1500}),
    ("/v1/embeddings", {"input": ["word " * 300] * 100}),
], ids=["streamed choices", "choices", "embeddings"])
def test_work_of_many_parts_ends_with_its_client(cluster, target, path, work):
    entry, replica = cluster.peers[0], cluster.peers[target]
    connection = http.client.HTTPConnection("127.0.0.1", entry.http_port, timeout=30)
    connection.request("POST", path, json.dumps({**work, "model": cluster.model}),
                       {"content-type": "application/json", "x-session-id": entry.session_at(replica.name)})
    wait_for(lambda: replica.metric("replica_in_flight") >= 3, 10, "several parts are at work", interval=0.01)
    assert replica.metric("replica_in_flight") <= 4, "one request took the whole replica"
    connection.close()
    wait_for(lambda: replica.metric("replica_in_flight") == 0, 2, "the replica is free", interval=0.01)


def test_the_death_of_an_entry_frees_the_replicas_of_others(cluster):
    entry, replica = cluster.peers[0], cluster.peers[2]
    session = entry.session_at(replica.name)
    connections = [begin(entry, cluster.model, session, stream) for stream in (False, True)]
    wait_for(lambda: replica.metric("replica_in_flight") >= 2, 10, "the replica is at work", interval=0.01)
    entry.kill()
    wait_for(lambda: replica.metric("replica_in_flight") == 0, 1, "the replica is free", interval=0.01)
    for connection in connections:
        connection.close()
    entry.start()
    cluster.wait_ready(60)
