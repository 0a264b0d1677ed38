#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Other profilers on the same machine: they must not notice that thaw is there, nor thaw them. The
kernel gives one event's marks to the next one's records (see src/engine/bpf_events.c)."""
import json
import os
import shutil
import subprocess
import sys

from harness import THAW, Skip, check, run, start, stop, tests_of, thaw, wait_for_events

BESIDE = True   # compares no clocks: test/run puts others next to it
PROGRAM = r"""
#include <time.h>
volatile unsigned long sink;
int main(void)
{
	struct timespec t = {0};
	while (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), t.tv_sec < 1)
		for (int i = 0; i < 100000; i++)
			sink += (unsigned long)i;
	return 0;
}
"""


def perf():
    path = shutil.which("perf")
    if not path:
        raise Skip("there is no perf")
    return path


def program(name):
    with open(name + ".c", "w", encoding="ascii") as f:
        f.write(PROGRAM)
    subprocess.run(["gcc", "-O1", "-g", "-Wl,--build-id=sha1", "-o", name, name + ".c"], check=True)
    return os.path.abspath(name)


def build_id(path):
    said = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    return said.split("Build ID:")[1].split()[0]


def ids_of_perf(data):
    """path -> build id, by perf's own list of what it saw."""
    said = subprocess.run([perf(), "buildid-list", "-i", data], capture_output=True, text=True, check=True).stdout
    return {path: number for number, path in (line.split(" ", 1) for line in said.splitlines() if " " in line)}


def perf_beside(options, recorder, capture):
    busy = program("busy")
    record = start(recorder)
    try:
        wait_for_events(record, capture)
        done = subprocess.run([perf(), "record", "-q", "-F", "997", *options, "-o", "p.data", "--", busy],
                              capture_output=True, text=True, errors="replace", check=False)
        check(done.returncode == 0, f"perf ends with {done.returncode}: {done.stderr}")
        got = ids_of_perf("p.data").get(busy)
        check(got == build_id(busy), f"perf's build id {got}, the file's {build_id(busy)}")
    finally:
        stop(record)


def test_perf_of_a_command():
    perf_beside([], [THAW, "record", "-a", "-q", "-o", "c.thaw"], "c.thaw")


def test_perf_of_the_machine():
    perf_beside(["-a"], [THAW, "record", "-a", "-q", "-o", "c.thaw"], "c.thaw")


def test_perf_beside_the_engine_of_everybody():
    perf_beside([], [THAW, "record", "-a", "-q", "--engine", "perf", "-o", "c.thaw"], "c.thaw")


def test_build_ids_beside_perf():
    """perf asks for build ids in each record; thaw's are read from the files, and are right."""
    busy = program("busy")
    peer = start([perf(), "record", "-q", "-a", "--buildid-mmap", "-e", "dummy", "-o", "p.data"])
    try:
        for options in ([], ["--engine", "perf"]):
            r = thaw("record", "-q", *options, "-o", "c.thaw", "--", busy)
            check(r.returncode == 0, r.stderr)
            check(peer.poll() is None, "perf has ended")
            lines = thaw("export", "-f", "jsonl", "c.thaw", "-o", "-")
            check(lines.returncode == 0, lines.stderr)
            got = {m["path"]: m.get("build_id") for m in map(json.loads, lines.stdout.splitlines())
                   if m["type"] == "module"}
            check(got.get(busy) == build_id(busy), f"{options}: {got.get(busy)}, not {build_id(busy)}")
    finally:
        stop(peer)


if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
