#!/usr/bin/env python3
"""What people see in a terminal of 80 columns: no line is wider, and elsewhere nothing is left out."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

from harness import SystemTest, deployment, item, main, wait_until

COLUMNS = 80
ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def in_terminal(command: list, environment: dict, columns: int = COLUMNS) -> str:
    """What a program prints on a terminal, without the colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    program = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
                               env={**os.environ, "TERM": "xterm", "LANG": "C.UTF-8", **environment})
    os.close(theirs)
    said = b""
    try:
        while piece := os.read(ours, 65536):
            said += piece
    except OSError:  # so ends a terminal
        pass
    os.close(ours)
    program.wait(30)
    return ESCAPE.sub("", said.decode()).replace("\r\n", "\n")


class Width(SystemTest):
    def setUp(self):
        super().setUp()
        self.unit.start_control()
        for name in ("gateway-front", "gateway-rear", "compute"):
            self.unit.start_agent(name, "--runtimes", "process", "--capacity-cpu", "10000", "--capacity-ram", "4Gi")
            self.unit.wait_for_node(name)
        self.assertEqual(self.apply(item("telemetry-collector"), item("web"),
                                    deployment("d", {"item": "telemetry-collector", "subject": "vehicle", "instances": 4},
                                               {"item": "web", "nodes": ["compute"]})).returncode, 0)
        self.apply(item("too-large-for-all-of-them", request={"cpu": 1000000, "ram": "1Mi"}),
                   deployment("e", {"item": "too-large-for-all-of-them", "subject": "vehicle"}))

    def show(self, *arguments: str, columns: int = COLUMNS) -> str:
        return in_terminal([self.unit.bin / "berth", *arguments], self.unit.environment(), columns)

    def assert_narrow(self, *arguments: str) -> str:
        shown = self.show(*arguments)
        wide = [line for line in shown.splitlines() if len(line) > COLUMNS]
        self.assertEqual(wide, [], f"berth {' '.join(arguments)}")
        return shown

    def test_no_line_is_wider_than_the_terminal(self):
        def look():
            self.assertIn("telemetry-collector/vehicle/3", self.assert_narrow("get", "instances"))
            nodes = self.assert_narrow("get", "nodes")
            self.assertIn("gateway-front", nodes)
            self.assertRegex(nodes, "NODE +STATE +READY")
            for arguments in (["top"], ["top", "instances"], ["events"], ["get", "events"], ["get", "items"],
                              ["get", "deployments"], ["describe", "node", "compute"],
                              ["describe", "node", "gateway-rear"], ["describe", "instance", "web"],
                              ["describe", "instance", "telemetry-collector/vehicle/0"],
                              ["describe", "instance", "too-large-for-all-of-them"]):
                self.assert_narrow(*arguments)
        look()
        self.unit.agents["compute"].kill()
        wait_until(lambda: self.node("compute")["liveness"] != "reachable", "a node to be away")
        look()

    def test_who_asks_for_all_gets_all(self):
        whole = self.unit.berth("get", "nodes").stdout.splitlines()[0].split()
        self.assertGreater(len(whole), len(self.show("get", "nodes").splitlines()[0].split()))
        self.assertEqual(self.show("get", "nodes", columns=300).splitlines()[0].split(), whole)
        wide = self.unit.berth("get", "nodes", "-o", "wide").stdout.splitlines()[0].split()
        self.assertEqual(self.show("get", "nodes", "-o", "wide").splitlines()[0].split(), wide)

    def test_help_is_no_wider_either(self):
        verbs = re.findall(r"^  ([a-z][a-z-]+)  +[A-Z]", self.assert_narrow("--help"), re.MULTILINE)
        self.assertGreater(len(verbs), 20)
        for verb in verbs:
            shown = self.assert_narrow(verb, "--help")
            said = self.unit.berth(verb, "--help").stdout
            words = set(re.findall(r"[\w-]+", said)) - set(re.findall(r"[\w-]+", shown))
            self.assertEqual(words, set(), f"left out of the help of {verb}")


if __name__ == "__main__":
    main()
