"""Embeddings agree with llama.cpp's mean pooling: the same direction, as near as the arithmetic of the weights allows."""

import openai
import pytest

from bench.cluster import Cluster, make_tiny_model
from llama_cpp import LlamaCpp

INPUTS = [[1, 2, 3], list(range(40, 240)), [5], [200, 100] * 30]


@pytest.mark.parametrize("weights, cosine", [("f32", 0.99999), ("default", 0.995)])
def test_embeddings_point_where_llama_cpps_do(tmp_path, request, weights, cosine):
    model = (request.getfixturevalue("default_model") if weights == "default"
             else make_tiny_model(tmp_path / "tiny.gguf", type=weights))
    reference = LlamaCpp(model, 1024, embeds=True)
    with Cluster(tmp_path, model, peers=1, replicas=1) as cluster:
        with openai.OpenAI(base_url=cluster.peers[0].url + "/v1", api_key="none") as client:
            reply = client.embeddings.create(model=cluster.model, input=INPUTS)
    for tokens, item in zip(INPUTS, reply.data):
        theirs = reference.post("/v1/embeddings", {"input": tokens, "model": "any"})["data"][0]["embedding"]
        assert sum(a * b for a, b in zip(item.embedding, theirs)) > cosine
