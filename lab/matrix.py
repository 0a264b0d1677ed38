# SPDX-License-Identifier: MIT
"""thaw on each kernel: every program loads and calls nothing but the allowed helpers, an interrupted ring
loses nothing, recordings agree with what the workloads know, and the kernel says nothing of distress.
Where the bpf engine cannot work, thaw must say so and leave the machine alone."""
import json
import os
import re
import shutil
import time

import initramfs
from vm import Guest

SECONDS = 240        # of CPU time; most are done in 130
HEAD = """| kernel | Debian's version | engine | programs loaded and checked | recordings that agree \
| thaw's nested emit, mean | doctor finds |
| --- | --- | --- | --- | --- | --- | --- |"""
DISTRESS = re.compile(r"soft lockup|hard LOCKUP|self-detected stall|detected stalls|took too long|"
                      r"hrtimer: interrupt took \d{10}|lowering kernel\.perf|blocked for more than|"
                      r"WARNING: |BUG: |Oops|general protection|Kernel panic|rqspinlock|"
                      r"possible deadlock|bad: scheduling")

YES = ("allowlist", "nested", "live:guest", "live:dead_nfs", "doctor")
NO = ("refused", "doctor")


class Result:
    """What came of one kernel."""

    def __init__(self, name, version):
        self.name, self.version = name, version
        self.problems, self.notes = [], []
        self.seconds = 0.0
        self.programs = self.recordings = 0
        self.nested = self.doctor = None

    def row(self):
        mean = self.nested[0] if self.nested else None
        engine = "bpf" if self.recordings else "refused, in words"
        return (f"| {self.name} | {self.version} | {engine} | {self.programs or '-'} | "
                f"{self.recordings or '-'} | {f'{mean / 1000:.1f} us' if mean else '-'} | {self.doctor} |")

    def line(self):
        head = f"lab {self.name}"
        if self.problems:
            return f"FAIL {head}: {'; '.join(dict.fromkeys(self.problems))}"
        return f"ok {head} ({self.version}: {', '.join(self.notes)}) [{self.seconds:.0f} s]"


def distress(dmesg):
    return [line for line in dmesg.splitlines() if DISTRESS.search(line)]


def check_output(result, name, status, text):
    """A step's own lines: ok, FAIL, skip."""
    failed = re.findall(r"^FAIL (.*)", text, re.M)
    result.problems += failed
    if status and not failed:
        last = text.strip().splitlines()[-1:] or ["no output"]
        result.problems.append(f"{name} ended with {status}: {last[0]}")
    return re.findall(r"^ok (.*)", text, re.M)


def judge_doctor(result, row, status, text):
    """What it finds, and whether it would use the bpf engine, against the table."""
    try:
        said = json.loads(text)
    except ValueError:
        result.problems.append(f"doctor ended with {status} and no JSON: {text[:120]}")
        return
    found = sorted(f["id"] for f in said["findings"])
    want = sorted(set(row["doctor"].split()) - {"-"})
    usable = [e["name"] for e in said["engines"] if e["usable"]]
    if found != want:
        result.problems.append(f"doctor finds {' '.join(found) or 'nothing'}, not {row['doctor']}")
    if ("bpf" in usable) != (row["bpf"] == "yes"):
        result.problems.append(f"doctor says of the bpf engine the opposite of what works: {usable}")
    result.doctor = " ".join(found) or "-"
    result.notes.append(f"doctor: {said['verdict']}, {' '.join(found) or 'nothing'}")


def judge(result, row, guest):
    steps, hangs = guest.steps()
    files = {k: v.decode("utf-8", "replace") for k, v in guest.files().items()}
    if hangs:
        result.problems.append(f"it hangs in {hangs}")
    elif "dmesg" not in files:
        result.problems.append("the guest did not come to its end: " + (guest.lines() or ["?"])[-1])
    for name, (status, _) in steps.items():
        text = files.get(name, "")
        if name == "doctor":
            judge_doctor(result, row, status, text)
            continue
        oks = check_output(result, name, status, text)
        if name == "allowlist":
            result.programs = len({o.split()[1] for o in oks})
            result.notes.append(f"{result.programs} programs")
        elif name == "nested":
            m = re.search(r"mean (\d+) ns.*worst (\d+) ns", text)
            result.nested = (int(m[1]), int(m[2])) if m else None
            result.notes.append("no emit waits" if oks else "no breakpoints")
        elif name == "live:guest":
            result.recordings = len(oks)
            result.notes.append(f"{len(oks)} recordings agree")
        elif name == "live:dead_nfs":
            result.notes.append(f"{len(oks)} beside a dead NFS server" if oks else "no NFS")
        elif name == "refused":
            result.notes.append("refused: " + text.strip().splitlines()[-1] if text.strip() else "?")
    result.problems += [f"the kernel says: {d}" for d in distress(files.get("dmesg", ""))[:3]]
    want = set(YES if row["bpf"] == "yes" else NO)
    result.problems += [f"{step} was not run" for step in sorted(want - set(steps)) if step != hangs]


def with_modules(image, archive, folder):
    """The archive and this kernel's modules behind it."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "initrd.cpio")
    with open(path, "wb") as f, open(archive, "rb") as g:
        shutil.copyfileobj(g, f)
        f.write(initramfs.modules(os.path.join(os.path.dirname(image), "modules")))
    return path


def run(row, image, version, archive, folder):
    """One kernel, from boot to end."""
    result = Result(row["name"], version)
    began = time.monotonic()
    initrd = with_modules(image, archive, folder)
    guest = Guest(image, initrd, folder, YES if row["bpf"] == "yes" else NO)
    try:
        if not guest.wait(SECONDS):
            result.problems.append(f"it was not done after {SECONDS} s of CPU time")
        judge(result, row, guest)
    finally:
        guest.stop()
        os.unlink(initrd)
    result.seconds = time.monotonic() - began
    return result
