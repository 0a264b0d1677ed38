# SPDX-License-Identifier: MIT
"""A file system of the network that can stop answering: an NFS server (version 3) without any library, on the
loopback, with one folder of files from memory, and a hard mount of it. Stopped, it answers nothing, and a process that
waits for it waits for ever. Whatever happens, `with` ends the server and takes the mount away."""
import ctypes
import errno
import os
import select
import signal
import socket
import struct
import sys
import tempfile
import time

NFS, MOUNT = 100003, 100005
NULL, GETATTR, LOOKUP, ACCESS, READ = 0, 1, 3, 4, 6
FSSTAT, FSINFO, PATHCONF = 18, 19, 20
NOENT, NOTSUPP = 2, 10004
ROOT = 1
BLOCK = 1 << 16
MNT_FORCE, MNT_DETACH = 1, 2

libc = ctypes.CDLL(None, use_errno=True)


def opaque(data):
    return struct.pack(">I", len(data)) + data + bytes(-len(data) % 4)


class Server:
    """Both programs, to mount and to read, on one port."""

    def __init__(self, listener, files):
        self.listener = listener
        self.names = {name.encode(): node for node, name in enumerate(files, ROOT + 1)}
        self.data = dict(enumerate(files.values(), ROOT + 1))

    def attr(self, node):
        folder = node == ROOT
        size = 4096 if folder else len(self.data[node])
        # type, mode, links, user, group, size, used, device, file system, number, three times
        return struct.pack(">5I2Q2I2Q6I", 2 if folder else 1, 0o755, 2 if folder else 1, 0, 0, size, size,
                           0, 0, 1, node, *[1] * 6)

    def maybe_attr(self, node):
        return struct.pack(">I", 1) + self.attr(node)

    def handle(self, node):
        return opaque(struct.pack(">Q", node))

    def nfs(self, call, body):
        if call == NULL:
            return b""
        node = struct.unpack_from(">Q", body, 4)[0]
        rest = body[12:]
        done = struct.pack(">I", 0)
        if call == GETATTR:
            return done + self.attr(node)
        if call == LOOKUP:
            size = struct.unpack_from(">I", rest)[0]
            child = self.names.get(rest[4:4 + size])
            if not child:
                return struct.pack(">I", NOENT) + self.maybe_attr(node)
            return done + self.handle(child) + self.maybe_attr(child) + self.maybe_attr(node)
        if call == ACCESS:
            return done + self.maybe_attr(node) + rest[:4]
        if call == READ:
            offset, size = struct.unpack_from(">QI", rest)
            part = self.data[node][offset:offset + size]
            ended = offset + len(part) >= len(self.data[node])
            return done + self.maybe_attr(node) + struct.pack(">2I", len(part), ended) + opaque(part)
        if call == FSSTAT:
            return done + self.maybe_attr(node) + struct.pack(">6QI", *[1 << 30] * 3, *[100] * 3, 0)
        if call == FSINFO:
            return done + self.maybe_attr(node) + struct.pack(">7IQ2II", *[BLOCK, BLOCK, 4096] * 2, 4096, 1 << 40,
                                                              0, 1, 0x1B)
        if call == PATHCONF:
            return done + self.maybe_attr(node) + struct.pack(">6I", 1, 255, 1, 1, 0, 1)
        return struct.pack(">I", NOTSUPP) + bytes(8)

    def answer(self, request):
        xid, _, _, program, _, call = struct.unpack_from(">6I", request)
        at = 24
        for _ in range(2):   # who asks, and how he proves it
            size = struct.unpack_from(">I", request, at + 4)[0]
            at += 8 + (size + 3) // 4 * 4
        if program == MOUNT:
            said = struct.pack(">I", 0) + self.handle(ROOT) + struct.pack(">2I", 1, 1) if call == 1 else b""
        else:
            said = self.nfs(call, request[at:])
        reply = struct.pack(">6I", xid, 1, 0, 0, 0, 0) + said
        return struct.pack(">I", 1 << 31 | len(reply)) + reply

    def serve(self):
        unread = {}
        while True:
            for s in select.select([self.listener, *unread], [], [])[0]:
                if s is self.listener:
                    unread[s.accept()[0]] = b""
                    continue
                got = s.recv(1 << 20)
                if not got:
                    del unread[s]
                    s.close()
                    continue
                unread[s] += got
                while len(unread[s]) >= 4:
                    size = struct.unpack_from(">I", unread[s])[0] & ~(1 << 31)
                    if len(unread[s]) < 4 + size:
                        break
                    s.sendall(self.answer(unread[s][4:4 + size]))
                    unread[s] = unread[s][4 + size:]


def known():
    """Does this kernel know NFS? To mount nothing fails, but not before it has looked for a module."""
    return not libc.mount(b"", b"/", b"nfs", 0, None) or ctypes.get_errno() != errno.ENODEV


class DeadNfs:
    """files: name -> bytes."""

    def __init__(self, files):
        self.files = files

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="thaw-deadnfs-", dir="/tmp")
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        # Ended from outside (a time limit), the test cleans up; killed, its server ends with it.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))
        parent = os.getpid()
        self.server = os.fork()
        if not self.server:
            try:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
                if os.getppid() == parent:
                    Server(listener, self.files).serve()
            finally:
                os._exit(0)
        listener.close()
        options = (f"addr=127.0.0.1,mountaddr=127.0.0.1,port={port},mountport={port},vers=3,mountvers=3,proto=tcp,"
                   "mountproto=tcp,nolock,hard,sec=sys,noac")
        if libc.mount(b"127.0.0.1:/", self.folder.encode(), b"nfs", 6, options.encode()):  # nosuid, nodev
            why = OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            self.__exit__()
            raise why
        return self

    def path(self, name):
        return os.path.join(self.folder, name)

    def stop_answering(self):
        os.kill(self.server, signal.SIGSTOP)

    def __exit__(self, *_):
        os.kill(self.server, signal.SIGCONT)
        for _ in range(50):
            if not os.path.ismount(self.folder) or not libc.umount2(self.folder.encode(), MNT_FORCE | MNT_DETACH):
                break
            time.sleep(0.1)
        os.kill(self.server, signal.SIGKILL)
        os.waitpid(self.server, 0)
        os.rmdir(self.folder)
