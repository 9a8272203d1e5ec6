#!/usr/bin/env python3
"""Apply, wait and delete tell the truth, with real programs."""

import json
import time

from harness import SystemTest, deployment, item, main, wait_until

EVERY_SECOND = "sleep 1; exit 3"


def script(text: str, **spec) -> dict:
    return {"images": [{"command": ["/bin/sh", "-c", text]}], **spec}


class Apply(SystemTest):
    def setUp(self):
        super().setUp()
        self.unit.start_control("--settle-time", "1s")

    def start(self, *names: str):
        for name in names:
            self.unit.start_agent(name, "--runtimes", "process", "--capacity-cpu", "1000", "--capacity-ram", "4Gi",
                                  "--network", "off", "--stop-instances-on-exit", "true")
            self.unit.wait_for_node(name)

    def web(self) -> dict:
        return next(instance for instance in self.unit.instances() if instance["item"] == "web")

    def test_too_much_at_once_is_told_as_that(self):
        files = []
        for number in range(5):
            file = self.unit.directory / f"large-{number}.yaml"
            file.write_text("# " + "x" * (15 << 20) + "\n")
            files += ["-f", file]
        refused = self.unit.berth("apply", *files)
        self.assertEqual(refused.returncode, 3, refused.stderr)
        self.assertIn("the body is too large: 67108864 bytes at most", refused.stderr)

    def test_a_crash_loop_is_never_success(self):
        self.start("n1")
        documents = [item("web", **script(EVERY_SECOND), minHealthy="2s", restart={"backoff": "200ms", "backoffMax": "200ms"}),
                     deployment("d", {"item": "web"})]
        for _ in range(2):  # whatever it is doing when it is applied once more
            applied = self.apply(*documents)
            self.assertEqual(applied.returncode, 1, applied.stdout + applied.stderr)
        waited = self.unit.berth("wait", "--for", "deployment/d=active", "--timeout", "3s")
        self.assertEqual(waited.returncode, 5, waited.stdout + waited.stderr)
        self.assertRegex(waited.stderr, r"web/default/0 is \w+.* on n1 since ")
        self.assertFalse(self.web()["proven"])

    def test_an_unchanged_apply_waits_and_a_timeout_says_for_whom(self):
        self.start("n1")
        documents = [item("web", minHealthy="4s"), item("job", **script("exit 0", restart={"policy": "onFailure"})),
                     deployment("d", {"item": "web"}, {"item": "job"})]
        first = self.unit.berth("apply", "--timeout", "1s", "-f", self.write("d.yaml", *documents))
        self.assertEqual(first.returncode, 5, first.stdout + first.stderr)
        self.assertRegex(first.stderr, r"web/default/0  Active  on n1  since \d+.*has yet to show")
        self.assertNotIn("job", first.stderr)
        again = self.apply(*documents)
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
        self.assertTrue(all(instance["proven"] for instance in self.unit.instances()))
        started = time.monotonic()
        self.assertEqual(self.apply(*documents).returncode, 0)
        self.assertLess(time.monotonic() - started, 2, "it was proven before")
        self.assertEqual(set(self.starts().values()), {1}, "nothing was restarted")

    def test_what_is_on_a_node_that_is_away_is_listed_and_not_waited_for(self):
        self.start("n1", "n2")
        documents = [item("web"), item("db"),
                     deployment("d", {"item": "web", "nodes": ["n1"]}, {"item": "db", "nodes": ["n2"]})]
        self.assertEqual(self.apply(*documents).returncode, 0)
        self.unit.agents["n2"].kill()
        self.unit.wait_for_node("n2", "unreachable")
        applied = self.apply(*documents)
        self.assertEqual(applied.returncode, 2, applied.stdout + applied.stderr)
        self.assertRegex(applied.stderr, r"1 instance on nodes that are away.*\n  db/default/0  Active\(Unverified\)  on n2")
        waited = self.unit.berth("wait", "--for", "deployment/d=active")
        self.assertEqual(waited.returncode, 2, waited.stdout + waited.stderr)
        self.assertIn("its node is away", waited.stderr)
        self.unit.start_agent("n2", "--runtimes", "process", "--network", "off", "--stop-instances-on-exit", "true")
        self.unit.wait_for_node("n2")
        back = self.unit.berth("wait", "--for", "deployment/d=active", "--timeout", "60s")
        self.assertEqual(back.returncode, 0, back.stdout + back.stderr)

    def test_a_change_tells_what_follows_before_and_when_it_is_made(self):
        self.start("n1", "n2")
        low = deployment("low", {"item": "low"})
        self.assertEqual(self.apply(item("low", request={"cpu": 600}), low).returncode, 0)
        place = self.unit.instances()[0]["node"]
        other = {"n1": "n2", "n2": "n1"}[place]
        high = self.write("high.yaml", item("high", request={"cpu": 600}),
                          deployment("high", {"item": "high", "priority": 5, "nodes": [place]}))
        planned = self.unit.berth("plan", "-f", high)
        self.assertRegex(planned.stdout, rf"move +low/default/0 .*{other}/process +{place}/process +stops first")
        applied = self.unit.berth("apply", "-f", high)
        self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)
        self.assertIn(f"  start   high/default/0  1 on {place}\n", applied.stdout)
        self.assertIn(f"  move    low/default/0  1 on {other}, from {place}: stops first\n", applied.stdout)
        shown = self.unit.berth("delete", "deployment", "high", "--dry-run")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertRegex(shown.stdout, rf"Stops\n.*\n +high/default/0 +1 +{place}/process")
        self.assertEqual(len(self.unit.instances()), 2, "nothing was deleted")
        deleted = self.unit.berth("delete", "deployment", "high")
        self.assertRegex(deleted.stdout, rf"deployment/high deleted \(revision \d+\)\n  stop    high/default/0  1 on {place}\n")

    def test_an_override_ends_in_time_although_the_control_plane_was_down(self):
        self.start("n1")
        noted = 'echo "level=$LEVEL" >> levels; exec sleep 1000000'
        self.assertEqual(self.apply(item("web", **script(noted)), deployment("d", {"item": "web"})).returncode, 0)
        begun = time.monotonic()
        applied = self.apply({"apiVersion": "berth/v1", "kind": "EnvOverride", "metadata": {"name": "o"},
                              "spec": {"entries": [{"variables": [{"name": "LEVEL", "value": "debug", "expires": "7s"}]}]}})
        self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)
        self.assertIn("  restart web/default/0  1 on n1: restarts\n", applied.stdout)
        self.unit.control.kill()
        time.sleep(max(0.0, begun + 6 - time.monotonic()))  # that time passes without it is the point
        self.unit.start_control("--settle-time", "1s")

        def levels():
            return [line for path in self.unit.directory.glob("agent-n1/storage/*/levels")
                    for line in path.read_text().split()]
        wait_until(lambda: levels() == ["level=", "level=debug", "level="], "the override to end", 20)
        self.assertLess(time.monotonic() - begun, 12, "it would have been 13 s if it had begun anew")
        self.assertEqual(json.loads(self.unit.berth("get", "envoverrides", "-o", "json").stdout)["envoverrides"], [])


if __name__ == "__main__":
    main()
