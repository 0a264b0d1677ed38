#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""User stacks are whole, without frame pointers: of a program that knows its own stacks, of real
programs under load, from the first stack on, and the same as perf finds with its copies."""
import collections
import glob
import os
import pwd
import re
import subprocess
import sys
import time

from harness import (BUILD, THAW, Skip, check, info, record, report, run, start, stop, tests_of,
                     thaw, wait_until)

STACKS = os.path.join(BUILD, "workload", "stacks")
DUMP = os.path.join(BUILD, "release", "live", "stackdump")
PG = "/usr/lib/postgresql/15/bin"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WHOLE = 0.99
USES = ("samples", "waits", "wakers")
CHAIN = ";".join(f"link_{i}" for i in range(12, 0, -1))


# ---- what a capture says ----

def share(part, all_of):
    return part / all_of if all_of else 1.0


def percent(x):
    return f"{100 * x:.2f} %"


def whole(rep, uses=("samples", "waits"), bound=WHOLE):
    """The shares of whole stacks in words; fails below the bound."""
    said = []
    for use in USES:
        s = rep["stacks"][use]
        n = s["whole"] + s["broken"]
        got = share(s["whole"], n)
        if n:
            why = "".join(f", {v} {k}" for k, v in sorted(s["by_reason"].items()))
            said.append(f"{use} {percent(got)} of {n}{why}")
        # One in a hundred may be missing, but also a single one of few.
        check(use not in uses or s["broken"] <= max(1, n * (1 - bound)),
              f"{use}: {percent(got)} of {n} whole: {s['by_reason']}")
    return "; ".join(said)


def dump(capture, *args):
    """(ts, kind, tid, stop, frames): every user stack, outermost frame first."""
    out = subprocess.run([DUMP, capture, *args], capture_output=True, text=True, errors="replace",
                         timeout=120)
    check(out.returncode == 0, f"stackdump: {out.stderr}")
    for line in out.stdout.splitlines():
        ts, kind, tid, why, frames = line.split(" ", 4)
        yield int(ts), kind, int(tid), why, frames


def collapsed(capture, kind, *args):
    r = thaw("export", capture, "-f", "collapsed", "--kind", kind, *args)
    check(r.returncode == 0, r.stderr)
    for line in r.stdout.splitlines():
        stack, weight = line.rsplit(" ", 1)
        yield stack, int(weight)


def copies(capture):
    facts = {f["key"]: f["value"] for f in info(capture)["facts"]}
    return f"{facts['unwind_copies']} copies, {int(facts['unwind_build_ns']) / 1e6:.0f} ms of tables"


# ---- a program that knows its stacks ----

def inside(capture, truth, pattern, kinds=("sample", "wait")):
    """The share of the chain's stacks that look as they should, by kind."""
    got = {}
    for kind in kinds:
        good = n = 0
        for ts, k, tid, why, frames in dump(capture):
            if k == kind and tid == truth["tid"] and truth["begin_ns"] <= ts <= truth["end_ns"]:
                n += 1
                good += why == "end" and bool(re.search(pattern, frames))
        got[kind] = (share(good, n), n)
        check(good >= n * WHOLE, f"{kind}: {good} of {n} stacks have the whole chain")
    return got


def weights(capture, rep, truth, kind, entry):
    """The same by weight, as a flame graph would have it."""
    began = rep["capture"]["start_unix_ns"]
    window = ("--from", f"{truth['begin_unix_ns'] - began}ns",
              "--to", f"{truth['end_unix_ns'] - began}ns", "--thread", truth["tid"])
    good = n = 0
    for stack, weight in collapsed(capture, kind, *window):
        n += weight
        good += weight if f";{entry};{CHAIN};leaf_" in stack else 0
    check(good >= n * WHOLE, f"{kind}: the chain is in {good} of {n}")
    return share(good, n), n


def chain(case, entry="main;run", seconds=1.5, args=(), samples=1, waits=0, leaf=None):
    truth = record(["-F", "1999", *args], [STACKS, case, str(seconds)], "c.thaw")
    rep = report("c.thaw")
    said = whole(rep)
    got = inside("c.thaw", truth, f";{entry};{CHAIN};{leaf or 'leaf_' + case}(;|$)")
    check(got["sample"][1] >= samples, f"only {got['sample'][1]} samples")
    check(got["wait"][1] >= waits, f"only {got['wait'][1]} waits")
    cpu, _ = weights("c.thaw", rep, truth, "cpu", entry)
    wait, us = weights("c.thaw", rep, truth, "wait", entry)
    return (f"{said}; chain in {percent(cpu)} of the CPU's weight"
            + (f", {percent(wait)} of the waits'" if us else ""))


def test_cpu():
    return chain("cpu", samples=500)


def test_sleep():
    return chain("sleep", waits=500)


def test_poll():
    return chain("poll", waits=300)


def test_mutex():
    return chain("mutex", waits=100)


def test_memcpy():
    return chain("memcpy", samples=500)


def test_qsort():
    return chain("qsort", samples=500)


def test_malloc():
    return chain("malloc", samples=500)


def test_printf():
    return chain("printf", samples=500)


def test_cond():
    return chain("cond", waits=300)


def test_plt():
    return chain("plt", samples=500)


def test_vdso():
    return chain("vdso", samples=500)


def test_pagefault():
    return chain("pagefault", samples=300)


def test_dlopen():
    """Libraries that come and go: the first call into a new one is as whole as the rest."""
    return chain("dlopen", samples=300)


def test_thread():
    return chain("thread", entry="thread_main", samples=500, leaf="leaf_cpu")


def test_longjmp():
    return chain("longjmp", samples=500)


def signal_case(case, bound=WHOLE):
    said = chain(case, samples=500)
    # Out of the handler, through the signal's frame, into the chain that it interrupted.
    good = n = 0
    for stack, weight in collapsed("c.thaw", "cpu"):
        if "signal_1" in stack:
            n += weight
            if re.search(f";main;run;{CHAIN};leaf_{case};.*signal_3;signal_2;signal_1", stack):
                good += weight
    check(n > 50, f"{n} samples in the handler")
    check(good >= n * bound, f"{good} of the handler's {n} samples show what it interrupted")
    return f"{said}; {n} in the handler"


def test_signal():
    return signal_case("signal")


def test_altstack():
    # A copy, as long as the tables are not there, is of one stack; the interrupted one is another.
    return signal_case("altstack", 0.9)


def test_deep():
    truth = record(["-F", "1999"], [STACKS, "deep100", "1"], "c.thaw")
    said = whole(report("c.thaw"))
    inside("c.thaw", truth, f";main;run;{CHAIN};leaf_deep(;deeper){{100}};leaf_cpu(;|$)")
    truth = record(["-F", "1999"], [STACKS, "deep300", "1"], "d.thaw")
    seen = collections.Counter(why for ts, kind, tid, why, _ in dump("d.thaw")
                               if truth["begin_ns"] <= ts <= truth["end_ns"])
    check(set(seen) == {"depth"}, f"300 levels: {dict(seen)}")
    return said


# ---- the first stacks ----

def test_first():
    """Commands that are over before any table could be in place."""
    total, bad = 0, collections.Counter()
    first = 0
    for i in range(20):
        record(["-F", "20000"], [STACKS, "cpu" if i % 2 else "malloc", "0.03"], f"{i}.thaw")
        stacks = list(dump(f"{i}.thaw"))
        check(stacks, "no stacks")
        first += stacks[0][3] == "end"
        total += len(stacks)
        bad.update((why, frames.split(";")[-1]) for _, _, _, why, frames in stacks if why != "end")
        check(truth_in(stacks), "the chain is there from its first sample on")
    check(first == 20, f"the first stack is whole in {first} of 20 runs: {bad.most_common(5)}")
    n = sum(bad.values())
    check(n <= total * 0.001, f"{n} of {total} are broken: {bad.most_common(5)}")
    return f"{n} of {total} stacks at 20 kHz are broken"


def truth_in(stacks):
    return any(CHAIN in frames for *_, frames in stacks)


# ---- real programs ----

def need(path, package):
    if not os.path.exists(path):
        raise Skip(f"{path} is not there (Debian package {package})")


def test_redis():
    need("/usr/bin/redis-server", "redis-server")
    need("/usr/bin/redis-benchmark", "redis-tools")
    with redis() as pid:
        r = thaw("record", "-p", pid, "-d", "3", "-o", "c.thaw")
        check(r.returncode == 0, r.stderr)
    return whole(report("c.thaw"), USES) + f"; {copies('c.thaw')}"


class redis:
    """A server under load."""
    def __enter__(self):
        self.server = start(["/usr/bin/redis-server", "--port", "0", "--unixsocket",
                             os.path.abspath("s"), "--save", "", "--daemonize", "no"])
        wait_until(lambda: os.path.exists("s"), 10, "redis-server does not listen")
        self.load = start(["/usr/bin/redis-benchmark", "-s", os.path.abspath("s"), "-t",
                           "set,get,lpush,lrange_100", "-n", "1000000", "-P", "4", "-l", "-q"])
        time.sleep(0.3)
        return self.server.pid

    def __exit__(self, *why):
        stop(self.load)
        stop(self.server)


def as_user(user):
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}


def test_postgres():
    need(f"{PG}/postgres", "postgresql-15")
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        raise Skip("there is no user postgres") from None
    user = as_user("postgres")
    here = os.getcwd()
    os.chmod(here, 0o755)
    os.mkdir("pg")
    os.chown("pg", pwd.getpwnam("postgres").pw_uid, pwd.getpwnam("postgres").pw_gid)
    base = os.path.join(here, "pg")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": base, **user}
    subprocess.run([f"{PG}/initdb", "-D", f"{base}/d", "-A", "trust", "-N"], check=True, **quiet)
    server = subprocess.Popen([f"{PG}/postgres", "-D", f"{base}/d", "-k", base, "-c",
                               "listen_addresses="], **quiet)
    load = None
    try:
        wait_until(lambda: os.path.exists(f"{base}/.s.PGSQL.5432"), 20, "postgres does not listen")
        wait_until(lambda: not subprocess.run([f"{PG}/pg_isready", "-q", "-h", base], check=False,
                                              **quiet).returncode, 20, "postgres is not ready")
        subprocess.run([f"{PG}/pgbench", "-h", base, "-i", "-q", "-s", "2", "postgres"], check=True,
                       **quiet)
        load = subprocess.Popen([f"{PG}/pgbench", "-h", base, "-c", "4", "-T", "60", "postgres"],
                                **quiet)
        time.sleep(0.7)
        with open(f"/proc/{server.pid}/task/{server.pid}/children", encoding="ascii") as f:
            pids = [str(server.pid), *f.read().split()]
        r = thaw("record", "-p", ",".join(pids), "-d", "3", "-o", "c.thaw")
        check(r.returncode == 0, r.stderr)
        rep = report("c.thaw")
    finally:
        for p in (load, server):
            if p:
                p.terminate()
                p.wait(timeout=60)
    return whole(rep, USES) + f"; {len(pids)} processes; {copies('c.thaw')}"


PYTHON = """
import hashlib, json, re, sys, threading, time
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def work(seconds):
    end = time.time() + seconds
    while time.time() < end:
        fib(12)
        json.dumps(list(range(200)))
        re.findall(r"a+b", "aaab" * 50)
        sorted(range(300), key=lambda x: -x)
        hashlib.sha256(b"x" * 5000).digest()
threads = [threading.Thread(target=work, args=(float(sys.argv[1]),)) for _ in range(3)]
for t in threads: t.start()
work(float(sys.argv[1]))
for t in threads: t.join()
"""


def python_script():
    with open("work.py", "w", encoding="ascii") as f:
        f.write(PYTHON)


def test_python():
    need("/usr/bin/python3", "python3-minimal")
    python_script()
    record([], ["/usr/bin/python3", "work.py", "2"], "c.thaw")
    return whole(report("c.thaw"), USES) + f"; {copies('c.thaw')}"


def test_git():
    need("/usr/bin/git", "git")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", "r"]
    subprocess.run(["git", "init", "-q", "r"], check=True)
    for i in range(30):
        for name in "abcd":
            with open(f"r/{name}{i % 5}", "ab") as f:
                f.write(os.urandom(2000).hex().encode() + b"\n" * 50)
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-qm", str(i)], check=True)
    # Many short processes, started by a shell (vfork), and threads.
    record([], ["/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do git -C r log -p --stat "
                ">/dev/null; done; git -C r repack -adfq"], "c.thaw")
    return whole(report("c.thaw"), USES) + f"; {copies('c.thaw')}"


def test_clang():
    need("/usr/bin/clang-16", "clang-16")
    folder = os.path.join(ROOT, "test", "workload")
    sources = sorted(glob.glob(os.path.join(folder, "*", "*.c")))
    record([], ["/usr/bin/clang-16", "-O2", "-D_GNU_SOURCE", "-I", folder, "-c", *sources], "c.thaw")
    return whole(report("c.thaw"), USES) + f"; {copies('c.thaw')}"


JAVA = """
public class Work {
    static volatile Object sink;
    public static void main(String[] args) {
        long end = System.currentTimeMillis() + 2500;
        while (System.currentTimeMillis() < end) {
            java.util.Map<Integer, String> m = new java.util.HashMap<>();
            for (int i = 0; i < 20000; i++) m.put(i, "x" + i);
            sink = m;
        }
    }
}
"""
# Threads of the JVM that only run its own C++.
JVM = re.compile(r"(GC Thread|G1 |C1 |C2 |VM Thread|VM Periodic|Sweeper|Signal Disp)")


def test_java():
    need("/usr/bin/javac", "openjdk-17-jdk-headless")
    with open("Work.java", "w", encoding="ascii") as f:
        f.write(JAVA)
    subprocess.run(["/usr/bin/javac", "Work.java"], check=True, capture_output=True)
    record([], ["/usr/bin/java", "-Xmx256m", "-XX:+UseG1GC", "-cp", ".", "Work"], "c.thaw",)
    rep = report("c.thaw", "--top", "1000")
    native = {t["tid"] for t in rep["threads"] if JVM.match(t["comm"])}
    check(native, f"no threads of the JVM's own: {[t['comm'] for t in rep['threads']]}")
    seen = {True: collections.Counter(), False: collections.Counter()}
    for _, kind, tid, why, _ in dump("c.thaw"):
        if kind != "waker":
            seen[tid in native][why] += 1
    n = sum(seen[True].values())
    check(seen[True]["end"] >= n * WHOLE, f"native threads: {dict(seen[True])}")
    others = sum(seen[False].values())
    return (f"{len(native)} native threads: {percent(share(seen[True]['end'], n))} of {n}; those with "
            f"compiled Java: {percent(share(seen[False]['end'], others))} of {others}")


# ---- as perf sees it ----

def one_name(name):
    """Of the names that libc has for one function, each of the two takes another: read, __libc_read."""
    return re.sub(r"^(__GI_)?_*(libc_)?|_\[i\]$", "", name.split("@")[0])


def perf_stacks(path):
    """The symbols of each sample's user stack, leaf first."""
    out = subprocess.run(["/usr/bin/perf", "script", "-i", path, "-F", "ip,sym,dso"],
                         capture_output=True, text=True, errors="replace", timeout=300).stdout
    for block in out.split("\n\n"):
        frames = []
        for line in block.splitlines():
            m = re.match(r"\s*[0-9a-f]+ (.*) \((.*)\)$", line)
            if m and not m[2].startswith("[kernel") and not m[2].startswith("[guest"):
                frames.append(one_name(m[1]))
        if block.strip():
            yield frames


def thaw_stacks(path):
    r = thaw("export", path, "-f", "collapsed", "--kind", "cpu")
    check(r.returncode == 0, r.stderr)
    for line in r.stdout.splitlines():
        stack, weight = line.rsplit(" ", 1)
        frames = [one_name(f) for f in stack.split(";")[1:] if not f.endswith("_[k]")]
        yield frames[::-1], int(weight)


def compare(pid, seconds=4):
    """Distances of the distributions of self and of total time between thaw and perf."""
    need("/usr/bin/perf", "linux-perf")
    rec = start([THAW, "record", "-p", pid, "-F", "999", "-d", seconds, "-o", "c.thaw",
                 "--max-overhead", "100"])
    # Its stacks are copies; none of ours is deeper than this.
    perf = start(["/usr/bin/perf", "record", "-q", "-e", "cpu-clock", "-F", "499", "--call-graph",
                  "dwarf,16384", "-p", pid, "-o", "perf.data", "--", "sleep", seconds])
    perf.communicate(timeout=120)
    _, err = rec.communicate(timeout=120)
    check(rec.returncode == 0, err)
    ours = list(thaw_stacks("c.thaw"))
    others = [(frames, 1) for frames in perf_stacks("perf.data")]
    names = {f for stack, _ in ours for f in stack} & {f for stack, _ in others for f in stack}
    mine, theirs = tally(ours, names), tally(others, names)
    check(mine["n"] > 500 and theirs["n"] > 300, f"{mine['n']} samples here, {theirs['n']} there")
    return mine, theirs


def tally(stacks, names):
    """Shares by name; what only one of the two can name is "?"."""
    own, total, n = collections.Counter(), collections.Counter(), 0
    for frames, weight in stacks:
        known = [f if f in names else "?" for f in frames]
        n += weight
        own[known[0] if known else "?"] += weight
        for f in set(known):
            total[f] += weight
    return {"n": n, "own": {k: v / n for k, v in own.items()},
            "total": {k: v / n for k, v in total.items()}}


def distance(a, b, least=0.02):
    """Total variation; what both find rare is one: its parts are mostly chance."""
    top = {k for k in set(a) | set(b) if max(a.get(k, 0), b.get(k, 0)) >= least}
    apart = sum(abs(a.get(k, 0) - b.get(k, 0)) for k in top)
    return (apart + abs(sum(a.get(k, 0) - b.get(k, 0) for k in top))) / 2


def agree(mine, theirs, bound=0.15):
    d = distance(mine["own"], theirs["own"])
    unnamed = mine["own"].get("?", 0)
    worst = max(((abs(mine["total"].get(k, 0) - theirs["total"].get(k, 0)), k)
                 for k in set(mine["total"]) | set(theirs["total"]) if k != "?"), default=(0, "-"))
    top = sorted(theirs["own"].items(), key=lambda x: -x[1])[:5]
    check(d <= bound, f"self shares are {d:.3f} apart: " + ", ".join(
        f"{k} {mine['own'].get(k, 0):.3f}/{v:.3f}" for k, v in top))
    check(worst[0] <= bound, f"{worst[1]}: total share {mine['total'].get(worst[1], 0):.3f} here, "
          f"{theirs['total'].get(worst[1], 0):.3f} there")
    return (f"{mine['n']} and {theirs['n']} samples; self {d:.3f} apart, total at most "
            f"{worst[0]:.3f} ({worst[1]}); {unnamed:.3f} in functions that only one can name")


def test_perf_qsort():
    work = start([STACKS, "qsort", "30"])
    try:
        time.sleep(0.2)
        mine, theirs = compare(work.pid)
    finally:
        stop(work)
    for i in range(1, 13):
        check(abs(mine["total"].get(f"link_{i}", 0) - theirs["total"].get(f"link_{i}", 0)) < 0.02,
              f"link_{i}: {mine['total'].get(f'link_{i}')} here, "
              f"{theirs['total'].get(f'link_{i}')} there")
    return agree(mine, theirs)


def test_perf_python():
    python_script()
    work = start(["/usr/bin/python3", "work.py", "30"])
    try:
        time.sleep(0.5)
        mine, theirs = compare(work.pid)
    finally:
        stop(work)
    return agree(mine, theirs)


def test_perf_redis():
    need("/usr/bin/redis-server", "redis-server")
    with redis() as pid:
        mine, theirs = compare(pid)
    return agree(mine, theirs)


def setup():
    """The programs to be recorded; without them, their tests are skipped."""
    if os.geteuid() == 0:
        subprocess.run([os.path.join(ROOT, "tools", "setup"), "live"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    setup()
    sys.exit(run(tests_of(globals())))
