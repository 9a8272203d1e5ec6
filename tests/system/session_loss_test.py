#!/usr/bin/env python3
"""A node dies with fifty sessions: they fail with the reason, or are opened again elsewhere."""

import os
import signal
import time

from harness import children_of, item, main, wait_until
from sessions import SessionTest, application, connect, echo, namespace

COUNT = 25  # of each application; together they need all ports that there are, but a few
PORTS = "21000-21059"
ECHO = [{"command": ["/bin/busybox", "sh", "-c", "exec /bin/busybox nc -ll -p $BERTH_PORT_7000 -e /bin/cat"]}]


class Loss(SessionTest):
    def start_unit(self):
        self.unit.start_control("--sessions-ports", PORTS)
        self.start_agent("n1")
        self.must_apply(namespace(), item("echo", images=ECHO, ports=["7000/tcp"]), self.offer("plain"),
                        self.offer("kept", reopen=True))

    def start_agent(self, name: str):
        self.unit.start_agent(name, "--runtimes", "process", "--capacity-cpu", "10000", "--capacity-ram", "4Gi")
        self.unit.wait_for_node(name)

    @staticmethod
    def offer(name: str, **sessions) -> dict:
        return application(name, "echo", {"maximum": 6, "burst": "unlimited", "idle": {"low": 1, "high": 1}},
                           {"perInstance": 5, "reuse": True, "claim": "0s", "openTimeout": "60s", **sessions})

    def all_sessions(self) -> dict[str, dict]:
        return {session["name"]: session for session in self.sessions()}

    def kill_node(self, name: str):
        """As if its machine were gone: nobody is left to say anything."""
        shims = [pid for pid in self.shims() if f"agent-{name}" in self.command(pid)]
        victims = [*shims, *(child for shim in shims for child in children_of(shim))]
        os.kill(self.unit.agents[name].pid, signal.SIGKILL)
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        self.unit.agents[name].wait()

    @staticmethod
    def command(pid: int) -> str:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
            return file.read()

    def test_sessions_of_a_node_that_dies_fail_or_are_opened_again_elsewhere(self):
        api = self.api()
        for number in range(COUNT):
            for name in ("plain", "kept"):
                answer = api.open(name, name=f"{name}-{number}")
                self.assertEqual(answer.status, 200, answer.text)
        self.start_agent("n2")
        self.wait_for_pools("plain", ready=1, active=5)
        before = self.all_sessions()
        self.assertEqual({session["node"] for session in before.values()}, {"n1"})
        self.kill_node("n1")
        killed = time.monotonic()

        wait_until(lambda: all(session["state"] == "failed" for name, session in self.all_sessions().items()
                               if name.startswith("plain")), "the sessions to fail", 30)
        print(f"  lost after {time.monotonic() - killed:.1f} s")
        for name, session in self.all_sessions().items():
            if name.startswith("plain"):
                self.assertEqual(session["reason"], "NodeLost")
                self.assertIn("n1", session["message"])

        def all_back():
            kept = [session for name, session in self.all_sessions().items() if name.startswith("kept")]
            return kept if all(session["state"] == "available" and session["node"] == "n2" for session in kept) else None
        back = wait_until(all_back, "the others to be back", 30)
        print(f"  {COUNT} of {2 * COUNT} back elsewhere after {time.monotonic() - killed:.1f} s")
        self.assertEqual(len(back), COUNT)
        for session in back:
            self.assertEqual(session["incarnation"], 2)
            with connect(session) as connection:
                self.assertEqual(echo(connection, session["name"].encode()), session["name"].encode())
        self.assertEqual(len({session["endpoints"][0]["external"] for session in back}), COUNT)

        # The ports of those that failed are free: there are not enough others.
        for number in range(COUNT):
            answer = api.open("plain", name=f"plain-{number}")
            self.assertEqual(answer.status, 200, answer.text)
        for name in ("plain", "kept"):
            self.wait_for_pools(name, ready=1, active=5)

        # It comes back empty, and is a node like others.
        self.unit.agents["n1"].start()
        self.unit.wait_for_node("n1")
        time.sleep(1)  # that nothing happens takes time
        self.assertEqual({session["node"] for session in self.all_sessions().values() if session["state"] == "available"}, {"n2"})


if __name__ == "__main__":
    main()
