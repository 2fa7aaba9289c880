"""Forged model files, as an attacker writes them who knows the format."""

import hashlib
import json

START = 48


def sealed(content):
    """Return the bytes of a file with a matching checksum."""
    return content[:8] + hashlib.sha256(content[40:]).digest() + content[40:]


def with_header(content, change):
    """Return a file whose header was changed by a function, padded and with a matching checksum."""
    length = int.from_bytes(content[40:48], "little")
    header = json.loads(content[START : START + length])
    text = change(header)
    text = (json.dumps(header) if text is None else text).encode("ascii")
    arrays = content[START + length + -(START + length) % 64 :]
    head = content[:40] + len(text).to_bytes(8, "little") + text
    return sealed(head + bytes(-len(head) % 64) + arrays)
