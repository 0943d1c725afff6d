"""Clients that hold memory and connections without asking anything, and a log that nobody reads."""
import contextlib
import os
import pathlib
import socket
import time

import pytest

from bench.cluster import Cluster, exaserve, get_json, wait_for

NULL = pathlib.Path("null")
MIB = 1024 * 1024


def resident(peer) -> int:
    status = pathlib.Path(f"/proc/{peer.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) * 1024


def connect(peer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", peer.http_port), timeout=10)


def head(path: str, size: int, *fields: str) -> bytes:
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: h", f"Content-Length: {size}", *fields, "\r\n"]).encode()


def send_what_goes(client: socket.socket, body: bytes) -> None:
    with contextlib.suppress(OSError):  # refused in the middle
        client.sendall(body)


def full_pipe() -> tuple[int, int]:
    """The reading and the writing end of a pipe that takes no more."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"x" * 1024)
    except BlockingIOError:
        os.set_blocking(writer, True)
    return reader, writer


@pytest.fixture(scope="module")
def keyed(tmp_path_factory):
    directory = tmp_path_factory.mktemp("keyed")
    file = directory / "keys.toml"
    key = next(word for word in exaserve("apikeys", "create", "--file", str(file), "--tenant", "acme").stdout.split()
               if word.startswith("sk-exa-"))
    log = directory / "access.log"
    admin = next(word for word in exaserve("apikeys", "create", "--file", str(file), "--admin").stdout.split()
                 if word.startswith("sk-exa-"))
    flags = ["--model-engine=null", f"--security-api-keys-file={file}", "--http-body-memory-bytes=67108864",
             f"--http-access-log={log}"]
    with Cluster(directory, NULL, 1, 1, flags, admin_key=admin) as cluster:
        yield cluster.peers[0], key, log


@pytest.mark.parametrize("path, status", [("/v1/chat/completions", 401), ("/nowhere", 404), ("/health", 405)])
@pytest.mark.parametrize("fields", [(), ("Expect: 100-continue",)])
def test_a_request_is_judged_before_its_body_is_sent(keyed, path, status, fields):
    with connect(keyed[0]) as client:
        client.sendall(head(path, 16_000_000, *fields))
        assert client.recv(4096).startswith(f"HTTP/1.1 {status} ".encode())


def test_unfinished_bodies_are_bounded_and_leave_nothing(keyed):
    peer, key, _ = keyed
    before = resident(peer)
    clients = [connect(peer) for _ in range(40)]
    for client in clients:
        client.sendall(head("/v1/chat/completions", 16_000_000, f"Authorization: Bearer {key}"))
        send_what_goes(client, b"x" * 15_900_000)
    held = resident(peer)
    for client in clients:
        client.close()
    wait_for(lambda: resident(peer) < before + 64 * MIB, 10, "the memory is given back")
    assert held - before <= 64 * MIB * 1.25 + 64 * MIB


def test_keys_in_path_and_request_id_stay_out_of_the_access_log(keyed):
    peer, key, log = keyed
    with connect(peer) as client:
        client.sendall(f"GET /v1/models/{key} HTTP/1.1\r\nHost: h\r\nx-request-id: {key}\r\n\r\n".encode())
        client.recv(4096)
    wait_for(lambda: "/v1/models/sk-..." in log.read_text(), 5, "the line")
    assert key not in log.read_text()


def test_slow_bodies_on_every_connection_leave_health_and_admin(tmp_path):
    with Cluster(tmp_path, NULL, 1, 1, ["--model-engine=null", "--http-connections=20"]) as cluster:
        peer = cluster.peers[0]
        slow = []
        for _ in range(20):
            slow.append(connect(peer))
            slow[-1].sendall(head("/v1/chat/completions", 1_000_000) + b"x")
        time.sleep(0.2)
        assert get_json(peer.url + "/health")["status"] == "ok"
        assert peer.admin("status")["self"]["state"] == "serving"
        with connect(peer) as client:
            client.sendall(b"GET /v1/models HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            assert client.recv(4096).startswith(b"HTTP/1.1 200 ")
        for client in slow:
            client.close()


def test_a_log_that_nobody_reads_stops_no_peer(tmp_path):
    cluster = Cluster(tmp_path, NULL, 3, 1, ["--model-engine=null"])
    stuck, watcher, victim = cluster.peers
    reader, writer = full_pipe()
    try:
        stuck.start(writer)
        watcher.start()
        victim.start()
        cluster.wait_ready(30)
        victim.kill()
        wait_for(lambda: watcher.member(victim.name)["liveness"] == "dead", 30, "the death")
        # Everybody has logged it by now: where a line stops gossip, this peer is suspect 3 s later.
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            assert watcher.member(stuck.name)["liveness"] == "alive"
            time.sleep(0.1)
        assert stuck.member(victim.name)["liveness"] == "dead"
        stuck.terminate()
        assert stuck.wait(20) == 0
    finally:
        cluster.__exit__()
        os.close(reader)
        os.close(writer)
