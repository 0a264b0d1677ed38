#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""thaw diff against programs that know what they did: equal runs do not differ; if one function has 5% more to do,
that function differs, and no other."""
import itertools
import json
import os
import sys

from harness import SOAK, WORKLOAD, Skip, check, record, report, run, tests_of, thaw

RUNS = 3 if SOAK > 1 else 2   # of each
ROUNDS = 2000   # some five seconds
RATE = 9999     # samples a second: 5% of a third of the time is to be seen
STAGES = ("stage_a", "stage_b", "stage_c")
CALLERS = {"stage_b", "stager_main", "start_thread", "clone3", "__clone3"}
STEADY = 0.01   # what the same work may take more, by the program's own clock, on a quiet machine


def diff(*args):
    r = thaw("diff", "--json", *args)
    check(r.returncode == 0, f"diff: exit {r.returncode}: {r.stderr.strip()}")
    return json.loads(r.stdout)


def differ(d, key):
    return {r["name"] if "name" in r else r["reason"] for r in d[key] if r["different"]}


def own(d, key):
    """The differences of the program itself. A busier machine also changes the interrupts, and the time without a
    CPU."""
    return {r["name"] for r in d[key] if r["different"] and r["module"] != "[kernel]"}


def others(d):
    return (differ(d, "functions_total") - own(d, "functions_total") | differ(d, "waits") | differ(d, "locks")
            ) - {"run_queue"}


def stages(slow, name):
    os.environ["STAGE_B_SLOW"] = str(slow)
    truth = record(["-F", RATE], [WORKLOAD, "stages", ROUNDS], name)
    return next(t for t in truth["threads"] if t["name"] == "stager")


def slower(before, after):
    """How much longer stage_b took, by the program's own clock, relative to the other stages; and how far those
    differ."""
    ratio = [after[s] / before[s] for s in STAGES]
    pace = sorted(ratio)[1]
    return ratio[1] / pace, max(abs(r / pace - 1) for r in (ratio[0], ratio[2]))


def alike():
    """Compares all pairs of equal runs; their number. In one pair, something else than the program may differ."""
    pairs = noisy = 0
    for slow, (i, k) in itertools.product((0, 5), itertools.combinations(range(RUNS), 2)):
        d = diff(f"{slow}-{i}.thaw", f"{slow}-{k}.thaw")
        check(d["method"]["per"] == "pace" and d["method"]["alpha"] == 0.01, d["method"])
        tested = {r["name"] for r in d["functions_self"] if r["tested"]}
        check(tested.issuperset(STAGES), f"only {tested} were tested")
        for key in ("functions_self", "functions_total"):
            check(not own(d, key), f"{slow}%, runs {i} and {k}: {own(d, key)}: {d['summary']}")
        pairs += 1
        noisy += bool(others(d))
        check(noisy <= 1, f"{slow}%, runs {i} and {k}: {others(d)}: {d['summary']}")
    return pairs


def test_same_and_slower():
    with open("/proc/sys/kernel/perf_event_max_sample_rate", encoding="ascii") as f:
        if int(f.read()) < RATE:
            raise Skip("the kernel takes fewer samples a second than this needs")
    truth = {(slow, i): stages(slow, f"{slow}-{i}.thaw") for i in range(RUNS) for slow in (0, 5)}
    pairs = alike()
    found = steady = 0
    for i, k in itertools.product(range(RUNS), repeat=2):
        d = diff(f"0-{i}.thaw", f"5-{k}.thaw")
        self, total = own(d, "functions_self"), own(d, "functions_total")
        check(self <= {"stage_b"}, f"runs {i} and {k}: {self}: {d['summary']}")
        check(total <= CALLERS, f"runs {i} and {k}: {total}: {d['summary']}")
        row = next(r for r in d["functions_self"] if r["name"] == "stage_b")
        got, margin = row["after"] / row["before"], row["margin"] / row["before"]
        want, off = slower(truth[0, i], truth[5, k])
        check(abs(got - 1.05) <= 1.5 * margin, f"stage_b has 5% more to do, and takes {got - 1:+.1%}")
        if off <= STEADY and abs(want - 1.05) <= STEADY:
            steady += 1
            check(abs(got - want) <= margin,
                  f"stage_b took {want - 1:+.1%} by its own clock, {got - 1:+.1%} in the recordings")
        found += bool(self)
        check(not self or row["change"] > 0 and "stage_b took " in d["summary"] or differ(d, "waits"),
              d["summary"])
    check(found >= RUNS * RUNS - 1, f"found in {found} of {RUNS * RUNS} pairs")
    return f"{pairs} pairs alike, 5% found in {found} of {RUNS * RUNS}, by its own clock in {steady}"


def test_ranges():
    """Two ranges of one steady run: the shares of its CPU time are alike, whatever else the machine did."""
    stages(0, "c.thaw")
    # How long it takes depends on the machine. The first half second is left out, and what is left halved.
    length_ms = report("c.thaw")["capture"]["duration_ns"] // 1_000_000
    half_ms = (length_ms - 700) // 2
    check(half_ms >= 500, f"a recording of {length_ms} ms is too short")
    before, after = f"500ms,{500 + half_ms}ms", f"{500 + half_ms}ms,{500 + 2 * half_ms}ms"
    for args, per in (((), "wall"), (("--per", "cpu"), "cpu"), (("--per", "cpu", "--thread", "stager"), "cpu")):
        d = diff("c.thaw", "--before", before, "--after", after, *args)
        check(d["method"]["per"] == per, d["method"])
        check(d["before"]["wall_ns"] == d["after"]["wall_ns"] == half_ms * 1_000_000, d["after"])
        check(per != "cpu" or not own(d, "functions_self"), d["summary"])
        share = sum(r["before"] for r in d["functions_self"])
        check(per != "cpu" or abs(share - 1e9) < 1e6, f"all functions have {share} of a second")


def test_waits():
    """Waits that take half as long again, by the program's own clock."""
    waits = {}
    for us in (2000, 3000):
        record([], [WORKLOAD, "waker", "307", "--delay-us", us], f"{us}.thaw")
    record([], [WORKLOAD, "waker", "307", "--delay-us", "2000"], "again.thaw")
    for other in ("3000", "again"):
        d = diff("2000.thaw", f"{other}.thaw", "--thread", "waiter", "--per", "none")
        rows = [w for w in d["waits"] if w["before_count"] >= 300 and w["reason"] != "run_queue"]
        check(len(rows) == 1 and rows[0]["tested"], f"{len(rows)} places")
        waits[other] = rows[0]
    row = waits["3000"]
    check(row["different"] and 1.2 <= row["after"] / row["before"] <= 1.8, row)
    check(not waits["again"]["different"], waits["again"])


if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
