# SPDX-License-Identifier: MIT
"""A terminal in a few lines: runs a command on a pty and keeps the screen that it draws."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

TOKEN = re.compile(rb"\x1b\[([0-9;?]*)([A-Za-z])|\x1b([78DM])|([\r\n\b])|([^\x1b\r\n\b]+)|(\x1b)")


class Terminal:
    """What an xterm would show: the rows of its screen, and `kept`, the rows that left it."""

    def __init__(self, rows, cols):
        self.rows, self.cols = rows, cols
        self.screen = [""] * rows
        self.kept = []
        self.row = self.col = 0
        self.saved = (0, 0)
        self.region = (0, rows - 1)
        self.odd = []
        self.rest = b""

    def feed(self, data):
        data, self.rest = self.rest + data, b""
        at = 0
        while at < len(data):
            m = TOKEN.match(data, at)
            if m.group(6):  # the beginning of a sequence: wait for the rest of it
                self.rest = data[at:]
                return
            at = m.end()
            if m.group(2):
                self.csi(m.group(1).decode(), m.group(2).decode())
            elif m.group(3):
                self.escape(m.group(3).decode())
            elif m.group(4):
                self.control(m.group(4))
            else:
                self.write(m.group(5).decode(errors="replace"))

    def control(self, c):
        if c == b"\r":
            self.col = 0
        elif c == b"\n":
            self.down()
        else:
            self.col = max(0, self.col - 1)

    def down(self):
        top, bottom = self.region
        if self.row == bottom:
            gone = self.screen.pop(top)
            if top == 0:
                self.kept.append(gone.rstrip())
            self.screen.insert(bottom, "")
        elif self.row < self.rows - 1:
            self.row += 1

    def write(self, text):
        for c in text:
            if self.col >= self.cols:
                self.col = 0
                self.down()
            line = self.screen[self.row].ljust(self.col)
            self.screen[self.row] = line[:self.col] + c + line[self.col + 1:]
            self.col += 1

    def escape(self, c):
        if c == "7":
            self.saved = (self.row, self.col)
        elif c == "8":
            self.row, self.col = self.saved
        elif c == "D":
            self.down()
        else:
            self.odd.append("ESC " + c)

    def csi(self, args, c):
        n = [int(a) if a else 0 for a in args.lstrip("?").split(";")]
        if c == "H":
            self.row = min(max(n[0], 1), self.rows) - 1
            self.col = (n[1] if len(n) > 1 else 1) - 1
        elif c == "A":
            self.row = max(0, self.row - max(n[0], 1))
        elif c == "K":
            self.screen[self.row] = self.screen[self.row][:self.col]
        elif c == "J":
            self.screen[self.row] = self.screen[self.row][:self.col]
            for i in range(self.row + 1, self.rows):
                self.screen[i] = ""
        elif c == "r":
            bottom = n[1] if len(n) > 1 and n[1] else self.rows
            self.region = (max(n[0], 1) - 1, bottom - 1)
            self.row = self.col = 0
        elif c != "m":
            self.odd.append(f"CSI {args}{c}")

    def resize(self, rows, cols):
        """As xterm does: the lowest rows stay."""
        while len(self.screen) > rows:
            self.kept.append(self.screen.pop(0).rstrip())
            self.row = max(0, self.row - 1)
        self.screen = [line[:cols] for line in self.screen] + [""] * (rows - len(self.screen))
        self.rows, self.cols = rows, cols
        self.region = (0, rows - 1)

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen)


class Session:
    """A command on a terminal of its own, in the foreground of a session of its own."""

    def __init__(self, command, rows=30, cols=100, env=None):
        self.terminal = Terminal(rows, cols)
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ.update(env or {})
            os.environ["TERM"] = "xterm"
            set_size(0, rows, cols)
            os.execvp(command[0], [str(c) for c in command])
        set_size(self.fd, rows, cols)
        self.status = None

    def pump(self, seconds=0.05):
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.terminal.feed(data)
        return bool(data)

    def until(self, test, seconds, what):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if test(self.terminal):
                return
            if not self.pump():
                break
        if not test(self.terminal):
            raise AssertionError(f"{what}; the screen:\n{self.terminal.text()}")

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def resize(self, rows, cols):
        self.terminal.resize(rows, cols)
        set_size(self.fd, rows, cols)

    def modes(self):
        return termios.tcgetattr(self.fd)[3]

    def wait(self, seconds=60):
        """Its exit status, and all that it still writes goes to the terminal."""
        end = time.monotonic() + seconds
        while self.pump(0.2):
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                raise AssertionError(f"it does not end; the screen:\n{self.terminal.text()}")
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def set_size(fd, rows, cols):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
