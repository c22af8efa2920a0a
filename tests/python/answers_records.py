"""Records and offsets: requests that ask for the impossible."""

from shapes import ask, coordinator, produce, topic
from suite import case, eventually
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

PRODUCE, FETCH, LIST_OFFSETS, API_VERSIONS, DELETE_RECORDS, INIT_PRODUCER_ID, EPOCH_ENDS = 0, 1, 2, 18, 21, 22, 23
MIN, MAX = -(2**63), 2**63 - 1


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
def fetch_sessions(c):
    """Sessions that are unknown, closed, or out of step (KIP-227)."""
    name = topic(c, "t")
    produce(c, name, 2)
    shape = (".", "h", ".", [("s", [("i", "h", "q", "q", "q", [("q", "q")], "d")])])

    def body(session, epoch, topics=(), forgotten=()):
        out = i32(-1) + i32(0) + i32(0) + i32(1 << 20) + i8(0) + i32(session) + i32(epoch)
        out += array([string(n) + array([i32(p) + i64(o) + i64(-1) + i32(1 << 20)]) for n, p, o in topics])
        return out + array([string(n) + array([i32(p)]) for n, p in forgotten])

    for session, epoch in ((0, -1), (0, 1), (5, 0), (5, -1), (5, 1), (-1, -1), (-1, 0), (0, -2), (2**31 - 1, 2**31 - 1)):
        ask(c, f"session {session} epoch {epoch}", FETCH, 7, body(session, epoch, [(name, 0, 0)]), shape)
    ask(c, "nothing", FETCH, 7, body(0, -1), shape)
    ask(c, "nothing, with a session", FETCH, 7, body(0, 0), shape)
    with Connection(c, seconds=20) as connection:
        answer = ask(c, "a session begins", FETCH, 7, body(0, 0, [(name, 0, 0)]), shape, connection=connection)
        session = Reader(answer, 10).i32()
        c.line(f"it has an id: {session != 0}")
        for what, epoch, topics, forgotten in (
            ("goes on", 1, [], []),
            ("the same epoch again", 1, [], []),
            ("a gap", 7, [], []),
            ("goes on after that", 2, [(name, 0, 2)], []),
            ("unknown topic added", 3, [(c.name("no"), 0, 0)], []),
            ("forgets what it does not hold", 4, [], [(c.name("other"), 3)]),
            ("forgets", 5, [], [(name, 0)]),
            ("ends", -1, [(name, 0, 0)], []),
            ("is gone", 6, [], []),
        ):
            ask(c, what, FETCH, 7, body(session, epoch, topics, forgotten), shape, connection=connection)


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
