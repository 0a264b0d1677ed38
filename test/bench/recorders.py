# SPDX-License-Identifier: MIT
"""The recorders: thaw and its peers, each as one row of a table, all started and stopped alike.

A recorder that does not get the CPU loses events, and one that loses events is cheap and writes
small files. So recorders run at raised priority (unless a measurement is about just that), and
what they lost is counted and shown.
"""

import os
import shutil
import time

import proc

# Off-CPU time by stack, as bpftrace's own examples do it.
OFFCPU_BT = """
tracepoint:sched:sched_switch {
    if (args->prev_pid) {
        @at[args->prev_pid] = nsecs;
        @k[args->prev_pid] = kstack;
        @u[args->prev_pid] = ustack;
    }
    if (@at[args->next_pid]) {
        @total[args->next_comm, @k[args->next_pid], @u[args->next_pid]] =
            sum(nsecs - @at[args->next_pid]);
        delete(@at[args->next_pid]);
        delete(@k[args->next_pid]);
        delete(@u[args->next_pid]);
    }
}
"""

# What ping-pong's processes are called: to be found in every summary.
LOAD_COMM = "left"

# name: what the tables say; argv: {out} is the file to record to; settle: seconds until it surely
# records; file: False when it only prints a summary at its end. -B: perf 6.1 aborts at its end when
# some running program has a build id of an unusual length; without build ids it does less.
TABLE = {
    "thaw": {
        "name": "thaw record -a",
        "argv": ["{thaw}", "record", "-a", "-o", "{out}", "-d", "3600s", "--max-overhead", "100"],
        "settle": 2.0, "file": True,
    },
    "thawall": {
        "name": "thaw record -a --all-stacks",
        "argv": ["{thaw}", "record", "-a", "--all-stacks", "-o", "{out}", "-d", "3600s", "--max-overhead", "100"],
        "settle": 2.0, "file": True,
    },
    "thaw999": {
        "name": "thaw record -a -F 999",
        "argv": ["{thaw}", "record", "-a", "-F", "999", "-o", "{out}", "-d", "3600s",
                 "--max-overhead", "100"],
        "settle": 2.0, "file": True,
    },
    "sched": {
        "name": "perf sched record -B",
        "argv": ["perf", "sched", "record", "-B", "-o", "{out}"],
        "settle": 1.5, "file": True,
    },
    "switchg": {
        "name": "perf record -B -e sched:sched_switch -a -g",
        "argv": ["perf", "record", "-B", "-e", "sched:sched_switch", "-a", "-g", "-o", "{out}"],
        "settle": 1.5, "file": True,
    },
    "perf999": {
        "name": "perf record -B -e cpu-clock -a -g -F 999",
        "argv": ["perf", "record", "-B", "-e", "cpu-clock", "-a", "-g", "-F", "999", "-o",
                 "{out}"],
        "settle": 1.5, "file": True,
    },
    "dwarf999": {
        "name": "perf record -B -e cpu-clock -a --call-graph dwarf -F 999",
        "argv": ["perf", "record", "-B", "-e", "cpu-clock", "-a", "--call-graph", "dwarf", "-F",
                 "999", "-o", "{out}"],
        "settle": 1.5, "file": True,
    },
    "lock": {
        "name": "perf lock record -B -a",
        "argv": ["perf", "lock", "record", "-B", "-a", "-o", "{out}"],
        "settle": 1.5, "file": True,
    },
    "offcputime": {
        "name": "offcputime (libbpf-tools)",
        "argv": ["offcputime"],
        "settle": 2.0, "file": False,
    },
    "bpftrace": {
        "name": "bpftrace off-CPU script",
        "argv": ["bpftrace", "-e", OFFCPU_BT],
        "settle": 3.0, "file": False,
    },
}


def name(key):
    """As the tables call it."""
    return TABLE[key]["name"]


# Bytes of a capture in which nothing has happened yet, and how long that may last.
EMPTY = 2048
START_MAX = 30


class Recorder:
    """One recording of the whole machine; see recording()."""

    def __init__(self, key, setting, first=True, session=True):
        self.key = key
        self.thaw = setting.thaw
        self.directory = directory = setting.dir
        self.first = first
        self.session = session
        self.row = TABLE[key]
        self.out = os.path.join(directory, f"{key}.data")
        self.printed = os.path.join(directory, f"{key}.out")
        self.err = os.path.join(directory, f"{key}.err")
        self.argv = [a.format(thaw=self.thaw, out=self.out) if a.startswith("{") else a
                     for a in self.row["argv"]]
        program = shutil.which(self.argv[0], path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
        if not program:
            raise proc.Failed(f"{self.argv[0]} is not installed")
        self.argv[0] = program
        self.child = None

    def __enter__(self):
        remove(self.out)
        self.child = proc.Child(self.argv, self.printed, self.err, self.first, self.session)
        if self.child.wait(self.row["settle"]):
            raise proc.Failed(f"{name(self.key)}: ended at once, exit status "
                              f"{self.child.status}: {self.child.words()}")
        if self.key.startswith("thaw"):
            self.wait_for_events()
        return self

    def wait_for_events(self):
        """On a machine at its limits the start takes longer: what nobody recorded is not lost."""
        until = time.monotonic() + START_MAX
        while not os.path.exists(self.out) or os.path.getsize(self.out) <= EMPTY:
            if time.monotonic() > until:
                raise proc.Failed(f"{name(self.key)} has recorded nothing after {START_MAX} s")
            time.sleep(0.1)

    def __exit__(self, kind, value, trace):
        died = self.child.poll()
        self.child.finish(90)
        if kind is None and (died or self.child.status not in (0, -2, 130)):
            raise proc.Failed(f"{name(self.key)}: exit status {self.child.status}: "
                              f"{self.child.words()}")

    def size(self):
        """Bytes on the disk."""
        try:
            return os.path.getsize(self.out)
        except OSError as e:
            raise proc.Failed(f"{name(self.key)} wrote nothing: {self.child.words()}") from e

    def counts(self, switches, least=0.9):
        """(recorded, lost) of the machine's so many switches, by the recorder's own account.

        None when it keeps no account. A recorder that was not recording is fast: see that it was,
        and that it accounts for at least such a share of the switches.
        """
        if not self.row["file"]:
            with open(self.printed, encoding="utf-8", errors="replace") as f:
                if not any(LOAD_COMM in line for line in f):
                    raise proc.Failed(f"{name(self.key)} has not seen the load")
            return None
        if self.key.startswith("thaw"):
            recorded = self.thaws("info")["events_by_kind"]["switch"]
            lost = self.thaws("report")["losses"]["events"]
        else:
            recorded, lost = perf_counts(self.out, "sched:sched_switch", self.directory)
        if recorded + lost < least * switches:
            raise proc.Failed(f"{name(self.key)}: {recorded} of {switches} switches, {lost} lost; "
                              "was it recording?")
        return recorded, lost

    def thaws(self, verb):
        """What thaw itself says of its recording."""
        return proc.run_json([self.thaw, verb, self.out, "--json"], self.directory)

    def samples(self):
        """(recorded, lost) samples, by the recorder's own account."""
        if self.key.startswith("thaw"):
            return (self.thaws("info")["events_by_kind"].get("sample", 0),
                    self.thaws("report")["losses"]["samples"])
        return perf_counts(self.out, "cpu-clock", self.directory)

    def found(self, thread, function):
        """Of the samples of the threads so named, the share with the function in the stack.

        None when there is none to be read.
        """
        if self.key.startswith("thaw"):
            stacks = collapsed_stacks(self.thaw, self.out, thread, self.directory)
        else:
            stacks = perf_stacks(self.out, thread, self.directory)
        total = with_it = 0
        for names, count in stacks:
            total += count
            with_it += count if function in names else 0
        return with_it / total if total else None

    def unwind_facts(self):
        """What the collector counted of its part in the stacks; nothing where it does not."""
        if not self.key.startswith("thaw"):
            return {}
        facts = self.thaws("info").get("facts", [])
        return {f["key"]: f["value"] for f in facts if f["key"].startswith("unwind_")}

    def keep(self, tag):
        """Puts the recording where the next one of its kind does not overwrite it."""
        path = os.path.join(self.directory, f"kept-{tag}-{self.key}.data")
        os.replace(self.out, path)
        return path

    def discard(self):
        """The files are large: as soon as nobody needs them."""
        for path in (self.out, self.printed, self.err):
            remove(path)


def recording(key, setting, work, first=True, session=True):
    """Records while work() runs; returns (recorder, what work returned). Tries twice."""
    for last in (False, True):
        recorder = Recorder(key, setting, first, session)
        try:
            with recorder:
                got = work()
            return recorder, got
        except proc.Failed as e:
            recorder.discard()
            if last:
                raise
            setting.say(f"again: {e}")
    raise AssertionError("not reached")


def collapsed_stacks(thaw, path, thread, directory):
    """(function names, samples) of a recording of thaw's."""
    _, out = proc.run([thaw, "export", "-f", "collapsed", "--thread", thread, path], directory)
    with open(out, encoding="utf-8", errors="replace") as f:
        for line in f:
            names, _, count = line.rpartition(" ")
            yield set(names.split(";")), int(count)


def perf_stacks(path, thread, directory):
    """The same of one of perf's. perf 6.1 aborts over some programs: up to there it is right."""
    out = os.path.join(directory, "script.out")
    child = proc.Child(["perf", "script", "-i", path, "--comm", thread, "--no-inline", "-F",
                        "comm,ip,sym"], out, os.path.join(directory, "script.err"))
    if not child.wait(120):
        child.finish(5)
    with open(out, encoding="utf-8", errors="replace") as f:
        blocks = f.read().split("\n\n")
    for block in blocks[:-1]:
        yield {line.split()[1] for line in block.splitlines() if len(line.split()) > 1}, 1


def perf_counts(path, event, directory):
    """(recorded, lost) of an event, by perf's own count."""
    _, out = proc.run(["perf", "report", "-i", path, "--stats"], directory)
    ours, counts = False, {"SAMPLE": 0, "LOST_SAMPLES": 0}
    with open(out, encoding="utf-8", errors="replace") as f:
        for line in f:
            if line.rstrip().endswith("stats:"):
                ours = line.startswith(event)
            elif ours and line.split() and line.split()[0] in counts:
                counts[line.split()[0]] = int(line.split()[-1])
    return counts["SAMPLE"], counts["LOST_SAMPLES"]


def remove(path):
    """Gone afterwards, whether it was there or not."""
    if os.path.exists(path):
        os.unlink(path)


def settle():
    """Lets the disk and the machine calm down between two recordings."""
    time.sleep(0.3)
