# SPDX-License-Identifier: MIT
"""What the tests of the page share: captures, a running `thaw view`, and raw HTTP."""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

signal.signal(signal.SIGINT, signal.default_int_handler)

BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.abspath("build")
THAW = os.path.join(BUILD, "thaw")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MADE = []
ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{48})/")


def check(condition, words):
    if not condition:
        raise AssertionError(words)


def thaw(*args, **kwargs):
    return subprocess.run([THAW, *map(str, args)], capture_output=True, text=True, timeout=120,
                          errors="replace", **kwargs)


def golden(kind, path, *more):
    """A capture whose story is known: test/golden/make_golden.c."""
    maker = os.path.join(BUILD, "page", f"make_golden-{os.path.basename(sys.argv[0])[:-3]}")
    source = os.path.join(ROOT, "test/golden/make_golden.c")
    # Once a run: what another build has left there would make what that build made.
    if not MADE:
        MADE.append(maker)
        lib = os.path.join(BUILD, "release")
        subprocess.run([*os.environ.get("CC", "cc").split(), "-std=gnu11", "-Wno-unused-parameter",
                        "-D_GNU_SOURCE", "-I" + os.path.join(ROOT, "src"), "-o", maker,
                        source, os.path.join(lib, "libstore.a"), os.path.join(lib, "libbase.a"),
                        "-lzstd", "-lz", "-lpthread", "-lm"], check=True)
    subprocess.run([maker, kind, path, *map(str, more)], check=True)
    return path


class View:
    """A `thaw view`, until the end of the block. Ctrl-C must end it with 0."""

    def __init__(self, capture, *args, env=None):
        self.process = subprocess.Popen([THAW, "view", "--no-open", *args, capture], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        line = self.process.stdout.readline()
        found = ADDRESS.fullmatch(line.strip())
        if not found:
            raise AssertionError(f"no address: {line!r} {self.process.communicate()}")
        self.port = int(found[1])
        self.token = found[2]
        self.address = line.strip()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.out, self.err = self.process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise AssertionError("Ctrl-C does not end it") from None
        if kind is None:
            check(self.process.returncode == 0, f"it ended with {self.process.returncode}")

    def connect(self, timeout=30):
        s = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        s.settimeout(timeout)
        return s

    def raw(self, request, timeout=30):
        """What comes back until the connection is closed."""
        with self.connect(timeout) as s:
            try:
                s.sendall(request)
            except (BrokenPipeError, ConnectionResetError):
                pass
            return read_all(s)

    def ask(self, query, method="GET", path=None, token=True, host=None, headers=()):
        """One request: the status, the headers and the body."""
        lines = [f"{method} {path if path is not None else '/q/' + query} HTTP/1.1",
                 f"Host: {host if host is not None else f'127.0.0.1:{self.port}'}",
                 "Connection: close"]
        if token:
            lines.append(f"X-Thaw-Token: {self.token if token is True else token}")
        lines.extend(headers)
        return parse(self.raw(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")))


def read_all(s):
    got = b""
    try:
        while part := s.recv(65536):
            got += part
    except ConnectionResetError:
        pass
    return got


def parse(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    check(lines[0].startswith("HTTP/1.1 "), f"no HTTP: {answer[:80]!r}")
    headers = {}
    for line in lines[1:]:
        key, _, value = line.partition(": ")
        headers[key.lower()] = value
    return int(lines[0].split()[1]), headers, body


def run_all(folder, tests):
    """Each in a folder of its own; prints a line a test. The exit status."""
    failed = 0
    for fn in tests:
        name = f"page {folder} {fn.__name__[5:].replace('_', ' ')}"
        before = os.getcwd()
        where = tempfile.mkdtemp(prefix="thaw-page-")
        began = time.monotonic()
        os.chdir(where)
        try:
            said = fn()
            words = f" ({said})" if said else ""
            print(f"ok {name}{words} [{time.monotonic() - began:.1f} s]", flush=True)
        except Exception as e:  # pylint: disable=broad-except
            failed = 1
            if not isinstance(e, AssertionError):
                traceback.print_exc()
            print(f"FAIL {name}: {e}", flush=True)
        finally:
            os.chdir(before)
            shutil.rmtree(where, ignore_errors=True)
    return failed
