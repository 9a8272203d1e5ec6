#!/usr/bin/env python3
"""State goes with its instance; what every node has and uses is seen."""

import sqlite3
import subprocess
import tempfile
import unittest
from contextlib import closing
from pathlib import Path

from harness import IS_ROOT, SystemTest, deployment, item, main, wait_until

# Counts in its state, and notes in its storage where it began to.
COUNTING = """
cd "$BERTH_STATE"; n=$(cat count 2>/dev/null || echo 0); echo $n >> "$BERTH_STORAGE/began"
trap 'exit 0' TERM
while :; do n=$((n+1)); echo $n > count.new && mv count.new count; sleep 0.05; done
"""
# Writes down every number once, ten times a second; on the node that is $BROKEN it does not come up.
JOURNAL = """
[ "$BERTH_NODE" != "$BROKEN" ] || exit 1
cd "$BERTH_STATE"; n=$(cat journal 2>/dev/null | wc -l)
trap 'exit 0' TERM
while :; do n=$((n+1)); echo $n >> journal; sleep 0.1; done
"""
WRITING_ONCE = 'cd "$BERTH_STATE"; [ -e text ] || echo "a text" > text; exec sleep 1000000'


def program(text: str, **spec) -> dict:
    return item("counter", images=[{"command": ["/bin/sh", "-c", text]}], **spec)


class States(SystemTest):
    def setUp(self):
        super().setUp()
        self.unit.start_control()
        for name in ("n1", "n2"):
            self.start_agent(name)

    def start_agent(self, name, *flags):
        self.unit.start_agent(name, "--runtimes", "process", "--capacity-cpu", "10000", "--capacity-ram", "4Gi",
                              "--state-period", "200ms", "--measure-disk-period", "500ms", "--stop-grace", "3s",
                              "--stop-instances-on-exit", "true", *flags)
        self.unit.wait_for_node(name)

    def run_on_n1(self, document):
        self.unit.berth("cordon", "n2", check=True)
        applied = self.apply(document, deployment("d", {"item": "counter"}))
        self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)
        self.unit.berth("uncordon", "n2", check=True)

    def text_of(self, node: str, kind: str, name: str) -> str | None:
        found = list((self.unit.agent_dir(node) / kind).glob("*/" + name))
        return found[0].read_text() if found else None

    def count_on(self, node: str) -> int:
        return int(self.text_of(node, "state", "count") or 0)

    def is_kept(self) -> bool:
        """Whether the control plane has a state."""
        return any(instance["stateGeneration"] > 0 for instance in self.unit.instances())

    def drain_n1(self):
        drained = self.unit.berth("drain", "n1")
        self.assertEqual(drained.returncode, 0, drained.stdout + drained.stderr)
        (instance,) = self.wait_for_active(1)
        self.assertEqual(instance["node"], "n2")

    def test_a_count_goes_on_where_it_stopped(self):
        self.run_on_n1(program(COUNTING, move="stopFirst"))
        wait_until(lambda: self.count_on("n1") > 5, "it to count")
        self.drain_n1()
        began = wait_until(lambda: self.text_of("n2", "storage", "began"), "its start")
        self.assertEqual(int(began), self.count_on("n1"))
        wait_until(lambda: self.count_on("n2") > int(began), "it to count on")

    def test_a_move_without_a_stop_goes_on_from_what_was_reported_last(self):
        self.run_on_n1(program(COUNTING))
        wait_until(self.is_kept, "a report of the state")
        self.drain_n1()
        began = wait_until(lambda: self.text_of("n2", "storage", "began"), "its start")
        self.assertGreater(int(began), 0)
        self.assertLessEqual(int(began), self.count_on("n1"))

    def journal_on(self, node: str) -> list[int]:
        return [int(line) for line in (self.text_of(node, "state", "journal") or "").split()]

    def run_journal(self, **spec):
        self.run_on_n1(program(JOURNAL, quotas={"state": "64Ki"}, **spec))
        wait_until(lambda: len(self.journal_on("n1")) > 5, "it to count")

    def test_a_planned_move_loses_no_count_and_repeats_none(self):
        self.run_journal()
        plan = self.unit.berth("plan", "--drain", "n1")
        self.assertEqual(plan.returncode, 10, plan.stdout + plan.stderr)
        self.assertRegex(plan.stdout, r"move +counter/default/0 .* n1/process +stops first")
        self.drain_n1()
        left = self.journal_on("n1")
        wait_until(lambda: len(self.journal_on("n2")) > len(left) + 5, "it to count on")
        went_on = self.journal_on("n2")
        self.assertEqual(went_on, list(range(1, len(went_on) + 1)), "each number once")
        self.assertEqual(went_on[:len(left)], left)

    def test_what_does_not_come_up_elsewhere_starts_again_with_its_state(self):
        self.run_journal(env={"BROKEN": "n2"}, minHealthy="2s")
        before = len(self.journal_on("n1"))
        self.unit.berth("drain", "n1", "--no-wait", check=True)
        wait_until(lambda: "MoveFailed" in self.unit.berth("events").stdout, "the failure")
        (instance,) = self.wait_for_active(1)
        self.assertEqual(instance["node"], "n1")
        wait_until(lambda: len(self.journal_on("n1")) > before + 5, "it to count on")
        numbers = self.journal_on("n1")
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)), "each number once")

    def test_the_last_copy_goes_along_where_the_item_says_so(self):
        self.run_journal(stateMove="lastCopy")
        wait_until(self.is_kept, "a report of the state")
        plan = self.unit.berth("plan", "--drain", "n1")
        self.assertNotIn("stops first", plan.stdout)
        self.drain_n1()
        wait_until(lambda: len(self.journal_on("n2")) > 0, "it to count there")

    def test_it_comes_back_with_what_it_has_counted_elsewhere(self):
        self.run_on_n1(program(COUNTING, move="stopFirst"))
        wait_until(lambda: self.count_on("n1") > 5, "it to count")
        self.drain_n1()
        wait_until(lambda: self.count_on("n2") > self.count_on("n1") + 5, "it to count on")
        self.unit.berth("uncordon", "n1", check=True)
        drained = self.unit.berth("drain", "n2")
        self.assertEqual(drained.returncode, 0, drained.stdout + drained.stderr)
        wait_until(lambda: self.text_of("n1", "storage", "began").split()[1:], "its second start")
        self.assertEqual(int(self.text_of("n1", "storage", "began").split()[1]), self.count_on("n2"))

    def test_a_state_that_is_not_what_its_digest_says_is_refused(self):
        self.run_on_n1(program(WRITING_ONCE))
        wait_until(self.is_kept, "a report of the state")
        self.unit.control.stop()
        # Closed at the end, and committed: a store belongs to one process at a time.
        with closing(sqlite3.connect(self.unit.control_dir / "berthd.db")) as store, store:
            rows = store.execute("SELECT key, value FROM entries WHERE CAST(key AS TEXT) LIKE 'states/%'")
            ((key, value),) = rows.fetchall()
            damaged = bytes(value).replace(b"a text", b"A TEXT")
            store.execute("UPDATE entries SET value = ? WHERE key = ?", (damaged, key))
            # As the first release wrote it: without checksums, which would tell before the state's own digest does.
            store.execute("ALTER TABLE entries DROP COLUMN checksum")
            store.execute("DROP TABLE stamp")
            store.execute("PRAGMA user_version = 1")
        for state in self.unit.control_dir.glob("berthd.db.good-*"):
            state.unlink()
        self.unit.start_control()
        for name in ("n1", "n2"):
            self.unit.wait_for_node(name)
        self.wait_for_active(1)
        self.unit.berth("drain", "n1", "--no-wait")
        wait_until(lambda: "StateDamaged" in self.unit.berth("events").stdout, "the refusal")
        self.assertIsNone(self.text_of("n2", "state", "text"))
        (instance,) = self.wait_for_active(1)
        self.assertEqual(instance["node"], "n1", "what serves stays")

    def test_sizes_and_remarks_are_shown(self):
        self.run_on_n1(program(WRITING_ONCE, quotas={"storage": "64Ki", "state": "1Ki"}))
        (storage,) = (self.unit.agent_dir("n1") / "storage").iterdir()
        (storage / "large").write_bytes(b"x" * 100_000)
        wait_until(lambda: self.unit.instances()[0]["storage"] == 100_000, "its size")
        node = self.node("n1")
        self.assertTrue(any("quotas" in remark for remark in node["remarks"]) or self.has_quotas(), node)
        self.assertTrue(any("DMIPS" in remark for remark in node["remarks"]), node)
        self.assertTrue(node["partitions"])
        self.assertIn("storage", self.unit.berth("describe", "node", "n1").stdout)
        if not self.has_quotas():
            wait_until(lambda: self.unit.instances()[0]["reason"] == "StorageExceeded", "the warning")
            self.assertEqual(self.unit.instances()[0]["state"], "Active")

    def has_quotas(self) -> bool:
        return "watched, not enforced" not in (self.unit.directory / "agent-n1.log").read_text()


@unittest.skipUnless(IS_ROOT, "file systems are mounted by root")
class Quotas(SystemTest):
    """On a file system of its own that knows project quotas."""

    def setUp(self):
        super().setUp()
        self.mounted = Path(tempfile.mkdtemp(prefix="berth-quota-"))
        image = self.unit.directory / "disk"
        with image.open("wb") as file:
            file.truncate(64 << 20)
        made = subprocess.run(["mkfs.ext4", "-q", "-O", "quota,project", "-E", "quotatype=prjquota", image],
                              capture_output=True, text=True, check=False)
        if made.returncode != 0:
            self.skipTest("no ext4 with project quotas can be made: " + made.stderr)
        mounted = subprocess.run(["mount", "-o", "loop,prjquota", image, self.mounted],
                                 capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            self.mounted.rmdir()
            self.skipTest("no loop device can be mounted with project quotas: " + mounted.stderr)
        self.mounted.chmod(0o711)
        self.unit.agent_dir("n1").symlink_to(self.mounted)

    def end(self):
        super().end()
        if self.mounted.is_mount():
            subprocess.run(["umount", self.mounted], check=False)
        if self.mounted.exists():
            self.mounted.rmdir()

    def test_an_instance_cannot_store_more_than_its_quota(self):
        self.unit.start_control()
        joined = self.unit.join("n1")
        self.assertEqual(joined.returncode, 0, joined.stdout + joined.stderr)
        self.unit.start_agent("n1", "--runtimes", "process", "--capacity-cpu", "10000", "--capacity-ram", "4Gi",
                              "--stop-instances-on-exit", "true")
        self.unit.wait_for_node("n1")
        self.assertFalse([remark for remark in self.node("n1")["remarks"] if "quotas" in remark])
        greedy = "dd if=/dev/zero of=$BERTH_STORAGE/large bs=1024 count=4096 2>&1; exec sleep 1000000"
        self.apply(program(greedy, quotas={"storage": "1Mi"}), deployment("d", {"item": "counter"}))
        self.wait_for_active(1)
        wait_until(lambda: "quota exceeded" in self.unit.berth("logs", "counter").stdout.lower(), "its failure")
        (large,) = self.mounted.glob("storage/*/large")
        self.assertLessEqual(large.stat().st_size, 1 << 20)


if __name__ == "__main__":
    main()
