#!/usr/bin/env python3
"""The demo: what ./run starts, as a newcomer sees it."""

import os
import pty
import select
import shutil
import signal
import subprocess
import unittest

from harness import AS_NOBODY, IS_ROOT, NOBODY, ROOT, SystemTest, command_of, main, processes


class Demo(SystemTest):
    def test_everything_becomes_active_and_nothing_is_left_behind(self):
        state = self.unit.directory / "demo"
        done = subprocess.run([ROOT / "tools" / "demo.py", "--once", "--state", state], capture_output=True,
                              text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("perception/vehicle/1", done.stdout)
        self.assertIn("@games/echo/1", done.stdout)
        left = [command_of(pid) for pid in processes() if str(state) in command_of(pid)]
        self.assertEqual(left, [])

    def test_a_closed_terminal_stops_it_and_its_join_line_names_where_it_listens(self):
        state = self.unit.directory / "demo"
        pid, terminal = pty.fork()
        if pid == 0:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs this may ignore it
            os.execv(ROOT / "tools" / "demo.py", ["demo.py", "--state", str(state), "--listen", "127.0.0.2"])
        shown = ""
        while "Ctrl-C stops everything" not in shown:
            self.assertTrue(select.select([terminal], [], [], 120)[0], shown)
            shown += os.read(terminal, 4096).decode(errors="replace")
        self.assertIn("./run --listen ADDRESS", shown, "how others could join")
        line = self.unit.berth("join-token", env={"BERTH_SOCKET": str(state / "berthd.sock")}).stdout
        self.assertIn("berth-agent join https://127.0.0.2:", line)
        os.close(terminal)
        _, status = os.waitpid(pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 128 + signal.SIGHUP)
        left = [command_of(pid) for pid in processes() if str(state) in command_of(pid)]
        self.assertEqual(left, [])

    def test_the_example_runs_in_virtual_time_too(self):
        done = subprocess.run([self.unit.bin / "berth-sim", "-f", ROOT / "examples" / "vehicle"], capture_output=True,
                              text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("perception/vehicle/1", done.stdout)

    @unittest.skipUnless(IS_ROOT, "only root can become somebody else")
    def test_an_ordinary_user_sees_it_with_processes_only(self):
        tree = self.unit.directory / "tree"  # the user may not be able to look into ours
        for part in ("tools", "examples"):
            shutil.copytree(ROOT / part, tree / part)
        programs = tree / "build" / "release" / "bin"
        programs.mkdir(parents=True)
        for name in ("berth", "berthd", "berth-agent", "berth-shim"):
            shutil.copy(self.unit.bin / name, programs)
        subprocess.run(["chown", "-R", str(NOBODY), self.unit.directory], check=True)
        done = subprocess.run([*AS_NOBODY, "--clear-groups", tree / "tools" / "demo.py", "--once"], capture_output=True, text=True,
                              timeout=300, check=False,
                              env={**os.environ, "HOME": str(tree), "TMPDIR": str(self.unit.directory)})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("processes only: containers need root", done.stdout)
        self.assertIn("perception/vehicle/1", done.stdout)
        self.assertEqual([path.name for path in self.unit.directory.glob("berth-demo-*")], [])

    @unittest.skipUnless(IS_ROOT, "containers need root")
    def test_it_runs_containers_and_processes_on_three_nodes(self):
        self.unit.make_image()
        self.unit.start_control()
        for name, resources in (("central", "camera=2"), ("gateway", "modem=1"), ("rear", "")):
            self.unit.start_agent(name, "--capacity-cpu", "8000", "--capacity-ram", "1Gi", "--shared-resources",
                                  resources, "--stop-grace", "2s", "--stop-instances-on-exit", "true")
            self.unit.wait_for_node(name)
        applied = self.unit.berth("apply", "-f", ROOT / "examples" / "demo")
        self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)
        instances = self.unit.instances()
        self.assertGreaterEqual(len(instances), 12)
        self.assertEqual({instance["state"] for instance in instances}, {"Active"})
        self.assertEqual({instance["node"] for instance in instances}, {"central", "gateway", "rear"})
        containers = [instance for instance in instances if instance["runtime"] == "runc"]
        self.assertGreaterEqual(len(containers), 2)


if __name__ == "__main__":
    main()
