#!/usr/bin/env python3
"""Networks for real: three hosts on one wire, containers of two owners, names, the firewall, restarts."""

import os
import shutil
import subprocess
import unittest

from harness import IS_ROOT, SystemTest, deployment, item, main, wait_until

IMAGE = [{"platform": {"os": "linux", "arch": "amd64"}, "runtimes": ["runc"], "oci": "images/busybox:1"}]
MISSING = [program for program in ("ip", "nsenter", "nft", "dnsmasq", "runc") if shutil.which(program) is None]

# A static busybox asks no name server by itself.
LOOK_UP = """look_up() { nslookup "$1" | sed -n 's/^Address: //p'; }"""


def run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def namespaces() -> set[str]:
    return {line.split()[0] for line in run("ip", "netns").splitlines()}


def container(name: str, owner: str, script: str = "exec sleep 1000000", **spec) -> dict:
    return item(name, owner=owner, images=IMAGE, args=["sh", "-c", script], **spec)


@unittest.skipUnless(IS_ROOT, "networks need root")
@unittest.skipIf(MISSING, f"not installed: {', '.join(MISSING)}")
class Networks(SystemTest):
    def setUp(self):
        super().setUp()
        self.before = namespaces()
        self.hosts = {name: f"test-{os.getpid()}-{name}" for name in ("wire", "n1", "n2", "n3")}
        self.addCleanup(self.remove_hosts)
        self.make_hosts()
        self.unit.make_image("busybox:1")
        self.unit.start_control(host="203.0.113.254", wrapper=self.inside("wire"))
        for name in ("n1", "n2", "n3"):
            self.start_agent(name)

    def make_hosts(self):
        for name in self.hosts.values():
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        wire = self.hosts["wire"]
        run("ip", "-n", wire, "link", "add", "wire", "type", "bridge")
        run("ip", "-n", wire, "address", "add", "203.0.113.254/24", "dev", "wire")
        run("ip", "-n", wire, "link", "set", "wire", "up")
        for number, name in enumerate(("n1", "n2", "n3"), 1):
            host = self.hosts[name]
            run("ip", "-n", wire, "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", host)
            run("ip", "-n", wire, "link", "set", name, "master", "wire", "up")
            run("ip", "-n", host, "address", "add", f"203.0.113.{number}/24", "dev", "eth0")
            run("ip", "-n", host, "link", "set", "eth0", "up")

    def remove_hosts(self):
        for name in self.hosts.values():
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)

    def inside(self, host: str) -> list[str]:
        # Not `ip netns exec`: its mounts would go with it, and with them what the agent makes.
        return ["nsenter", f"--net=/run/netns/{self.hosts[host]}"]

    def start_agent(self, name: str):
        self.unit.start_agent(name, "--runtimes", "runc", "--capacity-cpu", "10000", "--capacity-ram", "4Gi",
                              "--stop-grace", "1s", "--stop-instances-on-exit", "true", wrapper=self.inside(name))
        self.unit.wait_for_node(name)

    def router(self, node: str) -> str:
        (name,) = [name for name in namespaces() - self.before if name.startswith(f"berth-{node}-")]
        return name

    def fetch(self, instance: str, name: str, port: int) -> subprocess.CompletedProcess:
        return self.unit.berth("exec", instance, "--", "sh", "-c",
                               f"{LOOK_UP}; printf 'GET /hosts HTTP/1.0\\r\\n\\r\\n' | timeout 5 nc $(look_up {name}) {port}")

    def refused(self, node: str) -> int:
        words = run("ip", "netns", "exec", self.router(node), "nft", "list", "counter", "inet", "berth",
                    "refused-between-networks").split()
        return int(words[words.index("packets") + 1])

    def test_owners_reach_their_own_by_name_and_others_only_where_it_is_allowed(self):
        applied = self.apply(
            container("server", "acme", "exec busybox httpd -f -p 8080 -h /etc", ports=["8080/tcp"],
                      health={"http": {"port": 8080, "path": "/hosts"}, "period": "1s"}),
            container("friend", "acme"), container("client", "other", allowedConnections=["server/8080/tcp"]),
            container("stranger", "other"),
            deployment("d", {"item": "server", "nodes": ["n1"]}, {"item": "friend", "nodes": ["n2"]},
                       {"item": "client", "nodes": ["n3"]}, {"item": "stranger", "nodes": ["n3"]}))
        self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)
        for instance in ("friend", "client"):
            fetched = self.fetch(instance, "server", 8080)
            self.assertIn("localhost", fetched.stdout, fetched.stderr)
        before = self.refused("n3")
        self.assertNotEqual(self.fetch("stranger", "server", 8080).returncode, 0)
        self.assertGreater(self.refused("n3"), before)

    def test_what_moves_is_reached_again_by_the_same_name_on_the_allowed_port_only(self):
        serve = "busybox httpd -p 8081 -h /etc; exec busybox httpd -f -p 8080 -h /etc"
        applied = self.apply(
            container("b", "acme", serve, ports=["8080/tcp", "8081/tcp"],
                      health={"http": {"port": 8080, "path": "/hosts"}, "period": "1s"}),
            container("a", "other", allowedConnections=["b/8080/tcp"]),
            deployment("d", {"item": "b", "nodes": ["n1", "n2"]}, {"item": "a", "nodes": ["n3"]}))
        self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)
        before = self.instance("b")
        self.check_reachable(before)
        refused = self.refused("n3")
        self.assertNotEqual(self.fetch("a", "b", 8081).returncode, 0)
        self.assertGreater(self.refused("n3"), refused)
        drained = self.unit.berth("drain", before["node"], "--deadline", "60s")
        self.assertEqual(drained.returncode, 0, drained.stdout + drained.stderr)
        after = self.instance("b")
        self.assertEqual({before["node"], after["node"]}, {"n1", "n2"})
        self.assertEqual(after["address"], before["address"])
        self.check_reachable(after)

    def check_reachable(self, server: dict):
        fetched = self.fetch("a", "b", 8080)
        self.assertIn("localhost", fetched.stdout, fetched.stderr)
        shown = self.unit.berth("exec", "b", "--", "busybox", "ip", "-4", "-o", "address", "show", "dev", "eth0")
        self.assertIn(f" {server['address']}/", shown.stdout, shown.stderr)

    def instance(self, item_name: str) -> dict:
        (found,) = [one for one in self.unit.instances() if one["item"] == item_name]
        return found

    def test_a_connection_lives_through_restarts_of_both_agents(self):
        applied = self.apply(
            container("source", "acme", "while :; do date; sleep 0.1; done | nc -l -p 9000", ports=["9000/tcp"],
                      restart={"policy": "never"}),
            deployment("d", {"item": "source", "nodes": ["n1"]}))
        self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)
        applied = self.apply(container("sink", "acme", f"{LOOK_UP}; sleep 1000000 | nc $(look_up source) 9000 > /storage/got", restart={"policy": "never"}),
                             deployment("e", {"item": "sink", "nodes": ["n2"]}))
        self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)

        def size() -> int:
            return sum(got.stat().st_size for got in self.unit.agent_dir("n2").glob("storage/*/got"))
        wait_until(size, "the first line")
        for name in ("n1", "n2"):
            self.unit.agents[name].kill()
        seen = size()
        wait_until(lambda: size() > seen, "more lines without agents")
        for name in ("n1", "n2"):
            self.start_agent(name)
        self.wait_for_active(2)
        seen = size()
        wait_until(lambda: size() > seen, "more lines after the restart")

    def test_many_on_one_node_are_updated_at_the_first_try(self):
        for version in ("1", "2", "3"):
            applied = self.apply(container("crowd", "acme", "trap exit TERM; sleep 1000000 & wait", version=version),
                                 deployment("d", {"item": "crowd", "version": version, "instances": 16, "nodes": ["n1"]}))
            self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)
            found = self.wait_for_active(16)
            self.assertEqual({(one["version"], one["restarts"]) for one in found}, {(version, 0)})

    def test_agents_that_stop_their_instances_leave_nothing(self):
        self.apply(container("server", "acme"), deployment("d", {"item": "server"}))
        self.assertNotEqual(namespaces() - self.before - set(self.hosts.values()), set())
        self.unit.stop()
        self.assertEqual(namespaces() - self.before - set(self.hosts.values()), set())
        for name in ("n1", "n2", "n3"):
            self.assertEqual(run(*self.inside(name), "nft", "list", "tables"), "")
            self.assertNotIn("bh", run("ip", "-n", self.hosts[name], "-o", "link"))


if __name__ == "__main__":
    main()
