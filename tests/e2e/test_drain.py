"""A peer leaves under load, keep-alive clients of its own included: nobody notices."""

import json
import pathlib
import threading

import pytest

from bench.cluster import Cluster, exaserve, post_json, wait_for
from load import Client, Load


@pytest.mark.parametrize("order", ["leave", "SIGTERM"])
def test_no_request_fails_when_a_peer_leaves(cluster, answers, order):
    leaver = cluster.peers[2]
    load = Load(answers(cluster, max_tokens=400))
    ports = [peer.http_port for peer in cluster.peers]
    for entry in range(3):
        for stream in (False, True):
            load.add(ports[entry:] + ports[:entry], stream)
    wait_for(lambda: load.count() >= 10, 60, "answers before the leave")

    wait_for(lambda: leaver.metric("replica_in_flight") >= 2, 30, "the leaver is at work", interval=0.01)
    if order == "leave":
        done = exaserve("leave", "--peer", leaver.url)
        assert (done.returncode, done.stdout) == (0, "left\n"), done.stderr
    else:
        leaver.terminate()
    assert leaver.wait(30) == 0, leaver.log[-2000:]
    before = load.count()
    wait_for(lambda: load.count() >= before + 10, 60, "answers after the leave")
    load.stop()

    assert load.failures == []
    for peer in cluster.peers[:2]:
        assert peer.member(leaver.name)["liveness"] == "left"
        assert peer.admin("status")["replicas_ready"] == 4


def test_a_stream_of_the_leaver_itself_finishes(cluster, answers):
    leaver = cluster.peers[2]
    reference = answers(cluster, max_tokens=1500)
    session = leaver.session_at(leaver.name)
    client = Client([leaver.http_port], stream=True)
    text = client.ask(reference.requests[0], session, after_first_byte=leaver.terminate)
    assert text == reference.texts[0]
    # Its head went out before the leave and promised to keep the connection.
    assert client.ask(reference.requests[1]) == reference.texts[1]
    assert leaver.wait(30) == 0


def test_an_idle_connection_is_not_waited_for(cluster, answers):
    leaver = cluster.peers[2]
    reference = answers(cluster, max_tokens=1)
    client = Client([leaver.http_port], stream=False)
    client.ask(reference.requests[0])
    assert client.connection is not None
    leaver.terminate()
    assert leaver.wait(15) == 0, "its drain may take 30 s, but nothing was under way"
    client.close()


def test_who_asks_while_all_replicas_drain_is_told_so(tmp_path):
    flags = ["--model-engine=null", "--null-decode-us=20000"]
    with Cluster(tmp_path, pathlib.Path("null"), peers=2, replicas=[0, 1], flags=flags) as cluster:
        entry, leaver = cluster.peers
        url = entry.url + "/v1/completions"
        body = {"model": "null", "prompt": "hi", "max_tokens": 500}
        held = threading.Thread(target=post_json, args=(url, body))
        held.start()
        wait_for(lambda: leaver.metric("replica_in_flight") == 1, 20, "an answer that holds up the drain")
        leaver.terminate()
        wait_for(lambda: entry.member(leaver.name)["state"] == "draining", 20, "the entry knows of it")
        status, headers, answer = post_json(url, body)
        assert status == 503
        assert json.loads(answer)["error"]["code"] == "draining"
        assert headers["x-should-retry"] == "true" and int(headers["retry-after-ms"]) > 0
        held.join()
        assert leaver.wait(30) == 0
