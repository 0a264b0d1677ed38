#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recordings inside of a guest against what the workloads know of themselves. Emulation is slow and
uneven, so what is compared here is what does not depend on speed: counts, sums, who woke whom, who
held what, and stacks."""
import json
import os
import subprocess
import sys

sys.path.insert(0, "/lab/test")

# pylint: disable=wrong-import-position
import harness
from harness import BUILD, WORKLOAD, Skip, check, info, near, report, run, tests_of, thaw

TIMELY = 0.001   # running + runnable + waiting + lost against wall
AT_ENDS = 2      # reading its own count may cost a thread its CPU


def record(args, command, capture, **kwargs):
    """Whatever it costs: emulated, everything costs too much."""
    return harness.record(["--max-overhead", "100", *args], command, capture, **kwargs)


def adds_up(rep):
    check(rep["threads"], "no threads in the report")
    for t in rep["threads"]:
        parts = t["running_ns"] + t["runnable_ns"] + t["waiting_ns"] + t["lost_ns"]
        near(parts, t["wall_ns"], TIMELY, 0, f"thread {t['tid']} ({t['comm']}): sum of its time")
    harness.lossless(rep)


def events(capture, *kinds):
    out = subprocess.run([os.path.join(BUILD, "release/live/eventdump"), capture, *kinds],
                         capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def names(stack):
    return [f["name"] for f in stack]


def test_pingpong():
    """Each switch of the two sides is there once, by the kernel's own count."""
    truth = record(["-F", "0"], [WORKLOAD, "pingpong", "2003", "p", "0"], "c.thaw")
    adds_up(report("c.thaw"))
    switches = events("c.thaw", "switch")
    pair = [t for t in truth["threads"] if t["name"] in ("left", "right")]
    check(len(pair) == 2 and sum(t["vol"] + t["invol"] for t in pair) >= 2003, "it did not switch")
    for t in pair:
        end = t["start_ns"] + t["wall_ns"]
        want = t["vol"] + t["invol"]
        got = sum(e["prev"] == t["tid"] and t["start_ns"] <= e["ts"] <= end for e in switches)
        check(abs(got - want) <= AT_ENDS, f"{t['name']}: {got} switches recorded, {want} made")
    return f"{len(switches)} switches"


def test_tasks():
    record(["-F", "0"], [WORKLOAD, "forks", "53"], "c.thaw")
    kinds = info("c.thaw")["events_by_kind"]
    check(kinds["fork"] == 53 and kinds["exit"] == 54, f"53 forks: {kinds}")
    record(["-F", "0"], [WORKLOAD, "execs", "13"], "c.thaw")
    kinds = info("c.thaw")["events_by_kind"]
    check(kinds["exec"] == 14, f"{kinds['exec']} execs recorded of 14")


def test_samples():
    """Time on the CPU: the whole chain of callers is in the samples, whether or not the kernel walks it
    by tables."""
    record([], [WORKLOAD, "chain", "spin", "2"], "c.thaw")
    rep = report("c.thaw", "--top", "200")
    adds_up(rep)
    total = {f["name"]: f["total_samples"] for f in rep["functions"]}
    most = max(total.get("chain_spin", 0), total.get("chain_1", 0))
    check(most > 100, f"{most} samples of a busy thread")
    for i in range(1, 13):
        check(total.get(f"chain_{i}", 0) >= most * 0.9, f"chain_{i} in {total.get(f'chain_{i}')} "
              f"of {most} samples")
    return f"{most} samples"


def test_waits():
    """Each sleep is there, with both halves of its stack; a timer's interrupt ended it, no thread."""
    truth = record(["-F", "0"], [WORKLOAD, "chain", "sleep", "1"], "c.thaw")
    rep = report("c.thaw", "--top", "100")
    adds_up(rep)
    sleeper = next(t for t in truth["threads"] if t["name"] == "chain")
    slept = [w for w in rep["waits"] if "hrtimer_nanosleep" in names(w["stack"])]
    count = sum(w["count"] for w in slept)
    want = min(sleeper["sleeps"], sleeper["vol"])
    check(count == want, f"{count} sleeps recorded, {sleeper['sleeps']} slept, {want} waited")
    whole = sum(w["count"] for w in slept if all(f"chain_{i}" in names(w["stack"])
                                                 for i in range(1, 13)))
    check(whole >= 0.8 * count, f"the whole chain is in {whole} of {count} stacks of sleeps")
    check(all(k["kind"] != "thread" for w in slept for k in w["wakers"]),
          f"a timer's interrupt is blamed on a thread: {[w['wakers'] for w in slept]}")
    return f"{count} sleeps"


def test_wakers():
    truth = record(["-F", "0"], [WORKLOAD, "waker", "101", "3000"], "c.thaw")
    rep = report("c.thaw", "--top", "100")
    adds_up(rep)
    waker = next(t for t in truth["threads"] if t["name"] == "waker")
    woken = sum(k["count"] for w in rep["waits"] for k in w["wakers"]
                if k.get("tid") == waker["tid"])
    check(95 <= woken <= 103, f"the waker ended {woken} waits of 101")
    return f"{woken} waits"


def test_lock():
    """A mutex of a program: its kind, and only threads that did hold it are named as holders."""
    truth = record(["-F", "0"], [os.path.join(BUILD, "workload/locks"), "normal", "--seconds", "2"],
                   "c.thaw", timeout=300)
    rep = report("c.thaw", "--top", "100")
    adds_up(rep)
    # libc has some of its own, which threads that begin at once now and then wait for.
    locks = [k for k in rep["locks"] if k["kind"] == "mutex" and k["contended"]
             and not k["name"].startswith("libc.")]
    check(len(locks) == 1, f"one mutex, not {[(k['kind'], k['name']) for k in rep['locks']]}")
    tids = {t["tid"] for t in truth["threads"]}
    held = [h["tid"] for h in locks[0]["holders"] if h["tid"]]
    check(held and set(held) <= tids, f"holders {held} of {tids}")
    return f"{locks[0]['waits']} waits"


def test_kernel_lock():
    if not os.path.exists("/sys/kernel/tracing/events/lock/contention_begin"):
        raise Skip("this kernel does not tell of contended locks")
    record(["-F", "0"], [os.path.join(BUILD, "workload/klocks"), "rename", "4", "3"], "c.thaw")
    rep = report("c.thaw", "--top", "100")
    adds_up(rep)
    kinds = {k["kind"]: k["waits"] for k in rep["locks"]}
    check(kinds.get("rwsem", 0) > 0, f"contended locks: {kinds}")
    return f"{kinds['rwsem']} waits"


def test_whole_machine():
    r = thaw("record", "-a", "--max-overhead", "100", "-d", "2", "-o", "c.thaw")
    check(r.returncode == 0, r.stderr)
    rep = report("c.thaw", "--top", "10000")
    adds_up(rep)
    for cpu in rep["cpus"]:
        near(cpu["busy_ns"] + cpu["idle_ns"], rep["capture"]["duration_ns"], 0.002, 0, "CPU time")


if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
