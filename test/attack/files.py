#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files that root must not open. A process decides by its mappings which files thaw looks at, and may put something
else there: a FIFO, a device, a link out of its container. The attacker (files.c) is user nobody, the recorder is
root, and the truth is what the bait sees: whether the writer of a FIFO that only root may open could go on, whether
inotify saw the bait opened."""
import ctypes
import json
import os
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
from harness import check, info, report, run, stop, tests_of, thaw, wait_until  # noqa: E402

BESIDE = True   # compares no clocks: test/run puts others next to it

NOBODY = 65534
IN_OPEN = 0x20
LIBC = ctypes.CDLL(None, use_errno=True)

LIBRARY = r"""
void burn_in_library(void (*fn)(double), double seconds) { fn(seconds); __asm__ volatile(""); }
"""

# Debug information that is said to be continued elsewhere.
ALTLINK = r"""
.section .debug_info,"",@progbits
.long 2f-1f
1: .value 4
.long 0
.byte 8
.byte 0
2:
.section .debug_abbrev,"",@progbits
.byte 0
.section .gnu_debugaltlink,"",@progbits
.asciz "%s"
.fill 20,1,7
.section .note.GNU-stack,"",@progbits
"""


# Whatever is asked for in it is in one function.
LIAR = r"""
int main(void) { return 0; }
__asm__(".text\n.globl liar\n.type liar,@function\nliar: .fill 1048576,1,0x90\n.size liar,1048576\n");
"""


class Bait:
    """A file that only root can open, in a folder that only root can enter; and whether anybody opened it."""

    def __init__(self, kind):
        self.path = os.path.abspath(os.path.join("secret", kind))
        os.mkdir("secret", 0o700)
        self.writer = None
        if kind == "fifo":
            os.mkfifo(self.path, 0o600)
        elif kind == "device":
            os.mknod(self.path, 0o600 | 0o020000, os.makedev(1, 5))
        else:
            with open(self.path, "w", encoding="ascii") as f:
                f.write("secret\n")
            os.chmod(self.path, 0o600)
        self.inotify = LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.watch(self.path)
        if kind == "fifo":  # waits in open() until somebody opens the other end
            self.writer = subprocess.Popen([sys.executable, "-c", "import os, sys\n"
                                            "os.open(sys.argv[1], os.O_WRONLY)", self.path])
            wait_until(self.writer_waits, 20, "the writer of the FIFO does not wait")

    def writer_waits(self):
        calls = []
        for _ in range(2):
            with open(f"/proc/{self.writer.pid}/syscall", encoding="ascii") as f:
                calls.append(f.read())
            time.sleep(0.05)
        return calls[0].split()[0] == "257" and calls[0] == calls[1]  # openat, and the same one

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.inotify)
        if self.writer:
            stop(self.writer)

    def watch(self, path):
        check(LIBC.inotify_add_watch(self.inotify, path.encode(), IN_OPEN) >= 0, f"inotify: {path}")

    def check_untouched(self):
        released = self.writer is not None and self.writer.poll() is not None
        check(not released, "the writer of root's FIFO was let go: nobody had root open it")
        try:
            seen = len(os.read(self.inotify, 4096)) // struct.calcsize("iIII")
        except BlockingIOError:
            seen = 0
        check(not seen, f"nobody had root open {self.path}: {seen} times")


def build(path, *flags, source=os.path.join(HERE, "files.c")):
    r = subprocess.run(["cc", "-g", "-O1", "-fno-omit-frame-pointer", "-o", path, source, *flags],
                       capture_output=True, text=True, check=False)
    check(r.returncode == 0, r.stderr)
    return path


def den():
    """A folder of user nobody, with the attacker in it."""
    os.chmod(".", 0o755)
    os.mkdir("den")
    build("den/prog", "-static")
    os.chown("den", NOBODY, NOBODY)
    os.chown("den/prog", NOBODY, NOBODY)
    return os.path.abspath("den/prog")


def record(*command, engine="bpf"):
    r = thaw("record", "--engine", engine, "-F", 997, "-o", "c.thaw", "--", *command)
    check(r.returncode == 0, f"record: exit {r.returncode}: {r.stderr.strip()}")
    check(info("c.thaw", "--verify")["complete"], "the capture is not whole")
    return r


def functions():
    return {f["name"] for f in report("c.thaw", "--top", 1000)["functions"]}


def attack_by_swap(kind):
    prog = den()
    with Bait(kind) as bait:
        record(prog, "swap", bait.path)
        bait.check_untouched()


def test_swapped_for_fifo():
    attack_by_swap("fifo")


def test_swapped_for_device():
    attack_by_swap("device")


def test_swapped_for_file():
    """thaw also leaves a regular file alone that is not the one that was mapped."""
    attack_by_swap("file")


def test_ended_and_swapped():
    """Programs that have ended when thaw asks for their file, which is a link to root's FIFO by then."""
    prog = den()
    with Bait("fifo") as bait:
        record(prog, "flash", bait.path, 100)
        bait.check_untouched()


def container(*flags):
    """A root of its own, with nothing but the attacker in it."""
    prog = den()
    os.makedirs("root/proc")
    build("root/prog", "-static", *flags)
    os.chown("root", NOBODY, NOBODY)
    return prog, os.path.abspath("root")


def attack_from_root(kind):
    """An absolute link in a container means the container's file, not the host's."""
    prog, root = container()
    with Bait(kind) as bait:
        record(prog, "--root", root, "/prog", "swap", bait.path)
        bait.check_untouched()


def test_link_out_of_a_root_to_a_fifo():
    attack_from_root("fifo")


def test_link_out_of_a_root_to_a_file():
    attack_from_root("file")


def test_debug_link_out_of_a_root():
    """Debug information in a container names a file that only the host has."""
    with Bait("file") as bait:
        with open("alt.s", "w", encoding="ascii") as f:
            f.write(ALTLINK % bait.path)
        prog, root = container("-g0", os.path.abspath("alt.s"))
        p = subprocess.Popen([prog, "--root", root, "/prog", "brief", "30"])
        r = thaw("record", "--engine", "bpf", "-F", 997, "-o", "c.thaw", "-d", "0.5s", "-p", p.pid)
        stop(p)
        check(r.returncode == 0, r.stderr)
        check("burn_inside" in functions(), "the attacker was not recorded")
        bait.check_untouched()


def attack_from_namespace(mode, *flags):
    """The same path in another mount namespace: the host's file is not the process's."""
    prog = den()
    place = os.path.abspath("place")
    os.mkdir(place)
    with open("liar.c", "w", encoding="ascii") as f:
        f.write(LIAR)
    build("place/prog", "-static", *flags, source="liar.c")
    build("inside", "-static", *flags)
    with Bait("file") as bait:
        bait.path = os.path.join(place, "prog")
        bait.watch(bait.path)
        record(prog, "--unshare", place, os.path.abspath("inside"), *mode)
        check("liar" not in functions(), "the host's file of the same path gave its names")
        bait.check_untouched()


def test_ended_in_another_namespace():
    attack_from_namespace(["brief", 1])


def test_ended_in_another_namespace_without_build_id():
    attack_from_namespace(["brief", 1], "-Wl,--build-id=none")


def test_unlinked_in_another_namespace():
    attack_from_namespace(["unlink"])


def attack_by_perf_map(kind, bait=None):
    """Recorded while it lives, and named when its recording ends."""
    prog = den()
    p = subprocess.Popen([prog, "jit", kind, bait.path if bait else "-"], stdout=subprocess.PIPE,
                         text=True)
    path = p.stdout.readline().split()[1]
    try:
        r = thaw("record", "--engine", "bpf", "-F", 997, "-o", "c.thaw", "-d", "1s", "-p", p.pid)
    finally:
        stop(p)
        os.unlink(path)
    check(r.returncode == 0, f"record: exit {r.returncode}: {r.stderr.strip()}")
    check(info("c.thaw", "--verify")["complete"], "the capture is not whole")
    check(report("c.thaw")["threads"][0]["samples"], "nothing was recorded")
    if bait:
        bait.check_untouched()


def test_perf_map_is_a_fifo():
    attack_by_perf_map("fifo")


def test_perf_map_is_a_link_to_a_file():
    with Bait("file") as bait:
        attack_by_perf_map("link", bait)


def test_perf_map_is_a_link_to_a_fifo():
    with Bait("fifo") as bait:
        attack_by_perf_map("link", bait)


def test_perf_map_of_three_gigabytes():
    """Its first line is a name; the rest of it is a hole."""
    attack_by_perf_map(str(3 << 30))


def test_perf_map_of_a_terabyte():
    attack_by_perf_map(str(1 << 40))


def test_library_that_shrinks():
    """Truncated and written again while thaw reads it: a mapping of it would answer with SIGBUS."""
    den()
    with open("lib.c", "w", encoding="ascii") as f:
        f.write(LIBRARY)
    build("den/lib.so", "-shared", "-fPIC", source="lib.c")
    build("den/dynamic", "-DDYNAMIC")
    os.chown("den/lib.so", NOBODY, NOBODY)
    record(os.path.abspath("den/dynamic"), "shrink", os.path.abspath("den/lib.so"))
    check("burn_inside" in functions(), "the program was not named")


def build_ids_of(path):
    r = thaw("export", "-f", "jsonl", "-o", "c.jsonl", "c.thaw")
    check(r.returncode == 0, r.stderr)
    with open("c.jsonl", encoding="utf-8") as f:
        rows = [json.loads(line) for line in f]
    return {row["build_id"] for row in rows if row.get("path") == path and "build_id" in row}


def read_build_id(path):
    out = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    return out.split("Build ID:")[1].split()[0]


def test_program_rebuilt_in_place():
    """
    The same inode, other content: each run has the build id that readelf reads in its file. A run lasts long enough
    for the recorder to read it on a busy machine: what is overwritten before that is gone.
    """
    build("first", "-Wl,--build-id=0x" + 20 * "11")
    build("second", "-Wl,--build-id=0x" + 20 * "22")
    want = {read_build_id("first"), read_build_id("second")}
    place = os.path.abspath("program")
    script = f"cat first > {place}; chmod +x {place}; {place} brief 2; cat second > {place}; {place} brief 2"
    record("sh", "-c", script, engine="ctimer")
    check(build_ids_of(place) == want, f"{build_ids_of(place)} are not {want}")


if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
