#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Why threads wait, against programs that know: at least 99 % of the waiting time has the right
reason, and as much of it as the program's own clock says; and in real programs hardly any is
unknown.

The programs take the time on the CPU and in the run queue away from the time that a call took
(test/workload/lib/locklog.h), and so have what thaw calls waiting: from leaving the CPU to the
waking. A thread that waits for work by design is idle; the report then says in what (`in`), and
that is what counts here."""
import os
import re
import subprocess
import sys
import time

import stacks
from harness import (BUILD, Skip, check, hidden, lossless, near, record, report, run, start, stolen, stop, tests_of,
                     thaw)

WAITS = os.path.join(BUILD, "workload", "waits")
LOCKS = os.path.join(BUILD, "workload", "locks")
AGREED = 0.02
RIGHT = 0.99
UNKNOWN = 0.02
CALL_NS = 3_000  # from the program's clock to leaving the CPU, and back


def recorded(case, *args):
    truth = record(["--min-wait", "0"], [WAITS, case, *map(str, args)], "c.thaw")
    rep = report("c.thaw", "--top", "100000")
    lossless(rep)
    hidden(rep)
    truth["hidden_ns"] = rep["losses"]["thread_time_ns"]
    return truth, rep


def by_reason(rep, function):
    """Waiting time by reason in waits with a function on their stack."""
    got = {}
    for w in rep["waits"]:
        if function in {f["name"] for f in w["stack"]}:
            why = w.get("in") or w["reason"]
            got[why] = got.get(why, 0) + w["total_ns"]
    return got


def share(got, reason):
    return got.get(reason, 0) / max(1, sum(got.values()))


def late_ns(truth, threads, waiter):
    """A thread counts as runnable from its waking on. The kernel's account of the run queue, which
    the program takes away from its time, begins when the thread's CPU has put it there: with an
    idle CPU of a virtual machine that is many microseconds later, and the program takes them for
    sleep."""
    own = next(t for t in truth["threads"] if t["tid"] == waiter["tid"])
    return max(0, threads[waiter["tid"]]["runnable_ns"] - own["runq_ns"])


def reasons(case, places, seconds=1):
    """places: the function that waits for each row of the truth."""
    truth, rep = recorded(case, "--seconds", seconds)
    threads = {t["tid"]: t for t in rep["threads"]}
    said = []
    for function in sorted(set(places.values())):
        rows = [x for x in truth["locks"] if places[x["name"]] == function]
        check(rows and all(x["waits"] for x in rows), f"{function}: it did not wait")
        reason = rows[0]["kind"]
        got = by_reason(rep, function)
        check(share(got, reason) >= RIGHT, f"{function}: {got}, not {reason}")
        want = sum(x["wait_ns"] for x in rows)
        sleeps = sum(x["waits"] for x in rows)
        late = sum(late_ns(truth, threads, w) for x in rows for w in x["waiters"])
        slack = AGREED * want + CALL_NS * sleeps + stolen(truth, want)
        check(want - late - slack <= got[reason] <= want + slack,
              f"{function}: waited for {reason} {got[reason]} ns of {want}; {late} went by on the way "
              "to a run queue")
        said.append(f"{function} {100 * share(got, reason):.2f} % of {want / 1e6:.0f} ms")
        for w in (w for x in rows for w in x["waiters"]):
            mine = threads[w["tid"]]
            right = mine["waits"].get(reason, 0) + mine["waits"].get("idle", 0)
            # Two threads that fork at once wait for libc's and the kernel's locks, and rightly so.
            locks = sum(mine["waits"].get(why, 0) for why in ("mutex", "kernel_lock"))
            check(right >= RIGHT * (mine["waiting_ns"] - locks), f"{w['name']}: {mine['waits']}")
            check(locks <= 0.1 * mine["waiting_ns"], f"{w['name']}: {mine['waits']}")
    return "; ".join(said)


def test_disk():
    return reasons("disk", {"direct-read": "wait_read", "fdatasync": "wait_sync"})


def test_page_fault():
    return reasons("page_fault", {"fault-0": "wait_fault", "fault-1": "wait_fault"})


def test_pipe():
    return reasons("pipe", {"pipe-read": "wait_pipe", "pipe-write": "wait_room"})


def test_full_pipe():
    """What holds a program up is the one that reads what it writes."""
    r = thaw("record", "-q", "-o", "c.thaw", "--", "sh", "-c",
             "head -c 30000000 /dev/urandom | gzip -9 > packed && wc -c < packed")
    check(r.returncode == 0 and int(r.stdout) > 30_000_000, f"{r.stdout} {r.stderr}")
    rep = report("c.thaw")
    said = rep["finding"]["sentence"]
    check(re.search(r"\bhead spent \d+% of its time waiting for room in a pipe\b.*, mostly woken by gzip, "
                    r"which was mostly running", said), said)
    head, gzip = (next(t for t in rep["threads"] if t["comm"] == name) for name in ("head", "gzip"))
    check(head["waits"]["pipe_full"] > 0.5 * head["wall_ns"], f"{head['waits']}")
    check("pipe_full" not in gzip["waits"], f"{gzip['waits']}")
    return said


def test_poll():
    return reasons("poll", {"poll": "wait_poll", "select": "wait_select", "epoll": "wait_epoll"})


def test_network():
    return reasons("network", {"unix": "wait_recv", "tcp": "wait_recv", "accept": "wait_accept"})


def test_sleep():
    return reasons("sleep", {"nanosleep": "wait_nanosleep", "sleep-until": "wait_until"})


def test_child():
    return reasons("child", {"waitpid": "wait_waitpid", "waitid": "wait_waitid"})


def test_signal():
    return reasons("signal", {"sigwait": "wait_sigwait", "sigsuspend": "wait_sigsuspend"})


def test_stopped():
    truth, rep = recorded("stopped", "--seconds", 2)
    want = next(t for t in truth["threads"] if t["name"] == "stopped")
    mine = next(t for t in rep["threads"] if t["tid"] == want["tid"])
    got = mine["waits"].get("stopped", 0)
    slack = stolen(truth, want["stopped_min_ns"]) + 1_000_000
    check(want["stopped_min_ns"] - slack <= got <= want["stopped_max_ns"] + slack,
          f"stopped for {got} ns, by its parent's clock for {want['stopped_min_ns']:.0f} to "
          f"{want['stopped_max_ns']:.0f}")
    check(got >= RIGHT * mine["waiting_ns"], f"{mine['waits']}")
    return f"{got / 1e6:.1f} ms, {want['stopped_min_ns'] / 1e6:.1f} to " \
           f"{want['stopped_max_ns'] / 1e6:.1f}"


class cgroup:
    """One that may have a fifth of a CPU."""
    def __enter__(self):
        name = f"thaw-test-{os.getpid()}"
        for base, limit in (("/sys/fs/cgroup/cpu", {"cpu.cfs_period_us": "100000",
                                                    "cpu.cfs_quota_us": "20000"}),
                            ("/sys/fs/cgroup", {"cpu.max": "20000 100000"})):
            self.path = os.path.join(base, name)
            try:
                os.mkdir(self.path)
            except OSError:
                continue
            try:
                for key, value in limit.items():
                    with open(os.path.join(self.path, key), "w", encoding="ascii") as f:
                        f.write(value)
                return self
            except OSError:
                os.rmdir(self.path)
        raise Skip("there is no cgroup with a limit on the CPU time to be had here")

    def throttled_ns(self):
        with open(os.path.join(self.path, "cpu.stat"), encoding="ascii") as f:
            stat = dict(line.split() for line in f)
        return int(stat.get("throttled_time", 0)) or 1000 * int(stat.get("throttled_usec", 0))

    def __exit__(self, *why):
        for _ in range(100):
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.02)


def test_throttled():
    with cgroup() as group:
        truth, rep = recorded("throttled", "--cgroup", group.path, "--seconds", 2)
        kernel = group.throttled_ns()
    want = next(t for t in truth["threads"] if t["name"] == "throttled")
    mine = next(t for t in rep["threads"] if t["tid"] == want["tid"])
    got = mine["waits"].get("throttled", 0)
    check(want["gaps"] > 5, f"it was throttled {want['gaps']} times")
    # On a busy machine the gaps that the program sees are longer than that by the run queue. And the kernel counts on
    # to the end of a period, up to 100 ms, if the program has used up the group's time when it ends.
    slack = 5_000_000 + stolen(truth, want["gaps_ns"])
    least = min(kernel, want["gaps_ns"])
    check((1 - AGREED) * least - slack <= got <= (1 + AGREED) * want["gaps_ns"] + slack,
          f"throttled for {got} ns; by its own clock {want['gaps_ns']:.0f}, by the kernel's account "
          f"{kernel} ({mine})")
    return f"{got / 1e6:.0f} ms; {want['gaps_ns'] / 1e6:.0f} by its own clock, {kernel / 1e6:.0f} by " \
           "the kernel's account"


def test_idle_pool():
    """Workers with little to do are idle, and no lock is to blame."""
    truth = record(["--min-wait", "0"], [LOCKS, "pool", "--threads", "6", "--seconds", "2",
                                         "--every-us", "20000"], "c.thaw")
    rep = report("c.thaw", "--top", "100000")
    ready = next(x for x in truth["locks"] if x["kind"] == "condvar")
    threads = {t["tid"]: t for t in rep["threads"]}
    for w in ready["waiters"]:
        mine = threads[w["tid"]]
        idle = mine["waits"].get("idle", 0)
        near(idle, w["wait_ns"], AGREED, 1_000_000 + stolen(truth, w["wait_ns"]), f"{w['name']} idle")
        check(idle >= RIGHT * mine["waiting_ns"], f"{w['name']}: {mine['waits']}")
    got = by_reason(rep, "wait_for_work")
    check(share(got, "condvar") >= RIGHT, f"idle in {got}")
    return f"{sum(got.values()) / 1e6:.0f} ms of 6 workers"


# ---- real programs ----

def known(rep):
    """Less than two percent of the waiting time is unknown."""
    total = sum(t["waiting_ns"] for t in rep["threads"])
    by = {}
    for t in rep["threads"]:
        for why, ns in t["waits"].items():
            by[why] = by.get(why, 0) + ns
    unknown = by.get("unknown", 0)
    said = ", ".join(f"{why} {100 * ns / total:.1f} %"
                     for why, ns in sorted(by.items(), key=lambda x: -x[1])[:6] if ns > total / 1000)
    check(unknown < UNKNOWN * total, f"unknown: {100 * unknown / total:.2f} % of {total / 1e9:.2f} s "
          f"({said})")
    return f"unknown {100 * unknown / total:.2f} % of {total / 1e9:.1f} s: {said}"


def test_known_redis():
    stacks.need("/usr/bin/redis-server", "redis-server")
    stacks.need("/usr/bin/redis-benchmark", "redis-tools")
    with stacks.redis() as pid:
        r = thaw("record", "-p", pid, "-d", "3", "-o", "c.thaw")
        check(r.returncode == 0, r.stderr)
    return known(report("c.thaw", "--top", "10000"))


def test_known_postgres():
    stacks.test_postgres()  # leaves its capture here
    return known(report("c.thaw", "--top", "10000"))


def test_known_python():
    stacks.need("/usr/bin/python3", "python3-minimal")
    stacks.python_script()
    record([], ["/usr/bin/python3", "work.py", "2"], "c.thaw")
    return known(report("c.thaw", "--top", "10000"))


JAVA = """
import java.util.concurrent.*;
public class Waits {
    static final Object lock = new Object();
    static int shared;
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        CountDownLatch done = new CountDownLatch(4);
        long end = System.currentTimeMillis() + 2000;
        for (int i = 0; i < 4; i++)
            pool.submit(() -> {
                while (System.currentTimeMillis() < end) {
                    synchronized (lock) {
                        for (int k = 0; k < 100000; k++) shared += k;
                        try { Thread.sleep(1); } catch (InterruptedException e) { }
                    }
                }
                done.countDown();
            });
        done.await();
        pool.shutdown();
        System.out.println(shared);
    }
}
"""


def test_known_java():
    stacks.need("/usr/bin/javac", "openjdk-17-jdk-headless")
    with open("Waits.java", "w", encoding="ascii") as f:
        f.write(JAVA)
    subprocess.run(["/usr/bin/javac", "Waits.java"], check=True, capture_output=True)
    r = thaw("record", "-o", "c.thaw", "--", "/usr/bin/java", "-Xmx256m", "-cp", ".", "Waits")
    check(r.returncode == 0, r.stderr)
    return known(report("c.thaw", "--top", "10000"))


def keeps_to_itself(pid):
    """Does the kernel refuse to say, even to root, what the process is in?"""
    try:
        with open(f"/proc/{pid}/syscall", encoding="ascii") as f:
            f.read()
    except PermissionError:
        return True
    except OSError:
        pass
    return False


def test_known_machine():
    """A whole machine at work, kernel threads and all. A process that may not be looked into, and
    was asleep before the recording began, cannot be known."""
    work = start([os.path.join(BUILD, "workload", "workload"), "mixed", "4"])
    try:
        r = thaw("record", "-a", "-d", "3", "-o", "c.thaw")
        check(r.returncode == 0, r.stderr)
    finally:
        stop(work)
    rep = report("c.thaw", "--top", "100000")
    rep["threads"] = [t for t in rep["threads"] if not keeps_to_itself(t["pid"])]
    return known(rep)


if __name__ == "__main__":
    stacks.setup()
    sys.exit(run(tests_of(globals())))
