"""KV cache among peers: what one has computed outlives it, and its rack."""

import pytest

from bench.cluster import Cluster, wait_for
from kv_chat import Chat, question

TURNS = 10


@pytest.fixture
def four(tmp_path, long_model):
    """Four peers on two racks: 0 and 2, 1 and 3."""
    with Cluster(tmp_path, long_model, peers=4, replicas=1, racks=2) as cluster:
        yield cluster


def converged(peer) -> bool:
    return peer.admin("kv")["peers"]["converged"]


def talk(cluster, undisturbed) -> tuple[Chat, int]:
    """A chat of ten turns, and the number of the peer that served it."""
    chat = Chat(cluster.model, session="a long chat")
    assert [chat.ask(cluster.peers[0], question(turn)) for turn in range(TURNS)] == undisturbed[:TURNS]
    by_id = {peer.admin("status")["self"]["id"]: number for number, peer in enumerate(cluster.peers)}
    wait_for(lambda: all(converged(peer) for peer in cluster.peers), 60, "everything is where it shall be")
    return chat, by_id[chat.replica.split(".")[0]]


def go_on(chat: Chat, entry, undisturbed) -> None:
    assert chat.ask(entry, question(TURNS)) == undisturbed[TURNS]
    assert chat.usages[-1]["prompt_tokens"] > 1000
    assert chat.cached_share >= 0.9, chat.usages[-1]


def test_a_chat_goes_on_from_the_cache_after_its_peer_was_killed(four, undisturbed):
    chat, server = talk(four, undisturbed)
    four.peers[server].kill()
    go_on(chat, four.peers[(server + 1) % 4], undisturbed)
    assert sum(peer.admin("kv")["peers"]["fetched"] for peer in four.peers if peer.process.poll() is None) > 0


def test_a_chat_goes_on_from_the_cache_after_its_rack_was_killed(four, undisturbed):
    chat, server = talk(four, undisturbed)
    four.peers[server].kill()
    four.peers[(server + 2) % 4].kill()
    go_on(chat, four.peers[(server + 1) % 4], undisturbed)


def test_a_chat_goes_on_from_the_cache_after_its_peer_was_drained(four, undisturbed):
    chat, server = talk(four, undisturbed)
    four.peers[server].terminate()
    assert four.peers[server].wait(60) == 0
    assert "is lost with it" not in four.peers[server].log
    go_on(chat, four.peers[(server + 2) % 4], undisturbed)


def test_after_a_loss_every_segment_is_held_twice_again(four, undisturbed):
    chat, server = talk(four, undisturbed)
    four.peers[server].kill()
    alive = [peer for peer in four.peers if peer.process.poll() is None]
    passes = [peer.admin("kv")["peers"]["repair"]["passes"] for peer in alive]
    wait_for(lambda: all(peer.admin("kv")["peers"]["repair"]["passes"] > before
                         for peer, before in zip(alive, passes)), 90, "the lost peer's segments are made up for")
    wait_for(lambda: all(converged(peer) for peer in alive), 30, "repair ends")
    # Whichever goes next, the rest has everything.
    alive[0].kill()
    go_on(chat, alive[1], undisturbed)
