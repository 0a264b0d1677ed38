# SPDX-License-Identifier: MIT
"""What the checks of the formats share: captures, thaw, what it says itself, and the verdicts."""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "live"))
BUILD = os.path.abspath(sys.argv[1])
WORK = os.path.join(BUILD, "formats")
THAW = os.path.join(BUILD, "thaw")
NPM = os.path.join(WORK, "npm", "node_modules")
# C1, marks and turns of direction, ends of lines, annotations, the mark of byte order, tags.
OBEYED = re.compile("[\x80-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb\ufeff"
                    "\U000e0000-\U000e007f]")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def capture(name):
    """The path of a capture that run has made, or None where it could not be recorded."""
    path = os.path.join(WORK, name + ".thaw")
    return path if os.path.exists(path) else None


def captures():
    """Those that have waits. Where the demo could not be recorded, test() skips what is named after it."""
    return ["story", "locks", "demo"]


def run(*args, **more):
    """The command's standard output as bytes; a failure is an error with what it said."""
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **more)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()[-500:]
        raise AssertionError(f"{os.path.basename(args[0])} {args[1:3]} ended with "
                             f"{done.returncode}: {said}")
    return done.stdout


def fails(*args):
    """The exit status and the words on standard error of a command that may fail."""
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stderr.decode(errors="replace")


def refuses_waits(form):
    """An engine that sees no waits: the format says so instead of writing none."""
    out = os.path.join(WORK, "never." + form)
    code, words = fails(THAW, "export", capture("ctimer"), "-f", form, "--kind", "wait", "-o", out)
    assert code == 1 and "does not see waits" in words and not os.path.exists(out), (code, words)


def refuses_timeless(form):
    """Collapsed stacks do not say when: there is nothing to lay along a line."""
    out = os.path.join(WORK, form + "-timeless.thaw")
    run(THAW, "import", "-q", "-", "-o", out, input=b"worker;main;work 12\n")
    code, words = fails(THAW, "export", out, "-f", form, "-o", os.devnull)
    assert code == 1 and "does not see when something happened" in words, (code, words)


def export(name, form, *options, suffix=""):
    """Exports a capture to a file, and says where it is."""
    out = os.path.join(WORK, f"{name}.{form}{suffix}")
    run(THAW, "export", capture(name), "-f", form, "-o", out, *options)
    return out


def report(name, *options):
    """What thaw itself says: the totals that a consumer's must equal."""
    return json.loads(run(THAW, "report", capture(name), "--json", *options))


def waits_by_stack(name):
    """Nanoseconds by reason and functions, leaf first; the report sums up by the same."""
    sums = {}
    for w in report(name, "--top", "100000")["waits"]:
        key = w["reason"], tuple(f["name"] for f in w["stack"])
        sums[key] = sums.get(key, 0) + w["total_ns"]
    return sums


def clean(name):
    """A name of the report as formats have it that keep names in one line, of characters that are only shown."""
    return OBEYED.sub("\ufffd", re.sub(r"[\x00-\x1f\x7f]", " ", name))


def full_disk(name, form):
    """Where nothing can be written, an export fails and says why."""
    with open("/dev/full", "wb") as out:
        done = subprocess.run([THAW, "export", capture(name), "-f", form], stdout=out,
                              stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1 and b"No space left" in done.stderr, (done.returncode, done.stderr)


def need(program, package):
    """Does the tool exist? If not, the check is skipped by name with the reason."""
    found = shutil.which(program)
    if not found:
        print(f"skip all of formats/{os.path.basename(sys.argv[0])[6:-3]}: there is no {program} ({package})")
        sys.exit(0)
    return found


def check(name, truth, words=""):
    print(f"ok {name}" if truth else f"FAIL {name}: {words}", flush=True)
    return truth


def test(name, function, *args):
    """One check that passes unless it raises."""
    if "demo" in re.findall(r"\w+", name) and not capture("demo"):
        print(f"skip {name}: the demo cannot be recorded here", flush=True)
        return
    try:
        function(*args)
    except (AssertionError, KeyError, IndexError, ValueError, OSError) as why:
        print(f"FAIL {name}: {type(why).__name__} {why}".replace("\n", " | "), flush=True)
    else:
        print(f"ok {name}", flush=True)
