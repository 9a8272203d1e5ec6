#!/usr/bin/env python3
"""A lost, torn or older store of the control plane stops nothing; an operator decides what is true."""

import contextlib
import http.client
import shutil
import socket

from harness import SystemTest, children_of, deployment, item, main, wait_until


class LostStore(SystemTest):
    def setUp(self):
        super().setUp()
        self.unit.start_control()
        for name in ("n1", "n2"):
            self.unit.start_agent(name, "--runtimes", "process", "--capacity-cpu", "10000", "--capacity-ram", "4Gi")
            self.unit.wait_for_node(name)
        self.store = self.unit.control_dir / "berthd.db"
        self.copies = 0
        self.must_apply(item("old"), deployment("d", {"item": "old", "instances": 3}))
        self.unit.control.kill()
        self.older = self.copy_of_store("older")
        self.unit.start_control()
        self.must_apply(item("new"), deployment("e", {"item": "new", "instances": 3}))
        self.before = self.pids()
        self.assertEqual(len(self.before), 6)

    def must_apply(self, *documents):
        done = self.apply(*documents)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)

    def pids(self) -> list[int]:
        return sorted(child for shim in self.shims() for child in children_of(shim))

    def copy_of_store(self, name):
        """All that the control plane has written, but for who it is. REQUIRES: it does not run."""
        copy = self.unit.directory / name
        shutil.copytree(self.unit.control_dir, copy, ignore=shutil.ignore_patterns("authority", "server"))
        return copy

    def start_with(self, change):
        """As after an accident: what is there now is all there is."""
        self.unit.control.kill()
        self.copies += 1
        self.latest = self.copy_of_store(f"latest-{self.copies}")
        change()
        self.unit.start_control()
        for name in ("n1", "n2"):
            self.unit.wait_for_node(name)

    def forget_all(self):
        for path in self.unit.control_dir.iterdir():
            if path.name not in ("authority", "server"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def put(self, copy):
        self.forget_all()
        shutil.copytree(copy, self.unit.control_dir, dirs_exist_ok=True)

    def held(self) -> str:
        return self.unit.ask("get", "nodes").get("held", "")

    def assert_held_and_untouched(self, why: str):
        wait_until(self.held, "the control plane to be held")
        self.assertIn(why, self.held())
        said = self.unit.berth("get", "nodes")
        self.assertIn("berth store", said.stderr)
        self.assertEqual(self.readyz()[0], 503)
        self.assertIn("held", self.readyz()[1])
        self.assertIn("Held", {event["kind"] for event in self.unit.ask("events")["events"]})
        refused = self.apply(item("more"), deployment("f", {"item": "more"}))
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertIn("berth store adopt", refused.stderr)
        self.assertEqual(self.pids(), self.before)

    def readyz(self) -> tuple[int, str]:
        class Local(http.client.HTTPConnection):
            def connect(local):
                local.sock = socket.socket(socket.AF_UNIX)
                local.sock.connect(str(self.unit.socket))
        connection = Local("localhost")
        with contextlib.closing(connection):
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def test_a_store_that_is_gone_stops_nothing_and_what_runs_is_adopted(self):
        self.start_with(self.forget_all)
        self.assert_held_and_untouched("another store of this unit")
        preview = self.unit.berth("store", "adopt", "--dry-run")
        self.assertEqual(preview.returncode, 0, preview.stderr)
        self.assertIn("old", preview.stdout)
        self.assertEqual(self.unit.berth("store", "adopt").returncode, 0)
        self.wait_for_active(6)
        self.assertEqual(self.pids(), self.before)
        self.assertEqual(self.held(), "")
        self.must_apply(item("more"), deployment("f", {"item": "more"}))
        self.assertEqual([pid for pid in self.before if pid not in self.pids()], [])

    def test_an_older_store_stops_nothing_until_the_right_one_is_back(self):
        self.start_with(lambda: self.put(self.older))
        right = self.latest
        self.assert_held_and_untouched("of a time that the store does not know")
        self.start_with(lambda: None)
        self.assert_held_and_untouched("of a time that the store does not know")
        self.start_with(lambda: self.put(right))
        self.wait_for_active(6)
        self.assertEqual(self.held(), "")
        self.assertEqual(self.pids(), self.before)

    def test_an_older_store_is_found_out_though_it_has_counted_on_before_its_agents_are_back(self):
        for name in ("n1", "n2"):
            self.unit.agents[name].kill()
        self.unit.control.kill()
        self.put(self.older)
        self.unit.start_control()
        for number in range(8):
            self.must_apply(item(f"meanwhile-{number}"))
        for name in ("n1", "n2"):
            self.unit.agents[name].start()
        self.assert_held_and_untouched("of a time that the store does not know")

    def test_an_older_store_that_is_accepted_is_the_truth(self):
        self.start_with(lambda: self.put(self.older))
        self.assert_held_and_untouched("of a time that the store does not know")
        self.assertEqual(self.unit.berth("store", "accept").returncode, 0)
        self.wait_for_active(3)
        wait_until(lambda: len(self.pids()) == 3, "what nobody asks for to be stopped")
        self.assertEqual([pid for pid in self.pids() if pid not in self.before], [])
        self.assertEqual(self.unit.berth("store", "accept").returncode, 1, "there is nothing to accept")

    def test_a_torn_store_stops_nothing(self):
        log = self.store.with_name("berthd.db-wal")
        def tear(path, make):
            return lambda: path.exists() and path.write_bytes(make(path.read_bytes()))
        for change in (tear(self.store, lambda _: b""),
                       tear(log, lambda content: content[:len(content) // 2]),
                       tear(log, lambda content: bytes(reversed(content))),
                       lambda: log.unlink(missing_ok=True),
                       self.store.unlink):
            self.start_with(change)
            right = self.latest
            wait_until(lambda: self.held() or len(self.unit.instances()) == 6, "a decision")
            self.assertEqual(self.pids(), self.before)
            self.start_with(lambda: self.put(right))
            self.wait_for_active(6)
            self.assertEqual(self.pids(), self.before)


if __name__ == "__main__":
    main()
