# SPDX-License-Identifier: MIT
"""What the live tests share: running thaw and the workloads, and telling how it went."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from machine import Machine, keep_orphans

# A shell starts what runs in the background with SIGINT ignored, and that is inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)

BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.abspath("build")
THAW = os.path.join(BUILD, "thaw")
WORKLOAD = os.path.join(BUILD, "workload", "workload")
SERVER = os.path.join(BUILD, "workload", "server")
SOAK = int(os.environ.get("THAW_SOAK", "1"))   # how many times as much of what is done over and over
TIER = "attack" if os.path.basename(os.path.dirname(os.path.abspath(sys.argv[0]))) == "attack" else "live"


class Skip(Exception):
    pass


def check(condition, words):
    if not condition:
        raise AssertionError(words)


def near(got, want, share, floor, what):
    """Within a share of the truth, or a fixed distance, whichever is larger."""
    slack = max(abs(want) * share, floor)
    check(abs(got - want) <= slack, f"{what}: {got} is not within {slack:.0f} of {want}")


def thaw(*args, timeout=120, **kwargs):
    return subprocess.run([THAW, *map(str, args)], capture_output=True, text=True, timeout=timeout,
                          errors="replace", **kwargs)


def stolen_ns():
    """CPU time that the hypervisor gave to others: the scheduler's accounts leave it out."""
    with open("/proc/stat", encoding="ascii") as f:
        return int(f.readline().split()[8]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def stolen(truth, want):
    """How much of a time the hypervisor may have taken, or the machine hidden: no more than a tenth of it, or
    the test would pass whatever was measured."""
    return min(2 * truth["stolen_ns"] + truth.get("hidden_ns", 0), want // 10)


def record(args, command, capture, timeout=180):
    """Records a workload; returns its own truth. Nothing is given up, however busy the machine is."""
    before = stolen_ns()
    r = thaw("record", "--max-overhead", "100", "-o", capture, *args, "--", *command, timeout=timeout)
    check(r.returncode == 0, f"record: exit {r.returncode}: {r.stderr.strip()}")
    lines = [line for line in r.stdout.splitlines() if line.startswith("{")]
    truth = json.loads(lines[-1]) if lines else {}
    truth["stolen_ns"] = stolen_ns() - before
    return truth


def report(capture, *args):
    r = thaw("report", capture, "--json", *args)
    check(r.returncode == 0, f"report: exit {r.returncode}: {r.stderr.strip()}")
    return json.loads(r.stdout)


def info(capture, *args):
    r = thaw("info", capture, "--json", *args)
    check(r.returncode == 0, f"info: exit {r.returncode}: {r.stderr.strip()}")
    return json.loads(r.stdout)


# The kernel does not run a probe while it runs on the same CPU already, as when an interrupt wants a contended
# lock in the middle of a thread's: thaw can only count that.
SKIPPED_MAX = 3


def lossless(rep):
    """Nothing was lost, but for what the kernel skips."""
    skipped = rep["losses"]["by_cause"].get("recursion", 0)
    check(rep["losses"]["events"] == skipped <= SKIPPED_MAX, f"lost: {rep['losses']}")


# Some machines hide switches of some threads from every tracer: where thaw misses one, `perf record -e
# sched:sched_switch` beside it misses the same. thaw can only see that one must have happened.
HIDDEN_MAX = 0.1  # of the threads' time


def hidden(rep):
    """How many switches the machine has hidden: each may take a wait away, or cut it."""
    wall = sum(t["wall_ns"] for t in rep["threads"])
    check(rep["losses"]["thread_time_ns"] <= HIDDEN_MAX * wall, f"lost: {rep['losses']}")
    return rep["losses"]["contradictions"]


def start(command, **kwargs):
    return subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, errors="replace", **kwargs)


def wait_until(test, seconds, what):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if test():
            return
        time.sleep(0.02)
    raise AssertionError(f"after {seconds} s: {what}")


def wait_for_events(recorder, capture="c.thaw"):
    """Until a recording's first events are in its file: how long that takes depends on the machine."""
    wait_until(lambda: os.path.exists(capture) and os.path.getsize(capture) > 2000
               or recorder.poll() is not None, 20, "no file")
    check(recorder.poll() is None, f"record ended: {recorder.returncode}")


def stop(process, sig=signal.SIGKILL):
    """Ends a process that this test has started."""
    if process.poll() is None:
        process.send_signal(sig)
    return process.communicate(timeout=60)


def attempt(fn):
    """Runs a test in a folder of its own; what it said."""
    folder = tempfile.mkdtemp(prefix="thaw-live-")
    before = os.getcwd()
    os.chdir(folder)
    try:
        return fn()
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)


def run_one(name, fn, measured=None):
    """True unless it failed. A test that fails gets a second try if the machine measurably was in the way
    (machine.py). The output says so, and test/run counts it."""
    began = time.monotonic()
    while True:
        if measured:
            measured.begin()
        try:
            said = attempt(fn)
            words = f" ({said})" if said else ""
            print(f"ok {TIER} {name}{words} [{time.monotonic() - began:.1f} s]", flush=True)
            return True
        except Skip as why:
            print(f"skip {TIER} {name}: {why}", flush=True)
            return True
        except Exception as why:  # a test that breaks has failed, whatever the reason
            cause = measured and measured.cause()
            words = " | ".join(str(why).splitlines()) or type(why).__name__
            print(f"again {TIER} {name} [{cause}]: {words}" if cause else f"FAIL {TIER} {name}: {words}",
                  flush=True)
            if not isinstance(why, AssertionError):
                traceback.print_exc(file=sys.stdout)
            if not cause:
                return False
            measured = None


def run(tests, privileged=True):
    """Runs test_* functions, or those that have a word of the command line in their name; a line each, and
    the exit status. --list only says which there are."""
    reason = None
    only = sys.argv[2:]
    if "--list" in only:
        for name, _ in tests:
            print(f"ok {TIER} {name}")
        return 0
    if not privileged:
        pass
    elif os.geteuid() != 0:
        reason = "recording needs root"
    elif not os.path.exists("/sys/kernel/btf/vmlinux"):
        reason = "this kernel has no BTF"
    if reason:
        for name, _ in tests:
            print(f"skip {TIER} {name}: {reason}")
        return 0
    chosen = [(name, fn) for name, fn in tests if not only or any(w in name for w in only)]
    if not chosen:
        print(f"no test has one of these words in its name: {' '.join(only)}", file=sys.stderr)
        return 2
    keep_orphans()
    measured = Machine()
    return 0 if all([run_one(name, fn, measured) for name, fn in chosen]) else 1


def tests_of(namespace):
    return [(name[5:], fn) for name, fn in namespace.items()
            if name.startswith("test_") and callable(fn)]
