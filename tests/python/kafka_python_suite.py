"""kafka-python (pure Python): every codec, groups with rebalances, commits, admin basics."""

import threading
import time

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import KafkaError, TopicAlreadyExistsError
from kafka.structs import OffsetAndMetadata

from suite import case, cases_for, check, eventually, main, records, same

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}


def topic(c, what, partitions):
    name = c.name(what)
    admin = KafkaAdminClient(bootstrap_servers=c.bootstrap)
    admin.create_topics([NewTopic(name, partitions, 1)])
    admin.close()
    consumer = KafkaConsumer(bootstrap_servers=c.bootstrap)

    def visible():
        try:
            if consumer.partitions_for_topic(name) != set(range(partitions)):
                return False
            return len(consumer.end_offsets([TopicPartition(name, p) for p in range(partitions)])) == partitions
        except KafkaError:
            return False

    eventually("topic visible", 20, visible)
    consumer.close()
    return name


def produce(c, name, partitions, data, **config):
    producer = KafkaProducer(bootstrap_servers=c.bootstrap, **config)
    pending = [
        producer.send(name, value, key, headers, i % partitions, timestamp)
        for i, (key, value, headers, timestamp) in enumerate(data)
    ]
    producer.flush(60)
    offsets = [one.get(30).offset for one in pending]
    producer.close(20)
    return offsets


def read(c, name, partitions, count, **config):
    consumer = KafkaConsumer(bootstrap_servers=c.bootstrap, auto_offset_reset="earliest", **config)
    all_partitions = [TopicPartition(name, p) for p in range(partitions)]
    consumer.assign(all_partitions)
    consumer.seek_to_beginning(*all_partitions)
    for partition in all_partitions:
        # Resolved here: a short poll gives the client too little time for it on a busy machine.
        consumer.position(partition)
    got = []
    deadline = time.monotonic() + 30
    while len(got) < count and time.monotonic() < deadline:
        for batch in consumer.poll(timeout_ms=300).values():
            got += batch
    for batch in consumer.poll(timeout_ms=100).values():
        got += batch
    consumer.close()
    same("number of records", count, len(got))
    return got


@cases_for("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def codec(c, name):
    t = topic(c, "t", 3)
    data = records(300, name)
    offsets = produce(c, t, 3, data, compression_type=None if name == "none" else name, linger_ms=20)
    at = {(r.partition, r.offset): r for r in read(c, t, 3, 300)}
    for i, (key, value, headers, timestamp) in enumerate(data):
        record = at[(i % 3, offsets[i])]
        same("key", key, record.key)
        same("value", value, record.value)
        same("headers", headers, list(record.headers))
        same("timestamp", timestamp, record.timestamp)
    c.line("300 records, same bytes")


@cases_for("acks", [0, 1, "all"])
def acks(c, level):
    t = topic(c, "t", 1)
    data = records(100, 1)
    produce(c, t, 1, data, acks=level, enable_idempotence=False)
    same("values", [d[1] for d in data], [r.value for r in read(c, t, 1, 100)])


@case
def idempotent(c):
    t = topic(c, "t", 1)
    data = [(None, b"%d" % i, [], None) for i in range(500)]
    same("offsets", list(range(500)), produce(c, t, 1, data, enable_idempotence=True, batch_size=300))
    same("values", [d[1] for d in data], [r.value for r in read(c, t, 1, 500)])


@cases_for("group", sorted(ASSIGNORS))
def group(c, strategy):
    """Three members join one by one, one leaves; every record arrives exactly once."""
    t = topic(c, "t", 6)
    name = c.name("g")
    seen = {}
    lock = threading.Lock()
    failures = []

    class Member:
        def __init__(self):
            self.stop = threading.Event()
            self.owned = 0
            self.thread = threading.Thread(target=self.loop, daemon=True)
            self.thread.start()

        def loop(self):
            try:
                consumer = KafkaConsumer(
                    t,
                    bootstrap_servers=c.bootstrap,
                    group_id=name,
                    auto_offset_reset="earliest",
                    enable_auto_commit=False,
                    partition_assignment_strategy=[ASSIGNORS[strategy]],
                    heartbeat_interval_ms=200,
                    session_timeout_ms=10000,
                    fetch_max_wait_ms=50,
                )
                while not self.stop.is_set():
                    batches = consumer.poll(timeout_ms=50)
                    with lock:
                        for batch in batches.values():
                            for record in batch:
                                place = (record.partition, record.offset)
                                seen.setdefault(place, []).append(record.value)
                    if batches:
                        consumer.commit()
                    self.owned = len(consumer.assignment())
                consumer.close()
                self.owned = 0
            except BaseException as error:
                failures.append(error)

    def balanced(members):
        return lambda: failures or sorted(m.owned for m in members) == [6 // len(members)] * len(members)

    data = [(None, b"v%d" % i, [], None) for i in range(600)]
    members = []
    expected = {}
    for part in range(3):
        members.append(Member())
        eventually(f"{len(members)} members", 40, balanced(members))
        offsets = produce(c, t, 6, data[part * 198 : part * 198 + 198])
        for i, offset in enumerate(offsets):
            expected[(i % 6, offset)] = data[part * 198 + i][1]
        eventually("all seen", 30, lambda: failures or len(seen) >= len(expected))
    members[0].stop.set()
    members[0].thread.join(20)
    eventually("two of three", 40, balanced(members[1:]))
    same("failures", [], failures)
    same("places", sorted(expected), sorted(seen))
    for place, value in expected.items():
        same(f"values at {place}", [value], seen[place])
    for member in members[1:]:
        member.stop.set()
        member.thread.join(20)
    c.line("every record once")


@case
def commits(c):
    t = topic(c, "t", 1)
    partition = TopicPartition(t, 0)
    consumer = KafkaConsumer(bootstrap_servers=c.bootstrap, group_id=c.name("g"), enable_auto_commit=False)
    consumer.assign([partition])
    c.line(f"before {consumer.committed(partition)}")
    consumer.commit({partition: OffsetAndMetadata(7, "meta", -1)})
    c.line(f"after {consumer.committed(partition)}")
    consumer.close()


@case
def offsets_and_times(c):
    t = topic(c, "t", 1)
    produce(c, t, 1, [(None, b"%d" % i, [], 1_700_000_000_000 + i * 10) for i in range(50)], compression_type="gzip")
    consumer = KafkaConsumer(bootstrap_servers=c.bootstrap)
    partition = TopicPartition(t, 0)
    c.line(f"{consumer.beginning_offsets([partition])[partition]} {consumer.end_offsets([partition])[partition]}")
    for time_ in (0, 1_700_000_000_105, 1_800_000_000_000):
        found = consumer.offsets_for_times({partition: time_})[partition]
        c.line(f"at {time_}: {found.offset if found else None}")
    consumer.close()


@case
def admin_basics(c):
    t = topic(c, "t", 2)
    admin = KafkaAdminClient(bootstrap_servers=c.bootstrap)
    check(t in admin.list_topics(), "topic is not listed")
    described = admin.describe_topics([t])[0]
    c.line(f"partitions {len(described['partitions'])}")
    try:
        admin.create_topics([NewTopic(t, 1, 1)])
        c.line("created twice")
    except TopicAlreadyExistsError as error:
        c.line(type(error).__name__)
    c.line(f"brokers {len(admin.describe_cluster()['brokers'])}")
    admin.delete_topics([t])
    eventually("gone", 10, lambda: t not in admin.list_topics())
    admin.close()


if __name__ == "__main__":
    main("kafka-python", parallel=3)
