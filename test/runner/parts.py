# SPDX-License-Identifier: MIT
"""The tiers: which files each has, what they need to be built, how they are run and for how long at most.

A tier is a function that finds its files in the tree; nothing runs that is not found here, so that a test
whose source is gone is gone too. Files of `beside` run next to each other and next to the builds; those
of `alone` record with thaw or compare clocks, and have the machine for themselves."""
import dataclasses
import glob
import os
import re

PYTHON = "/usr/bin/python3"


@dataclasses.dataclass
class Part:
    tier: str
    file: str
    command: list
    limit: float = 600
    lane: str = "beside"
    needs: tuple = ()
    tap: bool = False
    exit_only: bool = False    # its exit status is its only check
    lists: bool = False        # --list says its checks without running them
    privileged: bool = False   # says nothing of its own where it has not the rights
    records: str = ""          # too: with thaw, on this machine; only: and nobody else may meanwhile
    env: dict = dataclasses.field(default_factory=dict)

    @property
    def name(self):
        return f"{self.tier}/{self.file}"


# What make builds, in this order: name -> (variant, targets). tsan has those that the manifest names.
BUILDS = {
    "release": ("release", ["all"]),
    "programs": ("release", ["live", "workloads", "wasm"]),
    "asan": ("asan", ["unit", "fuzzers"]),
    "tsan": ("tsan", []),
    "lab": ("release", ["lab-programs"]),
}


def stem(path):
    return os.path.splitext(os.path.basename(path))[0]


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def has_main(path):
    """Test files run by themselves; what they share does not."""
    return "__main__" in read(path)


def sources(pattern):
    return sorted(glob.glob(pattern, recursive=True))


def runner(build, _):
    return [Part("runner", stem(p), [PYTHON, p, build]) for p in sources("test/runner/check_*.py")]


def lint(_build, _):
    return [Part("lint", os.path.basename(p), [p]) for p in sources("test/lint/*") if os.access(p, os.X_OK)]


def unit(build, _):
    return [Part("unit", p[len("test/unit/"):-2], [f"{build}/asan/{p[5:-2]}"], needs=("asan",), tap=True, limit=900)
            for p in sources("test/unit/**/test_*.c")]


def tsan(build, expected):
    """What has threads in it, once more under ThreadSanitizer: as the manifest says."""
    return [Part("tsan", name[5:], [f"{build}/tsan/unit/{name[5:]}"], needs=("tsan",), tap=True, limit=900)
            for name in sorted(expected) if name.startswith("tsan/")
            and os.path.exists(f"test/unit/{name[5:]}.c")]


def fuzz(build, _):
    """The corpora of the fuzzers as plain tests, under the sanitizers."""
    found = []
    for path in sources("test/fuzz/*/fuzz_*.c"):
        folder, name = os.path.dirname(path), stem(path)
        corpus = f"{folder}/corpus_{name[5:]}"
        if not os.path.isdir(corpus):
            corpus = f"{folder}/corpus"
        found.append(Part("fuzz", f"{os.path.basename(folder)}/{name}",
                          [f"{build}/asan/fuzz/{os.path.basename(folder)}/{name}", corpus],
                          needs=("asan",), exit_only=True))
    return found


def scripts(tier, build, needs, **more):
    """A tier that is one script."""
    return [Part(tier, "run", [p, build], needs=needs, **more) for p in sources(f"test/{tier}/run")]


def golden(build, _):
    return scripts("golden", build, ("release", "programs"))


def crash(build, _):
    return scripts("crash", build, ("asan",))


def formats(build, _):
    """Other tools' formats, judged by these tools."""
    return [Part("formats", stem(p)[6:], [PYTHON, p, build], needs=("release", "programs"), limit=900,
                 env={"PYTHONDONTWRITEBYTECODE": "1"}) for p in sources("test/formats/check_*.py")]


def page(build, _):
    """The page as a file and as a server's."""
    return [Part("page", stem(p), [PYTHON, p, build], needs=("release",))
            for p in sources("test/page/*.py") if has_main(p)]


def recorded(tier, build):
    """Files that say BESIDE compare no clocks, and run next to others; BESIDE = "no recording": to others that
    do not record."""
    found = []
    for path in sources(f"test/{tier}/*.py"):
        text = read(path)
        if "__main__" in text or "tests_of(globals())" in text:
            beside = re.search(r'^BESIDE = (True|"no recording")', text, re.M)
            found.append(Part(tier, stem(path), [PYTHON, path, build], lane="beside" if beside else "alone",
                              needs=("release", "programs"), lists=True,
                              records="only" if beside and beside[1] != "True" else "too",
                              env={"THAW_TEST_BESIDE": "1"} if beside else {}))
    return found


def live(build, _):
    loads = [Part("live", name, [f"{build}/release/live/{name}"], lane="alone", needs=("release", "programs"),
                  privileged=True) for name in ("allowlist", "nested")
             if os.path.exists(f"test/live/{name}.c")]
    return loads + recorded("live", build)


def attack(build, _):
    """What somebody without any right tries against a recorder that is root."""
    return recorded("attack", build)


def browser(build, _):
    """The page in Chromium."""
    return [Part("browser", stem(p), ["test/browser/run", build, "--file", stem(p)], limit=900, lists=True,
                 needs=("release", "programs")) for p in sources("test/browser/*.mjs")
            if stem(p) not in ("main", "harness")]


def growth(build, _):
    """How CPU time grows with what is in a capture."""
    return scripts("growth", build, ("release", "programs"), limit=900)   # by CPU time: others may run


def lab(build, expected):
    """Kernels under QEMU, those that the manifest names: `make lab` has all of them."""
    return [Part("lab", name[4:], [PYTHON, "lab/run", build, *name[4:].split("/")], limit=1500,
                 needs=("release", "programs", "lab"))
            for name in sorted(expected) if name.startswith("lab/")]


# In the order in which their files are begun: what takes long comes first.
TIERS = {f.__name__: f for f in (lab, live, attack, growth, browser, golden, formats, crash, unit, tsan, fuzz, page,
                                 lint, runner)}
# What has to be installed for a tier; what is not there is skipped by name.
SETUP = {"live": "live", "attack": "live", "formats": "formats", "browser": "browser", "lab": "lab"}
# Recordings that the files of a tier share, made before anything else runs.
PREPARE = {"formats": "test/formats/run", "browser": "test/browser/run"}


def find(build, words, expected):
    """The files of tiers and files named, all if none is. Raises KeyError for a word that names nothing."""
    chosen = []
    for tier, files_of in TIERS.items():
        for part in files_of(build, expected):
            if not words or tier in words or part.name in words:
                chosen.append(part)
    named = {p.name for p in chosen}
    for word in words:
        if word not in TIERS and word not in named:
            raise KeyError(word)
    return chosen
