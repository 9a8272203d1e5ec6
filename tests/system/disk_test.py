#!/usr/bin/env python3
"""Disks that are full: a clear error, nothing lost, and on it goes when there is room."""

import subprocess
import unittest
from pathlib import Path

from harness import IS_ROOT, SystemTest, deployment, item, main, wait_until


@unittest.skipUnless(IS_ROOT, "a small file system needs root to be mounted")
class FullDisk(SystemTest):
    def mount(self, directory: Path):
        directory.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=711", "tmpfs", directory], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", directory], check=False)

    def fill(self, directory: Path):
        filler = directory / "filler"
        with open(filler, "wb", buffering=0) as file:  # what is buffered would fail when it is closed
            try:
                while True:
                    file.write(b"\0" * 65536)
            except OSError:
                pass
        with open(filler, "ab", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * 512)
            except OSError:
                return filler

    def test_under_the_control_plane(self):
        self.mount(self.unit.control_dir)
        self.unit.start_control()
        self.unit.start_agent("n1", "--runtimes", "process")
        self.unit.wait_for_node("n1")
        self.assertEqual(self.apply(item("a"), deployment("d", {"item": "a"})).returncode, 0)
        filler = self.fill(self.unit.control_dir)
        big = {f"V{i}": "x" * 200 for i in range(500)}
        refused = self.apply(item("b", env=big), deployment("e", {"item": "b"}), timeout=60)
        self.assertEqual(refused.returncode, 5, "it is not refused: the change is kept")
        self.assertRegex(refused.stderr, "not durable yet: .*(?i:full|space)")
        later = self.apply(item("c"), timeout=60)
        self.assertEqual(later.returncode, 1, "nothing is kept of what comes when the disk is known to be full")
        self.assertIn("nothing can be changed", later.stderr)
        filler.unlink()
        self.wait_for_active(2)
        wait_until(lambda: self.apply(item("b", env=big), deployment("e", {"item": "b"})).returncode == 0,
                   "room again", pause=0.5)
        self.wait_for_active(2)
        self.unit.control.kill()
        self.unit.start_control()
        self.wait_for_active(2)

    def test_both_daemons_start_on_a_full_disk(self):
        self.mount(self.unit.control_dir)
        self.unit.start_control()
        self.mount(self.unit.agent_dir("n1"))
        self.assertEqual(self.unit.join("n1").returncode, 0)
        agent = self.unit.start_agent("n1", "--runtimes", "process", "--partitions-storage", "1Gi",
                                      "--partitions-state", "1Gi")
        self.unit.wait_for_node("n1")
        self.assertEqual(self.apply(item("a"), deployment("d", {"item": "a"})).returncode, 0)
        running = self.shims()
        self.unit.control.kill()
        agent.kill()
        for directory in (self.unit.control_dir, self.unit.agent_dir("n1")):
            self.fill(directory)
        command = self.unit.control.command
        for flag in ("grpc", "https"):
            command[command.index(f"--listen-{flag}") + 1] = self.unit.endpoints[flag]
        # Other addresses want another certificate, which cannot be written.
        command += ["--advertise", "elsewhere.example"]
        self.unit.control.start()
        agent.start()
        wait_until(lambda: self.unit.berth("get", "nodes").returncode == 0, "berthd to serve")
        self.unit.wait_for_node("n1")
        self.wait_for_active(1)
        self.assertEqual(self.shims(), running)
        self.assertIn("the server's certificate should be replaced", self.readyz())

    def test_under_an_agent(self):
        self.unit.start_control()
        self.mount(self.unit.agent_dir("n1"))
        joined = self.unit.join("n1")
        self.assertEqual(joined.returncode, 0, joined.stderr)
        self.start_agent("n1", "20000")
        self.start_agent("n2", "10000")
        here = {"nodes": ["n1"]}
        self.apply(item("a"), deployment("d", {"item": "a", "instances": 2, **here}))
        self.apply(item("old"), deployment("gone", {"item": "old", **here}))
        self.wait_for_active(3)
        filler = self.fill(self.unit.agent_dir("n1"))
        running = self.running_pids()

        # It learns that its disk is full when it is told something: it says so, and is well otherwise.
        big = {f"V{i}": "x" * 200 for i in range(500)}
        documents = self.write("b.yaml", item("b", env=big), deployment("e", {"item": "b", **here}))
        self.unit.berth("apply", "--no-wait", "-f", documents)
        wait_until(lambda: "full" in self.node("n1")["storeProblem"], "the node to say that it cannot write")
        self.assertEqual(self.node("n1")["state"], "provisioned")
        self.assertIn("ReadOnly", self.unit.berth("get", "nodes").stdout)
        self.assertEqual(self.states_of("a"), ["Active", "Active"])
        wait_until(lambda: self.states_of("b") == ["Failed"], "the reason")
        self.assertIn("cannot write its store", self.unit.berth("why", "b").stdout)

        # What is new goes elsewhere, what is deleted is stopped, what runs is left alone.
        self.assertEqual(self.apply(item("c"), deployment("f", {"item": "c"})).returncode, 0)
        self.assertEqual([i["node"] for i in self.unit.instances() if i["item"] == "c"], ["n2"])
        self.assertEqual(self.unit.berth("delete", "deployment", "gone").returncode, 0)
        wait_until(lambda: not self.states_of("old"), "what is deleted to be stopped")
        kept = set(running) & set(self.running_pids())
        self.assertEqual(len(kept), 2)

        # A restart on the full disk finds everything as it was.
        self.unit.agents["n1"].kill()
        self.start_agent("n1", "20000")
        wait_until(lambda: self.states_of("a") == ["Active", "Active"], "the node to be back")
        self.assertLessEqual(kept, set(self.running_pids()))

        filler.unlink()
        wait_until(lambda: self.states_of("b") == ["Active"], "room again")
        wait_until(lambda: not self.node("n1")["storeProblem"], "the node to take new instances")
        self.assertLessEqual(kept, set(self.running_pids()))
        self.assertEqual(set(self.starts().values()), {1})

    def start_agent(self, name: str, cpu: str):
        self.unit.start_agent(name, "--runtimes", "process", "--capacity-cpu", cpu, "--capacity-ram", "4Gi",
                              "--partitions-storage", "1Gi", "--partitions-state", "1Gi")
        self.unit.wait_for_node(name)

    def states_of(self, name: str) -> list[str]:
        return [i["state"] for i in self.unit.instances() if i["item"] == name]


if __name__ == "__main__":
    main()
