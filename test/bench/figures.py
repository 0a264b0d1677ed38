# SPDX-License-Identifier: MIT
"""Figures and how they are written: medians with their spread, tables as text and Markdown."""


def median(values):
    """The middle one, or the mean of the middle two."""
    v = sorted(values)
    n = len(v)
    return v[n // 2] if n % 2 else (v[n // 2 - 1] + v[n // 2]) / 2


def percentile(values, share):
    """So large a share of the values is not above it."""
    v = sorted(values)
    return v[min(len(v) - 1, int(share * len(v)))]


def spread(values, fmt):
    """Smallest to largest."""
    return f"{fmt(min(values))} .. {fmt(max(values))}"


def number(x):
    """1234567 -> 1,234,567; small ones with the digits that matter."""
    if abs(x) >= 100:
        return f"{x:,.0f}"
    return f"{x:.1f}" if abs(x) >= 10 else f"{x:.2f}"


def ratio(x):
    """Two digits are all that such a measurement holds."""
    if 0 < x < 0.1:
        return f"{x:.2g}"
    return f"{x:.2f}" if x < 10 else f"{x:.0f}"


def percent(x):
    """A share of one."""
    return f"{100 * x:.2f}%"


def seconds(x):
    """With a unit that fits."""
    return f"{x:.2f} s" if x >= 1 else f"{1000 * x:.0f} ms"


class Table:
    """A measurement's result: method in words, rows of strings, notes; values for the goals."""

    def __init__(self, title, method, columns):
        self.title = title
        self.method = method
        self.columns = columns
        self.rows = []
        self.notes = []
        self.values = {}

    def add(self, *cells):
        """One row."""
        self.rows.append([str(c) for c in cells])

    def text(self):
        """For a terminal."""
        lines = [self.columns] + self.rows
        widths = [max(len(r[i]) for r in lines) for i in range(len(self.columns))]
        out = [self.title]
        for r in lines:
            cells = [r[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(r[1:], widths[1:])]
            out.append("  " + "  ".join(cells).rstrip())
        return "\n".join(out + [f"  {n}" for n in self.notes]) + "\n"

    def markdown(self):
        """For the document."""
        out = [f"## {self.title}", "", self.method, ""]
        out.append("| " + " | ".join(self.columns) + " |")
        out.append("| --- |" + " ---: |" * (len(self.columns) - 1))
        out += ["| " + " | ".join(r) + " |" for r in self.rows]
        if self.notes:
            out += [""] + self.notes
        return "\n".join(out) + "\n"
