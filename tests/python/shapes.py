"""Asks a broker by raw frames and notes the answer, field by field.

The fields are given as a shape: `h`, `i`, `q`, `b` integers, `s` a string, `d` bytes, and a list of
a shape for an array; `.` and `x` an integer and a string that are left out, `-` eight bytes, `u` an
id. Arrays are sorted, because Kafka's order is often that of a hash table.
"""

from suite import check, eventually
from wire import (
    Connection,
    Reader,
    array,
    batch,
    compact,
    frame,
    header,
    i8,
    i16,
    i32,
    i64,
    produce_body,
    record,
    string,
    uvarint,
)

PRODUCE, LIST_OFFSETS, FIND_COORDINATOR, HEARTBEAT, LIST_GROUPS, CREATE_TOPICS = 0, 2, 10, 12, 16, 19


class Flexible(Reader):
    """Walks a response with compact lengths and tagged fields."""

    def uvarint(self):
        value = shift = 0
        while True:
            byte = self.bytes[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def string(self):
        size = self.uvarint() - 1
        if size < 0:
            return None
        value = self.bytes[self.at : self.at + size]
        self.at += size
        return value.decode()

    def count(self):
        return self.uvarint() - 1

    def tags(self):
        for _ in range(self.uvarint()):
            self.uvarint()
            self.at += self.uvarint()


def shaped(reader, shape):
    """The values of one shape, as text."""
    out = []
    for field in shape:
        if isinstance(field, list):
            count = reader.count() if isinstance(reader, Flexible) else reader.i32()
            out.append("null" if count < 0 else "[" + ", ".join(sorted(shaped(reader, field[0]) for _ in range(count))) + "]")
        elif field == "s":
            out.append(repr(reader.string()))
        elif field == "x":
            reader.string()
        elif field == "u":
            reader.at += 16
        elif field == "-":
            reader.at += 8
        elif field == "d":
            size = reader.i32()
            reader.at += max(size, 0)
            out.append(f"{size} bytes")
        elif field == ".":
            reader.i32()
        else:
            out.append(str(reader.take(">" + field)))
    if isinstance(reader, Flexible):
        reader.tags()
    return out[0] if len(out) == 1 else "(" + " ".join(out) + ")"


def ask(c, what, key, version, body, shape, flexible=False, connection=None):
    """Sends one request on a connection of its own and notes what comes back."""

    def on(connection):
        return connection.outcome(frame(header(key, version, flexible=flexible) + body))

    if connection is None:
        with Connection(c, seconds=20) as own:
            answer = on(own)
    else:
        answer = on(connection)
    if isinstance(answer, str):
        c.line(f"{what}: {answer}")
        return None
    reader = Flexible(answer) if flexible else Reader(answer)
    if flexible:
        reader.tags()
    text = shaped(reader, shape)
    left = len(answer) - reader.at
    c.line(f"{what}: {text}" + (f" and {left} bytes" if left else ""))
    return answer


def topic(c, what, partitions=1, **configs):
    name = c.name(what)
    body = [string(k.replace("_", ".")) + string(v) for k, v in configs.items()]
    body = array([string(name) + i32(partitions) + i16(1) + array([]) + array(body)]) + i32(10_000) + i8(0)
    with Connection(c, seconds=30) as connection:
        reader = Reader(connection.call(header(CREATE_TOPICS, 2) + body))
        reader.i32(), reader.i32(), reader.string()
        check(reader.i16() == 0, f"{name} is not created")
        for p in range(partitions):
            eventually("partition is led", 15, lambda p=p: led(connection, name, p))
    return name


def led(connection, name, p):
    reader = Reader(connection.call(header(LIST_OFFSETS, 1) + i32(-1) + array([string(name) + array([i32(p) + i64(-1)])])))
    reader.i32(), reader.string(), reader.i32(), reader.i32()
    return reader.i16() == 0


def produce(c, name, count):
    for i in range(count):
        one = batch([record(None, b"v%d" % i)], timestamp=1_700_000_000_000 + i)
        with Connection(c, seconds=20) as connection:
            connection.call(header(PRODUCE, 7) + produce_body(name, one))


def coordinator(c):
    """Waits until every group can be joined: all partitions of the offsets topic are loaded."""

    def ready():
        connection.call(header(FIND_COORDINATOR, 1) + string(c.name("g")) + i8(0))
        body = string(c.name("g")) + i32(1) + string("nobody")
        if Reader(connection.call(header(HEARTBEAT, 0) + body)).i16() in (14, 15, 16):
            return False
        return Reader(connection.call(header(LIST_GROUPS, 0))).i16() == 0

    with Connection(c, seconds=30) as connection:
        eventually("a coordinator", 30, ready)
