# SPDX-License-Identifier: MIT
"""What the tests of locks share: a recording beside the log of every wait and every hold.

What is compared. thaw counts one wait for each sleep, and a wait's time ends with the waking. The
programs count sleeps by the kernel's account of voluntary switches, and take the time on the CPU
and in the run queue away from the time that a call took (test/workload/lib/locklog.h): the same
quantity, from another source. Two things blur it. Time that the hypervisor steals is in no account
and looks like sleep to the program; it is allowed for. And a thread that is woken on another CPU
is asleep for the program until that CPU takes it in, some microseconds each wait."""
import bisect
import json
import os
import subprocess

from harness import BUILD, check, hidden, lossless, near, record, report, stolen

DUMP = os.path.join(BUILD, "release", "live", "lockdump")
AGREED = 0.02
RIGHT = 0.99
TAKE_IN = 10_000   # until a CPU has taken in a thread that another one has woken
# Of a thread that waited once or twice the mean says nothing: one wakeup may take that long.
FEW = 50_000
HANDOVER = 20_000  # between the program's clock and the lock itself, on both sides


def with_log(truth):
    """What a program has told of itself, and its log."""
    with open("log", encoding="ascii") as f:
        lines = [json.loads(line) for line in f]
    truth["log_waits"] = [line for line in lines if "wait" in line]
    truth["log_holds"] = [line for line in lines if "hold" in line]
    return truth


def recorded(program, case, *args, options=()):
    """Records a case; its truth with the log in it, and the report."""
    truth = record(["--min-wait", "0", *options], [program, case, *map(str, args), "--log", "log"],
                   "c.thaw")
    with_log(truth)
    rep = report("c.thaw", "--top", "100000")
    lossless(rep)
    truth["hidden"], truth["hidden_ns"] = hidden(rep), rep["losses"]["thread_time_ns"]
    return truth, rep


def pids_of(truth):
    return {t["pid"] for t in truth["threads"]}


def address(lock):
    a = lock["address"]
    return int(a, 0) if isinstance(a, str) else a or 0


def at(rep, truth, want):
    """The locks of the report that lie in one of the truth."""
    return [lock for lock in rep["locks"] if lock["pid"] in pids_of(truth) and
            want["address"] <= address(lock) < want["address"] + want["size"]]


def contended(rep, truth):
    return [lock for lock in rep["locks"] if lock["contended"] and lock["pid"] in pids_of(truth)]


def words(locks):
    return [(lock["kind"], lock["name"], lock["address"], lock["waits"]) for lock in locks]


def functions(stack):
    return {f["name"] for f in stack}


# ---- counts and times ----

def as_many(got, want, truth, name):
    """Exactly as many waits, but for those that the machine hid."""
    check(want["waits"] - truth["hidden"] <= got["waits"] <= want["waits"],
          f"{name}: {got['waits']} waits of {want['waits']}")


def same_waits(got, want, truth):
    """Exactly as many, and as long."""
    slack = stolen(truth, want["wait_ns"])
    as_many(got, want, truth, want["name"])
    near(got["total_wait_ns"], want["wait_ns"], 0,
         AGREED * want["wait_ns"] + TAKE_IN * want["waits"] + slack, f"{want['name']}: waited")
    check(got["total_wait_ns"] <= want["wall_ns"], f"{want['name']}: longer than the calls took")
    check(got["max_wait_ns"] <= got["total_wait_ns"], f"{want['name']}: the longest wait")
    check(sum(b["count"] for b in got["histogram"]) == got["waits"], "the histogram adds up")
    waiters = {w["tid"]: w for w in got["waiters"]}
    check(set(waiters) == {w["tid"] for w in want["waiters"]},
          f"{want['name']}: waiters {sorted(waiters)} of {want['waiters']}")
    for w in want["waiters"]:
        mine = waiters[w["tid"]]
        as_many(mine, w, truth, w["name"])
        check(mine["comm"] == w["name"], f"{w['name']} is called {mine['comm']}")
        near(mine["wait_ns"], w["wait_ns"], 0,
             AGREED * w["wait_ns"] + TAKE_IN * w["waits"] + FEW + slack, w["name"])


# ---- who held it ----

class Holds:
    """Who held a lock at a moment, by the log."""
    def __init__(self, truth, name):
        self.holds = sorted((h["got_ns"], h["done_ns"], h["tid"], h["let_ns"]) for h in truth["log_holds"]
                            if h["hold"] == name)
        self.starts = [h[0] for h in self.holds]
        self.longest = max((done - got for got, done, _, _ in self.holds), default=0)

    def around(self, begin, end):
        """All threads that can have had the lock in [begin, end], and whether the log is sure of that."""
        i = bisect.bisect_right(self.starts, end + HANDOVER)
        before = after = None
        found = set()
        inside = []
        while i > 0:
            got, done, tid, let = self.holds[i - 1]
            if done >= begin - HANDOVER:
                found.add(tid)
            elif before is None or done > before[0]:
                before = (done, tid)
            inside.append((got, let))
            if got < begin - HANDOVER - self.longest:
                break
            i -= 1
        j = bisect.bisect_left(self.starts, begin)
        if j < len(self.holds):
            after = self.holds[j][2]
        # A thread looks at the clock once it has the lock, and may be kept from that for long: from the end
        # of the last hold on it can be the next one's.
        j = bisect.bisect_right(self.starts, end)
        if 0 < j < len(self.holds) and self.holds[j - 1][1] < end:
            found.add(self.holds[j][2])
        # A lock may have its next holder long before the call that lets go of it is over.
        sure = any(got <= begin and end <= let for got, let in inside)
        if not sure:  # it changes hands: the one before may not have let go, the next may have it
            found |= {before[1]} if before else set()
            found |= {after} if after else set()
        return found, sure

    def near(self, begin, end):
        """The holds about that time, in us from its start: to understand what went wrong."""
        return [((got - begin) // 1000, (let - begin) // 1000, tid) for got, _, tid, let in self.holds
                if let > begin - 3_000_000 and got < end + 3_000_000]


def pieces(capture):
    """(start, end, victim, lock, holder): every wait for a lock, cut where its holder changed, as
    the model has it; holder 0: not known."""
    out = subprocess.run([DUMP, capture], capture_output=True, text=True, timeout=120, check=False)
    check(out.returncode == 0, f"lockdump: {out.stderr}")
    for line in out.stdout.splitlines():
        yield tuple(int(x, 0) for x in line.split())


def waits_cut(lock, tids):
    """The pieces of each wait for a lock: they follow each other without a gap."""
    waits, last = [], None
    for victim, start, end, holder in sorted(
            (victim, start, end, holder) for start, end, victim, addr, holder in pieces("c.thaw")
            if addr == address(lock) and victim in tids):
        if last != (victim, start):
            waits.append([])
        waits[-1].append((victim, start, end, holder))
        last = (victim, end)
    return waits


def holders_right(truth, want, lock, known=True):
    """In how many waits the holder is right; fails if one is wrong."""
    log = Holds(truth, want["name"])
    right = wrong = named_ns = total_ns = 0
    examples = []
    waits = waits_cut(lock, {w["tid"] for w in want["waiters"]})
    for cut in waits:
        bad = [(victim, start, end, holder) for victim, start, end, holder in cut
               if holder and holder not in log.around(start, end)[0]]
        named = sum(end - start for _, start, end, holder in cut if holder)
        total = sum(end - start for _, start, end, _ in cut)
        right += not bad and named > total / 2
        wrong += bool(bad)
        named_ns += named
        total_ns += total
        examples += [(*b, sorted(log.around(b[1], b[2])[0]), log.near(b[1], b[2]), cut) for b in bad]
    if not waits and not known:
        return "no holder is named"
    said = (f"holder right in {right} of {len(waits)} waits, wrong in {wrong}; known for "
            f"{100 * named_ns / max(1, total_ns):.1f} % of the time")
    check(waits, f"{want['name']}: no waits in the dump")
    check(not wrong, f"{want['name']}: {said}: {examples[:3]}")
    check(not known or right >= RIGHT * len(waits), f"{want['name']}: {said}")
    return said


def blamed_right(got, want, truth):
    """Each holder for as long as it held the lock while others waited."""
    mine = {h["tid"]: h["blamed_ns"] for h in got["holders"] if h["tid"]}
    theirs = {h["tid"]: h["blamed_ns"] for h in want["holders"]}
    check(set(mine) <= set(theirs), f"{want['name']}: {set(mine) - set(theirs)} never held it")
    names = {h["tid"]: h["name"] for h in want["holders"]}
    for h in got["holders"]:
        check(not h["tid"] or h["comm"] == names[h["tid"]], f"{h['tid']} is called {h['comm']}")
    waited = {h["tid"]: h["runnable_ns"] for h in got["holders"] if h["tid"]}
    for tid, ns in theirs.items():
        # While the lock changes hands, no thread holds it by the log, and thaw may blame either side: a thread that
        # was woken for it and gets no CPU keeps the others waiting without having it.
        near(mine.get(tid, 0), ns, 0, 0.1 * ns + 2_000_000 + 1.25 * waited.get(tid, 0)
             + TAKE_IN * want["waits"] + stolen(truth, ns),
             f"{want['name']}: blamed on {names[tid]}")


def named(got, name):
    if name:
        check(got["named"] and got["name"] == name, f"called {got['name']}, not {name}")
    else:
        check(not got["named"], f"it has no name, but is called {got['name']}")


def waits_of(rep, reason):
    """Of all threads: count and time; idle is told with what it is idle in."""
    chosen = [w for w in rep["waits"] if reason in (w["reason"], w.get("in"))]
    return sum(w["count"] for w in chosen), sum(w["total_ns"] for w in chosen)


def only(rep, truth, names, few=3):
    """No other lock of the program is contended; libc has some of its own, now and then."""
    others = [x for x in contended(rep, truth) if x["name"] not in names and x["waits"] > few and
              x["kind"] not in ("spinlock", "rwsem", "kernel_mutex", "kernel_rwlock")]
    check(not others, f"called contention: {words(others)}")
