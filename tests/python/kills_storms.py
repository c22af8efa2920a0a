"""What is going on when the broker dies: each storm does one kind of thing as fast as it can, until its
connection breaks. The book knows what was acknowledged, and what is in doubt.

Transactions are not among them: the broker refuses transactional ids so far.
"""

import base64
import threading

from confluent_kafka.admin import ResourceType

from estate import BROKER_RESOURCE, GROUP_RESOURCE, INIT_PRODUCER_ID, PRODUCE
from kills_book import EARLIEST, LATEST, LOADING, Topic, size_of, value_of
from shapes import CREATE_TOPICS, Flexible
from suite import check, eventually, same
from wire import Reader, array, batch, compact, data, header, i8, i16, i32, i64, record, string, uvarint

OFFSET_COMMIT, DELETE_TOPICS, DELETE_RECORDS, CREATE_PARTITIONS, DELETE_GROUPS = 8, 20, 21, 37, 42
HOUR_MS = 3_600_000
NOT_LED = (3, 5, 6)  # unknown topic or partition, leader not available, not leader
NOT_FOUND = 69  # a group
BIG = 250_000
TOPIC, BROKER, GROUP = ResourceType.TOPIC.value, BROKER_RESOURCE, GROUP_RESOURCE


class Storms:
    """What all of them share: the book, numbers that only grow, and the requests."""

    def __init__(self, book, rng):
        self.book = book
        # Each storm has a thread, and what it draws is its own.
        self.own = threading.local()
        self.own.rng = rng
        self.turn = 0
        self.sequences = []  # of producers with an id: Sequence
        self.done = 0  # requests that were acknowledged

    @property
    def rng(self):
        return self.own.rng

    # ---- requests ----

    def create(self, connection, name, partitions, configs):
        before = self.book.topics.get(name)
        topic = Topic(name, before.making + 1 if before else 1, partitions, configs)
        self.book.topics[name] = topic
        settings = uvarint(len(configs) + 1) + b"".join(compact(k) + compact(v) + b"\0" for k, v in configs.items())
        body = uvarint(2) + compact(name) + i32(partitions) + i16(1) + uvarint(1) + settings + b"\0"
        body += i32(10_000) + i8(0) + b"\0"
        reader = Flexible(connection.call(header(CREATE_TOPICS, 7, flexible=True) + body))
        reader.tags()
        reader.i32()
        same("topics in the answer", 1, reader.count())
        same("name in the answer", name, reader.string())
        id_ = reader.bytes[reader.at : reader.at + 16]
        reader.at += 16
        error = reader.i16()
        check(error == 0, f"creation of {topic.tag}: error {error}, {reader.string()}")
        topic.id = text_of(id_)
        topic.there = True
        self.done += 1
        return topic

    def delete(self, connection, topic):
        topic.leaving = True
        reader = Reader(connection.call(header(DELETE_TOPICS, 3) + array([string(topic.name)]) + i32(10_000)))
        reader.i32(), reader.i32(), reader.string()
        same(f"error of deleting {topic.tag}", 0, reader.i16())
        topic.leaving, topic.gone = False, True
        self.done += 1

    def grow(self, connection, topic, partitions):
        topic.growing = partitions
        body = array([string(topic.name) + i32(partitions) + array(None)]) + i32(10_000) + i8(0)
        reader = Reader(connection.call(header(CREATE_PARTITIONS, 1) + body))
        reader.i32(), reader.i32(), reader.string()
        same(f"error of {partitions} partitions of {topic.tag}", 0, reader.i16())
        topic.growing = None
        topic.parts += [type(topic.parts[0])() for _ in range(partitions - len(topic.parts))]
        self.done += 1

    def send(self, connection, name, p, one):
        """Produce with acks=all: (error, offset, LogAppendTime), as soon as the partition is led."""
        body = string(None) + i16(-1) + i32(10_000) + array([string(name) + array([i32(p) + data(one)])])
        found = []

        def answered():
            reader = Reader(connection.call(header(PRODUCE, 7) + body))
            reader.i32(), reader.string(), reader.i32(), reader.i32()
            found[:] = [reader.i16(), reader.i64(), reader.i64()]
            return found[0] not in NOT_LED

        eventually(f"{name}-{p} is led", 20, answered)
        return found

    def write(self, connection, topic, p, count, size=0, timestamp=None):
        """A batch without an id; sent once, so that it is there once or not at all."""
        error, _ = self.try_write(connection, topic, p, count, size, timestamp)
        same(f"error of writing to {topic.tag}-{p}", 0, error)
        self.done += 1

    def try_write(self, connection, topic, p, count=1, size=0, timestamp=None):
        """(error, LogAppendTime or -1)"""
        numbers = self.book.producers.sent
        key = ("raw", topic.tag, p)
        first = numbers[key]
        numbers[key] += count
        now = self.book.client_ms() if timestamp is None else timestamp
        values = [value_of("raw", topic.tag, p, first + i, size) for i in range(count)]
        one = batch([record(None, value, i) for i, value in enumerate(values)], timestamp=now)
        error, offset, stamp = self.send(connection, topic.name, p, one)
        for i in range(count if error == 0 else 0):
            self.book.ack(topic, p, offset + i, "raw", first + i, now)
        return error, stamp

    def commit(self, connection, group, name, p, offset):
        """OffsetCommit of somebody who is no member; gives the error. A coordinator that resigns may have
        written what it answers with an error: that stays in doubt."""
        held = self.book.commits.setdefault((group, name, p), [None, []])
        held[1].append(offset)
        body = string(group) + i32(-1) + string("") + string(None)
        body += array([string(name) + array([i32(p) + i64(offset) + i32(-1) + string(f"{group} at {offset}")])])
        reader = Reader(connection.call(header(OFFSET_COMMIT, 7) + body))
        reader.i32(), reader.i32(), reader.string(), reader.i32(), reader.i32()
        error = reader.i16()
        if error == 0:
            held[:] = [offset, []]
        return error

    def ensure(self, connection, name, partitions, configs=None):
        """A topic of that name, before anything is killed."""
        topic = self.book.topics.get(name)
        if topic is None or topic.gone:
            return self.create(connection, name, partitions, configs or {})
        return topic

    def until(self, stop, step):
        with self.book.connection() as connection:
            while not stop.is_set():
                self.turn += 1
                step(connection)

    # ---- storms ----

    def topics(self, stop):
        """Made, filled, grown, deleted, made anew under the same name."""
        names = ["come", "go", "back"]

        def step(connection):
            topic = self.book.topics.get(self.rng.choice(names))
            if topic is None or topic.gone:
                name = topic.name if topic else next(n for n in names if n not in self.book.topics)
                configs = {"segment.ms": str(400 + self.turn), "retention.ms": "-1"} if self.rng.random() < 0.5 else {}
                topic = self.create(connection, name, self.rng.randint(1, 4), configs)
                for p in range(len(topic.parts)):
                    self.write(connection, topic, p, self.rng.randint(1, 5))
                return
            dice = self.rng.random()
            if dice < 0.35:
                self.delete(connection, topic)
            elif dice < 0.6:
                self.delete(connection, topic)
                self.create(connection, topic.name, self.rng.randint(1, 4), {})
            elif dice < 0.75 and len(topic.parts) < 12:
                self.grow(connection, topic, len(topic.parts) + self.rng.randint(1, 3))
            else:
                self.write(connection, topic, self.rng.randrange(len(topic.parts)), self.rng.randint(1, 5))

        self.until(stop, step)

    def sized(self, stop):
        """Retention by size: a topic is filled, loses its beginning, is filled again."""

        def step(connection):
            topic = self.ensure(connection, "sized", 1, {"retention.bytes": "-1"})
            for _ in range(self.rng.randint(2, 8)):
                self.write(connection, topic, 0, 1, BIG)
            limit = self.rng.choice([1, 1 << 20, 2 << 20, -1])
            self.book.alter(TOPIC, "sized", {"retention.bytes": str(limit)}, connection)
            self.done += 1
            stop.wait(self.rng.uniform(0, 0.5))

        self.until(stop, step)

    def aged(self, stop):
        """Retention by time: old records go, and young ones stay."""

        def step(connection):
            topic = self.ensure(connection, "aged", 1, {"retention.ms": "-1"})
            now = self.book.client_ms()
            for _ in range(self.rng.randint(1, 6)):
                old = self.rng.random() < 0.8
                self.write(connection, topic, 0, 1, BIG, now - (HOUR_MS if old else 0))
            limit = self.rng.choice([HOUR_MS // 2, HOUR_MS * 2, -1])
            self.book.alter(TOPIC, "aged", {"retention.ms": str(limit)}, connection)
            self.done += 1
            stop.wait(self.rng.uniform(0, 0.5))

        self.until(stop, step)

    def trimmed(self, stop):
        """DeleteRecords, in a topic that is written to."""

        def step(connection):
            topic = self.book.topics["trimmed"]
            p = self.rng.randrange(len(topic.parts))
            part = topic.parts[p]
            with self.book.lock:
                end = max(part.acked, default=part.deleted - 1) + 1
            upto = self.rng.randint(part.deleted, end) if end > part.deleted else end
            if upto > part.deleted:
                part.tried = max(part.tried, upto)
                body = array([string("trimmed") + array([i32(p) + i64(upto)])]) + i32(10_000)
                reader = Reader(connection.call(header(DELETE_RECORDS, 0) + body))
                reader.i32(), reader.i32(), reader.string(), reader.i32(), reader.i32()
                low, error = reader.i64(), reader.i16()
                if error in NOT_LED:
                    return
                same(f"error and offset of DeleteRecords {p}:{upto}", (0, upto), (error, low))
                part.deleted = upto
                self.done += 1
            stop.wait(self.rng.uniform(0, 0.05))

        self.until(stop, step)

    def configs(self, stop):
        """Of topics, the cluster, the broker and groups: two at once, set and taken back. Many of them
        make the metadata log long, and snapshots of it frequent."""

        def step(connection):
            value = None if self.rng.random() < 0.2 else str(100_000 + self.turn)
            kind, name, names = self.rng.choice(
                [
                    (TOPIC, "steady", ("flush.ms", "delete.retention.ms")),
                    (TOPIC, "trimmed", ("flush.ms", "file.delete.delay.ms")),
                    (BROKER, "", ("max.connections.per.ip", "message.max.bytes")),
                    (BROKER, "1", ("leader.replication.throttled.rate", "follower.replication.throttled.rate")),
                    (GROUP, f"group-{self.rng.randrange(3)}", ("consumer.session.timeout.ms", "share.session.timeout.ms")),
                ]
            )
            if kind == GROUP:
                value = value and str(45_000 + self.turn % 15_000)
            elif name == "":
                value = value and str(2_000_000 + self.turn)
            self.book.alter(kind, name, dict.fromkeys(names, value), connection)
            self.done += 1

        self.until(stop, step)

    def commits(self, stop):
        """Offsets of groups without members, and groups that are deleted."""

        def step(connection):
            group = f"keeper-{self.rng.randrange(4)}"
            places = [place for place in self.book.commits if place[0] == group]
            if places and self.rng.random() < 0.1:
                for place in places:
                    self.book.commits[place][1].append(None)
                reader = Reader(connection.call(header(DELETE_GROUPS, 1) + array([string(group)])))
                reader.i32(), reader.i32(), reader.string()
                error = reader.i16()
                if error in LOADING:
                    return
                # Without offsets there is no group; where something is in doubt, there may be one.
                held = [self.book.commits[place] for place in places]
                was_there = any(acked is not None for acked, _ in held)
                may_be_there = any(set(doubts) != {None} for _, doubts in held)
                check(error == 0 or error == NOT_FOUND and not was_there, f"deletion of {group}: error {error}")
                check(error != 0 or was_there or may_be_there, f"{group} was deleted, and it had no offsets")
                for place in places:
                    self.book.commits[place] = [None, []]
                self.done += 1
                return
            p = self.rng.randrange(3)
            error = self.commit(connection, group, "steady", p, self.turn)
            check(error in (0, *LOADING), f"commit of {group} {p}: error {error}")
            self.done += error == 0

        self.until(stop, step)

    def identified(self, stop):
        """Producers with an id, by hand: what is in doubt is sent again after the restart, and must be
        there once."""

        def step(connection):
            if not self.sequences or self.rng.random() < 0.05:
                self.sequences.append(self.begin(connection))
            self.follow(connection, self.rng.choice(self.sequences[-4:]))

        self.until(stop, step)

    def begin(self, connection):
        reader = Reader(connection.call(header(INIT_PRODUCER_ID, 0) + string(None) + i32(60_000)))
        reader.i32()
        same("error of InitProducerId", 0, reader.i16())
        id_, epoch = reader.i64(), reader.i16()
        check(id_ not in self.book.producer_ids, f"producer id {id_} was given out before")
        self.book.producer_ids.add(id_)
        self.book.producers.idempotent.add(f"id-{id_}")
        self.done += 1
        return Sequence(id_, epoch, self.rng.randrange(3))

    def follow(self, connection, sequence):
        """The next number, or the one in doubt again."""
        topic, p = self.book.topics["steady"], sequence.partition
        name, number = f"id-{sequence.id}", sequence.next
        self.book.producers.sent[(name, topic.tag, p)] = number + 1
        error, offset, _ = self.send(connection, "steady", p, sequence.batch(topic, number))
        same(f"error of {name} at {number}", 0, error)
        self.book.ack(topic, p, offset, name, number)
        sequence.next, sequence.last = number + 1, offset
        self.done += 1

    def again(self):
        """After a restart: the last batch that was acknowledged is recognised, the one in doubt taken once."""
        with self.book.connection() as connection:
            for sequence in self.sequences[-6:]:
                if sequence.last is not None:
                    one = sequence.batch(self.book.topics["steady"], sequence.next - 1)
                    found = self.send(connection, "steady", sequence.partition, one)
                    same(f"the last batch of {sequence.id}, sent again", [0, sequence.last], found[:2])
                self.follow(connection, sequence)

    # ---- what must come true in a while ----

    def settle(self, name):
        """Retention that was acknowledged acts."""
        topic = self.book.topics.get(name)
        # Its creation may have been what the broker died in.
        if name not in ("sized", "aged") or topic is None or topic.gone:
            return
        config, value = ("retention.bytes", "1") if name == "sized" else ("retention.ms", str(HOUR_MS // 2))
        with self.book.connection() as connection:
            if name == "aged":
                # So that nothing young is in a segment with the old ones.
                topic = self.make_anew(connection, name)
                self.write(connection, topic, 0, 1, BIG, self.book.client_ms() - HOUR_MS)
            self.book.alter(TOPIC, name, {config: value}, connection)
        place = (name, 0)

        def acted():
            if name == "sized":
                # A kill between roll and append leaves an empty one behind, which does not count.
                return sum(size_of(one) > 0 for one in self.book.segments(topic, 0)) < 2
            return self.book.offsets([place], EARLIEST) == self.book.offsets([place], LATEST)

        eventually(f"{config}={value} acts", 20, acted)

    def make_anew(self, connection, name):
        self.delete(connection, self.book.topics[name])
        return self.create(connection, name, 1, {"retention.ms": "-1"})


class Sequence:
    """A producer with an id, in one partition."""

    def __init__(self, id_, epoch, partition):
        self.id, self.epoch, self.partition = id_, epoch, partition
        self.next = 0
        self.last = None

    def batch(self, topic, number):
        value = value_of(f"id-{self.id}", topic.tag, self.partition, number)
        return batch([record(None, value)], producer=(self.id, self.epoch, number))


def text_of(id_):
    """As librdkafka prints it."""
    return base64.b64encode(id_).decode().rstrip("=")


STORMS = ["topics", "sized", "aged", "trimmed", "configs", "commits", "identified"]
