# SPDX-License-Identifier: MIT
"""A file system that can stop answering: a FUSE server without any library, one folder of files from memory. It
serves until it is told to die. From then on it takes requests and answers none, or none of a kind: a process that
waits for it waits for ever, and not even SIGKILL ends that. Whatever happens, `with` aborts the connection."""
import ctypes
import os
import signal
import struct
import sys
import tempfile
import time

LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, RELEASE = 1, 2, 3, 4, 14, 15, 16, 17, 18
FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, ACCESS, INTERRUPT, BATCH_FORGET = 25, 26, 27, 28, 29, 34, 36, 42
ROOT = 1
FOR_LONG = 3600  # seconds that the kernel may believe what it was told
NOBODY = 65534

libc = ctypes.CDLL(None, use_errno=True)


def mount(target, options):
    if libc.mount(b"deadfs", target.encode(), b"fuse.deadfs", 6, options.encode()):  # nosuid, nodev
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), target)


class Server:
    """Runs in a child, as nobody."""

    def __init__(self, fd, files, die_fd, patience, direct):
        self.fd, self.die_fd, self.patience, self.direct = fd, die_fd, patience, direct
        self.answered = {}  # requests of a kind since there are some that are not
        self.names = {name.encode(): node for node, name in enumerate(files, ROOT + 1)}
        self.data = dict(enumerate(files.values(), ROOT + 1))

    def attr(self, node):
        folder = node == ROOT
        size = 0 if folder else len(self.data[node])
        mode = 0o40755 if folder else 0o100777
        return struct.pack("<QQQQQQIIIIIIIIII", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode,
                           2 if folder else 1, NOBODY, NOBODY, 0, 4096, 0)

    def answer(self, unique, body=b"", error=0):
        os.write(self.fd, struct.pack("<IiQ", 16 + len(body), -error, unique) + body)

    def one(self, op, unique, node, body):
        if op == INIT:
            major, minor, ahead, _ = struct.unpack_from("<IIII", body)
            # Shared mappings may be written to (writeback cache).
            self.answer(unique, struct.pack("<IIIIHHIIHHI28x", major, min(minor, 31), ahead, 1 << 16, 12, 9,
                                            1 << 20, 1, 256, 0, 0))
        elif op == LOOKUP:
            child = self.names.get(body.rstrip(b"\0"))
            if child:
                self.answer(unique, struct.pack("<QQQQII", child, 0, FOR_LONG, self.patience, 0, 0)
                            + self.attr(child))
            else:
                self.answer(unique, error=2)
        elif op in (GETATTR, SETATTR):
            self.answer(unique, struct.pack("<QII", self.patience, 0, 0) + self.attr(node))
        elif op in (OPEN, OPENDIR):
            # What is read is asked for each time: nothing of it stays in the page cache.
            self.answer(unique, struct.pack("<QII", 0, 1 if op == OPEN and self.direct else 2, 0))
        elif op == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            self.answer(unique, self.data[node][offset:offset + size])
        elif op == WRITE:
            _, offset, size = struct.unpack_from("<QQI", body)
            self.answer(unique, struct.pack("<II", size, 0))
        elif op == STATFS:
            self.answer(unique, struct.pack("<QQQQQIIII24x", 1 << 20, 1 << 19, 1 << 19, 64, 64, 4096, 255,
                                            4096, 0))
        elif op in (FLUSH, RELEASE, RELEASEDIR, ACCESS):
            self.answer(unique)
        elif op not in (FORGET, BATCH_FORGET, INTERRUPT):
            self.answer(unique, error=38)

    def dead(self, op, body):
        """Does the server leave this request unanswered?"""
        told = os.pread(self.die_fd, 100, 0)
        if not told or told == b"x":
            return told == b"x"
        kind, after, first, end = map(int, told.split())
        if op != kind:
            return False
        if op == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            if offset + size <= first or offset >= end:
                return False
        self.answered[op] = self.answered.get(op, 0) + 1
        return self.answered[op] > after

    def serve(self):
        while True:
            try:
                request = os.read(self.fd, (1 << 20) + 4096)
            except InterruptedError:
                continue
            except OSError:
                return
            _, op, unique, node, *_ = struct.unpack_from("<IIQQIIII", request)
            if not self.dead(op, request[40:]):
                self.one(op, unique, node, request[40:])


class DeadFs:
    """files: name -> bytes. patience: for how many seconds the kernel believes sizes and times. direct: what
    is read by read() is asked for each time."""

    def __init__(self, files, patience=0, direct=False):
        self.files, self.patience, self.direct = files, patience, direct

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="thaw-deadfs-", dir="/tmp")
        self.die = tempfile.TemporaryFile()
        fd = os.open("/dev/fuse", os.O_RDWR)
        self.server = 0
        try:
            mount(self.folder, f"fd={fd},rootmode=40000,user_id={NOBODY},group_id={NOBODY},allow_other")
            # Ended from outside (a time limit), the test cleans up; killed, its server ends with it.
            signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))
            parent = os.getpid()
            self.server = os.fork()
            if not self.server:
                try:
                    signal.signal(signal.SIGTERM, signal.SIG_DFL)
                    os.setresgid(NOBODY, NOBODY, NOBODY)
                    os.setresuid(NOBODY, NOBODY, NOBODY)
                    libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG; changing the user forgets it
                    if os.getppid() != parent:
                        os._exit(0)
                    Server(fd, self.files, self.die.fileno(), self.patience, self.direct).serve()
                finally:
                    os._exit(0)
        finally:
            os.close(fd)
        try:
            self.number = os.minor(os.stat(self.folder).st_dev)
        except OSError:
            self.__exit__()
            raise
        return self

    def path(self, name):
        return os.path.join(self.folder, name)

    def stop_answering(self):
        os.pwrite(self.die.fileno(), b"x", 0)

    def stop_answering_to(self, op, after=0, first=0, end=1 << 62):
        """Leaves only requests of that kind unanswered, and only after so many; of reads, those that touch this part
        of a file."""
        os.pwrite(self.die.fileno(), f"{op} {after} {first} {end}".encode(), 0)

    def abort(self):
        """Every request fails from now on, those that wait for an answer included."""
        if self.server:
            os.kill(self.server, signal.SIGKILL)  # the last descriptor of the connection: it is aborted
            os.waitpid(self.server, 0)
            self.server = 0
        # A process that was forked meanwhile may have the descriptor, too.
        abort = f"/sys/fs/fuse/connections/{self.number}/abort"
        if os.path.exists(abort):
            with open(abort, "w", encoding="ascii") as f:
                f.write("1")

    def __exit__(self, *_):
        self.abort()
        for _ in range(50):
            if not libc.umount2(self.folder.encode(), 2):  # MNT_DETACH
                break
            time.sleep(0.1)
        os.rmdir(self.folder)
        self.die.close()
