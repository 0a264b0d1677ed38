# SPDX-License-Identifier: MIT
"""The measurements of whole stacks: g to i. As in measures.py."""

import glob
import os
import shutil
import subprocess

import proc
import recorders
from figures import Table, median, number, percent, ratio, spread
from measures import NOISE, present, rotated, share_lost, slowdowns, unwind_notes, work_rates
from recorders import recording

try:
    import symbols
except ImportError:
    symbols = None

HZ = 999
# How long the recordings are that are measured by their size: of a full and of a short run.
SIZE_SECONDS = (10, 3)
# The load: its threads, and the outermost function of its own.
THREAD, OUTERMOST = "chain", "chain_12"


def recorded_samples(setting, keys):
    """Records the load with each recorder: {key: [(bytes per sample, samples, lost, found)]}."""
    length = str(setting.pick(*SIZE_SECONDS))
    load = [setting.workload, "chain", "spin", length, str(setting.cpus)]
    out = {k: [] for k in keys}
    notes = []
    for i in range(setting.pick(2, 1)):
        notes = []
        for key in rotated(keys, i):
            r, _ = recording(key, setting, lambda: proc.run_json(load, setting.dir, first=True))
            counts = r.samples()
            if counts[0] < HZ:
                raise proc.Failed(f"{recorders.name(key)}: {counts[0]} samples; was it recording?")
            out[key].append((r.size() / counts[0], counts[0], share_lost(counts),
                             r.found(THREAD, OUTERMOST)))
            setting.say(f"g {i}: {key} {out[key][-1][0]:.0f} bytes/sample, {counts[0]} samples, "
                        f"{share_words(out[key][-1][3])} whole")
            notes += unwind_notes(r)
            r.discard()
            recorders.settle()
    return out, notes


def share_words(share):
    """A share that may not be known."""
    return "not known" if share is None else percent(share)


def per_sample(slow, noise):
    """The time that one sample took from the load."""
    return f"{median(slow) / HZ * 1e6:.2f} us" if median(slow) > noise else "in the noise"


def whole_stacks(setting):
    """g: what a sample with its whole stack costs, in time and on the disk."""
    keys = present(setting, ["thaw999", "perf999", "dwarf999"])
    load = [setting.workload, "chain", "spin", "0.5", str(setting.cpus)]
    rates = work_rates(setting, "g", keys, load, setting.pick(7, 2))
    samples, notes = recorded_samples(setting, keys)

    t = Table(f"Whole stacks at {HZ} samples a second",
              "A spinning thread on every CPU, twelve calls deep in a program without frame "
              "pointers, below libc's start of a thread. Slowdown: work done per CPU second, the "
              f"best of three half seconds, in {len(rates[None])} rounds; each round against its "
              "own untraced run. Time per sample: the slowdown times the period, where it is "
              "above the noise (the median distance of the untraced runs from their own median). "
              "Bytes: the whole file by the samples in it, "
              f"{setting.pick(*SIZE_SECONDS)} s of the same load, whole machine. "
              "Whole: the share of the load's samples whose stack reaches "
              f"{OUTERMOST}, outermost of the program's own.",
              ["recorder", "slowdown, median", "spread", "per sample", "bytes per sample",
               "samples", "lost", "whole", "thaw's share of the bytes"])
    still = slowdowns(rates, None)
    noise = median([abs(x) for x in still])
    t.add("nothing (its own spread)", "", spread(still, percent), "", "", "", "", "", "")
    size = {k: median([s[0] for s in v]) for k, v in samples.items()}
    for k in keys:
        slow = slowdowns(rates, k)
        _, count, lost, _ = samples[k][-1]
        found = next((s[3] for s in reversed(samples[k]) if s[3] is not None), None)
        share = ratio(size["thaw999"] / size[k]) if "thaw999" in size and k != "thaw999" else ""
        t.add(recorders.name(k), percent(median(slow)), spread(slow, percent),
              per_sample(slow, noise), number(size[k]), number(count), percent(lost),
              share_words(found), share)
        t.values[f"deep.{k}"] = median(slow)
        t.values[f"sample.{k}"] = size[k]
    t.notes += [NOISE] + notes
    return t


# What tables are built for: a name, and where it may be; the first that is there counts.
OBJECTS = [
    ("libc.so.6", ["/lib/*-linux-gnu/libc.so.6", "/lib64/libc.so.6"]),
    ("libjvm.so", ["/usr/lib/jvm/*/lib/server/libjvm.so"]),
    ("libLLVM", ["/usr/lib/*-linux-gnu/libLLVM-16.so.1", "/usr/lib/*-linux-gnu/libLLVM-*.so.1",
                 "/usr/lib64/libLLVM*.so*"]),
    ("node", ["/usr/bin/node", "/usr/local/bin/node"]),
    ("git", ["/usr/bin/git"]),
    ("python3", ["/usr/bin/python3.11", "/usr/bin/python3"]),
]


def objects():
    """[path] of those that are there, and the names of those that are not."""
    paths, missing = [], []
    for name, patterns in OBJECTS:
        there = [p for pattern in patterns for p in sorted(glob.glob(pattern))]
        if there:
            paths.append(there[0])
        else:
            missing.append(name)
    return paths, missing


def unwind_tables(setting):
    """h: what the tables by which stacks are walked come to."""
    program = os.path.join(setting.build, "bench", "tables")
    if not os.access(program, os.X_OK):
        raise proc.Failed("the program that builds tables is not there: make bench builds it")
    paths, missing = objects()
    got = proc.run_json([program] + paths, setting.dir)
    t = Table("Unwind tables",
              "A file's call frame information (.eh_frame) compiled into what the kernel side "
              "searches: once per file and recording, when thaw first meets a program that maps "
              "it. CPU time of one build, the best of five. Tables lie on shelves, which are added "
              "when needed (docs/unwinding.md).",
              ["file", "code", ".eh_frame", "rows", "rules", "leaves", "table", "build",
               "ns per row"])
    for o in got:
        name = os.path.basename(os.path.realpath(o["path"]))
        if o["error"]:
            t.notes.append(f"{name}: {o['error']}")
            continue
        setting.say(f"h: {name} {o['rows']} rows, {o['bytes']} bytes, {o['ms']:.1f} ms")
        t.add(name, f"{o['text'] / 1e6:.1f} MB", f"{o['eh_frame'] / 1e6:.2f} MB",
              f"{o['rows']:,}", f"{o['rules']:,}", f"{o['leaves']:,}",
              f"{o['bytes'] / 1e6:.2f} MB", f"{o['ms']:.1f} ms",
              number(o["ms"] * 1e6 / max(1, o["rows"])))
    if missing:
        t.notes.append(f"Not on this machine: {', '.join(missing)}.")
    if not t.rows:
        raise proc.Failed("no table could be built")
    return t


def symbol_lookups(setting):
    """i: names for addresses."""
    if symbols is None:
        raise proc.Skipped("symbols.py, which measures the symbolizer, is not there")
    if setting.quick and "i" not in setting.only:
        raise proc.Skipped("takes a minute: in a full run, or with BENCH_ONLY=i")
    if not shutil.which("addr2line"):
        raise proc.Skipped("there is no addr2line to compare with")
    setting.say("i: names for a million addresses a file")
    try:
        return symbols.table(setting.build, setting.dir, setting.pick(2, 1))
    except (symbols.Failed, OSError, subprocess.CalledProcessError) as e:
        raise proc.Failed(str(e)) from e


ALL = {"g": whole_stacks, "h": unwind_tables, "i": symbol_lookups}
