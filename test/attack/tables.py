# SPDX-License-Identifier: MIT
"""Unwind information that is meant to hurt: tables.py BUILD_DIR [NAME...]

The programs run as nobody, the recorder as root. A file's lies cost only that file, and a process without rights
reads them.
"""
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
# pylint: disable=wrong-import-position
from harness import BUILD, THAW, check, info, run, start, stop, tests_of, thaw, wait_until

DUMP = os.path.join(BUILD, "release", "live", "stackdump")
AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

# Near code calls far code, which computes for a tenth of a second; then it ends.
SOURCE = """
	.text
	.globl _start
_start:
	.cfi_startproc
	.cfi_undefined %rip
	call far
	mov $60, %eax
	xor %edi, %edi
	syscall
	.cfi_endproc
	.section .far,"ax",@progbits
	.type far, @function
far:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbx, -16
	mov ${loops}, %rbx
1:	dec %rbx
	jnz 1b
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size far, . - far
"""


def make_program(path, loops=300_000_000, distance=0x46600000):
    """A program of some 12 KB, with its two functions `distance` apart."""
    with open("far.s", "w", encoding="ascii") as f:
        f.write(SOURCE.replace("{loops}", str(loops)))
    subprocess.run(["gcc", "-nostdlib", "-static", "-Wl,--build-id", "-Wl,--eh-frame-hdr",
                    f"-Wl,--section-start=.far={0x400000 + distance:#x}", "-o", path, "far.s"], check=True)
    os.chmod(".", 0o755)
    os.chmod(path, 0o755)


def recorded(capture, command, *args):
    r = thaw("record", "--unwind-cache", "none", "--max-overhead", "100", "-o", capture, *args, "--", *AS_NOBODY,
             *command, timeout=160)
    check(r.returncode == 0, f"record: exit {r.returncode}: {r.stderr.strip()}")
    return {f["key"]: f["value"] for f in info(capture)["facts"]}


def stops(capture, leaf):
    n = {}
    out = subprocess.run([DUMP, capture], capture_output=True, text=True, check=True)
    for line in out.stdout.splitlines():
        _, kind, _, why, frames = line.split(" ", 4)
        if kind == "sample" and frames.endswith(leaf):
            n[why] = n.get(why, 0) + 1
    return n


def test_far_apart():
    """A gigabyte between two functions: the table is small, is built once, and nothing is forgotten."""
    make_program("far")
    check(os.path.getsize("far") < 16384, f"{os.path.getsize('far')} bytes")
    facts = recorded("c.thaw", ["./far"], "--unwind-memory", "8M")
    n = stops("c.thaw", "far")
    check(n.get("end", 0) >= 20 and set(n) == {"end"}, f"stops: {n}")
    check(facts["unwind_resets"] == "0" and facts["unwind_refused"] == "0", f"{facts}")
    check(int(facts["unwind_bytes"]) < 4 << 20, f"{facts['unwind_bytes']} bytes of tables")
    return f"{facts['unwind_bytes']} bytes of tables; stops: {n}"


def test_many_far_apart():
    """Many such files, one after the other: one table each."""
    make_program("far", loops=20_000_000)
    with open("far", "rb") as f:
        data = f.read()
    at = data.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0") + 16
    for i in range(60):
        with open(f"far-{i}", "wb") as f:
            f.write(data[:at] + i.to_bytes(20, "big") + data[at + 20:])
        os.chmod(f"far-{i}", 0o755)
    facts = recorded("c.thaw", ["sh", "-c", "for i in far-*; do ./$i; done"], "--unwind-memory", "8M")
    check(facts["unwind_resets"] == "0", f"{facts}")
    check(int(facts["unwind_built"]) <= 60 + 10, f"{facts['unwind_built']} built for 60 files and sh")
    return f"{facts['unwind_built']} built, {facts['unwind_evicted']} went"


def test_larger_than_the_limit():
    """A table that never fits: one build, a reason of its own, and no harm to other stacks."""
    rows = 2_600_000
    with open("far.s", "w", encoding="ascii") as f:
        f.write(SOURCE.replace("{loops}", "6000000000"))   # several times as long as one build takes
        f.write(f"\t.text\n\t.rept {rows // 2}\n\t.cfi_startproc\n\tnop\n\t.cfi_adjust_cfa_offset 8\n\tnop\n"
                "\t.cfi_endproc\n\t.endr\n")
    subprocess.run(["gcc", "-nostdlib", "-static", "-Wl,--build-id", "-o", "huge", "far.s"], check=True)
    os.chmod(".", 0o755)
    facts = recorded("c.thaw", ["./huge"], "--unwind-memory", "8M")
    n = stops("c.thaw", "far")
    check(n.get("no_room", 0) >= 20, f"stops: {n}")
    check(facts["unwind_refused"] == "1" and facts["unwind_resets"] == "0", f"{facts}")
    check(int(facts["unwind_built"]) <= 8, f"{facts['unwind_built']} built for one program")
    duration, used = info("c.thaw")["duration_ns"], int(facts["thaw_cpu_ns"])
    check(used < duration, f"thaw used {used} ns of CPU time in {duration} ns")
    return f"stops: {n}; {facts['unwind_built']} built; {100 * used // duration}% of a CPU"


# Every other page of its own is executable: as many mappings as thaw notes of a process. Then it waits, again and
# again, and each wait is worth a stack.
MAPPER = """
import ctypes, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
at = libc.mmap(None, 8192 * 4000, 0, 0x22, -1, 0)
for i in range(4000):
    libc.mprotect(at + 8192 * i, 4096, 5)
while True:
    time.sleep(0.02)
"""


def test_many_mappings():
    """Processes with more mappings than there is room for: they go without, and nobody else is forgotten for them."""
    make_program("far", loops=8_000_000_000, distance=0x10000)
    with open("mapper.py", "w", encoding="ascii") as f:
        f.write(MAPPER)
    facts = recorded("c.thaw", ["sh", "-c", "for i in $(seq 24); do /usr/bin/python3 mapper.py & pids=\"$pids $!\"; done; "
                                "sleep 2; ./far; kill $pids"])
    n = stops("c.thaw", "far")
    whole = n.get("end", 0)
    check(whole >= 200 and whole >= 0.98 * sum(n.values()), f"stops: {n}")
    duration = info("c.thaw")["duration_ns"]
    check(int(facts["unwind_resets"]) <= 1 + duration // 10_000_000_000,
          f"{facts['unwind_resets']} times all was forgotten in {duration} ns")
    return f"stops: {n}; {facts['unwind_published']} published, {facts['unwind_resets']} resets"


def test_damaged_tables():
    """Unwind information of random bytes: a file harms only its own stacks."""
    make_program("far", loops=10_000_000, distance=0x10000)
    with open("far", "rb") as f:
        data = bytearray(f.read())
    sections = subprocess.run(["readelf", "-WS", "far"], capture_output=True, text=True, check=True).stdout
    words = next(line for line in sections.splitlines() if " .eh_frame " in line).split("] ")[1].split()
    offset, size = int(words[3], 16), int(words[4], 16)
    dice = random.Random(12)
    for i in range(40):
        mine = bytearray(data)
        for _ in range(1 + i % 8):
            mine[offset + dice.randrange(size)] = dice.randrange(256)
        if i % 5 == 0:
            mine[offset:offset + size] = dice.randbytes(size)
        with open(f"bad-{i}", "wb") as f:
            f.write(mine)
        os.chmod(f"bad-{i}", 0o755)
    facts = recorded("c.thaw", ["sh", "-c", "for i in bad-*; do ./$i; done; ./far; exit 0"])
    check(facts["unwind_resets"] == "0", f"{facts}")
    n = stops("c.thaw", "far")
    check(n.get("end", 0) > 0, f"the one that is well is not whole: {n}")
    return f"stops: {n}"


def status_of(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
    except OSError:
        return {}


def readers(parent):
    """Children of the recorder without rights: user nobody, without capabilities, behind a filter."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        s = status_of(pid)
        if s.get("PPid") == str(parent) and s.get("Seccomp") == "2" and s.get("CapEff", "1").strip("0") == "" \
                and s["Uid"].split()[1] == "65534":
            yield int(pid)


def shared_and_writable(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        return [line for line in f if line.split()[1][1] == "w" and line.split()[1][3] == "s"]


def modest(task):
    return os.getpriority(os.PRIO_PROCESS, task) == 5 and os.sched_getscheduler(task) == os.SCHED_OTHER


def test_read_behind_walls():
    """Files are read by a child that has no rights, shares no memory with the recorder and lets others go first, as
    the thread does that asks it."""
    make_program("far", loops=20_000_000_000)
    recorder = start([THAW, "record", "-q", "--unwind-cache", "none", "-o", "c.thaw", "--", *AS_NOBODY, "./far"])
    try:
        wait_until(lambda: any(readers(recorder.pid)), 30, "no child without rights reads files")
        child = next(readers(recorder.pid))
        check(not shared_and_writable(child), f"it shares memory: {shared_and_writable(child)}")
        check(sorted(os.listdir(f"/proc/{child}/fd"))[:3] == ["0", "1", "2"] and
              len(os.listdir(f"/proc/{child}/fd")) <= 4, "it has files open")
        check(modest(child), "the child has another priority")
        wait_until(lambda: any(modest(int(tid)) for tid in os.listdir(f"/proc/{recorder.pid}/task")), 20,
                   "no thread of the recorder lets others go first")
    finally:
        stop(recorder, 2)
    return None


if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
