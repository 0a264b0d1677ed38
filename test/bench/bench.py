# SPDX-License-Identifier: MIT
"""make bench: runs the measurements, prints the tables and the goals, writes the document."""

import os
import shutil
import sys
import tempfile
import time
import traceback

import contention
import crowd
import document
import ends
import feed
import formats
import goals
import hour
import interrupted
import measures
import page
import proc
import stacks

ALL = {**measures.ALL, **stacks.ALL, **contention.ALL,
       **interrupted.ALL, **page.ALL, **formats.ALL, **crowd.ALL,
       **ends.ALL, **hour.ALL, **feed.ALL}
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Setting:
    """What all measurements share."""

    def __init__(self, build):
        self.build = build
        self.thaw = os.path.join(build, "thaw")
        self.workload = os.path.join(build, "workload", "workload")
        self.has_thaw = os.access(self.thaw, os.X_OK)
        self.cpus = len(os.sched_getaffinity(0))
        self.quick = bool(os.environ.get("BENCH_QUICK"))
        self.only = os.environ.get("BENCH_ONLY", "")
        self.long = int(os.environ.get("BENCH_LONG") or self.pick(60, 5))
        self.keep = None  # what c leaves for f
        self.start = time.monotonic()
        # Beside the build: on a disk, where recordings of hundreds of megabytes have room.
        self.dir = tempfile.mkdtemp(prefix="bench.", dir=build)
        os.environ["TMPDIR"] = self.dir
        self.busy = proc.busy_share(2)
        self.busy_after = self.busy

    def pick(self, full, quick):
        """A length or a count: of the full or of the short run."""
        return quick if self.quick else full

    def say(self, words):
        """Progress."""
        print(f"[{time.monotonic() - self.start:4.0f} s] {words}", file=sys.stderr, flush=True)


def measure(setting, letters):
    """All that was asked for; what could not run is said and left out."""
    tables, failed = [], []
    for letter in letters:
        try:
            tables.append(ALL[letter](setting))
        except proc.Skipped as e:
            setting.say(f"{letter}: left out: {e}")
        except proc.Failed as e:
            failed.append(f"{letter}: {e}")
            setting.say(f"{letter}: could not run: {e}")
        except Exception as e:  # pylint: disable=broad-except
            # A defect of one measurement must not cost the quarter of an hour of all others.
            traceback.print_exc()
            failed.append(f"{letter}: {e!r}")
    return tables, failed


def main(argv):
    """Exit status 0 unless something could not run."""
    build = os.path.abspath(argv[1])
    only = os.environ.get("BENCH_ONLY", "")
    letters = [x for x in ALL if not only or x in only]
    if not os.access(os.path.join(build, "workload", "workload"), os.X_OK):
        print("bench: the workloads are not built: make workloads", file=sys.stderr)
        return 1
    setting = Setting(build)
    if setting.busy > measures.BUSY:
        setting.say(f"others use {100 * setting.busy:.0f}% of the CPU time: expect rough figures")
    try:
        tables, failed = measure(setting, letters)
        setting.busy_after = proc.busy_share(2)
    finally:
        shutil.rmtree(setting.dir, ignore_errors=True)

    values = {k: v for t in tables for k, v in t.values.items()}
    for t in tables:
        print(t.text())
    print(goals.text(values))
    out = os.environ.get("BENCH_OUT")
    if not setting.has_thaw:
        failed.append("thaw is not built: only the peers were measured")
    elif not failed and not only:
        out = out or os.path.join(ROOT, "docs", "overhead.md")
    if out:
        document.write(out, setting, tables, values)
        print(f"\nWritten: {out}")
    for words in failed:
        print(f"could not run: {words}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv))
    except KeyboardInterrupt:
        sys.exit(130)
