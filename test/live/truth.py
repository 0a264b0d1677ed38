#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recordings against what the workloads know of themselves: time that adds up, exact counts, stacks,
wakers."""
import os
import re
import shutil
import sys
import time

from harness import (SERVER, THAW, WORKLOAD, check, hidden, info, lossless, near, record, report, run, start, stop,
                     tests_of, thaw, wait_for_events, wait_until)

TIMELY = 0.001  # running + runnable + waiting + lost against wall
AGREED = 0.02   # running against the scheduler's own account


def adds_up(rep, truth=None, whole=True):
    """Every thread's time adds up, and agrees with schedstat where the workload has read it."""
    check(rep["threads"], "no threads in the report")
    for t in rep["threads"]:
        parts = t["running_ns"] + t["runnable_ns"] + t["waiting_ns"] + t["lost_ns"]
        near(parts, t["wall_ns"], TIMELY, 0, f"thread {t['tid']} ({t['comm']}): sum of its time")
    if whole:
        lossless(rep)
    by_tid = {t["tid"]: t for t in rep["threads"]}
    for want in truth["threads"] if truth else []:
        got = by_tid.get(want["tid"])
        check(got, f"thread {want['tid']} ({want['name']}) is missing")
        if "run_ns" not in want:
            continue
        # The workload reads its account between its first and its last instruction; a thread also
        # starts, ends and prints, which is the allowance for the short ones. And thaw counts as
        # running what the hypervisor stole, which the scheduler does not.
        near(got["running_ns"], want["run_ns"], 0,
             AGREED * want["run_ns"] + 5_000_000 + 2 * truth["stolen_ns"] + got["lost_ns"],
             f"{want['name']} ({want['tid']}) running")
        check(got["wall_ns"] >= want["wall_ns"] * 0.999,
              f"{want['name']}: wall {got['wall_ns']} is less than its own {want['wall_ns']}")
    return by_tid


def names(stack):
    return [f["name"] for f in stack]


def test_spin():
    truth = record([], [WORKLOAD, "spin", "2", "2"], "c.thaw")
    rep = report("c.thaw")
    by_tid = adds_up(rep, truth)
    for t in truth["threads"]:
        if t["name"].startswith("spin"):
            # A sample each 1/999 s of running; the clock may skip when the machine is busy.
            want = t["run_ns"] * 999 / 1e9
            near(by_tid[t["tid"]]["samples"], want, 0.15, 20, "samples")


def test_sleep_exact():
    truth = record([], [WORKLOAD, "sleep", "23", "20"], "c.thaw")
    rep = report("c.thaw", "--top", "100")
    adds_up(rep, truth)
    sleeper = next(t for t in truth["threads"] if t["name"] == "sleeper")
    slept = [w for w in rep["waits"] if "hrtimer_nanosleep" in names(w["stack"])]
    count = sum(w["count"] for w in slept)
    # A sleep during which the hypervisor took the CPU away may be over before it has begun: the
    # kernel's own count of voluntary switches tells.
    want = min(sleeper["sleeps"], sleeper["vol"])
    check(sleeper["sleeps"] == 23, f"{sleeper['sleeps']} slept")
    least = want - hidden(rep)
    check(least <= count <= want, f"{count} sleeps recorded, {sleeper['sleeps']} slept, {want} waited")
    total = sum(w["total_ns"] for w in slept)
    # thaw's wait ends when the timer fires; the workload's own when it runs again.
    check(least * 19_000_000 <= total <= sleeper["slept_ns"],
          f"slept {sleeper['slept_ns']}, recorded {total}")


def test_pingpong_exact():
    trips = 20011
    truth = record(["-F", "0"], [WORKLOAD, "pingpong", str(trips), "p", "0"], "c.thaw")
    rep = report("c.thaw")
    adds_up(rep, truth)
    kinds = info("c.thaw")["events_by_kind"]
    pair = [t for t in truth["threads"] if t["name"] in ("left", "right")]
    # The kernel's own count of their switches: each is one SWITCH event with the thread as prev,
    # and each of the two is also switched to by others than its peer.
    switched = sum(t["vol"] + t["invol"] for t in pair)
    check(switched >= 2 * trips, "the workload did not switch")
    check(kinds["switch"] >= switched, f"{kinds['switch']} switches recorded of {switched}")
    check(kinds["switch"] <= 2 * switched + 2000, f"{kinds['switch']} switches for {switched}")
    # On one CPU a write wakes the reader, which preempts the writer: one waking a round trip.
    check(kinds["waking"] >= trips, f"{kinds['waking']} wakings for {trips} round trips")


def test_preempt():
    truth = record([], [WORKLOAD, "preempt", "3", "2"], "c.thaw")
    by_tid = adds_up(report("c.thaw"), truth)
    for t in truth["threads"]:
        if "runq_ns" in t and t["wall_ns"] > 1_000_000_000 and t["run_ns"] > 100_000_000:
            near(by_tid[t["tid"]]["runnable_ns"], t["runq_ns"], AGREED,
                 10_000_000 + 2 * truth["stolen_ns"],
                 f"{t['name']} waiting for the CPU")


def test_forks_exact():
    truth = record([], [WORKLOAD, "forks", "503"], "c.thaw")
    adds_up(report("c.thaw"), truth)
    kinds = info("c.thaw")["events_by_kind"]
    check(kinds["fork"] == truth["children"] == 503, f"{kinds['fork']} forks recorded of 503")
    check(kinds["exit"] == 504, f"{kinds['exit']} exits recorded of 504")


def test_execs_exact():
    truth = record([], [WORKLOAD, "execs", "53"], "c.thaw")
    rep = report("c.thaw", "--top", "200")
    adds_up(rep, truth)
    kinds = info("c.thaw")["events_by_kind"]
    check(kinds["exec"] == 54, f"{kinds['exec']} execs recorded of 54")
    check(sum(t["comm"] == "true" for t in rep["threads"]) == 53, "53 processes named true")


def test_thread_storm():
    truth = record([], [WORKLOAD, "threads", "503", "7"], "c.thaw")
    rep = report("c.thaw", "--top", "1000")
    adds_up(rep)
    check(info("c.thaw")["events_by_kind"]["fork"] >= 503, "503 threads were made")
    check(len(rep["threads"]) >= 504, f"{len(rep['threads'])} threads in the report")
    return f"{truth['switches']} switches"


def test_chain():
    record([], [WORKLOAD, "chain", "spin", "1"], "c.thaw")
    rep = report("c.thaw", "--top", "200")
    adds_up(rep)
    total = {f["name"]: f["total_samples"] for f in rep["functions"]}
    most = max(total.values())
    for i in range(1, 13):
        # -O2 with frame pointers: the whole chain is in nearly every sample.
        check(total.get(f"chain_{i}", 0) >= most * 0.9, f"chain_{i} in {total.get(f'chain_{i}')} "
              f"of {most} samples")
    out = thaw("export", "c.thaw", "-f", "collapsed").stdout
    order = ";".join(f"chain_{i}" for i in range(12, 0, -1))
    check(order in out, "the chain is in order in the collapsed stacks")
    counted = sum(int(line.rsplit(" ", 1)[1]) for line in out.splitlines())
    check(counted == sum(t["samples"] for t in rep["threads"]), "collapsed samples add up")


def test_chain_wait():
    record([], [WORKLOAD, "chain", "sleep", "1"], "c.thaw")
    out = thaw("export", "c.thaw", "-f", "collapsed", "--kind", "wait").stdout
    check("schedule" in out and "nanosleep" in out, "the wait's kernel stack is there")
    rep = report("c.thaw", "--top", "100")
    adds_up(rep)
    us = sum(int(line.rsplit(" ", 1)[1]) for line in out.splitlines())
    waited = sum(t["waiting_ns"] for t in rep["threads"])
    near(us * 1000, waited, 0.001, 100_000, "collapsed waiting time")


def test_waker():
    truth = record([], [WORKLOAD, "waker", "101", "3000"], "c.thaw")
    rep = report("c.thaw", "--top", "100")
    adds_up(rep, truth)
    waker = next(t for t in truth["threads"] if t["name"] == "waker")
    waiter = next(t for t in truth["threads"] if t["name"] == "waiter")
    woken = sum(k["count"] for w in rep["waits"] for k in w["wakers"]
                if k.get("tid") == waker["tid"])
    check(woken >= 95, f"the waker ended {woken} waits of 101")
    futex = [w for w in rep["waits"] if any("futex" in n for n in names(w["stack"]))]
    blamed = sum(k["total_ns"] for w in futex for k in w["wakers"] if k.get("tid") == waker["tid"])
    check(blamed > 0.8 * waiter["waited_ns"] if "waited_ns" in waiter else blamed > 101 * 2_500_000,
          f"{blamed} ns of waiting ended by the waker")
    # Its own sleeps are ended by the timer, in an interrupt: nobody is to blame.
    slept = [w for w in rep["waits"] if "hrtimer_nanosleep" in names(w["stack"])]
    check(slept and all(k["kind"] != "thread" for w in slept for k in w["wakers"]),
          f"a timer's interrupt is blamed on a thread: {[w['wakers'] for w in slept]}")


def test_disk():
    truth = record([], [WORKLOAD, "disk", "211", "53"], "c.thaw")
    adds_up(report("c.thaw"), truth)


def test_mixed_whole_machine():
    work = start([WORKLOAD, "mixed", "4"])
    r = thaw("record", "-a", "-d", "3", "-o", "c.thaw")
    check(r.returncode == 0, r.stderr)
    out, _ = work.communicate(timeout=60)
    rep = report("c.thaw", "--top", "10000")
    adds_up(rep)
    seconds = rep["capture"]["duration_ns"] / 1e9
    near(seconds, 3, 0.1, 0, "duration")
    # Each CPU is either busy or idle, and the threads' running time is its busy time.
    for cpu in rep["cpus"]:
        near(cpu["busy_ns"] + cpu["idle_ns"], rep["capture"]["duration_ns"], 0.002, 0, "CPU time")
    near(sum(t["running_ns"] for t in rep["threads"]), sum(c["busy_ns"] for c in rep["cpus"]), 0.005,
         0, "running time of all threads")
    check(out, "the workload printed its truth")


def test_who_ended_before():
    """Some short processes end after thaw finds them and before the first record: none may seem to live to the end.
    By its source, the program's processes live for less than a recording."""
    shutil.copy("/bin/true", "passing-by")
    shutil.copy("/bin/sh", "passing-sh")
    loop = start(["./passing-sh", "-c", "while :; do ./passing-by; done"])
    try:
        for _ in range(5):
            r = thaw("record", "-q", "-a", "-d", "1s", "-o", "c.thaw")
            check(r.returncode == 0, r.stderr)
            rep = report("c.thaw")
            mine = [t for t in rep["threads"] if t["comm"] in ("passing-by", "passing-sh") and t["tid"] != loop.pid]
            check(mine, "none was recorded")
            long = [t for t in mine if t["wall_ns"] > rep["capture"]["duration_ns"] * 0.9]
            check(not long, f"{len(long)} of {len(mine)} seem to live on: {long[:2]}")
    finally:
        stop(loop)


def test_server_stall():
    truth = record([], [SERVER, "--seconds", "3", "--json"], "c.thaw")
    rep = report("c.thaw", "--top", "200")
    adds_up(rep)
    comms = {t["comm"] for t in rep["threads"]}
    check({"worker-0", "checkpointer"} <= comms, f"threads: {comms}")
    check(truth["checkpoints"] >= 3, f"the server made {truth['checkpoints']} checkpoints")
    text = thaw("report", "c.thaw").stdout
    check(max(len(line) for line in text.splitlines()) <= 80, "the report fits 80 columns")
    check("checkpointer" in text, "the report names the checkpointer")


def test_attached_target():
    """A process that is there already: its threads are named, and strangers do not become threads."""
    work = start([WORKLOAD, "pingpong2", "--seconds", "30", "--mode", "t"])
    noise = start([WORKLOAD, "spin", "3", "30"])
    try:
        wait_until(lambda: len(os.listdir(f"/proc/{work.pid}/task")) > 1, 5, "no threads")
        live = len(os.listdir(f"/proc/{work.pid}/task"))
        r = thaw("record", "-p", work.pid, "-d", "1.5", "-o", "c.thaw")
        check(r.returncode == 0, r.stderr)
        rep = report("c.thaw", "--top", "100")
        adds_up(rep, whole=False)  # the machine has far more to do than it can
        check({t["pid"] for t in rep["threads"]} == {work.pid},
              f"only threads of the target: {[(t['pid'], t['comm']) for t in rep['threads']]}")
        check(len(rep["threads"]) == live, f"{len(rep['threads'])} threads of {live}")
    finally:
        stop(noise)
        stop(work)


def test_switches_of_proc_stat():
    """The whole machine's switches against the kernel's own count, between the same two moments: from one
    second to the next a machine does not do the same."""
    def switches():
        before = time.time_ns()
        with open("/proc/stat", encoding="ascii") as f:
            text = f.read()
        return int(re.search(r"^ctxt (\d+)", text, re.M).group(1)), (before + time.time_ns()) // 2
    rec = start([WORKLOAD, "pingpong", "--seconds", "8", "--cpu", "0"])
    try:
        r = start([THAW, "record", "-a", "-F", "0", "--max-overhead", "100", "-d", "3", "-o", "c.thaw"])
        wait_for_events(r)
        time.sleep(0.5)
        a, from_ns = switches()
        time.sleep(0.8)
        b, to_ns = switches()
        _, said = r.communicate(timeout=60)
    finally:
        stop(rec)
    check(r.returncode == 0, said)
    capture = report("c.thaw")["capture"]
    from_ns, to_ns = from_ns - capture["start_unix_ns"], to_ns - capture["start_unix_ns"]
    check(0 <= from_ns and to_ns <= capture["duration_ns"], f"counted from {from_ns} to {to_ns}: {capture}")
    lines = thaw("export", "c.thaw", "-f", "jsonl", "--from", f"{from_ns // 1000}us", "--to",
                 f"{to_ns // 1000}us").stdout
    got = sum(line.startswith('{"type":"switch"') for line in lines.splitlines())
    near(got, b - a, 0.01, 100, "switches")
    return f"{got} switches of {b - a}"


if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
