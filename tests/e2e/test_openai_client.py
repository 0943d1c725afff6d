"""The official client against each of three peers of the default model."""

import openai
import pytest

from bench.cluster import Cluster

QUESTION = [{"role": "user", "content": "Why is the sky blue?"}]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, default_model):
    with Cluster(tmp_path_factory.mktemp("cluster"), default_model) as cluster:
        yield cluster


@pytest.fixture(params=[0, 1, 2], ids=["peer-1", "peer-2", "peer-3"])
def client(cluster, request):
    with openai.OpenAI(base_url=cluster.peers[request.param].url + "/v1", api_key="none", max_retries=0,
                       timeout=120) as client:
        yield client


def test_models_list_the_model_once(client):
    models = list(client.models.list())
    assert len(models) == 1
    assert client.models.retrieve(models[0].id) == models[0]


def test_a_chat_streams_what_it_says_in_one_piece(client):
    model = client.models.list().data[0].id
    whole = client.chat.completions.create(model=model, messages=QUESTION, temperature=0, max_tokens=24)
    assert "sky" in whole.choices[0].message.content
    assert whole.choices[0].message.role == "assistant"
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens

    chunks = list(client.chat.completions.create(
        model=model, messages=QUESTION, temperature=0, max_tokens=24, stream=True,
        stream_options={"include_usage": True}))
    assert len(chunks) > 4
    assert {chunk.id for chunk in chunks} == {chunks[0].id}
    assert chunks[0].choices[0].delta.role == "assistant"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].message.content
    assert chunks[-2].choices[0].finish_reason == whole.choices[0].finish_reason
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens


def test_a_completion_goes_on_with_the_text(client):
    model = client.models.list().data[0].id
    whole = client.completions.create(model=model, prompt="One, two, three,", temperature=0, max_tokens=8)
    assert "four" in whole.choices[0].text
    chunks = client.completions.create(model=model, prompt="One, two, three,", temperature=0, max_tokens=8,
                                       stream=True)
    assert "".join(chunk.choices[0].text for chunk in chunks) == whole.choices[0].text


def test_a_stop_string_ends_the_answer_and_does_not_show(client):
    model = client.models.list().data[0].id
    request = {"model": model, "messages": QUESTION, "temperature": 0, "max_tokens": 24}
    whole = client.chat.completions.create(**request).choices[0].message.content
    # Neither its start nor its end is likely to be a token's.
    stop = whole[len(whole) // 3:len(whole) // 3 + 7]
    answer = client.chat.completions.create(**request, stop=[stop])
    assert answer.choices[0].message.content == whole[:whole.index(stop)]
    assert answer.choices[0].finish_reason == "stop"
    chunks = list(client.chat.completions.create(**request, stop=[stop], stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == whole[:whole.index(stop)]
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_text_parts_count_as_their_text(client):
    model = client.models.list().data[0].id
    parts = [{"role": "user", "content": [{"type": "text", "text": QUESTION[0]["content"]}]}]
    answers = [client.chat.completions.create(model=model, messages=messages, temperature=0, max_tokens=16)
               for messages in (QUESTION, parts)]
    assert answers[0].choices[0].message.content == answers[1].choices[0].message.content


def test_an_unknown_model_is_not_found(client):
    with pytest.raises(openai.NotFoundError) as error:
        client.chat.completions.create(model="no-such-model", messages=QUESTION)
    assert error.value.code == "model_not_found"


@pytest.mark.parametrize("more, param", [
    ({"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]}, "tools"),
    ({"response_format": {"type": "json_object"}}, "response_format"),
    ({"n": 129}, "n"),
    ({"temperature": 3}, "temperature"),
])
def test_what_it_cannot_do_is_named(client, more, param):
    model = client.models.list().data[0].id
    with pytest.raises(openai.BadRequestError) as error:
        client.chat.completions.create(model=model, messages=QUESTION, **more)
    assert error.value.param == param


def test_greedy_answers_are_the_same_from_every_entry_and_replica(cluster):
    request = {"messages": QUESTION, "model": cluster.model, "temperature": 0, "max_tokens": 24}
    texts, replicas = set(), set()
    for peer in cluster.peers:
        with openai.OpenAI(base_url=peer.url + "/v1", api_key="none", max_retries=0) as client:
            for session in range(8):
                raw = client.chat.completions.with_raw_response.create(
                    **request, extra_headers={"x-session-id": f"session-{session}"})
                replicas.add(raw.headers["x-exaserve-replica"])
                texts.add(raw.parse().choices[0].message.content)
    assert len(texts) == 1, texts
    assert len(replicas) > 2, "the sessions were meant to meet several replicas"


def test_a_session_meets_the_same_replica_from_every_entry(cluster):
    replicas = set()
    for peer in cluster.peers:
        with openai.OpenAI(base_url=peer.url + "/v1", api_key="none", max_retries=0) as client:
            raw = client.chat.completions.with_raw_response.create(
                model=cluster.model, messages=QUESTION, max_tokens=1, extra_headers={"x-session-id": "alice"})
            replicas.add(raw.headers["x-exaserve-replica"])
    assert len(replicas) == 1, replicas


def test_a_minted_session_token_leads_back_to_its_replica(cluster):
    with openai.OpenAI(base_url=cluster.peers[0].url + "/v1", api_key="none", max_retries=0) as client:
        first = client.chat.completions.with_raw_response.create(model=cluster.model, messages=QUESTION, max_tokens=1)
    token = first.headers["x-session-id"]
    for peer in cluster.peers:
        with openai.OpenAI(base_url=peer.url + "/v1", api_key="none", max_retries=0) as client:
            again = client.chat.completions.with_raw_response.create(
                model=cluster.model, messages=QUESTION, max_tokens=1, extra_headers={"x-session-id": token})
        assert again.headers["x-exaserve-replica"] == first.headers["x-exaserve-replica"]
