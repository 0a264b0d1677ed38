#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every sleep against a program that knows each of them: in which call, on what, how often, behind
whose lock, and who ended it. What is compared are the events of the capture, before any model."""
import json
import os
import shutil
import subprocess
import sys
import time

from harness import BUILD, WORKLOAD, Skip, check, near, record, run, tests_of

SLEEPS = os.path.join(BUILD, "workload", "sleeps")
EVENTDUMP = os.path.join(BUILD, "release", "live", "eventdump")

# src/wire/state.h
STATE_MASK, STATE_PREEMPTED, STATE_GONE, STATE_THROTTLED = 0x94ff, 0x20000, 0x80, 0x100000
CALL_NR, CALL_COMPAT = 0x3ff, 0x4000
WAKE_CTX, WAKE_RELEASE = 0x0f, 0x10
FUTEX_ONE_WORD = 0x8000
KLOCK_MMAP_LOCK, KLOCK_INODE = 1, 3
FILES = {"pipe": 1, "socket": 2, "regular": 3, "char": 4, "block": 5, "anon": 6}


def events(capture, *kinds):
    r = subprocess.run([EVENTDUMP, capture, *kinds], capture_output=True, text=True, timeout=120)
    check(r.returncode == 0, f"eventdump: exit {r.returncode}: {r.stderr.strip()}")
    return [json.loads(line) for line in r.stdout.splitlines()]


def went_to_sleep(ev):
    return (ev["event"] == "switch" and ev["state"] & STATE_MASK
            and not ev["state"] & (STATE_PREEMPTED | STATE_GONE))


def sleeps_of(evs, tid):
    return [e for e in evs if went_to_sleep(e) and e["prev"] == tid]


def sleepers(case):
    truth = record([], [SLEEPS, case], "c.thaw")
    for s in truth["sleepers"]:
        check(s["switches"] >= s["count"], f"{s['name']} slept {s['switches']} times: {truth}")
    return truth["sleepers"], events("c.thaw")


def test_calls():
    """The call of each sleep, and the kind of file, by the program's own list."""
    them, evs = sleepers("calls")
    for s in them:
        mine = [e for e in sleeps_of(evs, s["tid"]) if (e["call"] & CALL_NR) == s["nr"] + 1]
        check(len(mine) == s["switches"],
              f"{s['name']}: {len(mine)} sleeps in call {s['nr']}, of {s['switches']}")
        for e in mine:
            kind = e["call"] >> 10 & 15
            check(kind == FILES.get(s.get("file"), 0), f"{s['name']}: file kind {kind}")
            check(bool(e["call"] & CALL_COMPAT) == s["compat"], f"{s['name']}: {e['call']:#x}")


def followed_by_its_switch(evs, at):
    """A FUTEX stands before the SWITCH of the same thread and time."""
    want = evs[at]
    for e in evs[at + 1:at + 20]:
        if e["event"] == "switch" and e["prev"] == want["tid"]:
            return e["ts"] == want["ts"] and went_to_sleep(e)
    return False


def test_futex():
    """Address, operation, words, and whether a call on the same futex ended the sleep."""
    them, evs = sleepers("futex")
    for s in them:
        at = [i for i, e in enumerate(evs) if e["event"] == "futex" and e["tid"] == s["tid"]]
        check(len(at) == s["switches"],
              f"{s['name']}: {len(at)} events of {s['switches']} sleeps")
        words = s["words"] + [0] * (5 - len(s["words"]))
        op = s["op"] | (FUTEX_ONE_WORD if len(s["words"]) == 1 else 0)
        for n, i in enumerate(at):
            e = evs[i]
            got = [e[k] for k in ("word", "word1", "word2", "word3", "word4")]
            check(e["addr"] == s["addr"] + n * s["step"], f"{s['name']}: {e} of {s}")
            check(e["op"] == op, f"{s['name']}: op {e['op']:#x}, not {op:#x}")
            check(got == words, f"{s['name']}: {got}, not {words}")
            check(followed_by_its_switch(evs, i), f"{s['name']}: no switch behind {e}")
        wakes = [e for e in evs if e["event"] == "waking" and e["wakee"] == s["tid"]]
        released = sum(1 for e in wakes if e["ctx"] & WAKE_RELEASE)
        want = s["count"] if s["woken"] else 0
        check(released == want, f"{s['name']}: {released} releases, not {want}: {wakes}")
        check(all(e["ctx"] & WAKE_CTX == 0 for e in wakes if e["ctx"] & WAKE_RELEASE),
              f"{s['name']}: released by an interrupt: {wakes}")


def test_kernel_locks():
    """Whose lock it is and who has it: two threads, of which only one can be the owner."""
    truth = record([], [SLEEPS, "kernel"], "c.thaw")
    evs = events("c.thaw", "klock", "klocked", "switch")
    if not any(e["event"] == "klocked" for e in evs):
        raise Skip("this kernel does not tell of contended locks")
    for d in truth["duels"]:
        what = KLOCK_INODE if d["name"] == "inode" else KLOCK_MMAP_LOCK
        sleeps = [e for e in evs if e["event"] == "klock" and e["tid"] == d["waiter"]
                  and e["what"] == what]
        check(len(sleeps) >= 3, f"{d['name']}: {len(sleeps)} sleeps of {d['turns']} turns")
        check(all(e["of"] == d["of"] for e in sleeps), f"{d['name']}: not of {d['of']}: {sleeps}")
        owners = [e["owner"] for e in sleeps]
        check(set(owners) <= {d["holder"], 0}, f"{d['name']}: owners {set(owners)}, {d}")
        check(owners.count(d["holder"]) > len(owners) / 2, f"{d['name']}: owners {owners}")
        got = [e for e in evs if e["event"] == "klocked" and e["tid"] == d["waiter"]
               and e["what"] == what]
        took = sum(e["took_ns"] for e in got)
        # Getting the lock is nearly all that the waiter's turns consist of, and never more.
        check(d["wanted_ns"] / 2 <= took <= d["wanted_ns"],
              f"{d['name']}: {took} ns in locks, {d['wanted_ns']} by its own clock")
        check(all(e["owner"] in (d["holder"], 0) for e in got), f"{d['name']}: {got}")


def cpu_cgroup():
    """A new cgroup with a fifth of a CPU: its folder, and a function that reads its account."""
    v2, v1 = "/sys/fs/cgroup", "/sys/fs/cgroup/cpu"
    name = f"thaw-test-{os.getpid()}-{time.monotonic_ns()}"

    def account(folder):
        with open(os.path.join(folder, "cpu.stat"), encoding="ascii") as f:
            stat = dict(line.split() for line in f)
        ns = stat.get("throttled_time") or int(stat.get("throttled_usec", 0)) * 1000
        return int(stat["nr_throttled"]), int(ns)

    def limit(folder, files):
        os.mkdir(folder)
        try:
            for file, value in files:
                with open(os.path.join(folder, file), "w", encoding="ascii") as f:
                    f.write(value)
        except OSError:
            os.rmdir(folder)
            raise
        return folder

    try:
        if os.path.exists(os.path.join(v1, "cpu.cfs_quota_us")):
            return limit(os.path.join(v1, name), [("cpu.cfs_period_us", "100000"),
                                                  ("cpu.cfs_quota_us", "20000")]), account
        with open(os.path.join(v2, "cgroup.subtree_control"), encoding="ascii") as f:
            if "cpu" in f.read().split():
                return limit(os.path.join(v2, name), [("cpu.max", "20000 100000")]), account
    except OSError as why:
        raise Skip(f"no cgroup with a limit could be made: {why}") from why
    raise Skip("there is no cpu controller for cgroups here")


def test_throttled():
    """Time in which the cgroup had used up its CPU time, by the kernel's own account."""
    folder, account = cpu_cgroup()
    try:
        inside = f"echo $$ >{folder}/cgroup.procs && exec {WORKLOAD} spin 1 2"
        truth = record([], ["sh", "-c", inside], "c.thaw")
        times, ns = account(folder)
    finally:
        os.rmdir(folder)
    check(times >= 5, f"it was throttled {times} times only")
    tid = next(t["tid"] for t in truth["threads"] if t["name"].startswith("spin"))
    out, total, n = 0, 0, 0
    for e in events("c.thaw", "switch"):
        if e["prev"] == tid and e["state"] & STATE_THROTTLED:
            out, n = e["ts"], n + 1
        elif e["next"] == tid and out:
            total, out = total + e["ts"] - out, 0
    near(total, ns, 0.1, 30_000_000, "throttled time")
    near(n, times, 0.2, 3, "times throttled")


def test_namespace_tids():
    """For threads of another pid namespace, the capture also has their tids there."""
    if not shutil.which("unshare"):
        raise Skip("unshare is not installed")
    truth = record([], ["unshare", "--pid", "--fork", WORKLOAD, "sleep", "3", "5"], "c.thaw")
    inner = {t["tid"] for t in truth["threads"]}
    check(max(inner) < 100, f"not in a namespace of its own: {inner}")
    told = {e["vtid"] for e in events("c.thaw", "fork") if e["vtid"]}
    check(inner <= told, f"{inner} by themselves, {told} in the capture")


if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
