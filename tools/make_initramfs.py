#!/usr/bin/env python3
"""Writes the tree below a directory as an initial ram disk of Linux ("newc").

make_initramfs.py DIRECTORY FILE

The same tree always gives the same bytes: everything belongs to root, has no time, and comes in the
order of its names.
"""

import stat
import sys
from pathlib import Path


def entry(number: int, name: str, mode: int, content: bytes) -> bytes:
    encoded = name.encode() + b"\0"
    fields = [number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0]
    header = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
    return padded(header) + padded(content)


def padded(content: bytes) -> bytes:
    return content + b"\0" * (-len(content) % 4)


def content_of(path: Path) -> bytes:
    if path.is_symlink():
        return str(path.readlink()).encode()
    return path.read_bytes() if path.is_file() else b""


def mode_of(path: Path) -> int:
    mode = path.lstat().st_mode
    executable = 0o111 if mode & stat.S_IXUSR else 0
    return stat.S_IFMT(mode) | 0o644 | executable


def main() -> int:
    root, out = Path(sys.argv[1]), Path(sys.argv[2])
    with out.open("wb") as archive:
        for number, path in enumerate(sorted(root.rglob("*")), 1):
            archive.write(entry(number, str(path.relative_to(root)), mode_of(path), content_of(path)))
        archive.write(entry(0, "TRAILER!!!", 0, b""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
