"""exasim as its users see it: exit codes, JSON, replay, explain."""
import json
import os
import pathlib
import re
import subprocess

import pytest

EXASIM = str(pathlib.Path(os.environ["EXASERVE_BUILD"]) / "exasim")


def exasim(*args):
    return subprocess.run([EXASIM, *args], capture_output=True, text=True, timeout=120, check=False)


def test_json_of_a_run_holds_what_is_promised():
    done = exasim("run", "crash-one", "--peers", "12", "--replicas", "2", "--seed", "5", "--json")
    assert done.returncode == 0, done.stdout
    out = json.loads(done.stdout)
    assert out["ok"] and out["scenario"] == "crash-one" and out["seed"] == 5
    for key in ("trace_hash", "events", "virtual_s", "wall_s", "realtime_factor", "faults", "violations"):
        assert key in out
    for key in ("detect_all_s", "view_spread_s", "join_all_s", "ready_all_s", "ring_changes", "bytes_per_peer_s",
                "false_deaths"):
        assert key in out["metrics"]
    assert out["faults"]["crash"] == 3
    assert out["metrics"]["detect_all_s"]["count"] == 3


def test_a_failure_names_its_command_and_that_command_fails_alike():
    first = exasim("run", "canary", "--seed", "3", "--set", "cluster.peers=8", "--json")
    assert first.returncode == 1
    out = json.loads(first.stdout)
    assert not out["ok"] and out["violations"][0]["check"] == "M2"
    again = exasim(*out["replay"].split()[1:], "--json")
    assert again.returncode == 1
    assert json.loads(again.stdout)["trace_hash"] == out["trace_hash"]


@pytest.mark.parametrize("args", [
    ("run", "no-such-scenario"),
    ("run", "canary", "--set", "net.los=1"),
    ("run", "canary", "--set", "membership.load_gossip_intervall_ms=1"),
    ("run", "canary", "--set", "nonsense"),
    ("run", "canary", "--mutant", "no-such-mutant"),
    ("run",),
    ("run", "crash-one", "--set", "fault.0.hosts=[1]"),
    ("run", "crash-one", "--replicas", "-1"),
    ("run", "crash-one", "--peers", "0"),
    ("run", "crash-one", "--peers", "-1"),
    ("run", "crash-one", "--set", "must_happen=['crsh']"),
    ("run", "gossip-garbage", "--set", "fault.0.rate=1e9"),
    ("explain", "canary", "--event", "999999999"),
    ("replay", "/nonexistent"),
])
def test_what_cannot_be_run_is_a_usage_error(args):
    done = exasim(*args)
    assert done.returncode == 2
    assert done.stderr or done.stdout


def test_a_fault_without_effect_has_its_own_exit_code():
    assert exasim("run", "crash-one", "--peers", "6", "--set", "fault.0.at_s=500").returncode == 5


def test_a_trace_replays_and_a_changed_one_does_not(tmp_path):
    trace = tmp_path / "trace.jsonl"
    assert exasim("run", "crash-one", "--peers", "6", "--trace", str(trace)).returncode == 0
    assert exasim("replay", str(trace)).returncode == 0
    assert json.loads(exasim("replay", str(trace), "--json").stdout)["ok"]
    lines = trace.read_text().splitlines(keepends=True)
    lines[500] = lines[500].replace('"h":"', '"h":"0')
    trace.write_text("".join(lines))
    done = exasim("replay", str(trace))
    assert done.returncode == 4
    assert "differs" in done.stdout


def test_explain_says_what_an_event_was_and_why():
    done = exasim("explain", "crash-one", "--peers", "6", "--event", "1500")
    assert done.returncode == 0
    assert "1500" in done.stdout and "because of" in done.stdout
    told = json.loads(exasim("explain", "crash-one", "--peers", "6", "--event", "1500", "--json").stdout)
    assert told["event"] == 1500 and told["because_of"][0]["event"] < 1500


def test_list_names_every_scenario_once():
    names = [json.loads(line)["name"] for line in exasim("list", "--json").stdout.splitlines()]
    assert "crash-one" in names and len(names) == len(set(names)) > 20


def test_every_failure_kind_is_mapped_to_what_exists():
    root = pathlib.Path(__file__).resolve().parents[2]
    text = (root / "docs" / "simulator.md").read_text()
    rows = text.split("## Failure kinds")[1].split("\n## ")[0].splitlines()
    rows = [row.strip("|").split("|") for row in rows if row.startswith("| ") and not row.startswith("| kind")]
    assert len(rows) >= 16
    sources = "".join(path.read_text() for folder in ("unit", "property") for path in (root / "tests" / folder).rglob("*.cc"))
    scenarios = {path.stem for path in (root / "sim" / "scenarios").glob("*.toml")}
    for kind, named, tests in rows:
        named, tests = re.findall("`([^`]+)`", named), re.findall("`([^`]+)`", tests)
        assert named and tests, kind
        assert set(named) <= scenarios, kind
        assert all(f"({test})" in sources for test in tests), (kind, tests)


def test_a_swarm_says_what_it_saw_as_one_object():
    done = exasim("swarm", "--minutes", "0.01", "--jobs", "1", "--seed", "300", "--json")
    out = json.loads(done.stdout)
    assert done.returncode == 0 and out["ok"] and out["runs"] >= 1 and out["virtual_h"] > 0
    assert 3 <= out["peers_min"] <= out["peers_max"] <= 256
    assert "crash" in set(out["faults"]) | set(out["never_fired"])


def test_a_swarm_runs_random_scenarios_and_counts_their_faults():
    done = exasim("swarm", "--minutes", "0.02", "--jobs", "2", "--seed", "100")
    assert done.returncode == 0, done.stdout
    assert " runs, 0 failures" in done.stdout
    runs = int(re.search(r"^(\d+) runs", done.stdout, re.MULTILINE).group(1))
    assert len(re.findall(r"^pass +random:\d+, \d+ peers, \d+ s$", done.stdout, re.MULTILINE)) == runs


def test_shrink_leaves_less_that_fails_alike(tmp_path):
    out = tmp_path / "small.toml"
    done = exasim("shrink", "canary", "--set", "cluster.peers=12", "--set", "net.duplicate=0.1", "--out", str(out))
    assert done.returncode == 1, done.stderr
    small = json.loads(exasim("run", str(out), "--json").stdout)
    assert small["violations"][0]["check"] == "M2"
    assert "peers = 12" not in out.read_text()
    # What it says of the small one is what the small one says.
    assert small["violations"][0]["what"] in done.stdout
    told = json.loads(exasim("shrink", str(out), "--json", "--out", str(out)).stdout)
    assert told["what"].startswith("M2: ") and str(out) in told["replay"]
    assert exasim("shrink", "crash-one", "--peers", "6", "--out", str(out)).returncode == 2


def test_what_shrink_writes_says_its_seed_and_nothing_that_it_dropped(tmp_path):
    whole, out = tmp_path / "whole.toml", tmp_path / "small.toml"
    whole.write_text("duration_s = 60\nwatch = ['M2']\nmust_happen = ['crash', 'pause']\n[cluster]\npeers = 8\nreplicas = 0\n"
                     "[bounds]\ndetect_s = 0.5\n[[fault]]\nkind = 'crash'\nat_s = 30\ncount = 1\n"
                     "[[fault]]\nkind = 'pause'\nat_s = 10\nfor_s = 2\nevery_s = 4\ntimes = 3\ncount = 1\n")
    done = exasim("shrink", str(whole), "--seed", "7", "--out", str(out))
    assert done.returncode == 1, done.stderr
    small = out.read_text()
    assert "seed = 7" in small and "pause" not in small
    times = {key: float(value) for key, value in re.findall(r"(\w+_s) = ([\d.]+)", small)}
    assert times["duration_s"] < 30 and times["at_s"] < 15
    again = json.loads(exasim("run", str(out), "--json").stdout)
    assert again["seed"] == 7 and again["violations"][0]["check"] == "M2" and again["without_effect"] == []


def test_a_missed_deadline_leads_to_who_should_have_acted(tmp_path):
    late = json.loads(exasim("run", "canary", "--json").stdout)["violations"][0]
    host = re.search(r"one of them (peer \d+), which takes it for \w+ and waits for ", late["what"]).group(1)
    done = exasim("explain", "canary", "--event", str(late["event"]))
    assert done.returncode == 0 and f" {host} " in done.stdout.splitlines()[0] + " "


def test_a_report_is_one_file_that_needs_nothing_else(tmp_path):
    out = tmp_path / "report.html"
    done = exasim("report", "crash-one", "--peers", "8", "--out", str(out))
    assert done.returncode == 0
    page = out.read_text()
    assert "Who knew what when" in page and page.count("<svg") >= 4 and "calls another dead" in page
    assert "src=" not in page and "href=" not in page
    assert " in 0.00 s (0x)" not in page
    for drawing in page.split("<svg")[1:]:
        axis = re.findall(r'text-anchor="middle">([\d.]+ s)<', drawing)
        assert len(axis) == len(set(axis)) == 11
    assert json.loads(exasim("report", "crash-one", "--peers", "8", "--out", str(out), "--json").stdout)["ok"]
