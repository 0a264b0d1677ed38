# SPDX-License-Identifier: MIT
"""Runs a command on a terminal of its own and prints what it wrote there: tty.py CMD..."""
import os
import subprocess
import sys

ours, theirs = os.openpty()
done = subprocess.Popen(sys.argv[1:], stdout=theirs, close_fds=True)
os.close(theirs)
try:
    while part := os.read(ours, 65536):
        sys.stdout.buffer.write(part)
except OSError:
    pass
sys.exit(done.wait())
