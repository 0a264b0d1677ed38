#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Connections of user nobody to thaw view that say nothing, little or the wrong thing: the page still comes."""
import os
import subprocess
import sys
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
from harness import THAW, check, run, start, stop, tests_of, thaw, wait_until

BESIDE = True   # compares no clocks: test/run puts others next to it

NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
# Holds so many connections, and makes those anew that are closed, until it is ended.
HOLD = r"""
import resource, select, socket, sys, time
port, many, words = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].encode()
resource.setrlimit(resource.RLIMIT_NOFILE, (many + 50, many + 50))
def one():
    s = socket.create_connection(("127.0.0.1", port))
    s.sendall(words)
    s.setblocking(False)
    return s
held = [one() for _ in range(many)]
print("held", flush=True)
while True:
    time.sleep(0.05)
    for i, s in enumerate(held):
        try:
            if s.recv(1):
                continue
        except BlockingIOError:
            continue
        except OSError:
            pass
        s.close()
        try:
            held[i] = one()
        except OSError:
            pass
"""
KINDS = {"idle": "", "slow": "GET / HTTP/1.1\r\nHost: ", "wrong": "GET /x/ HTTP/1.1\r\nHost: a\r\n\r\n"}


def capture():
    with open("stacks.txt", "w", encoding="ascii") as f:
        f.write("a;b 1\n")
    r = thaw("import", "stacks.txt", "-o", "c.thaw")
    check(r.returncode == 0, r.stderr)


def served(limit, attack):
    """A server under a limit of open files, and what attack(port, address) says."""
    capture()
    view = start(["sh", "-c", f"ulimit {limit}; exec {THAW} view --no-open c.thaw"])
    try:
        address = view.stdout.readline().strip()
        check(address.startswith("http://127.0.0.1:"), f"no address: {address!r}")
        return attack(int(address.split(":")[2].split("/")[0]), address)
    finally:
        stop(view)


def page(address):
    with urllib.request.urlopen(address, timeout=20) as answer:
        return answer.read()


def held(port, many, kind):
    p = subprocess.Popen([*NOBODY, sys.executable, "-c", HOLD, str(port), str(many), KINDS[kind]],
                         stdout=subprocess.PIPE, text=True)
    check(p.stdout.readline() == "held\n", "the attacker fails")
    return p


def besieged(limit, many):
    def attack(port, address):
        want = page(address)
        for kind in KINDS:
            p = held(port, many, kind)
            try:
                for _ in range(5):
                    check(page(address) == want, f"another page, beside {many} {kind} connections")
            finally:
                p.kill()
                p.communicate()
        wait_until(lambda: page(address) == want, 20, "no page afterwards")

    served(limit, attack)
    return f"{many} connections of {len(KINDS)} kinds"


def test_idle_connections():
    return besieged("-n 1024", 520)


def test_many_idle_connections():
    return besieged("-n 1024", 3000)


def test_few_files():
    """Where the limit cannot be raised, there are fewer connections."""
    return besieged("-n 200", 400)


if __name__ == "__main__":
    sys.exit(run(tests_of(globals()), privileged=False))
