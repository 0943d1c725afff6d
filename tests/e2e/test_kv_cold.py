"""The cold tier: what has aged out of every peer's disk comes back from a directory that all share."""

import contextlib
import json
import os
import shutil
import socket

import pytest
import redis

from bench.cluster import Cluster, exaserve, free_port, wait_for
from kv_chat import Chat, question

TURNS = 10
MIB = 1 << 20


@contextlib.contextmanager
def sharing(directory, model, cold, peers=3):
    """Peers with disks of 1 GiB and a directory in common."""
    with Cluster(directory, model, peers=peers, replicas=1,
                 flags=["--kv-memory-mib=0", f"--kv-cold-directory={cold}", "--kv-cold-capacity-gib=10"]) as cluster:
        yield cluster


def converged(peer) -> bool:
    return peer.admin("kv")["peers"]["converged"]


def resp_port(peer) -> int:
    return next(int(flag.rsplit(":", 1)[1]) for flag in peer.flags if flag.startswith("--kv-resp-listen"))


def age_out(peers, port, segments) -> None:
    """Fills the first peer's disk until that many segments have left it.

    `segments` says for each of `peers` how many are on its disk; no disk ages faster than the shared directory gets
    what goes next.
    """
    def kept_pace(peer, count) -> bool:
        cache = peer.admin("kv")["cold"]
        return cache["written"] + cache["present"] >= count

    value = os.urandom(8 * MIB)
    with redis.Redis(port=port, socket_timeout=60) as client:
        for number in range(500):
            client.set(f"filler {number} of {port}", value)
            for peer, count in zip(peers, segments):
                if peer.admin("kv")["disk"]["physical_bytes"] > 850 * MIB:
                    wait_for(lambda: converged(peer), 30, "what was written is where it shall be")
                if peer.admin("kv")["disk"]["physical_bytes"] > 920 * MIB:
                    wait_for(lambda: kept_pace(peer, count), 30, "what ages is written")
            if peers[0].admin("kv")["disk"]["evicted"] > segments[0]:
                return
    raise AssertionError(peers[0].admin("kv"))


@pytest.fixture
def cold(tmp_path):
    (tmp_path / "shared").mkdir()
    return tmp_path / "shared"


def files(cold) -> list:
    return [path for path in cold.rglob("*") if path.is_file()]


def test_a_chat_that_has_left_every_disk_goes_on_from_the_shared_directory(tmp_path, long_model, undisturbed, cold):
    with sharing(tmp_path, long_model, cold) as cluster:
        ports = []
        for peer in cluster.peers:
            peer.kill()
            held, port = free_port(socket.SOCK_STREAM)
            held.close()
            ports.append(port)
            peer.flags.append(f"--kv-resp-listen=127.0.0.1:{port}")
        for peer in cluster.peers:
            peer.start()
        cluster.wait_ready()
        chat = Chat(cluster.model, session="a long chat")
        assert [chat.ask(cluster.peers[0], question(turn)) for turn in range(TURNS)] == undisturbed[:TURNS]
        wait_for(lambda: all(converged(peer) for peer in cluster.peers), 60, "everything is where it shall be")
        assert files(cold) == []
        # All of them before the first value is there: those go to other peers, too.
        on_disk = [peer.admin("kv")["disk"]["segments"] for peer in cluster.peers]
        for first, port in enumerate(ports):
            age_out(cluster.peers[first:] + cluster.peers[:first], port, on_disk[first:] + on_disk[:first])
        stats = [peer.admin("kv") for peer in cluster.peers]
        assert all(one["disk"]["unpersisted"] == 0 for one in stats), stats
        # Each segment was on two or three disks, and is in the directory once.
        written = sum(one["cold"]["written"] for one in stats)
        assert written == len(files(cold)) >= chat.usages[-1]["prompt_tokens"] // 64
        assert sum(one["cold"]["present"] for one in stats) >= written

        for peer in cluster.peers:
            peer.kill()
            shutil.rmtree(peer.directory / "data/kv")
        for peer in cluster.peers:
            peer.start()
        cluster.wait_ready()
        assert chat.ask(cluster.peers[1], question(TURNS)) == undisturbed[TURNS]
        assert chat.cached_share >= 0.9, chat.usages[-1]
        stats = [peer.admin("kv") for peer in cluster.peers]
        # Nobody has read a segment that another one had read already.
        assert sum(one["cold"]["reads"] for one in stats) <= written
        assert sum(one["cold"]["corrupt"] for one in stats) == 0
        assert sum(one["hits"]["cold"] + one["hits"]["peers"] for one in stats) * 64 >= \
            0.8 * chat.usages[-1]["prompt_tokens"]
        assert sum(peer.metric("kv_cold_reads_total") for peer in cluster.peers) > 0
        shown = exaserve("kv", "stats", "--peer", cluster.peers[0].url)
        assert "in this peer's care" in shown.stdout, shown.stdout + shown.stderr
        assert len(files(cold)) == written


def fill_from(source, cold) -> None:
    shutil.rmtree(cold)
    shutil.copytree(source, cold)


@pytest.fixture(scope="module")
def aged(tmp_path_factory, long_model, undisturbed):
    """A shared directory with the segments of a chat, and the chat."""
    directory = tmp_path_factory.mktemp("aged")
    shared = directory / "shared"
    shared.mkdir()
    held, port = free_port(socket.SOCK_STREAM)
    held.close()
    with Cluster(directory, long_model, peers=1, replicas=1,
                 flags=["--kv-memory-mib=0", f"--kv-cold-directory={shared}", f"--kv-resp-listen=127.0.0.1:{port}"]) as one:
        chat = Chat(one.model)
        assert [chat.ask(one.peers[0], question(turn)) for turn in range(TURNS)] == undisturbed[:TURNS]
        wait_for(lambda: one.peers[0].admin("kv")["queue"]["segments"] == 0, 30, "everything is stored")
        age_out(one.peers, port, [one.peers[0].admin("kv")["disk"]["segments"]])
    assert len(files(shared)) >= 16
    return shared, chat


def resumed(aged, cluster) -> Chat:
    chat = Chat(cluster.model)
    chat.messages = json.loads(json.dumps(aged[1].messages))
    return chat


def test_poisoned_files_are_computed_again_and_removed(tmp_path, long_model, undisturbed, aged, cold):
    fill_from(aged[0], cold)
    found = sorted(files(cold))
    for number, path in enumerate(found):
        content = bytearray(path.read_bytes())
        match number % 5:
            case 0:
                content[len(content) // 2] ^= 1
                path.write_bytes(content)
            case 1:
                path.write_bytes(content[:-1])
            case 2:
                path.write_bytes(found[(number + 1) % len(found)].read_bytes())
            case 3:
                path.unlink()
                path.mkdir()
            case 4:
                path.unlink()
                path.symlink_to("/etc/passwd")
    with sharing(tmp_path, long_model, cold, peers=1) as cluster:
        chat = resumed(aged, cluster)
        peer = cluster.peers[0]
        assert chat.ask(peer, question(TURNS)) == undisturbed[TURNS]
        assert chat.usages[-1]["prompt_tokens_details"]["cached_tokens"] < 64
        assert chat.ask(peer, question(TURNS + 1)) == undisturbed[TURNS + 1]
        # A run ends at its first bad segment.
        assert wait_for(lambda: peer.admin("kv")["cold"]["corrupt"], 10, "a bad file is counted") >= 1


def test_a_directory_that_is_gone_or_full_or_forbidden_disturbs_nobody(tmp_path, long_model, undisturbed, aged, cold):
    fill_from(aged[0], cold)
    with sharing(tmp_path, long_model, cold, peers=1) as cluster:
        peer = cluster.peers[0]
        cold.rename(tmp_path / "away")
        chat = resumed(aged, cluster)
        assert chat.ask(peer, question(TURNS)) == undisturbed[TURNS]
        assert chat.usages[-1]["prompt_tokens_details"]["cached_tokens"] == 0
        (tmp_path / "away").rename(cold)
        peer.kill()
        shutil.rmtree(peer.directory / "data/kv")
        peer.start()
        cluster.wait_ready()
        again = resumed(aged, cluster)
        assert again.ask(peer, question(TURNS)) == undisturbed[TURNS]
        assert again.cached_share >= 0.9


def test_a_cold_directory_needs_a_disk(tmp_path):
    done = exaserve("peer", f"--data-dir={tmp_path}", f"--kv-cold-directory={tmp_path}", "--kv-enabled=true",
                    "--kv-capacity-gib=0", "--model-engine=null")
    assert done.returncode == 2
    assert "kv.cold_directory" in done.stderr
