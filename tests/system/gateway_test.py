#!/usr/bin/env python3
"""Sessions forwarded by the kernel: whoever is connected does not notice that the agent is killed."""

import json
import os
import shutil
import socket
import subprocess
import unittest

from harness import SystemTest, main, wait_until
from unit import ROOT

EXAMPLE = ROOT / "examples" / "sessions"
APPLICATION = "games/echo"


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("nft"), "rules of the kernel need root and nft")
class Gateway(SystemTest):
    def setUp(self):
        super().setUp()
        self.unit.start_control()
        self.unit.start_agent("n1", "--runtimes", "process", "--capacity-cpu", "10000", "--capacity-ram", "8Gi",
                              "--sessions-gateway", "nftables")
        self.unit.wait_for_node("n1")
        applied = self.unit.berth("apply", "-f", EXAMPLE / "application.yaml")
        self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)
        wait_until(lambda: self.unit.ask("get", "applications")["pools"][0]["ready"] >= 5, "the pool to be full")

    def open(self, name: str) -> dict:
        opened = self.unit.berth("session", "open", APPLICATION, "--name", name, "-o", "json")
        self.assertEqual(opened.returncode, 0, opened.stdout + opened.stderr)
        return json.loads(opened.stdout)

    def close(self, name: str):
        closed = self.unit.berth("session", "close", f"games/{name}")
        self.assertEqual(closed.returncode, 0, closed.stderr)

    def session(self, name: str) -> dict:
        return json.loads(self.unit.berth("session", "describe", f"games/{name}", "-o", "json").stdout)

    @staticmethod
    def endpoint(session: dict) -> tuple[str, int]:
        address, port = session["endpoints"][0]["external"].rsplit(":", 1)
        return address, int(port)

    def connect(self, session: dict) -> socket.socket:
        return socket.create_connection(self.endpoint(session), timeout=20)

    def assert_echoes(self, connection: socket.socket, said: bytes):
        connection.sendall(said)
        heard = b""
        while len(heard) < len(said):
            more = connection.recv(4096)
            self.assertTrue(more, "the connection was closed")
            heard += more
        self.assertEqual(heard, said)

    def assert_cut(self, connection: socket.socket):
        try:
            self.assertEqual(connection.recv(1), b"")
        except ConnectionResetError:
            pass

    def rules(self) -> str:
        return subprocess.run(["nft", "list", "table", "ip", f"berth-gateway-{self.unit.tag('n1')}"],
                              capture_output=True, text=True, check=False).stdout

    def test_a_killed_agent_interrupts_nobody(self):
        session = self.open("blue")
        other = self.open("red")
        agent = self.unit.agents["n1"]
        with self.connect(session) as connection, self.connect(other) as red:
            self.assert_echoes(connection, b"before\n")
            agent.kill()
            self.assert_echoes(connection, b"meanwhile\n")
            with self.connect(session) as late:
                self.assert_echoes(late, b"comes while no agent is there\n")
            agent.start()
            self.unit.wait_for_node("n1")
            self.assert_echoes(connection, b"after\n")
            self.assert_echoes(red, b"after\n")
            self.close("blue")
            self.assert_cut(connection)
            self.assert_echoes(red, b"the other session goes on\n")
        self.assertRaises(ConnectionRefusedError, self.connect, session)
        self.assertEqual(self.session("red")["state"], "available")

    def test_nobody_comes_in_before_it_is_open_and_after_it_is_closed(self):
        address, port = self.endpoint(self.open("blue"))
        following = (address, port + 1)  # the next session's: ports are given out in their order
        self.assertRaises(ConnectionRefusedError, socket.create_connection, following, 20)
        self.assertEqual(self.endpoint(self.open("red")), following)
        with socket.create_connection(following, timeout=20) as connection:
            self.assert_echoes(connection, b"hello\n")
            self.close("red")
            self.assert_cut(connection)
        self.assertRaises(ConnectionRefusedError, socket.create_connection, following, 20)
        self.assertEqual(self.session("red")["state"], "closed")

    def test_what_nobody_wants_any_more_is_gone_in_the_next_life(self):
        address, port = self.endpoint(self.open("blue"))
        agent = self.unit.agents["n1"]
        agent.kill()
        for pid in self.running_pids():
            os.kill(pid, 9)
        wait_until(lambda: not self.running_pids(), "the instances to end")
        self.assertIn(f"tcp . {port} :", self.rules())
        agent.start()
        self.unit.wait_for_node("n1")
        wait_until(lambda: f"tcp . {port} :" not in self.rules(), "the rules to be gone")
        self.assertRaises(ConnectionRefusedError, socket.create_connection, (address, port), 20)
        wait_until(lambda: self.session("blue")["state"] == "failed", "the session to fail")


if __name__ == "__main__":
    main()
