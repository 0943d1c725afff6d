"""Options that change while a peer runs, by SIGHUP and by command, and what is refused."""
import json
import pathlib
import signal

import pytest

from bench.cluster import Cluster, exaserve, post_json, wait_for

NULL = pathlib.Path("null")


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    directory = tmp_path_factory.mktemp("reload")
    file = directory / "peer.toml"
    file.write_text("[router]\nqueue_wait_ms = 100\n")
    with Cluster(directory, NULL, 1, 1, ["--model-engine=null", f"--config={file}"]) as cluster:
        yield cluster.peers[0], file


def config(peer, *command):
    done = exaserve("config", *command, "--peer", peer.url, "--json")
    return done.returncode, json.loads(done.stdout)


def option(peer, name):
    code, shown = config(peer, "show")
    assert code == 0
    return next(row for row in shown["options"] if row["name"] == name)


def test_show_tells_values_and_where_they_come_from(started):
    peer, _ = started
    assert option(peer, "router.queue_wait_ms") == {
        "name": "router.queue_wait_ms", "value": "100", "source": "file", "default": "2000", "live": True}
    assert option(peer, "model.engine")["source"] == "flag"
    assert option(peer, "membership.gossip_fanout")["source"] == "default"


def test_a_hangup_reloads_and_does_not_end_the_peer(started):
    peer, file = started
    file.write_text("[router]\nqueue_wait_ms = 200\n[log]\nlevel = \"debug\"\n")
    peer.process.send_signal(signal.SIGHUP)
    wait_for(lambda: option(peer, "router.queue_wait_ms")["value"] == "200", 10, "the reload")
    assert option(peer, "log.level")["value"] == "debug"
    assert peer.process.poll() is None


def test_the_command_names_what_changed_and_what_needs_a_restart(started):
    peer, file = started
    before = option(peer, "router.queue_wait_ms")["value"]
    file.write_text("[router]\nqueue_wait_ms = 300\n[kv]\nmemory_mib = 1\n[log]\nlevel = \"debug\"\n")
    code, report = config(peer, "reload")
    assert code == 0
    assert {"name": "router.queue_wait_ms", "before": before, "after": "300"} in report["changed"]
    assert [(row["name"], row["after"]) for row in report["needs_restart"]] == [("kv.memory_mib", "1")]
    assert option(peer, "kv.memory_mib")["value"] == "256"


def test_a_limit_of_clients_changes_live(started):
    peer, file = started
    file.write_text("[http]\nbody_bytes = 1024\n")
    assert config(peer, "reload")[0] == 0
    body = {"model": "null", "prompt": "x" * 2000, "max_tokens": 1}
    wait_for(lambda: post_json(peer.url + "/v1/completions", body)[0] == 413, 10, "the limit")


def test_a_bad_file_changes_nothing_and_says_why(started):
    peer, file = started
    value = option(peer, "router.queue_wait_ms")["value"]
    file.write_text("[router]\nqueue_wait_ms = 400\nattempts_max = 99\n")
    code, answer = config(peer, "reload")
    assert code == 5
    assert "router.attempts_max: '99' is not a whole number from 1 to 8" in answer["error"]["message"]
    assert option(peer, "router.queue_wait_ms")["value"] == value


def test_a_hangup_while_a_peer_starts_does_not_end_it(tmp_path):
    cluster = Cluster(tmp_path, NULL, 1, 1, ["--model-engine=null"])
    peer = cluster.peers[0]
    try:
        peer.start()
        # As soon as the program runs its own code; the handler is its first act.
        wait_for(lambda: (peer.directory / "data").exists(), 10, "the start")
        for _ in range(20):
            peer.process.send_signal(signal.SIGHUP)
        cluster.wait_ready()
        assert peer.process.poll() is None
    finally:
        cluster.__exit__()
