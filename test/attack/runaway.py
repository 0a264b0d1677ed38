#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Processes that make the recorder read their mappings again and again: the recorder keeps to its limits, and says
what it does not read."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
from harness import THAW, check, info, report, run, start, tests_of, wait_until  # noqa: E402
from machine import KernelLog  # noqa: E402

NOBODY = 65534

# Mappings that do not merge (every second page may be read only), and futex waits of a microsecond at
# addresses that nobody has waited at before: outside of all mappings that were known a moment ago,
# because the last one is made anew each time.
MAPPER = r"""
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long n = atol(argv[1]), seconds = atol(argv[2]), k = 0;
	char *at = mmap(NULL, (n + 4) * 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct timespec begin, now;

	for (long i = 0; i < n; i++)
		if (mprotect(at + i * 8192, 4096, PROT_READ | PROT_WRITE))
			return 1;
	puts("ready");
	fflush(stdout);
	getchar();
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		const struct timespec short_time = {0, 1000};
		char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		syscall(SYS_futex, page + 8 * (k++ % 500), FUTEX_WAIT_PRIVATE, 0, &short_time, NULL, 0);
		/* Its place stays taken, so that the next one is elsewhere. */
		mmap(page, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		if (k % 1000 == 0)
			usleep(1000);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec < seconds);
	printf("%ld\n", k);
	return 0;
}
"""


def nobody():
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def build(source):
    with open("attacker.c", "w", encoding="utf-8") as f:
        f.write(source)
    subprocess.run(["gcc", "-O1", "-pthread", "-o", "attacker", "attacker.c"], check=True)
    os.chmod(".", 0o755)


def same_slot():
    """Two attackers whose pids are equal modulo 16."""
    first = None
    while True:
        p = subprocess.Popen(["./attacker", "20000", "4"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True, preexec_fn=nobody)
        if not first:
            first = p
        elif p.pid % 16 == first.pid % 16:
            return first, p
        else:
            p.kill()
            p.communicate()


def meta(found, key):
    values = [m["value"] for m in found["facts"] if m["key"] == key]
    return values[0] if values else None


def attacked(*args):
    """Records both attackers at work; what the capture says, and what the kernel's log said meanwhile."""
    build(MAPPER)
    pair = same_slot()
    for p in pair:
        check(p.stdout.readline() == "ready\n", "the attacker is ready")
    log = KernelLog()
    rec = start([THAW, "record", "--max-overhead", "100", *(args or [w for p in pair for w in ("-p", p.pid)]),
                 "-d", "3", "-o", "c.thaw"])
    wait_until(lambda: os.path.exists("c.thaw") or rec.poll() is not None, 20, "no file")
    for p in pair:
        p.stdin.write("\n")
        p.stdin.flush()
    _, err = rec.communicate(timeout=120)
    check(rec.returncode == 0, err)
    for p in pair:
        p.communicate(timeout=60)
    return info("c.thaw"), report("c.thaw", "--top", "10000"), {p.pid for p in pair}, log.lines()


def about_samples(step):
    """The kernel may want fewer samples, whoever else takes some; and what is noted concerns others."""
    return step["step"] == "noted" or step["cause"] == "sample_rate" or \
        step["cause"] == "distress" and ("took too long" in step["note"] or "hrtimer: " in step["note"])


def stays_in_limits(found, rep, attackers, log):
    """No event is lost, the recorder keeps emptying the rings, the kernel does not throttle it, and the scout uses
    no more than its share."""
    waited = {t["pid"] for t in rep["threads"] if t["waiting_ns"]}
    check(attackers <= waited, f"of {attackers}, waits are known of {attackers & waited}")
    kinds = found["events_by_kind"]
    check(kinds.get("futex", 0) > 1000, f"they waited: {kinds}")
    check(rep["losses"]["by_cause"].get("ring_full", 0) == 0, f"events were lost: {rep['losses']['by_cause']}")
    check("paused" not in rep["losses"]["by_cause"], "the recorder gave no sign of life")
    steps = [s["words"] for s in rep["watch"]["steps"] if not about_samples(s)]
    check(not steps, f"it stepped back: {steps}")
    throttled = [line for line in log if "throttling" in line]
    check(not throttled, f"the kernel says: {throttled}")
    check(int(meta(found, "places_untold") or 0) > 0, "what was not read is told")
    share = int(meta(found, "scout_cpu_ns")) / found["duration_ns"]
    # A tenth of a CPU, and half a second in advance.
    check(share < 0.1 + 0.7e9 / found["duration_ns"] + 0.1, f"the scout had {share:.0%} of a CPU")
    gap = int(meta(found, "drain_gap_ns"))
    return f"{kinds['futex']} waits, {gap / 1e6:.0f} ms between two looks at most, scout {share:.0%}"


def test_mappings_read_again_and_again():
    """20,000 mappings, and fresh addresses all the time."""
    return stays_in_limits(*attacked())


def test_on_the_whole_machine():
    """The same among all other processes."""
    return stays_in_limits(*attacked("-a"))


if __name__ == "__main__":
    sys.exit(run(tests_of(globals())))
