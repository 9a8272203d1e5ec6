"""Sessions for apps: one file, nothing but the standard library. How it is meant: docs/howto/offer-sessions.md

    client = SessionClient()
    client.on_open = lambda session, data: client.opened(session)
    client.on_close = lambda session, grace: client.closed(session)
    client.start()
"""

import base64
import json
import os
import select
import socket
import threading
import time


class SessionClient:
    """The connection with the session service of the node, kept up by a thread of its own, which also calls `on_open`
    and `on_close`. Everything may be called from any thread, also from the callbacks. What is reported while there is
    no connection is not lost.

    on_open(session, data): told once for each session. Answer with `opened` or `failed`, at once or later; an
        exception is a failure. The data (bytes) are those that the session was opened with.
    on_close(session, grace): answer with `closed` within the grace (seconds): the instance is ended otherwise.
    ping_every: says every so many seconds that the app is alive. 0: the app calls `ping` itself.
    """

    def __init__(self, path=None, token=None, ping_every=3.0):
        """Without arguments from BERTH_SESSION_SOCKET and BERTH_SESSION_TOKEN: what the node's agent has set."""
        self.path = path if path is not None else os.environ.get("BERTH_SESSION_SOCKET", "")
        self.token = token if token is not None else os.environ.get("BERTH_SESSION_TOKEN", "")
        self.ping_every = ping_every
        self.on_open = lambda session, data: self.opened(session)
        self.on_close = lambda session, grace: self.closed(session)
        self._lock = threading.RLock()
        self._stopping = threading.Event()
        self._thread = None
        self._socket = None
        self._is_welcome = False
        self._sessions = {}  # name: {"open": bool, "closing": bool, "clients": number or None}
        self._closed_meanwhile = []
        self._closed_told = 0  # of them with hello

    def is_offered(self):
        """False: the app was not started with sessions, and there is nothing to do."""
        return bool(self.path)

    def start(self):
        """Set the callbacks before."""
        if self.is_offered() and self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def stop(self):
        """Not from a callback."""
        self._stopping.set()
        with self._lock:
            self._hang_up()
        if self._thread is not None:
            self._thread.join()

    def opened(self, session):
        with self._lock:
            if session in self._sessions:
                self._sessions[session]["open"] = True
                self._send(type="opened", session=session)

    def failed(self, session, message):
        with self._lock:
            if self._sessions.pop(session, None) is not None:
                self._send(type="failed", session=session, message=message)

    def closed(self, session):
        """As told, or because the app has ended it."""
        with self._lock:
            if self._sessions.pop(session, None) is not None:
                if not self._send(type="closed", session=session):
                    self._closed_meanwhile.append(session)

    def clients(self, session, count):
        """How many use the session now."""
        with self._lock:
            if session in self._sessions:
                self._sessions[session]["clients"] = count
                self._send(type="clients", session=session, count=count)

    def ping(self):
        with self._lock:
            self._send(type="ping")

    # --- The thread ---

    def _run(self):
        wait = 0.05
        while not self._stopping.is_set():
            try:
                self._connect()
                self._listen()
            except (OSError, ValueError, KeyError):
                pass  # tried again
            with self._lock:
                wait = 0.05 if self._is_welcome else min(wait * 2, 2.0)
                self._disconnect()
            self._stopping.wait(wait)

    def _connect(self):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with self._lock:
            self._socket = connection
        connection.connect(self.path)
        with self._lock:
            # Says what has ended meanwhile, so that it is not opened again.
            self._closed_told = len(self._closed_meanwhile)
            self._write({"type": "hello", "token": self.token, "closed": self._closed_meanwhile})

    def _disconnect(self):
        if self._socket is not None:
            self._socket.close()
        self._socket = None
        self._is_welcome = False

    def _hang_up(self):
        try:
            if self._socket is not None:
                self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it was not connected

    def _listen(self):
        """Until the connection ends."""
        received = b""
        readable = select.poll()
        readable.register(self._socket, select.POLLIN)
        next_ping = time.monotonic() + self.ping_every
        while not self._stopping.is_set():
            left = max(next_ping - time.monotonic(), 0) if self.ping_every > 0 else None
            if readable.poll(left and left * 1000 + 1):
                chunk = self._socket.recv(65536)
                if not chunk:
                    return
                *lines, received = (received + chunk).split(b"\n")
                for line in lines:
                    self._hear(json.loads(line))
            if self.ping_every > 0 and time.monotonic() >= next_ping:
                self.ping()
                next_ping = time.monotonic() + self.ping_every

    def _hear(self, line):
        if line["type"] == "welcome":
            self._hear_welcome()
        elif line["type"] == "open":
            self._hear_open(line["session"], base64.b64decode(line["data"]))
        elif line["type"] == "close":
            self._hear_close(line["session"], line["graceMs"] / 1000)

    def _hear_welcome(self):
        with self._lock:
            if len(self._closed_meanwhile) > self._closed_told:
                raise OSError("something has ended since hello: it is said with another one")
            self._is_welcome = True
            self._closed_meanwhile = []

    def _hear_open(self, name, data):
        with self._lock:
            if name in self._sessions:  # told again after a new connection: who asks knows nothing of it any more
                known = self._sessions[name]
                if known["open"]:
                    self._send(type="opened", session=name)
                if known["open"] and known["clients"] is not None:
                    self._send(type="clients", session=name, count=known["clients"])
                return
            self._sessions[name] = {"open": False, "closing": False, "clients": None}
        try:
            self.on_open(name, data)
        except Exception as problem:  # the app's own, whatever it is
            self.failed(name, str(problem))

    def _hear_close(self, name, grace):
        with self._lock:
            session = self._sessions.get(name)
            if session is None:
                self._send(type="closed", session=name)
                return
            if session["closing"]:
                return
            session["closing"] = True
        self.on_close(name, grace)

    # --- Sending, with the lock ---

    def _send(self, **line):
        """False: there is nobody to say it to."""
        if not self._is_welcome:
            return False
        try:
            self._write(line)
            return True
        except OSError:
            return False

    def _write(self, line):
        self._socket.sendall(json.dumps(line).encode() + b"\n")
