import os
import pathlib

import pytest

from bench.cluster import DEFAULT_MODEL, Cluster, make_tiny_model
from kv_chat import Chat, question
from load import Answers

PROMPTS = ["Hello there", "Count the ways", "What is a ring?", "Tell me about trees and rivers"]


@pytest.fixture(scope="session")
def default_model():
    if not DEFAULT_MODEL.is_file():
        pytest.skip(f"{DEFAULT_MODEL} is missing; tools/setup fetches it")
    return DEFAULT_MODEL


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    """Noise at thousands of tokens a second."""
    return make_tiny_model(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="session")
def steady_model(tmp_path_factory):
    """Noise too, but slow enough that answers are under way when something happens to their peer."""
    return make_tiny_model(tmp_path_factory.mktemp("model") / "steady.gguf", layers=8, d=256, heads=4, kv_heads=2,
                           ff=512, context=2048, type="q8_0")


@pytest.fixture(scope="session")
def long_model(tmp_path_factory):
    """Noise, with room for a long chat; EXASERVE_KV_CHAT_MODEL names a real model in its place, which takes minutes."""
    if chosen := os.environ.get("EXASERVE_KV_CHAT_MODEL"):
        return DEFAULT_MODEL if chosen == "default" else pathlib.Path(chosen)
    return make_tiny_model(tmp_path_factory.mktemp("model") / "long.gguf", layers=8, d=256, heads=4, kv_heads=2, ff=512,
                           context=4096, type="q8_0")


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory, long_model):
    """What the long model says to twelve questions in a chat without a cache."""
    with Cluster(tmp_path_factory.mktemp("undisturbed"), long_model, peers=1, replicas=1,
                 flags=["--kv-enabled=false"]) as cluster:
        chat = Chat(cluster.model)
        return [chat.ask(cluster.peers[0], question(turn)) for turn in range(12)]


@pytest.fixture
def answers():
    """Makes reference answers of a cluster, long enough to be interrupted."""

    def make(cluster, max_tokens=150):
        answers = Answers(cluster.model, PROMPTS, max_tokens)
        answers.learn(cluster.peers[0].http_port)
        return answers

    return make


@pytest.fixture(scope="module")
def running(tmp_path_factory, steady_model):
    with Cluster(tmp_path_factory.mktemp("cluster"), steady_model) as cluster:
        yield cluster


@pytest.fixture
def cluster(running):
    """All three peers, whatever the test before has done to them."""
    for peer in running.peers:
        if peer.process.poll() is not None:
            peer.start()
    running.wait_ready(60)
    return running
