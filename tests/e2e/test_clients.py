"""LangChain and LiteLLM, as their users write them, against each of three peers."""

import os
import threading

# Neither is to ask the network for anything but the peer.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LANGSMITH_TRACING", "false")

import litellm
import openai
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI, OpenAI, OpenAIEmbeddings

from bench.cluster import wait_for

litellm.telemetry = False
litellm.suppress_debug_info = True

QUESTION = "What is a ring?"
TOO_LONG = "word " * 6000


@pytest.fixture(params=[0, 1, 2], ids=["peer-1", "peer-2", "peer-3"])
def entry(cluster, request):
    return cluster.peers[request.param]


def chat_model(entry, cluster, **settings):
    settings = {"temperature": 0, "max_tokens": 24, "max_retries": 0, "timeout": 60, "stream_usage": True, **settings}
    return ChatOpenAI(model=cluster.model, base_url=entry.url + "/v1", api_key="none", **settings)


def complete(entry, cluster, **settings):
    settings = {"temperature": 0, "max_tokens": 24, "num_retries": 0, "timeout": 60,
                "messages": [{"role": "user", "content": QUESTION}], **settings}
    return litellm.completion(model="openai/" + cluster.model, api_base=entry.url + "/v1", api_key="none", **settings)


def total_in_flight(cluster):
    return sum(peer.metric("replica_in_flight") for peer in cluster.peers)


def ask_while_it_restarts(entry, ask):
    """What `ask` gives, whose first try meets a peer that is down."""
    entry.kill()
    restart = threading.Timer(0.3, entry.start)
    restart.start()
    try:
        return ask()
    finally:
        restart.join()


# LangChain


def test_langchain_streams_what_it_says_in_one_piece(cluster, entry):
    model = chat_model(entry, cluster)
    history = [SystemMessage("You answer briefly."), HumanMessage("Hello"), AIMessage("Hi."), HumanMessage(QUESTION)]
    whole = model.invoke(history)
    assert whole.content
    assert whole.response_metadata["finish_reason"] == "length"
    chunks = list(model.stream(history))
    assert len(chunks) > 4
    assert "".join(chunk.content for chunk in chunks) == whole.content
    usage = next(chunk.usage_metadata for chunk in reversed(chunks) if chunk.usage_metadata)
    assert usage["output_tokens"] == whole.usage_metadata["output_tokens"] == 24
    assert usage["input_tokens"] == whole.usage_metadata["input_tokens"] > 0


def test_langchain_completes_and_embeds(cluster, entry):
    model = OpenAI(model=cluster.model, base_url=entry.url + "/v1", api_key="none", temperature=0, max_tokens=8,
                   max_retries=0)
    whole = model.invoke("One, two,")
    assert "".join(model.stream("One, two,")) == whole != ""
    embeddings = OpenAIEmbeddings(model=cluster.model, base_url=entry.url + "/v1", api_key="none", max_retries=0,
                                  check_embedding_ctx_length=False)
    first, second = embeddings.embed_documents(["a ring", "a tree"])
    assert len(first) == len(second) > 0
    assert first != second


def test_langchain_answers_a_batch(cluster, entry):
    model = chat_model(entry, cluster, max_tokens=8)
    answers = model.batch([f"Number {number}" for number in range(6)])
    assert all(answer.usage_metadata["output_tokens"] == 8 for answer in answers)


def test_langchain_errors_are_the_official_clients(cluster, entry):
    with pytest.raises(openai.NotFoundError) as missing:
        ChatOpenAI(model="absent", base_url=entry.url + "/v1", api_key="none", max_retries=0).invoke(QUESTION)
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as long:
        chat_model(entry, cluster).invoke(TOO_LONG)
    assert long.value.code == "context_length_exceeded"
    with pytest.raises(openai.BadRequestError):
        list(chat_model(entry, cluster).stream(TOO_LONG))


def test_a_langchain_stream_that_is_dropped_frees_its_replica(cluster, entry):
    stream = chat_model(entry, cluster, max_tokens=1900).stream(QUESTION)
    assert next(stream) is not None
    wait_for(lambda: total_in_flight(cluster) == 1, 10, "a replica is at work", interval=0.01)
    stream.close()
    wait_for(lambda: total_in_flight(cluster) == 0, 2, "the replica is free", interval=0.01)


def test_langchain_tries_again_while_its_peer_restarts(cluster):
    entry = cluster.peers[2]
    model = chat_model(entry, cluster, max_retries=10)
    assert ask_while_it_restarts(entry, lambda: model.invoke(QUESTION)).content


# LiteLLM


def test_litellm_streams_what_it_says_in_one_piece(cluster, entry):
    whole = complete(entry, cluster)
    assert whole.choices[0].message.content
    assert whole.choices[0].finish_reason == "length"
    assert whole.usage.completion_tokens == 24
    chunks = list(complete(entry, cluster, stream=True, stream_options={"include_usage": True}))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].message.content
    usage = next(chunk.usage for chunk in reversed(chunks) if getattr(chunk, "usage", None))
    assert usage.completion_tokens == 24
    assert usage.prompt_tokens == whole.usage.prompt_tokens


def test_litellm_gives_several_choices(cluster, entry):
    answer = complete(entry, cluster, n=3, temperature=1, seed=5, max_tokens=8)
    assert len({choice.message.content for choice in answer.choices}) == 3


def test_litellm_embeds(cluster, entry):
    answer = litellm.embedding(model="openai/" + cluster.model, api_base=entry.url + "/v1", api_key="none",
                               input=["a ring", "a tree"], num_retries=0)
    assert len(answer.data) == 2
    assert answer.usage.prompt_tokens > 0


def test_litellm_errors_are_told_apart(cluster, entry):
    with pytest.raises(litellm.NotFoundError):
        litellm.completion(model="openai/absent", api_base=entry.url + "/v1", api_key="none", num_retries=0,
                           messages=[{"role": "user", "content": QUESTION}])
    with pytest.raises(litellm.ContextWindowExceededError):
        complete(entry, cluster, messages=[{"role": "user", "content": TOO_LONG}])


def test_a_litellm_stream_that_is_dropped_frees_its_replica(cluster, entry):
    stream = complete(entry, cluster, stream=True, max_tokens=1900)
    assert next(stream) is not None
    wait_for(lambda: total_in_flight(cluster) == 1, 10, "a replica is at work", interval=0.01)
    stream.completion_stream.close()
    wait_for(lambda: total_in_flight(cluster) == 0, 2, "the replica is free", interval=0.01)


def test_litellm_tries_again_while_its_peer_restarts(cluster):
    entry = cluster.peers[2]
    answer = ask_while_it_restarts(entry, lambda: complete(entry, cluster, num_retries=10))
    assert answer.choices[0].message.content
