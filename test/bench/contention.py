# SPDX-License-Identifier: MIT
"""The measurement of locks: j. As in measures.py."""

import json
import os
import time

import proc
import recorders
from figures import Table, median, percent, spread
from measures import NOISE, present, rotated
from recorders import recording

# The cases of workload/contend, and what is contended in them.
CASES = {"mutex": "a user-space mutex, threads asleep behind it",
         "pipe": "a pipe's mutex, inside the kernel",
         "rename": "a directory's rwsem, inside the kernel"}
SLICE_MS = 20


class Load:
    """A case that runs, and how much it got done when."""

    def __init__(self, setting, case):
        self.out = os.path.join(setting.dir, "contend.out")
        self.child = proc.Child([os.path.join(setting.build, "workload", "contend"), case,
                                 "--seconds", "300", "--every", str(SLICE_MS)], self.out,
                                os.path.join(setting.dir, "contend.err"))

    def rates(self):
        """Ends it: [(from, to, operations a nanosecond)]."""
        self.child.finish(10)
        with open(self.out, encoding="utf-8") as f:
            got = json.load(f)["slices"]
        return [(a, b, (m - n) / (b - a)) for (a, n), (b, m) in zip(got, got[1:])]


def within(rates, spans):
    return [r for a, b, r in rates for x, y in spans if x <= a and b <= y]


def throughput(setting):
    """j: what gets done behind a contended lock while somebody records."""
    keys = present(setting, ["thaw", "offcputime", "lock"])
    on, off = 1.0, 0.5
    rounds = setting.pick(8, 3)

    def one(key, case):
        """The recorder comes and goes while the load runs: (with, without), a second."""
        load = Load(setting, case)
        quiet, busy = [], []

        def span(seconds, into):
            begin = time.monotonic_ns()
            time.sleep(seconds)
            into.append((begin, time.monotonic_ns()))

        time.sleep(0.2)
        span(off, quiet)
        r, _ = recording(key, setting, lambda: span(on, busy))
        r.discard()
        recorders.settle()
        span(off, quiet)
        rates = load.rates()
        return median(within(rates, busy)), median(within(rates, quiet))

    t = Table("Throughput behind a contended lock",
              "Four threads behind one lock, bound to the CPUs in turn: " +
              "; ".join(f"{k}: {v}" for k, v in CASES.items()) +
              f". What a running program gets done in {SLICE_MS} ms (the median) while the whole "
              f"machine is recorded for {on:g} s, as a share of what the same run gets done before "
              f"and after: the median of {rounds} rounds, and their spread.",
              ["recorder"] + [x for c in CASES for x in (c, "spread")])
    shares = {(k, c): [] for k in keys for c in CASES}
    for case in CASES:
        for i in range(rounds):
            for key in rotated(keys, i):
                with_it, without = one(key, case)
                shares[key, case].append(with_it / without)
            setting.say(f"j {case} {i}: " +
                        ", ".join(f"{k} {percent(shares[k, case][-1])}" for k in keys))
    for k in keys:
        cells = []
        for case in CASES:
            t.values[f"kept.{k}.{case}"] = median(shares[k, case])
            cells += [percent(median(shares[k, case])), spread(shares[k, case], percent)]
        t.add(recorders.name(k), *cells)
    t.notes.append(NOISE)
    return t


ALL = {"j": throughput}
