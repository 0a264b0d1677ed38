#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What spares the machine while it is recorded: the fuse in the probes and the watch in the recorder.

That the probes are off is told by the kernel: which are attached, and how often each program has run,
while two processes hand a byte to and fro on one CPU."""
import ctypes
import json
import os
import signal
import subprocess
import sys
import time

from harness import (BUILD, THAW, WORKLOAD, Skip, check, info, near, report, run, start, stop,
                     tests_of, thaw, wait_for_events, wait_until)

BESIDE = "no recording"   # its words in the kernel's log reach every recording on the machine

EVENTDUMP = os.path.join(BUILD, "release", "live", "eventdump")
S = 1_000_000_000
SYS_BPF, BPF_ENABLE_STATS = 321, 32
MAX_RATE = "/proc/sys/kernel/perf_event_max_sample_rate"
# src/wire/step.def
RATE, WAIT_STACKS, SAMPLES, DETACH = 1, 2, 3, 4


def events(capture, *kinds):
    r = subprocess.run([EVENTDUMP, capture, *kinds], capture_output=True, text=True, timeout=120,
                       check=False)
    check(r.returncode == 0, f"eventdump: exit {r.returncode}: {r.stderr.strip()}")
    return [json.loads(line) for line in r.stdout.splitlines()]


def steps_of(capture):
    return report(capture)["watch"]["steps"]


def recorder(*args, private=()):
    """A recording that goes on: its first events are in the file."""
    rec = start([*private, THAW, "record", "-o", "c.thaw", *args])
    try:
        wait_for_events(rec)
    except AssertionError:
        stop(rec)
        raise
    return rec


def bpftool(*what):
    r = subprocess.run(["bpftool", "-j", *what], capture_output=True, text=True, check=False)
    return json.loads(r.stdout) if r.returncode == 0 and r.stdout.strip() else []


def attached():
    """The ids of all links in the kernel, whoever attached them."""
    return {link["id"] for link in bpftool("link", "show")}


def probes():
    """How many programs of thaw are attached, of whichever recording."""
    ids = {p["id"] for p in bpftool("prog", "show") if p.get("name", "").startswith("thaw_")}
    return sum(link.get("prog_id") in ids for link in bpftool("link", "show"))


def sentinels(rec):
    return subprocess.run(["pgrep", "-P", str(rec.pid), "thaw-sentinel"], capture_output=True,
                          text=True, check=False).stdout.split()


def links_of(rec):
    """The ids of the links of a recording, by the kernel's word on the sentinel's descriptors."""
    children = sentinels(rec)
    check(len(children) == 1, f"{len(children)} sentinels")
    ids, where = set(), f"/proc/{children[0]}/fdinfo"
    for fd in os.listdir(where):
        with open(os.path.join(where, fd), encoding="ascii") as f:
            ids.update(int(line.split()[1]) for line in f if line.startswith("link_id:"))
    check(len(ids) > 3 and ids <= attached(), f"links {sorted(ids)} are not all attached")
    return ids


# ---- the probes are off ----

class Counted:
    """The kernel counts how often each program runs, as long as this is open: the probes' own account."""

    def __enter__(self):
        attr = ctypes.create_string_buffer(4)
        self.fd = ctypes.CDLL(None, use_errno=True).syscall(SYS_BPF, BPF_ENABLE_STATS, attr, 4)
        if self.fd < 0:
            raise Skip(f"the kernel does not count: {os.strerror(ctypes.get_errno())}")
        return self

    def __exit__(self, *_):
        os.close(self.fd)


def runs_of(programs):
    """How often these programs have run; one that is gone counts no runs."""
    return {p["id"]: p.get("run_cnt", 0) for p in bpftool("prog", "show") if p["id"] in programs}


def programs_of(links):
    return {link["prog_id"] for link in bpftool("link", "show") if link["id"] in links and "prog_id" in link}


def ping_pong(seconds):
    return start([WORKLOAD, "pingpong", "--cpu", "0", "--seconds", seconds, "--every", "0.1"])


def switches_of(pid):
    """Of both sides of the ping-pong, by the kernel's own count."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        pids = [pid, *f.read().split()]
    total = 0
    for p in pids:
        for tid in os.listdir(f"/proc/{p}/task"):
            with open(f"/proc/{p}/task/{tid}/status", encoding="ascii") as f:
                total += sum(int(line.split()[1]) for line in f if "ctxt_switches" in line)
    return total


def off_after(work, links, programs, moment):
    """Two seconds after `moment` nothing is attached any more, and no program runs again, whatever the
    machine switches; in words."""
    time.sleep(max(0, moment / S + 2 - time.monotonic()))
    left = len(links & attached())
    check(left == 0, f"after 2 s, {left} of {len(links)} probes are still attached")
    before, switched = runs_of(programs), switches_of(work.pid)
    time.sleep(1)
    after, switched = runs_of(programs), switches_of(work.pid) - switched
    check(switched > 1000, f"the machine made only {switched} switches meanwhile")
    check(all(after[p] == before.get(p) for p in after), f"they run on: {before}, then {after}")
    return f"{switched} switches later no program has run"


def probes_go(*, stop_it):
    """A recording under load that runs its programs, and what is left of them 2 s after
    stop_it(recorder)."""
    work = ping_pong("30")
    rec = None
    try:
        with Counted():
            rec = recorder("-a", "--max-overhead", "100")
            mine = links_of(rec)
            programs = programs_of(mine)
            before, switched = sum(runs_of(programs).values()), switches_of(work.pid)
            time.sleep(1)
            runs, switched = sum(runs_of(programs).values()) - before, switches_of(work.pid) - switched
            check(runs >= switched > 1000, f"while it records: {runs} runs for {switched} switches")
            stopped = time.monotonic_ns()
            stop_it(rec)
            return off_after(work, mine, programs, stopped), rec
    except BaseException:
        if rec:
            stop(rec)
        raise
    finally:
        stop(work)


def test_stopped_beside_a_sleeper():
    """SIGSTOP while all that is recorded sleeps: no probe runs that could say when it was switched off. Still, the
    time without probes is lost, not slept."""
    sleeper = start(["sleep", "1000"])
    rec = None
    try:
        rec = start([THAW, "record", "-o", "c.thaw", "-p", sleeper.pid])
        wait_until(lambda: sentinels(rec) or rec.poll() is not None, 20, "nothing is attached")
        time.sleep(0.5)
        rec.send_signal(signal.SIGSTOP)
        stopped = time.monotonic_ns()
        time.sleep(4)
        rec.send_signal(signal.SIGCONT)
        frozen = time.monotonic_ns() - stopped
        time.sleep(1)
        rec.send_signal(signal.SIGINT)
        _, err = rec.communicate(timeout=60)
    finally:
        stop(sleeper)
        if rec:
            stop(rec)
    check(rec.returncode == 0, f"{rec.returncode}: {err}")
    lost = report("c.thaw")["threads"][0]["lost_ns"]
    # The probes believe in the recorder for FUSE_STALE_NS after its last beat, which is at most
    # FUSE_STALE_NS before it was stopped.
    check(frozen - 3 * S // 2 <= lost <= frozen + 3 * S // 2 + S // 5, f"{lost} of {frozen} ns are lost")
    return f"{lost / S:.2f} of {frozen / S:.2f} s lost"


def test_stopped_recorder():
    """SIGSTOP: the probes notice; SIGCONT: the recorder tells the gap, and goes on."""
    died = start(["sleep", "1000"])
    born = []
    moments = {}

    def freeze(rec):
        rec.send_signal(signal.SIGSTOP)
        moments["stopped"] = time.monotonic_ns()

    said, rec = probes_go(stop_it=freeze)
    stop(died)
    born.append(start([WORKLOAD, "spin", "1", "4"]))
    try:
        rec.send_signal(signal.SIGCONT)
        moments["went_on"] = time.monotonic_ns()
        time.sleep(1.5)
        rec.send_signal(signal.SIGINT)
        _, err = rec.communicate(timeout=60)
    finally:
        stop(rec)
        stop(born[0])
    check(rec.returncode == 0 and "sign of life" in err, f"{rec.returncode}: {err}")
    check("some time was not recorded" in err, f"the summary hides it: {err}")
    rep = report("c.thaw", "--top", "5000")
    pauses = [s for s in rep["watch"]["steps"] if s["step"] == "pause"]
    check(len(pauses) == 1, f"{rep['watch']['steps']}")
    gap = pauses[0]["value"]
    frozen = moments["went_on"] - moments["stopped"]
    check(frozen - 2 * S <= gap <= frozen + S, f"off for {gap} of {frozen} ns")
    # No thread that waited is said to have waited on.
    begin = min(e["ts"] for e in events("c.thaw", "mark"))
    resumed = pauses[0]["at_ns"]
    by_tid = {t["tid"]: t for t in rep["threads"]}
    check(died.pid in by_tid, "the one that died in the gap was recorded before")
    near(by_tid[died.pid]["wall_ns"], resumed, 0, S // 5, "the life of the one that died in the gap")
    check(by_tid[died.pid]["lost_ns"] >= gap, "its time in the gap is not lost")
    check(born[0].pid in by_tid, "the one that was born in the gap is not there")
    old = [t for t in rep["threads"] if t["wall_ns"] >= rep["capture"]["duration_ns"]]
    check(old and all(t["lost_ns"] >= gap * 0.999 for t in old), "somebody's time in the gap is known")
    after = [e for e in events("c.thaw", "switch") if e["ts"] > begin + resumed]
    check(len(after) > 20, f"only {len(after)} switches after it went on")
    end = max(e["ts"] for e in events("c.thaw", "mark"))
    check(end - max(e["ts"] for e in after) < S // 2, "it did not record on to the end")
    return f"{said}; off for {gap / S:.1f} s"


def test_killed_recorder():
    """SIGKILL: descriptors close by themselves."""
    said, rec = probes_go(stop_it=lambda rec: rec.send_signal(signal.SIGKILL))
    stop(rec)
    return said


def test_full_disk_recorder():
    """The disk is full: the recording ends, and the probes with it."""
    os.mkdir("small")
    script = (f"mount -t tmpfs -o size=512k none small || exit 77; cd small && "
              f"exec {THAW} record -a -F 9999 --all-stacks --max-overhead 100 -o c.thaw")
    work = ping_pong("30")
    rec = None
    try:
        with Counted():
            before = attached()
            rec = start(["unshare", "-m", "sh", "-c", script])
            wait_until(lambda: probes() > 3 or rec.poll() is not None, 20, "nothing is attached")
            mine = attached() - before
            programs = programs_of(mine)
            _, err = rec.communicate(timeout=60)
            ended = time.monotonic_ns()
            if rec.returncode == 77:
                raise Skip("cannot mount")
            check(rec.returncode == 1 and ("No space" in err or "full" in err), f"{rec.returncode}: {err}")
            check(mine and programs, "its probes were not seen")
            return off_after(work, mine, programs, ended)
    finally:
        stop(work)
        if rec:
            stop(rec)


# ---- steps ----

def test_budget_steps():
    """A budget that thaw cannot keep: it takes one step after the other, and each is as announced."""
    work = start([WORKLOAD, "manythreads", "2003", "60"])
    try:
        r = thaw("record", "-a", "-d", "55", "--max-overhead", "0.0001", "-o", "c.thaw", timeout=120)
    finally:
        stop(work)
    check(r.returncode == 1 and "to spare the machine" in r.stderr, f"{r.returncode}: {r.stderr}")
    steps = steps_of("c.thaw")
    own = [s for s in steps if s["cause"] == "overhead"]
    # What the kernel itself asked for meanwhile, say for a slow timer, is not done again.
    asked = {s["step"] for s in steps if s not in own}
    check([s["step"] for s in own] == [s for s in ("rate", "wait_stacks", "samples", "detach") if s not in asked],
          f"{steps}")
    check(r.stderr.count("thaw used") == len(own) >= 3, f"the summary tells them: {r.stderr}")
    check(all(s["value"] > s["limit"] == 1 for s in own), f"{own}")
    check(info("c.thaw")["ended"] == "stopped", "how it ended")
    marks = {e["step"]: e["ts"] for e in events("c.thaw", "mark") if e["what"] == 3}
    slack = S // 10
    samples = [e["ts"] for e in events("c.thaw", "sample")]
    cpus = os.cpu_count()
    for begin, end, most in ((marks[RATE] + slack, marks[SAMPLES], 99),
                             (marks[SAMPLES] + slack, marks[DETACH], 0)):
        count = sum(begin < ts < end for ts in samples)
        check(count <= most * cpus * (end - begin) / S * 1.1, f"{count} samples in {(end - begin) / S:.2f} s after a step")
    check(any(marks[RATE] + slack < ts < marks[SAMPLES] for ts in samples), "none at the lower rate")
    late = [e for e in events("c.thaw", "wait") if e["ts"] > marks[WAIT_STACKS] + slack]
    check(not late, f"{len(late)} stacks of waits after they were given up")
    switches = [e for e in events("c.thaw", "switch") if e["ts"] > marks[SAMPLES]]
    check(len(switches) > 1000, "switches are recorded to the end")
    text = thaw("report", "c.thaw").stdout
    check("Stepped back" in text and "samples were taken until" in text, text)
    return ", ".join(f"{s['step']} {s['at_ns'] / S:.0f} s" for s in steps)


def test_generous_budget():
    """No limit: no step, whatever is used."""
    work = ping_pong("12")
    try:
        r = thaw("record", "-a", "-d", "8", "--max-overhead", "100%", "-o", "c.thaw")
    finally:
        stop(work)
    check(r.returncode == 0, r.stderr)
    check(not [s for s in steps_of("c.thaw") if s["cause"] == "overhead"], "stepped back")
    for wrong in ("0", "-1", "101", "x", "3x", "nan", ""):
        r = thaw("record", "--max-overhead", wrong, "true")
        check(r.returncode == 2 and "percentage" in r.stderr, f"{wrong!r}: {r.stderr}")


# ---- the kernel complains ----

def kernel_says(level, line):
    """A prefix for the recorder's command that gives it a log of its own, and a function that writes a line there as
    the kernel would: not even root can do that by /dev/kmsg."""
    with open("kmsg", "w", encoding="ascii"):
        pass
    wait_until(lambda: probes() == 0, 60, "another thaw is recording on this machine")

    def speak():
        with open("kmsg", "a", encoding="ascii") as f:
            f.write(f"{level},1234,987654321,-;{line}\n")

    return ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /dev/kmsg || exit 77; exec "$@"',
            os.path.abspath("kmsg")], speak


def test_distress_detaches():
    """The kernel reports a lockup: thaw detaches at once; a command goes on, and its time is lost."""
    line = "watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [a:412]"
    private, speak = kernel_says(0, line)
    rec = start([*private, THAW, "record", "-o", "c.thaw", "--", "sh", "-c", f"{WORKLOAD} spin 1 4; exit 3"])
    try:
        wait_until(lambda: probes() > 3, 20, "nothing is attached")
        time.sleep(0.5)
        speak()
        wait_until(lambda: probes() == 0, 5, "the probes are still there")
        check(rec.poll() is None, "it did not wait for its command")
        _, err = rec.communicate(timeout=60)
    finally:
        stop(rec)
    check(rec.returncode == 3, f"exit {rec.returncode}: the command's status is 3")
    check(line in err, f"the summary does not say why: {err}")
    rep = report("c.thaw")
    steps = rep["watch"]["steps"]
    check([s["step"] for s in steps if s["note"] == line] == ["detach"], f"{steps}")
    gone = next(s["at_ns"] for s in steps if s["step"] == "detach")
    left = rep["capture"]["duration_ns"] - gone
    check(left > S, f"detached {left} ns before the end")
    spun = max(rep["threads"], key=lambda t: t["running_ns"])
    near(spun["lost_ns"], left, 0.01, S // 100, "lost time")
    parts = spun["running_ns"] + spun["runnable_ns"] + spun["waiting_ns"] + spun["lost_ns"]
    near(parts, spun["wall_ns"], 0.001, 0, "the sum of its time")


def test_distress_ends_a_recording():
    private, speak = kernel_says(3, "rcu: INFO: rcu_sched self-detected stall on CPU")
    rec = recorder("-a", private=private)
    try:
        speak()
        _, err = rec.communicate(timeout=30)
    finally:
        stop(rec)
    check(rec.returncode == 1 and "self-detected stall" in err, f"{rec.returncode}: {err}")
    check(info("c.thaw")["ended"] == "stopped", "how it ended")


def test_distress_of_samples():
    """Interrupts are slow: fewer samples; the recording goes on."""
    private, speak = kernel_says(6, "perf: interrupt took too long (2513 > 2500), lowering "
                                    "kernel.perf_event_max_sample_rate to 79000")
    rec = start([*private, THAW, "record", "-o", "c.thaw", "--", WORKLOAD, "spin", "1", "4"])
    try:
        wait_until(lambda: probes() > 3, 20, "nothing is attached")
        time.sleep(0.5)
        speak()
        rec.communicate(timeout=60)
    finally:
        stop(rec)
    check(rec.returncode == 0, f"exit {rec.returncode}")
    steps = steps_of("c.thaw")
    check([s["step"] for s in steps] == ["rate"] and steps[0]["cause"] == "distress", f"{steps}")
    marks = {e["what"]: e["ts"] for e in events("c.thaw", "mark")}
    samples = [e["ts"] for e in events("c.thaw", "sample")]
    before = sum(ts < marks[3] for ts in samples) / ((marks[3] - marks[1]) / S)
    after = sum(ts > marks[3] for ts in samples) / ((marks[2] - marks[3]) / S)
    check(0 < after < 120 and before > 2 * after, f"samples a second: {before:.0f}, {after:.0f}")
    return f"samples a second: {before:.0f}, then {after:.0f}"


def test_lowered_sample_rate():
    """The kernel's limit for samples goes down, as the kernel itself would do it."""
    with open(MAX_RATE, encoding="ascii") as f:
        was = int(f.read())
    if was < 2000:
        raise Skip(f"kernel.perf_event_max_sample_rate is {was}")
    rec = recorder("--", WORKLOAD, "spin", "1", "5")
    try:
        time.sleep(0.5)
        with open(MAX_RATE, "w", encoding="ascii") as f:
            f.write(str(was // 2))
        _, err = rec.communicate(timeout=60)
    finally:
        stop(rec)
        with open(MAX_RATE, "w", encoding="ascii") as f:
            f.write(str(was))
    check(rec.returncode == 0 and "max_sample_rate" in err, f"{rec.returncode}: {err}")
    steps = [s for s in steps_of("c.thaw") if s["cause"] == "sample_rate"]
    check(len(steps) == 1 and (steps[0]["step"], steps[0]["value"], steps[0]["limit"])
          == ("rate", was // 2, was), f"{steps}")


if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
