#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What spares the machine while it is recorded: the fuse in the probes and the watch in the recorder.

That the probes are off is told by a program that counts its own switches: two processes hand a byte
to and fro on one CPU, and say ten times a second how fast the fastest of many switches was."""
import json
import os
import signal
import subprocess
import sys
import time

from harness import (BUILD, THAW, WORKLOAD, Skip, check, info, near, report, run, start, stop,
                     tests_of, thaw, wait_for_events, wait_until)

EVENTDUMP = os.path.join(BUILD, "release", "live", "eventdump")
S = 1_000_000_000
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


def recorder(*args):
    """A recording that goes on: its first events are in the file."""
    rec = start([THAW, "record", "-o", "c.thaw", *args])
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
    """What is attached to the kernel, of whomever: the ids of the links."""
    return {link["id"] for link in bpftool("link", "show")}


def probes():
    """How many programs of thaw are attached, of whichever recording."""
    ids = {p["id"] for p in bpftool("prog", "show") if p.get("name", "").startswith("thaw_")}
    return sum(link.get("prog_id") in ids for link in bpftool("link", "show"))


def links_of(rec):
    """The ids of what a recording has attached: the kernel tells it of the sentinel's descriptors."""
    children = subprocess.run(["pgrep", "-P", str(rec.pid), "thaw-sentinel"], capture_output=True,
                              text=True, check=False).stdout.split()
    check(len(children) == 1, f"{len(children)} sentinels")
    ids, where = set(), f"/proc/{children[0]}/fdinfo"
    for fd in os.listdir(where):
        with open(os.path.join(where, fd), encoding="ascii") as f:
            ids.update(int(line.split()[1]) for line in f if line.startswith("link_id:"))
    check(len(ids) > 3 and ids <= attached(), f"links {sorted(ids)} are not all attached")
    return ids


# ---- the switch rate comes back ----

def ping_pong(seconds):
    return start([WORKLOAD, "pingpong", "--cpu", "0", "--seconds", seconds, "--every", "0.1"])


def floors(out):
    """(moment, ns a switch), ten a second."""
    return [(int(line.split()[1]), float(line.split()[2])) for line in out.splitlines()
            if line.startswith("floor ")]


def floor_of(series, begin, end):
    """What a switch took at the quietest times of a span: others use this machine too. A floor is
    that of the tenth of a second before it was told."""
    got = sorted(ns for at, ns in series if begin + S // 8 <= at < end)
    check(len(got) >= 4, f"{len(got)} floors in {(end - begin) / S:.1f} s")
    return got[1]


def switch_costs(out, before, recording, after):
    """ns a switch in three spans: without thaw, while it records, and when it should be off. Where
    others keep the CPU so busy that not even a recording can be seen, that nothing is attached must
    do."""
    series = floors(out)
    base, armed, off = (floor_of(series, *span) for span in (before, recording, after))
    words = f"ns a switch: {base:.0f}, recording {armed:.0f}, 2 s later {off:.0f}"
    if armed < base * 1.1 or base > 1.3 * min(ns for _, ns in series):
        return words + ", on a machine too busy to tell"
    check(off < base + (armed - base) / 2, words)
    return words


def rate_returns(*, stop_it):
    """The ping-pong before, under a recording, and 2 s after stop_it(recorder), when nothing is
    attached any more."""
    work = ping_pong("12")
    rec = None
    try:
        began = time.monotonic_ns()
        time.sleep(2.2)
        rec = recorder("-a", "--max-overhead", "100")
        time.sleep(0.5)
        armed = time.monotonic_ns()
        time.sleep(2.2)
        mine = links_of(rec)
        stopped = time.monotonic_ns()
        stop_it(rec)
        time.sleep(max(0, stopped / S + 2 - time.monotonic()))
        left = len(mine & attached())
        check(left == 0, f"after 2 s, {left} of {len(mine)} probes are still attached")
        time.sleep(max(0, stopped / S + 4.5 - time.monotonic()))
        off = time.monotonic_ns()
        return stop(work, signal.SIGKILL)[0], (
            (began + S // 5, began + 2 * S), (armed, stopped), (stopped + 2 * S, off)), rec
    except BaseException:
        if rec:
            stop(rec)
        raise
    finally:
        stop(work)


def test_stopped_recorder():
    """SIGSTOP: the probes notice; SIGCONT: the recorder tells the gap, and goes on."""
    died = start(["sleep", "1000"])
    born = []
    moments = {}

    def freeze(rec):
        rec.send_signal(signal.SIGSTOP)
        moments["stopped"] = time.monotonic_ns()

    out, spans, rec = rate_returns(stop_it=freeze)
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
    said = switch_costs(out, *spans)
    check(rec.returncode == 0 and "sign of life" in err, f"{rec.returncode}: {err}")
    check("some time was not recorded" in err, f"the summary hides it: {err}")
    rep = report("c.thaw", "--top", "5000")
    pauses = [s for s in rep["watch"]["steps"] if s["step"] == "pause"]
    check(len(pauses) == 1, f"{rep['watch']['steps']}")
    gap = pauses[0]["value"]
    frozen = moments["went_on"] - moments["stopped"]
    check(frozen - 2 * S <= gap <= frozen + S, f"off for {gap} of {frozen} ns")
    # Nothing that was waiting is said to have waited on.
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
    out, spans, rec = rate_returns(stop_it=lambda rec: rec.send_signal(signal.SIGKILL))
    stop(rec)
    return switch_costs(out, *spans)


def test_full_disk_recorder():
    """The disk is full: the recording ends, and the probes with it."""
    os.mkdir("small")
    script = (f"mount -t tmpfs -o size=512k none small || exit 77; cd small && "
              f"exec {THAW} record -a -F 9999 --all-stacks --max-overhead 100 -o c.thaw")
    work = ping_pong("25")
    rec = None
    try:
        began = time.monotonic_ns()
        time.sleep(2.2)
        rec = start(["unshare", "-m", "sh", "-c", script])
        time.sleep(0.5)
        armed = time.monotonic_ns()
        _, err = rec.communicate(timeout=20)
        ended = time.monotonic_ns()
        if rec.returncode == 77:
            raise Skip("cannot mount")
        check(rec.returncode == 1 and ("No space" in err or "full" in err), f"{rec.returncode}: {err}")
        time.sleep(2.2)
        out = stop(work)[0]
    finally:
        stop(work)
        if rec:
            stop(rec)
    # How long it takes to fill the disk is not known beforehand: the end is taken as its moment.
    series = floors(out)
    base = floor_of(series, began + S // 5, began + 2 * S)
    off = floor_of(series, ended, time.monotonic_ns())
    check(off < base * 1.15, f"ns a switch: {base:.0f} before, {off:.0f} after the end")
    return f"full after {(ended - armed) / S:.1f} s; ns a switch: {base:.0f}, then {off:.0f}"


# ---- steps ----

def test_budget_steps():
    """A budget that nobody can keep: one step after the other, and what they say is so."""
    work = start([WORKLOAD, "mixed", "60"])
    try:
        r = thaw("record", "-a", "-d", "55", "--max-overhead", "0.0001", "-o", "c.thaw", timeout=120)
    finally:
        stop(work)
    check(r.returncode == 1 and "to spare the machine" in r.stderr, f"{r.returncode}: {r.stderr}")
    check(r.stderr.count("thaw used") == 4, f"the summary tells them: {r.stderr}")
    steps = steps_of("c.thaw")
    own = [s for s in steps if s["cause"] == "overhead"]
    check([s["step"] for s in own] == ["rate", "wait_stacks", "samples", "detach"], f"{steps}")
    check(all(s["value"] > s["limit"] == 1 for s in own), f"{own}")
    check(info("c.thaw")["ended"] == "stopped", "how it ended")
    marks = {e["step"]: e["ts"] for e in events("c.thaw", "mark") if e["what"] == 3}
    slack = S // 10
    samples = [e["ts"] for e in events("c.thaw", "sample")]
    cpus = os.cpu_count()
    for begin, end, most in ((marks[RATE] + slack, marks[SAMPLES], 99),
                             (marks[SAMPLES] + slack, marks[DETACH], 0)):
        count = sum(begin < ts < end for ts in samples)
        check(count <= most * cpus * (end - begin) / S * 1.1, f"{count} samples after a step")
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
    work = start([WORKLOAD, "pingpong2", "--seconds", "12"])
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

def say(line):
    """A line of the kernel's log, which every recording on this machine reads."""
    wait_until(lambda: probes() == 0, 60, "another thaw is recording on this machine")
    return lambda: open("/dev/kmsg", "w", encoding="ascii").write(line + "\n")


def log_writable():
    try:
        open("/dev/kmsg", "w", encoding="ascii").close()
    except OSError as why:
        raise Skip(f"the kernel's log cannot be written: {why}") from why


def test_distress_detaches():
    """A lockup is reported: off the machine at once; a command goes on, and its time is lost."""
    log_writable()
    line = "watchdog: BUG: soft lockup - thaw's own test"
    speak = say(line)
    rec = start([THAW, "record", "-o", "c.thaw", "--", "sh", "-c", f"{WORKLOAD} spin 1 4; exit 3"])
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
    log_writable()
    speak = say("rcu: INFO: rcu_sched self-detected stall on CPU (thaw's own test)")
    rec = recorder("-a")
    try:
        speak()
        _, err = rec.communicate(timeout=30)
    finally:
        stop(rec)
    check(rec.returncode == 1 and "self-detected stall" in err, f"{rec.returncode}: {err}")
    check(info("c.thaw")["ended"] == "stopped", "how it ended")


def test_distress_of_samples():
    """Interrupts are slow: fewer samples; the recording goes on."""
    log_writable()
    speak = say("perf: interrupt took too long (thaw's own test)")
    rec = start([THAW, "record", "-o", "c.thaw", "--", WORKLOAD, "spin", "1", "4"])
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
