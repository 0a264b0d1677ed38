# SPDX-License-Identifier: MIT
"""The stack of a stopped CPU without unwind tables.

Debian's kernels keep no frame pointers, and their tables are not at hand outside of the guest. But a
return address can be told: it is a word on the stack that points behind a call instruction, and the
function which that instruction calls is the one that the frame inside of it runs in, or one that jumps
there in its end. A stale word left by an earlier call does not fit its neighbours. So the stack is the
chain of words in which most calls lead to the function that follows. Calls through pointers cannot be
checked that way: their frames are marked.

A stack ends where an interrupt's frame lies (address, code segment, flags, stack, data segment): the scan
goes on from what was interrupted. An interrupt's own stack ends with the address of the one before."""
import bisect
import collections

STACK_BYTES = 16384
MODULES = (0xffffffffc0000000, 0xffffffffff000000)   # no guest of the lab loads any: BPF programs
KERNEL_CS, KERNEL_SS, USER_CS = 0x10, 0x18, 0x33
FLAGS_FIXED, FLAGS_OTHER = 0x2, ~0x3f7fff
SURE, GUESS = 4, -1   # what a frame is worth to a chain
POINTERS = ("__x86_indirect", "__SCT__", "__pi___x86_indirect")   # called in place of a pointer
FUNCTION_MAX = 8192
FRAMES_MAX = 48
SEGMENTS_MAX = 8

Frame = collections.namedtuple("Frame", "address symbol offset mark")
Symbol = collections.namedtuple("Symbol", "start name")


class Symbols:
    """The guest's own kallsyms: addresses as they are after randomization."""

    def __init__(self, text):
        rows = []
        for line in text.splitlines():
            words = line.split()
            if len(words) >= 3 and words[1] in "tTwW":
                rows.append((int(words[0], 16), words[2]))
        rows.sort()
        self.starts = [r[0] for r in rows]
        self.names = [r[1] for r in rows]
        by_name = dict(zip(self.names, self.starts))
        self.text = (by_name.get("_stext", 0), by_name.get("_etext", 0))

    def is_text(self, address):
        return self.text[0] <= address < self.text[1] or MODULES[0] <= address < MODULES[1]

    def find(self, address):
        if not self.text[0] <= address < self.text[1]:
            return Symbol(address & -4096, "[BPF program]")
        i = bisect.bisect_right(self.starts, address) - 1
        return Symbol(self.starts[i], self.names[i]) if i >= 0 else Symbol(0, "?")

    def size(self, symbol):
        i = bisect.bisect_right(self.starts, symbol.start)
        return min(self.starts[i] - symbol.start, FUNCTION_MAX) if i < len(self.starts) else 0


def called(code, address):
    """What the call instruction before an address calls: an address, 0 for a pointer's, None for none."""
    if len(code) == 7 and code[2] == 0xe8:
        return (address + int.from_bytes(code[3:7], "little", signed=True)) & (2 ** 64 - 1)
    for at, size in ((5, 2), (4, 3), (1, 6), (0, 7)):
        tail = code[at:]
        if len(tail) == size and tail[0] in (0x41, 0x2e):
            tail = tail[1:]
        if len(tail) >= 2 and tail[0] == 0xff and (tail[1] >> 3) & 7 == 2:
            return 0
    return None


def words_of(raw):
    return [int.from_bytes(raw[i:i + 8], "little") for i in range(0, len(raw) - 7, 8)]


def interrupted(words, i, symbols):
    """Is this where the CPU has put what it interrupted? (address, stack) or None."""
    if i + 4 >= len(words):
        return None
    address, cs, flags, sp, ss = words[i:i + 5]
    if not flags & FLAGS_FIXED or flags & FLAGS_OTHER & 0xffffffffffffffff:
        return None
    if cs == KERNEL_CS and ss in (KERNEL_SS, 0) and symbols.is_text(address) and sp >> 47:
        return address, sp
    if cs == USER_CS and address < 1 << 47 and ss == 0x2b:
        return address, 0
    return None


class Scan:
    def __init__(self, stub, symbols):
        self.stub, self.symbols = stub, symbols
        self.jumps = {}

    def leads_to(self, callee, inner):
        """Is a called function the inner one, or does it end with a jump there?"""
        if callee.start == inner.start:
            return True
        if callee.start not in self.jumps:
            code = self.stub.read(callee.start, self.symbols.size(callee))
            self.jumps[callee.start] = {
                callee.start + i + 5 + int.from_bytes(code[i + 1:i + 5], "little", signed=True)
                for i in range(len(code) - 4) if code[i] == 0xe9}
        return inner.start in self.jumps[callee.start]

    def candidates(self, words, end):
        """(symbol it returns to, its address, symbol that was called or None) for all words that may be."""
        out = []
        for word in words[:end]:
            if not self.symbols.is_text(word):
                continue
            target = called(self.stub.read(word - 7, 7), word)
            if target is None:
                continue
            symbol = self.symbols.find(word - 1)
            callee = self.symbols.find(target) if target else None
            if callee and (callee.name.startswith(POINTERS) or callee.start != target):
                callee = None
            out.append((symbol, word, callee))
        return out

    def chain(self, first, candidates):
        """The best chain of callers of the function `first`: longest path, most of it checked."""
        nodes = [(first, None, None)] + candidates
        best = [(0, None)] + [(-1e9, None)] * len(candidates)
        for j in range(1, len(nodes)):
            _, _, callee = nodes[j]
            for i in range(j):
                if best[i][0] < -1e8:
                    continue
                sure = callee is not None and self.leads_to(callee, nodes[i][0])
                if callee is not None and not sure:
                    continue
                worth = best[i][0] + (SURE if sure else GUESS)
                if worth > best[j][0]:
                    best[j] = (worth, i)
        at = max(range(len(nodes)), key=lambda k: best[k][0])
        path = []
        while at is not None and at:
            path.append(at)
            at = best[at][1]
        frames = []
        for k in reversed(path):
            symbol, word, callee = nodes[k]
            frames.append(Frame(word, symbol.name, word - symbol.start, " " if callee else "?"))
        return frames

    def stack(self, rip, rsp):
        """Frames, innermost first. Interrupted ones begin a new part, marked `!`."""
        frames = []
        for part in range(SEGMENTS_MAX):
            if not self.symbols.is_text(rip):
                frames.append(Frame(rip, "user mode", 0, "!" if part else " "))
                break
            here = self.symbols.find(rip)
            frames.append(Frame(rip, here.name, rip - here.start, "!" if part else " "))
            words = words_of(self.stub.read(rsp, STACK_BYTES))
            found = next(((i, at) for i in range(len(words))
                          if (at := interrupted(words, i, self.symbols))), None)
            frames += self.chain(here, self.candidates(words, found[0] if found else len(words)))
            if found:
                rip, rsp = found[1]
            elif words and len(words) * 8 < STACK_BYTES and words[-1] >> 47:
                # An interrupt's stack: its last word leads to the stack of what it interrupted.
                below = words_of(self.stub.read(words[-1], STACK_BYTES))
                at = next((a for i in range(len(below))
                           if (a := interrupted(below, i, self.symbols))), None)
                if not at:
                    break
                rip, rsp = at
            else:
                break
            if len(frames) > FRAMES_MAX:
                break
        return frames[:FRAMES_MAX]
