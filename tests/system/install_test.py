#!/usr/bin/env python3
"""What `cmake --install` puts where, and that shells complete with it."""

import os
import pty
import select
import shutil
import subprocess
import time
import unittest
from pathlib import Path

from harness import ROOT, SystemTest, main

BUILD = ROOT / "build" / "release"


class Installed(SystemTest):
    @classmethod
    def setUpClass(cls):
        cls.destination = Path(os.path.realpath(subprocess.check_output(["mktemp", "-d"], text=True).strip()))
        cls.addClassCleanup(shutil.rmtree, cls.destination)
        subprocess.run(["cmake", "--install", BUILD, "--prefix", "/usr"], check=True, capture_output=True,
                       env={**os.environ, "DESTDIR": str(cls.destination)})
        cls.usr = cls.destination / "usr"

    def test_programs_manual_pages_and_completions_are_where_they_belong(self):
        self.assertEqual({path.name for path in self.destination.iterdir()}, {"usr"}, "nothing beside the prefix")
        for name in ("berth", "berthd", "berth-agent", "berth-shim"):
            done = subprocess.run([self.usr / "bin" / name, "--help"], capture_output=True, text=True, check=False)
            if name != "berth-shim":  # which only the agent calls
                self.assertEqual(done.returncode, 0, name)
        pages = {path.name for path in (self.usr / "share/man/man1").iterdir()}
        self.assertLessEqual({"berth.1", "berth-plan.1", "berth-get.1"}, pages)
        self.assertTrue((self.usr / "share/man/man1/berth.1").read_text().startswith(".TH"))
        for script in ("bash-completion/completions/berth", "zsh/site-functions/_berth",
                       "fish/vendor_completions.d/berth.fish"):
            self.assertIn("berth", (self.usr / "share" / script).read_text())

    # --- Shells.

    def shell_environment(self) -> dict[str, str]:
        return {**os.environ, **self.unit.environment(), "PATH": f"{self.usr}/bin:{os.environ['PATH']}",
                "TERM": "dumb", "PS1": "ready> ", "HOME": str(self.unit.directory)}

    def expect_after_tab(self, shell: list[str], setup: str, typed: str, expected: str):
        """Types into a terminal and waits for what shows. Several tabs: where one is not enough, all is listed."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.execvpe(shell[0], shell, self.shell_environment())
        try:
            os.write(terminal, setup.encode() + b"\necho set''up\n")
            self.read_until(terminal, "setup")
            os.write(terminal, typed.encode() + b"\t\t\t")
            self.read_until(terminal, expected)
        finally:
            os.close(terminal)
            os.waitpid(pid, 0)

    def read_until(self, terminal: int, expected: str):
        shown, end = "", time.monotonic() + 30
        while expected not in shown:
            if not select.select([terminal], [], [], max(0, end - time.monotonic()))[0]:
                self.fail(f"{expected!r} did not come: {shown!r}")
            shown += os.read(terminal, 4096).decode(errors="replace")

    def test_bash_completes_words(self):
        script = self.usr / "share/bash-completion/completions/berth"
        self.expect_after_tab(["bash", "--norc", "-i"], f"source {script}", "berth get no", "nodeconfigs  nodes")
        self.expect_after_tab(["bash", "--norc", "-i"], f"source {script}", "berth get nodes --sta", "--state")

    def test_bash_completes_names_that_the_control_plane_knows(self):
        self.unit.start_control()
        self.unit.start_agent("edge-7", "--runtimes", "process")
        script = self.usr / "share/bash-completion/completions/berth"
        asked = f'source {script}; COMP_WORDS=(berth cordon ed); COMP_CWORD=2; _berth; echo "${{COMPREPLY[@]}}"'

        def complete():
            return subprocess.run(["bash", "--norc", "-c", asked], capture_output=True, text=True, timeout=30,
                                  check=True, env=self.shell_environment()).stdout.split()
        end = time.monotonic() + 60
        while complete() != ["edge-7"]:
            self.assertLess(time.monotonic(), end, "the name of the node does not come")

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_completes_words(self):
        script = self.usr / "share/fish/vendor_completions.d/berth.fish"
        done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C 'berth get no'"],
                              capture_output=True, text=True, timeout=60, check=False, env=self.shell_environment())
        self.assertEqual([line.split("\t")[0] for line in done.stdout.splitlines()], ["nodeconfigs", "nodes"],
                         done.stderr)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_completes_words(self):
        functions = self.usr / "share/zsh/site-functions"
        setup = f"unsetopt zle_bracketed_paste; fpath=({functions} $fpath); autoload -U compinit; compinit -u -D"
        self.expect_after_tab(["zsh", "-f", "-i"], setup, "berth get no", "nodeconfigs  nodes")


if __name__ == "__main__":
    main()
