#!/usr/bin/env python3
"""Runs the demo unit: a control plane, three agents and what examples/demo asks for; called by ./run."""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from unit import ROOT, Failure, Unit, wait_until

# Parts of this machine that the three nodes offer, in percent, and what is attached to each.
NODES = {
    "central": (50, "compute", "camera=2"),
    "gateway": (30, "gateway", "modem=1"),
    "rear": (20, "zone", ""),
}
DMIPS_PER_CORE = 10_000


def machine() -> tuple[int, int]:
    """What this machine has: DMIPS, and bytes of memory."""
    memory = next(int(line.split()[1]) * 1024 for line in Path("/proc/meminfo").read_text().splitlines()
                  if line.startswith("MemTotal:"))
    return len(os.sched_getaffinity(0)) * DMIPS_PER_CORE, memory


def start(unit: Unit, containers: bool):
    print("Starting the control plane and three agents ...", flush=True)
    unit.start_control()
    dmips, memory = machine()
    runtimes = "runc,process,rootfs" if containers else "process,rootfs"
    for name, (percent, kind, resources) in NODES.items():
        unit.start_agent(name, "--node-type", kind, "--capacity-cpu", str(dmips * percent // 100),
                         "--capacity-ram", str(memory * percent // 100), "--runtimes", runtimes,
                         "--shared-resources", resources, "--stop-grace", "2s", "--stop-instances-on-exit", "true")
    nodes = wait_until(lambda: (found := unit.ask("get", "nodes")["nodes"]) and len(found) == len(NODES) and found,
                       "all agents to connect")
    print("Connected: " + ", ".join(node["node"] for node in nodes))


def show(unit: Unit):
    print()
    sys.stdout.flush()
    unit.berth("get", "nodes", capture_output=False)
    print()
    sys.stdout.flush()
    unit.berth("get", "instances", capture_output=False)


def explain(unit: Unit):
    berth = (unit.bin / "berth").relative_to(ROOT) if unit.bin.is_relative_to(ROOT) else unit.bin / "berth"
    print(f"""
Look further, in another terminal:
  export BERTH_SOCKET={unit.socket}
  {berth} get instances -o wide       what runs where
  {berth} why broker                  why it runs there
  {berth} logs perception/vehicle/0 -f
  {berth} top nodes --watch
  {berth} drain gateway --deadline 30s   what can goes elsewhere, the rest is stopped then
  {berth} events --watch
  curl --unix-socket {unit.socket} http://berth/v1/nodes
A second machine joins by the line that this prints: {berth} join-token

Ctrl-C stops everything.""", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--once", action="store_true", help="exit as soon as everything is active")
    parser.add_argument("--state", type=Path, help="directory for the demo's state (default: a temporary one)")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    root = os.geteuid() == 0
    containers = root and shutil.which("runc") is not None
    if not containers:
        print("Running with processes only: containers need " + ("runc." if root else "root."))
    directory = options.state or Path(tempfile.mkdtemp(prefix="berth-demo-"))
    unit = Unit(directory)
    try:
        if containers:
            unit.make_image()
        unit.make_archive(ROOT / "examples" / "demo" / "os", "os-1.0.0.tar.gz")
        start(unit, containers)
        print()
        sys.stdout.flush()
        applied = unit.berth("apply", "-f", ROOT / "examples" / "demo", capture_output=False, timeout=600)
        if applied.returncode != 0:
            raise Failure(f"not everything became active (exit {applied.returncode}); the logs are in {directory}")
        show(unit)
        if not options.once:
            explain(unit)
            signal.pause()
        return 0
    except KeyboardInterrupt:
        return 0
    except Failure as failure:
        print(f"./run: error: {failure}", file=sys.stderr)
        options.state = directory  # kept, to look at
        return 1
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("\nStopping everything ...", flush=True)
        unit.stop()
        if options.state is None:
            unit.remove()


if __name__ == "__main__":
    sys.exit(main())
