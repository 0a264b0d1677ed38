# SPDX-License-Identifier: MIT
"""Writes the lab's tables into its document: rows of kernels that were run take the place of the old ones,
between a pair of marks. A kernel that failed gets a row that says so: what it once could is no longer true."""
import re

import kernels


def failed_row(result, head):
    columns = head.splitlines()[0].count("|") - 1
    why = "; ".join(dict.fromkeys(result.problems)).replace("|", "/").replace("\n", " ")
    return f"| {result.name} | **fails**: {why}" + " | -" * (columns - 2) + " |"


def write(path, mark, head, results):
    """Lines of other kernels stay."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    begin, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->"
    before, rest = text.split(begin, 1)
    old, after = rest.split(end, 1)
    lines = {m[2]: m[1] for m in re.finditer(r"^(\| (\d\S*) .*)$", old, re.M)}
    lines.update({r.name: failed_row(r, head) if r.problems else r.row() for r in results})
    table = [lines[r["name"]] for r in kernels.table() if r["name"] in lines]
    with open(path, "w", encoding="utf-8") as f:
        f.write(before + begin + "\n".join([head] + table) + "\n" + end + after)
