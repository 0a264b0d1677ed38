#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The picture of docs/architecture.md, made from LAYERS: layers_picture.py > docs/img/layers.svg. A folder stands above
all that it includes; a line is drawn where nothing in between says the same."""
import os
import re
import sys

WIDTH, ROW, BOX, HIGH = 1000, 76, 118, 34


def layers():
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "LAYERS")
    with open(here, encoding="utf-8") as f:
        rows = re.findall(r"^([a-z0-9_/]+):[ ]*(.*)$", f.read(), re.M)
    return {name: rest.split() for name, rest in rows}


def behind(may, name):
    """All that a folder rests on."""
    found = set()
    for other in may[name]:
        found |= {other} | behind(may, other)
    return found


def main():
    may = layers()
    all_behind = {n: behind(may, n) for n in may}
    height = {}
    for name in sorted(may, key=lambda n: len(all_behind[n])):
        height[name] = 1 + max((height[o] for o in may[name]), default=-1)
    rows = [[n for n in may if height[n] == h] for h in range(max(height.values()) + 1)]
    tall = len(rows) * ROW
    at = {}
    for h, names in enumerate(rows):
        for i, name in enumerate(names):
            at[name] = ((i + 0.5 + 0.12 * (h % 2)) * WIDTH / (len(names) + 0.12), tall - h * ROW - ROW / 2)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {tall}" font-family="sans-serif" '
           'font-size="15" text-anchor="middle">', "<title>Which folder of src/ rests on which</title>",
           f'<rect width="{WIDTH}" height="{tall}" fill="#ffffff"/>', '<g stroke="#9aa5b1" stroke-width="1.2">']
    for name, others in may.items():
        for other in others:
            if any(other in all_behind[between] for between in others):
                continue
            (x, y), (to_x, to_y) = at[name], at[other]
            out.append(f'<line x1="{x:.0f}" y1="{y + HIGH / 2:.0f}" x2="{to_x:.0f}" y2="{to_y - HIGH / 2:.0f}"/>')
    out.append("</g>")
    for name, (x, y) in at.items():
        out.append(f'<rect x="{x - BOX / 2:.0f}" y="{y - HIGH / 2:.0f}" width="{BOX}" height="{HIGH}" rx="6" '
                   'fill="#e8f1fb" stroke="#3a6ea5"/>')
        out.append(f'<text x="{x:.0f}" y="{y + 5:.0f}" fill="#12314f">{name}</text>')
    out.append("</svg>")
    print("\n".join(out))


if __name__ == "__main__":
    sys.exit(main())
