#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""User stacks are whole, without frame pointers: of a program that knows its own stacks, of real
programs under load, from the first stack on, and the same as perf finds with its copies."""
import collections
import glob
import os
import pwd
import re
import signal
import subprocess
import sys
import time

from harness import (BUILD, SOAK, THAW, Skip, check, info, record, report, run, start, stop, tests_of,
                     thaw, wait_for_events, wait_until)

BESIDE = True   # compares no clocks: test/run puts others next to it

STACKS = os.path.join(BUILD, "workload", "stacks")
RETURNS = os.path.join(BUILD, "release", "live", "returns")
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


def facts(capture):
    return {f["key"]: f["value"] for f in info(capture)["facts"]}


def copies(capture):
    f = facts(capture)
    return f"{f['unwind_copies']} copies, {int(f['unwind_build_ns']) / 1e6:.0f} ms of tables"


# ---- a program that knows its stacks ----

def inside(capture, truth, pattern, kinds=("sample", "wait"), bound=WHOLE):
    """The share of the chain's stacks that look as they should, by kind."""
    got = {}
    for kind in kinds:
        good = n = 0
        for ts, k, tid, why, frames in dump(capture):
            if k == kind and tid == truth["tid"] and truth["begin_ns"] <= ts <= truth["end_ns"]:
                n += 1
                good += why == "end" and bool(re.search(pattern, frames))
        got[kind] = (share(good, n), n)
        check(good >= n * bound, f"{kind}: {good} of {n} stacks have the whole chain")
    return got


def weights(capture, rep, truth, kind, entry, bound=WHOLE):
    """The same by weight, as a flame graph would have it."""
    began = rep["capture"]["start_unix_ns"]
    window = ("--from", f"{truth['begin_unix_ns'] - began}ns",
              "--to", f"{truth['end_unix_ns'] - began}ns", "--thread", truth["tid"])
    good = n = 0
    for stack, weight in collapsed(capture, kind, *window):
        n += weight
        good += weight if f";{entry};{CHAIN};leaf_" in stack else 0
    check(good >= n * bound, f"{kind}: the chain is in {good} of {n}")
    return share(good, n), n


def copied(capture, rep):
    """The share of the stacks that were copied, because the tables were not there yet."""
    return share(int(facts(capture)["unwind_copies"]), rep["stacks"]["samples"]["whole"])


def chain(case, entry="main;run", seconds=1.5, args=(), samples=1, waits=0, leaf=None,
          two_stacks=False):
    # As many samples as are asked for, and half as many again, however busy the CPUs are.
    cpu = 1.5 * samples / 1999
    truth = record(["-F", "1999", *args], [STACKS, case, str(seconds), str(cpu)], "c.thaw")
    rep = report("c.thaw")
    # A copy is of one stack: it ends where the other one begins.
    bound = WHOLE - (copied("c.thaw", rep) if two_stacks else 0)
    said = whole(rep, bound=bound)
    got = inside("c.thaw", truth, f";{entry};{CHAIN};{leaf or 'leaf_' + case}(;|$)", bound=bound)
    check(got["sample"][1] >= samples, f"only {got['sample'][1]} samples")
    check(got["wait"][1] >= waits, f"only {got['wait'][1]} waits")
    cpu, _ = weights("c.thaw", rep, truth, "cpu", entry, bound)
    wait, us = weights("c.thaw", rep, truth, "wait", entry, bound)
    return (f"{said}; chain in {percent(cpu)} of the CPU's weight"
            + (f", {percent(wait)} of the waits'" if us else ""))


# ---- Go ----

SETTLED = 1_000_000_000

# Below these a thread is on the system's stack, and the goroutine that it left may be anywhere by now.
SYSTEM = ("runtime.mcall", "runtime.mstart", "runtime.rt0_go", "runtime.morestack")


def gophers(program, named=True):
    """A Go program has no .eh_frame. Its threads that stay with a goroutine are where the runtime says."""
    path = os.path.join(BUILD, "workload", program)
    if not os.path.exists(path):
        raise Skip("there is no go (Debian package golang-1.19-go)")
    truth = record(["-F", "1999", "--min-wait", "0"], [path, "3"], "c.thaw")
    # Before there are tables stacks are copied, and a copy has nothing of the other stack.
    stacks = list(dump("c.thaw"))
    settled = max([stacks[0][0] + SETTLED] + [t["begin_ns"] for t in truth["threads"]])
    stacks = [s for s in stacks if s[0] >= settled]
    said = []
    for use in ("sample", "wait", "waker"):
        ends = collections.Counter(s[3] for s in stacks if s[1] == use)
        n = sum(ends.values())
        check(n >= 100 and ends["end"] >= WHOLE * n, f"{use}: {ends['end']} of {n} whole: {ends}")
        said.append(f"{use} {percent(ends['end'] / n)} of {n}")
    for t in truth["threads"]:
        mine = [(kind, why, frames) for ts, kind, tid, why, frames in stacks
                if tid == t["tid"] and ts < truth["end_ns"] and kind in ("sample", "wait")]
        check(len(mine) >= 50, f"{t['name']}: {len(mine)} stacks")
        chain_of = ";".join(reversed(t["stack"][:-1]))
        check(t["stack"][-1] == "runtime.goexit" and chain_of.count("main.level") == 5, t)
        if not named:
            continue
        ours = [x for x in mine if not x[2].split(";")[0].startswith(SYSTEM)]
        right = sum(x[1] == "end" and x[2].startswith("runtime.goexit") and chain_of in x[2] for x in ours)
        wrong = [x for x in ours if chain_of not in x[2]][:3]
        check(right >= WHOLE * len(ours), f"{t['name']}: {right} of {len(ours)} as the runtime says: {wrong}")
        # They park: for the collector, for their turn, or until they may go on after a system call.
        check(t["name"] not in ("compute", "clock") or len(ours) >= 0.5 * len(mine),
              f"{t['name']}: {len(mine) - len(ours)} of {len(mine)} on the system's stack")
        said.append(f"{t['name']} {right} of {len(ours)}")
    return "; ".join(said)


def test_go():
    return gophers("gophers")


def test_go_stripped():
    return gophers("gophers-stripped", named=False)


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


def signal_case(case, two_stacks=False):
    said = chain(case, samples=500, two_stacks=two_stacks)
    copies = int(facts("c.thaw")["unwind_copies"])
    # Out of the handler, through the signal's frame, into the chain that it interrupted.
    handler = [(why, text) for _, kind, _, why, text in dump("c.thaw") if kind == "sample" and "signal_1" in text]
    good = sum(bool(re.search(f";main;run;{CHAIN};leaf_{case};.*signal_3;signal_2;signal_1", text))
               for _, text in handler)
    # A copy has one stack only, and the walk of it ends where it needs the other one.
    cut = sum(why == "read" for why, _ in handler) if two_stacks else 0
    n = len(handler) - cut
    check(cut <= copies, f"{cut} of {len(handler)} stacks could not be read, and {copies} were copied")
    check(n > 50, f"{len(handler)} samples in the handler, {cut} of them cut")
    check(good >= n * WHOLE, f"{good} of the handler's {n} samples show what it interrupted")
    return f"{said}; {n} in the handler, {cut} copies of one stack"


def test_signal():
    return signal_case("signal")


def test_altstack():
    return signal_case("altstack", two_stacks=True)


def test_deep():
    truth = record(["-F", "1999"], [STACKS, "deep100", "1"], "c.thaw")
    said = whole(report("c.thaw"))
    inside("c.thaw", truth, f";main;run;{CHAIN};leaf_deep(;deeper){{100}};leaf_cpu(;|$)")
    truth = record(["-F", "1999"], [STACKS, "deep300", "1"], "d.thaw")
    seen = collections.Counter(why for ts, kind, tid, why, _ in dump("d.thaw")
                               if truth["begin_ns"] <= ts <= truth["end_ns"])
    check(set(seen) == {"depth"}, f"300 levels: {dict(seen)}")
    return said


# ---- code that is made at run time ----

MADE_BY = ("made_by_rsp", "made_by_rbp")


def made(case):
    """Of the stacks of generated code, how many tell what: by caller, and by whether the code leaves rbp alone."""
    truth = record(["-F", "1999"], [STACKS, case, "2", "1.5"], "c.thaw")
    seen = {(caller, keeps): collections.Counter() for caller in MADE_BY for keeps in (False, True)}
    for ts, kind, _, why, text in dump("c.thaw"):
        if kind != "sample" or not truth["begin_ns"] <= ts <= truth["end_ns"]:
            continue
        frames = text.split(";")
        for i, frame in enumerate(frames):
            at = int(frame.split("+0x")[1], 16) if "+0x" in frame else 0
            caller = next((c for c in MADE_BY if truth[c] <= at < truth[c] + 65536), None)
            if caller:
                keeps = at - truth[caller] < truth["made_keep"]
                seen[caller, keeps][told(frames[:i], why, caller, f"leaf_{case}")] += 1
                break
    return seen, report("c.thaw")


def told(before, why, caller, leaf):
    """The callers of generated code in a stack, against how the program got there."""
    if why != "end":
        return "none"
    word = "guessed" if before[-1] == "[guessed]" else "certain"
    got = ";".join(before[:-1] if word == "guessed" else before)
    chain_of = f";main;run;{CHAIN};{leaf};leaf_of"
    if got.endswith(chain_of):
        return f"{word} passed over"
    return f"{word} right" if got.endswith(f"{chain_of};{caller}") else f"{word} wrong"


def test_made():
    """Callers of code without frame pointers are guessed, rightly, and said to be guesses."""
    seen, rep = made("made")
    for (caller, keeps), got in seen.items():
        n = sum(got.values())
        who = f"{caller}, code that {'keeps' if keeps else 'uses'} rbp"
        check(n > 150, f"{who}: only {n} samples")
        # thaw takes code that leaves its caller's frame pointer alone for code that has set one up, and passes over
        # the caller. Elsewhere that counts as wrong. thaw never shows a wrong caller as certain.
        right = got["guessed right"]
        if caller == "made_by_rbp" and keeps:
            right += got["certain passed over"]
        check(right >= n * 0.95, f"{who}: {dict(got)}")
        check(not got["certain wrong"], f"{who}: {dict(got)}")
    guesses = sum(v for got in seen.values() for what, v in got.items() if what.startswith("guessed"))
    check(rep["stacks"]["samples"]["guessed"] >= guesses > 400, f"{guesses} guesses: {rep['stacks']}")
    check("[guessed]" in thaw("report", "c.thaw").stdout, "the report does not tell of guesses")
    return ", ".join(f"{caller}{' kept' if keeps else ''}: {dict(v)}" for (caller, keeps), v in seen.items())


MARK = "[guessed]+0x0"   # as stackdump prints it, without names


def returns(command, seconds):
    """Records a command that is stopped again and again in generated code, and followed from there to its caller:
    (begin, end, pc, caller) of each time, and the command's pid."""
    recorder = start([THAW, "record", "--max-overhead", "100", "-o", "c.thaw", "--", *command])
    pid = None
    try:
        wait_until(lambda: child_of(recorder.pid, command[0]), 20, f"{command[0]} did not start")
        pid = child_of(recorder.pid, command[0])
        wait_for_events(recorder)
        r = subprocess.run([RETURNS, str(pid), str(seconds)], capture_output=True, text=True, timeout=60)
        check(r.returncode == 0, f"returns: {r.stderr}")
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
        stop(recorder, signal.SIGINT)
    lines = (line.split() for line in r.stdout.splitlines())
    return [(int(begin), int(end), pc, caller) for begin, end, pc, caller in lines], pid


def child_of(parent, program):
    """The child that has become the program, or None."""
    for path in glob.glob(f"/proc/{parent}/task/*/children"):
        with open(path, encoding="ascii") as f:
            for pid in f.read().split():
                if os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(program):
                    return int(pid)
    return None


def test_returned():
    """Generated code of a real program returns to the caller that thaw guessed."""
    need("/usr/bin/grep", "grep")
    with open("text", "w", encoding="ascii") as f:
        f.writelines(f"alpha beta aab xyzzy abcabc foo{i} gamma aab beta foo{i * 7}\n" for i in range(400000))
    command = ["/usr/bin/grep", "-Pc", r"(\w+)\s(?:a+b|x.z+y)\s(\w+)\s.*(?=foo\d+5\b)(?!beta).*\bg\w+z$"]
    truths, pid = returns([*command, *["text"] * 100], 2)
    check(len(truths) > 50, f"it was met in generated code only {len(truths)} times")
    got = collections.Counter()
    stacks = [(ts, frames.split(";")) for ts, kind, tid, _, frames in dump("c.thaw", "raw")
              if tid == pid and kind != "waker"]
    for begin, end, pc, caller in truths:
        for ts, frames in stacks:
            if begin <= ts <= end and frames[-1].endswith(f"+0x{pc}"):
                got["right" if frames[-3:-1] == [caller, MARK] else ";".join(frames[-3:])] += 1
    n = sum(got.values())
    check(n >= len(truths) * 0.9, f"{len(truths)} times in generated code, but {n} stacks of it: {got}")
    check(got["right"] >= n * 0.95, f"{got}")
    return f"{len(truths)} times in generated code, {n} stacks, {got['right']} with what it returned to"


# ---- the first stacks ----

def test_first():
    """Commands that are over before any table could be in place."""
    total, bad = 0, collections.Counter()
    first, runs = 0, 8 * SOAK
    for i in range(runs):
        record(["-F", "20000"], [STACKS, "cpu" if i % 2 else "malloc", "0.03"], f"{i}.thaw")
        stacks = list(dump(f"{i}.thaw"))
        check(stacks, "no stacks")
        first += stacks[0][3] == "end"
        total += len(stacks)
        bad.update((why, frames.split(";")[-1]) for _, _, _, why, frames in stacks if why != "end")
        check(truth_in(stacks), "the chain is there from its first sample on")
    check(first == runs, f"the first stack is whole in {first} of {runs} runs: {bad.most_common(5)}")
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
    """libc has several names for one function, and thaw and perf pick different ones: read, __libc_read."""
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


def cpu_used(pid):
    """Seconds, of all its threads."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def compare(pid, cpu_s=1.5):
    """Distances of the distributions of self and of total time between thaw and perf, over so much CPU time
    of the process: how long that takes is the machine's affair."""
    need("/usr/bin/perf", "linux-perf")
    rec = start([THAW, "record", "-p", pid, "-F", "999", "-o", "c.thaw", "--max-overhead", "100"])
    # Its stacks are copies; none of ours is deeper than this.
    perf = start(["/usr/bin/perf", "record", "-q", "-e", "cpu-clock", "-F", "499", "--call-graph",
                  "dwarf,16384", "-p", pid, "-o", "perf.data"])
    try:
        wait_for_events(rec)
        wait_until(lambda: os.path.exists("perf.data"), 20, "perf has no file")
        begin = cpu_used(pid)
        wait_until(lambda: cpu_used(pid) - begin >= cpu_s, 25, f"{pid} did not get {cpu_s} s of a CPU")
    finally:
        stop(perf, signal.SIGINT)
        _, err = stop(rec, signal.SIGINT)
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
    """Total variation; what both find rare counts as one name, because its parts are mostly chance."""
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
