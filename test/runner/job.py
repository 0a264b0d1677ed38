# SPDX-License-Identifier: MIT
"""Runs one command in a process group of its own, with a limit on its time, and hears each of its lines."""
import collections
import os
import signal
import subprocess
import threading
import time

Took = collections.namedtuple("Took", "seconds cpu")   # cpu: of the children that it waited for as well
running = set()
ended = threading.Event()


def end(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def end_all():
    """What still runs when the runner itself is ended; nothing new begins."""
    ended.set()
    for group in list(running):
        end(group)


def run(command, limit, hear, env=None):
    """(status, Took, the limit if it was reached). `hear` gets each line, without its end."""
    limit *= int(os.environ.get("THAW_SOAK", "1"))
    began = time.monotonic()
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, start_new_session=True, text=True,
                                 errors="replace", env={**os.environ, "CMOCKA_MESSAGE_OUTPUT": "TAP", **(env or {})})
    except OSError as why:
        hear(f"{command[0]}: {why.strerror}")
        return 127, Took(0.0, 0.0), None
    running.add(child.pid)
    if ended.is_set():
        end(child.pid)
    reached = []

    def over():
        reached.append(limit)
        end(child.pid)

    timer = threading.Timer(limit, over)
    timer.start()
    reader = threading.Thread(target=lambda: [hear(line.rstrip("\n")) for line in child.stdout])
    reader.start()
    _, status, used = os.wait4(child.pid, 0)
    status = child.returncode = os.waitstatus_to_exitcode(status)
    timer.cancel()
    # Whoever it left behind may hold the pipe: its end is the command's end.
    end(child.pid)
    reader.join(10)
    running.discard(child.pid)
    return (status, Took(time.monotonic() - began, used.ru_utime + used.ru_stime),
            reached[0] if reached else None)
