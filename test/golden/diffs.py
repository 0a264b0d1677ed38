# SPDX-License-Identifier: MIT
"""thaw diff against the reports and exports of both sides: diffs.py THAW, in the folder of the captures."""
import json
import subprocess
import sys

THAW = sys.argv[1]
failed = False


def check(name, *wrong):
    global failed
    bad = [w for w in wrong if w]
    print(f"FAIL {name}: {bad[0]}" if bad else f"ok {name}")
    failed = failed or bool(bad)


def thaw(*args):
    return subprocess.run([THAW, *args], capture_output=True, text=True, check=True).stdout


def differs(got, want, what):
    return "" if abs(got - want) <= 1e-4 * abs(want) + 1 else f"{what}: {got}, not {want}"


def sums(rows, key):
    return sum(r[key] for r in rows)


def against_reports(a, b, *args):
    """Each side's sums are those of its report."""
    d = json.loads(thaw("diff", a, b, "--json", *args))
    wrong = []
    for side, key in ((a, "before"), (b, "after")):
        r = json.loads(thaw("report", side, "--json", *args))
        run = sum(t["running_ns"] for t in r["threads"])
        wait = sum(t["waiting_ns"] + t["runnable_ns"] for t in r["threads"])
        samples = sum(f["self_samples"] for f in r["functions"])
        locks = sum(lock["total_wait_ns"] for lock in r["locks"] if lock["contended"])
        wrong += [differs(d[key]["cpu_ns"], run, f"{side}: CPU time"),
                  differs(sums(d["waits"], f"{key}_ns"), wait, f"{side}: waiting"),
                  differs(sums(d["functions_self"], f"{key}_count"), samples, f"{side}: samples"),
                  differs(sums(d["locks"], f"{key}_ns"), locks, f"{side}: locks")]
    check(f"diff {a} {b} {' '.join(args)} has the sums of both reports", *wrong)
    return d


def row(d, table, **keys):
    found = [r for r in d[table] if all(r[k] == v for k, v in keys.items())]
    return found[0] if len(found) == 1 else {"different": f"{len(found)} rows"}


def folded(a, b, *args):
    """The stacks of both sides with both counts are those of two exports."""
    want = {}
    for i, side in enumerate((a, b)):
        for line in thaw("export", side, "-f", "collapsed", *args).splitlines():
            stack, n = line.rsplit(" ", 1)
            want.setdefault(stack, [0, 0])[i] = int(n)
    got = {}
    for line in thaw("diff", a, b, "-f", "collapsed", "--per", "none", *args).splitlines():
        stack, one, other = line.rsplit(" ", 2)
        got[stack] = [int(one), int(other)]
    check(f"diff -f collapsed {a} {b} {' '.join(args)} is both exports", "" if got == want else f"{got} {want}")


def main():
    d = against_reports("before.thaw", "after.thaw")
    for a, b in (("story.thaw", "lost.thaw"), ("locks.thaw", "deadlock.thaw"), ("before.thaw", "story.thaw")):
        against_reports(a, b)
    against_reports("story.thaw", "stepped.thaw", "--thread", "worker-1")
    match = row(d, "functions_self", name="match")
    walk = row(d, "functions_self", name="walk")
    lock = row(d, "locks", name="commit_lock", kind="mutex")
    disk = row(d, "waits", reason="disk")
    check("diff finds what was made slower and faster, and nothing else",
          *(f"{r} is not different" for r in (match, lock, disk) if r["different"] is not True),
          "walk is different" if walk["different"] else "",
          differs(match["after"] / match["before"] * 1e6, 1.3e6, "match"),
          differs(lock["after"] / lock["before"] * 1e6, 0.5e6, "commit_lock"),
          differs(disk["after"] / disk["before"] * 1e6, 1.5e6, "disk"),
          differs(d["method"]["pace"] * 1e6, 1e6, "pace"),
          "" if d["method"]["per"] == "pace" else d["method"]["per"])
    wall = json.loads(thaw("diff", "before.thaw", "after.thaw", "--json", "--per", "wall"))
    check("diff --per wall divides by the time of the recording",
          differs(row(wall, "locks", name="commit_lock")["before"], 2e9 / 10, "before"),
          differs(row(wall, "locks", name="commit_lock")["after"], 1e9 / 11.5, "after"))
    cpu = json.loads(thaw("diff", "before.thaw", "after.thaw", "--json", "--per", "cpu"))
    check("diff --per cpu has shares of the CPU time",
          differs(sums(cpu["functions_self"], "before"), 1e9, "before"),
          differs(sums(cpu["functions_self"], "after"), 1e9, "after"))
    for kind in ("cpu", "wait", "lock"):
        folded("before.thaw", "after.thaw", "--kind", kind)
    folded("story.thaw", "locks.thaw", "--kind", "wait")
    return failed


sys.exit(main())
