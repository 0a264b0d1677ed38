# SPDX-License-Identifier: MIT
"""Collapsed stacks, folded as flamegraph.pl does it: the last word is the count."""
import re

from common import captures, export, report, test


def fold(path):
    """flamegraph.pl's own pattern for a line."""
    total, leaves = 0, {}
    for line in open(path, encoding="utf-8"):
        found = re.match(r"^(.*)\s+?(\d+(?:\.\d*)?)$", line)
        assert found, line
        count = int(found[2])
        leaf = re.sub(r"_\[[ki]\]$", "", found[1].split(";")[-1])
        leaves[leaf] = leaves.get(leaf, 0) + count
        total += count
    return total, leaves


def samples_of(name):
    total, leaves = fold(export(name, "collapsed", "--kind", "cpu", suffix=".cpu"))
    said = report(name, "--top", "100000")
    assert total == sum(t["samples"] for t in said["threads"]), total
    for function in said["functions"]:
        if function["self_samples"]:
            same = sum(f["self_samples"] for f in said["functions"] if f["name"] == function["name"])
            assert leaves.get(function["name"].replace(";", ":")) == same, function


def waits_of(name):
    total, _ = fold(export(name, "collapsed", "--kind", "wait", suffix=".wait"))
    said = sum(t["waiting_ns"] for t in report(name, "--top", "100000")["threads"]) / 1000
    assert abs(total - said) <= said * 0.001 + 1000, (total, said)


for each in captures():
    test(f"collapsed {each}: samples are the report's", samples_of, each)
    test(f"collapsed {each}: waits are the report's", waits_of, each)
