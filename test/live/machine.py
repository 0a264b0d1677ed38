# SPDX-License-Identifier: MIT
"""What the machine did while a test ran. A test that fails may be tried a second time, but only for a
cause that was measured during the first try and is beyond a limit stated here:

  steal   the hypervisor gave this share of the CPUs' time to others (/proc/stat)
  others  processes that are not the test's took this share of it: all that was busy, less what the
          test used and whatever it has started, daemons and orphans too
  still   a CPU ran nothing at all for so long: on each there is a process of the highest priority
          that sleeps 20 ms at a time, and one of them was late by that
  timer   the kernel said so often that a timer's interrupt took too long ("hrtimer: interrupt took",
          once a boot; "perf: interrupt took too long"). thaw takes no more samples then, or fewer

One more cause lies neither in a test nor in the machine, but is known:

  emulation a guest of the lab died of a bug of QEMU's before 8.1 (lab/vm.py)

What a test does to the machine itself is no cause."""
import atexit
import collections
import contextlib
import ctypes
import mmap
import os
import re
import signal
import struct
import time

Limit = collections.namedtuple("Limit", "most unit words")
LIMITS = {
    "steal": Limit(3, "%", "of the CPUs' time was the hypervisor's"),
    "others": Limit(10, "%", "of the CPUs' time went to others"),
    "still": Limit(100, "ms", "in which a CPU ran nothing"),
    "timer": Limit(0, "lines", "of the kernel about slow timers"),
    "emulation": Limit(0, "Oops", "of a guest is the emulation's"),
}
NAP_S = 0.02
PR_SET_CHILD_SUBREAPER = 36
keeper = None   # of the tests' orphans: see keep_orphans()
SLOW_TIMER = re.compile(r"hrtimer: interrupt took \d+ ns|perf: interrupt took too long")
SAID = re.compile(r"^again (?P<name>[^\[]+?) \[(?P<cause>\w+) (?P<value>[\d.]+) (?P<unit>\S+?)[, ][^\]]*\]: ")


def cause_of(line):
    """The cause of a line `again NAME [CAUSE]: why`; None if it names none that is beyond its limit."""
    found = SAID.match(line)
    limit = LIMITS.get(found["cause"]) if found else None
    if limit and limit.unit == found["unit"] and float(found["value"]) > limit.most:
        return found["cause"]
    return None


def words_of(name, value):
    """A cause as it stands in a line."""
    limit = LIMITS[name]
    return f"{name} {value:.1f} {limit.unit} {limit.words}, limit {limit.most} {limit.unit}"


def jiffies():
    """(busy, stolen) seconds of all CPUs since boot."""
    with open("/proc/stat", encoding="ascii") as f:
        user, nice, system, _, _, irq, soft, steal = map(int, f.readline().split()[1:9])
    hz = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + soft) / hz, steal / hz


def keep_orphans():
    """From here on this process only waits, and the tests go on in a child of it. Whom they leave behind, be it a
    daemon with a session of its own, becomes a child of this process: nobody can take it for somebody else's."""
    global keeper  # pylint: disable=global-statement
    me = os.getpid()
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        return
    tests = os.fork()
    if not tests:
        keeper = me
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(tests, signal.SIGTERM))
    ended = status = 0
    while ended != tests:
        ended, status = os.wait()
    status = os.waitstatus_to_exitcode(status)
    if status < 0:
        with contextlib.suppress(OSError):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(me, -status)
    os._exit(status)


def processes():
    """pid -> parent, CPU seconds, CPU seconds of children that it has waited for"""
    found, hz = {}, os.sysconf("SC_CLK_TCK")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", "rb") as f:
                fields = f.read().rpartition(b")")[2].split()
        except OSError:
            continue   # it has ended
        user, system, waited_user, waited_system = map(int, fields[11:15])
        found[int(pid)] = (int(fields[1]), (user + system) / hz, (waited_user + waited_system) / hz)
    return found


def own_s():
    """CPU time of the tests and of all that they have started: who runs still, and who has ended."""
    found = processes()
    below, more = set(), {keeper or os.getpid()}
    while more:
        below |= more
        more = {pid for pid, (parent, _, _) in found.items() if parent in more} - below
    return sum(found[pid][1] + found[pid][2] for pid in below)


class Sentries:
    """A child on each CPU that naps, at a priority above everything else, and notes by how much it overslept most.
    A hypervisor that takes one CPU away leaves the others running, so one child alone would not notice."""

    def __init__(self):
        self.cpus = sorted(os.sched_getaffinity(0))
        self.worst = mmap.mmap(-1, 8 * len(self.cpus))
        self.pids = []
        self.parent = os.getpid()
        atexit.register(self.end)
        for i, cpu in enumerate(self.cpus):
            try:
                pid = os.fork()
            except OSError:
                return
            if not pid:
                self.nap(i, cpu)
            self.pids.append(pid)

    def nap(self, i, cpu):
        try:
            os.sched_setaffinity(0, {cpu})
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
        except OSError:
            os._exit(0)   # of a priority like any other's, it would measure the test itself
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        while os.getppid() == self.parent:
            began = time.monotonic()
            time.sleep(NAP_S)
            late = time.monotonic() - began - NAP_S
            if late > struct.unpack_from("d", self.worst, 8 * i)[0]:
                struct.pack_into("d", self.worst, 8 * i, late)
        os._exit(0)

    def seconds(self):
        return max(struct.unpack(f"{len(self.cpus)}d", self.worst[:]))

    def forget(self):
        self.worst[:] = bytes(len(self.worst))

    def end(self):
        if os.getpid() != self.parent:
            return
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        self.pids = []


class KernelLog:
    """What the kernel says from now on."""

    def __init__(self):
        try:
            self.fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            self.fd = None   # nobody may read it here
        self.lines()

    def lines(self):
        """Those since the last look."""
        lines = []
        while self.fd is not None:
            try:
                lines.append(os.read(self.fd, 8192).decode("utf-8", "replace").partition(";")[2])
            except BrokenPipeError:
                continue   # overwritten before it was read
            except OSError:
                break
        return lines


class Machine:
    """begin() and cause() around a try."""

    def __init__(self):
        self.sentries = Sentries()
        self.log = KernelLog()
        self.begin()

    def begin(self):
        self.sentries.forget()
        self.log.lines()
        self.at = time.monotonic(), *jiffies(), own_s()

    def measured(self):
        wall, busy, stolen, own = (now - then for now, then in
                                   zip((time.monotonic(), *jiffies(), own_s()), self.at))
        share = 100 / max(wall * os.cpu_count(), 0.1)
        # Where the runner itself puts others beside the test, they are no excuse.
        others = 0 if os.environ.get("THAW_TEST_BESIDE") else (busy - own) * share
        slow = sum(bool(SLOW_TIMER.match(line)) for line in self.log.lines())
        return {"steal": stolen * share, "others": others, "still": 1000 * self.sentries.seconds(), "timer": slow}

    def cause(self):
        """In words, the first cause that is beyond its limit; None if there is none."""
        for name, value in self.measured().items():
            if value > LIMITS[name].most:
                return words_of(name, value)
        return None
