#!/usr/bin/env python3
"""An app for tests that serves many sessions at once, and keeps a file for each of what it was opened with.

Whoever connects hears what they say. The files are in the directory that is its first argument.
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


def opened(session: str, data: bytes):
    (DIRECTORY / f"{session}.part").write_bytes(data)
    (DIRECTORY / f"{session}.part").rename(DIRECTORY / session)
    client.opened(session)


async def run():
    server = await asyncio.start_server(serve, "127.0.0.1", int(os.environ["BERTH_PORT_7000"]), backlog=1024)
    client.start()  # whoever is told of a session may come at once
    await server.serve_forever()


client = SessionClient()
client.on_open = opened
asyncio.run(run())
