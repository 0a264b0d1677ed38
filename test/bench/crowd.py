# SPDX-License-Identifier: MIT
"""The measurement of many threads behind one lock: p. As in measures.py."""

import os

import proc
from figures import Table, median, number, seconds, spread

EVENTS = 5000000
THREADS = (1250, 5000, 20000)


def crowd(setting):
    """p: from the file to an answer, when very many threads wait for one lock."""
    maker = os.path.join(setting.build, "bench", "make_growth")
    if not setting.has_thaw or not os.access(maker, os.X_OK):
        raise proc.Skipped("thaw or bench/make_growth is not built")
    events = setting.pick(EVENTS, EVENTS // 10)
    rounds = setting.pick(5, 2)
    t = Table("Many threads behind one lock",
              f"Generated captures of {events:,} events (test/growth/make_growth.c): so many threads that "
              "want one lock in turn, each behind all the others, with samples and stacks. Output to a "
              f"file; medians of {rounds} rounds. What each lost to each other would be the square of "
              "their number.",
              ["threads", "command", "wall", "spread", "CPU", "memory MiB"])
    for threads in THREADS:
        path = os.path.join(setting.dir, "crowd.thaw")
        proc.run([maker, path, f"threads={threads}", f"events={events}", "calls=3"], setting.dir)
        for words in ("report", "report --json", "locks"):
            runs = [proc.run([setting.thaw, *words.split(), path], setting.dir)[0] for _ in range(rounds)]
            walls = [r.wall for r in runs]
            t.add(f"{threads:,}", f"thaw {words}", seconds(median(walls)), spread(walls, seconds),
                  seconds(median([r.cpu() for r in runs])), number(max(r.peak_kib for r in runs) / 1024))
            setting.say(f"p: {threads} threads, {words}: {median(walls):.2f} s")
            if words == "report":
                t.values[f"crowd.report.{threads}.{events}"] = median(walls)
        os.unlink(path)
    return t


ALL = {"p": crowd}
