# SPDX-License-Identifier: MIT
"""The measurement of the recorder on simulated rings: s. As in measures.py."""

import os

import proc
from figures import Table, median, number, spread

CPUS = (1, 16, 64)
SWITCHES = 600000


def feed(setting):
    """s: what an event costs the recorder, from the rings of so many CPUs to the file."""
    program = os.path.join(setting.build, "bench", "recorder")
    if not os.access(program, os.X_OK):
        raise proc.Failed("the program that feeds rings is not there: make bench builds it")
    rounds = setting.pick(7, 3)
    out = os.path.join(setting.dir, "feed.thaw")
    got = {n: [] for n in CPUS}
    for i in range(rounds):
        for n in CPUS:
            got[n].append(proc.run_json([program, str(n), str(SWITCHES), out], setting.dir))
        setting.say(f"s {i}: " + ", ".join(
            f"{n} CPUs {got[n][-1]['recorder_ns'] / got[n][-1]['events']:.1f} ns an event" for n in CPUS))
    os.unlink(out)
    t = Table("What an event costs the recorder",
              "A simulator fills the rings of so many CPUs with what the probes write under a mixed load, 15,000 "
              "switches a second and CPU by a simulated clock, and thaw's own code empties them: ring, order, "
              f"collector, file. CPU time, medians of {rounds} rounds with {SWITCHES:,} switches each: of the "
              "thread that empties the rings, and of the one that compresses and writes. No waking up is in it. "
              "Lost: what found no room in a ring, or is not in the file.",
              ["CPUs", "events", "ns an event", "spread", "writing", "spread", "ns a switch, both", "bytes a switch",
               "lost"])
    for n in CPUS:
        own, disk = ([x[k] / x["events"] for x in got[n]] for k in ("recorder_ns", "disk_ns"))
        both = [(x["recorder_ns"] + x["disk_ns"]) / x["switches"] for x in got[n]]
        last, lost = got[n][-1], sum(x["lost"] for x in got[n])
        t.add(n, f"{last['events']:,}", number(median(own)), spread(own, number), number(median(disk)),
              spread(disk, number), number(median(both)), number(last["bytes"] / last["switches"]), f"{lost:,}")
        t.values[f"feed.lost.{n}"] = lost
    return t


ALL = {"s": feed}
