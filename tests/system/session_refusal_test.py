#!/usr/bin/env python3
"""What is handed to an app with its session, byte for byte; and what is refused, with what words."""

import json
import time

from grpc_peer import field, fields
from harness import item, main
from sessions import SPACE, SessionTest, application, namespace, open_request, session_app

LARGEST = 65536
# Whatever bytes may be misread: ends of lines and texts, quotes, what is no UTF-8.
DATA = bytes(range(256)) * (LARGEST // 256)
OTHER = "other"

# What is wrong with an application, and what whoever applies it is told.
WRONG_APPLICATIONS = [
    ({"scaling": {"burst": 0}}, "spec.scaling.burst: must be 1 to 1000000"),
    ({"scaling": {"burst": "some"}}, "expected a whole number or unlimited"),
    ({"scaling": {"minimum": 6}}, "minimum 6 is above maximum 5"),
    ({"scaling": {"maximum": 0}}, "spec.scaling.maximum: must be 1 to 1000000"),
    ({"scaling": {"idlePercent": {"low": 10, "high": 100}}}, "must be 0 to 99 percent, not 100"),
    ({"scaling": {"idlePercent": {"low": 50, "high": 10}}}, "low 50 is above high 10"),
    ({"scaling": {"idle": {"low": 3, "high": 2}}}, "spec.scaling.idle.low: low 3 is above high 2"),
    ({"scaling": {"standby": {"low": 3, "high": 2}}}, "spec.scaling.standby.low: low 3 is above high 2"),
    ({"scaling": {"idle": {}, "idlePercent": {}}}, "only one of them can be"),
    ({"sessions": {"idleTimeout": "5m"}}, "only the session service tells whether there are clients"),
    ({"sessions": {"perInstance": 0}}, "spec.sessions.perInstance: must be 1 to 1000000"),
    ({"sessions": {"openTimeout": "0s"}}, "spec.sessions.openTimeout: must be more than 0s"),
    ({"sessions": {"ttl": "0s"}}, "spec.sessions.ttl: must be more than 0s"),
    ({"item": "tolt"}, 'there is no item "tolt". Did you mean "told"?'),
    ({"item": "keeper"}, "instances of an application keep nothing"),
    ({"item": "part"}, "an application needs a service"),
]

# Flags of `berth session`, its exit code, and a part of what it says.
WRONG_CALLS = [
    (["open", "games/tolt"], 4, "no application games/tolt"),
    (["open", "gemes/told"], 4, "no namespace gemes"),
    (["open", "told"], 4, "a name without a namespace is in the namespace default"),
    (["open"], 3, "which application?"),
    (["open", "games/told", "--name", "Blue"], 3, "small letters, digits, '-' and '.'"),
    (["open", "games/told", "--name", "blue!"], 3, "small letters, digits, '-' and '.'"),
    (["open", "games/told", "--name", "x" * 64], 3, "at most 63"),
    (["open", "games/told", "--timeout", "0s"], 3, "--timeout must be more than 0s"),
    (["open", "games/told", "--ttl", "0s"], 3, "--ttl must be more than 0s"),
    (["open", "games/told", "--ttl", "-1s"], 3, "is no duration"),
    (["open", "games/told", "--request-id", "r" * 257], 3, "256 bytes at most"),
    (["open", "games/told", "--data", "@/nowhere"], 3, "cannot read /nowhere"),
    (["close", "games/nobody"], 4, "no session games/nobody"),
    (["describe", "games/nobody"], 4, "no session games/nobody"),
    (["list", "--state", "opened"], 3, '"opened" is no state'),
    (["opne", "games/told"], 3, 'Did you mean "open"?'),
    (["close", "games/told", "--data", "x"], 3, "--data is for berth session open"),
]


class Refusals(SessionTest):
    def start_unit(self):
        self.unit.start_control()
        self.unit.start_agent("n1", "--runtimes", "process", "--capacity-cpu", "10000", "--capacity-ram", "4Gi")
        self.unit.wait_for_node("n1")
        elsewhere = application("told", "told", {}, {"service": True})
        elsewhere["metadata"]["namespace"] = OTHER
        self.must_apply(namespace(), namespace(OTHER), item("told", images=session_app(self.unit), ports=["7000/tcp"]),
                        item("keeper", quotas={"state": "1Mi"}), elsewhere,
                        application("told", "told", {"maximum": 2}, {"service": True, "perInstance": 50}))

    def received(self, session: str) -> bytes:
        return (self.unit.directory / "notes" / session).read_bytes()

    def write_data(self, data: bytes) -> str:
        path = self.unit.directory / "data"
        path.write_bytes(data)
        return f"@{path}"

    # --- Data.

    def test_the_app_is_handed_what_the_command_line_has_read(self):
        opened = self.unit.berth("session", "open", "games/told", "--name", "cli", "--data", self.write_data(DATA))
        self.assertEqual(opened.returncode, 0, opened.stderr)
        self.assertEqual(self.received("cli"), DATA)
        refused = self.unit.berth("session", "open", "games/told", "--data", self.write_data(DATA + b"x"))
        self.assertEqual(refused.returncode, 3)
        self.assertIn("the data are 65537 bytes; at most 65536", refused.stderr)

    def test_the_app_is_handed_what_came_by_http(self):
        self.open("told", DATA, name="http")
        self.assertEqual(self.received("http"), DATA)
        refused = self.api().open("told", DATA + b"x")
        self.assertEqual(refused.status, 400, refused.text)
        self.assertIn("the data are 65537 bytes; at most 65536", refused.json["error"]["message"])

    def test_the_app_is_handed_what_came_by_grpc(self):
        peer = self.peer(self.log_in("ann", "--role", "admin"))
        self.assertEqual(len(peer.call("/berth.v1.Berth/OpenSession", open_request("told", "grpc", DATA))), 1)
        self.assertEqual(self.received("grpc"), DATA)
        answers = peer.call("/berth.v1.Berth/OpenSessions", field(2, open_request("told", "stream", DATA)),
                            field(2, open_request("told", "larger", DATA + b"x")))
        self.assertEqual(self.received("stream"), DATA)
        failure = next(dict(fields(dict(fields(answer))[3])) for answer in answers if 3 in dict(fields(answer)))
        self.assertEqual(failure[1], b"InvalidInput")
        self.assertIn(b"the data are 65537 bytes; at most 65536", failure[2])

    # --- Documents.

    def test_wrong_applications_are_refused_with_what_is_wrong(self):
        part = {"apiVersion": "berth/v1", "kind": "Item", "metadata": {"name": "part"},
                "spec": {"type": "function", "version": "1", "images": [{"command": ["/bin/true"]}]}}
        for spec, words in WRONG_APPLICATIONS:
            made = application("bad", spec.get("item", "told"), {"maximum": 5, **spec.get("scaling", {})},
                               spec.get("sessions", {}))
            with self.subTest(words):
                refused = self.apply(*([part] if spec.get("item") == "part" else []), made)
                self.assertEqual(refused.returncode, 3, refused.stdout)
                self.assertIn(words, refused.stderr)

    def test_a_namespace_has_to_be_there_and_to_be_empty(self):
        made = application("bad", "told", {}, {})
        made["metadata"]["namespace"] = "gemes"
        refused = self.apply(made)
        self.assertEqual(refused.returncode, 3)
        self.assertIn('there is no namespace "gemes": apply it first, or with this. Did you mean "games"?', refused.stderr)
        for name, words in (("default", "always there"), (SPACE, "delete them first, or all at once with --cascade")):
            refused = self.unit.berth("delete", "namespace", name)
            self.assertEqual(refused.returncode, 1)
            self.assertIn(words, refused.stderr)

    # --- Calls.

    def test_wrong_calls_are_refused_with_what_is_wrong(self):
        for words, code, text in WRONG_CALLS:
            with self.subTest(" ".join(words)):
                refused = self.unit.berth("session", *words)
                self.assertEqual((refused.returncode, refused.stdout), (code, ""), refused.stderr)
                self.assertIn(text, refused.stderr)

    def test_a_client_has_its_sessions_and_nothing_else(self):
        self.open("told", name="mine")
        kim = self.log_in("kim", "--role", "client", "--namespace", SPACE)
        for words, text in (
                (["session", "open", "games/told", "--name", "mine"], "a session games/mine is open already, by somebody else"),
                (["session", "open", f"{OTHER}/told"], "client/kim/games may not use sessions of namespace other"),
                (["session", "list", "-n", OTHER], "may not use sessions of namespace other"),
                (["session", "close", f"{OTHER}/x"], "may not use sessions of namespace other"),
                (["get", "nodes"], "client/kim/games may not"), (["get", "applications"], "client/kim/games may not"),
                (["delete", "application", "games/told"], "client/kim/games may not"),
                (["join-token", "--role", "admin", "--name", "lee"], "client/kim/games may not")):
            with self.subTest(" ".join(words)):
                refused = self.unit.berth(*words, env=kim)
                self.assertEqual((refused.returncode, refused.stdout), (1, ""), refused.stderr)
                self.assertIn(text, refused.stderr)
        opened = self.unit.berth("session", "open", "games/told", "--name", "of-kim", "-o", "json", env=kim)
        self.assertEqual(opened.returncode, 0, opened.stderr)
        again = self.unit.berth("session", "open", "games/told", "--name", "of-kim", "-o", "json", env=kim)
        self.assertEqual(json.loads(again.stdout)["endpoints"], json.loads(opened.stdout)["endpoints"])
        self.assertEqual(self.unit.berth("session", "close", "games/of-kim", env=kim).returncode, 0)
        unbound = self.unit.berth("join-token", "--role", "client", "--name", "lee")
        self.assertEqual(unbound.returncode, 3)
        self.assertIn("a client is bound to 1 to 16 namespaces: --namespace", unbound.stderr)

    def test_who_asks_for_more_than_there_can_be_is_told_when_to_ask_again(self):
        self.must_apply(application("small", "told", {"maximum": 1}, {"service": True}))
        self.open("small", name="only")
        busy = self.api().open("small")
        self.assertEqual(busy.status, 503, busy.text)
        self.assertEqual(busy.json["error"]["code"], "Busy")
        self.assertRegex(busy.json["error"]["message"], r"all instances of games/small are in use.*try again in \d+ ms")
        told = self.unit.berth("session", "open", "games/small")
        self.assertEqual(told.returncode, 7, told.stderr)
        self.close("only")
        self.open("small", name="next")

    def test_who_finds_no_room_is_told_why_at_the_deadline(self):
        self.must_apply(item("huge", images=[{"command": ["/bin/true"]}], request={"cpu": 1, "ram": "64Gi"}),
                        application("huge", "huge", {}, {"openTimeout": "1s"}))
        began = time.monotonic()
        late = self.api().open("huge")
        self.assertEqual(late.status, 504, late.text)
        self.assertRegex(late.json["error"]["message"], "was not available in time: InsufficientRam: .*n1")
        self.assertGreaterEqual(time.monotonic() - began, 1)


if __name__ == "__main__":
    main()
