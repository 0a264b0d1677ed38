#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names that a terminal would obey, in the answers to everything that thaw can be asked: no code of theirs arrives.

The hostile names are of threads, functions, files, modules, locks, the host, the command and every fact of a forged
capture, and of live threads, files and folders of user nobody."""
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
from harness import BUILD, THAW, check, run, start, stop, tests_of, wait_until

BESIDE = True   # compares no clocks: test/run puts others next to it

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
ESCAPES = (b"\x1b[31m\x1b]0;pwned\a\xc2\x9b31m\x9b7m\r\b\x7f\v\f\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa8"
           b"\xc2\x85pwned")
# What a terminal obeys: C0 but for the newline, DEL, C1, marks of direction, ends of lines.
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"
                    "\ufff9-\ufffb\U000e0000-\U000e007f\udc80-\udcff]")
# What thaw itself writes to a terminal: colours; before and after its line of status.
COLOURS = re.compile("\x1b\\[[0-9;]*m")
STATUS = re.compile("\r\x1b\\[K|\r")
SHOWS = "pwned"


def keys():
    """Every fact that docs/format.md knows."""
    found, inside = [], False
    with open(os.path.join(ROOT, "docs", "format.md"), encoding="utf-8") as f:
        for line in f:
            cells = [c.strip() for c in line.split("|")]
            if line.startswith("| key |"):
                inside = True
            elif inside and not line.startswith("|"):
                break
            elif inside and not cells[1].startswith("-"):
                found += [k.strip() for k in cells[1].split(",")]
    check("host" in found and "copy_damage" in found, f"facts: {found}")
    return found


def captures():
    """Captures with hostile names, with every fact hostile, and a file that is only named like a capture."""
    maker = os.path.abspath("make_hostile")
    subprocess.run(["cc", "-std=gnu11", "-D_GNU_SOURCE", "-I", os.path.join(ROOT, "src"), "-o", maker,
                    os.path.join(ROOT, "test", "browser", "make_hostile.c"),
                    os.path.join(BUILD, "release", "libstore.a"),
                    os.path.join(BUILD, "release", "libbase.a"),
                    "-lzstd", "-lz", "-lpthread", "-lm"], check=True)
    shown = [k for k in keys() if k not in ("engine", "scope", "cpus", "freq_hz")]
    made = [b"names.thaw", b"facts.thaw", b"all.thaw"]
    for path, facts in zip(made, ([], shown, keys())):
        subprocess.run([maker, "escapes", path, *facts], check=True)
    odd = b"a" + ESCAPES.replace(b"/", b"")
    os.rename(b"names.thaw", odd)
    with open(b"no" + odd, "wb") as f:
        f.write(b"nothing")
    with open(b"torn" + odd, "wb") as f, open(odd, "rb") as whole:
        f.write(whole.read()[:-200])
    return [odd, b"facts.thaw", b"all.thaw", b"torn" + odd, b"no" + odd, b"missing" + odd]


def questions(path, other):
    """Every verb, in all of its forms that print."""
    bad = b"x" + ESCAPES
    yield from ([b"report", path], [b"report", path, b"--json"], [b"report", path, b"--thread", bad],
                [b"report", path, b"--from", bad], [b"info", path], [b"info", path, b"--verify"],
                [b"info", path, b"--json"], [b"locks", path], [b"locks", path, b"--signals"],
                [b"locks", path, b"--json"], [b"locks", path, b"--lock", b"lock"],
                [b"locks", path, b"--lock", bad], [b"diff", path, other], [b"diff", path, other, b"--json"],
                [b"import", path, b"-o", b"out.thaw"], [b"import", path, b"-o", b"no/" + bad],
                [b"export", path, b"-f", bad], [b"export", path, b"-f", b"jsonl", b"-o", b"no/" + bad],
                [b"record", b"-o", b"no/" + bad, b"--", b"true"], [b"record", b"--engine", bad, b"true"],
                [b"record", b"-p", bad], [b"record", b"--", b"./" + bad], [b"record", b"--cgroup", bad],
                [b"view", b"--port", bad, path], [b"doctor", bad], [b"help", bad], [bad], [b"sql", path, bad])
    for form in (b"collapsed", b"jsonl", b"chrome", b"speedscope"):
        yield [b"export", path, b"-f", form]
    for table in (b"threads", b"functions", b"locks", b"modules", b"facts", b"waits", b"steps", b"frames",
                  b"processes", b"stacks", b"samples"):
        for form in ([], [b"--json"], [b"--csv"]):
            yield [b"sql", path, b"select * from " + table + b" limit 50", *form]


def plainly(args):
    r = subprocess.run([THAW.encode(), *args], capture_output=True, timeout=120, check=False,
                       stdin=subprocess.DEVNULL)
    # Without a terminal SQL is answered with CSV, whose lines end with CR LF.
    csv = args[0] == b"sql" and b"--json" not in args
    return r.stdout.replace(b"\r\n", b"\n") if csv else r.stdout, r.stderr


def on_terminal(args):
    """What arrives at a terminal for standard output and standard error."""
    pid, fd = pty.fork()
    if not pid:
        os.environ["TERM"] = "xterm"
        os.execv(THAW, [THAW.encode(), *args])
    out = b""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        if not select.select([fd], [], [], 1)[0]:
            continue
        try:
            got = os.read(fd, 65536)
        except OSError:
            break
        if not got:
            break
        out += got
    os.close(fd)
    os.waitpid(pid, 0)
    return out.replace(b"\r\n", b"\n")


def judge(args, out, own=()):
    text = out.decode("utf-8", "surrogateescape")
    for pattern in own:
        text = pattern.sub("", text)
    found = OBEYED.search(text)
    if found:
        at = found.start()
        raise AssertionError(f"{args}: {text[max(0, at - 60):at + 20]!r}")
    return SHOWS in text


def test_every_verb():
    made = captures()
    asked = shown = 0
    for i, path in enumerate(made):
        for args in questions(path, made[(i + 1) % 3]):
            out, err = plainly(args)
            shown += judge(args, out) + judge(args, err)
            asked += 1
            if b"--json" in args and out:
                json.loads(out)
    check(shown > asked // 3, f"only {shown} of {asked} answers show a name: nothing was tried")
    return f"{asked} questions"


def test_every_verb_on_a_terminal():
    made = captures()
    asked = 0
    for i, path in enumerate(made[:4]):
        for args in questions(path, made[(i + 1) % 3]):
            if args[0] == b"view" or b"--csv" in args or b"speedscope" in args:
                continue
            judge(args, on_terminal(args), (COLOURS, STATUS))
            asked += 1
    return f"{asked} questions"


def test_json_keeps_the_names():
    """An escaped character means the same."""
    path = captures()[0]
    want = ESCAPES.decode("utf-8", "replace")
    names = [t["comm"] for t in json.loads(plainly([b"report", path, b"--json"])[0])["threads"]]
    check(any(n.endswith(want) for n in names), f"{want!r} is in none of {names}")
    rows = json.loads(plainly([b"sql", path, b"select name from threads", b"--json"])[0])
    check(any(r["name"].endswith(want) or "pwned" in r["name"] for r in rows), f"{rows}")


PROGRAM = r"""
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None)
name = os.environb[b"EVIL"]
def named(n):
    libc.prctl(15, ctypes.c_char_p(n[:15]))
    time.sleep(3)
threads = [threading.Thread(target=named, args=(name[i:],)) for i in range(0, len(name), 3)]
for t in threads:
    t.start()
print("ready", flush=True)
for t in threads:
    t.join()
"""


def test_live_names():
    """A process, its executable, which is replaced while it runs, and its folder, all of user nobody."""
    os.chmod(".", 0o755)
    evil = ESCAPES
    folder = b"/tmp/thaw-attack-%d" % os.getpid() + evil
    os.mkdir(folder)
    try:
        os.chown(folder, 65534, 65534)
        program = folder + b"/sleep" + evil
        subprocess.run(["cp", "/bin/sleep", program], check=True)
        os.chown(program, 65534, 65534)
        os.chmod(program, 0o755)
        target = subprocess.Popen([*NOBODY, program, "6"])
        wait_until(lambda: b"sleep" in os.readlink(b"/proc/%d/exe" % target.pid), 10,
                   "the attacker fails")
        rec = subprocess.Popen([THAW, "record", "-o", "live.thaw", "-p", str(target.pid)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_until(lambda: os.path.exists("live.thaw") and os.path.getsize("live.thaw") > 2000
                   or rec.poll() is not None, 20, "no file")
        # Replaced: another file under its name, and the old one is gone.
        subprocess.run(["cp", "/bin/true", program + b".new"], check=True)
        os.rename(program + b".new", program)
        target.wait(timeout=30)
        out, err = rec.communicate(timeout=60)
        judge("record", out + err)
        check(rec.returncode == 0, err)
        for args in ([b"report", b"live.thaw"], [b"info", b"live.thaw"], [b"locks", b"live.thaw"],
                     [b"sql", b"live.thaw", b"select distinct module from frames"]):
            judge(args, b"".join(plainly(args)))
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)


def test_live_screen():
    """The table that is drawn over and over: only codes of its own, whatever the threads are called."""
    os.chmod(".", 0o755)
    target = start([*NOBODY, sys.executable, "-c", PROGRAM], env={**os.environb, b"EVIL": ESCAPES})
    try:
        wait_until(lambda: len(os.listdir(f"/proc/{target.pid}/task")) > 5, 20, "no threads")
        out = on_terminal([b"locks", b"--signals", b"-d", b"2s", b"-p", str(target.pid).encode()])
    finally:
        stop(target, signal.SIGKILL)
    own = re.compile("\x1b(7|8|D|\\[[0-9;]*[ArHJKm])|\r")
    judge("locks", out, (own,))
    check(b"\x1b[31m" not in out and b"\x1b]" not in out, "a name was obeyed")


if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
