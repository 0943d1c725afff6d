"""Bad input gets a clear error and loses nothing."""

import http.client
import json
import random
import re
import socket

import pytest

from bench.cluster import BINARY, Cluster, Peer, exaserve, free_ports, listen_flags, post_json, wait_for

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, tiny_model):
    with Cluster(tmp_path_factory.mktemp("cluster"), tiny_model, peers=1, replicas=1) as cluster:
        yield cluster


@pytest.fixture
def peer(cluster):
    """The one peer, which must still answer afterwards."""
    yield cluster.peers[0]
    status, _, body = ask(cluster.peers[0], "Hello", max_tokens=2)
    assert status == 200, body


def ask(peer: Peer, content: str, **more):
    model = json.loads(http_get(peer, "/v1/models"))["data"][0]["id"]
    return post_json(peer.url + "/v1/chat/completions",
                     {"model": model, "messages": [{"role": "user", "content": content}], **more})


def http_get(peer: Peer, path: str) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", peer.http_port, timeout=10)
    connection.request("GET", path)
    return connection.getresponse().read()


def error_of(body: bytes) -> dict:
    error = json.loads(body)["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return error


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{\"model\":1}", b"\xff\xfe", b"[" * 100000])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
def test_malformed_json_is_400(peer, path, body):
    status, _, reply = post_json(peer.url + path, body)
    assert status == 400
    assert error_of(reply)["type"] == "invalid_request_error"


def test_random_bodies_never_cost_more_than_a_400(peer):
    rng = random.Random(7)
    valid = b'{"model":"tiny","messages":[{"role":"user","content":"hi"}],"max_tokens":1,"stop":["a"]}'
    for _ in range(200):
        body = bytearray(valid)
        for _ in range(rng.randint(1, 8)):
            body[rng.randrange(len(body))] = rng.randrange(256)
        status, _, reply = post_json(peer.url + "/v1/chat/completions", bytes(body))
        assert status in (200, 400, 404), (bytes(body), reply)


def test_an_unknown_model_is_404(peer):
    status, _, body = post_json(peer.url + "/v1/chat/completions",
                                {"model": "other", "messages": [{"role": "user", "content": "hi"}]})
    assert status == 404
    assert error_of(body)["code"] == "model_not_found"


def test_unknown_paths_and_methods_are_named(peer):
    assert post_json(peer.url + "/v1/nothing", {})[0] == 404
    connection = http.client.HTTPConnection("127.0.0.1", peer.http_port, timeout=10)
    connection.request("DELETE", "/v1/models")
    reply = connection.getresponse()
    assert reply.status == 405
    assert "GET" in reply.getheader("allow")


@pytest.mark.parametrize("stream", [False, True])
def test_an_over_long_prompt_is_400_before_any_header(peer, stream):
    status, headers, body = ask(peer, "word " * 5000, stream=stream)
    assert status == 400
    assert headers["content-type"] == "application/json"
    assert error_of(body)["code"] == "context_length_exceeded"


def test_a_body_that_is_too_large_is_413(peer):
    connection = http.client.HTTPConnection("127.0.0.1", peer.http_port, timeout=10)
    connection.putrequest("POST", "/v1/chat/completions")
    connection.putheader("content-type", "application/json")
    connection.putheader("content-length", str(64 * MIB))
    connection.endheaders()
    reply = connection.getresponse()
    assert reply.status == 413
    assert error_of(reply.read())["type"]


def test_bytes_that_are_not_http_are_refused(peer):
    for garbage in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET\r\n\r\n", b"\x00" * 4096):
        with socket.create_connection(("127.0.0.1", peer.http_port), timeout=15) as connection:
            connection.sendall(garbage)
            answer = b""
            while piece := connection.recv(4096):
                answer += piece
            assert answer == b"" or answer.startswith(b"HTTP/1.1 4"), answer


def test_random_datagrams_are_counted_and_ignored(peer):
    rng = random.Random(3)
    before = peer.admin("status")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for size in [0, 1, 2, 7, 8, 64, 1400, 9000] * 10:
            sender.sendto(rng.randbytes(size), ("127.0.0.1", peer.gossip_port))
    # The system may lose some of a burst; most must arrive to be counted.
    wait_for(lambda: peer.admin("status")["gossip_ignored"] >= before["gossip_ignored"] + 60, 10,
             "random datagrams are counted")
    assert peer.admin("status")["peers"] == before["peers"]


def test_random_bytes_on_a_link_close_it(peer):
    rng = random.Random(5)
    for size in (1, 16, 4096, 100000):
        with socket.create_connection(("127.0.0.1", peer.link_port), timeout=15) as connection:
            try:
                connection.sendall(rng.randbytes(size))
                while connection.recv(4096):
                    pass
            except (ConnectionResetError, BrokenPipeError):
                pass  # closed with bytes unread


def start_and_fail(tmp_path, *flags: str):
    done = exaserve("peer", f"--data-dir={tmp_path / 'data'}", *listen_flags(free_ports(1)[0]), *flags)
    assert done.returncode > 0, "it crashed or served"
    return done


@pytest.mark.parametrize("keep", [0, 3, 24, 1000, 0.5, 0.999])
def test_a_truncated_model_is_exit_code_2_with_its_offset(tmp_path, tiny_model, keep):
    whole = tiny_model.read_bytes()
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(whole[:keep if isinstance(keep, int) else int(len(whole) * keep)])
    done = start_and_fail(tmp_path, f"--model-path={broken}")
    assert done.returncode == 2
    assert "broken.gguf" in done.stderr
    assert re.search(r"offset 0x[0-9a-f]+", done.stderr) or keep == 0, done.stderr


@pytest.mark.parametrize("place, named", [
    (0, "offset 0x0"),  # magic
    (4, "offset 0x4"),  # version
    (8, "offset 0x"),   # number of tensors
    (16, "offset 0x"),  # number of keys
    (24, "offset 0x"),  # length of the first key
    (32, "general.architecture"),  # the first key itself, which is then missing
])
def test_a_corrupt_model_is_exit_code_2_and_says_where(tmp_path, tiny_model, place, named):
    whole = tiny_model.read_bytes()
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(whole[:place] + b"\xff" * 8 + whole[place + 8:])
    done = start_and_fail(tmp_path, f"--model-path={broken}")
    assert done.returncode == 2, done.stderr
    assert "broken.gguf" in done.stderr and named in done.stderr, done.stderr


def test_weights_that_are_no_numbers_are_exit_code_2(tmp_path, tiny_model):
    whole = tiny_model.read_bytes()
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(whole[:-4] + b"\x00\x00\xc0\x7f")
    done = start_and_fail(tmp_path, f"--model-path={broken}")
    assert done.returncode == 2, done.stderr
    assert "no finite numbers" in done.stderr, done.stderr


def test_a_model_that_computes_no_numbers_is_exit_code_2(tmp_path, tiny_model):
    whole = tiny_model.read_bytes()
    broken = tmp_path / "broken.gguf"
    # Finite each, but not what they add up to.
    broken.write_bytes(whole[:-4 * 4096] + b"\xff\xff\x7f\x7f" * 4096)
    done = start_and_fail(tmp_path, f"--model-path={broken}")
    assert done.returncode == 2, done.stderr
    assert "gives no token" in done.stderr, done.stderr


def test_a_template_that_cannot_be_trusted_refuses_chats_alone(tmp_path, tiny_model):
    whole = tiny_model.read_bytes()
    loop = b"{% for message in messages %}"
    assert whole.count(loop) == 1
    doubtful = tmp_path / "doubtful.gguf"
    doubtful.write_bytes(whole.replace(loop, b"{# <|im_sep|> #}".ljust(len(loop))))
    with Cluster(tmp_path / "cluster", doubtful, peers=1, replicas=1) as cluster:
        peer = cluster.peers[0]
        chat = {"model": cluster.model, "messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}
        status, _, reply = post_json(peer.url + "/v1/chat/completions", chat)
        assert status == 400 and "<|im_sep|>" in error_of(reply)["message"]
        status, _, _ = post_json(peer.url + "/v1/completions", {"model": cluster.model, "prompt": "hi", "max_tokens": 1})
        assert status == 200
        assert "chats are refused, completions are not" in peer.log


def test_a_model_that_is_not_there_is_exit_code_2(tmp_path):
    done = start_and_fail(tmp_path, f"--model-path={tmp_path / 'none.gguf'}")
    assert done.returncode == 2
    assert done.stderr.count("none.gguf") == 1


@pytest.mark.parametrize("text, named", [
    ("[listen]\nhtpp = \"127.0.0.1:0\"\n", "listen.htpp"),
    ("[model]\nreplicas = 65\n", "model.replicas"),
    ("drain_seconds = \"soon\"\n", "drain_seconds"),
    ("rack = \n", "peer.toml:1"),
])
def test_a_bad_configuration_is_exit_code_2_and_named(tmp_path, tiny_model, text, named):
    config = tmp_path / "peer.toml"
    config.write_text(text)
    done = start_and_fail(tmp_path, f"--model-path={tiny_model}", f"--config={config}")
    assert done.returncode == 2
    assert named in done.stderr, done.stderr


def test_a_bad_flag_is_exit_code_2_and_named(tmp_path, tiny_model):
    done = start_and_fail(tmp_path, f"--model-path={tiny_model}", "--model-replicas=many")
    assert done.returncode == 2
    assert "model.replicas" in done.stderr and "many" in done.stderr
    assert exaserve("peer", "--no-such-flag").returncode == 2


@pytest.mark.parametrize("which, kind", [
    ("http", socket.SOCK_STREAM),
    ("link", socket.SOCK_STREAM),
    ("gossip", socket.SOCK_DGRAM),
])
def test_a_taken_port_is_exit_code_3_and_named(tmp_path, tiny_model, which, kind):
    with socket.socket(socket.AF_INET, kind) as holder:
        holder.bind(("127.0.0.1", 0))
        if kind == socket.SOCK_STREAM:
            holder.listen()
        port = holder.getsockname()[1]
        ports = tuple(port if door == which else free
                      for door, free in zip(("http", "link", "gossip"), free_ports(1)[0]))
        done = exaserve("peer", f"--data-dir={tmp_path / 'data'}", f"--model-path={tiny_model}", *listen_flags(ports))
    assert done.returncode == 3, done.stderr
    assert str(port) in done.stderr


def test_a_data_directory_in_use_is_exit_code_6(cluster):
    done = exaserve("peer", f"--data-dir={cluster.peers[0].directory / 'data'}", "--model-replicas=0",
                    *listen_flags(free_ports(1)[0]))
    assert done.returncode == 6, done.stderr


def test_the_binary_is_the_one_under_test():
    assert BINARY.is_file(), f"{BINARY} is missing: build it, or name it with EXASERVE_BIN"
