"""A cluster in which things fail while clients write to it: Java's controllers, Java's brokers and Thalweg's.

    chaos.py --binary THALWEG --jars FOLDER --scratch FOLDER [--java N] [--thalweg N] [--minutes N] [--seed N]
             [--faults process,network,disk] [--earlier-jars FOLDER]

Brokers are killed, stopped for seconds and restarted; what one process sends to another one is lost or late;
the disk of one is full, or does not answer (`faults.py`). All kinds of faults that the machine permits come, if none are named.

Every record is unique, and the producers know which were acknowledged by all in-sync replicas. In the end all
brokers live, and it must hold: what was acknowledged is there, once, at the offset that was acknowledged; no record of
a producer epoch is there twice; each producer's records of a partition are in their order; what a consumer read meanwhile is what is
there; all replicas have the same bytes; each fault is followed by progress in every partition. A leader that is cut off
from its followers acknowledges nothing meanwhile. One thing fails at a time: two in-sync replicas always live.

With `--earlier-jars` Java's nodes begin with these jars, of an earlier release. Between two faults one node after the
other starts with those of `--jars`, the controller last, and then `metadata.version` goes to the level of `--level`.

The seed decides the schedule, not how far the writers get meanwhile.
"""

import argparse
import bisect
import collections
import json
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
import traceback

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from faults import SESSION_SECONDS, SETTLE_SECONDS, Faults, permitted
from ports import free
from suite import check, eventually, offset_of, same
from zombie import DirectWriter

CLUSTER = "thalwegChaosClusterAAA"
CONTROLLER = 100
TOPIC = "chaos"
PARTITIONS = 6
PRODUCERS = 3
MIN_ISR = 2
# Session and lag are short, so that a minute has many elections.
SETTINGS = {
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
    "replica.lag.time.max.ms": 3000,
    "replica.fetch.backoff.ms": 200,
    "log.segment.bytes": 1 << 20,
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.replication.factor": 3,
    "num.network.threads": 2,
    "num.io.threads": 3,
}
START_SECONDS = 90
# Base offset, length, leader epoch, magic, sum, attributes, last delta, two times, producer, its epoch, sequence, count.
BATCH_HEADER = struct.Struct(">qiibIhiqqqhii")


class Node:
    """One process of the cluster."""

    def __init__(self, cluster, node_id, kind):
        self.cluster, self.id, self.kind = cluster, node_id, kind
        self.dir = cluster.disks.dir(node_id) if cluster.has_disk(node_id) else cluster.scratch / f"node-{node_id}"
        self.host = cluster.network.host(node_id) if cluster.network else "127.0.0.1"
        self.port = free()
        self.jars = cluster.earlier_jars or cluster.jars
        self.process = None
        self.log = (cluster.scratch / f"node-{node_id}.log").open("ab")

    @property
    def address(self):
        return f"{self.host}:{self.port}"

    def log_dirs(self):
        return [self.dir]

    def settings(self):
        controller = self.cluster.controller
        is_controller = self is controller
        listener = "CONTROLLER" if is_controller else "PLAINTEXT"
        return dict(SETTINGS) | {
            "process.roles": "controller" if is_controller else "broker",
            "node.id": self.id,
            "controller.quorum.voters": f"{controller.id}@{controller.address}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"{listener}://{self.address}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": ",".join(map(str, self.log_dirs())),
        }

    def configure(self):
        settings = self.settings()
        self.config = self.cluster.scratch / f"node-{self.id}.properties"
        self.config.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        if self.kind == "java":
            command = ["format", "-t", CLUSTER, "-c", str(self.config)]
            if self is self.cluster.controller:
                for feature in ["share.version", "streams.version"]:
                    command += ["--feature", f"{feature}=0"]
            self.cluster.java(["kafka.tools.StorageTool", *command], 128, self.jars)

    def start(self):
        if self.kind == "java":
            command = self.cluster.java_command(["kafka.Kafka", str(self.config)], 256, self.jars)
        else:
            command = [self.cluster.binary, "serve", "--config", str(self.config)]
        if self.cluster.network:
            command = self.cluster.network.command(self.id, command)
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)

    def signal(self, number):
        self.process.send_signal(number)

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def end(self, number, seconds):
        self.signal(number)
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.kind} {self.id} does not stop within {seconds} s") from None
        if number == signal.SIGTERM:
            # Java ends by the signal that it heard.
            check(code in (0, 143), f"{self.kind} {self.id} ended with {code}")


class Cluster:
    def __init__(self, options, suite=None):
        """Of a suite, what `options.faults` asks for is made ready: each process has an address of its own, where the
        network is to fail; without that all have the loopback's."""
        self.binary, self.jars = options.binary, options.jars
        self.earlier_jars = getattr(options, "earlier_jars", None)
        self.scratch = pathlib.Path(options.scratch).absolute()
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        controller, *brokers = ids = [CONTROLLER, *range(1, options.java + options.thalweg + 1)]
        self.kinds, self.network, self.disks = [], None, None
        if suite:
            self.kinds, self.network, self.disks = permitted(suite, options, ids, self.scratch)
        self.controller = Node(self, controller, "java")
        kinds = ["java"] * options.java + ["thalweg"] * options.thalweg
        self.brokers = [self.broker(node_id, kind) for node_id, kind in zip(brokers, kinds)]
        self.replicas = min(3, len(self.brokers))
        self.bootstrap = ",".join(node.address for node in self.brokers)

    def has_disk(self, node_id):
        return self.disks is not None and node_id != CONTROLLER

    def broker(self, node_id, kind):
        return Node(self, node_id, kind)

    def java_command(self, args, mib, jars=None):
        return [
            "java", f"-Xmx{mib}m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            "-cp", f"{jars or self.jars}/*", *args,
        ]  # fmt: skip

    def java(self, args, mib, jars=None):
        command = self.java_command(args, mib, jars)
        done = subprocess.run(command, capture_output=True, timeout=START_SECONDS, text=True, check=False)
        check(done.returncode == 0, f"{args[0]}: {done.stdout}{done.stderr}")

    def start(self):
        for node in [self.controller, *self.brokers]:
            node.configure()
            node.start()
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap})
        eventually("all brokers", START_SECONDS, lambda: len(self.known()) == len(self.brokers))
        topic = NewTopic(
            TOPIC, PARTITIONS, self.replicas, config={"min.insync.replicas": str(MIN_ISR), "retention.ms": "-1"}
        )
        self.admin.create_topics([topic])[TOPIC].result(30)

    def known(self):
        try:
            return self.admin.list_topics(timeout=5).brokers
        except Exception:
            return {}

    def partitions(self):
        try:
            topics = self.admin.list_topics(timeout=5).topics
        except Exception:
            # One has been seen that had no connection for two minutes, and made none.
            self.admin = AdminClient({"bootstrap.servers": self.bootstrap})
            return {}
        return topics[TOPIC].partitions if TOPIC in topics else {}

    def in_sync(self):
        found = self.partitions()
        return len(found) == PARTITIONS and all(
            len(partition.isrs) == self.replicas and partition.leader > 0 for partition in found.values()
        )

    def elect(self):
        """Preferred leaders lead again: nobody dies."""
        from confluent_kafka import ElectionType

        wanted = [TopicPartition(TOPIC, partition) for partition in range(PARTITIONS)]
        try:
            self.admin.elect_leaders(ElectionType.PREFERRED, wanted).result(30)
        except KafkaException as error:
            print(f"chaos: no election: {error}", flush=True)
            return False
        return True

    def stop(self):
        # Who interrupts once more would leave the rest behind.
        before = {number: signal.signal(number, signal.SIG_IGN) for number in [signal.SIGINT, signal.SIGTERM]}
        running = [node.process for node in [*self.brokers, self.controller] if node.is_running()]
        for process in running:
            process.kill()
        for process in running:
            process.wait()
        for part in [self.network, self.disks]:
            if part:
                part.close()
        for number, handler in before.items():
            signal.signal(number, handler)


class Upgrade:
    """Java's nodes go from the earlier jars to the others, one at a time, evenly over the run; then `metadata.version`."""

    def __init__(self, cluster, level, began, seconds):
        self.cluster, self.level = cluster, level
        java = [node for node in [*cluster.brokers, cluster.controller] if node.kind == "java"]
        steps = [*((self.node, node) for node in java), (self.levels, level)]
        self.steps = [
            (began + seconds * at / (len(steps) + 1), *step) for at, step in enumerate(steps, start=1)
        ]
        self.made = 0

    def go_on(self):
        """Makes the step that is due. Everything is in sync before and after it."""
        if not self.steps or time.monotonic() < self.steps[0][0]:
            return
        _, step, what = self.steps.pop(0)
        step(what)
        self.made += 1
        eventually("all replicas in sync after a step of the upgrade", SETTLE_SECONDS, self.cluster.in_sync)

    def node(self, node):
        print(f"chaos: upgrade of {node.id}", flush=True)
        node.end(signal.SIGTERM, 60)
        node.jars = self.cluster.jars
        node.start()
        time.sleep(SESSION_SECONDS)

    def levels(self, level):
        print(f"chaos: metadata.version {level}", flush=True)
        tool = ["org.apache.kafka.tools.FeatureCommand", "--bootstrap-server", self.cluster.bootstrap]
        self.cluster.java([*tool, "upgrade", "--feature", f"metadata.version={level}"], 128)


class Writer(threading.Thread):
    """A producer whose records say who wrote them, where, and as which."""

    def __init__(self, cluster, name, seed):
        super().__init__(daemon=True)
        self.name = name
        self.rng = random.Random(seed)
        self.producer = Producer({
            "bootstrap.servers": cluster.bootstrap,
            "enable.idempotence": True,
            "acks": "all",
            "linger.ms": 2,
            "compression.type": self.rng.choice(["none", "lz4", "zstd"]),
            "message.timeout.ms": 300_000,
            "metadata.max.age.ms": 60_000,
        })  # fmt: skip
        self.acknowledged = collections.defaultdict(dict)
        self.failed = []
        self.next = [0] * PARTITIONS
        self.is_over = threading.Event()

    def run(self):
        while not self.is_over.is_set():
            for _ in range(self.rng.randrange(1, 40)):
                self.write(self.rng.randrange(PARTITIONS))
            self.producer.poll(0)
            time.sleep(0.01)

    def write(self, partition):
        at = self.next[partition]
        value = f"{self.name}:{partition}:{at}".encode()

        def told(error, message):
            if error is None:
                self.acknowledged[partition][at] = offset_of(message)
                self.heard(partition)
            else:
                self.failed.append((partition, at, str(error)))

        try:
            self.producer.produce(TOPIC, value, partition=partition, callback=told)
            self.next[partition] += 1
        except BufferError:
            self.producer.poll(0.1)

    def heard(self, partition):
        """A record of the partition was acknowledged just now."""

    def finish(self):
        self.is_over.set()
        self.join()
        left = self.producer.flush(SETTLE_SECONDS)
        check(left == 0, f"{self.name}: {left} records are neither acknowledged nor refused")

    def count(self):
        return sum(len(partition) for partition in self.acknowledged.values())


class Reader(threading.Thread):
    """A consumer that reads along: what it was given stays what it was."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.consumer = reader(cluster, "along")
        self.consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(PARTITIONS)])
        self.seen = {}
        self.is_over = threading.Event()

    def run(self):
        while not self.is_over.is_set():
            for message in self.consumer.consume(5_000, 0.2):
                if message.error() is None:
                    self.note(message)

    def note(self, message):
        place = (message.partition(), message.offset())
        # It may be given what it had, not something else.
        if self.seen.setdefault(place, message.value()) != message.value():
            self.seen[place] = None

    def finish(self, found):
        self.is_over.set()
        self.join()
        self.consumer.close()
        final = {(p, offset): value.encode() for p, records in found.items() for offset, value in records}
        for place, value in self.seen.items():
            same(f"what was read at {place} and what is there", value, final.get(place))
        check(self.seen, "nothing was read meanwhile")


def reader(cluster, group):
    return Consumer({
        "bootstrap.servers": cluster.bootstrap,
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    })  # fmt: skip


def read_all(cluster):
    """Every record of the topic by partition: offset and value."""
    consumer = reader(cluster, "reader")
    ends = {}
    for partition in range(PARTITIONS):
        _, ends[partition] = consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), timeout=30)
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(PARTITIONS)])
    found = {partition: [] for partition in range(PARTITIONS)}
    deadline = time.monotonic() + SETTLE_SECONDS

    def is_over():
        return all(
            end == 0 or (found[partition] and found[partition][-1][0] >= end - 1) for partition, end in ends.items()
        )

    while not is_over():
        check(time.monotonic() < deadline, f"not all of {ends} can be read")
        for message in consumer.consume(10_000, 1):
            check(message.error() is None, f"{message.error()}")
            found[message.partition()].append((message.offset(), message.value().decode()))
    consumer.close()
    return found


def verify(found, writers, cluster):
    """Gives how many records a client has sent again in a new producer epoch, which is no broker's fault: librdkafka does
    so when a later batch is answered with OUT_OF_ORDER_SEQUENCE_NUMBER, also if it does not know whether an earlier one
    is in the log. (Leaders that refuse because of the ISR refuse some of what is in flight, and not the rest.)"""
    by_name = {writer.name: writer for writer in writers}
    sent_again = 0
    for partition, records in found.items():
        at = {}
        last = {}
        again = {}
        batches = None
        previous = -1
        for offset, value in records:
            check(offset > previous, f"partition {partition}: offset {offset} behind {previous}")
            previous = offset
            if value in at:
                batches = batches or producers(cluster, partition)
                (producer, epoch), (other, later) = (batches(place) for place in (at[value], offset))
                check(
                    producer == other and epoch < later,
                    f"{value} is there twice, at {at[value]} and {offset}, of producers {producer} and {other} in their "
                    f"epochs {epoch} and {later}",
                )
                sent_again += 1
                again[value] = offset
                continue
            at[value] = offset
            name, of, number = value.split(":")
            same(f"partition of {value}", str(partition), of)
            check(int(number) > last.get(name, -1), f"{value} behind {last.get(name)}: out of order")
            last[name] = int(number)
        for name, writer in by_name.items():
            for number, offset in writer.acknowledged[partition].items():
                value = f"{name}:{partition}:{number}"
                check(value in at, f"{value} was acknowledged at {offset} and is lost")
                if offset >= 0 and again.get(value) != offset:
                    same(f"offset of {value}", offset, at[value])
    return sent_again


def producers(cluster, partition):
    """Who wrote the batch at an offset: producer id and epoch, from the headers in a replica."""
    files = next(filter(None, (segments(node, f"{TOPIC}-{partition}") for node in cluster.brokers)))
    found = []
    for bytes_ in map(pathlib.Path.read_bytes, files):
        place, length = 0, 1
        # Behind the last batch is the room that Java makes ahead.
        while place + BATCH_HEADER.size <= len(bytes_) and length > 0:
            base, length, *_, producer, epoch, _, _ = BATCH_HEADER.unpack_from(bytes_, place)
            if length > 0:
                found.append((base, producer, epoch))
            place += 12 + length

    def at(offset):
        _, producer, epoch = found[bisect.bisect_right(found, (offset, float("inf"))) - 1]
        return producer, epoch

    return at


def replica(node, partition):
    """The bytes of a replica, without the room that Java makes ahead."""
    return b"".join(segment.read_bytes().rstrip(b"\0") for segment in segments(node, f"{TOPIC}-{partition}"))


def segments(node, partition):
    """The files with a replica's records, in whichever of its directories it is."""
    files = [file for place in node.log_dirs() for file in (place / partition).glob("*.log")]
    return sorted(files, key=lambda file: file.name)


def compare(cluster):
    found = cluster.partitions()
    same("partitions", PARTITIONS, len(found))
    for partition, told in found.items():
        nodes = [node for node in cluster.brokers if node.id in told.replicas]
        same(f"replicas of {partition}", cluster.replicas, len(nodes))
        check(replica(nodes[0], partition), f"partition {partition} of {nodes[0].id} has no bytes")

        def are_same():
            first, *others = (replica(node, partition) for node in nodes)
            return all(other == first for other in others)

        eventually(f"the same bytes in all replicas of {TOPIC}-{partition}", SETTLE_SECONDS, are_same)


def millis(since):
    return round((time.monotonic() - since) * 1000)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--jars", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--java", type=int, default=1)
    parser.add_argument("--thalweg", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", metavar="KIND,KIND")
    parser.add_argument("--earlier-jars", metavar="FOLDER")
    parser.add_argument("--level", type=int, default=33, help="metadata.version after an upgrade")
    options = parser.parse_args()
    # Who ends this ends the processes of the cluster, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    began = time.monotonic()
    cluster = Cluster(options, "chaos")
    try:
        cluster.start()
        writers = [Writer(cluster, f"w{at}", options.seed + at) for at in range(PRODUCERS)]
        along = Reader(cluster)
        for thread in [*writers, along]:
            thread.start()

        def progress():
            return [sum(len(writer.acknowledged[partition]) for writer in writers) for partition in range(PARTITIONS)]

        faults = Faults(cluster, random.Random(options.seed), cluster.brokers, progress, DirectWriter(TOPIC))
        started, seconds = time.monotonic(), 60 * options.minutes
        upgrade = Upgrade(cluster, options.level, started, seconds) if options.earlier_jars else None
        while time.monotonic() < started + seconds or (upgrade and upgrade.steps):
            if upgrade:
                upgrade.go_on()
            faults.one()
            check(all(thread.is_alive() for thread in [*writers, along]), "a client has ended")
        faulty_ms = millis(began)
        for writer in writers:
            writer.finish()
        refused = [failure for writer in writers for failure in writer.failed]
        check(not refused, f"{len(refused)} records were refused, the first: {refused[:1]}")
        eventually("all replicas in sync", SETTLE_SECONDS, cluster.in_sync)
        found = read_all(cluster)
        sent_again = verify(found, writers, cluster)
        along.finish(found)
        print(f"pass chaos.acknowledged-once {faulty_ms} # {sum(faults.counts.values())} faults", flush=True)
        compare(cluster)
        print(f"pass chaos.same-bytes {millis(began) - faulty_ms}", flush=True)
        faults.tell_kinds("chaos")
        result = {
            "seed": options.seed,
            "java": options.java,
            "thalweg": options.thalweg,
            "minutes": options.minutes,
            **faults.result(),
            **({"steps of the upgrade": upgrade.made} if upgrade else {}),
            "acknowledged": sum(writer.count() for writer in writers),
            "read": sum(len(records) for records in found.values()),
            "sent again in a new producer epoch": sent_again,
            "violations": 0,
        }
        print("chaos:", json.dumps(result), flush=True)
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"fail chaos.run {millis(began)}: seed {options.seed}: {why}; see {cluster.scratch}", flush=True)
        traceback.print_exc()
        return 1
    finally:
        cluster.stop()
    shutil.rmtree(cluster.scratch, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
