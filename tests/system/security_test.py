#!/usr/bin/env python3
"""Who is let in, who is not, and what nobody may send."""

import grp
import json
import os
import shutil
import subprocess
import time
import unittest

from harness import AS_NOBODY, IS_ROOT, SystemTest, deployment, item, main, wait_until


class Security(SystemTest):
    def setUp(self):
        super().setUp()
        self.unit.start_control()

    def start_agent(self, name):
        return self.unit.start_agent(name, "--runtimes", "process")

    def curl(self, path, *flags):
        return subprocess.run(["curl", "-sk", "-o", self.unit.directory / "answer", "-w", "%{http_code}", *flags,
                               f"https://{self.unit.endpoints['https']}{path}"], capture_output=True, text=True,
                              timeout=60, check=False).stdout

    def test_a_token_is_good_once(self):
        token = self.unit.ask("join-token", "--name", "n1")["token"]
        self.assertEqual(self.unit.join_with("n1", token).returncode, 0)
        again = self.unit.join_with("n2", token)
        self.assertNotEqual(again.returncode, 0)
        self.assertIn("used", again.stderr)

    def test_an_expired_token_is_refused(self):
        token = self.unit.ask("join-token", "--name", "n1", "--ttl", "1s")["token"]
        time.sleep(1.5)
        late = self.unit.join_with("n1", token)
        self.assertNotEqual(late.returncode, 0)
        self.assertIn("expired", late.stderr)

    def test_a_token_of_another_authority_is_not_even_said(self):
        token = self.unit.ask("join-token", "--name", "n1")["token"]
        head, secret, pin = token.split(".")
        wrong = self.unit.join_with("n1", f"{head}.{secret}.{pin[::-1]}")
        self.assertNotEqual(wrong.returncode, 0)
        self.assertEqual(self.unit.join_with("n1", token).returncode, 0, "it was not used up")

    def test_an_agent_without_certificate_does_not_start_its_link(self):
        lost = self.unit.agent_dir("n1")
        lost.mkdir()
        self.unit.start_agent("n1", "--server", self.unit.endpoints["grpc"], "--runtimes", "process")
        time.sleep(2)
        self.assertIsNone(self.node("n1"))

    def test_a_node_cannot_speak_for_another(self):
        self.start_agent("n1")
        wait_until(lambda: self.node("n1"), "n1")
        self.unit.agents["n1"].stop()
        shutil.copytree(self.unit.agent_dir("n1"), self.unit.agent_dir("n2"))
        self.unit.start_agent("n2", "--node-name", "n2", "--runtimes", "process")
        time.sleep(3)
        self.assertIsNone(self.node("n2"))

    def test_a_viewer_may_look_and_not_touch(self):
        token = self.unit.ask("join-token", "--role", "viewer", "--name", "wall")["token"]
        remote = {"BERTH_CONFIG_DIR": str(self.unit.directory / "viewer"), "BERTH_SOCKET": ""}
        login = self.unit.berth("login", "https://" + self.unit.endpoints["https"], token, env=remote)
        self.assertEqual(login.returncode, 0, login.stderr)
        look = self.unit.berth("get", "nodes", env=remote)
        self.assertEqual(look.returncode, 0, look.stderr)
        touch = self.unit.berth("apply", "-f", self.write("x.yaml", item("x"), deployment("d", {"item": "x"})), env=remote)
        self.assertNotEqual(touch.returncode, 0)
        self.assertIn("viewer", touch.stderr)
        self.assertEqual(self.unit.instances(), [])

    def as_nobody(self, groups: str = "--clear-groups") -> subprocess.CompletedProcess:
        berth = shutil.copy(self.unit.bin / "berth", self.unit.directory)  # where everybody can find it
        return subprocess.run([*AS_NOBODY, groups, berth, "get", "nodes"], capture_output=True, text=True, timeout=60,
                              check=False, env={**os.environ, **self.unit.environment()})

    @unittest.skipUnless(IS_ROOT, "only root can become somebody else")
    def test_the_socket_is_ours_alone_unless_a_group_may_use_it(self):
        refused = self.as_nobody()
        self.assertEqual(refused.returncode, 6)
        self.assertIn("This user may not use the socket", refused.stderr)

        self.unit.control.stop()
        group = grp.getgrnam("daemon")
        self.unit.start_control("--socket-group", group.gr_name)
        refused = self.as_nobody()
        self.assertEqual(refused.returncode, 6, "a group of others is nobody's concern")
        let_in = self.as_nobody(f"--groups={group.gr_gid}")
        self.assertEqual(let_in.returncode, 0, let_in.stderr)

    @unittest.skipUnless(IS_ROOT, "only root can become somebody else")
    def test_who_gets_at_the_socket_by_its_mode_still_needs_to_be_known(self):
        self.unit.socket.chmod(0o666)
        refused = self.as_nobody()
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("may not", refused.stderr)

    def test_without_certificate_only_health_is_told(self):
        self.assertEqual(self.curl("/livez"), "200")
        self.assertEqual(self.curl("/readyz"), "200")
        self.assertEqual(self.curl("/v1/nodes"), "401")
        self.assertEqual(self.curl("/metrics"), "401")

    def test_a_gibibyte_is_refused_without_being_taken(self):
        before = self.resident()
        code = self.curl("/v1/join", "-X", "POST", "-H", "Content-Length: 1073741824", "-d", "{}", "--max-time", "10")
        self.assertEqual(code, "413")
        sparse = self.unit.directory / "huge.yaml"
        with open(sparse, "wb") as file:
            file.truncate(1 << 30)
        refused = self.unit.berth("apply", "-f", sparse)
        self.assertNotEqual(refused.returncode, 0)
        self.assertLess(self.resident() - before, 64 << 20)

    def resident(self) -> int:
        with open(f"/proc/{self.unit.control.pid}/statm") as file:
            return int(file.read().split()[1]) * 4096

    def test_curl_prometheus_and_events(self):
        def get(path, *flags):
            return subprocess.run(["curl", "-s", *flags, "--unix-socket", self.unit.socket, f"http://berth{path}"],
                                  capture_output=True, text=True, timeout=30, check=False).stdout
        self.start_agent("n1")
        wait_until(lambda: self.node("n1"), "n1")
        self.assertEqual(json.loads(get("/v1/nodes"))["nodes"][0]["name"], "n1")
        self.assertIn("/v1/instances", json.loads(get("/openapi.json"))["paths"])
        metrics = get("/metrics")
        for line in metrics.splitlines():
            self.assertRegex(line, r"^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[^}]*\})? [-+0-9.e]+(inf)?)$")
        self.assertIn("berth_", metrics)
        stream = get("/v1/watch", "-N", "--max-time", "2")
        self.assertIn("data: ", stream)
        self.assertIn('"n1"', stream)


if __name__ == "__main__":
    main()
