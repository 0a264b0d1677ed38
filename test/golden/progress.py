# SPDX-License-Identifier: MIT
"""The bar that a person sees who waits for thaw: progress.py BUILD_DIR CAPTURE

What takes less than half a second shows none. So that no machine is too fast for the test, thaw is
stopped for longer than that as soon as it has opened the capture, which must be large enough not to be
read to its end before.
"""
import os
import re
import signal
import subprocess
import sys
import time

THAW = os.path.join(os.path.abspath(sys.argv[1]), "thaw")
CAPTURE = os.path.abspath(sys.argv[2])
TRIES = 5
failed = False


def ok(name, bad):
    global failed
    print(f"FAIL {name}: {bad}" if bad else f"ok {name}")
    failed = failed or bool(bad)


def has_open(pid):
    try:
        fds = f"/proc/{pid}/fd"
        return any(os.path.realpath(os.path.join(fds, fd)) == CAPTURE for fd in os.listdir(fds))
    except OSError:
        return False


def hold_up(run):
    """Stops it while it reads; false if it was too fast for that."""
    while run.poll() is None and not has_open(run.pid):
        pass
    if run.poll() is not None:
        return False
    run.send_signal(signal.SIGSTOP)
    time.sleep(0.6)
    run.send_signal(signal.SIGCONT)
    return True


def on_terminal(args):
    """What it writes to its standard error, a terminal."""
    ours, theirs = os.openpty()
    with subprocess.Popen([THAW, *args], stdout=subprocess.DEVNULL, stderr=theirs) as run:
        os.close(theirs)
        held = hold_up(run)
        text = b""
        try:
            while part := os.read(ours, 65536):
                text += part
        except OSError:
            pass
        os.close(ours)
        return run.wait(), text.decode() if held else ""


BAR = re.compile(r"\r([\w-]+) \[(#* *)\] +(\d+)%")


def check(name, what, args, most=100):
    """most: what the bar may begin with. It is caught while it reads sooner or later."""
    for _ in range(TRIES):
        rc, text = on_terminal(args)
        bars = BAR.findall(text)
        shares = [int(share) for _, _, share in bars]
        if rc or (shares and shares[0] <= most):
            break
    ok(f"{name} exits with 0", rc)
    ok(f"a bar of {name}", "" if bars and all(b[0] == what and len(b[1]) == 40 for b in bars) else repr(text))
    ok(f"the bar of {name} grows", "" if shares and shares == sorted(shares) and
       shares[0] <= most else shares)
    ok(f"the bar of {name} goes away", "" if text.endswith("\r\x1b[K") and
       not BAR.sub("", text).strip("\r\x1b[K") else repr(text[-200:]))


def main():
    check("thaw report", "reading", ["report", CAPTURE])
    check("thaw locks", "reading", ["locks", CAPTURE])
    check("thaw info", "reading", ["info", CAPTURE])
    # reading the capture is a part of the bar of every export
    listed = subprocess.run([THAW, "export", "--list"], capture_output=True, text=True, check=True).stdout
    for name in re.findall(r"^\| `(\w+)`", listed, flags=re.M):
        check(f"thaw export -f {name}", name, ["export", CAPTURE, "-f", name, "-o", "/dev/null"],
              100 if name == "html" else 40)
    with subprocess.Popen([THAW, "report", CAPTURE], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
        hold_up(run)
        ok("no bar without a terminal", run.communicate()[1].decode())
    return failed


sys.exit(main())
