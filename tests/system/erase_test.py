#!/usr/bin/env python3
"""Data that cannot be erased yet: the node stays what it is, and the erasure is completed later."""

import shutil
import subprocess
import unittest
from pathlib import Path

from harness import IS_ROOT, SystemTest, deployment, item, main, wait_until


@unittest.skipUnless(IS_ROOT and shutil.which("chattr"), "only root makes files immutable")
class Erase(SystemTest):
    def setUp(self):
        super().setUp()
        self.unit.start_control()
        self.unit.start_agent("n1", "--runtimes", "process", "--capacity-cpu", "10000", "--capacity-ram", "4Gi",
                              "--stop-instances-on-exit", "true")
        self.unit.wait_for_node("n1")

    def log(self) -> str:
        return (self.unit.directory / "agent-n1.log").read_text()

    def leave_immutable_file(self) -> Path:
        """What an instance that nobody asks for any more has left."""
        self.apply(item("web"), deployment("d", {"item": "web"}))
        self.wait_for_active(1)
        self.unit.berth("delete", "deployment", "d", check=True)
        wait_until(lambda: not self.shims(), "it to stop")
        (file,) = (self.unit.agent_dir("n1") / "storage").glob("*/starts")
        made = subprocess.run(["chattr", "+i", file], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            self.skipTest("the file system knows no immutable files: " + made.stderr)
        self.addCleanup(subprocess.run, ["chattr", "-i", file], capture_output=True, check=False)
        return file

    def purge(self):
        self.unit.berth("delete", "instance", "web/default/0", "--purge", check=True)
        wait_until(lambda: "cannot be erased" in self.log(), "the first try")

    def test_a_node_stays_connected_while_it_cannot_erase_and_completes_it_later(self):
        file = self.leave_immutable_file()
        self.purge()
        # All that the agent says while it erases is heard: another instance comes up meanwhile.
        self.apply(item("other"), deployment("e", {"item": "other"}))
        self.assertEqual([one["state"] for one in self.unit.instances() if one["item"] == "other"], ["Active"])
        self.assertEqual(self.node("n1")["liveness"], "reachable")
        self.assertNotIn("disconnected", self.log())
        self.assertTrue(file.exists())
        subprocess.run(["chattr", "-i", file], check=True)
        wait_until(lambda: not file.exists(), "its data to be gone", seconds=90)
        self.assertNotIn("disconnected", self.log())

    def test_an_erasure_goes_on_after_a_restart_of_the_agent(self):
        file = self.leave_immutable_file()
        self.purge()
        self.unit.agents["n1"].stop()
        subprocess.run(["chattr", "-i", file], check=True)
        self.unit.agents["n1"].start()
        wait_until(lambda: not file.exists(), "its data to be gone")
        self.unit.wait_for_node("n1")


if __name__ == "__main__":
    main()
