#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What goes wrong in real life: losses, and processes that come, go and are many. What becomes of the command and
the file is in ends.py."""
import json
import os
import resource
import signal
import subprocess
import sys
import time

from harness import (SOAK, THAW, WORKLOAD, Skip, check, info, near, record, report, run, start, stop, tests_of,
                     thaw, wait_until)


# ---- losses ----

def test_forced_loss_is_counted():
    """A ring far too small: records and losses add up to what happened."""
    r = thaw("record", "--max-overhead", "100", "-o", "c.thaw", "--ring-size", "4096", "--", WORKLOAD, "forks", "3001",
             timeout=180)
    check(r.returncode == 0, r.stderr)
    truth = json.loads(r.stdout.splitlines()[-1])
    said = [line for line in r.stderr.splitlines() if " lost: " in line]
    check(any("ring of a CPU was full" in line and line.endswith("; a larger --ring-size helps") for line in said), said)
    check(not any("skipped a probe" in line and "--ring-size" in line for line in said), said)
    found = info("c.thaw")
    kinds = found["events_by_kind"]
    rep = report("c.thaw")
    by_kind = rep["losses"]["by_kind"]
    check(rep["losses"]["events"] > 0, "nothing was lost with a ring of 4 KiB")
    forks = kinds.get("fork", 0) + by_kind.get("fork", 0)
    exits = kinds.get("exit", 0) + by_kind.get("exit", 0)
    check(forks == truth["children"], f"forks: {kinds.get('fork')} recorded + "
          f"{by_kind.get('fork')} lost is not {truth['children']}")
    check(exits == truth["children"] + 1, f"exits: {kinds.get('exit')} + {by_kind.get('exit')}")
    check(any(t["lost_ns"] for t in rep["threads"]), "lost time is shown as lost")
    for t in rep["threads"]:
        parts = t["running_ns"] + t["runnable_ns"] + t["waiting_ns"] + t["lost_ns"]
        near(parts, t["wall_ns"], 0.001, 0, f"thread {t['tid']}: sum of its time")
    text = thaw("report", "c.thaw").stdout
    check("ring of a CPU was full" in " ".join(text.split()), "the report says what was lost and why")
    return f"{rep['losses']['events']} lost, all counted"


def test_defaults_lose_nothing():
    """The fastest ping-pong on every CPU, with sampling."""
    work = start([WORKLOAD, "pingpong2", "--seconds", "20"])
    try:
        r = thaw("record", "-a", "-d", "4", "-o", "c.thaw")
        check(r.returncode == 0, r.stderr)
    finally:
        stop(work)
    losses = report("c.thaw")["losses"]
    check(losses["events"] == 0, f"{losses}")
    found = info("c.thaw")
    rate = found["events_by_kind"]["switch"] / (found["duration_ns"] / 1e9)
    check(rate > 50_000, f"only {rate:.0f} switches/s")
    return f"{rate / 1000:.0f}k switches/s"


# ---- attaching ----

def test_two_thousand_threads():
    work = start([WORKLOAD, "manythreads", "2003", "8"])
    try:
        wait_until(lambda: len(os.listdir(f"/proc/{work.pid}/task")) >= 2004, 20, "2003 threads")
        r = thaw("record", "-p", work.pid, "-d", "1", "-o", "c.thaw")
        check(r.returncode == 0, r.stderr)
    finally:
        stop(work)
    rep = report("c.thaw", "--top", "5000")
    check(len(rep["threads"]) == 2004, f"{len(rep['threads'])} threads of 2004")
    for t in rep["threads"]:
        parts = t["running_ns"] + t["runnable_ns"] + t["waiting_ns"] + t["lost_ns"]
        near(parts, t["wall_ns"], 0.001, 0, f"thread {t['tid']}: sum of its time")


def test_attach_to_fork_storm():
    work = start([WORKLOAD, "forks", "20011"])
    try:
        time.sleep(0.2)
        r = thaw("record", "-p", work.pid, "-d", "1", "-o", "c.thaw")
        check(r.returncode == 0, r.stderr)
    finally:
        stop(work)
    found = info("c.thaw")
    check(found["events_by_kind"]["fork"] > 50, "children are followed")
    check(report("c.thaw")["losses"]["events"] == 0, "nothing is lost")


def cgroup_root():
    for line in open("/proc/self/mounts", encoding="utf-8"):
        fields = line.split()
        if fields[2] == "cgroup2":
            return fields[1]
    raise Skip("no cgroup2 is mounted")


def test_cgroup():
    root = cgroup_root()
    mine = os.path.join(root, f"thaw-test-{os.getpid()}")
    inner = os.path.join(mine, "inner")
    try:
        os.makedirs(inner)
    except OSError as why:
        raise Skip(f"cannot make a cgroup: {why}") from why
    def join(group, pid):
        with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as f:
            f.write(str(pid))
    first, late, out = [start([WORKLOAD, "spin", "1", "6"]) for _ in range(3)]
    try:
        join(inner, first.pid)
        rec = start([THAW, "record", "--cgroup", mine, "-d", "2.5", "-o", "c.thaw"])
        wait_until(lambda: os.path.exists("c.thaw") and os.path.getsize("c.thaw") > 500, 20,
                   "no file")
        time.sleep(1)
        join(mine, late.pid)
        _, err = rec.communicate(timeout=60)
        check(rec.returncode == 0, err)
        rep = report("c.thaw", "--top", "100")
        pids = {t["pid"] for t in rep["threads"]}
        check(first.pid in pids, "the process that was in it is recorded")
        check(late.pid in pids, "the process that was moved into it is recorded")
        check(out.pid not in pids, "the one outside is not")
        for t in rep["threads"]:
            if t["pid"] == late.pid:
                check(t["wall_ns"] < 1.8e9, f"observed from when it came: {t['wall_ns']}")
    finally:
        for p in (first, late, out):
            stop(p)
        time.sleep(0.2)
        os.rmdir(inner)
        os.rmdir(mine)


# ---- the machine and the recorder itself ----

def test_nothing_is_left_behind():
    """After a recording, and after a killed one, no program of thaw is loaded any more."""
    def loaded():
        out = subprocess.run(["bpftool", "prog", "show"], capture_output=True, text=True, check=False)
        return out.stdout.count("name thaw_")
    if loaded():
        raise Skip("another thaw is recording on this machine")
    record([], ["true"], "c.thaw")
    rec = start([THAW, "record", "-a", "-o", "k.thaw"])
    wait_until(loaded, 20, "no program was loaded")
    stop(rec, signal.SIGKILL)
    wait_until(lambda: not loaded(), 10, "programs are still loaded after a kill")


def test_memory_is_flat():
    """A recorder's memory does not grow with the length of the recording."""
    seconds = 10 * SOAK
    work = start([WORKLOAD, "mixed", seconds + 10])
    rec = start([THAW, "record", "-a", "-o", "c.thaw", "--all-stacks", "--max-overhead", "100"])
    sizes = []
    try:
        for _ in range(seconds):
            time.sleep(1)
            with open(f"/proc/{rec.pid}/status", encoding="ascii") as f:
                sizes.append(next(int(l.split()[1]) for l in f if l.startswith("RssAnon")))
        rec.send_signal(signal.SIGINT)
        rec.communicate(timeout=60)
    finally:
        stop(work)
        stop(rec)
    early, late = max(sizes[2:5]), max(sizes[-3:])
    check(late < early * 1.3 + 8192, f"kB each second: {sizes}")
    return f"{late} kB at the end, {early} kB early on"


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(run(tests_of(globals())))
