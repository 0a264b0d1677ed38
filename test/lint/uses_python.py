# SPDX-License-Identifier: MIT
"""The programs that Python scripts run, and the modules that they import. A program is the first word of a
list that subprocess or a function like it is called with, a name that is looked for, or what stands in any
other list in the place of one, if there is a program of this name."""
import ast
import functools
import re
import sys

import uses_shell

CALLS = {"run", "Popen", "call", "check_call", "check_output", "start", "execv", "execvp", "execve", "spawnvp",
         "which", "system", "popen"}


@functools.lru_cache(maxsize=2)
def nodes_of(text, where):
    """All of a script's, once for all who look at it."""
    return list(ast.walk(ast.parse(text, where)))


def settings(nodes):
    """What names are set to, in the order of the file."""
    found = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node.value)
    return {name: sorted(values, key=lambda v: v.lineno) for name, values in found.items()}


def text_of(node, known, depth=0):
    """A string as it stands, with \0 for a part that only a run knows; None if that is all of it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name) and depth < 4:
        before = [v for v in known.get(node.id, ()) if v.lineno <= node.lineno]
        return text_of(before[-1], known, depth + 1) if before else None
    if isinstance(node, ast.JoinedStr):
        parts = [text_of(v.value if isinstance(v, ast.FormattedValue) else v, known, depth) for v in node.values]
        return "".join(p if p is not None else "\0" for p in parts)
    return None


def words_of(node, known):
    """The words of a list; None for each that only a run knows."""
    return [None if isinstance(e, ast.Starred) else text_of(e, known) for e in node.elts]


def name_of(call):
    f = call.func
    return f.attr if isinstance(f, ast.Attribute) else f.id if isinstance(f, ast.Name) else ""


def takes(node, names):
    """Whether an argument is one of these names, or a list that begins with what it holds."""
    if isinstance(node, ast.BinOp):
        return takes(node.left, names)
    if isinstance(node, ast.ListComp):
        return takes(node.generators[0].iter, names)
    if isinstance(node, ast.List) and node.elts:
        return isinstance(node.elts[0], ast.Starred) and takes(node.elts[0].value, names)
    return isinstance(node, ast.Name) and node.id in names


@functools.cache
def helpers(text, where):
    """Functions of a script that run or look for what they are called with."""
    found = set()
    for node in nodes_of(text, where):
        if not isinstance(node, ast.FunctionDef) or not node.args.args and not node.args.vararg:
            continue
        first = {node.args.args[0].arg if node.args.args else node.args.vararg.arg}
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and name_of(call) in CALLS and call.args and takes(call.args[0], first):
                found.add(node.name)
    return found


def is_name(word):
    return bool(word) and bool(re.fullmatch(r"/[\w./+-]+|[A-Za-z][\w.+-]*", word))


def looks_like(words):
    """A command among the lists that are anything: a name, an option."""
    return len(words) > 1 and is_name(words[0]) and bool(re.match(r"--?[a-zA-Z]", words[1]))


def of_words(words, where, certain, recognized):
    """A command, and the commands that it is told to run: behind --, behind a wrapper, in a script."""
    if not words or words[0] is None:
        first = []
    else:
        first = [w if w is not None else "\0" for w in words]
        if not certain and not looks_like(first) and not recognized(first[0]):
            first = []
    if first:
        yield from uses_shell.of_command(first, where, set(), recognized)
    for i, w in enumerate(words[:-1]):
        if w == "--" and words[i + 1] and recognized(words[i + 1]):
            yield from uses_shell.of_command([x or "\0" for x in words[i + 1:]], where, set(), recognized)


def programs(text, where, recognized, runners):
    """(line, name, certain) of each. `runners`: the helpers of the scripts beside it."""
    nodes = nodes_of(text, where)
    mine = helpers(text, where)
    known = settings(nodes)
    own = {n.name for n in nodes if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    certain = set()
    for node in nodes:
        if not isinstance(node, ast.Call) or not node.args or \
                isinstance(node.func, ast.Name) and node.func.id in own - mine:
            continue
        first = node.args[0]
        if name_of(node) in CALLS | runners | mine:
            if isinstance(first, ast.List):
                certain.add(first)
            elif name_of(node) not in CALLS:
                if (name := text_of(first, known)) and recognized(name):
                    yield node.lineno, name, False
            elif name_of(node) == "which" and (name := text_of(first, known)):
                yield node.lineno, name, True
            elif name_of(node) in ("system", "popen") and (script := text_of(first, known)):
                for _, name, sure in uses_shell.programs(script, where, recognized):
                    yield node.lineno, name, sure
            elif name_of(node).startswith("exec") and (name := text_of(first, known)):
                yield node.lineno, name, True
    for node in nodes:
        if isinstance(node, (ast.List, ast.Tuple)):
            words = words_of(node, known)
        elif isinstance(node, ast.Call):
            words = [None] + [None if isinstance(a, ast.Starred) else text_of(a, known) for a in node.args]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and \
                re.fullmatch(r"/usr/s?bin/[\w.+-]+", node.value):
            yield node.lineno, node.value, True
            continue
        else:
            continue
        for name, sure in of_words(words, where, node in certain, recognized):
            if is_name(name) and name not in own:
                yield node.lineno, name, sure


def modules(text, where, own):
    """(line, name) of each module that is neither Python's nor one of our own."""
    for node in nodes_of(text, where):
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module]
        else:
            continue
        for name in {n.split(".")[0] for n in names}:
            if name not in sys.stdlib_module_names and name not in own:
                yield node.lineno, name
