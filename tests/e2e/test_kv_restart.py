"""A chat whose peer is killed between two turns: the next turn finds its KV on the peer's disk, and says the same."""

import json

from bench.cluster import Cluster, post_json, wait_for
from kv_chat import Chat, question

TURNS = 10
QUESTIONS = [question(turn) for turn in range(TURNS + 1)]


def drained(peer) -> bool:
    cache = peer.admin("kv")
    return cache["queue"]["segments"] == 0 and cache["disk"]["segments"] > 0


def test_the_turn_after_a_kill_is_restored_and_says_the_same(tmp_path, long_model, undisturbed):
    with Cluster(tmp_path, long_model, peers=1, replicas=1) as cluster:
        peer = cluster.peers[0]
        chat = Chat(cluster.model)
        assert [chat.ask(peer, question) for question in QUESTIONS[:TURNS]] == undisturbed[:TURNS]
        wait_for(lambda: drained(peer), 30, "everything finished is stored")
        assert peer.metric("kv_queued_segments") == 0
        peer.kill()
        peer.start()
        cluster.wait_ready(60)
        assert peer.admin("kv")["memory"]["segments"] == 0
        assert chat.ask(peer, QUESTIONS[TURNS]) == undisturbed[TURNS]
        assert chat.usages[-1]["prompt_tokens"] > 1000
        assert chat.cached_share >= 0.9, chat.usages[-1]
        assert peer.metric("cached_prompt_tokens_total") > 0
        hits = peer.admin("kv")["hits"]
        assert hits["disk"] * 64 >= 0.8 * chat.usages[-1]["prompt_tokens"], hits


def test_a_second_replica_takes_over_what_the_first_has_computed(tmp_path, long_model, undisturbed):
    with Cluster(tmp_path, long_model, peers=1, replicas=2) as cluster:
        peer = cluster.peers[0]
        chat = Chat(cluster.model)
        for question in QUESTIONS[:TURNS]:
            chat.ask(peer, question)
        wait_for(lambda: drained(peer), 30, "everything finished is stored")
        routes = {peer.admin(f"route?session=session-{n}")["replica"]: f"session-{n}" for n in range(50)}
        assert len(routes) == 2
        messages = chat.messages + [{"role": "user", "content": QUESTIONS[TURNS]}]
        for replica, session in routes.items():
            status, headers, body = post_json(peer.url + "/v1/chat/completions", {
                "model": cluster.model, "messages": messages, "temperature": 0, "max_tokens": 20,
                "prompt_cache_key": session})
            assert status == 200
            assert headers["x-exaserve-replica"] == replica
            reply = json.loads(body)
            assert reply["choices"][0]["message"]["content"] == undisturbed[TURNS]
            usage = reply["usage"]
            assert usage["prompt_tokens_details"]["cached_tokens"] >= 0.9 * usage["prompt_tokens"], usage


def test_changed_bytes_on_disk_are_computed_again_and_say_the_same(tmp_path, long_model, undisturbed):
    with Cluster(tmp_path, long_model, peers=1, replicas=1) as cluster:
        peer = cluster.peers[0]
        chat = Chat(cluster.model)
        for question in QUESTIONS[:TURNS]:
            chat.ask(peer, question)
        wait_for(lambda: drained(peer), 30, "everything finished is stored")
        peer.kill()
        changed = 0
        for path in (peer.directory / "data/kv").rglob("*"):
            if path.is_file() and path.stat().st_size > 1 << 20:
                with open(path, "r+b") as file:
                    for at in range(1 << 18, path.stat().st_size, 1 << 18):
                        file.seek(at)
                        byte = file.read(1)
                        file.seek(at)
                        file.write(bytes([byte[0] ^ 0x40]))
                        changed += 1
        assert changed > 0
        peer.start()
        cluster.wait_ready(60)
        assert chat.ask(peer, QUESTIONS[TURNS]) == undisturbed[TURNS]
        assert peer.admin("kv")["disk"]["corrupt"] > 0
