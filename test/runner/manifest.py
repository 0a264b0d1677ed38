# SPDX-License-Identifier: MIT
"""test/manifest: what must run, and how many checks each file has. A line a file, `TIER/FILE NUMBER`, in
any order. Git merges it by keeping the lines of both sides (.gitattributes), so that a file may stand
there twice after a merge: the larger number counts, and the next --write leaves one line."""
import os
import re

PATH = os.path.join("test", "manifest")
HEAD = """\
# What test/run must run: a line a file, and how many checks it reports. test/run BUILD --write FILE...
# brings it up to date; docs/testing.md has the rest.
"""
LINE = re.compile(r"^([a-z]+/\S+) +(\d+)$")


class Wrong(Exception):
    pass


def read(path=PATH):
    """file -> number of checks"""
    expected = {}
    try:
        with open(path, encoding="utf-8") as f:
            lines = f.read().splitlines()
    except FileNotFoundError:
        return expected
    for n, line in enumerate(lines, 1):
        if not line or line.startswith("#"):
            continue
        found = LINE.match(line)
        if not found:
            raise Wrong(f"{path}:{n}: '{line}' is not TIER/FILE NUMBER")
        expected[found[1]] = max(int(found[2]), expected.get(found[1], 0))
    return expected


def write(expected, path=PATH):
    with open(path, "w", encoding="utf-8") as f:
        f.write(HEAD + "".join(f"{name} {n}\n" for name, n in sorted(expected.items())))


def checks(n):
    return f"{n} check" + ("" if n == 1 else "s")


def difference(name, want, got):
    """What is wrong with a number of checks, in words; None if nothing is."""
    if got == 0 and not want:
        return "it has no checks"
    if want == got:
        return None
    if want is None:
        return f"{name} is not in test/manifest, and has {checks(got)}"
    if got is None:
        return f"{name} is in test/manifest with {checks(want)}, and not in the tree"
    if got < want:
        return f"{checks(got)} of {want} that test/manifest expects: {want - got} did not run"
    return f"{checks(got)}, and test/manifest knows {want}: {got - want} more"


def update(expected, counts, gone):
    """Takes over the numbers of what ran, and leaves out what is gone; says what changed."""
    said = []
    for name, got in sorted(counts.items()):
        if expected.get(name) != got:
            said.append(f"{name}: {expected.get(name, 'new')} -> {got}")
            expected[name] = got
    for name in sorted(gone):
        said.append(f"{name}: {expected.pop(name)} -> gone")
    return said
