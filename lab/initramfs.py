# SPDX-License-Identifier: MIT
"""Makes the guest's file system: a cpio archive in memory with the programs under test, the libraries
that they ask for, busybox for a shell, and as much of Python as the live tests import. It needs no
root, no image and no mount, and the kernel unpacks it by itself."""
import os
import re
import stat
import subprocess
import sys

ALIGN = 4


class Archive:
    """The `newc` format that the kernel reads: a header of hexadecimal numbers, a name, the bytes."""

    def __init__(self):
        self.parts = []
        self.known = set()
        self.inode = 1

    def _put(self, name, mode, data=b"", device=(0, 0)):
        if name in self.known:
            return
        self.known.add(name)
        self.inode += 1
        raw = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, device[0], device[1], len(raw), 0)
        head = b"070701" + b"".join(b"%08X" % f for f in fields) + raw
        self.parts += [head, b"\0" * (-len(head) % ALIGN), data, b"\0" * (-len(data) % ALIGN)]

    def folder(self, path):
        for i in range(1, len(path.split("/")) + 1):
            part = "/".join(path.split("/")[:i])
            if part:
                self._put(part, stat.S_IFDIR | 0o755)

    def file(self, path, source, mode=None):
        path = path.lstrip("/")
        self.folder(os.path.dirname(path))
        with open(source, "rb") as f:
            self._put(path, stat.S_IFREG | (mode or stat.S_IMODE(os.stat(source).st_mode)), f.read())

    def link(self, path, target):
        self.folder(os.path.dirname(path))
        self._put(path, stat.S_IFLNK | 0o777, target.encode())

    def device(self, path, major, minor):
        self.folder(os.path.dirname(path))
        self._put(path, stat.S_IFCHR | 0o600, device=(major, minor))

    def program(self, path, source):
        """A program and the libraries that it is linked with, where its loader looks for them."""
        self.file(path, source, 0o755)
        ldd = subprocess.run(["ldd", source], capture_output=True, text=True, check=False).stdout
        for library in re.findall(r"(/\S+) \(0x", ldd):
            self.file(library, os.path.realpath(library), 0o755)

    def python(self, folder):
        """The interpreter, and the modules that the live tests in a folder import."""
        ask = (f"import sys; sys.path.insert(0, {folder!r}); sys.argv = ['x']\n"
               "import harness, contextlib, select, socket, encodings.ascii, encodings.latin_1\n"
               "print(sys.executable)\n"
               "for m in list(sys.modules.values()):\n"
               "    f = getattr(m, '__file__', None)\n"
               "    print(f or '')\n")
        out = subprocess.run(["/usr/bin/python3", "-S", "-c", ask], capture_output=True, text=True,
                             check=True).stdout.split()
        self.program("usr/bin/python3", os.path.realpath(out[0]))
        version = os.path.basename(os.path.realpath(out[0]))
        self.link(f"usr/bin/{version}", "python3")
        for name in out[1:]:
            if not name.startswith("/usr/lib"):
                continue
            (self.program if name.endswith(".so") else self.file)(name, name)
            cached = f"{os.path.dirname(name)}/__pycache__/{os.path.basename(name)[:-3]}.{sys.implementation.cache_tag}.pyc"
            if os.path.exists(cached):
                self.file(cached, cached)

    def bytes(self):
        self._put("TRAILER!!!", 0)
        return b"".join(self.parts)


def make(build, here):
    """The archive with what a build has made. The tests find it as a build folder at /lab."""
    a = Archive()
    live = os.path.join(here, "..", "test", "live")
    for d in ("proc", "sys", "dev", "tmp", "root", "out", "run", "var/tmp"):
        a.folder(d)
    a.device("dev/console", 5, 1)
    a.file("bin/busybox", "/bin/busybox", 0o755)
    a.link("bin/sh", "busybox")
    a.file("init", os.path.join(here, "guest", "init"), 0o755)
    a.program("lab/thaw", os.path.join(build, "thaw"))
    for part in ("workload", "release/live", "lab/programs"):
        folder = os.path.join(build, part)
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            path = os.path.join(folder, name)
            if os.access(path, os.X_OK) and not os.path.isdir(path):
                a.program(f"lab/{part.removeprefix('lab/')}/{name}", path)
    a.file("lab/test/guest.py", os.path.join(here, "guest", "truth.py"))
    for name in sorted(os.listdir(live)):
        if name.endswith(".py"):
            a.file(f"lab/test/{name}", os.path.join(live, name))
    for name in ("deadnfs.py", "dead_nfs.py"):
        a.file(f"lab/test/{name}", os.path.join(live, "..", "attack", name))
    a.python(live)
    return a.bytes()


def modules(folder):
    """A second archive, which the kernel unpacks over the first: those of one kernel."""
    a = Archive()
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        a.file(f"lab/modules/{name}", os.path.join(folder, name))
    return a.bytes()
