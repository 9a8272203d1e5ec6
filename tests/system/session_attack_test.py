#!/usr/bin/env python3
"""Whoever asks for too much, talks nonsense or does not listen harms nobody else's sessions."""

import json
import os
import socket
import threading
import time
from pathlib import Path

from grpc_peer import DATA, END_STREAM, Broken, field, fields, message, split
from harness import item, main, wait_until
from sessions import SPACE, SessionTest, application, connect, echo, namespace, open_request, session_app

FLOOD_PER_SECOND, FLOOD_SECONDS = 10_000, 4
OPEN = "/berth.v1.Berth/OpenSessions"


class Attacks(SessionTest):
    def start_unit(self):
        self.unit.start_control()
        self.unit.start_agent("n1", "--runtimes", "process", "--capacity-cpu", "10000", "--capacity-ram", "4Gi")
        self.unit.wait_for_node("n1")
        self.must_apply(namespace(), item("told", images=session_app(self.unit), ports=["7000/tcp"], quotas={"ram": "512Mi"}),
                        self.offer("calm", claim="0s"), self.offer("flood", claim="1s"))
        for name in ("calm", "flood"):
            self.wait_for_pools(name, ready=1)

    @staticmethod
    def offer(name: str, **sessions) -> dict:
        return application(name, "told", {"minimum": 1, "maximum": 1}, {"service": True, "perInstance": 500, **sessions})

    def assert_calm(self):
        """A session of another application is opened, used and closed, and its node is well."""
        session = self.open("calm")
        with connect(session) as connection:
            self.assertEqual(echo(connection, b"still there"), b"still there")
        self.assertEqual(self.close(session["name"])["state"], "closed")
        self.unit.wait_for_node("n1")

    def open_of(self, name: str) -> list[dict]:
        return [session for session in self.sessions()
                if session["application"] == name and session["state"] in ("pending", "starting", "available", "in-use")]

    # --- Callers.

    def flood(self, peer, counts: dict):
        """So many opens in each tenth of a second, and whatever is answered to them."""
        batch = b"".join([message(field(2, open_request("flood")))] * (FLOOD_PER_SECOND // 10))
        peer.open(OPEN)
        began = time.monotonic()
        for turn in range(FLOOD_SECONDS * 10):
            peer.send_data(batch)
            time.sleep(max(0.0, began + (turn + 1) / 10 - time.monotonic()))
        counts["seconds"] = time.monotonic() - began
        peer.write_frame(DATA, END_STREAM, peer.stream, b"")
        while not peer.has_ended:
            peer.read_frame()
        for answer in split(bytes(peer.received)):
            kind = next((number for number, _ in fields(answer) if number in (2, 3)), 0)
            counts[kind] = counts.get(kind, 0) + 1

    def test_one_who_opens_ten_thousand_a_second_takes_nobody_elses_turn(self):
        counts: dict = {}
        peer = self.peer(self.log_in("greedy", "--role", "client", "--namespace", SPACE))
        thread = threading.Thread(target=self.flood, args=(peer, counts))
        thread.start()
        api, took = self.api(timeout=10), []
        while thread.is_alive():
            began = time.monotonic()
            answer = api.open("calm")
            self.assertEqual(answer.status, 200, answer.text)
            took.append(time.monotonic() - began)
            api.call("DELETE", f"/v1/namespaces/{SPACE}/sessions/{answer.json['name']}")
        thread.join()
        took.sort()
        print(f"  {FLOOD_PER_SECOND * FLOOD_SECONDS} opens in {counts['seconds']:.1f} s: {counts.get(2, 0)} sessions, "
              f"{counts.get(3, 0)} refused; {len(took)} of another caller meanwhile: half within "
              f"{took[len(took) // 2] * 1000:.1f} ms, all within {took[-1] * 1000:.0f} ms", flush=True)
        self.assertEqual(counts.get(2, 0) + counts.get(3, 0), FLOOD_PER_SECOND * FLOOD_SECONDS, "each is answered")
        wait_until(lambda: not self.open_of("flood"), "what nobody claims to be closed")
        self.assert_calm()

    def test_one_who_never_reads_the_answers_is_cut_off_and_leaves_nothing_behind(self):
        peer = self.peer(self.log_in("deaf", "--role", "client", "--namespace", SPACE), reads=False)
        batch = b"".join([message(field(2, open_request("flood")))] * 1000)
        peer.open(OPEN)
        with self.assertRaises(Broken):
            for _ in range(1000):
                peer.send_data(batch)
                if peer.has_ended:
                    raise Broken("it was told so")
        wait_until(lambda: not self.open_of("flood"), "what nobody claims to be closed")
        self.assert_calm()

    def test_one_who_leaves_while_it_waits_has_no_session(self):
        self.must_apply(application("none", "told", {"maximum": 1}, {"service": True, "openTimeout": "60s"}, nodes=["nowhere"]))
        api = self.api()
        api.connect()
        api.sock.sendall(f"POST /v1/namespaces/{SPACE}/applications/none/sessions HTTP/1.1\r\nHost: berth\r\n"
                         "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}".encode())
        wait_until(lambda: self.open_of("none"), "it to wait")
        api.close()
        wait_until(lambda: not self.open_of("none"), "it to be given up", 10)

    # --- At the session service.

    def sockets(self) -> list[Path]:
        tag = self.unit.tag("n1") or "none"
        directories = [self.unit.agent_dir("n1"), Path("/run/berth") / tag, Path("/dev/shm") / f"berth-{tag}"]
        return [path for directory in directories for path in directory.rglob("session.sock")]

    @staticmethod
    def say(path: Path, said: bytes) -> bytes:
        """What is answered until the other side hangs up."""
        heard = b""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stranger:
            stranger.settimeout(20)
            stranger.connect(str(path))
            try:
                stranger.sendall(said)
                while more := stranger.recv(65536):
                    heard += more
            except (BrokenPipeError, ConnectionResetError):
                pass
        return heard

    def test_strangers_at_the_session_socket_are_sent_away(self):
        session = self.open("calm", name="watched")
        paths = self.sockets()
        self.assertEqual(len(paths), 2, "one of each instance")
        wrong = json.dumps({"type": "hello", "token": "guessed"}).encode() + b"\n"
        for path in paths:
            for said in (b"\n", b"hello\n", b"\xff\xfe\0\n", b"[" * 100_000 + b"\n", wrong,
                         b'{"type":"opened","session":"watched"}\n', b'{"type":"closed","session":"watched"}\n',
                         b"x" * (1 << 20)):
                heard = self.say(path, said)
                self.assertNotIn(b"welcome", heard)
                self.assertNotIn(b"watched", heard)
        silent = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(200)]
        for stranger in silent:
            self.addCleanup(stranger.close)
            stranger.setblocking(False)
            try:
                stranger.connect(str(paths[0]))
            except BlockingIOError:
                pass  # nobody takes it, and nobody has to
        self.assert_calm()
        self.assertEqual(self.session("watched")["state"], "available")
        with connect(session) as connection:
            self.assertEqual(echo(connection, b"mine"), b"mine")
        self.close("watched")

    # --- At endpoints.

    def test_thousands_of_idle_connections_hurt_nobody_else(self):
        session = self.open("flood", name="crowded")
        strangers = []
        for _ in range(3000):
            stranger = socket.socket()
            self.addCleanup(stranger.close)
            stranger.setblocking(False)
            strangers.append(stranger)
            try:
                stranger.connect(("127.0.0.1", int(session["endpoints"][0]["external"].rsplit(":", 1)[1])))
            except BlockingIOError:
                pass
        self.assert_calm()
        held = len(os.listdir(f"/proc/{self.unit.agents['n1'].pid}/fd"))
        self.assertLess(held, 4000)
        print(f"  the agent has {held} descriptors", flush=True)
        for stranger in strangers:
            stranger.close()

        def let_in():
            try:
                with connect(session) as connection:
                    return echo(connection, b"room again") == b"room again"
            except (OSError, EOFError):
                return False
        wait_until(let_in, "room for others")
        self.close("crowded")


if __name__ == "__main__":
    main()
