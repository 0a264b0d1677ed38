#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Locks about which it is easy to be wrong: another libc's, hand-made ones, memory that goes or is used again, owners
that end. Nothing may fail, and thaw may blame no thread that did not hold the lock."""
import collections
import os
import re
import sys

from harness import BUILD, Skip, check, near, record, report, run, stolen, tests_of, thaw
from locktruth import (AGREED, TAKE_IN, as_many, at, contended, holders_right, recorded, same_waits,
                       waits_of, words)

MUSL = os.path.join(BUILD, "workload", "locks-musl")
BAD = os.path.join(BUILD, "workload", "badlocks")
HANGS = os.path.join(BUILD, "workload", "hangs")
QUEUE = os.path.join(BUILD, "workload", "queue")


# ---- another libc ----

def musl(case, known):
    if not os.access(MUSL, os.X_OK):
        raise Skip("there is no musl-gcc")
    truth, rep = recorded(MUSL, case, "--seconds", 2)
    want = truth["locks"][0]
    found = at(rep, truth, want)
    check(sum(x["waits"] for x in found) == want["waits"],
          f"{case}: {words(found)} of {want['waits']} waits")
    near(sum(x["total_wait_ns"] for x in found), want["wait_ns"], 0,
         AGREED * want["wait_ns"] + stolen(truth, want["wait_ns"]) + TAKE_IN * want["waits"],
         f"{case}: waited")
    check(all(x["kind"] in (want["kind"], "futex", "mutex") for x in found), words(found))
    return "; ".join(holders_right(truth, want, x, known) for x in found)


def test_musl_normal():
    """musl's normal mutexes have no owner."""
    return musl("normal", False)


def test_musl_recursive():
    """The lock's own word has the owner."""
    return musl("recursive", True)


def test_musl_pi():
    return musl("pi", True)


def test_musl_rwlock():
    return musl("rwlock", False)


# ---- traps ----

def handmade(case):
    """Nothing tells who holds the lock: a holder that thaw names must be right, and it never blames an innocent
    thread."""
    truth, rep = recorded(BAD, case, "--seconds", 1)
    want = truth["locks"][0]
    found = at(rep, truth, want)
    check(len(found) == 1, f"{case}: {words(found)}")
    got = found[0]
    check(got["kind"] == "futex", f"{case}: thaw says that it knows a {got['kind']}")
    as_many(got, want, truth, case)
    blamed = [h["tid"] for x in rep["locks"] for h in x["holders"]] + \
             [r["tid"] for r in rep["blame"]]
    check(truth["innocent"] not in blamed, f"{case}: the innocent thread is blamed")
    return holders_right(truth, want, got, known=False)


def test_handmade():
    return handmade("handmade")


def test_mimic():
    """The words of a glibc mutex; only the stack shows that it is none."""
    return handmade("mimic")


def test_bitset():
    return handmade("bitset")


def test_waitv():
    return handmade("waitv")


def test_futex2():
    return handmade("futex2")


def test_edge():
    return handmade("edge")


def test_unmapped():
    truth, rep = recorded(BAD, "unmapped")
    waiter = next(t for t in truth["threads"] if t["name"] == "waiter")
    mine = next(t for t in rep["threads"] if t["tid"] == waiter["tid"])
    want = truth["locks"][0]
    near(mine["waits"].get("futex", 0) + mine["waits"].get("idle", 0), want["wait_ns"], 0,
         AGREED * want["wait_ns"] + stolen(truth, want["wait_ns"]) + TAKE_IN * want["waits"],
         "waited on memory that was unmapped")
    for x in contended(rep, truth):
        check(not [h for h in x["holders"] if h["tid"]], f"a holder of nothing: {words([x])}")
    return f"{want['waits']} waits"


def test_killed():
    truth = record(["--min-wait", "0"], [BAD, "killed"], "c.thaw")
    check(truth["killed"] == truth["children"], f"{truth['killed']} of {truth['children']} died")
    rep = report("c.thaw", "--top", "10000")
    mutexes = [x for x in rep["locks"] if x["kind"] == "mutex" and x["contended"]]
    # Each child has a lock of its own, held by the thread that unmapped it.
    check(sum(x["waits"] for x in mutexes) >= 0.9 * truth["children"], words(mutexes))
    for x in mutexes:
        for h in x["holders"]:
            check(not h["tid"] or h["pid"] == h["tid"] == x["pid"],
                  f"{h['tid']} never held the lock of {x['pid']}")
    return f"{len(mutexes)} locks"


def test_reused():
    """Three kinds of lock at one address: each is reported as its own kind, and the last is not contended."""
    truth, rep = recorded(BAD, "reused", "--seconds", 2)
    mutex, semaphore, condition = truth["locks"]
    found = at(rep, truth, mutex)
    by_kind = {x["kind"]: x for x in found if x["waits"]}
    check({"mutex", "semaphore"} <= set(by_kind), f"{words(found)}")
    for want in (mutex, semaphore):
        got = by_kind[want["kind"]]
        as_many(got, want, truth, want["kind"])
    check(not [x for x in found if x["contended"] and x["kind"] not in ("mutex", "semaphore")],
          words(found))
    count, _ = waits_of(rep, "condvar")
    check(count <= condition["waits"], f"{count} condvar waits of {condition['waits']}")
    return holders_right(truth, mutex, by_kind["mutex"], known=False)


def test_dead_owner():
    """The holder ended; thaw still names it."""
    truth, rep = recorded(BAD, "dead_owner")
    want = truth["locks"][0]
    found = at(rep, truth, want)
    check(len(found) == 1 and found[0]["kind"] == "robust_mutex", words(found))
    same_waits(found[0], want, truth)
    names = collections.Counter(h["comm"] for h in found[0]["holders"] if h["tid"])
    check(set(names) == {"mortal"}, f"held by {dict(names)}")
    return f"{found[0]['waits']} waits behind {names['mortal']} threads"


def test_tids():
    """Threads that reuse the tids of others: the name tells which one it was."""
    truth, rep = recorded(BAD, "tids")
    want = truth["locks"][0]
    found = at(rep, truth, want)
    check(len(found) == 1, words(found))
    as_many(found[0], want, truth, "tids")
    can = {(h["tid"], h["name"]) for h in want["holders"]}
    for h in found[0]["holders"]:
        check(not h["tid"] or (h["tid"], h["comm"]) in can, f"{h['comm']} ({h['tid']}) did not")
    can = {(w["tid"], w["name"]) for w in want["waiters"]}
    for w in found[0]["waiters"]:
        check((w["tid"], w["comm"]) in can, f"{w['comm']} ({w['tid']}) did not wait")
    return f"{truth['reused']:.0f} numbers used twice"


# ---- what looks like idleness ----

def test_full_queue():
    """Threads that wait for room in a queue look like an idle pool: thaw gives no all-clear, and says whom they wait
    for."""
    record([], [QUEUE, "2"], "c.thaw")
    said = report("c.thaw")["finding"]["sentence"]
    check(re.match(r"6 web threads were mostly waiting for a condition variable \(queue_room\) in enqueue_mail"
                   r" \(queue\.c:\d+\), mostly woken by mailer, which was mostly waiting for the network in deliver"
                   r" \(queue\.c:\d+\), mostly woken by relay, which was mostly asleep on a timer in ", said), said)
    # A report on one thread does not tell of the others.
    said = report("c.thaw", "--thread", "relay")["finding"]["sentence"]
    check("web" not in said and "Nothing" in said, said)


def test_waiting_for_an_answer():
    """The same, for threads that wait for room and then for an answer, beside some that only sleep now and then."""
    record([], [QUEUE, "2", "answers"], "c.thaw")
    said = report("c.thaw")["finding"]["sentence"]
    check(re.match(r"6 web threads were mostly waiting for a condition variable( \(queue_room\) in enqueue_mail|"
                   r" in await_answer) \(queue\.c:\d+\), mostly woken by mailer, which was mostly waiting for the network in deliver"
                   r" \(queue\.c:\d+\), mostly woken by relay, which was mostly asleep on a timer in ", said), said)


# ---- a signal that nobody waited for ----

def test_last_signal():
    """Recorded from the start: the main thread signalled last, a moment before the wait that does not end."""
    r = thaw("record", "-q", "-d", "1s", "-o", "c.thaw", "--", HANGS, "last_signal")
    check("c.thaw" in os.listdir("."), r.stderr)
    rep = report("c.thaw")
    said = rep["finding"]["sentence"]
    check(re.match(r"consumer has been waiting for a condition variable \(queue_ready\) in take_next \(hangs\.c:\d+\), "
                   r"for the last [\d.]+m?s of the recording, and nobody signalled it since: producer did last, [\d.]+[mu]s before\.", said),
          said)
    row = next(w for w in rep["stuck"] if w["comm"] == "consumer")
    check(row["signaller"]["comm"] == "producer" and 0 < row["signalled_ns"] < row["since_ns"], row)
    # Nobody signals the end of a thread.
    check(all(w["signaller"] is None and w["signalled_ns"] is None for w in rep["stuck"] if w["reason"] == "join"), rep["stuck"])


if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
