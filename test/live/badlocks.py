#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Locks about which it is easy to be wrong: another libc's, hand-made ones, memory that goes or is
used again, owners that end. Nothing may fail, and nobody may be blamed who did not hold the lock."""
import collections
import os
import sys

from harness import BUILD, Skip, check, near, record, report, run, stolen, tests_of
from locktruth import (AGREED, TAKE_IN, at, contended, holders_right, recorded, same_waits,
                       waits_of, words)

MUSL = os.path.join(BUILD, "workload", "locks-musl")
BAD = os.path.join(BUILD, "workload", "badlocks")


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
    """Its normal mutexes have no owner."""
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
    """Nobody knows who holds it: a holder that is named must be right, and an innocent thread is
    never blamed."""
    truth, rep = recorded(BAD, case, "--seconds", 1)
    want = truth["locks"][0]
    found = at(rep, truth, want)
    check(len(found) == 1, f"{case}: {words(found)}")
    got = found[0]
    check(got["kind"] == "futex", f"{case}: thaw says that it knows a {got['kind']}")
    check(got["waits"] == want["waits"], f"{case}: {got['waits']} waits of {want['waits']}")
    blamed = [h["tid"] for x in rep["locks"] for h in x["holders"]] + \
             [r["tid"] for r in rep["blame"]]
    check(truth["innocent"] not in blamed, f"{case}: the innocent thread is blamed")
    return holders_right(truth, want, got, known=False)


def test_handmade():
    return handmade("handmade")


def test_mimic():
    """Word for word a mutex of glibc's; only the stack shows that it is none."""
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
    # Each child has its own; the one who unmapped it held it.
    check(sum(x["waits"] for x in mutexes) >= 0.9 * truth["children"], words(mutexes))
    for x in mutexes:
        for h in x["holders"]:
            check(not h["tid"] or h["pid"] == h["tid"] == x["pid"],
                  f"{h['tid']} never held the lock of {x['pid']}")
    return f"{len(mutexes)} locks"


def test_reused():
    """Three kinds at one address: each is told by its own kind, and the last is no contention."""
    truth, rep = recorded(BAD, "reused", "--seconds", 2)
    mutex, semaphore, condition = truth["locks"]
    found = at(rep, truth, mutex)
    by_kind = {x["kind"]: x for x in found if x["waits"]}
    check({"mutex", "semaphore"} <= set(by_kind), f"{words(found)}")
    for want in (mutex, semaphore):
        got = by_kind[want["kind"]]
        check(got["waits"] == want["waits"],
              f"{want['kind']}: {got['waits']} waits of {want['waits']}")
    check(not [x for x in found if x["contended"] and x["kind"] not in ("mutex", "semaphore")],
          words(found))
    count, _ = waits_of(rep, "condvar")
    check(count <= condition["waits"], f"{count} condvar waits of {condition['waits']}")
    return holders_right(truth, mutex, by_kind["mutex"], known=False)


def test_dead_owner():
    """The holder ended; it is still the one who held it."""
    truth, rep = recorded(BAD, "dead_owner")
    want = truth["locks"][0]
    found = at(rep, truth, want)
    check(len(found) == 1 and found[0]["kind"] == "robust_mutex", words(found))
    same_waits(found[0], want, truth)
    names = collections.Counter(h["comm"] for h in found[0]["holders"] if h["tid"])
    check(set(names) == {"mortal"}, f"held by {dict(names)}")
    return f"{found[0]['waits']} waits behind {names['mortal']} threads"


def test_tids():
    """Threads with the numbers of others: the name tells which one it was."""
    truth, rep = recorded(BAD, "tids")
    want = truth["locks"][0]
    found = at(rep, truth, want)
    check(len(found) == 1, words(found))
    check(found[0]["waits"] == want["waits"], f"{found[0]['waits']} waits of {want['waits']}")
    can = {(h["tid"], h["name"]) for h in want["holders"]}
    for h in found[0]["holders"]:
        check(not h["tid"] or (h["tid"], h["comm"]) in can, f"{h['comm']} ({h['tid']}) did not")
    can = {(w["tid"], w["name"]) for w in want["waiters"]}
    for w in found[0]["waiters"]:
        check((w["tid"], w["comm"]) in can, f"{w['comm']} ({w['tid']}) did not wait")
    return f"{truth['reused']:.0f} numbers used twice"

if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
