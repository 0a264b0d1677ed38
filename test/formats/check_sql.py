# SPDX-License-Identifier: MIT
"""thaw sql: against thaw report, its own document, and what may not be done with it."""
import csv
import fcntl
import io
import json
import os
import pty
import re
import select
import subprocess
import termios
import time

from common import ROOT, THAW, WORK, capture, captures, clean, fails, report, run, test

DOC = os.path.join(ROOT, "docs", "sql.md")


def sql(name, text):
    """The rows of the answer, as dicts."""
    return json.loads(run(THAW, "sql", "--json", capture(name), text))


def one(name, text):
    return list(sql(name, text)[0].values())


def sums(name):
    said = report(name, "--top", "100000")
    rows = {t["id"]: t for t in sql(name, "SELECT * FROM threads")}
    by_tid = sorted((t["tid"], t["name"], t["running_ns"], t["runnable_ns"], t["waiting_ns"],
                     t["lost_ns"], t["samples"]) for t in rows.values())
    assert by_tid == sorted((t["tid"], clean(t["comm"]), t["running_ns"], t["runnable_ns"], t["waiting_ns"],
                             t["lost_ns"], t["samples"]) for t in said["threads"]), by_tid
    for r in sql(name, "SELECT thread_id, sum(ns) filter (WHERE kind='running') AS a, sum(ns) filter "
                       "(WHERE kind='runnable') AS b, sum(ns) filter (WHERE kind='waiting') AS c "
                       "FROM intervals GROUP BY thread_id"):
        t = rows[r["thread_id"]]
        assert (r["a"] or 0, r["b"] or 0, r["c"] or 0) == (
            t["running_ns"], t["runnable_ns"], t["waiting_ns"]), (r, t)
    reasons = {}
    for t in said["threads"]:
        for reason, ns in t["waits"].items():
            reasons[reason] = reasons.get(reason, 0) + ns
    assert reasons == {r["reason"]: r["ns"] for r in sql(
        name, "SELECT reason, sum(ns) AS ns FROM intervals WHERE reason IS NOT NULL GROUP BY reason")}
    assert one(name, "SELECT count(*), coalesce(sum(ns), 0) FROM waits") == one(
        name, "SELECT count(*), coalesce(sum(ns), 0) FROM intervals WHERE kind='waiting'")
    locks = sorted((clean(k["name"]), k["kind"], k["total_wait_ns"], k["waits"], k["max_wait_ns"])
                   for k in said["locks"])
    assert locks == sorted((k["name"], k["kind"], k["total_ns"], k["waits"], k["max_ns"])
                           for k in sql(name, "SELECT * FROM locks")), locks
    assert len(said["stalls"]) == one(name, "SELECT count(*) FROM stalls WHERE kind != 'blackout'")[0]
    assert sum(said["losses"]["by_cause"].values()) == one(
        name, "SELECT coalesce(sum(count), 0) FROM losses")[0]


def interrupts():
    """In each second a disk's interrupt meets worker-1 (101) and wakes the writer: not worker-1's doing."""
    rows = sql("story", "SELECT waker, waker_id, waker_tid, count(*) AS n FROM waits w JOIN threads t ON "
                        "t.id = w.thread_id WHERE t.tid = 103 AND reason = 'disk' GROUP BY 1, 2, 3")
    assert rows == [{"waker": "interrupt", "waker_id": None, "waker_tid": None, "n": 10}], rows
    rows = sql("story", "SELECT waker_id, waker_tid, count(*) AS n FROM wakes WHERE wakee_tid = 103 GROUP BY 1, 2")
    assert rows == [{"waker_id": None, "waker_tid": None, "n": 10}], rows


def functions(name):
    """Samples by the innermost function."""
    said = {}
    for f in report(name, "--top", "100000")["functions"]:
        said[clean(f["name"])] = said.get(clean(f["name"]), 0) + f["self_samples"]
    got = {r["function"]: r["n"] for r in sql(
        name, "SELECT function, sum(n) AS n FROM (SELECT stack, count(*) AS n FROM samples GROUP BY "
              "stack) s JOIN frames f ON f.stack = s.stack AND depth = 0 GROUP BY function")}
    assert got == {k: n for k, n in said.items() if n}, (got, said)
    # A join by stack and a look at all of them find the same.
    assert one(name, "SELECT count(*), count(DISTINCT stack), max(depth) FROM frames") == one(
        name, "SELECT count(*), count(DISTINCT s.stack), max(depth) FROM (SELECT stack FROM samples UNION "
              "SELECT stack FROM waits UNION SELECT waker_stack FROM waits UNION SELECT stack FROM wakes "
              "UNION SELECT stack FROM stalls) s JOIN frames f ON f.stack = s.stack")


def plans(name):
    """What is handed down is in the plan, and leaves the answer as it is."""
    for table, where in (("intervals", "start>=500000 AND start<90000000"), ("intervals", "end>500000"),
                         ("waits", "start<80000000 AND thread_id=2"), ("samples", "ts>100"),
                         ("intervals", "kind='running' AND cpu=0"), ("wakes", "ts<70000000")):
        with_plus = re.sub(r"\b(start|end|thread_id|ts|kind)\b", r"+\1", where)
        key = {"samples": "thread_id, ts", "wakes": "ts, wakee_tid"}.get(table, "thread_id, start")
        got = [sql(name, f"SELECT * FROM {table} WHERE {w} ORDER BY {key}") for w in (where, with_plus)]
        assert got[0] == got[1] and (got[0] or name != "demo"), (table, where)
        plan = one(name, f"EXPLAIN QUERY PLAN SELECT * FROM {table} WHERE {where}")[-1]
        plain = one(name, f"EXPLAIN QUERY PLAN SELECT * FROM {table} WHERE {with_plus}")[-1]
        assert "=?" in plan or ">?" in plan or "<?" in plan, plan
        assert "?" not in plain, plain


def questions():
    """The fenced statements of the document, each below its question."""
    text = open(DOC, encoding="utf-8").read()
    return re.findall(r"^### ([^\n]+\?)\n.*?```sql\n(.*?)```", text, flags=re.S | re.M)


SANE = {  # of a column's values: what must hold for all of them
    "percent": lambda v: 0 <= v <= 100, "running_ms": lambda v: v >= 0, "ms": lambda v: v >= 0,
    "samples": lambda v: v > 0, "waits": lambda v: v > 0, "total_ms": lambda v: v >= 0,
    "times": lambda v: v > 0, "worst_ms": lambda v: v > 0, "at_ms": lambda v: v >= 0,
}


def question(name, text):
    rows = sql(name, text)
    assert rows, "no rows"
    for r in rows:
        for key, value in r.items():
            assert key not in SANE or SANE[key](value), (key, value)


def answers(name):
    """What the demo's server is known to do: workers behind commit_lock, held by the checkpointer."""
    asked = dict(questions())
    locks = sql(name, asked["Which locks do threads wait for, and who held them?"])
    assert locks[0]["name"] == "commit_lock" and locks[0]["holder"] == "checkpointer", locks[0]
    stretch = sql(name, asked["What did each thread do in one stretch of time?"])
    each = {}
    for r in stretch:
        each[r["name"]] = each.get(r["name"], 0) + r["ms"]
    assert all(ms <= 100.0001 for ms in each.values()) and max(each.values()) > 99.9, each
    stalls = sql(name, asked["When did the program stand still, and why?"])
    assert any("commit_lock" in r["words"] for r in stalls), stalls


def document():
    """The tables in the document are those that there are."""
    text = open(DOC, encoding="utf-8").read()
    said = {t: [tuple(c) for c in re.findall(r"^\| `(\w+)` \| (\w+) \|", rest, flags=re.M)]
            for t, rest in re.findall(r"^### (\w+)\n(.*?)(?=^###|\Z)", text, flags=re.S | re.M)}
    for table, columns in said.items():
        got = [(r["name"], r["type"]) for r in sql("story", f"PRAGMA table_info({table})")]
        assert got == columns, (table, got, columns)
    assert len(said) == 12, list(said)
    assert len(questions()) == 10, len(questions())


def obeyed(text, in_csv, in_table):
    """JSON has all characters, CSV and tables those that are only shown; CR only as a part of a line's end."""
    statement = "SELECT '" + text + "' AS a, 1 AS b"
    assert sql("story", statement) == [{"a": text, "b": 1}]
    got = run(THAW, "sql", "--csv", capture("story"), statement).decode()
    assert got == f'a,b\r\n"{in_csv}",1\r\n', got
    got = run(THAW, "sql", "--table", capture("story"), statement).decode().split("\n")
    assert got[2] == in_table + "  1", got


def forms():
    text = "SELECT 1 AS a, NULL AS b, 'x,\"y\"' AS c, 2.5 AS d, 'two\nlines' AS e"
    rows = list(csv.reader(io.StringIO(run(THAW, "sql", "--csv", capture("story"), text).decode(),
                                       newline="")))
    assert rows == [["a", "b", "c", "d", "e"], ["1", "", 'x,"y"', "2.5", "two\nlines"]], rows
    assert sql("story", text) == [{"a": 1, "b": None, "c": 'x,"y"', "d": 2.5, "e": "two\nlines"}]
    assert sql("story", "SELECT 1 WHERE 0") == []
    obeyed("a\x1b[31mb\rc\u202ed\x9be\r\nf", "a?[31mb?c\ufffdd\ufffde\r\nf", "a [31mb c\ufffdd\ufffde  f")
    table = run(THAW, "sql", "--table", capture("story"), text).decode().splitlines()
    assert table[0].split() == ["a", "b", "c", "d", "e"] and len(table) == 3, table
    path = os.path.join(WORK, "questions.sql")
    with open(path, "w", encoding="utf-8") as out:
        out.write("SELECT count(*) FROM threads;\n-- a remark\nSELECT 7;")
    got = run(THAW, "sql", capture("story"), "-f", path)
    assert got == run(THAW, "sql", capture("story"), stdin=open(path, "rb")) and b"7" in got


def refused():
    database = os.path.join(WORK, "not-there.db")
    for text, words in ((f"ATTACH '{database}' AS x", "refused"), (f"VACUUM INTO '{database}'", "refused"),
                        ("PRAGMA journal_mode=WAL", "refused"), ("CREATE TABLE x(a)", "refused"),
                        ("DELETE FROM threads", "may not be modified"), ("SELECT * FROM thread",
                        "did you mean threads?"), ("SELECT nam FROM threads", "did you mean name?"),
                        ("SELEC 1", "syntax error")):
        status, said = fails(THAW, "sql", capture("story"), text)
        assert status == 1 and words in said, (text, status, said)
    assert not os.path.exists(database)
    status, said = fails(THAW, "sql", capture("story"), "SELECT 1", "SELECT 2")
    assert status == 2 and "one statement" in said, said
    assert fails(THAW, "sql", "--csv", "--json", capture("story"), "SELECT 1")[0] == 2


def typed(child, terminal, text, until):
    """Types something, and waits until it is answered: all that was shown."""
    os.write(terminal, text)
    shown = b""
    while until not in shown:
        ready, _, _ = select.select([terminal], [], [], 20)
        assert ready, (text, shown[-300:])
        try:
            shown += os.read(terminal, 4096)
        except OSError:  # it has ended
            break
    assert until in shown or child.wait(20) is not None, shown
    return shown.decode().replace("\r\n", "\n")


def worked(child):
    with open(f"/proc/{child.pid}/stat", encoding="ascii", errors="replace") as f:
        return int(f.read().rsplit(")", 1)[1].split()[11])


def until_it_works(child):
    """Ctrl-C throws away what the terminal has not handed over yet: the statement must run."""
    before, end = worked(child), time.monotonic() + 20
    while worked(child) < before + 10:
        assert time.monotonic() < end, "the statement does not run"
        time.sleep(0.02)


def dialogue(child, mine):
    typed(child, mine, b"", b"thaw> ")
    assert "intervals " in typed(child, mine, b".tables\n", b"thaw> ")
    assert "first_name" not in typed(child, mine, b".schema threads\n", b"thaw> ")
    assert ".quit" in typed(child, mine, b".help\n", b"thaw> ")
    typed(child, mine, b"SELECT 6 *\n", b" ...> ")
    assert "42" in typed(child, mine, b"7;\n", b"thaw> ")
    assert "did you mean threads?" in typed(child, mine, b"SELECT * FROM thread;\n", b"thaw> ")
    # What was typed is forgotten, and a statement that would never end is ended.
    # Many times: it comes between the prompt and the wait for a line, too.
    for _ in range(300):
        typed(child, mine, b"SELECT 1,\n", b" ...> ")
        typed(child, mine, b"\x03", b"thaw> ")
    os.write(mine, b"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "
                   b"count(*) FROM n;\n")
    until_it_works(child)
    assert "interrupted" in typed(child, mine, b"\x03", b"thaw> ")
    assert '"x":5' in typed(child, mine, b".mode json\nSELECT 5 AS x;\n", b'"x":5}')
    os.write(mine, b"\x04")
    assert child.wait(20) == 0


def prompt():
    mine, theirs = pty.openpty()
    with subprocess.Popen([THAW, "sql", capture("story")], stdin=theirs, stdout=theirs, stderr=theirs,
                          start_new_session=True,
                          preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) as child:
        os.close(theirs)
        try:
            dialogue(child, mine)
        finally:
            child.kill()
    os.close(mine)


def unseen():
    """A recording without switches has no intervals, and says nothing of waits."""
    assert one("ctimer", "SELECT (SELECT count(*) FROM intervals), (SELECT count(*) FROM waits)") == [0, 0]
    rows = sql("ctimer", "SELECT * FROM threads")
    assert rows and all(r["waiting_ns"] is None and r["runnable_ns"] is None for r in rows)
    said = report("ctimer", "--top", "100000")["threads"]
    assert sum(r["running_ns"] for r in rows) == sum(t["running_ns"] for t in said) > 0
    assert one("ctimer", "SELECT count(*) FROM samples")[0] == sum(t["samples"] for t in said) > 0


for each in captures() + ["names", "lost", "empty"]:
    test(f"sql {each}: sums are the report's", sums, each)
    test(f"sql {each}: functions are the report's", functions, each)
for each in captures():
    if each != "story":
        test(f"sql {each}: what is handed down changes nothing", plans, each)
for title, statement in questions():
    test(f"sql demo: {title}", question, "demo", statement)
test("sql demo: the answers are the server's", answers, "demo")
test("sql story: interrupts are nobody's doing", interrupts)
test("sql: docs/sql.md has the tables and ten questions", document)
test("sql: table, CSV and JSON, from an argument, a file and a pipe", forms)
test("sql: what could touch a file is refused, and errors help", refused)
test("sql: the prompt, its commands, Ctrl-C and Ctrl-D", prompt)
test("sql: without switches there are no waits", unseen)
