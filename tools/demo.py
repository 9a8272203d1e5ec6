#!/usr/bin/env python3
"""Runs the demo unit: a control plane, three agents, what examples/demo asks for, and the application of
examples/sessions; called by ./run."""

import argparse
import ipaddress
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
APPLICATION = ROOT / "examples" / "sessions" / "application.yaml"


def machine() -> tuple[int, int]:
    """What this machine has: DMIPS, and bytes of memory."""
    memory = next(int(line.split()[1]) * 1024 for line in Path("/proc/meminfo").read_text().splitlines()
                  if line.startswith("MemTotal:"))
    return len(os.sched_getaffinity(0)) * DMIPS_PER_CORE, memory


def start(unit: Unit, containers: bool, listen: str):
    print("Starting the control plane and three agents ...", flush=True)
    unit.start_control("--advertise", listen, host=f"[{listen}]" if ":" in listen else listen)
    dmips, memory = machine()
    runtimes = "runc,process,rootfs" if containers else "process,rootfs"
    for name, (percent, kind, resources) in NODES.items():
        unit.start_agent(name, "--node-type", kind, "--capacity-cpu", str(dmips * percent // 100),
                         "--capacity-ram", str(memory * percent // 100), "--runtimes", runtimes,
                         "--shared-resources", resources, "--stop-grace", "2s", "--stop-instances-on-exit", "true")
    nodes = wait_until(lambda: (found := unit.ask("get", "nodes")["nodes"]) and len(found) == len(NODES) and found,
                       "all agents to connect")
    print("Connected: " + ", ".join(node["node"] for node in nodes))


# Beside Ctrl-C: the usual one, and a terminal that is closed.
ENDS = (signal.SIGTERM, signal.SIGHUP)


def end_on_signals():
    """Whoever has us ignore one of them, as nohup does, knows why."""
    for number in ENDS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: sys.exit(128 + number))


def say(text: str):
    """To whom it may concern: a closed terminal keeps nothing from being stopped."""
    try:
        print(text, flush=True)
    except OSError:
        # What is left to be written would be tried again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def an_address(text: str) -> str:
    try:
        address = ipaddress.ip_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text} is no address of this machine, as in 192.168.1.7") from error
    if address.is_unspecified:
        raise argparse.ArgumentTypeError(f"name one address that others reach: {text} is none")
    return str(address)


def show(unit: Unit):
    print()
    sys.stdout.flush()
    unit.berth("get", "nodes", capture_output=False)
    print()
    sys.stdout.flush()
    unit.berth("get", "instances", capture_output=False)
    print()
    sys.stdout.flush()
    unit.berth("get", "applications", capture_output=False)


def how_to_join(berth: Path, listen: str) -> str:
    if ipaddress.ip_address(listen).is_loopback:
        return ("Only this machine can join: it listens on a loopback address. With ./run --listen ADDRESS others can,\n"
                f"by the line that this prints: {berth} join-token")
    return f"A second machine joins by the line that this prints: {berth} join-token"


def explain(unit: Unit, listen: str):
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
  {berth} session open games/echo     a warm instance of it is yours, in milliseconds
  {berth} get applications --watch    the next one is ready already
  curl --unix-socket {unit.socket} http://berth/v1/nodes
{how_to_join(berth, listen)}

Ctrl-C stops everything.""", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="./run", description=__doc__)
    parser.add_argument("--once", action="store_true", help="exit as soon as everything is active")
    parser.add_argument("--state", type=Path, help=argparse.SUPPRESS)  # for tests: where to keep everything
    parser.add_argument("--listen", type=an_address, default="127.0.0.1", metavar="ADDRESS",
                        help="address of this machine where others reach the control plane (default: loopback)")
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)  # only whether all this can be
    options = parser.parse_args()
    if options.check:
        return 0
    end_on_signals()

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
        start(unit, containers, options.listen)
        print()
        sys.stdout.flush()
        applied = unit.berth("apply", "-f", ROOT / "examples" / "demo", "-f", APPLICATION, capture_output=False,
                             timeout=600)
        if applied.returncode != 0:
            raise Failure(f"not everything became active (exit {applied.returncode}); the logs are in {directory}")
        show(unit)
        if not options.once:
            explain(unit, options.listen)
            signal.pause()
        return 0
    except KeyboardInterrupt:
        return 0
    except Failure as failure:
        print(f"./run: error: {failure}", file=sys.stderr)
        options.state = directory  # kept, to look at
        return 1
    finally:
        for number in (signal.SIGINT, *ENDS):
            signal.signal(number, signal.SIG_IGN)
        say("\nStopping everything ...")
        unit.stop()
        if options.state is None:
            unit.remove()


if __name__ == "__main__":
    sys.exit(main())
