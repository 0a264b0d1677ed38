# SPDX-License-Identifier: MIT
"""Checks a report in JSON and prints it without what changes from run to run.

  check.py FILE           all promises of the schema; prints the normalised JSON
  check.py FILE TID KEY   prints one number of one thread
"""
import json
import sys

TOP = ["schema", "capture", "losses", "guard", "threads", "functions", "waits", "locks",
       "kernel_locks_recorded", "blamed", "blame", "stalls", "stalls_total", "stalled_ns",
       "blackouts", "finding"]
CAPTURE = ["path", "host", "kernel", "engine", "start_unix_ns", "duration_ns", "cpus", "freq_hz",
           "command", "complete"]
THREAD = ["pid", "tid", "comm", "wall_ns", "running_ns", "runnable_ns", "waiting_ns", "waits",
          "samples"]
FUNCTION = ["name", "module", "file", "line", "self_samples", "total_samples"]
WAIT = ["reason", "evidence", "in", "lock", "total_ns", "count", "max_ns", "stack", "wakers"]
LOCK = ["kind", "name", "address", "named", "inferred", "contended", "shared", "evidence", "waits",
        "total_wait_ns", "max_wait_ns", "p50_ns", "p99_ns", "histogram", "waiters", "holders"]
PARTY = ["pid", "tid", "comm", "stack"]
BLAME = ["pid", "tid", "comm", "doing", "reason", "function", "lock", "first_lock", "depth",
         "deadlock", "blamed_ns", "waits", "most_gained_ns", "stack", "victims"]
STALL = ["start_unix_ns", "start_ns", "ns", "threads", "of_threads", "lost_ns", "lock", "pid", "tid",
         "comm", "doing", "reason", "function", "stack"]
FRAME = ["name", "module", "file", "line", "inlined"]


def need(obj, keys, what):
    for key in keys:
        assert key in obj, f"{what} has no {key}"


def check_lock(lock):
    name = lock["name"]
    need(lock, LOCK, f"lock {name}")
    if lock["inferred"]:
        assert lock["address"] is None, f"{name}: an address that nobody saw"
    else:
        assert int(lock["address"], 16) > 0 and lock["address"].startswith("0x"), name
    assert sum(h["count"] for h in lock["histogram"]) == lock["waits"], f"{name}: histogram"
    froms = [h["from_ns"] for h in lock["histogram"]]
    assert froms == sorted(set(froms)), f"{name}: histogram order"
    assert lock["p50_ns"] <= lock["p99_ns"] <= lock["max_wait_ns"], f"{name}: quantiles"
    assert lock["max_wait_ns"] <= lock["total_wait_ns"], name
    assert sum(w["wait_ns"] for w in lock["waiters"]) == lock["total_wait_ns"], f"{name}: waiters"
    assert sum(w["waits"] for w in lock["waiters"]) == lock["waits"], f"{name}: counts"
    assert sum(h["blamed_ns"] for h in lock["holders"]) <= lock["total_wait_ns"], f"{name}: holders"
    for party in lock["waiters"] + lock["holders"]:
        need(party, PARTY, f"{name}: party")


def check_refs(r):
    refs = {None, *range(len(r["locks"]))}
    assert r["finding"]["lock"] in refs
    for d in r["deadlocks"]:
        circle = d["threads"]
        for one, after in zip(circle, circle[1:] + circle[:1]):
            assert one["lock"] in refs
            assert one["waits_for"]["tid"] == after["tid"], "no circle"
    if r["finding"]["about"] == "deadlock":
        assert all(t["comm"] in r["finding"]["sentence"] for t in r["deadlocks"][0]["threads"])
    else:
        assert not r["deadlocks"], "a deadlock that the sentence does not say"


def check_locks(r):
    for lock in r["locks"]:
        check_lock(lock)
    refs = {None, *range(len(r["locks"]))}
    for b in r["blame"]:
        need(b, BLAME, "blame")
        assert b["lock"] in refs and b["first_lock"] in refs
        assert sum(v["blamed_ns"] for v in b["victims"]) == b["blamed_ns"], "victims do not add up"
        assert b["most_gained_ns"] == max(v["blamed_ns"] for v in b["victims"])
        for v in b["victims"]:
            assert v["blamed_ns"] <= v["wall_ns"], "more than there was to gain"
    charged = sum(b["blamed_ns"] for b in r["blame"])
    assert charged == r["blamed"]["charged_ns"], f"{charged} of {r['blamed']} ns are charged"
    assert charged + r["blamed"]["unknown_ns"] == r["blamed"]["waited_ns"], "blame does not add up"
    for s in r["stalls"]:
        need(s, STALL, "stall")
        assert s["lock"] in refs and 2 <= s["threads"] <= s["of_threads"]
        assert s["lost_ns"] <= s["ns"] * s["threads"], "more than stood there"
    assert [s["ns"] for s in r["stalls"]] == sorted((s["ns"] for s in r["stalls"]), reverse=True)
    for w in r["waits"]:
        assert w["lock"] in refs
    dead = [s for s in r["stalls"] if s["deadlock"]]
    assert len(dead) == len(r["deadlocks"]), "a deadlock is one stall"
    for s, d in zip(dead, r["deadlocks"] if len(dead) == 1 else []):
        assert s["threads"] == len(d["threads"]) + d["behind"]
        assert s["start_ns"] == max(t["since_ns"] for t in d["threads"])
    begin = r["capture"]["start_unix_ns"]
    for w in r["waits"] + r["locks"]:
        assert not begin or w["max_start_unix_ns"] - begin == w["max_start_ns"], "two moments"
    check_refs(r)


def check(r):
    if r["schema"] == "thaw.locks/1":
        need(r, ["capture", "losses", "finding", "kernel_locks_recorded", "locks", "locks_total",
                 "deadlocks"], "locks")
        for lock in r["locks"]:
            check_lock(lock)
        check_refs(r)
        return
    need(r, TOP, "report")
    assert r["schema"] == "thaw.report/1"
    check_locks(r)
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
    for w in r.get("waits", []) + r["locks"]:
        w["max_start_unix_ns"] = 0
    for s in r.get("stalls", []) + r.get("blackouts", []):
        s["start_unix_ns"] = 0


with open(sys.argv[1], encoding="utf-8") as f:
    report = json.load(f)
check(report)
if len(sys.argv) > 2:
    print(next(t for t in report["threads"] if t["tid"] == int(sys.argv[2]))[sys.argv[3]])
else:
    normalise(report)
    print(json.dumps(report, indent=1))
