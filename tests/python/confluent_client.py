"""What the cases with confluent-kafka share: an admin client, topics that are there, their ends, and what is in them."""

import time

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from suite import check, eventually, same

LEVELS = {"read_committed": IsolationLevel.READ_COMMITTED, "read_uncommitted": IsolationLevel.READ_UNCOMMITTED}


def admin(c):
    return AdminClient({"bootstrap.servers": c.bootstrap})


def topic(c, what, partitions, **config):
    name = c.name(what)
    settings = {k.replace("_", "."): v for k, v in config.items()}
    a = admin(c)
    a.create_topics([NewTopic(name, partitions, 1, config=settings)])[name].result(30)

    def visible():
        found = a.list_topics(name, timeout=10).topics[name]
        if found.error is not None or len(found.partitions) != partitions:
            return False
        spec = {TopicPartition(name, p): OffsetSpec.latest() for p in range(partitions)}
        try:
            return all(f.result(10) is not None for f in a.list_offsets(spec).values())
        except KafkaException:
            return False

    eventually("topic visible", 15, visible)
    return name


def ends(c, name, partitions, level):
    """Where readers of an isolation level come to an end, by partition."""
    spec = {TopicPartition(name, p): OffsetSpec.latest() for p in range(partitions)}
    # What is asked for comes only while its client lives.
    asked = admin(c)
    found = asked.list_offsets(spec, isolation_level=LEVELS[level])
    return {partition.partition: future.result(20).offset for partition, future in found.items()}


def settled(c, name, partitions):
    """Waits for the end of all transactions: a producer hears of one before the markers are written."""
    seen = {}

    def is_settled():
        seen.update({level: ends(c, name, partitions, level) for level in LEVELS})
        return seen["read_committed"] == seen["read_uncommitted"]

    eventually("the last stable offset is the end", 20, is_settled)


def read_to_end(c, name, partitions, level):
    """All messages of each partition up to where readers of an isolation level come to an end."""
    consumer = Consumer({
        "bootstrap.servers": c.bootstrap, "group.id": c.name("reader"), "isolation.level": level,
        "enable.partition.eof": True, "enable.auto.commit": False, "check.crcs": True, "fetch.wait.max.ms": 50,
    })  # fmt: skip
    consumer.assign([TopicPartition(name, p, 0) for p in range(partitions)])
    found, ended = {p: [] for p in range(partitions)}, set()
    deadline = time.monotonic() + 30
    while len(ended) < partitions:
        check(time.monotonic() < deadline, f"only the ends of {ended} are reached")
        for message in consumer.consume(500, 0.3):
            if message.error() is None:
                found[message.partition()].append(message)
            else:
                same("error", KafkaError._PARTITION_EOF, message.error().code())
                ended.add(message.partition())
    consumer.close()
    return found
