"""`exaserve bench` against real peers, and against servers that misbehave."""

import http.server
import json
import os
import pty
import signal
import socket
import socketserver
import subprocess
import threading
import time

import pytest

from bench.cluster import BINARY, Peer, exaserve, free_port, free_ports, wait_for


@pytest.fixture(scope="module")
def peers(tmp_path_factory):
    """Two peers with null replicas: a token takes 2 ms."""
    directory = tmp_path_factory.mktemp("null")
    ports = free_ports(2)
    made = []
    for i, own in enumerate(ports):
        flags = ["--model-engine=null", "--model-replicas=4", "--null-decode-us=2000", "--model-in-flight-limit=64",
                 f"--seeds=127.0.0.1:{ports[1 - i][2]}"]
        made.append(Peer(f"peer-{i + 1}", directory / f"peer-{i + 1}", own, flags))
    try:
        for peer in made:
            peer.start()
        wait_for(lambda: all(peer.sees(2, 8) for peer in made), 60, "both peers see all replicas")
        yield made
    finally:
        for peer in made:
            if peer.process is not None and peer.process.poll() is None:
                peer.kill()


def bench(*arguments: str, targets=(), timeout: float = 60, code: int = 0, **environment: str) -> dict:
    flags = [text for url in targets for text in ("--target", url)]
    done = exaserve("bench", *arguments, *flags, "--json", timeout=timeout, **environment)
    assert done.returncode == code, f"exit code {done.returncode}: {done.stderr}\n{done.stdout}"
    return json.loads(done.stdout)


def test_a_closed_loop_streams_and_measures_what_the_engine_does(peers):
    report = bench("--concurrency", "4", "--requests", "40", "--output-tokens", "30", targets=[peers[0].url])
    assert report["counts"]["requests"] == report["counts"]["succeeded"] == 40
    assert report["counts"]["output_tokens"] == 40 * 30
    assert report["counts"]["events"] > 40 * 15
    assert report["errors"] == {}
    assert report["config"]["model"] == "null"
    # 29 gaps of 2 ms lie between the first and the last token.
    assert 50 < report["percentiles"]["e2e_ms"]["p50"] < 500
    assert report["percentiles"]["ttft_ms"]["p50"] < report["percentiles"]["e2e_ms"]["p50"] / 2
    assert report["slo"]["holds"] is True
    assert report["rates"]["requests_per_s"] * report["measured_s"] == pytest.approx(40, rel=0.01)


def test_answers_in_one_piece_and_completions(peers):
    for api in ("chat", "completions"):
        report = bench("--no-stream", "--api", api, "--requests", "20", "--output-tokens", "5", targets=[peers[0].url])
        assert report["counts"]["succeeded"] == 20
        assert report["counts"]["output_tokens"] == 100
        assert report["percentiles"]["tbt_ms"]["count"] == 0
    report = bench("--api", "completions", "--requests", "20", "--output-tokens", "5", "--turns", "2",
                   targets=[peers[0].url])
    assert report["counts"]["succeeded"] == 20


def test_conversations_move_between_entries_and_keep_their_session(peers):
    report = bench("--concurrency", "4", "--requests", "60", "--turns", "4", "--system-prompts", "2", "--move",
                   "--session-ids", "server", "--output-tokens", "4", targets=[peer.url for peer in peers])
    assert report["counts"]["succeeded"] == 60
    both = [target["succeeded"] for target in report["targets"]]
    assert sum(both) == 60 and min(both) >= 15


def test_an_open_loop_keeps_its_rate_and_leaves_the_warm_up_out(peers):
    report = bench("--rate", "100", "--fixed", "--duration", "2", "--warmup", "1", "--output-tokens", "4",
                   targets=[peers[0].url])
    assert report["counts"]["requests"] == pytest.approx(200, abs=2)
    assert report["measured_s"] == 2
    assert 80 < report["rates"]["requests_per_s"] < 102


def test_a_trace_gives_times_and_lengths(peers, tmp_path):
    trace = tmp_path / "trace.csv"
    rows = "".join(f"{second / 10},GPT-4,{10 + second},{1 + second % 3},0,API log\n" for second in range(20))
    trace.write_text("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n" + rows)
    report = bench("--trace", str(trace), "--trace-speed", "2", targets=[peers[0].url])
    assert report["counts"]["succeeded"] == 20
    assert report["counts"]["output_tokens"] == sum(1 + second % 3 for second in range(20))
    trace.write_text(rows)
    done = exaserve("bench", "--trace", str(trace), "--target", peers[0].url)
    assert done.returncode == 2 and "line 1" in done.stderr
    trace.write_text("Timestamp,Model,Request tokens,Response tokens\n1,x,2,3\n2,x,two,3\n")
    done = exaserve("bench", "--trace", str(trace), "--target", peers[0].url)
    assert done.returncode == 2 and "line 3" in done.stderr and "'two'" in done.stderr


def test_prompts_come_from_a_file(peers, tmp_path):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('Tell me "all"\n{"prompt": "one", "max_tokens": 3}\n'
                       '{"conversations": [{"from": "human", "value": "a"}, {"from": "human", "value": "b"}]}\n')
    report = bench("--prompts", str(prompts), "--concurrency", "1", "--requests", "8", "--output-tokens", "3",
                   targets=[peers[0].url])
    assert report["counts"]["output_tokens"] == 24
    prompts.write_text('fine\n{"prompt": 5}\n')
    done = exaserve("bench", "--prompts", str(prompts), "--target", peers[0].url)
    assert done.returncode == 2 and "line 2" in done.stderr


def test_ctrl_c_gives_what_was_measured_so_far(peers):
    with subprocess.Popen([BINARY, "bench", "--duration", "600", "--warmup", "0", "--concurrency", "4", "--json",
                           "--target", peers[0].url, "--output-tokens", "2"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as running:
        before = peers[0].metric("requests_total")
        wait_for(lambda: peers[0].metric("requests_total") > before + 40, 30, "requests arrive")
        running.send_signal(signal.SIGINT)
        output, errors = running.communicate(timeout=10)
    assert running.returncode == 0, errors
    report = json.loads(output)
    assert report["interrupted"] is True
    assert report["counts"]["succeeded"] > 20
    assert report["counts"]["failed"] == 0


def test_tables_are_plain_text_when_not_on_a_terminal(peers):
    done = exaserve("bench", "--requests", "5", "--output-tokens", "3", "--target", peers[0].url)
    assert done.returncode == 0
    assert "first token (TTFT)" in done.stdout and "p99.9" in done.stdout and "holds" in done.stdout
    assert "\x1b" not in done.stdout and done.stderr == ""


def test_a_terminal_sees_progress(peers):
    reader, writer = pty.openpty()
    try:
        done = subprocess.run([BINARY, "bench", "--duration", "0.5", "--warmup", "0", "--output-tokens", "3", "--target",
                               peers[0].url], stdout=subprocess.PIPE, stderr=writer, timeout=60)
        shown = os.read(reader, 65536).decode()
    finally:
        os.close(reader)
        os.close(writer)
    assert done.returncode == 0
    assert " ok, 0 failed, " in shown and "[" in shown and "\r\x1b[K" in shown


def test_wrong_targets_and_models_are_one_clear_message(peers):
    holder, port = free_port(socket.SOCK_STREAM)
    holder.close()
    error = bench(targets=[f"http://127.0.0.1:{port}"], code=4)["error"]
    assert "refused" in error["message"]
    error = bench("--model", "absent", targets=[peers[0].url], code=2)["error"]
    assert "absent" in error["message"] and "null" in error["message"]
    error = bench(targets=["https://127.0.0.1"], code=2)["error"]
    assert "https" in error["message"]


def test_failures_are_told_apart():
    cases = {
        "refuse": "status_503",
        "nonsense": "bad_answer",
        "close": "reset",
        "cut": "truncated",
        "error": "error_event",
        "garbage": "malformed",
        "silent": "first_byte_timeout",
        "stall": "idle_timeout",
    }
    with Misbehaving() as server:
        for path, expected in cases.items():
            limit = "0.3" if expected.endswith("_timeout") else "20"
            report = bench("--no-check", "--model", "m", "--requests", "3", "--concurrency", "1",
                           "--first-byte-timeout", limit, "--idle-timeout", limit,
                           targets=[f"{server.url}/{path}"], code=1)
            assert report["errors"] == {expected: 3}, f"{path}: {report['errors']}"
            assert report["slo"]["attained"] == 0


def test_a_503_is_retried_when_asked_for_and_its_time_counts():
    with Misbehaving() as server:
        report = bench("--no-check", "--model", "m", "--requests", "2", "--concurrency", "1", "--retries", "1",
                       targets=[f"{server.url}/once"])
        assert report["counts"]["succeeded"] == 2
        assert report["counts"]["retries"] == 2
        assert report["percentiles"]["e2e_ms"]["min"] >= 50


def test_latency_counts_from_the_time_a_request_was_due():
    """One slow connection at a time: those behind it wait, and their waiting is seen."""
    with Misbehaving() as server:
        report = bench("--no-check", "--model", "m", "--rate", "50", "--fixed", "--duration", "1", "--warmup", "0",
                       targets=[f"{server.url}/queue"])
        assert report["counts"]["succeeded"] == pytest.approx(50, abs=1)
        # 50 requests of 40 ms each, one after another, due within 1 s: the last waits for about 1 s.
        assert report["percentiles"]["e2e_ms"]["max"] > 700
        assert report["percentiles"]["e2e_ms"]["p50"] > 300


def test_a_ramp_finds_the_rate_at_which_a_service_collapses(tmp_path):
    """The server takes twenty requests within any second and refuses more."""
    page = tmp_path / "report.html"
    with Misbehaving() as server:
        report = bench("ramp-to-collapse", "--no-check", "--model", "m", "--rate", "6", "--factor", "2", "--step", "2",
                       "--refinements", "2", "--fixed", "--html", str(page), targets=[f"{server.url}/limited"])
    ramp = report["ramp"]
    assert 12 <= ramp["knee_requests_per_s"] < 24, ramp
    assert ramp["knee_requests_per_s"] < ramp["broken_requests_per_s"] <= 24
    assert [step["rate"] for step in ramp["steps"]][:3] == [6, 12, 24]
    assert "The knee" in page.read_text()


def test_what_cannot_be_done_is_said_before_the_load():
    for arguments, why in ((["chaos", "--rate", "5"], "chaos needs a --kill-command"),
                           (["--requests", "1", "--html", "/nowhere/page.html"], "/nowhere/page.html: cannot be written")):
        done = subprocess.run([BINARY, "bench", "--no-check", "--model", "m", *arguments], capture_output=True, text=True,
                              timeout=10)
        assert done.returncode == 2
        assert why in done.stderr


def test_chaos_tells_what_a_disturbance_did(tmp_path):
    broken = tmp_path / "broken"
    page = tmp_path / "report.html"
    with Misbehaving() as server:
        server.server.broken = broken
        report = bench("chaos", "--no-check", "--model", "m", "--rate", "40", "--fixed", "--duration", "5", "--warmup",
                       "0.5", "--kill-every", "2", "--kill-command", f"touch {broken}; sleep 0.5; rm {broken}; exit 3",
                       "--html", str(page), targets=[f"{server.url}/flaky"])
    first = report["disturbances"][0]
    assert len(report["disturbances"]) == 2
    assert first["exit_code"] == 3
    assert 2.3 < first["at_s"] < 3
    assert 5 < first["failed"] < 40
    assert 0.3 < first["troubled_s"] < 1.5
    assert report["errors"]["status_503"] == sum(each["failed"] for each in report["disturbances"])
    assert page.read_text().count("<svg") >= 5


def test_an_objective_can_be_asserted(peers):
    bench("--requests", "5", "--output-tokens", "3", "--assert-slo", targets=[peers[0].url])
    bench("--requests", "5", "--output-tokens", "3", "--assert-slo", "--slo-ttft-ms", "0.001", targets=[peers[0].url],
          code=1)


def test_several_threads_share_the_load(peers):
    report = bench("--threads", "3", "--concurrency", "7", "--requests", "50", "--output-tokens", "3",
                   targets=[peer.url for peer in peers])
    assert report["counts"]["succeeded"] == 50
    assert min(target["succeeded"] for target in report["targets"]) > 10


def test_keys_and_headers_are_sent():
    with Misbehaving() as server:
        report = bench("--no-check", "--model", "m", "--requests", "1", "--concurrency", "1", "--header", "x-test: 7",
                       targets=[f"{server.url}/guarded"], EXASERVE_API_KEY="secret")
    assert report["counts"]["succeeded"] == 1
    assert "secret" not in json.dumps(report)


class Misbehaving:
    """A server whose path says what it does wrong."""

    def __enter__(self):
        turns = threading.Lock()
        seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                getattr(self, self.path.split("/")[1])()

            def answer(self, status, body, **headers):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def stream(self, *events, length=None):
                body = b"".join(b"data: " + event + b"\n\n" for event in events)
                self.send_response(200)
                self.send_header("content-length", str(len(body) if length is None else length))
                self.end_headers()
                self.wfile.write(body)

            token = b'{"choices":[{"delta":{"content":"x"}}]}'

            def refuse(self):
                self.answer(503, b'{"error":{"message":"busy"}}')

            def nonsense(self):
                self.stream(b"nonsense")

            def close(self):
                self.close_connection = True

            def cut(self):
                self.stream(self.token)

            def error(self):
                self.stream(self.token, b'{"error":{"message":"gone"}}')

            def garbage(self):
                self.wfile.write(b"\x00\x01 this is not HTTP\r\n\r\n")

            def silent(self):
                time.sleep(0.6)

            def stall(self):
                self.stream(self.token, length=1000)
                time.sleep(0.6)

            def once(self):
                seen.append(1)
                if len(seen) % 2 == 1:
                    self.answer(503, b"later", retry_after_ms="50")
                else:
                    self.stream(self.token, b"[DONE]")

            def queue(self):
                with turns:
                    time.sleep(0.04)
                self.stream(self.token, b"[DONE]")

            def flaky(self):
                if self.server.broken.exists():
                    self.refuse()
                else:
                    self.stream(self.token, b"[DONE]")

            def limited(self):
                with turns:
                    now = time.monotonic()
                    seen[:] = [when for when in seen if when > now - 1] + [now]
                    busy = len(seen) > 20
                if busy:
                    self.refuse()
                else:
                    self.stream(self.token, b"[DONE]")

            def guarded(self):
                assert self.headers["authorization"] == "Bearer secret" and self.headers["x-test"] == "7"
                self.stream(self.token, b"[DONE]")

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *_):
                """A client that went away."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
