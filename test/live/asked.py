#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the page asks of real recordings: stacks and sums against the report and the exports, and who held
a lock when against the log of a program that keeps its own."""
import json
import os
import subprocess
import sys

from harness import BUILD, SERVER, WORKLOAD, check, record, report, run, tests_of
from locktruth import HANDOVER, at, recorded

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))
import flames  # noqa: E402

LOCKS = os.path.join(BUILD, "workload", "locks")
EVENTS = os.path.join(BUILD, "release", "live", "eventdump")
KNOWN = 0.95  # of the waiting, with a holder
# Of the time in which a holder is named: thaw does not see a thread that takes a free lock before the thread that was
# woken for it, and never sleeps on it (src/model/charge/follow.c).
WRONG = 0.05
LATER = 50_000_000


def begin_of(capture):
    """When it began, by the clock of the programs."""
    out = subprocess.run([EVENTS, capture, "mark"], capture_output=True, text=True, timeout=60, check=True)
    return json.loads(out.stdout.splitlines()[0])["ts"]


def overlap(holds, start, end):
    """For how long of [start, end) the log has one of these holds; time near a hand-over does not count."""
    return sum(max(0, min(end, let - HANDOVER) - max(start, got + HANDOVER)) for got, let, _ in holds)


def anothers(holds, tid, start, end):
    """The same for the holds of others, without the time in which `tid` was in the call that lets go: another thread
    may have the lock by then, but this call wakes the waiter."""
    own = [(got, done) for got, _, done, by in holds if by == tid and got < end and done > start]
    others = [(got, let, by) for got, let, _, by in holds if by != tid and got < end and let > start]
    left = 0
    for got, done in [*own, (end, end)]:
        left += overlap(others, start, min(end, got))
        start = max(start, done)
    return left


def lockline(case):
    truth, rep = recorded(LOCKS, case, "--seconds", 2)
    want = truth["locks"][0]
    lock = at(rep, truth, want)[0]
    c = flames.Capture("c.thaw")
    flames.locks_are_the_reports(c, None, rep)
    line = c.ask(f"lockline?lock={lock['id']}&cols=10000")
    began = begin_of("c.thaw")
    holds = sorted((h["got_ns"] - began, h["let_ns"] - began, h["done_ns"] - began, h["tid"])
                   for h in truth["log_holds"] if h["hold"] == want["name"])
    named = right = wrong = unknown = moved = 0
    for side in line["holders"]:
        if side["thread"] is None:
            unknown += side["wait_ns"]
            continue
        tid = c.thread[side["thread"]]["tid"]
        for start, end, ns in zip(*(side["piece"][k] for k in ("start", "end", "ns"))):
            if ns != end - start:
                continue  # of several pieces, only the sum is known
            named += ns
            right += overlap([(got, let, by) for got, let, _, by in holds if by == tid], start, end)
            wrong += anothers(holds, tid, start, end)
            moved += anothers(holds, tid, start + LATER, end + LATER)
    # A thread that is woken for a lock and gets no CPU keeps the others waiting before it has the lock: the log has
    # no holder then.
    said = (f"of {named / 1e6:.0f} ms {right / max(1, named):.1%} are as in the log, {wrong / max(1, named):.2%} "
            f"another's; {moved / max(1, named):.0%} with a log of another time")
    check(named > 100_000_000 and right >= 0.75 * named, f"{case}: {said}")
    check(wrong <= WRONG * named, f"{case}: {said}")
    check(moved > 0.2 * named, f"{case}: any log would do: {said}")
    check(unknown <= (1 - KNOWN) * line["wait_ns"], f"{case}: {unknown} of {line['wait_ns']} not known")
    # Of the waiters: each of their sleeps lies in a call that the log has.
    calls = sorted((w["began_ns"] - began, w["got_ns"] - began, w["tid"]) for w in truth["log_waits"]
                   if w["wait"] == want["name"])
    for side in line["waiters"]:
        tid = c.thread[side["thread"]]["tid"]
        mine = [(a, b) for a, b, by in calls if by == tid]
        for start, end in zip(side["piece"]["start"], side["piece"]["end"]):
            check(any(a - HANDOVER <= start and end <= b + HANDOVER for a, b in mine) or
                  any(start < a < end for a, _ in mine),
                  f"{case}: {tid} did not wait from {start} to {end}")
    return said


def test_lockline_normal():
    return lockline("normal")


def test_lockline_pi():
    return lockline("pi")


def test_lockline_robust():
    return lockline("robust")


def test_stacks_server():
    record([], [SERVER, "--seconds", "3"], "c.thaw")
    flames.all_of("c.thaw")
    rep = report("c.thaw")
    return f"{sum(t['samples'] for t in rep['threads'])} samples, {len(rep['locks'])} locks"


def test_stacks_mixed():
    record([], [WORKLOAD, "mixed", "3"], "c.thaw")
    flames.all_of("c.thaw")


def test_stacks_sampled():
    """An engine that sees no waits: thaw does not show as nothing what it does not see."""
    record(["--engine", "ctimer"], [WORKLOAD, "mixed", "2"], "c.thaw")
    c = flames.Capture("c.thaw")
    rep = c.report(None)
    got = c.ask("flame?kind=cpu")
    check(got["total"] == sum(t["samples"] for t in rep["threads"]) > 0, f"{got['total']} samples")
    for request in ("flame?kind=wait", "flame?kind=both", "functions?kind=wait", "heat?kind=wait"):
        r = subprocess.run([os.path.join(BUILD, "query"), "c.thaw", request], capture_output=True,
                           timeout=60, check=False)
        check(r.returncode == 1 and "does not see waits" in json.loads(r.stdout)["error"], request)
    flames.charts_are_true(c)


if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
