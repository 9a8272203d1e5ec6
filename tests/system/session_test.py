#!/usr/bin/env python3
"""Applications with warm pools, for real: sessions opened, used through their endpoints, kept over restarts."""

import json
import os
import signal
import socket
import subprocess
import sys
import unittest

from harness import SystemTest, main, wait_until
from unit import ROOT

EXAMPLE = ROOT / "examples" / "sessions"
APPLICATION = "games/echo"


class Sessions(SystemTest):
    def setUp(self):
        super().setUp()
        self.unit.start_control()
        self.start_agent("n1")
        applied = self.unit.berth("apply", "-f", EXAMPLE / "application.yaml")
        self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)
        wait_until(lambda: self.pools()["ready"] >= 5 and self.pools()["standby"] >= 2, "the pools to be full")

    def start_agent(self, name):
        self.unit.start_agent(name, "--runtimes", "process", "--capacity-cpu", "10000", "--capacity-ram", "8Gi")
        self.unit.wait_for_node(name)

    def pools(self) -> dict:
        return self.unit.ask("get", "applications")["pools"][0]

    def open(self, *flags: str) -> dict:
        opened = self.unit.berth("session", "open", APPLICATION, *flags, "-o", "json")
        self.assertEqual(opened.returncode, 0, opened.stdout + opened.stderr)
        return json.loads(opened.stdout)

    def session(self, name: str) -> dict:
        return json.loads(self.unit.berth("session", "describe", f"games/{name}", "-o", "json").stdout)

    @staticmethod
    def connect(session: dict) -> socket.socket:
        address, port = session["endpoints"][0]["external"].rsplit(":", 1)
        return socket.create_connection((address, int(port)), timeout=10)

    def assert_echoes(self, connection: socket.socket, said: bytes):
        connection.sendall(said)
        heard = b""
        while len(heard) < len(said):
            more = connection.recv(4096)
            self.assertTrue(more, "the connection was closed")
            heard += more
        self.assertEqual(heard, said)

    def test_plans_and_why_know_of_pools(self):
        plan = self.unit.berth("plan", "-f", EXAMPLE / "application.yaml", "-o", "json")
        self.assertEqual(plan.returncode, 0, plan.stdout + plan.stderr)
        self.assertEqual(json.loads(plan.stdout).get("stops", []), [])
        why = self.unit.berth("why", APPLICATION)
        self.assertIn("n1", why.stdout, why.stderr)
        dry = self.unit.berth("delete", "application", APPLICATION, "--dry-run")
        self.assertEqual(dry.returncode, 0, dry.stdout + dry.stderr)

    def test_a_session_is_reached_through_its_endpoint_until_it_is_closed(self):
        session = self.open("--name", "blue")
        self.assertEqual(session["state"], "available")
        with self.connect(session) as connection:
            self.assert_echoes(connection, b"hello\n")
            closed = self.unit.berth("session", "close", "games/blue")
            self.assertEqual(closed.returncode, 0, closed.stderr)
            try:
                self.assertEqual(connection.recv(1), b"")
            except ConnectionResetError:
                pass  # cut
        self.assertRaises(ConnectionRefusedError, self.connect, session)
        self.assertEqual(self.session("blue")["state"], "closed")

    def test_the_example_uses_a_hundred_sessions(self):
        done = subprocess.run([sys.executable, EXAMPLE / "client.py", APPLICATION, "100"], capture_output=True, text=True,
                              env={**os.environ, **self.unit.environment(), "BERTH": str(self.unit.bin / "berth")},
                              timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("100 sessions closed", done.stdout)

    def test_a_killed_control_plane_interrupts_no_session(self):
        session = self.open("--name", "blue")
        running = sorted(self.running_pids())
        with self.connect(session) as connection:
            self.assert_echoes(connection, b"before\n")
            self.unit.control.kill()
            self.assert_echoes(connection, b"meanwhile\n")
            self.unit.start_control()
            self.unit.wait_for_node("n1")
            wait_until(lambda: self.unit.berth("session", "describe", "games/blue").returncode == 0, "the session")
            self.assertEqual(self.session("blue")["endpoints"], session["endpoints"])
            self.assert_echoes(connection, b"after\n")
        self.assertTrue(set(running) <= set(self.running_pids()), "an instance was ended")

    def test_an_agent_that_comes_back_has_its_sessions(self):
        session = self.open("--name", "blue")
        agent = self.unit.agents["n1"]
        agent.kill()
        agent.start()
        self.unit.wait_for_node("n1")

        def echoes():
            try:
                with self.connect(session) as connection:
                    self.assert_echoes(connection, b"again\n")
                    return True
            except OSError:
                return False
        wait_until(echoes, "the endpoint to be open again")
        self.assertEqual(self.session("blue")["state"], "available")

    def test_an_instance_that_dies_takes_its_session_with_it_and_is_replaced(self):
        self.open("--name", "blue")
        before = self.pools()
        for pid in self.running_pids():
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: self.session("blue")["state"] == "failed", "the session to fail")
        wait_until(lambda: self.pools()["ready"] >= before["ready"], "the pool to be full again")


if __name__ == "__main__":
    main()
