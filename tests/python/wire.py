"""Raw frames: as much of the wire as the robustness suite needs, written by hand.

It builds requests field by field, right or deliberately wrong; it is no client.
"""

import socket
import struct
import time

import crc32c


def i8(v):
    return struct.pack(">b", v)


def i16(v):
    return struct.pack(">h", v)


def i32(v):
    return struct.pack(">i", v)


def i64(v):
    return struct.pack(">q", v)


def string(v):
    return i16(-1) if v is None else i16(len(v.encode())) + v.encode()


def data(v):
    return i32(-1) if v is None else i32(len(v)) + v


def array(items):
    return i32(-1) if items is None else i32(len(items)) + b"".join(items)


def uvarint(v):
    out = bytearray()
    while v >= 0x80:
        out.append(v & 0x7F | 0x80)
        v >>= 7
    out.append(v)
    return bytes(out)


def varint(v):
    return uvarint((v << 1) ^ (v >> 63) if v < 0 else v << 1)


def compact(v):
    return uvarint(0) if v is None else uvarint(len(v.encode()) + 1) + v.encode()


def header(key, version, correlation=1, client="raw", flexible=False):
    return i16(key) + i16(version) + i32(correlation) + string(client) + (b"\0" if flexible else b"")


def frame(payload):
    return i32(len(payload)) + payload


def record(key, value, offset_delta=0, timestamp_delta=0, headers=b"\0", attributes=0):
    def field(v):
        return varint(-1) if v is None else varint(len(v)) + v

    body = i8(attributes) + varint(timestamp_delta) + varint(offset_delta) + field(key) + field(value) + headers
    return varint(len(body)) + body


def batch(
    records,
    count=None,
    attributes=0,
    base_offset=0,
    last_delta=None,
    magic=2,
    crc=None,
    producer=(-1, -1, -1),
    length=None,
    timestamp=None,
):
    """A record batch of magic 2; every field can be made wrong."""
    number = len(records) if count is None else count
    delta = number - 1 if last_delta is None else last_delta
    now = int(time.time() * 1000) if timestamp is None else timestamp
    tail = i16(attributes) + i32(delta) + i64(now) + i64(now)
    tail += i64(producer[0]) + i16(producer[1]) + i32(producer[2]) + i32(number) + b"".join(records)
    sum_ = crc32c.crc32c(tail) if crc is None else crc
    body = i32(-1) + i8(magic) + struct.pack(">I", sum_) + tail
    return i64(base_offset) + i32(len(body) if length is None else length) + body


def produce_body(topic, batches, acks=-1, timeout=5000, partition=0):
    """Produce request of versions 3 to 8 with one topic and one partition."""
    return string(None) + i16(acks) + i32(timeout) + array([string(topic) + array([i32(partition) + data(batches)])])


class Closed(Exception):
    """The broker closed the connection."""


class Connection:
    """One socket with a deadline on everything."""

    def __init__(self, c, seconds=10):
        self.socket = socket.create_connection((c.host, c.port), timeout=seconds)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, bytes_):
        try:
            self.socket.sendall(bytes_)
        except (ConnectionError, BrokenPipeError) as error:
            raise Closed from error

    def receive(self):
        """The next response without its size."""
        size = struct.unpack(">i", self._exactly(4))[0]
        return self._exactly(size)

    def _exactly(self, count):
        out = bytearray()
        while len(out) < count:
            try:
                part = self.socket.recv(min(count - len(out), 1 << 16))
            except ConnectionError as error:
                raise Closed from error
            if not part:
                raise Closed
            out += part
        return bytes(out)

    def call(self, payload):
        self.send(frame(payload))
        return self.receive()

    def outcome(self, bytes_, half_close=False):
        """What becomes of these bytes: `closed`, or the answer."""
        try:
            self.send(bytes_)
            if half_close:
                self.socket.shutdown(socket.SHUT_WR)
            return self.receive()
        except Closed:
            return "closed"
        except TimeoutError:
            return "no answer"


class Reader:
    """Walks a response."""

    def __init__(self, bytes_, at=4):
        self.bytes = bytes_
        self.at = at

    def take(self, form):
        size = struct.calcsize(form)
        value = struct.unpack_from(form, self.bytes, self.at)[0]
        self.at += size
        return value

    def i16(self):
        return self.take(">h")

    def i32(self):
        return self.take(">i")

    def i64(self):
        return self.take(">q")

    def string(self):
        size = self.i16()
        if size < 0:
            return None
        value = self.bytes[self.at : self.at + size]
        self.at += size
        return value.decode()
