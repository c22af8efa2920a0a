"""What a broker answers to requests that are well-formed and ask for the impossible.

Every case only notes the answers, field by field; what counts is that two brokers give the same.
The fields are given as a shape: `h`, `i`, `q`, `b` integers, `s` a string, `d` bytes, and a list of
a shape for an array; `.` and `x` an integer and a string that are left out, `-` eight bytes, `u` an
id. Arrays are sorted, because Kafka's order is often that of a hash table.
"""

import struct

from suite import case, check, eventually, main
from wire import (
    Connection,
    Reader,
    array,
    batch,
    compact,
    data,
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

PRODUCE, FETCH, LIST_OFFSETS, METADATA, OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 0, 1, 2, 3, 8, 9, 10
JOIN, HEARTBEAT, LEAVE, SYNC, DESCRIBE_GROUPS, LIST_GROUPS, API_VERSIONS, CREATE_TOPICS = 11, 12, 13, 14, 15, 16, 18, 19
DELETE_TOPICS, DELETE_RECORDS, INIT_PRODUCER_ID, EPOCH_ENDS, DESCRIBE_CONFIGS, ALTER_CONFIGS = 20, 21, 22, 23, 32, 33
CREATE_PARTITIONS, DELETE_GROUPS, ELECT_LEADERS, ALTER_INCREMENTALLY, OFFSET_DELETE = 37, 42, 43, 44, 47
ALTER_QUOTAS, TOPIC_PARTITIONS = 49, 75
MIN, MAX = -(2**63), 2**63 - 1


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
    """Waits until groups can be joined."""

    def ready():
        connection.call(header(FIND_COORDINATOR, 1) + string(c.name("g")) + i8(0))
        body = string(c.name("g")) + i32(1) + string("nobody")
        return Reader(connection.call(header(HEARTBEAT, 0) + body)).i16() not in (14, 15, 16)

    with Connection(c, seconds=30) as connection:
        eventually("a coordinator", 30, ready)


# ---- records ----


@case
def produce_versions(c):
    """KAFKA-18659: versions 0 to 2 are listed for the sake of librdkafka, and not served."""
    name = topic(c, "t")
    one = batch([record(None, b"v")])
    old = i16(-1) + i32(5000) + array([string(name) + array([i32(0) + data(one)])])
    for version in (0, 1, 2):
        with Connection(c) as connection:
            ask(c, f"version {version}", PRODUCE, version, old, ["."], connection=connection)
            ask(c, "again on that connection", API_VERSIONS, 0, b"", ["h"], connection=connection)
    ask(c, "the end", LIST_OFFSETS, 1, i32(-1) + array([string(name) + array([i32(0) + i64(-1)])]), [[("s", [("i", "h", "q", "q")])]])


@case
def produce_extremes(c):
    coordinator(c)
    name = topic(c, "t")
    one = batch([record(None, b"v")], timestamp=1_700_000_000_000)
    shape = ([("s", [("i", "h", "q", "q", "q")])], "i")
    for acks in (5, -2, 2, 32767, -32768):
        ask(c, f"acks {acks}", PRODUCE, 7, produce_body(name, one, acks), shape)
        ask(c, f"acks {acks} of nothing", PRODUCE, 7, string(None) + i16(acks) + i32(1000) + array([]), shape)
        ask(c, f"acks {acks} to an unknown topic", PRODUCE, 7, produce_body(c.name("no"), one, acks), shape)
    for timeout in (-1, 0, 2**31 - 1, -(2**31)):
        ask(c, f"timeout {timeout}", PRODUCE, 7, produce_body(name, one, -1, timeout), shape)
    for partition in (1, -1, 2**31 - 1, -(2**31)):
        ask(c, f"partition {partition}", PRODUCE, 7, produce_body(name, one, partition=partition), shape)
    for odd in ("", ".", "..", "a b", "x" * 250, "__consumer_offsets"):
        ask(c, f"topic '{odd[:9]}'", PRODUCE, 7, produce_body(odd, one), shape)
    body = string(None) + i16(-1) + i32(5000)
    twice = array([i32(0) + data(one), i32(0) + data(one)])
    ask(c, "a partition twice", PRODUCE, 7, body + array([string(name) + twice]), shape)
    ask(c, "a topic twice", PRODUCE, 7, body + array([string(name) + array([i32(0) + data(one)])] * 2), shape)
    ask(c, "no partitions", PRODUCE, 7, body + array([string(name) + array([])]), shape)
    ask(c, "two batches", PRODUCE, 7, produce_body(name, one + one), shape)
    ask(c, "no bytes", PRODUCE, 7, produce_body(name, b""), shape)
    # Nobody waits for an answer to acks=0: an error closes the connection.
    for what, where in (("a good one", name), ("an unknown topic", c.name("no"))):
        with Connection(c, seconds=2) as connection:
            connection.send(frame(header(PRODUCE, 7) + produce_body(where, one, 0)))
            answer = connection.outcome(frame(header(API_VERSIONS, 0)))
            c.line(f"acks 0, {what}: {answer if isinstance(answer, str) else 'goes on'}")


@case
def produce_for_transactions(c):
    name = topic(c, "t")
    shape = ([("s", [("i", "h", "-", "q", "q")])], "i")
    plain = batch([record(None, b"v")], timestamp=1_700_000_000_000)
    for what, fields in {
        "transactional without producer": {"attributes": 0x10},
        "transactional with producer": {"attributes": 0x10, "producer": (4000, 0, 0)},
        "control": {"attributes": 0x30, "producer": (4000, 0, 0)},
    }.items():
        one = batch([record(None, b"v")], timestamp=1_700_000_000_000, **fields)
        ask(c, what, PRODUCE, 7, produce_body(name, one), shape)
        body = string(c.name("id")) + i16(-1) + i32(5000) + array([string(name) + array([i32(0) + data(one)])])
        ask(c, f"{what}, with an id", PRODUCE, 7, body, shape)
    body = string(c.name("id")) + i16(-1) + i32(5000) + array([string(name) + array([i32(0) + data(plain)])])
    ask(c, "an id without anything", PRODUCE, 7, body, shape)


@case
def init_producer_id(c):
    coordinator(c)

    def loaded():
        reader = Reader(connection.call(header(INIT_PRODUCER_ID, 0) + string(None) + i32(0)))
        reader.i32()
        return reader.i16() == 0

    with Connection(c, seconds=30) as connection:
        eventually("producer ids", 30, loaded)
    for id_, timeout in (("", 1000), ("", -1), (None, 0), (None, -1), (None, 2**31 - 1)):
        ask(c, f"id {id_!r} timeout {timeout}", INIT_PRODUCER_ID, 0, string(id_) + i32(timeout), (".", "h", "-", "h"))
    for producer, epoch in ((-1, 0), (5, -1), (5, 0), (-2, -2), (MAX, 32767)):
        body = uvarint(0) + i32(1000) + i64(producer) + i16(epoch) + b"\0"
        ask(c, f"producer {producer} {epoch}", INIT_PRODUCER_ID, 4, body, (".", "h", "-", "h"), flexible=True)


@case
def fetch_as_a_replica(c):
    """Fetch of a follower that is none."""
    name = topic(c, "t")
    produce(c, name, 3)
    shape = (".", [("s", [("i", "h", "q", "q", [("q", "q")], "d")])])
    for replica in (-3, -2, 0, 1, 2, 5, 2**31 - 1):
        body = i32(replica) + i32(0) + i32(0) + i32(1 << 20) + i8(0)
        body += array([string(name) + array([i32(0) + i64(0) + i32(1 << 20)])])
        ask(c, f"replica {replica}", FETCH, 4, body, shape)


@case
def list_offsets(c):
    name = topic(c, "t")
    produce(c, name, 3)
    empty = topic(c, "empty")
    times = (-1, -2, -3, -4, -5, -6, -7, -100, 0, 1, 1_700_000_000_001, 1_700_000_000_003, MIN, MAX)
    for version in (1, 5):
        epoch = i32(-1) if version >= 4 else b""
        shape = ([("s", [("i", "h", "q", "q", *(["i"] if version >= 4 else []))])],)
        shape = (".", *shape) if version >= 2 else shape
        isolation = i8(0) if version >= 2 else b""
        for time in times:
            for where in (name, empty):
                body = i32(-1) + isolation + array([string(where) + array([i32(0) + epoch + i64(time)])])
                ask(c, f"version {version} {where} {time}", LIST_OFFSETS, version, body, shape)
    shape = (".", [("s", [("i", "h", "q", "q", "i")])])
    for version in (7, 8, 9, 10, 11):
        for time in times:
            one = i32(0) + i32(-1) + i64(time) + b"\0"
            body = i32(-1) + i8(0) + uvarint(2) + compact(name) + uvarint(2) + one + b"\0"
            body += (i32(0) if version >= 10 else b"") + b"\0"
            ask(c, f"version {version} {time}", LIST_OFFSETS, version, body, shape, flexible=True)
    shape = (".", [("s", [("i", "h", "q", "q", "i")])])
    for replica in (-3, -2, 0, 1, 5):
        body = i32(replica) + i8(0) + array([string(name) + array([i32(0) + i32(-1) + i64(-1)])])
        ask(c, f"replica {replica}", LIST_OFFSETS, 5, body, shape)
    for epoch in (-2, 0, 1, 99, -(2**31), 2**31 - 1):
        body = i32(-1) + i8(0) + array([string(name) + array([i32(0) + i32(epoch) + i64(-1)])])
        ask(c, f"leader epoch {epoch}", LIST_OFFSETS, 5, body, shape)
    for isolation in (1, 2, -1, 127):
        body = i32(-1) + i8(isolation) + array([string(name) + array([i32(0) + i32(-1) + i64(-1)])])
        ask(c, f"isolation {isolation}", LIST_OFFSETS, 5, body, shape)
    for where, p in ((name, 1), (name, -1), (c.name("no"), 0), ("", 0), ("a b", 0)):
        body = i32(-1) + i8(0) + array([string(where) + array([i32(p) + i32(-1) + i64(-1)])])
        ask(c, f"'{where}' {p}", LIST_OFFSETS, 5, body, shape)
    same_twice = array([string(name) + array([i32(0) + i32(-1) + i64(-1), i32(0) + i32(-1) + i64(-2)])])
    ask(c, "a partition twice", LIST_OFFSETS, 5, i32(-1) + i8(0) + same_twice, shape)


@case
def epoch_ends(c):
    name = topic(c, "t")
    produce(c, name, 3)
    shape = (".", [("s", [("h", "i", "i", "q")])])
    for replica in (-1, -2, 0, 1, 5):
        for current, epoch in ((-1, 0), (0, 0), (1, 0), (-1, 99), (-1, -1), (-2, -2), (-1, 2**31 - 1)):
            body = i32(replica) + array([string(name) + array([i32(0) + i32(current) + i32(epoch)])])
            ask(c, f"replica {replica} current {current} epoch {epoch}", EPOCH_ENDS, 3, body, shape)
    for where, p in ((name, 1), (name, -1), (c.name("no"), 0), ("", 0)):
        body = i32(-1) + array([string(where) + array([i32(p) + i32(-1) + i32(0)])])
        ask(c, f"'{where}' {p}", EPOCH_ENDS, 3, body, shape)


@case
def delete_records(c):
    name = topic(c, "t")
    produce(c, name, 5)
    shape = (".", [("s", [("i", "q", "h")])])
    for offset in (0, 2, 1, 6, 2**40, MAX, -2, -3, MIN, 5, 3, -1):
        body = array([string(name) + array([i32(0) + i64(offset)])]) + i32(2000)
        ask(c, f"offset {offset}", DELETE_RECORDS, 0, body, shape)
    for where, p in ((name, 1), (name, -1), (c.name("no"), 0), ("__consumer_offsets", 0), ("", 0)):
        ask(c, f"'{where}' {p}", DELETE_RECORDS, 0, array([string(where) + array([i32(p) + i64(0)])]) + i32(2000), shape)
    for timeout in (-1, 0, 2**31 - 1):
        ask(c, f"timeout {timeout}", DELETE_RECORDS, 0, array([string(name) + array([i32(0) + i64(-1)])]) + i32(timeout), shape)
    ask(c, "nothing", DELETE_RECORDS, 0, array([]) + i32(2000), shape)
    compacted = topic(c, "c", cleanup_policy="compact")
    ask(c, "compacted", DELETE_RECORDS, 0, array([string(compacted) + array([i32(0) + i64(0)])]) + i32(2000), shape)


# ---- topics and configs ----


@case
def create_topics(c):
    name = c.name
    shape = (".", [("s", "h", "x")])

    def creation(what, partitions, replication, assignments=(), configs=(), version=4, timeout=10_000, validate=0):
        one = string(what) + i32(partitions) + i16(replication)
        one += array([i32(p) + array([i32(r) for r in replicas]) for p, replicas in assignments])
        one += array([string(k) + string(v) for k, v in configs])
        return array([one]) + i32(timeout) + i8(validate)

    def tried(what, *args, **more):
        ask(c, what, CREATE_TOPICS, more.pop("version", 4), creation(*args, **more), shape)

    for number in (0, -1, -2, -(2**31)):
        tried(f"{number} partitions", name(f"p{number}"), number, 1)
    tried("10^9 partitions", name("many"), 10**9, 1)
    tried("2^31-1 partitions", name("most"), 2**31 - 1, 1)
    for number in (0, -1, -2, 2, 3, 32767, -32768):
        tried(f"{number} replicas", name(f"r{number}"), 1, number)
    tried("defaults before version 4", name("d3"), -1, -1, version=3)
    for odd in ("", ".", "..", "a b", "a/b", "ä", "x" * 249, "x" * 250, "__consumer_offsets", "__cluster_metadata", "...", "-"):
        tried(f"named '{odd[:9]}' {len(odd)}", odd, 1, 1, validate=1)
    tried("a.b_c", name("a.b_c"), 1, 1)
    tried("a_b.c", name("a_b.c"), 1, 1)
    tried("a.b_c again", name("a.b_c"), 1, 1)
    for config, value in (
        ("no.such.config", "1"),
        ("retention.ms", "x"),
        ("retention.ms", "-2"),
        ("retention.ms", ""),
        ("retention.ms", None),
        ("segment.bytes", "1"),
        ("cleanup.policy", "shred"),
        ("cleanup.policy", "compact,delete"),
        ("cleanup.policy", ""),
        ("compression.type", "rar"),
        ("min.insync.replicas", "0"),
        ("min.insync.replicas", "5"),
        ("max.message.bytes", "-1"),
        ("message.timestamp.type", "Never"),
        ("local.retention.ms", "1"),
        ("remote.storage.enable", "true"),
        ("", "1"),
        ("message.format.version", "2.0"),
    ):
        tried(f"config {config}={value}", name("k"), 1, 1, configs=[(config, value)], validate=1)
    tried("a config twice", name("k"), 1, 1, configs=[("retention.ms", "1"), ("retention.ms", "2")], validate=1)
    for what, assignments in {
        "unknown broker": [(0, [7])],
        "no replicas": [(0, [])],
        "a broker twice": [(0, [1, 1])],
        "from 1": [(1, [1])],
        "a gap": [(0, [1]), (2, [1])],
        "a partition twice": [(0, [1]), (0, [1])],
        "negative partition": [(-1, [1])],
        "negative broker": [(0, [-1])],
        "uneven": [(0, [1]), (1, [1, 2])],
    }.items():
        tried(f"assignment: {what}", name("as"), -1, -1, assignments=assignments, validate=1)
    tried("assignment and numbers", name("as"), 1, 1, assignments=[(0, [1])], validate=1)
    one = creation(name("twice"), 1, 1)[4:-5]
    ask(c, "a topic twice", CREATE_TOPICS, 4, array([one, one]) + i32(1000) + i8(0), shape)
    ask(c, "nothing", CREATE_TOPICS, 4, array([]) + i32(1000) + i8(0), shape)
    tried("timeout -1", name("late"), 1, 1, timeout=-1, validate=1)
    tried("timeout 0", name("late"), 1, 1, timeout=0, validate=1)


@case
def create_partitions(c):
    name = topic(c, "t", 2)
    shape = (".", [("s", "h", "x")])
    for count in (0, -1, 1, 2, 10**9, 2**31 - 1, -(2**31)):
        body = array([string(name) + i32(count) + array(None)]) + i32(5000) + i8(1)
        ask(c, f"count {count}", CREATE_PARTITIONS, 1, body, shape)
    for what, replicas in {
        "too many": [[1], [1]],
        "none": [],
        "no replicas": [[]],
        "unknown": [[9]],
        "twice": [[1, 1]],
        "more": [[1, 2]],
    }.items():
        assignments = array([array([i32(r) for r in one]) for one in replicas])
        ask(c, f"assignments {what}", CREATE_PARTITIONS, 1, array([string(name) + i32(3) + assignments]) + i32(5000) + i8(1), shape)
    for odd in (c.name("no"), "", "a b", "__consumer_offsets"):
        ask(c, f"topic '{odd}'", CREATE_PARTITIONS, 1, array([string(odd) + i32(300) + array(None)]) + i32(5000) + i8(1), shape)
    one = string(name) + i32(3) + array(None)
    ask(c, "a topic twice", CREATE_PARTITIONS, 1, array([one, one]) + i32(5000) + i8(1), shape)
    ask(c, "nothing", CREATE_PARTITIONS, 1, array([]) + i32(5000) + i8(1), shape)


@case
def delete_topics(c):
    name = topic(c, "t")
    shape = (".", [("s", "h")])
    for what, names in {
        "unknown": [c.name("no")],
        "empty": [""],
        "odd": ["a b"],
        "twice": [c.name("no")] * 2,
        "nothing": [],
    }.items():
        ask(c, what, DELETE_TOPICS, 3, array([string(n) for n in names]) + i32(5000), shape)
    shape = (".", [("s", "u", "h", "x")])
    zero, some = bytes(16), bytes(range(16))
    for what, named, id_ in (("neither", None, zero), ("both", name, some), ("an unknown id", None, some)):
        body = uvarint(2) + compact(named) + id_ + b"\0" + i32(5000) + b"\0"
        ask(c, what, DELETE_TOPICS, 6, body, shape, flexible=True)
    body = uvarint(3) + (compact(name) + zero + b"\0") * 2 + i32(5000) + b"\0"
    ask(c, "a name twice", DELETE_TOPICS, 6, body, shape, flexible=True)


@case
def topic_partitions(c):
    name = topic(c, "t", 3)
    other = topic(c, "u", 1)
    shape = (".", [("h", "s", "u", "b", [("h", "i", "i", "i", ["i"], ["i"], ["i"], ["i"], ["i"])], "i")])

    def cursor(at):
        return i8(-1) if at is None else i8(1) + compact(at[0]) + i32(at[1]) + b"\0"

    def tried(what, names, limit, at):
        body = uvarint(len(names) + 1) + b"".join(compact(n) + b"\0" for n in names) + i32(limit) + cursor(at) + b"\0"
        with Connection(c, seconds=20) as connection:
            answer = connection.outcome(frame(header(TOPIC_PARTITIONS, 0, flexible=True) + body))
        if isinstance(answer, str):
            c.line(f"{what}: {answer}")
            return
        reader = Flexible(answer)
        reader.tags()
        reader.i32()
        topics = []
        for _ in range(reader.count()):
            error, named = reader.i16(), reader.string()
            reader.at += 16
            internal = reader.take(">b")
            parts = []
            for _ in range(reader.count()):
                parts.append((reader.i16(), reader.i32(), reader.i32()))
                reader.i32()
                for _ in range(5):
                    for _ in range(max(reader.count(), 0)):
                        reader.i32()
                reader.tags()
            operations = reader.i32()
            reader.tags()
            topics.append((error, named, internal, parts, operations))
        more = None
        if reader.take(">b") >= 0:
            more = (reader.string(), reader.i32())
        c.line(f"{what}: {sorted(topics)} next {more}")

    both = [name, other]
    for limit in (-1, 0, 1, 2, 3, 4, 2000, 2001, 2**31 - 1, -(2**31)):
        tried(f"limit {limit}", both, limit, None)
    for where, p in ((name, 0), (name, 2), (name, 3), (name, 99), (name, -1), (name, -(2**31)), (other, 0), (c.name("tt"), 0), ("", 0), ("zzz", 0)):
        tried(f"cursor {where} {p}", both, 100, (where, p))
    tried("unknown", [c.name("no")], 100, None)
    tried("unknown under the cursor", [c.name("no")], 100, (c.name("no"), 0))
    tried("odd names", ["", "a b", "."], 100, None)
    tried("a name twice", [name, name], 100, None)


@case
def alter_incrementally(c):
    name = topic(c, "t")
    shape = (".", [("h", "x", "b", "s")])

    def resource(kind, what, ops):
        return i8(kind) + string(what) + array([string(k) + i8(op) + string(v) for k, op, v in ops])

    def tried(what, *resources, validate=0):
        body = array([resource(*one) for one in resources]) + i8(validate)
        ask(c, what, ALTER_INCREMENTALLY, 0, body, shape)

    for op in (4, 9, -1, 127, -128):
        tried(f"op {op}", (2, name, [("retention.ms", op, "1")]))
    tried("a config twice", (2, name, [("retention.ms", 0, "1"), ("retention.ms", 0, "2")]))
    tried("set and delete", (2, name, [("retention.ms", 0, "1"), ("retention.ms", 1, None)]))
    tried("a resource twice", (2, name, [("retention.ms", 0, "1")]), (2, name, [("segment.ms", 0, "1000")]))
    tried("set to null", (2, name, [("retention.ms", 0, None)]))
    tried("append to no list", (2, name, [("retention.ms", 2, "1")]))
    tried("subtract from no list", (2, name, [("retention.ms", 3, "1")]))
    tried("append null", (2, name, [("cleanup.policy", 2, None)]))
    tried("append unknown", (2, name, [("cleanup.policy", 2, "shred")]))
    tried("append", (2, name, [("cleanup.policy", 2, "compact")]))
    tried("append again", (2, name, [("cleanup.policy", 2, "compact")]))
    tried("subtract what is not there", (2, name, [("cleanup.policy", 3, "none")]))
    tried("subtract", (2, name, [("cleanup.policy", 3, "delete")]))
    tried("subtract the last", (2, name, [("cleanup.policy", 3, "compact")]))
    tried("unknown config", (2, name, [("no.such", 0, "1")]))
    tried("delete unknown config", (2, name, [("no.such", 1, None)]))
    tried("delete what is not set", (2, name, [("flush.ms", 1, None)]))
    tried("empty name of a config", (2, name, [("", 0, "1")]))
    tried("bad value", (2, name, [("retention.ms", 0, "x")]))
    tried("no ops", (2, name, []))
    tried("nothing")
    tried("unknown topic", (2, c.name("no"), [("retention.ms", 0, "1")]))
    for odd in ("", "a b", "."):
        tried(f"topic '{odd}'", (2, odd, [("retention.ms", 0, "1")]))
    for kind in (0, 1, 3, 5, 99, -1, 127):
        tried(f"kind {kind}", (kind, "x", [("retention.ms", 0, "1")]))
    for who in ("9", "-1", "x", "01", " 1"):
        tried(f"broker '{who}'", (4, who, [("background.threads", 0, "10")]), validate=1)
        tried(f"logger '{who}'", (8, who, [("kafka", 0, "INFO")]), validate=1)
    tried("read-only", (4, "1", [("node.id", 0, "2")]), validate=1)
    tried("read-only default", (4, "", [("log.dirs", 0, "/x")]), validate=1)
    tried("per broker as default", (4, "", [("listeners", 0, "PLAINTEXT://:1")]), validate=1)
    tried("unknown of broker", (4, "1", [("no.such", 0, "1")]), validate=1)
    tried("bad value of broker", (4, "1", [("background.threads", 0, "-1")]), validate=1)
    tried("bad and good", (2, name, [("retention.ms", 0, "5")]), (2, c.name("no"), [("retention.ms", 0, "1")]))
    tried("one bad of two", (2, name, [("retention.ms", 0, "6"), ("segment.ms", 0, "x")]))
    for what, configs in {"group": [("consumer.session.timeout.ms", 0, "1")], "unknown": [("no.such", 0, "1")]}.items():
        tried(f"group: {what}", (32, c.name("g"), configs), validate=1)
        tried(f"metrics: {what}", (16, c.name("x"), configs), validate=1)
    tried("group without name", (32, "", [("consumer.session.timeout.ms", 0, "50000")]), validate=1)
    tried("metrics without name", (16, "", [("interval.ms", 0, "1000")]), validate=1)
    body = array([i8(2) + string(name) + array([string(k) for k in ("retention.ms", "segment.ms", "cleanup.policy")])]) + i8(0)
    ask(c, "in the end", DESCRIBE_CONFIGS, 1, body, (".", [("h", "x", "b", "s", [("s", "s", "b", "b", "b", [("s", "s", "b")])])]))


@case
def alter_legacy(c):
    name = topic(c, "t")
    shape = (".", [("h", "x", "b", "s")])

    def tried(what, *resources, validate=0):
        made = [i8(k) + string(n) + array([string(a) + string(b) for a, b in configs]) for k, n, configs in resources]
        ask(c, what, ALTER_CONFIGS, 1, array(made) + i8(validate), shape)

    tried("good", (2, name, [("retention.ms", "1")]))
    tried("null", (2, name, [("retention.ms", None)]))
    tried("twice", (2, name, [("retention.ms", "1"), ("retention.ms", "2")]))
    if c.target == "thalweg":
        # Apache Kafka forgets to answer this one.
        tried("a resource twice", (2, name, [("retention.ms", "1")]), (2, name, [("segment.ms", "1000")]))
    tried("unknown", (2, name, [("no.such", "1")]))
    tried("unknown topic", (2, c.name("no"), [("retention.ms", "1")]))
    tried("kind 99", (99, "x", []))
    tried("nothing")
    tried("none", (2, name, []))


@case
def describe_configs(c):
    name = topic(c, "t")
    shape = (".", [("h", "x", "b", "s", [("s", "s", "b", "b", "b", [("s", "s", "b")])])])

    def tried(what, kind, named, keys):
        keys = array(None if keys is None else [string(k) for k in keys])
        ask(c, what, DESCRIBE_CONFIGS, 1, array([i8(kind) + string(named) + keys]) + i8(0), shape)

    tried("no keys", 2, name, [])
    tried("unknown key", 2, name, ["no.such", ""])
    tried("a key twice", 2, name, ["retention.ms", "retention.ms"])
    tried("unknown topic", 2, c.name("no"), None)
    for kind, odd in ((2, ""), (2, "a b"), (4, "9"), (4, "x"), (4, "-1"), (4, " 1"), (8, "9"), (8, ""), (32, ""), (16, ""), (99, "x"), (0, "x"), (-1, "x")):
        tried(f"{kind} '{odd}'", kind, odd, ["retention.ms"])
    tried("group", 32, c.name("none"), ["consumer.session.timeout.ms"])
    tried("metrics", 16, c.name("none"), ["interval.ms"])
    ask(c, "nothing", DESCRIBE_CONFIGS, 1, array([]) + i8(0), shape)


@case
def quotas(c):
    shape = (".", [("h", "x", [("s", "s")])])

    def tried(what, entity, ops, validate=1):
        one = array([string(k) + string(v) for k, v in entity])
        one += array([string(k) + struct.pack(">d", v) + i8(remove) for k, v, remove in ops])
        ask(c, what, ALTER_QUOTAS, 0, array([one]) + i8(validate), shape)

    user = [("user", c.name("u"))]
    for value in (0.0, -1.0, 0.5, 1e300, float("nan"), float("inf")):
        for key in ("producer_byte_rate", "request_percentage", "controller_mutation_rate"):
            tried(f"{key} {value}", user, [(key, value, 0)])
    tried("unknown key", user, [("no_such", 1.0, 0)])
    tried("remove unknown key", user, [("no_such", 1.0, 1)])
    tried("key twice", user, [("producer_byte_rate", 1.0, 0), ("producer_byte_rate", 2.0, 0)])
    tried("remove what is not set", user, [("producer_byte_rate", 1.0, 1)])
    tried("no ops", user, [])
    tried("no entity", [], [("producer_byte_rate", 1.0, 0)])
    tried("unknown entity", [("tribe", "x")], [("producer_byte_rate", 1.0, 0)])
    tried("user twice", user + user, [("producer_byte_rate", 1.0, 0)])
    tried("empty user", [("user", "")], [("producer_byte_rate", 1.0, 0)])
    tried("default user", [("user", None)], [("producer_byte_rate", 1.0, 0)])
    tried("ip and user", [("ip", "127.0.0.1"), ("user", "x")], [("connection_creation_rate", 1.0, 0)])
    tried("ip", [("ip", "127.0.0.1")], [("connection_creation_rate", 1.0, 0)])
    tried("ip with another key", [("ip", "127.0.0.1")], [("producer_byte_rate", 1.0, 0)])
    tried("no address", [("ip", "nobody.invalid")], [("connection_creation_rate", 1.0, 0)])


@case
def elect_leaders(c):
    name = topic(c, "t")
    shape = (".", "h", [("s", [("i", "h", "x")])])
    for kind in (0, 1, 2, -1, 127):
        body = i8(kind) + array([string(name) + array([i32(0), i32(1), i32(-1)])]) + i32(5000)
        ask(c, f"kind {kind}", ELECT_LEADERS, 1, body, shape)
    ask(c, "unknown", ELECT_LEADERS, 1, i8(0) + array([string(c.name("no")) + array([i32(0)])]) + i32(5000), shape)
    ask(c, "nothing", ELECT_LEADERS, 1, i8(0) + array([]) + i32(5000), shape)
    ask(c, "twice", ELECT_LEADERS, 1, i8(0) + array([string(name) + array([i32(0), i32(0)])]) + i32(5000), shape)


@case
def metadata(c):
    # Without the brokers' addresses, of which the port is another one each time.
    shape = (".", [(".", "x", ".", "s")], "x", "i", [("h", "s", "b", [("h", "i", "i", ["i"], ["i"])])])
    for odd in ("", ".", "..", "a b", "x" * 250, "ä"):
        for create in (0, 1):
            ask(c, f"'{odd[:9]}' create {create}", METADATA, 4, array([string(odd)]) + i8(create), shape)
    one = topic(c, "t")
    ask(c, "a name twice", METADATA, 4, array([string(one), string(one)]) + i8(0), shape)
    ask(c, "no names", METADATA, 4, array([]) + i8(0), shape)
    shape = (".", [(".", "x", ".", "s")], "x", "i", [("h", "s", "u", "b", [("h", "i", "i", "i", ["i"], ["i"], ["i"])], "i")])
    for what, id_, named in (("unknown id", bytes(range(16)), None), ("neither", bytes(16), None), ("both", bytes(range(16)), one)):
        body = uvarint(2) + id_ + compact(named) + b"\0" + i8(0) + i8(0) + b"\0"
        ask(c, what, METADATA, 12, body, shape, flexible=True)


# ---- groups ----


def join_body(group, session=10_000, rebalance=10_000, member="", kind="consumer", protocols=(("range", b""),)):
    body = string(group) + i32(session) + i32(rebalance) + string(member) + string(kind)
    return body + array([string(p) + data(m) for p, m in protocols])


JOINED = (".", "h", "i", "s")


def join(c, what, group, connection=None, note=True, **fields):
    """Joins with version 3; gives (error, generation, member)."""
    with Connection(c, seconds=20) as own:
        answer = (connection or own).outcome(frame(header(JOIN, 3) + join_body(group, **fields)))
    if isinstance(answer, str):
        c.line(f"{what}: {answer}")
        return -1, -1, ""
    reader = Reader(answer)
    reader.i32()
    error, generation, protocol = reader.i16(), reader.i32(), reader.string()
    leader, member = reader.string(), reader.string()
    if note:
        c.line(f"{what}: error {error} generation {generation} protocol {protocol!r} leader {leader == member} {bool(member)}")
    return error, generation, member


@case
def join_group(c):
    coordinator(c)
    name = c.name
    for rebalance in (-1, 0, -(2**31), 2**31 - 1):
        join(c, f"rebalance timeout {rebalance}", name(f"r{rebalance}"), rebalance=rebalance)
    for session in (0, -1, 5999, 6000, 1_800_000, 1_800_001):
        join(c, f"session timeout {session}", name(f"s{session}"), session=session)
    join(c, "10 MB of metadata", name("big"), protocols=(("range", bytes(10_000_000)),))
    join(c, "no protocols", name("none"), protocols=())
    join(c, "no kind", name("kind"), kind="")
    join(c, "neither", name("neither"), kind="", protocols=())
    join(c, "another kind", name("connect"), kind="connect", protocols=(("sessioned", b"x"),))
    with Connection(c, seconds=20) as connection:
        group = name("g")
        _, generation, member = join(c, "first", group, connection)
        body = string(group) + i32(generation) + string(member) + array([string(member) + data(b"a")])
        ask(c, "synced", SYNC, 1, body, (".", "h", "d"), connection=connection)
        join(c, "kind mismatch", group, kind="connect")
        join(c, "protocol mismatch", group, protocols=(("other", b""),))
        join(c, "unknown member", group, member="nobody")
        join(c, "unknown member of an empty group", name("empty"), member="nobody")
        for what, g, m in (
            ("wrong generation", generation + 1, member),
            ("old generation", generation - 1, member),
            ("negative generation", -1, member),
            ("unknown member", generation, "nobody"),
            ("no member", generation, ""),
        ):
            ask(c, f"sync, {what}", SYNC, 1, string(group) + i32(g) + string(m) + array([]), (".", "h", "d"))
            ask(c, f"heartbeat, {what}", HEARTBEAT, 1, string(group) + i32(g) + string(m), (".", "h"))
        for kind, protocol in ((None, None), ("consumer", "range"), ("connect", "range"), ("consumer", "other"), ("", "")):
            body = compact(group) + i32(generation) + compact(member) + compact(None) + compact(kind) + compact(protocol) + uvarint(1) + b"\0"
            with Connection(c, seconds=20) as own:
                answer = own.outcome(frame(header(SYNC, 5, flexible=True) + body))
            if isinstance(answer, str):
                c.line(f"sync as {kind} {protocol}: {answer}")
            else:
                reader = Flexible(answer)
                reader.tags(), reader.i32()
                c.line(f"sync as {kind} {protocol}: {reader.i16()} {reader.string()} {reader.string()}")
        ask(c, "leave, unknown", LEAVE, 1, string(group) + string("nobody"), (".", "h"))
        ask(c, "leave, no member", LEAVE, 1, string(group) + string(""), (".", "h"))
        ask(c, "leave, unknown group", LEAVE, 1, string(name("no")) + string("x"), (".", "h"))
        ask(c, "leave, no group", LEAVE, 1, string("") + string("x"), (".", "h"))
        shape = (".", "h", [("s", "s", "h")])
        ask(c, "leave, nobody", LEAVE, 3, string(group) + array([]), shape)
        ask(c, "leave, two unknown", LEAVE, 3, string(group) + array([string("a") + string(None), string("") + string("b")]), shape)
        ask(c, "delete with a member", DELETE_GROUPS, 1, array([string(group)]), (".", [("s", "h")]))
        described = (".", [("h", "s", "s", "s", "s", [("x", "s", "s", "d", "d")])])
        ask(c, "describe", DESCRIBE_GROUPS, 1, array([string(group)]), described)
        ask(c, "describe twice", DESCRIBE_GROUPS, 1, array([string(name("no")), string(name("no"))]), described)
        ask(c, "describe nothing", DESCRIBE_GROUPS, 1, array([]), described)
        ask(c, "describe without name", DESCRIBE_GROUPS, 1, array([string("")]), described)
        connection.call(header(LEAVE, 1) + string(group) + string(member))
    for version in (5, 6):
        flexible = version >= 6
        names = [compact(name("no")) if flexible else string(name("no"))]
        body = (uvarint(2) + names[0] if flexible else array(names)) + i8(0) + (b"\0" if flexible else b"")
        shape = (".", [("h", *(["x"] if flexible else []), "s", "s", "s", "s", [("s",)], "i")])
        ask(c, f"describe unknown, version {version}", DESCRIBE_GROUPS, version, body, shape, flexible=flexible)
    ask(c, "delete unknown", DELETE_GROUPS, 1, array([string(name("no")), string("")]), (".", [("s", "h")]))
    ask(c, "delete nothing", DELETE_GROUPS, 1, array([]), (".", [("s", "h")]))
    ask(c, "delete twice", DELETE_GROUPS, 1, array([string(name("no"))] * 2), (".", [("s", "h")]))


@case
def offsets(c):
    coordinator(c)
    name, no = topic(c, "t", 2), c.name("no")
    shape = (".", [("s", [("i", "h")])])

    def tried(what, group, partitions, generation=-1, member="", where=name):
        body = string(group) + i32(generation) + string(member) + string(None)
        body += array([string(where) + array([i32(p) + i64(o) + i32(e) + string(m) for p, o, e, m in partitions])])
        ask(c, what, OFFSET_COMMIT, 7, body, shape)

    group = c.name("g")
    for offset in (0, 1, -1, -2, MIN, MAX):
        tried(f"offset {offset}", group, [(0, offset, -1, "")])
    for epoch in (-1, -2, 0, 99, 2**31 - 1):
        tried(f"epoch {epoch}", group, [(0, 5, epoch, "")])
    for length in (4095, 4096, 4097, 30_000):
        tried(f"{length} bytes of metadata", group, [(0, 5, -1, "x" * length)])
    tried("metadata of null", group, [(0, 5, -1, None)])
    tried("one too long of two", group, [(0, 6, -1, ""), (1, 6, -1, "x" * 5000)])
    for p in (1, 2, -1, 2**31 - 1, -(2**31)):
        tried(f"partition {p}", group, [(p, 5, -1, "")])
    tried("partition twice", group, [(0, 5, -1, ""), (0, 6, -1, "")])
    tried("unknown topic", group, [(0, 5, -1, "")], where=no)
    for odd in ("", "a b", "."):
        tried(f"topic '{odd}'", group, [(0, 5, -1, "")], where=odd)
    tried("no partitions", group, [])
    tried("no group", "", [(0, 5, -1, "")])
    for generation, member in ((0, ""), (-1, "nobody"), (0, "nobody"), (5, "nobody"), (-2, ""), (5, "")):
        tried(f"generation {generation} member '{member}'", group, [(0, 7, -1, "")], generation, member)
        tried(f"new group: generation {generation} member '{member}'", c.name("n"), [(0, 7, -1, "")], generation, member)
    with Connection(c, seconds=20) as connection:
        with_member = c.name("w")
        _, generation, member = join(c, "a member", with_member, connection)
        tried("before the sync", with_member, [(0, 1, -1, "")], generation, member)
        body = string(with_member) + i32(generation) + string(member) + array([string(member) + data(b"a")])
        connection.call(header(SYNC, 1) + body)
        tried("its own", with_member, [(0, 1, -1, "")], generation, member)
        tried("another generation", with_member, [(0, 1, -1, "")], generation + 1, member)
        tried("another member", with_member, [(0, 1, -1, "")], generation, "nobody")
        tried("from outside", with_member, [(0, 1, -1, "")])
        deletion = string(with_member) + array([string(name) + array([i32(0), i32(1), i32(9)]), string(no) + array([i32(0)])])
        ask(c, "delete offsets of a member", OFFSET_DELETE, 0, deletion, ("h", ".", [("s", [("i", "h")])]))
        connection.call(header(LEAVE, 1) + string(with_member) + string(member))
    body = string(group) + i32(-1) + string("") + i64(1000) + array([string(name) + array([i32(1) + i64(5) + string("kept")])])
    ask(c, "with a retention", OFFSET_COMMIT, 2, body, ([("s", [("i", "h")])],))
    fetched = (".", [("s", [("i", "q", "i", "s", "h")])], "h")

    def fetch(what, group, topics):
        wanted = array(None if topics is None else [string(n) + array([i32(p) for p in ps]) for n, ps in topics])
        ask(c, what, OFFSET_FETCH, 5, string(group) + wanted, fetched)

    fetch("fetch all", group, None)
    fetch("fetch some", group, [(name, [0, 1, 2, -1]), (no, [0])])
    fetch("fetch twice", group, [(name, [0, 0])])
    fetch("fetch nothing", group, [])
    fetch("fetch of an unknown group", no, None)
    fetch("fetch some of an unknown group", no, [(name, [0])])
    fetch("fetch without group", "", None)
    fetch("fetch of an odd topic", group, [("", [0]), ("a b", [0])])
    deleted = ("h", ".", [("s", [("i", "h")])])
    ask(c, "delete offsets", OFFSET_DELETE, 0, string(group) + array([string(name) + array([i32(0), i32(7)])]), deleted)
    ask(c, "delete offsets of an unknown group", OFFSET_DELETE, 0, string(no) + array([string(name) + array([i32(0)])]), deleted)
    ask(c, "delete no offsets", OFFSET_DELETE, 0, string(group) + array([]), deleted)
    ask(c, "delete offsets without group", OFFSET_DELETE, 0, string("") + array([]), deleted)


@case
def find_coordinator(c):
    coordinator(c)
    for kind in (0, 2, 3, -1, 127, -128):
        for key in ("g", "", "a:AAAAAAAAAAAAAAAAAAAAKg:0"):
            ask(c, f"kind {kind} '{key}'", FIND_COORDINATOR, 1, string(key) + i8(kind), (".", "h", "x", "i", "x", "."))
    shape = (".", [("s", "i", "x", ".", "h", "x")])
    for keys in ([], ["g", "g"], ["", "x"]):
        for kind in (0, 9):
            body = i8(kind) + uvarint(len(keys) + 1) + b"".join(compact(k) for k in keys) + b"\0"
            ask(c, f"kind {kind} of {keys}", FIND_COORDINATOR, 4, body, shape, flexible=True)


@case
def list_groups(c):
    coordinator(c)
    for states, kinds in ((["NoSuchState"], []), ([""], []), (["Dead"], []), ([], ["nokind"]), ([], [""]), (["stable", "STABLE"], ["CLASSIC"])):
        body = uvarint(len(states) + 1) + b"".join(map(compact, states)) + uvarint(len(kinds) + 1) + b"".join(map(compact, kinds)) + b"\0"
        with Connection(c, seconds=20) as connection:
            answer = connection.outcome(frame(header(LIST_GROUPS, 5, flexible=True) + body))
        if isinstance(answer, str):
            c.line(f"{states} {kinds}: {answer}")
            continue
        reader = Flexible(answer)
        reader.tags(), reader.i32()
        error = reader.i16()
        c.line(f"{states} {kinds}: {error} {'none' if reader.count() == 0 or states[:1] == ['stable'] else 'some'}")


if __name__ == "__main__":
    main("answers")
