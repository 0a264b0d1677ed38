#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""User-space locks against programs that log every wait and every hold by their own clock: waits
counted exactly, their time, who held the lock, what it is called, and where a chain of locks ends."""
import json
import os
import re
import sys
import time

from harness import BUILD, SERVER, check, near, record, report, run, start, stolen, stop, tests_of, thaw
from locktruth import (AGREED, Holds, address, at, blamed_right, functions, holders_right, named, only,
                       pids_of, pieces, recorded, same_waits, waits_of, with_log, words)

LOCKS = os.path.join(BUILD, "workload", "locks")
NOT_CONTENTION = ("condvar", "join", "barrier")


def contest(case, program=LOCKS, name=None, known=True, blamed=True, seconds=1, functions_of=None):
    """One lock, and everything about it."""
    truth, rep = recorded(program, case, "--seconds", seconds)
    want = truth["locks"][0]
    found = at(rep, truth, want)
    check(len(found) == 1, f"{case}: it is one lock, not {words(found) or words(rep['locks'])}")
    got = found[0]
    check(got["kind"] == want["kind"], f"{case}: a {got['kind']}, not a {want['kind']}")
    check(got["contended"], f"{case}: contention")
    same_waits(got, want, truth)
    said = holders_right(truth, want, got, known)
    if blamed:
        blamed_right(got, want, truth)
    waiting = [w for w in got["waiters"] if f"wait_{functions_of or case}" in functions(w["stack"])]
    check(len(waiting) == len(got["waiters"]), f"{case}: wait_{functions_of or case} in the stacks "
          f"of {len(waiting)} of {len(got['waiters'])} waiters")
    if known and blamed:
        held = [h for h in got["holders"] if h["tid"] and
                f"hold_{functions_of or case}" in functions(h["stack"])]
        check(held, f"{case}: hold_{functions_of or case} is in no holder's stack")
    named(got, want["name"] if name is None else name)
    return f"{got['waits']} waits; {said}"


def test_normal():
    return contest("normal")


def test_recursive():
    return contest("recursive")


def test_errorcheck():
    return contest("errorcheck")


def test_adaptive():
    return contest("adaptive")


def test_pi():
    return contest("pi")


def test_robust():
    return contest("robust")


def test_spinning():
    return contest("spinning")


def test_rwlock():
    """The writer is known; nothing shows which reader holds the lock."""
    truth, rep = recorded(LOCKS, "rwlock", "--seconds", 1)
    want = truth["locks"][0]
    found = at(rep, truth, want)
    check(len(found) == 1, f"it is one lock, not {words(found)}")
    check(found[0]["kind"] == "rwlock", f"a {found[0]['kind']}")
    same_waits(found[0], want, truth)
    said = holders_right(truth, want, found[0], known=False)
    # Waits that begin behind a writer.
    behind = sum(w["sleeps"] for w in truth["log_waits"] if w["holder"])
    log = Holds(truth, want["name"])
    knew = {(victim, start) for start, end, victim, addr, holder in pieces("c.thaw")
            if addr == address(found[0]) and holder and holder in log.around(start, end)[0]}
    check(len(knew) >= 0.9 * behind, f"the writer was known in {len(knew)} of {behind} waits")
    named(found[0], "table_lock")
    return said


def test_semaphore():
    """A semaphore has no owner; a thread that thaw names must have had it."""
    truth, rep = recorded(LOCKS, "semaphore", "--seconds", 1)
    want = truth["locks"][0]
    found = at(rep, truth, want)
    check(len(found) == 1 and found[0]["kind"] == "semaphore", f"a semaphore, not {words(found)}")
    same_waits(found[0], want, truth)
    holders = {h["tid"] for h in found[0]["holders"] if h["tid"]}
    check(holders <= {h["tid"] for h in want["holders"]}, f"holders: {holders}")
    named(found[0], "slots")
    return f"{found[0]['waits']} waits"


def test_pool():
    """Waiting for work is no contention."""
    truth, rep = recorded(LOCKS, "pool", "--seconds", 1)
    lock, ready = truth["locks"]
    check(not [x for x in at(rep, truth, ready) if x["contended"]],
          f"the condition variable is called contention: {words(at(rep, truth, ready))}")
    count, ns = waits_of(rep, "condvar")
    mutex = sum(x["waits"] for x in at(rep, truth, lock))
    # A thread that is signalled may find the lock taken: a sleep of the program's pthread_cond_wait
    # that is a wait for the mutex.
    check(count + mutex == ready["waits"] + lock["waits"],
          f"{count} condvar waits and {mutex} of the mutex, of {ready['waits']} and {lock['waits']}")
    near(ns, ready["wait_ns"], 0, AGREED * ready["wait_ns"] + stolen(truth, ready["wait_ns"]),
         "waited for work")
    check(mutex <= lock["waits"] + 0.05 * count, f"{mutex} waits for pool.lock")
    only(rep, truth, [lock["name"]])
    return f"{count} waits, {mutex} of them for the mutex"


def gave_back(rep, truth):
    """No thread is said to have held the mutex of a condition that it waited for. By the log, the holder of every
    piece of a wait had the lock then."""
    want, changed = truth["locks"]
    found = at(rep, truth, want)
    check(len(found) == 1 and found[0]["kind"] == "mutex", f"a mutex, not {words(found)}")
    said = holders_right(truth, want, found[0], known=False)
    index = rep["locks"].index(found[0])
    claims = [r for r in rep["blame"] if r["lock"] == index and r["reason"] == "condvar"]
    check(not claims, f"held {want['name']} while it waited for a condition: {claims[:3]}")
    asleep = [h for h in found[0]["holders"] if h["stack_from"] == "wait" and
              "wait_for_news" in functions(h["stack"])]
    check(not asleep, f"held {want['name']} in wait_for_news: {asleep[:3]}")
    slept = waits_of(rep, "condvar")[0]
    check(slept >= 20, f"{slept} waits for {changed['name']}")
    return said


def test_condition():
    return gave_back(*reversed(recorded(LOCKS, "condition", "--seconds", 1)))


def test_condition_attached():
    """The same for a recorder that attaches in the middle: a thread that sleeps by then waits behind one holder, and
    may wake behind another. Many threads, so that looking at them takes a while."""
    program = start([LOCKS, "condition", "--threads", "40", "--seconds", "6", "--log", "log"])
    said = []
    try:
        for i in range(3):
            time.sleep(0.2)
            r = thaw("record", "-q", "--max-overhead", "100", "--min-wait", "0", "-p", program.pid, "-d", "300ms",
                     "-o", f"{i}.thaw")
            check(r.returncode == 0, r.stderr)
        out = program.communicate(timeout=60)[0]
    finally:
        stop(program)
    truth = with_log(json.loads(out.splitlines()[-1]))
    for i in range(3):
        os.replace(f"{i}.thaw", "c.thaw")
        said.append(gave_back(report("c.thaw", "--top", "100000"), truth))
    return said[-1]


def test_join():
    truth, rep = recorded(LOCKS, "join", "--seconds", 1)
    want = truth["locks"][0]
    only(rep, truth, [])
    # The threads that the joiner joins have its name.
    joiner = next(t for t in rep["threads"] if t["tid"] == want["waiters"][0]["tid"])
    near(joiner["waits"].get("join", 0), want["wait_ns"], 0,
         AGREED * want["wait_ns"] + stolen(truth, want["wait_ns"]) + 500_000,
         "waited for threads to end")
    for x in rep["locks"]:
        check(x["kind"] in NOT_CONTENTION and not x["contended"] or x["waits"] <= 3
              or x["kind"] not in ("mutex", "futex"), f"a join is called {words([x])}")
    count, _ = waits_of(rep, "join")
    # Main joins the joiner, if that has not ended before.
    check(want["waits"] <= count <= want["waits"] + 1, f"{count} joins of {want['waits']}")
    return f"{count} waits"


def test_shared():
    """Two processes, two addresses, one lock."""
    truth, rep = recorded(LOCKS, "shared", "--seconds", 1)
    want = truth["locks"][0]
    found = [x for x in rep["locks"] if x["shared"] and x["kind"] == "mutex"]
    check(len(found) == 1, f"one lock of two processes, not {words(found)}")
    same_waits(found[0], want, truth)
    check({w["pid"] for w in found[0]["waiters"]} == pids_of(truth) and len(pids_of(truth)) == 2,
          f"waiters of {({w['pid'] for w in found[0]['waiters']})}")
    blamed_right(found[0], want, truth)
    return holders_right(truth, want, found[0])


def test_nested():
    """The clients' time ends at the keeper's disk."""
    truth, rep = recorded(LOCKS, "nested", "--seconds", 2)
    said = []
    for want in truth["locks"][:2]:
        found = at(rep, truth, want)
        check(len(found) == 1, f"{want['name']}: {words(found)}")
        same_waits(found[0], want, truth)
        named(found[0], want["name"])
        blamed_right(found[0], want, truth)
    rows = rep["blame"]
    check(rows, "no blame")
    keeper = [r for r in rows if r["comm"] == "keeper"]
    disk = [r for r in keeper if r["doing"] == "waiting" and r["reason"] == "disk"]
    deep = sum(r["blamed_ns"] for r in disk if r["depth"] >= 2)
    on_disk = sum(r["blamed_ns"] for r in disk)
    # By the log: what of the waits for front_lock lies in holds of store_lock by the keeper.
    log = truth["log_holds"]
    tid = next(t["tid"] for t in truth["threads"] if t["name"] == "keeper")
    broker = next(t["tid"] for t in truth["threads"] if t["name"] == "broker")
    keeps = [(h["got_ns"], h["let_ns"]) for h in log if h["tid"] == tid]
    asks = [(w["began_ns"], w["got_ns"]) for w in truth["log_waits"]
            if w["tid"] == broker and w["wait"] == "store_lock"]
    fronts = [(w["began_ns"], w["got_ns"]) for w in truth["log_waits"]
              if w["wait"] == "front_lock" and w["tid"] != broker]
    chained = overlap(fronts, meet(keeps, asks))
    charged = sum(r["blamed_ns"] for r in keeper if r["depth"] >= 2)
    near(charged, chained, 0, 0.1 * chained + 5_000_000 + stolen(truth, chained),
         "charged through the chain")
    # Of an fdatasync by the log, a part is spent on the CPU and in the run queue; on a fast disk
    # that, and writing, may be more than half of a hold. A woken thread's way to its run queue is
    # sleep by the program's clock and runnable by thaw's, so the lower bound is not sharp.
    disk_log = truth["locks"][2]
    syncs = [(w["began_ns"], w["got_ns"]) for w in truth["log_waits"]
             if w["tid"] == tid and w["wait"] == "fdatasync"]
    synced = overlap(fronts, meet(syncs, asks))
    asleep = synced * disk_log["wait_ns"] / disk_log["wall_ns"]
    slack = 5_000_000 + stolen(truth, synced)
    check(0.6 * asleep - slack <= deep <= synced + slack,
          f"{deep} ns of {charged} are the disk's; {asleep:.0f} to {synced} by the log")
    check(any(r["function"] == "flush_store" for r in disk),
          f"flush_store waits for the disk: {[r['function'] for r in disk]}")
    said.append(f"{charged / 1e6:.0f} ms through the chain, {chained / 1e6:.0f} by the log; "
                f"{on_disk / 1e6:.0f} ms the disk's, {deep / 1e6:.0f} of them deep "
                f"({asleep / 1e6:.0f} to {synced / 1e6:.0f} by the log)")
    return "; ".join(said)


def meet(a, b):
    """The times that are in both; each list is in order and does not overlap itself."""
    a, b = sorted(a), sorted(b)
    out, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        begin, end = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if begin < end:
            out.append((begin, end))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return out


def overlap(many, one):
    return sum(max(0, min(e, end) - max(s, begin)) for begin, end in many for s, e in one)


# ---- names ----

def test_twins():
    """Where a thread waits is known, though it was elsewhere with the same registers before."""
    truth, rep = recorded(LOCKS, "twins", "--seconds", 1)
    said = []
    for want, here, there in zip(truth["locks"], ("take_left", "take_right"),
                                 ("take_right", "take_left")):
        got = at(rep, truth, want)[0]
        same_waits(got, want, truth)
        index = rep["locks"].index(got)
        places = [w for w in rep["waits"] if w["lock"] == index and w["stack"]]
        right = sum(w["count"] for w in places if here in functions(w["stack"]))
        wrong = sum(w["count"] for w in places if there in functions(w["stack"]))
        check(not wrong, f"{wrong} waits for {want['name']} in {there}")
        check(right > 0.5 * want["waits"], f"{right} of {want['waits']} waits in {here}")
        said.append(f"{right} of {want['waits']} in {here}")
    return ", ".join(said)


def test_heap():
    return contest("heap", name="", functions_of="place")


def test_member():
    return contest("member", functions_of="place")


def test_inner():
    return contest("inner", functions_of="place")


def test_array():
    return contest("array", functions_of="place")


def test_stack():
    return contest("stack", name="", functions_of="place")


def test_function():
    return contest("function", functions_of="place")


def test_demo():
    """The first line says what is wrong with the server."""
    truth = record([], [SERVER, "--seconds", "3", "--json"], "c.thaw")
    head = re.sub(r"\s+", " ", thaw("report", "c.thaw").stdout[:600])
    missing = [w for w in ("commit_lock", "checkpointer", "flush_log", "disk") if w not in head]
    check(not missing, f"{missing} not in: {head}")
    rep = report("c.thaw", "--top", "1000")
    got = next(x for x in rep["locks"] if x["name"] == "commit_lock")
    # The server measures from where an attempt without waiting failed until it had the lock.
    check(got["total_wait_ns"] <= truth["lock_wait_ns"], "no longer than the server says")
    near(got["total_wait_ns"], truth["lock_wait_ns"], 0.1, 20_000_000, "waited for commit_lock")
    check(got["holders"][0]["comm"] == "checkpointer", f"held by {got['holders'][0]['comm']}")
    return head[:200]

if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
