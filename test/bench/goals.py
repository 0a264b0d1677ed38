# SPDX-License-Identifier: MIT
"""What thaw promises in figures, and whether this run bears it out. A row is a goal."""

from figures import ratio

# words, the figure (a function of the measured values), the comparison, the limit
GOALS = [
    ("added time per switch, as a share of perf sched record's",
     lambda v: v["added.thaw"] / v["added.sched"], "<=", 0.35),
    ("added time per switch, as a share of offcputime's",
     lambda v: v["added.thaw"] / v["added.offcputime"], "<=", 0.15),
    ("added time per switch, ns", lambda v: v["added.thaw"], "<=", 250),
    ("added time per wait with both stacks of each (--all-stacks), ns", lambda v: v["added.thawall"], "<=", 600),
    ("samples at 999 Hz of a program that only computes, slowdown", lambda v: v["slow.thaw999"], "<=", 0.01),
    ("samples with whole stacks at 999 Hz, slowdown", lambda v: v["deep.thaw999"], "<=", 0.01),
    ("samples with whole stacks at 999 Hz, slowdown, as a share of perf record -g's",
     lambda v: v["deep.thaw999"] / v["deep.perf999"], "<=", 1),
    ("the recorder's own CPU time, as a share of one CPU", lambda v: v["cpu.thaw"], "<=", 0.006),
    ("the recorder's own CPU time, ns per switch", lambda v: v["collect.thaw"], "<=", 200),
    ("bytes per switch", lambda v: v["bytes.thaw"], "<=", 10),
    ("file size, as a share of perf sched record's",
     lambda v: v["bytes.thaw"] / v["bytes.sched"], "<=", 0.05),
    ("file size, as a share of perf record -g's",
     lambda v: v["bytes.thaw"] / v["bytes.switchg"], "<=", 0.05),
    ("bytes per sample, as a share of perf record --call-graph dwarf's",
     lambda v: v["sample.thaw999"] / v["sample.dwarf999"], "<=", 0.02),
    ("report, time per switch: times faster than perf sched timehist",
     lambda v: v["waited.timehist"] / v["waited.thaw"], ">=", 10),
    ("report, CPU time per switch: times faster than perf sched timehist",
     lambda v: v["report.timehist"] / v["report.thaw"], ">=", 10),
] + [
    (f"throughput behind a contended lock ({case}), as a share of untraced",
     lambda v, c=case: v[f"kept.thaw.{c}"], ">=", 0.97) for case in ("mutex", "pipe", "rename")
] + [
    (f"throughput behind a contended lock ({case}), times {peer}'s",
     lambda v, c=case, p=peer: v[f"kept.thaw.{c}"] / v[f"kept.{p}.{c}"], ">=", 1)
    for case in ("mutex", "pipe", "rename") for peer in ("offcputime", "lock")
] + [
    ("the worst interrupted record, as a share of the kernel ring buffer's",
     lambda v: v["nested.thaw_ring"] / v["nested.kernel_ring"], "<=", 0.1),
    ("worst case, same session: events lost or missing",
     lambda v: v["lost.thaw.together"] + v["missing.thaw.together"], "<=", 0),
    ("worst case, another session: events lost or missing",
     lambda v: v["lost.thaw.apart"] + v["missing.thaw.apart"], "<=", 0),
    ("page of 10 million events: seconds from `thaw view` to the first lanes",
     lambda v: v["page.first.view.10M"], "<=", 3),
    ("page of 10 million events as one file: seconds to the first lanes",
     lambda v: v["page.first.html.10M"], "<=", 2),
    ("report of 100 million events, seconds", lambda v: v["hour.report"], "<=", 10),
    ("report of 100 million events, memory in MiB", lambda v: v["hour.memory"], "<=", 1024),
] + [
    (f"page of {size.replace('M', ' million')} events: 95% of frames, as a share of 16 ms or, where "
     "that is more, of a canvas with as many rectangles",
     lambda v, s=size: v[f"page.frame.{s}"], "<=", 1) for size in ("0.1M", "1M", "10M")
] + [
    (f"page of {size.replace('M', ' million')} events: ms from a selection to its flame graph, "
     "the worst",
     lambda v, s=size: v[f"page.range.view.{s}"], "<=", 200) for size in ("0.1M", "1M", "10M")
] + [
    (f"HTML of {size.replace('M', ' million')} events: bytes an event",
     lambda v, s=size: v[f"page.bytes.{s}"], "<=", 15) for size in ("1M", "10M")
] + [
    ("HTML of the demo, MB", lambda v: v["page.demo"], "<=", 1.5),
    ("SQL over all intervals, grouped, the worst of three: times faster than the exported database, cold",
     lambda v: v["sql.cold"], ">=", 5),
    ("import of perf.data: times faster than perf script", lambda v: v["import.script"], ">=", 5),
    ("report of 20,000 threads and 5 million events behind one lock, seconds",
     lambda v: v["crowd.report.20000.5000000"], "<=", 3),
    ("from the command line to the command, ms", lambda v: v["start.thaw"], "<=", 150),
    ("a recording of next to nothing, from start to end, as a share of perf record -a -g's",
     lambda v: v["whole.thaw"] / v["whole.perf"], "<=", 0.45),
    ("from Ctrl-C to the prompt, after 10 s of the whole machine, ms", lambda v: v["stop.thaw"], "<=", 300),
] + [
    (f"simulated rings, {cpus} of them: events lost", lambda v, n=cpus: v[f"feed.lost.{n}"], "<=", 0)
    for cpus in (1, 16, 64)
]


def judge(values):
    """(words, figure, limit, verdict) for each goal; figure None where it was not measured."""
    out = []
    for words, figure, sign, limit in GOALS:
        try:
            x = figure(values)
        except (KeyError, ZeroDivisionError):
            out.append((words, None, f"{sign} {limit}", "not measured"))
            continue
        holds = x <= limit if sign == "<=" else x >= limit
        out.append((words, x, f"{sign} {limit}", "holds" if holds else "MISSED"))
    return out


def text(values):
    """For a terminal."""
    lines = ["Goals"]
    for words, x, limit, verdict in judge(values):
        figure = "-" if x is None else ratio(x)
        lines.append(f"  {verdict:<13}{words}: {figure} (goal {limit})")
    return "\n".join(lines)


def markdown(values):
    """For the document."""
    lines = ["## Goals", "", "| goal | limit | this run | |", "| --- | ---: | ---: | --- |"]
    for words, x, limit, verdict in judge(values):
        lines.append(f"| {words} | {limit} | {'-' if x is None else ratio(x)} | {verdict} |")
    return "\n".join(lines) + "\n"
