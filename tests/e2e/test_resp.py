"""The Redis port of a peer, with real clients of Redis and Valkey."""

import contextlib
import os
import shutil
import socket
import subprocess
import threading
import time

import pytest
import redis

from bench.cluster import Cluster, free_port, wait_for
from test_api_keys import KeyFile


def resp_flags():
    held, port = free_port(socket.SOCK_STREAM)
    held.close()
    return port, [f"--kv-resp-listen=127.0.0.1:{port}", "--kv-resp-memory-mib=64"]


@pytest.fixture(scope="module")
def served(tmp_path_factory, tiny_model):
    port, flags = resp_flags()
    with Cluster(tmp_path_factory.mktemp("cluster"), tiny_model, peers=1, replicas=1, flags=flags) as cluster:
        yield cluster, port


@pytest.fixture(params=[2, 3])
def client(served, request):
    with redis.Redis(port=served[1], protocol=request.param, socket_timeout=60) as client:
        yield client


def test_values_come_back(client):
    for size in (0, 1, 100, 16_383, 16_384, 1_000_000, 20_000_000):
        value = os.urandom(size)
        assert client.set(f"size {size}", value)
        assert client.get(f"size {size}") == value
        assert client.strlen(f"size {size}") == size
    assert client.get("nobody") is None
    assert client.mget("size 1", "nobody", "size 100")[1] is None


def test_times_to_live_are_set_seen_and_lifted(client):
    client.setex("t", 100, "v")
    assert 98 <= client.ttl("t") <= 100
    client.set("t", "w", keepttl=True)
    assert client.pttl("t") > 90_000
    assert client.persist("t") and client.ttl("t") == -1
    assert client.expire("t", 50) and client.getex("t", px=300) == b"w"
    wait_for(lambda: client.get("t") is None, 5, "the value expires")
    assert client.ttl("t") == -2


def test_a_pipeline_that_is_a_transaction_writes_nothing(client):
    with pytest.raises(redis.ResponseError, match="MULTI is not supported"):
        client.pipeline().set("never", "1").get("never").execute()
    assert client.get("never") is None


def test_many_keys_and_long_pipelines(client):
    keys = [f"many {i}" for i in range(6000)]
    assert client.mset({key: key for key in keys})
    assert client.mget(keys) == [key.encode() for key in keys]
    pipeline = client.pipeline(transaction=False)
    for key in keys:
        pipeline.get(key)
    assert pipeline.execute() == [key.encode() for key in keys]
    assert client.getdel("many 1") == b"many 1" and client.getdel("many 1") is None
    assert client.delete(*keys) == len(keys) - 1
    assert client.type("many 2") == b"none"


def test_an_http_request_closes_without_an_answer(served):
    body = b"SET from-a-page 1\r\n"
    with socket.create_connection(("127.0.0.1", served[1]), 10) as page:
        page.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\ncontent-length: 19\r\n\r\n" + body)
        with contextlib.suppress(ConnectionResetError):
            assert page.recv(1000) == b""
    with redis.Redis(port=served[1]) as client:
        assert client.get("from-a-page") is None


def test_commands_that_clients_send(client):
    assert client.ping()
    assert client.echo("hello") == b"hello"
    assert client.info()["redis_version"] == "7.0.0"
    client.set("a", "1")
    client.set("b", "2")
    assert client.exists("a", "b", "c") == 2
    assert client.delete("a") == 1
    assert client.unlink("b", "c") == 1
    assert client.exists("a", "b") == 0
    assert client.set("n", "1", nx=True)
    assert client.set("n", "2", nx=True) is None
    assert client.set("n", "3", xx=True, get=True) == b"1"
    client.delete("n")
    client.set("short", "1", px=150)
    assert client.get("short") == b"1"
    deadline = time.monotonic() + 5
    while client.get("short") is not None:
        assert time.monotonic() < deadline
    with pytest.raises(redis.ResponseError):
        client.execute_command("FLUSHALL")


def test_keys_are_listed_at_once(client):
    for number in range(20):
        client.set(f"list {number}", "x")
    # On the disk, on their way there, or both.
    assert len(set(client.scan_iter(match="list *", count=5))) == 20
    for number in range(20):
        client.delete(f"list {number}")


def test_pipelined_requests_are_answered_in_order(client):
    pipe = client.pipeline(transaction=False)
    for number in range(200):
        pipe.set(f"pipe {number}", str(number) * 1000)
        pipe.get(f"pipe {number}")
    answers = pipe.execute()
    assert answers[1::2] == [(str(number) * 1000).encode() for number in range(200)]


def test_many_clients_see_whole_values(served):
    wrong = []

    def work(seed):
        with redis.Redis(port=served[1]) as mine:
            for turn in range(40):
                key = f"shared {(seed + turn) % 5}"
                mine.set(key, bytes([seed]) * 300_000)
                value = mine.get(key)
                if value is not None and (len(value) != 300_000 or len(set(value)) != 1):
                    wrong.append(key)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_bytes_that_lmcache_compares_with(served):
    def ask(connection, request, size):
        connection.sendall(request)
        answer = b""
        while len(answer) < size:
            answer += connection.recv(size - len(answer))
        return answer

    with socket.create_connection(("127.0.0.1", served[1])) as connection:
        key = b"model@1@0@abc@half"
        name = b"$%d\r\n%s\r\n" % (len(key), key)
        assert ask(connection, b"*2\r\n$6\r\nEXISTS\r\n" + name, 4) == b":0\r\n"
        assert ask(connection, b"*3\r\n$3\r\nSET\r\n" + name + b"$3\r\nabc\r\n", 5) == b"+OK\r\n"
        assert ask(connection, b"*2\r\n$6\r\nEXISTS\r\n" + name, 4) == b":1\r\n"
        assert ask(connection, b"*2\r\n$3\r\nGET\r\n" + name, 9) == b"$3\r\nabc\r\n"


def test_valkey_glide_stores_and_reads(served):
    glide = pytest.importorskip("glide_sync")
    config = glide.GlideClientConfiguration([glide.NodeAddress("127.0.0.1", served[1])], request_timeout=10_000)
    client = glide.GlideClient.create(config)
    value = os.urandom(1_000_000)
    assert client.set("glide", value) == "OK"
    assert client.get("glide") == value
    assert client.exists(["glide", "nobody"]) == 1
    assert client.delete(["glide"]) == 1
    client.close()


def test_redis_cli_and_benchmark_run(served):
    if not shutil.which("redis-cli"):
        pytest.skip("redis-tools are missing: tools/setup --bench")
    run = subprocess.run(["redis-cli", "-p", str(served[1]), "set", "cli", "value"], capture_output=True, text=True)
    assert run.stdout == "OK\n"
    run = subprocess.run(["redis-benchmark", "-p", str(served[1]), "-t", "ping,set,get", "-n", "300", "-c", "4", "-d",
                          "20000", "-q"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and "GET" in run.stdout, run.stdout + run.stderr


def test_values_survive_kill_9(tmp_path, tiny_model):
    port, flags = resp_flags()
    with Cluster(tmp_path, tiny_model, peers=1, replicas=1, flags=flags) as cluster:
        values = {f"key {number}": os.urandom(200_000) for number in range(20)}
        with redis.Redis(port=port) as client:
            for key, value in values.items():
                client.set(key, value)
            client.delete("key 0")
            assert len(set(client.scan_iter(count=100))) == 19
            wait_for(lambda: cluster.peers[0].metric("resp_queued_values") == 0, 10, "everything is stored")
        cluster.peers[0].kill()
        cluster.peers[0].start()
        cluster.wait_ready()
        with redis.Redis(port=port) as client:
            assert client.get("key 0") is None
            for key, value in list(values.items())[1:]:
                assert client.get(key) == value


def test_a_password_is_an_api_key_and_keeps_tenants_apart(tmp_path, tiny_model):
    file = KeyFile(tmp_path / "api-keys.toml")
    admin = file.create("--admin")
    keys = [file.create("--tenant=acme"), file.create("--tenant=other")]
    port, flags = resp_flags()
    flags.append(f"--security-api-keys-file={file.path}")
    with Cluster(tmp_path, tiny_model, peers=1, replicas=1, flags=flags, admin_key=admin):
        acme, other = (redis.Redis(port=port, password=key) for key in keys)
        acme.set("a", "secret")
        assert acme.get("a") == b"secret"
        assert other.get("a") is None
        for password in (None, "wrong", admin):
            with pytest.raises(redis.AuthenticationError):
                redis.Redis(port=port, password=password).get("a")


@pytest.mark.parametrize("junk", [b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", b"*1\r\n$-5\r\n", b"*9999999\r\n",
                                  b"\x16\x03\x01\x02\x00", b"*1\r\n$600000000\r\n", os.urandom(100_000)],
                         ids=["http", "negative", "many", "tls", "huge", "random"])
def test_junk_harms_nobody_else(served, junk):
    with socket.create_connection(("127.0.0.1", served[1])) as connection:
        connection.settimeout(10)
        # Cut off at once, or when the junk has ended.
        with contextlib.suppress(OSError):
            connection.sendall(junk)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
    with redis.Redis(port=served[1]) as client:
        assert client.ping()
