#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the page is told against what thaw report says of the same range.

  query.py BUILD              recordings of its own
  query.py BUILD CAPTURE...   these
"""
import collections
import json
import os
import random
import shutil
import struct
import subprocess
import sys

from harness import BUILD, WORKLOAD, SERVER, Skip, check, record, run, start, stop, tests_of, thaw

BESIDE = True   # compares no clocks: test/run puts others next to it

PLAIN = os.path.join(BUILD, "release", "live", "plain")
WASM = os.path.join(BUILD, "viewer", "thaw.wasm")
PAGE_ENGINE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "engine.mjs")
QUERY = os.environ.get("QUERY", os.path.join(BUILD, "release", "live", "query"))
RUNNING, LOST, GONE, IDLE = 100, 101, 102, 103
COULD_RUN = (27, 28)


class Engine:
    """Answers questions about a capture; `command` replaces thaw's own program for that."""

    def __init__(self, capture, command=(QUERY,)):
        self.capture = capture
        self.process = subprocess.Popen([*command, capture], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def ask(self, request):
        self.process.stdin.write(request.encode() + b"\n")
        self.process.stdin.flush()
        return self.process.stdout.read(int(self.process.stdout.readline()))

    def json(self, request):
        answer = json.loads(self.ask(request))
        check("error" not in answer, f"{request}: {answer.get('error')}")
        return answer

    def close(self):
        self.process.stdin.close()
        check(self.process.wait() == 0, "the engine failed")


def report_bytes(capture, begin, end):
    r = subprocess.run([os.path.join(BUILD, "thaw"), "report", capture, "--json",
                        *(("--from", f"{begin}ns") if begin else ()),
                        *(("--to", f"{end}ns") if end else ())], capture_output=True, check=True)
    return r.stdout


def numbers(t):
    return (t["running_ns"], t["runnable_ns"], t["waiting_ns"], t["lost_ns"], t["unseen_ns"],
            t["samples"], tuple(sorted(t["waits"].items())))


def lanes_of(data):
    """Each lane: column -> {class: share}."""
    words = struct.unpack(f"<{len(data) // 4}I", data)
    at, lanes = 0, []
    while at < len(words):
        lane, runs, last = {}, words[at], 0
        at += 1
        for _ in range(runs):
            first, columns, n = words[at:at + 3]
            cells = words[at + 3:at + 3 + n]
            at += 3 + n
            check(n and columns and first >= last, "runs overlap, or are empty")
            last = first + columns
            shares = {c & 0xff: c >> 8 for c in cells}
            check(len(shares) == n and all(shares.values()), "a class twice, or without a share")
            check(sum(shares.values()) <= 65535, "more than all of a column")
            for column in range(first, last):
                lane[column] = shares
        lanes.append(lane)
    return lanes


def ranges(engine, info, count):
    """Parts of the recording, some of which begin or end where something happens."""
    rnd, whole = random.Random(7), info["duration_ns"]
    yield 0, whole
    for i in range(count if whole > 2 else 0):
        a, b = sorted((rnd.randrange(whole), rnd.randrange(1, whole)))
        if i % 2 and info["threads"]:
            t = rnd.choice(info["threads"])
            if t["start"] < t["end"]:
                at = engine.json(f"at?thread={t['index']}&ts={rnd.randrange(t['start'], t['end'])}")
                a, b = sorted((at["start"], b))
        if a < b < whole:
            yield a, b


def check_ranges(engine, info):
    who = {t["index"]: (t["pid"], t["tid"], t["comm"]) for t in info["threads"]}
    for begin, end in ranges(engine, info, 8):
        text = report_bytes(engine.capture, begin, end if end < info["duration_ns"] else 0)
        answer = engine.ask(f"summary?from={begin}&to={end}")
        check(answer == text, f"[{begin}, {end}): summary and report differ")
        want = collections.Counter(((t["pid"], t["tid"], t["comm"]), numbers(t))
                                   for t in json.loads(text)["threads"])
        got = collections.Counter((who[t["index"]], numbers(t)) for t in
                                  engine.json(f"threads?from={begin}&to={end}")["threads"])
        check(got == want, f"[{begin}, {end}): threads differ: {got - want} {want - got}")


def share(ns, width):
    return (ns * 65535 + width // 2) // width


def by_class(info, t):
    """What a thread's numbers mean as shares; without switches, only the sum is exact."""
    ids = {r["name"]: r["id"] for r in info["reasons"]}
    sums = {ids[name]: ns for name, ns in t["waits"].items()}
    sums[RUNNING], sums[LOST] = t["running_ns"], t["lost_ns"] + t["unseen_ns"]
    return {c: ns for c, ns in sums.items() if ns}


def check_lanes(engine, info):
    threads = [t["index"] for t in info["threads"]]
    listed = ",".join(map(str, threads))
    for begin, end in ranges(engine, info, 4):
        for cols in (1, 7, 64):
            lanes = lanes_of(engine.ask(f"lanes?from={begin}&to={end}&cols={cols}&threads={listed}"))
            check(len(lanes) == len(threads), f"{len(lanes)} lanes, not {len(threads)}")
            for c in range(cols):
                a, b = (begin + (end - begin) * i // cols for i in (c, c + 1))
                if a < b:
                    check_column(engine, info, lanes, threads, c, a, b)


def check_column(engine, info, lanes, threads, column, begin, end):
    have = {t["index"]: t for t in engine.json(f"threads?from={begin}&to={end}")["threads"]}
    for lane, index in zip(lanes, threads):
        got = lane.get(column, {})
        want = by_class(info, have[index]) if index in have else {}
        total = share(sum(want.values()), end - begin)
        check(sum(got.values()) == total,
              f"thread {index} [{begin}, {end}): {got} is not {total} in all")
        for c in set(got) | set(want) if info["has_switches"] else ():
            off = got.get(c, 0) - share(want.get(c, 0), end - begin)
            check(abs(off) <= 1, f"thread {index} [{begin}, {end}): class {c} is off by {off}")


def walk(engine, request, start):
    """All stretches of a lane, one after the other."""
    at = start
    while at is not None:
        s = engine.json(f"{request}&ts={at}")
        check(s["start"] == at and s["start"] < s["end"], f"{request}: {s} at {at}")
        yield s
        check(s["next_ts"] in (None, s["end"]), f"{request}: a hole at {s['end']}")
        at = s["next_ts"]


def check_walks(engine, info):
    """Every stretch of every thread: they tile its life, and add up to the report's numbers."""
    ran = collections.Counter()
    for t in info["threads"]:
        sums, waits = collections.Counter(), collections.Counter()
        for s in walk(engine, f"at?thread={t['index']}", t["start"]):
            ns = s["end"] - s["start"]
            sums[s["kind"]] += ns
            if s["reason"]:
                waits[s["reason"]] += ns
            if s["kind"] == "running":
                ran[s["cpu"], t["index"]] += ns
            check((s["kind"] == "running") == (s["cpu"] is not None), f"{s}: a CPU")
            for h in s["holders"]:
                check(s["start"] <= h["start"] < h["end"] <= s["end"], f"{h} is not in {s}")
                check(h["thread"] != t["index"], f"{t['comm']} waits for itself")
            check(not s["waker"] or s["waker"]["ts"] >= s["end"], f"{s}: its waker came before")
        check(sums["running"] == t["running_ns"], f"{t['comm']}: {sums} is not {t['running_ns']}")
        if info["has_switches"]:
            check(dict(waits) == t["waits"], f"{t['comm']}: {waits} is not {t['waits']}")
            check(sums["lost"] == t["lost_ns"], f"{t['comm']}: {sums} is not {t['lost_ns']}")
    return ran


def check_cpus(engine, info, ran):
    """A CPU ran what the threads say that they ran there."""
    whole, got = info["duration_ns"], collections.Counter()
    lanes = lanes_of(engine.ask("cpus?cols=50"))
    check(len(lanes) == info["cpus"], "lanes of CPUs are missing")
    for cpu, lane in enumerate(lanes):
        for column, shares in lane.items():
            check(set(shares) <= {RUNNING, LOST, IDLE}, f"CPU {cpu}: {shares}")
            if info["whole_machine"]:
                check(sum(shares.values()) == 65535, f"CPU {cpu}: column {column}: {shares}")
        for s in walk(engine, f"cpu_at?cpu={cpu}", 0) if lane else ():
            if s["kind"] == "running":
                got[cpu, s["thread"]] += s["end"] - s["start"]
            check((s["kind"] == "running") == (s["thread"] is not None), f"{s}: a thread")
    if info["has_switches"]:
        check(got == ran, f"threads ran elsewhere: {got - ran} {ran - got}")
    elif whole:
        check(sum(got.values()) <= sum(ran.values()), "CPUs ran more than their threads")


# What has no answer must fail in the same words.
STRANGE = ["", "?", "nothing", "open?x=1", "at", "at?thread=0", "at?thread=0&ts=-1", "lanes",
           "lanes?cols=70000", "lanes?cols=10&threads=0,,1", "lanes?cols=65536&threads=" + "0," * 99,
           "cpus?cols=0", "threads?from=7&to=7", "threads?from=99999999999999999999",
           "summary?thread=nobody", "cpu_at?cpu=70000&ts=0", "flame?kind=wait&from=1",
           "functions?from=0&to=1", "find?text=%00", "find?text=a", "heat?kind=wait&cols=9&rows=9"]


def requests(engine, info):
    """Of every kind, some of them at places where something happens."""
    yield from ("open", "threads", "summary", "flame?kind=cpu", "flame?kind=wait&by=thread",
                "flame?kind=both&invert=1", "functions", "heat?kind=samples&cols=20&rows=20", *STRANGE)
    whole, threads = info["duration_ns"], info["threads"][:40]
    listed = ",".join(str(t["index"]) for t in threads)
    for begin, end in ranges(engine, info, 6):
        yield f"threads?from={begin}&to={end}"
        for cols in (1, 333, 1280):
            yield f"lanes?from={begin}&to={end}&cols={cols}&threads={listed}"
            yield f"cpus?from={begin}&to={end}&cols={cols}"
        yield f"flame?kind=both&from={begin}&to={end}"
    yield f"summary?from={whole // 3}&to={whole // 2}"
    for t in threads:
        for i in range(8):
            yield f"at?thread={t['index']}&ts={whole * i // 8}"
            yield f"chart?thread={t['index']}&from=0&to={whole}&max=50"


def check_page_engine(capture):
    """The engine inside of a page gives the answers of the one outside, byte by byte."""
    if not shutil.which("node"):
        raise Skip("there is no node")
    plain = "plain.thaw"
    with open(plain, "wb") as f:
        subprocess.run([PLAIN, capture], stdout=f, check=True)
    native, page = Engine(plain), Engine(plain, ("node", PAGE_ENGINE, WASM))
    info, count = native.json("open"), 0
    for request in requests(native, info):
        # A page does not know where its capture lay.
        want = native.ask(request).replace(b'"path":"plain.thaw"', b'"path":""')
        want = want.replace(b'"path": "plain.thaw"', b'"path": ""')
        check(page.ask(request) == want, f"{capture}: {request}: the page's engine says otherwise")
        count += 1
    native.close()
    page.close()
    return f"{count} answers"


def check_first_screen(capture, info):
    """The page opens with the report's sentence, its stalls, and the threads that are deadlocked."""
    said = json.loads(report_bytes(capture, 0, 0))
    check(info["text"] == said["finding"]["sentence"], f"{info['text']} is not {said['finding']['sentence']}")
    check([(s["start"], s["ns"], s["threads"]) for s in info["stalls"]] ==
          [(s["start_ns"], s["ns"], s["threads"]) for s in said["stalls"]], f"other stalls: {info['stalls']}")
    for stall, told in zip(info["stalls"], said["stalls"]):
        check(stall["text"].startswith("Deadlock of ") == told["deadlock"], stall["text"])
    if said["deadlocks"]:
        tids = {t["index"]: t["tid"] for t in info["threads"]}
        check(info["about"]["kind"] == "wait" and [tids[i] for i in info["about"]["threads"]] ==
              [t["tid"] for t in said["deadlocks"][0]["threads"]], f"about {info['about']}")


def check_capture(capture):
    engine = Engine(capture)
    info = engine.json("open")
    check(info["progress"] == 1 and info["schema"] == "thaw.page/1", "open")
    check_first_screen(capture, info)
    check_ranges(engine, info)
    if info["duration_ns"]:
        check_lanes(engine, info)
        check_cpus(engine, info, check_walks(engine, info))
    engine.close()


def made(*args, command=(SERVER, "--seconds", "1")):
    record(args, command, "q.thaw")
    check_capture("q.thaw")
    return check_page_engine("q.thaw")


def test_server():
    """Locks, holders, disk, pools."""
    return made()


def test_whole_machine():
    """CPUs that idle, and threads that nobody started."""
    load = start([WORKLOAD, "mixed", "3"])
    r = thaw("record", "-a", "-d", "1s", "-o", "q.thaw", "--max-overhead", "100")
    stop(load)
    check(r.returncode == 0, f"record: {r.stderr.strip()}")
    check_capture("q.thaw")
    return check_page_engine("q.thaw")


def test_sampled():
    """No switches: samples are all there is."""
    return made("--engine", "ctimer", command=(WORKLOAD, "spin", "2"))


def test_perf():
    return made("--engine", "perf", command=(WORKLOAD, "mixed", "1"))


if __name__ == "__main__":
    captures = [a for a in sys.argv[2:] if os.path.exists(a)]
    if captures:
        for path in captures:
            check_capture(path)
            if os.path.exists(WASM) and os.path.exists(PLAIN):
                check_page_engine(path)
            print(f"ok query {os.path.basename(path)}")
    else:
        sys.exit(run(tests_of(globals())))
