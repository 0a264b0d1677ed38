# SPDX-License-Identifier: MIT
"""The bar that a person sees who waits for thaw: progress.py BUILD_DIR CAPTURE

What takes less than half a second shows none. So that no machine is too fast for the test, a library that is
loaded before thaw's own makes one read of the capture, in the first half of the file, take longer than that.
"""
import os
import re
import subprocess
import sys

THAW = os.path.join(os.path.abspath(sys.argv[1]), "thaw")
CAPTURE = os.path.abspath(sys.argv[2])
SLOW = os.path.abspath("slow.so")
failed = False

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>
ssize_t pread64(int fd, void *into, size_t n, off64_t at)
{
	static atomic_int slept;
	ssize_t (*real)(int, void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pread64");
	struct stat st;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 200000 && at > st.st_size / 20 && at < st.st_size / 2 &&
	    !atomic_exchange(&slept, 1))
		usleep(600000);
	return real(fd, into, n, at);
}
"""


def ok(name, bad):
    global failed
    print(f"FAIL {name}: {bad}" if bad else f"ok {name}")
    failed = failed or bool(bad)


def slow_library():
    with open("slow.c", "w", encoding="ascii") as f:
        f.write(SOURCE)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", SLOW, "slow.c", "-ldl"], check=True)


def slowed():
    return {**os.environ, "LD_PRELOAD": SLOW}


def on_terminal(args):
    """What it writes to its standard error, a terminal."""
    ours, theirs = os.openpty()
    with subprocess.Popen([THAW, *args], stdout=subprocess.DEVNULL, stderr=theirs, env=slowed()) as run:
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 65536):
                text += part
        except OSError:
            pass
        os.close(ours)
        return run.wait(), text.decode()


BAR = re.compile(r"\r([\w-]+) \[(#* *)\] +(\d+)%")


def check(name, what, args, most=100):
    """most: what the bar may begin with."""
    rc, text = on_terminal(args)
    bars = BAR.findall(text)
    shares = [int(share) for _, _, share in bars]
    ok(f"{name} exits with 0", rc)
    ok(f"a bar of {name}", "" if bars and all(b[0] == what and len(b[1]) == 40 for b in bars) else repr(text))
    ok(f"the bar of {name} grows", "" if shares and shares == sorted(shares) and
       shares[0] <= most else repr(shares))
    ok(f"the bar of {name} goes away", "" if text.endswith("\r\x1b[K") and
       not BAR.sub("", text).strip("\r\x1b[K") else repr(text[-200:]))


def main():
    slow_library()
    check("thaw report", "reading", ["report", CAPTURE])
    check("thaw locks", "reading", ["locks", CAPTURE])
    check("thaw info", "reading", ["info", CAPTURE])
    # reading the capture is a part of the bar of every export
    listed = subprocess.run([THAW, "export", "--list"], capture_output=True, text=True, check=True).stdout
    for name in re.findall(r"^\| `(\w+)`", listed, flags=re.M):
        check(f"thaw export -f {name}", name, ["export", CAPTURE, "-f", name, "-o", "/dev/null"],
              100 if name == "html" else 40)
    run = subprocess.run([THAW, "report", CAPTURE], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         env=slowed(), check=False)
    ok("no bar without a terminal", run.stderr.decode())
    return failed


sys.exit(main())
