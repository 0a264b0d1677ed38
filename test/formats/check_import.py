# SPDX-License-Identifier: MIT
"""What perf recorded, imported: thaw's sums are those of perf's own tools, and nothing gets lost on the way."""
import json
import os
import re
import sqlite3
import subprocess

from common import BUILD, THAW, WORK, capture, captures, fails, need, run, test

PERF = need("perf", "linux-perf")
LOAD = os.path.join(BUILD, "workload")


def path(name):
    return os.path.join(WORK, "import-" + name)


def record(name, *args):
    """A recording of perf's; None where it may not."""
    out = path(name + ".data")
    done = subprocess.run([PERF, *args[:args.index("--")], "-o", out, *args[args.index("--"):]],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode == 0:
        return out
    said = done.stderr.decode(errors="replace").strip().replace("\n", " | ")
    assert done.returncode > 0, f"perf ends by signal {-done.returncode}: {said}"
    print("# " + said)
    return None


def taken(name, source, *options):
    out = path(name + ".thaw")
    run(THAW, "import", "-q", source, "-o", out, *options)
    return out


def report(file, *options):
    return json.loads(run(THAW, "report", file, "--json", "--top", "100000", *options))


def script(file, *fields):
    text = run(PERF, "script", "--ns", "-i", file, "--no-inline", "-F", ",".join(fields)).decode()
    return re.sub(r"(cpu-clock|offcpu-time|task-clock):\w*:?", r"\1:", text)


def heads(file):
    """tid -> how many samples perf has of it."""
    counts = {}
    for line in script(file, "tid").split("\n"):
        if line.strip().isdigit():
            counts[int(line)] = counts.get(int(line), 0) + 1
    return counts


def collapsed(file):
    out = {}
    for line in run(THAW, "export", file, "-f", "collapsed", "--kind", "cpu").decode().split("\n"):
        if line:
            stack, count = line.rsplit(" ", 1)
            out[stack] = int(count)
    return out


def samples(name, source):
    said = report(taken(name, source))
    counts = {t["tid"]: t["samples"] for t in said["threads"] if t["samples"]}
    assert counts and counts == heads(source), (counts, heads(source))
    assert said["losses"]["events"] == 0, said["losses"]


def there_and_back(name, source):
    """perf.data -> thaw -> perf.data: times, names, addresses and functions are as they were."""
    file = taken(name, source)
    back = path(name + ".back.data")
    run(THAW, "export", file, "-f", "perfdata", "-o", back)
    fields = ("comm", "pid", "tid", "time", "event", "period", "ip", "sym", "dso")
    first, second = script(source, *fields), script(back, *fields)
    assert first.count("\n\n") > 20, first[:200]
    assert first == second, next((a, b) for a, b in zip(first.split("\n"), second.split("\n")) if a != b)


def unwound(source):
    """The stacks that thaw unwinds have the whole chain of the program, as perf's own have."""
    links = [f"link_{n}" for n in range(12, 0, -1)]

    def is_whole(names):
        return "main" in names and [n for n in names if n.startswith("link_")] == links

    ours = collapsed(taken("dwarf", source))
    total = sum(ours.values())
    whole = sum(n for stack, n in ours.items()
                if is_whole([re.sub(r"_\[[ki]\]$", "", f) for f in stack.split(";")]))
    theirs = [b.split("\n") for b in script(source, "ip", "sym").split("\n\n") if b.strip()]
    good = sum(1 for b in theirs if is_whole([line.split()[-1] for line in reversed(b) if line.strip()]))
    assert total == len(theirs), (total, len(theirs))
    assert whole >= good and whole >= 0.95 * total, (whole, good, total)


def measured(name):
    """Waits as perf record --off-cpu has them, from thaw's own export: the same sums by thread."""
    source = path(name + ".off.data")
    run(THAW, "export", capture(name), "-f", "perfdata", "-o", source)
    said = report(taken(name + ".off", source))
    waits = {t["tid"]: t["waiting_ns"] for t in report(capture(name))["threads"] if t["waiting_ns"]}
    back = {t["tid"]: t["waiting_ns"] for t in said["threads"] if t["waiting_ns"]}
    assert back == waits, {k: (back.get(k), waits.get(k)) for k in waits if back.get(k) != waits[k]}
    assert "cpus" in said["capture"]["unseen"] and "wakers" in said["capture"]["unseen"]
    stacks_of = {w["stack"][0]["name"] for w in said["waits"] if w["stack"]}
    assert stacks_of, said["waits"][:1]


# ---- the scheduler ----

ROW = re.compile(r"^\s*(?P<time>\d+\.\d+) \[\d+\]\s+(?P<name>.+?)\[(?P<tid>\d+)(?:/\d+)?\]\s+"
                 r"(?P<wait>\d+\.\d+)\s+(?P<delay>\d+\.\d+)\s+(?P<run>\d+\.\d+)\s+(?P<state>\S+)")
SWITCH = re.compile(r"\[(\d+)\]\s+(\d+\.\d+):\s+sched:sched_switch:.*? prev_pid=(\d+) .*?prev_state=(\S+) "
                    r".*next_pid=(\d+)")
WAKING = re.compile(r"(\d+\.\d+):\s+sched:sched_waking:.* pid=(\d+)")


def timehist(source):
    """
    Of each thread: run, wait and runnable in ms, by the rows of perf sched timehist.

    Its summary calls a preempted thread of a current kernel asleep (it knows no R+), and its time
    between two runs has the delay in it. So the rows are summed here: after a row with the state R
    (or W, as it prints R+) the thread stayed runnable; otherwise it waited until it was woken, and
    had to wait for a CPU from then on, which is the delay.
    """
    out = {}
    text = run(PERF, "sched", "timehist", "-i", source, "--state")
    for line in text.decode(errors="replace").split("\n"):
        row = ROW.match(line)
        if not row:
            continue
        t = out.setdefault(int(row["tid"]), {"run": 0.0, "wait": 0.0, "runnable": 0.0, "rows": 0,
                                             "state": None})
        wait, delay = float(row["wait"]), float(row["delay"])
        t["run"] += float(row["run"])
        if t["state"] is None or t["state"][0] in "RW":
            t["runnable"] += wait if t["state"] else delay
        else:
            t["wait"] += wait - delay
            t["runnable"] += delay
        t["state"] = row["state"]
        t["rows"] += 1
    return out


def holes_and_ends(source):
    """
    What timehist does not tell. Holes: in some threads' context no record is made when they leave a
    CPU; who comes next is first heard of when it leaves, and timehist takes it for running since the
    last switch there (ms by tid). Ends: when a thread switches for the last time, perf has no
    number for it any more, and timehist leaves the row out: run, wait and runnable of that row. Who left
    as R had no wait, even if it was woken meanwhile: it was preempted on its way to sleep.
    """
    text = run(PERF, "script", "--ns", "-i", source, "-F", "cpu,time,event,trace").decode(errors="replace")
    cpus, came, left, waked, holes, ends = {}, {}, {}, {}, {}, {}
    for line in text.split("\n"):
        found = SWITCH.search(line)
        if found:
            cpu, now, prev, state, then = (found[1], float(found[2]), int(found[3]), found[4],
                                           int(found[5]))
            before = cpus.get(cpu, (0, prev))
            if before[1] != prev:
                holes[prev] = holes.get(prev, 0) + (now - before[0]) * 1000
                came[prev] = max(before[0], left.get(prev, (0, "S"))[0])
            if state[0] == "X" and prev in came and prev in left:
                off, how = left[prev]
                at = off if how[0] == "R" else min(max(waked.get(prev, 0), off), came[prev])
                ends[prev] = [1000 * ms for ms in (now - came[prev], at - off, came[prev] - at)]
            cpus[cpu], came[then], left[prev] = (now, then), now, (now, state)
            waked.pop(prev, None)
        found = WAKING.search(line)
        if found:
            waked[int(found[2])] = float(found[1])
    return holes, ends


def summary(source):
    """tid -> run time in ms, of perf sched timehist -s."""
    text = run(PERF, "sched", "timehist", "-i", source, "-s").decode(errors="replace")
    found = re.findall(r"\[(\d+)(?:/\d+)?\]\s+-?\d+\s+\d+\s+(\d+\.\d+)", text)
    return {int(tid): float(ms) for tid, ms in found}


def switches(source):
    """
    Threads that were born and ended in the recording: every moment of theirs is in it. Times are
    printed in us and cut, so each row may be off by some of them. The first delay differs: timehist
    counts from the waking of the new thread, thaw from the fork. Where a hole is, timehist guesses, and thaw
    calls the time since the thread was last seen lost.
    """
    said = report(taken("sched", source))
    truth, sums = timehist(source), summary(source)
    holes, ends = holes_and_ends(source)
    assert said["losses"]["events"] == 0, said["losses"]
    checked = 0
    for t in said["threads"]:
        mine, tid = truth.get(t["tid"]), t["tid"]
        if not mine or tid not in ends or not t["comm"].startswith(("worker", "generator")):
            continue
        assert holes or not t["lost_ns"], (t, mine)
        slack = 0.003 * mine["rows"] + 0.01 + holes.get(tid, 0) + t["lost_ns"] / 1e6
        last = ends[tid]
        assert abs(t["running_ns"] / 1e6 - mine["run"] - last[0]) <= slack, (t, mine, last)
        assert abs(t["running_ns"] / 1e6 - sums[tid] - last[0]) <= slack, (t, sums[tid])
        assert abs(t["waiting_ns"] / 1e6 - mine["wait"] - last[1]) <= slack, (t, mine, last)
        assert abs(t["runnable_ns"] / 1e6 - mine["runnable"] - last[2]) <= slack + 0.3, (t, mine, last)
        checked += 1
    assert checked >= 4, checked


def wakers(source):
    """As many wakings as perf has."""
    said = json.loads(run(THAW, "info", path("sched.thaw"), "--json"))
    text = run(PERF, "script", "-i", source, "-F", "event").decode()
    assert said["events_by_kind"]["waking"] == text.count("sched:sched_waking"), said["events_by_kind"]
    assert said["events_by_kind"]["switch"] == text.count("sched:sched_switch"), said["events_by_kind"]


def not_recorded(source):
    said = report(path("sched.thaw"))
    assert "samples" in said["capture"]["unseen"] and "locks" in said["capture"]["unseen"]
    assert said["capture"]["freq_hz"] is None
    code, words = fails(THAW, "export", path("sched.thaw"), "-f", "collapsed", "--kind", "cpu")
    assert code == 1 and "does not see where threads ran" in words, words


def switch_records(source):
    """--switch-events: each thread's switches, in and out, give its run time; waits have no states."""
    said = report(taken("switch", source))
    unseen = said["capture"]["unseen"]
    assert "switches" not in unseen and "states" in unseen and "wakers" in unseen
    busy = max(said["threads"], key=lambda t: t["samples"])
    clock = busy["samples"] / said["capture"]["freq_hz"]
    assert abs(busy["running_ns"] / 1e9 - clock) <= 0.25 * clock + 0.02, (busy, clock)
    assert sum(t["waiting_ns"] for t in said["threads"]) > 0


# ---- others ----

def facts(source):
    said = report(taken("facts", source))["capture"]
    head = run(PERF, "report", "--header-only", "-i", source).decode()
    assert f"# hostname : {said['host']}\n" in head and f"# os release : {said['kernel']}\n" in head
    assert " ".join(said["command"]) in head, said["command"]
    assert said["freq_hz"] == 997 and said["engine"] == "import"
    for what in ("switches", "wakers", "locks"):
        assert what in said["unseen"], said["unseen"]


def pipe_form():
    with open(path("pipe.data"), "wb") as out:
        subprocess.run([PERF, "record", "-g", "-F", "997", "-o", "-", "--",
                        os.path.join(LOAD, "stacks"), "cpu", "0.5"],
                       stdout=out, stderr=subprocess.DEVNULL, check=True)
    samples("pipe", path("pipe.data"))


def fold():
    lines = ["worker;main;serve;read_[k];wait_[k] 7", "worker;main;serve;parse_[i];scan_[i] 5",
             "main;main;sleep 11", "main;[no stack] 2"]
    source = path("a.folded")
    with open(source, "w", encoding="utf-8") as out:
        out.write("# a comment\n" + "\n".join(lines) + "\n")
    file = taken("folded", source)
    said = report(file)
    assert {t["comm"]: t["samples"] for t in said["threads"]} == {"worker": 12, "main": 13}
    assert "times" in said["capture"]["unseen"] and "switches" in said["capture"]["unseen"]
    assert [f"{k} {v}" for k, v in sorted(collapsed(file).items())] == sorted(lines)


def fold_of_functions():
    source = path("b.folded")
    with open(source, "w", encoding="utf-8") as out:
        out.write("java/lang/Thread.run;work;a 3\njava/lang/Thread.run;work;b 1.0\n")
    said = report(taken("functions", source))
    totals = {f["name"]: f["total_samples"] for f in said["functions"]}
    assert totals["java/lang/Thread.run"] == 4 and totals["a"] == 3, totals


def fold_back(name):
    """thaw's own collapsed stacks come back as they are."""
    source = path("c.folded")
    run(THAW, "export", capture(name), "-f", "collapsed", "--kind", "cpu", "-o", source)
    lines = open(source, encoding="utf-8").read()
    file = taken("back", source)
    assert run(THAW, "export", file, "-f", "collapsed", "--kind", "cpu").decode() == lines


def refused():
    with open(path("bad"), "wb") as out:
        out.write(b"\x7fELF and nothing else")
    for source, words in ((path("bad"), "neither a perf.data"), (WORK, "is a directory"),
                          (path("none"), "No such file")):
        code, said = fails(THAW, "import", source, "-o", path("never.thaw"))
        assert code == 1 and words in said, said
    with open(path("bad.folded"), "w", encoding="utf-8") as out:
        out.write("a;b 1\na;b\n")
    code, said = fails(THAW, "import", "-f", "collapsed", path("bad.folded"), "-o", path("never.thaw"))
    assert code == 1 and "line 2" in said, said
    assert not os.path.exists(path("never.thaw"))


def cut(source):
    """Cut anywhere: it says so, or what was wrong; it never crashes."""
    whole = open(source, "rb").read()
    told = 0
    for n in sorted({1, 9, 50, 104, 200, 1000, *range(0, len(whole), max(1, len(whole) // 40))}):
        with open(path("cut.data"), "wb") as out:
            out.write(whole[:n])
        done = subprocess.run([THAW, "import", path("cut.data"), "-o", path("cut.thaw")],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        said = done.stderr.decode()
        assert done.returncode in (0, 1) and said.startswith("thaw"), (n, done.returncode, said)
        assert done.returncode == 1 or "not whole" in said, (n, said)
        told += done.returncode == 0
    assert told > 5, told


def nanoseconds(value, where=""):
    """Every number in JSON that is called a time."""
    if isinstance(value, (dict, list)):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from nanoseconds(one, f"{where}.{key}")
    elif value is not None and (where.endswith("_ns") or where.endswith(".ts")):
        yield where


def timeless(file):
    """A file of counts: no output makes times up, and all have the 40 samples."""
    told = json.loads(run(THAW, "report", file, "--json"))
    assert not list(nanoseconds(told)), list(nanoseconds(told))
    assert [t["samples"] for t in told["threads"]] == [40], told["threads"]
    assert told["capture"]["cpus"] is None and told["capture"]["freq_hz"] is None, told["capture"]
    assert not list(nanoseconds(json.loads(run(THAW, "info", file, "--json"))))
    lines = [json.loads(line) for line in run(THAW, "export", file, "-f", "jsonl").splitlines()]
    assert not list(nanoseconds(lines)) and sum(one["type"] == "sample" for one in lines) == 40
    run(THAW, "export", file, "-f", "sqlite", "-o", path("piped.sqlite"))
    with sqlite3.connect(path("piped.sqlite")) as db:
        tables = [{name: db.execute(sql).fetchall() for name, sql in TIMES.items()}]
    tables.append({name: [tuple(row.values()) for row in json.loads(run(THAW, "sql", "--json", file, sql))]
                   for name, sql in TIMES.items()})
    for rows in tables:
        assert rows["samples"] == [(40, 0, 0)], rows
        assert all(cell is None for name in ("capture", "threads") for row in rows[name] for cell in row), rows
    speed = json.loads(run(THAW, "export", file, "-f", "speedscope"))["profiles"]
    assert [(p["unit"], p["endValue"], sum(p["weights"])) for p in speed] == [("none", 40, 40)], speed
    code, words = fails(THAW, "diff", file, capture("story"))
    assert code == 1 and "no times" in words, words
    run(THAW, "export", file, "-f", "perfdata", "-o", path("piped.data"))
    seen = script(path("piped.data"), "comm", "tid", "period").split()
    assert seen == ["prog", "1", "1"] * 40, seen[:12]
    code, words = fails(PERF, "script", "-i", path("piped.data"), "-F", "time")
    assert code and "do not have TIME" in words, words


TIMES = {
    "capture": "SELECT begin_unix_ns, duration_ns FROM capture",
    "threads": "SELECT start, \"end\", wall_ns, running_ns, runnable_ns, waiting_ns, lost_ns, unseen_ns "
               "FROM threads",
    "samples": "SELECT count(*), count(ts), count(cpu) FROM samples",
}


def by_pipe():
    """As flamegraph's scripts hand it on; a file of counts has no times, and none are shown."""
    text = b"prog;main;work 30\nprog;main 10\n"
    run(THAW, "import", "-", "-q", "-o", path("piped.thaw"), input=text)
    back = run(THAW, "export", path("piped.thaw"), "-f", "collapsed", "--kind", "cpu")
    assert sorted(back.split(b"\n")) == sorted(text.split(b"\n")), back
    said = run(THAW, "report", path("piped.thaw")).decode()
    assert "No times were recorded" in said and re.search(r"prog +\d+ +40 +100%", said), said
    assert not re.search(r"\d(ns|us|ms|s)\b", said.split("Hottest")[0]), said
    timeless(path("piped.thaw"))
    done = subprocess.run([THAW, "import", "-", "-o", path("none.thaw")], stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1 and b"is empty" in done.stderr, done.stderr


test("import -: collapsed stacks from a pipe", by_pipe)
stacks = [os.path.join(LOAD, "stacks"), "cpu", "1"]
fp = record("fp", "record", "-g", "-F", "997", "--", *stacks)
if not fp:
    print("skip the rest of formats/import: perf may not record here")
    raise SystemExit(0)
test("import perf record -g: its samples", samples, "fp", fp)
test("import perf record -g: there and back", there_and_back, "fp", fp)
test("import perf record -g: what it says of itself", facts, fp)
test("import perf record: samples without stacks", samples, "flat",
     record("flat", "record", "-F", "997", "--", *stacks))
# Some 8 MB a second: with its usual buffer perf loses some where it does not run for 60 ms.
dwarf = record("dwarf", "record", "-m", "16M", "--call-graph", "dwarf", "-F", "997", "--", *stacks)
test("import perf record --call-graph dwarf: its samples", samples, "dwarf", dwarf)
test("import perf record --call-graph dwarf: its stacks", unwound, dwarf)
test("import perf record -z: its samples", samples, "zstd",
     record("zstd", "record", "-z", "-g", "-F", "997", "--", *stacks))
test("import perf record -o -: the pipe form", pipe_form)
server = os.path.join(LOAD, "server")
test("import perf record --switch-events", switch_records,
     record("switch", "record", "--switch-events", "-F", "997", "--", server, "--seconds", "1"))
sched = record("sched", "sched", "record", "--", server, "--seconds", "1")
for what, function in (("run, wait and delay as timehist has them", switches),
                       ("every switch and waking", wakers), ("what was not recorded", not_recorded)):
    if sched:
        test(f"import perf sched record: {what}", function, sched)
    else:
        print(f"skip import perf sched record: {what}: perf may not here")
for each in captures():
    test(f"import offcpu-time: the waits of {each}", measured, each)
test("import collapsed: counts and names", fold)
test("import collapsed: without threads", fold_of_functions)
test("import collapsed: there and back", fold_back, "story")
test("import: what makes no sense is refused", refused)
test("import: a perf.data that is cut off", cut, fp)
