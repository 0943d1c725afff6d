"""`exaserve kv` on a peer that has answered a request."""

import json

import pytest

from bench.cluster import Cluster, exaserve, post_json, wait_for


@pytest.fixture(scope="module")
def asked(tmp_path_factory, tiny_model):
    """A peer, and a request that it has answered."""
    directory = tmp_path_factory.mktemp("kv")
    with Cluster(directory, tiny_model, peers=1, replicas=1) as cluster:
        peer = cluster.peers[0]
        request = {"model": cluster.model, "prompt": "a long way down the river " * 12, "max_tokens": 8, "temperature": 0}
        status, _, body = post_json(peer.url + "/v1/completions", request)
        assert status == 200, body
        wait_for(lambda: peer.admin("kv")["queue"]["segments"] == 0, 30, "the segments are stored")
        (directory / "request.json").write_text(json.dumps(request))
        yield peer, request, str(directory / "request.json"), json.loads(body)["choices"][0]["text"]


def kv(peer, *arguments, json_reply=True):
    done = exaserve("kv", *arguments, "--peer", peer.url, *(["--json"] if json_reply else []))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if json_reply else done.stdout


def test_stats_and_verify_agree_about_what_is_stored(asked):
    peer = asked[0]
    stats = kv(peer, "stats")
    assert stats["disk"]["segments"] > 0
    assert kv(peer, "verify") == {"checked": stats["disk"]["segments"], "dropped": 0}
    text = kv(peer, "stats", json_reply=False)
    assert f"{stats['disk']['segments']} segments" in text
    assert "to be stored    0 segments" in text


def test_what_is_deleted_is_computed_again(asked):
    peer, request, file, answer = asked
    segments = kv(peer, "locate", "--request", file)["segments"]
    assert len(segments) >= 2
    assert all(place["memory"] and place["disk"] for segment in segments for place in segment["peers"])
    assert all(len(segment["peers"]) == 1 for segment in segments)
    assert kv(peer, "locate", "--request", file, json_reply=False).count(segments[0]["peers"][0]["name"]) == 2 * len(segments)
    first = segments[0]["key"]
    header = kv(peer, "get", first)
    assert header["tokens"] == 64 and header["kind"] == "segment" and len(header["payload"]) > 1000
    deleted = kv(peer, "del", first)
    assert deleted["deleted"] and [place["deleted"] for place in deleted["peers"]] == [True]
    assert kv(peer, "locate", "--key", first)["segments"] == [{"key": first, "peers": []}]
    body = post_json(peer.url + "/v1/completions", request)[2]
    assert json.loads(body)["choices"][0]["text"] == answer
    wait_for(lambda: kv(peer, "locate", "--key", first)["segments"][0]["peers"], 30, "the replica, which still has it, offers it again")
    gone = exaserve("kv", "get", "00" * 32, "--peer", peer.url)
    assert gone.returncode == 5
    assert "no segment 0000" in gone.stderr


def test_another_tenants_segments_are_none_of_mine(asked):
    peer, _, file, _ = asked
    segments = kv(peer, "locate", "--request", file, "--tenant", "acme")["segments"]
    assert len(segments) >= 2
    assert not any(segment["peers"] for segment in segments)


def test_a_value_is_put_once_and_stays_with_its_owners(asked, tmp_path):
    peer, key = asked[0], "c" * 64
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "other").write_bytes(b"other")
    put = [exaserve("kv", "put", key, str(tmp_path / name), "--peer", peer.url) for name in ("empty", "other")]
    assert [one.returncode for one in put] == [0, 0]
    assert "stored" in put[0].stdout and "stays as it is" in put[1].stdout
    got = exaserve("kv", "get", key, "--output", "-", "--peer", peer.url)
    assert (got.returncode, got.stdout) == (0, "")
    moved = exaserve("kv", "migrate", "--key", key, "--to", peer.name, "--peer", peer.url)
    assert moved.returncode == 2 and "stays with the peers" in moved.stderr
    for name, why in ((str(tmp_path), "cannot be read"), (str(tmp_path / "none"), "cannot be read")):
        failed = exaserve("kv", "put", key, name, "--peer", peer.url)
        assert failed.returncode == 2 and why in failed.stderr


def test_a_quota_bounds_a_tenant(asked):
    peer = asked[0]
    assert kv(peer, "quota")["bytes"] > 0
    two = {"tenant": "acme", "bytes": 0, "gib": 2, "set": True}
    assert kv(peer, "quota", "acme", "--gib", "2") == two
    assert kv(peer, "quota", "acme") == two
    assert kv(peer, "quota", "--all") == {"gib": 0, "tenants": [two]}
    assert "at most 2 GiB" in kv(peer, "quota", "acme", json_reply=False)
    assert "acme" in kv(peer, "quota", "--all", json_reply=False)
    assert not kv(peer, "quota", "acme", "--gib", "0")["set"]
    assert "no bound" in kv(peer, "quota", "acme", json_reply=False)
