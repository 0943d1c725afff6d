#!/usr/bin/env python3
"""Runs the simulator's bars and prints one JSON object for each: what was measured, the bar, and whether it holds.

Usage: exasim_bars.py EXASIM [--quick]    (--quick: fewer crashes and a shorter lossy time)
"""
import json
import statistics
import subprocess
import sys

exasim = sys.argv[1]
quick = "--quick" in sys.argv[2:]


def run(*args):
    done = subprocess.run([exasim, "run", *args, "--json"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout), "exasim run " + " ".join(args)


def show(name, measured, bar, holds, command):
    print(json.dumps({"name": name, "measured": measured, "bar": bar, "ok": bool(holds), "command": command}), flush=True)


detect, spread = [], []
for seed in range(1, 3 if quick else 11):
    out, command = run("crash-many", "--seed", str(seed))
    detect.append(out["metrics"]["detect_all_s"])
    spread.append(out["metrics"]["view_spread_s"])
show("crash known to all, median of p50, s", statistics.median(d["p50"] for d in detect), "< 5",
     statistics.median(d["p50"] for d in detect) < 5, command)
show("crash known to all, worst p99, s", max(d["p99"] for d in detect), "< 8", max(d["p99"] for d in detect) < 8, command)
show("spread of views, median of p50, s", statistics.median(s["p50"] for s in spread), "< 0.3",
     statistics.median(s["p50"] for s in spread) < 0.3, command)

out, command = run("join-one")
show("join known to all, max, s", out["metrics"]["join_all_s"]["max"], "< 0.5", out["metrics"]["join_all_s"]["max"] < 0.5,
     command)

out, command = run("rack-loss")
show("rack of 25 known to all, p50, s", out["metrics"]["detect_all_s"]["p50"], "< 7",
     out["metrics"]["detect_all_s"]["p50"] < 7, command)
show("ring changes of a lost rack", out["metrics"]["ring_changes"], "1", out["metrics"]["ring_changes"] == 1, command)

out, command = run("idle")
show("idle datagram bytes/s a peer", out["metrics"]["bytes_per_peer_s"], "< 152", out["metrics"]["bytes_per_peer_s"] < 152,
     command)
show("idle 256 x 12, times real time", out["measured_realtime_factor"], ">= 200", out["measured_realtime_factor"] >= 200,
     command)

out, command = run("idle", "--set", "load.rate=2000", "--set", "load.from_s=60", "--set", "measure_from_s=60", "--set",
                   "duration_s=75")
show("2,000 requests a virtual second, times real time", out["measured_realtime_factor"], ">= 20",
     out["measured_realtime_factor"] >= 20, command)

out, command = run("loss-hour", *(["--set", "duration_s=600"] if quick else []))
show("false deaths in a lossy hour", out["metrics"]["false_deaths"], "0", out["metrics"]["false_deaths"] == 0, command)

out, command = run("overload-hour", *(["--set", "duration_s=600"] if quick else []))
show("false deaths beside overloaded peers", out["metrics"]["false_deaths"], "0", out["metrics"]["false_deaths"] == 0,
     command)

out, command = run("cold-cluster-boot")
show("cold boot of 256 x 12, s", out["metrics"]["ready_all_s"], "<= 5", (out["metrics"]["ready_all_s"] or 1e9) <= 5, command)
