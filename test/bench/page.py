# SPDX-License-Identifier: MIT
"""The measurement of the page: l. As in measures.py; page/page.mjs drives the browser."""

import json
import os
import shutil
import subprocess

import proc
from figures import Table, median, number, percentile, seconds

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))
CHROMIUM = "/usr/bin/chromium"
FRAME_MS = 16
SIZES = {"0.1 M": 100_000, "1 M": 1_000_000, "10 M": 10_000_000}


def npm(name, folder, build):
    """Where a package is, installed."""
    to = os.path.join(build, name)
    done = subprocess.run([os.path.join(ROOT, "tools", "npm"), folder, to], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise proc.Skipped(done.stdout.strip())
    return to


def load(setting, length):
    """All kinds of waits, and a server that stands still."""
    server = os.path.join(setting.build, "workload", "server")
    return ["sh", "-c", f"'{setting.workload}' mixed {length} & '{server}' --seconds {length}; wait"]


def record(setting, command, name):
    """Returns (path, events, ns)."""
    path = os.path.join(setting.dir, f"{name}.thaw".replace(" ", ""))
    proc.run([setting.thaw, "record", "-q", "--max-overhead", "100", "-o", path, "--", *command],
             setting.dir)
    info = proc.run_json([setting.thaw, "info", path, "--json"], setting.dir)
    return path, info["events"], info["duration_ns"]


def export(setting, path, form, *args):
    """What thaw makes of a capture."""
    out = path.replace(".thaw", f".{form}")
    proc.run([setting.thaw, "export", path, "-f", form, "-o", out, *args], setting.dir)
    return out


def captures(setting):
    """One a size: how long to record is taken from two seconds of the same load."""
    _, got, ns = record(setting, load(setting, 2), "second")
    rate = got / ns * 1e9
    out = []
    for name, want in SIZES.items():
        if setting.quick and want > 1_000_000:
            continue
        length = max(1, round(want / rate))
        path, events, ns = record(setting, load(setting, length), name)
        setting.say(f"l: {events:,} events in {length} s")
        out.append({"name": name, "file": path, "events": events, "duration": ns,
                    "html": export(setting, path, "html"),
                    "collapsed": export(setting, path, "collapsed", "--kind", "cpu")})
    return out


def browse(setting, made):
    """Runs page.mjs over the captures."""
    spec = os.path.join(setting.dir, "page.json")
    with open(spec, "w", encoding="utf-8") as f:
        json.dump({"npm": npm("browser/npm", os.path.join(ROOT, "test", "browser"), setting.build),
                   "speedscope": os.path.join(npm("speedscope", os.path.join(HERE, "page"),
                                                  setting.build),
                                              "node_modules", "speedscope", "dist", "release"),
                   "chromium": CHROMIUM, "thaw": setting.thaw, "captures": made,
                   "rounds": setting.pick(5, 2), "times": setting.pick(5, 2)}, f)
    return proc.run_json(["node", os.path.join(HERE, "page", "page.mjs"), spec], setting.dir,
                         timeout=1800)


def add_row(t, what, size, first, frames, work=None, ranges=None):
    """Milliseconds throughout."""
    t.add(what, size, seconds(median(first) / 1000) if first else "",
          number(median(frames)), number(percentile(frames, 0.95)),
          number(percentile(work, 0.95)) if work else "",
          seconds(median(ranges) / 1000) if ranges else "",
          seconds(max(ranges) / 1000) if ranges else "")


def rows(t, made, results):
    """What was measured of each size, and the figures for the goals."""
    for c, r in zip(made, results):
        key = c["name"].replace(" ", "")
        size = f"{c['events']:,}"
        for how in ("view", "html"):
            x = r[how]
            add_row(t, f"thaw, {how}", size, x["first"], x["frames"], x["work"], x["ranges"])
            t.values[f"page.first.{how}.{key}"] = median(x["first"]) / 1000
            t.values[f"page.range.{how}.{key}"] = max(x["ranges"])
        s = r["speedscope"]
        add_row(t, "speedscope, its samples", size, s["first"], s["frames"], s["work"])
        base = percentile(r["baseline"]["frames"], 0.95)
        add_row(t, f"{r['rectangles']:,} rectangles", size, None, r["baseline"]["frames"])
        t.values[f"page.frame.{key}"] = (percentile(r["view"]["frames"], 0.95) /
                                         max(FRAME_MS, base))
        t.values[f"page.bytes.{key}"] = os.path.getsize(c["html"]) / c["events"]
        t.notes.append(f"{c['name']}: capture {os.path.getsize(c['file']) / 1e6:.1f} MB, HTML "
                       f"{os.path.getsize(c['html']) / 1e6:.1f} MB "
                       f"({t.values[f'page.bytes.{key}']:.1f} bytes an event), collapsed stacks "
                       f"{os.path.getsize(c['collapsed']) / 1e6:.1f} MB.")


def page(setting):
    """l: what it takes to look at a recording."""
    if not setting.has_thaw:
        raise proc.Skipped("thaw is not built")
    for program in (CHROMIUM, shutil.which("node") or "node"):
        if not os.path.exists(program):
            raise proc.Skipped(f"there is no {program}")
    server = os.path.join(setting.build, "workload", "server")
    demo, _, _ = record(setting, [server, "--seconds", "5"], "demo")
    made = setting.made = captures(setting)
    said = browse(setting, made)
    t = Table("Looking at it: the page in a browser",
              f"Chromium {said['version']}, without a GPU, 1280x720, of recordings of the mixed load "
              "and the demo's server side by side. First: for `thaw view` from the start of "
              "the command, else from the start of loading, until the first exact lanes are drawn "
              "(speedscope: until its chart is), median of "
              f"{setting.pick(5, 2)} times. Frame: a fixed script turns the wheel in each frame (in, "
              "right, out, left; speedscope: 120 frames, else "
              f"{120 * setting.pick(5, 2)}); frames are not held back to the screen's rate, so that "
              "the time between two is what one costs; own: what the page's own code takes of it. Range: from "
              "a selection to its flame graph, 18 ranges of 1% to 100%. Rectangles: a page that "
              "draws as many of them in every frame as are in sight in `thaw view` (95% of its "
              "pictures have no more). Speedscope gets the samples alone, merged by stack: it shows "
              "no waits, and its file has no events.",
              ["page", "events", "first", "frame ms, median", "95%", "own 95%", "range, median",
               "worst"])
    rows(t, made, said["results"])
    t.values["page.demo"] = os.path.getsize(export(setting, demo, "html")) / 1e6
    t.notes.append(f"The demo's HTML (5 s): {t.values['page.demo']:.2f} MB.")
    return t


ALL = {"l": page}
