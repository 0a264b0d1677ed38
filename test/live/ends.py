#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How recordings begin and end: commands and their status, signals, kill -9, full disks, missing rights, wrong
usage. Whatever happens, what was recorded is there."""
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

from harness import (SERVER, SOAK, THAW, WORKLOAD, Skip, check, info, record, report, run, start,
                     stop, tests_of, thaw, wait_for_events, wait_until)

BESIDE = True   # compares no clocks: test/run puts others next to it
KILLS = 15 * SOAK


# ---- attaching ----

def test_attach_while_it_exits():
    outcomes = {}
    for i in range(8 * SOAK):
        work = start([WORKLOAD, "exits", str(random.Random(i).randrange(5, 300))])
        r = thaw("record", "-p", work.pid, "-d", "2", "-o", f"c{i}.thaw")
        stop(work)
        if r.returncode == 0:
            check("ended" in r.stderr, f"it did not see the end: {r.stderr}")
            report(f"c{i}.thaw")
            outcomes["recorded"] = outcomes.get("recorded", 0) + 1
        else:
            check(r.returncode == 1 and ("there is no process" in r.stderr or "ended while thaw started" in r.stderr),
                  f"exit {r.returncode}: {r.stderr}")
            outcomes["gone"] = outcomes.get("gone", 0) + 1
    return ", ".join(f"{n} {what}" for what, n in outcomes.items())


def stop_before_it_attaches(recorder):
    """Whether the recorder was stopped in the middle of its start: it has children, and not one probe in the kernel.
    A busy machine may come to the stop too late."""
    of = f"/proc/{recorder.pid}"
    wait_until(lambda: open(f"{of}/task/{recorder.pid}/children", encoding="ascii").read(), 10, "no child")
    recorder.send_signal(signal.SIGSTOP)
    wait_until(lambda: open(f"{of}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()[0] == "T", 10, "not stopped")
    opened = [os.readlink(f"{of}/fd/{fd}") for fd in os.listdir(f"{of}/fd")]
    return not any("bpf_link" in name or "perf_event" in name for name in opened)


def recorder_outlives_its_target(command, collected):
    """The exit status and the words of a recorder whose target ended while the recorder was starting: a target that
    its parent has collected, or a zombie."""
    for _ in range(20):
        work = start([WORKLOAD, "spin", "1", "60"])
        recorder = start([THAW, *command, "-p", work.pid, "-d", "1"])
        try:
            if stop_before_it_attaches(recorder):
                work.kill()
                if collected:
                    work.wait(timeout=10)
                time.sleep(2.2)
                recorder.send_signal(signal.SIGCONT)
                said = recorder.communicate(timeout=60)[1]
                return recorder.returncode, said
        finally:
            stop(recorder)
            stop(work)
        if os.path.exists("c.thaw"):
            os.unlink("c.thaw")
    raise AssertionError("in 20 starts it was never stopped before its probes were in the kernel")


def test_ends_while_thaw_starts():
    """The recorder is stopped in the middle of its start, as a busy machine would do it, and outlives its target."""
    for collected, verb in ((True, ["record", "-o"]), (False, ["locks", "--keep"])):
        status, said = recorder_outlives_its_target([*verb, "c.thaw"], collected)
        check(status == 1, f"exit {status}: {said}")
        check("the process ended while thaw started, which took" in said and "no process" not in said, said)
        check(re.search(r"still starting after [23]\.\d+s: \w", said), said)
        check(not os.path.exists("c.thaw"), "there is a capture of nothing")
    return said.splitlines()[0]


def test_single_thread():
    work = start([WORKLOAD, "spin", "3", "60"])
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
    work = start([WORKLOAD, "manythreads", "101", str(KILLS * 10 + 60)])
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


FAMILY = r"""
import os, sys, time
for _ in range(3):
    if not os.fork():
        child = os.fork()
        if child:
            os.write(1, f"{os.getpid()} {child}\n".encode())   # at once: others write, too
        until = time.process_time() + 30
        while time.process_time() < until:
            pass
        os._exit(0)
time.sleep(60)
"""


def test_attach_to_a_family():
    """The process waits; its children, and theirs, work. All of them started before thaw."""
    family = start([sys.executable, "-c", FAMILY], start_new_session=True)
    try:
        children = {int(pid) for _ in range(3) for pid in family.stdout.readline().split()}
        for options, want in (([], children | {family.pid}), (["--no-inherit"], {family.pid})):
            r = thaw("record", "-q", "-p", family.pid, "-d", "0.3s", *options, "-o", "c.thaw")
            check(r.returncode == 0, r.stderr)
            got = {t["pid"] for t in report("c.thaw")["threads"]}
            check(got == want, f"{options}: {got}, not {want}")
    finally:
        os.killpg(family.pid, signal.SIGKILL)
        stop(family)


def test_attach_by_name():
    """All processes of a name, as pidof has it: by what they run, or by what they were called with."""
    name = f"mine-{os.getpid()}"
    shutil.copy(WORKLOAD, name)
    spin = ["spin", "1", "60"]
    # Of the stranger, neither is that name.
    mine = [start([f"./{name}", *spin]), start([f"/no/such/folder/{name}", *spin], executable=WORKLOAD)]
    stranger = start([WORKLOAD, *spin, name])
    try:
        r = thaw("record", "-q", "-p", name, "-d", "0.3s", "-o", "c.thaw")
        check(r.returncode == 0, r.stderr)
        got = {t["pid"] for t in report("c.thaw")["threads"]}
        check(got == {p.pid for p in mine}, f"{got}, not {[p.pid for p in mine]}, or {stranger.pid}")
        os.unlink("c.thaw")
        r = thaw("record", "-p", name + "-not", "-o", "c.thaw")
        check(r.returncode == 2 and f"no process is called '{name}-not'" in r.stderr and "pgrep" in r.stderr, r.stderr)
        check(not os.path.exists("c.thaw"), "there is a capture of nothing")
    finally:
        for process in (*mine, stranger):
            stop(process)


def test_nothing_is_put_aside_for_nothing():
    """A recording that does not begin leaves both older captures as they are."""
    for _ in range(2):
        record([], ["true"], "c.thaw")
    kept = {name: open(name, "rb").read() for name in ("c.thaw", "c.thaw.old")}
    for args in (["--", "./typo"], ["-p", "999999999"], ["--cgroup", "/no/such"], ["-t", "999999999"]):
        r = thaw("record", "-o", "c.thaw", *args)
        check(r.returncode != 0, f"{args} is recorded")
        now = {name: open(name, "rb").read() for name in os.listdir(".") if name.startswith("c.thaw")}
        check(now == kept, f"{args}: {sorted(now)}")
    with open("not.data", "wb") as f:
        f.write(b"PERFILE2" + bytes(1000))
    r = thaw("import", "not.data", "-o", "c.thaw")
    check(r.returncode != 0, "not.data is imported")
    now = {name: open(name, "rb").read() for name in os.listdir(".") if name.startswith("c.thaw")}
    check(now == kept, f"import: {sorted(now)}")


def test_capture_that_cannot_be_put_aside():
    """A folder has the name that the old capture would get. The command runs to its end, and thaw says where its
    recording is."""
    record([], ["true"], "c.thaw")
    os.mkdir("c.thaw.old")
    with open("c.thaw", "rb") as f:
        before = f.read()
    r = thaw("record", "-q", "-o", "c.thaw", "--", "sh", "-c", "sleep 0.2; echo ended; exit 7")
    check(r.returncode == 7 and r.stdout == "ended\n", f"{r.returncode}: {r.stdout}")
    beside = [name for name in os.listdir(".") if name.startswith("c.thaw.new")]
    check(len(beside) == 1 and beside[0] in r.stderr, f"{os.listdir('.')}: {r.stderr}")
    check(info(beside[0])["complete"], "the new one")
    with open("c.thaw", "rb") as f:
        check(f.read() == before, "the old one has changed")


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
    check(r.returncode == 1 and "is a device" in r.stderr, r.stderr)
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
    shares = [float(share) for share in re.findall(r"thaw uses ([0-9.]+)% of a CPU", r.stdout)]
    check(shares and max(shares) <= 100 * os.cpu_count(), f"thaw uses {shares}% of a CPU")
    r = thaw("record", "-o", "u.thaw", "--", "sleep", "1.5")
    check("events/s" not in r.stderr and "\033" not in r.stderr, r.stderr)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(run(tests_of(globals())))
