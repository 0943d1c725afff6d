"""Streams of several kinds, compared with what an undisturbed cluster said, while peers are killed under them."""

import dataclasses
import http.client
import json
import signal
import threading
import time

from bench.cluster import Cluster, Peer, wait_for

PROMPTS = ["Hello there", "Count the ways", "What is a ring?", "Tell me about trees and rivers"]
SAMPLED = {"temperature": 0.9, "top_p": 0.95}


@dataclasses.dataclass
class Case:
    """A request whose answer is known."""
    path: str
    request: dict
    texts: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Progress:
    """One answer under way."""
    replica: str
    times: list[float] = dataclasses.field(default_factory=list)  # monotonic seconds of its events
    done: bool = False


def make_cases(model: str, max_tokens: int) -> list[Case]:
    """Greedy and seeded; plain, with penalties, of two choices, and of the responses API."""
    cases = []
    for seed, prompt in enumerate(PROMPTS):
        messages = [{"role": "user", "content": prompt}]
        chat = {"model": model, "messages": messages, "max_tokens": max_tokens, "stream": True}
        for more in ({"temperature": 0}, {**SAMPLED, "seed": seed}, {**SAMPLED, "seed": seed, "n": 2},
                     {**SAMPLED, "seed": seed, "presence_penalty": 0.5, "frequency_penalty": 0.5}):
            cases.append(Case("/v1/chat/completions", {**chat, **more}))
        cases.append(Case("/v1/responses", {"model": model, "input": prompt, "temperature": 0, "stream": True,
                                            "max_output_tokens": max_tokens}))
    return cases


def events_of(reply):
    """The JSON of a stream's events, as they come; raises unless the stream ends as one should."""
    last = None
    for line in iter(reply.readline, b""):
        if not line.startswith(b"data: "):
            continue
        if line == b"data: [DONE]\n":
            return
        last = json.loads(line[6:])
        assert "error" not in last or last["error"] is None, last
        yield last
    assert last and last.get("type") in ("response.completed", "response.incomplete"), f"no end behind {last}"


def texts_of(case: Case, events) -> list[str]:
    """The texts of the choices; every one must have ended, and what is numbered must be so without a gap."""
    texts = [""] * case.request.get("n", 1)
    finishes, ids = [None] * len(texts), set()
    for number, event in enumerate(events):
        if case.path == "/v1/responses":
            assert event["sequence_number"] == number, f"event {event['sequence_number']} as number {number}"
            if event["type"] == "response.output_text.delta":
                texts[0] += event["delta"]
            if "response" in event:
                ids.add(event["response"]["id"])
                finishes[0] = event["response"]["status"]
            continue
        ids.add(event["id"])
        for choice in event["choices"]:
            assert finishes[choice["index"]] is None, "more behind the end of a choice"
            texts[choice["index"]] += choice["delta"].get("content", "")
            finishes[choice["index"]] = choice["finish_reason"]
    assert len(ids) == 1, f"the id changed: {ids}"
    assert all(finish in ("stop", "length", "completed", "incomplete") for finish in finishes), finishes
    return texts


class Streams:
    """Clients that ask for streams all the time. `failures` holds what went wrong, in words."""

    def __init__(self, cases: list[Case]):
        self.cases = cases
        self.failures: list[str] = []
        self.finished = 0
        self.running: dict[int, Progress] = {}
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.threads: list[threading.Thread] = []

    def learn(self, port: int) -> None:
        for case in self.cases:
            case.texts = self._ask(case, port, 0)

    def start(self, count: int, ports: list[int]) -> None:
        for number in range(count):
            self.threads.append(threading.Thread(target=self._run, args=(number, ports[number % len(ports)]),
                                                 daemon=True))
            self.threads[-1].start()

    def stop(self) -> None:
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def at(self, peer_id: str) -> list[Progress]:
        """Answers that a replica of the peer has begun and not ended."""
        with self.lock:
            return [progress for progress in self.running.values()
                    if progress.replica.startswith(peer_id) and len(progress.times) > 4]

    def _ask(self, case: Case, port: int, number: int) -> list[str]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        progress = None
        try:
            connection.request("POST", case.path, json.dumps(case.request), {"content-type": "application/json"})
            reply = connection.getresponse()
            assert reply.status == 200, f"status {reply.status}: {reply.read()[:300]!r}"
            progress = Progress(reply.getheader("x-exaserve-replica"))
            with self.lock:
                self.running[number] = progress

            def timed():
                for event in events_of(reply):
                    progress.times.append(time.monotonic())
                    yield event

            return texts_of(case, timed())
        finally:
            if progress:
                progress.done = True
                with self.lock:
                    del self.running[number]
            connection.close()

    def _run(self, number: int, port: int) -> None:
        turn = number
        while not self.stopping.is_set():
            case = self.cases[turn % len(self.cases)]
            turn += 1
            try:
                texts = self._ask(case, port, number)
                problem = None if texts == case.texts else f"another text: {texts!r} for {case.texts!r}"
            except (OSError, http.client.HTTPException, AssertionError, ValueError, KeyError) as error:
                problem = f"{type(error).__name__}: {error}"
            with self.lock:
                self.finished += problem is None
                if problem is not None:
                    self.failures.append(f"{case.path} {json.dumps(case.request)}: {problem}")


def gap_around(times: list[float], moment: float) -> float:
    """The longest wait for an event that began before `moment` or within five seconds behind it."""
    first = max((i for i, at in enumerate(times) if at <= moment), default=0)
    return max((b - a for a, b in zip(times[first:], times[first + 1:]) if a <= moment + 5), default=0.0)


def kill_under_streams(cluster: Cluster, victim: Peer, streams: Streams, at_least: int) -> list[float]:
    """Kills the peer when so many streams are there, starts it again; returns the gaps of these streams."""
    survivors = [peer for peer in cluster.peers if peer is not victim]
    peer_id = survivors[0].member(victim.name)["id"]
    wait_for(lambda: len(streams.at(peer_id)) >= at_least, 120, f"{at_least} streams at {victim.name}", interval=0.01)
    interrupted = streams.at(peer_id)
    killed = time.monotonic()
    victim.kill()
    wait_for(lambda: all(progress.done for progress in interrupted), 240, "the streams have ended")
    victim.start()
    cluster.wait_ready(120)
    return [gap_around(progress.times, killed) for progress in interrupted]


def pause_under_streams(cluster: Cluster, victim: Peer, streams: Streams, at_least: int) -> list[float]:
    """The same with a peer that stands still: its connections stay, and nothing comes of them."""
    survivors = [peer for peer in cluster.peers if peer is not victim]
    peer_id = survivors[0].member(victim.name)["id"]
    wait_for(lambda: len(streams.at(peer_id)) >= at_least, 120, f"{at_least} streams at {victim.name}", interval=0.01)
    interrupted = streams.at(peer_id)
    paused = time.monotonic()
    victim.process.send_signal(signal.SIGSTOP)
    try:
        wait_for(lambda: all(progress.done for progress in interrupted), 240, "the streams have ended")
    finally:
        victim.process.send_signal(signal.SIGCONT)
    cluster.wait_ready(120)
    return [gap_around(progress.times, paused) for progress in interrupted]
