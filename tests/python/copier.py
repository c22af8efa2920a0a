"""A member of a group that copies records from topic to topic in transactions, with their offsets (KIP-447). Some of the
transactions it aborts itself, and reads again what was in them."""

import collections
import random
import threading
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from suite import check, eventually


# librdkafka 2.16 waits for ever for the offsets of a transaction whose group coordinator went away at a bad moment,
# whatever it was told to wait for (its issues 5456 and 5511). A member that is in there for so long is left behind, and
# out of its group soon.
OFFSETS_SECONDS = 30
STUCK_SECONDS = OFFSETS_SECONDS + 10
POLL_SECONDS = STUCK_SECONDS + 5


class Copier(threading.Thread):
    """Copies what its member of the group is given; begins anew when a transaction fails. Of a hundred transactions
    it aborts so many itself."""

    def __init__(self, bootstrap, name, seed, source="in", sink="out", group="copiers", batch=200, aborted=15, **protocol):
        super().__init__(daemon=True)
        self.bootstrap, self.name = bootstrap, name
        self.source, self.sink, self.group = source, sink, group
        self.batch, self.aborted = batch, aborted
        # Settings of its consumer: those of the classic protocol unless others are given.
        self.protocol = protocol or {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 500}
        self.rng = random.Random(seed)
        self.counts = collections.Counter()
        self.is_over = threading.Event()
        self.broken = None
        # Since when it waits for offsets to be taken.
        self.waits_since = None

    def is_stuck(self):
        since = self.waits_since
        return since is not None and time.monotonic() - since > STUCK_SECONDS

    def run(self):
        while not self.is_over.is_set():
            producer, consumer = self.open()
            try:
                producer.init_transactions(60)
                consumer.subscribe([self.source])
                while not self.is_over.is_set():
                    self.copy(producer, consumer)
            except KafkaException as error:
                self.counts[f"again: {error.args[0].name()}"] += 1
            except Exception as error:
                self.broken = error
                return
            finally:
                consumer.close()

    def open(self):
        producer = Producer({
            "bootstrap.servers": self.bootstrap, "transactional.id": self.name,
            "transaction.timeout.ms": 30_000, "message.timeout.ms": 25_000, "linger.ms": 2,
        })  # fmt: skip
        consumer = Consumer({
            "bootstrap.servers": self.bootstrap, "group.id": self.group, "enable.auto.commit": False,
            # There are offsets from the beginning on: whoever finds none has lost them.
            "auto.offset.reset": "error", "isolation.level": "read_committed", "fetch.wait.max.ms": 50,
            "max.poll.interval.ms": POLL_SECONDS * 1_000,
            **self.protocol,
        })  # fmt: skip
        return producer, consumer

    def copy(self, producer, consumer):
        consumed = consumer.consume(self.batch, 0.2)
        lost = [it.error() for it in consumed if it.error() and it.error().code() == KafkaError._AUTO_OFFSET_RESET]
        check(not lost, f"{self.name} does not know where to go on: {lost[:1]}")
        batch = [message for message in consumed if message.error() is None]
        if not batch:
            return
        producer.begin_transaction()
        try:
            offsets = {}
            for message in batch:
                self.pass_on(producer, message)
                offsets[message.partition()] = message.offset() + 1
            offsets = [TopicPartition(self.source, partition, offset) for partition, offset in offsets.items()]
            self.waits_since = time.monotonic()
            producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), OFFSETS_SECONDS)
            self.waits_since = None
            if self.rng.randrange(100) >= self.aborted:
                producer.commit_transaction(60)
                self.counts["committed"] += 1
                return
        except KafkaException as error:
            self.waits_since = None
            if not error.args[0].txn_requires_abort():
                raise
            self.counts[f"aborted: {error.args[0].name()}"] += 1
        else:
            self.counts["aborted by itself"] += 1
        producer.abort_transaction(60)
        # What was read is to be read again.
        for partition in consumer.committed(consumer.assignment(), 30):
            check(partition.offset >= 0, f"{self.name} finds no offset of {partition}")
            consumer.seek(partition)

    def pass_on(self, producer, message):
        producer.produce(self.sink, message.value(), partition=message.partition())

    def finish(self, seconds_max):
        """Ends it after the transaction that it is in."""
        self.is_over.set()
        deadline = time.monotonic() + seconds_max
        while self.is_alive() and not self.is_stuck():
            check(time.monotonic() < deadline, f"{self.name} does not end")
            self.join(0.1)


def begin_group(bootstrap, group, places, seconds_max):
    """Commits where the copiers begin. librdkafka would ask for the beginning otherwise, and where the leader that it asks
    fails, it takes the answer late, when it has long gone on from where it was told to."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False})

    def is_committed():
        try:
            consumer.commit(offsets=places, asynchronous=False)
        except KafkaException:
            return False
        return True

    try:
        eventually("the first offsets", seconds_max, is_committed)
    finally:
        consumer.close()
