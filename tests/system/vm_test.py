#!/usr/bin/env python3
"""A virtual machine from its first to its last word, all through `berth`."""

import os
import shutil
import subprocess
import time
import unittest
from pathlib import Path

from harness import ROOT, SystemTest, children_of, deployment, item, main, wait_until

NAME = "guest/default/0"
TICK = os.sysconf("SC_CLK_TCK")
BOOT_SECONDS = 120  # emulated, on a busy machine

# Says how far it has come, and leaves a word when the power button is pressed.
COUNTER = 'trap "echo bye; exit 0" TERM; i=0; while :; do i=$((i+1)); echo "count $i"; sleep 0.1; done'


@unittest.skipUnless(shutil.which("qemu-system-x86_64"), "qemu is not installed")
class VirtualMachine(SystemTest):
    def setUp(self):
        super().setUp()
        self.unit.start_control()
        made = subprocess.run([ROOT / "tools" / "make_vm_guest.sh", self.unit.directory / "guest"],
                              capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.start_agent()
        applied = self.apply(item("guest", images=[{"vm": {"kernel": "vmlinuz", "initrd": "initrd", "cmdline": "quiet"}}],
                                  args=["-c", COUNTER], quotas={"ram": "96Mi"}, request={"cpu": 1, "ram": "96Mi"}),
                             deployment("d", {"item": "guest"}))
        self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)
        wait_until(lambda: self.count() > 0, "the guest to boot", BOOT_SECONDS, pause=0.5)

    def start_agent(self):
        self.unit.start_agent("n1", "--runtimes", "process,vm", "--images-dir", str(self.unit.directory / "guest"),
                              "--capacity-cpu", "10000", "--capacity-ram", "4Gi")
        wait_until(lambda: self.runtime("vm")["ready"] == "Ready", "the vm runtime to be ready", 60, pause=0.5)

    def runtime(self, name: str) -> dict:
        node = self.node("n1") or {"runtimes": []}
        return next((runtime for runtime in node["runtimes"] if runtime["name"] == name), {"ready": "?"})

    # --- What it does.

    def count(self) -> int:
        lines = self.unit.berth("logs", "guest", "--tail", "5").stdout.split("\n")
        counts = [int(line.split()[1]) for line in lines if line.startswith("count ") and line.strip()[6:].isdigit()]
        return counts[-1] if counts else 0

    def cpu_seconds(self) -> float:
        ticks = 0
        for shim in self.shims():
            for pid in children_of(shim):
                fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
                ticks += int(fields[11]) + int(fields[12])
        return ticks / TICK

    def emulators(self) -> list[int]:
        return [pid for shim in self.shims() for pid in children_of(shim)]

    def state(self) -> str:
        (instance,) = self.unit.instances()
        return instance["state"]

    def run_verb(self, verb: str):
        done = self.unit.berth(verb, "guest")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def assert_it_stands_still(self):
        count = wait_until(self.count, "its log to be there", 30, pause=0.2)  # the agent may only just be back
        before = self.cpu_seconds()
        self.assertGreater(before, 0)
        time.sleep(2)  # that nothing happens takes time
        self.assertLess(self.cpu_seconds() - before, 0.2)
        self.assertEqual(self.count(), count)

    # --- The test: one boot is dear, so it is one life.

    def test_it_boots_is_paused_goes_on_and_is_stopped_in_order(self):
        emulators = self.emulators()
        self.assertIn("software emulation" if not os.access("/dev/kvm", os.W_OK) else "", self.runtime("vm")["message"])

        self.run_verb("pause")
        self.assertEqual(self.state(), "Paused")
        self.assert_it_stands_still()

        self.unit.agents["n1"].kill()
        self.start_agent()
        wait_until(lambda: self.state() == "Paused", "it to be found again", pause=0.2)
        self.assert_it_stands_still()

        before = wait_until(self.count, "its log to be there")
        self.run_verb("resume")
        self.assertEqual(self.state(), "Active")
        wait_until(lambda: self.count() > before, "its console to go on", 60, pause=0.2)
        self.assertEqual(self.emulators(), emulators)

        self.assertNotEqual(self.unit.berth("exec", "guest", "--", "true").returncode, 0)

        deleted = self.unit.berth("delete", "deployment", "d")
        self.assertEqual(deleted.returncode, 0, deleted.stdout + deleted.stderr)
        wait_until(lambda: not self.shims(), "its end", 60)
        logs = b"".join(path.read_bytes() for path in self.unit.directory.rglob("logs/**/*") if path.is_file())
        self.assertIn(b"bye", logs)


if __name__ == "__main__":
    main()
