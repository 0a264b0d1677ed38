# SPDX-License-Identifier: MIT
"""The measurement of locks: j. As in measures.py."""

import os

import proc
import recorders
from figures import Table, percent, spread
from measures import NOISE, present, rotated
from recorders import recording

# The cases of workload/contend, and what is contended in them.
CASES = {"mutex": "a user-space mutex, threads asleep behind it",
         "pipe": "a pipe's mutex, inside the kernel",
         "rename": "a directory's rwsem, inside the kernel"}


def throughput(setting):
    """j: what gets done behind a contended lock while somebody records."""
    keys = present(setting, ["thaw", "offcputime", "lock"])
    length, tries = "0.5", 4
    rounds = setting.pick(6, 2)
    contend = os.path.join(setting.build, "workload", "contend")

    def rate(case):
        best = 0.0
        for _ in range(tries):
            truth = proc.run_json([contend, case, "--seconds", length], setting.dir)
            best = max(best, truth["ops"] / truth["ns"] * 1e9)
        return best

    def one(key, case):
        if key is None:
            return rate(case)
        r, got = recording(key, setting, lambda: rate(case))
        r.discard()
        return got

    t = Table("Throughput behind a contended lock",
              "Four threads behind one lock: " +
              "; ".join(f"{k}: {v}" for k, v in CASES.items()) +
              f". Operations a second while the whole machine is recorded, the best of {tries} "
              f"times {length} s (others on the machine only take away), as a share of those "
              f"without a recorder: the best of {rounds} rounds each; and the spread of the rounds, "
              "each against its own run without.",
              ["recorder"] + [x for c in CASES for x in (c, "spread")])
    spreads = {}
    for case in CASES:
        rates = {k: [] for k in [None] + keys}
        for i in range(rounds):
            for key in rotated([None] + keys, i):
                rates[key].append(one(key, case))
                recorders.settle()
            setting.say(f"j {case} {i}: " + ", ".join(f"{k or 'nothing'} {v[-1]:.0f}/s"
                                                      for k, v in rates.items()))
        still = max(rates[None])
        spreads[None, case] = [x / still for x in rates[None]]
        for k in keys:
            spreads[k, case] = [a / b for a, b in zip(rates[k], rates[None])]
            t.values[f"kept.{k}.{case}"] = max(rates[k]) / still
    for k in [None] + keys:
        cells = []
        for case in CASES:
            cells += [percent(t.values[f"kept.{k}.{case}"]) if k else "",
                      spread(spreads[k, case], percent)]
        t.add(recorders.name(k) if k else "nothing (its own spread)", *cells)
    t.notes.append(NOISE)
    return t


ALL = {"j": throughput}
