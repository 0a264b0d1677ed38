# SPDX-License-Identifier: MIT
"""OTLP profiles, decoded by protoc with a schema written by hand: every field is known, every index
is in range, every table begins with "none", and sums and names are those of thaw's own report."""
import codecs
import os
import re

from common import (ROOT, THAW, WORK, capture, captures, clean, export, fails, full_disk, need, report,
                    run, test, waits_by_stack)

PROTOC = need("protoc", "protobuf-compiler")
FORMATS = os.path.join(ROOT, "test", "formats")
LOCKS = ("mutex", "rwlock", "futex", "kernel_lock")
TYPES = {"samples": "count", "cpu": "nanoseconds", "off_cpu": "nanoseconds",
         "contentions": "count", "delay": "nanoseconds"}
TABLES = ("mapping", "location", "function", "link", "string", "attribute", "stack")


def value(text):
    if text.startswith('"'):
        return codecs.escape_decode(text[1:-1].encode())[0]
    return text == "true" if text in ("true", "false") else int(text, 0)


def decode(path):
    """A message as a dict of lists; a field that the schema does not have is an error."""
    with open(path, "rb") as f:
        text = run(PROTOC, f"-I{FORMATS}", "--decode=otlp.ExportProfilesServiceRequest", "otlp.proto",
                   stdin=f).decode()
    root = {}
    open_ = [root]
    for line in text.splitlines():
        line = line.strip()
        if line == "}":
            open_.pop()
            continue
        found = re.match(r"^(\w+)(?: \{|: (.*))$", line)
        assert found and not found[1].isdigit(), f"not in the schema: {line}"
        inner = {} if found[2] is None else value(found[2])
        open_[-1].setdefault(found[1], []).append(inner)
        if found[2] is None:
            open_.append(inner)
    assert len(open_) == 1
    return root


def one(message, field, default=0):
    """A field that does not repeat; left out, it is its default."""
    got = message.get(field, [default])
    assert len(got) == 1, (field, got)
    return got[0]


class Export:
    def __init__(self, path):
        self.root = decode(path)
        assert set(self.root) <= {"resource_profiles", "dictionary"}
        self.dict = one(self.root, "dictionary")
        self.tables = {t: self.dict[t + "_table"] for t in TABLES}
        self.strings = [s.decode("utf-8") for s in self.tables["string"]]
        self.none()
        self.in_range()
        self.once()

    def none(self):
        assert self.strings[0] == ""
        for name in TABLES:
            assert name == "string" or self.tables[name][0] == {}, name

    def check(self, table, indices):
        for i in indices:
            assert 0 <= i < len(self.tables[table]), (table, i, len(self.tables[table]))

    def in_range(self):
        for m in self.tables["mapping"]:
            self.check("string", m.get("filename_strindex", []))
            self.check("attribute", m.get("attribute_indices", []))
            assert one(m, "memory_start") < one(m, "memory_limit") or m == {}, m
        for place in self.tables["location"]:
            self.check("mapping", place.get("mapping_index", []))
            self.check("attribute", place.get("attribute_indices", []))
            for line in place.get("lines", []):
                self.check("function", line["function_index"])
                assert line["function_index"] != [0], place
        for f in self.tables["function"]:
            self.check("string", f.get("name_strindex", []) + f.get("filename_strindex", []))
        for a in self.tables["attribute"]:
            self.check("string", a.get("key_strindex", []) + a.get("unit_strindex", []))
        for s in self.tables["stack"]:
            self.check("location", s.get("location_indices", []))
            assert 0 not in s.get("location_indices", []), s
        for _, profile in self.profiles():
            for kind in profile["sample_type"] + profile.get("period_type", []):
                self.check("string", [one(kind, "type_strindex"), one(kind, "unit_strindex")])
            for s in profile["samples"]:
                self.check("stack", s.get("stack_index", []))
                self.check("attribute", s.get("attribute_indices", []))
                assert 0 not in s.get("attribute_indices", []), s
                assert len(s["values"]) == 1 and s["values"][0] > 0, s

    def once(self):
        """No table has the same thing twice."""
        for name in TABLES:
            rows = [repr(r) for r in self.tables[name]]
            assert len(rows) == len(set(rows)), name

    def attributes(self, message, field="attribute_indices"):
        """As a dict; no key twice."""
        got = {}
        for i in message.get(field, []):
            a = self.tables["attribute"][i]
            key = self.strings[one(a, "key_strindex")]
            assert key not in got, (key, got)
            got[key] = self.any(one(a, "value"))
        return got

    @staticmethod
    def any(v):
        return one(v, "string_value").decode("utf-8") if "string_value" in v else one(v, "int_value")

    def resources(self):
        for r in self.root.get("resource_profiles", []):
            about = {one(a, "key").decode(): self.any(one(a, "value"))
                     for a in one(r, "resource")["attributes"]}
            scope = one(r, "scope_profiles")
            assert one(one(scope, "scope"), "name") == b"thaw"
            yield about, scope["profiles"]

    def profiles(self):
        for about, profiles in self.resources():
            for p in profiles:
                yield about, p

    def type(self, message, field):
        kind = one(message, field)
        return (self.strings[one(kind, "type_strindex")], self.strings[one(kind, "unit_strindex")])

    def samples(self, kind):
        """Of all processes: process, thread and such, the value, and (function, line), leaf first."""
        for about, p in self.profiles():
            if self.type(p, "sample_type")[0] != kind:
                continue
            for s in p["samples"]:
                stack = []
                for i in self.tables["stack"][one(s, "stack_index")].get("location_indices", []):
                    for line in self.tables["location"][i]["lines"]:
                        f = self.tables["function"][one(line, "function_index")]
                        stack.append((self.strings[one(f, "name_strindex")], one(line, "line")))
                yield {**about, **self.attributes(s)}, s["values"][0], stack


def truth(name, *options):
    said = report(name, "--top", "100000", *options)
    threads = said["threads"]
    samples = sum(t["samples"] for t in threads)
    locks = [w for w in said["waits"] if w["reason"] in LOCKS]
    return said, {"samples": samples, "cpu": samples * (10**9 // said["capture"]["freq_hz"]),
                  "off_cpu": sum(t["waiting_ns"] or 0 for t in threads),
                  "contentions": sum(w["count"] for w in locks),
                  "delay": sum(w["total_ns"] for w in locks)}


def sums(name, *options, kinds=tuple(TYPES)):
    have = Export(export(name, "otlp", *options, suffix=".bin"))
    said, want = truth(name, *(o for o in options if o not in ("--kind", "cpu", "wait", "lock")))
    got = {}
    for _, p in have.profiles():
        kind, unit = have.type(p, "sample_type")
        assert TYPES[kind] == unit, (kind, unit)
        got[kind] = got.get(kind, 0) + sum(s["values"][0] for s in p["samples"])
        start = said["capture"]["start_unix_ns"] + said["capture"]["window_start_ns"]
        assert one(p, "time_unix_nano") == start, p["time_unix_nano"]
        assert one(p, "duration_nano") == said["capture"]["window_ns"], p["duration_nano"]
        assert len(one(p, "profile_id")) == 16
        if kind in ("samples", "cpu"):
            assert have.type(p, "period_type") == ("cpu", "nanoseconds")
            assert one(p, "period") == 10**9 // said["capture"]["freq_hz"]
        if kind == "off_cpu":
            assert have.type(p, "period_type") == ("context_switch", "count")
    assert got == {k: want[k] for k in kinds if want[k]} and got, (got, want)
    ids = [one(p, "profile_id") for _, p in have.profiles()]
    assert len(ids) == len(set(ids)), ids


def threads(name):
    """Each process and thread: its samples, its waits by reason, its name."""
    have = Export(export(name, "otlp", suffix=".bin"))
    got = {}
    for kind in ("samples", "off_cpu"):
        for label, count, _ in have.samples(kind):
            own = got.setdefault((label["process.pid"], label["thread.id"]), {"samples": 0})
            what = label["thaw.wait.reason"] if kind == "off_cpu" else kind
            own[what] = own.get(what, 0) + count
            own["comm"] = label["thread.name"]
    said = report(name, "--top", "100000")
    for t in said["threads"]:
        want = {r: ns for r, ns in t["waits"].items() if r not in ("run_queue", "throttled")}
        if t["samples"] or want:
            want.update(samples=t["samples"], comm=clean(t["comm"]))
            assert got.pop((t["pid"], t["tid"])) == want, (t, want)
    assert not got, got
    first = {t["pid"]: clean(t["comm"]) for t in said["threads"] if t["tid"] == t["pid"]}
    for about, _ in have.resources():
        assert about["host.name"] == said["capture"]["host"], about
        assert about["os.version"] == said["capture"]["kernel"], about
        pid = about["process.pid"]
        assert about["process.executable.name"] == first.get(pid, about["process.executable.name"])
    pids = [about["process.pid"] for about, _ in have.resources()]
    assert len(pids) == len(set(pids)), pids


def functions(name):
    have = Export(export(name, "otlp", suffix=".bin"))
    own, total = {}, {}
    for _, count, stack in have.samples("samples"):
        for i, function in enumerate(dict.fromkeys(f for f, _ in stack)):
            total[function] = total.get(function, 0) + count
            if not i:
                own[function] = own.get(function, 0) + count
    said = report(name, "--top", "100000")["functions"]
    for each in {clean(f["name"]) for f in said}:
        same = [f for f in said if clean(f["name"]) == each]
        assert own.get(each, 0) == sum(f["self_samples"] for f in same), each
        assert len(same) > 1 or total[each] == same[0]["total_samples"], each


def stacks(name):
    """Waits by reason and stack, inlined functions as frames of their own."""
    have = Export(export(name, "otlp", suffix=".bin"))
    got = {}
    for label, ns, stack in have.samples("off_cpu"):
        key = label["thaw.wait.reason"], tuple(f for f, _ in stack)
        got[key] = got.get(key, 0) + ns
    assert got == waits_by_stack(name), (got, waits_by_stack(name))


def locks():
    """Waits for the mutex: its name, its holder, the whole stack, in both sample types."""
    have = Export(export("locks", "otlp", suffix=".bin"))
    said = report("locks", "--top", "100000")
    lock = said["locks"][said["waits"][0]["lock"]]
    want = [(f["name"], f["line"]) for f in said["waits"][0]["stack"]]
    for kind, sum_ in (("delay", lock["total_wait_ns"]), ("contentions", lock["waits"])):
        got = [s for s in have.samples(kind) if s[0].get("thaw.lock.name") == lock["name"]]
        assert sum(count for _, count, _ in got) == sum_, (kind, got)
        assert {label["thaw.lock.holder"] for label, _, _ in got} == {lock["holders"][0]["comm"]}
        assert all(stack == want for _, _, stack in got), got


def inlined():
    have = Export(export("story", "otlp", suffix=".bin"))
    found = [p for p in have.tables["location"] if len(p.get("lines", [])) > 1]
    assert len(found) == 1, found
    names = [have.strings[one(have.tables["function"][one(line, "function_index")], "name_strindex")]
             for line in found[0]["lines"]]
    assert names == ["match", "compress"], names
    assert [one(line, "line") for line in found[0]["lines"]] == [10, 11], found


def modules():
    """Build ids are the files' own; frames of the kernel are told from others."""
    have = Export(export("demo", "otlp", suffix=".bin"))
    checked = 0
    for i, m in enumerate(have.tables["mapping"][1:], 1):
        path = have.strings[one(m, "filename_strindex")]
        kinds = {have.attributes(p)["profile.frame.type"] for p in have.tables["location"]
                 if one(p, "mapping_index") == i}
        assert kinds == {"kernel" if path == "[kernel]" else "native"}, (path, kinds)
        if not path.startswith("/") or not os.path.exists(path):
            continue
        notes = run("readelf", "-n", path).decode()
        build_id = re.search(r"Build ID: (\w+)", notes)[1]
        assert have.attributes(m) == {"process.executable.build_id.gnu": build_id}, m
        checked += 1
    assert checked >= 2, have.tables["mapping"]


def unseen():
    have = Export(export("ctimer", "otlp", suffix=".bin"))
    assert {have.type(p, "sample_type")[0] for _, p in have.profiles()} == {"samples", "cpu"}
    out = os.path.join(WORK, "ctimer.wait.otlp")
    status, words = fails(THAW, "export", capture("ctimer"), "-f", "otlp", "--kind", "lock", "-o", out)
    assert status == 1 and "locks" in words and not os.path.exists(out), (status, words)


def hostile(name):
    have = Export(export(name, "otlp", suffix=".bin"))
    _, want = truth(name)
    for kind in TYPES:
        assert sum(count for _, count, _ in have.samples(kind)) == want[kind], kind


for each in captures():
    test(f"otlp {each}: sums are the report's", sums, each)
    test(f"otlp {each}: processes and threads are the report's", threads, each)
    test(f"otlp {each}: functions are the report's", functions, each)
    test(f"otlp {each}: stacks of waits are the report's", stacks, each)
test("otlp story: --from and --to", sums, "story", "--from", "2s", "--to", "5s")
test("otlp locks: --thread", sums, "locks", "--thread", "worker-1")
for kind_, kinds_ in (("cpu", ("samples", "cpu")), ("wait", ("off_cpu",)),
                      ("lock", ("contentions", "delay"))):
    test(f"otlp locks: --kind {kind_}",
         lambda k=kind_, t=kinds_: sums("locks", "--kind", k, kinds=t))
test("otlp locks: a lock has its name, its holder and its stacks", locks)
test("otlp story: inlined functions are lines of one place", inlined)
test("otlp demo: modules have their build ids and kinds", modules)
test("otlp ctimer: what was not seen is not there", unseen)
for each in ("names", "lost", "empty"):
    test(f"otlp {each}: protoc reads it", hostile, each)
test("otlp names: functions are the report's", functions, "names")
test("otlp story: a full disk is said", full_disk, "story", "otlp")
