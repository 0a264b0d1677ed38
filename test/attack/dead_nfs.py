#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An NFS server that does not answer, hard mounted, under processes that are recorded: the recording begins, ends
when it is told to, and says what it could not read. blocked.py has more of the same with a file system in user space,
which every kernel has."""
import contextlib
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
from deadnfs import DeadNfs, known  # noqa: E402
from harness import THAW, WORKLOAD, Skip, check, info, report, run, start, tests_of, wait_until  # noqa: E402

END_S = 120  # for what took for ever: emulated, everything takes long
BESIDE = "no recording"   # other recorders would have to wait for its file system, too
READ = "0"   # the number of the call

READER = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
print("open", flush=True)
sys.stdin.readline()
os.read(fd, 100)
"""


def served(files):
    if not known():
        raise Skip("this kernel has no NFS")
    return DeadNfs(files)


@contextlib.contextmanager
def reader(fs):
    """A process that waits in state D for a file, for ever."""
    p = subprocess.Popen([sys.executable, "-c", READER, fs.path("file")], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True)
    try:
        check(p.stdout.readline() == "open\n", "it has opened its file")
        fs.stop_answering()
        p.stdin.write("\n")
        p.stdin.flush()
        wait_until(lambda: waits(p.pid), 30, "it does not wait for the file")
        yield p
    finally:
        p.kill()   # a wait for NFS ends by that
        p.wait()


def waits(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f, open(f"/proc/{pid}/syscall", encoding="ascii") as g:
        return f.read().rsplit(")", 1)[1].split()[0] == "D" and g.read().split()[0] == READ


def spins(pid):
    """It has used a fifth of a second in user space."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return int(f.read().rsplit(")", 1)[1].split()[11]) > os.sysconf("SC_CLK_TCK") / 5


def recorded(*args):
    r = start([THAW, "record", "-d", "1", "-o", "c.thaw", *args])
    try:
        out, err = r.communicate(timeout=END_S)
    except subprocess.TimeoutExpired as why:
        r.kill()
        raise AssertionError(f"{args}: it does not end") from why
    check(r.returncode == 0, f"{args}: exit {r.returncode}: {err}")
    return out + err


def test_nfs_descriptor_of_a_process():
    """A thread waits in read(): the capture has it, and which file of which file system it waits for."""
    with served({"file": b"x" * 100000}) as fs, reader(fs) as p:
        recorded("-p", p.pid)
        rep, path = report("c.thaw"), fs.path("file")
    check([t["pid"] for t in rep["threads"]] == [p.pid], "the thread is in the capture")
    row = next((s for s in rep["stuck"] if s["pid"] == p.pid), None)
    check(row and row["file"] == {"path": path, "type": "nfs", "source": "127.0.0.1:/"}, row)


def test_nfs_descriptor_on_the_machine():
    with served({"file": b"x" * 100000}) as fs, reader(fs):
        recorded("-a")
        check(info("c.thaw")["events_by_kind"]["switch"] > 0, "others are recorded")


def test_nfs_program():
    """The program itself is on the dead server: its build id, its unwind table and its names."""
    with served({"prog": open(WORKLOAD, "rb").read()}) as fs:
        q = subprocess.Popen([fs.path("prog"), "spin", "1", "600"], stdout=subprocess.DEVNULL)
        try:
            # By then it has read all of itself that it needs.
            wait_until(lambda: spins(q.pid), 60, "the program does not run")
            with open(f"/proc/{q.pid}/maps", encoding="ascii") as f:
                check(fs.path("prog") in f.read(), "the program is mapped")
            fs.stop_answering()
            said = recorded("-p", q.pid)
            found, rep, path = info("c.thaw"), report("c.thaw"), fs.path("prog")
        finally:
            q.kill()
            q.wait()
    check(path in said and "not answer" in said, f"it says what it could not read: {said}")
    unread = [m["value"] for m in found["facts"] if m["key"] == "unread"]
    check(any(path in u for u in unread), f"the capture says so: {unread}")
    check(sum(t["running_ns"] for t in rep["threads"]) > 0, "what it did is recorded")


if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
