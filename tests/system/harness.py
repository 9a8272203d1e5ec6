"""What the system tests are made of: a real unit of real programs, below a directory of its own."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from unit import ROOT, Failure, Unit, wait_until  # noqa: E402,F401  (for the tests)

IS_ROOT = os.geteuid() == 0

# Notes every start in its storage, so that a second one cannot hide.
COUNTED = "echo $$ >> starts; exec sleep 1000000"


# Somebody who is nobody on this machine, as a command to put before another.
NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}"]


def item(name: str, **spec) -> dict:
    """Counts as well as soon as it is up: most tests are about something else."""
    spec = {"type": "service", "version": "1", "images": [{"command": ["/bin/sh", "-c", COUNTED]}],
            "request": {"cpu": 1, "ram": "1Mi"}, "minHealthy": "0s", **spec}
    return {"apiVersion": "berth/v1", "kind": "Item", "metadata": {"name": name}, "spec": spec}


def deployment(name: str, *runs: dict) -> dict:
    return {"apiVersion": "berth/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"run": list(runs)}}


class SystemTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.unit = Unit(Path(tempfile.mkdtemp(prefix="berth-test-")))
        self.addCleanup(self.end)

    def end(self):
        self.unit.stop()
        self.kill_what_is_left()
        failed = any(error for _, error in getattr(self._outcome, "errors", []) or
                     getattr(self._outcome.result, "errors", []) + getattr(self._outcome.result, "failures", []))
        if failed:
            self.show_logs()
        self.unit.remove()

    def show_logs(self):
        for log in sorted(self.unit.directory.glob("*.log")):
            tail = log.read_text(errors="replace").splitlines()[-25:]
            print(f"--- {log.name}\n" + "\n".join(tail), file=sys.stderr)

    # --- Processes of this unit: its directory is on the command line of each shim.

    def shims(self) -> list[int]:
        return [pid for pid in processes() if "berth-shim" in command_of(pid)
                and str(self.unit.directory) in command_of(pid)]

    def kill_what_is_left(self):
        for pid in self.shims():
            for victim in [*children_of(pid), pid]:
                try:
                    os.kill(victim, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def running_pids(self) -> list[int]:
        return sorted(pid for shim in self.shims() for pid in children_of(shim))

    # --- Doing things.

    def write(self, name: str, *documents: dict) -> Path:
        path = self.unit.directory / name
        path.write_text("\n---\n".join(json.dumps(document) for document in documents))
        return path

    def apply(self, *documents: dict, **options):
        return self.unit.berth("apply", "-f", self.write("applied.yaml", *documents), **options)

    def wait_for_active(self, count: int, seconds: float = 60) -> list[dict]:
        def all_active():
            found = self.unit.instances()
            active = [instance for instance in found if instance["state"] == "Active"]
            return found if len(active) == count == len(found) else None
        return wait_until(all_active, f"{count} active instances", seconds, pause=0.2)

    def starts(self) -> dict[str, int]:
        """How often each instance that runs COUNTED was started, by its storage directory."""
        return {str(path.parent): len(path.read_text().split())
                for path in self.unit.directory.glob("agent-*/storage/*/starts") if path.is_file()}

    def readyz(self) -> str:
        return subprocess.run(["curl", "-s", "--unix-socket", self.unit.socket, "http://berth/readyz?verbose"],
                              capture_output=True, text=True, check=False).stdout

    def node(self, name: str) -> dict | None:
        return next((node for node in self.unit.ask("get", "nodes")["nodes"] if node["node"] == name), None)


def processes() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def children_of(pid: int) -> list[int]:
    children = []
    for other in processes():
        try:
            parent = int(Path(f"/proc/{other}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue
        if parent == pid:
            children += [other, *children_of(other)]
    return children


def main():
    """Runs the tests of the calling file; the last line is a JSON object for ./test."""
    result = unittest.main(exit=False, verbosity=1).result
    failed = len(result.failures) + len(result.errors)
    print(json.dumps({"tests": result.testsRun, "failed": failed, "skipped": len(result.skipped)}))
    sys.exit(1 if failed else 0)
