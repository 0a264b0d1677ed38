#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that want to hurt their profiler. The kernel runs an ELF file by its program headers alone: everything
else in it can be a lie, and thaw reads it as root. Each is recorded to its end; the capture opens, is whole, and has
the names that can be had."""
import glob
import os
import random
import resource
import shutil
import struct
import subprocess
import sys

from harness import Skip, check, info, report, run, tests_of, thaw

BESIDE = True   # compares no clocks: test/run puts others next to it

VICTIM = r"""
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
struct shared { int pad; pthread_mutex_t lock; } shared = {.lock = PTHREAD_MUTEX_INITIALIZER};
volatile unsigned long sink;
static double end;
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
__attribute__((noinline)) void burn(void)
{
	for (unsigned long i = 0; i < 200000; i++)
		sink += i;
}
static int compare(const void *a, const void *b) { return *(int *)a - *(int *)b; }
__attribute__((noinline)) static void sort(void)
{
	static int v[5000];
	for (int i = 0; i < 5000; i++)
		v[i] = i * 7919 % 5003;
	qsort(v, 5000, sizeof(*v), compare);
}
static void *work(void *arg)
{
	while (now() < end) {
		pthread_mutex_lock(&shared.lock);
		burn();
		pthread_mutex_unlock(&shared.lock);
	}
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t[2];
	end = now() + (argc > 1 ? atof(argv[1]) : 0.5);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], 0, work, 0);
	while (now() < end) {
		burn();
		sort();
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
"""

# A unit about burn(), whose functions share one list of ranges: a hundred thousand times as many.
ENDLESS = r"""
.section .debug_abbrev,"",@progbits
.uleb128 1,0x11
.byte 1
.uleb128 0x11,1,0x12,7,0,0
.uleb128 2,0x2e
.byte 0
.uleb128 0x55,0x17,0,0
.byte 0
.section .debug_info,"",@progbits
.long 2f-1f
1: .value 4
.long .debug_abbrev
.byte 8
.uleb128 1
.quad burn
.quad 64
.rept 100000
.uleb128 2
.long .debug_ranges
.endr
.byte 0
2:
.section .debug_ranges,"",@progbits
.rept 100000
.quad 0,64
.endr
.quad 0,0
.section .note.GNU-stack,"",@progbits
"""

# burn() is an instance of a function that is an instance of burn(); a DIE whose sibling is itself;
# a variable whose type has itself as its first member; a line table of which nothing is true.
CIRCLES = r"""
.section .debug_abbrev,"",@progbits
.uleb128 1,0x11
.byte 1
.uleb128 0x11,1,0x12,7,0x10,0x17,0,0
.uleb128 2,0x2e
.byte 0
.uleb128 0x31,0x13,0x11,1,0x12,7,0,0
.uleb128 3,0x13
.byte 1
.uleb128 0x01,0x13,0,0
.uleb128 4,0x34
.byte 0
.uleb128 3,8,0x49,0x13,2,0x18,0,0
.uleb128 5,0x13
.byte 1
.uleb128 0xb,0xb,0,0
.uleb128 6,0xd
.byte 0
.uleb128 3,8,0x49,0x13,0x38,0xb,0,0
.byte 0
.section .debug_info,"",@progbits
0: .long 9f-1f
1: .value 4
.long .debug_abbrev
.byte 8
.uleb128 1
.quad burn
.quad 64
.long .debug_line
4: .uleb128 2
.long 5f-0b
.quad burn
.quad 64
5: .uleb128 2
.long 4b-0b
.quad burn
.quad 64
7: .uleb128 3
.long 7b-0b
.byte 0
.uleb128 4
.asciz "shared"
.long 8f-0b
.byte 9,3
.quad shared
8: .uleb128 5
.byte 48
.uleb128 6
.asciz "again"
.long 8b-0b
.byte 0
.byte 0
.byte 0
9:
.section .debug_line,"",@progbits
.long 0xfffffff0
.value 5
.byte 8,0
.long 0xffffffff
.byte 1,1,1,-5,0,13
.section .note.GNU-stack,"",@progbits
"""

JIT = r"""
#include <stdio.h>
#include <sys/stat.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
/* mov ecx, 1000000; dec ecx; jnz; ret */
static const unsigned char code[] = {0xb9, 0x40, 0x42, 0x0f, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
int main(int argc, char **argv)
{
	unsigned char *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	FILE *f;
	time_t end = time(0) + 2;
	memcpy(p, code, sizeof(code));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	f = fopen(path, "w");
	fprintf(f, "%lx 1000 made_at_run_time\n", (unsigned long)p);
	fflush(f);
	if (!strcmp(argv[1], "other") && fchown(fileno(f), 65534, 65534))
		return 1;
	if (!strcmp(argv[1], "open") && fchmod(fileno(f), 0666))
		return 1;
	if (!strcmp(argv[1], "huge") && ftruncate(fileno(f), 3l << 30))
		return 1;
	while (time(0) < end)
		((void (*)(void))p)();
	return 0;
}
"""


# ---- making them ----

def compiled(name, source, *more):
    if not shutil.which("cc"):
        raise Skip("there is no compiler")
    with open(name + ".c", "w", encoding="ascii") as f:
        f.write(source)
    subprocess.run(["cc", "-O2", "-o", name, name + ".c", *more, "-lpthread"], check=True)
    with open(name, "rb") as f:
        return bytearray(f.read())


class Elf:
    """The bytes of a program, and where in them its headers and sections are."""

    def __init__(self, data):
        self.data = data
        self.phoff, self.shoff = struct.unpack_from("<QQ", data, 32)
        self.phnum, _, self.shnum, self.names = struct.unpack_from("<HHHH", data, 56)

    def header(self, index):
        return self.shoff + 64 * index

    def section(self, name):
        """(offset of its header, offset, size)"""
        text = struct.unpack_from("<Q", self.data, self.header(self.names) + 24)[0]
        for i in range(self.shnum):
            at = self.header(i)
            begin = text + struct.unpack_from("<I", self.data, at)[0]
            if self.data[begin:self.data.index(b"\0", begin)] == name.encode():
                return (at, *struct.unpack_from("<QQ", self.data, at + 24))
        raise Skip(f"the compiler makes no {name}")

    def put(self, at, form, *values):
        struct.pack_into("<" + form, self.data, at, *values)

    def segment(self, kind):
        """The offset of its program header."""
        for i in range(self.phnum):
            at = self.phoff + 56 * i
            if struct.unpack_from("<I", self.data, at)[0] == kind:
                return at
        raise Skip(f"the compiler makes no segment {kind:x}")

    def loaded(self):
        """Where in the file the last byte is that gets into memory."""
        last = 0
        for i in range(self.phnum):
            at = self.phoff + 56 * i
            kind, _, offset, _, _, size = struct.unpack_from("<IIQQQQ", self.data, at)
            if kind == 1:
                last = max(last, offset + size)
        return last


def victim(*flags):
    return Elf(compiled("victim", VICTIM, *(flags or ("-g",))))


# ---- recording them ----

def clean(words):
    """No control characters, and nothing but text."""
    return all(c >= " " and c != "\x7f" and c != "\ufffd" for c in words)


def hurt(elf, name="hostile", seconds="0.5"):
    """Records it. The functions of the report, by module."""
    with open(name, "wb") as f:
        f.write(elf.data)
    os.chmod(name, 0o755)
    alone = subprocess.run(["./" + name, "0.01"], check=False)
    check(alone.returncode == 0, f"the kernel does not run it: {alone.returncode}")
    return recorded(["./" + name, seconds])


def recorded(command):
    r = thaw("record", "-F", "999", "--max-overhead", "100", "-o", "c.thaw", "--", *command, timeout=150)
    check(r.returncode == 0, f"record: exit {r.returncode}: {r.stderr}")
    check(clean(r.stderr.replace("\n", " ")), f"record said {r.stderr!r}")
    verify = thaw("info", "c.thaw", "--verify")
    check(verify.returncode == 0, f"info --verify: exit {verify.returncode}: {verify.stderr}")
    check(info("c.thaw")["complete"], "the capture is complete")
    text = thaw("report", "c.thaw")
    check(text.returncode == 0, f"report: exit {text.returncode}: {text.stderr}")
    check(clean(text.stdout.replace("\n", " ")), "the report is text")
    rep = report("c.thaw", "--top", "1000")
    by_module = {}
    for f in rep["functions"]:
        check(clean(f["name"]), f"a function is called {f['name']!r}")
        by_module.setdefault(f["module"], {})[f["name"]] = f["total_samples"]
    check(sum(f["self_samples"] for f in rep["functions"]) > 50, "it was sampled")
    os.rename("c.thaw", "last.thaw")
    return by_module


def named(functions, module):
    """The names that are more than module+0xoffset."""
    return {n for n in functions.get(module, {}) if not n.startswith(module + "+0x")}


def others_are_named(functions):
    """Damage in one file costs the others nothing."""
    check(any(named(functions, m) for m in functions if m != "hostile"), f"{functions}")


# ---- the tests ----

def test_harmless():
    """The same program without damage: if its names were not found here, nothing below counts."""
    functions = hurt(victim())
    check("burn" in named(functions, "hostile"), f"{functions}")
    others_are_named(functions)


def test_section_headers_of_garbage():
    rng = random.Random(1)
    for kind in ("beyond", "many", "bytes", "none"):
        elf = victim()
        if kind == "beyond":
            elf.put(40, "Q", 0x7fffffffffffff00)
        elif kind == "many":
            elf.put(60, "HH", 0, 0xffff)  # the count then stands in the first header
            elf.put(elf.header(0) + 32, "Q", 1 << 62)
        elif kind == "bytes":
            elf.data[elf.shoff:elf.shoff + 64 * elf.shnum] = rng.randbytes(64 * elf.shnum)
        else:
            elf.put(40, "Q", 0)
            elf.put(60, "HH", 0, 0)
        functions = hurt(elf)
        check("hostile" in functions, f"{kind}: {functions}")
        others_are_named(functions)


def test_unwind_tables_that_lie():
    rng = random.Random(2)
    for kind in ("count", "pointer", "segment", "endless", "section", "bytes"):
        elf = victim()
        _, hdr, hdr_size = elf.section(".eh_frame_hdr")
        header, frame, frame_size = elf.section(".eh_frame")
        if kind == "count":
            elf.put(hdr + 8, "I", 0xffffffff)
        elif kind == "pointer":
            elf.put(hdr + 4, "i", -0x7fffffff)
        elif kind == "segment":
            at = elf.segment(0x6474e550)
            elf.put(at + 8, "QQQQQ", 1 << 60, 1 << 60, 1 << 60, 1 << 62, 1 << 62)
        elif kind == "endless":
            elf.put(frame, "IQ", 0xffffffff, 0x7fffffffffffffff)
        elif kind == "section":
            elf.put(header + 32, "Q", 1 << 40)
        else:
            elf.data[hdr + 12:hdr + hdr_size] = rng.randbytes(hdr_size - 12)
            elf.data[frame + 32:frame + frame_size] = rng.randbytes(frame_size - 32)
        functions = hurt(elf)
        check("burn" in named(functions, "hostile"), f"{kind}: {functions}")
        others_are_named(functions)


def with_assembler(source):
    with open("lies.s", "w", encoding="ascii") as f:
        f.write(source)
    return victim("-g0", "lies.s")


def test_debug_information_without_end():
    functions = hurt(with_assembler(ENDLESS))
    check("burn" in named(functions, "hostile"), f"its symbols are still there: {functions}")
    others_are_named(functions)


def test_debug_information_in_circles():
    functions = hurt(with_assembler(CIRCLES))
    check("burn" in named(functions, "hostile"), f"its symbols are still there: {functions}")
    others_are_named(functions)


def test_debug_information_of_garbage():
    """What the compiler wrote, with a part of each section replaced."""
    rng = random.Random(3)
    names = [".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_rnglists",
             ".debug_aranges"]
    for _ in range(4):
        elf = victim()
        for name in names:
            _, at, size = elf.section(name)
            n = min(size, 1 + rng.randrange(size))
            begin = at + rng.randrange(size - n + 1)
            elf.data[begin:begin + n] = rng.randbytes(n)
        functions = hurt(elf)
        check(named(functions, "hostile"), f"its symbols are still there: {functions}")
        others_are_named(functions)


def test_symbols_with_wild_offsets():
    rng = random.Random(4)
    for kind in ("offset", "size", "entries", "link", "strings", "names", "values"):
        elf = victim()
        header, at, size = elf.section(".symtab")
        strings = elf.section(".strtab")
        dynamic = elf.section(".dynsym")[0]
        if kind == "offset":
            elf.put(header + 24, "Q", 1 << 63)
            elf.put(dynamic + 24, "Q", 1 << 63)
        elif kind == "size":
            elf.put(header + 32, "Q", (1 << 64) - 24)
        elif kind == "entries":
            elf.put(header + 56, "Q", 0)
        elif kind == "link":
            elf.put(header + 40, "I", 0xffffffff)
        elif kind == "strings":
            elf.put(strings[0] + 24, "QQ", 1 << 62, 1 << 62)
        else:
            for i in range(at, at + size - 23, 24):
                if kind == "names":
                    elf.put(i, "I", rng.randrange(1 << 32))
                else:
                    elf.put(i + 8, "QQ", rng.randrange(1 << 64), rng.randrange(1 << 64))
        functions = hurt(elf)
        check("hostile" in functions, f"{kind}: {functions}")
        others_are_named(functions)


def test_build_id_of_wild_size():
    for size in (0xffffffff, 0x80000000, 1 << 20, 0, 65):
        elf = victim("-g", "-Wl,--build-id=sha1")
        _, at, _ = elf.section(".note.gnu.build-id")
        elf.put(at + 4, "I", size)
        functions = hurt(elf)
        check("hostile" in functions, f"{size:x}: {functions}")
        others_are_named(functions)


def test_damaged_at_random():
    """Damages any bytes that are not loaded into memory."""
    rng = random.Random(int(os.environ.get("THAW_SEED", "5")))
    good = victim()
    for _ in range(8):
        elf = Elf(bytearray(good.data))
        begin = elf.loaded()
        for _ in range(rng.choice((3, 30, 3000))):
            elf.data[rng.randrange(begin, len(elf.data))] = rng.randrange(256)
        functions = hurt(elf, seconds="0.3")
        check("hostile" in functions, f"{functions}")
        others_are_named(functions)


def forget_maps():
    """Takes away the maps of programs that are gone."""
    for path in glob.glob("/tmp/perf-*.map"):
        with open(path, "rb") as f:
            mine = b"made_at_run_time" in f.read(100)
        if mine:
            os.unlink(path)


def jit(kind):
    """Records a program that runs code it made; did thaw believe its map?"""
    compiled("jit", JIT)
    try:
        functions = recorded(["./jit", kind])
        check("[jit]" in functions, f"code without a file was sampled: {functions}")
        return "made_at_run_time" in functions["[jit]"]
    finally:
        forget_maps()


def test_perf_map():
    check(jit("own"), "a map that is as it should be is believed")


def test_perf_map_of_another_user():
    check(not jit("other"), "a map of another user is not believed")


def test_perf_map_that_others_can_write():
    check(not jit("open"), "a map that others can write is not believed")


def test_perf_map_of_gigabytes():
    jit("huge")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(run(tests_of(globals())))
