# SPDX-License-Identifier: MIT
"""The table of kernels, and the images in the cache."""
import csv
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
FETCH_SECONDS = 300
COLUMNS = ("name", "suites", "package", "bpf", "ring", "oneshot", "doctor")


def table():
    """All rows, in the order of the file: dictionaries by column."""
    with open(os.path.join(HERE, "kernels.tsv"), encoding="utf-8") as f:
        rows = [r for r in csv.reader(f, delimiter="\t") if r and not r[0].startswith("#")]
    return [dict(zip(COLUMNS, row)) for row in rows]


def chosen(names):
    rows = table()
    unknown = set(names) - {r["name"] for r in rows}
    if unknown:
        raise SystemExit(f"lab: there is no kernel {', '.join(sorted(unknown))} in kernels.tsv; "
                         f"it has {' '.join(r['name'] for r in rows)}")
    return [r for r in rows if not names or r["name"] in names]


def missing():
    """Why no guest can be started here, or None."""
    if os.uname().machine != "x86_64":
        return "the lab's kernels are for x86_64"
    for program, package in (("qemu-system-x86_64", "qemu-system-x86"), ("apt-get", "apt"),
                             ("dpkg-deb", "dpkg"), ("busybox", "busybox-static")):
        if not shutil.which(program):
            return f"there is no {program} (Debian package {package})"
    return None


def fetch(cache, row):
    """(path of the image, its version) or (None, why not)."""
    try:
        out = subprocess.run([os.path.join(HERE, "fetch"), cache, row["name"]], capture_output=True,
                             text=True, timeout=FETCH_SECONDS, check=False).stdout.strip()
    except subprocess.TimeoutExpired:
        return None, f"it could not be fetched within {FETCH_SECONDS} s"
    verdict, _, rest = out.partition(" ")
    if verdict == "ok":
        return os.path.join(cache, row["name"], "vmlinuz"), rest.split()[-1]
    return None, rest.partition(": ")[2] or "it could not be fetched"
