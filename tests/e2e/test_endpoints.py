"""Every endpoint of the API by the official client, from each of three peers, the last of which runs no replica."""

import http.client
import json
import math

import openai
import pytest

from bench.cluster import Cluster, get_json, post_json

QUESTION = [{"role": "user", "content": "Why is the sky blue?"}]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, default_model):
    with Cluster(tmp_path_factory.mktemp("cluster"), default_model, replicas=[1, 1, 0]) as cluster:
        yield cluster


@pytest.fixture(params=[0, 1, 2], ids=["peer-1", "peer-2", "peer-3"])
def peer(cluster, request):
    return cluster.peers[request.param]


@pytest.fixture
def client(peer):
    with openai.OpenAI(base_url=peer.url + "/v1", api_key="none", max_retries=0, timeout=120) as client:
        yield client


def test_a_response_streams_what_it_says_in_one_piece(client, cluster):
    request = {"model": cluster.model, "input": "Why is the sky blue?", "temperature": 0, "max_output_tokens": 16}
    whole = client.responses.create(**request)
    assert "light" in whole.output_text
    assert whole.status == "incomplete" and whole.usage.output_tokens == 16
    events = list(client.responses.create(**request, stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[0].type == "response.created" and events[-1].type == "response.incomplete"
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == whole.output_text
    final = events[-1].response
    assert final.output_text == whole.output_text
    assert final.id.startswith("resp_") and final.id != whole.id


def test_instructions_lead_a_response_and_logprobs_come_when_included(client, cluster):
    answer = client.responses.create(model=cluster.model, instructions="Answer in one word.", input="2+2?",
                                     temperature=0, max_output_tokens=4, top_logprobs=2,
                                     include=["message.output_text.logprobs"])
    logprobs = answer.output[0].content[0].logprobs
    assert "".join(entry.token for entry in logprobs) == answer.output_text
    assert all(len(entry.top_logprobs) == 2 for entry in logprobs)


def test_choices_differ_repeat_by_seed_and_stream_as_they_are(client, cluster):
    request = {"model": cluster.model, "messages": QUESTION, "n": 3, "seed": 11, "max_tokens": 12}
    whole = client.chat.completions.create(**request)
    texts = [choice.message.content for choice in whole.choices]
    assert [choice.index for choice in whole.choices] == [0, 1, 2]
    assert len(set(texts)) == 3
    assert whole.usage.completion_tokens == 36
    streamed = [""] * 3
    for chunk in client.chat.completions.create(**request, stream=True):
        for choice in chunk.choices:
            streamed[choice.index] += choice.delta.content or ""
    assert streamed == texts
    alone = client.chat.completions.create(**{**request, "n": 1})
    assert alone.choices[0].message.content == texts[0]


def test_more_choices_than_places_come_one_after_another(client, cluster):
    answer = client.completions.create(model=cluster.model, prompt="A", n=20, max_tokens=2, seed=1)
    assert [choice.index for choice in answer.choices] == list(range(20))


def test_several_prompts_are_answered_in_their_order_and_echoed(client, cluster):
    request = {"model": cluster.model, "temperature": 0, "max_tokens": 4}
    prompts = ["One, two, three,", "A, B, C,"]
    both = client.completions.create(**request, prompt=prompts, echo=True)
    alone = [client.completions.create(**request, prompt=prompt).choices[0].text for prompt in prompts]
    assert [choice.text for choice in both.choices] == [prompt + text for prompt, text in zip(prompts, alone)]


def test_logprobs_say_how_likely_the_model_found_its_tokens(client, cluster):
    chat = client.chat.completions.create(model=cluster.model, messages=QUESTION, temperature=0, max_tokens=6,
                                          logprobs=True, top_logprobs=3)
    content = chat.choices[0].logprobs.content
    assert "".join(entry.token for entry in content) == chat.choices[0].message.content
    for entry in content:
        assert entry.logprob == entry.top_logprobs[0].logprob, "greedy takes the likeliest"
        assert sum(math.exp(top.logprob) for top in entry.top_logprobs) <= 1 + 1e-5
    plain = client.completions.create(model=cluster.model, prompt="One, two,", temperature=0, max_tokens=5, logprobs=2)
    logprobs = plain.choices[0].logprobs
    assert "".join(logprobs.tokens) == plain.choices[0].text
    assert [len(top) for top in logprobs.top_logprobs] == [2] * 5
    chunks = list(client.chat.completions.create(model=cluster.model, messages=QUESTION, temperature=0, max_tokens=6,
                                                 logprobs=True, stream=True))
    streamed = [entry for chunk in chunks for choice in chunk.choices if choice.logprobs
                for entry in choice.logprobs.content]
    assert [entry.logprob for entry in streamed] == [entry.logprob for entry in content]


def test_penalties_and_biases_change_what_is_chosen(client, cluster):
    request = {"model": cluster.model, "prompt": "ha ha ha ha", "temperature": 0, "max_tokens": 16}
    plain = client.completions.create(**request)
    varied = client.completions.create(**request, frequency_penalty=2, presence_penalty=2, logprobs=0)
    tokens = varied.choices[0].logprobs.tokens
    assert len(set(tokens)) == len(tokens) and varied.choices[0].text != plain.choices[0].text
    word = post_json(cluster.peers[0].url + "/tokenize", {"prompt": " blue"})[2]
    token = json.loads(word)["tokens"][0]
    forced = client.completions.create(**request, logit_bias={str(token): 100})
    assert forced.choices[0].text == " blue" * 16
    never = client.completions.create(model=cluster.model, prompt="The sky is", temperature=0, max_tokens=1,
                                      logit_bias={str(token): -100})
    assert never.choices[0].text != " blue"


def test_samplers_of_other_engines_are_honoured(client, cluster):
    request = {"model": cluster.model, "messages": QUESTION, "max_tokens": 12}
    greedy = client.chat.completions.create(**request, temperature=0).choices[0].message.content
    for extra in ({"top_k": 1}, {"min_p": 1.0}):
        hot = client.chat.completions.create(**request, temperature=1.8, seed=5, extra_body=extra)
        assert hot.choices[0].message.content == greedy, extra
    response = client.responses.create(model=cluster.model, input=QUESTION, temperature=1.8, max_output_tokens=12,
                                       extra_body={"top_k": 1})
    assert response.output_text == greedy
    long = {"model": cluster.model, "messages": [{"role": "user", "content": "Say yes."}], "temperature": 0,
            "max_tokens": 60}
    for extra in ({"ignore_eos": True}, {"min_tokens": 60}):
        answer = client.chat.completions.create(**long, extra_body=extra)
        assert answer.usage.completion_tokens == 60 and answer.choices[0].finish_reason == "length", extra
    ha = {"model": cluster.model, "prompt": "ha ha ha ha", "temperature": 0, "max_tokens": 16}
    plain = client.completions.create(**ha)
    varied = client.completions.create(**ha, extra_body={"repetition_penalty": 2.0})
    assert varied.choices[0].text != plain.choices[0].text
    tokens = json.loads(post_json(cluster.peers[0].url + "/tokenize", {"prompt": plain.choices[0].text})[2])["tokens"]
    stopped = client.completions.create(**ha, extra_body={"stop_token_ids": [tokens[2]]})
    assert stopped.choices[0].finish_reason == "stop" and stopped.usage.completion_tokens <= 3


def test_an_answer_that_was_begun_is_continued(client, cluster):
    question = {"role": "user", "content": "Name three colours."}
    request = {"model": cluster.model, "temperature": 0, "max_tokens": 12}
    prompt = ("<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
              "<|im_start|>user\nName three colours.<|im_end|>\n<|im_start|>assistant\n1. Red\n2.")
    by_hand = client.completions.create(**request, prompt=prompt)
    begun = {"role": "assistant", "content": "1. Red\n2."}
    for last, extra in ((begun, {}), ({**begun, "prefix": True}, {}),
                        (begun, {"continue_final_message": True, "add_generation_prompt": False})):
        answer = client.chat.completions.create(**request, messages=[question, last], extra_body=extra)
        assert answer.choices[0].message.content == by_hand.choices[0].text
        assert answer.usage.prompt_tokens == by_hand.usage.prompt_tokens
    fresh = client.chat.completions.create(**request, messages=[question, begun],
                                           extra_body={"add_generation_prompt": True})
    assert fresh.usage.prompt_tokens > by_hand.usage.prompt_tokens


def test_a_developer_is_the_system(client, cluster):
    counts = set()
    for role in ("system", "developer"):
        messages = [{"role": role, "content": "Reply in capitals."}, *QUESTION]
        chat = client.chat.completions.create(model=cluster.model, messages=messages, max_tokens=1)
        response = client.responses.create(model=cluster.model, input=messages, max_output_tokens=16)
        counts |= {chat.usage.prompt_tokens, response.usage.input_tokens}
    assert len(counts) == 1


def test_an_echo_with_logprobs_scores_the_prompt(client, cluster):
    request = {"model": cluster.model, "temperature": 0, "max_tokens": 1, "echo": True, "logprobs": 1}
    likely, unlikely = (client.completions.create(**request, prompt=f"The capital of France is {word}").choices[0]
                        for word in ("Paris", "Tuesday"))
    for choice in (likely, unlikely):
        assert "".join(choice.logprobs.tokens) == choice.text
        assert choice.logprobs.token_logprobs[0] is None
    assert likely.logprobs.token_logprobs[5] > unlikely.logprobs.token_logprobs[5] + 3


def test_what_clients_send_beside_is_no_mistake(client, cluster):
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    request = {"model": cluster.model, "messages": QUESTION}
    client.chat.completions.create(**request, max_tokens=1, tools=[tool], tool_choice="none", top_p=0,
                                   stop=["", *"abcdefghijklmno"])
    client.chat.completions.create(**request, max_tokens=-1, max_completion_tokens=1)
    width = len(client.embeddings.create(model=cluster.model, input="x").data[0].embedding)
    client.embeddings.create(model=cluster.model, input="x", dimensions=width)


def test_a_slash_behind_a_path_and_a_stream_that_proxies_may_not_hold_back(peer, cluster):
    body = {"model": cluster.model, "messages": QUESTION, "max_tokens": 1}
    assert post_json(peer.url + "/v1/chat/completions/", body)[0] == 200
    status, headers, _ = post_json(peer.url + "/v1/chat/completions", {**body, "stream": True})
    assert status == 200 and {name.lower(): value for name, value in headers.items()}["x-accel-buffering"] == "no"


def test_embeddings_are_the_same_from_every_peer_and_near_for_what_is_near(client, cluster):
    texts = ["The cat sat on the mat.", "A cat is sitting on a mat.", "Interest rates rose by one percent."]
    reply = client.embeddings.create(model=cluster.model, input=texts)
    vectors = [item.embedding for item in reply.data]
    numbers = client.embeddings.create(model=cluster.model, input=texts[0], encoding_format="float")
    assert numbers.data[0].embedding == pytest.approx(vectors[0], abs=1e-7)
    near, far = (sum(a * b for a, b in zip(vectors[0], other)) for other in vectors[1:])
    assert near > far
    for vector in vectors:
        assert sum(number * number for number in vector) == pytest.approx(1, abs=1e-5)
    with openai.OpenAI(base_url=cluster.peers[0].url + "/v1", api_key="none") as first:
        assert first.embeddings.create(model=cluster.model, input=texts).data == reply.data
    assert reply.usage.prompt_tokens == reply.usage.total_tokens > 20


def test_many_inputs_are_more_than_a_replica_takes_at_once(client, cluster):
    reply = client.embeddings.create(model=cluster.model, input=[f"number {n}" for n in range(40)])
    assert [item.index for item in reply.data] == list(range(40))


def test_text_becomes_tokens_and_text_again(peer, cluster):
    status, _, body = post_json(peer.url + "/tokenize", {"prompt": "Grüß dich, 世界!", "return_token_strs": True})
    tokens = json.loads(body)
    assert status == 200 and tokens["count"] == len(tokens["tokens"]) == len(tokens["token_strs"])
    status, _, body = post_json(peer.url + "/detokenize", {"model": cluster.model, "tokens": tokens["tokens"]})
    assert json.loads(body) == {"prompt": "Grüß dich, 世界!"}
    chat = json.loads(post_json(peer.url + "/tokenize", {"messages": QUESTION})[2])
    with openai.OpenAI(base_url=peer.url + "/v1", api_key="none") as client:
        answer = client.chat.completions.create(model=cluster.model, messages=QUESTION, max_tokens=1)
    assert chat["count"] == answer.usage.prompt_tokens


@pytest.mark.parametrize("path, body, status, word", [
    ("/tokenize", {"model": "no-such-model", "prompt": "x"}, 404, "no-such-model"),
    ("/tokenize", {}, 400, "prompt"),
    ("/detokenize", {"tokens": [4294967295]}, 400, "tokens[0]"),
    ("/v1/embeddings", {"input": "x"}, 400, "model"),
    ("/v1/embeddings", {"model": "MODEL", "input": ""}, 400, "input"),
    ("/v1/responses", {"model": "MODEL", "input": "x", "previous_response_id": "resp_1"}, 400, "previous_response_id"),
    ("/v1/completions", {"model": "MODEL", "prompt": "x", "response_format": {"type": "json_object"}}, 400,
     "response_format"),
    ("/v1/completions", {"model": "MODEL", "prompt": "x", "guided_choice": ["yes", "no"]}, 400, "guided_choice"),
    ("/v1/completions", {"model": "MODEL", "prompt": "x", "grammar": "root ::= [a-z]"}, 400, "grammar"),
    ("/v1/responses", {"model": "MODEL", "input": "x", "truncation": "bogus"}, 400, "truncation"),
    ("/v1/embeddings", {"model": "MODEL", "input": "x", "dimensions": 7}, 400, "dimensions"),
    ("/v1/completions", {"model": "MODEL", "prompt": ["x"] * 129}, 400, "choices"),
    ("/v1/completions", {"model": "MODEL", "prompt": "x", "logprobs": 21}, 400, "logprobs"),
    ("/v1/completions", {"model": "MODEL", "prompt": "x", "logit_bias": {"49152000": 1}}, 400, "logit_bias"),
])
def test_mistakes_are_named(peer, cluster, path, body, status, word):
    if body.get("model") == "MODEL":
        body = {**body, "model": cluster.model}
    found, headers, reply = post_json(peer.url + path, body)
    assert found == status and word in json.loads(reply)["error"]["message"]
    assert headers["x-request-id"]


def test_health_tells_alive_from_ready(peer):
    assert get_json(peer.url + "/health/live") == {"status": "ok"}
    assert get_json(peer.url + "/health/ready") == get_json(peer.url + "/health")
    assert get_json(peer.url + "/health/ready")["replicas_ready"] == 2
    for path in ("/health/live", "/health/ready", "/v1/models"):
        connection = http.client.HTTPConnection("127.0.0.1", peer.http_port, timeout=10)
        connection.request("HEAD", path)
        reply = connection.getresponse()
        assert reply.status == 200 and reply.read() == b"" and int(reply.getheader("content-length")) > 0
        connection.close()
