# SPDX-License-Identifier: MIT
"""The manual pages and documents against what thaw says of itself: manual.py BUILD_DIR

Every verb has a page, and the page and --help tell of the same options; the tables in docs/ are
those that thaw prints; thaw help knows what the .def tables hold. The pages pass groff's warnings.
"""
import os
import re
import shutil
import subprocess
import sys

THAW = os.path.join(os.path.abspath(sys.argv[1]), "thaw")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
failed = False


def ok(name, bad):
    """bad: what is wrong, nothing if all is well"""
    global failed
    print(f"FAIL {name}: {bad}" if bad else f"ok {name}")
    failed = failed or bool(bad)


def thaw(*args):
    return subprocess.run([THAW, *args], capture_output=True, text=True, check=False).stdout


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
        return f.read()


def listed(title, text):
    """The first words of the lines below a title, up to an empty line."""
    return [line.split()[0] for line in text.split(title + "\n", 1)[1].split("\n\n", 1)[0].splitlines()
            if line[2] != " "]


def plain(roff):
    roff = re.sub(r'^\.\\".*$', "", roff, flags=re.M)
    return re.sub(r"\\f[A-Z]", "", roff).replace("\\-", "-")


OPTION = re.compile(r"(?<![\w-])(--[a-z][\w-]*|-[A-Za-z])(?![\w])")


def of_help(verb):
    found = set()
    for line in thaw(verb, "--help").splitlines():
        m = re.match(r"  (?:(-\w), |    )(--[\w-]+)( |$)", line)
        if m:
            found |= {w for w in m.group(1, 2) if w}
    return found


def of_tags(page):
    """Options that have a paragraph of their own: the line behind .TP, in OPTIONS... sections."""
    found = set()
    for section in re.split(r"^\.SH ", page, flags=re.M):
        if section.startswith("OPTIONS"):
            for tag in re.findall(r"^\.TP\n(.*)$", section, flags=re.M):
                found |= set(OPTION.findall(tag.replace('"', " ").replace(",", " ")))
    return found


def check_verb(verb):
    path = os.path.join(ROOT, "docs", "man", f"thaw-{verb}.1")
    if not os.path.exists(path):
        ok(f"a page of thaw {verb}", f"there is no docs/man/thaw-{verb}.1")
        return
    page = plain(read("docs", "man", f"thaw-{verb}.1"))
    ok(f"a page of thaw {verb}",
       "" if re.search(rf"^\.SH NAME\nthaw-{verb} \\?- ", page, re.M) else "its NAME is another")
    known = of_help(verb)
    help_text = thaw(verb, "--help").split("show this text", 1)[0]
    ok(f"thaw {verb} --help fits 80 columns", [line for line in help_text.splitlines() if len(line) > 80])
    missing = known - set(OPTION.findall(page.replace('"', " "))) - {"-h", "--help"}
    ok(f"thaw-{verb}(1) has every option of --help", ", ".join(sorted(missing)))
    ok(f"thaw-{verb}(1) has no other options", ", ".join(sorted(of_tags(page) - known)))


def check_roff():
    pages = sorted(os.listdir(os.path.join(ROOT, "docs", "man")))
    if not shutil.which("groff"):
        print("skip the pages without warnings: there is no groff")
        return
    for page in pages:
        done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z",
                               os.path.join(ROOT, "docs", "man", page)],
                              capture_output=True, text=True, check=False)
        ok(f"{page} without warnings", done.stderr.strip().splitlines()[:1] or done.returncode)


def rows(macro, name_at, *path):
    """The names in a .def table: strings, at the given place among a row's arguments."""
    text = re.sub(r"/\*.*?\*/", "", read("src", *path), flags=re.S)
    return [re.findall(r'"[^"]*"|[^,]+', m)[name_at].strip(' "')
            for m in re.findall(rf"^{macro}\(([^\n]*)\)", text, flags=re.M)]


def check_examples(name, text, known):
    """What is typed as thaw VERB ... has a verb and options that there are; known: by verb."""
    bad, n = [], 0
    for line in text.splitlines():
        for verb, rest in re.findall(r"(?:^|[ (|;&])thaw ([a-z]+)((?: [^|;&)>]*)?)", line):
            n += 1
            words = re.sub(r"'[^']*'|\"[^\"]*\"|\$\([^)]*\)?", "x", rest).split(" -- ")[0].replace("=", " ")
            unknown = [verb] if verb not in known else set(OPTION.findall(words)) - known[verb]
            bad += [f"{line}: {u}" for u in unknown]
    ok(f"the examples of {name}", bad if n else "there are none")


def check_topics(topics):
    for topic in topics:
        text = thaw("help", topic)
        wide = [line for line in text.splitlines() if len(line) > 80]
        ok(f"thaw help {topic}", (["it says nothing"] if not text else wide)[:1])
    for topic, names in (
            ("reasons", rows("REASON", 2, "timeline", "reason.def") + rows("EVIDENCE", 2, "timeline", "reason.def")),
            ("lock-kinds", rows("LOCK_KIND", 2, "model", "lock", "lock.def")),
            ("engines", rows("ENGINE", 2, "guard", "engines.def") + rows("UNSEEN", 2, "wire", "unseen.def")),
            ("losses", rows("LOSS", 2, "wire", "loss.def")),
            ("formats", rows("EXPORTER", 0, "export", "exporters.def"))):
        text = thaw("help", topic)
        missing = [n for n in names if not re.search(rf"^  {n} ", text, flags=re.M)]
        ok(f"thaw help {topic} has all of its table", missing or ("" if names else "no names"))


def update(path, table):
    text = re.sub(r"(<!-- table: [^\n]*-->\n).*?(<!-- end of table -->)",
                  lambda m: m.group(1) + table + m.group(2), read(path), flags=re.S)
    with open(os.path.join(ROOT, path), "w", encoding="utf-8") as f:
        f.write(text)


def binary_refers():
    """Pages and documents that are not beside it, and topics that are not there."""
    with open(THAW, "rb") as f:
        data = f.read()
    away = {m.group(0).decode() for m in
            re.finditer(rb"(?<![\w/])docs/[\w-]+(?:\.md)?|\bthaw-[a-z]+\(\d\)|\bman thaw[\w-]*", data)}
    named = {m.group(1).decode() for m in re.finditer(rb"\bthaw help ([a-z-]+)", data)} - {"lists"}
    unknown = sorted(name for name in named if subprocess.run([THAW, "help", name], capture_output=True,
                                                              check=False).returncode)
    return ", ".join(sorted(away) + [f"thaw help {name}" for name in unknown])


def main():
    usage = thaw("help")
    verbs = listed("verbs:", usage)
    topics = listed("topics, each with thaw help TOPIC:", usage)
    for verb in verbs:
        check_verb(verb)
        ok(f"thaw help {verb}", "" if thaw("help", verb) == thaw(verb, "--help") else "is not its --help")
    pages = {f[5:-2] for f in os.listdir(os.path.join(ROOT, "docs", "man")) if f != "thaw.1"}
    ok("every page is of a verb", ", ".join(sorted(pages - set(verbs))))
    main_page = plain(read("docs", "man", "thaw.1"))
    ok("thaw(1) has every verb",
       [v for v in verbs if f".TP\n.B {v}\n" not in main_page or f"thaw-{v} (1)" not in main_page])
    variables = [line.split()[0] for line in thaw("help", "environment").splitlines() if line[2] != " "]
    section = main_page.split(".SH ENVIRONMENT\n", 1)[1].split("\n.SH ", 1)[0]
    documented = re.findall(r"^\.TP\n\.B (\w+)$", section, flags=re.M)
    ok("thaw(1) and thaw help environment have the same variables",
       "" if documented == variables else f"{documented} and {variables}")
    help_page = plain(read("docs", "man", "thaw-help.1"))
    ok("thaw-help(1) has every topic", [t for t in topics if f".TP\n.B {t}\n" not in help_page])
    export_page = plain(read("docs", "man", "thaw-export.1")).split(".SH FORMATS\n", 1)[1]
    formats = rows("EXPORTER", 0, "export", "exporters.def")
    ok("thaw-export(1) has every format", [f for f in formats if f".TP\n.B {f}\n" not in export_page])
    table = thaw("export", "--list")
    if os.environ.get("UPDATE"):
        update("docs/export.md", table)
    ok("thaw export --list has every format", [f for f in formats if f"| `{f}` |" not in table])
    ok("docs/export.md has the table of thaw export --list",
       "" if table and table in read("docs", "export.md") else "it differs")
    for verb in verbs:
        schema = re.search(rf"^  thaw {verb} +(.+)$", thaw("help", "json"), flags=re.M)
        has = "--json" in of_help(verb)
        ok(f"thaw help json and thaw {verb} --help agree",
           "" if bool(schema) == has else f"schema {schema}, --json {has}")
    known = {verb: of_help(verb) for verb in verbs}
    check_examples("thaw help", thaw("help", "examples"), known)
    for page in sorted(os.listdir(os.path.join(ROOT, "docs", "man"))):
        section = plain(read("docs", "man", page)).split(".SH EXAMPLES\n", 1)[1].split("\n.SH ", 1)[0]
        check_examples(page, section, known)
    check_topics(topics)
    ok("what the binary refers to is in the binary", binary_refers())
    check_roff()
    return failed


sys.exit(main())
