"""`exaserve kv` and `exaserve drain` on a cluster: where segments are, and moving them."""

import json

import pytest

from bench.cluster import Cluster, exaserve, make_tiny_model, wait_for
from kv_chat import Chat, question


@pytest.fixture
def talked(tmp_path):
    """Four peers on two racks, and a chat of session "alice" that is where it shall be."""
    model = make_tiny_model(tmp_path / "long.gguf", layers=2, d=64, heads=4, kv_heads=2, ff=128, context=4096,
                            type="q8_0")
    with Cluster(tmp_path, model, peers=4, replicas=1, racks=2) as cluster:
        chat = Chat(cluster.model, session="alice")
        for turn in range(3):
            chat.ask(cluster.peers[0], question(turn))
        run(cluster.peers[0], "kv", "repair", "--wait")
        yield cluster, chat


def run(peer, *arguments):
    done = exaserve(*arguments, "--peer", peer.url, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def holders(peer, *which):
    """Of each segment the names of the peers that have it on disk."""
    segments = run(peer, "kv", "locate", *which)["segments"]
    return [{place["name"] for place in segment["peers"] if place["disk"]} for segment in segments]


def server_first(cluster, chat):
    """All peers, first of them who answered the chat."""
    of_server = chat.replica.split(".")[0]
    return sorted(cluster.peers, key=lambda peer: peer.admin("status")["self"]["id"] != of_server)


def test_a_session_is_found_from_any_peer_and_moved_to_one(talked):
    cluster, chat = talked
    entry = cluster.peers[3]
    before = holders(entry, "alice")
    assert len(before) >= 16 and all(len(names) >= 2 for names in before)
    assert before == holders(cluster.peers[1], "--replica", chat.replica)
    names = {member["name"] for member in run(entry, "members")["members"]}
    to = next(name for name in sorted(names) if any(name not in holding for holding in before))
    lacked = sum(to not in holding for holding in before)
    moved = run(entry, "kv", "migrate", "alice", "--to", to)
    assert moved == {"to": moved["to"], "segments": len(before), "moved": lacked, "were_there": len(before) - lacked,
                     "nowhere": 0}
    assert all(to in holding for holding in holders(entry, "alice"))
    # What is there is not moved again.
    assert run(entry, "kv", "migrate", "alice", "--to", to)["moved"] == 0
    text = exaserve("kv", "locate", "alice", "--peer", entry.url).stdout
    assert text.count(to) >= len(before)


def test_what_is_deleted_is_gone_at_every_peer_that_had_it(talked):
    cluster, chat = talked
    # Not by the server: its replica still has it, and may offer it again.
    _, entry, *_ = server_first(cluster, chat)
    key = "d" * 64
    value = cluster.peers[0].directory / "value"
    value.write_bytes(b"a value")
    for peer in cluster.peers[:3]:
        assert exaserve("kv", "put", key, str(value), "--peer", peer.url).returncode == 0
    assert run(cluster.peers[1], "kv", "del", "--here", key)["deleted"]
    had = holders(entry, "--key", key)[0]
    deleted = run(entry, "kv", "del", key)
    assert deleted["deleted"] and len(deleted["peers"]) == 4
    assert {place["name"] for place in deleted["peers"] if place["deleted"]} >= had
    assert holders(entry, "--key", key) == [set()]
    assert "was not there" in exaserve("kv", "del", key, "--peer", entry.url).stdout


def test_what_cannot_be_moved_is_said(talked):
    cluster, _ = talked
    for arguments, code, words in ((["bob", "--to", "nobody"], 2, "no peer 'nobody'"),
                                   (["bob", "--to", cluster.peers[0].admin("status")["self"]["name"]], 5,
                                    "no peer has answered session 'bob'")):
        done = exaserve("kv", "migrate", *arguments, "--peer", cluster.peers[0].url)
        assert done.returncode == code and words in done.stderr


def test_repair_is_not_done_while_somebody_dead_may_come_back(talked, tmp_path):
    cluster, chat = talked
    victim, *others = server_first(cluster, chat)
    entry = others[-1]
    # Who answered the session forgets it in dying, what it said can be asked for all the same.
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"model": chat.model, "messages": chat.messages}))
    name = victim.admin("status")["self"]["name"]
    victim.kill()
    # As long as it is dead, as well as before anybody has noticed.
    for liveness in ("suspect", "dead"):
        wait_for(lambda: entry.member(name)["liveness"] in (liveness, "dead"), 30, liveness)
        shown = run(entry, "kv", "repair")
        assert not shown["converged"]
    assert f"What {name} had" in exaserve("kv", "repair", "--peer", entry.url).stdout
    waited = exaserve("kv", "repair", "--wait", "--peer", entry.url, "--json", timeout=120)
    assert json.loads(waited.stdout)["converged"]
    assert entry.member(name)["liveness"] == "lost"
    held = holders(entry, "--request", str(request))
    assert len(held) >= 16 and all(len(names) >= 2 for names in held)


def test_a_peer_is_drained_from_another_one(talked):
    cluster, chat = talked
    server, entry, *_ = server_first(cluster, chat)
    name = server.admin("status")["self"]["name"]
    drained = run(entry, "drain", name)
    assert drained["name"] == name
    assert server.wait(30) == 0
    chat.ask(entry, question(3))
    assert chat.cached_share >= 0.9
    assert run(entry, "kv", "repair", "--wait")["converged"]
