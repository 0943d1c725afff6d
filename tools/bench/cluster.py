"""Peers of the real binary on free loopback ports."""

import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

BUILD = pathlib.Path(os.environ.get("EXASERVE_BUILD", pathlib.Path(__file__).parents[2] / "build"))
BINARY = pathlib.Path(os.environ.get("EXASERVE_BIN", BUILD / "exaserve"))
TINY_MODEL = BUILD / "tools/exa-tiny-model"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
DEFAULT_MODEL = pathlib.Path(
    os.environ.get("EXASERVE_MODEL") or CACHE / "exaserve/models/SmolLM2-135M-Instruct.Q4_1.gguf")


def wait_for(condition, seconds: float, what: str, interval: float = 0.05):
    """The first true value of `condition()`; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(interval)


def free_port(kind: int) -> tuple[socket.socket, int]:
    """A port that nobody has, and the socket that keeps it so until it is closed."""
    held = socket.socket(socket.AF_INET, kind)
    held.bind(("127.0.0.1", 0))
    return held, held.getsockname()[1]


def free_ports(peers: int) -> list[tuple[int, int, int]]:
    """Ports for HTTP, links and gossip of each peer, all different."""
    with contextlib.ExitStack() as held:
        ports = []
        for _ in range(peers):
            triple = []
            for kind in (socket.SOCK_STREAM, socket.SOCK_STREAM, socket.SOCK_DGRAM):
                keeper, port = free_port(kind)
                held.enter_context(keeper)
                triple.append(port)
            ports.append(tuple(triple))
    return ports


def listen_flags(ports: tuple[int, int, int]) -> list[str]:
    return [f"--listen-{door}=127.0.0.1:{port}" for door, port in zip(("http", "link", "gossip"), ports)]


def make_tiny_model(path: pathlib.Path, **fields) -> pathlib.Path:
    """A random-weight GGUF; `fields` are exa-tiny-model's flags."""
    flags = [text for name, value in fields.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    subprocess.run([TINY_MODEL, path, *flags], check=True)
    return path


def get_json(url: str, timeout: float = 10, key: str | None = None):
    request = urllib.request.Request(url, headers={"authorization": f"Bearer {key}"} if key else {})
    with urllib.request.urlopen(request, timeout=timeout) as reply:
        return json.load(reply)


def post_json(url: str, body, timeout: float = 60) -> tuple[int, dict, bytes]:
    """Status, headers and body of a POST; `body` is JSON text or something to turn into it."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as reply:
            return reply.status, dict(reply.headers), reply.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


class Peer:
    """One peer: its ports and data directory stay, its process may come and go."""

    def __init__(self, name: str, directory: pathlib.Path, ports: tuple[int, int, int], flags: list[str]):
        self.name = name
        self.directory = directory
        self.ports = ports
        self.http_port, self.link_port, self.gossip_port = ports
        self.flags = flags
        self.admin_key: str | None = None
        self.process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http_port}"

    @property
    def log(self) -> str:
        return (self.directory / "log").read_text(errors="replace")

    def start(self, output: int | None = None) -> None:
        """`output`: a descriptor that takes what goes to the log file otherwise."""
        self.directory.mkdir(parents=True, exist_ok=True)
        command = [
            str(BINARY), "peer", f"--name={self.name}", f"--data-dir={self.directory / 'data'}",
            *listen_flags(self.ports), *self.flags,
        ]
        with open(self.directory / "log", "ab") as log:
            taker = log if output is None else output
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=taker, stderr=taker)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def wait(self, seconds: float) -> int:
        return self.process.wait(seconds)

    def admin(self, path: str):
        return get_json(f"{self.url}/exaserve/v1/{path}", key=self.admin_key)

    def metric(self, name: str) -> float:
        """The sum of a metric over all its labels."""
        with urllib.request.urlopen(self.url + "/metrics", timeout=10) as reply:
            lines = reply.read().decode().splitlines()
        values = [float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith((f"exaserve_{name}{{",
                                                                                     f"exaserve_{name} "))]
        assert values, f"no metric {name}"
        return sum(values)

    def session_at(self, peer: str) -> str:
        """A session that the ring gives to a replica of the peer with that name."""
        for number in range(1000):
            route = self.admin(f"route?session=session-{number}")
            if route["peer_name"] == peer:
                return f"session-{number}"
        raise AssertionError(f"no session goes to {peer}")

    def member(self, name: str) -> dict | None:
        """What this peer believes of the one with that name."""
        return next((m for m in self.admin("members")["members"] if m["name"] == name), None)

    def sees(self, peers: int, replicas: int) -> bool:
        assert self.process.poll() is None, f"{self.name} ended with {self.process.returncode}:\n{self.log[-2000:]}"
        try:
            status = self.admin("status")
        except (OSError, http.client.HTTPException):
            return False
        return (status["peers"]["alive"] == peers and status["replicas_ready"] == replicas
                and status["self"]["state"] == "serving")


class Cluster:
    """Peers that know one another. Use as a context manager: it ends them."""

    def __init__(self, directory: pathlib.Path, model: pathlib.Path, peers: int = 3, replicas: int | list[int] = 2,
                 flags: list[str] | None = None, admin_key: str | None = None, racks: int | None = None):
        self.replicas = replicas if isinstance(replicas, list) else [replicas] * peers
        ports = free_ports(peers)
        self.peers = []
        for i, own in enumerate(ports):
            seeds = ",".join(f"127.0.0.1:{other[2]}" for other in ports if other is not own)
            every = [f"--model-path={model}", f"--model-replicas={self.replicas[i]}", f"--rack=rack-{i % (racks or peers) + 1}",
                     "--drain-seconds=30", "--kv-capacity-gib=1", *(flags or [])]
            if seeds:
                every.append(f"--seeds={seeds}")
            self.peers.append(Peer(f"peer-{i + 1}", directory / f"peer-{i + 1}", own, every))
            self.peers[-1].admin_key = admin_key

    def __enter__(self) -> "Cluster":
        try:
            for peer in self.peers:
                peer.start()
            self.wait_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        for peer in self.peers:
            if peer.process is not None and peer.process.poll() is None:
                peer.kill()

    def wait_ready(self, seconds: float = 120) -> None:
        wait_for(lambda: all(peer.sees(len(self.peers), sum(self.replicas)) for peer in self.peers), seconds,
                 "every peer sees every peer and replica")

    @property
    def model(self) -> str:
        return get_json(f"{self.peers[0].url}/v1/models")["data"][0]["id"]


def exaserve(*arguments: str, timeout: float = 60, **environment: str) -> subprocess.CompletedProcess:
    """Runs the command line to its end."""
    return subprocess.run([str(BINARY), *arguments], capture_output=True, text=True, timeout=timeout,
                          env={**os.environ, **environment}, stdin=subprocess.DEVNULL)
