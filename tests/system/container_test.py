#!/usr/bin/env python3
"""Containers for real: limits, exit codes, logs, exec."""

import os
import shutil
import signal
import socket
import subprocess
import time
import unittest
from pathlib import Path

from harness import IS_ROOT, SystemTest, children_of, deployment, item, main, wait_until
from unit import Daemon

IMAGE = [{"platform": {"os": "linux", "arch": "amd64"}, "runtimes": ["runc"], "oci": "images/busybox:1"}]
# Waits for its signal, so that the agent can be restarted in between, then takes all it can get.
GREEDY = "while [ ! -e /storage/go ]; do sleep 0.1; done; echo taking; tail /dev/zero"


@unittest.skipUnless(IS_ROOT, "containers need root")
class Containers(SystemTest):
    def setUp(self):
        super().setUp()
        self.unit.make_image("busybox:1")
        self.unit.start_control()
        self.start_agent()

    def start_agent(self, wrapper=None):
        self.unit.start_agent("n1", "--runtimes", "runc,crun,process", "--capacity-cpu", "10000",
                              "--capacity-ram", "4Gi", "--stop-grace", "2s", "--stop-instances-on-exit", "true",
                              wrapper=wrapper)
        self.unit.wait_for_node("n1")

    def greedy(self):
        return item("greedy", images=IMAGE, args=["sh", "-c", GREEDY], quotas={"cpu": 5000, "ram": "16Mi"},
                    restart={"policy": "never"})

    def let_it_take(self):
        (storage,) = (self.unit.agent_dir("n1") / "storage").iterdir()
        (storage / "go").write_text("")

    def the_exit_is_reported(self):
        def killed():
            found = self.unit.instances()[0]
            return found if found.get("exitCode") == 137 else None
        return wait_until(killed, "exit code 137")

    def test_one_over_its_memory_limit_is_killed_and_its_exit_code_reported(self):
        self.apply(self.greedy(), deployment("d", {"item": "greedy"}))
        self.let_it_take()
        self.assertEqual(self.the_exit_is_reported()["reason"], "OutOfMemory")

    def test_its_exit_code_is_reported_also_if_the_agent_was_down_when_it_ended(self):
        self.apply(self.greedy(), deployment("d", {"item": "greedy"}))
        self.unit.agents["n1"].kill()
        self.let_it_take()
        wait_until(lambda: not self.shims(), "the container's end")
        self.start_agent()
        self.the_exit_is_reported()

    def test_an_agent_that_has_lost_its_store_keeps_its_containers(self):
        self.apply(item("kept", images=IMAGE, args=["sleep", "1000000"]), deployment("d", {"item": "kept"}))
        before = self.running_pids()
        self.unit.agents["n1"].kill()
        for store in self.unit.agent_dir("n1").glob("agent.db*"):
            store.unlink()
        self.start_agent()
        log = self.unit.directory / "agent-n1.log"
        wait_until(lambda: "a full command settles" in log.read_text(), "the control plane's word")
        self.wait_for_active(1)
        self.assertEqual(self.running_pids(), before)

    def test_logs_and_exec(self):
        talker = item("talker", images=IMAGE, args=["sh", "-c", "echo hello; echo oops >&2; exec sleep 100000"])
        self.apply(talker, deployment("d", {"item": "talker"}))
        wait_until(lambda: "hello" in self.unit.berth("logs", "talker").stdout, "its output")
        done = self.unit.berth("exec", "talker", "--", "sh", "-c", "id -u; exit 7")
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertGreaterEqual(int(done.stdout), 20000)

    @unittest.skipUnless(shutil.which("docker-registry") or os.path.exists("/usr/bin/docker-registry"), "no registry")
    def test_an_image_comes_from_a_registry(self):
        address = self.start_registry()
        pulled = [{**IMAGE[0], "oci": f"docker://{address}/busybox:1"}]
        applied = self.apply(item("pulled", images=pulled, args=["sleep", "100000"]), deployment("d", {"item": "pulled"}))
        self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)

    def start_registry(self) -> str:
        """A registry on loopback, without TLS, that this agent alone is told to accept."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        config = self.unit.directory / "registry.yml"
        config.write_text(f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {self.unit.directory}/registry}}}}\n"
                          f"http: {{addr: {address}}}\n")
        registry = Daemon("registry", ["docker-registry", "serve", config], self.unit.directory / "registry.log")
        registry.start()
        self.addCleanup(registry.stop)
        accepted = self.unit.directory / "home" / ".config" / "containers" / "registries.conf"
        accepted.parent.mkdir(parents=True)
        accepted.write_text(f'[[registry]]\nlocation = "{address}"\ninsecure = true\n')
        push = ["skopeo", "copy", "--dest-tls-verify=false", f"oci:{self.unit.images}/busybox:1", f"docker://{address}/busybox:1"]
        wait_until(lambda: subprocess.run(push, capture_output=True, check=False).returncode == 0, "the registry", pause=0.5)
        self.unit.agents["n1"].stop()
        self.start_agent(wrapper=["env", f"HOME={self.unit.directory}/home"])
        return address

    def start_slow_registry(self):
        """Brings the same image under any name: those of slow/... not before there is a file `go`."""
        programs = self.unit.directory / "programs"
        programs.mkdir()
        skopeo = programs / "skopeo"
        skopeo.write_text(f"""#!/bin/sh
case $3 in docker://slow/*) while [ ! -e {programs}/go ]; do sleep 0.1; done;; esac
exec {shutil.which("skopeo")} copy --quiet oci:{self.unit.images}/busybox:1 "$4"
""")
        skopeo.chmod(0o755)
        self.unit.agents["n1"].stop()
        self.start_agent(wrapper=["env", f"PATH={programs}:{os.environ['PATH']}"])
        return programs

    @staticmethod
    def sleeper(name, version, image):
        return item(name, version=version, images=[{**IMAGE[0], "oci": f"docker://{image}"}], args=["sleep", "100000"])

    def status_of(self, name):
        return next(found for found in self.unit.instances() if found["item"] == name)

    def test_nothing_is_stopped_or_kept_waiting_for_an_image_that_is_slow_to_come(self):
        registry = self.start_slow_registry()
        self.apply(self.sleeper("web", "1", "quick/web:1"), deployment("d", {"item": "web"}))
        first = self.shims()
        self.unit.berth("apply", "--no-wait", "-f", self.write(
            "slow.yaml", self.sleeper("web", "2", "slow/web:2"), deployment("d", {"item": "web", "version": "2"})))
        wait_until(lambda: self.status_of("web").get("reason") == "Pulling", "the pull")
        self.assertIn("version 1 runs on", self.status_of("web")["message"])
        self.apply(self.sleeper("other", "1", "quick/other:1"), deployment("e", {"item": "other"}))
        self.assertEqual(self.status_of("other")["state"], "Active")
        self.assertTrue(set(first) <= set(self.shims()))
        (registry / "go").write_text("")
        wait_until(lambda: (self.status_of("web")["version"], self.status_of("web")["state"]) == ("2", "Active"),
                   "version 2")

    def test_an_agent_that_is_stopped_does_not_wait_for_an_image(self):
        self.start_slow_registry()
        self.unit.berth("apply", "--no-wait", "-f", self.write(
            "slow.yaml", self.sleeper("web", "1", "slow/web:1"), deployment("d", {"item": "web"})))
        wait_until(lambda: self.unit.instances() and self.status_of("web").get("reason") == "Pulling", "the pull")
        began = time.monotonic()
        self.unit.agents["n1"].stop()
        self.assertLess(time.monotonic() - began, 20)

    def test_a_container_that_is_still_being_made_is_not_active_after_a_restart_of_the_agent(self):
        programs = self.unit.directory / "programs"
        programs.mkdir()
        runc = programs / "runc"
        runc.write_text(f"""#!/bin/sh
case "$*" in *probe-*) ;; *" create "*) while [ ! -e {programs}/go ]; do sleep 0.1; done;; esac
exec {shutil.which("runc")} "$@"
""")
        runc.chmod(0o755)
        wrapper = ["env", f"PATH={programs}:{os.environ['PATH']}"]
        self.unit.agents["n1"].stop()
        self.start_agent(wrapper=wrapper)
        self.unit.berth("apply", "--no-wait", "-f", self.write(
            "slow.yaml", item("slow", images=IMAGE, args=["sleep", "100000"]), deployment("d", {"item": "slow"})))
        wait_until(self.shims, "the start")
        wait_until(lambda: self.status_of("slow").get("reason") == "StartSlow", "a word on what it waits for", 10)
        self.assertIn("runc create has not answered for", self.status_of("slow")["message"])
        self.unit.agents["n1"].kill()
        self.start_agent(wrapper=wrapper)
        wait_until(lambda: "adopted run" in (self.unit.directory / "agent-n1.log").read_text(), "the agent to find it")
        self.assertEqual(self.status_of("slow")["state"], "Activating")
        (shim,) = self.shims()
        (programs / "go").write_text("")
        wait_until(lambda: self.status_of("slow")["state"] == "Active", "the container")
        self.assertEqual(self.shims(), [shim], "it was not started again")
        wait_until(lambda: not self.status_of("slow").get("reason"), "it to have nothing to wait for any more")

    def test_a_supervisor_that_stands_still_keeps_no_instance_from_being_stopped(self):
        self.apply(item("container", images=IMAGE, args=["sleep", "100000"]), item("process"),
                   deployment("d", {"item": "container"}, {"item": "process"}))
        shims = self.shims()
        programs = [child for shim in shims for child in children_of(shim)]
        self.assertEqual(len(programs), 2)
        for shim in shims:
            os.kill(shim, signal.SIGSTOP)
        self.assertEqual([found["state"] for found in self.unit.instances()], ["Active", "Active"])
        began = time.monotonic()
        self.unit.berth("delete", "deployment", "d")
        wait_until(lambda: not any(os.path.exists(f"/proc/{pid}/cmdline") for pid in programs + shims), "their end")
        self.assertLess(time.monotonic() - began, 10)

    def test_a_supervisor_that_stands_still_is_told_to_go_on(self):
        self.apply(item("process"), deployment("d", {"item": "process"}))
        (shim,) = self.shims()
        os.kill(shim, signal.SIGSTOP)
        log = self.unit.directory / "agent-n1.log"
        wait_until(lambda: "SupervisorStopped" in log.read_text(), "it to be noticed", 20)
        wait_until(lambda: "State:\tT" not in Path(f"/proc/{shim}/status").read_text(), "it to go on", 20)
        self.assertEqual(self.status_of("process")["state"], "Active")
        self.assertEqual(self.shims(), [shim])

    def test_a_runtime_that_does_not_work_here_says_why(self):
        runtimes = {runtime["name"]: runtime for runtime in self.node("n1")["runtimes"]}
        self.assertEqual(runtimes["runc"]["ready"], "Ready")
        if runtimes["crun"]["ready"] != "Ready":
            self.assertNotEqual(runtimes["crun"]["message"], "")


if __name__ == "__main__":
    main()
