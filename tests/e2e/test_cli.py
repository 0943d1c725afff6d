"""The command line against a running cluster, and `exaserve up` from start to end."""

import http.server
import json
import os
import signal
import socket
import subprocess
import threading
import time

import pytest

from bench.cluster import BINARY, Cluster, Peer, exaserve, free_port, free_ports, get_json, wait_for

TCP, UDP = socket.SOCK_STREAM, socket.SOCK_DGRAM


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, tiny_model):
    with Cluster(tmp_path_factory.mktemp("cluster"), tiny_model) as cluster:
        yield cluster


def ask(cluster, *arguments: str, peer: int = 0):
    done = exaserve(*arguments, "--json", "--peer", cluster.peers[peer].url)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_peer_owns_a_session_alike(cluster):
    for session in ("abc", "alice", "naïve café & more"):
        routes = [ask(cluster, "route", "--session", session, peer=peer) for peer in range(3)]
        assert len({route["owner"] for route in routes}) == 1
        assert len({route["replica"] for route in routes}) == 1
        assert routes[0]["session"] == session
        assert sum(candidate["chosen"] for candidate in routes[0]["candidates"]) == 1


def test_rings_are_equal_on_every_peer(cluster):
    rings = [ask(cluster, "ring", peer=peer)["pools"] for peer in range(3)]
    assert rings[0] == rings[1] == rings[2]
    assert abs(sum(member["share"] for member in rings[0][0]["members"]) - 1) < 1e-6
    assert len(rings[0][0]["members"]) == 6


def test_members_and_replicas_are_complete(cluster):
    members = ask(cluster, "members")
    assert {member["name"] for member in members["members"]} == {"peer-1", "peer-2", "peer-3"}
    assert {member["liveness"] for member in members["members"]} == {"alive"}
    replicas = ask(cluster, "replicas")["replicas"]
    assert len(replicas) == 6
    assert {replica["state"] for replica in replicas} == {"ready"}
    assert ask(cluster, "status")["replicas_ready"] == 6


def test_a_route_without_a_session_shows_what_loads_each_candidate(cluster):
    route = ask(cluster, "route", "--prompt", "Once upon a time", "--priority", "low")
    assert route["session"] is None and route["owner"] is None
    assert route["reason"] in ("warm_prefix", "least_loaded")
    for candidate in route["candidates"]:
        assert candidate["load_score"] >= candidate["load"]
        assert {"queued", "queued_tokens", "kv_used_permille", "tbt_p99_ms", "share_permille"} <= candidate.keys()
        assert candidate["distance"] in ("rack", "region", "far")


@pytest.mark.parametrize("command", [["members"], ["status"], ["replicas"], ["ring"], ["route", "--session", "abc"]])
def test_tables_are_plain_text_when_not_on_a_terminal(cluster, command):
    done = exaserve(*command, EXASERVE_PEER=cluster.peers[1].url)
    assert done.returncode == 0, done.stderr
    assert "peer-2" in done.stdout
    assert "\x1b" not in done.stdout


def test_exit_codes_tell_usage_unreachable_and_refused_apart(cluster):
    holder, port = free_port(socket.SOCK_STREAM)
    holder.close()
    unreachable = exaserve("members", "--peer", f"127.0.0.1:{port}", "--json")
    assert unreachable.returncode == 4
    assert json.loads(unreachable.stdout)["error"]["exit_code"] == 4
    assert exaserve("members", "--peer", "http://").returncode == 2
    assert exaserve("dance").returncode == 2
    refused = exaserve("join", "--peer", cluster.peers[0].url, "nonsense")
    assert refused.returncode == 5
    assert "HOST:PORT" in refused.stderr
    assert exaserve("--help").returncode == 0


def test_joining_tells_whether_anybody_has_answered(tmp_path):
    names = ("one", "one", "two")
    peers = [Peer(f"peer-{i}", tmp_path / f"peer-{i}", ports,
                  ["--model-engine=null", "--model-replicas=0", f"--cluster={names[i]}"])
             for i, ports in enumerate(free_ports(3))]
    try:
        for peer in peers:
            peer.start()
        for peer in peers:
            wait_for(lambda peer=peer: peer.sees(1, 0), 20, "a peer alone")
        first, second, stranger = peers
        done = exaserve("join", "--peer", first.url, f"127.0.0.1:{stranger.gossip_port}")
        assert done.returncode == 1, done.stdout
        assert "another name than 'one'" in done.stderr
        assert "gossip of a cluster with another name" in stranger.log
        wait_for(lambda: "stands alone" in first.log, 20, "the peer's own log says so")
        joined = exaserve("join", "--peer", first.url, f"127.0.0.1:{second.gossip_port}")
        assert joined.returncode == 0, joined.stderr
        assert joined.stdout.startswith("joined")
        # Once more: it is there.
        assert exaserve("join", "--peer", first.url, f"127.0.0.1:{second.gossip_port}").returncode == 0
        assert first.sees(2, 0)
    finally:
        for peer in peers:
            peer.kill()


@pytest.mark.parametrize("answer", [b"<html>hello</html>", b"{}", b'{"ok": true}', b"[1]", None])
@pytest.mark.parametrize("command", [["members"], ["status"], ["keys", "list"], ["kv", "stats"],
                                     ["join", "127.0.0.1:7946"]])
def test_who_is_no_peer_is_told_so(command, answer):
    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(404 if answer is None else 200)
            self.end_headers()
            self.wfile.write(answer or b"<html>not found</html>")

        do_POST = do_GET

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        done = exaserve(*command, "--peer", url)
        server.shutdown()
    assert done.returncode == 4, done.stdout
    assert f"no ExaServe peer answers at {url}" in done.stderr


def test_up_runs_a_cluster_until_it_is_told_to_stop(tmp_path, tiny_model):
    port = consecutive_ports()
    up = subprocess.Popen(
        [BINARY, "up", "--peers", "2", "--replicas", "1", "--model", tiny_model, "--base-port", str(port), "--run-dir",
         tmp_path / "run", "--ready-file", tmp_path / "ready", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = json.loads(up.stdout.readline())
        assert (tmp_path / "ready").exists()
        assert [peer["url"] for peer in line["peers"]] == [f"http://127.0.0.1:{port + i}" for i in range(2)]
        assert get_json(f"http://127.0.0.1:{port}/exaserve/v1/status")["replicas_ready"] == 2
        racks = {member["rack"] for member in get_json(f"http://127.0.0.1:{port}/exaserve/v1/members")["members"]}
        assert racks == {"rack-1", "rack-2"}
        up.send_signal(signal.SIGINT)
        assert up.wait(30) == 0
    finally:
        up.kill()
        up.communicate()
    for peer in line["peers"]:
        assert not is_running(peer["pid"])
        assert (tmp_path / "run").is_dir()


def test_peers_of_up_end_when_it_is_killed(tmp_path, tiny_model):
    port = consecutive_ports()
    with subprocess.Popen(
            [BINARY, "up", "--peers", "1", "--replicas", "1", "--model", tiny_model, "--base-port", str(port),
             "--run-dir", tmp_path / "run", "--json"], stdout=subprocess.PIPE, text=True) as up:
        pid = json.loads(up.stdout.readline())["peers"][0]["pid"]
        up.kill()
    wait_for(lambda: not is_running(pid), 30, "the peer ends with its parent")


def test_up_passes_on_why_a_peer_could_not_start(tmp_path):
    port = consecutive_ports()
    started = time.monotonic()
    done = exaserve("up", "--peers", "1", "--model", str(tmp_path / "none.gguf"), "--base-port", str(port), "--run-dir",
                    str(tmp_path / "run"))
    assert done.returncode == 2
    assert "none.gguf" in done.stderr
    assert time.monotonic() - started < 20


def test_up_says_that_a_port_is_taken(tmp_path, cluster, tiny_model):
    done = exaserve("up", "--peers", "1", "--model", str(tiny_model), "--base-port", str(cluster.peers[0].http_port),
                    "--run-dir", str(tmp_path / "run"))
    assert done.returncode in (2, 3), done.stderr
    assert done.returncode == 3 or cluster.peers[0].http_port + 200 > 65535


def consecutive_ports() -> int:
    """A base port with room above it for the ports of two peers."""
    for base in range(20000, 32000, 307):
        held = []
        try:
            for offset, kind in ((0, TCP), (1, TCP), (100, TCP), (101, TCP), (200, UDP), (201, UDP)):
                held.append(hold(base + offset, kind))
            return base
        except OSError:
            continue
        finally:
            for holder in held:
                holder.close()
    raise AssertionError("no free ports")


def hold(port: int, kind: int) -> socket.socket:
    holder = socket.socket(socket.AF_INET, kind)
    try:
        holder.bind(("127.0.0.1", port))
    except OSError:
        holder.close()
        raise
    return holder


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
