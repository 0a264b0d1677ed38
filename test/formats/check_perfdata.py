# SPDX-License-Identifier: MIT
"""perf.data, as perf itself reads it: counts, periods, names and stacks are thaw's own."""
import re
import subprocess

from common import THAW, capture, captures, export, need, refuses_waits, report, run, test

PERF = need("perf", "linux-perf")
HEAD = re.compile(r"(?P<comm>.*?)\s+(?P<pid>\d+)/(?P<tid>\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<time>[\d.]+):"
                  r"\s+(?P<period>\d+)\s+(?P<event>[\w-]+):(?P<chain>[\s0-9a-f]*)$", re.DOTALL)


def script(path):
    """The samples as perf script has them. A thread's name may have anything in it but an empty line."""
    text = run(PERF, "script", "--ns", "-i", path, "-F", "comm,pid,tid,cpu,time,period,event,ip",
               "--no-inline").decode(errors="replace")
    out = []
    for block in text.split("\n\n"):
        if not block.strip():
            continue
        one = HEAD.match(block).groupdict()
        seconds, ns = one["time"].split(".")
        out.append({"comm": one["comm"].strip(), "pid": int(one["pid"]), "tid": int(one["tid"]),
                    "ns": int(seconds) * 10**9 + int(ns), "period": int(one["period"]),
                    "event": one["event"], "chain": [int(x, 16) for x in one["chain"].split()]})
    return out


def by_tid(samples, event, value):
    sums = {}
    for s in samples:
        if s["event"] == event:
            sums[s["tid"]] = sums.get(s["tid"], 0) + value(s)
    return sums


def of_threads(threads, key):
    sums = {}
    for t in threads:
        if t[key]:
            sums[t["tid"]] = sums.get(t["tid"], 0) + t[key]
    return sums


def totals(name, *options):
    samples = script(export(name, "perfdata", *options, suffix=".all"))
    threads = report(name, "--top", "100000", *options)["threads"]
    assert by_tid(samples, "cpu-clock", lambda s: 1) == of_threads(threads, "samples")
    assert by_tid(samples, "offcpu-time", lambda s: s["period"]) == of_threads(threads, "waiting_ns")


def names(name):
    """The name that perf has for each thread's samples is one that thaw has for it."""
    samples = script(export(name, "perfdata", suffix=".names"))
    known = {t["tid"]: t["comm"] for t in report(name, "--top", "100000")["threads"]}
    assert samples
    last = {}
    for s in samples:
        last[s["tid"]] = s["comm"]
    for tid, comm in last.items():
        assert comm == known[tid][:15].strip(), (tid, comm, known[tid])


def periods(name):
    samples = script(export(name, "perfdata", "--kind", "cpu", suffix=".cpu"))
    hz = report(name)["capture"]["freq_hz"]
    assert samples and all(s["event"] == "cpu-clock" for s in samples)
    assert all(s["period"] == 10**9 // hz for s in samples)


def locks_only(name):
    samples = script(export(name, "perfdata", "--kind", "lock", suffix=".lock"))
    said = report(name, "--top", "100000")
    reasons = ("mutex", "rwlock", "futex", "kernel_lock")
    want = sum(ns for t in said["threads"] for why, ns in t["waits"].items() if why in reasons)
    assert sum(s["period"] for s in samples) == want, want
    assert all(s["event"] == "offcpu-time" for s in samples)


def depth(name):
    """A stack has as many addresses as thaw's has functions that are not inlined."""
    samples = script(export(name, "perfdata", "--kind", "cpu", suffix=".depth"))
    lines = run(THAW, "export", capture(name), "-f", "collapsed", "--kind", "cpu").decode().splitlines()
    thaws, perfs = {}, {}
    for line in lines:
        stack, count = line.rsplit(" ", 1)
        frames = [f for f in stack.split(";")[1:] if not f.endswith("_[i]") and f != "[no stack]"]
        thaws[len(frames)] = thaws.get(len(frames), 0) + int(count)
    for s in samples:
        perfs[len(s["chain"])] = perfs.get(len(s["chain"]), 0) + 1
    assert thaws == perfs, (thaws, perfs)


def says_report(name):
    """perf report's own counts."""
    out = run(PERF, "report", "--stdio", "-i", export(name, "perfdata", suffix=".report"), "--header",
              "--no-children", "-g", "none").decode(errors="replace")
    said = report(name, "--top", "100000")
    for want in (f"hostname : {said['capture']['host']}", f"os release : {said['capture']['kernel']}"):
        assert not said["capture"]["host"] or want in out, want
    events = re.findall(r"of event '([\w-]+)'\n# Event count \(approx\.\): (\d+)", out)
    sums = {event: int(count) for event, count in events}
    assert sums.get("offcpu-time", 0) == sum(t["waiting_ns"] for t in said["threads"]), sums


def to_a_pipe(name):
    path = export(name, "perfdata", suffix=".file")
    with subprocess.Popen([THAW, "export", capture(name), "-f", "perfdata"],
                          stdout=subprocess.PIPE) as child:
        assert child.stdout.read() == open(path, "rb").read()
        assert child.wait() == 0


def one_thread(name):
    comm = max(report(name, "--top", "100000")["threads"], key=lambda t: t["samples"])["tid"]
    samples = script(export(name, "perfdata", "--thread", str(comm), suffix=".thread"))
    assert samples and all(s["tid"] == comm for s in samples)


def a_window(name):
    half = report(name)["capture"]["duration_ns"] // 2
    totals(name, "--from", f"{half // 2}ns", "--to", f"{half}ns")


def without_waits():
    samples = script(export("ctimer", "perfdata", suffix=".all"))
    assert by_tid(samples, "cpu-clock", lambda s: 1) == \
        of_threads(report("ctimer", "--top", "100000")["threads"], "samples")
    assert all(s["event"] == "cpu-clock" for s in samples)
    refuses_waits("perfdata")


for each in captures():
    test(f"perfdata {each}: perf has the report's samples and waits", totals, each)
    test(f"perfdata {each}: perf has the report's names", names, each)
    test(f"perfdata {each}: a sample's period", periods, each)
    test(f"perfdata {each}: stacks are as deep", depth, each)
    test(f"perfdata {each}: perf report's sums and header", says_report, each)
    test(f"perfdata {each}: a pipe gets the same bytes", to_a_pipe, each)
    test(f"perfdata {each}: one thread", one_thread, each)
    test(f"perfdata {each}: a window", a_window, each)
    if "locks" in each or each == "demo":
        test(f"perfdata {each}: waits for locks", locks_only, each)
test("perfdata ctimer: no waits, and it says so", without_waits)
for each in ("names", "lost"):
    if capture(each):
        test(f"perfdata {each}: perf has the report's samples and waits", totals, each)


def nothing():
    assert script(export("empty", "perfdata", suffix=".all")) == []


if capture("empty"):
    test("perfdata empty: perf reads it, and finds nothing", nothing)
