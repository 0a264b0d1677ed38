# SPDX-License-Identifier: MIT
"""What has to be built before files can run. A build that fails leaves no files to run: neither what it
would have made nor what an older build left there."""
import os
import subprocess
import threading
import time

import parts


class Builds:
    """Makes one after the other in a thread of its own, each with all CPUs."""

    def __init__(self, build, needed, expected):
        self.build = build
        self.steps = [name for name in parts.BUILDS if name in needed]
        self.done = {name: threading.Event() for name in self.steps}
        self.failed = {}       # name -> the end of what make said
        self.seconds = {}
        self.tsan = [f"{build}/tsan/unit/{n[5:]}" for n in sorted(expected) if n.startswith("tsan/")
                     and os.path.exists(f"test/unit/{n[5:]}.c")]

    def make(self, name):
        variant, targets = parts.BUILDS[name]
        targets = targets or self.tsan
        log = os.path.join(self.build, "test", f"build-{name}.log")
        command = ["make", "--no-print-directory", "-s", f"-j{os.cpu_count()}", f"B={self.build}",
                   f"V={variant}", *targets]
        began = time.monotonic()
        with open(log, "wb") as f:
            status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=f, stderr=f,
                                    check=False).returncode
        self.seconds[name] = time.monotonic() - began
        if status:
            with open(log, encoding="utf-8", errors="replace") as f:
                self.failed[name] = f.read().splitlines()[-30:] or [f"make ended with {status}"]
        self.done[name].set()

    def make_all(self):
        for name in self.steps:
            self.make(name)

    def ready(self, part):
        return all(self.done[n].is_set() for n in part.needs)

    def broken(self, part):
        """The build that a file needs and that failed."""
        return next((n for n in part.needs if n in self.failed), None)
