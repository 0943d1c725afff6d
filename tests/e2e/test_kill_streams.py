"""kill -9 under streams: none fails, and every text is what an undisturbed cluster said."""

import pytest

from bench.cluster import Cluster
from bench.kill_streams import Streams, kill_under_streams, make_cases, pause_under_streams


@pytest.fixture(scope="module")
def four(tmp_path_factory, steady_model):
    flags = ["--model-in-flight-limit=32"]
    with Cluster(tmp_path_factory.mktemp("cluster"), steady_model, peers=4, replicas=1, flags=flags) as cluster:
        yield cluster


def test_streams_of_every_kind_outlive_their_peer(four):
    victim, entries = four.peers[3], [peer.http_port for peer in four.peers[:3]]
    streams = Streams(make_cases(four.model, max_tokens=200))
    streams.learn(entries[0])
    streams.start(18, entries)
    gaps = []
    try:
        for _ in range(2):
            gaps += kill_under_streams(four, victim, streams, at_least=3)
    finally:
        streams.stop()
    assert streams.failures == []
    assert streams.finished > 18
    # A stream that is noticed only by a time-out would wait for many seconds.
    assert max(gaps) < 5.0


def test_streams_leave_a_peer_that_stands_still_once_it_is_suspect(four):
    victim, entries = four.peers[3], [peer.http_port for peer in four.peers[:3]]
    streams = Streams(make_cases(four.model, max_tokens=200))
    streams.learn(entries[0])
    streams.start(18, entries)
    try:
        gaps = pause_under_streams(four, victim, streams, at_least=3)
    finally:
        streams.stop()
    assert streams.failures == []
    # Suspicion takes a probe and those that others make; without it a link's pings would need 15 s.
    assert max(gaps) < 8.0
