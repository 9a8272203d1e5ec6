"""A whole unit on this machine: one berthd and some agents, each with a state directory of its own.

Used by ./run for the demo and by the system tests. Everything is below one directory, every process is
started here and ended here by its pid.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STOP_SECONDS = 30


class Failure(Exception):
    """Something did not work; the text is for people."""


def wait_until(condition, what: str, seconds: float = 60, pause: float = 0.05):
    """The first truthy value of the condition."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure(f"waited {seconds:.0f} s for {what}")
        time.sleep(pause)


class Daemon:
    """A process that writes to a log file."""

    def __init__(self, name: str, command: list[str], log: Path, environment: dict[str, str] | None = None,
                 wrapper: list[str] | None = None, cwd: Path | None = None):
        self.name, self.command, self.log = name, (wrapper or []) + [str(c) for c in command], log
        self.environment, self.cwd = environment, cwd
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            cwd=self.cwd, env={**os.environ, **(self.environment or {})},
                                            start_new_session=True)

    @property
    def pid(self) -> int:
        return self.process.pid

    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def signal(self, number: int):
        if self.alive():
            self.process.send_signal(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.wait()

    def wait(self, seconds: float = STOP_SECONDS) -> int:
        return self.process.wait(seconds)

    def stop(self):
        """As an operator would; what does not end in time is killed."""
        if not self.alive():
            return
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            self.wait()
        except subprocess.TimeoutExpired:
            self.kill()

    def last_words(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])


class Unit:
    def __init__(self, directory: Path, bin_dir: Path | None = None):
        self.directory = directory
        self.bin = bin_dir or Path(os.environ.get("BERTH_BIN", ROOT / "build" / "release" / "bin"))
        self.images = directory / "images"
        self.socket = directory / "berthd.sock"
        self.control_dir = directory / "control"
        self.control = None
        self.endpoints: dict[str, str] = {}
        self.agents: dict[str, Daemon] = {}
        directory.mkdir(parents=True, exist_ok=True)
        directory.chmod(0o711)  # instances have users of their own
        self.images.mkdir(exist_ok=True)

    # --- The command line.

    def environment(self) -> dict[str, str]:
        return {"BERTH_SOCKET": str(self.socket), "BERTH_CONFIG_DIR": str(self.directory / "no-config")}

    def berth(self, *arguments: str, **options) -> subprocess.CompletedProcess:
        options = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL, "timeout": 120, **options}
        environment = {**os.environ, **self.environment(), **options.pop("env", {})}
        return subprocess.run([self.bin / "berth", *map(str, arguments)], env=environment, **options)

    def ask(self, *arguments: str):
        """The JSON answer of a verb that must work."""
        done = self.berth(*arguments, "-o", "json")
        if done.returncode != 0:
            raise Failure(f"berth {' '.join(map(str, arguments))}: exit {done.returncode}: {done.stderr}{done.stdout}")
        return json.loads(done.stdout)

    def instances(self) -> list[dict]:
        return self.ask("get", "instances")["instances"]

    # --- The control plane.

    def start_control(self, *flags: str, host: str = "127.0.0.1", wrapper: list[str] | None = None) -> Daemon:
        self.control_dir.mkdir(exist_ok=True)
        endpoints = self.control_dir / "endpoints.json"
        endpoints.unlink(missing_ok=True)
        # The second time the same ports: agents know where to find it.
        known = self.endpoints
        command = [self.bin / "berthd", "--state-dir", self.control_dir, "--socket", self.socket,
                   "--listen-grpc", known.get("grpc", f"{host}:0"),
                   "--listen-https", known.get("https", f"{host}:0"), *flags]
        self.control = Daemon("berthd", command, self.directory / "berthd.log", wrapper=wrapper)
        self.control.start()

        def listening():
            if not self.control.alive():
                raise Failure("berthd ended:\n" + self.control.last_words())
            return endpoints.exists() and self.berth("version").returncode == 0 and endpoints.read_text()
        self.endpoints = json.loads(wait_until(listening, "berthd to listen"))
        return self.control

    # --- Agents.

    def agent_dir(self, name: str) -> Path:
        return self.directory / f"agent-{name}"

    def tag(self, name: str) -> str | None:
        """By which what the agent makes on this machine is told apart from what others make."""
        file = self.agent_dir(name) / "tag"
        return file.read_text().strip() if file.exists() else None

    def join(self, name: str, wrapper: list[str] | None = None) -> subprocess.CompletedProcess:
        token = self.ask("join-token", "--name", name)["token"]
        return self.join_with(name, token, wrapper)

    def join_with(self, name: str, token: str, wrapper: list[str] | None = None) -> subprocess.CompletedProcess:
        return subprocess.run([*(wrapper or []), self.bin / "berth-agent", "join", "https://" + self.endpoints["https"], token,
                               "--name", name, "--state-dir", self.agent_dir(name)],
                              capture_output=True, text=True, timeout=60, check=False)

    def start_agent(self, name: str, *flags: str, wrapper: list[str] | None = None) -> Daemon:
        if not self.agent_dir(name).exists():
            joined = self.join(name, wrapper)
            if joined.returncode != 0:
                raise Failure(f"{name} could not join: {joined.stderr}{joined.stdout}")
        command = [self.bin / "berth-agent", "--state-dir", self.agent_dir(name),
                   "--images-dir", self.directory, *flags]
        agent = Daemon(name, command, self.directory / f"agent-{name}.log", wrapper=wrapper)
        agent.start()
        self.agents[name] = agent
        return agent

    def wait_for_node(self, name: str, liveness: str = "reachable"):
        wait_until(lambda: any(node["node"] == name and node["liveness"] == liveness
                               for node in self.ask("get", "nodes")["nodes"]), f"{name} to be {liveness}")

    def make_image(self, image: str = "busybox:1"):
        made = subprocess.run([ROOT / "tools" / "make_image.sh", str(self.images / image)], capture_output=True,
                              text=True, env={**os.environ, "ENTRYPOINT": "/bin/busybox"}, check=False)
        if made.returncode != 0:
            raise Failure(f"the image could not be made: {made.stderr}")

    def make_archive(self, tree: Path, name: str) -> Path:
        """A root file system for components."""
        archive = self.images / name
        subprocess.run(["tar", "--create", "--gzip", "--file", archive, "--directory", tree, "."], check=True)
        return archive

    # --- The end.

    def stop(self):
        """Agents stop what they run if they were started with --stop-instances-on-exit."""
        for agent in self.agents.values():
            agent.signal(signal.SIGCONT)
            agent.signal(signal.SIGTERM)
        for agent in self.agents.values():
            agent.stop()
        if self.control:
            self.control.stop()

    def remove_networks(self):
        """What agents that were killed, or left their instances running, have made of networks."""
        if os.geteuid() != 0:
            return
        for name in self.agents:
            subprocess.run([self.bin / "berth-agent", "remove-networks", "--state-dir", self.agent_dir(name)],
                           capture_output=True, timeout=60, check=False)

    def remove(self):
        self.remove_networks()
        tags = [tag for tag in map(self.tag, self.agents) if tag]
        shutil.rmtree(self.directory, ignore_errors=True)
        groups = [*Path("/sys/fs/cgroup").glob("berth"), *Path("/sys/fs/cgroup").glob("*/berth")]
        for empty in [group / name for group in groups for name in [*self.agents, *tags]] + groups:
            try:
                empty.rmdir()
            except OSError:
                pass  # not there, or somebody else's
        for tag in tags:
            shutil.rmtree(Path("/run/berth") / tag, ignore_errors=True)
