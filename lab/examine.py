# SPDX-License-Identifier: MIT
"""Where every CPU of a guest hangs, and which known bug that is."""
import csv
import os

from gdbstub import Stub
from stackscan import Scan, Symbols

HERE = os.path.dirname(os.path.abspath(__file__))


def known():
    with open(os.path.join(HERE, "known.tsv"), encoding="utf-8") as f:
        rows = [r for r in csv.reader(f, delimiter="\t") if r and not r[0].startswith("#")]
    return [dict(zip(("id", "kind", "functions", "words", "fix"), r)) for r in rows]


def match(frames):
    """The first row all of whose functions are on a stack. A function is named by a part of its name, as
    compilers add to names."""
    names = [f.symbol for f in frames]
    for row in known():
        if all(any(part in name for name in names) for part in row["functions"].split()):
            return row
    return None


class Found:
    def __init__(self):
        self.cpus = []   # (number, frames, row or None)

    def bug(self):
        """What froze the guest: a CPU that hangs by itself explains those that wait for it."""
        rows = [row for _, _, row in self.cpus if row]
        return next((r for r in rows if r["kind"] == "bug"), None)

    def lines(self):
        out = []
        for number, frames, row in self.cpus:
            out.append(f"CPU {number}: in {frames[0].symbol}" + (f" ({row['words']})" if row else ""))
            for f in frames:
                if f.mark == "!":
                    out.append("    -- interrupted --")
                out.append(f"  {'?' if f.mark == '?' else ' '} {f.address:016x} {f.symbol}+{f.offset:#x}")
        bug = self.bug()
        out.append("Stacks were found by their return addresses, each checked against the call before it; "
                   "? marks calls through pointers, which cannot be.")
        out.append(f"This is {bug['id']}: {bug['words']}. Fixed by {bug['fix']}." if bug else
                   "No known bug is on these stacks.")
        return out


def examine(socket_path, kallsyms):
    found = Found()
    symbols = Symbols(kallsyms)
    with Stub(socket_path) as stub:
        scan = Scan(stub, symbols)
        for number, cpu in enumerate(stub.cpus()):
            regs = stub.registers(cpu)
            frames = scan.stack(regs["rip"], regs["rsp"])
            found.cpus.append((number, frames, match(frames)))
    return found
