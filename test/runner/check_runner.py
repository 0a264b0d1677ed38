#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The runner itself: in a small tree of its own, a tier is broken in each way in which one can be, and the
run must fail, say why, and count it. What passes there must pass, or all this would prove nothing."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$")
MAKEFILE = """\
all live workloads wasm lab-programs unit fuzzers:
	@if [ -e broken-$@ ]; then echo "broken on purpose"; exit 2; fi
.PHONY: always
$(B)/tsan/unit/%: always
	@if [ -e broken-tsan ]; then echo "broken on purpose"; exit 2; fi
"""
PAGE = "import sys\n{body}\nif __name__ == '__main__':\n    sys.exit(main())\n"
HARNESS = ("import sys\nsys.path.insert(0, 'test/live')\nfrom harness import check, run, tests_of\n{body}\n"
           "if __name__ == '__main__':\n    sys.exit(run(tests_of(globals()), privileged=False))\n")


class Tree:
    """A small repository with the runner as it is, one lint check and nothing else."""

    def __init__(self, folder):
        self.folder = folder
        for part in ("test/run", "test/runner", "test/live/harness.py", "test/live/machine.py"):
            target = os.path.join(folder, part)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            copy = shutil.copytree if os.path.isdir(os.path.join(ROOT, part)) else shutil.copy
            copy(os.path.join(ROOT, part), target)
        os.remove(os.path.join(folder, "test/runner/check_runner.py"))
        self.file("Makefile", MAKEFILE)
        self.expected = {}
        self.script("test/lint/good", "echo ok good", 1)

    def file(self, path, text):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def script(self, path, text, checks=None, name=None):
        os.chmod(self.file(path, f"#!/bin/sh\n{text}\n"), 0o755)
        if checks is not None:
            self.expected[name or path.removeprefix("test/")] = checks

    def page(self, body, checks=1, name="page/broken"):
        """A file of the tier page that does something."""
        self.file("test/page/broken.py", PAGE.format(body=body))
        self.expected[name] = checks

    def live(self, body, checks):
        self.file("test/live/broken.py", HARNESS.format(body=body))
        self.expected["live/broken"] = checks

    def run(self, *args):
        self.file("test/manifest", "".join(f"{n} {c}\n" for n, c in self.expected.items()))
        done = subprocess.run([os.path.join(self.folder, "test/run"), "build", *args], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, cwd="/",
                              env={k: v for k, v in os.environ.items() if not k.startswith("MAKE")})
        return done.returncode, done.stdout.splitlines()


def fails(tree, words, *args, failed=1):
    """The run fails, says so in these words, and counts it on its last line."""
    status, lines = tree.run(*args)
    closing = CLOSING.match(lines[-1]) if lines else None
    said = [line for line in lines if line.startswith("FAIL ")]
    assert status == 1, f"exit {status}: {lines[-5:]}"
    assert closing and int(closing[2]) == failed, f"{lines[-1:]}, not {failed} failed: {said}"
    assert any(re.search(words, line) for line in said), f"'{words}' is not in {said}"
    return lines


def passes(tree, passed, skipped=0, *args):
    status, lines = tree.run(*args)
    assert status == 0, f"exit {status}: {lines[-8:]}"
    assert lines[-1] == f"{passed} passed, 0 failed, {skipped} skipped", lines[-1]
    return lines


# ---- what is right ----

def check_sound_tree_passes(tree):
    tree.page("def main():\n    print('ok a'); print('skip b: no b here')", 2)
    assert "second tries: 0 of at most 5" in passes(tree, 2, 1)[-2]


def check_skip_of_a_whole_file_counts_all(tree):
    tree.page("def main():\n    print('skip all of page/broken: there is no page')", 7)
    passes(tree, 1, 7)


def check_nothing_at_all_fails(tree):
    os.remove(os.path.join(tree.folder, "test/lint/good"))
    tree.expected.clear()
    fails(tree, "no check has passed")


def check_nothing_but_skips_fails(tree):
    tree.page("def main():\n    print('skip all of page/broken: there is no page')", 7)
    lines = fails(tree, "no check has passed", "page")
    assert lines[-1] == "0 passed, 1 failed, 7 skipped", lines[-1]


def check_unknown_tier_is_told(tree):
    status, lines = tree.run("lnit")
    assert status == 2 and "lnit" in lines[0], lines


def check_numbers_are_written(tree):
    tree.page("def main():\n    print('ok a'); print('ok b')", 1)
    status, lines = tree.run("--write")
    assert status == 0 and "test/manifest: page/broken: 1 -> 2" in lines, lines
    with open(os.path.join(tree.folder, "test/manifest"), encoding="utf-8") as f:
        assert "page/broken 2\n" in f.read()


def check_two_lines_of_a_merge(tree):
    tree.page("def main():\n    print('ok a'); print('ok b')", 1)
    tree.expected = {**tree.expected, "page/broken 2\npage/broken": 1}
    passes(tree, 3)


# ---- a file that is broken ----

def check_import_error(tree):
    tree.page("import nothing_at_all\ndef main():\n    print('ok a')")
    fails(tree, r"page/broken: it ended with 1")


def check_import_error_of_a_live_test(tree):
    tree.live("import nothing_at_all\ndef test_a(): pass", 1)
    fails(tree, r"live/broken: it ended with 1; 0 checks of 1")


def check_non_zero_exit(tree):
    tree.page("def main():\n    print('ok a')\n    return 3")
    fails(tree, "page/broken: it ended with 3")


def check_crash(tree):
    tree.page("import os\ndef main():\n    print('ok a', flush=True)\n    os.kill(os.getpid(), 11)")
    fails(tree, "page/broken: it was ended by SIGSEGV")


def check_hang(tree):
    tree.page("import os, subprocess, time\ndef main():\n    print('ok a', flush=True)\n"
              "    p = subprocess.Popen(['sleep', '1000'])\n    open('pid', 'w').write(str(p.pid))\n"
              "    time.sleep(1000)")
    fails(tree, "page/broken: it was not done after 2 s", "--limit", "2")
    with open(os.path.join(tree.folder, "pid"), encoding="ascii") as f:
        try:
            with open(f"/proc/{f.read()}/stat", encoding="ascii") as stat:
                assert stat.read().split()[2] == "Z", "its child runs on"
        except FileNotFoundError:
            pass


def check_fewer_checks(tree):
    tree.page("def main():\n    print('ok a')", 3)
    fails(tree, "page/broken: 1 check of 3 .*: 2 did not run")


def check_no_checks(tree):
    tree.page("def main():\n    pass", 2)
    fails(tree, "page/broken: 0 checks of 2")


def check_no_checks_expected(tree):
    tree.page("def main():\n    pass", 0)
    fails(tree, "page/broken: it has no checks")


def check_more_checks(tree):
    tree.page("def main():\n    print('ok a'); print('ok b')", 1)
    fails(tree, "page/broken: 2 checks, and test/manifest knows 1")


def check_file_that_is_gone(tree):
    tree.expected["page/gone"] = 4
    fails(tree, "page/gone is in test/manifest with 4 checks, and not in the tree")


def check_file_that_nobody_listed(tree):
    tree.page("def main():\n    print('ok a')")
    del tree.expected["page/broken"]
    fails(tree, "page/broken is not in test/manifest")


def check_skip_without_a_reason(tree):
    tree.page("def main():\n    print('skip a')")
    fails(tree, "a: skipped without a reason")


def check_failure_with_exit_0(tree):
    tree.page("def main():\n    print('FAIL a: it is so')")
    fails(tree, "FAIL a: it is so")


def check_skips_of_unit_tests_count(tree):
    """As cmocka writes them."""
    tree.script("build/asan/unit/x/test_x", "echo '1..2'; echo 'ok 1 - test_a'; echo 'not ok 2 # SKIP test_b'", 2,
                "unit/x/test_x")
    tree.file("test/unit/x/test_x.c", "")
    status, lines = tree.run()
    assert status == 0 and any(line.startswith("skip unit/x/test_x test_b: ") for line in lines), lines[-20:]


def check_each_tier_honours_an_exit_status(tree):
    """Silent, and with a status: nothing of that may pass in any tier."""
    silent = "exit 7"
    tree.script("test/lint/silent", silent, 1)
    tree.script("test/golden/run", silent, 1)
    tree.script("test/crash/run", silent, 1)
    tree.script("test/browser/run", '[ "$2" = prepare ] || exit 7')
    tree.file("test/browser/x.mjs", "")
    tree.expected["browser/x"] = 1
    tree.script("test/formats/run", "exit 0")
    tree.script("test/live/allowlist.c", "")
    for path, name in (("build/asan/unit/x/test_x", "unit/x/test_x"), ("build/tsan/unit/x/test_x",
                       "tsan/x/test_x"), ("build/asan/fuzz/x/fuzz_x", "fuzz/x/fuzz_x"),
                       ("build/release/live/allowlist", "live/allowlist")):
        tree.script(path, silent, 1, name)
    tree.file("test/unit/x/test_x.c", "")
    tree.file("test/fuzz/x/fuzz_x.c", "")
    for path in ("test/formats/check_x.py", "test/page/x.py", "test/live/x.py", "test/attack/x.py",
                 "lab/run", "test/runner/check_x.py"):
        tree.file(path, PAGE.format(body="def main():\n    return 7"))
        name = path.removeprefix("test/").removesuffix(".py").replace("formats/check_", "formats/")
        tree.expected["lab/matrix/6.1" if path == "lab/run" else name] = 1
    status, lines = tree.run()
    for name in tree.expected:
        if name != "lint/good" and not (name == "live/allowlist" and os.geteuid()):
            assert any(line.startswith(f"FAIL {name}: it ended with 7;") for line in lines), (name, lines[-30:])
    assert status == 1, status


def check_end_of_the_runner_ends_its_files(tree):
    tree.page("import os, time\ndef main():\n    open('pid', 'w').write(str(os.getpid()))\n    time.sleep(1000)")
    tree.run("--list")
    run = subprocess.Popen([os.path.join(tree.folder, "test/run"), "build"], stdout=subprocess.DEVNULL)
    where = os.path.join(tree.folder, "pid")
    until = time.monotonic() + 30
    while not (os.path.exists(where) and os.path.getsize(where)) and time.monotonic() < until:
        time.sleep(0.02)
    run.terminate()
    assert run.wait(30) == 143, run.returncode
    with open(where, encoding="ascii") as f:
        pid = int(f.read())
    while time.monotonic() < until and os.path.exists(f"/proc/{pid}"):
        time.sleep(0.02)
    assert not os.path.exists(f"/proc/{pid}"), "it runs on"


# ---- builds ----

def check_failed_build_runs_no_stale_binary(tree):
    tree.file("test/unit/x/test_x.c", "")
    tree.file("broken-tsan", "")
    tree.script("build/asan/unit/x/test_x", "echo 1..1; echo ok 1 - test_a", 1, "unit/x/test_x")
    tree.script("build/tsan/unit/x/test_x", "touch ran; echo 1..1; echo ok 1 - test_a", 1, "tsan/x/test_x")
    lines = fails(tree, "tsan/x/test_x: not run, tsan does not build", failed=2)
    assert "broken on purpose" in lines, lines
    assert not os.path.exists(os.path.join(tree.folder, "ran")), "the stale binary was run"


def check_failed_build_of_all(tree):
    tree.file("broken-all", "")
    tree.page("def main():\n    print('ok a')")
    fails(tree, "page/broken: not run, release does not build", failed=2)


def check_binary_without_a_source(tree):
    """One that another state of the tree has left: it is not run, and the manifest misses it."""
    tree.script("build/asan/unit/x/test_old", "touch ran; echo 1..1; echo ok 1 - test_a", 1, "unit/x/test_old")
    fails(tree, "unit/x/test_old is in test/manifest with 1 check, and not in the tree")
    assert not os.path.exists(os.path.join(tree.folder, "ran")), "it was run"


def check_packages_that_cannot_be_installed(tree):
    """Root's run fails; another user's says so and goes on."""
    tree.script("tools/setup", 'echo "$*" >>said; echo no network; exit 1')
    tree.file("test/formats/check_x.py", PAGE.format(body="def main():\n    print('ok a')"))
    tree.expected["formats/x"] = 1
    lines = passes(tree, 2) if os.geteuid() else fails(tree, "setup: what formats need is not installed")
    assert "no network" in lines, lines
    tree.run("--no-install")
    with open(os.path.join(tree.folder, "said"), encoding="ascii") as f:
        assert f.read() == "formats\n--check formats\n"


def check_recordings_that_cannot_be_made(tree):
    tree.script("test/formats/run", "echo no room; exit 1")
    tree.file("test/formats/check_x.py", PAGE.format(body="def main():\n    print('ok a')"))
    tree.expected["formats/x"] = 1
    fails(tree, "formats: its recordings cannot be made")


# ---- second tries ----

def check_no_second_try_without_a_cause(tree):
    """A test that fails once and would pass then."""
    tree.live("import os\ndef test_a():\n    if not os.path.exists('/proc/%d/fd/9' % os.getpid()):\n"
              "        os.dup2(1, 9)\n        check(False, 'the first time')\n", 1)
    with open(os.path.join(tree.folder, "test/live/machine.py"), encoding="utf-8") as f:
        text = f.read()
    quiet = re.sub(r"Limit\(\d+,", "Limit(10**9,", text)
    tree.file("test/live/machine.py", quiet)
    fails(tree, "live a: the first time")
    # The same test on a machine that is in the way by its own limits passes, and that is told.
    tree.file("test/live/machine.py", re.sub(r"Limit\(\d+,", "Limit(-1,", text))
    lines = passes(tree, 2)
    assert any(line.startswith("again live a [steal 0.0 %") for line in lines) or \
        any(line.startswith("again live a [") for line in lines), lines
    assert lines[-2].startswith("second tries: 1 of at most 5 ("), lines[-2]


def check_second_try_that_names_no_cause(tree):
    tree.page("def main():\n    print('again page a: it was late'); print('ok a')")
    fails(tree, "a second try without a measured cause")


def check_second_try_below_its_limit(tree):
    tree.page("def main():\n    print('again page a [others 4.0 % of it]: late'); print('ok a')")
    fails(tree, "a second try without a measured cause")


def tries(n):
    return (f"def main():\n    for i in range({n}):\n"
            "        print(f'again page {i} [steal 40.0 % of it, limit 3 %]: late'); print('ok', i)")


def check_what_a_test_leaves_behind_is_not_others(tree):
    """Daemons that a test has started, whether they have ended or run on, are the test's; who is not below it is not,
    though he uses the CPUs as well."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        tree.live(DAEMONS, 1)
        assert "second tries: 0 of at most 5" in passes(tree, 2)[-2]
    finally:
        for p in others:
            p.kill()
            p.wait()


DAEMONS = """
BESIDE = True
import os, signal, time
import machine
from harness import wait_until

def daemon(stays):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    if not os.fork():
        while time.process_time() < 0.3:
            pass
        with open(f'{stays}.new', 'w') as f:
            f.write(str(os.getpid()))
        os.rename(f'{stays}.new', str(stays))
        time.sleep(1000 if stays else 0)
    os._exit(0)

def pid_of(stays):
    with open(str(stays)) as f:
        return int(f.read())

def test_a():
    before = machine.own_s()
    daemon(True)
    daemon(False)
    wait_until(lambda: os.path.exists('True') and os.path.exists('False'), 60, 'no daemons')
    wait_until(lambda: not os.path.exists(f'/proc/{pid_of(False)}'), 60, 'it has not ended')
    used = machine.own_s() - before
    os.kill(pid_of(True), signal.SIGKILL)
    check(0.55 < used < 0.9, f'both used 0.6 s, and {used} s are counted')
"""


def check_few_second_tries(tree):
    tree.page(tries(5), 5)
    assert passes(tree, 6)[-2] == "second tries: 5 of at most 5 (5 steal)"


def check_too_many_second_tries(tree):
    tree.page(tries(6), 6)
    fails(tree, "second tries: 6, more than 5")


# ---- side by side ----

def check_no_recording_beside_who_forbids_it(tree):
    """Of three files that record, the one that wants no other recording has none; the two others may meet."""
    body = ("import os, time\ndef test_a():\n    mine = '%s/recording-%%d' %% os.getpid()\n    open(mine, 'w').close()\n"
            "    time.sleep(0.5)\n    n = sum(f.startswith('recording-') for f in os.listdir('%s'))\n"
            "    os.remove(mine)\n    check(n <= %d, f'{n} record')\n")
    for name, beside, most in (("only", '"no recording"', 1), ("one", "True", 2), ("two", "True", 2)):
        tree.file(f"test/live/{name}.py", HARNESS.format(body=f"BESIDE = {beside}\n"
                                                         + body % (tree.folder, tree.folder, most)))
        tree.expected[f"live/{name}"] = 1
    passes(tree, 4)


# ---- what is written down ----

def check_failed_kernel_loses_its_row(_tree):
    """docs/lab.md says of a kernel what it last did, not what it once could."""
    sys.path.insert(0, os.path.join(ROOT, "lab"))
    import document  # pylint: disable=import-outside-toplevel,import-error
    import matrix    # pylint: disable=import-outside-toplevel,import-error
    result = matrix.Result("6.1", "6.1.9")
    result.recordings, result.programs, result.doctor = 8, 12, "-"
    with open("lab.md", "w", encoding="utf-8") as f:
        f.write(f"<!-- matrix -->\n{matrix.HEAD}\n{result.row()}\n<!-- end of matrix -->\n")
    result.problems.append("pingpong: 1 switch | of 2")
    document.write("lab.md", "matrix", matrix.HEAD, [result])
    with open("lab.md", encoding="utf-8") as f:
        rows = [line for line in f if line.startswith("| 6.1 ")]
    assert len(rows) == 1 and "**fails**" in rows[0] and "pingpong" in rows[0], rows
    assert rows[0].count(" | ") + 2 == matrix.HEAD.splitlines()[0].count("|"), rows


def check_fresh_debian_lacks_nothing(_tree):
    """test/fresh takes a skip for what is the host's, and for nothing else."""
    with open(os.path.join(ROOT, "test/fresh"), encoding="utf-8") as f:
        text = f.read()
    tested = text[text.index('hosts="'):text.index("installs() {")]

    def judged(*skips):
        with open("log", "w", encoding="utf-8") as f:
            f.write("".join(f"skip {s}\n" for s in skips) + f"7 passed, 0 failed, {len(skips)} skipped\n")
        return subprocess.run(["sh", "-uc", f"{tested}\ntested 0 log"], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    hosts = ("live refused: this kernel takes 3 for 2 (Debian's and Ubuntu's refuse)", "attack a: there is no /dev/fuse",
             "perfetto demo: trace_processor agrees: THAW_TRACE_PROCESSOR names none", "live full: cannot mount",
             "unit/symbol/test_sandbox test_memory_limit: this machine, or this build, does not have what it takes",
             "live throttled: there is no cgroup with a limit on the CPU time to be had here")
    assert judged(*hosts).returncode == 0, judged(*hosts)
    for lack in ("unit/symbol/test_files test_a: this machine, or this build, does not have what it takes",
                 "live perf_of_a_command: there is no perf", "live go: there is no go (Debian package golang-1.19-go)",
                 "attack frozen_disk: there is no mkfs.ext4 (Debian package e2fsprogs)", "lint types: there is no tsc",
                 "all of browser: npm ci failed: E404", "all of formats/speedscope: it is not installed"):
        said = judged(*hosts, lack)
        assert said.returncode == 1 and said.stdout.startswith(f"it lacks: skip {lack}"), (lack, said)


LAB = """
import importlib.machinery, importlib.util, sys
sys.path.insert(0, sys.argv[1])
loader = importlib.machinery.SourceFileLoader('lab_run', sys.argv[1] + '/run')
run = importlib.util.module_from_spec(importlib.util.spec_from_loader('lab_run', loader))
loader.exec_module(run)
import initramfs, kernels, matrix

def boot(row, image, version, archive, folder):
    result = matrix.Result(row['name'], version)
    if row['name'] == '6.1':
        result.problems.append('pingpong: 1 switch')
    elif row['name'] == '6.12':
        raise OSError('no room')
    elif row['name'] == '6.16':
        sys.exit(143)
    return result

initramfs.make = lambda build, here: b''
kernels.missing = lambda: None
kernels.fetch = lambda cache, row: ('image', '1')
kernels.table = lambda: [{'name': name} for name in ('6.1', '6.12', '6.16')]
matrix.run = boot
sys.exit(run.main(['lab/run', 'B', '--write', 'lab.md']))
"""


def check_lab_that_breaks_keeps_no_row_of_a_failed_kernel(_tree):
    """One kernel fails, the lab breaks on the next, and somebody ends it at the third."""
    with open("lab.md", "w", encoding="utf-8") as f:
        f.write("<!-- matrix -->\n| kernel |\n| --- |\n| 6.1 | good |\n| 6.12 | good |\n| 6.16 | good |\n"
                "<!-- end of matrix -->\n")
    done = subprocess.run([sys.executable, "-c", LAB, os.path.join(ROOT, "lab")], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 143, done
    assert "FAIL lab 6.1: pingpong" in done.stdout and "FAIL lab 6.12: the lab broke" in done.stdout, done.stdout
    with open("lab.md", encoding="utf-8") as f:
        rows = [line[:18] for line in f if line.startswith("| 6")]
    assert rows == ["| 6.1 | **fails**:", "| 6.12 | **fails**", "| 6.16 | good |\n"], rows


def check_formats_keep_no_recordings(_tree):
    """Of whatever an older build has recorded, nothing is left when the captures are made anew."""
    with open(os.path.join(ROOT, "test/formats/run"), encoding="utf-8") as f:
        text = f.read()
    start, end = text.index("work=$B/formats"), text.index("fail() {")
    os.makedirs("B/formats/npm")
    for name in ("B/formats/demo.thaw", "B/formats/story.pprof", "B/formats/npm/kept"):
        with open(name, "w", encoding="ascii"):
            pass
    subprocess.run(["sh", "-euc", f"B={os.path.abspath('B')}\n{text[start:end]}"], check=True)
    left = [os.path.join(at, f) for at, _, files in os.walk("B") for f in files]
    assert left == ["B/formats/npm/kept"], left


def main():
    failed = 0
    only = sys.argv[2:]
    for name, function in list(globals().items()):
        if not name.startswith("check_") or only and not any(w in name for w in only):
            continue
        folder = tempfile.mkdtemp(prefix="thaw-runner-")
        os.chdir(folder)
        words = f"runner {name[6:].replace('_', ' ')}"
        try:
            function(Tree(os.path.join(folder, "tree")))
            print(f"ok {words}", flush=True)
        except (AssertionError, OSError, subprocess.SubprocessError) as why:
            failed = 1
            print(f"FAIL {words}: {why}", flush=True)
        finally:
            os.chdir("/")
            shutil.rmtree(folder, ignore_errors=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
