#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Threads that wait for a file that does not come: thaw says which file, on which file system, and calls no thread
idle. The truth is what the program was told to open, and the mount table."""
import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import deadfs  # noqa: E402
from harness import THAW, Skip, check, info, report, run, start, stop, tests_of, thaw, wait_until  # noqa: E402

# Goes to its file when told to, in the way that it is told: read, write, stat, open, from a folder; and has a second
# thread that takes the descriptor away when told so.
VICTIM = """
import os, sys, threading
how, path = sys.argv[1], os.fsencode(sys.argv[2])
fd = os.open(path, os.O_RDWR) if how in ("read", "write") else -1
folder = os.open(os.path.dirname(path), os.O_PATH) if how == "folder" else -1
if how == "relative":
    os.chdir(os.path.dirname(path))
def away():
    word = sys.stdin.readline()
    if word == "close\\n":
        os.close(fd)
    elif word == "replace\\n":
        os.dup2(os.open("/etc/passwd", os.O_RDONLY), fd)
    print("away", flush=True)
print("open", flush=True)
sys.stdin.readline()
threading.Thread(target=away, daemon=True).start()
if how == "read":
    os.read(fd, 100)
elif how == "write":
    os.write(fd, b"x")
elif how == "stat":
    os.stat(path)
elif how == "open":
    os.open(path, os.O_RDONLY)
elif how == "relative":
    os.stat(os.path.basename(path))
elif how == "folder":
    os.stat(os.path.basename(path), dir_fd=folder)
"""
CALLS = {"read": "read", "write": "write", "stat": "newfstatat", "open": "openat", "relative": "newfstatat", "folder": "newfstatat"}
NUMBERS = {"read": "0", "write": "1", "newfstatat": "262", "openat": "257"}


def nobody():
    os.setgroups([])
    os.setresgid(deadfs.NOBODY, deadfs.NOBODY, deadfs.NOBODY)
    os.setresuid(deadfs.NOBODY, deadfs.NOBODY, deadfs.NOBODY)


def served(files):
    if not os.path.exists("/dev/fuse"):
        raise Skip("there is no /dev/fuse")
    return deadfs.DeadFs(files)


def tell(p, word):
    p.stdin.write(word + "\n")
    p.stdin.flush()


def in_call(pid, number):
    with open(f"/proc/{pid}/syscall", encoding="ascii") as f:
        return f.read().split()[0] == number


@contextlib.contextmanager
def stuck(how, path, fs, silence=deadfs.DeadFs.stop_answering):
    """A process of user nobody whose first thread is in the call, and stays there."""
    p = subprocess.Popen(["/usr/bin/python3", "-c", VICTIM, how, path], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True, preexec_fn=nobody)
    try:
        check(p.stdout.readline() == "open\n", "it has opened its file")
        silence(fs)
        tell(p, "go")
        wait_until(lambda: in_call(p.pid, NUMBERS[CALLS[how]]), 10, "it is not in its call")
        time.sleep(0.1)
        yield p
    finally:
        p.kill()


def recorded(*args):
    r = thaw("record", "-q", "-d", "0.3s", "-o", "c.thaw", *args, timeout=60)
    check(r.returncode == 0, r.stderr)
    return report("c.thaw")


def stuck_row(rep, tid):
    rows = [w for w in rep["stuck"] if w["tid"] == tid]
    check(len(rows) == 1, rep["stuck"])
    return rows[0]


def mount_of(folder):
    """Type and source, by the mount table."""
    with open("/proc/self/mounts", encoding="utf-8") as f:
        return next((line.split()[2], line.split()[0]) for line in f if line.split()[1] == folder)


def said(rep):
    return rep["finding"]["sentence"]


def right_file(how, fs, path, shown=None):
    with stuck(how, path, fs) as p:
        rep = recorded("-p", p.pid)
    row = stuck_row(rep, p.pid)
    kind, source = mount_of(fs.folder)
    check(row["file"] == {"path": shown or path, "type": kind, "source": source}, row)
    check(row["call"] == CALLS[how] and row["since_before"] and row["reason"] == "file_server", row)
    check(f"in {CALLS[how]} of {shown or path} ({kind}, {source}), since before the recording began" in said(rep), said(rep))
    check("Nothing" not in said(rep), said(rep))
    # The same in the row of its wait.
    waits = [w for w in rep["waits"] if w["max_tid"] == p.pid]
    check([w["file"]["path"] for w in waits] == [shown or path], waits)
    check(f"for {shown or path}" in thaw("report", "c.thaw").stdout, "the table of waits has it, too")


def test_read():
    with served({"data": b"x" * 100000}) as fs:
        right_file("read", fs, fs.path("data"))


def test_stat():
    with served({"data": b"x"}) as fs:
        right_file("stat", fs, fs.path("data"))


def test_open():
    with served({"data": b"x"}) as fs:
        right_file("open", fs, fs.path("data"))


def test_relative_path():
    """As the process sees it: from its own folder, or from one that it has open."""
    for how in ("relative", "folder"):
        with served({"data": b"x"}) as fs:
            right_file(how, fs, fs.path("data"))


def test_behind_a_link():
    """By its text the path is on the disk; the file is elsewhere."""
    with served({"data": b"x"}) as fs:
        os.chmod(".", 0o755)
        os.symlink(fs.folder, "link")
        path = os.path.join(os.getcwd(), "link", "data")
        right_file("stat", fs, path)


def test_whole_machine():
    with served({"data": b"x" * 100000}) as fs:
        path = fs.path("data")
        with stuck("read", path, fs) as p:
            rep = recorded("-a")
    row = stuck_row(rep, p.pid)
    check(row["file"]["path"] == path and row["file"]["type"] == "fuse.deadfs", row)


def test_in_state_d():
    """SIGKILL does not end the thread: its request is on the way, and only an answer ends the wait."""
    with served({"data": b"x" * 100000}) as fs:
        path = fs.path("data")
        with stuck("read", path, fs) as p:
            p.kill()

            def state():
                with open(f"/proc/{p.pid}/stat", encoding="ascii") as f:
                    return f.read().rsplit(")", 1)[1].split()[0]
            wait_until(lambda: state() == "D", 10, "it is not in state D")
            rep = recorded("-p", p.pid)
    row = stuck_row(rep, p.pid)
    check(row["uninterruptible"] and row["file"]["path"] == path, row)
    check("in D state" in said(rep) and f"in read of {path}" in said(rep), said(rep))


@contextlib.contextmanager
def frozen_disk():
    """An ext4 on a loop device that takes no writes, as while a snapshot of it is made."""
    FREEZE, THAWS = 0xC0045877, 0xC0045878
    if not os.path.exists("/sbin/mkfs.ext4"):
        raise Skip("there is no mkfs.ext4 (Debian package e2fsprogs)")
    os.mkdir("disk")
    made = subprocess.run("truncate -s 8M image && /sbin/mkfs.ext4 -q image && mount -o loop image disk", shell=True,
                          capture_output=True, text=True)
    if made.returncode:
        raise Skip(f"no loop device with ext4: {made.stderr.strip()}")
    fd = -1
    try:
        with open("disk/data", "w", encoding="ascii") as f:
            os.fchmod(f.fileno(), 0o666)
        os.chmod(".", 0o755)
        fd = os.open("disk", os.O_RDONLY)
        yield os.path.abspath("disk/data"), lambda _: fcntl.ioctl(fd, FREEZE, 0)
    finally:
        if fd >= 0:
            with contextlib.suppress(OSError):
                fcntl.ioctl(fd, THAWS, 0)
            os.close(fd)
        subprocess.run(["umount", "-l", "disk"], check=True)


def test_frozen_disk():
    """In state D for a disk: which one."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))
    with frozen_disk() as (path, freeze):
        with stuck("write", path, None, freeze) as p:
            with open(f"/proc/{p.pid}/stat", encoding="ascii") as f:
                check(f.read().rsplit(")", 1)[1].split()[0] == "D", "it is not in state D")
            rep = recorded("-p", p.pid)
            kind, source = mount_of(os.path.dirname(path))
    row = stuck_row(rep, p.pid)
    check(row["file"] == {"path": path, "type": kind, "source": source} and source.startswith("/dev/loop"), row)
    check(row["uninterruptible"] and row["call"] == "write", row)
    check(f"in write of {path} ({kind}, {source})" in said(rep) and "in D state" in said(rep), said(rep))


def test_lock_on_a_file():
    """flock(): which file it is."""
    with open("daemon.lock", "w", encoding="ascii") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        p = start(["/usr/bin/flock", "daemon.lock", "true"])
        try:
            wait_until(lambda: in_call(p.pid, "73"), 10, "it is not in flock()")
            rep = recorded("-p", p.pid)
        finally:
            stop(p)
    path = os.path.abspath("daemon.lock")
    row = stuck_row(rep, p.pid)
    check(row["reason"] == "file_lock" and row["file"]["path"] == path and row["call"] == "flock", row)
    check("waiting for a lock on a file" in said(rep) and f"in flock of {path} (" in said(rep), said(rep))


def test_recorded_from_the_start():
    """A thread that gets stuck during the recording, and stays so to its end."""
    with served({"data": b"x" * 100000}) as fs:
        path = fs.path("data")
        r = start([THAW, "record", "-q", "-d", "4s", "-o", "c.thaw", "--", "/usr/bin/python3", "-c", VICTIM, "read", path],
                  stdin=subprocess.PIPE)
        check(r.stdout.readline() == "open\n", "it has opened its file")
        fs.stop_answering()
        tell(r, "go")
        # The command cannot end, and thaw waits for its status: but the capture is there.
        wait_until(lambda: os.path.exists("c.thaw") and info("c.thaw")["complete"], 60, "the recording does not end")
        rep = report("c.thaw")
    r.communicate(timeout=60)
    rows = [w for w in rep["stuck"] if w["file"]]
    check([w["file"]["path"] for w in rows] == [path] and not rows[0]["since_before"], rep["stuck"])
    check(f"in read of {path}" in said(rep) and "for the last" in said(rep), said(rep))


def test_ends_while_it_is_recorded():
    """A process that is exiting when thaw attaches, and has told the kernel's probes so before: its end is seen."""
    with served({"data": b"x"}) as fs:
        p = start(["/usr/bin/python3", "-c", "import os, sys; os.open(sys.argv[1], os.O_RDONLY); print('open', flush=True); "
                   "sys.stdin.readline(); os._exit(0)", fs.path("data")], stdin=subprocess.PIPE)
        check(p.stdout.readline() == "open\n", "it has opened its file")
        fs.stop_answering_to(deadfs.FLUSH)
        tell(p, "go")
        wait_until(lambda: exiting(p.pid), 10, "it is not exiting")
        r = start([THAW, "record", "-d", "20s", "-o", "c.thaw", "-p", p.pid])
        wait_until(lambda: os.path.exists("c.thaw"), 20, "no recording")
        time.sleep(1)   # until it has begun: an earlier end would be noticed at the start
        fs.abort()
        p.wait(timeout=60)
        said_at_the_end = r.communicate(timeout=60)[1]
    check(r.returncode == 0 and "the process ended" in said_at_the_end, said_at_the_end)


def exiting(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return int(f.read().rsplit(")", 1)[1].split()[6]) & 4   # PF_EXITING


def test_hostile_name():
    """A name that would paint the terminal, or break the line; the JSON has it as it is."""
    name = "\x1b[31mred\nNothing was held up\x07"
    with served({name: b"x" * 100000}) as fs:
        path = fs.path(name)
        with stuck("read", path, fs) as p:
            rep = recorded("-p", p.pid)
        row = stuck_row(rep, p.pid)
        check(row["file"]["path"] == path, row)
        text = thaw("report", "c.thaw").stdout
        check("\x1b" not in text and "\x07" not in text and "\nNothing was" not in text, text)
        check("\x1b" not in said(rep) and "\n" not in said(rep), said(rep))


def test_long_path():
    """As long as the kernel takes one: told whole in the JSON, cut on the screen."""
    with served({"data": b"x"}) as fs:
        path = fs.folder + "/" + "./" * ((4095 - len(fs.folder) - 5) // 2) + "data"
        check(4090 <= len(path) <= 4095, len(path))
        with stuck("stat", path, fs) as p:
            rep = recorded("-p", p.pid)
    row = stuck_row(rep, p.pid)
    check(row["file"] == {"path": path, "type": "fuse.deadfs", "source": "deadfs"}, row["file"])
    check(len(said(rep)) < 500, said(rep))
    check(max(map(len, thaw("report", "c.thaw").stdout.splitlines())) <= 100, "the lines are cut")


def no_reads(fs):
    """Leaves only reads unanswered: closing a file asks its file system, too."""
    fs.stop_answering_to(deadfs.READ)


def test_descriptor_taken_away():
    """Another thread closes the descriptor, or puts another file there while it is recorded: thaw names no file."""
    with served({"data": b"x" * 100000}) as fs:
        with stuck("read", fs.path("data"), fs, no_reads) as p:
            tell(p, "close")
            check(p.stdout.readline() == "away\n", "it is closed")
            row = stuck_row(recorded("-p", p.pid), p.pid)
        check(row["file"] is None and row["reason"] == "file_server", row)
    with served({"data": b"x" * 100000}) as fs:
        with stuck("read", fs.path("data"), fs, no_reads) as p:
            r = start([THAW, "record", "-q", "-d", "3s", "-o", "c.thaw", "-p", p.pid])
            wait_until(lambda: os.path.exists("c.thaw") and os.path.getsize("c.thaw") > 2000, 20, "no file")
            time.sleep(1)
            tell(p, "replace")
            check(p.stdout.readline() == "away\n", "it is replaced")
            _, err = r.communicate(timeout=60)
            check(r.returncode == 0, err)
        row = stuck_row(report("c.thaw"), p.pid)
        check(row["file"] is None, row)


def test_dies_meanwhile():
    """At any moment of the beginning: the recording is sound, or says that there is no such process."""
    for wait in (0, 0.05, 0.1, 0.2, 0.3, 0.5):
        with served({"data": b"x" * 100000}) as fs:
            with stuck("stat", fs.path("data"), fs) as p:
                r = start([THAW, "record", "-q", "-d", "1s", "-o", "c.thaw", "-p", p.pid])
                time.sleep(wait)
                p.send_signal(signal.SIGKILL)
        p.wait(timeout=20)  # its file system is gone, and so is what held it
        _, err = r.communicate(timeout=60)
        check(r.returncode == 0 or "ended while" in err or "no process" in err, f"{wait}: exit {r.returncode}: {err}")
        if r.returncode == 0:
            report("c.thaw")


def test_idle_file_server():
    """The server of such a file system waits for work, which is idle."""
    with served({"data": b"x"}) as fs:
        rep = recorded("-p", fs.server)
    check("Nothing was held up" in said(rep), said(rep))


if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
