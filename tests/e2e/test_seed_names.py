"""Seeds given by a name: peers become one cluster when the name is right, however wrong it was before."""

import os
import socket
import struct
import subprocess
import threading
import time

import pytest

from bench.cluster import BINARY, Peer, exaserve, wait_for

NAME = "peers.test"
GOSSIP, LINK, HTTP = 21946, 21947, 21900

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0,
    reason="a resolv.conf of its own for each peer takes a mount namespace")


class NameServer:
    """Answers A questions for any name with the addresses that it is told, over UDP (RFC 1035)."""

    def __init__(self, address: str):
        self.address = address
        self.addresses: list[str] = []
        self.in_turn = False
        self.asked = 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, 53))
        self.socket.settimeout(0.1)
        self.is_over = False
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self) -> None:
        while not self.is_over:
            try:
                question, asker = self.socket.recvfrom(512)
            except TimeoutError:
                continue
            self.socket.sendto(self.answer(question), asker)

    def answer(self, message: bytes) -> bytes:
        end = message.index(b"\0", 12) + 5
        kind = struct.unpack("!H", message[end - 4:end - 2])[0]
        found = self.addresses if kind == 1 else []
        if found and self.in_turn:
            self.asked += 1
            found = [found[self.asked % len(found)]]
        # No such name, or the records: name (a pointer to the question's), A, IN, no time to live, four bytes.
        code = 3 if not self.addresses else 0
        records = b"".join(struct.pack("!HHHIH", 0xC00C, 1, 1, 0, 4) + socket.inet_aton(each) for each in found)
        header = message[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, len(found), 0, 0)
        return header + message[12:end] + records

    def close(self) -> None:
        self.is_over = True
        self.thread.join()
        self.socket.close()


class NamedPeer(Peer):
    """A peer at an address of its own, with a name server of its own."""

    def __init__(self, number: int, directory):
        super().__init__(f"peer-{number}", directory / f"peer-{number}", (HTTP, LINK, GOSSIP), [])
        self.address = f"127.0.8.{number}"
        self.names = NameServer(f"127.0.9.{number}")

    @property
    def url(self) -> str:
        return f"http://{self.address}:{HTTP}"

    def start(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        resolver = self.directory / "resolv.conf"
        resolver.write_text(f"nameserver {self.names.address}\noptions timeout:1 attempts:1\n")
        command = [str(BINARY), "peer", "--cluster=names", f"--name={self.name}", f"--data-dir={self.directory / 'data'}",
                   f"--listen-http={self.address}:{HTTP}", f"--listen-link={self.address}:{LINK}",
                   f"--listen-gossip={self.address}:{GOSSIP}", "--model-engine=null", "--kv-enabled=false",
                   f"--seeds={NAME}:{GOSSIP}", *self.flags]
        script = 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"'
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen(["unshare", "-m", "sh", "-c", script, "sh", str(resolver), *command],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()
        self.names.close()


@pytest.fixture
def peers(tmp_path):
    made = [NamedPeer(number, tmp_path) for number in (1, 2, 3)]
    yield made
    for peer in made:
        peer.stop()


def alive(peer) -> int:
    try:
        return peer.admin("status")["peers"]["alive"]
    except OSError:
        return 0


def is_alone(peer) -> bool:
    return "alone_with_seeds" in peer.admin("status")["alarms"]


def remembered(peer) -> list[str]:
    file = peer.directory / "data/members"
    return file.read_text().splitlines()[1:-1] if file.exists() else []


def become_one(peers, seconds: float) -> float:
    begun = time.monotonic()
    wait_for(lambda: all(alive(peer) == len(peers) for peer in peers), seconds, "one cluster")
    return time.monotonic() - begun


def start_all(peers, addresses) -> None:
    for peer in peers:
        peer.names.addresses = addresses(peer)
        peer.start()


def everybody(peers) -> list[str]:
    return [peer.address for peer in peers]


def test_a_name_that_resolves_four_seconds_late(peers):
    start_all(peers, lambda peer: [])
    time.sleep(4)
    assert [alive(peer) for peer in peers] == [1, 1, 1]
    wait_for(lambda: is_alone(peers[0]), 5, "the alarm begins")
    assert [seed["state"] for seed in peers[0].admin("status")["seeds"]] == ["unresolved"]
    for peer in peers:
        peer.names.addresses = everybody(peers)
    become_one(peers, 5)
    wait_for(lambda: not is_alone(peers[0]), 10, "the alarm ends")


def test_a_name_that_first_resolves_to_oneself(peers):
    start_all(peers, lambda peer: [peer.address])
    time.sleep(4)
    assert [alive(peer) for peer in peers] == [1, 1, 1]
    wait_for(lambda: is_alone(peers[0]), 5, "the alarm begins")
    shown = exaserve("status", "--peer", peers[0].url).stdout
    assert "alone_with_seeds" in shown and f"{NAME}:{GOSSIP} is self" in shown, shown
    for peer in peers:
        peer.names.addresses = everybody(peers)
    become_one(peers, 5)


def test_a_name_that_resolves_to_one_address_in_turn(peers):
    start_all(peers, lambda peer: everybody(peers))
    for peer in peers:
        peer.names.in_turn = True
    become_one(peers, 8)


def test_members_of_before_are_asked_while_the_name_is_gone(peers):
    start_all(peers, lambda peer: everybody(peers))
    become_one(peers, 10)
    wait_for(lambda: all(len(remembered(peer)) == 2 for peer in peers), 15, "members are remembered")
    for peer in peers:
        peer.kill()
        peer.names.addresses = []
    for peer in peers:
        peer.start()
    become_one(peers, 10)


def test_a_first_peer_serves_alone_without_an_alarm(peers):
    first = peers[0]
    first.flags = ["--first=true"]
    start_all([first], lambda peer: [peer.address])
    wait_for(lambda: alive(first) == 1 and first.admin("status")["self"]["state"] == "serving", 10, "it serves")
    time.sleep(4)
    assert first.admin("status")["alarms"] == []


@pytest.mark.parametrize("seed", ["http://10.0.0.1:7946", "10.0.0.1:7946, 10.0.0.2:7946", "10.0.0.1", "10.0.0.1:0"])
def test_a_seed_that_cannot_be_asked_is_named(seed, tmp_path):
    done = exaserve("peer", f"--data-dir={tmp_path}", "--model-engine=null", f"--seeds={seed}")
    assert done.returncode == 2
    assert "seeds" in done.stderr, done.stderr
