# SPDX-License-Identifier: MIT
"""pprof's profile.proto, as go tool pprof reads it: sums, functions, labels, mappings and lines are
those of thaw's own report."""
import os
import re
import subprocess

from common import (THAW, WORK, capture, captures, clean, export, full_disk, need, refuses_waits,
                    report, run, test, waits_by_stack)

GO = need("/usr/lib/go-1.19/bin/go", "golang-1.19-go")
ENV = dict(os.environ, HOME=WORK, PPROF_TMPDIR=WORK, PPROF_BINARY_PATH=os.path.join(WORK, "none"))
LOCKS = ("mutex", "rwlock", "futex", "kernel_lock")
ALL = ["samples/count", "cpu/nanoseconds", "off_cpu/nanoseconds", "contentions/count",
       "delay/nanoseconds"]


def pprof(path, *args):
    return run(GO, "tool", "pprof", *args, path, env=ENV).decode()


def raw(path):
    """What pprof has read, as it prints it: sample types, samples, locations, mappings."""
    head, rest = pprof(path, "-raw").split("\nSamples:\n")
    body, rest = rest.split("\nLocations\n")
    locations, mappings = rest.split("\nMappings\n")
    lines = body.split("\n")
    samples = []
    for line in lines[1:]:
        found = re.match(r"^ *((?:\d+ +)*\d+): ([\d ]*)$", line)
        if found:
            samples.append(([int(v) for v in found[1].split()], [int(v) for v in found[2].split()],
                            {}))
        else:
            samples[-1][2].update(re.findall(r"(\w+):\[(.*?) ?\](?: |$)", line))
    return {"head": head, "types": [t.replace("[dflt]", "") for t in lines[0].split()],
            "default": [t for t in lines[0].split() if "[dflt]" in t], "samples": samples,
            "locations": places(locations), "mappings": maps(mappings)}


def places(text):
    """By number: mapping, and (function, line) from the innermost out."""
    found = {}
    for line in text.split("\n"):
        first = re.match(r"^ *(\d+): (0x[0-9a-f]+) (?:M=(\d+) )?(.*)$", line)
        if first:
            number = int(first[1])
            found[number] = {"address": int(first[2], 16), "mapping": int(first[3] or 0), "lines": []}
        name = re.match(r"^(.*) (.*):(\d+) s=\d+\(.*\)$", first[4] if first else line.strip())
        if name:
            found[number]["lines"].append((name[1], int(name[3])))
    return found


def maps(text):
    found = {}
    for line in text.split("\n"):
        m = re.match(r"^(\d+): (0x[0-9a-f]+|0)/(0x[0-9a-f]+|0)/(0x[0-9a-f]+|0) (\S*) *(\w*) *"
                     r"((?:\[..\])*)$", line)
        if m:
            found[int(m[1])] = {"start": int(m[2], 16), "limit": int(m[3], 16), "file": m[5],
                                "build_id": m[6], "has": m[7]}
    return found


def top(path, kind):
    """The total of a sample type, and each function's own and cumulative share."""
    text = pprof(path, "-top", "-nodecount=0", "-nodefraction=0", "-edgefraction=0",
                 f"-sample_index={kind}", "-unit=ns" if kind not in ("samples", "contentions")
                 else "-unit=count")
    total = int(re.search(r" of ([\d.]+)(?:ns|count)? total", text)[1])
    functions = {}
    for line in text.split("flat  flat%   sum%        cum   cum%\n")[1].splitlines():
        flat, _, _, cum, _, name = line.split(None, 5)
        functions[re.sub(r" \((partial-)?inline\)$", "", name)] = (
            int(re.sub(r"[a-z]+$", "", flat)), int(re.sub(r"[a-z]+$", "", cum)))
    return total, functions


def truth(name, *options):
    said = report(name, "--top", "100000", *options)
    threads = said["threads"]
    samples = sum(t["samples"] for t in threads)
    locks = [w for w in said["waits"] if w["reason"] in LOCKS]
    hz = said["capture"]["freq_hz"]
    return said, {"samples": samples, "cpu": samples * (10**9 // hz),
                  "off_cpu": sum(t["waiting_ns"] or 0 for t in threads),
                  "contentions": sum(w["count"] for w in locks),
                  "delay": sum(w["total_ns"] for w in locks)}


def totals(name, *options, suffix="", types=None):
    path = export(name, "pprof", *options, suffix=suffix + ".pb.gz")
    have = raw(path)
    said, want = truth(name, *(o for o in options if o not in ("--kind", "cpu", "wait", "lock")))
    assert have["types"] == (types or ALL), have["types"]
    for i, each in enumerate(have["types"]):
        kind = each.split("/")[0]
        total = sum(values[i] for values, _, _ in have["samples"])
        assert total == want[kind], (kind, total, want[kind])
        assert total == 0 or top(path, kind)[0] == want[kind], (kind, want[kind])
    assert any(want[t.split("/")[0]] for t in have["types"]), want
    return path, have, said


def sums(name):
    _, have, said = totals(name)
    assert f"Period: {10**9 // said['capture']['freq_hz']}\n" in have["head"], have["head"]
    assert "PeriodType: cpu nanoseconds" in have["head"], have["head"]
    assert have["default"] == ["cpu/nanoseconds[dflt]"], have["default"]
    seconds = re.search(r"Duration: ([\d.]+)", have["head"])
    assert abs(float(seconds[1]) - said["capture"]["window_ns"] / 1e9) < 0.01, have["head"]


def functions(name):
    """Each function's own and total samples, of those with the same name in any module."""
    path = export(name, "pprof", suffix=".pb.gz")
    _, have = top(path, "samples")
    said = report(name, "--top", "100000")["functions"]
    assert said
    for each in {clean(f["name"]) for f in said}:
        own = sum(f["self_samples"] for f in said if clean(f["name"]) == each)
        same = [f["total_samples"] for f in said if clean(f["name"]) == each]
        assert have[each][0] == own, (each, have[each], own)
        assert len(same) > 1 or have[each][1] == same[0], (each, have[each], same)


def labels(name):
    """Samples by thread, and waits by thread and reason, from the labels alone."""
    have = raw(export(name, "pprof", suffix=".pb.gz"))
    threads = {}
    for values, _, label in have["samples"]:
        own = threads.setdefault((int(label["tid"]), int(label["pid"])), {"samples": 0})
        own["samples"] += values[0]
        own["comm"] = label["thread"]
        if values[2]:
            own[label["reason"]] = own.get(label["reason"], 0) + values[2]
    for t in report(name, "--top", "100000")["threads"]:
        want = {r: ns for r, ns in t["waits"].items() if r not in ("run_queue", "throttled")}
        if t["samples"] or want:
            want.update(samples=t["samples"], comm=clean(t["comm"]))
            assert threads.pop((t["tid"], t["pid"])) == want, (t, want)
    assert not threads, threads


def stacks(name):
    """Waits by reason and stack, inlined functions as frames of their own."""
    have = raw(export(name, "pprof", suffix=".pb.gz"))
    got = {}
    for values, places_, label in have["samples"]:
        if values[2]:
            frames = tuple(f for p in places_ for f, _ in have["locations"][p]["lines"])
            key = label["reason"], frames if frames != ("[no stack]",) else ()
            got[key] = got.get(key, 0) + values[2]
    assert got == waits_by_stack(name), (got, waits_by_stack(name))


def tags(name, *options):
    """The same by pprof's own sums. Of a very short wait the share is told as 2.5e-05%."""
    text = pprof(export(name, "pprof", *options, suffix=".tags.pb.gz"), "-tags", "-sample_index=off_cpu", "-unit=ns")
    want = {}
    for t in report(name, "--top", "100000", *options)["threads"]:
        for reason, ns in t["waits"].items():
            if reason not in ("run_queue", "throttled"):
                want[reason] = want.get(reason, 0) + ns
    part = re.search(r"^ reason: Total .*\n((?: +.*\n)*)", text, re.M)[1]
    have = {m[2]: int(m[1]) for m in re.finditer(r"^ +(\d+)\.0ns \( *[\d.e-]+%\): (.*)$", part, re.M)}
    assert have == want, (have, want)


def locks():
    """The mutex by its name, its waiters' sum, and who held it; its waits as a stack."""
    path = export("locks", "pprof", suffix=".pb.gz")
    have = raw(path)
    said = report("locks", "--top", "100000")
    for lock in said["locks"]:
        got = [(v, label) for v, _, label in have["samples"] if label.get("lock") == lock["name"]]
        if lock["kind"] not in ("mutex", "condvar", "rwlock"):
            continue
        assert sum(v[2] for v, _ in got) == lock["total_wait_ns"], (lock["name"], got)
        assert sum(v[3] for v, _ in got) == (lock["waits"] if lock["contended"] else 0), got
        for waiter in lock["waiters"] if lock["contended"] else []:
            mine = {label.get("holder") for _, label in got if int(label["tid"]) == waiter["tid"]}
            assert mine == {lock["holders"][0]["comm"]}, (waiter["comm"], mine)
    text = pprof(path, "-traces", "-sample_index=delay", "-unit=ns")
    traces = [re.findall(r"^ *(?:\d+(?:ns)? +)?(\S+)(?: \(inline\))?$", part, re.M)
              for part in re.split(r"^-+\+-+$", text, flags=re.M)]
    want = [f["name"] for f in said["waits"][0]["stack"]]
    assert want in traces, (want, traces)


def inlined():
    """compress has match inlined: one location, match first, each with its own line."""
    have = raw(export("story", "pprof", suffix=".pb.gz"))
    found = [p for p in have["locations"].values() if len(p["lines"]) > 1]
    assert [p["lines"] for p in found] == [[("match", 10), ("compress", 11)]], found
    assert "[IN]" in have["mappings"][found[0]["mapping"]]["has"], have["mappings"]
    apart = [m for m in have["mappings"].values() if m["file"].endswith("libbare.so")]
    assert apart and not apart[0]["has"], have["mappings"]


def guessed():
    """40 samples have a guessed caller, see make_golden.c: they have its mark in their stack and a label."""
    path = export("guessed", "pprof", suffix=".pb.gz")
    have = raw(path)
    marked = {True: set(), False: set()}
    count = {True: 0, False: 0}
    for values, places_, label in have["samples"]:
        frames = tuple(f for p in places_ for f, _ in have["locations"][p]["lines"])
        marked["caller" in label].add(frames)
        count["caller" in label] += values[0]
        assert label.get("caller", "guessed") == "guessed", label
    assert marked[True] == {("[jit]+0x7f0000001040", "[guessed]", "run_kernel", "main")}, marked
    assert not any("[guessed]" in frames for frames in marked[False]), marked
    assert count == {True: 40, False: 101}, count
    for option, left in (("-tagfocus", 40), ("-tagignore", 101)):
        text = pprof(path, "-top", "-sample_index=samples", f"{option}=caller=guessed")
        assert f", {left}" in text or f" {left}, " in text, (option, text)


def build_ids():
    """As the files themselves say."""
    have = raw(export("demo", "pprof", suffix=".pb.gz"))
    checked = 0
    for m in have["mappings"].values():
        if not m["file"].startswith("/") or not os.path.exists(m["file"]):
            continue
        notes = run("readelf", "-n", m["file"]).decode()
        assert m["build_id"] == re.search(r"Build ID: (\w+)", notes)[1], m
        checked += os.path.basename(m["file"]) == "server"
    assert checked == 1, have["mappings"]
    ranges = sorted((m["start"], m["limit"]) for m in have["mappings"].values())
    assert all(a[1] <= b[0] for a, b in zip(ranges, ranges[1:])), ranges
    for p in have["locations"].values():
        m = have["mappings"].get(p["mapping"])
        assert not m or m["start"] <= p["address"] < m["limit"], (p, m)


def real_addresses():
    """A file's offset is where its code is: binutils names the same function there."""
    have = raw(export("demo", "pprof", suffix=".pb.gz"))
    server = [m["file"] for m in have["mappings"].values() if m["file"].endswith("/server")][0]
    checked = 0
    segments = re.findall(r"LOAD +(0x\w+) (0x\w+) 0x\w+\s+(0x\w+) ", run("readelf", "-lW", server)
                          .decode())
    for p in have["locations"].values():
        m = have["mappings"].get(p["mapping"])
        if not m or m["file"] != server or not p["lines"]:
            continue
        offset = p["address"] - m["start"]
        for at, where, size in ((int(a, 16), int(b, 16), int(c, 16)) for a, b, c in segments):
            if at <= offset < at + size:
                said = run("addr2line", "-fe", server, hex(offset - at + where)).decode().split("\n")
                ours = p["lines"][0][0]
                assert said[0] in ("??", ours, re.sub(r"\.\w+\.\d+$", "", ours)), (said, p)
                checked += said[0] != "??"
    assert checked > 3, checked


def unseen():
    """An engine that sees no waits: no zeros for them, and --kind wait says so."""
    have = raw(export("ctimer", "pprof", suffix=".pb.gz"))
    assert have["types"] == ALL[:2], have["types"]
    said = report("ctimer", "--top", "100000")["threads"]
    assert sum(v[0] for v, _, _ in have["samples"]) == sum(t["samples"] for t in said) > 0
    assert sum(v[1] for v, _, _ in have["samples"]) == sum(t["running_ns"] for t in said), said
    refuses_waits("pprof")


def hostile(name):
    """Whatever the names are, pprof reads it, and its sums are right."""
    path = export(name, "pprof", suffix=".pb.gz")
    _, want = truth(name)
    for kind in want:
        if want[kind]:
            assert top(path, kind)[0] == want[kind], (kind, want)
    for other in ("-raw", "-tags", "-traces", "-comments"):
        pprof(path, other)


def same_again(name):
    first, second = (open(export(name, "pprof", suffix=s), "rb").read() for s in (".1", ".2"))
    assert first == second


def broken_pipe():
    """Who stops reading is not an error of the disk's, and nothing hangs."""
    with subprocess.Popen([THAW, "export", capture("story"), "-f", "pprof"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as p:
        p.stdout.close()
        p.stderr.read()
        assert p.wait(60) is not None


for each in captures():
    test(f"pprof {each}: sums are the report's", sums, each)
    test(f"pprof {each}: functions are the report's", functions, each)
    test(f"pprof {each}: labels say what the report says", labels, each)
    test(f"pprof {each}: stacks of waits are the report's", stacks, each)
    test(f"pprof {each}: tags say what the report says", tags, each)
    test(f"pprof {each}: the same capture gives the same bytes", same_again, each)
test("pprof story: a microsecond of waiting has its tag", tags, "story", "--to", "400001us")
test("pprof story: --from and --to", totals, "story", "--from", "2s", "--to", "5s")
test("pprof locks: --thread", totals, "locks", "--thread", "worker-1")
for kind_, types_ in (("cpu", ALL[:2]), ("wait", ALL[2:3]), ("lock", ALL[3:])):
    test(f"pprof locks: --kind {kind_}",
         lambda k=kind_, t=types_: totals("locks", "--kind", k, types=t))
test("pprof locks: a lock has its name, its holder and its stacks", locks)
test("pprof story: inlined functions are lines of one place", inlined)
test("pprof guessed: a guessed caller is marked, and can be asked for", guessed)
test("pprof demo: build ids are the files' own", build_ids)
test("pprof demo: addresses are places in the files", real_addresses)
test("pprof ctimer: what was not seen is not there", unseen)
for each in ("names", "lost", "empty"):
    test(f"pprof {each}: pprof reads it", hostile, each)
test("pprof names: functions are the report's", functions, "names")
test("pprof story: a full disk is said", full_disk, "story", "pprof")
test("pprof story: a closed pipe ends it", broken_pipe)
