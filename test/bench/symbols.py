#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Names for a million addresses: thaw beside addr2line, and whether they say the same.

symbols.py BUILD_DIR measures alone; table(build, directory) is for the whole bench.
"""

import collections
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

from figures import Table, number, ratio

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MILLION = 1000000
COMPARED = 200000

CPP = """
#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <vector>
static int work(const std::string &s) {
    std::map<std::string, int> m;
    std::vector<int> v;
    for (char c : s) m[std::string(1, c)]++;
    for (auto &[k, n] : m) v.push_back(n);
    std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
    return v.empty() ? 0 : v[0];
}
int main(int argc, char **argv) {
    std::regex r("a(b|c)*d");
    std::function<int(std::string)> f = [&](std::string s) { return work(s) + std::regex_match(s, r); };
    return f(argv[0]);
}
"""


class Failed(Exception):
    """Something that is needed is not there."""


def output(argv):
    """What a tool prints."""
    return subprocess.run(argv, check=True, capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout


class Object:
    """A program or library; debug: the file that addr2line is given."""

    def __init__(self, name, path, debug):
        self.name = name
        self.path = path
        self.debug = debug
        row = re.search(r"\] \.text +\S+ +([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+)",
                        output(["readelf", "-SW", path]))
        self.begin, self.offset, self.size = (int(x, 16) for x in row.groups())


def libc():
    """The C library with its separate debug information, or None."""
    with open("/proc/self/maps", encoding="utf-8") as f:
        lines = f.read().splitlines()
    for line in lines:
        path = line.split()[-1]
        if re.search(r"/libc\.so\.6$|/libc-[0-9.]*\.so$", path):
            build_id = re.search(r"Build ID: ([0-9a-f]+)", output(["readelf", "-n", path])).group(1)
            debug = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
            return Object("libc.so.6", path, debug) if os.path.exists(debug) else None
    return None


def objects(build, directory):
    """What there is to ask about."""
    found = []
    thaw = os.path.join(build, "release", "thaw")
    if os.path.exists(thaw):
        found.append(Object("thaw (C)", thaw, thaw))
    source = os.path.join(directory, "cpp.cc")
    program = os.path.join(directory, "cpp")
    with open(source, "w", encoding="utf-8") as f:
        f.write(CPP)
    if shutil.which("c++"):
        subprocess.run(["c++", "-std=c++17", "-O2", "-g", "-o", program, source], check=True)
        found.append(Object("C++ templates", program, program))
    c = libc()
    return found + ([c] if c else [])


def driver(build):
    """test/bench/symbols.c, linked with the archives that thaw is made of."""
    program = os.path.join(build, "bench", "symbols")
    if not os.access(program, os.X_OK):
        raise Failed("the program that looks names up is not there: make bench builds it")
    return program


def write(path, numbers):
    """A hexadecimal number a line."""
    with open(path, "w", encoding="ascii") as f:
        f.writelines(f"{x:x}\n" for x in numbers)


def cpu_of(argv, stdin, stdout):
    """Runs to the end: (wall seconds, CPU seconds)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    with open(stdin, "rb") as i, open(stdout, "wb") as o:
        subprocess.run(argv, check=True, stdin=i, stdout=o)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def speed(obj, program, directory, rounds):
    """CPU seconds for a million addresses in no order: (thaw's, addr2line's, offsets asked)."""
    rng = random.Random(1)
    addresses = [rng.randrange(obj.size) for _ in range(MILLION)]
    asked, offsets = os.path.join(directory, "addresses"), os.path.join(directory, "offsets")
    write(asked, (obj.begin + a for a in addresses))
    write(offsets, (obj.offset + a for a in addresses))
    ours, theirs = [], []
    for _ in range(rounds):
        with open(offsets, "rb") as f:
            r = json.loads(subprocess.run([program, obj.path], check=True, stdin=f,
                                          capture_output=True).stdout)
        ours.append((r["cpu_ns"] / 1e9, r["wall_ns"] / 1e9))
        wall, cpu = cpu_of(["addr2line", "-fi", "-e", obj.debug], asked, os.devnull)
        theirs.append((cpu, wall))
    return min(ours), min(theirs), r


def place(text):
    """The last part of the path and the line; None where there is no line."""
    path, _, line = text.rpartition(":")
    line = line.split(" ")[0]
    return (os.path.basename(path), line) if line not in ("?", "0") else None


def thaws_answers(path):
    """[(name, place)] an offset."""
    frames, lines = [], iter(open(path, encoding="utf-8", errors="replace").read().split("\n"))
    for line in lines:
        if line:
            frames.append((line, place(next(lines))))
        elif frames:
            yield frames
            frames = []


def peers_answers(path):
    """The same from addr2line -a."""
    frames, lines = None, iter(open(path, encoding="utf-8", errors="replace").read().split("\n"))
    for line in lines:
        if line.startswith("0x"):
            if frames is not None:
                yield frames
            frames = []
        elif line:
            frames.append((line, place(next(lines))))
    if frames is not None:
        yield frames


def kind_of(ours, theirs):
    """In what an answer differs."""
    if ours == theirs:
        return "same"
    if ours[0][0] == "??":
        return "between"
    if len(ours) != len(theirs):
        return "depth"
    if [f[1] for f in ours] != [f[1] for f in theirs]:
        return "place"
    return "name"


def judged(obj, addresses, answers, directory):
    """For addresses where the places differ: with whom a third one, llvm-symbolizer, agrees."""
    tool = shutil.which("llvm-symbolizer") or shutil.which("llvm-symbolizer-16")
    if not tool or not addresses:
        return None
    asked, out = os.path.join(directory, "judged"), os.path.join(directory, "judged.out")
    write(asked, addresses)
    with open(asked, encoding="ascii") as f:
        text = "".join("0x" + line for line in f)
    with open(out, "w", encoding="utf-8") as f:
        subprocess.run([tool, f"--obj={obj.debug}", "--inlines", "--addresses",
                        "--output-style=GNU"], input=text, check=True, stdout=f, text=True)
    count = collections.Counter()
    for third, (ours, theirs) in zip(peers_answers(out), answers):
        says = [f[1] for f in third]
        count["thaw" if says == [f[1] for f in ours] else
              "addr2line" if says == [f[1] for f in theirs] else "nobody"] += 1
    return count


def agreement(obj, program, directory):
    """How many of the answers are the same, and what is different about the others."""
    rng = random.Random(2)
    n = min(obj.size, COMPARED)
    addresses = sorted(rng.sample(range(obj.size), n))
    asked, offsets = os.path.join(directory, "addresses"), os.path.join(directory, "offsets")
    ours, theirs = os.path.join(directory, "ours"), os.path.join(directory, "theirs")
    write(asked, (obj.begin + a for a in addresses))
    write(offsets, (obj.offset + a for a in addresses))
    cpu_of([program, "-p", obj.path], offsets, ours)
    cpu_of(["addr2line", "-afiC", "-e", obj.debug], asked, theirs)
    count, places, answers = collections.Counter(), [], []
    for a, x, y in zip(addresses, thaws_answers(ours), peers_answers(theirs)):
        kind = kind_of(x, y)
        count[kind] += 1
        if kind == "place":
            places.append(obj.begin + a)
            answers.append((x, y))
    if sum(count.values()) != n:
        raise Failed(f"{obj.name}: {sum(count.values())} answers to {n} questions")
    return n, count, judged(obj, places, answers, directory)


def table(build, directory, rounds=3):
    """The measurement as a table."""
    if not shutil.which("addr2line") or not shutil.which("readelf"):
        raise Failed("there is no addr2line to compare with: apt-get install binutils")
    program = driver(build)
    t = Table("Names for a million addresses",
              "A million addresses of a file's code, at random and in no order, with lines and "
              "inlined calls. CPU time of thaw's symbolizer (sorting, finding the files, a child in "
              "its sandbox, indexing, the answers) against that of addr2line -fi -e FILE, which "
              "reads the same addresses from a pipe and writes to /dev/null; the best of "
              f"{rounds} rounds.",
              ["file", "thaw CPU", "addr2line CPU", "thaw/s", "addr2line/s", "times as fast"])
    for obj in objects(build, directory):
        (ours, _), (theirs, _), _ = speed(obj, program, directory, rounds)
        t.add(obj.name, f"{1000 * ours:.0f} ms", f"{theirs:.2f} s", number(MILLION / ours),
              number(MILLION / theirs), ratio(theirs / ours))
        t.values[f"symbols.{obj.name}"] = theirs / ours
        n, count, third = agreement(obj, program, directory)
        words = (f"{obj.name}: of {n} answers {count['same']} are the same as addr2line -fiC; "
                 f"{count['between']} lie between functions, where thaw names none; in "
                 f"{count['name']} only a name differs, in {count['place']} a file or line, in "
                 f"{count['depth']} the number of inlined calls.")
        if third:
            words += (f" Of the files and lines llvm-symbolizer agrees with thaw in {third['thaw']},"
                      f" with addr2line in {third['addr2line']}, with neither in "
                      f"{third['nobody']}.")
        t.notes.append(words)
    return t


def main(argv):
    """Prints the table."""
    if len(argv) != 2:
        print("usage: symbols.py BUILD_DIR", file=sys.stderr)
        return 2
    directory = tempfile.mkdtemp(prefix="symbols.")
    try:
        print(table(os.path.abspath(argv[1]), directory).text())
    except (Failed, OSError, subprocess.CalledProcessError) as e:
        print(f"symbols.py: {e}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
