#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The queries about stacks and locks against the report and the exports: flames.py BUILD CAPTURE...

Both come from one capture, but by other ways: the report and the exporter read the events of the range
anew, the queries sum up what is kept of the whole recording. Flame graphs are folded back into lines
and compared with `thaw export -f collapsed`; sums are those of `thaw report --json`."""
import collections
import json
import os
import struct
import subprocess
import sys

BUILD = os.path.abspath(sys.argv[1])


def check(condition, words):
    if not condition:
        raise AssertionError(words)


def run(*args):
    r = subprocess.run(args, capture_output=True, timeout=120, check=False)
    check(r.returncode == 0, f"{' '.join(args)}: {r.stderr.decode(errors='replace')}")
    return r.stdout


class Capture:
    def __init__(self, path):
        self.path = path
        self.thread = {t["index"]: t for t in self.ask("open")["threads"]}
        self.ns = self.ask("open")["duration_ns"]

    def raw(self, request):
        return run(os.path.join(BUILD, "query"), self.path, request)

    def ask(self, request):
        return json.loads(self.raw(request))

    def report(self, window):
        return json.loads(run(os.path.join(BUILD, "thaw"), "report", self.path, "--json", *options(window)))

    def export(self, kind, window):
        """Lines, with the frames apart."""
        out = run(os.path.join(BUILD, "thaw"), "export", self.path, "-f", "collapsed", "--kind", kind,
                  *options(window))
        lines = {}
        for line in out.decode(errors="replace").splitlines():
            path, weight = line.rsplit(" ", 1)
            lines[tuple(path.split(";"))] = int(weight)
        return lines


def options(window):
    return ["--from", f"{window[0]}ns", "--to", f"{window[1]}ns"] if window else []


def keys(window, more=""):
    return (f"from={window[0]}&to={window[1]}&" if window else "") + more


def named(name):
    """As an exporter writes it."""
    return "".join(":" if c == ";" else " " if ord(c) < 32 or c == "\x7f" else c
                   for c in name)


class Tree:
    """A flame graph's answer."""
    def __init__(self, answer):
        self.answer = answer
        self.node = answer["node"]
        self.n = len(self.node["parent"])
        self.children = collections.defaultdict(list)
        for i in range(1, self.n):
            check(self.node["parent"][i] < i, "a parent stands before its children")
            self.children[self.node["parent"][i]].append(i)

    def adds_up(self, value="value"):
        check(self.node[value][0] == self.answer["total2" if value == "value2" else "total"], "the root")
        for i in range(self.n):
            inside = sum(self.node[value][c] for c in self.children[i])
            if value == "value":
                check(self.node["value"][i] == self.node["self"][i] + inside, f"node {i} adds up")
            check(self.node[value][i] >= inside, f"node {i} holds its children")
        last = []
        for i in range(self.n):  # preorder: the parent is on the way back to the root
            while last and last[-1] != self.node["parent"][i]:
                last.pop()
            check(last or i == 0, f"node {i} is in preorder")
            last.append(i)
        return self

    def name(self, i):
        return self.answer["names"][self.node["name"][i]]

    def frame(self, i):
        end = "_[k]" if self.node["kernel"][i] else "_[i]" if self.node["inlined"][i] else ""
        return named(self.name(i)) + end

    def is_reason(self, i):
        return (not self.answer["modules"][self.node["module"][i]] and self.name(i) != "(no stack)"
                and self.node.get("reason", [-1] * self.n)[i] >= 0)

    def lines(self, column="self", unit=1, inverted=False):
        """What flamegraph.pl would be given: the first row are threads, reasons are left out."""
        out = collections.Counter()
        path = {0: ()}
        for i in range(1, self.n):
            up = path[self.node["parent"][i]]
            if not up:
                one = named(self.name(i)).rsplit(" (", 1)[0]
            elif self.is_reason(i):
                one = None
            else:
                one = "[no stack]" if self.name(i) == "(no stack)" else self.frame(i)
            path[i] = up + ((one,) if one is not None else ())
            if self.node[column][i]:
                line = path[i][:1] + path[i][:0:-1] if inverted else path[i]
                out[line] += self.node[column][i]
        return {line: weight // unit for line, weight in out.items() if weight // unit}


def flames_are_exports(c, window):
    for kind, unit in (("cpu", 1), ("wait", 1000)):
        want = c.export(kind, window)
        for invert in (0, 1):
            tree = Tree(c.ask("flame?" + keys(window, f"kind={kind}&by=thread&min=0&invert={invert}")))
            got = tree.adds_up().lines(unit=unit, inverted=invert)
            check(got == want, f"{kind}, {window}, invert={invert}: "
                  f"{sorted(set(got.items()) ^ set(want.items()))[:4]}")


def totals_are_the_reports(c, window):
    rep = c.report(window)
    cpu = Tree(c.ask("flame?" + keys(window, "kind=cpu"))).adds_up()
    wait = Tree(c.ask("flame?" + keys(window, "kind=wait"))).adds_up()
    both = Tree(c.ask("flame?" + keys(window, "kind=both"))).adds_up()
    hz = rep["capture"]["freq_hz"]
    check(cpu.answer["total"] == sum(t["samples"] for t in rep["threads"]), "samples")
    check(wait.answer["total"] == sum(t["waiting_ns"] for t in rep["threads"]), "waiting")
    check(both.answer["total"] == wait.answer["total"] + cpu.answer["total"] * (10**9 // hz if hz else 1),
          "both")
    # Which file and line a function is at may depend on which call of it was seen first.
    got = [(f["name"], f["module"], f["self"], f["total"])
           for f in c.ask("functions?" + keys(window, "kind=cpu"))["functions"]]
    want = [(f["name"], f["module"], f["self_samples"], f["total_samples"]) for f in rep["functions"]]
    check(sorted(got) == sorted(want), f"functions in {window}: {sorted(set(got) ^ set(want))[:4]}")
    check([g[2:] for g in got] == [w[2:] for w in want], "the order of functions")
    return rep


def functions_have_callers(c, window):
    for f in c.ask("functions?" + keys(window, "kind=both"))["functions"][:5]:
        one = c.ask("function?" + keys(window, f"kind=both&name={quoted(f['name'])}&module="
                                               f"{quoted(f['module'])}"))
        check(one["self"] == f["self"] and one["value"] == f["total"], f"{f['name']}: the same numbers")
        for side in ("callers", "callees"):
            tree = Tree(one[side]).adds_up()
            check(tree.answer["total"] == f["total"], f"{f['name']}: {side} have {tree.answer['total']}")


def quoted(text):
    return "".join(f"%{b:02x}" for b in text.encode())


def ranges_add_up(c):
    a, b, d = c.ns // 7, c.ns // 3, c.ns - c.ns // 5
    if not a:
        return
    for kind in ("cpu", "wait"):
        first, second, whole = (Tree(c.ask("flame?" + keys(w, f"kind={kind}&by=thread&min=0"))).lines()
                                for w in ((a, b), (b, d), (a, d)))
        check(collections.Counter(first) + collections.Counter(second) == collections.Counter(whole),
              f"{kind}: {a} to {b} and {b} to {d}")
        two = Tree(c.ask("flame?" + keys((a, b), f"kind={kind}&by=thread&min=0&from2={b}&to2={d}")))
        two.adds_up().adds_up("value2")
        check(two.lines() == first, f"{kind}: the first of two")
        check(two.answer["total2"] == sum(second.values()), f"{kind}: the second of two")


def heat_adds_up(c, rep):
    def cells(request):
        raw = c.raw(request)
        head = struct.unpack_from("<6I", raw)
        got = struct.unpack_from(f"<{head[0] * head[1]}I", raw, 24)
        check(len(raw) == 24 + 4 * len(got), "as many cells as it says")
        check(head[0] * (head[2] + (head[3] << 32)) > c.ns, "the columns cover it")
        return sum(got)
    check(cells("heat?kind=samples") == sum(t["samples"] for t in rep["threads"]), "heat of samples")
    waits = collections.Counter()
    for t in rep["threads"]:
        waits.update(t["waits"])
    for rows in (1, 7, 50):
        got = cells(f"heat?kind=wait&cols=37&rows={rows}")
        check(got == sum(t["waiting_ns"] for t in rep["threads"]) // 1000, "heat of waiting")
    for reason, ns in waits.items():
        check(cells(f"heat?kind=reason:{reason}") == ns // 1000, f"heat of {reason}")


def locks_are_the_reports(c, window, rep):
    for lock in rep["locks"]:
        if lock["inferred"] or lock["kind"] in ("spinlock", "rwsem", "kernel_mutex", "kernel_rwlock"):
            continue
        line = c.ask("lockline?" + keys(window, f"lock={lock['id']}"))
        what = f"{lock['name']} in {window}"
        check(line["lock"]["name"] == lock["name"] and line["lock"]["kind"] == lock["kind"], what)
        check(line["wait_ns"] == lock["total_wait_ns"], f"{what}: waited {line['wait_ns']}")
        for side, ns in (("waiters", "wait_ns"), ("holders", "blamed_ns")):
            got = {(c.thread[one["thread"]]["tid"] if one["thread"] is not None else None): one["wait_ns"]
                   for one in line[side]}
            # Who was woken in the moment of going to sleep has waited, without length: it is in no line.
            want = {one["tid"]: one[ns] for one in lock[side] if one[ns]}
            check(got == want, f"{what}: {side} {got}, not {want}")
            check(all(sum(one["piece"]["ns"]) == one["ns"] <= one["wait_ns"] for one in line[side]),
                  f"{what}: pieces")
        for i, row in enumerate(line["matrix"]):
            check(sum(row) == line["waiters"][i]["wait_ns"], f"{what}: row {i} of the matrix")
        for i, column in enumerate(zip(*line["matrix"])):
            check(sum(column) == line["holders"][i]["wait_ns"], f"{what}: column {i}")


def charts_are_true(c):
    """What a chart shows of waits is what the flame graph has of them, as far as nothing is left out."""
    for index in list(c.thread)[:8]:
        chart = c.ask(f"chart?thread={index}")
        p = chart["piece"]
        check(all(0 <= s < e <= c.ns for s, e in zip(p["start"], p["end"])), "within the recording")
        rows = collections.defaultdict(list)
        for depth, s, e in zip(p["depth"], p["start"], p["end"]):
            rows[depth].append((s, e))
        for row in rows.values():
            check(all(a[1] <= b[0] for a, b in zip(row, row[1:])), "pieces of a row do not overlap")
        check(all(e - s >= chart["shortest_ns"] for s, e in zip(p["start"], p["end"])), "none too short")


def hostile(c):
    for request in ("flame?kind=door", "flame?from=9&to=3", "flame?threads=99999", "flame?min=2",
                    "flame?reasons=99", "flame?min=nan", "flame?by=cpu", "functions?max=99999999",
                    "function?name=nobody%00", "function", "function?name=no such", "heat?kind=reason:door",
                    "heat?cols=0", "heat?rows=5000", "chart", "chart?thread=4294967295",
                    "chart?thread=-1", "chart?thread=18446744073709551616", "lockline?lock=4294967295",
                    "lockline", "find", "find?text=", "flame?from=18446744073709551615"):
        r = subprocess.run([os.path.join(BUILD, "query"), c.path, request], capture_output=True,
                           timeout=60, check=False)
        check(r.returncode == 1 and json.loads(r.stdout)["error"], f"{request}: {r.returncode}")
    far = (1 << 56) - 1
    for request in (f"flame?kind=both&from=0&to={far}", f"flame?kind=wait&from={far - 1}&to={far}",
                    f"functions?from={far - 1}&to={far}"):
        check(c.ask(request)["total"] == (c.ask("flame?kind=both")["total"] if "from=0" in request else 0),
              request)


def all_of(path):
    c = Capture(path)
    windows = [None] + [w for w in ((c.ns // 5, c.ns // 2), (0, c.ns // 3), (c.ns // 7, c.ns)) if w[0] < w[1]]
    for window in windows:
        rep = totals_are_the_reports(c, window)
        flames_are_exports(c, window)
        functions_have_callers(c, window)
        locks_are_the_reports(c, window, rep)
    heat_adds_up(c, c.report(None))
    ranges_add_up(c)
    charts_are_true(c)
    hostile(c)


def main():
    failed = 0
    for path in sys.argv[2:]:
        try:
            all_of(path)
            print(f"ok flames of {os.path.basename(path)}")
        except AssertionError as why:
            print(f"FAIL flames of {os.path.basename(path)}: {why}")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
