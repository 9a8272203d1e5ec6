#!/usr/bin/env python3
"""New versions, overrides and what is kept of instances that nobody asks for, with real processes."""

from harness import COUNTED, SystemTest, deployment, item, main, wait_until

COUNT = 50


def script(text: str, **spec) -> dict:
    return {"images": [{"command": ["/bin/sh", "-c", text]}], **spec}


def override(name: str, *entries: dict) -> dict:
    return {"apiVersion": "berth/v1", "kind": "EnvOverride", "metadata": {"name": name},
            "spec": {"entries": list(entries)}}


def subject(name: str, present: bool) -> dict:
    return {"apiVersion": "berth/v1", "kind": "Subject", "metadata": {"name": name},
            "spec": {"present": present}}


class Update(SystemTest):
    def setUp(self):
        super().setUp()
        self.unit.start_control()
        for name in ("n1", "n2"):
            self.unit.start_agent(name, "--runtimes", "process", "--capacity-cpu", "10000",
                                  "--capacity-ram", "4Gi")
            self.unit.wait_for_node(name)

    def versions(self) -> set[str]:
        return {instance["version"] for instance in self.unit.instances()}

    def storage(self, item_name: str) -> dict:
        """What instances of the item have in their storage, by the directory."""
        found = {}
        for path in self.unit.directory.glob("agent-*/storage/*/starts"):
            if item_name in str(path.parent):
                found[str(path.parent)] = path.read_text().split()
        return found

    def wait_for_storage(self, item_name: str, count: int) -> dict:
        """A process is active before its shell has written anything."""
        def all_started():
            found = self.storage(item_name)
            return found if len(found) == count and all(found.values()) else None
        return wait_until(all_started, f"{count} instances of {item_name} to note their start")

    def test_a_version_that_is_never_healthy_is_taken_back_everywhere_and_nothing_is_lost(self):
        run = {"item": "web", "version": "1", "instances": COUNT}
        self.apply(item("web"), deployment("d", run))
        self.wait_for_active(COUNT)
        before = self.wait_for_storage("web", COUNT)
        bad = item("web", version="2",
                   health={"exec": ["/bin/false"], "period": "200ms", "failures": 2})
        answer = self.apply(bad, deployment("d", {**run, "version": "2"}), check=False)
        self.assertNotEqual(answer.returncode, 0)
        self.assertIn("did not come up in version 2", answer.stderr)
        self.wait_for_active(COUNT)
        self.assertEqual(self.versions(), {"1"})
        reasons = {instance["reason"] for instance in self.unit.instances()}
        self.assertEqual(reasons, {"RolledBack"})
        after = self.storage("web")
        for place, starts in before.items():
            self.assertEqual(after[place][:1], starts, "what was in the storage is still there")
        touched = [place for place in before if len(after[place]) > 1]
        self.assertEqual(len(touched), 1, "only the first was ever updated")

    def test_a_good_version_comes_instance_by_instance_and_takes_no_minutes(self):
        run = {"item": "web", "version": "1", "instances": COUNT}
        self.apply(item("web"), deployment("d", run))
        self.wait_for_active(COUNT)
        self.apply(item("web", version="2"), deployment("d", {**run, "version": "2"}), timeout=90)
        self.assertEqual(self.versions(), {"2"})
        wait_until(lambda: {len(starts) for starts in self.storage("web").values()} == {2},
                   "each to be started once more")

    def test_an_override_restarts_only_the_instances_of_its_item(self):
        self.apply(item("web"), item("db"),
                   deployment("d", {"item": "web", "instances": 3}, {"item": "db", "instances": 3}))
        self.wait_for_active(6)
        web, db = self.wait_for_storage("web", 3), self.wait_for_storage("db", 3)
        self.apply(override("debug", {"item": "web", "variables": [{"name": "LEVEL", "value": "debug"}]}))
        wait_until(lambda: all(len(starts) == 2 for starts in self.storage("web").values()),
                   "web to be started again")
        self.wait_for_active(6)
        self.assertEqual(self.storage("db"), db, "the pids of the others are the same")
        self.assertEqual({place: starts[:1] for place, starts in self.storage("web").items()}, web)
        for name in ("get", "describe"):
            kind = "envoverrides" if name == "get" else "envoverride"
            self.assertIn("LEVEL", self.unit.berth(name, kind, "debug").stdout)

    def test_a_subject_that_comes_back_finds_its_data(self):
        run = {"item": "web", "subject": "anna"}
        self.apply(item("web"), deployment("d", run))
        self.wait_for_active(1)
        before = self.wait_for_storage("web", 1)
        self.apply(subject("anna", False))
        wait_until(lambda: self.unit.instances()[0]["state"] == "Inactive", "it to be inactive")
        wait_until(lambda: not self.shims(), "it to stop")
        self.apply(subject("anna", True))
        self.wait_for_active(1)
        after = self.storage("web")
        self.assertEqual(len(after), 1)
        self.assertEqual({place: starts[:1] for place, starts in after.items()}, before)

    def test_a_cached_instance_is_shown_and_its_data_are_erased_by_order(self):
        self.apply(item("web"), deployment("d", {"item": "web"}))
        self.wait_for_active(1)
        self.wait_for_storage("web", 1)
        self.unit.berth("delete", "deployment", "d")
        wait_until(lambda: not self.shims(), "it to stop")
        self.assertEqual(len(self.storage("web")), 1, "its data are kept")
        cached = self.unit.ask("get", "instances", "--all")["instances"]
        self.assertEqual([instance["reason"] for instance in cached], ["Cached"])
        self.assertGreater(cached[0]["keptForMs"], 29 * 24 * 3600 * 1000)
        self.unit.berth("delete", "instance", "web/default/0", "--purge")
        wait_until(lambda: not self.storage("web"), "its data to be gone")
        wait_until(lambda: not self.unit.ask("get", "instances", "--all")["instances"],
                   "its record to be gone")


if __name__ == "__main__":
    main()
