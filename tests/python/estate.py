"""What a broker holds, and a book of what it should hold.

`Estate.fill` changes a bit of everything on a running broker and writes it down; `Estate.verify`
reads everything back and compares. The broker may be another one each time, on the same directory.
"""

import random
import struct
import time

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from confluent_kafka import TopicCollection

from suite import check, eventually, eventually_with, records, same
from wire import Connection, Reader, array, batch, data, header, i8, i16, i32, i64, record, string

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
MAIN, SIDE, TXN = "main", "side", "txn"
READERS, KEEPER, MODERN = "readers", "keeper", "modern"
PRODUCE, LIST_OFFSETS, INIT_PRODUCER_ID, DESCRIBE_CONFIGS, ALTER_CONFIGS = 0, 2, 22, 32, 44
DESCRIBE_QUOTAS, ALTER_QUOTAS = 48, 49
BROKER_RESOURCE, GROUP_RESOURCE, METRICS_RESOURCE = 4, 32, 16


class Estate:
    """The book, and the clients to check it with."""

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap
        self.host, port = bootstrap.rsplit(":", 1)
        self.port = int(port)
        self.cluster = None
        self.topics = {}  # name -> (id, partitions)
        self.configs = {}  # (resource type, name) -> {config: value}
        self.records = {}  # (topic, partition) -> [(offset, timestamp, key, value, headers)]
        self.starts = {}  # (topic, partition) -> first offset
        self.resting = set()  # topics that get no more records
        self.aborted = {}  # (topic, partition) -> offsets that only read_uncommitted shows
        self.commits = {}  # group -> {(topic, partition): (offset, metadata)}
        self.gone_groups = set()
        self.gone_topics = set()
        self.quotas = {}  # user -> {key: value}
        self.scram = set()
        self.producers = []  # [id, epoch, next sequence, offset of the last batch]
        self.highest_producer = -1

    # ---- clients ----

    def admin(self):
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def consumer(self, **config):
        settings = {
            "bootstrap.servers": self.bootstrap,
            "group.id": "book",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "check.crcs": True,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 20,
            "log_level": 0,
        }
        return Consumer({**settings, **{k.replace("_", "."): v for k, v in config.items()}})

    def connection(self):
        return Connection(self, seconds=30)

    # ---- changes ----

    def fill(self, step, kafka, clean):
        """A bit of everything. `kafka`: also what only Apache Kafka can write. `clean`: the broker
        will be stopped in good order, so that also what is checkpointed now and then is kept."""
        admin = self.admin()
        if step == 1:
            # A new cluster has configs of its own: they stay, too.
            self.configs[(BROKER_RESOURCE, "")] = self.dynamic(BROKER_RESOURCE, "")
        for name, partitions in ((MAIN, 2), (SIDE, 1), (f"extra-{step}", 3)):
            if name not in self.topics:
                self.create(admin, name, partitions)
        self.delete_topics(admin, step)
        self.produce(step)
        self.produce_raw()
        self.alter_configs(admin, step)
        if clean:
            self.delete_records(admin, step)
        self.groups(admin, step)
        if kafka:
            self.only_kafka(admin, step)

    def create(self, admin, name, partitions, config=None):
        # Most records here have timestamps of long ago.
        config = {"max.message.bytes": "2000000", "retention.ms": "-1"} if config is None else config
        admin.create_topics([NewTopic(name, partitions, 1, config=config)])[name].result(30)
        self.led(name, partitions)
        found = admin.describe_topics(TopicCollection([name]))[name].result(30)
        self.topics[name] = (str(found.topic_id), partitions)
        self.configs[(ResourceType.TOPIC, name)] = dict(config)
        for p in range(partitions):
            self.records[(name, p)] = []
            self.starts[(name, p)] = 0

    def led(self, name, partitions):
        """Waits until every partition tells its end."""
        body = i32(-1) + array([string(name) + array([i32(p) + i64(-1) for p in range(partitions)])])
        last = []

        def answered():
            reader = Reader(connection.call(header(LIST_OFFSETS, 1) + body))
            reader.i32()
            reader.string()
            last.clear()
            for _ in range(reader.i32()):
                reader.i32()
                last.append(reader.i16())
                reader.i64(), reader.i64()
            return set(last) == {0}

        with self.connection() as connection:
            eventually_with(f"topic {name} is led", last, answered)

    def delete_topics(self, admin, step):
        """One topic that goes, and one that goes and comes back with another id."""
        gone = f"gone-{step}"
        before = self.topics.get("reborn", (None, 0))[0]
        self.create(admin, gone, 2)
        self.send([(gone, 1, b"k", b"lost", [], 1_700_000_000_000)], "none")
        admin.delete_topics([gone])[gone].result(30)
        if before is not None:
            admin.delete_topics(["reborn"])["reborn"].result(30)
            eventually("the topic is gone", 30, lambda: "reborn" not in admin.list_topics(timeout=10).topics)
        self.create(admin, "reborn", 1)
        check(self.topics["reborn"][0] != before, "a new topic has the old id")
        for key in [key for key in self.records if key[0] == gone]:
            del self.records[key], self.starts[key]
        del self.topics[gone], self.configs[(ResourceType.TOPIC, gone)]
        self.gone_topics.add(gone)

    def produce(self, step):
        """Every codec to every topic, and enough noise for a new segment."""
        for seed, codec in enumerate(CODECS):
            out = []
            for name in sorted(set(self.topics) - self.resting):
                for key, value, headers, timestamp in records(20, step * 100 + seed):
                    out.append((name, len(out) % self.topics[name][1], key, value, headers, timestamp))
            self.send(out, codec)
        rng = random.Random(step)
        self.send([(MAIN, 0, b"noise", rng.randbytes(200_000), [], 1_700_000_001_000 + i) for i in range(8)], "none")

    def send(self, out, codec, **config):
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "enable.idempotence": True,
                "compression.type": codec,
                "message.max.bytes": 2_000_000,
                "linger.ms": 5,
                "batch.num.messages": 7,
                "log_level": 0,
                **config,
            }
        )
        failures = []
        for name, p, key, value, headers, timestamp in out:

            def done(error, message, entry=(name, p, key, value, headers, timestamp)):
                if error is not None:
                    failures.append(str(error))
                    return
                name, p, key, value, headers, timestamp = entry
                self.records[(name, p)].append((message.offset(), timestamp, key, value, headers))

            producer.produce(name, value, key, p, on_delivery=done, timestamp=timestamp, headers=headers)
        same("records without an answer", 0, producer.flush(60))
        same("failures", [], failures[:3])

    def produce_raw(self):
        """Idempotent producers that live on: their next sequence follows, the last one again is
        recognised."""
        with self.connection() as connection:
            reader = Reader(connection.call(header(INIT_PRODUCER_ID, 0) + string(None) + i32(60_000)))
            reader.i32()
            same("error of InitProducerId", 0, reader.i16())
            id_, epoch = reader.i64(), reader.i16()
            check(id_ > self.highest_producer, f"producer id {id_} was given out before")
            self.highest_producer = id_
            self.producers.append([id_, epoch, 0, None])
            for producer in self.producers:
                self.again(connection, producer)
                id_, epoch, sequence, _ = producer
                value = b"%d/%d" % (id_, sequence)
                # Of now: what a producer left a day ago is forgotten.
                timestamp = int(time.time() * 1000)
                offset = self.produce_one(connection, id_, epoch, sequence, value, timestamp)
                self.records[(SIDE, 0)].append((offset, timestamp, None, value, []))
                producer[2:] = [sequence + 1, offset]

    def again(self, connection, producer):
        id_, epoch, sequence, offset = producer
        if offset is None:
            return
        last = self.produce_one(connection, id_, epoch, sequence - 1, b"%d/%d" % (id_, sequence - 1), int(time.time() * 1000))
        same(f"offset of the last batch of producer {id_}, sent again", offset, last)

    @staticmethod
    def produce_one(connection, id_, epoch, sequence, value, timestamp):
        one = batch([record(None, value)], producer=(id_, epoch, sequence), timestamp=timestamp)
        body = string(None) + i16(-1) + i32(10_000) + array([string(SIDE) + array([i32(0) + data(one)])])
        reader = Reader(connection.call(header(PRODUCE, 7) + body))
        reader.i32()
        reader.string()
        reader.i32()
        reader.i32()
        same(f"error of producer {id_} at sequence {sequence}", 0, reader.i16())
        return reader.i64()

    def alter_configs(self, admin, step):
        self.alter(admin, ResourceType.TOPIC, MAIN, {"retention.bytes": str(10**9 + step), "flush.ms": "60000"})
        self.alter(admin, ResourceType.TOPIC, MAIN, {"flush.ms": None})
        self.alter(admin, ResourceType.TOPIC, SIDE, {"cleanup.policy": "delete", "min.cleanable.dirty.ratio": f"0.{step}"})
        self.alter(admin, ResourceType.BROKER, "1", {"leader.replication.throttled.rate": str(10**6 + step)})
        self.alter(admin, ResourceType.BROKER, "", {"message.max.bytes": str(2_000_000 + step)})
        self.alter_raw(GROUP_RESOURCE, f"modern-{step}", {"consumer.session.timeout.ms": str(50_000 + step)})
        self.alter_raw(METRICS_RESOURCE, f"metrics-{step}", {"interval.ms": str(10_000 + step)})
        self.quota(f"user-{step}", {"producer_byte_rate": 1e6 + step, "request_percentage": 150.5})
        if step > 1:
            self.quota(f"user-{step - 1}", {"request_percentage": None})

    def alter(self, admin, kind, name, changes):
        entries = [
            ConfigEntry(
                config,
                value,
                incremental_operation=AlterConfigOpType.SET if value is not None else AlterConfigOpType.DELETE,
            )
            for config, value in changes.items()
        ]
        resource = ConfigResource(kind, name or "<default>", incremental_configs=entries)
        if name:
            admin.incremental_alter_configs([resource])[resource].result(30)
        else:
            self.alter_raw(BROKER_RESOURCE, "", changes, note=False)
        self.note(kind if name else BROKER_RESOURCE, name, changes)

    def note(self, kind, name, changes):
        held = self.configs.setdefault((kind, name), {})
        for config, value in changes.items():
            if value is None:
                held.pop(config, None)
            else:
                held[config] = value

    def alter_raw(self, kind, name, changes, note=True):
        """IncrementalAlterConfigs version 0, for the resources that the client has no name for."""
        configs = [string(config) + i8(0 if value is not None else 1) + string(value) for config, value in changes.items()]
        with self.connection() as connection:
            body = array([i8(kind) + string(name) + array(configs)]) + i8(0)
            reader = Reader(connection.call(header(ALTER_CONFIGS, 0) + body))
        reader.i32()
        reader.i32()
        same(f"error of configs of {kind} '{name}'", 0, reader.i16())
        if note:
            self.note(kind, name, changes)

    def quota(self, user, changes):
        entity = array([string("user") + string(user)])
        ops = array([string(k) + struct.pack(">d", v or 0.0) + i8(v is None) for k, v in changes.items()])
        with self.connection() as connection:
            reader = Reader(connection.call(header(ALTER_QUOTAS, 0) + array([entity + ops]) + i8(0)))
        reader.i32()
        reader.i32()
        same("error of quotas", 0, reader.i16())
        held = self.quotas.setdefault(user, {})
        for key, value in changes.items():
            if value is None:
                held.pop(key, None)
            else:
                held[key] = value

    def delete_records(self, admin, step):
        before = 3 * step
        admin.delete_records([TopicPartition(MAIN, 1, before)])[TopicPartition(MAIN, 1)].result(30)
        self.starts[(MAIN, 1)] = before
        self.records[(MAIN, 1)] = [one for one in self.records[(MAIN, 1)] if one[0] >= before]

    def groups(self, admin, step):
        """A member that stays in its group by name, offsets without members, a group that goes."""
        self.read_on(READERS, "classic", group_instance_id="fixed")
        held = self.commits.setdefault(KEEPER, {})
        wanted = {(SIDE, 0): (step, ""), (f"extra-{step}", 2): (2, "")}
        self.commit(admin, KEEPER, wanted)
        held.update(wanted)
        gone = f"gone-group-{step}"
        self.commit(admin, gone, {(SIDE, 0): (1, "")})
        admin.delete_consumer_groups([gone])[gone].result(30)
        self.gone_groups.add(gone)

    @staticmethod
    def commit(admin, group, offsets):
        wanted = [TopicPartition(name, p, offset) for (name, p), (offset, _) in offsets.items()]
        request = [ConsumerGroupTopicPartitions(group, wanted)]

        def done():
            try:
                for future in admin.alter_consumer_group_offsets(request).values():
                    check(all(one.error is None for one in future.result(30).topic_partitions), "not committed")
                return True
            except KafkaException:
                return False  # the coordinator is loading

        eventually(f"offsets of {group} are committed", 30, done)

    def read_on(self, group, protocol, **config):
        """A member reads on from what is committed to the end of the topic and commits."""
        more = {"session_timeout_ms": 30_000} if protocol == "classic" else {}
        reader = self.consumer(
            group_id=group, auto_offset_reset="earliest", group_protocol=protocol, enable_partition_eof=False, **config, **more
        )
        held = self.commits.setdefault(group, {})
        expected = [
            (p, one[0], one[3])
            for p in range(2)
            for one in self.records[(MAIN, p)]
            if one[0] >= held.get((MAIN, p), (0, ""))[0]
        ]
        got = []
        reader.subscribe([MAIN])

        def arrived():
            for message in reader.consume(500, 0.2):
                if message.error() is None:
                    got.append((message.partition(), message.offset(), message.value()))
            return len(got) >= len(expected)

        try:
            eventually(f"group {group} reads on", 60, arrived)
            same(f"what group {group} was given", sorted(expected), sorted(got))
            ends = {p: self.records[(MAIN, p)][-1][0] + 1 for p in range(2)}
            wanted = [TopicPartition(MAIN, p, end, metadata=f"m{end}") for p, end in ends.items()]
            check(all(one.error is None for one in reader.commit(offsets=wanted, asynchronous=False)), "not committed")
            held.update({(MAIN, p): (end, f"m{end}") for p, end in ends.items()})
        finally:
            reader.close()

    def only_kafka(self, admin, step):
        """What only Apache Kafka writes so far: it must survive all the same."""
        if TXN not in self.topics:
            self.create(admin, TXN, 1)
        self.transaction(step)
        self.read_on(MODERN, "consumer")
        user = f"scram-{step}"
        credential = UserScramCredentialUpsertion(user, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), b"secret")
        admin.alter_user_scram_credentials([credential])[user].result(30)
        self.scram.add(user)

    def transaction(self, step):
        """One transaction that is committed and one that is aborted."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "transactional.id": "mover", "log_level": 0})
        producer.init_transactions(60)
        for commit in (True, False, True):
            producer.begin_transaction()
            offsets = []
            for i in range(3):
                value = b"%d %s %d" % (step, b"kept" if commit else b"aborted", i)

                def done(error, message, value=value):
                    check(error is None, f"{error}")
                    offsets.append((message.offset(), 1_700_000_000_000, None, value, []))

                producer.produce(TXN, value, partition=0, timestamp=1_700_000_000_000, on_delivery=done)
            same("records without an answer", 0, producer.flush(60))
            self.records[(TXN, 0)] += offsets
            if commit:
                producer.commit_transaction(60)
            else:
                producer.abort_transaction(60)
                self.aborted.setdefault((TXN, 0), set()).update(one[0] for one in offsets)

    # ---- checks ----

    def verify(self, kafka):
        """Everything in the book is on the broker. `kafka`: also what only Apache Kafka tells."""
        admin = self.admin()
        cluster = admin.describe_cluster().result(30).cluster_id
        same("cluster id", self.cluster or cluster, cluster)
        self.cluster = cluster
        self.verify_topics(admin)
        self.verify_records()
        self.verify_configs(admin)
        self.verify_groups(admin)
        with self.connection() as connection:
            for producer in self.producers:
                self.again(connection, producer)
        if kafka and self.scram:
            found = admin.describe_user_scram_credentials()
            found = found.result(30) if hasattr(found, "result") else {k: v.result(30) for k, v in found.items()}
            same("SCRAM users", sorted(self.scram), sorted(found))

    def verify_topics(self, admin):
        listed = [name for name in admin.list_topics(timeout=20).topics if not name.startswith("__")]
        same("topics", sorted(self.topics), sorted(listed))
        for name, (id_, partitions) in self.topics.items():
            self.led(name, partitions)
            found = admin.describe_topics(TopicCollection([name]))[name].result(30)
            same(f"id and partitions of {name}", (id_, partitions), (str(found.topic_id), len(found.partitions)))

    def verify_records(self):
        for isolation in ("read_uncommitted", "read_committed"):
            reader = self.consumer(isolation_level=isolation)
            try:
                got = self.read_all(reader)
            finally:
                reader.close()
            for place, expected in self.records.items():
                if isolation == "read_committed":
                    expected = [one for one in expected if one[0] not in self.aborted.get(place, ())]
                if got[place] != expected:
                    offsets = ([one[0] for one in expected], [one[0] for one in got[place]])
                    same(f"offsets of {place}, {isolation}", *offsets)
                    for wanted, there in zip(expected, got[place]):
                        same(f"record of {place}, {isolation}", wanted, there)

    @staticmethod
    def start_of(reader, place):
        return reader.get_watermark_offsets(TopicPartition(*place), 30)[0]

    def read_all(self, reader):
        """Every partition from its start to its end."""
        got = {place: [] for place in self.records}
        parts = []
        for place in self.records:
            low, high = reader.get_watermark_offsets(TopicPartition(*place), 30)
            same(f"start of {place}", self.starts[place], low)
            # An empty partition ends where it begins, not always at 0.
            last = self.records[place][-1][0] if self.records[place] else low - 1
            # A transaction's end takes an offset, too.
            check(high == last + 1 or place[0] == TXN and high == last + 2, f"{place} ends at {high}, not after {last}")
            parts.append(TopicPartition(*place, low))
        open_ = set(got)
        reader.assign(parts)

        def all_read():
            for message in reader.consume(1000, 0.2):
                place = (message.topic(), message.partition())
                if message.error() is not None:
                    open_.discard(place)
                    continue
                got[place].append(
                    (message.offset(), message.timestamp()[1], message.key(), message.value(), message.headers() or [])
                )
            return not open_

        eventually("everything is read", 60, all_read)
        return got

    def verify_configs(self, admin):
        for (kind, name), expected in self.configs.items():
            same(f"configs of {kind} '{name}'", expected, self.dynamic(kind, name))
        for user, expected in self.quotas.items():
            same(f"quotas of {user}", expected, self.quotas_of(user))

    def dynamic(self, kind, name):
        """What was set on the resource itself, by DescribeConfigs version 1."""
        number = kind.value if isinstance(kind, ResourceType) else kind
        with self.connection() as connection:
            body = array([i8(number) + string(name) + array(None)]) + i8(0)
            reader = Reader(connection.call(header(DESCRIBE_CONFIGS, 1) + body))
        reader.i32()
        reader.i32()
        error, message = reader.i16(), reader.string()
        same(f"error of configs of {kind} '{name}' ({message})", 0, error)
        reader.take(">b")
        reader.string()
        found = {}
        # Of the sources: topic, broker, default broker, client metrics, group.
        own = {2: 1, 4: 2 if name else 3, METRICS_RESOURCE: 7, GROUP_RESOURCE: 8}[number]
        for _ in range(reader.i32()):
            config, value = reader.string(), reader.string()
            reader.take(">b")
            source = reader.take(">b")
            reader.take(">b")
            for _ in range(reader.i32()):
                reader.string(), reader.string(), reader.take(">b")
            if source == own:
                found[config] = value
        return found

    def quotas_of(self, user):
        with self.connection() as connection:
            body = array([string("user") + i8(0) + string(user)]) + i8(0)
            reader = Reader(connection.call(header(DESCRIBE_QUOTAS, 0) + body))
        reader.i32()
        same("error of quotas", 0, reader.i16())
        reader.string()
        found = {}
        for _ in range(reader.i32()):
            for _ in range(reader.i32()):
                reader.string(), reader.string()
            for _ in range(reader.i32()):
                key = reader.string()
                found[key] = reader.take(">d")
        return found

    def verify_groups(self, admin):
        listed = []

        def loaded():
            try:
                listed[:] = [group.group_id for group in admin.list_consumer_groups().result(30).valid]
                return set(self.commits) <= set(listed)
            except KafkaException:
                return False

        eventually_with("groups are loaded", listed, loaded)
        check(not self.gone_groups & set(listed), f"deleted groups are back: {sorted(self.gone_groups & set(listed))}")
        for group, expected in self.commits.items():
            found = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(30)
            there = {(one.topic, one.partition): (one.offset, one.metadata or "") for one in found.topic_partitions}
            same(f"offsets of {group}", expected, there)
