#!/usr/bin/env python3
"""Sessions on virtual machines: paused on standby, resumed for whoever opens one, reached by its endpoint."""

import os
import shutil
import subprocess
import time
import unittest
from pathlib import Path

from harness import ROOT, children_of, item, main, wait_until
from sessions import SessionTest, application, connect, echo, namespace, timed

TICK = os.sysconf("SC_CLK_TCK")
BOOT_SECONDS = 120  # emulated, on a busy machine
# Says that it has booted, and listens where its node expects it.
ECHO = 'echo up; exec nc -ll -p $BERTH_PORT_7000 -e /bin/cat'
GUEST = [{"vm": {"kernel": "vmlinuz", "initrd": "initrd", "cmdline": "quiet"}}]


@unittest.skipUnless(shutil.which("qemu-system-x86_64"), "qemu is not installed")
class VirtualMachineSessions(SessionTest):
    def start_unit(self):
        self.unit.start_control()
        made = subprocess.run([ROOT / "tools" / "make_vm_guest.sh", self.unit.directory / "guest"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.unit.start_agent("n1", "--runtimes", "vm", "--images-dir", str(self.unit.directory / "guest"),
                              "--capacity-cpu", "10000", "--capacity-ram", "4Gi")
        wait_until(lambda: any(runtime["ready"] == "Ready" for runtime in (self.node("n1") or {"runtimes": []})["runtimes"]),
                   "the vm runtime to be ready", 60, pause=0.5)
        self.must_apply(namespace(), item("guest", images=GUEST, args=["-c", ECHO], ports=["7000/tcp"],
                                          quotas={"ram": "96Mi"}, request={"cpu": 1, "ram": "96Mi"}))

    def emulators(self) -> list[int]:
        return sorted(pid for shim in self.shims() for pid in children_of(shim))

    @staticmethod
    def cpu_seconds(pid: int) -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def greets(self, session: dict) -> bool:
        """A guest is running long before it has booted: without session service nobody knows when."""
        try:
            with connect(session, timeout=2) as connection:
                return echo(connection, b"hello") == b"hello"
        except (OSError, EOFError):
            return False

    def test_a_machine_stands_still_until_somebody_opens_a_session_and_ends_with_it(self):
        with timed("a machine is started and paused"):
            self.must_apply(application("guest", "guest", {"maximum": 2, "idle": {"low": 0, "high": 0},
                                                           "standby": {"low": 1, "high": 1}}, {"claim": "0s"}))
            self.wait_for_pools("guest", standby=1)
        (emulator,) = self.emulators()
        before = self.cpu_seconds(emulator)
        time.sleep(1)  # that nothing happens takes time
        self.assertLess(self.cpu_seconds(emulator) - before, 0.2)

        with timed("a session on a paused machine"):
            session = self.open("guest", name="first")
        with timed("until its guest answers"):
            wait_until(lambda: self.greets(session), "the guest to answer", BOOT_SECONDS, pause=0.2)
        self.assertIn(emulator, self.emulators())

        self.wait_for_pools("guest", active=1, standby=1)
        closed = self.close("first")
        self.assertEqual(closed["state"], "closed")
        wait_until(lambda: emulator not in self.emulators(), "what nobody cleans up to end", 60)
        self.wait_for_pools("guest", active=0, standby=1)

    def test_an_app_that_needs_the_session_service_is_told_that_it_cannot_be_a_machine(self):
        self.must_apply(application("service", "guest", {}, {"service": True, "openTimeout": "3s"}))
        late = self.api().open("service")
        self.assertEqual(late.status, 504, late.text)
        self.assertIn("`sessions.service` of its application must be off", late.json["error"]["message"])
        shown = self.unit.berth("describe", "application", "games/service").stdout
        self.assertIn("SessionServiceUnavailable", shown)


if __name__ == "__main__":
    main()
