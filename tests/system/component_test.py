#!/usr/bin/env python3
"""Updates of components for real: the agent is killed at every point of one that it knows of itself, and the
machine always has one whole version to use."""

import hashlib
import json
import os
import subprocess
import unittest

from harness import IS_ROOT, SystemTest, deployment, item, main, wait_until


class Components(SystemTest):
    """A node with one runtime of components, whose versions are some files with the version in each."""
    runtime = ""

    def setUp(self):
        super().setUp()
        self.unit.start_control()
        self.confirm = self.unit.directory / "confirm"
        self.start_agent()
        self.unit.wait_for_node("n1")

    def start_agent(self, crash_at: str = ""):
        return self.unit.start_agent(
            "n1", "--runtimes", self.runtime, "--capacity-cpu", "1000", "--capacity-ram", "1Gi",
            "--components-confirm", f"/bin/sh,{self.confirmer()}", "--components-confirm-timeout", "20s",
            wrapper=["env", f"BERTH_CRASH_AT={crash_at}"] if crash_at else None)

    def confirmer(self):
        """Confirms every version but the one that is written in a file."""
        script = self.unit.directory / "confirm.sh"
        script.write_text(f'[ "$2" != "$(cat {self.confirm} 2>/dev/null)" ]\n')
        return script

    # --- Versions.

    def content(self, version: str) -> dict[str, bytes]:
        return {f"etc/part-{n}": f"{version} {n}\n".encode() * 5000 for n in range(10)}

    def image(self, version: str) -> dict:
        """The image of a version; its file is made, and it is pinned."""
        name = f"{self.runtime}-{version}"
        path = self.unit.directory / name
        if not path.exists():
            self.make(version, path)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return self.form(f"{name}@sha256:{digest}")

    def item(self, version: str, **spec) -> dict:
        return item("os", type="component", version=version, images=[self.image(version)], request={},
                    restart={"policy": "always", "backoff": "100ms", "backoffMax": "1s"}, **spec)

    def ask_for(self, version: str, *options: str):
        """Does not wait for the outcome: the agent may die of it."""
        path = self.write(f"{version}.yaml", self.item(version), deployment("d", {"item": "os", "version": version}))
        done = self.unit.berth("apply", "-f", path, *options)
        self.assertIn(done.returncode, (0, 1, 2, 5), done.stdout + done.stderr)
        return done

    # --- What the machine has.

    def slots(self):
        return self.unit.agent_dir("n1") / "components" / self.runtime

    def active_version(self) -> str:
        """The version that the machine uses, which must be whole."""
        link = self.slots() / "active"
        self.assertIn(os.readlink(link), ("a", "b"))
        found = self.read(link)
        version = next(iter(found.values())).decode().split()[0]
        self.assertEqual(found, self.content(version), "what is active is not whole")
        return version

    def phase(self) -> str:
        return json.loads((self.slots() / "state.json").read_text()).get("phase", "settled")

    def status(self) -> dict:
        return next((one for one in self.unit.instances() if one["item"] == "os"), {})

    def wait_for_version(self, version: str):
        def there():
            status = self.status()
            return status.get("state") == "Active" and status.get("version") == version
        wait_until(there, f"version {version} to be active", pause=0.1)
        self.assertEqual(self.active_version(), version)
        self.assertEqual(self.phase(), "settled")

    # --- Dying.

    def crash_points(self) -> list[str]:
        listed = subprocess.run([self.unit.bin / "berth-agent", "--list-crash-points"], capture_output=True, text=True,
                                check=True)
        return listed.stdout.split()

    def update_dies(self, version: str, points: list[str]) -> bool:
        """Asks for a version; the agent dies at the first point, the next life at the next, and so on. False: it
        did not come to die at all of them."""
        self.unit.agents["n1"].stop()
        for number, point in enumerate(points):
            agent = self.start_agent(crash_at=point)
            if number == 0:
                self.ask_for(version, "--no-wait")
            if not self.dies(agent, version):
                return False
            self.assertIn(self.active_version(), (self.old, version))
        return True

    def dies(self, agent, version: str) -> bool:
        def over():
            if not agent.alive():
                return "dead"
            status = self.status()
            return status.get("state") == "Active" and status.get("version") == version and "done"
        return wait_until(over, "the agent to die or to be done", pause=0.05) == "dead"

    def through_every_crash_point(self):
        self.ask_for("v1")
        self.wait_for_version("v1")
        self.old = "v1"
        number = 1
        missed = []
        for point in self.crash_points():
            # Some points are only passed on the way back from an update that was cut short.
            for ways in ([point], ["trying-noted", point], ["slot-written", point]):
                number += 1
                version = f"v{number}"
                has_died = self.update_dies(version, ways)
                with self.subTest(points=ways):
                    self.unit.agents["n1"].stop()
                    self.start_agent()
                    self.wait_for_version(version)
                self.old = version
                if has_died:
                    break
            else:
                missed.append(point)
        self.assertEqual(missed, [], "points that are listed and never passed")

    def again_and_again_on_the_way_back(self):
        self.ask_for("v1")
        self.wait_for_version("v1")
        self.old = "v1"
        self.assertTrue(self.update_dies("v2", ["switched", "link-made", "rolled-back", "link-made", "discarded"]))
        self.start_agent()
        self.wait_for_version("v2")

    # --- Failing.

    def wait_until_rolled_back(self) -> dict:
        def back() -> dict | None:
            status = self.status()
            return status if status.get("reason") == "RolledBack" and status["state"] == "Active" else None
        status = wait_until(back, "the old version to be back")
        self.assertEqual(status["version"], "v1")
        return status

    def a_failed_update_leaves_the_old_version_which_can_be_asked_for_again(self):
        self.ask_for("v1")
        self.wait_for_version("v1")
        self.confirm.write_text("v2")
        self.ask_for("v2")
        status = self.wait_until_rolled_back()
        self.assertIn("in version v2", status["message"])
        self.assertIn("os v1 is active", status["message"])
        wait_until(lambda: self.phase() == "settled" and self.active_version() == "v1", "the way back")
        self.ask_for("v1")
        self.wait_for_version("v1")
        self.confirm.unlink()
        self.ask_for("v2")
        self.wait_for_version("v2")

    def preinstall(self, name: str):
        """As a factory does: version v1 of an item in slot a."""
        self.unit.agents["n1"].stop()
        self.image("v1")
        self.slots().mkdir(parents=True, exist_ok=True)
        self.install_by_hand("v1", self.slots() / "a")
        (self.slots() / "active").symlink_to("a")
        (self.slots() / "state.json").write_text(
            json.dumps({"confirmed": "a", "slots": {"a": {"item": name, "version": "v1"}}}))
        self.start_agent()

    def what_was_preinstalled_is_adopted_and_updated(self):
        self.preinstall("os")
        self.wait_for_version("v1")
        self.assertEqual((self.status()["node"], self.status()["runtime"]), ("n1", self.runtime))
        entered = self.unit.berth("exec", "os", "--", "true")
        self.assertNotEqual(entered.returncode, 0)
        self.assertIn("os/default/0 is a component", entered.stderr)
        self.ask_for("v2")
        self.wait_for_version("v2")

    def what_was_preinstalled_makes_way_for_another_item(self):
        self.preinstall("factory")
        wait_until(lambda: [one["item"] for one in self.unit.instances()] == ["factory"], "what was preinstalled")
        self.ask_for("v2")
        self.wait_for_version("v2")
        wait_until(lambda: [one["item"] for one in self.unit.instances()] == ["os"], "the one of the factory to go")


class Rootfs(Components):
    runtime = "rootfs"

    def form(self, reference: str) -> dict:
        return {"rootfs": {"archive": reference}}

    def make(self, version: str, path):
        tree = self.unit.directory / f"tree-{version}"
        for name, content in self.content(version).items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes(content)
        subprocess.run(["tar", "--create", "--gzip", "--file", path, "--directory", tree, "."], check=True)

    def install_by_hand(self, version: str, slot):
        slot.mkdir()
        subprocess.run(["tar", "--extract", "--file", self.unit.directory / f"rootfs-{version}", "--directory", slot],
                       check=True)

    def read(self, link) -> dict[str, bytes]:
        root = link.resolve()
        return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}

    def test_the_agent_is_killed_at_every_point_of_an_update(self):
        self.through_every_crash_point()

    def test_a_failed_update_leaves_the_old_version_which_can_be_asked_for_again(self):
        self.a_failed_update_leaves_the_old_version_which_can_be_asked_for_again()

    def test_the_agent_is_killed_again_and_again_on_the_way_back(self):
        self.again_and_again_on_the_way_back()

    def test_what_was_preinstalled_is_adopted_and_updated(self):
        self.what_was_preinstalled_is_adopted_and_updated()

    def test_what_was_preinstalled_makes_way_for_another_item(self):
        self.what_was_preinstalled_makes_way_for_another_item()


class Boot(Components):
    runtime = "boot"

    def form(self, reference: str) -> dict:
        return {"boot": {"image": reference}}

    def content(self, version: str) -> dict[str, bytes]:
        return {"image": f"{version} boot\n".encode() * (200000 if version.startswith("big") else 50000)}

    def make(self, version: str, path):
        path.write_bytes(self.content(version)["image"])

    def install_by_hand(self, version: str, slot):
        self.make(version, slot)

    def read(self, link) -> dict[str, bytes]:
        return {"image": link.read_bytes()}

    def test_the_agent_is_killed_at_every_point_of_an_update(self):
        self.through_every_crash_point()

    def test_the_agent_is_killed_again_and_again_on_the_way_back(self):
        self.again_and_again_on_the_way_back()

    def test_what_was_preinstalled_is_adopted_and_updated(self):
        self.what_was_preinstalled_is_adopted_and_updated()

    @unittest.skipUnless(IS_ROOT, "a small file system needs root to be mounted")
    def test_a_full_disk_leaves_the_old_version_and_its_room(self):
        self.unit.agents["n1"].stop()
        components = self.unit.agent_dir("n1") / "components"
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", components], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", components], check=False)
        self.start_agent()
        self.ask_for("v1")
        self.wait_for_version("v1")
        self.ask_for("big")
        status = self.wait_until_rolled_back()
        self.assertIn("No space left on device; os v1 is active", status["message"])
        self.assertEqual(self.active_version(), "v1")
        self.ask_for("v2")
        self.wait_for_version("v2")


del Components  # not a test itself

if __name__ == "__main__":
    main()
