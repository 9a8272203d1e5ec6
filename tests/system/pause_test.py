#!/usr/bin/env python3
"""Instances that stand still, for real: processes and containers."""

import os
import shutil
import subprocess
import time
import unittest
from pathlib import Path

from harness import IS_ROOT, SystemTest, Unit, children_of, deployment, item, main, wait_until

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


def namespaces(tag: str) -> set[str]:
    return {path.name for path in Path("/run/netns").glob(f"berth-*{tag}*")}


def groups(name: str) -> list[Path]:
    """The control groups of what an agent runs, in all hierarchies."""
    return [*Path("/sys/fs/cgroup").glob(f"berth/{name}/*/"), *Path("/sys/fs/cgroup").glob(f"*/berth/{name}/*/")]


def made_by(tag: str) -> list:
    """All that others can see of what an agent has made on this machine."""
    devices = [path.name for path in Path("/sys/class/net").glob(f"*{tag}*")]
    tables = subprocess.run(["nft", "list", "tables"], capture_output=True, text=True, check=True).stdout
    return [sorted(namespaces(tag)), sorted(map(str, groups(tag))), devices, f"berth-{tag}" in tables,
            Path(f"/run/berth/{tag}/dnsmasq.pid").exists()]


@unittest.skipUnless(IS_ROOT and shutil.which("nft") and shutil.which("dnsmasq"), "needs root, nft and dnsmasq")
class Neighbours(SystemTest):
    """Agents that share a machine, and what earlier releases have left there."""

    def setUp(self):
        super().setUp()
        self.unit.make_image("busybox:1")
        self.unit.start_control()

    def start_agent(self, unit: Unit):
        unit.start_agent("n1", "--runtimes", "runc", "--capacity-cpu", "10000", "--capacity-ram", "4Gi",
                         "--stop-grace", "1s", "--stop-instances-on-exit", "true")
        unit.wait_for_node("n1")
        ready = unit.berth("wait", "--for", "node/n1=ready", "--timeout", "60s")
        self.assertEqual(ready.returncode, 0, ready.stderr)

    def run_burner(self, unit: Unit):
        burner = item("burner", owner="acme", images=Containers.images, args=["sh", "-c", BURNER])
        applied = unit.berth("apply", "-f", self.write("burner.yaml", burner, deployment("d", {"item": "burner"})))
        self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)
        self.wait_for_progress(unit)

    @staticmethod
    def last_line(unit: Unit) -> str:
        return unit.berth("logs", "burner", "--tail", "1").stdout

    def wait_for_progress(self, unit: Unit):
        before = self.last_line(unit)
        wait_until(lambda: self.last_line(unit) != before, "it to go on", pause=0.2)

    @staticmethod
    def starts_in(unit: Unit) -> list[str]:
        return [path.read_text() for path in unit.agent_dir("n1").glob("storage/*/starts")]

    def test_agents_of_two_units_with_nodes_of_one_name_leave_each_other_alone(self):
        other = Unit(self.unit.directory / "other")
        self.addCleanup(other.remove)
        self.addCleanup(other.stop)
        shutil.copytree(self.unit.images, other.images, dirs_exist_ok=True)
        other.start_control()
        for unit in (self.unit, other):
            self.start_agent(unit)
            self.run_burner(unit)
        mine, others = self.unit.tag("n1"), other.tag("n1")
        self.assertNotEqual(mine, others)
        of_others = made_by(others)
        for kind in made_by(mine) + of_others:
            self.assertTrue(kind)

        self.assertEqual(self.unit.berth("pause", "burner").returncode, 0)
        self.wait_for_progress(other)
        still = self.last_line(self.unit)
        self.wait_for_progress(other)
        self.assertEqual(self.last_line(self.unit), still)

        self.unit.berth("delete", "deployment", "d")
        self.unit.agents["n1"].stop()
        self.assertEqual([bool(kind) for kind in made_by(mine)], [False] * 5)
        self.assertEqual(made_by(others), of_others)
        self.wait_for_progress(other)
        self.assertEqual(len(self.starts_in(other)[0].split()), 1)

    def test_what_an_earlier_release_has_made_is_taken_over(self):
        self.assertEqual(self.unit.join("n1").returncode, 0)
        tag = earlier_tag("n1", self.unit.agent_dir("n1"))
        (self.unit.agent_dir("n1") / "tag").write_text(tag)  # its networks are called as they were then
        self.start_agent(self.unit)
        self.run_burner(self.unit)
        self.unit.agents["n1"].kill()
        self.make_it_look_earlier(tag)
        made, started = namespaces(tag), self.starts_in(self.unit)

        self.start_agent(self.unit)
        wait_until(lambda: self.unit.tag("n1") == tag, "its tag to be found again")
        self.wait_for_active(1)
        self.assertEqual(namespaces(tag), made)
        self.assertEqual(self.starts_in(self.unit), started)
        self.assertEqual(self.unit.berth("pause", "burner").returncode, 0)
        still = self.last_line(self.unit)
        self.assertEqual(self.unit.berth("resume", "burner").returncode, 0)
        wait_until(lambda: self.last_line(self.unit) != still, "it to go on", pause=0.2)
        self.unit.berth("delete", "deployment", "d")
        wait_until(lambda: not self.shims() and not groups("n1"), "its end")
        self.unit.agents["n1"].stop()
        self.assertEqual([bool(kind) for kind in made_by(tag)], [False] * 5)

    def make_it_look_earlier(self, tag: str):
        """No tag was kept, and groups had the names of nodes."""
        agent = self.unit.agent_dir("n1")
        for old in groups(tag):
            new = old.parent.parent / "n1" / old.name
            new.mkdir(parents=True)
            for setting in ("cpuset.cpus", "cpuset.mems"):  # those of version 1 begin with none
                if (old / setting).exists() and "cpuset/" in str(new):
                    for group in (new.parent, new):
                        (group / setting).write_text((old / setting).read_text())
            for pid in (old / "cgroup.procs").read_text().split():
                (new / "cgroup.procs").write_text(pid)
            old.rmdir()
            old.parent.rmdir()
        kept = [*agent.glob("oci/runc/*/state.json"), *agent.glob("runs/*/*/launch"), *agent.glob("runs/*/*/config.json")]
        self.assertEqual(len(kept), 3)
        for file in kept:
            file.write_bytes(file.read_bytes().replace(f"/berth/{tag}/".encode(), b"/berth/n1/"))
        (run,) = agent.glob("runs/*/*/run")
        run.write_bytes(run.read_bytes().replace(f"tag={tag}\0".encode(), b""))
        (agent / "tag").unlink()
        Path(f"/run/berth/{tag}/state-directory").unlink()


def earlier_tag(node: str, state_dir: Path) -> str:
    """FNV-1a of both, folded."""
    value = 0xcbf29ce484222325
    for byte in f"{node}\n{state_dir}".encode():
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return f"{(value ^ value >> 32) & 0xffffffff:08x}"


if __name__ == "__main__":
    main()
