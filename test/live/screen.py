#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""thaw locks that records for itself: on a terminal, where it draws while it records, and without."""
import json
import os
import re
import signal
import subprocess
import sys
import termios
import time

from harness import BUILD, SERVER, THAW, check, run, start, stop, tests_of, thaw, wait_until
from terminal import Session

HANGS = os.path.join(BUILD, "workload", "hangs")
BESIDE = True   # compares no clocks: test/run puts others next to it


def waits(text):
    """How many waits the table on the screen has for the mutex that holds up the server."""
    found = re.search(r"mutex +(\d+) .* checkpointer", text)
    return int(found.group(1)) if found else 0


def server(seconds):
    work = start([SERVER, "--seconds", str(seconds)])
    wait_until(lambda: len(os.listdir(f"/proc/{work.pid}/task")) >= 7, 10, "no threads")
    return work


def restored(session, before):
    check(session.modes() == before, "the terminal echoes and edits lines as before")
    check(session.terminal.region == (0, session.terminal.rows - 1), "all of it scrolls again")
    check(not session.terminal.odd, f"sequences that not all know: {session.terminal.odd}")


# ---- on a terminal ----

def test_the_table_grows_until_q():
    work = server(30)
    try:
        s = Session([THAW, "locks", "-p", work.pid], rows=30, cols=90)
        before = s.modes()
        s.until(lambda t: waits(t.text()), 20, "no table")
        first = waits(s.terminal.text())
        check(not s.modes() & termios.ICANON, "keys come one by one")
        s.until(lambda t: waits(t.text()) > first, 10, "it does not grow")
        rows = [line for line in s.terminal.text().splitlines() if line]
        check(sum("mostly held by" in line for line in rows) == 1, "one table, drawn in place")
        check(all("thaw locks" in line or line.startswith(("Locks", "  ")) for line in rows),
              f"nothing else is there: {rows}")
        s.type("q")
        s.until(lambda t: "Who held it" in t.text(), 30, "no answer at the end")
        restored(s, before)
        check(s.wait() == 0, "exit status")
        check(work.poll() is None, "the server was left alone")
    finally:
        stop(work)


def test_a_commands_output_stays():
    """A command's output scrolls above the table, and is complete and in order at the end."""
    script = "for i in $(seq 1 60); do echo line $i end; sleep 0.05; done; exit 7"
    s = Session([THAW, "locks", "--", "sh", "-c", script], rows=20, cols=80)
    s.until(lambda t: "thaw locks:" in t.text() and "line 30 end" in t.text(), 30, "no table")
    check(s.terminal.region[1] < 19, "a part of the terminal is the table's")
    check(s.wait() == 7, "the exit status is the command's")
    shown = [line for line in s.terminal.kept + s.terminal.text().splitlines() if "line" in line]
    check(shown == [f"line {i} end" for i in range(1, 61)], f"{shown}")
    check("thaw locks:" not in s.terminal.text(), "the table of the way is gone")


def test_a_deadlock_comes_first():
    """The screen says it while it records, above the table and within its width; so does the answer, also as JSON."""
    work = start([HANGS, "mutexes"], start_new_session=True)
    try:
        pid = json.loads(work.stdout.readline())["pid"]
        s = Session([THAW, "locks", "-p", pid, "--keep", "kept.thaw"], rows=40, cols=80)
        said = re.compile(r"ends charger and expirer are deadlocked: charger waits for sessions .* Locks ")
        s.until(lambda t: said.search(" ".join(t.text().split())), 30, "no deadlock")
        rows = s.terminal.text().splitlines()
        check(not any(line.rstrip().endswith("..") for line in rows), f"cut off: {rows}")
        s.type("q")
        s.until(lambda t: "Who held it" in t.text(), 30, "no answer at the end")
        check(s.wait() == 0, "exit status")
    finally:
        os.killpg(work.pid, signal.SIGKILL)
        stop(work)
    answer = json.loads(thaw("locks", "kept.thaw", "--json").stdout)
    check(answer["finding"]["about"] == "deadlock", answer["finding"])
    check({t["comm"] for t in answer["deadlocks"][0]["threads"]} == {"charger", "expirer"}, answer["deadlocks"])
    for t in answer["deadlocks"][0]["threads"]:
        lock = answer["locks"][t["lock"]]
        check(t["comm"] in [w["comm"] for w in lock["waiters"]], f"{t} does not wait for {lock['name']}")


def test_another_size():
    work = server(30)
    try:
        s = Session([THAW, "locks", "-p", work.pid], rows=40, cols=120)
        s.until(lambda t: waits(t.text()), 20, "no table")
        for rows, cols in ((12, 80), (50, 160), (5, 80)):
            s.resize(rows, cols)
            # The table before, cut off by the terminal, stays until the next one is drawn.
            s.until(lambda t: waits("\n".join(t.screen[-rows:])) and
                    len([l for l in t.screen if "mostly held by" in l]) == 1, 10,
                    f"no table, or not once, in {rows}x{cols}")
        s.type("q")
        check(s.wait() == 0, "exit status")
    finally:
        stop(work)


def test_killed_recorder_leaves_the_terminal_usable():
    work = server(30)
    try:
        s = Session(["sh", "-c", f"{THAW} locks -p {work.pid}; sleep 3; echo after"], rows=24, cols=80)
        before = s.modes()
        s.until(lambda t: waits(t.text()), 20, "no table")
        out = subprocess.run(["pgrep", "-P", str(s.pid)], capture_output=True, text=True, check=True)
        os.kill(int(out.stdout.split()[0]), signal.SIGKILL)
        s.until(lambda t: s.modes() == before, 3, "the terminal is not given back")
        s.until(lambda t: "after" in t.text(), 10, "no shell")
        restored(s, before)
        s.wait()
    finally:
        stop(work)


def test_interrupt():
    """Ctrl-C ends the recording, and the command with it; the answer comes all the same."""
    s = Session([THAW, "locks", "--", SERVER, "--seconds", "60"], rows=40, cols=80)
    s.until(lambda t: waits(t.text()), 20, "no table")
    s.type("\x03")
    s.until(lambda t: "Who held it" in t.text(), 30, "no answer")
    check(s.wait() == 130, "the exit status is the command's")


# ---- without one ----

def test_silent_without_a_terminal():
    os.mkdir("tmp")
    r = thaw("locks", "--", SERVER, "--seconds", "2", env={**os.environ, "TMPDIR": "tmp"})
    check(r.returncode == 0, f"exit {r.returncode}: {r.stderr}")
    check(r.stderr == "" or r.stderr.startswith("server:"), f"it says {r.stderr}")
    check("\033" not in r.stdout, "no colours, no cursor")
    check(waits(r.stdout) > 2, f"the mutex is there: {r.stdout[:300]}")
    wide = [line for line in r.stdout.splitlines() if len(line) > 80]
    check(not wide, f"80 columns: {wide}")
    check(os.listdir("tmp") == ["thaw-server.log"] or os.listdir("tmp") == [],
          f"left behind: {os.listdir('tmp')}")


def test_json_to_a_file():
    work = server(20)
    try:
        r = thaw("locks", "-p", work.pid, "-d", "2", "--json", "-o", "locks.json",
                 "--keep", "kept.thaw")
        check(r.returncode == 0, f"exit {r.returncode}: {r.stderr}")
        check(r.stdout == "", "all of it is in the file")
    finally:
        stop(work)
    with open("locks.json", encoding="utf-8") as f:
        told = json.load(f)
    again = thaw("locks", "kept.thaw", "--json")
    check(json.loads(again.stdout)["locks"] == told["locks"], "what was kept tells the same")
    lock = told["locks"][0]
    check(lock["holders"][0]["comm"] == "checkpointer", f"{lock['holders']}")
    names = {f["name"] for w in lock["waiters"] for f in w["stack"]}
    check("commit" in names, f"{names}")


def test_exit_status():
    for command, want in ((["true"], 0), (["sh", "-c", "exit 9"], 9),
                          (["sh", "-c", "kill -TERM $$"], 143), (["/nowhere/at/all"], 127)):
        r = thaw("locks", "--", *command)
        check(r.returncode == want, f"{command}: {r.returncode}, not {want}: {r.stderr}")
    r = thaw("locks", "-p", "999999999")
    check(r.returncode == 1 and "999999999" in r.stderr, f"{r.returncode}: {r.stderr}")


if __name__ == "__main__":
    time.tzset()
    sys.exit(run(tests_of(globals())))
