#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A file system that does not answer, under processes that are recorded: the recording begins, ends when
it is told to, and says what it could not read."""
import os
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import deadfs  # noqa: E402
from harness import (THAW, WORKLOAD, Skip, check, info, report, run, start,  # noqa: E402
                     tests_of, wait_until)

READ, MMAP = "0", "9"   # calls, as /proc/PID/syscall has them
END_S = 30  # for what took for ever: a limit that no busy machine needs
BESIDE = "no recording"   # other recorders would have to wait for its file systems, too

# Its file system goes away while it reads.
READER = """
import contextlib, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
print("open", flush=True)
sys.stdin.readline()
with contextlib.suppress(OSError):
    os.read(fd, 100)
"""

# The page is dirty, so that unmapping has to write it: with the lock of all mappings held.
HOLDER = """
import ctypes, mmap, os, sys, threading, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
fd = os.open(sys.argv[1], os.O_RDWR)
at = libc.mmap(None, 4096, 3, 1, fd, 0)
ctypes.memset(at, 7, 100)
print("open", flush=True)
sys.stdin.readline()
ctypes.memset(at, 8, 100)
libc.mmap(at, 4096, 3, 0x32, -1, 0)
"""


def nobody():
    os.setgroups([])
    os.setresgid(deadfs.NOBODY, deadfs.NOBODY, deadfs.NOBODY)
    os.setresuid(deadfs.NOBODY, deadfs.NOBODY, deadfs.NOBODY)


def victim(code, path):
    """A process of user nobody that has a file open, and goes on when told to."""
    p = subprocess.Popen(["/usr/bin/python3", "-c", code, path], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True, preexec_fn=nobody)
    check(p.stdout.readline() == "open\n", "it has opened its file")
    return p


def state(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as f:
        return next(line.split()[1] for line in f if line.startswith("State:"))


def call(pid):
    """The number of the call that the process sleeps in."""
    with open(f"/proc/{pid}/syscall", encoding="ascii") as f:
        return f.read().split()[0]


def go(p):
    p.stdin.write("\n")
    p.stdin.flush()


def ended(recorder, what):
    """The process ends: while it hangs, not even SIGKILL ends it, so the file system has to go first."""
    try:
        out, err = recorder.communicate(timeout=END_S)
    except subprocess.TimeoutExpired as why:
        raise AssertionError(f"{what}: it does not end") from why
    check(recorder.returncode == 0, f"{what}: exit {recorder.returncode}: {err}")
    return out + err


def recorded(*args):
    return ended(start([THAW, "record", "-d", "1", "-o", "c.thaw", *args]), " ".join(map(str, args)))


def served(files, patience=0, direct=False):
    if not os.path.exists("/dev/fuse"):
        raise Skip("there is no /dev/fuse")
    return deadfs.DeadFs(files, patience, direct)


def test_descriptor_of_a_process():
    """A thread waits in read() for a file that does not come."""
    with served({"file": b"x" * 100000}) as fs:
        p = victim(READER, fs.path("file"))
        fs.stop_answering()
        go(p)
        wait_until(lambda: state(p.pid) in "SD" and call(p.pid) == READ, 10, "it does not read")
        recorded("-p", p.pid)
        rep = report("c.thaw")
    p.wait()
    check([t["pid"] for t in rep["threads"]] == [p.pid], "the thread is in the capture")


def test_descriptor_on_the_machine():
    with served({"file": b"x" * 100000}) as fs:
        p = victim(READER, fs.path("file"))
        fs.stop_answering()
        go(p)
        recorded("-a")
        check(info("c.thaw")["events_by_kind"]["switch"] > 0, "others are recorded")
    p.wait()


def test_interrupted():
    """Ctrl-C ends the recording at once, before its first event and after."""
    with served({"file": b"x" * 100000, "prog": open(WORKLOAD, "rb").read()}, 3600) as fs:
        p = victim(READER, fs.path("file"))
        q = subprocess.Popen([fs.path("prog"), "spin", "1", "30"], preexec_fn=nobody,
                             stdout=subprocess.DEVNULL)
        time.sleep(0.5)
        fs.stop_answering()
        go(p)
        for wait in (0.05, 3):
            r = start([THAW, "record", "-a", "-o", "c.thaw"])
            time.sleep(wait)
            r.send_signal(signal.SIGINT)
            try:
                r.communicate(timeout=END_S)
            except subprocess.TimeoutExpired as why:
                raise AssertionError(f"interrupted after {wait} s, it does not end") from why
        q.kill()
    p.wait()
    q.wait()


def test_program():
    """The program itself is on the dead file system: its build id, its unwind table and its names."""
    with served({"prog": open(WORKLOAD, "rb").read()}) as fs:
        q = subprocess.Popen([fs.path("prog"), "spin", "1", "60"], preexec_fn=nobody,
                             stdout=subprocess.DEVNULL)
        time.sleep(0.5)
        fs.stop_answering()
        said = recorded("-p", q.pid)
        found = info("c.thaw")
        rep = report("c.thaw")
        path = fs.path("prog")
        q.kill()
    q.wait()
    check(path in said and "not answer" in said, f"it says what it could not read: {said}")
    unread = [m["value"] for m in found["facts"] if m["key"] == "unread"]
    check(any(path in u for u in unread), f"the capture says so: {unread}")
    check(sum(t["running_ns"] for t in rep["threads"]) > 0, "what it did is recorded")


def section(data, name):
    """The begin and the end of a section in the file."""
    at, size, n, names = struct.unpack_from("<Q10xHHH", data, 40)
    heads = [struct.unpack_from("<IIQQQQ", data, at + i * size) for i in range(n)]
    text = data[heads[names][4]:]
    return next((h[4], h[4] + h[5]) for h in heads if text[h[0]:].split(b"\0", 1)[0] == name)


def maps():
    """The memory in the kernel that thaw's probes and the recorder share."""
    out = subprocess.run(["bpftool", "map", "show"], capture_output=True, text=True, check=True).stdout
    ours = ("name rings ", "name unwind_", "name memos ", "name thaw_bpf.")
    return [line for line in out.splitlines() if any(name in line for name in ours)]


def goes_silent(op, after=0, part=None, seconds=1):
    """A program whose file system answers until thaw asks for one part; the stacks of another program stay whole."""
    data = open(WORKLOAD, "rb").read()
    first, end = section(data, part) if part else (0, 1 << 62)
    with served({"prog": data}, direct=True) as fs:
        q = subprocess.Popen([fs.path("prog"), "spin", "1", "120"], preexec_fn=nobody,
                             stdout=subprocess.DEVNULL)
        other = subprocess.Popen([WORKLOAD, "spin", "1", "120"], stdout=subprocess.DEVNULL)
        time.sleep(0.5)
        fs.stop_answering_to(op, after, first, end)
        before = len(maps())
        said = recorded("-a", "-d", seconds, "--unwind-cache", "none")
        found, rep = info("c.thaw"), report("c.thaw")
        path = fs.path("prog")
        q.kill()
        other.kill()
        wait_until(lambda: len(maps()) <= before, 20, "stuck children keep memory of the recording")
    q.wait()
    other.wait()
    for p in (q, other):
        check(sum(t["running_ns"] for t in rep["threads"] if t["pid"] == p.pid) > 0, "what both did is recorded")
    check(path in said and "not answer" in said, f"it says what it could not read: {said}")
    return found, rep, path


def unread(found, path):
    told = [m["value"] for m in found["facts"] if m["key"] == "unread"]
    check(any(path in u for u in told), f"the capture says so: {told}")


def test_unwind_table():
    """The file system answers until thaw reads the unwind information."""
    found, _, path = goes_silent(deadfs.READ, part=b".eh_frame")
    unread(found, path)


def test_opened_a_second_time():
    """thaw opens the program for its build id, and again for its unwind table."""
    found, _, path = goes_silent(deadfs.OPEN, after=1)
    unread(found, path)


def test_stacks_say_so():
    """A stack ends where it needs the unwind information, and says why; other stacks are whole."""
    _, rep, _ = goes_silent(deadfs.READ, part=b".eh_frame", seconds=6)
    got = rep["stacks"]["samples"]
    check(got["by_reason"].get("no_answer", 0) > 0 and got["whole"] > 0, f"stacks: {got}")
    return f"stacks: {got}"


def test_closing():
    """thaw can read the file, but not close it."""
    goes_silent(deadfs.FLUSH, after=1)


def test_symbols():
    """The file system answers until thaw reads the names."""
    goes_silent(deadfs.READ, part=b".symtab")


def test_mappings_are_locked():
    """A thread waits for the file and holds the lock of all mappings of its process."""
    with served({"file": b"x" * 100000}) as fs:
        p = victim(HOLDER, fs.path("file"))
        fs.stop_answering()
        go(p)
        wait_until(lambda: state(p.pid) in "SD" and call(p.pid) == MMAP, 10, "it does not wait in mmap()")
        if not maps_are_locked(p.pid):
            raise Skip("this kernel lets others read the mappings meanwhile")
        recorded("-p", p.pid)
        found = info("c.thaw")
    p.wait()
    unread = [m["value"] for m in found["facts"] if m["key"] == "unread"]
    check(any(f"/proc/{p.pid}/maps" in u for u in unread), f"the capture says so: {unread}")
    # Nor could its stack be read.
    check([int(m["value"]) for m in found["facts"] if m["key"] == "asleep_unread"] > [0], found["facts"])


def maps_are_locked(pid):
    """Who reads them hangs, in state D and in read() whenever one looks; or gets to their end."""
    probe = subprocess.Popen(["cat", f"/proc/{pid}/maps"], stdout=subprocess.DEVNULL)
    hangs = 0
    while hangs < 20 and probe.poll() is None:
        time.sleep(0.02)
        hangs = hangs + 1 if state(probe.pid) == "D" and call(probe.pid) == READ else 0
    probe.kill()
    probe.wait()
    return hangs == 20


def test_nothing_stays_behind():
    """The scout that is stuck keeps nothing of the recording: no descriptor, no program in the kernel."""
    def programs():
        out = subprocess.run(["bpftool", "prog", "show"], capture_output=True, text=True, check=True).stdout
        return sum(" thaw_" in line for line in out.splitlines())

    with served({"prog": open(WORKLOAD, "rb").read()}) as fs:
        q = subprocess.Popen([fs.path("prog"), "spin", "1", "60"], preexec_fn=nobody,
                             stdout=subprocess.DEVNULL)
        time.sleep(0.5)
        before = programs()
        fs.stop_answering()
        recorded("-p", q.pid)
        # Other recordings of this machine come and go.
        wait_until(lambda: programs() <= before, 20, "programs stayed in the kernel")
        q.kill()
    q.wait()


if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
