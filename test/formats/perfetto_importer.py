# SPDX-License-Identifier: MIT
"""
What Perfetto's trace_processor makes of the scheduler's events in a trace: its tables thread_state,
thread, process and stats, by the rules of its importer as of v58.2, each with the file below
src/trace_processor/ that it was read in. check_perfetto.py holds it against trace_processor itself
where there is one.
"""
from prototext import one

# importers/common/thread_state_tracker.cc: the flags of a waking that make it an interrupt's.
IRQ = 0x08 | 0x10
COLUMNS = ("waking_timestamp", "waking_pid", "waking_target_cpu", "waking_prio", "waking_comm_index")
KINDS = ("sched_switch", "sched_waking", "sched_blocked_reason", "task_newtask", "sched_process_free")


def state_name(raw):
    """types/task_state.cc, from Linux 4.14 on; thaw writes no state of two bits that reads as one."""
    names = ((0x100, "R+"), (1, "S"), (2, "D"), (4, "T"), (8, "t"), (0x10, "X"), (0x20, "Z"),
             (0x40, "P"), (0x80, "I"))
    return next((name for bit, name in names if raw & bit), "R")


def is_blocked(state):
    """importers/common/thread_state_tracker.cc: R+ is none of the two."""
    return state not in ("R", "Running")


class Importer:
    def __init__(self, packets):
        self.states = []  # thread_state; dur None: not closed
        self.threads = []  # by utid
        self.spurious = []  # (ts, wakee, waker, irq): wakings of who did not sleep
        self.stats = {"interned_data_tokenizer_errors": 0, "mismatched_sched_switch_tids": 0,
                      "compact_sched_waking_skipped": 0, "compact_sched_has_parse_errors": 0}
        self.lost_cpus, self.lost_samples = set(), {}
        self.machine = None
        self.live, self.processes, self.on, self.last, self.blocked = {}, {}, {}, {}, {}
        self.all_processes = []  # by upid; of several with a pid, processes has the latest
        self.symbols, self.tracks, self.used, self.latest = {}, {}, {}, 0
        # importers/proto/proto_trace_reader.cc: packets and slices have a queue each. So have the events of
        # each CPU, and the compact wakings of each, made when they are needed (proto_importer_module.cc).
        self.queues = {"packets": [], "slices": []}
        self.utid(0)
        for packet in packets:
            self.tokenize(packet)
        for ts, what, *args in self.merge():
            getattr(self, what)(ts, *args)

    def push(self, queue, ts, what, *args):
        self.latest = max(self.latest, ts)
        self.queues.setdefault(queue, []).append((ts, what, *args))

    def merge(self):
        """
        sorter/trace_sorter.cc: the queue with the earliest event, of several the first, is read until the
        next of another one is earlier. In a queue events of one time keep the order in which they came.
        """
        queues = [sorted(q, key=lambda e: e[0])[::-1] for q in self.queues.values()]
        while any(queues):
            first = min((q for q in queues if q), key=lambda q: q[-1][0])
            until = min((q[-1][0] for q in queues if q and q is not first), default=first[0][0])
            while first and first[-1][0] <= until:
                yield first.pop()

    def nothing(self, *_):
        """What has a time, and no meaning here."""

    def tokenize(self, packet):
        self.latest = max(self.latest, one(packet, "timestamp", 0))
        for symbol in one(packet, "interned_data", {}).get("kernel_symbols", []):
            key = one(packet, "trusted_packet_sequence_id"), one(symbol, "iid")
            self.symbols[key] = one(symbol, "str").decode()
        for bundle in packet.get("ftrace_events", []):
            self.bundle(bundle, one(packet, "trusted_packet_sequence_id"))
        for tree in packet.get("process_tree", []):
            self.push("packets", one(packet, "timestamp"), "process_tree", tree)
        for track in packet.get("track_descriptor", []):
            self.track(packet, track)
        for event in packet.get("track_event", []):
            self.push("slices", one(packet, "timestamp"), "track_event", one(event, "track_uuid"))
        # importers/proto/profile_module.cc
        for sample in packet.get("perf_sample", []):
            if lost := one(sample, "kernel_records_lost", 0):
                self.push("packets", one(packet, "timestamp"), "nothing")
                cpu = one(sample, "cpu", 0)
                self.lost_samples[cpu] = self.lost_samples.get(cpu, 0) + lost
            else:
                self.push("packets", one(packet, "timestamp"), "of_thread", one(sample, "tid"), one(sample, "pid"))
        # importers/proto/system_probes_parser.cc
        for info in packet.get("system_info", []):
            self.machine = one(one(info, "utsname"), "machine", b"").decode()

    def track(self, packet, track):
        """importers/proto/proto_trace_reader.cc: a packet without a time has the latest of what came before it."""
        self.tracks[one(track, "uuid")] = track
        self.push("packets", one(packet, "timestamp", self.latest), "track_descriptor", one(track, "uuid"))

    def track_descriptor(self, ts, uuid):
        """importers/proto/track_event_parser.cc"""
        self.track_event(ts, uuid)
        for thread in self.tracks[uuid].get("thread", []):
            self.of_thread(ts, one(thread, "tid"), one(thread, "pid"))

    def track_event(self, ts, uuid):
        """
        importers/proto/track_event_tracker.cc: a track's thread is looked up with its descriptor or its first
        event. One that has a track already is another one with its tid.
        """
        if uuid in self.used:
            return
        self.used[uuid] = None
        if parent := one(self.tracks[uuid], "parent_uuid"):
            self.track_event(ts, parent)
        for thread in self.tracks[uuid].get("thread", []):
            found = self.of_thread(ts, one(thread, "tid"), one(thread, "pid"))
            if any(found is other for other in self.used.values()):
                found = self.threads[self.start(one(thread, "tid"), None)]
                found["pid"] = one(thread, "pid")
            self.used[uuid] = found

    def bundle(self, bundle, sequence):
        """importers/ftrace/ftrace_tokenizer.cc: the compact ones first."""
        cpu = one(bundle, "cpu")
        if one(bundle, "lost_events", False):
            self.lost_cpus.add(cpu)
        for compact in bundle.get("compact_sched", []):
            self.compact(cpu, compact)
        for event in bundle.get("event", []):
            kind = next(k for k in KINDS if k in event)
            self.stream("events", cpu)
            self.push(("events", cpu), one(event, "timestamp"), kind, cpu, one(event, "pid"), one(event, kind),
                      sequence)

    def stream(self, kind, cpu):
        """Those of all lower CPUs are made with it."""
        for i in range(cpu + 1):
            self.queues.setdefault((kind, i), [])

    def compact(self, cpu, compact):
        columns = [compact.get(c, []) for c in COLUMNS]
        table, flags = compact.get("intern_table", []), compact.get("waking_common_flags", [])
        if len({len(c) for c in columns}) != 1 or any(i >= len(table) for i in columns[-1]):
            self.stats["compact_sched_has_parse_errors"] += 1
        ts = 0
        for i, (delta, wakee, *_) in enumerate(zip(*columns)):
            ts += delta
            self.stream("wakings", cpu)
            self.push(("wakings", cpu), ts, "compact_waking", cpu, wakee, flags[i] if i < len(flags) else 0)

    def utid(self, tid):
        """importers/common/process_tracker.cc: the one that has the tid, or a new one."""
        if tid not in self.live:
            self.start(tid, None)
        return self.live[tid]

    def start(self, tid, ts):
        self.live[tid] = len(self.threads)
        self.threads.append({"tid": tid, "start": ts, "end": None, "pid": None, "name": None})
        return self.live[tid]

    def process(self, pid):
        """importers/common/process_tracker.cc: the one that has the pid and has not ended, or a new one."""
        row = self.processes.get(pid)
        if not row or row["end"] is not None:
            row = self.processes[pid] = {
                "pid": pid, "name": None, "cmdline": None, "start": None, "end": None}
            self.all_processes.append(row)
            self.of_thread(None, pid, pid)
        return row

    def of_thread(self, _, tid, pid):
        """importers/common/process_tracker.cc: the thread of the process that has the tid, or a new one."""
        self.process(pid)
        utid = self.utid(tid)
        if self.threads[utid]["pid"] not in (None, pid):
            utid = self.start(tid, None)
        self.threads[utid]["pid"] = pid
        return self.threads[utid]

    def process_tree(self, _, tree):
        """importers/proto/system_probes_parser.cc: a process without a command line is skipped."""
        for process in tree.get("processes", []):
            if line := [a.decode() for a in process.get("cmdline", [])]:
                name = line[0].split(" ")[0] if len(line) == 1 else line[0]
                self.process(one(process, "pid")).update(name=name, cmdline=" ".join(line))
                if one(process, "cmdline_is_comm", False):
                    self.threads[self.utid(one(process, "pid"))]["name"] = " ".join(line)
        for thread in tree.get("threads", []):
            self.of_thread(None, one(thread, "tid"), one(thread, "tgid"))["name"] = one(thread, "name").decode()

    def open(self, ts, utid, state, waker=None, irq=None):
        """importers/common/thread_state_tracker.cc: nothing is kept of tid 0."""
        if utid == 0:
            return
        row = {"ts": ts, "dur": None, "utid": utid, "tid": self.threads[utid]["tid"], "state": state,
               "waker": None if waker is None else self.threads[waker]["tid"], "waker_row": None,
               "irq": irq, "io_wait": None, "blocked_in": None}
        if waker is not None and self.last.get(waker, {}).get("state") == "Running":
            row["waker_row"] = self.last[waker]
        self.states.append(row)
        self.last[utid] = row
        if state == "Running":
            self.blocked.pop(utid, None)
        elif is_blocked(state):
            self.blocked[utid] = row

    def close(self, ts, utid):
        if utid in self.last:
            self.last[utid]["dur"] = ts - self.last[utid]["ts"]

    def sched_switch(self, ts, cpu, _, switch, __):
        """importers/ftrace/ftrace_sched_event_tracker.cc"""
        prev, after = (self.utid(one(switch, k)) for k in ("prev_pid", "next_pid"))
        if cpu in self.on and self.on[cpu] != prev:
            self.stats["mismatched_sched_switch_tids"] += 1
        self.on[cpu] = after
        # A thread that leaves without having run: what it did before is not known.
        if self.last.get(prev, {}).get("state", "Running") == "Running":
            self.close(ts, prev)
        self.open(ts, prev, state_name(one(switch, "prev_state", 0)))
        self.close(ts, after)
        self.open(ts, after, "Running")

    def compact_waking(self, ts, cpu, wakee, flags):
        """importers/ftrace/ftrace_sched_event_tracker.cc: who is on the CPU does it."""
        if cpu not in self.on:
            self.stats["compact_sched_waking_skipped"] += 1
            return
        self.wake(ts, self.utid(wakee), self.on[cpu], int(bool(flags & IRQ)))

    def sched_waking(self, ts, _, pid, waking, __):
        """importers/ftrace/ftrace_parser.cc: whose event it is does it; no flags are looked at."""
        self.wake(ts, self.utid(one(waking, "pid")), self.utid(pid), None)

    def wake(self, ts, utid, waker, irq):
        if utid in self.last and not is_blocked(self.last[utid]["state"]):
            self.spurious.append((ts, self.threads[utid]["tid"], self.threads[waker]["tid"], irq))
            return
        self.close(ts, utid)
        self.open(ts, utid, "R", waker, irq)

    def sched_blocked_reason(self, _, __, ___, reason, sequence):
        """importers/ftrace/ftrace_parser.cc: of the thread's last sleep, while it has not run since."""
        symbol = self.symbols.get((sequence, one(reason, "caller", 0)))
        if symbol is None:
            self.stats["interned_data_tokenizer_errors"] += 1
        row = self.blocked.get(self.utid(one(reason, "pid")))
        if row:
            row.update(io_wait=one(reason, "io_wait"), blocked_in=symbol)

    def task_newtask(self, ts, _, pid, task, __):
        """importers/ftrace/ftrace_parser.cc"""
        tid = one(task, "pid")
        utid = self.start(tid, ts)
        if one(task, "clone_flags", 0) & 0x10000:
            self.threads[utid]["pid"] = self.threads[self.utid(pid)]["pid"]
        else:
            self.processes.pop(tid, None)
            self.process(tid)["start"] = ts
        self.open(ts, utid, "R", self.utid(pid), 0)

    def sched_process_free(self, ts, _, __, task, ___):
        """importers/common/process_tracker.cc: the leader's is its process' end."""
        tid = one(task, "pid")
        if tid not in self.live:
            return
        thread = self.threads[self.live.pop(tid)]
        thread["end"] = ts
        if thread["pid"] == tid and tid in self.processes:
            self.processes[tid]["end"] = ts
            for other in [t for t, u in self.live.items() if self.threads[u]["pid"] == tid]:
                del self.live[other]

    def wakings(self):
        """(ts, wakee, waker, irq) of all, those of who did not sleep too."""
        return self.spurious + [(r["ts"], r["tid"], r["waker"], r["irq"]) for r in self.states
                                if r["waker"] is not None]

    def sums(self, end):
        """Waiting and runnable, by tid. What is open goes on to the trace's end."""
        waiting, runnable = {}, {}
        for row in self.states:
            ns = end - row["ts"] if row["dur"] is None else row["dur"]
            if row["state"] in ("R", "R+"):
                runnable[row["tid"]] = runnable.get(row["tid"], 0) + ns
            elif row["state"] not in ("Running", "X", "Z"):
                waiting[row["tid"]] = waiting.get(row["tid"], 0) + ns
        return [{tid: ns for tid, ns in sums.items() if ns} for sums in (waiting, runnable)]

    def bounds(self, slices):
        """plugins/storage_tables/storage_tables.cc: of events, states and slices."""
        times = [e[0] for name, queue in self.queues.items() if isinstance(name, tuple) for e in queue]
        times += [t for s in slices for t in (s["start"], s["end"])]
        return min(times), max(times)
