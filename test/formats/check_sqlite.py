# SPDX-License-Identifier: MIT
"""The exported database: read by sqlite3 and Python's module; the same answers as thaw sql's."""
import json
import os
import re
import sqlite3
import subprocess

from common import ROOT, THAW, WORK, capture, captures, export, fails, need, report, run, test

TABLES = ("capture", "threads", "intervals", "waits", "samples", "frames", "locks", "wakes", "stalls",
          "losses")


def database(name, *options, suffix=".db"):
    db = sqlite3.connect(f"file:{export(name, 'sqlite', *options, suffix=suffix)}?mode=ro", uri=True)
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return db


def everything(db, table):
    return sorted(db.execute(f"SELECT * FROM {table}").fetchall(), key=repr)


def same_tables(name):
    """All rows of all tables are those of thaw sql."""
    db = database(name)
    for table in TABLES:
        got = sorted((tuple(r.values()) for r in json.loads(
            run(THAW, "sql", "--json", capture(name), f"SELECT * FROM {table}"))), key=repr)
        mine = everything(db, table)
        assert mine == got, (table, len(mine), len(got), [a for a in mine if a not in got][:2])


def same_answers(name):
    text = open(os.path.join(ROOT, "docs", "sql.md"), encoding="utf-8").read()
    db = database(name)
    for statement in re.findall(r"```sql\n(.*?)```", text, flags=re.S):
        # Which of several equal ones are the first ten is nobody's promise.
        statement = re.sub(r"LIMIT \d+", "", statement)
        got = [tuple(r.values()) for r in json.loads(run(THAW, "sql", "--json", capture(name), statement))]
        mine = db.execute(statement).fetchall()
        near = [[round(v, 6) if isinstance(v, float) else v for v in r] for r in mine]
        assert sorted(map(repr, near)) == sorted(
            repr([round(v, 6) if isinstance(v, float) else v for v in r]) for r in got), statement


def sums(name, *options):
    said = report(name, "--top", "100000", *options)
    db = database(name, *options, suffix=".part.db")
    assert db.execute("SELECT sum(running_ns), sum(runnable_ns), sum(waiting_ns), sum(samples) FROM "
                      "threads").fetchone() == tuple(
        sum(t[k] for t in said["threads"]) for k in ("running_ns", "runnable_ns", "waiting_ns", "samples"))
    for kind in ("running", "runnable", "waiting"):
        assert db.execute("SELECT coalesce(sum(ns), 0) FROM intervals WHERE kind=?", (kind,)).fetchone(
            )[0] == sum(t[kind + "_ns"] for t in said["threads"]), kind
    assert db.execute("SELECT count(*) FROM samples").fetchone()[0] == sum(
        t["samples"] for t in said["threads"])
    assert db.execute("SELECT coalesce(sum(total_ns), 0) FROM locks").fetchone()[0] == sum(
        k["total_wait_ns"] for k in said["locks"])


def kinds(name):
    counts = {}
    for kind in ("cpu", "wait", "lock"):
        db = database(name, "--kind", kind, suffix=f".{kind}.db")
        counts[kind] = [db.execute(f"SELECT count(*) FROM {t}").fetchone()[0]
                        for t in ("samples", "intervals", "waits", "wakes")]
        if kind == "lock":
            assert not db.execute("SELECT count(*) FROM waits WHERE reason NOT IN ('mutex', 'rwlock', "
                                  "'futex', 'kernel_lock')").fetchone()[0]
    whole = database(name)
    everything_there = [whole.execute(f"SELECT count(*) FROM {t}").fetchone()[0]
                        for t in ("samples", "intervals", "waits", "wakes")]
    assert counts["cpu"][0] == everything_there[0] and counts["cpu"][2:] == [0, 0], counts
    assert counts["wait"][0] == 0 and counts["wait"][2:] == everything_there[2:], counts
    assert counts["cpu"][1] + counts["wait"][1] == everything_there[1], counts
    assert counts["lock"][:2] == [0, 0] and 0 < counts["lock"][2] <= everything_there[2], counts


def tool():
    path = export("story", "sqlite", suffix=".tool.db")
    got = run(need("sqlite3", "sqlite3"), "-readonly", path,
              "PRAGMA integrity_check; SELECT count(*) FROM threads; EXPLAIN QUERY PLAN SELECT * FROM "
              "intervals WHERE thread_id=1 AND start>5;").decode()
    assert got.startswith("ok\n") and "USING INDEX intervals_thread" in got, got


def left_behind():
    """A pipe gets the same bytes; a failure and Ctrl-C leave nothing."""
    path = export("locks", "sqlite", suffix=".db")
    with open(path, "rb") as f:
        assert run(THAW, "export", capture("locks"), "-f", "sqlite") == f.read()
    status, said = fails("sh", "-c", f"{THAW} export {capture('locks')} -f sqlite > /dev/full")
    assert status == 1 and "write" in said, (status, said)
    folder = os.path.join(WORK, "sqlite-left")
    os.makedirs(folder, exist_ok=True)
    with subprocess.Popen([THAW, "export", capture("demo") or capture("locks"), "-f", "sqlite", "-o",
                           os.path.join(folder, "x.db")], stderr=subprocess.DEVNULL) as child:
        child.send_signal(2)
        child.wait()
    assert set(os.listdir(folder)) <= {"x.db"}, os.listdir(folder)


for each in captures() + ["names", "lost", "empty", "ctimer"]:
    test(f"sqlite {each}: all tables are those of thaw sql", same_tables, each)
for each in captures():
    test(f"sqlite {each}: the questions of docs/sql.md have the same answers", same_answers, each)
    test(f"sqlite {each}: sums are the report's", sums, each)
test("sqlite locks: of a thread", sums, "locks", "--thread", str(report("locks")["threads"][0]["tid"]))
test("sqlite locks: of a window", sums, "locks", "--from", "20ms", "--to", "90ms")
test("sqlite locks: of each kind", kinds, "locks")
test("sqlite: the sqlite3 program reads it, and uses its indices", tool)
test("sqlite: to a pipe, to a full disk, and interrupted", left_behind)
