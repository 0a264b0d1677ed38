# SPDX-License-Identifier: MIT
"""What the live tests share: running thaw and the workloads, and telling how it went."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.abspath("build")
THAW = os.path.join(BUILD, "thaw")
WORKLOAD = os.path.join(BUILD, "workload", "workload")
SERVER = os.path.join(BUILD, "workload", "server")


class Skip(Exception):
    pass


def check(condition, words):
    if not condition:
        raise AssertionError(words)


def near(got, want, share, floor, what):
    """Within a share of the truth, or a fixed distance, whichever is larger."""
    slack = max(abs(want) * share, floor)
    check(abs(got - want) <= slack, f"{what}: {got} is not within {slack:.0f} of {want}")


def thaw(*args, timeout=120, **kwargs):
    return subprocess.run([THAW, *map(str, args)], capture_output=True, text=True, timeout=timeout,
                          errors="replace", **kwargs)


def record(args, command, capture, timeout=180):
    """Records a workload; returns its own truth."""
    r = thaw("record", "-o", capture, *args, "--", *command, timeout=timeout)
    check(r.returncode == 0, f"record: exit {r.returncode}: {r.stderr.strip()}")
    lines = [line for line in r.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else None


def report(capture, *args):
    r = thaw("report", capture, "--json", *args)
    check(r.returncode == 0, f"report: exit {r.returncode}: {r.stderr.strip()}")
    return json.loads(r.stdout)


def info(capture, *args):
    r = thaw("info", capture, "--json", *args)
    check(r.returncode == 0, f"info: exit {r.returncode}: {r.stderr.strip()}")
    return json.loads(r.stdout)


def start(command, **kwargs):
    return subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, errors="replace", **kwargs)


def wait_until(test, seconds, what):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if test():
            return
        time.sleep(0.02)
    raise AssertionError(f"after {seconds} s: {what}")


def stop(process, sig=signal.SIGKILL):
    """Ends a process that this test has started."""
    if process.poll() is None:
        process.send_signal(sig)
    return process.communicate(timeout=60)


def run(tests):
    """Runs test_* functions, each in a folder of its own; a line each, and the exit status."""
    if os.geteuid() != 0:
        for name, _ in tests:
            print(f"skip live {name}: recording needs root")
        return 0
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        for name, _ in tests:
            print(f"skip live {name}: this kernel has no BTF")
        return 0
    failed = 0
    only = sys.argv[2:]
    for name, fn in tests:
        if only and not any(word in name for word in only):
            continue
        folder = tempfile.mkdtemp(prefix="thaw-live-")
        before = os.getcwd()
        os.chdir(folder)
        began = time.monotonic()
        try:
            said = fn()
            words = f" ({said})" if said else ""
            print(f"ok live {name}{words} [{time.monotonic() - began:.1f} s]", flush=True)
        except Skip as why:
            print(f"skip live {name}: {why}", flush=True)
        except Exception as why:  # a test that breaks has failed, whatever the reason
            failed += 1
            print(f"FAIL live {name}: {why}", flush=True)
            if not isinstance(why, AssertionError):
                traceback.print_exc(file=sys.stdout)
        finally:
            os.chdir(before)
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


def tests_of(namespace):
    return [(name[5:], fn) for name, fn in namespace.items()
            if name.startswith("test_") and callable(fn)]
