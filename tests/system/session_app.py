#!/usr/bin/env python3
"""An app for tests that serves many sessions at once, and keeps a file for each of what it was opened with.

Whoever connects hears what they say. The files are in the directory that is its first argument, with another for each
that says who serves it.
"""

import asyncio
import os
import sys
from pathlib import Path

from berth_session import SessionClient  # the tests put it beside

DIRECTORY = Path(sys.argv[1])


async def serve(reader, writer):
    while said := await reader.read(65536):
        writer.write(said)
    writer.close()


def keep(name: str, content: bytes):
    """Whole, also where another instance, which is another user, has kept something."""
    part = DIRECTORY / f"{name}.{os.getpid()}"
    part.write_bytes(content)
    part.rename(DIRECTORY / name)


def opened(session: str, data: bytes):
    keep(f"{session}.pid", str(os.getpid()).encode())
    keep(session, data)
    client.opened(session)


async def run():
    server = await asyncio.start_server(serve, "127.0.0.1", int(os.environ["BERTH_PORT_7000"]), backlog=1024)
    client.start()  # whoever is told of a session may come at once
    await server.serve_forever()


client = SessionClient()
client.on_open = opened
asyncio.run(run())
