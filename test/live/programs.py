#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real programs under the ctimer engine: the same output, the same complaints and the same exit status
as without. Each command runs twice without thaw first: what differs then proves nothing, and is left
out. Commands whose program is not installed are left out too; the count says what was compared."""
import glob
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys

from harness import THAW, Skip, check, report, run, start, stop, tests_of, wait_until

BESIDE = True   # compares no clocks: test/run puts others next to it

COMPARED = 0.75   # of the commands listed: a Debian with what tools/setup installs has more
UNSTEADY = 0.05   # of them may say something else each time

# Made in the folder of each group before its commands run.
FILES = """
seq 1 2000 > numbers; printf 'b 2\\na 1\\nc 3\\na 4\\n' > pairs; printf 'one two\\nthree\\n' > words
printf 'a,b\\n1,2\\n3,4\\n' > t.csv; echo '{"a":[1,2,{"b":null}]}' > t.json; cp /bin/ls program
printf '#include <stdio.h>\\nint main(void){int s=0;for(int i=0;i<9;i++)s+=i;printf("%d\\\\n",s);return s;}\\n' > t.c
printf '<r><x a="1">y</x></r>' > t.xml; mkdir -p dir/sub; echo in > dir/sub/file; ln -s pairs link
awk 'BEGIN { for (i = 0; i < 60000; i++) print (i * 7919) % 65537 }' > many
"""

SHELL = r"""
true
false
echo hello world
printf '%05d %x\n' 42 255
pwd -P | sed 's|.*/||'
basename /a/b/c.txt .txt
dirname /a/b/c.txt
seq 3 7 50
expr 6 \* 7
test -d dir && echo there
[ 1 -gt 2 ]
yes abc | head -n 1000 | md5sum
cat numbers pairs | md5sum
tac numbers | md5sum
head -c 100 numbers
tail -n 3 numbers
wc numbers pairs words
sort -n many | md5sum
sort -R --random-source=numbers pairs | wc -l
sort --parallel=2 -S 1M many | uniq -c | md5sum
uniq -d pairs
cut -d' ' -f2 pairs
paste pairs words
join -a1 pairs pairs
comm -12 numbers numbers | wc -l
tr a-z A-Z < words
fold -w 5 words
fmt -w 10 words
nl words
od -c words
pr -l 20 words | md5sum
expand words
unexpand words
split -l 500 numbers part- && cat part-* | md5sum && ls part-*
csplit -s numbers 100 && wc -l xx00 xx01
tsort pairs
factor 123456789012
numfmt --to=iec 123456789
base64 program | md5sum
base32 words
md5sum numbers
sha1sum numbers
sha256sum numbers
sha512sum numbers
b2sum numbers
cksum numbers
sum numbers
shuf -i 1-9 --random-source=numbers
truncate -s 5 words && cat words
ls -1
ls -R dir
stat -c '%F %s' numbers
touch -d @0 t0 && stat -c %Y t0
cp numbers copy && cmp numbers copy
mv pairs pairs2 && ls pairs2
ln numbers hard && stat -c %h hard
rm -v words
mkdir -vp x/y/z
rmdir x 2>&1
readlink link
realpath --relative-to=. dir/sub
mktemp -u XXXXXX | wc -c
dd if=numbers bs=100 count=3 status=none | md5sum
du -a --apparent-size dir
df --output=target / | tail -n 1
id -u root
date -u -d @86400 +%F
env -i A=1 env
env -u HOME printenv TZ
printenv HOME | wc -l
nice -n 5 nice
nohup echo hi 2>/dev/null
timeout 0.2 sleep 5
timeout -s KILL 0.2 sleep 5
sleep 0.05
sh -c 'kill -TERM $$'
sh -c 'exit 77'
sh -c 'trap "echo caught; exit 3" USR1; kill -USR1 $$; sleep 1'
setsid sh -c 'echo session'
stdbuf -oL cat words
chroot --version | head -n 1
uname -s
arch
nproc --all
tty < /dev/null
who /dev/null
test -t 0 < /dev/null
find . -name '*.json' -o -name 'numb*' | sort
find dir -type f -exec cat {} +
find . -maxdepth 1 -type f | sort | xargs wc -l
seq 1 200 | xargs -n 1 -P 4 echo | sort -n | md5sum
grep -c 7 numbers
grep -n three words
grep -E '^(1|2)0+$' numbers
grep -rl in dir
egrep -c '9$' numbers 2>/dev/null
sed -n '5,9p' numbers
sed -i s/one/1/ words && cat words
awk '{ s += $1 } END { print s }' numbers
awk 'BEGIN { "echo sub" | getline x; print x; system("echo sys"); print ENVIRON["TZ"] }'
mawk 'BEGIN { for (i = 0; i < 300000; i++) s += i; print s }'
gawk 'BEGIN { print strftime("%F", 0, 1) }'
diff pairs words
diff3 pairs pairs pairs
sdiff -l pairs words
patch --version | head -n 1
tar cf - --mtime=@0 --owner=0 --group=0 --sort=name dir | md5sum
tar czf a.tgz dir && tar tzf a.tgz
tar cJf a.txz dir && tar xJOf a.txz dir/sub/file
gzip -n -c many | md5sum
gzip -c many | gunzip | md5sum
bzip2 -c many | md5sum
xz -T1 -c many | md5sum
xz -T2 -0 -c many | xz -dc | md5sum
zstd -q -c many | md5sum
zstd -q -T2 -c many | zstd -dqc | md5sum
zip -qX a.zip numbers && unzip -p a.zip | md5sum
cpio --version | head -n 1
ar rcD a.a words && ar t a.a
file -b words
file -b program
strings program | md5sum
hexdump -C words
xxd words
rev words
column -t pairs
look 100 numbers
tput -T xterm cols | wc -l
getopt -o ab: -- -a -b x y
logger --version | head -n 1
flock lockfile echo locked
getconf PAGE_SIZE
locale -k LC_NUMERIC | head -n 2
iconv -f utf-8 -t latin1 words
ldd program | sed 's/(0x.*//'
cal 1 2000
hostname | wc -l
ps -o comm= -p $$
kill -l
pgrep --version | head -n 1
free -V
bash -c 'for i in {1..20000}; do s=$((s+i)); done; echo $s'
bash -c 'set -o pipefail; false | true; echo $?'
bash -c 'export -p | grep -c "THAW\|LD_PRELOAD\|ASAN"'
bash -c 'coproc cat; echo hi >&${COPROC[1]}; read -u ${COPROC[0]} x; echo $x'
bash -c 'f() { echo $BASHPID; }; [ "$(f)" != "$$" ] && echo sub'
bash -c 'exec 5>&1; ls /proc/self/fd | wc -l'
bash -c 'for s in $(kill -l | tr -d "0-9)\t"); do trap : $s; done 2>/dev/null; trap | wc -l'
bash -c 'wait; sleep 0.1 & wait $!; echo $?'
bash -c 'ulimit -n 20; ulimit -i 10; (true); echo ok'
dash -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo $i'
busybox echo static
perl -e 'my $s = 0; $s += $_ * $_ for 1 .. 300000; print "$s\n"'
perl -e 'print join(",", map { "$_=$ENV{$_}" } grep { /THAW|PRELOAD|ASAN/ } sort keys %ENV), "\n"'
perl -e '$SIG{ALRM} = sub { print "alarm\n"; exit 2 }; alarm 1; 1 while 1'
perl -e 'for my $s (keys %SIG) { $SIG{$s} = "DEFAULT" if $s =~ /^(NUM|RT)/ } my $x = 0; $x++ for 1 .. 3000000; print "$x\n"'
perl -e 'my $p = fork; if (!$p) { exit 9 } waitpid($p, 0); print $? >> 8, "\n"'
perl -e 'system("echo a"); print `echo b`; open(F, "echo c |"); print <F>'
gcc -o t t.c && ./t
gcc -O2 -S -o - t.c | md5sum
g++ --version | head -n 1
clang-16 -O1 -S -o - t.c | md5sum
cpp -P t.c | md5sum
as --version | head -n 1
ld --version | head -n 1
nm -D program | md5sum
objdump -d program | md5sum
readelf -a program | md5sum
size program
strip -o s program && md5sum s
objcopy --only-keep-debug program d && md5sum d
addr2line --version | head -n 1
make: printf 'a:\n\t@echo made\n' | make -s -f -
make --version | head -n 1
git init -q g && cd g && git config user.email a && git config user.name b && echo x > f && git add f && GIT_AUTHOR_DATE=@0+0000 GIT_COMMITTER_DATE=@0+0000 git commit -qm m && git log --format=%H
git --version
sqlite3 :memory: 'with recursive c(x) as (select 1 union all select x+1 from c where x < 200000) select sum(x) from c'
jq -c .a t.json
xmllint --xpath '//x/@a' t.xml
openssl dgst -sha256 numbers
openssl enc -aes-128-cbc -K 00 -iv 00 -in numbers 2>/dev/null | md5sum
curl -s file://$PWD/words
wget --version | head -n 1
bc: echo '2^300' | bc
dc -e '2 1000 ^ p'
gdb -batch -ex 'print 6*7' 2>/dev/null
valgrind -q --error-exitcode=9 ./program words
man -w ls
vim -es -c 'r words' -c 'wq! out' < /dev/null; cat out
node -e 'let s = 0; for (let i = 0; i < 3e6; i++) s += i; console.log(s, Object.keys(process.env).filter(k => /THAW|PRELOAD|ASAN/.test(k)))'
node -e 'const w = require("worker_threads"); if (w.isMainThread) { let n = 0; for (let i = 0; i < 4; i++) new w.Worker(process.argv[1] || __filename, {eval: false}).on("error", () => { if (++n == 4) console.log("four") }) }'
ruby -e 'puts (1..100000).sum { |x| x * x }'
lua -e 'local s = 0 for i = 1, 3000000 do s = s + i end print(s)'
php -r 'echo array_sum(range(1, 100000)), "\n";'
tclsh: echo 'puts [expr 6*7]' | tclsh
m4: echo 'define(a,b)a' | m4
ssh -V
rsync -an --out-format=%n dir/ other/
rsync -a dir/ copy/ && find copy | sort
ssh-keygen -l -f /dev/null
dpkg --print-architecture
dpkg-query -W -f '${Version}\n' libc6
apt-cache --version | head -n 1
dpkg-deb --version | head -n 1
systemd-escape a/b
systemd-id128 --version | head -n 1
unshare -r true
setpriv --no-new-privs sh -c 'i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; echo $i'
gpg --version | head -n 1
protoc --version
cmake --version | head -n 1
redis-cli --version
psql --version
pgbench --version
initdb --version
"""

PYTHON = r"""
print(sum(i * i for i in range(400000)))
import os; print({k for k in os.environ if "THAW" in k or "PRELOAD" in k or "ASAN" in k})
import os; print(sorted(os.listdir("/proc/self/fd")))
import subprocess; print(subprocess.run(["sh", "-c", "echo $0; exit 4"], capture_output=True))
import subprocess; print(subprocess.run(["env"], env={"A": "1"}, capture_output=True).stdout)
import subprocess; print(subprocess.run(["env"], env={}, capture_output=True, close_fds=True).stdout)
import subprocess; print([subprocess.run(["true"]).returncode for _ in range(20)])
import os; print(os.system("exit 5") >> 8, os.popen("echo hi").read())
import os; p = os.posix_spawn("/bin/echo", ["echo", "spawned"], {}); print(os.waitpid(p, 0)[1])
import os; p = os.fork(); os._exit(3) if not p else print(os.waitstatus_to_exitcode(os.wait()[1]))
import os; os.execv("/bin/echo", ["echo", "became"])
import os; os.execle("/usr/bin/env", "env", {"B": "2"})
import sys; sys.exit(200)
import os; os.abort()
import os, signal; os.kill(os.getpid(), signal.SIGSEGV)
import signal, time; signal.alarm(1); signal.signal(signal.SIGALRM, lambda *a: (print("alarm"), exit(1))); time.sleep(5)
import signal; signal.setitimer(signal.ITIMER_PROF, .02); signal.signal(signal.SIGPROF, lambda *a: (print("prof"), exit(1)));  [x for x in iter(int, 1)]
import signal; [signal.signal(s, signal.SIG_DFL) for s in signal.valid_signals() if s not in (9, 19, 32, 33)]; print(sum(range(3000000)))
import signal; signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()); print(sum(range(3000000)), signal.sigpending())
import signal, os; signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()); sum(range(3000000)); os.kill(os.getpid(), 10); print(signal.sigwait(signal.valid_signals()))
import faulthandler; faulthandler.enable(); print(sum(range(1000000)))
import sys; sys.setrecursionlimit(100000); f = lambda n: 0 if n == 0 else 1 + f(n - 1); print(f(5000))
import threading; t = [threading.Thread(target=lambda: sum(range(200000))) for _ in range(50)]; [x.start() for x in t]; [x.join() for x in t]; print(len(t))
import threading; threading.stack_size(65536); t = [threading.Thread(target=sum, args=(range(100000),)) for _ in range(20)]; [x.start() for x in t]; [x.join() for x in t]; print("small")
from concurrent.futures import ThreadPoolExecutor as P; print(sum(P(8).map(lambda x: x * x, range(5000))))
from multiprocessing import Pool; print(sum(Pool(3).map(abs, range(-2000, 2000))))
import asyncio; print(asyncio.run(asyncio.wait_for(asyncio.sleep(.05, 7), 5)))
import socket; a, b = socket.socketpair(); a.send(b"x" * 1000); print(len(b.recv(2000)))
import select, os; r, w = os.pipe(); p = select.epoll(); p.register(r, 1); print(p.poll(.05)); os.write(w, b"x"); print(len(p.poll(1)))
import time; t = time.monotonic(); time.sleep(.2); print(time.monotonic() - t >= .2)
import ctypes; print(ctypes.CDLL(None).abs(-5))
import ctypes.util, ctypes; print(ctypes.CDLL("libz.so.1").zlibVersion is not None)
import zlib, hashlib, lzma, bz2; d = bytes(range(256)) * 4000; print(*(hashlib.md5(f(d)).hexdigest() for f in (zlib.compress, lzma.compress, bz2.compress)))
import json, re, random; random.seed(1); print(re.sub(r"\d", "#", json.dumps([random.random() for _ in range(5)])))
import decimal; decimal.getcontext().prec = 2000; print(hash(decimal.Decimal(2).sqrt()))
import sqlite3; c = sqlite3.connect(":memory:"); print(c.execute("with recursive c(x) as (select 1 union all select x+1 from c where x<99999) select sum(x) from c").fetchone())
import resource; print(resource.getrlimit(resource.RLIMIT_SIGPENDING) is not None, resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 0)
import tempfile, mmap; f = tempfile.TemporaryFile(); f.truncate(9999); m = mmap.mmap(f.fileno(), 0); m[5] = 7; print(sum(m))
import gc, weakref; print(gc.collect() >= 0)
import os; print(os.sched_getaffinity(0) == os.sched_getaffinity(os.getpid()))
"""

JAVA = """
import java.util.*; import java.util.concurrent.*;

class Load { public static void main(String[] a) throws Exception {
  ExecutorService p = Executors.newFixedThreadPool(4); List<Future<Long>> f = new ArrayList<>();
  for (int i = 0; i < 20; i++) { final int n = i; f.add(p.submit(() -> { long s = 0;
    for (int k = 0; k < 3000000; k++) s += (long) k * n ^ s >> 3; return s; })); }
  for (Future<Long> x : f) System.out.println(x.get()); p.shutdown();
  StringBuilder b = new StringBuilder(); for (int i = 0; i < 200000; i++) b.append(i); System.out.println(b.toString().hashCode());
  System.out.println(System.getenv().keySet().stream().filter(k -> k.matches(".*(THAW|PRELOAD|ASAN).*")).count());
  System.exit(12); } }
"""


def environment():
    keep = {k: v for k, v in os.environ.items() if k in ("PATH", "LD_LIBRARY_PATH", "JAVA_HOME")}
    return dict(keep, LC_ALL="C.UTF-8", TZ="UTC", HOME=os.getcwd(), USER="somebody", TERM="dumb")


def attempt(command, under, n):
    """A fresh folder of the same name each time: commands write, and some print where they are."""
    folder = os.path.join(os.getcwd(), "work")
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    subprocess.run(["sh", "-c", FILES], cwd=folder, check=False, stderr=subprocess.DEVNULL)
    capture = os.path.join(os.getcwd(), f"{n}.thaw")
    thaw = [THAW, "record", "-q", "-o", capture, "--engine", "ctimer", "--"] if under else []
    r = subprocess.run(thaw + command, cwd=folder, env=dict(environment(), HOME=folder),
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
    if under:
        check(os.path.exists(capture), f"{command}: no capture")
        os.remove(capture)
    return r.returncode, r.stdout, r.stderr


def as_thaw_has_it(status):
    """A shell's word for a command that was killed."""
    return 128 - status if status < 0 else status


def compare(commands, of):
    """`of`: how many commands there are if every program is installed. Most must have been compared, and hardly one
    may differ from itself."""
    same, unsteady, wrong = 0, [], []
    for n, command in enumerate(commands):
        first, got = attempt(command, False, n), attempt(command, True, n)
        want = (as_thaw_has_it(first[0]), *first[1:])
        if got == want:
            same += 1
        elif attempt(command, False, n) != first:
            unsteady.append(command[-1])
        else:
            wrong.append(f"{command[-1]}: {got} and without thaw {want}")
    check(not wrong, f"{len(wrong)} of {len(commands)} differ: " + "\n    ".join(wrong[:10]))
    words = f", left out: {'; '.join(unsteady)}" if unsteady else ""
    check(len(unsteady) <= UNSTEADY * of, f"{len(unsteady)} of {of} differ from themselves{words}")
    check(same >= COMPARED * of, f"only {same} of {of} could be compared{words}")
    return f"{same} of {of} the same{words}"


def lines(text):
    """Those lines of a shell whose program, which begins the line or stands before a colon, is installed."""
    have = []
    for line in text.strip().splitlines():
        named = re.match(r"([a-z0-9-]+): (.*)", line)
        program, line = named.groups() if named else (re.split(r"[ ;]", line)[0], line)
        if shutil.which(program):
            have.append(line)
    return have


def shell(part, parts):
    have = lines(SHELL)
    return compare([["sh", "-c", line] for line in have[part::parts]],
                   len(SHELL.strip().splitlines()) // parts)


def test_shell_commands_1():
    return shell(0, 4)


def test_shell_commands_2():
    return shell(1, 4)


def test_shell_commands_3():
    return shell(2, 4)


def test_shell_commands_4():
    return shell(3, 4)


def test_python():
    every = PYTHON.strip().splitlines()
    return compare([["/usr/bin/python3", "-c", line] for line in every], len(every))


def test_java():
    if not shutil.which("java") or not shutil.which("javac"):
        raise Skip("there is no java")
    with open("Load.java", "w", encoding="ascii") as f:
        f.write(JAVA)
    subprocess.run(["javac", "Load.java"], check=True, capture_output=True)
    here = os.getcwd()
    options = [["-Xint"], ["-XX:TieredStopAtLevel=1"], ["-XX:+UseSerialGC"], ["-Xcheck:jni"], []]
    return compare([["java", *o, "-Xshare:auto", "-cp", here, "Load"] for o in options] +
                   [["java", "-version"]], len(options) + 1)


# ---- servers ----

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def said(command, **kwargs):
    r = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=180,
                       check=False, **kwargs)
    return r.returncode, r.stdout, r.stderr


def redis(under):
    """What clients see of a server that they load."""
    port = free_port()
    thaw = [THAW, "record", "-q", "-o", "redis.thaw", "--engine", "ctimer", "--"] if under else []
    server = start([*thaw, "redis-server", "--port", port, "--save", "", "--appendonly", "no",
                    "--io-threads", "2"])
    cli = ["redis-cli", "-p", port]
    try:
        wait_until(lambda: said([*cli, "ping"])[1] == "PONG\n", 30, "no server")
        load = said(["redis-benchmark", "-p", port, "-n", 3000, "-c", 20, "-q", "-t",
                     "set,get,incr,lpush,lpop,sadd,hset,mset"])
        seen = [load[0], re.sub(r"[0-9.]+ requests per second.*", "", load[1].replace("\r", "\n"))
                .split("\n")[-1]]
        for words in (["incr", "key"], ["dbsize"], ["eval", "return 7", 0], ["info", "nonsense"],
                      ["get", "counter:__rand_int__"], ["llen", "mylist"]):
            seen.append(said([*cli, *words]))
        said([*cli, "shutdown"])
        server.communicate(timeout=60)
        return seen + [server.returncode]
    finally:
        stop(server)


def test_redis_under_redis_benchmark():
    if not shutil.which("redis-server") or not shutil.which("redis-benchmark"):
        raise Skip("there is no redis")
    want, got = redis(False), redis(True)
    check(want[0] == 0 and want[-1] == 0, f"redis itself: {want}")
    check(got == want, f"{got} and without thaw {want}")
    rep = report("redis.thaw")
    check(sum(t["samples"] for t in rep["threads"]) > 50, "no samples of the server")


def postgres(under, binaries, owner):
    """A database under pgbench: transactions, balances, and how the server ends."""
    port = free_port()
    env = {"PATH": f"{binaries}:{os.environ['PATH']}", "HOME": os.getcwd(), "LC_ALL": "C.UTF-8",
           "PGHOST": os.getcwd(), "PGPORT": str(port), "PGUSER": "postgres",
           "PGDATABASE": "postgres"}
    how = dict(owner, env=env)
    data = os.path.join(os.getcwd(), "data-thaw" if under else "data")
    check(said(["initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N"], **how)[0] == 0, "initdb")
    thaw = [THAW, "record", "-q", "-o", "pg.thaw", "--engine", "ctimer", "--"] if under else []
    server = start([*thaw, "postgres", "-D", data, "-k", os.getcwd(), "-h", "", "-c", "fsync=off"],
                   **how)
    try:
        wait_until(lambda: said(["pg_isready", "-q"], **how)[0] == 0, 60, "no server")
        seen = [said(["pgbench", "-i", "-q", "-s", "1"], **how)[0]]
        load = said(["pgbench", "-n", "-c", "4", "-j", "2", "-t", "400", "--random-seed=1"], **how)
        seen += [load[0], re.findall(r"processed: .*|failed .*: .*", load[1])]
        for query in ("select count(*), sum(delta) from pgbench_history",
                      "select sum(abalance) from pgbench_accounts",
                      "select sum(bbalance) from pgbench_branches",
                      "select sum(x * x) from generate_series(1, 300000) x",
                      "select pg_sleep(0.3)", "select 1 / 0",
                      "set max_parallel_workers_per_gather = 2; select count(*) from pgbench_accounts"):
            seen.append(said(["psql", "-X", "-A", "-t", "-c", query], **how))
        with open(os.path.join(data, "postmaster.pid"), encoding="ascii") as f:
            os.kill(int(f.readline()), signal.SIGINT)
        server.communicate(timeout=60)
        return seen + [server.returncode]
    finally:
        stop(server)


def test_postgres_under_pgbench():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
    if not found:
        raise Skip("there is no postgres")
    owner = {}
    if not os.getuid():
        try:
            who = pwd.getpwnam("postgres")
        except KeyError as none:
            raise Skip("there is no user postgres, and root may not run it") from none
        owner = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}
        os.chown(".", who.pw_uid, who.pw_gid)
        if said([THAW, "--version"], **owner)[0]:
            raise Skip("the user postgres may not run the binary where it is")
    binaries = os.path.dirname(found[-1])
    want, got = postgres(False, binaries, owner), postgres(True, binaries, owner)
    check(want[:2] == [0, 0] and want[-1] == 0, f"postgres itself: {want}")
    check(got == want, f"{got} and without thaw {want}")
    rep = report("pg.thaw", "--top", "10000")
    # Backends fork, and are not followed by exec: each connection is a process.
    check(len({t["pid"] for t in rep["threads"]}) > 8, "backends are not followed")
    check(any(f["name"] == "PostgresMain" for f in rep["functions"]), "no stack of a backend")
    return f"{sum(t['samples'] for t in rep['threads'])} samples"


if __name__ == "__main__":
    sys.exit(run([(f"programs {name}", fn) for name, fn in tests_of(globals())], privileged=False))
