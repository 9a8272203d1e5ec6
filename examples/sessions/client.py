#!/usr/bin/env python3
"""Opens sessions, uses each of them through its endpoint, and closes them: client.py games/echo 100

It uses the command line, as anybody may; BERTH_SOCKET or a login says where the control plane is.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

BERTH = os.environ.get("BERTH") or shutil.which("berth") or "build/release/bin/berth"


def berth(*arguments):
    done = subprocess.run([BERTH, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"berth {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def open_session(application):
    began = time.monotonic()
    session = json.loads(berth("session", "open", application, "-o", "json"))
    return session, time.monotonic() - began


def use(session):
    """Says something through its endpoint, and hears it again."""
    address, port = session["endpoints"][0]["external"].rsplit(":", 1)
    said = f"hello, {session['name']}\n".encode()
    with socket.create_connection((address, int(port)), timeout=10) as connection:
        connection.sendall(said)
        heard = b""
        while len(heard) < len(said):
            more = connection.recv(4096)
            if not more:
                break
            heard += more
    if heard != said:
        raise RuntimeError(f"session {session['name']}: said {said!r}, heard {heard!r}")


def close(session):
    berth("session", "close", f"{session['namespace']}/{session['name']}")


def main():
    application = sys.argv[1] if len(sys.argv) > 1 else "games/echo"
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    with ThreadPoolExecutor(max_workers=8) as threads:
        opened = list(threads.map(open_session, [application] * count))
        sessions = [session for session, _ in opened]
        times = sorted(took for _, took in opened)
        print(f"{count} sessions opened: half within {times[count // 2] * 1000:.0f} ms, all within {times[-1] * 1000:.0f} ms")
        list(threads.map(use, sessions))
        print(f"{count} sessions used, each through its own endpoint")
        list(threads.map(close, sessions))
        print(f"{count} sessions closed")


if __name__ == "__main__":
    main()
