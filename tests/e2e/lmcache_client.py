"""What LMCache's own remote connectors make of the Redis port; run by a Python that has the package `lmcache`.

    python lmcache_client.py SCHEME PORT_TO_WRITE_TO PORT_TO_READ_FROM CHUNKS

Writes chunks as LMCache does at one port, reads them at the other, and says as JSON how many were whole there.
"""

import asyncio
import json
import os
import sys
import threading
import time

import torch
from lmcache.utils import CacheEngineKey
from lmcache.v1.config import LMCacheEngineConfig
from lmcache.v1.memory_management import MemoryFormat
from lmcache.v1.metadata import LMCacheMetadata
from lmcache.v1.storage_backend.connector import CreateConnector
from lmcache.v1.storage_backend.local_cpu_backend import LocalCPUBackend

PATIENCE_SECONDS = 30


def main(scheme: str, write_port: str, read_port: str, chunks: str) -> None:
    # Chunks of 256 tokens of a model of 8 layers, 4 KV heads of 64: 2 MiB each.
    shape = (8, 2, 256, 4, 64)
    metadata = LMCacheMetadata(model_name="model", world_size=1, local_world_size=1, worker_id=0, local_worker_id=0,
                               kv_dtype=torch.float16, kv_shape=shape)
    config = LMCacheEngineConfig.from_dict({
        "chunk_size": 256, "local_cpu": False, "max_local_cpu_size": 0.25, "save_unfull_chunk": False,
        # A key of its own for what a chunk is, or none.
        "extra_config": {"save_chunk_meta": scheme == "redis"},
    })
    backend = LocalCPUBackend(config, metadata)
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()

    def run(coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(60)

    def connect(port):
        return CreateConnector(f"{scheme}://127.0.0.1:{port}", loop, backend, config, metadata)

    writer, reader = connect(write_port), connect(read_port)
    keys = [CacheEngineKey(f"model-of-{scheme}", 1, 0, 0xABC000 + number, torch.float16)
            for number in range(int(chunks))]
    written = []
    for number, key in enumerate(keys):
        assert not run(reader.exists(key))
        chunk = backend.allocate(metadata.get_shapes(), metadata.get_dtypes(), MemoryFormat.KV_2LTD)
        chunk.tensor.copy_(torch.randn(chunk.tensor.shape, generator=torch.Generator().manual_seed(number)))
        written.append(chunk.tensor.clone())
        run(writer.put(key, chunk))  # and gives the chunk back
    whole = 0
    deadline = time.monotonic() + PATIENCE_SECONDS
    for key, tensor in zip(keys, written):
        while not run(reader.exists(key)) and time.monotonic() < deadline:
            time.sleep(0.01)
        chunk = run(reader.get(key))
        if chunk is not None:
            whole += int(torch.equal(chunk.tensor, tensor))
            chunk.ref_count_down()
    print(json.dumps({"chunks": len(keys), "bytes": written[0].nbytes, "whole": whole}), flush=True)
    # Closing some of the connectors waits for good on their own queues.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
