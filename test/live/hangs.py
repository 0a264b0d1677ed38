#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attaching to a program that does not go on (test/workload/hangs.c). No thread goes to sleep during the recording,
and none wakes: all that thaw can know is where the threads are. The truth is how the program is written, and what
/proc says."""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time

from harness import BUILD, THAW, check, info, report, run, start, stop, tests_of, thaw, wait_for_events, wait_until

BESIDE = True   # compares no clocks: test/run puts others next to it
HANGS = os.path.join(BUILD, "workload", "hangs")
EVENTS = os.path.join(BUILD, "release", "live", "eventdump")


@contextlib.contextmanager
def hang(*case):
    process = start([HANGS, *case], start_new_session=True)
    try:
        yield json.loads(process.stdout.readline())["pid"]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        stop(process)


def attach(pid, *options):
    r = thaw("record", "-q", "-p", pid, "-d", "0.3s", *options, "-o", "c.thaw")
    check(r.returncode == 0, r.stderr)
    return report("c.thaw")


def threads_of(pid):
    """name -> tid, as /proc has them."""
    names = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="ascii") as f:
            names[f.read().strip()] = int(tid)
    return names


def parent(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return int(f.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def first(r):
    """The sentence, without the lines of the program's source."""
    return re.sub(r" \(hangs\.c:\d+\)", "", r["finding"]["sentence"])


def lock_name(r, ref):
    return r["locks"][ref]["name"] if ref is not None else None


def circle(r, names):
    """Who waits for what, and for whom, in the only deadlock that there is."""
    check(len(r["deadlocks"]) == 1, r["deadlocks"])
    rows = r["deadlocks"][0]["threads"]
    check(all(row["since_before"] for row in rows), rows)
    for row in rows:
        check(names[row["comm"]] == row["tid"], f"{row}: /proc has {names}")
    return {row["comm"]: (lock_name(r, row["lock"]), row["waits_for"]["comm"]) for row in rows}


def places(r):
    """function -> reason, of all functions on the stacks of waits."""
    return {frame["name"]: w["reason"] for w in r["waits"] for frame in w["stack"]}


def test_pipe_that_nobody_reads():
    """A parent that waits for its child to end before it reads what the child writes."""
    code = ("import subprocess; p = subprocess.Popen(['seq', '1000000'], stdout=subprocess.PIPE); "
            "print(p.pid, flush=True); p.wait()")
    process = start(["/usr/bin/python3", "-c", code], start_new_session=True)
    try:
        child = int(process.stdout.readline())

        def blocked():
            with open(f"/proc/{child}/syscall", encoding="ascii") as f:
                return f.read().startswith("1 ")
        wait_until(blocked, 10, "the child does not wait in write")
        r = attach(process.pid)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        stop(process)
    check(re.search(r"seq .*waiting for room in a pipe", first(r)), first(r))
    return first(r)


def test_locks_of_python():
    """They are semaphores, which say nothing of a holder: a deadlock of them must not look like a pool."""
    code = ("import threading, time\n"
            "a, b, met = threading.Lock(), threading.Lock(), threading.Barrier(2)\n"
            "def both(first, second):\n"
            "    with first:\n"
            "        met.wait()\n"
            "        with second:\n"
            "            pass\n"
            "for locks in ((a, b), (b, a)):\n"
            "    threading.Thread(target=both, args=locks).start()\n"
            "while not (a.locked() and b.locked()):\n"
            "    time.sleep(0.01)\n"
            "time.sleep(0.2)\n"
            "print('locked', flush=True)\n")
    process = start(["/usr/bin/python3", "-c", code], start_new_session=True)
    try:
        check(process.stdout.readline().strip() == "locked", "it does not hang")
        r = attach(process.pid)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        stop(process)
    check("semaphore" in first(r) and "since before the recording began" in first(r), first(r))
    check(len(r["threads"]) == 3 and not any("idle" in t["waits"] for t in r["threads"]),
          f"{[t['waits'] for t in r['threads']]}")
    return first(r)


DESKS = r"""
#include <mutex>
#include <thread>
#include <unistd.h>
std::mutex accounts, journal;
__attribute__((noinline)) void post_transfer()
{
	std::lock_guard<std::mutex> a(accounts);
	usleep(100000);
	std::lock_guard<std::mutex> j(journal);
}
__attribute__((noinline)) void roll_journal()
{
	std::unique_lock<std::mutex> j(journal);
	usleep(100000);
	std::scoped_lock<std::mutex> a(accounts);
}
int main()
{
	std::thread desk(post_transfer), archiver(roll_journal);
	desk.join();
	archiver.join();
}
"""


def test_functions_of_cpp():
    """Compilers put the standard library into programs: its functions are not where the program waits."""
    with open("desks.cpp", "w", encoding="ascii") as f:
        f.write(DESKS)
    subprocess.run(["g++", "-std=c++17", "-O2", "-g", "-o", "desks", "desks.cpp", "-pthread"], check=True)
    r = thaw("record", "-q", "-d", "1s", "-o", "c.thaw", "--", "./desks")
    check("c.thaw" in os.listdir("."), r.stderr)
    said, text = first(report("c.thaw")), thaw("report", "c.thaw").stdout
    check(re.search(r"waits for journal in post_transfer(\(\))? \(desks.cpp:\d+\), held by", said) and
          re.search(r"waits for accounts in roll_journal(\(\))? \(desks.cpp:\d+\), held by", said), said)
    check(re.search(r"post_transfer\(\) > pthread_mutex_lock \(journal\)", text), text)
    return said


def test_mutexes():
    with hang("mutexes") as pid:
        names = threads_of(pid)
        r = attach(pid)
    got = circle(r, names)
    check(got == {"charger": ("sessions", "expirer"), "expirer": ("accounts", "charger")}, got)
    check(r["deadlocks"][0]["behind"] == 2, "lister and main stand behind them")
    check(first(r).startswith("charger and expirer are deadlocked: charger waits for sessions in charge, held by expirer; "
                              "expirer waits for accounts in expire, held by charger, since before the recording began."),
          first(r))
    # Asked about one thread, the deadlock is the same, though that one does not wait for both locks.
    for name in ("lister", "charger", "hangs"):
        one = first(report("c.thaw", "--thread", name)).split(", since")[0]
        check(one == first(r).split(", since")[0], f"of {name}: {one}")
    where = places(r)
    check(where.get("charge") == where.get("expire") == where.get("list") == "mutex", where)
    said = thaw("locks", "c.thaw").stdout
    check("deadlocked" in said.split("\n\n")[0], said)


def test_rwlocks():
    with hang("rwlocks") as pid:
        names = threads_of(pid)
        r = attach(pid)
    got = circle(r, names)
    check(got == {"indexer": ("data_lock", "compactor"), "compactor": ("index_lock", "indexer")}, got)
    check("deadlocked" in first(r) and "since before the recording began" in first(r), first(r))


def test_reader():
    """A deadlock in which one thread only reads: nobody can know that, but that all stand still is known."""
    with hang("reader") as pid:
        r = attach(pid)
    check(first(r) == "rebuilder is stuck: it waits for index_lock in rebuild, and who holds that is not known, since before "
          "the recording began. 3 more threads are stuck behind it. If one of them has index_lock for reading, that is "
          "a deadlock.", first(r))
    check(r["finding"]["about"] == "stuck" and not r["deadlocks"], r["finding"])


def test_mutex_and_join():
    with hang("join") as pid:
        names = threads_of(pid)
        r = attach(pid)
    got = circle(r, names)
    check(got["worker"] == ("accounts", "closer") and got["closer"][1] == "worker", got)
    check(re.match(r"(closer and worker|worker and closer) are deadlocked: ", first(r)), first(r))
    check("closer waits for worker to end in shut_down" in first(r), first(r))


def test_lost_wakeup():
    with hang("lost_wakeup") as pid:
        r = attach(pid)
    check(not r["deadlocks"], r["deadlocks"])
    check(first(r).startswith("consumer has been waiting for a condition variable (queue_ready) in take_next, since "
                              "before the recording began, and nobody signalled it while it was recorded."), first(r))


def test_among_many():
    """One thread that hangs, beside thirty that have nothing to do: no share of the time shows it."""
    with hang("among_many") as pid:
        check(sorted(threads_of(pid)) == ["consumer", "hangs", "poller"], threads_of(pid))
        r = attach(pid)
    check(len(r["threads"]) == 32, f"{len(r['threads'])} threads")
    check(first(r) == "consumer has been waiting for a condition variable (queue_ready) in take_next, since before the "
          "recording began, and nobody signalled it while it was recorded. Whether it waits for work, thaw cannot tell. "
          "Nothing else is known to be held up.", first(r))


def test_silent_peer():
    """Who waits for an answer that does not come looks like a server that nobody asks: which it is, is not known."""
    with hang("silent_peer") as pid:
        r = attach(pid)
    check(first(r).startswith("client has been waiting for the network in ask, since before the recording began. "), first(r))
    check("Whether for work or for an answer, thaw cannot tell." in first(r), first(r))


def test_state_d():
    with hang("uninterruptible") as pid:
        tid = threads_of(pid)["starter"]
        with open(f"/proc/{pid}/task/{tid}/stat", encoding="ascii") as f:
            check(f.read().rsplit(")", 1)[1].split()[0] == "D", "it is not in state D")
        r = attach(pid)
    check(first(r).startswith("starter has been waiting for a child process in start_helper, since before"), first(r))


def test_several_futexes():
    """futex_waitv(): the wait is not known to be idle, and its first futex stands for all, as in a sleep that thaw
    sees begin."""
    with hang("waitv") as pid:
        tid = threads_of(pid)["selector"]
        with open(f"/proc/{pid}/task/{tid}/syscall", encoding="ascii") as f:
            check(f.read().split()[0] == "449", "it is not in futex_waitv()")
        r = attach(pid)
    check(first(r).startswith("selector has been waiting on a futex of unknown use (job_ready) in await_any, since before "
                              "the recording began."), first(r))
    reasons = next(t["waits"] for t in r["threads"] if t["tid"] == tid)
    check(set(k for k, ns in reasons.items() if ns) == {"futex"}, reasons)
    row = next(w for w in r["stuck"] if w["tid"] == tid)
    check(row["since_before"] and lock_name(r, row["lock"]) == "job_ready", row)


def test_stopped():
    with hang("idle") as pid:
        os.kill(pid, signal.SIGSTOP)
        r = attach(pid)
        os.kill(pid, signal.SIGCONT)
    check(re.match(r"3 pool threads spent \d+% of their time held up because (it was|they were) stopped \(SIGSTOP\)", first(r)),
          first(r))


def test_idle_server():
    """Nothing is wrong with it. But that its pool has not lost a wake-up is not known, as nobody woke any of it."""
    with hang("idle") as pid:
        r = attach(pid)
    check(first(r) == "3 pool threads have been waiting for a condition variable (queue_ready) in pool_loop, since before the "
          "recording began, and nobody signalled it while it was recorded. Whether they wait for work, thaw cannot tell. "
          "Nothing else is known to be held up.", first(r))
    check(not r["deadlocks"] and not r["stuck"], f"{r['deadlocks']} {r['stuck']}")


def test_whole_machine():
    with hang("mutexes") as pid:
        names = threads_of(pid)
        r = thaw("record", "-q", "-a", "-d", "0.3s", "-o", "c.thaw")
        check(r.returncode == 0, r.stderr)
        r = report("c.thaw", "--top", "100000")
    mine = [d for d in r["deadlocks"] if {t["tid"] for t in d["threads"]} == {names["charger"], names["expirer"]}]
    check(len(mine) == 1, r["deadlocks"])
    # Programs of other tests may hang beside it.
    said = r"charger and expirer are deadlocked: " if r["deadlocks"] == mine else r".* are deadlocked: .* more deadlocks?\."
    check(re.match(said, first(r)), first(r))
    where = {w["comm"]: {f["name"] for f in w["stack"]} for w in r["stuck"] if w["pid"] == pid and w["reason"] == "mutex"}
    check(set(where) == {"charger", "expirer", "lister"}, where)
    check("charge" in where["charger"] and "expire" in where["expirer"] and "list" in where["lister"], where)


def test_own_threads():
    """A recording of the whole machine marks thaw's own threads: thaw and its children, by /proc, and no others."""
    recorder = start([THAW, "record", "-q", "-a", "-d", "2s", "-o", "c.thaw"])
    try:
        wait_for_events(recorder)
        own = {recorder.pid} | {p for p in map(int, filter(str.isdigit, os.listdir("/proc"))) if parent(p) == recorder.pid}
        recorder.wait(timeout=60)
    finally:
        stop(recorder)
    marked, threads = set(), set()
    out = subprocess.run([EVENTS, "c.thaw"], capture_output=True, text=True, timeout=60, check=True).stdout
    for e in map(json.loads, out.splitlines()):
        if e["event"] == "thread":
            threads.add(e["pid"])
            marked |= {e["pid"]} if e["flags"] & 2 else set()
    check(recorder.pid in marked and len(marked) > 1, f"{marked} of {own}")
    check(marked <= own, f"{marked - own} are not thaw's: {own}")
    check(own & threads <= marked, f"{(own & threads) - marked} are thaw's")


def fact(key):
    return next((int(f["value"]) for f in info("c.thaw")["facts"] if f["key"] == key), 0)


def beginning(threads):
    """How long it took until a recording of so many sleepers began, and what CPU time reading them took, in ns."""
    with hang("many", str(threads)) as pid:
        asked = time.time_ns()
        attach(pid)
    return info("c.thaw")["start_unix_ns"] - asked, fact("scout_cpu_ns")


def test_many():
    """Every one of 3,000 sleepers has its stack and its lock, and takes no longer than one of 300 does."""
    few, many = beginning(300), beginning(3000)
    # Ten times as many; were it their square, a hundred times as long.
    check(many[0] <= 20 * few[0], f"it began after {many[0] / 1e6:.0f} ms, and after {few[0] / 1e6:.0f} ms with 300")
    check(many[1] <= 30 * few[1], f"read in {many[1] / 1e6:.0f} ms of CPU time, and in {few[1] / 1e6:.0f} ms with 300")
    lines = thaw("export", "-f", "jsonl", "c.thaw", "-o", "-").stdout.splitlines()
    events = [json.loads(line) for line in lines]
    stacks = {e["id"] for e in events if e["type"] == "stack"}
    asleep = {e["tid"] for e in events if e["type"] == "asleep" and e["ustack"] in stacks}
    futexes = {e["tid"] for e in events if e["type"] == "futex"}
    check(len(asleep) >= 3000, f"{len(asleep)} of 3,001 have a user stack")
    check(len(futexes) >= 3000, f"{len(futexes)} of 3,000 have a lock")


FILES_MOST = 512   # src/collect/collect_asleep.c
LOCKED = """
import fcntl, sys, threading, time
files = [open("locked", "w") for _ in range(int(sys.argv[1]) + 1)]
held = files.pop()
fcntl.flock(held, fcntl.LOCK_EX)
threading.stack_size(1 << 17)
for f in files:
    threading.Thread(target=fcntl.flock, args=(f, fcntl.LOCK_EX), daemon=True).start()
print("locked", flush=True)
time.sleep(600)
"""


def test_too_many_files():
    """Of more threads than thaw asks for their files, it says how many it has not asked for."""
    n = FILES_MOST + 88
    process = start(["/usr/bin/python3", "-c", LOCKED, str(n)], start_new_session=True)
    try:
        check(process.stdout.readline().strip() == "locked", "it does not hang")

        def all_locked():
            calls = []
            for tid in os.listdir(f"/proc/{process.pid}/task"):
                with open(f"/proc/{process.pid}/task/{tid}/syscall", encoding="ascii") as f:
                    calls.append(f.read().split()[0])
            return calls.count("73") == n
        wait_until(all_locked, 20, "not all of them wait")
        attach(process.pid)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        stop(process)
    r = report("c.thaw", "--top", "10000")
    rows = [w for w in r["stuck"] if w["reason"] == "file_lock"]
    check(len(rows) == n, f"{len(rows)} of {n}")
    without = sum(w["file"] is None for w in rows)
    check(without >= n - FILES_MOST and fact("asleep_files_unread") >= without,
          f"{without} without a file, and {fact('asleep_files_unread')} counted")
    said = thaw("info", "c.thaw").stdout
    check(re.search(r"not read +the file that a sleeping thread waits for, \d+ times", said), said)


def test_recorded_from_the_start():
    """The deadlock comes about while it is recorded; the command is ended from outside."""
    r = thaw("record", "-q", "-d", "1s", "-o", "c.thaw", "--", HANGS, "mutexes")
    check("c.thaw" in os.listdir("."), r.stderr)
    got = report("c.thaw")
    check("are deadlocked" in first(got) and "for the last" in first(got), first(got))
    # The same in the line of the stall that it is.
    check([s["deadlock"] for s in got["stalls"]] == [True], got["stalls"])
    check("Deadlock of " in re.sub(r"\s+", " ", thaw("report", "c.thaw").stdout), "the stall's line")


def ended_circle(killed):
    """The deadlock of a command that is no more."""
    r = report("c.thaw")
    rows = r["deadlocks"][0]["threads"] if r["deadlocks"] else []
    got = {row["comm"]: (lock_name(r, row["lock"]), row["waits_for"]["comm"]) for row in rows}
    check(got == {"charger": ("sessions", "expirer"), "expirer": ("accounts", "charger")}, first(r))
    check(all(row["killed"] == killed and row["until_ns"] <= r["capture"]["duration_ns"] for row in rows), rows)
    check(all(w["wakers"] == [] for w in r["waits"] if w["reason"] == "mutex"), "somebody woke them")
    said = f"until the process {'was killed' if killed else 'ended'}"
    check("are deadlocked" in first(r) and said in first(r), first(r))
    return first(r)


def test_deadlock_until_the_process_exits():
    """Its end wakes all of its threads, and none of them goes on."""
    r = thaw("record", "-q", "-o", "c.thaw", "--", HANGS, "mutexes", "exit")
    check(r.returncode == 0, r.stderr)
    said = ended_circle(False)
    # A range that ends before the process does has the deadlock, too.
    begun = max(row["since_ns"] for row in report("c.thaw")["deadlocks"][0]["threads"])
    zoomed = report("c.thaw", "--to", f"{begun + 300_000_000}ns")
    check("are deadlocked" in first(zoomed), first(zoomed))
    earlier = report("c.thaw", "--to", f"{max(begun - 1_000_000, 1)}ns")
    check(not earlier["deadlocks"], earlier["deadlocks"])
    return said


def test_deadlock_until_the_process_is_killed():
    recorder = start([THAW, "record", "-q", "-o", "c.thaw", "--", HANGS, "mutexes"])
    pid = json.loads(recorder.stdout.readline())["pid"]
    os.kill(pid, signal.SIGKILL)
    recorder.wait(timeout=60)
    return ended_circle(True)


def test_waits_of_thaw_itself():
    """A command waits in thaw's own code until it may run; and with -a thaw is among those recorded. The report lists
    neither as a wait of what was recorded, but the sum has both."""
    thaw("record", "-q", "-o", "c.thaw", "--", "/bin/sleep", "0.3")
    r = report("c.thaw")
    own = [w for w in r["waits"] if w["own"]]
    # On a busy machine it may run so late that it need not wait; and exec() may have to wait for the disk, also when
    # thaw's memory is no longer there.
    modules = [{frame["module"] for frame in w["stack"]} for w in own]
    check(all("thaw" in m or m == {"[kernel]"} for m in modules), modules)
    check(not any(frame["module"] == "thaw" for w in r["waits"] if not w["own"] for frame in w["stack"]), r["waits"])
    check(sum(w["total_ns"] for w in r["waits"]) == r["threads"][0]["waiting_ns"], "all of it is there")
    # A sample may well find the command in thaw's code; a wait there is none of the command's.
    text = thaw("report", "--top", "100", "c.thaw").stdout
    waits = text[text.index("Longest waits"):text.index("\nLocks")]
    check("launch_" not in waits and ("thaw's own" in waits) == bool(own), text)
    recorder = start([THAW, "record", "-q", "-a", "-d", "1s", "-o", "c.thaw"])
    wait_for_events(recorder)
    tids = {int(t) for p in [recorder.pid] + [p for p in map(int, filter(str.isdigit, os.listdir("/proc")))
                                              if parent(p) == recorder.pid] for t in os.listdir(f"/proc/{p}/task")}
    recorder.wait(timeout=60)
    r = report("c.thaw")
    listed = [w for w in r["waits"] if w["max_tid"] in tids and w["stack"]]
    check(listed and all(w["own"] for w in listed), listed)


def test_diff_says_who_is_stuck():
    """The second before a deadlock against the seconds in it: diff names the three stuck threads, and does not say
    that they sleep less."""
    thaw("record", "-q", "-d", "4s", "-o", "c.thaw", "--", HANGS, "later")
    check("c.thaw" in os.listdir("."), "nothing was recorded")
    since = {w["comm"]: w["since_ns"] for w in report("c.thaw")["deadlocks"][0]["threads"]}
    check(set(since) == {"charger", "expirer"}, since)
    began = max(since.values())
    ranges = ("--before", f"0s,{began - 100_000_000}ns", "--after", f"{began + 300_000_000}ns,")
    r = thaw("diff", "c.thaw", *ranges, "--json")
    check(r.returncode == 0, r.stderr)
    got = json.loads(r.stdout)
    stuck = {w["comm"]: w for w in got["stuck"]}
    check(set(stuck) >= {"charger", "expirer", "lister"}, f"stuck: {sorted(stuck)}")
    check(all(stuck[name]["reason"] == "mutex" for name in ("charger", "expirer", "lister")), stuck)
    check(stuck["charger"]["lock"] == "sessions" and stuck["expirer"]["lock"] == "accounts", stuck)
    # A thread is stuck since the same moment, whatever range is chosen.
    check(all(stuck[name]["since_ns"] == ns and not stuck[name]["since_before"] for name, ns in since.items()), stuck)
    zoomed = report("c.thaw", "--from", f"{began + 300_000_000}ns")["deadlocks"][0]["threads"]
    check({w["comm"]: w["since_ns"] for w in zoomed} == since, zoomed)
    said = got["summary"]
    check("got stuck" in said and "are deadlocked" in said and "less time" not in said, said)
    text = thaw("diff", "c.thaw", *ranges).stdout
    check("Got stuck" in text and "lister" in text, text[:600])
    # The other way round nobody came to a standstill.
    back = json.loads(thaw("diff", "c.thaw", "--before", ranges[3], "--after", ranges[1], "--json").stdout)
    check(not [w for w in back["stuck"] if w["reason"] == "mutex"], back["stuck"])
    return said


def test_attached_report_names_the_process():
    """Which process it was: its name, pid and command line, as /proc has them."""
    with hang("mutexes") as pid:
        capture = attach(pid)["capture"]
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as f:
            words = f.read().strip("\0").split("\0")
    text = thaw("report", "c.thaw").stdout.split("\n\n")[0].replace("\n", " ")
    check(re.match(r"charger and expirer are deadlocked: charger waits for sessions in charge \(hangs\.c:\d+\), held by expirer; "
                   r"expirer waits for accounts in expire \(hangs\.c:\d+\), held by charger, since", text), text)
    check(f"of process hangs ({pid}), started as" in text, text)
    check(capture["targets"] == [str(pid)], capture)
    check(capture["target_command"] == " ".join(words), capture)


if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
