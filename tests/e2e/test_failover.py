"""kill -9 of one peer of three: what clients of the other two entries notice, and the peer's return."""

import json
import threading
import time

from bench.cluster import post_json, wait_for
from load import Client, Load


def test_clients_of_the_other_entries_see_no_failure(cluster, answers):
    survivors, victim = cluster.peers[:2], cluster.peers[2]
    generation = survivors[0].member(victim.name)["generation"]
    load = Load(answers(cluster, max_tokens=600))
    # More than the replicas of the survivors: some are at the victim at any time.
    for entry in survivors:
        for stream in (False, True, False, True):
            load.add([entry.http_port], stream)
    wait_for(lambda: load.count() >= 8, 60, "answers before the kill")
    retries = sum(entry.metric("retries_total") for entry in survivors)

    wait_for(lambda: victim.metric("replica_in_flight") >= 2, 30, "the victim is at work", interval=0.01)
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
    assert sum(entry.metric("retries_total") for entry in survivors) > retries, "nothing was under way at the victim"
    ring = survivors[0].admin("ring")["pools"][0]["members"]
    assert {member["peer_name"] for member in ring} == {peer.name for peer in survivors}

    victim.start()
    cluster.wait_ready(60)
    for entry in survivors:
        assert entry.member(victim.name)["generation"] > generation
    assert len(survivors[0].admin("ring")["pools"][0]["members"]) == 6


def test_a_stream_under_way_goes_on_elsewhere_without_a_seam(cluster, answers):
    entry, victim = cluster.peers[0], cluster.peers[2]
    reference = answers(cluster, max_tokens=1500)
    retries = entry.metric("retries_total")
    client = Client([entry.http_port], stream=True)
    text = client.ask(reference.requests[0], entry.session_at(victim.name), after_first_byte=victim.kill)
    client.close()
    assert text == reference.texts[0]
    assert entry.metric("retries_total") > retries, "the answer was complete before the kill"


def test_an_answer_in_one_piece_goes_on_too(cluster):
    entry, victim = cluster.peers[0], cluster.peers[2]
    request = {"model": cluster.model, "messages": [{"role": "user", "content": "Hello there"}], "temperature": 0.8,
               "seed": 4, "max_tokens": 1500}
    began = time.monotonic()
    reference = json.loads(post_json(entry.url + "/v1/chat/completions", request)[2])
    took = time.monotonic() - began

    made = sum(peer.metric("completion_tokens_total") for peer in cluster.peers[:2])
    session = entry.session_at(victim.name)
    answers = []
    thread = threading.Thread(target=lambda: answers.append(
        post_json(entry.url + "/v1/chat/completions", {**request, "prompt_cache_key": session})))
    thread.start()
    wait_for(lambda: victim.metric("replica_in_flight") >= 1, 30, "the victim is at work", interval=0.01)
    began = time.monotonic()
    wait_for(lambda: time.monotonic() - began > took / 2, 60, "about half of the answer is there")
    victim.kill()
    thread.join()
    status, _, body = answers[0]
    assert status == 200
    assert json.loads(body)["choices"] == reference["choices"]
    made = sum(peer.metric("completion_tokens_total") for peer in cluster.peers[:2]) - made
    assert 0 < made < reference["usage"]["completion_tokens"], "it began again, or was complete before the kill"
