# SPDX-License-Identifier: MIT
"""The programs that shell scripts and the Makefile run, by the syntax tree that shfmt makes of them. What
is handed to a function or a wrapper (env, timeout, xargs ...) is looked at too."""
import json
import re
import subprocess

BUILTINS = set(""". : [ alias bg break cd command continue echo eval exec exit export false fg getopts hash jobs kill
    local printf pwd read readonly return set shift test times trap true type ulimit umask unset wait source
    declare shopt complete compgen compopt""".split())
# What runs another program: the options that take a word of their own.
WRAPPERS = {"exec": "", "command": "", "env": "uC", "timeout": "ks", "nice": "n", "nohup": "", "setsid": "",
            "unshare": "", "setpriv": "", "chroot": "", "xargs": "aEIiLlnPsd", "flock": "wE", "sudo": "ugC",
            "stdbuf": "ioe", "taskset": "", "script": ""}
# Words of a wrapper that stand between it and the program.
FIRST = {"timeout": 1, "chroot": 1, "flock": 1, "taskset": 1}

# ${x-y} and ${x:-y}, as shfmt numbers them.
DEFAULTS = (70, 71)


def tree(text, where):
    done = subprocess.run(["shfmt", "--to-json"], input=text.encode(), capture_output=True, check=False)
    if done.returncode:
        raise SyntaxError(f"{where}: {done.stderr.decode().strip()}")
    return json.loads(done.stdout)


def nodes(node):
    if isinstance(node, dict):
        yield node
        for child in node.values():
            yield from nodes(child)
    elif isinstance(node, list):
        for child in node:
            yield from nodes(child)


def word(node):
    """What a word says, with \\0 for what only the shell knows. ${CC:-cc} says cc."""
    out = ""
    for part in node.get("Parts", ()):
        kind = part.get("Type")
        if kind in ("Lit", "SglQuoted"):
            out += part.get("Value", "")
        elif kind == "DblQuoted":
            out += word(part)
        elif kind == "ParamExp" and part.get("Exp", {}).get("Op") in DEFAULTS:
            out += word(part["Exp"].get("Word", {}))
        else:
            out += "\0"
    return out


def behind(words):
    """What a wrapper runs, as words; itself is a program too."""
    name, rest = words[0], words[1:]
    while rest and (rest[0].startswith("-") or "=" in rest[0] and name == "env"):
        option = rest.pop(0)
        if len(option) == 2 and option[1] in WRAPPERS[name] and rest:
            rest.pop(0)
    return rest[FIRST.get(name, 0):]


def programs(text, where, recognized):
    """(line, name, certain) of each. `recognized(name)` tells a program among the words that a function of
    the script is called with."""
    syntax = tree(text, where)
    own = {n["Name"]["Value"] for n in nodes(syntax) if n.get("Type") == "FuncDecl"}
    for node in nodes(syntax):
        if node.get("Type") == "CallExpr" and node.get("Args"):
            line = node["Args"][0]["Pos"]["Line"]
            for name, certain in of_command([word(a) for a in node["Args"]], where, own, recognized):
                yield line, name, certain


def of_command(words, where, own, recognized):
    while words:
        name = words[0]
        if name in ("sh", "bash", "/bin/sh") and "-c" in words[:-1]:
            yield name, True
            script = words[words.index("-c") + 1].replace("\0", "./made")
            for _, found, certain in programs(script, where, recognized):
                yield found, certain
            return
        if name in own:
            at = next((i for i, w in enumerate(words) if i and (w in WRAPPERS or w == "sh" or recognized(w))), 0)
            if at:
                yield from of_command(words[at:], where, own, recognized)
            return
        if name and "\0" not in name and name not in BUILTINS and ("/" not in name or name.startswith("/")):
            yield name, True
        if name == "command" and words[1:2] in (["-v"], ["-V"]):
            yield from ((w, True) for w in words[2:] if "\0" not in w and not w.startswith("./"))
            return
        if name not in WRAPPERS:
            return
        words = behind(words)


def variables(text):
    """The Makefile's own settings of programs: NAME ?= program."""
    return dict(re.findall(r"^([A-Z_]+)\s*[?:]?=\s*([^\s$]\S*)\s*$", text, re.M))


def closing(text, at):
    """Behind the parenthesis that closes the one before `at`."""
    depth = 1
    while at < len(text) and depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def expand(text, settings):
    """Make's variables and functions: those that name a program by it, any other by a word of its own."""
    out, i = "", 0
    while i < len(text):
        if text.startswith("$$", i):
            out, i = out + "$", i + 2
        elif text.startswith("$(", i):
            j = closing(text, i + 2)
            name = text[i + 2:j - 1]
            out += {"Q": "", "MAKE": "make"}.get(name, settings.get(name, "./made"))
            i = j
        elif text[i] == "$" and text[i + 1:i + 2] in ("@", "<", "^", "*"):
            out, i = out + "./made", i + 2
        else:
            out, i = out + text[i], i + 1
    return out


def makefile(text, recognized):
    """(line, target, name, certain) of each recipe and $(shell ...)."""
    settings = {"CC": "cc", "BPFTOOL": "bpftool", **variables(text)}
    target, lines, i, inside = "", text.split("\n"), 0, False
    while i < len(lines):
        at, whole = i + 1, lines[i]
        while whole.endswith("\\") and i + 1 < len(lines):
            i += 1
            whole = whole[:-1] + " " + lines[i].strip()
        i += 1
        inside = whole.startswith("define ") or inside and whole != "endef"
        if inside:
            whole = whole.replace("$$", "$")
        recipe = whole.startswith("\t")
        if not recipe and (m := re.match(r"([^\s#:=][^:=]*?)\s*:(?!=)", whole)):
            target = m.group(1)
        elif not recipe and not whole.strip():
            target = ""
        commands = [whole[m.end():closing(whole, m.end()) - 1] for m in re.finditer(r"\$\(shell ", whole)]
        if recipe and "$(call " not in whole:
            commands.append(whole.strip().lstrip("@-"))
        for command in commands:
            if not command.strip():
                continue
            for _, name, certain in programs(expand(command, settings), f"Makefile:{at}", recognized):
                yield at, target, name, certain
