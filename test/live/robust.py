#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What goes wrong in real life: losses, dead processes, signals, full disks, missing rights."""
import os
import random
import resource
import signal
import subprocess
import sys
import time

from harness import (SERVER, THAW, WORKLOAD, Skip, check, info, near, record, report, run, start,
                     stop, tests_of, thaw, wait_for_events, wait_until)

KILLS = int(os.environ.get("THAW_KILLS", "100"))


# ---- losses ----

def test_forced_loss_is_counted():
    """A ring far too small: what was recorded and what was lost are together what happened."""
    truth = record(["--ring-size", "4096"], [WORKLOAD, "forks", "3001"], "c.thaw")
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
    lost = []
    # A shared machine may stop altogether for a second: three tries.
    while len(lost) < 3 and 0 not in lost:
        work = start([WORKLOAD, "pingpong2", "--seconds", "20"])
        try:
            r = thaw("record", "-a", "-d", "5", "-o", f"c{len(lost)}.thaw")
            check(r.returncode == 0, r.stderr)
        finally:
            stop(work)
        rep = report(f"c{len(lost)}.thaw")
        lost.append(rep["losses"]["events"])
    check(0 in lost, f"lost in {len(lost)} tries: {lost}")
    found = info(f"c{len(lost) - 1}.thaw")
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


def test_attach_while_it_exits():
    outcomes = {}
    for i in range(20):
        work = start([WORKLOAD, "exits", str(random.Random(i).randrange(5, 300))])
        r = thaw("record", "-p", work.pid, "-d", "2", "-o", f"c{i}.thaw")
        stop(work)
        if r.returncode == 0:
            check("ended" in r.stderr, f"it did not see the end: {r.stderr}")
            report(f"c{i}.thaw")
            outcomes["recorded"] = outcomes.get("recorded", 0) + 1
        else:
            check(r.returncode == 1 and "there is no process" in r.stderr,
                  f"exit {r.returncode}: {r.stderr}")
            outcomes["gone"] = outcomes.get("gone", 0) + 1
    return ", ".join(f"{n} {what}" for what, n in outcomes.items())


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


def test_single_thread():
    work = start([WORKLOAD, "spin", "3", "5"])
    try:
        wait_until(lambda: len(os.listdir(f"/proc/{work.pid}/task")) > 3, 5, "no threads")
        tid = max(int(t) for t in os.listdir(f"/proc/{work.pid}/task"))
        r = thaw("record", "-t", tid, "-d", "1", "-o", "c.thaw")
        check(r.returncode == 0, r.stderr)
    finally:
        stop(work)
    rep = report("c.thaw")
    check([t["tid"] for t in rep["threads"]] == [tid], f"{rep['threads']}")
    check(rep["threads"][0]["running_ns"] > 0, "it ran")


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


# ---- the command and its end ----

def test_exit_status():
    for command, want in ((["true"], 0), (["sh", "-c", "exit 3"], 3),
                          (["sh", "-c", "kill -9 $$"], 128 + 9), (["/no/such/program"], 127),
                          (["/etc/passwd"], 126)):
        r = thaw("record", "-o", "c.thaw", "--", *command)
        check(r.returncode == want, f"{command}: exit {r.returncode}, not {want}: {r.stderr}")
        if want in (126, 127):
            check("cannot run" in r.stderr and not os.path.exists("c.thaw"), r.stderr)
        else:
            check(info("c.thaw")["complete"], "complete")
            os.unlink("c.thaw")


def test_interrupt_seals():
    rec = start([THAW, "record", "-a", "-o", "c.thaw"])
    wait_until(lambda: os.path.exists("c.thaw") and os.path.getsize("c.thaw") > 2000, 20, "no file")
    rec.send_signal(signal.SIGINT)
    _, err = rec.communicate(timeout=60)
    check(rec.returncode == 0 and "interrupted" in err, f"{rec.returncode}: {err}")
    found = info("c.thaw")
    check(found["complete"] and found["ended"] == "interrupted", f"{found}")


def test_second_interrupt_quits():
    # The command ignores the interrupt, so that thaw has something to wait for.
    rec = start([THAW, "record", "-o", "c.thaw", "--", "sh", "-c", "trap '' INT; sleep 7"])
    wait_until(lambda: os.path.exists("c.thaw") and os.path.getsize("c.thaw") > 500, 20, "no file")
    began = time.monotonic()
    rec.send_signal(signal.SIGINT)
    time.sleep(0.5)
    rec.send_signal(signal.SIGINT)
    rec.wait(timeout=10)
    check(rec.returncode == 130 and time.monotonic() - began < 5, f"exit {rec.returncode}")
    rec.stdout.close()
    rec.stderr.close()
    report("c.thaw")


def test_killed_at_random():
    """kill -9 in the middle: the file opens, its events are whole, and little is missing."""
    work = start([WORKLOAD, "mixed", str(KILLS * 10 + 60)])
    rng, torn, shortest = random.Random(7), 0, 1e9
    try:
        for i in range(KILLS):
            rec = start([THAW, "record", "-p", work.pid, "-o", "k.thaw"])
            # From the moment on at which the first events are in the file.
            wait_until(lambda: os.path.exists("k.thaw") and os.path.getsize("k.thaw") > 1000, 20,
                       "no file")
            seconds = rng.uniform(0.0, 1.3)
            time.sleep(seconds)
            stop(rec, signal.SIGKILL)
            found = info("k.thaw")
            torn += not found["complete"]
            r = thaw("report", "k.thaw", "--json")
            check(r.returncode == 0, f"kill {i}: report: {r.stderr}")
            shortest = min(shortest, found["duration_ns"] / 1e9 - seconds)
            # Everything but the last second must be there. (The recording began before that.)
            check(found["duration_ns"] / 1e9 >= seconds - 1.0,
                  f"kill {i} after {seconds:.2f} s: only {found['duration_ns'] / 1e9:.2f} s")
            os.unlink("k.thaw")
    finally:
        stop(work)
    return f"{KILLS} kills, {torn} torn, at most {max(0, -shortest):.2f} s missing"


def test_torn_capture_gets_names():
    rec = start([THAW, "record", "-o", "k.thaw", "--", WORKLOAD, "chain", "spin", "20"])
    wait_for_events(rec, "k.thaw")
    time.sleep(0.5)
    pids = subprocess.run(["pgrep", "-P", str(rec.pid)], capture_output=True, text=True, check=False)
    rec.send_signal(signal.SIGKILL)
    for pid in pids.stdout.split():
        os.kill(int(pid), signal.SIGKILL)
    stop(rec)
    rep = report("k.thaw", "--top", "100")
    check(not rep["capture"]["complete"], "the capture is torn")
    check(any(f["name"] == "chain_1" for f in rep["functions"]), "names are found afterwards")
    text = thaw("report", "k.thaw").stdout
    check("torn" in text or "not sealed" in text or "incomplete" in text, "the report says so")


# ---- the file ----

def test_full_disk():
    script = ("mount -t tmpfs -o size=256k none small && cd small && "
              f"{THAW} record -a -d 20 -F 9999 --all-stacks -o c.thaw; echo status $?; "
              f"{THAW} info c.thaw --json; echo info $?; {THAW} report c.thaw >/dev/null; "
              "echo report $?")
    os.mkdir("small")
    work = start([WORKLOAD, "mixed", "20"])
    try:
        r = subprocess.run(["unshare", "-m", "sh", "-c", script],
                           capture_output=True, text=True, timeout=120, check=False)
    finally:
        stop(work)
    if "permission" in r.stderr.lower() and "mount" in r.stderr:
        raise Skip("cannot mount")
    check("status 1" in r.stdout, f"{r.stdout[:300]} {r.stderr[:600]}")
    check("No space left" in r.stderr or "full" in r.stderr, r.stderr[:600])
    check("info 0" in r.stdout and "report 0" in r.stdout, f"{r.stdout[-300:]} {r.stderr[-300:]}")


def test_old_capture_is_kept():
    for _ in range(2):
        record([], ["true"], "c.thaw")
    check(info("c.thaw.old")["complete"], "the first one is still there")


def test_sudo_owner():
    env = dict(os.environ, SUDO_UID="1234", SUDO_GID="1235")
    r = subprocess.run([THAW, "record", "-o", "c.thaw", "--", "true"], env=env, check=False,
                       capture_output=True, text=True)
    check(r.returncode == 0, r.stderr)
    st = os.stat("c.thaw")
    check((st.st_uid, st.st_gid) == (1234, 1235), f"owner {st.st_uid}:{st.st_gid}")


# ---- rights and words ----

def test_no_privilege():
    os.chmod(".", 0o777)
    def drop():
        os.setgid(65534)
        os.setuid(65534)
    # Left to itself, thaw takes another engine: see doctor.py.
    r = subprocess.run([THAW, "record", "--engine", "bpf", "-o", "c.thaw", "--", "true"],
                       preexec_fn=drop, check=False, capture_output=True, text=True)
    check(r.returncode == 1, f"exit {r.returncode}")
    check("CAP_BPF" in r.stderr and "CAP_PERFMON" in r.stderr and "sudo" in r.stderr, r.stderr)
    check(not os.path.exists("c.thaw"), "no file is left")


def test_wrong_usage():
    cases = (
        ([], "what to record"), (["-p", "12x"], "not a process number"),
        (["--min-wiat", "1ms", "true"], "did you mean --min-wait"),
        (["-a", "-p", "1"], "only one of"), (["-d", "soon", "true"], "not a duration"),
        (["--ring-size", "5000", "true"], "power of two"), (["-F"], "needs a value"),
        (["--engine", "steam", "true"], "no engine"),
    )
    for args, words in cases:
        r = thaw("record", *args)
        check(r.returncode == 2 and words in r.stderr, f"{args}: exit {r.returncode}: {r.stderr}")
    r = thaw("record", "-p", "2147483646")
    check(r.returncode == 1 and "there is no process" in r.stderr, r.stderr)
    r = thaw("record", "-o", "/dev/null", "true")
    check(r.returncode == 1 and "not a regular file" in r.stderr, r.stderr)
    r = thaw("record", "-o", "no/such/folder/c.thaw", "true")
    check(r.returncode == 1 and "no/such/folder" in r.stderr, r.stderr)
    r = thaw("record", "--cgroup", "no/such/group")
    check(r.returncode == 1 and "there is no cgroup" in r.stderr, r.stderr)


def test_closed_pipe_and_status_line():
    record([], [SERVER, "--seconds", "1"], "c.thaw")
    r = subprocess.run(["sh", "-c", f"{THAW} report c.thaw | head -1"], capture_output=True,
                       text=True, check=False)
    check(r.returncode == 0 and not r.stderr, r.stderr)
    # On a terminal there is a status line, off it there is none.
    r = subprocess.run(["script", "-qec", f"{THAW} record -o t.thaw -- sleep 1.5", "/dev/null"],
                       capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    check("events/s" in r.stdout, f"no status line: {r.stdout!r}")
    r = thaw("record", "-o", "u.thaw", "--", "sleep", "1.5")
    check("events/s" not in r.stderr and "\033" not in r.stderr, r.stderr)


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
    work = start([WORKLOAD, "mixed", "20"])
    rec = start([THAW, "record", "-a", "-o", "c.thaw", "--all-stacks", "--max-overhead", "100"])
    sizes = []
    try:
        for _ in range(14):
            time.sleep(1)
            with open(f"/proc/{rec.pid}/status", encoding="ascii") as f:
                sizes.append(next(int(l.split()[1]) for l in f if l.startswith("RssAnon")))
        rec.send_signal(signal.SIGINT)
        rec.communicate(timeout=60)
    finally:
        stop(work)
        stop(rec)
    early, late = max(sizes[3:7]), max(sizes[10:])
    check(late < early * 1.3 + 8192, f"kB each second: {sizes}")
    return f"{late} kB at the end, {early} kB early on"


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(run(tests_of(globals())))
