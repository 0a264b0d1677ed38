# SPDX-License-Identifier: MIT
"""What a test file said, and whether that is to be believed.

A check is a line: `ok NAME`, `FAIL NAME: why` or `skip NAME: why`; `skip all of FILE: why` stands for all
checks of a file or a tier, `skip the rest of FILE: why` for those that have not been told. A second try is announced by `again NAME [CAUSE]: why` (test/live/machine.py).
A unit test speaks TAP instead. Beyond what it says, a file fails if its exit status says so, if it ran
too long, or if it has another number of checks than test/manifest."""
import re
import signal

import machine
import manifest

TOOK = re.compile(r"\[([\d.]+) s\]$")
TAP = re.compile(r"^(not )?ok \d+ - (\S+)(.*)")
TAP_SKIP = re.compile(r"^(?:not )?ok \d+ # SKIP (\S+)")   # as cmocka 1.1 writes it, without a reason
REST = re.compile(r"^skip (all|the rest) of (\S+): .")
REASON = re.compile(r"^(FAIL|skip) .+?: \S")


class Said:
    """The checks of one file."""

    def __init__(self, name):
        self.name = name
        self.lines = []       # ok, FAIL and skip, as they count
        self.reported = 0     # of these, the file's own
        self.second = []      # causes of second tries
        self.skips_rest = None
        self.took = []        # (seconds, check)

    def hear(self, line):
        word = line.split(" ", 1)[0]
        if REST.match(line):
            self.skips_rest = line
        elif word in ("ok", "FAIL", "skip"):
            self.check(line)
        elif word == "again":
            cause = machine.cause_of(line)
            if cause:
                self.second.append(cause)
            else:
                self.fail(f"a second try without a measured cause: {line[6:]}")

    def hear_tap(self, line):
        """The line as it is to be shown."""
        skipped = TAP_SKIP.match(line)
        if skipped:
            line = f"skip {self.name} {skipped[1]}: this machine, or this build, does not have what it takes"
            self.check(line)
            return line
        found = TAP.match(line)
        if not found:
            return line
        failed, test, rest = found.groups()
        word = "FAIL" if failed else "skip" if "# SKIP" in rest.upper() else "ok"
        line = f"{word} {self.name} {test}" + ("" if word == "ok" else ": see below" if failed else f":{rest}")
        self.check(line)
        return line

    def check(self, line):
        if line.startswith("skip ") and not REASON.match(line):
            line = f"FAIL {line[5:]}: skipped without a reason"
        self.lines.append(line)
        self.reported += 1
        found = TOOK.search(line)
        if found:
            self.took.append((float(found[1]), line.split(" ", 1)[1].split(" (")[0].split(" [")[0]))

    def fail(self, why):
        self.lines.append(f"FAIL {self.name}: {why}")

    def count(self, word):
        return sum(line.startswith(word + " ") for line in self.lines)

    def judge(self, status, timed_out, want):
        """Takes the exit status and the expected number into account; the lines that this adds."""
        why = []
        if timed_out:
            why.append(f"it was not done after {timed_out:.0f} s, and was ended")
        elif status < 0:
            why.append(f"it was ended by {signal.Signals(-status).name}")
        elif status and not self.count("FAIL"):
            why.append(f"it ended with {status}")
        if self.skips_rest and not status and not timed_out:
            self.lines += [self.skips_rest] * max(0, (want or 1) - self.reported)
            return []
        wrong = manifest.difference(self.name, want, self.reported)
        if why or wrong:
            self.fail("; ".join(why + ([wrong] if wrong else [])))
        return self.lines[-1:] if why or wrong else []
