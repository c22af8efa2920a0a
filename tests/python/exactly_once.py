"""Records copied exactly once from topic to topic, while brokers of both makes fail.

    exactly_once.py --binary THALWEG --jars FOLDER --scratch FOLDER [--minutes N] [--seed N]
                    [--faults process,network,disk]

Copiers of a group read what a producer writes, and write it in transactions, with their offsets (KIP-447). Some of
their transactions they abort themselves. Partitions and groups are of Thalweg's brokers, which fail meanwhile. The
coordinators of the transactions are of both makes, with replicas on all brokers; Java's stays, but may not be reached for a
while. At the end readers of committed records find every record once, in order, in the partition that it came from.
"""

import argparse
import collections
import faulthandler
import json
import random
import shutil
import signal
import sys
import threading
import time
import traceback

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import chaos
from chaos import SETTLE_SECONDS, check, eventually, same
from copier import Copier, begin_group
from faults import Faults

JAVA, THALWEG = 1, 2
PARTITIONS = 4
COPIERS = 2
RATE = 500
chaos.TOPIC, chaos.PARTITIONS = "in", PARTITIONS
chaos.SETTINGS |= {
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 2,
    "transaction.state.log.num.partitions": 4,
    "offsets.topic.num.partitions": 4,
}


class Cluster(chaos.Cluster):
    def start(self):
        for node in [self.controller, *self.brokers]:
            node.configure()
            node.start()
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap})
        eventually("all brokers", chaos.START_SECONDS, lambda: len(self.known()) == len(self.brokers))
        assignment = [[2, 3, 1], [3, 2, 1]] * (PARTITIONS // 2)
        config = {"min.insync.replicas": "2", "retention.ms": "-1"}
        topics = [NewTopic(name, PARTITIONS, replica_assignment=assignment, config=config) for name in ["in", "out"]]
        for made in self.admin.create_topics(topics).values():
            made.result(30)

    def in_sync(self):
        try:
            topics = self.admin.list_topics(timeout=5).topics
        except Exception:
            return False
        return all(
            name in topics and all(len(it.isrs) == self.replicas for it in topics[name].partitions.values())
            for name in ["in", "out"]
        )


class Writer(threading.Thread):
    """Writes numbers to every partition, each once."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.producer = Producer({
            "bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, "message.timeout.ms": 300_000,
            # With more it may send records twice, in a new producer epoch: `chaos.verify` says when.
            "max.in.flight.requests.per.connection": 1,
        })  # fmt: skip
        self.sent = [0] * PARTITIONS
        self.arrived = [0] * PARTITIONS
        self.failed = []
        self.is_over = threading.Event()

    def run(self):
        while not self.is_over.wait(PARTITIONS / RATE):
            for partition in range(PARTITIONS):
                value = self.value(partition, self.sent[partition])
                self.producer.produce("in", value, partition=partition, on_delivery=self.delivered)
                self.sent[partition] += 1
            self.producer.poll(0)

    def value(self, partition, number):
        return str(number)

    def delivered(self, error, message):
        if error is not None:
            self.failed.append(error)
        else:
            self.arrived[message.partition()] += 1

    def finish(self):
        self.is_over.set()
        self.join()
        same("records that were not sent", 0, self.producer.flush(SETTLE_SECONDS))
        check(not self.failed, f"{len(self.failed)} records failed, the first: {self.failed[:1]}")


def committed(cluster):
    """The group's offsets, as a reader of stable ones sees them."""
    consumer = Consumer({
        "bootstrap.servers": cluster.bootstrap, "group.id": "copiers", "isolation.level": "read_committed",
    })  # fmt: skip
    try:
        found = consumer.committed([TopicPartition("in", partition) for partition in range(PARTITIONS)], 10)
        return [partition.offset for partition in found]
    except KafkaException:
        return None
    finally:
        consumer.close()


def read_all(cluster):
    """The values of each partition of what was written that a reader of committed records finds."""
    consumer = Consumer({
        "bootstrap.servers": cluster.bootstrap, "group.id": "reader", "enable.partition.eof": True,
        "isolation.level": "read_committed",
    })  # fmt: skip
    consumer.assign([TopicPartition("out", partition, 0) for partition in range(PARTITIONS)])
    values, ended = [[] for _ in range(PARTITIONS)], set()
    deadline = time.monotonic() + SETTLE_SECONDS
    while len(ended) < PARTITIONS:
        check(time.monotonic() < deadline, f"only the ends of {ended} are reached")
        for message in consumer.consume(10_000, 0.5):
            if message.error() is None:
                values[message.partition()].append(message.value().decode())
            elif message.error().code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition())
    consumer.close()
    return values


class Run:
    """One run: a writer, who copies what it writes, and what fails meanwhile."""

    NAME, CASE = "exactly_once", "copied-once"

    def __init__(self, options):
        self.options = options
        self.rng = random.Random(options.seed)
        self.cluster = Cluster(options, self.NAME.replace("_", "-"))
        # Copiers that were left behind.
        self.left = []

    def begin(self):
        self.writer = Writer(self.cluster)
        self.copiers = [self.copier(f"copier-{at}", self.options.seed + at) for at in range(COPIERS)]
        for thread in [self.writer, *self.copiers]:
            thread.start()

    def copier(self, name, seed):
        return Copier(self.cluster.bootstrap, name, seed)

    def meanwhile(self):
        """After each fault."""
        check(self.writer.is_alive(), "the writer has ended")
        self.go_on()

    def go_on(self):
        """Has others do what copiers do that are stuck in their client."""
        for at, copier in enumerate(self.copiers):
            check(copier.is_alive(), f"{copier.name} has ended: {copier.broken}")
            if copier.is_stuck():
                print(f"chaos: {copier.name} is stuck in librdkafka", flush=True)
                # Should it go on after all, it must not fence whoever takes its place.
                copier.is_over.set()
                self.left.append(copier)
                self.copiers[at] = self.copier(copier.name, self.rng.random())
                self.copiers[at].start()

    def finish(self):
        for copier in self.copiers:
            copier.finish(SETTLE_SECONDS)

    def verify(self, written):
        """What was copied, once, in order, in the partition that it came from."""
        for partition, values in enumerate(written):
            values = [int(value) for value in values]
            repeated = [value for value, times in collections.Counter(values).items() if times > 1]
            check(not repeated, f"partition {partition}: {len(repeated)} values more than once, the first: {repeated[:3]}")
            same(f"values of partition {partition}", list(range(self.writer.sent[partition])), values)

    def counts(self):
        counts = sum((copier.counts for copier in self.copiers + self.left), collections.Counter())
        return dict(counts) | {"stuck in librdkafka": len(self.left)}

    def is_all_done(self):
        self.go_on()
        found = committed(self.cluster)
        return found is not None and found == self.writer.sent

    def run(self):
        began = time.monotonic()
        cluster, options = self.cluster, self.options
        try:
            cluster.start()
            begin = [TopicPartition("in", partition, 0) for partition in range(PARTITIONS)]
            begin_group(cluster.bootstrap, "copiers", begin, chaos.START_SECONDS)
            self.begin()
            faults = Faults(cluster, self.rng, cluster.brokers[JAVA:], lambda: list(self.writer.arrived))
            end = time.monotonic() + 60 * options.minutes
            while time.monotonic() < end:
                faults.one()
                self.meanwhile()
            self.writer.finish()
            eventually("all records worked on", SETTLE_SECONDS, self.is_all_done)
            self.finish()
            self.verify(read_all(cluster))
            result = {
                "seed": options.seed, "minutes": options.minutes, **faults.result(), "records": sum(self.writer.sent),
                "transactions": self.counts(), "violations": 0,
            }  # fmt: skip
            faults.tell_kinds(self.NAME)
            count = sum(faults.counts.values())
            print(f"pass {self.NAME}.{self.CASE} {chaos.millis(began)} # {count} faults", flush=True)
            print(f"{self.NAME.replace('_', ' ')}:", json.dumps(result), flush=True)
        except Exception as error:
            why = " ".join(f"{type(error).__name__}: {error}".split())
            what = f"seed {options.seed}: {why[:2000]}; see {cluster.scratch}"
            print(f"fail {self.NAME}.run {chaos.millis(began)}: {what}", flush=True)
            traceback.print_exc()
            # Where copiers are that do not go on.
            faulthandler.dump_traceback(all_threads=True)
            return 1
        finally:
            self.end()
            cluster.stop()
        shutil.rmtree(cluster.scratch, ignore_errors=True)
        return 0

    def end(self):
        """Whatever has happened."""


def options():
    parser = argparse.ArgumentParser()
    for name in ["--binary", "--jars", "--scratch"]:
        parser.add_argument(name, required=True)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", metavar="KIND,KIND")
    return parser


def main(parser, run):
    given = parser.parse_args()
    given.java, given.thalweg = JAVA, THALWEG
    # Who ends this ends the processes of the cluster, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    return run(given).run()


if __name__ == "__main__":
    sys.exit(main(options(), Run))
