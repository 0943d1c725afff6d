"""A peer leaves under load, keep-alive clients of its own included: nobody notices."""

import pytest
from cluster import Cluster, exaserve, wait_for
from load import Load


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, steady_model):
    with Cluster(tmp_path_factory.mktemp("cluster"), steady_model) as cluster:
        yield cluster


@pytest.mark.parametrize("order", ["leave", "SIGTERM"])
def test_no_request_fails_when_a_peer_leaves(cluster, answers, order):
    leaver = cluster.peers[2]
    others = cluster.peers[:2]
    load = Load(answers(cluster))
    ports = [peer.http_port for peer in cluster.peers]
    for entry in range(3):
        for stream in (False, True):
            load.add(ports[entry:] + ports[:entry], stream)
    wait_for(lambda: load.count() >= 10, 60, "answers before the leave")

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
    for peer in others:
        assert peer.member(leaver.name)["liveness"] == "left"
        assert peer.admin("status")["replicas_ready"] == 4

    leaver.start()
    cluster.wait_ready(60)
