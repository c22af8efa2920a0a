"""Bad bytes on the port, sent without any client.

Whatever comes, the broker answers or closes that connection, lives on, and its other users do not
notice: a neighbour on a connection of its own asks for versions all the time and must be answered
within two seconds throughout.
"""

import random
import socket
import threading
import time

import raw_replays  # noqa: F401, registers cases
from suite import case, check, eventually, main, same
from wire import (
    Closed,
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

PRODUCE, FETCH, LIST_OFFSETS, METADATA, API_VERSIONS, CREATE_TOPICS = 0, 1, 2, 3, 18, 19
OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR, JOIN, HEARTBEAT, LEAVE, SYNC, DESCRIBE_GROUPS = 8, 9, 10, 11, 12, 13, 14, 15
HUGE = 1 << 28


class Neighbour:
    """Asks for versions on one connection for as long as the block lasts."""

    def __init__(self, c):
        self.c = c
        self.slowest = 0.0
        self.count = 0
        self.failure = None
        self.stop = threading.Event()

    def __enter__(self):
        self.connection = Connection(self.c, seconds=15)
        self.thread = threading.Thread(target=self.loop, daemon=True)
        self.thread.start()
        return self

    def loop(self):
        try:
            while not self.stop.is_set():
                start = time.monotonic()
                self.connection.call(header(API_VERSIONS, 0))
                self.slowest = max(self.slowest, time.monotonic() - start)
                self.count += 1
                time.sleep(0.01)
        except BaseException as error:
            self.failure = error

    def __exit__(self, kind, *_):
        self.stop.set()
        self.thread.join(20)
        self.connection.socket.close()
        if kind is None:
            check(self.failure is None, f"the neighbour's connection failed: {self.failure!r}")
            check(self.slowest < 2.0, f"the neighbour waited {self.slowest:.1f} s")
            check(self.count > 0, "the neighbour was never answered")
        return False


def alive(c):
    with Connection(c) as connection:
        answer = connection.call(header(API_VERSIONS, 0, 77))
        same("correlation id", 77, Reader(answer, 0).i32())


def outcome(c, bytes_, **options):
    with Connection(c) as connection:
        return connection.outcome(bytes_, **options)


def rss(c):
    """Resident bytes of the broker, or None when its process is not known."""
    if c.pid is None:
        return None
    with open(f"/proc/{c.pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def cluster_id(c):
    """The id of the broker's cluster, from Metadata version 2."""
    answer = Reader(outcome(c, frame(header(METADATA, 2) + i32(0))))
    for _ in range(answer.i32()):
        answer.i32(), answer.string(), answer.i32(), answer.string()
    return answer.string()


def topic(c, what="t"):
    """Creates a topic with one partition by a raw request and waits until it can be read."""
    name = c.name(what)
    body = array([string(name) + i32(1) + i16(1) + array([]) + array([])]) + i32(10_000) + i8(0)
    with Connection(c, seconds=30) as connection:
        reader = Reader(connection.call(header(CREATE_TOPICS, 2) + body))
        reader.i32()  # throttle
        reader.i32()  # one topic
        same("name", name, reader.string())
        same("error of creation", 0, reader.i16())
        eventually("partition is led", 15, lambda: end_of(connection, name)[0] == 0)
    return name


def end_of(connection, name, timestamp=-1):
    """(error, offset) of ListOffsets version 1."""
    body = i32(-1) + array([string(name) + array([i32(0) + i64(timestamp)])])
    reader = Reader(connection.call(header(LIST_OFFSETS, 1) + body))
    reader.i32()
    reader.string()
    reader.i32()
    reader.i32()
    error = reader.i16()
    reader.i64()
    return error, reader.i64()


def produce_outcome(c, name, batches, version=7, acks=-1, **more):
    """Text for the transcript: `closed`, or error code and base offset."""
    answer = outcome(c, frame(header(PRODUCE, version) + produce_body(name, batches, acks, **more)))
    if isinstance(answer, str):
        return answer
    reader = Reader(answer)
    reader.i32()
    reader.string()
    reader.i32()
    reader.i32()
    error = reader.i16()
    return f"error {error} offset {reader.i64()}"


# ---- framing ----


@case
def sizes(c):
    with Neighbour(c):
        for what, size in [
            ("negative", -1),
            ("most negative", -(2**31)),
            ("one above 100 MiB", 104857601),
            ("largest", 2**31 - 1),
        ]:
            got = outcome(c, i32(size) + b"x" * 64)
            same(what, "closed", got)
            c.line(f"{what}: {got}")
        for size in (0, 1, 4, 7, 9):
            got = outcome(c, i32(size) + b"\0" * size)
            same(f"a frame of {size} bytes", "closed", got)
            c.line(f"{size} bytes: {got}")
    alive(c)


@case
def promises_of_memory(c):
    """Two hundred connections announce 100 MB each and send 100 bytes: memory follows what came.

    Apache Kafka takes the memory that was announced and dies of it, so there it is 1 MB twice.
    """
    count, size = (200, 100_000_000) if c.target == "thalweg" else (2, 1_000_000)
    before = rss(c)
    with Neighbour(c):
        connections = [Connection(c) for _ in range(count)]
        for connection in connections:
            connection.send(i32(size) + header(PRODUCE, 7) + b"\0" * 100)
        time.sleep(1)
        during = rss(c)
        for connection in connections:
            connection.socket.close()
    if before is not None and c.target == "thalweg":
        check(during - before < 64 << 20, f"memory grew by {(during - before) >> 20} MiB")
    alive(c)


@case
def truncated(c):
    """Connections that end in the middle of a frame, at every byte of one."""
    good = frame(header(METADATA, 4) + array([string("t")]) + i8(0))
    with Neighbour(c):
        for cut in range(len(good)):
            with Connection(c) as connection:
                connection.send(good[:cut])
        for cut in range(len(good)):
            same(f"half closed after {cut} bytes", "closed", outcome(c, good[:cut], half_close=True))
    alive(c)


@case
def slow(c):
    """A byte at a time is slow, not wrong."""
    with Neighbour(c), Connection(c) as connection:
        for byte in frame(header(API_VERSIONS, 0, 5)):
            connection.send(bytes([byte]))
            time.sleep(0.02)
        same("correlation id", 5, Reader(connection.receive(), 0).i32())


@case
def pipelined(c):
    """Many requests in one write are answered in order."""
    with Neighbour(c), Connection(c) as connection:
        connection.send(b"".join(frame(header(API_VERSIONS, 0, i)) for i in range(500)))
        for i in range(500):
            same("correlation id", i, Reader(connection.receive(), 0).i32())


@case
def garbage(c):
    rng = random.Random(20)
    with Neighbour(c):
        for _ in range(150):
            with Connection(c) as connection:
                try:
                    connection.send(rng.randbytes(rng.randrange(1, 3000)))
                except Closed:
                    pass
        for _ in range(150):
            same("garbage in a frame", "closed", outcome(c, frame(b"\x7f" + rng.randbytes(rng.randrange(8, 500)))))
        for text in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 600):
            same("another protocol", "closed", outcome(c, text))
    alive(c)


@case
def does_not_read(c):
    """A peer that asks and never reads is its own problem."""
    name = topic(c)
    produce_outcome(c, name, batch([record(None, bytes(500_000))]))
    fetch = i32(-1) + i32(0) + i32(1) + i32(1 << 24) + i8(0)
    fetch += array([string(name) + array([i32(0) + i64(0) + i32(1 << 24)])])
    with Neighbour(c) as neighbour, Connection(c, seconds=1) as connection:
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        try:
            for i in range(3000):
                connection.send(frame(header(FETCH, 4, i) + fetch))
        except (TimeoutError, Closed):
            pass
        before = neighbour.count
        time.sleep(1.5)
        check(neighbour.count > before + 20, "the neighbour starves")
    alive(c)


@case
def idle_crowd(c):
    with Neighbour(c):
        crowd = [Connection(c) for _ in range(400)]
        for connection in crowd[::7]:
            connection.call(header(API_VERSIONS, 0))
        for connection in crowd:
            connection.socket.close()
    alive(c)


# ---- headers ----


@case
def unknown_api_keys(c):
    with Neighbour(c):
        for key in (-1, -32768, 4, 5, 6, 7, 93, 999, 32767):
            for version in (0, 1):
                got = outcome(c, frame(header(key, version) + b"\0" * 40))
                same(f"key {key} version {version}", "closed", got)
    c.line("closed")


@case
def unsupported_versions(c):
    with Neighbour(c):
        for key in (PRODUCE, FETCH, LIST_OFFSETS, METADATA, JOIN, CREATE_TOPICS):
            for version in (-1, 99, 32767):
                same(f"key {key} version {version}", "closed", outcome(c, frame(header(key, version) + b"\0" * 40)))
        same("Fetch 3", "closed", outcome(c, frame(header(FETCH, 3) + b"\0" * 40)))
    c.line("closed")


@case
def controller_apis_on_a_client_listener(c):
    """Vote, BeginQuorumEpoch, FetchSnapshot, BrokerRegistration and the like belong elsewhere."""
    with Neighbour(c):
        for key in (52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82):
            got = outcome(c, frame(header(key, 0, flexible=True) + b"\0" * 60))
            c.line(f"{key}: {got if isinstance(got, str) else 'answered'}")


@case
def api_versions(c):
    """A version that nobody knows gets version 0 with error 35 and what is supported."""
    for version in (6, 99, 32767):
        answer = outcome(c, frame(header(API_VERSIONS, version, 9) + b"\0" * 30))
        check(not isinstance(answer, str), f"version {version}: {answer}")
        reader = Reader(answer, 0)
        same("correlation id", 9, reader.i32())
        c.line(f"{version}: error {reader.i16()} keys {reader.i32()}")
    # From version 3 on the client's software name must be given, and be a name.
    for name in ("client", "", "no good", "-x", "x" * 300):
        body = header(API_VERSIONS, 3, 9, flexible=True) + compact(name) + compact("1.0") + b"\0"
        answer = outcome(c, frame(body))
        error = answer if isinstance(answer, str) else Reader(answer).i16()
        c.line(f"software name '{name[:9]}': {error}")
    # From version 5 on the client can name a cluster and a node (KIP-1242): both or none.
    own = cluster_id(c)
    for what, cluster, node in (
        ("none", None, -1),
        ("both", own, 1),
        ("no node", own, -1),
        ("no cluster", None, 1),
        ("another node", own, 2),
        ("another cluster", "another", 1),
        ("an empty cluster", "", 1),
    ):
        body = header(API_VERSIONS, 5, 9, flexible=True) + compact("client") + compact("1.0")
        body += compact(cluster) + i32(node) + b"\0"
        answer = outcome(c, frame(body))
        check(not isinstance(answer, str), f"{what}: {answer}")
        c.line(f"cluster and node: {what}: {Reader(answer).i16()}")


@case
def client_ids(c):
    with Neighbour(c), Connection(c) as connection:
        for client in (None, "", "x" * 30_000, "ünïcode", 'a"b{}\n'):
            same("correlation id", 3, Reader(connection.call(header(API_VERSIONS, 0, 3, client)), 0).i32())
        bad_utf8 = i16(API_VERSIONS) + i16(0) + i32(4) + i16(3) + b"\xff\xfe\xfd"
        c.line(f"no UTF-8: {'closed' if outcome(c, frame(bad_utf8)) == 'closed' else 'answered'}")
        length = i16(API_VERSIONS) + i16(0) + i32(4) + i16(32767) + b"abc"
        same("a length past the end", "closed", outcome(c, frame(length)))
        below = outcome(c, frame(i16(API_VERSIONS) + i16(0) + i32(4) + i16(-2)))
        c.line(f"a length below -1: {below if isinstance(below, str) else 'answered'}")


# ---- bodies ----


@case
def claims_of_arrays(c):
    """Element counts of 2^28 and more in a few bytes: refused before memory is taken."""
    before = rss(c)
    tiny = {
        "Produce 7": header(PRODUCE, 7, client=None) + string(None) + i16(1) + i32(1) + i32(HUGE),
        "Produce 9": header(PRODUCE, 9, client=None, flexible=True) + b"\0" + i16(1) + i32(1) + uvarint(HUGE + 1),
        "Fetch 4": header(FETCH, 4) + i32(-1) + i32(0) + i32(0) + i32(1) + i8(0) + i32(HUGE),
        "Fetch 12": header(FETCH, 12, flexible=True) + i32(-1) + i32(0) + i32(0) + i32(1) + i8(0) + i32(0) + i32(-1) + uvarint(HUGE),
        "ListOffsets 1": header(LIST_OFFSETS, 1) + i32(-1) + i32(HUGE),
        "Metadata 1": header(METADATA, 1) + i32(HUGE),
        "Metadata 9": header(METADATA, 9, flexible=True) + uvarint(0xFFFFFFFF),
        "OffsetCommit 2": header(OFFSET_COMMIT, 2) + string("g") + i32(-1) + string("") + i64(-1) + i32(HUGE),
        "OffsetFetch 1": header(OFFSET_FETCH, 1) + string("g") + i32(HUGE),
        "JoinGroup 0": header(JOIN, 0) + string("g") + i32(10_000) + string("") + string("consumer") + i32(HUGE),
        "SyncGroup 0": header(SYNC, 0) + string("g") + i32(1) + string("m") + i32(HUGE),
        "DescribeGroups 0": header(DESCRIBE_GROUPS, 0) + i32(HUGE),
        "CreateTopics 2": header(CREATE_TOPICS, 2) + i32(HUGE),
        "DeleteTopics 1": header(20, 1) + i32(HUGE),
        "DeleteRecords 0": header(21, 0) + i32(HUGE),
        "DescribeConfigs 1": header(32, 1) + i32(HUGE),
        "IncrementalAlterConfigs 0": header(44, 0) + i32(HUGE),
        "a tagged field": header(METADATA, 9) + uvarint(1) + uvarint(0) + uvarint(HUGE),
    }
    with Neighbour(c):
        for what, payload in tiny.items():
            for _ in range(3):
                same(what, "closed", outcome(c, frame(payload)))
        # The smallest: a Produce of 12 bytes after its size, of which the count is the last five.
        same("12 bytes", "closed", outcome(c, frame(i16(PRODUCE) + i16(9) + uvarint(HUGE) + b"\0\0\0")))
    after = rss(c)
    if before is not None and c.target == "thalweg":
        check(after - before < 64 << 20, f"memory grew by {(after - before) >> 20} MiB")
    alive(c)


@case
def mutations(c):
    """Good requests cut at every byte, and with bytes changed: an answer or a closed connection."""
    rng = random.Random(7)
    name = topic(c)
    group = c.name("g")
    good = {
        "produce": header(PRODUCE, 7) + produce_body(name, batch([record(b"k", b"v")]), timeout=500),
        "fetch": header(FETCH, 4) + i32(-1) + i32(0) + i32(0) + i32(1 << 20) + i8(0)
        + array([string(name) + array([i32(0) + i64(0) + i32(1 << 20)])]),
        "list-offsets": header(LIST_OFFSETS, 1) + i32(-1) + array([string(name) + array([i32(0) + i64(-1)])]),
        "metadata": header(METADATA, 4) + array([string(name)]) + i8(0),
        "metadata-flexible": header(METADATA, 9, flexible=True) + uvarint(2) + compact(name) + b"\0" + b"\0\0\0" + b"\0",
        "commit": header(OFFSET_COMMIT, 2) + string(group) + i32(-1) + string("") + i64(-1)
        + array([string(name) + array([i32(0) + i64(3) + string("m")])]),
        "coordinator": header(FIND_COORDINATOR, 1) + string(group) + i8(0),
        "describe": header(DESCRIBE_GROUPS, 0) + array([string(group)]),
    }
    with Neighbour(c):
        for what, payload in good.items():
            check(outcome(c, frame(payload)) not in ("closed", "no answer"), f"{what} is refused as it is")
            for cut in range(8, len(payload), max(1, len(payload) // 40)):
                same(f"{what} cut at {cut}", "closed", outcome(c, frame(payload[:cut])))
            for _ in range(60):
                changed = bytearray(payload)
                # Not the API key and version: those decide what is parsed.
                for _ in range(rng.randrange(1, 4)):
                    changed[rng.randrange(8, len(changed))] = rng.randrange(256)
                with Connection(c, seconds=4) as connection:
                    # Some of these say "wait a long time" or "acks 0", which is an answer too.
                    connection.outcome(frame(bytes(changed)))
    alive(c)


@case
def fetch_extremes(c):
    name = topic(c)
    produce_outcome(c, name, batch([record(None, b"v")]))
    values = [-(2**31), -1, 0, 1, 2**31 - 1]
    with Neighbour(c):
        for max_bytes in values:
            for partition_max in values:
                for offset in (-(2**63), -1, 0, 1, 2, 2**63 - 1):
                    body = i32(-1) + i32(0) + i32(0) + i32(max_bytes) + i8(0)
                    body += array([string(name) + array([i32(0) + i64(offset) + i32(partition_max)])])
                    got = outcome(c, frame(header(FETCH, 4) + body))
                    if isinstance(got, str):
                        c.line(f"{max_bytes} {partition_max} {offset}: {got}")
                        continue
                    reader = Reader(got)
                    reader.i32()
                    reader.i32()
                    reader.string()
                    reader.i32()
                    reader.i32()
                    error = reader.i16()
                    reader.i64()
                    reader.i64()
                    reader.i32()
                    c.line(f"{max_bytes} {partition_max} {offset}: error {error} bytes {reader.i32()}")
        for isolation in (-1, 2, 127):
            body = i32(-1) + i32(0) + i32(0) + i32(1000) + i8(isolation)
            body += array([string(name) + array([i32(0) + i64(0) + i32(1000)])])
            got = outcome(c, frame(header(FETCH, 4) + body))
            c.line(f"isolation {isolation}: {got if isinstance(got, str) else 'answered'}")


@case
def list_offsets_extremes(c):
    name = topic(c)
    produce_outcome(c, name, batch([record(None, b"v")], timestamp=1_700_000_000_000))
    with Neighbour(c), Connection(c) as connection:
        for timestamp in (-(2**63), -100, -7, -6, -5, -4, -3, -2, -1, 0, 1_700_000_000_001, 2**63 - 1):
            try:
                c.line(f"{timestamp}: {end_of(connection, name, timestamp)}")
            except Closed:
                c.line(f"{timestamp}: closed")
                break


@case
def metadata_names(c):
    """Metadata of names that cannot be: an error per topic, no topic made."""
    with Neighbour(c), Connection(c) as connection:
        for name in ("", ".", "..", "a b", "x" * 300, "ä", "a/b", "\0"):
            reader = Reader(connection.call(header(METADATA, 4) + array([string(name)]) + i8(1)))
            reader.i32()
            for _ in range(reader.i32()):
                reader.i32()
                reader.string()
                reader.i32()
                reader.string()
            reader.string()
            reader.i32()
            reader.i32()
            c.line(f"'{name[:5]}': error {reader.i16()}")


@case
def produce_acks(c):
    name = topic(c)
    good = batch([record(None, b"v")])
    for acks in (-2, 2, 5, 32767):
        c.line(f"acks {acks}: {produce_outcome(c, name, good, acks=acks)}")
    c.line(f"unknown topic: {produce_outcome(c, c.name('unknown'), good)}")
    c.line(f"unknown partition: {produce_outcome(c, name, good, partition=5)}")
    c.line(f"partition -1: {produce_outcome(c, name, good, partition=-1)}")
    with Connection(c) as connection:
        connection.send(frame(header(PRODUCE, 7) + produce_body(name, good, acks=0)))
        same("an answer follows", 8, Reader(connection.call(header(API_VERSIONS, 0, 8)), 0).i32())
    # An error under acks 0 cannot be told but by closing.
    with Connection(c) as connection:
        connection.send(frame(header(PRODUCE, 7) + produce_body(name, batch([record(None, b"v")], crc=1), acks=0)))
        c.line(f"bad batch, acks 0: {connection.outcome(frame(header(API_VERSIONS, 0, 8))) == 'closed'}")


@case
def produce_old_versions(c):
    """Listed for librdkafka's sake, not served."""
    name = topic(c)
    body = i16(1) + i32(1000) + array([string(name) + array([i32(0) + data(batch([record(None, b"v")]))])])
    for version in (0, 1, 2):
        got = outcome(c, frame(header(PRODUCE, version) + body))
        c.line(f"version {version}: {got if isinstance(got, str) else got.hex()[8:]}")


@case
def produce_batches(c):
    """Broken batches: the error codes, and what is there afterwards."""
    name = topic(c)
    one = record(None, b"v")
    two = [record(None, b"a", 0), record(None, b"b", 1)]
    batches = {
        "good": batch([one]),
        "two records": batch(two),
        "two batches": batch([one]) + batch([one]),
        "nothing": b"",
        "half a header": batch([one])[:30],
        "cut": batch([one])[:-1],
        "one byte more": batch([one]) + b"\0",
        "wrong sum": batch([one], crc=12345),
        "magic 0": batch([one], magic=0),
        "magic 1": batch([one], magic=1),
        "magic 3": batch([one], magic=3),
        "magic -1": batch([one], magic=-1),
        "length 0": batch([one], length=0),
        "length -1": batch([one], length=-1),
        "length too large": batch([one], length=100_000),
        "length largest": batch([one], length=2**31 - 1),
        "count 0": batch([], count=0),
        "count 2 of 1": batch([one], count=2),
        "count 1 of 2": batch(two, count=1),
        "count -1": batch([one], count=-1),
        "count largest": batch([one], count=2**31 - 1),
        "last delta 5": batch([one], last_delta=5),
        "last delta -1": batch([one], last_delta=-1),
        "gap": batch([record(None, b"a", 0), record(None, b"b", 2)], last_delta=2, count=2),
        "order": batch([record(None, b"a", 1), record(None, b"b", 0)]),
        "base offset 7": batch([one], base_offset=7),
        "base offset -9": batch([one], base_offset=-9),
        "control": batch([record(i16(0) + i16(0), i16(0) + i32(0))], attributes=0x20),
        "transactional": batch([one], attributes=0x10, producer=(5, 0, 0)),
        "unknown codec": batch([one], attributes=7),
        "codec without stream": batch([one], attributes=1),
        "zstd without stream": batch([one], attributes=4),
        "record longer than batch": batch([b"\xff\x01" + b"x" * 10]),
        "record length -1": batch([b"\x01"]),
        "key length past the end": batch([b"\x10" + b"\0\0\0" + b"\x7e" + b"abcd"]),
        "header count huge": batch([record(None, b"v", headers=uvarint(2**31))]),
        "header count negative": batch([record(None, b"v", headers=b"\x01")]),
        "timestamp -1": batch([one], timestamp=-1),
        "timestamp far": batch([one], timestamp=2**62),
        "producer without sequence": batch([one], producer=(9, 0, -1)),
        "producer -2": batch([one], producer=(-2, -1, -1)),
        "sequence from 0": batch([one], producer=(77, 0, 0)),
        "the same again": batch([one], producer=(77, 0, 0)),
        "sequence 5": batch([one], producer=(77, 0, 5)),
        "old epoch": batch([one], producer=(77, -1, 1)),
        "epoch 3 sequence 4": batch([one], producer=(77, 3, 4)),
        "epoch 3 sequence 0": batch([one], producer=(77, 3, 0)),
        "epoch 2 after 3": batch([one], producer=(77, 2, 0)),
    }
    with Neighbour(c):
        for what, bytes_ in batches.items():
            c.line(f"{what}: {produce_outcome(c, name, bytes_)}")
        # Apache Kafka forgets to answer this one.
        if c.target == "thalweg":
            check(produce_outcome(c, name, None) != "no answer", "records of null are not answered")
        with Connection(c) as connection:
            c.line(f"in the end {end_of(connection, name)}")
    alive(c)


# ---- groups ----


def join(connection, group, member="", protocols=(("range", b""),), kind="consumer", session=10_000, rebalance=10_000):
    body = string(group) + i32(session) + i32(rebalance) + string(member) + string(kind)
    body += array([string(p) + data(m) for p, m in protocols])
    answer = connection.call(header(JOIN, 2) + body)
    reader = Reader(answer)
    reader.i32()
    error, generation = reader.i16(), reader.i32()
    return error, generation, reader.string(), reader.string(), reader.string()


@case
def group_metadata_is_opaque(c):
    """Subscriptions that are garbage, huge or contradict each other harm nobody but their group."""
    rng = random.Random(3)
    subscriptions = {
        "garbage": [("range", rng.randbytes(100))],
        "huge count": [("range", i16(3) + i32(HUGE))],
        "negative lengths": [("range", i16(0) + i32(1) + i16(-5) + i32(-7))],
        "version 32767": [("range", i16(32767) + b"\xff" * 30)],
        "the same twice": [("range", b"a"), ("range", b"b")],
        "empty": [("range", b"")],
        "large": [("range", bytes(300_000))],
        "many": [(f"p{i}", b"") for i in range(500)],
        "none": [],
        "odd name": [("", b"")],
    }
    # Apache Kafka cannot parse the first five, and never answers: nothing to compare there.
    broken = list(subscriptions)[:5]
    unanswered = broken if c.target == "kafka" else []
    with Neighbour(c):
        coordinator_ready(c)
        for what, protocols in subscriptions.items():
            group = c.name(what)
            line = c.line if what not in broken else lambda text: None
            with Connection(c, seconds=1 if what in unanswered else 20) as connection:
                try:
                    error, generation, protocol, _, member = join(connection, group, protocols=protocols)
                except TimeoutError:
                    check(what in unanswered, f"{what}: no answer")
                    continue
                line(f"{what}: join error {error} generation {generation} protocol '{protocol}'")
                if error != 0:
                    continue
                for assignment in (rng.randbytes(200), b""):
                    body = string(group) + i32(generation) + string(member)
                    body += array([string(member) + data(assignment)])
                    reader = Reader(connection.call(header(SYNC, 1) + body))
                    reader.i32()
                    line(f"{what}: sync error {reader.i16()} bytes {reader.i32()}")
                reader = Reader(connection.call(header(DESCRIBE_GROUPS, 0) + array([string(group)])))
                reader.i32()
                line(f"{what}: describe error {reader.i16()} {reader.string() == group} {reader.string()}")
                connection.call(header(LEAVE, 0) + string(group) + string(member))
    alive(c)


def coordinator_ready(c):
    """Waits until groups can be joined: the first use makes the offsets topic."""
    with Connection(c, seconds=30) as connection:
        connection.call(header(FIND_COORDINATOR, 1) + string(c.name("g")) + i8(0))
        eventually("a coordinator", 20, lambda: join(connection, c.name("g"))[0] not in (14, 15, 16))


@case
def group_extremes(c):
    name = topic(c)
    coordinator_ready(c)
    with Neighbour(c), Connection(c, seconds=30) as connection:
        for session in (-(2**31), -1, 0, 5999, 1_800_001, 2**31 - 1):
            c.line(f"session {session}: {join(connection, c.name('s'), session=session)[0]}")
        c.line(f"no kind: {join(connection, c.name('k'), kind='')[0]}")
        c.line(f"no group: {join(connection, '')[0]}")
        c.line(f"unknown member: {join(connection, c.name('m'), member='nobody')[0]}")
        long = join(connection, c.name("x" * 3000))
        c.line(f"3000 letters: {long[0]}")
        for key, body in {
            "heartbeat": header(HEARTBEAT, 0) + string(c.name("none")) + i32(5) + string("m"),
            "sync": header(SYNC, 0) + string(c.name("none")) + i32(5) + string("m") + array([]),
            "leave": header(LEAVE, 0) + string(c.name("none")) + string("m"),
            "heartbeat without group": header(HEARTBEAT, 0) + string("") + i32(5) + string("m"),
        }.items():
            c.line(f"{key}: {Reader(connection.call(body)).i16()}")
        for offset in (-(2**63), -2, -1, 0, 2**63 - 1):
            body = string(c.name("o")) + i32(-1) + string("") + i64(-1)
            body += array([string(name) + array([i32(0) + i64(offset) + string("m")])])
            reader = Reader(connection.call(header(OFFSET_COMMIT, 2) + body))
            reader.i32()
            reader.string()
            reader.i32()
            reader.i32()
            c.line(f"commit {offset}: {reader.i16()}")


if __name__ == "__main__":
    # One after the other, because each case watches a neighbour that its own bytes might disturb; but for replays,
    # which watch none.
    main("raw", parallel=1, beside="replay-")
