"""Servers that run already as replicas of a peer: what passes, what is retried, and what a client sees of a failure."""

import http.client
import json

import pytest

from attach_server import EVENT, AttachServer
from bench.cluster import Cluster, Peer, free_ports, get_json, make_tiny_model, post_json, wait_for


def attach_flags(*urls: str, **more) -> list[str]:
    flags = {"model-engine": "attach", "model-name": "mock", "attach-urls": ",".join(urls), **more}
    return [f"--{name}={value}" for name, value in flags.items()]


class Attached:
    """One peer over some servers."""

    def __init__(self, directory, servers: list[AttachServer], **flags):
        self.servers = servers
        self.peer = Peer("peer-1", directory, free_ports(1)[0], attach_flags(*(s.url for s in servers), **flags))

    def __enter__(self) -> "Attached":
        self.peer.start()
        self.wait_ready(len(self.servers))
        return self

    def __exit__(self, *_) -> None:
        if self.peer.process.poll() is None:
            self.peer.kill()
        for server in self.servers:
            server.stop()

    def wait_ready(self, replicas: int) -> None:
        wait_for(lambda: self.peer.sees(1, replicas), 20, f"{replicas} replicas ready")

    def ask(self, what: str, **more):
        return post_json(self.peer.url + "/v1/chat/completions", {
            "model": "mock", "messages": [{"role": "user", "content": what}], **more})

    def post(self, body: bytes, **fields) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.peer.http_port, timeout=20)
        connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json", **fields})
        return connection.getresponse()

    def stream(self, what: str) -> http.client.HTTPResponse:
        return self.post(json.dumps({"model": "mock", "stream": True,
                                     "messages": [{"role": "user", "content": what}]}).encode())


@pytest.fixture
def attached(tmp_path):
    with Attached(tmp_path, [AttachServer()]) as attached:
        yield attached


@pytest.fixture
def pair(tmp_path):
    with Attached(tmp_path, [AttachServer(), AttachServer()]) as attached:
        yield attached


def test_bodies_are_relayed_untouched_and_secrets_are_not(tmp_path):
    key = tmp_path / "key"
    key.write_text("sk-of-the-server\n")
    with Attached(tmp_path / "peer", [AttachServer()], **{"attach-api-key-file": key}) as attached:
        body = b'{ "model":"mock", "unknown" : [1.0, 1e3, "\\u00e9"],\n"messages":[{"role":"user","content":"whole"}]}'
        reply = attached.post(body, authorization="Bearer sk-of-the-client", **{"x-custom": "kept", "x-request-id": "r-7"})
        assert reply.status == 200
        assert reply.read() == b'{"object": "chat.completion", "choices": [], "unknown": [1.0, null]}'
        assert reply.headers["x-exaserve-replica"]
        head, seen = attached.servers[0].requests[-1]
        assert seen == body
        assert head.startswith("POST /v1/chat/completions HTTP/1.1")
        assert "x-custom: kept" in head and "x-request-id: r-7" in head
        assert "authorization: Bearer sk-of-the-server" in head and "sk-of-the-client" not in head


def test_streams_come_event_by_event(attached):
    reply = attached.stream("stream")
    assert reply.headers["content-type"] == "text/event-stream"
    first = reply.read(len(EVENT % "word 0 "))
    assert first.decode() == EVENT % "word 0 "
    assert reply.read().decode().endswith("data: [DONE]\n\n")


def test_large_answers_pass_with_their_length(attached):
    reply = attached.post(b'{"model":"mock","messages":[{"role":"user","content":"large"}]}')
    assert reply.status == 200
    body = reply.read()
    assert reply.headers["content-length"] == str(len(body))
    assert len(json.loads(body)["text"]) == 1_000_000


def test_a_clients_mistake_is_the_servers_answer(attached):
    for status in (400, 404, 422):
        code, _, body = attached.ask(f"status {status}")
        assert code == status
        assert json.loads(body)["error"]["message"] == "so says the server"
    assert len(attached.servers[0].requests) == 3


def test_a_full_server_is_busy_and_its_hint_reaches_the_client(attached):
    code, headers, _ = attached.ask("status 503")
    assert code == 503
    assert headers["retry-after"] == "9"
    assert headers["x-should-retry"] == "true"


def test_why_the_server_failed_is_told(attached):
    code, _, body = attached.ask("status 500")
    assert code == 502
    message = json.loads(body)["error"]["message"]
    assert message.startswith("The replicas that were tried failed: the server answered 500: ")
    assert "so says the server" in message
    lines = [line for line in attached.peer.log.splitlines() if "requests to the server fail" in line]
    assert len(lines) == 1
    assert attached.servers[0].url in lines[0] and "answered 500" in lines[0] and "so says" not in lines[0]


def test_a_request_that_breaks_before_its_answer_goes_to_the_other_server(pair):
    first, second = pair.servers
    first.answer = lambda connection, request: AttachServer.reset(connection)
    for number in range(6):
        code, _, body = post_json(pair.peer.url + "/v1/chat/completions", {
            "model": "mock", "user": f"u-{number}", "messages": [{"role": "user", "content": "whole"}]})
        assert code == 200, body
    assert len(second.requests) == 6


def test_a_stream_that_breaks_ends_with_an_error_event(attached):
    text = attached.stream("stream cut").read().decode()
    events = text.split("\n\n")
    assert events[:5] == [(EVENT % f"word {n} ").strip() for n in range(5)]
    assert json.loads(events[5].removeprefix("data: "))["error"]["code"] == "upstream_failed"
    assert "half" not in text


def test_a_whole_answer_that_breaks_looks_broken(attached):
    reply = attached.post(b'{"model":"mock","messages":[{"role":"user","content":"cut whole"}]}')
    with pytest.raises(http.client.IncompleteRead):
        reply.read()


def test_connections_that_the_server_closes_between_requests_are_not_felt(attached):
    for _ in range(20):
        code, _, body = attached.ask("once then close")
        assert (code, body) == (200, b"{}")


def test_a_client_that_leaves_ends_the_servers_work(attached):
    reply = attached.stream("stream for good")
    reply.read(100)
    reply.close()
    assert attached.servers[0].gone.wait(5)
    wait_for(lambda: attached.peer.metric("replica_in_flight") == 0, 5, "the place to come back")


def test_a_dead_server_makes_its_replica_unready_until_it_is_back(attached):
    server = attached.servers[0]
    server.stop()
    attached.wait_ready(0)
    code, _, _ = attached.ask("whole")
    assert code == 503
    server.start()
    attached.wait_ready(1)
    assert attached.ask("whole")[0] == 200
    server.healthy = False
    attached.wait_ready(0)


def test_fields_that_are_too_large_to_pass_on_leave_a_trace(attached):
    body = b'{"model":"mock","messages":[{"role":"user","content":"whole"}]}'
    assert attached.post(body, **{"x-small": "kept"}).status == 200
    assert attached.peer.metric("header_fields_left_out_total") == 0
    fields = {f"x-{number}": "y" * 1000 for number in range(10)}
    assert attached.post(body, **fields, **{"x-huge": "z" * 2000}).status == 200
    assert "x-7: y" in attached.servers[0].requests[-1][0] and "x-8" not in attached.servers[0].requests[-1][0]
    assert attached.peer.metric("header_fields_left_out_total") == 3


def test_a_drain_lets_streams_end_and_then_says_why_not(tmp_path):
    with Attached(tmp_path, [AttachServer()], **{"drain-seconds": "1"}) as attached:
        reply = attached.stream("stream for good")
        reply.read(100)
        attached.peer.terminate()
        last = reply.read().decode().split("\n\n")[-2]
        assert json.loads(last.removeprefix("data: "))["error"]["code"] == "upstream_failed"
        assert attached.peer.wait(20) == 0


def test_any_peer_reaches_an_attached_server(tmp_path, tiny_model):
    with AttachServer() as server, Cluster(tmp_path / "cluster", tiny_model, peers=1, replicas=0) as cluster:
        entry = cluster.peers[0]
        peer = Peer("peer-2", tmp_path / "peer-2", free_ports(1)[0],
                    attach_flags(server.url, seeds=f"127.0.0.1:{entry.gossip_port}"))
        peer.start()
        try:
            wait_for(lambda: entry.sees(2, 1), 20, "the attached replica")
            for what in ("whole", "large", "status 400"):
                body = {"model": "mock", "messages": [{"role": "user", "content": what}]}
                code, _, answer = post_json(entry.url + "/v1/chat/completions?api-version=1", body)
                assert code == (400 if what.startswith("status") else 200)
                assert json.loads(answer)
            assert server.requests[-1][0].startswith("POST /v1/chat/completions?api-version=1 ")
        finally:
            peer.kill()


def test_llama_cpp_stands_behind_a_peer(tmp_path, tiny_model):
    from llama_cpp import LlamaCpp

    server = LlamaCpp(tiny_model, 512)
    url = server.server.listening_address
    name = get_json(url + "/v1/models")["data"][0]["id"]
    peer = Peer("peer-1", tmp_path / "peer", free_ports(1)[0], attach_flags(url, **{"model-name": name}))
    peer.start()
    try:
        wait_for(lambda: peer.sees(1, 1), 20, "the replica")
        import openai

        client = openai.OpenAI(base_url=peer.url + "/v1", api_key="none")
        request = {"model": name, "prompt": "Hello", "max_tokens": 8, "temperature": 0}
        direct = server.post("/v1/completions", request)["choices"][0]["text"]
        assert client.completions.create(**request).choices[0].text == direct
        assert "".join(part.choices[0].text for part in client.completions.create(**request, stream=True)
                       if part.choices) == direct
    finally:
        peer.kill()


def test_in_hash_mode_the_builtin_engine_warms_up_and_answers(tmp_path):
    model = make_tiny_model(tmp_path / "tiny.gguf")
    with Cluster(tmp_path, model, peers=2, replicas=1, flags=["--http-routing=hash"]) as cluster:
        for peer in cluster.peers:
            status, _, reply = post_json(f"{peer.url}/v1/completions",
                                         {"model": cluster.model, "prompt": "Hello", "max_tokens": 4})
            assert status == 200 and json.loads(reply)["usage"]["completion_tokens"] > 0


def test_in_hash_mode_bodies_are_not_read_and_headers_decide(tmp_path):
    servers = [AttachServer() for _ in range(4)]
    with Attached(tmp_path, servers, **{"http-routing": "hash"}) as attached:
        body = b'{"model":"whatever","messages":[{"role":"user","content":"whole"}]}'
        seen = set()
        for session in range(8):
            replicas = {attached.post(body, **{"x-session-id": f"s-{session}"}).headers["x-exaserve-replica"]
                        for _ in range(3)}
            assert len(replicas) == 1
            seen |= replicas
        assert len(seen) > 1
        assert attached.post(body, **{"x-model": "mock"}).status == 200
        reply = attached.post(body, **{"x-model": "other"})
        assert reply.status == 404
        assert json.loads(reply.read())["error"]["code"] == "model_not_found"
        # Not JSON at all: what that means is the server's to say.
        reply = attached.post(b'["whole"')
        assert (reply.status, reply.read()) == (400, b"not JSON, says the server")
