# SPDX-License-Identifier: MIT
"""Child processes: started from argument lists, timed by wait4, ended by their own pid."""

import atexit
import json
import os
import signal
import subprocess
import time

_alive = {}


def _interruptible():
    """A shell starts what runs in the background with SIGINT ignored, and that is inherited."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _high_priority():
    """For what must not wait for the rest of the machine."""
    _interruptible()
    os.setpriority(os.PRIO_PROCESS, 0, -20)
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as f:
            f.write("-20")
    except OSError:
        pass


class Failed(Exception):
    """Something could not run; the message says what and why."""


class Skipped(Exception):
    """Something is not there to be measured; the message says what."""


class Child:
    """A process, by default in a session of its own. Once it has ended: status, rusage, wall, peak_kib.

    peak_kib: the most memory that it had, as far as looks at it tell. (ru_maxrss has in it what this
    process had when it forked.)

    first: at raised priority.
    """

    def __init__(self, argv, out, err, first=False, session=True):
        self.argv = argv
        self.err = err
        self.start = time.monotonic()
        self.status = None
        self.rusage = None
        self.wall = 0.0
        self.peak_kib = 0
        with open(out, "wb") as o, open(err, "wb") as e:
            self.popen = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=o, stderr=e,
                                          start_new_session=session,
                                          preexec_fn=_high_priority if first else _interruptible)
        self.pid = self.popen.pid
        _alive[self.pid] = self

    def poll(self):
        """True once it has ended."""
        if self.status is not None:
            return True
        self._look_at_memory()
        pid, status, rusage = os.wait4(self.pid, os.WNOHANG)
        if pid == 0:
            return False
        self.status = os.waitstatus_to_exitcode(status)
        self.rusage = rusage
        self.wall = time.monotonic() - self.start
        self.popen.returncode = self.status
        del _alive[self.pid]
        return True

    def _look_at_memory(self):
        try:
            with open(f"/proc/{self.pid}/status", encoding="ascii", errors="replace") as f:
                kib = [int(line.split()[1]) for line in f if line.startswith("VmHWM")]
        except OSError:
            return
        self.peak_kib = max([self.peak_kib, *kib])

    def wait(self, timeout):
        """True if it ended within so many seconds."""
        end = time.monotonic() + timeout
        pause = 0.001
        while not self.poll():
            if time.monotonic() > end:
                return False
            time.sleep(pause)
            pause = min(pause * 1.5, 0.02)
        return True

    def finish(self, timeout):
        """Asks it to stop as Ctrl-C would; kills it when it does not."""
        for sig, patience in ((signal.SIGINT, timeout), (signal.SIGTERM, 5), (signal.SIGKILL, 60)):
            if self.poll():
                return
            os.kill(self.pid, sig)
            if self.wait(patience):
                return
        raise Failed(f"{self.argv[0]} does not end")

    def cpu(self):
        """User and system time. Once it has ended."""
        return self.rusage.ru_utime + self.rusage.ru_stime

    def words(self):
        """The last lines that it wrote to stderr."""
        with open(self.err, "rb") as f:
            text = f.read()[-4000:].decode("utf-8", "replace").strip()
        return " | ".join(text.splitlines()[-3:])


def run(argv, directory, timeout=600, first=False, session=True):
    """Runs to the end; returns (child, path of its stdout)."""
    out = os.path.join(directory, "run.out")
    child = Child(argv, out, os.path.join(directory, "run.err"), first, session)
    if not child.wait(timeout):
        child.finish(5)
        raise Failed(f"{' '.join(argv[:4])}: not finished after {timeout} s")
    if child.status != 0:
        raise Failed(f"{' '.join(argv[:4])}: exit status {child.status}: {child.words()}")
    return child, out


def run_json(argv, directory, timeout=600, first=False, session=True):
    """Runs to the end; returns what it printed, as data."""
    _, out = run(argv, directory, timeout, first, session)
    with open(out, encoding="utf-8") as f:
        try:
            return json.load(f)
        except ValueError as e:
            raise Failed(f"{' '.join(argv[:4])}: not JSON: {e}") from e


def switches_now():
    """Context switches of the whole machine since it started."""
    with open("/proc/stat", encoding="ascii") as f:
        for line in f:
            if line.startswith("ctxt "):
                return int(line.split()[1])
    raise Failed("/proc/stat has no ctxt line")


def rss_kib(pid):
    """Resident memory now, or None when the process has gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as f:
            for line in f:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1])
    except OSError:
        pass
    return None


def busy_share(seconds):
    """How much of the machine's CPU time somebody else uses."""
    def read():
        with open("/proc/stat", encoding="ascii") as f:
            v = [int(x) for x in f.readline().split()[1:9]]
        return sum(v), v[3] + v[4]
    total0, idle0 = read()
    time.sleep(seconds)
    total1, idle1 = read()
    return 1 - (idle1 - idle0) / max(1, total1 - total0)


@atexit.register
def _end_all():
    for child in list(_alive.values()):
        try:
            child.finish(2)
        except (Failed, OSError):
            pass
