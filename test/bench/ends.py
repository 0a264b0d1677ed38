# SPDX-License-Identifier: MIT
"""The measurement of the start and the end of recordings: q. As in measures.py."""

import os
import signal
import subprocess
import time

import proc
from figures import Table, median, number, spread

LENGTH = 10   # seconds, of the recording that is stopped by Ctrl-C


def commands(setting, out):
    return {"thaw": [setting.thaw, "record", "-q", "-o", out],
            "perf": ["perf", "record", "-q", "-a", "-g", "-o", out]}


def short(setting, argv):
    """(until the command runs, from then to the prompt), by the command's own clock."""
    began = time.time()
    done = subprocess.run([*argv, "--", "date", "+%s.%N"], cwd=setting.dir, capture_output=True, text=True,
                          check=False)
    ended = time.time()
    said = [float(x) for x in done.stdout.split() if x.replace(".", "", 1).isdigit()]
    if done.returncode or not said:
        raise proc.Failed(f"{argv[0]}: exit {done.returncode}: {done.stderr.strip()}")
    return said[0] - began, ended - said[0]


def stopped(setting, argv):
    """From Ctrl-C to the prompt, of a recording of the whole machine."""
    with subprocess.Popen([setting.workload, "mixed", str(LENGTH + 5)], cwd=setting.dir,
                          stdout=subprocess.DEVNULL) as load, \
         subprocess.Popen([*argv, "-a"] if "-a" not in argv else argv, cwd=setting.dir,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as recorder:
        time.sleep(LENGTH)
        recorder.send_signal(signal.SIGINT)
        began = time.monotonic()
        recorder.wait(timeout=120)
        took = time.monotonic() - began
        load.kill()
    return took


def ends(setting):
    """q: how long somebody waits before and after what he wants to see."""
    if not setting.has_thaw:
        raise proc.Skipped("thaw is not built")
    rounds, out = setting.pick(9, 3), os.path.join(setting.dir, "ends.out")
    shorts, stops = {"thaw": [], "perf": []}, {"thaw": [], "perf": []}
    for i in range(rounds):
        for key, argv in sorted(commands(setting, out).items(), reverse=i % 2):
            shorts[key].append(short(setting, argv))
            if i < setting.pick(3, 1):
                stops[key].append(stopped(setting, argv))
        setting.say(f"q {i}: " + ", ".join(f"{k} {1e3 * sum(v[-1]):.0f} ms" for k, v in shorts.items()))
    t = Table("The start and the end of a recording",
              f"`thaw record -- date` and `perf record -a -g -- date`: until date runs, and from then to the "
              f"prompt, by its own clock; {rounds} rounds. Then the mixed load, the whole machine, for {LENGTH} s: "
              f"from Ctrl-C to the prompt, names included; {len(stops['thaw'])} rounds. Medians, milliseconds.",
              ["recorder", "until it runs", "spread", "to the prompt", "spread", "in all",
               f"Ctrl-C after {LENGTH} s", "spread"])
    for key, words in (("thaw", "thaw record"), ("perf", "perf record -a -g")):
        starts, rest = ([1e3 * x[k] for x in shorts[key]] for k in (0, 1))
        whole, stop = [1e3 * sum(x) for x in shorts[key]], [1e3 * x for x in stops[key]]
        t.values.update({f"start.{key}": median(starts), f"whole.{key}": median(whole),
                         f"stop.{key}": median(stop)})
        t.add(words, number(median(starts)), spread(starts, number), number(median(rest)), spread(rest, number),
              number(median(whole)), number(median(stop)), spread(stop, number))
    return t


ALL = {"q": ends}
