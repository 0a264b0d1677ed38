# SPDX-License-Identifier: MIT
"""The measurements, a to f (stacks.py has the others). Each takes the setting, returns a Table.

Where there are rounds, each tool has its turn in every one and the order rotates, so that what
the machine does besides (this is seldom a quiet one) falls on all of them alike.
"""

import os
import time

import proc
import recorders
from figures import Table, median, number, percent, ratio, seconds, spread
from recorders import Recorder, recording


# The share of CPU time used by others above which the figures carry a warning.
BUSY = 0.1
# The share of context switches made by others above which a recording is made again.
OTHERS = 0.25


def rotated(items, by):
    """The same items, another one first."""
    by %= len(items)
    return items[by:] + items[:by]


def present(setting, keys):
    """Without thaw where there is none: the peers can be measured alone."""
    return [k for k in keys if setting.has_thaw or not k.startswith("thaw")]


def switches_of(load, setting, session=True):
    """Runs a load; returns the machine's context switches meanwhile."""
    return switches_both(load, setting, session)[0]


def switches_both(load, setting, session=True):
    """Runs a load; returns the context switches meanwhile: the machine's, and the load's own."""
    before = proc.switches_now()
    truth = proc.run_json(load, setting.dir, session=session)
    return proc.switches_now() - before, truth["switches"]


def share_lost(counts):
    """Of all that happened."""
    recorded, lost = counts
    return lost / max(1, recorded + lost)


def switch_cost(setting):
    """a: what a context switch costs more while somebody records."""
    keys = present(setting, ["thaw", "thawall", "sched", "switchg", "offcputime", "bpftrace"])
    length = str(setting.pick(1.0, 0.5))
    load = [setting.workload, "pingpong", "--cpu", "0", "--mode", "p", "--seconds", length]
    floors = {k: [] for k in [None] + keys}
    lost = {k: [] for k in keys}

    def one(key):
        if key is None:
            return proc.run_json(load, setting.dir, first=True)
        r, truth = recording(key, setting, lambda: proc.run_json(load, setting.dir, first=True))
        counts = r.counts(2 * int(truth["round_trips"]))
        if counts:
            lost[key].append(share_lost(counts))
        r.discard()
        return truth

    for i in range(setting.pick(5, 2)):
        for key in rotated([None] + keys, i):
            floors[key].append(one(key)["best_switch_ns"])
            setting.say(f"a {i}: {key or 'nothing'} {floors[key][-1]:.0f} ns")
            recorders.settle()

    t = Table("Added time per context switch",
              "Two processes hand a byte to and fro over pipes, both on CPU 0, eight calls deep in "
              "user space: a switch and a wakeup each time, and nothing else. The fastest chunk of "
              f"1009 round trips counts; {len(floors[None])} rounds of {length} s each. 'Added' is "
              "the floor over all rounds minus the untraced floor; the spread is that of the "
              "rounds, each against its own untraced run.",
              ["recorder", "ns per switch", "added ns", "spread of added", "lost",
               "thaw's share of it"])
    base = min(floors[None])
    added = {k: min(floors[k]) - base for k in keys}
    t.add("nothing", number(base), "", spread([f - base for f in floors[None]], number), "", "")
    for k in keys:
        rounds = [a - b for a, b in zip(floors[k], floors[None])]
        share = ratio(added["thaw"] / added[k]) if "thaw" in added and k != "thaw" else ""
        t.add(recorders.name(k), number(min(floors[k])), number(added[k]), spread(rounds, number),
              percent(median(lost[k])) if lost[k] else "not known", share)
    t.values = {f"added.{k}": v for k, v in added.items()}
    return t


def work_rates(setting, letter, keys, load, rounds):
    """Burns per nanosecond of CPU time with each recorder, and None: with nothing; in rounds."""
    rates = {k: [] for k in [None] + keys}

    def rate():
        best = 0.0
        for _ in range(3):
            threads = proc.run_json(load, setting.dir, first=True)["threads"][1:]
            best = max(best, sum(t["burns"] for t in threads) / sum(t["cpu_ns"] for t in threads))
        return best

    def one(key):
        if key is None:
            return rate()
        r, got = recording(key, setting, rate)
        r.discard()
        return got

    for i in range(rounds):
        for key in rotated([None] + keys, i):
            rates[key].append(one(key))
        setting.say(f"{letter} {i}: " + ", ".join(f"{k or 'nothing'} {v[-1] * 1e6:.1f} burns/ms"
                                                  for k, v in rates.items()))
    return rates


def slowdowns(rates, key):
    """One a round, against the same round's run without a recorder; of None: the noise."""
    if key is None:
        still = median(rates[None])
        return [1 - b / still for b in rates[None]]
    return [1 - a / b for a, b in zip(rates[key], rates[None])]


NOISE = "A difference smaller than the spread of 'nothing' is not a difference."


def sampling(setting):
    """b: what a program that only computes loses to sampling."""
    keys = present(setting, ["thaw999", "perf999"])
    load = [setting.workload, "spin", str(setting.cpus), "0.5"]
    rates = work_rates(setting, "b", keys, load, setting.pick(5, 2))
    t = Table("Slowdown of a CPU-bound program at 999 samples a second",
              "One spinning thread per CPU; work done per CPU second (without time that the "
              f"hypervisor took away), the best of three half seconds, in {len(rates[None])} rounds; "
              "each round against its own untraced run.",
              ["recorder", "slowdown, median", "spread"])
    t.add("nothing (its own spread)", "", spread(slowdowns(rates, None), percent))
    for k in keys:
        slow = slowdowns(rates, k)
        t.add(recorders.name(k), percent(median(slow)), spread(slow, percent))
        t.values[f"slow.{k}"] = median(slow)
    t.notes.append(NOISE)
    return t


def undisturbed(setting, key, load, patience):
    """Records a load; again when others made much of what was recorded, as often as is left.

    Others' switches are not the load's: a ping-pong packs into half the bytes. Returns (recorder,
    switches, share of them made by others, patience left).
    """
    while True:
        r, (switches, own) = recording(key, setting, lambda: switches_both(load, setting))
        others = max(0.0, 1 - own / switches)
        if others < OTHERS or not patience:
            return r, switches, others, patience
        setting.say(f"again: others made {percent(others)} of the switches")
        r.discard()
        patience -= 1


def keep_quietest(setting, made):
    """Of each round's {key: (path, switches, others)}, f gets the least disturbed round's."""
    def worst(kept):
        return max(others for _, _, others in kept.values())

    drop = setting.keep or {}
    if drop and worst(drop) <= worst(made):
        drop = made
    else:
        setting.keep = made
    for path, _, _ in drop.values():
        recorders.remove(path)


def file_size(setting):
    """c: bytes on the disk; leaves the recordings of the quietest round for f."""
    keys = present(setting, ["thaw", "sched", "switchg"])
    length = setting.pick(10, 4)
    load = [setting.workload, "mixed", str(length)]
    sizes = {k: [] for k in keys}
    rounds = setting.pick(3, 1)
    patience = 2 * rounds

    for i in range(rounds):
        made = {}
        for key in rotated(keys, i):
            r, switches, others, patience = undisturbed(setting, key, load, patience)
            recorded, lost = r.counts(switches)
            sizes[key].append((r.size() / recorded, r.size(), recorded,
                               share_lost((recorded, lost)), others))
            setting.say(f"c {i}: {key} {sizes[key][-1][0]:.1f} bytes/switch, {switches} switches, "
                        f"{lost} lost, others made {percent(others)}")
            if key != "switchg":
                made[key] = (r.keep(i), recorded, others)
            r.discard()
        keep_quietest(setting, made)

    t = Table("Bytes on the disk per context switch",
              f"The mixed load (spinner, sleepers, pipes, condition variables, disk) for {length} "
              "s; the file's size, with all that is in it, by the switches that it holds. "
              "Others: the most of the switches in any round that other programs made.",
              ["recorder", "bytes per switch", "spread", "file", "switches in it", "lost",
               "others", "thaw's share of it"])
    per = {k: median([s[0] for s in v]) for k, v in sizes.items()}
    for k in keys:
        _, size, recorded, lost, _ = sizes[k][-1]
        share = ratio(per["thaw"] / per[k]) if "thaw" in per and k != "thaw" else ""
        t.add(recorders.name(k), number(per[k]), spread([s[0] for s in sizes[k]], number),
              f"{size / 1e6:.1f} MB", number(recorded), percent(lost),
              percent(max(s[4] for s in sizes[k])), share)
    t.values = {f"bytes.{k}": v for k, v in per.items()}
    return t


def saturate(setting, key, load, session):
    """One run of d: (switches, recorded, lost, bytes)."""
    r, switches = recording(key, setting, lambda: switches_of(load, setting, session),
                            first=False, session=session)
    # What is missing without a word is a result here.
    recorded, lost = r.counts(switches, least=0.01)
    size = r.size()
    r.discard()
    recorders.settle()
    return switches, recorded, lost, size


def saturation(setting):
    """d: every CPU switches as fast as it can, and nothing may get lost."""
    keys = present(setting, ["thaw", "sched"])
    # Shorter ones would fit into the queues between thaw's threads, whoever starves.
    length = setting.pick(10, 3)
    load = [setting.workload, "pingpong2", "--seconds", str(length)]
    t = Table("The worst case: every CPU switches as fast as it can",
              f"A pair of processes on every CPU hands a byte to and fro for {length} s, while "
              "thaw records with its defaults, sampling included. Recorders are started at normal "
              "priority and compete with the load for the CPUs; the one of thaw's threads that "
              "empties the rings goes first by itself. How a recorder fares depends on whether it "
              "shares a session (one terminal) with the load: the kernel groups tasks by session "
              "when it shares out the CPUs. "
              "Switches by the machine's count. Lost: what the recorder says that it lost (thaw: "
              "events of all kinds; perf: switches). Missing: by how much the switches in the file "
              "fall short of the machine's count.",
              ["recorder", "session", "switches/s", "lost", "missing", "share missing", "file"])
    t.add("nothing", "", number(switches_of(load, setting) / length), "", "", "", "")
    for session, words in ((False, "the same"), (True, "another")):
        for key in keys:
            switches, recorded, lost, size = saturate(setting, key, load, session)
            missing = max(0, switches - recorded)
            setting.say(f"d: {key}, {words} session: {switches / length:.0f} switches/s, "
                        f"{lost} lost, {missing} missing")
            t.add(recorders.name(key), words, number(switches / length), f"{lost:,}",
                  f"{missing:,}", percent(missing / switches), f"{size / 1e6:.0f} MB")
            where = "apart" if session else "together"
            t.values[f"lost.{key}.{where}"] = lost
            t.values[f"missing.{key}.{where}"] = missing
    if setting.busy > BUSY:
        t.notes.append(f"Others used {percent(setting.busy)} of the CPU time before this run: at "
                       "normal priority a recorder may lose more than on a quiet machine.")
    return t


def watch(load, key, setting):
    """Records a load and notes the recorder's memory meanwhile, twice a second.

    Returns (recorder, MiB over time, switches).
    """
    recorder = Recorder(key, setting)
    series = []
    with recorder:
        before = proc.switches_now()
        child = proc.Child(load, os.path.join(setting.dir, "load.out"),
                           os.path.join(setting.dir, "load.err"))
        while not child.poll():
            kib = proc.rss_kib(recorder.child.pid)
            if kib:
                series.append(kib / 1024)
            time.sleep(0.5)
        switches = proc.switches_now() - before
        if child.status:
            raise proc.Failed(f"{load[0]}: exit status {child.status}: {child.words()}")
    if not series:
        raise proc.Failed(f"{recorders.name(key)} ended while it should record")
    return recorder, series, switches


def collector(setting):
    """e: what the recorder itself uses, over a long run."""
    keys = present(setting, ["thaw", "sched", "switchg"])
    t = Table("What the recorder itself uses",
              f"The mixed load for {setting.long} s. CPU: user and system time of the recording "
              "process from its start to its end, as a share of one CPU over the load's time. "
              "Memory: resident, at a tenth, half and the end of the run; the peak includes what "
              "is done after the last event (symbols, build ids). Kernel memory (ring buffers, "
              "maps) is in none of these.",
              ["recorder", "CPU", "user + system", "ns per switch", "lost", "10%", "50%", "100%",
               "peak"])
    for key in keys:
        r, series, switches = watch([setting.workload, "mixed", str(setting.long)], key, setting)
        counts = r.counts(switches)
        u = r.child.rusage
        cpu = r.child.cpu()
        points = [series[min(len(series) - 1, int(len(series) * x))] for x in (0.1, 0.5, 1.0)]
        setting.say(f"e: {key} {cpu:.2f} s, {points[-1]:.1f} MiB at the end")
        t.add(recorders.name(key), percent(cpu / setting.long),
              f"{seconds(u.ru_utime)} + {seconds(u.ru_stime)}", number(cpu * 1e9 / counts[0]),
              percent(share_lost(counts)), *[f"{p:.1f} MiB" for p in points],
              f"{u.ru_maxrss / 1024:.1f} MiB")
        t.values[f"growth.{key}"] = points[2] - points[1]
        t.values[f"cpu.{key}"] = cpu / setting.long
        t.values[f"collect.{key}"] = cpu * 1e9 / counts[0]
        t.notes += unwind_notes(r)
        r.discard()
    return t


def unwind_notes(recorder):
    """The collector's part in the stacks of a recording, in its own words: a line, or none."""
    facts = recorder.unwind_facts()
    words = ", ".join(f"{k[len('unwind_'):]} {v}" for k, v in facts.items())
    return [f"{recorders.name(recorder.key)}, stacks and tables: {words}."] if words else []


def report_time(setting):
    """f: from the file to an answer."""
    if setting.keep is None:
        file_size(setting)
    if not setting.keep or "sched" not in setting.keep:
        raise proc.Failed("the recordings of c are not there")
    jobs = {}
    if "thaw" in setting.keep:
        jobs["thaw"] = ("thaw report --json", [setting.thaw, "report", setting.keep["thaw"][0],
                                               "--json"], "thaw")
    path = setting.keep["sched"][0]
    timehist = ["perf", "sched", "timehist", "-i", path]
    jobs["summary"] = ("perf sched timehist -s", timehist + ["-s"], "sched")
    jobs["timehist"] = ("perf sched timehist", timehist, "sched")
    times = {k: [] for k in jobs}
    for i in range(setting.pick(7, 3)):
        for key in rotated(list(jobs), i):
            child, _ = proc.run(jobs[key][1], setting.dir)
            times[key].append((child.cpu(), child.wall))
        setting.say(f"f {i}: " + ", ".join(f"{k} {v[-1][0]:.2f} s" for k, v in times.items()))

    t = Table("From the file to an answer",
              "The recordings of the mixed load from above, of the round that others disturbed "
              "least, read from the page cache; output to a file; medians of "
              f"{len(times['summary'])} rounds. Wall: how long one waits, whatever else the machine "
              "did; thaw reads ahead on another CPU. CPU: user and system time. The "
              "recordings do not hold the same number of switches: compare the times per switch. "
              "Others: the share of the switches that other programs made.",
              ["command", "wall", "spread", "CPU", "spread of CPU", "others",
               "wall ns per switch", "times thaw's", "CPU ns per switch", "times thaw's"])
    cpu = {k: [x[0] for x in v] for k, v in times.items()}
    wall = {k: [x[1] for x in v] for k, v in times.items()}

    def per_switch(of):
        return {k: median(of[k]) * 1e9 / setting.keep[jobs[k][2]][1] for k in jobs}

    def times_thaw(per, key):
        return ratio(per[key] / per["thaw"]) if "thaw" in per and key != "thaw" else ""

    waited, used = per_switch(wall), per_switch(cpu)
    for key, (words, _, of) in jobs.items():
        t.add(words, seconds(median(wall[key])), spread(wall[key], seconds),
              seconds(median(cpu[key])), spread(cpu[key], seconds), percent(setting.keep[of][2]),
              number(waited[key]), times_thaw(waited, key), number(used[key]),
              times_thaw(used, key))
    t.values = {f"report.{k}": v for k, v in used.items()}
    t.values.update({f"waited.{k}": v for k, v in waited.items()})
    return t


ALL = {"a": switch_cost, "b": sampling, "c": file_size, "d": saturation, "e": collector,
       "f": report_time}
