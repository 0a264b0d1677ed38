# SPDX-License-Identifier: MIT
"""Speedscope's format: by its schema, and by what speedscope itself holds in memory after importing the
file in Chromium, which is the report's in sum and for every function."""
import functools
import json
import os
import subprocess
import sys

from common import (NPM, ROOT, capture, captures, export, full_disk, need, refuses_waits, report,
                    test, waits_by_stack)

NODE = need("node", "nodejs")
CHROMIUM = "/usr/bin/chromium"
if not os.path.isdir(os.path.join(NPM, "speedscope")):
    print("skip all of formats/speedscope: it is not installed")
    sys.exit(0)
if not os.path.exists(CHROMIUM):
    print("skip all of formats/speedscope: there is no Chromium")
    sys.exit(0)
SCRIPT = os.path.join(ROOT, "test", "formats", "speedscope.mjs")


@functools.cache
def importer():
    """One Chromium for all files: to begin one takes longer than to import."""
    return subprocess.Popen([NODE, SCRIPT, NPM, CHROMIUM], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True)


def exported(name, *options, suffix=""):
    """What speedscope made of the file, and the title that its page got."""
    path = export(name, "speedscope", *options, suffix=suffix + ".json")
    out = path + ".again"
    speedscope = importer()
    print(json.dumps([path, out]), file=speedscope.stdin, flush=True)
    answer = json.loads(speedscope.stdout.readline() or '{"wrong": "speedscope.mjs has ended"}')
    assert "wrong" not in answer, answer["wrong"]
    with open(out, encoding="utf-8") as f:
        return json.load(f), answer["title"]


def sums_of(profile, frames):
    """By name: [self, total] of a profile, whichever of the format's two kinds it is."""
    sums = {}

    def add(stack, weight):
        for i in set(stack):
            sums.setdefault(frames[i]["name"], [0, 0])[1] += weight
        if stack:
            sums[frames[stack[-1]]["name"]][0] += weight

    if profile["type"] == "sampled":
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
            add(stack, weight)
        return sums
    stack, last = [], profile["startValue"]
    for event in profile["events"]:
        add(stack, event["at"] - last)
        last = event["at"]
        if event["type"] == "O":
            stack.append(event["frame"])
        else:
            assert stack.pop() == event["frame"], event
    assert not stack
    return sums


def profiles(again):
    """By name: the sums of each; those of one name are added up."""
    found = {}
    for profile in again["profiles"]:
        assert profile["unit"] == "nanoseconds", profile["unit"]
        sums = sums_of(profile, again["shared"]["frames"])
        into = found.setdefault(profile["name"], {})
        for name, (own, total) in sums.items():
            both = into.setdefault(name, [0, 0])
            both[0] += own
            both[1] += total
    return found


def all_self(sums):
    return sum(own for own, _ in sums.values())


def title_of(thread, kind=""):
    return f"{thread['comm']} ({thread['tid']}){kind}"


def compare(name, *options):
    again, title = exported(name, *options)
    said = report(name, "--top", "100000", *options)
    found = profiles(again)
    period = 10**9 // said["capture"]["freq_hz"] if said["capture"]["freq_hz"] else 1
    if found:
        assert os.path.basename(capture(name)) in title, title
    threads = {}
    for t in said["threads"]:
        threads.setdefault(title_of(t), []).append(t)
    functions = {}
    for title, same in threads.items():
        cpu = found.pop(title, {})
        assert all_self(cpu) == period * sum(t["samples"] for t in same), title
        for function, (own, total) in cpu.items():
            sums = functions.setdefault(function, [0, 0])
            sums[0] += own
            sums[1] += total
        waits = found.pop(title + " waits", {})
        assert all_self(waits) == sum(t["waiting_ns"] or 0 for t in same), title
        locks = found.pop(title + " lock waits", {})
        assert all_self(locks) == sum(t["waits"].get(r, 0) for t in same for r in
                                      ("mutex", "rwlock", "futex", "kernel_lock")), title
    assert not found, list(found)
    functions.pop("[no stack]", None)
    truth = {}
    for f in said["functions"]:
        sums = truth.setdefault(f["name"], [0, 0])
        sums[0] += f["self_samples"] * period
        sums[1] += f["total_samples"] * period
    assert functions == truth, {n: (truth.get(n), functions.get(n)) for n in {*truth, *functions}
                                if truth.get(n) != functions.get(n)}


def places(name):
    """Files and lines of functions are the report's."""
    with open(export(name, "speedscope", suffix=".places.json"), encoding="utf-8") as f:
        frames = json.load(f)["shared"]["frames"]
    theirs = {(x["name"], x.get("file"), x.get("line", 0)) for x in frames}
    for f in report(name, "--top", "100000")["functions"]:
        assert (f["name"], f["file"], f["line"] if f["file"] else 0) in theirs, f


def stacks_of(name):
    """Waits stand under the stacks that the report has them under; behind these, the reason."""
    with open(export(name, "speedscope", "--kind", "wait", suffix=".wait.json"),
              encoding="utf-8") as f:
        p = json.load(f)
    sums, truth = {}, {}
    for profile in p["profiles"]:
        for stack, ns in zip(profile["samples"], profile["weights"]):
            names = tuple(p["shared"]["frames"][i]["name"] for i in reversed(stack[:-1]))
            names = () if names == ("[no stack]",) else names
            sums[names] = sums.get(names, 0) + ns
    for (_, names), ns in waits_by_stack(name).items():
        truth[names] = truth.get(names, 0) + ns
    assert sums == truth


def kinds(name):
    """One kind, as asked for: the reason and the lock are the leaf."""
    again, _ = exported(name, "--kind", "lock", suffix=".lock")
    found = profiles(again)
    assert found and all(n.endswith(" lock waits") for n in found), list(found)
    locks = {}
    for sums in found.values():
        for leaf, (own, _) in sums.items():
            if own:
                locks[leaf] = locks.get(leaf, 0) + own
    # Four workers wait 84 ms each in every second: see make_golden.c.
    assert locks["[mutex: commit_lock]"] == 5 * 4 * 84 * 10**6, locks
    again, _ = exported(name, "--kind", "cpu", suffix=".cpu")
    assert all(p["name"].endswith(")") for p in again["profiles"])


def window(name):
    said = report(name)
    ms = said["capture"]["duration_ns"] // 1000000
    busy = max(said["threads"], key=lambda t: t["samples"])
    compare(name, "--from", f"{ms // 4}ms", "--to", f"{ms // 2}ms")
    compare(name, "--thread", str(busy["tid"]))


for each in captures():
    test(f"speedscope {each}: profiles are the report's", compare, each)
    test(f"speedscope {each}: files and lines", places, each)
    test(f"speedscope {each}: stacks of waits are the report's", stacks_of, each)
test("speedscope story: a window, and one thread", window, "story")
test("speedscope story: a full disk", full_disk, "story", "speedscope")
test("speedscope locks: one kind", kinds, "locks")
test("speedscope ctimer: without switches", compare, "ctimer")
test("speedscope ctimer: waits were not seen", refuses_waits, "speedscope")
for each in ("names", "lost"):
    if capture(each):
        test(f"speedscope {each}: profiles are the report's", compare, each)
importer().stdin.close()
if importer().wait():
    print("FAIL speedscope: speedscope.mjs has failed")
