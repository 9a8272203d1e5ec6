#!/usr/bin/env python3
"""An app that offers sessions: whoever connects is greeted with the session's data, and hears what they say.

It listens on port 7000, for TCP and UDP, and serves one session at a time.
"""

import os
import signal
import socket
import sys
import threading
from pathlib import Path

sys.path.insert(0, os.environ.get("BERTH_SDK", str(Path(__file__).resolve().parents[2] / "sdk" / "session")))
from berth_session import SessionClient

PORT = int(os.environ.get("BERTH_PORT_7000", "7000"))


class Echo:
    def __init__(self):
        self.lock = threading.Lock()
        self.session = None
        self.greeting = b""
        self.connections = set()
        self.service = SessionClient()
        self.service.on_open = self.open
        self.service.on_close = self.close

    # --- What the session service says ---

    def open(self, session, data):
        with self.lock:
            self.session, self.greeting = session, data
        self.service.opened(session)

    def close(self, session, grace):
        with self.lock:
            self.session = None
            for connection in self.connections:
                connection.shutdown(socket.SHUT_RDWR)
        self.service.closed(session)

    def tell_clients(self):
        with self.lock:
            session, count = self.session, len(self.connections)
        if session is not None:
            self.service.clients(session, count)

    # --- What clients say ---

    def serve_tcp(self, listener):
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=self.serve_client, args=(connection,), daemon=True).start()

    def serve_client(self, connection):
        with connection:
            with self.lock:
                self.connections.add(connection)
                greeting = self.greeting
            self.tell_clients()
            try:
                connection.sendall(greeting)
                while said := connection.recv(65536):
                    connection.sendall(said)
            except OSError:
                pass  # the client, or its session, is gone
            with self.lock:
                self.connections.discard(connection)
        self.tell_clients()

    def serve_udp(self, listener):
        while True:
            said, client = listener.recvfrom(65536)
            listener.sendto(said, client)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    echo = Echo()
    tcp = socket.create_server(("", PORT))
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("", PORT))
    threading.Thread(target=echo.serve_udp, args=(udp,), daemon=True).start()
    # Whoever is told of a session may come at once: it is offered when we listen.
    echo.service.start()
    echo.serve_tcp(tcp)


if __name__ == "__main__":
    main()
