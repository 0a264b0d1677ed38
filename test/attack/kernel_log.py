#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Users who make the kernel write lines of their choice: none of them ends a recording.

Lines about a crash begin with the name of the process that crashed, those of a bridge with the bridge's name. The
attacker is user nobody; the recorder is root; the log is the kernel's own."""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
from harness import THAW, Skip, check, report, run, start, stop, tests_of, wait_for_events, wait_until

NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
# Crashes under a given name: by an address that is not there, or inside of the page that once held vsyscalls, of
# which the kernel warns at a higher level.
CRASH = r"""
import ctypes, sys
libc = ctypes.CDLL(None)
libc.prctl(15, ctypes.c_char_p(sys.argv[2].encode("latin-1").decode("unicode_escape").encode("latin-1")))
if sys.argv[1] == "segfault":
    ctypes.string_at(8)
ctypes.CFUNCTYPE(None)(0xffffffffff600009)()
"""
NAMES = [
    "Oops:", "Oops: 0 [#1] X", "Oops: 0000 [#1]", r"\nOops: 0 [#1]", "Oops: 1 [#1]\\n",
    "watchdog: BUG: ", "BUG: soft looku", "NMI watchdog: B", "Watchdog detect",
    "rcu: INFO: rcu_", "INFO: rcu_sched", "rcu: stall", "BUG: workqueue ", "smp: csd: Detec",
    "BUG: scheduling", "BUG: spinlock l", "BUG: unable to ", "BUG: kernel NUL", "kernel BUG at",
    "general protect", "WARNING: CPU:", "WARNING: kernel", "perf: interrupt", "hrtimer: interr",
    "INFO: NMI handl", "sched: RT thrott", "INFO: task a:1", "clocksource: ",
]


def kernel_lines():
    """All of the log, as (head, text)."""
    fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    lines = []
    try:
        while True:
            try:
                head, _, text = os.read(fd, 8192).decode("latin-1").partition(";")
            except BlockingIOError:
                return lines
            except BrokenPipeError:
                continue
            lines.append((head, text.split("\n")[0]))
    finally:
        os.close(fd)


def last_sequence():
    return max((int(head.split(",")[1]) for head, _ in kernel_lines()), default=-1)


def said_since(sequence):
    return [(int(head.split(",")[0]), text) for head, text in kernel_lines()
            if int(head.split(",")[1]) > sequence]


def setting(name):
    with open("/proc/sys/" + name, encoding="ascii") as f:
        return f.read().strip()


def set_setting(name, value):
    with open("/proc/sys/" + name, "w", encoding="ascii") as f:
        f.write(value)


def while_recording(attack):
    """What the kernel said during an attack on a recording of the machine, and the recording's steps: it must go on
    until it is asked to end."""
    rec = start([THAW, "record", "-a", "--max-overhead", "100", "-o", "c.thaw"])
    try:
        wait_for_events(rec)
        before = last_sequence()
        attack()
        said = said_since(before)
        # It looks four times a second: what it saw last is in the file when it has looked twice more.
        looked = os.path.getsize("c.thaw")
        wait_until(lambda: os.path.getsize("c.thaw") > looked or rec.poll() is not None, 20,
                   "the recorder writes no more")
        ended = rec.poll() is not None
        if not ended:
            rec.send_signal(signal.SIGINT)
        _, err = rec.communicate(timeout=60)
    finally:
        stop(rec)
    check(not ended, f"the recording has ended by itself: {err}")
    check(rec.returncode == 0, f"exit {rec.returncode}: {err}")
    steps = [s for s in report("c.thaw")["watch"]["steps"] if s["cause"] == "distress"]
    return said, steps


def crash(how, name):
    r = subprocess.run([*NOBODY, sys.executable, "-c", CRASH, how, name], capture_output=True,
                       check=False)
    check(r.returncode == -signal.SIGSEGV, f"{name!r} did not crash: {r.returncode} {r.stderr}")


def crashes(how):
    """Crashes under each name in a recording; the kernel must have logged each, or the test has tried nothing."""
    before = {n: setting(n) for n in ("debug/exception-trace", "kernel/printk_ratelimit")}

    def attack():
        for name in NAMES:
            crash(how, name)

    try:
        set_setting("debug/exception-trace", "1")
        set_setting("kernel/printk_ratelimit", "0")
        return while_recording(attack)
    finally:
        for name, value in before.items():
            set_setting(name, value)


def beginnings(said):
    """Which names begin a line, as /dev/kmsg writes them."""
    wanted = [n.encode("latin-1").decode("unicode_escape")[:15] for n in NAMES]
    return [n for n in wanted if any(t.startswith(n.replace("\n", "\\x0a") + "[") for _, t in said)]


def test_crash_with_a_name():
    said, steps = crashes("segfault")
    told = beginnings(said)
    if not told:
        raise Skip("this kernel does not tell of crashes")
    check(len(told) == len(NAMES), f"only {len(told)} of {len(NAMES)} crashes are in the log")
    check(not steps, f"believed: {steps}")
    return f"{len(told)} names"


def test_crash_with_a_name_as_a_warning():
    """The same at the level of an oops."""
    said, steps = crashes("vsyscall")
    warned = [t for level, t in said if level == 4 and "vsyscall" in t]
    if not warned:
        raise Skip("this kernel does not warn of vsyscalls")
    check(not steps, f"believed: {steps}")
    return f"{len(warned)} names"


def test_bridge_with_a_name():
    """A user in a network of their own may name a bridge."""
    names = ["Oops", "rcu", "hrtimer", "watchdog", "sched", "perf"]
    script = "".join(f"ip link add {n} type bridge && ip link add d{i} type dummy && "
                     f"ip link set d{i} master {n} && ip link set {n} up && ip link set d{i} up || exit 9;"
                     for i, n in enumerate(names))
    tried = []

    def attack():
        tried.append(subprocess.run([*NOBODY, "unshare", "-rn", "sh", "-c", script],
                                    capture_output=True, check=False))

    said, steps = while_recording(attack)
    told = [t for _, t in said if t.split(":")[0] in names]
    if not told:
        raise Skip(f"no bridges for users here: {tried[0].stderr.decode().strip()[:80]}")
    check(not steps, f"believed: {steps}")
    return f"{len(told)} lines, such as '{told[0]}'"


def test_written_by_a_program():
    """Root of a container may write to /dev/kmsg, but is not the kernel."""
    lines = ["<0>watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [a:412]",
             "<3>rcu: INFO: rcu_sched self-detected stall on CPU", "<4>Oops: 0002 [#1] SMP NOPTI",
             "<6>perf: interrupt took too long (2513 > 2500), lowering "
             "kernel.perf_event_max_sample_rate to 79000"]

    def attack():
        for line in lines:
            with open("/dev/kmsg", "w", encoding="ascii") as f:
                f.write(line + "\n")

    try:
        with open("/dev/kmsg", "w", encoding="ascii"):
            pass
    except OSError as why:
        raise Skip(f"the kernel's log cannot be written: {why}") from why
    said, steps = while_recording(attack)
    check(all(any(line[3:] == t for _, t in said) for line in lines), f"not written: {said}")
    check(not steps, f"believed: {steps}")


if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
