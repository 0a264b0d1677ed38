# SPDX-License-Identifier: MIT
"""Both freezes of the literature on each kernel, with naive programs, and thaw on the same kernel.

First thaw records a program at work, with samples of the same clock. Then a breakpoint interrupts a
switch's program inside its ring, and what it runs writes to the same ring: thaw's own, and the kernel's
ring buffer, beside a program that only reads the clock, which shows what the emulation itself takes. Last,
because it may be the end of the guest, the one-shot clock. A guest that stands still is looked at from
outside."""
import gzip
import os
import re
import time

import examine
import machine
import matrix
from vm import Guest

STEPS = ("kallsyms", "recorded", "nested", "ring+nothing", "ring+own", "ring+shared", "oneshot")
SECONDS = 300            # of CPU time
TRIES = 2                # of a guest that dies of a bug of the emulation
STANDS_STILL = 45        # seconds of CPU time without a word: each step takes far less
STALL_NS = 500_000       # a reserve takes microseconds, even here
BUG_OF = {"oneshot": "cpu-clock-refresh", "ring+shared": "ringbuf-nmi"}   # steps that may freeze
FIELD = re.compile(r"(\w+) (\d+)")


def numbers(text, start):
    """The figures of the line that starts so: name -> value."""
    line = next((ln for ln in text.splitlines() if ln.startswith(start)), "")
    return {k: int(v) for k, v in FIELD.findall(line[len(start):])}


def human(ns):
    if ns is None:
        return "-"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.{0 if ns >= 100 * size else 1}f} {unit}"
    return f"{ns:.0f} ns"


class Result(matrix.Result):
    """What came of one kernel; the row of the table."""

    def __init__(self, name, version):
        super().__init__(name, version)
        self.figures = {}
        self.ring = self.oneshot = self.thaw = "-"
        self.frozen = []         # examine.Found of each guest that stood still

    def row(self):
        def pair(mean, worst):
            f = self.figures
            return f"{human(f.get(mean))} | {human(f.get(worst))}"

        return (f"| {self.name} | {self.ring} | {pair('shared_mean', 'shared_switch')} | "
                f"{pair('thaw_mean', 'thaw_switch')} | {pair('nothing_mean', 'nothing_switch')} | "
                f"{self.oneshot} | {self.thaw} |")


HEAD = """| kernel | kernel's ring, shared | a nested reserve | worst switch | thaw: a nested emit \
| worst switch | nothing nested | worst switch | one-shot clock | thaw recording |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


def figures(result, files):
    """What the programs have measured; what the kernel's shared ring does."""
    f = result.figures
    for mode in ("nothing", "own", "shared"):
        n = numbers(files.get(f"ring+{mode}", ""), f"naive ring {mode}:")
        f[f"{mode}_mean"], f[f"{mode}_switch"] = n.get("mean_ns"), n.get("worst_switch_ns")
    shared = numbers(files.get("ring+shared", ""), "naive ring shared:")
    m = re.search(r"mean (\d+) ns, 99% below (\d+) ns, worst \d+ ns;.* worst (\d+) ns",
                  files.get("nested", ""))
    if m:
        f["thaw_mean"], f["thaw_p99"], f["thaw_switch"] = map(int, m.groups())
    if not shared.get("nested"):
        return "-"
    if shared["failed"] == 0:
        return "works"
    return "stalls" if shared["mean_ns"] >= STALL_NS else "fails"


def autopsy(result, guest, hangs):
    """Looks at a guest that stands still; in a step that freezes, it must be the bug that froze it."""
    symbols = guest.files().get("kallsyms.gz")
    if not symbols:
        return
    found = examine.examine(guest.gdb, gzip.decompress(symbols).decode())
    result.frozen.append(found)
    bug, want = found.bug(), BUG_OF.get(hangs)
    if want and (not bug or bug["id"] != want):
        result.problems.append(f"the autopsy says {bug['id'] if bug else 'nothing'}, not {want}")


def boot(result, start):
    """Boots a guest until it ends or stands still. `start`: makes it. The steps that it did, the one in which
    it hangs, and its files."""
    guest = start()
    try:
        for _ in range(TRIES):
            ended = guest.wait(SECONDS, STANDS_STILL)
            if not guest.died_of_emulation():
                break
            print(f"again lab {result.name} [{machine.words_of('emulation', 1)}]: Oops: int3", flush=True)
            guest.stop()
            guest = start()
        steps, hangs = guest.steps()
        if hangs and not ended:
            autopsy(result, guest, hangs)
    except BaseException:
        guest.stop()
        raise
    if hangs and guest.running() and os.environ.get("LAB_KEEP"):
        result.notes.append(f"left as it is in process {guest.process.pid}: lab/autopsy {guest.folder}")
    else:
        guest.stop()
    return steps, hangs, {k: v.decode("utf-8", "replace") for k, v in guest.files().items()
                          if k != "kallsyms.gz"}


def judge(result, row, steps, hangs, files):
    """The ring, and thaw."""
    ring = figures(result, files)
    result.ring = "freezes" if hangs == "ring+shared" else ring
    # A switch that stalls each time leaves no time for anything else: whether the guest gets through is luck.
    allowed = ("stalls", "freezes") if row["ring"] in ("stalls", "lockup") else (row["ring"],)
    if result.ring not in allowed:
        result.problems.append(f"the shared ring {result.ring}, expected: {row['ring']}")
    for step in ("nested", "recorded") if row["bpf"] == "yes" else ():
        if steps.get(step, (1,))[0]:
            result.problems.append(f"thaw: {step} failed: {files.get(step, '')[-200:]}")
    result.thaw = "refused" if row["bpf"] != "yes" else \
        "fine" if not steps.get("recorded", (1,))[0] else "failed"
    if hangs and hangs not in BUG_OF:
        result.problems.append(f"it hangs in {hangs}")


def judge_oneshot(result, row, hangs, files):
    if hangs == "oneshot":
        result.oneshot = "freezes"
    elif "oneshot" in files:
        result.oneshot = "fine" if "survived" in files["oneshot"] else "failed"
    if result.oneshot != row["oneshot"]:
        result.problems.append(f"the one-shot clock: {result.oneshot}, expected: {row['oneshot']}")


def run(row, image, version, archive, folder):
    result = Result(row["name"], version)
    began = time.monotonic()
    steps, hangs, files = boot(result, lambda: Guest(image, archive, folder, STEPS, multi=True))
    judge(result, row, steps, hangs, files)
    if hangs == "ring+shared":
        _, hangs, files = boot(result, lambda: Guest(image, archive, folder + "-oneshot",
                                                     ("kallsyms", "oneshot"), multi=True))
    judge_oneshot(result, row, hangs, files)
    result.notes += [f"shared ring {result.ring}", f"one-shot clock {result.oneshot}",
                     f"thaw: nested emit {human(result.figures.get('thaw_mean'))}"]
    result.seconds = time.monotonic() - began
    return result
