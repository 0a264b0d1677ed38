# SPDX-License-Identifier: MIT
"""The exported page as a file: what is in it, what it may do, and how it comes about: file.py BUILD"""
import base64
import gzip
import hashlib
import html.parser
import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import time
import zlib

from common import THAW, check, golden, run_all, thaw

KINDS = ("story", "lost", "stepped", "torn", "nosyms", "empty", "locks", "deadlock")
BLOCK = re.compile(r'<script type="application/octet-stream" data-thaw="(\w+)">([^<]*)</script>')
PAGE_MAX = 1_500_000
EVENT_MAX = 15


class Document(html.parser.HTMLParser):
    """The elements, with what stands in scripts, styles and the title."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements = []
        self.open = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append([tag, dict(attrs), ""])
        if tag not in ("meta", "link", "br", "hr", "img", "input"):
            self.open.append(self.elements[-1])

    def handle_endtag(self, tag):
        check(self.open and self.open.pop()[0] == tag, f"</{tag}> closes nothing")

    def handle_data(self, data):
        if self.open:
            self.open[-1][2] += data

    def all(self, tag, **attrs):
        return [e for e in self.elements
                if e[0] == tag and all(e[1].get(k) == v for k, v in attrs.items())]


def export(capture, path="page.html"):
    r = thaw("export", "-f", "html", "-o", path, capture)
    check(r.returncode == 0, f"export: exit {r.returncode}: {r.stderr}")
    with open(path, encoding="utf-8") as f:
        return f.read()


def blocks(text, name):
    return [base64.b64decode(data, validate=True) for kind, data in BLOCK.findall(text) if kind == name]


def capture_in(text):
    """The capture that is in the page: blocks of base64 that are one gzip stream."""
    z = zlib.decompressobj(31)
    raw = z.decompress(b"".join(blocks(text, "capture")))
    check(z.eof and not z.unused_data, "the stream has another end")
    return raw


def same_report(capture, text):
    with open("back.thaw", "wb") as f:
        f.write(capture_in(text))
    for args in ([], ["--from", "1s", "--to", "3s"]):
        a, b = (json.loads(thaw("report", "--json", *args, path).stdout) for path in (capture, "back.thaw"))
        check(b["capture"].pop("path") == "back.thaw", "the path")
        a["capture"].pop("path")
        check(a == b, f"{capture}: another report, {args}")


def summed(capture, *args):
    """What a report says that does not depend on when it was, nor on numbers of locks."""
    r = thaw("report", "--json", *args, capture)
    check(r.returncode == 0, f"report: {r.stderr}")
    r = json.loads(r.stdout)
    waits = {}
    for w in r["waits"]:
        key = (w["reason"], tuple(f["name"] for f in w["stack"]))
        waits[key] = waits.get(key, 0) + w["total_ns"]
    return {"threads": sorted((t["tid"], t["comm"], t["running_ns"], t["runnable_ns"], t["waiting_ns"], t["samples"])
                              for t in r["threads"]),
            "functions": sorted((f["name"], f["module"], f["self_samples"], f["total_samples"])
                                for f in r["functions"]),
            "waits": waits,
            "locks": sorted((k["kind"], k["name"], k["waits"], k["total_wait_ns"]) for k in r["locks"])}


def test_a_page_of_two_captures():
    """thaw diff --html: each side's range of the capture in the page has the report of that side."""
    for a, b in (("before", "after"), ("story", "locks"), ("locks", "story")):
        for kind in (a, b):
            golden(kind, f"{kind}.thaw")
        r = thaw("diff", f"{a}.thaw", f"{b}.thaw", "--html", "two.html")
        check(r.returncode == 0 and r.stdout, f"diff: exit {r.returncode}: {r.stderr}")
        with open("two.html", encoding="utf-8") as f:
            text = f.read()
        start = Document(text).all("meta", name="thaw-start")[0][1]["content"]
        ranges = re.fullmatch(r"sel=(\d+)-(\d+)&sel2=(\d+)-(\d+)&tab=flame", start).groups()
        with open("back.thaw", "wb") as f:
            f.write(capture_in(text))
        check(thaw("info", "--verify", "back.thaw").returncode == 0, "it is damaged")
        for kind, begin, end in ((a, *ranges[:2]), (b, *ranges[2:])):
            want, got = summed(f"{kind}.thaw"), summed("back.thaw", "--from", f"{begin}ns", "--to", f"{end}ns")
            for key, value in want.items():
                check(got[key] == value, f"{kind} in {a}, {b}: other {key}: {got[key]} instead of {value}")


def test_a_page_of_two_ranges():
    golden("before", "before.thaw")
    r = thaw("diff", "before.thaw", "--before", "0s,4s", "--after", "5s,9s", "--html", "two.html")
    check(r.returncode == 0, f"diff: exit {r.returncode}: {r.stderr}")
    with open("two.html", encoding="utf-8") as f:
        text = f.read()
    start = Document(text).all("meta", name="thaw-start")[0][1]["content"]
    check(start == "sel=0-4000000000&sel2=5000000000-9000000000&tab=flame", start)
    same_report("before.thaw", text)
    r = thaw("diff", "before.thaw", "--before", "0s,4s", "--after", "5s,9s", "--html", "before.thaw")
    check(r.returncode == 1 and "is one of the captures" in r.stderr, r.stderr)


def test_it_is_one_document():
    d = Document(export(golden("story", "story.thaw")))
    check(not d.open, f"not closed: {d.open}")
    run = [e for e in d.all("script") if e[1].get("type") is None]
    check(len(run) == 1 and not run[0][1], "one script, without attributes")
    check(len(d.all("style")) == 1, "one style")
    check(d.all("title")[0][2] == "story.thaw", "its title")
    check(not d.all("meta", name="thaw-token"), "a token without a server")
    for tag, attrs, _ in d.elements:
        for key, value in attrs.items():
            check(not key.startswith("on") and key != "style", f"<{tag} {key}>")
            check(key not in ("src", "href", "action", "srcset") or value.startswith("data:"),
                  f"<{tag} {key}={value}>")
    for _, _, text in d.elements:
        for address in re.findall(r"(?:https?|wss?|ftp)://[^\s\"'`)]*", text):
            check(address.startswith("http://www.w3.org/"), f"it names {address}")


def test_its_policy():
    text = export(golden("story", "story.thaw"))
    d = Document(text)
    metas = d.all("meta", **{"http-equiv": "Content-Security-Policy"})
    check(len(metas) == 1, "one policy")
    check(text.index("Content-Security-Policy") < text.index("<script"), "it comes before all scripts")
    check(text.index("Content-Security-Policy") < text.index("<style"), "and before the style")

    def digest(tag):
        e = [e for e in d.all(tag) if e[1].get("type") is None]
        return "'sha256-" + base64.b64encode(hashlib.sha256(e[0][2].encode()).digest()).decode() + "'"

    policy = dict(part.split(" ", 1) for part in metas[0][1]["content"].split("; "))
    check(policy == {
        "default-src": "'none'", "script-src": f"{digest('script')} 'wasm-unsafe-eval'",
        "style-src": digest("style"), "img-src": "data:", "worker-src": "blob:",
        "connect-src": "'none'", "base-uri": "'none'", "form-action": "'none'"}, f"{policy}")


def test_the_capture_comes_back():
    for kind in KINDS:
        same_report(f"{kind}.thaw", export(golden(kind, f"{kind}.thaw")))
    check(thaw("info", "--verify", "back.thaw").returncode == 0, "every byte of it is right")


def test_damage_comes_back():
    golden("story", "story.thaw")
    with open("story.thaw", "rb") as f:
        whole = f.read()
    for i in range(12):
        at = 64 + i * (len(whole) - 200) // 12
        with open("hurt.thaw", "wb") as f:
            f.write(whole[:at] + (b"" if i % 2 else b"junk" * 8 + whole[at + 32:]))
        same_report("hurt.thaw", export("hurt.thaw"))


def test_the_engine_is_in_it():
    wasm = gzip.decompress(b"".join(blocks(export(golden("empty", "empty.thaw")), "engine")))
    check(wasm[:8] == b"\0asm\1\0\0\0", "it is no WebAssembly")
    return f"{len(wasm)} bytes"


def test_hostile_names():
    for name in ("</title><script>alert(1)</script>.thaw", "\"'&<>&lt;.thaw", "<!--.thaw", "a\nb\x01\x7f.thaw",
                 "ü€😀.thaw", "@DATA@.thaw", "@TITLE@@CONNECT@.thaw"):
        golden("story", "story.thaw")
        name = name.replace("/", "\u2215")
        os.rename("story.thaw", name)
        d = Document(export(name))
        check(d.all("title")[0][2] == re.sub(r"[\x00-\x1f\x7f]", " ", name), f"the title of {name!r}")
        check(len([e for e in d.all("script") if e[1].get("type") is None]) == 1, f"scripts of {name!r}")


def test_its_size():
    golden("empty", "empty.thaw")
    page = len(export("empty.thaw"))
    golden("switches", "long.thaw", 1000000)
    events = json.loads(thaw("info", "--json", "long.thaw").stdout)["events"]
    total = len(export("long.thaw"))
    check(page < PAGE_MAX - 500_000, f"an empty page has {page} bytes")
    check(total <= EVENT_MAX * events, f"{total / events:.1f} bytes an event")
    return (f"{page} bytes without a capture, {(total - page) / events:.2f} bytes an event beside "
            f"{os.path.getsize('long.thaw') / events:.2f} in the capture")


def test_memory_does_not_grow_with_the_capture():
    peak = {}
    for n in (200000, 2000000):
        golden("switches", "long.thaw", n)
        with subprocess.Popen([THAW, "export", "-f", "html", "long.thaw"], stdout=subprocess.PIPE) as p:
            while p.stdout.read(100000):
                with open(f"/proc/{p.pid}/status", encoding="ascii") as f:
                    found = re.search(r"VmHWM:\s*(\d+)", f.read())
                peak[n] = int(found[1]) if found else peak[n]
        check(p.returncode == 0, f"export: {p.returncode}")
    check(peak[2000000] < peak[200000] + 4096, f"{peak} KiB")
    return f"{peak} KiB"


def small_files():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))


def test_no_room():
    golden("switches", "long.thaw", 100000)
    with open("page.html", "w", encoding="ascii") as f:
        f.write("old")
    before = set(os.listdir("."))
    r = thaw("export", "-f", "html", "-o", "page.html", "long.thaw", preexec_fn=small_files)
    check(r.returncode == 1 and "cannot write page.html" in r.stderr, f"{r.returncode}: {r.stderr}")
    check(set(os.listdir(".")) == before, "something is left behind")
    with open("page.html", encoding="ascii") as f:
        check(f.read() == "old", "the old one is gone")
    r = thaw("export", "-f", "html", "-o", "/dev/full", "long.thaw")
    check(r.returncode == 1 and "No space left" in r.stderr, f"{r.returncode}: {r.stderr}")
    r = thaw("export", "-f", "html", "-o", "nowhere/page.html", "long.thaw")
    check(r.returncode == 1 and "nowhere/page.html" in r.stderr, f"{r.returncode}: {r.stderr}")


def test_killed_it_leaves_nothing():
    golden("switches", "long.thaw", 1000000)
    before = set(os.listdir("."))
    with subprocess.Popen([THAW, "export", "-f", "html", "-o", "page.html", "long.thaw"]) as p:
        time.sleep(0.1)
        p.kill()
    left = set(os.listdir(".")) - before
    check(not left or (left == {"page.html"} and p.returncode == 0), f"left behind: {left}")


def test_what_it_writes_over():
    golden("story", "story.thaw")
    text = export("story.thaw")
    with open("kept.html", "w", encoding="ascii") as f:
        f.write("old")
    os.chmod("kept.html", 0o640)
    os.symlink("kept.html", "link.html")
    check(export("story.thaw", "link.html") == text, "through a link")
    check(os.path.islink("link.html") and os.stat("kept.html").st_mode & 0o777 == 0o640, "link and mode")
    r = thaw("export", "-f", "html", "-o", "story.thaw", "story.thaw")
    check(r.returncode == 1 and "the capture itself" in r.stderr, r.stderr)
    check(thaw("info", "--verify", "story.thaw").returncode == 0, "the capture is as it was")
    r = subprocess.run([THAW, "export", "-f", "html", "story.thaw"], capture_output=True, timeout=60)
    check(r.returncode == 0 and r.stdout.decode() == text, "standard output")


def test_wrong_usage():
    golden("story", "story.thaw")
    for args in (["--kind", "wait"], ["--thread", "1"], ["--from", "1s"], ["--to", "1s"]):
        r = thaw("export", "-f", "html", *args, "-o", "page.html", "story.thaw")
        check(r.returncode == 2 and "whole recording" in r.stderr, f"{args}: {r.stderr}")
    ours, theirs = pty.openpty()
    r = subprocess.run([THAW, "export", "-f", "html", "story.thaw"], stdout=theirs, stderr=subprocess.PIPE,
                       text=True, timeout=60)
    os.close(ours)
    os.close(theirs)
    check(r.returncode == 2 and "-o report.html" in r.stderr, f"a terminal: {r.stderr}")
    check(not os.path.exists("page.html"), "a file nevertheless")


if __name__ == "__main__":
    sys.exit(run_all("file", [fn for name, fn in list(globals().items()) if name.startswith("test_")]))
