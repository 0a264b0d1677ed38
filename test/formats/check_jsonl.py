# SPDX-License-Identifier: MIT
"""JSON lines: each valid by the schema that thaw prints, as ajv sees it; counted as thaw info does."""
import json
import os
import re

from common import NPM, ROOT, THAW, WORK, capture, captures, export, fails, need, report, run, test

NODE = need("node", "nodejs")
VALIDATE = """
const fs = require('fs'), Ajv = require(process.argv[2] + '/ajv');
const load = Ajv.default || Ajv, ajv = new load({strict: false, allErrors: false});
const check = ajv.compile(JSON.parse(fs.readFileSync(process.argv[3])));
let n = 0;
for (const line of fs.readFileSync(process.argv[4], 'utf8').split('\\n')) {
  if (!line) continue;
  const value = JSON.parse(line);
  const bad = process.argv[5] === 'damage';
  if (bad) value.extra = 1;
  if (check(value) === bad) { console.log(line, JSON.stringify(check.errors)); process.exit(1); }
  n++;
}
console.log(n);
"""


def schema():
    path = os.path.join(WORK, "jsonl.schema.json")
    with open(path, "wb") as out:
        out.write(run(THAW, "export", "-f", "jsonl", "--schema"))
    return path


def lines(name, *options, suffix=".jsonl"):
    path = export(name, "jsonl", *options, suffix=suffix)
    with open(path, encoding="utf-8", errors="strict") as f:
        return path, [json.loads(line) for line in f]


def valid(name):
    path, got = lines(name)
    script = os.path.join(WORK, "validate.cjs")
    with open(script, "w", encoding="utf-8") as out:
        out.write(VALIDATE)
    assert int(run(NODE, script, NPM, schema(), path)) == len(got)
    # And the schema is able to refuse.
    run(NODE, script, NPM, schema(), path, "damage")


def counts(name):
    _, got = lines(name)
    assert got[0]["type"] == "capture" and got[0]["schema"] == "thaw.jsonl/1", got[0]
    seen = {}
    for line in got[1:]:
        seen[line["type"]] = seen.get(line["type"], 0) + 1
    said = json.loads(run(THAW, "info", "--json", capture(name)))
    for kind in ("stack", "module", "lost"):
        seen.pop(kind, None)
    assert seen == {k: n for k, n in said["events_by_kind"].items() if n and k != "lost"}, seen
    times = [line["ts"] for line in got if "ts" in line]
    assert name == "demo" or times == sorted(times)


def refers(name):
    """A stack and a module stand before what refers to them, and are used."""
    _, got = lines(name)
    known = {"stack": set(), "module": set()}
    used = {"stack": set(), "module": set()}
    for line in got:
        if line["type"] in known:
            assert line["id"] not in known[line["type"]], line
            known[line["type"]].add(line["id"])
            continue
        for key, kind in (("kstack", "stack"), ("ustack", "stack"), ("module", "module")):
            if line.get(key) is not None:
                assert line[key] in known[kind], line
                used[kind].add(line[key])
    assert used == known, name


def truth(name):
    """Samples by thread, and the switches' own sums, are the report's."""
    _, got = lines(name)
    said = report(name, "--top", "100000")
    samples = {}
    for line in got:
        if line["type"] == "sample":
            samples[line["tid"]] = samples.get(line["tid"], 0) + 1
    expected = {}
    for t in said["threads"]:
        if t["samples"]:
            expected[t["tid"]] = expected.get(t["tid"], 0) + t["samples"]
    assert samples == expected, (samples, expected)
    stacks = {line["id"]: line["frames"] for line in got if line["type"] == "stack"}
    leaves = {}
    for line in got:
        if line["type"] == "sample" and (line["kstack"] or line["ustack"]):
            leaf = stacks[line["kstack"] or line["ustack"]][0]["function"]
            leaves[leaf] = leaves.get(leaf, 0) + 1
    for f in said["functions"]:
        same = sum(g["self_samples"] for g in said["functions"] if g["name"] == f["name"])
        assert leaves.get(f["name"], 0) == same, f


def part(name):
    _, whole = lines(name)
    for kind, types in (("cpu", {"sample"}), ("wait", {"switch", "waking", "wait", "asleep", "file"}),
                        ("lock", {"futex", "klock", "klocked"})):
        _, got = lines(name, "--kind", kind, suffix=f".{kind}.jsonl")
        data = {"sample", "switch", "waking", "wait", "asleep", "file", "futex", "klock", "klocked"}
        assert [e for e in got if e["type"] in data] == [e for e in whole if e["type"] in types], kind
    _, got = lines(name, "--from", "20ms", "--to", "60ms", suffix=".window.jsonl")
    assert [e for e in got if e["type"] == "switch"] == [
        e for e in whole if e["type"] == "switch" and 20e6 <= e["ts"] < 60e6]
    tid = next(e["tid"] for e in whole if e["type"] == "sample")
    _, got = lines(name, "--thread", str(tid), suffix=".thread.jsonl")
    assert {e["tid"] for e in got if e["type"] == "sample"} == {tid}
    assert all(tid in (e["prev"], e["next"]) for e in got if e["type"] == "switch")


def interrupts():
    """In each second a disk's interrupt meets worker-1 (101) and wakes the writer: not worker-1's doing."""
    _, got = lines("story")
    woken = [(e["wakee"], e["waker"]) for e in got if e["type"] == "waking" and e["ctx"] == "hardirq"]
    assert woken == [(103, None)] * 10, woken
    woken = [(e["wakee"], e["waker"]) for e in got if e["type"] == "waking" and e["ctx"] == "task"]
    assert (102, 103) in woken and all(waker for _, waker in woken), woken
    _, mine = lines("story", "--thread", "101", suffix=".interrupts.jsonl")
    assert all(101 in (e["wakee"], e["waker"]) for e in mine if e["type"] == "waking"), mine


def generated():
    """Every field of wire/event.def is in the schema, under its event."""
    types = {t["title"]: t for t in json.load(open(schema(), encoding="utf-8"))["oneOf"]}
    text = open(os.path.join(ROOT, "src", "wire", "event.def"), encoding="utf-8").read()
    names = dict(re.findall(r'^EVENT\(\d+, (\w+), \w+, "(\w+)"', text, flags=re.M))
    fields = re.findall(r"^FIELD\((\w+), \w+, \d+, (\w+),", text, flags=re.M)
    assert len(names) > 10 and len(fields) > 50
    for event, field in fields:
        of = types[names[event]]
        assert field in of["properties"] and field in of["required"], (event, field)


def refused():
    status, said = fails(THAW, "export", "-f", "collapsed", "--schema")
    assert status == 2 and "no schema" in said, (status, said)


for each in captures() + ["names", "lost", "empty", "ctimer"]:
    test(f"jsonl {each}: valid by its schema", valid, each)
    test(f"jsonl {each}: as many events as thaw info counts", counts, each)
    test(f"jsonl {each}: stacks and modules come first", refers, each)
for each in captures():
    test(f"jsonl {each}: samples are the report's", truth, each)
test("jsonl locks: kinds, a window and a thread", part, "locks")
test("jsonl story: interrupts are nobody's doing", interrupts)
test("jsonl: the schema has every field of every event", generated)
test("jsonl: a format without a schema says so", refused)
