# SPDX-License-Identifier: MIT
"""
Chrome's trace JSON, read by Python's parser (numbers as decimals, so that none is rounded): what a
thread did tiles its life, sums are the report's, flows come in pairs, stacks lead to a root.
"""
import json
from decimal import Decimal

from common import capture, captures, export, refuses_timeless, refuses_waits, report, test

FIELDS = {"running": "running_ns", "runnable": "runnable_ns", "waiting": "waiting_ns",
          "lost": "lost_ns"}


def load(name, *options, suffix=""):
    with open(export(name, "chrome", *options, suffix=suffix), encoding="utf-8") as file:
        trace = json.load(file, parse_float=Decimal, parse_int=int)
    asked = [o for pair in zip(options[::2], options[1::2]) if pair[0] != "--kind" for o in pair]
    return trace, report(name, *asked)


def ns(micro):
    exact = Decimal(micro) * 1000
    assert exact == int(exact), micro
    return int(exact)


def of(trace, ph):
    return [e for e in trace["traceEvents"] if e["ph"] == ph]


def intervals(name, *options):
    trace, said = load(name, *options, suffix="".join(options))
    sums, lanes = {}, {}
    begin = said["capture"]["window_start_ns"]
    for event in of(trace, "X"):
        start, dur = ns(event["ts"]), ns(event["dur"])
        key = (event["tid"], event["cat"])
        sums[key] = sums.get(key, 0) + dur
        assert begin <= start and start + dur <= begin + said["capture"]["window_ns"], event
        lanes.setdefault(event["tid"], []).append((start, start + dur))
    told = {}
    for thread in said["threads"]:
        for cat, field in FIELDS.items():
            if thread[field]:
                key = (thread["tid"], cat)
                told[key] = told.get(key, 0) + thread[field]
    assert sums == told, (sums, told)
    for tid, lane in lanes.items():
        lane.sort()
        lives = sum(1 for t in said["threads"] if t["tid"] == tid)
        gaps = 0
        for (_, end), (start, _) in zip(lane, lane[1:]):
            assert start >= end, (tid, end, start)
            gaps += start > end
        assert gaps < lives, (tid, gaps, "there are gaps")


def names(name, *options):
    trace, said = load(name, *options, suffix=".names" + "".join(options))
    told = {e["tid"]: e["args"]["name"] for e in of(trace, "M") if e["name"] == "thread_name"}
    for thread in said["threads"]:
        assert told[thread["tid"]] == thread["comm"], thread
    processes = {e["pid"] for e in of(trace, "M") if e["name"] == "process_name"}
    assert processes == {t["pid"] or t["tid"] for t in said["threads"]}
    assert set(told) == {t["tid"] for t in said["threads"]}


def flows(name, *options):
    """Each begins where its waker ran and ends where its wait did."""
    trace, _ = load(name, *options, suffix=".flows" + "".join(options))
    begins = {e["id"]: e for e in of(trace, "s")}
    ends = {e["id"]: e for e in of(trace, "f")}
    assert len(of(trace, "s")) == len(begins) and set(begins) == set(ends)
    waits = {(e["tid"], ns(e["ts"]) + ns(e["dur"])): e for e in of(trace, "X") if e["cat"] == "waiting"}
    for number, end in ends.items():
        wait = waits[end["tid"], ns(end["ts"])]
        assert wait["args"]["waker"].endswith(f" ({begins[number]['tid']})"), (wait, begins[number])
        assert begins[number]["ts"] == end["ts"]
    return len(begins)


def samples(name, *options):
    trace, said = load(name, *options, suffix=".samples" + "".join(options))
    frames = trace["stackFrames"]
    found, leaves = {}, {}
    for event in of(trace, "i"):
        found[event["tid"]] = found.get(event["tid"], 0) + 1
        if "sf" not in event:
            continue
        frame = frames[event["sf"]]
        assert frame["name"] == event["name"], event
        leaves[frame["name"]] = leaves.get(frame["name"], 0) + 1
        while "parent" in frame:
            frame = frames[frame["parent"]]
    assert found == {t["tid"]: t["samples"] for t in said["threads"] if t["samples"]}, found
    told = {}
    for function in said["functions"]:
        told[function["name"]] = told.get(function["name"], 0) + function["self_samples"]
    assert leaves == {n: c for n, c in told.items() if c}, leaves


def waits():
    """What the capture by hand is known to hold."""
    trace, _ = load("locks", suffix=".waits")
    held = [
        e for e in of(trace, "X") if e.get("args", {}).get("lock") == "commit_lock"]
    assert len(held) == 20 and {e["args"]["holder"] for e in held} == {"checkpointer (305)"}, held[0]
    assert {e["args"]["reason"] for e in held} == {"mutex"}
    assert all("serve > commit" in e["args"]["stack"] for e in held), held[0]["args"]["stack"]
    disk = [e for e in of(trace, "X") if e.get("args", {}).get("reason") == "disk"]
    assert len(disk) == 5 and {e["args"]["waker"] for e in disk} == {"an interrupt"}, disk
    assert flows("locks") == 50
    trace, _ = load("story", suffix=".when")
    begin = report("story")["capture"]["start_unix_ns"]
    assert trace["otherData"]["begin_unix_ns"] == str(begin)


def interrupts():
    """In each second a disk's interrupt meets worker-1 (101) and wakes the writer: not worker-1's doing."""
    trace, _ = load("story", suffix=".interrupts")
    mine = [e for e in of(trace, "X") if e["tid"] == 103 and e.get("args", {}).get("reason") == "disk"]
    assert len(mine) == 10 and {e["args"]["waker"] for e in mine} == {"an interrupt"}, mine
    assert not [e for e in of(trace, "f") if e["tid"] == 103]


def only(kind):
    trace, _ = load("locks", "--kind", kind, suffix=".kind." + kind)
    cats = {e["cat"] for e in trace["traceEvents"] if "cat" in e}
    assert ("sample" in cats) == (kind == "cpu"), cats
    assert ("waiting" in cats) == (kind != "cpu"), cats
    assert {"running", "runnable"} <= cats, cats
    if kind == "lock":
        reasons = {e["args"]["reason"] for e in of(trace, "X") if e["cat"] == "waiting"}
        assert reasons == {"mutex", "kernel_lock"}, reasons


def engine_without_waits():
    trace, said = load("ctimer")
    assert not of(trace, "X") and len(of(trace, "i")) == sum(t["samples"] for t in said["threads"])
    refuses_waits("chrome")


for each in captures() + [n for n in ("names", "lost", "empty") if capture(n)]:
    test(f"chrome {each}: intervals tile, and are the report's", intervals, each)
    test(f"chrome {each}: names", names, each)
    test(f"chrome {each}: flows are in pairs", flows, each)
    test(f"chrome {each}: samples are the report's", samples, each)
for option in (("--thread", "worker-1"), ("--from", "1s", "--to", "2600ms")):
    for story in captures():
        where = f"chrome {story} {' '.join(option)}"
        test(f"{where}: intervals", intervals, story, *option)
        test(f"{where}: flows", flows, story, *option)
        test(f"{where}: samples", samples, story, *option)
test("chrome locks: reasons, holders, wakers and stacks", waits)
test("chrome story: interrupts are nobody's doing", interrupts)
for which in ("cpu", "wait", "lock"):
    test(f"chrome locks --kind {which}", only, which)
if capture("ctimer"):
    test("chrome ctimer: an engine that sees no waits", engine_without_waits)
test("chrome: a capture without times is refused", refuses_timeless, "chrome")
