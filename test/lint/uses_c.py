# SPDX-License-Identifier: MIT
"""What C code uses: headers, also of programs that scripts compile, libraries that it links or loads, and
programs that it runs."""
import re

import uses_shell

STRING = r'"(?:[^"\\\n]|\\.)*"'
STRINGS = rf"(?:{STRING}\s*)+"


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def headers(text):
    """The headers of C; those of C++ have no dot."""
    for m in re.finditer(r"#\s*include\s*<([\w./+-]+)>", text):
        yield line_of(text, m.start()), m.group(1)


def loaded(text):
    """Libraries that are loaded by name when they are there."""
    for m in re.finditer(r'"(lib[\w+.-]+\.so\.\d+)"', text):
        yield line_of(text, m.start()), m.group(1)


def linked(text):
    """-lNAME where something is compiled: not the options of ls, wc or grep."""
    for m in re.finditer(r"""(?<![\w-])-l([a-z][a-z0-9_+]+)(?=["'\s\\,)]|$)""", text, re.M):
        line = text[text.rfind("\n", 0, m.start()) + 1:text.find("\n", m.end())]
        if re.search(r"\s-o\b|LIBS|\$\(CC\)|-shared|_L\b|\"-l", line):
            yield line_of(text, m.start()), m.group(1)


def said(strings):
    """What adjacent literals say together, with words of their own for what printf() puts in."""
    text = "".join(s[1:-1] for s in re.findall(STRING, strings))
    text = re.sub(r"%[-#0-9.*]*[a-z]+", "./made", text.replace("%%", "%"))
    return text.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")


def programs(text, where, recognized, listed):
    """(line, name, certain) of each. A single word may be anything, unless it is in the table."""
    for m in re.finditer(rf"\bexec[lv]p?e?\(\s*({STRING})", text):
        yield line_of(text, m.start()), m.group(1)[1:-1], True
    for m in re.finditer(rf"\b(?:system|popen|sh)\(\s*({STRINGS})|\bsnprintf\(\s*command\s*,[^,]+,\s*({STRINGS})", text):
        for _, name, certain in uses_shell.programs(said(m.group(1) or m.group(2)), where, recognized):
            yield line_of(text, m.start()), name, certain
    if re.search(r"\b(system|popen|exec[lv]p?e?)\(", text):
        for m in re.finditer(rf'(?<!include )({STRING})', text):
            word, *more = m.group(1)[1:-1].split(" ")
            if recognized(word) and (more or listed(word)):
                yield line_of(text, m.start()), word, False
