#!/usr/bin/env python3
"""Sessions in containers: apps that know of them, stand still on standby, and are reached by TCP and UDP."""

import os
import shutil
import socket
import subprocess
import unittest
from pathlib import Path

from harness import IS_ROOT, ROOT, children_of, command_of, item, main, wait_until
from sessions import SessionTest, application, build_echo, connect, echo, endpoint_of, hear, namespace, timed

IMAGE = [{"platform": {"os": "linux", "arch": "amd64"}, "runtimes": ["runc"], "oci": "images/echo:1"}]


def is_frozen(pid: int) -> bool:
    """Whether the control group of a process stands still, in either kind of hierarchy."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        old, new = Path(f"/sys/fs/cgroup/freezer{path}/freezer.state"), Path(f"/sys/fs/cgroup{path}/cgroup.freeze")
        if controllers == "freezer" and old.exists():
            return old.read_text().strip() == "FROZEN"
        if controllers == "" and new.exists():
            return new.read_text().strip() == "1"
    return False


@unittest.skipUnless(IS_ROOT and shutil.which("runc"), "containers need root and runc")
class ContainerSessions(SessionTest):
    def start_unit(self):
        build_echo(self.unit.directory / "echo")
        made = subprocess.run([ROOT / "tools" / "make_image.sh", f"{self.unit.images}/echo:1", self.unit.directory / "echo"],
                              capture_output=True, text=True, env={**os.environ, "ENTRYPOINT": "/echo"}, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.unit.start_control()
        self.unit.start_agent("n1", "--runtimes", "runc", "--capacity-cpu", "10000", "--capacity-ram", "4Gi",
                              "--stop-instances-on-exit", "true")
        self.unit.wait_for_node("n1")
        self.must_apply(namespace(), item("echo", images=IMAGE, ports=["7000/tcp", "7000/udp"],
                                          request={"cpu": 1, "ram": "8Mi"}))

    def offer(self, name: str, spec: dict | None = None, **scaling):
        where = {"nodes": ["n1"], **(spec or {})}
        self.must_apply(application(name, "echo", {"maximum": 4, **scaling}, {"service": True}, **where))
        self.addCleanup(self.withdraw, name)

    def withdraw(self, name: str):
        deleted = self.unit.berth("delete", "application", f"games/{name}")
        self.assertEqual(deleted.returncode, 0, deleted.stdout + deleted.stderr)
        wait_until(lambda: not self.shims(), "its containers to end")

    def apps(self) -> list[int]:
        """Not what makes containers, which comes and goes."""
        return sorted(pid for shim in self.shims() for pid in children_of(shim) if command_of(pid).strip() == "/echo")

    def frozen(self) -> list[int]:
        return [pid for pid in self.apps() if is_frozen(pid)]

    def test_an_app_in_a_container_is_told_of_its_session_and_reached_by_tcp_and_udp(self):
        self.offer("echo", idle={"low": 1, "high": 1})
        self.wait_for_pools("echo", ready=1)
        with timed("a session on a ready container"):
            session = self.open("echo", b"welcome\0\xff", name="blue")
        with connect(session) as connection:
            self.assertEqual(hear(connection, 9), b"welcome\0\xff")
            self.assertEqual(echo(connection, b"over tcp"), b"over tcp")
            self.assertEqual(self.wait_for_state("blue", "in-use")["clients"], 1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            datagrams.settimeout(10)
            datagrams.sendto(b"over udp", endpoint_of(session, "udp"))
            self.assertEqual(datagrams.recv(100), b"over udp")
        self.assertEqual(endpoint_of(session), endpoint_of(session, "udp"))
        before = self.apps()
        self.assertEqual(self.close("blue")["reason"], "ClosedByCaller")
        self.assertRaises(ConnectionRefusedError, connect, session)
        self.assertTrue(set(before) <= set(self.apps()), "an app that cleans up serves the next session")

    def test_a_container_on_standby_is_frozen_and_thaws_for_a_session(self):
        self.offer("frozen", idle={"low": 0, "high": 0}, standby={"low": 1, "high": 1})
        self.wait_for_pools("frozen", standby=1)
        (app,) = self.frozen()
        with timed("a session on a frozen container"):
            session = self.open("frozen", b"!", name="woken")
        self.assertFalse(is_frozen(app))
        with connect(session) as connection:
            self.assertEqual(hear(connection, 1), b"!")
        self.wait_for_pools("frozen", active=1, standby=1)
        self.assertEqual(len(self.frozen()), 1)
        self.assertFalse(is_frozen(app))

    def test_a_session_waits_for_a_container_that_has_to_be_made(self):
        self.offer("cold", idle={"low": 0, "high": 0})
        with timed("a session on a container that is started for it"):
            session = self.open("cold", b"?", name="cold")
        with connect(session) as connection:
            self.assertEqual(hear(connection, 1), b"?")

    def test_where_nothing_can_be_paused_the_ready_ones_serve_and_the_application_says_why(self):
        programs = self.unit.directory / "programs"
        programs.mkdir()
        runc = programs / "runc"
        runc.write_text(f'#!/bin/sh\ncase "$*" in *pause*) echo "no freezer" >&2; exit 1;; esac\n'
                        f'exec {shutil.which("runc")} "$@"\n')
        runc.chmod(0o755)
        self.unit.start_agent("n2", "--runtimes", "runc", "--capacity-cpu", "10000", "--capacity-ram", "4Gi",
                              "--stop-instances-on-exit", "true", wrapper=["env", f"PATH={programs}:{os.environ['PATH']}"])
        self.unit.wait_for_node("n2")
        self.offer("awake", {"nodes": ["n2"]}, idle={"low": 1, "high": 1}, standby={"low": 1, "high": 1})

        def says_why():
            shown = self.unit.berth("describe", "application", "games/awake").stdout
            return "no freezer" in shown and shown
        self.assertIn("PauseFailed", wait_until(says_why, "the application to say why"))
        with connect(self.open("awake", b".", name="awake")) as connection:
            self.assertEqual(hear(connection, 1), b".")
        self.assertEqual(self.pools("awake")["standby"], 0)

    def test_an_app_finds_the_session_service_again_when_the_agent_was_killed(self):
        self.offer("echo", idle={"low": 0, "high": 0}, standby={"low": 1, "high": 1})
        self.wait_for_pools("echo", standby=1)
        session = self.open("echo", b"hello", name="kept")
        self.wait_for_pools("echo", standby=1)
        before, frozen = self.apps(), self.frozen()
        self.unit.agents["n1"].kill()
        self.unit.agents["n1"].start()

        def greets():
            try:
                with connect(session) as connection:
                    return hear(connection, 5) == b"hello"
            except OSError:
                return False
        wait_until(greets, "the endpoint to be open again")
        with connect(session):
            self.wait_for_state("kept", "in-use")  # the app says that it has a client
        self.assertEqual(self.frozen(), frozen)
        self.assertEqual(self.close("kept")["state"], "closed")
        self.assertEqual(self.apps(), before)
        self.wait_for_pools("echo", standby=1, ready=1)


if __name__ == "__main__":
    main()
