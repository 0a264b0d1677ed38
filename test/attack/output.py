#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A shared folder in which user nobody was first: what root writes there belongs to root, and nothing of it goes
where the links and pipes of nobody point. The kernel's own protection of such folders is off meanwhile."""
import json
import os
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
from harness import THAW, check, run, start, stop, tests_of, thaw, wait_until

BESIDE = True   # compares no clocks: test/run puts others next to it

NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
UID = 65534
PROTECTED = ["fs/protected_symlinks", "fs/protected_regular", "fs/protected_fifos"]


class Unprotected:
    def __enter__(self):
        self.was = {}
        for name in PROTECTED:
            with open("/proc/sys/" + name, "r+", encoding="ascii") as f:
                self.was[name] = f.read().strip()
                f.write("0")

    def __exit__(self, *_):
        for name, value in self.was.items():
            with open("/proc/sys/" + name, "w", encoding="ascii") as f:
                f.write(value)


def shared():
    """A folder like /tmp, beneath one that user nobody can go through."""
    os.chmod(".", 0o755)
    os.mkdir("shared")
    os.chmod("shared", 0o1777)


def nobody(script):
    r = subprocess.run([*NOBODY, "sh", "-c", script], cwd="shared", capture_output=True, text=True,
                       check=False)
    check(r.returncode == 0, f"the attacker fails: {r.stderr}")


def capture(path="good.thaw"):
    r = thaw("record", "-o", path, "--", "true")
    check(r.returncode == 0, r.stderr)
    return path


def owned(path):
    st = os.lstat(path)
    check(stat.S_ISREG(st.st_mode) and st.st_uid == 0, f"{path}: mode {st.st_mode:o}, owner {st.st_uid}")
    check(not st.st_mode & 0o022, f"{path} can be written by others: {st.st_mode:o}")


WRITERS = {
    "record": lambda out: thaw("record", "-o", out, "--", "true"),
    "record ctimer": lambda out: thaw("record", "--engine", "ctimer", "-o", out, "--", "true"),
    "import": lambda out: thaw("import", "../stacks.txt", "-o", out, cwd="shared"),
    "export json": lambda out: thaw("export", "-f", "jsonl", "-o", out, "good.thaw"),
    "export sqlite": lambda out: thaw("export", "-f", "sqlite", "-o", out, "good.thaw"),
    "export html": lambda out: thaw("export", "-f", "html", "-o", out, "good.thaw"),
    "diff html": lambda out: thaw("diff", "--html", out, "good.thaw", "other.thaw"),
    "locks keep": lambda out: thaw("locks", "--keep", out, "--json", "--", "true"),
}


def prepared():
    shared()
    capture()
    capture("other.thaw")
    with open("stacks.txt", "w", encoding="ascii") as f:
        f.write("a;b 1\n")


def each(make, judge):
    """Every verb that writes a file, while user nobody has something under that name."""
    prepared()
    with Unprotected():
        for i, (what, write) in enumerate(WRITERS.items()):
            name = f"out{i}"
            nobody(make.format(name=name))
            judge(what, os.path.abspath("shared/" + name), write)
    return f"{len(WRITERS)} writers"


def test_dangling_link():
    """A link of user nobody to a missing file in root's own folder: root does not create that file."""
    os.mkdir("root", 0o755)
    there = os.path.abspath("root")

    def judge(what, out, write):
        r = write(out)
        check(not os.listdir("root"), f"{what} has made {os.listdir('root')}")
        check(r.returncode != 0 and "another user's" in r.stderr, f"{what}: {r.returncode}: {r.stderr}")

    return each("ln -s " + there + "/{name} {name}", judge)


def test_link_to_a_file_of_roots():
    with open("precious", "w", encoding="ascii") as f:
        f.write("precious")
    there = os.path.abspath("precious")
    before = os.stat(there).st_ino

    def judge(what, out, write):
        r = write(out)
        check(r.returncode != 0 and "another user's" in r.stderr, f"{what}: {r.returncode}: {r.stderr}")
        with open(there, encoding="ascii") as f:
            check(f.read() == "precious" and os.stat(there).st_ino == before, f"{what} wrote over it")

    return each("ln -s " + there + " {name}", judge)


def test_file_of_nobodys():
    """A file that is empty, open to all, and held open by user nobody: nothing comes into it."""
    def judge(what, out, write):
        with open(out, "rb") as held:
            r = write(out)
            check(r.returncode == 0, f"{what}: {r.stderr}")
            check(held.read() == b"", f"{what}: nobody's file received it")
        owned(out)

    return each("umask 0; : > {name}", judge)


def test_full_file_of_nobodys():
    def judge(what, out, write):
        with open(out, "rb") as held:
            r = write(out)
            check(r.returncode == 0, f"{what}: {r.stderr}")
            check(held.read() == b"mine\n", f"{what}: nobody's file received it")
        owned(out)
        if os.path.exists(out + ".old"):
            check(out + ".old" in r.stderr, f"{what} does not say where it is: {r.stderr}")

    return each("umask 0; echo mine > {name}", judge)


def test_old_is_a_link():
    """An old capture that is put aside replaces a link of that name, and does not go where it points."""
    prepared()
    with open("precious", "w", encoding="ascii") as f:
        f.write("precious")
    with Unprotected():
        capture("shared/c.thaw")
        nobody("ln -s ../precious c.thaw.old")
        capture("shared/c.thaw")
    with open("precious", encoding="ascii") as f:
        check(f.read() == "precious", "written over")
    owned("shared/c.thaw")
    owned("shared/c.thaw.old")


def test_pipe_of_nobodys():
    """User nobody listens at a pipe: nothing of root's comes out of it, and root does not wait."""
    def judge(what, out, write):
        got = out + ".got"
        listener = start([*NOBODY, "sh", "-c", f"exec cat {out} > {got}"])
        try:
            wait_until(lambda: os.path.exists(got), 10, "nobody does not listen")
            r = write(out)
            check(r.returncode != 0 and ("another user's" in r.stderr or "pipe" in r.stderr),
                  f"{what}: {r.returncode}: {r.stderr}")
            check(os.path.getsize(got) == 0, f"{what}: it came out")
        finally:
            stop(listener)

    return each("mkfifo -m 666 {name}", judge)


def test_own_links_and_pipes():
    """What users of other profilers are used to still works, or says why not."""
    prepared()
    os.mkdir("big")
    os.symlink("big/c.thaw", "link.thaw")
    capture("link.thaw")
    check(os.path.islink("link.thaw") and os.path.getsize("big/c.thaw") > 1000, "own link, dangling")
    capture("link.thaw")
    check(os.path.islink("link.thaw") and os.path.exists("big/c.thaw.old"), "own link, to a capture")
    want = thaw("export", "-f", "jsonl", "good.thaw").stdout
    check(thaw("export", "-f", "jsonl", "-o", "-", "good.thaw").stdout == want, "-o -")
    check(thaw("export", "-f", "jsonl", "-o", "/dev/stdout", "good.thaw").stdout == want, "/dev/stdout")
    check(thaw("export", "-f", "jsonl", "-o", "/dev/null", "good.thaw").returncode == 0, "/dev/null")
    os.mkfifo("pipe")
    reader = start(["cat", "pipe"])
    check(thaw("export", "-f", "jsonl", "-o", "pipe", "good.thaw").returncode == 0, "own pipe")
    check(reader.communicate(timeout=20)[0] == want, "what came out of the pipe")
    for out in ("-", "/dev/null", "pipe", "/dev/stdout", "."):
        r = thaw("record", "-o", out, "--", "true")
        check(r.returncode == 1 and "a capture" in r.stderr, f"{out}: {r.returncode} {r.stderr}")
    with open("redirected.thaw", "wb") as f:
        r = subprocess.run([THAW, "record", "-o", "/dev/stdout", "--", "true"], stdout=f, check=False)
    check(r.returncode == 0 and thaw("info", "redirected.thaw", "--verify").returncode == 0, "> FILE")


def test_owner_under_sudo():
    """The capture belongs to the user who called sudo, if that user can exist."""
    shared()
    for uid, want in (("1000", 1000), ("x", 0), ("-1", 0), ("4294967295", 0), ("", 0)):
        r = thaw("record", "-o", "shared/c.thaw", "--", "true",
                 env={**os.environ, "SUDO_UID": uid, "SUDO_GID": uid})
        check(r.returncode == 0, r.stderr)
        st = os.lstat("shared/c.thaw")
        check((st.st_uid, stat.S_IMODE(st.st_mode)) == (want, 0o600), f"{uid!r}: {st}")
    check(json.loads(thaw("info", "--json", "shared/c.thaw").stdout)["ended"], "it can be read")


if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
