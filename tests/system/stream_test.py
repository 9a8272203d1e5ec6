#!/usr/bin/env python3
"""Logs and exec sessions: a reader that stands still costs nobody's memory, and nothing is lost, also not by restarts."""

import contextlib
import hashlib
import os
import signal
import subprocess
import time
from pathlib import Path

from harness import SystemTest, children_of, deployment, item, main, wait_until

MEBIBYTE = 1 << 20
GROWTH_MAX = 24 * MEBIBYTE

# About 33 MiB of output, numbered, and 45 MiB with the time of each line: of the 50 MiB that are kept of a log
# nothing is rotated away, however late somebody begins to read.
LINES = 350_000
PRINTS_A_LOT = f"seq -f 'line %.0f {'.' * 86}' {LINES}; exec sleep 1000000"

COUNTS_ITS_RUNS = "echo x >> runs; echo run $(wc -l < runs); exec sleep 1000000"


class Streams(SystemTest):
    def setUp(self):
        super().setUp()
        self.unit.start_control()
        self.unit.start_agent("n1", "--runtimes", "process")
        self.unit.wait_for_node("n1")

    def run_item(self, command: str):
        applied = self.apply(item("web", images=[{"command": ["/bin/sh", "-c", command]}]),
                             deployment("d", {"item": "web"}))
        self.assertEqual(applied.returncode, 0, applied.stdout + applied.stderr)

    def daemons(self) -> dict[str, int]:
        return {"berthd": self.unit.control.pid, "berth-agent": self.unit.agents["n1"].pid}

    def resident(self) -> dict[str, int]:
        return {name: int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
                for name, pid in self.daemons().items()}

    def log_bytes(self) -> int:
        total = 0
        for file in self.unit.agent_dir("n1").rglob("logs/*/*"):
            with contextlib.suppress(FileNotFoundError):  # rotated since
                total += file.stat().st_size
        return total

    def berth(self, *arguments: str, stdin=subprocess.DEVNULL) -> subprocess.Popen:
        process = subprocess.Popen([self.unit.bin / "berth", *arguments], stdin=stdin, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=self.unit.environment())
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def sits_still(self, seconds: float = 3):
        """While nobody reads, both daemons come to rest and have not grown."""
        before, used = self.before, None
        end = time.monotonic() + 60
        while True:
            now = sum(int(figure) for pid in self.daemons().values()
                      for figure in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13])
            if used is not None and now - used <= seconds * 10:  # hundredths of a second: a tenth of a core
                break
            self.assertLess(time.monotonic(), end, "they do not come to rest")
            used = now
            time.sleep(seconds)
        for name, bytes_now in self.resident().items():
            self.assertLess(bytes_now - before[name], GROWTH_MAX, name)

    def test_a_log_that_nobody_reads_waits_and_has_no_gaps(self):
        self.run_item(PRINTS_A_LOT)
        wait_until(lambda: self.log_bytes() > 40 * MEBIBYTE, "the log to be written")
        self.before = self.resident()
        logs = self.berth("logs", "web")
        self.assertEqual(logs.stdout.readline().split()[:2], [b"line", b"1"])
        self.sits_still()
        number = 1
        for line in logs.stdout:
            number += 1
            self.assertEqual(int(line.split()[1]), number)
        self.assertEqual(number, LINES)
        self.assertEqual(logs.wait(60), 0, logs.stderr.read())
        for name, bytes_now in self.resident().items():
            self.assertLess(bytes_now - self.before[name], GROWTH_MAX, name)

    def test_the_tail_of_a_long_log(self):
        self.run_item(PRINTS_A_LOT)
        wait_until(lambda: f"line {LINES} ".encode() in self.unit.berth("logs", "web", "--tail", "1", text=False).stdout,
                   "the last line")
        tail = self.unit.berth("logs", "web", "--tail", "150000").stdout.splitlines()
        self.assertEqual([int(line.split()[1]) for line in tail], list(range(LINES - 149_999, LINES + 1)))

    def test_output_of_a_command_waits_for_who_reads_it(self):
        self.run_item("exec sleep 1000000")
        self.before = self.resident()
        output = self.berth("exec", "web", "--", "/bin/sh", "-c", "head -c 209715200 /dev/zero; echo done")
        first = output.stdout.read(MEBIBYTE)
        self.sits_still()
        count = len(first)
        last = first
        while part := output.stdout.read(MEBIBYTE):
            count += len(part)
            last = part
        self.assertEqual(count, 200 * MEBIBYTE + len("done\n"))
        self.assertEqual(last[-5:], b"done\n")
        self.assertEqual(output.wait(60), 0, output.stderr.read())

    def test_input_waits_for_a_program_that_is_slow_to_read_it(self):
        self.run_item("exec sleep 1000000")
        self.before = self.resident()
        signal = self.unit.directory / "go"
        text = bytes(range(256)) * (20 * MEBIBYTE // 256)
        source = self.unit.directory / "input"
        source.write_bytes(text)
        with open(source, "rb") as file:
            summed = self.berth("exec", "web", "-i", "--", "/bin/sh", "-c",
                                f"while [ ! -e {signal} ]; do sleep 0.1; done; sha256sum", stdin=file)
            self.sits_still(6)
            self.assertLess(file.tell(), MEBIBYTE, "it is not read before it can be taken")
            signal.touch()
            said = summed.stdout.read().split()
            self.assertTrue(said, summed.stderr.read())
            self.assertEqual(said[0].decode(), hashlib.sha256(text).hexdigest())
        self.assertEqual(summed.wait(60), 0, summed.stderr.read())

    # --- Restarts.

    def kill_instance(self):
        victims = [child for shim in self.shims() for child in children_of(shim)]
        self.assertTrue(victims)
        for victim in victims:
            os.kill(victim, signal.SIGKILL)

    def wait_for_runs(self, count: int):
        expected = [f"run {number}" for number in range(1, count + 1)]
        wait_until(lambda: self.unit.berth("logs", "web").stdout.splitlines() == expected, f"the output of {count} runs")

    def restart_agent(self):
        self.unit.start_agent("n1", "--runtimes", "process")
        self.unit.wait_for_node("n1")

    def test_the_output_of_earlier_runs_is_there_after_restarts_of_the_instance_and_of_the_agent(self):
        self.run_item(COUNTS_ITS_RUNS)
        self.wait_for_runs(1)
        self.kill_instance()
        self.wait_for_runs(2)
        self.unit.agents["n1"].kill()
        self.restart_agent()
        self.wait_for_runs(2)
        self.unit.agents["n1"].kill()
        self.kill_instance()
        self.restart_agent()
        self.wait_for_runs(3)


if __name__ == "__main__":
    main()
