# SPDX-License-Identifier: MIT
"""The measurement of interrupted rings: k. As in measures.py."""

import proc
from figures import Table, number, spread

RINGS = {"kernel_ring": "the kernel's ring buffer", "thaw_ring": "thaw's ring"}


def interrupted(setting):
    """k: what it costs to be interrupted in the middle of a record by somebody with another."""
    if not setting.has_thaw:
        raise proc.Skipped("thaw is not built")
    runs = []
    for i in range(setting.pick(5, 2)):
        runs.append(proc.run_json([setting.thaw, "doctor", "--probe", "--json"], setting.dir)["probe"])
        refused = runs[-1]["refused"] or any(runs[-1][r]["why_not"] for r in RINGS)
        if refused:
            raise proc.Skipped(f"thaw doctor --probe: {refused}")
        setting.say(f"k {i}: " + ", ".join(f"{RINGS[r]} {runs[-1][r]['worst_ns'] / 1e3:.1f} us"
                                           for r in RINGS))
    t = Table("A record interrupted by another",
              "How long a record takes that interrupts another one. A hardware breakpoint on the ring's "
              "position, which is written in the middle of making a record, runs a program that makes "
              f"another one in the same ring. {len(runs)} runs of `thaw doctor --probe`; the worst of each "
              "run includes what the hypervisor took away meanwhile.",
              ["ring", "tries", "lost", "mean ns", "99% within, ns", "worst ns",
               "worst of each run"])
    for key, words in RINGS.items():
        rows = [r[key] for r in runs]
        worst = [r["worst_ns"] for r in rows]
        t.values[f"nested.{key}"] = max(worst)
        t.add(words, number(sum(r["tries"] for r in rows)), number(sum(r["failed"] for r in rows)),
              number(sum(r["mean_ns"] for r in rows) / len(rows)),
              number(max(r["p99_ns"] for r in rows)), number(max(worst)), spread(worst, number))
    return t


ALL = {"k": interrupted}
