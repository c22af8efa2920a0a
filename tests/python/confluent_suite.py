"""confluent-kafka (librdkafka): every codec, groups with rebalances, commits, admin basics."""

import logging
import threading
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic, ResourceType

import confluent_transactions  # noqa: F401 - it registers its cases
from confluent_client import admin, topic
from suite import case, cases_for, check, eventually, main, records, same

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def produce(c, name, partitions, data, **config):
    """Sends record i to partition i % partitions; returns offsets by record."""
    settings = {"bootstrap.servers": c.bootstrap, **{k.replace("_", "."): v for k, v in config.items()}}
    producer = Producer(settings)
    offsets = {}
    errors = []
    for i, (key, value, headers, timestamp) in enumerate(data):

        def done(error, message, i=i):
            if error is not None:
                errors.append(error)
            else:
                offsets[i] = message.offset()

        while True:
            try:
                producer.produce(
                    name, value, key, i % partitions, on_delivery=done, timestamp=timestamp, headers=headers or None
                )
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    check(producer.flush(60) == 0, "not everything was delivered")
    same("delivery errors", [], errors)
    same("deliveries", len(data), len(offsets))
    return offsets


def read(c, name, partitions, count, **config):
    consumer = Consumer(
        {
            "bootstrap.servers": c.bootstrap,
            "group.id": c.name("reader"),
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **{k.replace("_", "."): v for k, v in config.items()},
        }
    )
    consumer.assign([TopicPartition(name, p, OFFSET_BEGINNING) for p in range(partitions)])
    got = []
    deadline = time.monotonic() + 30
    while len(got) < count and time.monotonic() < deadline:
        for message in consumer.consume(500, 0.3):
            check(message.error() is None, message.error())
            got.append(message)
    for message in consumer.consume(10, 0.2):
        check(message.error() is None, message.error())
        got.append(message)
    consumer.close()
    same("number of records", count, len(got))
    return got


def compare(data, partitions, offsets, got):
    at = {(m.partition(), m.offset()): m for m in got}
    same("distinct places", len(data), len(at))
    for i, (key, value, headers, timestamp) in enumerate(data):
        message = at[(i % partitions, offsets[i])]
        same("key", key, message.key())
        same("value", value, message.value())
        same("headers", headers, message.headers() or [])
        same("timestamp", timestamp, message.timestamp()[1])


@cases_for("codec", CODECS)
def codec(c, name):
    t = topic(c, "t", 3)
    data = records(400, name)
    offsets = produce(c, t, 3, data, compression_type=name, linger_ms=20)
    compare(data, 3, offsets, read(c, t, 3, 400))
    c.line("400 records, same bytes")


@cases_for("acks", [0, 1, -1])
def acks(c, level):
    t = topic(c, "t", 1)
    data = records(200, level)
    offsets = produce(c, t, 1, data, acks=level)
    got = read(c, t, 1, 200)
    if level == 0:
        same("values", [d[1] for d in data], [m.value() for m in got])
    else:
        compare(data, 1, offsets, got)
    c.line("200 records")


@case
def idempotent(c):
    t = topic(c, "t", 2)
    data = records(1000, 5)
    offsets = produce(c, t, 2, data, enable_idempotence=True, batch_size=500, linger_ms=0)
    same("offsets in order", list(range(500)), [offsets[i] for i in range(0, 1000, 2)])
    compare(data, 2, offsets, read(c, t, 2, 1000, check_crcs=True))


@case
def too_large(c):
    t = topic(c, "t", 1, max_message_bytes="2000")
    failures = []
    producer = Producer({"bootstrap.servers": c.bootstrap})
    producer.produce(t, bytes(range(256)) * 20, on_delivery=lambda e, m: failures.append(e))
    producer.flush(30)
    same("error", KafkaError.MSG_SIZE_TOO_LARGE, failures[0].code())
    c.line(failures[0].name())


class Heard(logging.Handler):
    """What a consumer's log says of its heartbeats: how many were sent, and how many are answered."""

    def __init__(self):
        super().__init__()
        self.sent = self.answered = 0

    def emit(self, record):
        text = record.getMessage()
        self.sent += "ConsumerGroupHeartbeat of member id" in text
        self.answered += "ConsumerGroupHeartbeat response received" in text


@case
def join_of_the_consumer_protocol(c):
    """A member that joins is told once, with all of its partitions (KIP-848). It acknowledges no empty assignment, so the
    next it would hear is with its second heartbeat."""
    t = topic(c, "t", 2)
    owned, at_first = {}, {}

    def member(name):
        heard = Heard()
        logger = logging.Logger(name, logging.DEBUG)
        logger.addHandler(heard)
        settings = {
            "bootstrap.servers": c.bootstrap, "group.id": c.name("g"), "group.protocol": "consumer", "debug": "cgrp",
        }
        consumer = Consumer(settings, logger=logger)
        owned[name] = set()

        def assigned(_, partitions):
            at_first.setdefault(name, heard.answered)
            owned[name] |= {p.partition for p in partitions}

        def revoked(_, partitions):
            owned[name] -= {p.partition for p in partitions}

        consumer.subscribe([t], on_assign=assigned, on_revoke=revoked)
        return consumer, heard

    first, heard = member("first")
    eventually("the first has all", 30, lambda: first.poll(0.05) is None and len(owned["first"]) == 2)
    if c.target == "thalweg":
        # It is told at once to give a partition up if its heartbeat is held.
        looks = []

        def is_held():
            first.poll(0.05)
            looks.append(heard.sent > heard.answered)
            return len(looks) > 10 and all(looks[-10:])

        eventually("a heartbeat is held", 30, is_held)
    second, _ = member("second")

    def has_one():
        first.poll(0.01)
        second.poll(0.01)
        return [len(owned[name]) for name in ("first", "second")] == [1, 1]

    eventually("each has one", 30, has_one)
    if c.target == "thalweg":
        same("heartbeats of the second until it has a partition", 1, at_first["second"])
    c.line(f"{len(owned['first'])} and {len(owned['second'])}")
    second.close()
    first.close()


@cases_for("group", ["range", "roundrobin", "cooperative-sticky", "consumer"])
def group(c, strategy):
    """Members join and leave under load; every record arrives exactly once."""
    t = topic(c, "t", 6)
    name = c.name("g")
    seen = {}
    lock = threading.Lock()
    failures = []

    if strategy == "consumer":
        protocol = {"group.protocol": "consumer"}
    else:
        protocol = {
            "partition.assignment.strategy": strategy,
            "heartbeat.interval.ms": 200,
            "session.timeout.ms": 10000,
        }

    class Member:
        def __init__(self):
            self.stop = threading.Event()
            self.owned = 0
            self.thread = threading.Thread(target=self.loop, daemon=True)
            self.thread.start()

        def loop(self):
            try:
                consumer = Consumer(
                    {
                        "bootstrap.servers": c.bootstrap,
                        "group.id": name,
                        "auto.offset.reset": "earliest",
                        "enable.auto.commit": False,
                        "fetch.wait.max.ms": 50,
                        **protocol,
                    }
                )

                def commit(the_consumer, partitions):
                    if the_consumer.assignment():
                        try:
                            the_consumer.commit(asynchronous=False)
                        except KafkaException as error:
                            if error.args[0].code() != KafkaError._NO_OFFSET:
                                raise

                consumer.subscribe([t], on_revoke=commit)
                while not self.stop.is_set():
                    for message in consumer.consume(100, 0.05):
                        check(message.error() is None, message.error())
                        with lock:
                            seen.setdefault((message.partition(), message.offset()), []).append(message.value())
                    self.owned = len(consumer.assignment())
                commit(consumer, [])
                consumer.close()
                self.owned = 0
            except BaseException as error:
                failures.append(error)

        def leave(self):
            self.stop.set()
            self.thread.join(30)
            check(not self.thread.is_alive(), "member did not stop")

    delivered = {}
    producing = threading.Event()

    def load():
        producer = Producer({"bootstrap.servers": c.bootstrap, "enable.idempotence": True, "linger.ms": 2})
        i = 0
        while not producing.is_set():
            value = b"s%d" % i

            def done(error, message, value=value):
                if error is not None:
                    failures.append(error)
                else:
                    delivered[(message.partition(), message.offset())] = value

            producer.produce(t, value, partition=i % 6, on_delivery=done)
            producer.poll(0)
            i += 1
            time.sleep(0.003)
        producer.flush(30)

    loader = threading.Thread(target=load, daemon=True)
    loader.start()

    def balanced(members):
        return lambda: failures or sorted(m.owned for m in members) == [6 // len(members)] * len(members)

    first = Member()
    eventually("one member", 30, balanced([first]))
    second = Member()
    eventually("two members", 30, balanced([first, second]))
    third = Member()
    eventually("three members", 30, balanced([first, second, third]))
    first.leave()
    eventually("two of three", 30, balanced([second, third]))
    second.leave()
    eventually("one of three", 30, balanced([third]))
    producing.set()
    loader.join(40)
    eventually("all seen", 30, lambda: failures or len(seen) >= len(delivered))
    third.leave()
    same("failures", [], failures)
    same("records", sorted(delivered), sorted(seen))
    for place, value in delivered.items():
        same(f"values at {place}", [value], seen[place])
    committed = Consumer({"bootstrap.servers": c.bootstrap, "group.id": name}).committed(
        [TopicPartition(t, p) for p in range(6)], 20
    )
    for one in committed:
        same("committed", sum(1 for p, _ in delivered if p == one.partition), one.offset)
    c.line("every record once through 5 rebalances")


@case
def static_member(c):
    t = topic(c, "t", 2)
    settings = {
        "bootstrap.servers": c.bootstrap,
        "group.id": c.name("g"),
        "group.instance.id": "one",
        "session.timeout.ms": 30000,
        "auto.offset.reset": "earliest",
    }
    produce(c, t, 2, records(10, 1))
    for round_ in range(2):
        consumer = Consumer(settings)
        consumer.subscribe([t])
        eventually("assigned", 20, lambda: consumer.poll(0.1) is not None or len(consumer.assignment()) == 2)
        eventually("both", 20, lambda: consumer.poll(0.1) is None and len(consumer.assignment()) == 2)
        consumer.close()
    a = admin(c)
    state = a.describe_consumer_groups([c.name("g")])[c.name("g")].result(10)
    c.line(f"{state.state.name} with {[m.group_instance_id for m in state.members]}")


@case
def commit_and_committed(c):
    t = topic(c, "t", 1)
    consumer = Consumer({"bootstrap.servers": c.bootstrap, "group.id": c.name("g")})
    partition = TopicPartition(t, 0)
    c.line(f"before {consumer.committed([partition], 20)[0].offset}")
    consumer.commit(offsets=[TopicPartition(t, 0, 42, "meta")], asynchronous=False)
    found = consumer.committed([partition], 20)[0]
    c.line(f"after {found.offset} {found.metadata}")
    consumer.close()


@case
def offsets_and_times(c):
    t = topic(c, "t", 1)
    data = [(None, b"%d" % i, [], 1_700_000_000_000 + i * 10) for i in range(50)]
    produce(c, t, 1, data, compression_type="lz4", linger_ms=50)
    consumer = Consumer({"bootstrap.servers": c.bootstrap, "group.id": c.name("g")})
    c.line(f"watermarks {consumer.get_watermark_offsets(TopicPartition(t, 0), 20)}")
    for time_ in (0, 1_700_000_000_105, 1_800_000_000_000):
        c.line(f"at {time_}: {consumer.offsets_for_times([TopicPartition(t, 0, time_)], 20)[0].offset}")
    consumer.close()


@case
def admin_basics(c):
    a = admin(c)
    t = topic(c, "t", 2)
    a.create_partitions([NewPartitions(t, 4)])[t].result(20)
    eventually("4 partitions", 10, lambda: len(a.list_topics(t, timeout=10).topics[t].partitions) == 4)
    resource = ConfigResource(ResourceType.TOPIC, t)
    resource.add_incremental_config(ConfigEntry("retention.ms", "123456", incremental_operation=AlterConfigOpType.SET))
    a.incremental_alter_configs([resource])[resource].result(20)

    def retention():
        wanted = ConfigResource(ResourceType.TOPIC, t)
        return a.describe_configs([wanted])[wanted].result(20)["retention.ms"].value

    eventually("config", 10, lambda: retention() == "123456")
    described = a.describe_cluster().result(20)
    c.line(f"nodes {[n.id for n in described.nodes]} controller {described.controller.id}")
    try:
        a.create_topics([NewTopic(t, 1, 1)])[t].result(20)
    except KafkaException as error:
        c.line(error.args[0].name())
    groups = a.list_consumer_groups().result(20)
    same("errors", [], groups.errors)
    a.delete_topics([t])[t].result(20)
    eventually("gone", 10, lambda: t not in a.list_topics(timeout=10).topics)


@case
def auto_created_topic(c):
    t = c.name("t")
    produce(c, t, 1, records(10, 3))
    same("records", 10, len(read(c, t, 1, 10)))


@case
def compacted_topic(c):
    """Old values vanish, the last of each key stays where it was; producers and readers go on."""
    settings = {"cleanup_policy": "compact", "min_cleanable_dirty_ratio": "0.01", "segment_ms": "200"}
    t = topic(c, "t", 1, **settings)

    def batch(first):
        data = [(b"key %d" % (i % 7), b"%d " % i + b"v" * 200, [], 1_700_000_000_000 + i) for i in range(first, first + 210)]
        return produce(c, t, 1, data, enable_idempotence=True, compression_type="lz4", linger_ms=5), data

    offsets, data = batch(0)
    last = {key: (offsets[i], value) for i, (key, value, _, _) in enumerate(data)}
    same("keys", 7, len(last))
    time.sleep(0.3)
    # The next record begins a new segment, and only those before it are compacted.
    produce(c, t, 1, [(b"another", b"value", [], 1_700_000_001_000)])

    def found():
        consumer = Consumer({"bootstrap.servers": c.bootstrap, "group.id": c.name("reader"), "enable.auto.commit": False})
        try:
            end = consumer.get_watermark_offsets(TopicPartition(t, 0), 20)[1]
            consumer.assign([TopicPartition(t, 0, OFFSET_BEGINNING)])
            got, deadline = [], time.monotonic() + 20
            while (not got or got[-1].offset() < end - 1) and time.monotonic() < deadline:
                for message in consumer.consume(500, 0.3):
                    check(message.error() is None, message.error())
                    got.append(message)
            return got
        finally:
            consumer.close()

    # A thread that found nothing to do rests for log.cleaner.backoff.ms, a quarter of a minute.
    eventually("compaction", 90, lambda: (time.sleep(0.5), len(found()))[1] == 8)
    got = found()
    same("places and values", {**last, b"another": (210, b"value")}, {m.key(): (m.offset(), m.value()) for m in got})
    offsets, data = batch(210)
    same("the next offset", 211, offsets[0])
    same("records", 8 + 210, len(found()))
    c.line("8 of 211 records stay")


if __name__ == "__main__":
    main("confluent")
