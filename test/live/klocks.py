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


def kernel(case, kinds, seconds=1):
    """The same run by both: perf inside of thaw's recording, on the same process."""
    if not os.path.exists("/usr/bin/perf"):
        raise Skip("there is no perf")
    if not os.path.exists("/sys/kernel/tracing/events/lock/contention_begin"):
        raise Skip("this kernel does not tell of contended locks")
    r = thaw("record", "-F", "0", "-o", "c.thaw", "--", "perf", "lock", "record", "-q", "-B",
             "--no-bpf-event", "-o", "perf.data", "--", KLOCKS, case, "4", str(seconds))
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
    # Renaming is slow, and slower beside others: enough of them take a while.
    return kernel("rename", ["rwsem"], seconds=4)


def test_kernel_mmap():
    return kernel("mmap", ["rwsem"])


def test_fights_are_counted():
    """Threads that fight for a lock: few records count every time that they got it, as the kernel does."""
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


def test_zoom_keeps_the_cause():
    """hand-0 gives memory back and has mmap_lock meanwhile: zoomed to the stall, and into it, the report says so
    as that of the whole recording does."""
    truth = record([], [KLOCKS, "replace", "4", "2"], "c.thaw")
    filler = truth["threads"][1]["tid"]
    whole = report("c.thaw")
    stall = next((s for s in whole["stalls"] if s["tid"] == filler and s["lock"] is not None
                  and s["ns"] > 8_000_000), None)
    check(stall, f"no long stall by hand-0 ({filler}): {whole['stalls'][:3]}")
    name = whole["locks"][stall["lock"]]["name"]
    check(name.startswith("mmap_lock of klocks"), f"the whole recording calls it {name}")
    start, ns = stall["start_ns"], stall["ns"]
    for begin, end in ((start, start + ns), (start + ns // 3, start + 2 * ns // 3)):
        part = report("c.thaw", "--from", f"{begin}ns", "--to", f"{end}ns")
        lock = part["locks"][0]
        check(lock["name"] == name, f"zoomed: the worst lock is {lock['name']}, {lock['total_wait_ns']} ns")
        check(lock["max_wait_ns"] <= end - begin, f"a wait of {lock['max_wait_ns']} ns in {end - begin} ns")
        check(lock["holders"][0]["tid"] == filler, f"zoomed: held by {lock['holders'][0]}")
        one = part["stalls"][0]
        check(one["tid"] == filler and part["locks"][one["lock"]]["name"] == name,
              f"zoomed: another stall: {one}")
        near(one["ns"], end - begin, 0.02, 1_000_000, "the stall's part in the range")
        text = thaw("report", "c.thaw", "--from", f"{begin}ns", "--to", f"{end}ns").stdout
        check("mmap_lock of klocks" in text.split("\n\n")[0].replace("\n", " "), text.split("\n\n")[0])
    return f"a stall of {ns / 1e6:.0f} ms"


def test_reader_that_nobody_can_name():
    """Readers of an rwsem leave no trace. The first sentence says so, and who ran in the kernel meanwhile."""
    record([], [KLOCKS, "populate", "4", "2"], "c.thaw")
    said = report("c.thaw")["finding"]["sentence"]
    check(re.search(r"mmap_lock of klocks .*; who held it is not known.*; meanwhile hand-0 ran in the kernel, "
                    r"in load_block \(cases\.c:\d+\)", said), said)
    return said


if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
