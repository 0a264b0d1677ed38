#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Locks of the kernel beside `perf lock`, in the same run and on the same process: as many waits and as
much time for each kind; and what they are called."""
import collections
import json
import os
import re
import subprocess
import sys

from harness import BUILD, Skip, check, near, record, report, run, tests_of, thaw
from locktruth import words

KLOCKS = os.path.join(BUILD, "workload", "klocks")
CONTEND = os.path.join(BUILD, "workload", "contend")
EVENTDUMP = os.path.join(BUILD, "release", "live", "eventdump")


KINDS = {"mutex": "kernel_mutex", "rwsem": "rwsem", "spinlock": "spinlock", "rwlock": "kernel_rwlock",
         "pcpu-sem": "percpu_rwsem", "rt-mutex": "rtmutex", "semaphore": "kernel_semaphore"}
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9}


def perf_contention(data):
    """Waits and time by kind, of `perf lock contention`."""
    out = subprocess.run(["perf", "lock", "contention", "-i", data], capture_output=True, text=True,
                         timeout=300, check=False)
    check(out.returncode == 0, f"perf lock contention: {out.stderr[-300:]}")
    got = collections.defaultdict(lambda: [0, 0.0])
    line = re.compile(r"^\s*(\d+)\s+([\d.]+) (\w+)\s+[\d.]+ \w+\s+[\d.]+ \w+\s+(\S+)")
    for m in filter(None, map(line.match, (out.stdout + out.stderr).splitlines())):
        kind = KINDS.get(m[4].split(":")[0], m[4])
        got[kind][0] += int(m[1])
        got[kind][1] += float(m[2]) * UNITS[m[3]]
    return got


def kernel(case, kinds):
    """The same run by both: perf inside of thaw's recording, on the same process."""
    if not os.path.exists("/usr/bin/perf"):
        raise Skip("there is no perf")
    if not os.path.exists("/sys/kernel/tracing/events/lock/contention_begin"):
        raise Skip("this kernel does not tell of contended locks")
    r = thaw("record", "-F", "0", "-o", "c.thaw", "--", "perf", "lock", "record", "-q", "-B",
             "--no-bpf-event", "-o", "perf.data", "--", KLOCKS, case, "4", "1")
    check(r.returncode == 0, r.stderr[-500:])
    truth = json.loads(next(x for x in r.stdout.splitlines() if x.startswith("{")))
    rep = report("c.thaw", "--top", "100000")
    theirs = perf_contention("perf.data")
    said = []
    for kind in kinds:
        count = ns = 0
        for lock in rep["locks"]:
            if lock["kind"] == kind:
                mine = [w for w in lock["waiters"] if w["pid"] == truth["pid"]]
                count += sum(w["waits"] for w in mine)
                ns += sum(w["wait_ns"] for w in mine)
        check(theirs[kind][0] > 50, f"{kind}: perf saw only {theirs[kind][0]}")
        near(ns, theirs[kind][1], 0.05, 1_000_000, f"{kind}: waited ({count} waits, "
             f"{theirs[kind][0]} by perf)")
        near(count, theirs[kind][0], 0.05, 5, f"{kind}: waits")
        said.append(f"{kind} {ns / 1e6:.1f} ms in {count}, perf {theirs[kind][1] / 1e6:.1f} ms "
                    f"in {theirs[kind][0]}")
    return "; ".join(said)


def test_kernel_pipe():
    return kernel("pipe", ["kernel_mutex"])


def test_kernel_rename():
    return kernel("rename", ["rwsem"])


def test_kernel_mmap():
    return kernel("mmap", ["rwsem"])


def test_fights_are_counted():
    """Threads that fight for a lock: every time that it was got, by the kernel's own count, in few records."""
    if not os.path.exists("/usr/bin/perf"):
        raise Skip("there is no perf")
    if not os.path.exists("/sys/kernel/tracing/events/lock/contention_end"):
        raise Skip("this kernel does not tell of contended locks")
    r = thaw("record", "-F", "0", "-o", "c.thaw", "--", "perf", "stat", "-x,", "-o", "stat.csv", "-e",
             "lock:contention_end", "--", CONTEND, "pipe", "--seconds", "1")
    check(r.returncode == 0, r.stderr[-500:])
    with open("stat.csv", encoding="ascii") as f:
        theirs = next(int(line.split(",")[0]) for line in f if "contention_end" in line)
    rep = report("c.thaw", "--top", "100000")
    mine = {t["pid"] for t in rep["threads"] if t["comm"].startswith("contend")}
    count = sum(w["waits"] for lock in rep["locks"] for w in lock["waiters"]
                if not lock["pid"] and w["pid"] in mine)
    done = subprocess.run([EVENTDUMP, "c.thaw", "klocked"], capture_output=True, text=True, timeout=120,
                          check=False)
    check(done.returncode == 0, done.stderr[-300:])
    records = len(done.stdout.splitlines())
    near(count, theirs, 0.001, 20, f"times got, in {records} records")
    check(theirs < 100_000 or records < count / 4, f"{records} records for {count} times: not added up")
    return f"{count} times in {records} records, {theirs} by perf"


def klock_name(case, pattern):
    truth = record([], [KLOCKS, case, "4", "1"], "c.thaw")
    rep = report("c.thaw", "--top", "1000")
    most = max((x for x in rep["locks"] if x["kind"] in ("rwsem", "kernel_mutex")),
               key=lambda x: x["total_wait_ns"], default=None)
    check(most, f"no kernel lock: {words(rep['locks'])}")
    check(re.search(pattern, most["name"]), f"called {most['name']}")
    tids = {t["tid"] for t in truth["threads"]}
    check({h["tid"] for h in most["holders"] if h["tid"]} <= tids, "held by the threads that use it")
    return most["name"]


def test_kernel_names():
    return "; ".join([klock_name("mmap", r"^mmap_lock of klocks"),
                      klock_name("rename", r"inode|i_rwsem")])

if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
