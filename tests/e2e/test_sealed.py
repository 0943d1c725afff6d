"""Sealed clusters of real peers: nothing readable between them, keys that rotate under load, and who is kept out."""

import json
import os
import pathlib
import select
import socket
import stat
import threading
import time

import pytest

from bench.cluster import Cluster, exaserve, wait_for
from load import Answers, Client, Load

PROMPTS = ["Hello there", "Count the ways"]


def fresh_key(path):
    done = exaserve("keys", "generate")
    assert done.returncode == 0
    path.write_text(done.stdout)
    return path


def keys(peer, *arguments: str):
    done = exaserve("keys", *arguments, "--json", "--peer", peer.url)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def everyone(cluster, key: str, what: str) -> bool:
    """Whether every peer sees every peer hold ("held_by") or use ("used_by") the key."""
    for peer in cluster.peers:
        entries = [entry for entry in keys(peer, "list")["keys"] if entry["id"] == key]
        if not entries or entries[0][what] != len(cluster.peers):
            return False
    return True


def rotate(cluster, at: int = 0) -> tuple[str, str]:
    """One whole rotation, as operations.md says; the old key and the new."""
    peer = cluster.peers[at]
    old = keys(peer, "list")["primary"]
    new = keys(peer, "add")["id"]
    wait_for(lambda: everyone(cluster, new, "held_by"), 20, "all hold the new key")
    keys(peer, "use", new)
    wait_for(lambda: everyone(cluster, new, "used_by"), 20, "all use the new key")
    keys(peer, "remove", old)
    wait_for(lambda: all([key["id"] for key in keys(one, "list")["keys"]] == [new] for one in cluster.peers), 20,
             "the old key is gone everywhere")
    return old, new


@pytest.fixture(scope="module")
def key_file(tmp_path_factory):
    file = fresh_key(tmp_path_factory.mktemp("keys") / "cluster.key")
    file.chmod(0o644)
    return file


@pytest.fixture(scope="module")
def sealed(tmp_path_factory, tiny_model, key_file):
    with Cluster(tmp_path_factory.mktemp("sealed"), tiny_model, replicas=1,
                 flags=[f"--security-cluster-key-file={key_file}"]) as cluster:
        yield cluster


def test_a_key_file_that_others_can_read_is_warned_of(sealed, key_file):
    for peer in sealed.peers:
        lines = [line for line in peer.log.splitlines() if "others can read or write a file with a secret" in line]
        assert len(lines) == 1
        assert "security.cluster_key_file" in lines[0] and f"chmod 600 '{key_file}'" in lines[0]


def test_a_key_that_is_generated_as_json_is_one_that_peers_take(tmp_path):
    key = json.loads(exaserve("keys", "generate", "--json").stdout)
    file = tmp_path / "key"
    file.write_text(key["secret"] + "\n")
    assert len(key["id"]) == 8
    # A peer that is sealed with it says its id.
    with Cluster(tmp_path / "peers", pathlib.Path("null"), peers=1, replicas=0,
                 flags=["--model-engine=null", f"--security-cluster-key-file={file}"]) as cluster:
        assert keys(cluster.peers[0], "list")["primary"] == key["id"]


def test_a_sealed_cluster_answers_and_says_that_it_is_sealed(sealed):
    status = sealed.peers[1].admin("status")["seal"]
    assert status["encrypted"] and status["stored"] and not status["alarms"]
    listed = keys(sealed.peers[2], "list")
    assert [key["id"] for key in listed["keys"]] == [status["primary"]]
    assert listed["keys"][0]["held_by"] == 3
    Answers(sealed.model, PROMPTS, 20).learn(sealed.peers[0].http_port)


def test_secrets_stay_in_files_of_the_owner_alone(sealed, key_file):
    secret = key_file.read_text().splitlines()[-1]
    for peer in sealed.peers:
        stored = peer.directory / "data/keys"
        assert stat.S_IMODE(stored.stat().st_mode) == 0o600
        assert secret in stored.read_text()
        assert secret not in peer.log
        for path in ("keys", "status", "members"):
            assert secret not in json.dumps(peer.admin(path))


def test_keys_rotate_under_load_and_no_request_fails(sealed):
    answers = Answers(sealed.model, PROMPTS, 60)
    answers.learn(sealed.peers[0].http_port)
    load = Load(answers)
    for peer in sealed.peers:
        load.add([peer.http_port], stream=True)
        load.add([peer.http_port], stream=False)
    wait_for(lambda: load.count() > 20, 30, "requests flow")
    first = rotate(sealed)
    second = rotate(sealed, at=2)
    before = load.count()
    wait_for(lambda: load.count() > before + 20, 30, "requests go on")
    load.stop()
    assert load.failures == []
    assert first[1] == second[0]
    for peer in sealed.peers:
        assert peer.metric("gossip_undecryptable_total") == 0
        assert all(member["liveness"] == "alive" for member in peer.admin("members")["members"])
        # What was removed leaves no secret behind.
        assert (peer.directory / "data/keys").read_text().count(" removed\n") == 2


def test_orders_that_could_cut_peers_off_are_refused_with_names(sealed):
    peer = sealed.peers[0]
    primary = keys(peer, "list")["primary"]
    done = exaserve("keys", "remove", primary, "--peer", peer.url)
    assert done.returncode == 5 and "primary" in done.stderr
    done = exaserve("keys", "use", "00000001", "--peer", peer.url)
    assert done.returncode == 5 and "no such key" in done.stderr
    sealed.peers[2].kill()
    wait_for(lambda: peer.member("peer-3")["liveness"] == "dead", 30, "the killed peer is dead")
    new = keys(peer, "add")["id"]
    done = exaserve("keys", "use", new, "--peer", peer.url)
    assert done.returncode == 5 and "peer-3" in done.stderr, done.stderr
    # It comes back, learns of the key that was added meanwhile, and then nothing stands against using it.
    sealed.peers[2].start()
    wait_for(lambda: everyone(sealed, new, "held_by"), 30, "the returned peer holds the key")
    assert keys(peer, "use", new)["warning"] is None
    wait_for(lambda: everyone(sealed, new, "used_by"), 20, "all use it")


def test_a_kill_in_the_middle_of_a_rotation_loses_no_key(sealed):
    peer = sealed.peers[0]
    new = keys(peer, "add")["id"]
    sealed.peers[1].kill()
    sealed.peers[1].start()
    wait_for(lambda: everyone(sealed, new, "held_by"), 30, "all hold the new key")
    keys(peer, "use", new)
    sealed.peers[0].kill()
    sealed.peers[0].start()
    sealed.wait_ready(30)
    wait_for(lambda: everyone(sealed, new, "used_by"), 30, "all use the new key, also who was killed")


def test_a_peer_with_another_key_or_none_is_kept_out_and_both_sides_say_why(sealed, tmp_path, tiny_model, key_file):
    wrong = fresh_key(tmp_path / "wrong.key")
    seeds = f"--seeds=127.0.0.1:{sealed.peers[0].gossip_port}"
    for name, flags, theirs, ours in (
            ("wrong", [f"--security-cluster-key-file={wrong}"], "holds none of the keys", "does not hold"),
            ("plain", [], "has no key", "plaintext gossip")):
        with Stranger(tmp_path / name, tiny_model, [seeds, *flags]) as peer:
            wait_for(lambda: theirs in peer.log, 30, f"{name} says why nobody answers")
            text = exaserve("status", "--peer", sealed.peers[0].url).stdout
            assert "alarm" in text and ours in text, text
            assert all(one.member(peer.name) is None for one in sealed.peers)


def test_a_joiner_with_the_old_key_gets_in_while_it_is_installed_and_learns_the_new_one(sealed, tmp_path, tiny_model):
    peer = sealed.peers[0]
    old = keys(peer, "list")["primary"]
    stored = (peer.directory / "data/keys").read_text().splitlines()
    secret = next(line.split()[3] for line in stored if line.startswith(f"key {old} "))
    file = tmp_path / "old.key"
    file.write_text(secret + "\n")
    new = keys(peer, "add")["id"]
    wait_for(lambda: everyone(sealed, new, "held_by"), 20, "all hold the new key")
    keys(peer, "use", new)
    wait_for(lambda: everyone(sealed, new, "used_by"), 20, "all use the new key")
    seeds = f"--seeds=127.0.0.1:{peer.gossip_port}"
    with Stranger(tmp_path / "late", tiny_model, [seeds, f"--security-cluster-key-file={file}"]) as late:
        wait_for(lambda: late.sees(4, 3), 30, "the late one joined")
        wait_for(lambda: keys(late, "list")["primary"] == new, 20, "it uses the new key")
        late.terminate()
        assert late.wait(30) == 0


def test_without_a_key_only_loopback_addresses_are_bound(tmp_path, tiny_model):
    command = ["peer", f"--data-dir={tmp_path / 'data'}", f"--model-path={tiny_model}", "--model-replicas=0",
               "--listen-http=127.0.0.1:0", "--listen-link=127.0.0.1:0", "--listen-gossip=0.0.0.0:0",
               "--advertise-gossip=127.0.0.1:7"]
    done = exaserve(*command)
    assert done.returncode == 2
    assert "cluster_key_file" in done.stderr and "security.allow_plaintext" in done.stderr
    done = exaserve(*command, f"--security-cluster-key-file={fresh_key(tmp_path / 'key')}", "--security-allow-plaintext=true")
    assert done.returncode == 2 and "has keys" in done.stderr


class Stranger:
    """One more peer beside a cluster."""

    def __init__(self, directory, model, flags):
        self.cluster = Cluster(directory, model, peers=1, replicas=0, flags=flags)
        self.peer = self.cluster.peers[0]
        self.peer.name = f"late-{os.path.basename(directory)}"

    def __enter__(self):
        self.peer.start()
        return self.peer

    def __exit__(self, *_):
        self.cluster.__exit__()


class Wiretap:
    """Stands between two peers, at addresses that they advertise, and keeps every byte that passes."""

    def __init__(self):
        self.datagrams: list[bytes] = []
        self.streams: list[bytes] = []
        self.stopping = threading.Event()

    def udp(self, target: int) -> int:
        door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        door.bind(("127.0.0.1", 0))
        threading.Thread(target=self._udp, args=(door, target), daemon=True).start()
        return door.getsockname()[1]

    def _udp(self, door: socket.socket, target: int) -> None:
        ways: dict[tuple, socket.socket] = {}
        while not self.stopping.is_set():
            for ready in select.select([door, *ways.values()], [], [], 0.2)[0]:
                bytes_, source = ready.recvfrom(65536)
                self.datagrams.append(bytes_)
                if ready is not door:
                    door.sendto(bytes_, next(at for at, way in ways.items() if way is ready))
                    continue
                if source not in ways:
                    ways[source] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                    ways[source].bind(("127.0.0.1", 0))
                ways[source].sendto(bytes_, ("127.0.0.1", target))

    def tcp(self, target: int) -> int:
        door = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._tcp, args=(door, target), daemon=True).start()
        return door.getsockname()[1]

    def _tcp(self, door: socket.socket, target: int) -> None:
        while not self.stopping.is_set():
            if not select.select([door], [], [], 0.2)[0]:
                continue
            inner = door.accept()[0]
            try:
                outer = socket.create_connection(("127.0.0.1", target))
            except OSError:
                inner.close()
                continue
            for one, other in ((inner, outer), (outer, inner)):
                threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        kept = bytearray()
        try:
            while piece := one.recv(65536):
                kept += piece
                other.sendall(piece)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        self.streams.append(bytes(kept))


@pytest.mark.parametrize("is_sealed", [True, False])
def test_nothing_readable_passes_between_sealed_peers(tmp_path, tiny_model, key_file, is_sealed):
    tap = Wiretap()
    cluster = Cluster(tmp_path / "tapped", tiny_model, peers=2, replicas=1,
                      flags=[f"--security-cluster-key-file={key_file}"] if is_sealed else [])
    gossip = [tap.udp(peer.gossip_port) for peer in cluster.peers]
    for i, peer in enumerate(cluster.peers):
        peer.flags = [flag for flag in peer.flags if not flag.startswith("--seeds")]
        peer.flags += [f"--advertise-gossip=127.0.0.1:{gossip[i]}",
                       f"--advertise-link=127.0.0.1:{tap.tcp(peer.link_port)}",
                       f"--seeds=127.0.0.1:{gossip[1 - i]}"]
    with cluster:
        answers = Answers(cluster.model, ["tell me of the purple walrus"], 20)
        sessions = [cluster.peers[0].session_at(peer.name) for peer in cluster.peers]
        client = Client([cluster.peers[0].http_port], stream=True)
        for session in sessions:
            client.ask(answers.requests[0], session)
        time.sleep(1)
    tap.stopping.set()
    time.sleep(0.5)
    texts = [b"peer-1", b"peer-2", b"purple walrus", b"rack-1", tiny_model.stem.encode()]
    found = [text for text in texts if any(text in piece for piece in tap.datagrams + tap.streams)]
    assert len(tap.datagrams) > 10 and tap.streams
    if is_sealed:
        assert found == []
        assert {datagram[0] for datagram in tap.datagrams} == {0xEC}
        assert {stream[:2] for stream in tap.streams if stream} == {b"\x16\x03"}
    else:
        # Or the tap would have shown nothing.
        assert b"purple walrus" in found and b"rack-1" in found
