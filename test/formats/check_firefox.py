# SPDX-License-Identifier: MIT
"""Profiles for the Firefox Profiler, read by its own loader (profiler-cli): sums per thread, function,
category and marker are the report's. The loader takes any index for what it is, so all of them are
checked here."""
import errno
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from common import (NPM, capture, captures, clean, export, full_disk, need, refuses_timeless,
                    refuses_waits, report, run, test, waits_by_stack)

CLI = os.path.join(NPM, "@firefox-devtools", "profiler-cli", "dist", "profiler-cli.js")
NODE = need("node", "nodejs")
if not os.path.exists(CLI):
    print("skip all of formats/firefox: @firefox-devtools/profiler-cli is not installed")
    sys.exit(0)

# Sockets have short names.
SESSIONS = tempfile.mkdtemp(prefix="thaw-ff")
ENV = {**os.environ, "PROFILER_CLI_SESSION_DIR": SESSIONS, "NODE_NO_WARNINGS": "1",
       "PROFILER_CLI_NO_SYMBOLICATE": "1"}
ON_CPU = {"User", "Kernel", "Other"}


def near(a, b, grain=1e-6):
    assert abs(a - b) <= grain + 1e-9 * abs(b), (a, b)


class Loaded:
    """A profile in the profiler's own hands. `profiler-cli load` starts this server too (but gives it
    only half a second to come up), and its other commands are what is asked here, a line each."""

    def __init__(self, path):
        self.at = os.path.join(SESSIONS, "thaw.sock")
        self.server = subprocess.Popen([NODE, CLI, "--daemon", path, "--session", "thaw"], env=ENV,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.socket = socket.socket(socket.AF_UNIX)
        self.answers = self.socket.makefile("r", encoding="utf-8")

    def ask(self, message):
        self.socket.sendall(json.dumps(message).encode() + b"\n")
        return json.loads(self.answers.readline())

    def thread(self, what, **more):
        answer = self.ask({"type": "command",
                           "command": {"command": "thread", "subcommand": what, **more}})
        assert answer["type"] == "success", answer
        return answer["result"]

    def __enter__(self):
        for _ in range(600):
            time.sleep(0.1)
            assert self.server.poll() is None, "the loader ended"
            if not os.path.exists(self.at):
                continue
            if self.socket.connect_ex(self.at) in (0, errno.EISCONN):
                state = self.ask({"type": "status"})
                assert state["type"] != "error", state
                if state["type"] == "ready":
                    return self
        raise AssertionError("the loader does not answer")

    def __exit__(self, *_):
        self.socket.close()
        self.server.terminate()
        self.server.wait()
        for left in os.listdir(SESSIONS):
            os.unlink(os.path.join(SESSIONS, left))

    def threads(self):
        return self.thread("list", threadListOptions={"sort": "index"})["threads"]

    def functions(self, thread):
        return self.thread("functions", thread=thread["threadHandle"], includeIdle=True)["functions"]

    def categories(self, thread):
        found = self.thread("samples", thread=thread["threadHandle"], includeIdle=True)
        found = found["categoryBreakdown"]["categories"]
        return {c["name"]: c["samples"] for c in found if c["samples"]}

    def markers(self, thread):
        """By name: their sum in ms."""
        found = self.thread("markers", thread=thread["threadHandle"])["byType"]
        return {m["markerName"]: m["durationStats"]["avg"] * m["count"] for m in found}

    def list(self, thread):
        return self.thread("markers", thread=thread["threadHandle"],
                           markerFilters={"list": True})["flatMarkers"]


def by_hand():
    """The program itself, as a person calls it."""
    with Loaded(export("locks", "firefox", suffix=".json")):
        said = json.loads(run(NODE, CLI, "thread", "list", "--session", "thaw", "--json", env=ENV))
    assert {t["name"] for t in said["threads"]} == {t["comm"] for t in report("locks")["threads"]}


def in_range(column, n, *others):
    for i in column:
        assert i in others or (isinstance(i, int) and 0 <= i < n), (i, n)


def table(owner, name, *but):
    """All columns have its length."""
    t = owner[name]
    for key, column in t.items():
        if key not in ("length", *but):
            assert len(column) == t["length"], (name, key, len(column), t["length"])
    return t


def indices(path):
    """Every index of the file points to what is there, and times go forward."""
    with open(path, encoding="utf-8") as f:
        p = json.load(f)
    strings, libs, kinds = p["shared"]["stringArray"], p["libs"], p["meta"]["categories"]
    assert len(set(strings)) == len(strings)
    for lib in libs:
        assert len(lib["breakpadId"]) == 33, lib
    for t in p["threads"]:
        stacks, frames, funcs = (table(t, n) for n in ("stackTable", "frameTable", "funcTable"))
        resources = table(t, "resourceTable")
        samples, markers = table(t, "samples", "weightType"), table(t, "markers")
        in_range(stacks["frame"], frames["length"])
        for i, prefix in enumerate(stacks["prefix"]):
            assert prefix is None or 0 <= prefix < i, (i, prefix)
        in_range(frames["func"], funcs["length"])
        in_range(frames["category"], len(kinds))
        in_range(funcs["name"], len(strings))
        in_range(funcs["fileName"], len(strings), None)
        in_range(funcs["resource"], resources["length"], -1)
        in_range(resources["lib"], len(libs))
        in_range(resources["name"], len(strings))
        in_range(samples["stack"], stacks["length"], None)
        in_range(markers["name"], len(strings))
        in_range(markers["category"], len(kinds))
        assert samples["time"] == sorted(samples["time"])
        assert samples["threadCPUDelta"][0] == 0 and samples["stack"][0] is None
        for data, a, b in zip(markers["data"], markers["startTime"], markers["endTime"]):
            assert a < b, (a, b)
            if data is None:
                continue
            in_range([data["cause"]["stack"]], stacks["length"])
            in_range([data[k] for k in ("lock", "holder", "waker") if k in data], len(strings))
    return p


def by_thread(said, threads):
    """Both are in the same order."""
    assert len(said["threads"]) == len(threads), (len(said["threads"]), len(threads))
    for mine, theirs in zip(said["threads"], threads):
        assert mine["tid"] == theirs["tid"], (mine, theirs)
        yield mine, theirs


def sample_ms(said):
    hz = said["capture"]["freq_hz"]
    return (1e9 // hz if hz else 1e6) / 1e6


def times_of(name, *options):
    """Everything in one: CPU time, samples and waits by category, waits and run queue as markers."""
    path = export(name, "firefox", *options, suffix=".json")
    said = report(name, "--top", "100000", *options)
    indices(path)
    with Loaded(path) as p:
        for mine, theirs in by_thread(said, p.threads()):
            near(theirs["cpuMs"], mine["running_ns"] / 1e6)
            waits = {k: v / 1e6 for k, v in mine["waits"].items()}
            marked = p.markers(theirs)
            near(marked.pop("not recorded", 0), mine["lost_ns"] / 1e6)
            assert set(marked) == set(waits), (marked, waits)
            for reason, ms in waits.items():
                near(marked[reason], ms)
            weighed = p.categories(theirs)
            near(sum(weighed.pop(c, 0) for c in ON_CPU), mine["samples"] * sample_ms(said))
            for reason in set(waits) - {"run_queue", "throttled"}:
                near(weighed.pop("Idle" if reason == "idle" else reason), waits[reason])
            assert not weighed, weighed


def functions_of(name, *options):
    """Self and total of every function, over all threads."""
    path = export(name, "firefox", "--kind", "cpu", *options, suffix=".cpu.json")
    said = report(name, "--top", "100000", *options)
    indices(path)
    theirs = {}
    with Loaded(path) as p:
        for mine, thread in by_thread(said, p.threads()):
            found = p.functions(thread)
            assert sum(f["selfSamples"] for f in found) == mine["samples"], mine
            for f in found:
                sums = theirs.setdefault(f["name"], [0, 0])
                sums[0] += f["selfSamples"]
                sums[1] += f["totalSamples"]
    mine = {}
    for f in said["functions"]:
        sums = mine.setdefault(clean(f["name"]), [0, 0])
        sums[0] += f["self_samples"]
        sums[1] += f["total_samples"]
    theirs.pop("[no stack]", None)
    assert mine == theirs, {n: (mine.get(n), theirs.get(n)) for n in {*mine, *theirs}
                            if mine.get(n) != theirs.get(n)}


def stack_names(profile, thread, stack):
    """Leaf first."""
    strings = profile["shared"]["stringArray"]
    frames, funcs = thread["frameTable"], thread["funcTable"]
    while stack is not None:
        yield strings[funcs["name"][frames["func"][thread["stackTable"]["frame"][stack]]]]
        stack = thread["stackTable"]["prefix"][stack]


def stacks_of(name):
    """Every wait stands under the stack and reason that the report has it under."""
    p = indices(export(name, "firefox", "--kind", "wait", suffix=".wait.json"))
    kinds = [c["name"] for c in p["meta"]["categories"]]
    sums = {}
    for t in p["threads"]:
        for stack, ms in zip(t["samples"]["stack"], t["samples"]["weight"]):
            if stack is None:
                assert not ms
                continue
            kind = kinds[t["frameTable"]["category"][t["stackTable"]["frame"][stack]]]
            names = tuple(stack_names(p, t, stack))
            key = kind.lower(), () if names == ("[no stack]",) else names
            sums[key] = sums.get(key, 0) + round(ms * 1e6)
    assert sums == waits_by_stack(name)


def locks_of_the_story():
    """Who held what is known: see make_golden.c."""
    path = export("locks", "firefox", "--kind", "lock", suffix=".lock.json")
    indices(path)
    seen = []
    with Loaded(path) as p:
        for thread in p.threads():
            for m in p.list(thread):
                fields = {f["key"]: f["value"] for f in m["fields"]}
                assert m["hasStack"], m
                seen.append((thread["name"], m["name"], fields.get("lock"), fields.get("holder"),
                             fields.get("waker")))
    commits = [s for s in seen if s[2] == "commit_lock"]
    assert len(commits) == 20, len(commits)
    for i in range(4):
        waker = f"worker-{i - 1} ({300 + i})" if i else "checkpointer (305)"
        assert commits.count((f"worker-{i}", "mutex", "commit_lock", "checkpointer (305)",
                              waker)) == 5, commits
    maps = [s for s in seen if s[1] == "kernel_lock"]
    assert maps and all(s[0] == "worker-1" and s[3] == "worker-2 (303)" for s in maps), maps
    assert not [s for s in seen if s[1] in ("condvar", "disk", "run_queue")], seen


def interrupts():
    """In each second a disk's interrupt meets worker-1 and wakes the writer: not worker-1's doing."""
    seen = []
    with Loaded(export("story", "firefox", suffix=".interrupts.json")) as p:
        for thread in p.threads():
            for m in p.list(thread):
                if m["name"] == "disk":
                    seen.append((thread["name"], {f["key"]: f["value"] for f in m["fields"]}.get("waker")))
    assert seen == [("wal-writer", "interrupt")] * 10, seen


def inlined():
    """compress() has match() inlined into it, at the same address."""
    p = indices(export("story", "firefox", suffix=".json"))
    strings = p["shared"]["stringArray"]
    found = set()
    for t in p["threads"]:
        frames, funcs = t["frameTable"], t["funcTable"]
        for i in range(frames["length"]):
            name = strings[funcs["name"][frames["func"][i]]]
            if name in ("match", "compress"):
                found.add((name, frames["inlineDepth"][i], frames["address"][i],
                           strings[funcs["fileName"][frames["func"][i]]], frames["line"][i]))
    found = sorted(found)
    assert [f[:2] for f in found] == [("compress", 0), ("match", 1)], found
    assert found[0][2] == found[1][2] > 0 and found[0][3:] == ("app.c", 11), found


def libraries():
    """The build id of a recorded program, in the profile's two forms, is that of its file."""
    p = indices(export("demo", "firefox", suffix=".json"))
    lib = next(x for x in p["libs"] if os.path.basename(x["path"]) == "server")
    said = run("readelf", "-n", lib["path"]).decode()
    truth = said.split("Build ID: ")[1].split()[0]
    assert lib["codeId"] == truth, (lib, truth)
    b = bytes.fromhex(truth)[:16]
    guid = b[3::-1] + b[5:3:-1] + b[7:5:-1] + b[8:]
    assert lib["breakpadId"] == guid.hex().upper() + "0", lib


def lost_nothing_to_names():
    """Hostile names come through as JSON has them."""
    p = indices(export("names", "firefox", suffix=".json"))
    said = report("names")
    assert [t["name"] for t in p["threads"]] == [t["comm"] for t in said["threads"]]


def nobody():
    p = indices(export("empty", "firefox", suffix=".json"))
    assert not p["threads"]


def halves(name):
    """A window, and one thread of it."""
    said = report(name)
    ms = said["capture"]["duration_ns"] // 1000000
    window = ("--from", f"{ms // 4}ms", "--to", f"{ms // 2}ms")
    times_of(name, *window)
    functions_of(name, *window)
    busy = max(said["threads"], key=lambda t: t["samples"])
    times_of(name, "--thread", str(busy["tid"]))
    functions_of(name, "--thread", str(busy["tid"]), *window)


try:
    for each in captures():
        test(f"firefox {each}: CPU time, samples and waits are the report's", times_of, each)
        test(f"firefox {each}: functions are the report's", functions_of, each)
        test(f"firefox {each}: stacks of waits are the report's", stacks_of, each)
        test(f"firefox {each}: so are those of a window and of a thread", halves, each)
    test("firefox locks: each wait has its lock, its holder and its waker", locks_of_the_story)
    test("firefox story: interrupts are nobody's doing", interrupts)
    test("firefox locks: profiler-cli itself", by_hand)
    test("firefox story: inlined functions", inlined)
    test("firefox story: a full disk", full_disk, "story", "firefox")
    test("firefox demo: build ids", libraries)
    test("firefox ctimer: without switches", functions_of, "ctimer")
    test("firefox ctimer: waits were not seen", refuses_waits, "firefox")
    test("firefox: a capture without times is refused", refuses_timeless, "firefox")
    test("firefox names: hostile names", lost_nothing_to_names)
    test("firefox names: times", times_of, "names")
    test("firefox lost: what is lost is said", times_of, "lost")
    test("firefox empty: a recording of nothing", nobody)
finally:
    shutil.rmtree(SESSIONS, ignore_errors=True)
