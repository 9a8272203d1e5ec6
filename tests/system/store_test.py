#!/usr/bin/env python3
"""A store, a key or its log is lost: nothing that runs is stopped, and what happened is told."""

import sqlite3
from contextlib import closing
from pathlib import Path

from harness import SystemTest, children_of, deployment, item, main, wait_until


class LostStore(SystemTest):
    def setUp(self):
        super().setUp()
        self.unit.start_control()
        self.start_agent()
        self.unit.wait_for_node("n1")
        self.assertEqual(self.apply(item("kept"), deployment("d", {"item": "kept", "instances": 3})).returncode, 0)
        self.store = self.unit.control_dir / "berthd.db"
        self.before = self.running_pids()

    def start_agent(self):
        self.unit.start_agent("n1", "--runtimes", "process", "--capacity-cpu", "10000", "--capacity-ram", "4Gi")

    def running_pids(self):
        return sorted(pid for shim in self.shims() for pid in children_of(shim))

    def assert_nothing_was_stopped(self):
        self.unit.wait_for_node("n1")
        self.wait_for_active(3)
        self.assertEqual(self.running_pids(), self.before)
        self.assertEqual(sorted(self.starts().values()), [1, 1, 1])

    def change_a_record(self, store: Path, key: str):
        with closing(sqlite3.connect(store)) as opened, opened:
            changed = opened.execute("UPDATE entries SET value = CAST(value || x'20' AS BLOB) WHERE CAST(key AS TEXT) = ?", (key,))
            self.assertEqual(changed.rowcount, 1)

    def test_a_store_that_is_empty_gone_or_changed_falls_back_to_its_last_good_state(self):
        damages = {"it is empty": lambda: self.store.write_bytes(b""),
                   "it is gone": self.store.unlink,
                   "unreadable: items/kept@1": lambda: self.change_a_record(self.store, "items/kept@1")}
        for told, damage in damages.items():
            self.unit.control.stop()
            damage()
            self.unit.start_control()
            self.assert_nothing_was_stopped()
            self.assertIn(told, " ".join(event["text"] for event in self.unit.ask("events")["events"]
                                         if event["kind"] == "StoreRecovered"))
            self.assertIn(told, self.readyz())

    def test_a_control_plane_that_was_killed_and_has_lost_its_log_knows_it(self):
        def kept():
            return len(list(self.store.parent.glob("berthd.db.good-*")))
        if kept() > 1:
            self.skipTest("this machine is so slow that a state was kept before there was anything in it")
        wait_until(lambda: kept() > 1, "a last good state", pause=0.2)
        self.unit.control.kill()
        Path(f"{self.store}-wal").unlink()
        self.unit.start_control()
        self.assert_nothing_was_stopped()
        self.assertIn("StoreRecovered", self.unit.berth("events").stdout)

    def test_a_backup_of_a_running_control_plane_is_restored(self):
        backup = self.unit.directory / "unit.store"
        made = self.unit.berth("store", "backup", backup)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("records", made.stdout)
        self.assertEqual(self.unit.berth("store", "check", backup).returncode, 0)
        self.assertEqual(self.unit.berth("store", "backup", backup).returncode, 0, "a newer one")
        precious = self.unit.directory / "thesis.txt"
        precious.write_text("years of work")
        self.assertEqual(self.unit.berth("store", "backup", precious).returncode, 1)
        self.assertEqual(precious.read_text(), "years of work")
        in_use = self.unit.berth("store", "restore", backup, "--directory", self.store.parent)
        self.assertEqual(in_use.returncode, 1)
        self.assertIn("stop berthd first", in_use.stderr)
        self.unit.control.stop()
        self.store.write_bytes(b"garbage")
        for state in self.store.parent.glob("berthd.db.good-*"):
            state.unlink()
        self.assertEqual(self.unit.berth("store", "check", "--directory", self.store.parent).returncode, 1)
        restored = self.unit.berth("store", "restore", backup, "--directory", self.store.parent)
        self.assertEqual(restored.returncode, 0, restored.stderr)
        self.assertIn("berth store accept", restored.stdout)
        self.unit.start_control()
        self.assert_nothing_was_stopped()
        self.assertEqual(Path(f"{self.store}.replaced-1").read_bytes(), b"garbage")

    def test_an_agent_whose_store_is_damaged_adopts_what_runs(self):
        agent, store = self.unit.agents["n1"], self.unit.agent_dir("n1") / "agent.db"
        for told, damage in (("it is empty", lambda: store.write_bytes(b"")),
                             ("unreadable: acted", lambda: self.change_a_record(store, "acted"))):
            agent.stop()
            damage()
            checked = self.unit.berth("store", "check", "--directory", store.parent)
            self.assertEqual(checked.returncode, 1, checked.stdout)
            agent.start()
            wait_until(lambda: told in agent.log.read_text(), "the agent to say so")
            self.assert_nothing_was_stopped()

    def test_an_authority_whose_key_is_lost_is_not_replaced(self):
        authority = self.store.parent / "authority"
        key = (authority / "key.pem").read_bytes()
        self.unit.control.stop()
        (authority / "key.pem").unlink()
        self.unit.control.start()
        self.assertEqual(self.unit.control.wait(), 1)
        self.assertIn("berth store repair --new-authority", self.unit.control.last_words())
        self.assertFalse((authority / "key.pem").exists())
        (authority / "cert.pem").unlink()
        (authority / "key.pem").write_bytes(key)
        self.unit.start_control()
        self.assert_nothing_was_stopped()


if __name__ == "__main__":
    main()
