#!/usr/bin/env python3
"""A thousand sessions outlive the control plane and the agent: both are killed, and nobody who uses one notices."""

import os
import signal
import threading
from http.client import HTTPException

from harness import children_of, item, main, wait_until
from sessions import SessionTest, application, connect, echo, namespace, session_app, timed

PLAIN, TOLD, PER_INSTANCE = 800, 200, 50
DATA = bytes(range(256)) * 256
USED = 100  # of them by somebody who stays
ECHO = [{"command": ["/bin/busybox", "sh", "-c", "exec /bin/busybox nc -ll -p $BERTH_PORT_7000 -e /bin/cat"]}]


class Restarts(SessionTest):
    def start_unit(self):
        app = session_app(self.unit)
        self.unit.start_control()
        self.unit.start_agent("n1", "--runtimes", "process", "--capacity-cpu", "10000", "--capacity-ram", "8Gi")
        self.unit.wait_for_node("n1")
        self.must_apply(namespace(), item("echo", images=ECHO, ports=["7000/tcp"]),
                        item("told", images=app, ports=["7000/tcp"], quotas={"ram": "256Mi"}),
                        self.offer("plain", "echo", PLAIN, reuse=True), self.offer("told", "told", TOLD, service=True),
                        self.offer("again", "told", PER_INSTANCE, service=True, reopen=True))

    @staticmethod
    def offer(name: str, what: str, count: int, **sessions) -> dict:
        size = count // PER_INSTANCE
        return application(name, what, {"maximum": size + 2, "burst": "unlimited", "cooldown": "1s",
                                        "idle": {"low": 1, "high": 1}, "standby": {"low": 1, "high": 1}},
                           {"perInstance": PER_INSTANCE, "claim": "0s", "openTimeout": "60s", **sessions})

    def open_all(self):
        api = self.api()
        for name, count in (("plain", PLAIN), ("told", TOLD)):
            for number in range(count):
                answer = api.open(name, f"data of {number}".encode(), name=f"{name}-{number}")
                self.assertEqual(answer.status, 200, answer.text)

    def all_sessions(self) -> dict[str, dict]:
        shown = ("state", "reason", "endpoints", "incarnation", "instance", "node", "application")
        return {session["name"]: {name: session.get(name) for name in shown} for session in self.sessions()}

    def members(self) -> dict[int, list[int]]:
        """The process of each instance; not those of its clients."""
        return {shim: children_of(shim)[:1] for shim in self.shims()}

    def settled_pools(self) -> list[dict]:
        return [self.wait_for_pools(name, ready=1, standby=1, pending=0, terminating=0, active=count // PER_INSTANCE)
                for name, count in (("plain", PLAIN), ("told", TOLD), ("again", PER_INSTANCE))]

    def echoes_again(self, session: dict) -> bool:
        try:
            with connect(session) as connection:
                return echo(connection, b"again") == b"again"
        except (OSError, EOFError):
            return False

    def lose_instance_of(self, session: str):
        """And it is opened elsewhere with what it was first opened with, whoever has forgotten what meanwhile."""
        notes = self.unit.directory / "notes"
        served_by = int((notes / f"{session}.pid").read_text())
        (notes / session).unlink()
        os.kill(served_by, signal.SIGKILL)
        wait_until(lambda: (self.session(session)["incarnation"], self.session(session)["state"]) == (2, "available"),
                   "another incarnation")
        self.assertEqual((notes / session).read_bytes(), DATA)
        self.assertNotEqual(int((notes / f"{session}.pid").read_text()), served_by)

    def test_a_thousand_sessions_outlive_the_control_plane_and_the_agent(self):
        with timed(f"{PLAIN + TOLD} sessions, one after the other"):
            self.open_all()
        self.open("again", DATA, name="again")
        pools = self.settled_pools()
        before, members = self.all_sessions(), self.members()
        self.assertEqual(len(before), PLAIN + TOLD + 1)
        self.assertEqual({session["state"] for session in before.values()}, {"available"})
        names = sorted(before)[::len(before) // USED]
        users = {name: connect(before[name]) for name in names}
        for connection in users.values():
            self.addCleanup(connection.close)
            self.assertEqual(echo(connection, b"before"), b"before")

        # --- The control plane.
        self.unit.control.kill()
        for connection in users.values():
            self.assertEqual(echo(connection, b"meanwhile"), b"meanwhile")
        with timed("the control plane and all sessions are back"):
            self.unit.start_control()
            wait_until(lambda: len(self.all_sessions()) == len(before), "all sessions")
        self.unit.wait_for_node("n1")
        self.assertEqual(self.all_sessions(), before)
        self.assertEqual(self.settled_pools(), pools)
        self.assertEqual(self.members(), members)
        for connection in users.values():
            self.assertEqual(echo(connection, b"after"), b"after")
        self.assertEqual(self.open("plain", name="plain-0")["endpoints"], before["plain-0"]["endpoints"])

        taken = {endpoint["external"] for session in before.values() for endpoint in session["endpoints"]}
        for number in range(20):
            self.assertNotIn(self.open("told", name=f"later-{number}")["endpoints"][0]["external"], taken)
            self.assertEqual(self.close(f"later-{number}")["state"], "closed")

        # --- The agent.
        notes = self.unit.directory / "notes"
        opened = {file.name: file.stat().st_mtime_ns for file in notes.iterdir()}
        self.restart_agent()
        with timed("the agent and all endpoints are back"):
            for name in names:
                wait_until(lambda session=before[name]: self.echoes_again(session), f"{name} to be reached again")
        wait_until(lambda: {name: session for name, session in self.all_sessions().items() if name in before} == before,
                   "all sessions to be as they were")
        self.assertEqual(self.settled_pools(), pools)
        self.assertEqual(self.members(), members)
        # Apps are told again what they have: those that remember do not begin it again.
        self.assertEqual({file.name: file.stat().st_mtime_ns for file in notes.iterdir()}, opened)
        self.assertEqual((notes / "told-7").read_bytes(), b"data of 7")
        self.lose_instance_of("again")

    def open_until(self, stop: threading.Event, answered: dict[str, dict]):
        """One after the other, whatever happens; all that were answered with an endpoint."""
        number = 0
        while not stop.is_set():
            number += 1
            api = self.api(timeout=10)
            try:
                answer = api.open("hot", name=f"hot-{number}")
                if answer.status == 200:
                    answered[f"hot-{number}"] = answer.json
            except (OSError, HTTPException):
                pass  # it was killed, or is not there yet
            finally:
                api.close()

    def test_no_port_has_two_owners_whoever_is_killed_while_sessions_are_opened(self):
        self.must_apply(self.offer("hot", "echo", 30 * PER_INSTANCE, reuse=True))
        self.wait_for_pools("hot", ready=1)
        stop, answered = threading.Event(), {}
        opener = threading.Thread(target=self.open_until, args=(stop, answered))
        opener.start()
        for kill in (self.restart_agent, self.restart_control, self.restart_agent, self.restart_control):
            wait_until(lambda want=len(answered) + 30: len(answered) >= want, "sessions to be opened", 60)
            kill()
        wait_until(lambda want=len(answered) + 30: len(answered) >= want, "sessions to be opened", 60)
        stop.set()
        opener.join()
        self.unit.wait_for_node("n1")
        wait_until(lambda: all(session["state"] in ("available", "failed") for name, session in self.all_sessions().items()
                               if name in answered), "all to be settled")
        known = self.all_sessions()
        lost = [name for name in answered if known.get(name, {}).get("state") != "available"]
        print(f"  {len(answered)} opened while agent and control plane were killed twice, {len(lost)} lost", flush=True)
        kept = [known[name] for name in answered if name not in lost]
        endpoints = [session["endpoints"][0]["external"] for session in kept]
        self.assertEqual(len(set(endpoints)), len(endpoints), "a port has two owners")
        for name in answered:
            if name in lost:
                continue
            self.assertEqual(known[name]["endpoints"], answered[name]["endpoints"])
            wait_until(lambda session=known[name]: self.echoes_again(session), f"{name} to be reached", 10)
        for name in lost:  # its agent was killed before it had written down what it had said
            self.assertIn(known.get(name, {}).get("state"), (None, "failed"))  # of what has ended a new life knows nothing

    def restart_agent(self):
        self.unit.agents["n1"].kill()
        self.unit.agents["n1"].start()

    def restart_control(self):
        self.unit.control.kill()
        self.unit.start_control()


if __name__ == "__main__":
    main()
