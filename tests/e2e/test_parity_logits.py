"""Next-token log-probabilities and greedy answers agree with llama.cpp's.

The reference is llama.cpp's own server inside the xllamacpp package, one thread; ours is exa-logits-dump. llama.cpp
rounds activations to 8 bits when weights are quantised (we to 15), and a deep small model amplifies that: on the default
model llama.cpp with and without flash attention differ from one another by 0.04 on likely tokens and 0.09 on the twenty
likeliest. So the bar there is on the likeliest token of each position. With F32 weights what is left is the binary16 of
keys, values and flash attention.
"""

import json
import os
import pathlib
import statistics
import subprocess

import pytest

from bench.cluster import make_tiny_model
from llama_cpp import LlamaCpp

BUILD = pathlib.Path(os.environ.get("EXASERVE_BUILD", pathlib.Path(__file__).parents[2] / "build"))
LOGITS_DUMP = BUILD / "tests/exa-logits-dump"

TEXTS = [
    "The river Thames flows through southern England, including London. At 215 miles, it is the longest river entirely "
    "in England and the second longest in the United Kingdom, after the River Severn. Water is made of hydrogen and "
    "oxygen. The sum of two and three is five, and the product of two and three is six.",
    "In a distant village there lived a small boy who loved to read books about the stars. Every evening he climbed the "
    "hill behind his house and looked at the sky, and every morning he told his sister what he had seen.",
    "If you want to bake bread yourself, you need only flour, water, salt and a little yeast. Mix them in a bowl, cover "
    "it with a cloth and wait until the dough has doubled in size. Then shape it, let it rest for half an hour and put "
    "it in a hot oven. After about forty minutes the crust should be brown.",
    "def add(a, b):\n    return a + b\n\ndef factorial(n):\n    if n == 0:\n        return 1\n    return n * factorial(n - 1)\n",
]
QUESTIONS = [
    "What is the capital of France?", "Name three colours.", "How many days has a week?", "Say hello in Spanish.",
    "What is two plus two?", "Write one sentence about the sea.", "Who wrote Hamlet?", "What do bees make?",
]


class Reference(LlamaCpp):
    def __init__(self, model):
        super().__init__(model, 2048)

    def tokenize(self, text):
        return self.post("/tokenize", {"content": text, "parse_special": True})["tokens"]

    def complete(self, tokens, count, top):
        """`count` greedy tokens as [(id, {id: log-probability of the `top` likeliest})]; fewer at an end of text."""
        reply = self.post("/completion", {"prompt": tokens, "n_predict": count, "temperature": 0, "n_probs": top,
                                          "cache_prompt": True})
        return [(step["id"], {entry["id"]: entry["logprob"] for entry in step["top_logprobs"]})
                for step in reply.get("completion_probabilities", [])]


def ours(model, prompts, top, greedy=0):
    lines = "".join(" ".join(map(str, prompt)) + "\n" for prompt in prompts)
    done = subprocess.run([LOGITS_DUMP, model, str(top), str(greedy)], input=lines, stdout=subprocess.PIPE, check=True,
                          text=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(prompts)
    return [dict(map(tuple, answer["top"])) for answer in answers], [answer["greedy"] for answer in answers]


def chat(question):
    return f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"


def differences(model, prompts, top):
    """|log p - log p'| of the reference's `top` likeliest next tokens of every prompt."""
    reference = Reference(model)
    found, _ = ours(model, prompts, 100_000)
    differences = []
    for prompt, mine in zip(prompts, found):
        for _, theirs in reference.complete(prompt, 1, top):
            differences += [abs(mine[token] - logprob) for token, logprob in theirs.items()]
    assert len(differences) >= 0.6 * top * len(prompts)  # it shows none where a token is but part of a character
    return differences


@pytest.mark.parametrize("fields, top", [
    ({}, 20), ({"vocab": "spm", "seed": 5}, 20),
    ({"layers": 4, "heads": 6, "kv_heads": 2, "d": 192, "ff": 256, "tied": "no"}, 1),
], ids=["plain", "spm", "deeper"])
def test_f32_weights_agree_to_a_thousandth(tmp_path, fields, top):
    model = make_tiny_model(tmp_path / "tiny.gguf", type="f32", **fields)
    prompts = [[(7 * i * i + 11 * n) % 250 + 3 for i in range(n)] for n in range(1, 200, 3)]
    found = differences(model, prompts, top)
    assert statistics.fmean(found) <= 0.001, f"mean {statistics.fmean(found):.5f}, max {max(found):.5f}"


@pytest.mark.parametrize("type", ["f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"])
def test_every_type_of_weights_agrees_within_its_rounding(tmp_path, type):
    model = make_tiny_model(tmp_path / "tiny.gguf", type=type)
    prompts = [[(5 * i * i + 13 * n) % 250 + 3 for i in range(n)] for n in range(1, 150, 6)]
    found = differences(model, prompts, top=20)
    assert statistics.fmean(found) <= 0.08, f"mean {statistics.fmean(found):.5f}, max {max(found):.5f}"


def test_the_default_model_agrees_to_five_hundredths(default_model):
    reference = Reference(default_model)
    prompts = []
    for text in TEXTS:
        tokens = reference.tokenize(text)
        prompts += [tokens[:end] for end in range(8, len(tokens), 3)]
    for question in QUESTIONS:
        prompt = reference.tokenize(chat(question))
        answer = [token for token, _ in reference.complete(prompt, 24, 1)]
        prompts += [prompt + answer[:end] for end in range(0, len(answer), 3)]
    assert len(prompts) >= 100
    found = differences(default_model, prompts, top=1)
    assert statistics.fmean(found) <= 0.05, f"mean {statistics.fmean(found):.4f} over {len(found)}, max {max(found):.4f}"


def test_greedy_answers_are_equal_where_the_margin_is_wide(default_model):
    reference = Reference(default_model)
    prompts = [reference.tokenize(chat(question)) for question in QUESTIONS]
    prompts += [reference.tokenize(text)[:30] for text in TEXTS]
    _, answers = ours(default_model, prompts, 1, greedy=24)
    equal = 0
    for prompt, mine in zip(prompts, answers):
        steps = reference.complete(prompt, 24, 2)
        assert steps
        for (token, likeliest), found in zip(steps, mine):
            if token == found:
                equal += 1
                continue
            first, second = sorted(likeliest.values(), reverse=True)
            assert first - second < 0.5, f"{found} for {token}, whose margin is {first - second:.2f}"
            break  # another token, another text: nothing to compare behind it
    assert equal >= 100
