# SPDX-License-Identifier: MIT
"""QEMU's gdb stub, as much of it as an autopsy needs: which CPUs there are, their registers, and memory.
Connecting stops the guest, leaving lets it go on."""
import socket
import time

REGISTERS = ("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12",
             "r13", "r14", "r15", "rip")
CHUNK = 1024   # bytes a question: QEMU's packets are 4 KiB


class Stub:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(path)
        self.pending = b""
        self.ask("?")
        # That the guest has stopped may be said twice: once for the question, once by itself.
        time.sleep(0.3)
        self.socket.setblocking(False)
        try:
            self.socket.recv(65536)
        except BlockingIOError:
            pass
        self.socket.settimeout(20)
        self.pending = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ask("D")
        self.socket.close()

    def _byte(self):
        if not self.pending:
            self.pending = self.socket.recv(65536)
            if not self.pending:
                raise ConnectionError("the guest is gone")
        byte, self.pending = self.pending[:1], self.pending[1:]
        return byte

    def ask(self, question):
        """One packet there, one back: $text#checksum, each acknowledged with a plus."""
        data = question.encode()
        self.socket.sendall(b"$" + data + b"#%02x" % (sum(data) % 256))
        while self._byte() != b"$":
            pass
        answer = b""
        while (byte := self._byte()) != b"#":
            answer += byte
        self._byte()
        self._byte()
        self.socket.sendall(b"+")
        return answer.decode("latin-1")

    def cpus(self):
        """The stub's names of the CPUs: to it they are threads."""
        out, answer = [], self.ask("qfThreadInfo")
        while answer.startswith("m"):
            out += answer[1:].split(",")
            answer = self.ask("qsThreadInfo")
        return out

    def registers(self, cpu):
        self.ask(f"Hg{cpu}")
        raw = bytes.fromhex(self.ask("g"))
        return {name: int.from_bytes(raw[8 * i:8 * i + 8], "little")
                for i, name in enumerate(REGISTERS)}

    def read(self, address, length):
        """Up to that many bytes, fewer where memory ends; of the CPU asked last."""
        out = b""
        while len(out) < length:
            at = address + len(out)
            # Never across a page's end: the next page may not be there, and then nothing is.
            n = min(CHUNK - at % CHUNK, length - len(out))
            answer = self.ask(f"m{at:x},{n:x}")
            if answer.startswith("E") or not answer:
                break
            out += bytes.fromhex(answer)
        return out
