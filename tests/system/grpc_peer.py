"""A peer of a gRPC server that is ours byte for byte: it can say what no gRPC library would."""

import select
import socket
import ssl
import struct
from pathlib import Path

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4
FRAME_BYTES = 16384
OUR_WINDOW = 1 << 30


class Broken(Exception):
    """The server has ended the stream or the connection."""


def header(name: str, value: str) -> bytes:
    """A literal that nobody need remember; both are short."""
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def message(text: bytes) -> bytes:
    return struct.pack(">BI", 0, len(text)) + text


class GrpcPeer:
    """One connection with a node's or a user's certificate, and one stream at a time on it."""

    def __init__(self, address: str, identity: Path, reads: bool = True):
        """Whoever does not read never lets the server send more than it may without asking."""
        host, port = address.rsplit(":", 1)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(identity / "ca.pem")
        context.load_cert_chain(identity / "cert.pem", identity / "key.pem")
        context.set_alpn_protocols(["h2"])
        self.socket = context.wrap_socket(socket.create_connection((host, int(port)), 30), server_hostname="berthd")
        self.stream = -1
        self.received, self.has_ended = bytearray(), False  # on the stream: all data so far
        self.connection_window, self.first_window = 65535, 65535
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self.write_frame(SETTINGS, 0, 0, struct.pack(">HI", 4, OUR_WINDOW) if reads else b"")
        if reads:
            self.write_frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", OUR_WINDOW))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def call(self, method: str, *requests: bytes) -> list[bytes]:
        """The answers to a call, until the server ends it."""
        self.open(method)
        for request in requests:
            self.send_data(message(request))
        self.write_frame(DATA, END_STREAM, self.stream, b"")
        while not self.has_ended:
            self.read_frame()
        return split(bytes(self.received))

    def open(self, method: str):
        self.stream += 2
        self.window = self.first_window
        self.received, self.has_ended = bytearray(), False
        fields = {":method": "POST", ":scheme": "https", ":path": method, ":authority": "berthd",
                  "content-type": "application/grpc", "te": "trailers"}
        block = b"".join(header(name, value) for name, value in fields.items())
        self.write_frame(HEADERS, END_HEADERS, self.stream, block)

    def send_as_fast_as_allowed(self, text: bytes, times: int):
        """One message of so many times the text. Broken, if the server does not want it all."""
        self.send_data(struct.pack(">BI", 0, len(text) * times))
        for _ in range(times):
            self.send_data(text)

    def send_data(self, data: bytes):
        while data:
            while min(self.window, self.connection_window) == 0 or self.has_something():
                self.read_frame()
            part = data[:min(len(data), self.window, self.connection_window, FRAME_BYTES)]
            data = data[len(part):]
            self.window -= len(part)
            self.connection_window -= len(part)
            self.write_frame(DATA, 0, self.stream, part)

    def has_something(self) -> bool:
        return self.socket.pending() > 0 or bool(select.select([self.socket], [], [], 0)[0])

    def write_frame(self, kind: int, flags: int, stream: int, payload: bytes):
        try:
            self.socket.sendall(struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload)
        except OSError as error:
            raise Broken(str(error)) from error

    def read_frame(self) -> tuple[int, int, int, bytes]:
        head = self.read(9)
        kind, flags, stream = struct.unpack(">BBI", head[3:])
        payload = self.read(int.from_bytes(head[:3], "big"))
        if kind == SETTINGS and not flags & ACK:
            self.take_settings(payload)
            self.write_frame(SETTINGS, ACK, 0, b"")
        elif kind == PING and not flags & ACK:
            self.write_frame(PING, ACK, 0, payload)
        elif kind == WINDOW_UPDATE and stream == 0:
            self.connection_window += int.from_bytes(payload, "big")
        elif kind == WINDOW_UPDATE and stream == self.stream:
            self.window += int.from_bytes(payload, "big")
        elif kind in (DATA, HEADERS) and stream == self.stream:
            self.received += payload if kind == DATA else b""
            self.has_ended = bool(flags & END_STREAM)
        elif kind == GOAWAY or (kind == RST_STREAM and stream == self.stream):
            raise Broken(f"frame {kind}, code {int.from_bytes(payload[-4:], 'big')}")
        return kind, flags, stream, payload

    def take_settings(self, payload: bytes):
        for at in range(0, len(payload), 6):
            name, value = struct.unpack(">HI", payload[at:at + 6])
            if name != 4:
                continue
            if self.stream > 0:
                self.window += value - self.first_window
            self.first_window = value

    def read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            try:
                part = self.socket.recv(count - len(data))
            except OSError as error:
                raise Broken(str(error)) from error
            if not part:
                raise Broken("the connection was closed")
            data += part
        return data


def split(received: bytes) -> list[bytes]:
    messages = []
    while received:
        size = int.from_bytes(received[1:5], "big")
        messages.append(received[5:5 + size])
        received = received[5 + size:]
    return messages


# --- As much of protobuf's wire format as the tests need.

def field(number: int, text: str | bytes) -> bytes:
    text = text.encode() if isinstance(text, str) else text
    return bytes([number << 3 | 2]) + varint(len(text)) + text


def varint(value: int) -> bytes:
    text = b""
    while value > 127:
        text += bytes([value & 127 | 128])
        value >>= 7
    return text + bytes([value])


def read_varint(text: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (text[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if text[at - 1] < 128:
            return value, at


def fields(text: bytes) -> list[tuple[int, int | bytes]]:
    """The numbers and values of a message's fields, in order."""
    found, at = [], 0
    while at < len(text):
        key, at = read_varint(text, at)
        value, at = read_varint(text, at)
        if key & 7 == 2:
            value, at = text[at:at + value], at + value
        found.append((key >> 3, value))
    return found
