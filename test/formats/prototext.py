# SPDX-License-Identifier: MIT
"""A protobuf message as `protoc --decode` prints it: dictionaries of lists, one a field."""
import codecs
import os
import re

from common import run

LINE = re.compile(r"^\s*(?:(\w+) \{|(\w+): (.*)|(\}))$")


def value(text):
    if text.startswith('"'):
        return codecs.escape_decode(text[1:-1])[0]
    if text in ("true", "false"):
        return text == "true"
    return int(text, 0)


def parse(text):
    top = {}
    stack = [top]
    for line in text.split("\n"):
        if not line.strip():
            continue
        found = LINE.match(line)
        assert found, line
        message, field, val, _ = found.groups()
        name = message or field
        # A field that the schema does not have is printed by its number.
        assert not name or not name.isdigit(), f"field {name} is not in the schema: {line}"
        if message:
            inner = {}
            stack[-1].setdefault(message, []).append(inner)
            stack.append(inner)
        elif field:
            stack[-1].setdefault(field, []).append(value(val))
        else:
            stack.pop()
    assert len(stack) == 1, "it ends within a message"
    return top


def decode(protoc, schema, message, path):
    """`schema` is a file beside this one."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(path, "rb") as data:
        text = run(protoc, f"--decode={message}", "-I", here, os.path.join(here, schema), stdin=data)
    return parse(text.decode("utf-8"))


def one(message, field, default=None):
    """The value of a field that does not repeat."""
    values = message.get(field, [])
    assert len(values) <= 1, f"{field} is there {len(values)} times"
    return values[0] if values else default
