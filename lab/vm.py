# SPDX-License-Identifier: MIT
"""One guest: a kernel under QEMU's software emulation with two CPUs, the lab's archive and two serial
ports. The first port is text, with the guest's lines for the host among the kernel's own; the second
carries files. Emulation is slow, but it interrupts, nests and deadlocks as the real thing does, and
a frozen guest can be looked at from outside."""
import os
import re
import signal
import subprocess
import time

QEMU = "qemu-system-x86_64"


def patches_code_well():
    """Before 8.1 (deba78709a "accel/tcg: Always lock pages before translation"), QEMU with a thread for each
    CPU runs code that another CPU has just patched in its old form, and now and then the guest dies of
    `Oops: int3` where tracepoints are turned on and off. With one thread for all CPUs it does not."""
    out = subprocess.run([QEMU, "--version"], capture_output=True, text=True, check=True).stdout
    version = tuple(int(n) for n in re.search(r"(\d+)\.(\d+)", out).groups())
    return version >= (8, 1)


def files_of(bulk):
    """What has arrived whole on the second port: name -> bytes."""
    out = {}
    if not os.path.exists(bulk):
        return out
    with open(bulk, "rb") as f:
        while True:
            head = f.readline().decode("ascii", "replace").split()
            if len(head) != 2 or not head[1].isdigit():
                return out
            data = f.read(int(head[1]))
            if len(data) < int(head[1]):
                return out
            out[head[0]] = data


class Guest:
    """Starts at once. `folder` receives the serial ports, the files and the socket of the gdb stub."""

    def __init__(self, kernel, archive, folder, todo, multi=False):
        """`multi`: a thread for each CPU, whatever QEMU does with patched code: stalls are as long as they
        are then, and not as long as the other CPU's turn."""
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self.serial = os.path.join(folder, "serial.txt")
        self.bulk = os.path.join(folder, "bulk.bin")
        self.gdb = os.path.join(folder, "gdb.sock")
        for stale in (self.serial, self.bulk, self.gdb):
            if os.path.exists(stale):
                os.unlink(stale)
        words = f"console=ttyS0 quiet panic=-1 lab.do={','.join(todo)}"
        threads = "multi" if multi or patches_code_well() else "single"
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [QEMU, "-accel", f"tcg,thread={threads}", "-cpu", "max", "-smp", "2", "-m", "2G", "-nodefaults",
             "-display", "none", "-no-reboot", "-kernel", kernel, "-initrd", archive,
             "-append", words, "-serial", f"file:{self.serial}", "-serial", f"file:{self.bulk}",
             "-chardev", f"socket,path={self.gdb},server=on,wait=off,id=gdb", "-gdb", "chardev:gdb"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def lines(self):
        try:
            with open(self.serial, encoding="utf-8", errors="replace") as f:
                return [line.rstrip("\r\n") for line in f]
        except FileNotFoundError:
            return []

    def said(self):
        """The guest's lines for the host, as lists of words."""
        return [line[4:].split() for line in self.lines() if line.startswith("LAB ")]

    def died_of_emulation(self):
        return not patches_code_well() and any("Oops: int3" in line for line in self.lines())

    def running(self):
        return self.process.poll() is None

    def cpu_seconds(self):
        """What the emulation has had of the machine's CPUs: on a busy machine, the better clock."""
        try:
            with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait(self, seconds, quiet=None):
        """Waits for the guest's end. False if it takes longer, or says nothing on either port for so long: in
        CPU time, or three times as long in all."""
        began = heard = (time.monotonic(), self.cpu_seconds())
        said = 0

        def over(since, limit):
            return self.cpu_seconds() - since[1] > limit or time.monotonic() - since[0] > 3 * limit

        while self.running():
            size = sum(os.path.getsize(p) for p in (self.serial, self.bulk) if os.path.exists(p))
            if size != said:
                said, heard = size, (time.monotonic(), self.cpu_seconds())
            if over(began, seconds) or (quiet and over(heard, quiet)):
                return False
            time.sleep(0.2)
        return True

    def files(self):
        return files_of(self.bulk)

    def steps(self):
        """name -> (status, seconds) of the steps that ended, and the one that did not."""
        done, open_step = {}, None
        for words in self.said():
            if words[0] == "start":
                open_step = words[1]
            elif words[0] == "done" and len(words) == 5:
                done[words[1]] = (int(words[2]), float(words[4]) - float(words[3]))
                open_step = None
        return done, open_step

    def stop(self):
        if self.running():
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
