"""What the system tests of sessions are made of: applications, callers, and connections to their endpoints."""

import base64
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from grpc_peer import GrpcPeer, field
from harness import ROOT, Failure, SystemTest, Unit, wait_until

SDK = ROOT / "sdk" / "session"
SPACE = "games"


def application(name: str, item: str, scaling: dict, sessions: dict, **spec) -> dict:
    return {"apiVersion": "berth/v1", "kind": "Application", "metadata": {"name": name, "namespace": SPACE},
            "spec": {"item": item, "scaling": {"cooldown": "1h", **scaling}, "sessions": sessions, **spec}}


def namespace(name: str = SPACE) -> dict:
    return {"apiVersion": "berth/v1", "kind": "Namespace", "metadata": {"name": name}}


class Answer:
    """Of an HTTP call: its status, and what it says."""

    def __init__(self, status: int, text: bytes):
        self.status, self.text = status, text.decode()

    @property
    def json(self) -> dict:
        return json.loads(self.text)


class Api(http.client.HTTPConnection):
    """One connection over the local socket, kept for many calls."""

    def __init__(self, path, timeout: float = 60):
        super().__init__("berth", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)

    def call(self, method: str, path: str, body: dict | None = None) -> Answer:
        self.request(method, path, body=json.dumps(body) if body is not None else None,
                     headers={"Content-Type": "application/json"})
        answer = self.getresponse()
        return Answer(answer.status, answer.read())

    def open(self, application_name: str, data: bytes = b"", **more) -> Answer:
        body = {**({"data": base64.b64encode(data).decode()} if data else {}), **more}
        return self.call("POST", f"/v1/namespaces/{SPACE}/applications/{application_name}/sessions", body)


def open_request(application_name: str, name: str = "", data: bytes = b"") -> bytes:
    """As gRPC has it."""
    named = field(3, name) if name else b""
    return field(1, SPACE) + field(2, application_name) + named + (field(5, data) if data else b"")


def endpoint_of(session: dict, protocol: str = "tcp") -> tuple[str, int]:
    found = next(endpoint for endpoint in session["endpoints"] if endpoint["protocol"] == protocol)
    address, port = found["external"].rsplit(":", 1)
    return address, int(port)


def connect(session: dict, timeout: float = 10) -> socket.socket:
    return socket.create_connection(endpoint_of(session), timeout=timeout)


def hear(connection: socket.socket, count: int) -> bytes:
    heard = b""
    while len(heard) < count:
        more = connection.recv(min(count - len(heard), 1 << 16))
        if not more:
            raise EOFError(f"cut off after {len(heard)} of {count} bytes")
        heard += more
    return heard


def echo(connection: socket.socket, said: bytes) -> bytes:
    connection.sendall(said)
    return hear(connection, len(said))


@contextmanager
def timed(what: str):
    """Says how long it took: no test depends on it, machines are noisy."""
    began = time.monotonic()
    yield
    print(f"  {what}: {(time.monotonic() - began) * 1000:.0f} ms", flush=True)


def build_echo(destination):
    """The example app in C++, for places where there is nothing but it."""
    subprocess.run(["g++", "-std=c++17", "-O1", "-static", "-pthread", "-I", SDK,
                    ROOT / "examples" / "sessions" / "echo.cc", "-o", destination], check=True)


def session_app(unit: Unit) -> list[dict]:
    """The images of an app that knows of its sessions, where everybody can read it; its notes are in unit/notes."""
    app, notes = unit.directory / "app", unit.directory / "notes"
    for directory, mode in ((app, 0o755), (notes, 0o777)):
        directory.mkdir()
        directory.chmod(mode)
    for file in (Path(__file__).parent / "session_app.py", SDK / "berth_session.py"):
        Path(shutil.copy(file, app)).chmod(0o755)
    python = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
    return [{"command": [python, str(app / "session_app.py"), str(notes)]}]


class SessionTest(SystemTest):
    """All tests of a class share one unit: it is dear, and sessions do not mind each other."""

    @classmethod
    def setUpClass(cls):
        cls.unit = Unit(Path(tempfile.mkdtemp(prefix="berth-test-")))
        cls.all_well = False
        cls.addClassCleanup(cls.end_unit)
        cls().start_unit()
        cls.all_well = True

    def setUp(self):
        pass

    def tearDown(self):
        type(self).all_well &= self._outcome.success

    @classmethod
    def end_unit(cls):
        cls.unit.stop()
        cls().kill_what_is_left()
        if not cls.all_well:
            cls().show_logs()
        cls.unit.remove()

    def start_unit(self):
        """For tests to say what they need."""
        raise NotImplementedError

    # --- Applications.

    def must_apply(self, *documents: dict):
        applied = self.apply(*documents)
        self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)

    def pools(self, name: str) -> dict:
        found = [pool for pool in self.unit.ask("get", "applications")["pools"] if pool["application"] == name]
        return found[0] if found else {"ready": 0, "pending": 0, "standby": 0, "active": 0, "terminating": 0}

    def wait_for_pools(self, name: str, seconds: float = 60, **counts: int) -> dict:
        """Exactly so many of each."""
        def full():
            pools = self.pools(name)
            return pools if all(pools[pool] == count for pool, count in counts.items()) else None
        try:
            return wait_until(full, "", seconds, pause=0.1)
        except Failure:
            raise Failure(f"waited {seconds:.0f} s for {name} to have {counts}: it has {self.pools(name)}") from None

    # --- Callers.

    def log_in(self, name: str, *flags: str) -> dict[str, str]:
        """The environment of somebody with a certificate."""
        token = self.unit.ask("join-token", "--name", name, *flags)["token"]
        environment = {"BERTH_CONFIG_DIR": str(self.unit.directory / f"of-{name}"), "BERTH_SOCKET": ""}
        login = self.unit.berth("login", "https://" + self.unit.endpoints["https"], token, env=environment)
        self.assertEqual(login.returncode, 0, login.stderr)
        return environment

    def peer(self, environment: dict[str, str], **options) -> GrpcPeer:
        identity = next(Path(environment["BERTH_CONFIG_DIR"]).rglob("cert.pem")).parent
        made = GrpcPeer(self.unit.endpoints["grpc"], identity, **options)
        self.addCleanup(made.socket.close)
        return made

    # --- Sessions.

    def api(self, **options) -> Api:
        made = Api(self.unit.socket, **options)
        self.addCleanup(made.close)
        return made

    def must_call(self, call) -> dict:
        """On a connection of its own: a control plane that was restarted knows no other."""
        api = Api(self.unit.socket)
        try:
            answer = call(api)
        finally:
            api.close()
        self.assertEqual(answer.status, 200, answer.text)
        return answer.json

    def open(self, application_name: str, data: bytes = b"", **more) -> dict:
        return self.must_call(lambda api: api.open(application_name, data, **more))

    def session(self, name: str) -> dict:
        return self.must_call(lambda api: api.call("GET", f"/v1/namespaces/{SPACE}/sessions/{name}"))

    def sessions(self) -> list[dict]:
        return self.must_call(lambda api: api.call("GET", f"/v1/namespaces/{SPACE}/sessions?limit=100000"))["sessions"]

    def close(self, name: str) -> dict:
        return self.must_call(lambda api: api.call("DELETE", f"/v1/namespaces/{SPACE}/sessions/{name}"))

    def wait_for_state(self, name: str, state: str, seconds: float = 60) -> dict:
        def there():
            session = self.session(name)
            return session if session["state"] == state else None
        return wait_until(there, f"session {name} to be {state}", seconds)
