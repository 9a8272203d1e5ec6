#!/usr/bin/env python3
"""What was acknowledged is there, and what runs is left alone, whatever dies."""

import os
import signal
import sqlite3
import subprocess
import threading
import time

from harness import SystemTest, deployment, item, main, wait_until


def delete(store):
    for part in ("", "-wal", "-shm"):
        store.with_name(store.name + part).unlink(missing_ok=True)


def empty(store):
    delete(store)
    store.write_bytes(b"")


def scramble(store):
    delete(store)
    store.write_bytes(os.urandom(16384))


def cut_log(store, percent):
    """What is left of it is valid to SQLite, and of an earlier time."""
    log = store.with_name(store.name + "-wal")
    if log.exists():
        os.truncate(log, log.stat().st_size * percent // 100)


def damage_a_record(store):
    """Valid to SQLite, and nothing that an agent has written."""
    with sqlite3.connect(store) as database:
        database.execute("UPDATE entries SET value = x'3f' WHERE CAST(key AS TEXT) LIKE 'wanted/%'")
    database.close()


class Crash(SystemTest):
    def setUp(self):
        super().setUp()
        self.unit.start_control()
        for name in ("n1", "n2"):
            self.start_agent(name)
            self.unit.wait_for_node(name)

    def start_agent(self, name):
        # With fewer descriptors than some of the tests have instances: it takes what it may.
        return self.unit.start_agent(name, "--runtimes", "process", "--capacity-cpu", "10000",
                                     "--capacity-ram", "4Gi", wrapper=["prlimit", "--nofile=80:"])

    def assert_nothing_was_started_twice(self, count):
        starts = self.starts()
        self.assertEqual(len(starts), count)
        self.assertEqual({place: n for place, n in starts.items() if n != 1}, {})

    def test_the_control_plane_is_killed_while_200_instances_are_applied(self):
        documents = self.write("many.yaml", item("many"), deployment("d", {"item": "many", "instances": 200}))
        client = subprocess.Popen([self.unit.bin / "berth", "apply", "-f", documents], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, env={**os.environ, **self.unit.environment()})
        wait_until(lambda: len(self.starts()) > 20, "the first starts", pause=0.01)
        self.unit.control.kill()
        client.wait(60)
        self.unit.start_control()
        self.wait_for_active(200, seconds=120)
        self.assert_nothing_was_started_twice(200)

    def test_an_agent_is_killed_and_adopts_what_runs(self):
        self.apply(item("kept"), deployment("d", {"item": "kept", "instances": 10}))
        before = self.running_pids()
        self.assertEqual(len(before), 10)
        for name in ("n1", "n2"):
            self.unit.agents[name].kill()
            self.start_agent(name)
        self.wait_for_active(10)
        self.assertEqual(self.running_pids(), before)
        self.assert_nothing_was_started_twice(10)

    def test_an_agent_that_has_lost_its_store_keeps_what_runs(self):
        self.apply(item("kept"), deployment("d", {"item": "kept", "instances": 4}))
        before = self.running_pids()
        for damage in (delete, empty, scramble, damage_a_record):
            with self.subTest(damage.__name__):
                self.lose_store(damage)
                # Only a full command ends the doubt.
                wait_until(lambda: "a full command settles" in self.agent_log(), "the control plane's word")
                self.wait_for_active(4)
                self.assertEqual(self.running_pids(), before)
        self.assert_nothing_was_started_twice(4)
        self.apply(deployment("d", {"item": "kept", "instances": 1}))
        self.wait_for_active(1)
        self.assertEqual(len(self.running_pids()), 1)

    def test_an_agent_that_has_lost_its_store_keeps_what_runs_with_no_control_plane_in_reach(self):
        self.apply(item("kept"), deployment("d", {"item": "kept", "instances": 4}))
        before = self.running_pids()
        self.unit.control.kill()
        for damage in (delete, scramble):
            self.lose_store(damage)
            wait_until(lambda: "adopted run" in self.agent_log(), "the agent to adopt what runs")
            self.assertEqual(self.running_pids(), before)
        killed = before[0]
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: killed not in self.running_pids() and len(self.running_pids()) == 4,
                   "what has ended to be started again")
        before = self.running_pids()
        self.unit.start_control()
        self.wait_for_active(4)
        self.assertEqual(self.running_pids(), before)

    def test_an_agent_whose_log_was_cut_keeps_what_runs(self):
        self.apply(item("first"), deployment("d", {"item": "first"}))
        self.apply(item("kept"), deployment("e", {"item": "kept", "instances": 3}))
        before = self.running_pids()
        for percent in (95, 80, 50, 20):
            with self.subTest(percent=percent):
                self.lose_store(lambda store: cut_log(store, percent))
                wait_until(lambda: "adopted run" in self.agent_log(), "the agent to adopt what runs")
                self.wait_for_active(4)
                self.assertEqual(self.running_pids(), before)
        self.assert_nothing_was_started_twice(4)

    def lose_store(self, damage):
        self.unit.agents["n1"].kill()
        (self.unit.directory / "agent-n1.log").unlink()
        damage(self.unit.agent_dir("n1") / "agent.db")
        self.start_agent("n1")

    def agent_log(self) -> str:
        return (self.unit.directory / "agent-n1.log").read_text(errors="replace")

    def test_after_a_reboot_everything_starts_with_no_control_plane_in_reach(self):
        self.apply(item("kept"), deployment("d", {"item": "kept", "instances": 6}))
        self.assertEqual(len(self.running_pids()), 6)
        self.unit.control.kill()
        for name in ("n1", "n2"):
            self.unit.agents[name].kill()
        self.kill_what_is_left()
        wait_until(lambda: not self.shims(), "the machine to be empty")
        for name in ("n1", "n2"):
            self.start_agent(name)
        wait_until(lambda: len(self.running_pids()) == 6, "everything to run again")
        self.unit.start_control()
        self.wait_for_active(6)
        self.assertEqual(sorted(self.starts().values()), [2] * 6)

    def test_an_agent_that_hangs_for_40_s_is_unreachable_and_then_well_again(self):
        self.apply(item("kept"), deployment("d", {"item": "kept", "instances": 4}))
        before = self.running_pids()
        self.unit.agents["n1"].signal(signal.SIGSTOP)
        self.addCleanup(self.unit.agents["n1"].signal, signal.SIGCONT)
        self.unit.wait_for_node("n1", "unreachable")
        time.sleep(40)
        self.assertEqual(self.node("n1")["liveness"], "unreachable")
        self.unit.agents["n1"].signal(signal.SIGCONT)
        self.unit.wait_for_node("n1")
        self.wait_for_active(4)
        self.assertEqual(self.running_pids(), before)
        self.assert_nothing_was_started_twice(4)

    def test_events_are_kept_over_a_kill_of_the_control_plane_and_their_numbers_go_on(self):
        self.apply(item("kept"), deployment("d", {"item": "kept"}))
        before = self.unit.ask("events")["events"]
        self.assertIn("Placed", [event["kind"] for event in before])
        time.sleep(2)  # the last moment may be lost
        self.unit.control.kill()
        self.unit.start_control()
        self.wait_for_active(1)
        after = self.unit.ask("events")["events"]
        self.assertEqual(after[:len(before)], before)
        numbers = [int(event["number"]) for event in after]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertGreater(len(after), len(before))


if __name__ == "__main__":
    main()
