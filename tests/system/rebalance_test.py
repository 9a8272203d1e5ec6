#!/usr/bin/env python3
"""Nodes that are really loaded: who leaves them, when, and that nobody else does."""

from datetime import datetime

from harness import SystemTest, deployment, item, main, wait_until

TIMEOUT = 3  # seconds above max until a node is overloaded
WINDOW = 3  # seconds over which agents average

# Uses so many percent of a core: what the file `load` says, else what it was started with.
BURNER = """
import sys, time
while True:
    try: percent = float(open('load').read())
    except (OSError, ValueError): percent = float(sys.argv[1])
    end = time.process_time() + percent / 1000
    begin = time.monotonic()
    while time.process_time() < end: pass
    time.sleep(max(0.005, 0.1 - (time.monotonic() - begin)))
"""


def burner(name: str, percent: float) -> dict:
    return item(name, images=[{"command": ["/usr/bin/python3", "-S", "-c", BURNER, str(percent)]}],
                request={"cpu": 100, "ram": "1Mi"})


def node_config(name: str, match: dict, **spec) -> dict:
    return {"apiVersion": "berth/v1", "kind": "NodeConfig", "metadata": {"name": name},
            "spec": {"match": match, **spec}}


def thresholds(timeout: int = TIMEOUT) -> dict:
    """No rule for memory: what this machine's programs take of it is not what is tested."""
    return node_config("thresholds", {}, thresholds={"cpu": {"min": 70, "max": 80, "timeout": f"{timeout}s"}})


def preferred(node: str) -> dict:
    return node_config(f"{node}-first", {"node": node}, priority=100)


class Rebalance(SystemTest):
    """Half a core is all that a node has, so 1 % of a core is 2 % of a node."""

    def start(self, *nodes: str, cpu: int = 10000, settle: int = WINDOW):
        if self.unit.control is None:
            self.unit.start_control("--usage-window", f"{settle}s")
            deleted = self.unit.berth("delete", "nodeconfig", "default")
            self.assertEqual(deleted.returncode, 0, deleted.stderr)
        for name in nodes:
            self.unit.start_agent(name, "--runtimes", "process", "--capacity-cpu", str(cpu), "--capacity-ram", "4Gi",
                                  "--dmips-per-core", "20000", "--heartbeat", "500ms", "--measure-period", "500ms",
                                  "--measure-window", f"{WINDOW}s", "--network", "off")
            self.unit.wait_for_node(name)

    def run_all(self, *documents: dict):
        applied = self.apply(*documents)
        self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)

    # --- What is seen.

    def places(self) -> dict[str, str]:
        return {f"{instance['item']}/{instance['index']}": instance["node"] for instance in self.unit.instances()}

    def events(self, *kinds: str, about: str = "") -> list[dict]:
        return [event for event in self.unit.ask("events")["events"]
                if event["kind"] in kinds and event["about"].startswith(about)]

    def wait_for_event(self, kind: str, about: str, seconds: float = 60) -> dict:
        return wait_until(lambda: self.events(kind, about=about), f"{kind} of {about}", seconds, pause=0.2)[-1]

    def wait_for_load(self, node: str, state: str):
        wait_until(lambda: self.node(node)["cpuLoad"]["state"] == state, f"{node} to be {state}", pause=0.1)

    def set_load(self, item_name: str, percent: float):
        """Of all its instances, as long as they are where they are."""
        found = [path for path in self.unit.directory.glob("agent-*/storage/*") if item_name in path.name]
        self.assertTrue(found, item_name)
        for path in found:
            (path / "load.new").write_text(str(percent))
            (path / "load.new").rename(path / "load")

    def test_the_fewest_of_the_lowest_priority_leave_an_overloaded_node(self):
        self.start("n1", "n2")
        # 90 % of n1. To get below 70 %, `large` is enough, or two of `small`; `important` would be, too.
        self.run_all(thresholds(), preferred("n1"), burner("important", 15), burner("large", 15), burner("small", 5),
                     deployment("d", {"item": "important", "priority": 100}, {"item": "large", "priority": 10},
                                {"item": "small", "priority": 10, "instances": 3}))
        self.assertEqual(set(self.places().values()), {"n1"})
        overloaded = self.wait_for_event("NodeOverloaded", "node/n1")
        self.assertIn("above 80 % for 3 s", overloaded["text"])
        self.wait_for_event("NodeRelieved", "node/n1")
        self.wait_for_active(5)
        places = self.places()
        self.assertEqual(places.pop("large/0"), "n2")
        self.assertEqual(set(places.values()), {"n1"})
        # Relieved is only who has been measured for as long anew: nothing else was moved on the way.
        self.assertEqual(len(self.events("Moved")), 1, self.events("Moved"))
        self.assertEqual(len(self.events("Rebalanced", "NotRelieved")), 1)
        self.assertLess(self.node("n1")["used"]["cpu"], 7000)
        self.assertEqual(self.node("n2")["cpuLoad"]["state"], "normal")

    def test_a_load_that_is_shorter_than_the_timeout_moves_nothing(self):
        self.start("n1", "n2")
        self.run_all(thresholds(timeout=30), preferred("n1"), burner("bursty", 5),
                     deployment("d", {"item": "bursty", "instances": 3}))
        self.set_load("bursty", 15)
        self.wait_for_load("n1", "above")
        self.set_load("bursty", 5)
        self.wait_for_load("n1", "normal")
        self.assertEqual(self.events("NodeOverloaded", "Rebalanced", "NotRelieved", "Moved"), [])
        self.assertEqual(set(self.places().values()), {"n1"})

    def test_no_second_rebalance_begins_while_the_first_one_settles(self):
        settle = 20
        self.start("n1", "n2", settle=settle)
        self.start("n3", cpu=20000)
        self.run_all(thresholds(), preferred("n1"), preferred("n2"), burner("first", 2), burner("second", 2),
                     deployment("d", {"item": "first", "instances": 2, "nodes": ["n1", "n3"]},
                                {"item": "second", "instances": 2, "nodes": ["n2", "n3"]}))
        self.assertEqual(sorted(self.places().values()), ["n1", "n1", "n2", "n2"])
        self.set_load("first", 22)
        self.wait_for_event("Rebalanced", "node/n1")
        self.set_load("second", 22)
        overloaded = self.wait_for_event("NodeOverloaded", "node/n2")
        moved = self.wait_for_event("Moved", "instance/first")
        self.assertEqual(self.events("Rebalanced", "NotRelieved", about="node/n2"), [])
        rebalanced = self.wait_for_event("Rebalanced", "node/n2", seconds=settle + 30)
        self.assertGreaterEqual(seconds_between(moved, rebalanced), settle)
        self.assertGreater(seconds_between(overloaded, rebalanced), settle / 4, "it had to wait")
        wait_until(lambda: sorted(self.places().values()) == ["n1", "n2", "n3", "n3"], "the second to serve elsewhere")
        self.wait_for_active(4)
        self.assertEqual(len(self.events("Moved")), 2)


def seconds_between(earlier: dict, later: dict) -> float:
    times = [datetime.fromisoformat(event["time"].replace("Z", "+00:00")) for event in (earlier, later)]
    return (times[1] - times[0]).total_seconds()


if __name__ == "__main__":
    main()
