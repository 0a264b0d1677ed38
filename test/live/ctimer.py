#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The ctimer engine: what it sees against what the workloads know, and that programs do not notice."""
import collections
import json
import math
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time

from harness import (BUILD, THAW, WORKLOAD, Skip, check, near, record, report, run, start, stop,
                     tests_of, thaw, wait_until)

BESIDE = True   # compares no clocks: test/run puts others next to it

MANNERS = os.path.join(BUILD, "workload", "manners")
EVENTDUMP = os.path.join(BUILD, "release", "live", "eventdump")
CTIMER = ["--engine", "ctimer"]


def compiled(name, text, *flags):
    """Compiles a small program; Skip where there is no compiler for it."""
    with open(name + ".c", "w", encoding="ascii") as f:
        f.write(text)
    r = subprocess.run(["gcc", "-O2", "-g", "-o", name, name + ".c", *flags], capture_output=True,
                       check=False)
    if r.returncode:
        raise Skip(f"gcc {' '.join(flags)} does not work here")
    return os.path.abspath(name)


def function(rep, name):
    return next((f for f in rep["functions"] if f["name"] == name), {"total_samples": 0})


def adds_up(rep):
    """A thread's time is running, unseen or lost; waiting and runnable are not known."""
    check(rep["threads"], "no threads in the report")
    for t in rep["threads"]:
        check(t["running_ns"] + t["unseen_ns"] + t["lost_ns"] == t["wall_ns"],
              f"thread {t['tid']}: its time does not add up")
        check(t["waiting_ns"] is None and t["runnable_ns"] is None, "says that it saw waiting")
    check(not rep["waits"] and not rep["locks"] and not rep["stalls"],
          "waits, locks or stalls that nobody saw")


def spread():
    """How much wider the samples spread than single looks would: a late tick counts several times, but is one look."""
    r = subprocess.run([EVENTDUMP, "c.thaw", "sample"], capture_output=True, text=True, check=True)
    looks = collections.Counter()
    for line in r.stdout.splitlines():
        ev = json.loads(line)
        looks[ev["tid"], ev["ts"]] += 1
    return sum(n * n for n in looks.values()) / sum(looks.values())


def shares(engine):
    """The share of each function against the program's own clock, within 4 sigma of sampling."""
    truth = record(["--engine", engine], [WORKLOAD, "shares", "4"], "c.thaw")
    rep = report("c.thaw", "--top", "10000")
    check(rep["capture"]["engine"] == engine, f"recorded with {rep['capture']['engine']}")
    took = {n: sum(t.get(f"share_{n}", 0) for t in truth["threads"]) for n in (4, 3, 2, 1)}
    whole = sum(took.values())
    samples = sum(t["samples"] for t in rep["threads"] if t["comm"] == "sharer")
    check(samples > 200, f"only {samples} samples")
    words, wider = [], spread()
    for n, ns in took.items():
        want = ns / whole
        got = function(rep, f"share_{n}")["total_samples"] / samples
        slack = 4 * math.sqrt(want * (1 - want) * wider / samples)
        check(abs(got - want) <= slack,
              f"share_{n}: {got:.3f} of the samples, and {want:.3f} of the time; {slack:.3f} allowed")
        words.append(f"{got:.3f}/{want:.3f}")
    return truth, rep, " ".join(words)


def test_shares_by_function():
    truth, rep, words = shares("ctimer")
    adds_up(rep)
    by_tid = {t["tid"]: t for t in rep["threads"]}
    missed_ns = rep["losses"]["by_cause"].get("blocked", 0) * 1_000_000_000 // rep["capture"]["freq_hz"]
    for t in truth["threads"]:
        if t["name"] != "sharer":
            continue
        # A period is a tick; the machine may swallow some. A CPU that stands still for long makes one signal stand
        # for many periods: they are no samples, but thaw has counted them.
        got = by_tid[t["tid"]]["running_ns"]
        near(min(t["cpu_ns"], got + missed_ns), t["cpu_ns"], 0.1, 40_000_000,
             f"CPU time by {got} ns of samples and {missed_ns} ns without")
        check(got <= 1.1 * t["cpu_ns"] + 40_000_000, f"{got} ns of samples in {t['cpu_ns']} ns of CPU time")
    all_ns = sum(t["cpu_ns"] for t in truth["threads"])
    check(missed_ns <= all_ns // 4, f"{missed_ns} ns of {all_ns} without a sample")
    return words


def test_bpf_says_the_same():
    if os.getuid() or not os.path.exists("/sys/kernel/btf/vmlinux"):
        raise Skip("needs root and BTF")
    return shares("bpf")[2]


def test_stacks_are_whole():
    record(CTIMER, [WORKLOAD, "chain", "spin", "3", "2"], "c.thaw")
    rep = report("c.thaw")
    s = rep["stacks"]["samples"]
    n = s["whole"] + s["broken"]
    check(n > 200, f"only {n} stacks")
    check(s["whole"] >= 0.99 * n, f"{s['broken']} of {n} stacks are not whole: {s['by_reason']}")
    for i in range(1, 13):
        got = function(rep, f"chain_{i}")["total_samples"]
        check(got >= 0.98 * n, f"chain_{i} is in {got} of {n} stacks")
    # No frame of ours stands in a stack.
    check(not any("thaw" in f["module"] for f in rep["functions"] if f["total_samples"] > n / 50),
          "thaw is in the stacks")
    return f"{s['whole']} of {n}"


def test_plain_user():
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError as none:
        raise Skip("there is no user nobody") from none
    if os.getuid():
        raise Skip("becoming nobody needs root")
    os.chmod(".", 0o777)
    if subprocess.run([THAW, "--version"], user=nobody.pw_uid, capture_output=True,
                      check=False).returncode:
        raise Skip("nobody may not run the binary where it is")
    r = subprocess.run([THAW, "record", "-o", "c.thaw", "--engine", "ctimer", "--", WORKLOAD,
                        "chain", "spin", "1"], user=nobody.pw_uid, group=nobody.pw_gid,
                       extra_groups=[], capture_output=True, text=True, check=False)
    check(r.returncode == 0, r.stderr)
    got = function(report("c.thaw"), "chain_spin")["total_samples"]
    check(got > 20, f"{got} samples of a second, on a machine that others use too")


def test_threads_forks_and_programs_are_followed():
    truth = record(CTIMER, ["sh", "-c", f"{WORKLOAD} spin 3 1; exec {WORKLOAD} execs 20"], "c.thaw")
    rep = report("c.thaw", "--top", "1000")
    adds_up(rep)
    names = [t["comm"] for t in rep["threads"]]
    for i in range(3):
        check(f"spin-{i}" in names, f"thread spin-{i} is not there, or has no name")
    check(names.count("true") == 20, f"{names.count('true')} of 20 children that ran true")
    check(truth["case"] == "execs", "the last program's words")
    record(CTIMER, [WORKLOAD, "forks", "40"], "d.thaw")
    rep = report("d.thaw", "--top", "1000")
    check(len({t["pid"] for t in rep["threads"]}) == 41, "a process for each child")
    ended = [t for t in rep["threads"] if t["wall_ns"] < rep["capture"]["duration_ns"] * 0.9]
    check(len(ended) >= 40, "children live on after their end")


def test_no_inherit():
    record([*CTIMER, "--no-inherit"], [WORKLOAD, "forks", "10"], "c.thaw")
    rep = report("c.thaw", "--top", "1000")
    check(len({t["pid"] for t in rep["threads"]}) == 1, "children were followed")
    record([*CTIMER, "--no-inherit"], [WORKLOAD, "spin", "2", "1"], "d.thaw")
    check(len(report("d.thaw")["threads"]) == 1, "threads were followed")


def test_manners():
    """A program that notices nothing: its output is the same, byte by byte."""
    env = dict(os.environ, MALLOC_PERTURB_="17")
    plain = subprocess.run([MANNERS], capture_output=True, env=env, check=False)
    r = subprocess.run([THAW, "record", "-q", "-F", "999", "-o", "c.thaw", *CTIMER, "--", MANNERS],
                       capture_output=True, env=env, check=False)
    check(r.stderr == plain.stderr, r.stderr.decode(errors="replace"))
    check(r.returncode == plain.returncode == 42, f"exit {r.returncode}")
    if r.stdout != plain.stdout:
        want, got = plain.stdout.decode().splitlines(), r.stdout.decode().splitlines()
        diff = [f"'{g}' for '{w}'" for w, g in zip(want, got) if w != g]
        check(False, "; ".join(diff[:5]) or "lines are missing")
    check(report("c.thaw")["capture"]["complete"], "the capture is not complete")


CHECKED = ("#include <stdio.h>\n#include <stdlib.h>\nstatic volatile long x;\n"
           "int main(int c, char **v) { char *p = malloc(100);\n"
           "for (long i = 0; i < atol(v[1]); i++) x += i; p[5] = 'a';\n"
           "printf(\"%c %s\\n\", p[5], getenv(\"ASAN_OPTIONS\")); free(p); return 9; }\n")


def sanitized(flag):
    same_as_without([compiled(flag, CHECKED, f"-fsanitize={flag}"), "20000000"])


def test_address_sanitizer():
    sanitized("address")


def test_thread_sanitizer():
    sanitized("thread")


def test_undefined_sanitizer():
    sanitized("undefined")


def test_valgrind():
    if not shutil.which("valgrind"):
        raise Skip("there is no valgrind")
    same_as_without(["valgrind", "-q", "--error-exitcode=77", compiled("plain", CHECKED), "1000000"])


def same_as_without(command, env=None):
    want = subprocess.run(command, capture_output=True, env=env, check=False)
    got = subprocess.run([THAW, "record", "-q", "-o", "s.thaw", *CTIMER, "--", *command],
                         capture_output=True, env=env, check=False)
    for what in ("returncode", "stdout", "stderr"):
        check(getattr(got, what) == getattr(want, what),
              f"{command[0]}: {what} {getattr(got, what)!r}, without thaw {getattr(want, what)!r}")


def test_own_preloads_are_kept():
    lib = compiled("mine.so", "int getsid(int pid) { return 4242 + pid; }\n", "-shared", "-fPIC")
    env = dict(os.environ, LD_PRELOAD=lib)
    same_as_without(["sh", "-c", "echo $LD_PRELOAD; env | sort | grep -v '^_='"], env)
    code = "import os; print(os.getsid(0), os.environ['LD_PRELOAD'])"
    same_as_without(["/usr/bin/python3", "-c", code], env)
    same_as_without(["env", "-i", "/usr/bin/env"])


def test_what_cannot_be_followed_is_told():
    static = compiled("still", "int main(void) { return 6; }\n", "-static")
    r = thaw("record", *CTIMER, "-o", "c.thaw", "--", static)
    check(r.returncode == 1 and "statically" in r.stderr, f"{r.returncode}: {r.stderr}")
    check(not os.path.exists("c.thaw"), "a capture of nothing")
    r = thaw("record", *CTIMER, "-o", "c.thaw", "--", "sh", "-c", f"{static}; exit $?")
    check(r.returncode == 6, f"exit {r.returncode}")
    check("still" in r.stderr and "could not be followed" in r.stderr, r.stderr)
    check("still" in (report("c.thaw")["losses"]["not_followed"] or ""), "not in the report")
    text = thaw("report", "c.thaw").stdout
    check("could not be followed" in text.replace("\n", " "), text)
    for args in (["-a"], ["-p", os.getpid()], ["-t", os.getpid()]):
        r = thaw("record", *CTIMER, "-o", "d.thaw", *args)
        check(r.returncode and "command" in r.stderr, f"{args}: {r.stderr}")


def test_program_of_another_machine_is_told():
    other = compiled("x86", "void _start(void) { __asm__(\"mov $1, %eax; mov $8, %ebx; "
                     "int $0x80\"); }\n", "-m32", "-nostdlib", "-static")
    r = thaw("record", *CTIMER, "-o", "c.thaw", "--", other)
    check(r.returncode == 1 and "another machine" in r.stderr, r.stderr)
    check(not os.path.exists("c.thaw"), "a capture of nothing")


def test_the_report_says_what_was_not_seen():
    record(CTIMER, [WORKLOAD, "sleep", "20", "20"], "c.thaw")
    text = " ".join(thaw("report", "c.thaw").stdout.split())
    for words in ("sees only threads that use a CPU", "not seen"):
        check(words in text, f"'{words}' is not in: {text}")
    for words in ("idle", "Nothing was held up", "only waited", "Longest waits"):
        check(words not in text, f"'{words}' is in: {text}")
    check("does not see locks" in thaw("locks", "c.thaw").stdout, "an empty table of locks")
    for kind in ("wait", "lock"):
        r = thaw("export", "c.thaw", "-f", "collapsed", "--kind", kind)
        check(r.returncode == 1 and not r.stdout and f"does not see {kind}s" in r.stderr,
              f"--kind {kind}: {r.returncode}, {r.stderr}")


def test_killed_programs_end():
    r = thaw("record", "-q", *CTIMER, "-o", "c.thaw", "--", "sh", "-c",
             f"{WORKLOAD} spin 2 20 & sleep 1; kill -9 $!; sleep 2.5; exit 4")
    check(r.returncode == 4, f"exit {r.returncode}: {r.stderr}")
    rep = report("c.thaw", "--top", "100")
    spinners = [t for t in rep["threads"] if t["comm"].startswith("spin-")]
    check(len(spinners) == 2, "two threads")
    for t in spinners:
        check(t["wall_ns"] < 3e9, f"{t['wall_ns'] / 1e9} s: it was killed after one")


def test_programs_survive_thaw():
    """Whatever happens to thaw, the program runs on, and is left alone."""
    for sig in (signal.SIGKILL, signal.SIGINT):
        p = start([THAW, "record", *CTIMER, "-o", "c.thaw", "--", "sh", "-c",
                   f"trap '' INT; {WORKLOAD} spin 1 4 > out; env > seen; echo done > finished"])
        wait_until(lambda: os.path.exists("c.thaw"), 20, "recording has not begun")
        time.sleep(0.7)
        stop(p, sig)
        wait_until(lambda: os.path.exists("finished"), 30, "the program did not end by itself")
        with open("out", encoding="ascii") as f:
            check(json.loads(f.read())["case"] == "spin", "its output is wrong")
        with open("seen", encoding="utf-8", errors="replace") as f:
            check("thaw-preload" not in f.read(), "the environment shows it")
        os.remove("finished")


def test_who_confines_itself_is_left_alone():
    if not shutil.which("setpriv"):
        raise Skip("there is no setpriv")
    r = thaw("record", "-q", *CTIMER, "-o", "c.thaw", "--", "setpriv", "--no-new-privs", WORKLOAD,
             "spin", "1", "0.3")
    check(r.returncode == 0, r.stderr)
    rep = report("c.thaw")
    check(rep["losses"]["by_cause"].get("confined") == 1, f"{rep['losses']}")
    check(not any(t["samples"] for t in rep["threads"] if t["comm"] != "setpriv"), "it was sampled")


def test_nothing_stays_behind():
    before = set(os.listdir("/dev/shm")) | set(os.listdir("/tmp"))
    record(CTIMER, [WORKLOAD, "forks", "5"], "c.thaw")
    after = set(os.listdir("/dev/shm")) | set(os.listdir("/tmp"))
    # Tests that run beside this one have their folders there.
    left = {name for name in after - before if "thaw" in name
            and not name.startswith(("thaw-live-", "thaw-page-", "thaw-runner-", "thaw-test-", "thaw-ff"))}
    check(not left, f"left behind: {left}")


def test_hostile_memory():
    """A program that overwrites what it shares with thaw, all the time."""
    program = compiled("hostile", HOSTILE, "-lpthread")
    r = thaw("record", "-q", *CTIMER, "-o", "c.thaw", "--", program, timeout=60)
    check(r.returncode == 5, f"exit {r.returncode}: {r.stderr[-300:]}")
    check(report("c.thaw")["capture"]["complete"], "the capture is not complete")


HOSTILE = r"""
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
	unsigned long start = 0, end = 0, n = 0;
	uint64_t dice = 7;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), f))
		if (strstr(line, "memfd:thaw"))
			sscanf(line, "%lx-%lx", &start, &end);
	if (!start)
		return 1;
	time_t until = time(NULL) + 3;
	while (time(NULL) < until)
		for (int i = 0; i < 100000; i++) {
			dice = dice * 6364136223846793005ull + 1442695040888963407ull;
			/* not the words that tell whether thaw listens, most of the time */
			unsigned long at = start + 64 + (dice >> 20) % (end - start - 64) / 8 * 8;
			*(volatile uint64_t *)at = n++ % 2 ? dice : dice % 100000;
		}
	return 5;
}
"""

if __name__ == "__main__":
    sys.exit(run([(f"ctimer {name}", fn) for name, fn in tests_of(globals())], privileged=False))
