# SPDX-License-Identifier: MIT
"""What the run says: each file's lines as they come, or in one piece when others run beside it; at its end
the failures, where the time went, the second tries, and the count."""
import collections
import threading
import time

SLOWEST = 15
SECOND_TRIES = 5   # more than these make the run fail


class Screen:
    def __init__(self, log):
        self.log = open(log, "w", encoding="utf-8")   # pylint: disable=consider-using-with
        self.lock = threading.Lock()
        self.tier = None
        self.began = time.monotonic()

    def say(self, *lines):
        with self.lock:
            for line in lines:
                print(line, flush=True)
                print(line, file=self.log, flush=True)

    def head(self, part, took=None):
        """Once a tier; where files run beside each other, once a file."""
        if part.tier != self.tier or took is not None:
            self.tier = part.tier
            self.say("", f"== {part.tier}" if took is None else f"== {part.name} [{took:.1f} s]")

    def close(self, told, seconds, builds, write=()):
        """`told`: all Said; `seconds`: file -> how long it took. The exit status."""
        failures = [line for s in told for line in s.lines if line.startswith("FAIL ")]
        second = collections.Counter(cause for s in told for cause in s.second)
        if sum(second.values()) > SECOND_TRIES:
            failures.append(f"FAIL second tries: {sum(second.values())}, more than {SECOND_TRIES}: on such a "
                            "machine nothing is proven")
        passed, skipped = (sum(s.count(word) for s in told) for word in ("ok", "skip"))
        if not passed and not failures:
            failures.append("FAIL run: no check has passed, so nothing is proven")
        if failures:
            self.say("", *failures)
        self.say("", *self.slowest(told, seconds, builds))
        words = ", ".join(f"{n} {cause}" for cause, n in sorted(second.items()))
        self.say(*write, f"second tries: {sum(second.values())} of at most {SECOND_TRIES}"
                 + (f" ({words})" if words else ""))
        self.say(f"{passed} passed, {len(failures)} failed, {skipped} skipped")
        self.log.close()
        return 1 if failures else 0

    def slowest(self, told, seconds, builds):
        tiers, cpu = collections.Counter(), collections.Counter()
        for name, took in seconds.items():
            tiers[name.split("/")[0]] += took.seconds
            cpu[name.split("/")[0]] += took.cpu
        yield (f"{time.monotonic() - self.began:.0f} s in all; by tier, and of a CPU: "
               + ", ".join(f"{t} {s:.0f} ({cpu[t]:.0f})" for t, s in tiers.most_common())
               + "; builds: " + (", ".join(f"{n} {s:.0f}" for n, s in builds.items()) or "none"))
        timed = {s.name for s in told if s.took}
        rows = [(s, f"{said.name}: {check}") for said in told for s, check in said.took]
        rows += [(took.seconds, name) for name, took in seconds.items() if name not in timed]
        yield "slowest:"
        for s, name in sorted(rows, reverse=True)[:SLOWEST]:
            yield f"  {s:6.1f} s  {name}"
        yield "most CPU time:"
        for cpu, name in sorted(((took.cpu, name) for name, took in seconds.items()), reverse=True)[:SLOWEST]:
            yield f"  {cpu:6.1f} s  {name}"
