"""The Redis port of several peers: any of them answers any key, with its last version."""

import contextlib
import os
import socket
import time

import pytest
import redis

from bench.cluster import Cluster, free_port, post_json, wait_for

PEERS = 4


class Ports:
    """A cluster and a client of the Redis port of each peer."""

    def __init__(self, cluster: Cluster, ports: list[int]):
        self.cluster = cluster
        self.clients = [redis.Redis(port=port, socket_timeout=60) for port in ports]

    def everywhere(self, key: str, value: bytes | None, but: int | None = None) -> None:
        """Waits until every peer answers so; from then on it stays so."""
        clients = [client for number, client in enumerate(self.clients) if number != but]
        wait_for(lambda: all(client.get(key) == value for client in clients), 20, f"{key} at every peer")
        assert [client.get(key) for client in clients] == [value] * len(clients)

    def on_disk(self, key: str) -> set[int]:
        """The peers that have it on their disk."""
        found = set()
        for number, peer in enumerate(self.cluster.peers):
            _, _, body = post_json(f"{peer.url}/exaserve/v1/kv", {"action": "locate", "value": key})
            if (b'"disk":null') not in body:
                found.add(number)
        return found

    def converged(self) -> bool:
        return all(peer.metric("resp_queued_values") == 0 and peer.admin("kv")["peers"]["converged"]
                   for peer in self.cluster.peers if peer.process.poll() is None)

    def owners(self, key: str) -> set[int]:
        wait_for(lambda: self.converged() and len(self.on_disk(key)) == 2, 20, f"two peers keep {key}")
        return self.on_disk(key)


@contextlib.contextmanager
def started(directory, model):
    with contextlib.ExitStack() as held:
        ports = []
        for _ in range(PEERS):
            keeper, port = free_port(socket.SOCK_STREAM)
            held.enter_context(keeper)
            ports.append(port)
    cluster = Cluster(directory, model, peers=PEERS, replicas=0, racks=2, flags=["--kv-resp-memory-mib=64"])
    for peer, port in zip(cluster.peers, ports):
        peer.flags.append(f"--kv-resp-listen=127.0.0.1:{port}")
    with cluster:
        known_to_all(cluster)
        yield Ports(cluster, ports)


def known_to_all(cluster: Cluster) -> None:
    """The KV services look at who there is a little later than others."""
    wait_for(lambda: all(peer.admin("kv")["peers"]["holders"] == PEERS for peer in cluster.peers), 20,
             "every peer knows of all that keep values")


@pytest.fixture(scope="module")
def four(tmp_path_factory, tiny_model):
    with started(tmp_path_factory.mktemp("cluster"), tiny_model) as ports:
        yield ports


def test_what_one_peer_took_every_peer_answers(four):
    four.clients[0].set("greeting", "hello")
    four.everywhere("greeting", b"hello")
    for client in four.clients:
        assert client.exists("greeting", "nobody") == 1
        assert client.strlen("greeting") == 5
        assert client.mget("nobody", "greeting") == [None, b"hello"]


def test_the_last_write_stands_whoever_took_it(four):
    for turn in range(8):
        value = f"turn {turn}".encode()
        four.clients[turn % PEERS].set("changes", value)
        four.everywhere("changes", value)


def test_a_value_that_was_deleted_is_gone_everywhere(four):
    four.clients[0].set("goes", "x" * 100_000)
    four.everywhere("goes", b"x" * 100_000)
    assert four.clients[3].delete("goes") == 1
    four.everywhere("goes", None)
    assert [client.delete("goes") for client in four.clients] == [0] * PEERS
    four.clients[2].set("goes", "back")
    four.everywhere("goes", b"back")


def test_conditions_see_what_other_peers_have(four):
    four.clients[0].set("held", "1")
    four.everywhere("held", b"1")
    assert four.clients[1].set("held", "2", nx=True) is None
    assert four.clients[2].set("held", "3", xx=True, get=True) == b"1"
    four.everywhere("held", b"3")


def test_what_was_written_over_does_not_come_back_when_its_successor_expires(four):
    four.clients[0].set("lapses", "old")
    four.everywhere("lapses", b"old")
    four.clients[1].set("lapses", "new", px=1500)
    four.everywhere("lapses", None)
    four.cluster.peers[0].admin("kv")
    assert [client.get("lapses") for client in four.clients] == [None] * PEERS


def test_large_values_go_where_they_are_asked_for(four):
    value = os.urandom(20_000_000)
    four.clients[1].set("large", value)
    four.everywhere("large", value)
    other = os.urandom(17_000_000)
    four.clients[2].set("large", other)
    four.everywhere("large", other)


def test_twin_keys_have_the_same_two_owners_on_two_racks(four):
    for number in range(6):
        stem = f"model@1@0@{number:x}@half"
        four.clients[number % PEERS].set(stem + "kv_bytes", os.urandom(100_000))
        four.clients[number % PEERS].set(stem + "metadata", b"28 bytes of metadata, or so.")
        owners = four.owners(stem + "kv_bytes")
        assert four.owners(stem + "metadata") == owners
        assert {owner % 2 for owner in owners} == {0, 1}


def test_tenants_and_many_clients_see_whole_values_of_somebody(four):
    values = {bytes([number]) * 50_000 for number in range(20)}
    for number, value in enumerate(sorted(values)):
        four.clients[number % PEERS].set("contended", value)
        for client in four.clients:
            got = client.get("contended")
            assert got is None or got in values


def test_the_setter_may_die_once_its_values_are_spread(tmp_path, tiny_model):
    with started(tmp_path, tiny_model) as ports:
        values = {f"key {number}": os.urandom(300_000) for number in range(20)}
        for key, value in values.items():
            ports.clients[0].set(key, value)
        ports.clients[1].set("key 0", "newer")
        ports.clients[2].set("removed", "x")
        ports.everywhere("removed", b"x")
        ports.clients[3].delete("removed")
        values["key 0"] = b"newer"
        wait_for(ports.converged, 30, "all values are with their owners")
        ports.cluster.peers[0].kill()
        began = time.monotonic()
        for client in ports.clients[1:]:
            assert client.get("removed") is None
            for key, value in values.items():
                assert client.get(key) == value, key
        # Nobody waits for the dead one each time.
        assert time.monotonic() - began < 20
        for peer in ports.cluster.peers[1:]:
            peer.kill()
        for peer in ports.cluster.peers:
            peer.start()
        ports.cluster.wait_ready()
        for client in ports.clients:
            client.close()
        for key, value in values.items():
            ports.everywhere(key, value)
        ports.everywhere("removed", None)


def test_what_a_peer_missed_it_learns_when_it_is_back(tmp_path, tiny_model):
    with started(tmp_path, tiny_model) as ports:
        for number in range(20):
            ports.clients[number % PEERS].set(f"key {number}", "old")
        wait_for(ports.converged, 30, "all values are with their owners")
        ports.cluster.peers[2].kill()
        wait_for(lambda: all(peer.member("peer-3")["liveness"] == "dead" for peer in ports.cluster.peers
                             if peer.process.poll() is None), 30, "the others see that it is dead")
        for number in range(20):
            if number % 2 == 0:
                ports.clients[3].set(f"key {number}", "new")
            else:
                assert ports.clients[3].delete(f"key {number}") == 1
        ports.cluster.peers[2].start()
        ports.cluster.wait_ready()
        ports.clients[2].close()
        for number in range(20):
            ports.everywhere(f"key {number}", b"new" if number % 2 == 0 else None)
