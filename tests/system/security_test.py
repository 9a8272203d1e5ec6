#!/usr/bin/env python3
"""Who is let in, who is not, and what nobody may send."""

import grp
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import time
import unittest
from pathlib import Path

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


def allow_many_descriptors():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Strangers(SystemTest):
    """Whoever has no certificate, or only one to look with, stops nobody."""

    def setUp(self):
        super().setUp()
        allow_many_descriptors()
        self.unit.start_control(wrapper=["prlimit", "--nofile=1024:1024"])

    def connections(self, endpoint: str, count: int) -> list[socket.socket]:
        """Idle ones, of somebody who says nothing."""
        host, port = self.unit.endpoints[endpoint].rsplit(":", 1)
        found = []
        for _ in range(count):
            found.append(socket.create_connection((host, int(port)), 30))
            self.addCleanup(found[-1].close)
        return found

    def local(self, path: str, *flags) -> subprocess.CompletedProcess:
        return subprocess.run(["curl", "-s", "--max-time", "10", *flags, "--unix-socket", self.unit.socket,
                               f"http://berth{path}"], capture_output=True, text=True, check=False)

    def reachable(self, *names: str):
        for name in names:
            wait_until(lambda: (node := self.node(name)) and node["liveness"] == "reachable", f"{name} to be served", 30)

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.unit.control.pid}/fd"))

    def test_1200_idle_connections_to_each_port_stop_nobody(self):
        before = self.unit.start_agent("before", "--runtimes", "process")
        self.unit.wait_for_node("before")
        self.assertEqual(self.apply(item("web"), deployment("d", {"item": "web"})).returncode, 0)
        flood = self.connections("grpc", 1200) + self.connections("https", 1200)
        self.assertEqual(self.local("/readyz").stdout, "ok\n")
        self.assertLess(self.descriptors(), 900, "strangers get a part only")
        self.unit.start_agent("during", "--runtimes", "process")  # joins at one port, connects at the other
        self.reachable("during", "before")
        before.stop()
        self.unit.start_agent("before", "--runtimes", "process")
        self.reachable("before")
        self.assertEqual([instance["state"] for instance in self.unit.instances()], ["Active"])
        self.assertEqual(list(self.starts().values()), [1])
        for stranger in flood:
            stranger.close()
        self.unit.start_agent("after", "--runtimes", "process")
        self.reachable("after", "during", "before")
        self.assertEqual(self.local("/readyz").stdout, "ok\n")

    def open_files(self, pid: int) -> tuple[int, int]:
        return resource.prlimit(pid, resource.RLIMIT_NOFILE)

    def test_an_agent_takes_all_descriptors_and_gives_what_it_starts_the_usual_again(self):
        agent = self.unit.start_agent("n1", "--runtimes", "process", wrapper=["prlimit", "--nofile=200:1024"])
        self.unit.wait_for_node("n1")
        self.assertEqual(self.apply(item("web"), deployment("d", {"item": "web"})).returncode, 0)
        self.assertEqual(self.open_files(agent.pid), (1024, 1024))
        self.assertEqual([self.open_files(shim) for shim in self.shims()], [(200, 1024)])

    def limit(self, soft: int):
        resource.prlimit(self.unit.control.pid, resource.RLIMIT_NOFILE, (soft, 1024))

    def test_without_descriptors_it_is_not_ready_and_recovers_by_itself(self):
        agent = self.unit.start_agent("n1", "--runtimes", "process")
        self.unit.wait_for_node("n1")
        with socket.socket(socket.AF_UNIX) as probe:  # which is there before the shortage
            probe.settimeout(20)
            probe.connect(str(self.unit.socket))

            def readiness() -> str:
                probe.sendall(b"GET /readyz?verbose HTTP/1.1\r\nHost: berth\r\n\r\n")
                answer = b""
                while b"ready\n" not in answer:
                    answer += probe.recv(4096)
                return answer.decode()
            self.assertIn("[+] grpc: ok", readiness())
            self.limit(3)
            self.assertIn("[-] grpc: Too many open files", readiness())
            agent.stop()
            self.unit.start_agent("n1", "--runtimes", "process")
            waiting = self.connections("https", 1)
            wait_until(lambda: "[-] https: Too many open files" in readiness(), "the other port to say so")
            self.assertIn(" 503 ", readiness())
            self.limit(1024)
            wait_until(lambda: "200 OK" in readiness(), "it to be ready again")
            waiting[0].close()
        self.reachable("n1")

    # --- Who may look, and asks for more than can be told soon.

    def a_viewer(self) -> Path:
        token = self.unit.ask("join-token", "--role", "viewer", "--name", "wall")["token"]
        config = self.unit.directory / "viewer"
        login = self.unit.berth("login", "https://" + self.unit.endpoints["https"], token,
                                env={"BERTH_CONFIG_DIR": str(config), "BERTH_SOCKET": ""})
        self.assertEqual(login.returncode, 0, login.stderr)
        return next(config.rglob("cert.pem")).parent

    def plan_of(self, instances: int, nodes: int = 0, items: int = 1) -> Path:
        """A request for so many, on nodes that are only in it. Of several items nothing has a place: each is told why."""
        documents = []
        for number in range(items):
            asked = {"request": {"cpu": 100 + number, "ram": "1Mi"}} if items > 1 else {}
            documents.append(item(f"x{number}", **asked))
            documents.append(deployment(f"d{number}", {"item": f"x{number}", "instances": instances // items}))
        for number in range(nodes):
            documents.append({"apiVersion": "berth/v1", "kind": "Node", "metadata": {"name": f"n{number}"},
                              "spec": {"capacity": {"cpu": 10, "ram": "1Gi"},
                                       "runtimes": [{"name": "process", "type": "process"}]}})
        path = self.unit.directory / f"plan-{instances}.json"
        text = "\n---\n".join(json.dumps(document) for document in documents)
        path.write_text(json.dumps({"files": [{"name": "plan.yaml", "text": text}]}))
        return path

    def ask_for_plan(self, viewer: Path, body: Path) -> subprocess.Popen:
        return subprocess.Popen(["curl", "-s", "-w", "%{http_code}", "--cacert", viewer / "ca.pem", "--cert",
                                 viewer / "cert.pem", "--key", viewer / "key.pem", "--data-binary", f"@{body}",
                                 f"https://{self.unit.endpoints['https']}/v1/plan"], stdout=subprocess.PIPE, text=True)

    def computing(self) -> float:
        """Seconds of a core that berthd has used."""
        fields = Path(f"/proc/{self.unit.control.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait_for_rest(self):
        def rests() -> bool:
            before = self.computing()
            time.sleep(0.5)
            return self.computing() - before < 0.1
        wait_until(rests, "berthd to rest", 10)

    def test_a_plan_of_a_million_is_refused_and_a_long_one_ends_with_its_caller(self):
        viewer = self.a_viewer()
        too_much, _ = self.ask_for_plan(viewer, self.plan_of(1_000_000)).communicate(timeout=30)
        self.assertIn("a plan can have 100000 more at most", too_much)
        long = self.plan_of(100_000, nodes=2_000, items=2_000)
        callers = {self.ask_for_plan(viewer, long) for _ in range(6)}
        began, used = time.monotonic(), self.computing()
        refused = wait_until(lambda: {caller for caller in callers if caller.poll() is not None}, "some to be refused")
        for caller in refused:
            self.assertIn("too many plans", caller.communicate()[0])
        wait_until(lambda: self.computing() > used + 1, "it to compute")
        self.assertEqual(self.unit.berth("get", "nodes", timeout=10).returncode, 0)
        self.assertEqual(self.local("/readyz").stdout, "ok\n")
        for caller in callers - refused:
            caller.kill()
            caller.communicate()
        self.wait_for_rest()
        self.assertLess(time.monotonic() - began, 50, "it was given up, not done")

    def test_a_long_plan_does_not_keep_it_from_stopping(self):
        caller = self.ask_for_plan(self.a_viewer(), self.plan_of(100_000, nodes=2_000, items=2_000))
        used = self.computing()
        wait_until(lambda: self.computing() > used + 1, "it to compute")
        began = time.monotonic()
        self.unit.control.signal(signal.SIGTERM)
        self.assertEqual(self.unit.control.wait(20), 0)
        self.assertLess(time.monotonic() - began, 10)
        caller.communicate(timeout=30)


if __name__ == "__main__":
    main()
