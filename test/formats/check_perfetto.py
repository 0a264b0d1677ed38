# SPDX-License-Identifier: MIT
"""
A Perfetto trace, decoded by protoc with a schema written by hand, and understood as Perfetto's
trace_processor does: numbers before they are used, switches in a chain for each CPU, slices from
begin and end, and thread states, wakers, ends and losses by the rules of its importer
(perfetto_importer.py). Where THAW_TRACE_PROCESSOR names a trace_processor_shell, its own tables,
errors and sums too.
"""
import functools
import json
import os
import time

from common import (BUILD, THAW, capture, captures, clean, export, need, refuses_timeless, refuses_waits,
                    report, run, test)
from perfetto_importer import Importer
from perfetto_processor import Processor
from prototext import decode, one

PROTOC = need("protoc", "protobuf-compiler")
REFERS = {
    "frames": {"function_name_id": "function_names", "mapping_id": "mappings",
               "source_path_iid": "source_paths"},
    "callstacks": {"frame_ids": "frames"},
    "mappings": {"build_id": "build_ids", "path_string_ids": "mapping_paths"},
}


class Trace:
    def __init__(self, path):
        self.path = path
        self.packets = decode(PROTOC, "perfetto.proto", "Trace", path).get("packet", [])
        self.importer = Importer(self.packets)
        self.events = []  # of the scheduler: (ts, place in the file, cpu, event)
        for packet in self.packets:
            for bundle in packet.get("ftrace_events", []):
                for event in bundle.get("event", []):
                    self.events.append((one(event, "timestamp"), len(self.events),
                                        one(bundle, "cpu"), event))
        self.events.sort(key=lambda e: e[:2])
        self.samples_at = [(one(p, "timestamp"), s) for p in self.packets for s in p.get("perf_sample", [])
                           if "kernel_records_lost" not in s]
        self.samples = [s for _, s in self.samples_at]
        self.interned = self.intern()
        self.tracks = {one(t, "uuid"): t for p in self.packets for t in p.get("track_descriptor", [])}
        self.slices = self.pair()

    def intern(self):
        """What numbers mean: each is told before it is used, and never means two things."""
        known = {}
        first = True
        for packet in self.packets:
            flags = one(packet, "sequence_flags")
            if one(packet, "trusted_packet_sequence_id") != 2:
                assert flags is None and "interned_data" not in packet, packet
                continue
            assert flags == (3 if first else 2), packet
            assert one(packet, "first_packet_on_sequence", False) == first, packet
            first = False
            fresh = one(packet, "interned_data", {})
            for field, things in fresh.items():
                for thing in things:
                    iid = one(thing, "iid")
                    assert iid and iid not in known.setdefault(field, {}), (field, iid)
                    known[field][iid] = thing
            for field, refers in REFERS.items():
                for thing in fresh.get(field, []):
                    self.look_up(known, thing, refers)
            for event in packet.get("track_event", []):
                self.look_up(known, event, {"category_iids": "event_categories",
                                            "name_iid": "event_names", "callstack_iid": "callstacks"})
                for note in event.get("debug_annotations", []):
                    self.look_up(known, note, {"name_iid": "debug_annotation_names",
                                               "string_value_iid": "debug_annotation_string_values"})
            for sample in packet.get("perf_sample", []):
                self.look_up(known, sample, {"callstack_iid": "callstacks"})
        return known

    @staticmethod
    def look_up(known, thing, refers):
        for field, table in refers.items():
            for iid in thing.get(field, []):
                assert iid in known.get(table, {}), f"{field} {iid} before it is known"

    def text(self, table, iid):
        thing = self.interned[table][iid]
        return (one(thing, "name") if "name" in thing else one(thing, "str")).decode("utf-8")

    def stack(self, iid):
        """The functions of a callstack, root first."""
        frames = self.interned["callstacks"][iid]["frame_ids"] if iid else []
        return tuple(self.text("function_names", one(self.interned["frames"][f], "function_name_id")) for f in frames)

    def pair(self):
        """Slices: an end closes the last that is open on its track."""
        events = []
        for place, packet in enumerate(self.packets):
            for event in packet.get("track_event", []):
                events.append((one(packet, "timestamp"), place, event))
        events.sort(key=lambda e: e[:2])
        out, open_, self.flows, self.ends, self.instants = [], {}, [], [], []
        for ts, _, event in events:
            track = one(event, "track_uuid")
            assert track in self.tracks, track
            kind = one(event, "type")
            self.flows += event.get("flow_ids", [])
            self.ends += event.get("terminating_flow_ids", [])
            if kind == 2:
                start, begin = open_[track].pop()
                out.append(self.slice(track, start, ts, begin))
            elif kind == 1:
                open_.setdefault(track, []).append((ts, event))
            else:
                assert kind == 3, kind
                self.instants.append(self.slice(track, ts, ts, event))
        assert not any(open_.values()), "a slice has no end"
        return out

    def slice(self, track, start, end, event):
        notes = {}
        for note in event.get("debug_annotations", []):
            iid = one(note, "string_value_iid")
            notes[self.text("debug_annotation_names", one(note, "name_iid"))] = (
                self.text("debug_annotation_string_values", iid) if iid else one(note, "uint_value"))
        above = one(self.tracks[track], "parent_uuid", track)
        thread = one(self.tracks[above], "thread", {})
        return {
            "tid": one(thread, "tid"), "start": start, "end": end, "ns": end - start,
            "track": (one(self.tracks[track], "name") or b"").decode(),
            "name": self.text("event_names", one(event, "name_iid")), "notes": notes,
            "flow": one(event, "flow_ids"),
            "cats": {self.text("event_categories", c) for c in event.get("category_iids", [])},
        }

    def of_kind(self, kind):
        return [(ts, cpu, e, one(e, kind)) for ts, _, cpu, e in self.events if kind in e]


def add(sums, key, ns):
    sums[key] = sums.get(key, 0) + ns


def by_tid(said, field):
    out = {}
    for thread in said["threads"]:
        add(out, thread["tid"], thread[field])
    return {tid: ns for tid, ns in out.items() if ns}


def window(said):
    """The begin and end in the trace's clock."""
    return said["capture"]["window_start_ns"], said["capture"]["window_ns"]


def running(trace):
    """Who was on which CPU, by switches alone; each CPU's form a chain."""
    on, sums = {}, {}
    for ts, cpu, _, sw in trace.of_kind("sched_switch"):
        who, since = on.get(cpu, (0, ts))
        assert one(sw, "prev_pid") == who, (ts, cpu, sw, who)
        if who:
            add(sums, who, ts - since)
        on[cpu] = (one(sw, "next_pid"), ts)
    assert not any(who for who, _ in on.values()), "somebody never leaves"
    return {tid: ns for tid, ns in sums.items() if ns}


def check_running(trace, said):
    """Where events contradict each other, the model may have two threads on a CPU; a trace cannot."""
    found, told = running(trace), by_tid(said, "running_ns")
    if said["losses"]["contradictions"]:
        assert all(ns <= told[tid] for tid, ns in found.items()), (found, told)
        assert sum(found.values()) >= sum(told.values()) * 0.99, (found, told)
    else:
        assert found == told, (found, told)


def is_whole(said):
    return not said["losses"]["thread_time_ns"] and not said["losses"]["contradictions"]


@functools.cache
def traced(name, *options):
    """Decoding takes long, and nobody changes what it gives: once for all checks."""
    return Trace(export(name, "perfetto", *options, suffix="".join(options))), report(
        name, *[o for pair in zip(options[::2], options[1::2]) if pair[0] != "--kind" for o in pair])


def scheduling(name, *options):
    trace, said = traced(name, *options)
    check_running(trace, said)
    clock = one(trace.packets[0], "clock_snapshot")
    begin = one(trace.packets[0], "timestamp")
    end = begin + said["capture"]["window_ns"]
    waits, ready = trace.importer.sums(end)
    assert not any(trace.importer.stats.values()), trace.importer.stats
    # Locks of the kernel may have been wanted since before the window.
    assert trace.importer.bounds([s for s in trace.slices + trace.instants if s["start"] >= begin]) == (begin, end)
    if is_whole(said):
        assert waits == by_tid(said, "waiting_ns"), (waits, by_tid(said, "waiting_ns"))
        assert ready == by_tid(said, "runnable_ns"), (ready, by_tid(said, "runnable_ns"))
    clocks = {one(c, "clock_id"): one(c, "timestamp") for c in clock["clocks"]}
    assert clocks[6] == begin
    if name in ("story", "locks"):
        assert clocks[3] == begin
    else:  # recorded on this machine
        asleep = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()
        assert abs(begin - clocks[3] - asleep) < 1e6, (begin, clocks[3], asleep)
    assert clocks[1] == said["capture"]["start_unix_ns"] + said["capture"]["window_start_ns"]


def counts(name, execs):
    """A switch that was recorded has a prev_state; one was added where a thread took over a tid."""
    trace, _ = traced(name)
    info = json.loads(run(THAW, "info", capture(name), "--json"))["events_by_kind"]
    told = [sw for _, _, _, sw in trace.of_kind("sched_switch") if "prev_state" in sw]
    asleep = [sw for ts, _, _, sw in trace.of_kind("sched_switch")
              if "prev_state" in sw and ts == one(trace.packets[0], "timestamp")]
    assert len(told) - len(asleep) == info["switch"] + execs, (len(told), len(asleep), info["switch"])
    assert len(trace.importer.wakings()) >= info["waking"] + info.get("fork", 0)
    assert len(trace.of_kind("task_newtask")) == info.get("fork", 0)


def wakers(name):
    """
    Who woke whom is what was recorded: a waking by an interrupt is an interrupt's, and the thread that
    it met is no waker. A waking that overtook the sleep that it ended is told once more behind it, that
    of an interrupt as nobody's.
    """
    trace, _ = traced(name)
    begin = one(trace.packets[0], "timestamp")
    lines = [json.loads(line) for line in run(THAW, "export", capture(name), "-f", "jsonl").splitlines()]
    told, last = set(), {}
    for line in lines:
        if line["type"] == "waking":
            by = {"task": line["waker"] or 0, "unknown": 0}.get(line["ctx"], "interrupt")
            told.add((begin + line["ts"], line["wakee"], by))
            last.setdefault(line["wakee"], set()).add(0 if by == "interrupt" else by)
        elif line["type"] == "fork" and line["parent"]:
            told.add((begin + line["ts"], line["tid"], line["parent"]))
    seen = {(ts, wakee, "interrupt" if irq else waker) for ts, wakee, waker, irq in trace.importer.wakings()}
    assert told <= seen, sorted(told - seen, key=str)[:5]
    assert all(by in last[wakee] for _, wakee, by in seen - told), sorted(seen - told, key=str)[:5]
    assert len(told) > 10 and any(by == "interrupt" for _, _, by in told), len(told)


def contexts():
    """
    In each second a disk's interrupt ends the writer's wait while worker-1 (101) runs there, the writer
    ends worker-2's, and a timer's ends worker-1's on an idle CPU.
    """
    trace, _ = traced("story")
    rows = trace.importer.states
    woken = [(r["tid"], r["irq"], r["waker"]) for r in rows if r["waker"] is not None]
    assert [w[1] for w in woken if w[0] == 103] == [1] * 10, woken
    assert [w[1] for w in woken if w[0] == 101] == [1] * 10, woken
    assert [w[1:] for w in woken if w[0] == 102] == [(None, 103)] * 10, woken
    assert all(r["waker_row"] for r in rows if r["tid"] == 102 and r["waker"]), "its run is not known"
    assert {w[0] for w in woken if w[2] == 101 and not w[1]} == {100, 110, 201}, woken
    asleep = [r for r in rows if r["io_wait"] is not None]
    assert len(asleep) == 10 and all(
        (r["tid"], r["state"], r["io_wait"], r["blocked_in"]) == (103, "D", 1, "folio_wait_bit")
        for r in asleep), asleep


def check_alone(importer):
    """No thread and no process is told of twice, as it would be where one that has ended is named again."""
    for rows, key in ((importer.threads, "tid"), (importer.all_processes, "pid")):
        assert len({r[key] for r in rows}) == len(rows), f"one {key} is two"


def tasks():
    """helper is born at 3.3 s and has left at 3.39; shell-helper's tid is gone when it runs a new program."""
    trace, said = traced("story")
    begin = one(trace.packets[0], "timestamp")
    ended = {(t["tid"], t["start"] and (t["start"] - begin) // 10**6, (t["end"] - begin) / 10**6)
             for t in trace.importer.threads if t["end"] is not None}
    assert ended == {(110, 3300, 3390.000001), (201, None, 6130.000001)}, ended
    check_alone(trace.importer)
    processes = trace.importer.processes
    assert all(p["end"] is None for p in processes.values()), processes
    assert {pid: p["name"] for pid, p in processes.items()} == {
        t["pid"]: clean(t["comm"]) for t in said["threads"] if t["tid"] == t["pid"]}, processes


def command():
    """What the capture says of its command and machine; and that the program has ended."""
    trace, said = traced("demo")
    server = os.path.join(BUILD, "workload", "server")
    mine = [p for p in trace.importer.processes.values() if p["name"] == server]
    assert [p["cmdline"] for p in mine] == [f"{server} --seconds 3"], trace.importer.processes
    assert mine[0]["end"], mine
    check_alone(trace.importer)
    assert trace.importer.machine == os.uname().machine, trace.importer.machine
    tids = [t["tid"] for t in trace.importer.threads if t["tid"]]
    assert len(tids) >= len(said["threads"]), "a thread is missing"


def losses(name, cpus, samples_lost, slices):
    """What was lost is slices, and what Perfetto counts as loss of data; elsewhere there is none."""
    trace, said = traced(name)
    begin = one(trace.packets[0], "timestamp")
    assert trace.importer.lost_cpus == cpus, trace.importer.lost_cpus
    assert trace.importer.lost_samples == samples_lost, trace.importer.lost_samples
    lost = [s for s in trace.slices if "lost" in s["cats"]]
    found = {((s["start"] - begin) / 10**6, (s["end"] - begin) / 10**6, s["notes"].get("cpu"),
              s["notes"].get("count"), s["notes"]["cause"]) for s in lost if "cause" in s["notes"]}
    assert found == slices and {s["track"] for s in lost} <= {"losses"}, found
    sums = {}
    for s in lost:
        if "cause" not in s["notes"]:
            add(sums, s["tid"], s["ns"])
    assert sums == by_tid(said, "lost_ns"), sums


def samples(name, *options):
    trace, said = traced(name, *options)
    found, leaves = {}, {}
    for sample in trace.samples:
        add(found, one(sample, "tid"), 1)
        iid = one(sample, "callstack_iid")
        if not iid:
            continue
        frame = trace.interned["frames"][trace.interned["callstacks"][iid]["frame_ids"][-1]]
        add(leaves, trace.text("function_names", one(frame, "function_name_id")), 1)
    assert found == by_tid(said, "samples"), found
    told = {}
    for function in said["functions"]:
        add(told, function["name"], function["self_samples"])
    assert leaves == {n: c for n, c in told.items() if c}, leaves


def inlined():
    """match() was inlined into compress(): two frames at one address."""
    trace, _ = traced("story")
    stacks = [[trace.interned["frames"][f] for f in s["frame_ids"]]
              for s in trace.interned["callstacks"].values()]
    names = [[trace.text("function_names", one(f, "function_name_id")) for f in s] for s in stacks]
    at = [n for n in names if n[-1:] == ["match"]]
    assert at == [["clone3", "start_thread", "serve", "compress", "match"]], at
    leaf, caller = (stacks[names.index(at[0])][i] for i in (-1, -2))
    assert one(leaf, "rel_pc") == one(caller, "rel_pc") and one(leaf, "mapping_id") == one(
        caller, "mapping_id")
    assert one(leaf, "line_number") == 10 and one(caller, "line_number") == 11
    mapping = trace.interned["mappings"][one(leaf, "mapping_id")]
    assert [trace.text("mapping_paths", p) for p in mapping["path_string_ids"]] == ["srv", "app"]


def waits(name, *options):
    trace, said = traced(name, *options)
    sums, locks = {}, {}
    for s in trace.slices:
        if "wait" in s["cats"]:
            add(sums, s["tid"], s["ns"])
        if "lock" in s["cats"]:
            add(locks, s["notes"].get("lock", s["name"]), s["ns"])
    assert sums == by_tid(said, "waiting_ns"), sums
    told = {}
    for lock in said["locks"]:
        add(told, lock["name"] if not lock["inferred"] else "kernel lock", lock["total_wait_ns"])
    assert locks == {n: ns for n, ns in told.items() if ns}, (locks, told)
    assert len(set(trace.flows)) == len(trace.flows) and set(trace.flows) == set(trace.ends)


def holders():
    """Each worker waits for commit_lock behind the checkpointer or the worker before it."""
    trace, said = traced("locks")
    mine = [s for s in trace.slices if s["name"] == "commit_lock" and s["tid"] in range(301, 305)]
    assert len(mine) == 20 and all(s["flow"] for s in mine), len(mine)
    assert {s["notes"]["holder"] for s in mine} == {"checkpointer (305)"}, mine[0]
    assert {s["notes"]["kind"] for s in mine} == {"mutex"} and {s["notes"]["reason"] for s in mine} == {
        "mutex"}
    mapped = [s for s in trace.slices if s["name"].startswith("mmap_lock") and "lock" in s["cats"]]
    assert len(mapped) == 25 and {s["notes"]["holder"] for s in mapped} == {"worker-2 (303)"}
    stalls = [s for s in trace.slices if "stall" in s["cats"]]
    assert sorted(s["ns"] for s in stalls) == sorted(s["ns"] for s in said["stalls"]), stalls


def only(kind):
    trace, said = traced("locks", "--kind", kind)
    cats = {c for s in trace.slices for c in s["cats"]}
    assert bool(trace.samples) == (kind == "cpu"), kind
    assert cats == {"cpu": {"recording"}, "wait": {"recording", "wait", "lock", "stall"},
                    "lock": {"recording", "wait", "lock", "stall"}}[kind], cats
    check_running(trace, said)


def hostile(name):
    """Names are valid UTF-8 in one line, whatever they were."""
    trace, said = traced(name)
    tree = {one(t, "tid"): one(t, "name").decode("utf-8") for p in trace.packets
            for tree in p.get("process_tree", []) for t in tree.get("threads", [])}
    for thread in said["threads"]:
        if thread["pid"]:
            assert tree[thread["tid"]] == clean(thread["comm"]), thread
    check_running(trace, said)
    for table in ("function_names", "source_paths", "event_names"):
        for iid in trace.interned.get(table, {}):
            trace.text(table, iid)


def engine_without_waits():
    trace, said = traced("ctimer")
    assert not trace.events and {c for s in trace.slices for c in s["cats"]} - {"lost"} == {"recording"}
    assert len(trace.samples) == sum(t["samples"] for t in said["threads"])
    refuses_waits("perfetto")


def processor(name, *options):
    """trace_processor itself: no errors, what the model of it has, and the report's sums."""
    trace, said = traced(name, *options)
    real = Processor(os.environ["THAW_TRACE_PROCESSOR"], trace.path)
    real.agrees(trace)
    assert real.sums("select tid, dur as ns from sched join thread using (utid) where tid > 0") == by_tid(
        said, "running_ns")
    taken = sum(t["samples"] for t in said["threads"])
    assert sum(real.sums("select tid, 1 as ns from perf_sample join thread using (utid)").values()) == taken, taken
    locked = sum(k["total_wait_ns"] for k in said["locks"])
    found = real.sums("select 0 as tid, dur as ns from slice where category like '%lock%'")
    assert sum(found.values()) == locked, (found, locked)


RING = "the ring of a CPU was full: the collector could not keep up"
OFF = "the probes had switched themselves off: thaw gave no sign of life"
CLOCK = "the kernel throttled the sampling clock"
UNREAD = "a stack could not be read"
for each in captures():
    test(f"perfetto {each}: switches and wakings make the report's times", scheduling, each)
    test(f"perfetto {each}: samples are the report's", samples, each)
    test(f"perfetto {each}: waits and locks are the report's", waits, each)
    test(f"perfetto {each}: who woke whom", wakers, each)
    if each != "demo":
        test(f"perfetto {each}: nothing is lost", losses, each, set(), {}, set())
for each in captures() + ["lossy", "lost", "names"]:
    for option in {"story": ((), ("--thread", "worker-1")), "locks": ((), ("--from", "1s", "--to", "2600ms"))}.get(
            each, ((),)):
        where = " ".join(("perfetto", each) + option) + ": trace_processor agrees"
        if os.environ.get("THAW_TRACE_PROCESSOR"):
            test(where, processor, each, *option)
        else:
            print(f"skip {where}: THAW_TRACE_PROCESSOR names none")
test("perfetto lossy: losses", losses, "lossy", {1}, {1: 5}, {
    (8300, 8400, 1, 42, RING), (8300, 8400, 1, 5, CLOCK), (8400, 8400, 1, 3, UNREAD)})
test("perfetto lost: losses", losses, "lost", {0, 1, 2, 3, 4}, {}, {
    (2800, 3000, 1, 42, RING), (3200, 3600, None, None, OFF)})
test("perfetto story: threads and processes end", tasks)
test("perfetto demo: the command and the machine", command)
test("perfetto story: every switch is there", counts, "story", 1)
test("perfetto locks: every switch is there", counts, "locks", 0)
test("perfetto story: interrupts and disks", contexts)
test("perfetto story: inlined functions", inlined)
test("perfetto locks: holders, flows and stalls", holders)
for option in (("--thread", "worker-1"), ("--from", "1s", "--to", "2600ms")):
    for story in captures():
        where = f"perfetto {story} {' '.join(option)}"
        test(f"{where}: times", scheduling, story, *option)
        test(f"{where}: samples", samples, story, *option)
        test(f"{where}: waits", waits, story, *option)
for which in ("cpu", "wait", "lock"):
    test(f"perfetto locks --kind {which}", only, which)
for each in ("names", "lost", "empty"):
    if capture(each):
        test(f"perfetto {each}: hostile captures", hostile, each)
if capture("ctimer"):
    test("perfetto ctimer: an engine that sees no waits", engine_without_waits)
test("perfetto: a capture without times is refused", refuses_timeless, "perfetto")
