#!/usr/bin/env python3
"""The gRPC port of berthd: what standard tools ask it, and what it must not swallow."""

from pathlib import Path

from grpc_peer import Broken, GrpcPeer, field, fields
from harness import SystemTest, main, wait_until

MEBIBYTE = 1 << 20
SERVING = 1


class Grpc(SystemTest):
    def setUp(self):
        super().setUp()
        self.unit.start_control()

    def peer(self, identity: Path) -> GrpcPeer:
        return GrpcPeer(self.unit.endpoints["grpc"], identity)

    def a_node(self) -> Path:
        joined = self.unit.join("n1")
        self.assertEqual(joined.returncode, 0, joined.stderr)
        return self.unit.agent_dir("n1") / "identity"

    def an_admin(self) -> Path:
        token = self.unit.ask("join-token", "--role", "admin", "--name", "kim")["token"]
        config = self.unit.directory / "kim"
        login = self.unit.berth("login", "https://" + self.unit.endpoints["https"], token,
                                env={"BERTH_CONFIG_DIR": str(config), "BERTH_SOCKET": ""})
        self.assertEqual(login.returncode, 0, login.stderr)
        return next(config.rglob("cert.pem")).parent

    # --- What must not be swallowed.

    def growth_by(self, send) -> int:
        """By how much the most memory that berthd has ever held is more than what it holds now."""
        status = Path(f"/proc/{self.unit.control.pid}/status")

        def figure(name):
            line = next(line for line in status.read_text().splitlines() if line.startswith(name))
            return int(line.split()[1]) * 1024
        Path(f"/proc/{self.unit.control.pid}/clear_refs").write_text("5")  # forget the peak so far
        before = figure("VmRSS")
        send()
        return figure("VmHWM") - before

    def send_a_gibibyte(self, identity: Path, method: str):
        with self.peer(identity) as peer:
            peer.open(method)
            with self.assertRaises(Broken):
                peer.send_as_fast_as_allowed(b"x" * MEBIBYTE, 1024)

    def test_a_gibibyte_of_a_node_is_refused_and_not_held(self):
        node = self.a_node()
        growth = self.growth_by(lambda: self.send_a_gibibyte(node, "/berth.v1.AgentLink/Connect"))
        self.assertLess(growth, 64 * MEBIBYTE)
        self.unit.start_agent("n2", "--runtimes", "process")
        wait_until(lambda: self.node("n2"), "another node to be served")

    def test_a_gibibyte_of_an_admin_is_refused_and_not_held(self):
        admin = self.an_admin()
        growth = self.growth_by(lambda: self.send_a_gibibyte(admin, "/berth.v1.Berth/Apply"))
        self.assertLess(growth, 64 * MEBIBYTE)
        self.assertEqual(self.unit.berth("get", "nodes").returncode, 0)

    # --- What grpcurl and the like need.

    def test_health_is_told_to_standard_probes(self):
        with self.peer(self.an_admin()) as peer:
            for service in (b"", field(1, "berth.v1.Berth")):
                answers = peer.call("/grpc.health.v1.Health/Check", service)
                self.assertEqual([fields(answer) for answer in answers], [[(1, SERVING)]])

    def reflect(self, peer: GrpcPeer, request: bytes) -> dict[int, bytes]:
        answers = peer.call("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", request)
        self.assertEqual(len(answers), 1)
        return dict(fields(answers[0]))

    def test_reflection_lists_the_services(self):
        with self.peer(self.an_admin()) as peer:
            listed = self.reflect(peer, field(7, "*"))[6]
        names = [dict(fields(service))[1].decode() for _, service in fields(listed)]
        for name in ("berth.v1.Berth", "berth.v1.AgentLink", "grpc.health.v1.Health"):
            self.assertIn(name, names)

    def test_reflection_gives_the_files_that_describe_a_service_and_what_it_needs(self):
        with self.peer(self.an_admin()) as peer:
            given = self.reflect(peer, field(4, "berth.v1.Berth"))[4]
            files = [fields(text) for _, text in fields(given)]
            names = {dict(file)[1].decode() for file in files}
            self.assertIn("berth/v1/api.proto", names)
            api = next(file for file in files if dict(file)[1] == b"berth/v1/api.proto")
            needed = [text.decode() for number, text in api if number == 3]
            self.assertIn("berth/v1/types.proto", needed)
            for name in needed:
                self.assertIn(4, self.reflect(peer, field(3, name)), name)
            services = [dict(fields(text))[1] for number, text in api if number == 6]
            self.assertEqual(services, [b"Berth"])


if __name__ == "__main__":
    main()
