# SPDX-License-Identifier: MIT
"""The measurement of a capture as long as an hour of a busy server: r. As in measures.py."""

import os

import proc
from figures import Table, median, number, seconds, spread

EVENTS = 100_000_000


def record(setting, length):
    """Every CPU switches as fast as it can: (path, events, ns)."""
    path = os.path.join(setting.dir, "hour.thaw")
    proc.run([setting.thaw, "record", "-q", "--max-overhead", "100", "-o", path, "--",
              setting.workload, "pingpong2", "--seconds", str(length)], setting.dir)
    info = proc.run_json([setting.thaw, "info", path, "--json"], setting.dir)
    return path, info["events"], info["duration_ns"]


def hour(setting):
    """r: from a large file to an answer."""
    if not setting.has_thaw:
        raise proc.Skipped("thaw is not built")
    want, rounds = setting.pick(EVENTS, EVENTS // 20), setting.pick(3, 1)
    _, got, ns = record(setting, 2)
    path, events, ns = record(setting, max(1, round(1.05 * want * ns / got / 1e9)))
    size = os.path.getsize(path) / 1e6
    t = Table("A hundred million events",
              f"A pair of processes on every CPU hands a byte to and fro for {ns / 1e9:.0f} s: {events:,} events "
              f"in {size:.0f} MB, as many as an hour of a busy server has. From the file, in the page cache, to an "
              f"answer, output to a file; medians of {rounds} rounds.",
              ["command", "wall", "spread", "CPU", "memory MiB"])
    for words in ("report", "report --json"):
        runs = [proc.run([setting.thaw, *words.split(), path], setting.dir)[0] for _ in range(rounds)]
        walls, peak = [r.wall for r in runs], max(r.peak_kib for r in runs) / 1024
        t.add(f"thaw {words}", seconds(median(walls)), spread(walls, seconds),
              seconds(median([r.cpu() for r in runs])), number(peak))
        setting.say(f"r: {words}: {median(walls):.2f} s, {peak:.0f} MiB")
        if words == "report":
            t.values = {"hour.report": median(walls) * EVENTS / events, "hour.memory": peak}
    os.unlink(path)
    return t


ALL = {"r": hour}
