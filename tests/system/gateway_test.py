#!/usr/bin/env python3
"""Sessions forwarded by the kernel: whoever is connected does not notice that the agent is killed."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import unittest

from harness import SystemTest, item, main, wait_until
from unit import ROOT

# Says what it is told, line by line, and prints what it hears; "cut" at the end.
CLIENT = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=20) as connection:
    print("connected", flush=True)
    for line in sys.stdin:
        try:
            if line.strip() != "listen":
                connection.sendall(line.encode())
            print(connection.recv(4096).decode().strip() or "cut", flush=True)
        except ConnectionResetError:
            print("cut", flush=True)
"""
IMAGE = [{"platform": {"os": "linux", "arch": "amd64"}, "runtimes": ["runc"], "oci": "images/busybox:1"}]
MISSING = [program for program in ("ip", "nsenter", "nft", "dnsmasq", "runc") if shutil.which(program) is None]

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

    def connect_soon(self, session: dict) -> socket.socket:
        """An app that says nothing of itself may listen a moment after its session is available."""
        def connected():
            try:
                return self.connect(session)
            except ConnectionRefusedError:
                return None
        return wait_until(connected, "the app to listen")

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
        with self.connect_soon(session) as connection, self.connect_soon(other) as red:
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
        with self.connect_soon(self.session("red")) as connection:
            self.assert_echoes(connection, b"hello\n")
            self.close("red")
            self.assert_cut(connection)
        self.assertRaises(ConnectionRefusedError, socket.create_connection, following, 20)
        self.assertEqual(self.session("red")["state"], "closed")

    def kill_running(self) -> list[int]:
        """Those that are there; one that was being started when its agent died comes a moment later."""
        pids = self.running_pids()
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        return pids

    def test_what_nobody_wants_any_more_is_gone_in_the_next_life(self):
        address, port = self.endpoint(self.open("blue"))
        agent = self.unit.agents["n1"]
        agent.kill()
        wait_until(lambda: not self.kill_running(), "the instances to end")
        self.assertIn(f"tcp . {port} :", self.rules())
        agent.start()
        self.unit.wait_for_node("n1")
        wait_until(lambda: f"tcp . {port} :" not in self.rules(), "the rules to be gone")
        self.assertRaises(ConnectionRefusedError, socket.create_connection, (address, port), 20)
        wait_until(lambda: self.session("blue")["state"] == "failed", "the session to fail")


@unittest.skipUnless(os.geteuid() == 0, "networks need root")
@unittest.skipIf(MISSING, f"not installed: {', '.join(MISSING)}")
class GatewayToContainers(SystemTest):
    """A host and a machine beside it; what serves is a container."""

    def setUp(self):
        super().setUp()
        self.host, self.outside = (f"test-{os.getpid()}-{name}" for name in ("host", "out"))
        self.addCleanup(self.remove_hosts)
        self.make_hosts()
        self.unit.make_image("busybox:1")
        self.unit.start_control(host="203.0.113.254", wrapper=self.inside(self.outside))
        self.start_agent()
        echo = item("echo", owner="acme", images=IMAGE, ports=["7000/tcp"],
                    args=["sh", "-c", "exec busybox nc -ll -p $BERTH_PORT_7000 -e /bin/busybox cat"])
        application = {"apiVersion": "berth/v1", "kind": "Application", "metadata": {"name": "echo"},
                       "spec": {"item": "echo", "scaling": {"maximum": 4, "idle": {"low": 1, "high": 1}},
                                "sessions": {"reuse": True}}}
        applied = self.apply(echo, application)
        self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)
        wait_until(lambda: self.unit.ask("get", "applications")["pools"][0]["ready"] >= 1, "the pool to be full")

    def make_hosts(self):
        for name in (self.host, self.outside):
            self.ip("netns", "add", name)
        self.ip("-n", self.outside, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", self.host)
        for name, address in ((self.host, "203.0.113.1/24"), (self.outside, "203.0.113.254/24")):
            self.ip("-n", name, "address", "add", address, "dev", "eth0")
            for device in ("lo", "eth0"):
                self.ip("-n", name, "link", "set", device, "up")

    def remove_hosts(self):
        for name in (self.host, self.outside):
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)

    @staticmethod
    def ip(*arguments: str):
        subprocess.run(["ip", *arguments], capture_output=True, timeout=60, check=True)

    @staticmethod
    def inside(name: str) -> list[str]:
        return ["nsenter", f"--net=/run/netns/{name}"]

    def start_agent(self):
        self.unit.start_agent("n1", "--runtimes", "runc", "--capacity-cpu", "10000", "--capacity-ram", "4Gi",
                              "--stop-grace", "1s", "--stop-instances-on-exit", "true", "--sessions-gateway", "nftables",
                              wrapper=self.inside(self.host))
        self.unit.wait_for_node("n1")

    def connect(self, where: str, endpoint: str) -> subprocess.Popen:
        client = subprocess.Popen([*self.inside(where), sys.executable, "-c", CLIENT, *endpoint.rsplit(":", 1)],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(client.communicate, timeout=60)
        self.assertEqual(client.stdout.readline(), "connected\n")
        return client

    def assert_says(self, client: subprocess.Popen, said: str, answer: str):
        client.stdin.write(said + "\n")
        client.stdin.flush()
        self.assertEqual(client.stdout.readline(), answer + "\n")

    def test_a_container_is_reached_from_everywhere_also_while_its_agent_is_away(self):
        session = self.unit.ask("session", "open", "default/echo", "--name", "blue")
        endpoint = session["endpoints"][0]["external"]
        self.assertTrue(endpoint.startswith("203.0.113.1:"), endpoint)
        clients = [self.connect(where, endpoint) for where in (self.host, self.outside)]
        for client in clients:
            self.assert_says(client, "before", "before")
        agent = self.unit.agents["n1"]
        agent.kill()
        for client in clients:
            self.assert_says(client, "meanwhile", "meanwhile")
        agent.start()
        self.unit.wait_for_node("n1")
        for client in clients:
            self.assert_says(client, "after", "after")
        self.assertEqual(self.unit.berth("session", "close", "default/blue").returncode, 0)
        for client in clients:
            self.assert_says(client, "listen", "cut")


@unittest.skipUnless(os.geteuid() == 0, "hosts of their own need root")
@unittest.skipIf(MISSING, f"not installed: {', '.join(MISSING)}")
class GatewayNode(SystemTest):
    """Two hosts and a client on one wire: the instances are on one host, the gateway is the other."""

    def setUp(self):
        super().setUp()
        self.hosts = {name: f"test-{os.getpid()}-{name}" for name in ("wire", "n1", "gw")}
        self.addCleanup(self.remove_hosts)
        self.make_hosts()
        self.start_control()
        for name in ("n1", "gw"):
            self.start_agent(name)
        echo = item("echo", images=[{"command": ["/bin/busybox"]}], ports=["7000/tcp"],
                    args=["sh", "-c", "exec /bin/busybox nc -ll -p $BERTH_PORT_7000 -e /bin/cat"])
        application = {"apiVersion": "berth/v1", "kind": "Application", "metadata": {"name": "echo"},
                       "spec": {"item": "echo", "nodes": ["n1"], "sessions": {"reuse": True},
                                "scaling": {"maximum": 4, "idle": {"low": 1, "high": 1}}}}
        applied = self.apply(echo, application)
        self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)
        wait_until(lambda: self.unit.ask("get", "applications")["pools"][0]["ready"] >= 1, "the pool to be full")

    def start_control(self):
        self.unit.start_control("--gateway-node", "gw", "--gateway-address", "203.0.113.2",
                                "--gateway-ports", "30000-30099", host="203.0.113.254", wrapper=self.inside("wire"))

    def make_hosts(self):
        for name in self.hosts.values():
            self.ip("netns", "add", name)
            self.ip("-n", name, "link", "set", "lo", "up")
        wire = self.hosts["wire"]
        self.ip("-n", wire, "link", "add", "wire", "type", "bridge")
        self.ip("-n", wire, "address", "add", "203.0.113.254/24", "dev", "wire")
        self.ip("-n", wire, "link", "set", "wire", "up")
        for number, name in enumerate(("n1", "gw"), 1):
            host = self.hosts[name]
            self.ip("-n", wire, "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", host)
            self.ip("-n", wire, "link", "set", name, "master", "wire", "up")
            self.ip("-n", host, "address", "add", f"203.0.113.{number}/24", "dev", "eth0")
            self.ip("-n", host, "link", "set", "eth0", "up")

    def remove_hosts(self):
        for name in self.hosts.values():
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)

    @staticmethod
    def ip(*arguments: str):
        subprocess.run(["ip", *arguments], capture_output=True, timeout=60, check=True)

    def inside(self, host: str) -> list[str]:
        return ["nsenter", f"--net=/run/netns/{self.hosts[host]}"]

    def start_agent(self, name: str):
        self.unit.start_agent(name, "--runtimes", "process", "--capacity-cpu", "10000", "--capacity-ram", "4Gi",
                              "--stop-grace", "1s", "--stop-instances-on-exit", "true", "--sessions-gateway", "nftables",
                              wrapper=self.inside(name))
        self.unit.wait_for_node(name)

    def connections_of(self, name: str) -> int:
        return (self.unit.directory / "berthd.log").read_text().count(f"agent connected node={name} ")

    def start_again(self, name: str):
        """Until the control plane has heard of it: nobody else knows what the gateway forwards."""
        before = self.connections_of(name)
        self.unit.agents[name].start()
        wait_until(lambda: self.connections_of(name) > before, f"{name} to connect")
        self.unit.wait_for_node(name)

    def connect(self, endpoint: str) -> subprocess.Popen:
        client = subprocess.Popen([*self.inside("wire"), sys.executable, "-c", CLIENT, *endpoint.rsplit(":", 1)],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(client.communicate, timeout=60)
        self.assertEqual(client.stdout.readline(), "connected\n")
        return client

    def assert_says(self, client: subprocess.Popen, said: str, answer: str):
        client.stdin.write(said + "\n")
        client.stdin.flush()
        self.assertEqual(client.stdout.readline(), answer + "\n")

    def test_clients_come_in_by_the_gateway_and_no_restart_cuts_them(self):
        session = self.unit.ask("session", "open", "default/echo", "--name", "blue")
        endpoint = session["endpoints"][0]["external"]
        self.assertEqual(endpoint, "203.0.113.2:30000")
        client = self.connect(endpoint)
        self.assert_says(client, "before", "before")
        for name in ("gw", "n1"):
            self.unit.agents[name].kill()
            self.assert_says(client, "meanwhile", "meanwhile")
            self.start_again(name)
            self.assert_says(client, "after", "after")
        self.unit.control.kill()
        self.start_control()
        for name in ("gw", "n1"):
            self.unit.wait_for_node(name)
        wait_until(lambda: self.unit.berth("session", "describe", "default/blue").returncode == 0, "the session")
        self.assert_says(client, "again", "again")
        described = json.loads(self.unit.berth("session", "describe", "default/blue", "-o", "json").stdout)
        self.assertEqual(described["endpoints"][0]["external"], endpoint)
        self.assertEqual(self.unit.berth("session", "close", "default/blue").returncode, 0)
        self.assert_says(client, "listen", "cut")


if __name__ == "__main__":
    main()
