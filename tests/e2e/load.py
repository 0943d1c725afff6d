"""Clients that ask all the time and check every answer, for tests that hurt the cluster meanwhile."""

import http.client
import json
import threading
import time


class Answers:
    """Reference answers: greedy, so that every replica must give them again."""

    def __init__(self, model: str, prompts: list[str], max_tokens: int):
        self.requests = [{
            "model": model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": 0,
            "max_tokens": max_tokens,
        } for prompt in prompts]
        self.texts: list[str] = []

    def learn(self, port: int) -> None:
        self.texts = []
        for request in self.requests:
            client = Client([port], stream=False)
            self.texts.append(client.ask(request))
            client.close()


class Client:
    """One keep-alive client of several entries.

    It keeps its connection until the server says that it will close it, then goes to the next entry that accepts one,
    as a load balancer would. That a connection is refused before anything was sent is no failure; all else is.
    """

    def __init__(self, ports: list[int], stream: bool):
        self.ports = ports
        self.stream = stream
        self.at = 0
        self.connection: http.client.HTTPConnection | None = None

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def connect(self) -> http.client.HTTPConnection:
        for _ in range(2 * len(self.ports)):
            connection = http.client.HTTPConnection("127.0.0.1", self.ports[self.at % len(self.ports)], timeout=60)
            try:
                connection.connect()
                return connection
            except ConnectionRefusedError:
                self.at += 1
        raise AssertionError("no entry accepts connections")

    def ask(self, request: dict, session: str | None = None, after_first_byte=lambda: None) -> str:
        """The text of a complete answer; raises on anything less."""
        if self.connection is None:
            self.connection = self.connect()
        self.connection.request("POST", "/v1/chat/completions", json.dumps({**request, "stream": self.stream}),
                                {"content-type": "application/json", **({"x-session-id": session} if session else {})})
        reply = self.connection.getresponse()
        closes = reply.will_close
        body = reply.read(1)
        after_first_byte()
        body += reply.read()
        assert reply.status == 200, f"status {reply.status}: {body[:300]!r}"
        if closes:
            self.close()
            self.at += 1
        return stream_text(body) if self.stream else whole_text(body)


def whole_text(body: bytes) -> str:
    choice = json.loads(body)["choices"][0]
    assert choice["finish_reason"] in ("stop", "length")
    return choice["message"]["content"]


def stream_text(body: bytes) -> str:
    """The text of a stream that began, went on and ended as one answer."""
    events = body.decode().split("\n\n")
    assert events.pop() == "" and events.pop() == "data: [DONE]", f"a stream without its end: {body[-300:]!r}"
    text, ids, finish = "", set(), None
    for number, event in enumerate(events):
        assert event.startswith("data: "), event
        chunk = json.loads(event[6:])
        assert "error" not in chunk, chunk
        ids.add(chunk["id"])
        choice = chunk["choices"][0]
        assert ("role" in choice["delta"]) == (number == 0), "the role comes once, first"
        text += choice["delta"].get("content", "")
        finish = choice["finish_reason"]
    assert len(ids) == 1, f"the id changed: {ids}"
    assert finish in ("stop", "length")
    return text


class Load:
    """Threads of clients in a steady loop. `failures` holds what went wrong, in words."""

    def __init__(self, answers: Answers):
        self.answers = answers
        self.failures: list[str] = []
        self.finished: list[tuple[float, float]] = []  # (started, ended), monotonic seconds
        self.stopping = threading.Event()
        self.threads: list[threading.Thread] = []
        self.lock = threading.Lock()

    def add(self, ports: list[int], stream: bool) -> None:
        thread = threading.Thread(target=self._run, args=(Client(ports, stream), len(self.threads)), daemon=True)
        self.threads.append(thread)
        thread.start()

    def _run(self, client: Client, number: int) -> None:
        turn = number
        while not self.stopping.is_set():
            turn += 1
            which = turn % len(self.answers.requests)
            started = time.monotonic()
            try:
                text = client.ask(self.answers.requests[which])
                problem = None if text == self.answers.texts[which] else f"another text: {text!r}"
            except (OSError, http.client.HTTPException, AssertionError, ValueError, KeyError) as error:
                problem = f"{type(error).__name__}: {error}"
                client.close()
            with self.lock:
                if problem is None:
                    self.finished.append((started, time.monotonic()))
                else:
                    kind = "stream" if client.stream else "whole"
                    self.failures.append(f"{kind} by {client.ports}: {problem}")
        client.close()

    def stop(self) -> None:
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def count(self) -> int:
        with self.lock:
            return len(self.finished)
