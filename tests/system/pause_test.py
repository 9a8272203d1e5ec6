#!/usr/bin/env python3
"""Instances that stand still, for real: processes and containers."""

import os
import time
import unittest
from pathlib import Path

from harness import IS_ROOT, SystemTest, children_of, deployment, item, main, wait_until

# Burns the processor, says now and then how far it has come, and leaves a word when it goes politely.
BURNER = ('cd "$BERTH_STORAGE"; echo $$ >> starts; trap "echo bye > bye; exit 0" TERM; i=0; '
          'while :; do i=$((i+1)); [ $((i % 20000)) -ne 0 ] || echo $i; done')
NAME = "burner/default/0"
TICK = os.sysconf("SC_CLK_TCK")


class Pausing:
    """The tests, whatever runs it."""

    images: list

    def setUp(self):
        super().setUp()
        self.prepare()
        self.unit.start_control()
        self.start_agent("n1")
        applied = self.apply(item("burner", images=self.images, request={"cpu": 1, "ram": "8Mi"}, **self.more()),
                             deployment("d", {"item": "burner"}))
        self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)
        self.wait_for_progress()

    def prepare(self):
        pass

    def more(self) -> dict:
        return {}

    def start_agent(self, name):
        self.unit.start_agent(name, "--runtimes", self.runtime, "--capacity-cpu", "10000", "--capacity-ram", "4Gi")
        self.unit.wait_for_node(name)

    # --- What it does.

    def cpu_seconds(self) -> float:
        ticks = 0
        for shim in self.shims():
            for pid in children_of(shim):
                try:
                    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
                except OSError:
                    continue
                ticks += int(fields[11]) + int(fields[12])
        return ticks / TICK

    def progress(self) -> int:
        lines = self.unit.berth("logs", "burner", "--tail", "1").stdout.split()
        return int(lines[-1]) if lines else 0

    def wait_for_progress(self):
        before = self.progress()
        wait_until(lambda: self.progress() > before, "it to go on", pause=0.2)

    def assert_it_stands_still(self):
        before = self.cpu_seconds()
        self.assertGreater(before, 0)
        time.sleep(1)  # that nothing happens takes time
        self.assertLess(self.cpu_seconds() - before, 0.1)

    def state(self) -> str:
        (instance,) = self.unit.instances()
        return instance["state"]

    def wait_for_state(self, state: str):
        wait_until(lambda: self.state() == state, f"it to be {state}", pause=0.1)

    def run_verb(self, verb: str) -> str:
        done = self.unit.berth(verb, "burner")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def assert_it_was_started_once(self):
        self.assertEqual(list(self.starts().values()), [1])

    # --- The tests.

    def test_it_uses_no_processor_until_it_is_resumed_and_then_goes_on(self):
        self.assertIn(f"instance/{NAME} is paused", self.run_verb("pause"))
        self.assertEqual(self.state(), "Paused")
        self.assert_it_stands_still()
        self.assertIn(f"instance/{NAME} is paused", self.run_verb("pause"))
        self.assertIn(f"instance/{NAME} is resumed", self.run_verb("resume"))
        self.assertEqual(self.state(), "Active")
        self.wait_for_progress()
        self.assert_it_was_started_once()

    def test_it_stays_paused_when_the_agent_and_the_control_plane_die(self):
        self.run_verb("pause")
        self.unit.agents["n1"].kill()
        self.start_agent("n1")
        self.wait_for_state("Paused")
        self.assert_it_stands_still()
        self.unit.control.kill()
        self.unit.start_control()
        self.unit.wait_for_node("n1")
        self.wait_for_state("Paused")
        self.assert_it_stands_still()
        self.run_verb("resume")
        self.wait_for_progress()
        self.assert_it_was_started_once()

    def test_it_goes_on_if_the_agent_was_dead_when_it_was_told_to(self):
        self.run_verb("pause")
        self.unit.agents["n1"].kill()
        told = self.unit.berth("resume", "burner", "--no-wait")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.start_agent("n1")
        self.wait_for_state("Active")
        self.wait_for_progress()
        self.assert_it_was_started_once()

    def test_it_is_stopped_in_order_while_it_is_paused(self):
        self.run_verb("pause")
        deleted = self.unit.berth("delete", "deployment", "d")
        self.assertEqual(deleted.returncode, 0, deleted.stdout + deleted.stderr)
        wait_until(lambda: not self.shims(), "its end")
        (bye,) = self.unit.directory.glob("agent-*/storage/*/bye")
        self.assertEqual(bye.read_text(), "bye\n")


class Processes(Pausing, SystemTest):
    runtime = "process"
    images = [{"command": ["/bin/sh", "-c", BURNER]}]


@unittest.skipUnless(IS_ROOT, "containers need root")
class Containers(Pausing, SystemTest):
    runtime = "runc"
    images = [{"platform": {"os": "linux", "arch": "amd64"}, "runtimes": ["runc"], "oci": "images/busybox:1"}]

    def prepare(self):
        self.unit.make_image("busybox:1")

    def more(self) -> dict:
        return {"args": ["sh", "-c", BURNER]}


if __name__ == "__main__":
    main()
