"""HTTPS at the door with real clients: certificates that are replaced under load, web pages, the access log, traces."""

import http.client
import json
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.request

import openai
import pytest

from bench.cluster import Peer, exaserve, free_ports, wait_for

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PAGE = "https://chat.example.org"


def make_pair(certificate, key, name: str) -> None:
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "1", "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key,
                    "-out", certificate], check=True, capture_output=True)


class Door(Peer):
    """A peer of the null engine whose door speaks HTTPS."""

    def __init__(self, directory):
        directory.mkdir()
        self.certificate = directory / "certificate.pem"
        self.key = directory / "key.pem"
        self.access_log = directory / "access.log"
        make_pair(self.certificate, self.key, "first")
        super().__init__("door", directory, free_ports(1)[0], [
            "--model-engine=null", "--null-decode-us=2000", f"--http-certificate-file={self.certificate}",
            f"--http-key-file={self.key}", f"--http-cors-origins={PAGE}", f"--http-access-log={self.access_log}",
            "--http-threads=2"])

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.http_port}"

    def context(self, certificate=None) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(certificate or self.certificate))

    def get(self, path: str, **headers):
        request = urllib.request.Request(self.url + path, headers=headers)
        return urllib.request.urlopen(request, timeout=10, context=self.context())

    def status(self) -> dict:
        done = exaserve("status", "--json", "--peer", self.url, "--ca-file", str(self.certificate))
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def client(self) -> openai.OpenAI:
        return openai.OpenAI(base_url=self.url + "/v1", api_key="sk-secret", max_retries=0,
                             http_client=openai.DefaultHttpxClient(verify=self.context(), timeout=30))

    def lines(self) -> list[dict]:
        return [json.loads(line) for line in self.access_log.read_text().splitlines()]


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    door = Door(tmp_path_factory.mktemp("https") / "peer")
    door.start()
    try:
        # Ready means that the peer's own generations came out of its HTTPS door.
        wait_for(lambda: door.status().get("replicas_ready") == 1, 30, "the replica is ready")
        yield door
    finally:
        door.kill()


def subject(door) -> str:
    """Whose certificate a fresh connection gets, trusted or not."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", door.http_port), timeout=10) as raw:
        with context.wrap_socket(raw) as secure:
            pem = ssl.DER_cert_to_PEM_cert(secure.getpeercert(True))
    shown = subprocess.run(["openssl", "x509", "-noout", "-subject"], input=pem, text=True, check=True,
                           capture_output=True)
    return shown.stdout.rsplit("=", 1)[1].strip()


def test_the_official_client_streams_over_https(door):
    with door.client() as client:
        model = client.models.list().data[0].id
        stream = client.chat.completions.create(model=model, messages=[{"role": "user", "content": "hi"}],
                                                max_tokens=20, stream=True)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
    assert text


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_both_versions_are_spoken(door, version):
    context = door.context()
    context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(["h2", "http/1.1"])
    with socket.create_connection(("127.0.0.1", door.http_port), timeout=10) as raw:
        with context.wrap_socket(raw, server_hostname="localhost") as secure:
            assert secure.selected_alpn_protocol() == "http/1.1"
            assert "GCM" in secure.cipher()[0] or "CHACHA" in secure.cipher()[0]
            secure.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = b""
            while piece := secure.recv(4096):
                answer += piece
            assert answer.startswith(b"HTTP/1.1 200 ")


def test_the_command_line_trusts_only_whom_it_is_told(door):
    done = exaserve("status", "--peer", door.url)
    assert done.returncode == 4
    assert "not trusted" in done.stderr
    assert exaserve("status", "--peer", door.url, "--ca-file", "/nowhere").returncode == 2
    assert exaserve("status", "--peer", f"http://127.0.0.1:{door.http_port}").returncode == 5
    shown = exaserve("status", "--peer", door.url, "--ca-file", str(door.certificate))
    assert "https" in shown.stdout and "CN=" in shown.stdout


def test_a_bad_pair_changes_nothing_and_a_good_one_is_taken_without_a_cut(door, tmp_path):
    first = tmp_path / "first.pem"
    first.write_bytes(door.certificate.read_bytes())
    kept = http.client.HTTPSConnection("127.0.0.1", door.http_port, timeout=10, context=door.context())
    kept.request("GET", "/health")
    assert kept.getresponse().read()
    socket_before = kept.sock
    seen = []

    def stream():
        with door.client() as client:
            for chunk in client.completions.create(model="null", prompt="hi", max_tokens=1500, stream=True):
                seen.append(chunk.choices[0].finish_reason if chunk.choices else None)

    streaming = threading.Thread(target=stream)
    streaming.start()
    wait_for(lambda: len(seen) > 10, 10, "the stream has begun")

    good = door.key.read_bytes()
    door.key.write_text("nothing")
    door.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "not used" in door.log, 10, "the log says why")
    assert subject(door) == "first"
    assert door.status()["https"]["failure"]
    door.key.write_bytes(good)

    make_pair(door.certificate, door.key, "second")
    door.process.send_signal(signal.SIGHUP)
    wait_for(lambda: subject(door) == "second", 10, "new connections get the new certificate")
    assert door.status()["https"] == {**door.status()["https"], "subject": "CN=second", "failure": None}
    kept.request("GET", "/health")
    assert kept.getresponse().status == 200
    assert kept.sock is socket_before
    streaming.join(30)
    assert seen[-1] in ("length", "stop")


def test_a_replaced_file_is_taken_without_a_signal(door):
    make_pair(door.certificate, door.key, "third")
    wait_for(lambda: subject(door) == "third", 20, "the files are looked at now and then", interval=0.5)


def test_a_page_of_a_listed_origin_may_and_others_may_not(door):
    def ask(method, origin, path="/v1/chat/completions"):
        connection = http.client.HTTPSConnection("127.0.0.1", door.http_port, timeout=10, context=door.context())
        connection.request(method, path, headers={"Origin": origin, "Access-Control-Request-Method": "POST",
                                                  "Access-Control-Request-Headers": "authorization,content-type"})
        return connection.getresponse()

    asked = ask("OPTIONS", PAGE)
    assert asked.status == 204
    assert asked.getheader("access-control-allow-origin") == PAGE
    assert asked.getheader("access-control-allow-methods") == "POST"
    assert asked.getheader("access-control-allow-headers") == "authorization,content-type"
    assert ask("OPTIONS", "https://evil.example").getheader("access-control-allow-origin") is None
    # An answer names the page too, also one that is an error.
    refused = ask("POST", PAGE)
    assert refused.status == 400
    assert refused.getheader("access-control-allow-origin") == PAGE
    assert refused.getheader("vary") == "origin"
    assert ask("GET", PAGE, "/exaserve/v1/members").getheader("access-control-allow-origin") is None


def test_the_access_log_says_what_happened_and_no_more(door):
    body = json.dumps({"model": "null", "prompt": "a very private question", "max_tokens": 5}).encode()
    request = urllib.request.Request(door.url + "/v1/completions?query=private", body, {
        "authorization": "Bearer sk-private", "x-request-id": "logged-1", "content-type": "application/json",
        "traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"})
    with urllib.request.urlopen(request, timeout=10, context=door.context()) as reply:
        size = len(reply.read())
    line = wait_for(lambda: next((line for line in door.lines() if line["id"] == "logged-1"), None), 5, "it is logged")
    assert line["method"] == "POST" and line["path"] == "/v1/completions" and line["status"] == 200
    assert line["bytes"] == size and line["complete"] is True and line["attempts"] == 1
    assert 0 < line["ttft_ms"] <= line["duration_ms"]
    assert line["trace_id"] == TRACE and line["replica"] and line["peer"]
    assert "private" not in door.access_log.read_text()
    assert "sk-" not in door.access_log.read_text()
    # After a rotation the lines go to the new file.
    door.access_log.rename(door.access_log.with_suffix(".1"))
    door.process.send_signal(signal.SIGHUP)
    wait_for(door.access_log.exists, 5, "the file is opened again")
    door.get("/health", **{"X-Request-Id": "logged-2"}).read()
    wait_for(lambda: any(line["id"] == "logged-2" for line in door.lines()), 5, "lines go to the new file")


def test_a_slow_handshake_holds_nobody_up(door):
    slow = [socket.create_connection(("127.0.0.1", door.http_port), timeout=30) for _ in range(20)]
    began = time.monotonic()
    for connection in slow:
        connection.sendall(b"\x16\x03\x01")
    assert door.get("/health").status == 200
    assert time.monotonic() - began < 5
    slow[0].settimeout(20)
    assert slow[0].recv(1) == b""
    for connection in slow:
        connection.close()


def test_a_peer_with_half_a_pair_does_not_start(tmp_path):
    done = exaserve("peer", f"--data-dir={tmp_path}", "--http-certificate-file=/nowhere/c.pem")
    assert done.returncode == 2
    assert "http.key_file" in done.stderr
