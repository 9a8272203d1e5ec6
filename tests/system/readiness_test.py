#!/usr/bin/env python3
"""Runtimes that break for real while the node goes on: a program that fails, hangs, and is repaired."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from datetime import datetime
from pathlib import Path

from harness import IS_ROOT, ROOT, SystemTest, deployment, item, main, wait_until

IMAGE = [{"platform": {"os": "linux", "arch": "amd64"}, "runtimes": ["runc"], "oci": "images/busybox:1"}]
NODES = ["n1", "n2", "n3"]
MACHINES = ["vm"] if shutil.which("qemu-system-x86_64") else []

PERIOD, DEADLINE, GRACE = 0.5, 1.0, 1.0
# For what the test itself takes to look, on a machine that does much else.
LOOKING = 3.0

FAILS = "echo out of order >&2\nexit 1"
HANGS = "trap '' TERM INT HUP\nsleep 1000000\nsleep 1000000"


def in_ms(seconds: float) -> str:
    return f"{int(seconds * 1000)}ms"


@unittest.skipUnless(IS_ROOT and shutil.which("runc"), "containers need root and runc")
class Readiness(SystemTest):
    def setUp(self):
        super().setUp()
        self.unit.make_image("busybox:1")
        self.unit.start_control()
        for name in NODES:
            self.repair_runc(name)
            self.settings(name)
            self.start_agent(name)
        for name in NODES:
            self.wait_for_state(name, "mine", "Ready", 60)

    # --- The machines.

    def start_agent(self, name: str):
        self.unit.start_agent(
            name, "--config", self.settings_file(name), "--capacity-cpu", "10000", "--capacity-ram", "4Gi",
            "--network", "off", "--stop-grace", "1s", "--stop-instances-on-exit", "true",
            "--probe-period", in_ms(PERIOD), "--probe-deadline", in_ms(DEADLINE), "--probe-grace", in_ms(GRACE))

    def settings_file(self, name: str) -> Path:
        return self.unit.directory / f"{name}.yaml"

    def settings(self, name: str, **runtimes: dict):
        own = {"mine": {"type": "runc", "program": str(self.runc(name)), "primary": "true"}, **runtimes}
        self.settings_file(name).write_text(json.dumps({"runtimes": ["process", *MACHINES], "runtime": own}))

    def runc(self, name: str) -> Path:
        return self.unit.directory / "bin" / name / "runc"

    def replace_runc(self, name: str, script: str):
        """As a whole, from one moment to the next."""
        path = self.runc(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name("runc.new")
        fresh.write_text(f"#!/bin/sh\n{script}\n")
        fresh.chmod(0o755)
        fresh.rename(path)

    def repair_runc(self, name: str):
        self.replace_runc(name, f"exec {shutil.which('runc')} \"$@\"")

    def runtimes(self, node: str) -> dict[str, dict]:
        found = self.node(node) or {}
        return {runtime["name"]: runtime for runtime in found.get("runtimes", [])}

    def wait_for_state(self, node: str, runtime: str, state: str, seconds: float) -> dict:
        def there():
            found = self.runtimes(node).get(runtime, {})
            return found if found.get("ready") == state else None
        return wait_until(there, f"runtime {runtime} of {node} to be {state}", seconds)

    def condition(self, node: str, kind: str) -> dict:
        found = (self.node(node) or {}).get("conditions", [])
        return next((one for one in found if one["type"] == kind), {"status": "?"})

    def wait_for_condition(self, node: str, kind: str, status: str, seconds: float) -> dict:
        def there():
            found = self.condition(node, kind)
            return found if found["status"] == status else None
        return wait_until(there, f"{kind} of {node} to be {status}", seconds)

    @staticmethod
    def seconds_until(condition: dict, begun: float) -> float:
        return datetime.fromisoformat(condition["lastTransition"].replace("Z", "+00:00")).timestamp() - begun

    # --- What runs.

    def pids(self) -> dict[str, int]:
        """The programs of all instances, by their run directories."""
        return {str(path.parent): int(path.read_text()) for path in self.unit.directory.glob("agent-*/runs/*/*/pid")}

    def run_on(self, name: str, node: str, **spec):
        run = {"item": name, "nodes": [node]} if node else {"item": name}
        applied = self.apply(item(name, **spec), deployment(name, run))
        self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)

    def instance(self, name: str) -> dict:
        return next(one for one in self.unit.instances() if one["item"] == name)

    def start_one_of_each(self):
        self.run_on("container", "n2", images=IMAGE, args=["sh", "-c", "exec sleep 1000000"])
        self.run_on("process", "n2")
        if MACHINES:
            made = subprocess.run([ROOT / "tools" / "make_vm_guest.sh", self.unit.directory / "guest"],
                                  capture_output=True, text=True)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.wait_for_state("n2", "vm", "Ready", 60)
            self.run_on("machine", "n2", images=[{"vm": {"kernel": "guest/vmlinuz", "initrd": "guest/initrd"}}],
                        args=["-c", "sleep 1000000"], quotas={"ram": "96Mi"})
        self.wait_for_active(2 + len(MACHINES))

    def assert_untouched(self, before: dict[str, int]):
        after = self.pids()
        for run, pid in before.items():
            self.assertEqual(after.get(run), pid)
            os.kill(pid, 0)
        self.assertEqual(set(self.starts().values()) - {1}, set(), "something was started again")

    # --- Tests.

    def broken_and_repaired(self, script: str, state: str, says: str):
        self.start_one_of_each()
        before = self.pids()
        self.assertEqual(len(before), 2 + len(MACHINES))
        begun, broken_at = time.monotonic(), time.time()
        self.replace_runc("n2", script)
        broken = self.wait_for_state("n2", "mine", state, PERIOD + DEADLINE + LOOKING)
        print(f"{state} after {time.monotonic() - begun:.2f} s")
        self.assertIn(says, broken["message"])
        self.assertEqual(self.runtimes("n2")["process"]["ready"], "Ready")
        for other in ("n1", "n3"):
            self.assertEqual(self.runtimes(other)["mine"]["ready"], "Ready")
        # Its process runtime is of the same kind and works; the runtime that is marked decides for the node.
        ready = self.wait_for_condition("n2", "Ready", "False" if state == "NotReady" else "Unknown",
                                        PERIOD + DEADLINE + GRACE + LOOKING)
        print(f"the node is not Ready after {self.seconds_until(ready, broken_at):.3f} s")
        self.assertIn("mine", ready["message"])
        self.assertEqual(self.condition("n2", "ContainerRuntimeReady")["status"], "True")
        for other in ("n1", "n3"):
            self.assertEqual(self.condition(other, "Ready")["status"], "True")

        # What is new goes elsewhere.
        self.run_on("new", "", images=IMAGE, args=["sh", "-c", "exec sleep 1000000"])
        self.assertNotEqual(self.instance("new")["node"], "n2")
        self.assert_untouched(before)
        for name in ["process", *(["machine"] if MACHINES else [])]:
            self.assertFalse(self.instance(name)["unverified"], f"{name} runs on a runtime that is well")
        self.assertTrue(self.instance("container")["unverified"])

        # What can only be here waits, and is started when it can be.
        self.apply(item("waiting", images=IMAGE, args=["sh", "-c", "exec sleep 1000000"]),
                   deployment("waiting", {"item": "waiting", "nodes": ["n2"]}))
        self.assertNotEqual(self.instance("waiting")["state"], "Active")
        begun, repaired_at = time.monotonic(), time.time()
        self.repair_runc("n2")
        self.wait_for_state("n2", "mine", "Ready", PERIOD + DEADLINE + LOOKING)
        print(f"Ready after {time.monotonic() - begun:.2f} s")
        ready = self.wait_for_condition("n2", "Ready", "True", LOOKING)
        print(f"the node is Ready after {self.seconds_until(ready, repaired_at):.3f} s")
        wait_until(lambda: self.instance("waiting")["state"] == "Active", "the instance that waits")
        self.assert_untouched(before)

    def test_a_program_that_fails_takes_its_runtime_out_until_it_is_repaired(self):
        self.broken_and_repaired(FAILS, "NotReady", "out of order")

    def test_a_program_that_hangs_takes_its_runtime_out_until_it_is_repaired(self):
        self.broken_and_repaired(HANGS, "Unknown", "deadline")
        left = [pid for pid in os.listdir("/proc") if pid.isdigit() and self.is_left(int(pid))]
        self.assertEqual(left, [], "what hung was not killed")

    def is_left(self, pid: int) -> bool:
        try:
            text = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            return False
        return str(self.runc("n2")) in text and "create" in text and "probe-" in text

    @unittest.skipUnless(shutil.which("crun"), "crun is not installed")
    def test_a_runtime_that_fails_again_and_again_wears_out_no_disk(self):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
            tries = Path(memory) / "tries"
            self.replace_runc("n3", f"echo x >> {tries}; mkdir -p $2; head -c 300000 /dev/zero > $2/state\n{FAILS}")
            self.wait_for_state("n3", "mine", "NotReady", 10)
            before, count = self.written("n3"), len(tries.read_text())
            wait_until(lambda: len(tries.read_text()) >= count + 4, "it to be tried twice more", 20)
            self.assertEqual(self.written("n3"), before)
            self.assertFalse(list(self.unit.agent_dir("n3").glob("probe*")))

    def written(self, node: str) -> tuple:
        """What the agent, and all that it has started and waited for, have written to disks."""
        figures = dict(line.split(": ") for line in Path(f"/proc/{self.unit.agents[node].pid}/io").read_text().splitlines())
        files = [path for path in self.unit.agent_dir(node).rglob("*") if path.is_file()]
        return figures["write_bytes"], sorted((str(path), path.stat().st_mtime_ns) for path in files)

    def test_nothing_is_placed_on_a_runtime_that_never_worked(self):
        self.settings("n1", crun={"type": "crun"})
        self.unit.agents["n1"].signal(signal.SIGHUP)
        wait_until(lambda: self.runtimes("n1").get("crun", {}).get("graced") in ("Ready", "NotReady"), "crun to be tried", 30)
        crun = self.runtimes("n1")["crun"]
        if crun["ready"] == "Ready":
            self.skipTest("crun works on this machine")
        self.assertEqual(crun["reason"], "ComputeNotReady")
        self.assertIn("cgroups", crun["message"])
        applied = self.apply(item("picky", images=[{**IMAGE[0], "runtimes": ["crun"]}]), deployment("picky", {"item": "picky"}))
        self.assertEqual(applied.returncode, 2, applied.stdout + applied.stderr)
        self.assertEqual((self.instance("picky")["reason"], self.instance("picky")["node"]), ("RuntimeNotReady", ""))
        self.assertIn("crun is NotReady since", self.unit.berth("why", "picky").stdout)

    def test_runtimes_come_and_go_while_the_agent_runs(self):
        self.start_one_of_each()
        before = self.pids()
        agent = self.unit.agents["n2"]
        self.settings("n2", second={"type": "runc"})
        agent.signal(signal.SIGHUP)
        self.wait_for_state("n2", "second", "Ready", 30)
        path = self.settings_file("n2")
        path.write_text(json.dumps({"runtimes": ["process"], "runtime": {"second": {"type": "runc"}}}))
        agent.signal(signal.SIGHUP)
        wait_until(lambda: "mine" not in self.runtimes("n2"), "the runtime to be gone")
        self.assertTrue(agent.alive())
        for pid in before.values():
            os.kill(pid, 0)
        path.write_text("runtimes: [process, nonsense]\n")
        agent.signal(signal.SIGHUP)
        wait_until(lambda: "the settings are wrong" in agent.log.read_text(), "the complaint")
        self.assertEqual(set(self.runtimes("n2")), {"process", "second"})
        self.settings("n2", second={"type": "runc"})
        agent.signal(signal.SIGHUP)
        self.wait_for_state("n2", "mine", "Ready", 30)

    def test_what_runs_on_a_runtime_that_was_taken_away_is_not_lost_sight_of_by_a_restart(self):
        self.start_one_of_each()
        before = self.pids()
        self.unit.agents["n2"].kill()
        self.settings_file("n2").write_text(json.dumps({"runtimes": ["process"]}))
        self.start_agent("n2")
        log = self.unit.agents["n2"].log
        wait_until(lambda: log.read_text().count("adopted run") == len(before), "all to be adopted")
        kept = {run: pid for run, pid in before.items() if "process" in run}
        wait_until(lambda: self.pids() == kept, "what has no runtime any more to be stopped in order")
        for pid in set(before.values()) - set(kept.values()):
            self.assertRaises(ProcessLookupError, os.kill, pid, 0)
        self.assert_untouched(kept)
        self.assertEqual(self.instance("container")["reason"], "NoMatchingRuntimeType")


if __name__ == "__main__":
    main()
