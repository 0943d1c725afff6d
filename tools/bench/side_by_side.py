"""What the comparisons with other proxies share: the programs on their cores, what they cost, and rounds in turn.

The proxy has core 0 for itself; the load and the server behind the proxy share core 1. On two cores the load may be
at its end before a fast proxy is, so every comparison also tells the processor time of the proxy for a request: user
and system, all its threads and children, from /proc.
"""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from bench.cluster import free_ports

ROOT = pathlib.Path(__file__).resolve().parents[2]

PROXY_CORE = "0"
LOAD_CORE = "1"
SERVERS = 4  # that a proxy chooses among: ports of the one mock
SESSIONS = 1000
TICK = os.sysconf("SC_CLK_TCK")


def need(program: str, package: str) -> str:
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/local/sbin")
    if found is None:
        sys.exit(f"{program} is missing: apt-get install {package} (tools/setup --bench)")
    return found


def free_port() -> int:
    return free_ports(1)[0][0]


def family(pid: int) -> list[int]:
    """The process and all that descend from it."""
    found = [pid]
    for one in found:
        for task in pathlib.Path(f"/proc/{one}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += [int(child) for child in task.read_text().split()]
    return found


class Program:
    """A process on one core, with the files it needs in a directory of its own."""

    def __init__(self, core: str, command: list, directory: pathlib.Path, **environment: str):
        self.log = directory / f"{pathlib.Path(str(command[0])).name}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(["taskset", "-c", core, *map(str, command)], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, cwd=directory, env={**os.environ, **environment},
                                            start_new_session=True)

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def cpu_s(self) -> float:
        total = 0
        for pid in family(self.process.pid):
            with contextlib.suppress(OSError):
                fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
                total += int(fields[11]) + int(fields[12])
        return total / TICK

    def rss_mib(self) -> float:
        total = 0
        for pid in family(self.process.pid):
            with contextlib.suppress(OSError):
                for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
                    total += int(line.split()[1]) if line.startswith("VmRSS") else 0
        return round(total / 1024, 1)

    def context_switches(self) -> int:
        total = 0
        for pid in family(self.process.pid):
            for task in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
                with contextlib.suppress(OSError):
                    total += sum(int(line.split()[1]) for line in task.read_text().splitlines()
                                 if line.startswith("voluntary_ctxt"))
        return total


class Proxy:
    """Something in front of the mock: a name, a port and its process."""

    def __init__(self, name: str, port: int, program: Program, headers: dict | None = None, model: str = "mock"):
        self.name, self.port, self.program, self.headers, self.model = name, port, program, headers or {}, model

    def wait(self, seconds: float = 60) -> "Proxy":
        """Until a request comes through."""
        deadline = time.monotonic() + seconds
        body = json.dumps({"model": self.model, "messages": [{"role": "user", "content": "Hello"}]})
        while True:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("POST", "/v1/chat/completions", body,
                                   {"content-type": "application/json", "x-session-id": "first", **self.headers})
                reply = connection.getresponse()
                reply.read()
                if reply.status == 200:
                    return self
                why = f"status {reply.status}"
            except OSError as error:
                why = str(error)
            if time.monotonic() > deadline or self.program.process.poll() is not None:
                sys.exit(f"{self.name} does not answer: {why}\n{self.program.log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.2)


class Bench:
    """One comparison: the mock, the proxies in front of it, and a directory for all of them. A context manager."""

    def __init__(self, build: pathlib.Path, answer_bytes: int = 200, events: int = 64, interval_us: int = 20_000):
        self.build = build
        self.stack = contextlib.ExitStack()
        self.directory = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="exaserve-bench-")))
        self.upstreams = [triple[0] for triple in free_ports(SERVERS)]
        ports = [text for port in self.upstreams for text in ("--port", port)]
        self.mock = self.start(LOAD_CORE, [build / "tools/exa-mock-upstream", *ports, "--bytes", answer_bytes, "--events",
                                           events, "--interval-us", interval_us])

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *_) -> None:
        self.stack.close()

    def start(self, core: str, command: list, **environment: str) -> Program:
        directory = pathlib.Path(tempfile.mkdtemp(dir=self.directory))
        program = Program(core, command, directory, **environment)
        self.stack.callback(program.stop)
        return program

    def write(self, name: str, text: str) -> pathlib.Path:
        path = self.directory / name
        path.write_text(text)
        path.chmod(0o600)
        return path

    def urls(self) -> list[str]:
        return [f"http://127.0.0.1:{port}" for port in self.upstreams]

    def peer_command(self, name: str, ports: tuple[int, int, int], *flags: str) -> list:
        http_port, link, gossip = ports
        return [self.build / "exaserve", "peer", f"--name={name}", f"--data-dir={self.directory / name}",
                f"--listen-http=127.0.0.1:{http_port}", f"--listen-link=127.0.0.1:{link}",
                f"--listen-gossip=127.0.0.1:{gossip}", "--log-level=warn", *flags]

    def attach_flags(self) -> list[str]:
        return ["--model-engine=attach", "--model-name=mock", f"--attach-urls={','.join(self.urls())}",
                "--model-in-flight-limit=256"]

    def exaserve(self, mode: str) -> Proxy:
        """hash: the session's header decides and bodies are not read; full: bodies are scanned and API keys checked."""
        flags, headers = [], {}
        if mode == "hash":
            flags.append("--http-routing=hash")
        else:
            keys, headers = self.api_key()
            flags.append(f"--security-api-keys-file={keys}")
        ports = free_ports(1)[0]
        program = self.start(PROXY_CORE, self.peer_command(f"exaserve-{mode}", ports, *self.attach_flags(), *flags))
        return Proxy(f"exaserve, {mode}", ports[0], program, headers).wait()

    def exaserve_pair(self) -> Proxy:
        """An entry without replicas in front of the peer that has them: two hops, both counted."""
        entry, target = free_ports(2)
        command = self.peer_command("target", target, *self.attach_flags())
        command += ["&", *self.peer_command("entry", entry, "--model-replicas=0", "--model-engine=null",
                                            f"--seeds=127.0.0.1:{target[2]}"), "&", "wait"]
        program = self.start(PROXY_CORE, ["sh", "-c", " ".join(map(str, command))])
        return Proxy("exaserve, two peers", entry[0], program).wait()

    def bare(self) -> Proxy:
        """The mock with nothing in front of it."""
        return Proxy("nothing", self.upstreams[0], self.mock)

    def api_key(self) -> tuple[pathlib.Path, dict]:
        path = self.directory / "api-keys.toml"
        if not path.exists():
            made = subprocess.run([self.build / "exaserve", "apikeys", "create", "--tenant=bench",
                                   f"--file={path}"], check=True,
                                  capture_output=True, text=True)
            self.key = made.stdout.strip()
        return path, {"authorization": f"Bearer {self.key}"}

    def haproxy(self) -> Proxy:
        port = free_port()
        servers = "\n".join(f"    server s{port} 127.0.0.1:{port}" for port in self.upstreams)
        path = self.write("haproxy.cfg", f"""global
    nbthread 1
    maxconn 4096
defaults
    mode http
    option http-no-delay
    option http-keep-alive
    http-reuse always
    timeout connect 2s
    timeout client 75s
    timeout server 120s
frontend door
    bind 127.0.0.1:{port}
    default_backend replicas
backend replicas
    balance hdr(x-session-id)
    hash-type consistent
    hash-balance-factor 125
{servers}
""")
        return Proxy("HAProxy", port, self.start(PROXY_CORE, [need("haproxy", "haproxy"), "-db", "-f", path])).wait()

    def nginx(self) -> Proxy:
        port = free_port()
        servers = "\n".join(f"        server 127.0.0.1:{port};" for port in self.upstreams)
        path = self.write("nginx.conf", f"""daemon off;
worker_processes 1;
pid {self.directory}/nginx.pid;
error_log {self.directory}/nginx-error.log;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {self.directory}/body;
    proxy_temp_path {self.directory}/proxy;
    fastcgi_temp_path {self.directory}/fastcgi;
    uwsgi_temp_path {self.directory}/uwsgi;
    scgi_temp_path {self.directory}/scgi;
    keepalive_requests 1000000;
    client_body_buffer_size 64k;
    upstream replicas {{
        hash $http_x_session_id consistent;
{servers}
        keepalive 256;
        keepalive_requests 1000000;
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://replicas;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
        }}
    }}
}}
""")
        return Proxy("nginx", port, self.start(PROXY_CORE, [need("nginx", "nginx-light"), "-c", path])).wait()


def request_body(size: int, model: str) -> str:
    body = {"model": model, "messages": [{"role": "user", "content": ""}], "max_tokens": 64}
    body["messages"][0]["content"] = "x" * max(0, size - len(json.dumps(body)))
    return json.dumps(body)


def wrk(bench: Bench, proxy: Proxy, body_bytes: int, seconds: int, connections: int = 64) -> dict:
    """Requests one after another on kept-alive connections, each of the next of many sessions."""
    fields = "".join(f'headers["{name}"] = "{value}"\n' for name, value in proxy.headers.items())
    script = bench.write("load.lua", f"""
local headers = {{}}
headers["content-type"] = "application/json"
{fields}
local body = [[{request_body(body_bytes, proxy.model)}]]
local requests, at = {{}}, 0
init = function(args)
  for i = 1, {SESSIONS} do
    headers["x-session-id"] = "session-" .. i
    requests[i] = wrk.format("POST", "/v1/chat/completions", headers, body)
  end
end
request = function()
  at = at % {SESSIONS} + 1
  return requests[at]
end
done = function(summary, latency, rate)
  local e = summary.errors
  io.write(string.format('RESULT {{"requests":%d,"duration_us":%d,"errors":%d,"p50_us":%d,"p99_us":%d}}\\n',
    summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50), latency:percentile(99)))
end
""")
    before = proxy.program.cpu_s()
    output = subprocess.run(["taskset", "-c", LOAD_CORE, need("wrk", "wrk"), "-t1", f"-c{connections}", f"-d{seconds}s",
                             "--timeout=60s", "-s", script, f"http://127.0.0.1:{proxy.port}"], check=True,
                            capture_output=True, text=True).stdout
    cpu = proxy.program.cpu_s() - before
    result = json.loads(next(line for line in output.splitlines() if line.startswith("RESULT"))[7:])
    if result["errors"]:
        sys.exit(f"{proxy.name}: {result['errors']} of {result['requests']} requests failed")
    return {"rate": result["requests"] / result["duration_us"] * 1e6, "cpu_us": cpu / result["requests"] * 1e6,
            "p50_us": result["p50_us"], "p99_us": result["p99_us"]}


def in_turn(rounds: int, measures: dict) -> dict:
    """Runs each of `measures` (name: function giving a dict of numbers) once a round; the rounds of each, in order."""
    results = {name: [] for name in measures}
    for number in range(rounds):
        names = list(measures) if number % 2 == 0 else list(measures)[::-1]
        for name in names:
            results[name].append(measures[name]())
            print(f"round {number + 1} {name}: " + ", ".join(f"{k} {v:.1f}" for k, v in results[name][-1].items()),
                  file=sys.stderr)
    return results


def median(results: list[dict], field: str) -> float:
    return statistics.median(result[field] for result in results)


def compare(name: str, ours: list[dict], theirs: list[dict], field: str, unit: str) -> dict:
    """The object that every comparison prints: medians, the median ratio of the rounds and the spread of the ratios."""
    ratios = [mine[field] / other[field] for mine, other in zip(ours, theirs)]
    return {"name": name, "ours": round(median(ours, field), 1), "theirs": round(median(theirs, field), 1),
            "ratio": round(statistics.median(ratios), 3), "spread": round(max(ratios) - min(ratios), 3), "unit": unit}


def costs(ours: list[dict], theirs: list[dict]) -> dict:
    fields = {"cpu_us_per_request": "cpu_us", "p50_us": "p50_us", "p99_us": "p99_us"}
    return {name: {"ours": round(median(ours, field), 2), "theirs": round(median(theirs, field), 2)}
            for name, field in fields.items()}


def against(name: str, arguments: argparse.Namespace) -> dict:
    """One peer in each of the modes against a proxy, for bodies of each size."""
    cases = []
    for size in map(int, arguments.bytes.split(",")):
        with Bench(arguments.build, answer_bytes=size) as bench:
            proxies = {name: getattr(bench, name)()}
            for mode in arguments.modes.split(","):
                proxies[mode] = bench.exaserve(mode)
            results = in_turn(arguments.rounds, {
                one: lambda proxy=proxy: wrk(bench, proxy, size, arguments.seconds) for one, proxy in proxies.items()})
            for mode in arguments.modes.split(","):
                case = compare(f"{mode} mode against {proxies[name].name}, bodies of {size} B", results[mode],
                               results[name], "rate", "requests/s")
                case |= costs(results[mode], results[name])
                case["rss_mib"] = {"ours": proxies[mode].program.rss_mib(), "theirs": proxies[name].program.rss_mib()}
                cases.append(case)
    return {**cases[0], "cases": cases}


def gateway(bench: Bench, name: str) -> Proxy:
    """smg, vllm-router or litellm."""
    port, other = free_port(), free_port()
    program = shutil.which(name, path=f"{ROOT}/.venv-bench/bin:{os.environ['PATH']}")
    if program is None:
        sys.exit(f"{name} is missing: tools/setup --bench")
    threads = {"TOKIO_WORKER_THREADS": "1"}
    if name == "litellm":
        models = "".join(f"""  - model_name: mock
    litellm_params: {{model: openai/mock, api_base: "http://127.0.0.1:{port}/v1", api_key: none}}
    model_info: {{id: "s{port}"}}
""" for port in bench.upstreams)
        path = bench.write("litellm.yaml", f"""model_list:
{models}router_settings:
  optional_pre_call_checks: ["session_affinity"]
""")
        return Proxy("LiteLLM", port, bench.start(PROXY_CORE, [program, "--config", path, "--port", port, "--host",
                                                              "127.0.0.1"])).wait(120)
    flags = ["--host", "127.0.0.1", "--port", port, "--prometheus-port", other, "--worker-urls", *bench.urls()]
    if name == "smg":
        command = [program, "launch", *flags, "--policy=consistent_hashing", "--routing-key-headers", "x-session-id",
                   "--log-level=warn"]
    else:
        command = [program, *flags, "--policy=consistent_hash", "--log-level=warning"]
    return Proxy(name, port, bench.start(PROXY_CORE, command, **threads)).wait()


def tcp_segments() -> int:
    """That this machine has sent so far, acknowledgements too."""
    names, values = [line.split() for line in pathlib.Path("/proc/net/snmp").read_text().splitlines()
                     if line.startswith("Tcp:")]
    return int(values[names.index("OutSegs")])


def sse(bench: Bench, proxy: Proxy, streams: int, seconds: int) -> dict:
    """Streams under way for so long, and what an event costs."""
    # The reader counts after a fifth of the time; the processor's time is taken over the whole of it.
    before, segments, began = proxy.program.cpu_s(), tcp_segments(), time.monotonic()
    output = subprocess.run(["taskset", "-c", LOAD_CORE, bench.build / "tools/exa-sse-reader", str(proxy.port),
                             str(streams), str(seconds), proxy.model,
                             *(f"{name}: {value}" for name, value in proxy.headers.items())],
                            check=True, capture_output=True, text=True).stdout
    cpu, segments, took = proxy.program.cpu_s() - before, tcp_segments() - segments, time.monotonic() - began
    read = json.loads(output)
    rate = read["events"] / read["seconds"]
    return {"rate": rate, "cpu_us": cpu / (rate * took) * 1e6, "reads_per_event": read["reads"] / read["events"],
            "packets_per_event": segments / (rate * took), "age_p50_us": read["age_p50_us"], "age_p99_us": read["age_p99_us"]}


def arguments_of(doc: str, **defaults) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one object: name, ours, theirs, ratio, spread, unit, ...")
    parser.add_argument("--build", type=lambda path: pathlib.Path(path).resolve(), default=ROOT / "build",
                        help="where exaserve and tools/ are")
    parser.add_argument("--rounds", type=int, default=defaults.get("rounds", 5))
    parser.add_argument("--modes", default=defaults["modes"], help="of ours, with commas")
    parser.add_argument("--bytes", default=defaults["bytes"], help="of bodies, with commas")
    parser.add_argument("--seconds", type=int, default=defaults.get("seconds", 4), help="of one run")
    return parser


def show(result: dict, as_json: bool) -> None:
    if as_json:
        print(json.dumps(result))
        return
    for case in result.get("cases", [result]):
        print(f"{case['name']:64} ours {case['ours']:10} theirs {case['theirs']:10} {case['unit']}  "
              f"ratio {case['ratio']} (spread {case['spread']})")
        for field, values in case.items():
            if isinstance(values, dict):
                print(f"    {field:28} " + "  ".join(f"{who} {value}" for who, value in values.items()))
