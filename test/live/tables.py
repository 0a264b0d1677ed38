# SPDX-License-Identifier: MIT
"""Unwind tables at scale: tables.py BUILD_DIR [NAME...]

Many large libraries in use at once, whose call chains are known; what is kept on disk for the next
recording; what happens at the limit. `make soak` makes it the full size: 300 libraries with 40 million rows.
"""
import os
import subprocess
import sys

from harness import BUILD, SOAK, check, info, record, run, tests_of

WIDE = os.path.join(BUILD, "workload", "wide")
DUMP = os.path.join(BUILD, "release", "live", "stackdump")
FULL = SOAK > 1
OBJECTS = 300 if FULL else 30
ROWS = 40_000_000 if FULL else 4_000_000
SECONDS = 20 if FULL else 6
DEPTH = 12
HOPS = 4
ROWS_A_FUNCTION = 4

FUNCTION = """
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbx, -16
	sub $16, %rsp
	.cfi_adjust_cfa_offset 16
	nop
	add $16, %rsp
	.cfi_adjust_cfa_offset -16
	pop %rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	ret
	.cfi_endproc
"""

HOP = """
	.globl hop_{i}
	.type hop_{i}, @function
hop_{i}:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbx, -16
	{call}
	pop %rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	ret
	.cfi_endproc
	.size hop_{i}, . - hop_{i}
"""


def make_library(path, rows):
    """A library with so many rows, and HOPS functions far apart that call each other."""
    functions = rows // ROWS_A_FUNCTION // HOPS
    text = "\t.text\n"
    for i in range(HOPS):
        last = "mov %rdi, %rax\n\tmov %rsi, %rdi\n\tcall *%rax"
        text += HOP.format(i=i, call=last if i == HOPS - 1 else f"call hop_{i + 1}")
        text += f"\t.rept {functions}{FUNCTION}\t.endr\n"
    text += '\t.section .note.GNU-stack,"",@progbits\n'
    with open("wide.s", "w", encoding="ascii") as f:
        f.write(text)
    subprocess.run(["gcc", "-shared", "-nostdlib", "-Wl,--build-id", "-Wl,-Bsymbolic", "-o", path, "wide.s"],
                   check=True)


def build_id_at(path):
    """Where the bytes of the build id are in the file."""
    with open(path, "rb") as f:
        data = f.read()
    at = data.index(b"GNU\0", data.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0")) + 4
    return data, at


def make_libraries(n, rows):
    """The same code in n files, each with a build id of its own: for thaw they are as many libraries."""
    make_library("wide.so", rows // n)
    data, at = build_id_at("wide.so")
    paths = []
    for i in range(n):
        paths.append(os.path.abspath(f"wide-{i:03}.so"))
        with open(paths[-1], "wb") as f:
            f.write(data[:at] + i.to_bytes(20, "big") + data[at + 20:])
    return paths


def facts(capture):
    return {f["key"]: f["value"] for f in info(capture)["facts"]}


def number(capture, key):
    return int(facts(capture)[f"unwind_{key}"])





def stacks(capture):
    out = subprocess.run([DUMP, capture], capture_output=True, text=True, check=True)
    for line in out.stdout.splitlines():
        _, kind, tid, why, frames = line.split(" ", 4)
        if kind == "sample" and frames.split(";")[-1] == "spin":
            yield why, frames.split(";"), int(tid)


def is_chain(frames):
    """main, step, and DEPTH times the hops and step; then spin."""
    if "main" not in frames:
        return False
    rest = frames[frames.index("main") + 1:]
    want = ["step"] + ([f"hop_{i}" for i in range(HOPS)] + ["step"]) * DEPTH + ["spin"]
    return rest == want


def share_of_chains(capture):
    n = good = 0
    why_not = {}
    for why, frames, _ in stacks(capture):
        n += 1
        if why == "end" and is_chain(frames):
            good += 1
        else:
            why_not[why] = why_not.get(why, 0) + 1
    check(n > 100 * SECONDS, f"only {n} samples in the chain")
    return good / n, n, why_not


def test_many_libraries():
    paths = make_libraries(OBJECTS, ROWS)
    args = ["--unwind-cache", os.path.abspath("kept")]
    said = []
    for capture, built, read in (("first.thaw", True, False), ("second.thaw", False, True)):
        record(args, [WIDE, DEPTH, SECONDS, *paths], capture)
        share, n, why_not = share_of_chains(capture)
        check(number(capture, "rows") >= ROWS, f"{number(capture, 'rows')} rows")
        check(number(capture, "objects") >= OBJECTS, f"{number(capture, 'objects')} objects")
        check(number(capture, "evicted") == 0 and number(capture, "refused") == 0 and
              number(capture, "resets") == 0, f"something was forgotten: {facts(capture)}")
        check((number(capture, "built") >= OBJECTS) == built, f"{number(capture, 'built')} built")
        check((number(capture, "read") >= OBJECTS) == read, f"{number(capture, 'read')} read")
        check(built or number(capture, "built") == 0, f"{number(capture, 'built')} built again")
        check(share >= 0.99, f"{100 * share:.2f} % of {n} stacks are whole; the others: {why_not}")
        said.append(f"{100 * share:.2f} % of {n} whole, {number(capture, 'build_ns') / 1e6:.0f} ms of tables")
    return f"{number('second.thaw', 'rows')} rows; built: {said[0]}; read: {said[1]}"


def test_limit():
    """More tables in use than the limit allows: what fits is walked, the rest says why, and the recording ends at
    once."""
    paths = make_libraries(6, 6 * 600_000)
    record(["--unwind-cache", "none", "--unwind-memory", "8M"], [WIDE, 6, 6, *paths], "c.thaw")
    n = {}
    for why, _, _ in stacks("c.thaw"):
        n[why] = n.get(why, 0) + 1
    check(n.get("no_room", 0) > 0, f"stops: {n}")
    check(n.get("not_ready", 0) < sum(n.values()) / 10, f"stops: {n}")
    check(number("c.thaw", "refused") > 0, "none was refused")
    # After each failure, thaw waits twice as long before the next try.
    check(number("c.thaw", "built") <= 6 * 6, f"{number('c.thaw', 'built')} built for 6 libraries")
    return f"stops: {n}; {number('c.thaw', 'built')} built"


def test_least_used_go():
    """Programs one after the other, together larger than the limit: each gets room before it ends."""
    args = ["--unwind-cache", "none", "--unwind-memory", "16M"]
    paths = make_libraries(12, 12 * 600_000)
    groups = [" ".join([WIDE, "3", "5", *paths[i:i + 3]]) for i in range(0, 12, 3)]
    record(args, ["sh", "-c", "; ".join(groups)], "c.thaw")
    last, n = {}, {}
    for why, _, tid in stacks("c.thaw"):
        last[tid] = why
        n[why] = n.get(why, 0) + 1
    check(number("c.thaw", "evicted") > 0, f"none went: {facts('c.thaw')}")
    check(list(last.values()) == ["end"] * 4, f"the last stack of each program: {last}")
    return f"{number('c.thaw', 'evicted')} went; stops: {n}"


if __name__ == "__main__":
    for path in (WIDE, DUMP):
        check(os.path.exists(path), f"{path} is missing: make live workloads")
    sys.exit(run(tests_of(globals())))
