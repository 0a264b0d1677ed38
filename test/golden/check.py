# SPDX-License-Identifier: MIT
"""Checks a report in JSON and prints it without what changes from run to run.

  check.py FILE           all promises of the schema; prints the normalised JSON
  check.py FILE TID KEY   prints one number of one thread
"""
import json
import sys

TOP = ["schema", "capture", "losses", "guard", "threads", "functions", "waits", "locks"]
CAPTURE = ["path", "host", "kernel", "engine", "start_unix_ns", "duration_ns", "cpus", "freq_hz",
           "command", "complete"]
THREAD = ["pid", "tid", "comm", "wall_ns", "running_ns", "runnable_ns", "waiting_ns", "waits",
          "samples"]
FUNCTION = ["name", "module", "file", "line", "self_samples", "total_samples"]
WAIT = ["reason", "total_ns", "count", "max_ns", "stack", "wakers"]
FRAME = ["name", "module", "file", "line", "inlined"]


def need(obj, keys, what):
    for key in keys:
        assert key in obj, f"{what} has no {key}"


def check(r):
    need(r, TOP, "report")
    assert r["schema"] == "thaw.report/1"
    need(r["capture"], CAPTURE, "capture")
    need(r["losses"], ["events", "samples", "stacks_broken", "by_cause"], "losses")
    need(r["guard"], ["verdict", "findings"], "guard")
    for t in r["threads"]:
        need(t, THREAD, "thread")
        parts = t["running_ns"] + t["runnable_ns"] + t["waiting_ns"] + t["lost_ns"]
        assert parts == t["wall_ns"], f"thread {t['tid']}: {parts} of {t['wall_ns']} ns"
        reasons = sum(t["waits"].values())
        assert reasons == t["waiting_ns"] + t["runnable_ns"], f"thread {t['tid']}: reasons"
        assert t["wall_ns"] <= r["capture"]["window_ns"], f"thread {t['tid']}: longer than all"
    samples = sum(t["samples"] for t in r["threads"])
    for f in r["functions"]:
        need(f, FUNCTION, "function")
        assert f["self_samples"] <= f["total_samples"] <= samples, f["name"]
    for w in r["waits"]:
        need(w, WAIT, "wait")
        assert w["max_ns"] <= w["total_ns"]
        for f in w["stack"]:
            need(f, FRAME, "frame")
        assert sum(k["total_ns"] for k in w["wakers"]) <= w["total_ns"]
    waited = sum(t["waiting_ns"] for t in r["threads"])
    assert sum(w["total_ns"] for w in r["waits"]) == waited, "waits do not add up"
    assert sum(f["self_samples"] for f in r["functions"]) <= samples


def normalise(r):
    r["capture"]["path"] = r["capture"]["path"].split("/")[-1]
    r["capture"]["start_unix_ns"] = 0
    r["capture"]["damage"] = "torn" if r["capture"]["damage"] else ""
    for w in r["waits"]:
        w["max_start_unix_ns"] = 0


with open(sys.argv[1], encoding="utf-8") as f:
    report = json.load(f)
check(report)
if len(sys.argv) > 2:
    print(next(t for t in report["threads"] if t["tid"] == int(sys.argv[2]))[sys.argv[3]])
else:
    normalise(report)
    print(json.dumps(report, indent=1))
