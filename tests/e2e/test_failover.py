"""kill -9 of one peer of three under a steady loop of requests, and its return."""

import time

import pytest
from cluster import Cluster, wait_for
from load import Client, Load


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, steady_model):
    with Cluster(tmp_path_factory.mktemp("cluster"), steady_model) as cluster:
        yield cluster


def test_clients_of_the_other_entries_see_no_failure(cluster, answers):
    survivors, victim = cluster.peers[:2], cluster.peers[2]
    generation = survivors[0].member(victim.name)["generation"]
    load = Load(answers(cluster))
    for entry in survivors:
        for stream in (False, True):
            load.add([entry.http_port], stream)
    wait_for(lambda: load.count() >= 8, 60, "answers before the kill")

    victim.kill()
    killed = time.monotonic()
    first = Client([survivors[0].http_port], stream=False)
    first.ask({**load.answers.requests[0], "max_tokens": 1})
    first.close()
    new_request_took = time.monotonic() - killed
    for entry in survivors:
        wait_for(lambda entry=entry: entry.member(victim.name)["liveness"] in ("dead", "lost"),
                 10 - (time.monotonic() - killed), f"{entry.name} lists {victim.name} as dead")
    before = load.count()
    wait_for(lambda: load.count() >= before + 8, 60, "answers after the death")
    load.stop()

    assert load.failures == []
    assert new_request_took < 1.0
    assert all(entry.member(victim.name)["replicas_ready"] == 2 for entry in survivors), "the record is remembered"
    ring = survivors[0].admin("ring")["pools"][0]["members"]
    assert {member["peer_name"] for member in ring} == {peer.name for peer in survivors}

    victim.start()
    cluster.wait_ready(60)
    for entry in survivors:
        assert entry.member(victim.name)["generation"] > generation
    assert len(survivors[0].admin("ring")["pools"][0]["members"]) == 6
