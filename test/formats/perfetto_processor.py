# SPDX-License-Identifier: MIT
"""What trace_processor itself makes of a trace, held against the model of its importer (perfetto_importer.py)."""
import csv
import io
import tempfile
from collections import Counter

from common import run
from prototext import one


def quoted(column, name):
    """Its CSV has the quotation marks of a text as they are; in CSV, they are doubled."""
    return f"""replace({column}, '"', '""') as {name}"""


# Severities are of no help here: what cannot be looked up is info to it, and so is a waking that it drops.
STATS = """select name, value from stats where value > 0 and (severity in ('error', 'data_loss') or name in (
    'interned_data_tokenizer_errors', 'compact_sched_waking_skipped', 'compact_sched_switch_skipped'))"""
STATES = f"""select s.ts, s.dur, t.tid, s.state, s.irq_context, w.tid as waker, s.io_wait,
    {quoted('s.blocked_function', 'function')}
    from thread_state s join thread t using (utid) left join thread w on w.utid = s.waker_utid"""
THREADS = f"""select tid, pid, t.start_ts, t.end_ts, {quoted('t.name', 'name')}
    from thread t left join process using (upid) where tid > 0"""
PROCESSES = f"""select pid, {quoted('name', 'name')}, {quoted('cmdline', 'cmdline')}, start_ts, end_ts
    from process where pid > 0"""
SLICES = f"""select s.id, ts, dur, tid, {quoted('k.name', 'track')}, {quoted('s.name', 'name')}, category
    from slice s join track k on k.id = s.track_id left join thread_track h on h.id = k.id
    left join thread using (utid)"""
NOTES = f"""select s.id, key, {quoted('display_value', 'value')} from slice s join args using (arg_set_id)
    where key like 'debug.%'"""
CALLERS = f"""select c.id, parent_id, {quoted('name', 'name')} from stack_profile_callsite c
    join stack_profile_frame f on f.id = c.frame_id"""
SAMPLES = "select ts, tid, callsite_id from perf_sample join thread using (utid)"


def text(field):
    """Its own word for NULL."""
    return None if field == "[NULL]" else field


def number(field):
    return None if field in ("[NULL]", "") else int(field)


def same(found, mine):
    found, mine = Counter(found), Counter(mine)
    assert found == mine, (list((found - mine).items())[:3], list((mine - found).items())[:3])


class Processor:
    def __init__(self, shell, path):
        self.shell, self.path = shell, path

    def query(self, sql):
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
            file.write(sql)
            file.flush()
            return list(csv.DictReader(io.StringIO(run(self.shell, "-q", file.name, self.path).decode())))

    def sums(self, sql):
        """Of ns by tid."""
        rows = self.query(f"select tid, sum(ns) as ns from ({sql}) group by tid")
        return {int(r["tid"]): int(r["ns"]) for r in rows if int(r["ns"])}

    def agrees(self, trace):
        self.stats(trace.importer)
        self.states(trace.importer)
        self.tasks(trace.importer)
        self.slices(trace)
        self.stacks(trace)
        bounds = self.query("select start_ts, end_ts from trace_bounds")[0]
        assert (int(bounds["start_ts"]), int(bounds["end_ts"])) == trace.importer.bounds(
            trace.slices + trace.instants), bounds

    def stats(self, importer):
        """No errors, and only the losses that are told."""
        wrong = {r["name"] for r in self.query(STATS)}
        told = {"ftrace_cpu_has_data_loss": importer.lost_cpus, "perf_cpu_lost_records": importer.lost_samples}
        assert wrong == {k for k, v in told.items() if v}, wrong

    def states(self, importer):
        same([(int(r["ts"]), number(r["dur"]), int(r["tid"]), r["state"], number(r["irq_context"]),
               number(r["waker"]), number(r["io_wait"]), text(r["function"])) for r in self.query(STATES)],
             [(r["ts"], -1 if r["dur"] is None else r["dur"], r["tid"], r["state"], r["irq"], r["waker"],
               r["io_wait"], r["blocked_in"]) for r in importer.states])

    def tasks(self, importer):
        """All threads and processes; names only of threads with a process, as others get theirs from switches."""
        same([(int(r["tid"]), number(r["pid"]), number(r["start_ts"]), number(r["end_ts"]),
               text(r["name"]) if number(r["pid"]) else None) for r in self.query(THREADS)],
             [(t["tid"], t["pid"], t["start"], t["end"], t["name"]) for t in importer.threads if t["tid"]])
        same([(int(r["pid"]), text(r["name"]), text(r["cmdline"]), number(r["start_ts"]), number(r["end_ts"]))
              for r in self.query(PROCESSES)],
             [(p["pid"], p["name"], p["cmdline"], p["start"], p["end"]) for p in importer.all_processes if p["pid"]])

    def slices(self, trace):
        """Each with its track, name, categories and notes; and all flows."""
        notes = {}
        for r in self.query(NOTES):
            notes.setdefault(r["id"], set()).add((r["key"][len("debug."):], r["value"]))
        same([(int(r["ts"]), int(r["dur"]), number(r["tid"]), text(r["track"]) or "", r["name"],
               frozenset(r["category"].split(",")), frozenset(notes.get(r["id"], ())))
              for r in self.query(SLICES)],
             [(s["start"], s["ns"], s["tid"], s["track"], s["name"], frozenset(s["cats"]),
               frozenset((k, str(v)) for k, v in s["notes"].items())) for s in trace.slices + trace.instants])
        flows = self.query("select count(*) as n from flow")
        assert int(flows[0]["n"]) == len(trace.flows), flows

    def stacks(self, trace):
        """Of each sample, root first."""
        callers = {r["id"]: (r["parent_id"], r["name"]) for r in self.query(CALLERS)}

        def stack(row):
            names = []
            while row in callers:
                row, name = callers[row]
                names.append(name)
            return tuple(names[::-1])

        same([(int(r["ts"]), int(r["tid"]), stack(r["callsite_id"])) for r in self.query(SAMPLES)],
             [(ts, one(s, "tid"), trace.stack(one(s, "callstack_iid"))) for ts, s in trace.samples_at])
