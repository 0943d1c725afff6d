"""llama.cpp's server, for tests that compare with it."""

import json
import urllib.request


class LlamaCpp:
    """One model file on one thread. `post` speaks llama-server's HTTP API. With `embeds` it makes embeddings, the mean
    over tokens, and nothing else."""

    def __init__(self, model, context: int, embeds: bool = False):
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(model)
        params.n_ctx = context
        params.n_parallel = 1
        params.n_gpu_layers = 0
        params.cpuparams.n_threads = 1
        params.cpuparams_batch.n_threads = 1
        params.use_jinja = True
        params.warmup = False
        params.verbosity = 0
        if embeds:
            params.embedding = True
            params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
        self.server = xllamacpp.Server(params)

    def post(self, path: str, body):
        request = urllib.request.Request(self.server.listening_address + path, json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as response:
            return json.load(response)
