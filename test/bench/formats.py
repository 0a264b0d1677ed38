# SPDX-License-Identifier: MIT
"""The measurements of exports, SQL and imports: m, n, o. As in measures.py."""

import os
import re
import shutil

import page
import proc
from figures import Table, median, number, ratio, seconds, spread

# The same questions to thaw, whose tables of sums are for these, and to SQLite, as one would ask it. Those
# that group all intervals are the goal's: SQLite sorts for them. What is only added up, or of a part of the
# rows, needs less, and SQLite is fast at it too.
SUMS = {
    "by kind": ("SELECT kind, sum(intervals), sum(total_ns) FROM interval_sums GROUP BY kind",
                "SELECT kind, count(*), sum(ns) FROM intervals GROUP BY kind"),
    "by reason": ("SELECT reason, sum(waits), sum(total_ns), max(max_ns) FROM wait_sums GROUP BY reason",
                  "SELECT reason, count(*), sum(ns), max(ns) FROM waits GROUP BY reason"),
    "by thread": ("SELECT thread_id, sum(intervals), sum(total_ns) FROM interval_sums GROUP BY thread_id",
                  "SELECT thread_id, count(*), sum(ns) FROM intervals GROUP BY thread_id"),
    "all in one": ("SELECT sum(intervals), sum(total_ns) FROM interval_sums",
                   "SELECT count(*), sum(ns) FROM intervals"),
}
ROWS = {f"{name}, row by row": (asked, asked) for name, (_, asked) in SUMS.items()}
QUESTIONS = SUMS | ROWS


def recordings(setting):
    """A small and a large one: those of the page, if they were made."""
    if not getattr(setting, "made", None):
        setting.made = page.captures(setting)
    return setting.made[-2:]


def formats(setting):
    """The names of all formats."""
    _, out = proc.run([setting.thaw, "export", "--list"], setting.dir)
    with open(out, encoding="utf-8") as f:
        return re.findall(r"^\| `(\w+)`", f.read(), re.M)


def mib(child):
    """The most memory that a process had at once."""
    return child.peak_kib / 1024


def exports(setting):
    """m: what it takes to hand a recording to another tool."""
    small, large = recordings(setting)
    t = Table("Handing it to other tools: exports",
              f"`thaw export` of recordings of the mixed load, of {small['events']:,} and of "
              f"{large['events']:,} events, to a file. Time and size are those of the large one. The "
              "memory of both: that of an export that streams does not grow with the events.",
              ["format", "time", "CPU", "MB", "bytes an event", "memory MiB, small", "large"])
    worst = 0
    for form in formats(setting):
        most = []
        for c in (small, large):
            out = os.path.join(setting.dir, f"export.{form}")
            child, _ = proc.run([setting.thaw, "export", c["file"], "-f", form, "-o", out],
                                setting.dir, timeout=900)
            most.append(mib(child))
            size = os.path.getsize(out)
            os.unlink(out)
        t.add(form, seconds(child.wall), seconds(child.cpu()), f"{size / 1e6:.1f}",
              f"{size / large['events']:.1f}", number(most[0]), number(most[1]))
        worst = max(worst, most[1])
        setting.say(f"m: {form} {child.wall:.1f} s, {most[1]:.0f} MiB")
    t.values["export.memory"] = worst
    return t


def forget(path):
    """Its pages leave the page cache."""
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def ask(setting, capture, base, question, rounds):
    """The times of one question: {"thaw", "cold", "warm"}. The answers must be the same."""
    mine, theirs = question
    jobs = {"thaw": ([setting.thaw, "sql", "--csv", capture, mine], capture),
            "cold": (["sqlite3", "-csv", "-header", base, theirs], base),
            "warm": (["sqlite3", "-csv", "-header", base, theirs], None)}
    times = {k: [] for k in jobs}
    said = {}
    for _ in range(rounds):
        for key, (argv, cold) in jobs.items():
            if cold:
                forget(cold)
            child, out = proc.run(argv, setting.dir)
            times[key].append(child.wall)
            with open(out, encoding="utf-8") as f:
                said[key] = f.read().splitlines()[1:]
    if not said["thaw"] or said["thaw"] != said["cold"]:
        raise proc.Failed(f"thaw sql and SQLite do not agree: {question}: {said}")
    return times


def sql(setting):
    """n: from the file to an answer in SQL."""
    if not shutil.which("sqlite3"):
        raise proc.Skipped("there is no sqlite3")
    large = recordings(setting)[-1]
    base = os.path.join(setting.dir, "large.db")
    made, _ = proc.run([setting.thaw, "export", large["file"], "-f", "sqlite", "-o", base],
                       setting.dir, timeout=900)
    rounds = setting.pick(5, 2)
    t = Table("From the file to an answer in SQL",
              f"Questions over the intervals of {large['events']:,} events: with thaw sql, which reads the "
              "capture, and with sqlite3 on the database that thaw export -f sqlite made of it "
              f"({os.path.getsize(base) / 1e6:.0f} MB, which took {seconds(made.wall)}). Each in a new "
              "process. Cold: nothing of the file is in the page cache, for thaw sql too; then sqlite3 once "
              f"more. Medians of {rounds}; times thaw's: of sqlite3, cold and once more.",
              ["question", "thaw sql", "spread", "sqlite3, cold", "spread", "once more", "times thaw's",
               "once more"])
    ratios = {}
    for name, question in QUESTIONS.items():
        times = ask(setting, large["file"], base, question, rounds)
        thaw, cold, warm = (median(times[k]) for k in ("thaw", "cold", "warm"))
        ratios[name] = cold / thaw
        t.add(name, seconds(thaw), spread(times["thaw"], seconds), seconds(cold),
              spread(times["cold"], seconds), seconds(warm), ratio(cold / thaw), ratio(warm / thaw))
        if name in SUMS:
            t.notes.append(f"- {name}: `{question[0]}`; sqlite3, and thaw row by row: `{question[1]}`")
        setting.say(f"n: {name}: thaw {thaw:.2f} s, cold {cold:.2f} s, warm {warm:.2f} s")
    t.values = {"sql.cold": min(ratios[name] for name in SUMS if "GROUP" in SUMS[name][1])}
    os.unlink(base)
    return t


def imports(setting):
    """o: a recording of perf's, made a capture."""
    if not shutil.which("perf"):
        raise proc.Skipped("there is no perf")
    path = os.path.join(setting.dir, "perf.data")
    proc.run(["perf", "sched", "record", "-o", path, setting.workload, "mixed",
              str(setting.pick(20, 3))], setting.dir)
    capture = os.path.join(setting.dir, "imported.thaw")
    jobs = {"thaw": ("thaw import", [setting.thaw, "import", path, "-o", capture]),
            "script": ("perf script", ["perf", "script", "-i", path])}
    times = {k: [] for k in jobs}
    most = {}
    for i in range(setting.pick(5, 2)):
        for key, (_, argv) in jobs.items():
            child, _ = proc.run(argv, setting.dir, timeout=900)
            times[key].append((child.wall, child.cpu()))
            most[key] = mib(child)
            if os.path.exists(capture) and i + 1 < setting.pick(5, 2):
                os.unlink(capture)
        setting.say(f"o {i}: " + ", ".join(f"{k} {v[-1][0]:.2f} s" for k, v in times.items()))
    t = Table("From others' recordings: import",
              f"A perf.data of {os.path.getsize(path) / 1e6:.0f} MB of `perf sched record` on the mixed "
              f"load, made a capture of {os.path.getsize(capture) / 1e6:.1f} MB; beside it perf script, "
              f"its output to a file. Medians of {len(times['thaw'])}.",
              ["command", "time", "spread", "CPU", "memory MiB", "times thaw's"])
    wall = {k: [x[0] for x in v] for k, v in times.items()}
    for key, (words, _) in jobs.items():
        t.add(words, seconds(median(wall[key])), spread(wall[key], seconds),
              seconds(median([x[1] for x in times[key]])), number(most[key]),
              "" if key == "thaw" else ratio(median(wall[key]) / median(wall["thaw"])))
    t.values["import.script"] = median(wall["script"]) / median(wall["thaw"])
    return t


ALL = {"m": exports, "n": sql, "o": imports}
