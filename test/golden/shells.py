# SPDX-License-Identifier: MIT
"""What bash and zsh offer for thaw's command lines, asked of the shells themselves: shells.py BUILD_DIR

The scripts are those that `thaw completion` prints. For lists, bash runs the function that `complete`
registered, over the words as bash would split them; zsh, which completes nothing outside of its line
editor, sits at a terminal, and what its compadd accepts is written down. A few lines are typed at
a terminal of bash, too. What must be offered is read off --help, or stands here.
"""
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

THAW = os.path.join(os.path.abspath(sys.argv[1]), "thaw")
ENV = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TERM": "dumb", "LC_ALL": "C", "TZ": "UTC"}
WAIT_S = 60  # for a shell that hangs; nothing is measured
failed = False


def ok(name, good, why=""):
    global failed
    print(f"ok {name}" if good else f"FAIL {name}: {why}")
    failed = failed or not good


def thaw(*args):
    done = subprocess.run([THAW, *args], capture_output=True, text=True, check=False)
    return done.stdout


def verbs():
    text = thaw("--help").split("verbs:\n", 1)[1].split("\n\n", 1)[0]
    return [line.split()[0] for line in text.splitlines()]


def options(verb):
    """Those of --help: a column of its own, two blanks in, one option a line."""
    found = set()
    for line in thaw(verb, "--help").splitlines():
        m = re.match(r"  (?:(-\w), |    )(--[\w-]+)( |$)", line)
        if m:
            found |= {w for w in m.group(1, 2) if w}
    return found


class Bash:
    """One bash a question: `complete` registers a function, and it is called as bash would."""
    name = "bash"
    ASK = """
set -u +u
source "$1"; shift
cd "$1"; shift
set -- "$@"
f=$(complete -p thaw | sed 's/.*-F \\([^ ]*\\).*/\\1/')
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMP_TYPE=9
"$f" thaw "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
((${#COMPREPLY[@]})) && printf '%s\\n' "${COMPREPLY[@]}"
exit 0
"""

    def __init__(self, work):
        self.work = work
        self.script = os.path.join(work, "script.bash")
        with open(self.script, "w", encoding="utf-8") as f:
            f.write(thaw("completion", "bash"))

    def complete(self, line):
        words = [w for part in line.split(" ") for w in (re.findall(r"=|[^=]+", part) or [""])]
        done = subprocess.run(["/usr/bin/bash", "--norc", "-c", self.ASK, "bash", self.script,
                               os.path.join(self.work, "files"), *words],
                              env=ENV, capture_output=True, text=True, check=False)
        if done.returncode or done.stderr:
            raise RuntimeError(f"bash: {line!r}: {done.returncode} {done.stderr}")
        return set(done.stdout.split())

    def close(self):
        pass


class Terminal:
    def __init__(self, argv, cwd):
        self.pid, self.fd = os.forkpty()
        if not self.pid:
            os.chdir(cwd)
            os.execve(argv[0], argv, ENV)
        self.seen = b""

    def type(self, text):
        os.write(self.fd, text.encode())

    def until(self, done, what):
        end = time.monotonic() + WAIT_S
        while not done():
            if time.monotonic() > end:
                raise RuntimeError(f"{what}: the shell does not answer: {self.seen[-300:]!r}")
            if select.select([self.fd], [], [], 0.05)[0]:
                self.seen += os.read(self.fd, 65536)

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


class Zsh:
    name = "zsh"
    SETUP = """
PS1='> '
cd {files}
fpath=({work}/zsh $fpath)
autoload -Uz compinit
compinit -u -D
{sourced}
LISTMAX=100000
setopt no_auto_list no_auto_menu no_beep
compadd() {{
	if [[ ${{@[1,(i)(-|--)]}} == *-[OAD]\\ * ]]; then
		builtin compadd "$@"
		return
	fi
	local -a hits
	builtin compadd -A hits "$@"
	print -rl -- $hits >>{out}
	builtin compadd "$@"
}}
mark() {{ print -r -- '=end=' >>{out} }}
zle -N mark
bindkey '^Xm' mark
bindkey '^Xt' complete-word
bindkey '^Xk' kill-whole-line
print -r -- '=end=' >>{out}
"""

    def __init__(self, work, name="_thaw"):
        """As _thaw in $fpath, or, under another name, sourced."""
        self.out = os.path.join(work, "zsh.out")
        os.makedirs(os.path.join(work, "zsh"), exist_ok=True)
        script = os.path.join(work, "zsh", name)
        with open(script, "w", encoding="utf-8") as f:
            f.write(thaw("completion", "zsh"))
        setup = os.path.join(work, "setup.zsh")
        files = os.path.join(work, "files")
        with open(setup, "w", encoding="utf-8") as f:
            f.write(self.SETUP.format(work=work, out=self.out, files=files,
                                      sourced="" if name == "_thaw" else f"source {script}"))
        self.terminal = Terminal(["/usr/bin/zsh", "-f", "-i"], files)
        self.terminal.type(f"source {setup}\n")
        self.answer("setup")

    def answer(self, what):
        def text():
            try:
                with open(self.out, encoding="utf-8") as f:
                    return f.read()
            except OSError:
                return ""
        self.terminal.until(lambda: text().endswith("=end=\n"), what)
        lines = text().splitlines()[:-1]
        os.unlink(self.out)
        return {line for line in lines if line}

    def complete(self, line):
        self.terminal.type(line + "\x18t\x18m")
        found = self.answer(line)
        self.terminal.type("\x18k")
        return found

    def close(self):
        self.terminal.type("\x18k exit\n")
        self.terminal.close()


def bash_typed(script, files):
    """Lines that are typed at a terminal, with a TAB, and what is then on the line."""
    t = Terminal(["/usr/bin/bash", "--norc", "--noprofile", "-i"], files)
    t.type(f"PS1=; bind 'set enable-bracketed-paste off'; source {script}; echo rea''dy\n")
    t.until(lambda: b"ready\r\n" in t.seen, "start")
    for line, want in (
            ("thaw exp\t", ["thaw", "export"]),
            ("thaw export -f coll\t", ["thaw", "export", "-f", "collapsed"]),
            ("thaw export --format=coll\t", ["thaw", "export", "--format=collapsed"]),
            ("thaw report some\t", ["thaw", "report", "some capture.thaw"]),
            ("thaw info --ver\t", ["thaw", "info", "--verify"])):
        t.seen = b""
        t.type(line + "\x01printf '<%s>' \x05; echo '=e''nd='\n")
        t.until(lambda: b"=end=\r\n" in t.seen, line)
        got = re.findall(r"<([^<>%]*)>", t.seen.decode().rsplit("\n", 2)[-2])
        ok(f"bash at a terminal: {line.strip()}", got == want, f"{got}")
    t.type("exit\n")
    t.close()


def check(shell, all_verbs):
    def offers(line, want, name=None):
        got = shell.complete(line)
        ok(f"{shell.name} {name or line}", got == set(want), f"offers {sorted(got)}")

    def has(line, want, without=()):
        got = shell.complete(line)
        ok(f"{shell.name} {line}", set(want) <= got and not got & set(without),
           f"offers {sorted(got)}")

    offers("thaw ", all_verbs, "the verbs")
    offers("thaw rep", ["report"])
    has("thaw -", ["--help", "--version"])
    for verb in all_verbs:
        offers(f"thaw {verb} -", options(verb), f"every option of thaw {verb} --help")
        offers(f"thaw {verb} --", [o for o in options(verb) if o.startswith("--")],
               f"every long option of thaw {verb}")
    formats = [line.split()[0] for line in
               thaw("export", "--help").split("formats:\n", 1)[1].splitlines() if line[2] != " "]
    offers("thaw export -f ", formats)
    offers("thaw export --format ", formats)
    offers("thaw export some.thaw --kind ", ["cpu", "wait", "lock"])
    offers("thaw report --sort ru", ["running", "runnable"])
    offers("thaw locks --sort ", ["total", "max", "waits"])
    offers("thaw locks --kind kernel_m", ["kernel_mutex"])
    offers("thaw record --engine ", ["auto", "bpf", "perf", "ctimer"])
    has("thaw record --accept ", ["H1"], ["--all"])
    offers("thaw completion ", ["bash", "zsh"])
    pid = str(os.getpid())
    has("thaw record -p ", [pid, "1"])
    has("thaw record -t ", [pid])
    offers("thaw report ", ["a.thaw", "some\\ capture.thaw", "folder"] if shell.name == "zsh" else
           ["a.thaw", "some", "capture.thaw", "folder"], "captures and folders")
    offers("thaw report a.thaw --to", ["--top", "--to"])
    has("thaw record -o ", ["a.thaw", "notes.txt"])
    offers("thaw view --port ", [], "nothing for a number")
    has("thaw record -F 99 l", ["ls"], ["--locks"])
    has("thaw record -- l", ["ls"])
    has("thaw record ls ", ["notes.txt"])
    has("thaw locks -d 2s -- l", ["ls"])
    has("thaw doctor --l", ["--list"])
    offers("thaw export --format=c", [f for f in formats if f.startswith("c")])
    offers("thaw export --format=", formats)


def main():
    with tempfile.TemporaryDirectory() as work:
        os.makedirs(os.path.join(work, "files", "folder"))
        for name in ("a.thaw", "some capture.thaw", "notes.txt"):
            with open(os.path.join(work, "files", name), "w", encoding="utf-8"):
                pass
        for path, make in (("/usr/bin/bash", Bash), ("/usr/bin/zsh", Zsh)):
            if not shutil.which(path):
                print(f"skip completion in {make.name}: there is no {path}")
                continue
            shell = make(work)
            try:
                check(shell, verbs())
            finally:
                shell.close()
            if make is Zsh:
                os.unlink(os.path.join(work, "zsh", "_thaw"))
                shell = Zsh(work, "sourced.zsh")
                found = shell.complete("thaw rep")
                ok("zsh with the script sourced", found == {"report"}, f"offers {sorted(found)}")
                shell.close()
            if make is Bash:
                bash_typed(shell.script, os.path.join(work, "files"))
    return failed


sys.exit(main())
