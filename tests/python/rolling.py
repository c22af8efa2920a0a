"""Brokers of a live cluster that go and come back one by one, as Apache Kafka or as Thalweg, each on the directories that
it had: a rolling restart, or a move to the other make and back.

    rolling.py --binary THALWEG --jars FOLDER --scratch FOLDER [--brokers java,java,java]
               [--plan restart|there-and-back|1=thalweg,1=java,2!] [--seed N] [--out FILE]

A step of a plan names a broker and, behind `=`, what it comes back as; with `!` it is killed instead of stopped. Two log
directories, many segments. Under way meanwhile: producers with acks=all, a consumer that reads along, groups of both
protocols, a compacted topic, topics that are made and deleted, a topic whose replicas are reassigned.

In the end it must hold: what was acknowledged is there, once, in order, and is what the consumer saw; all replicas have
the same bytes; of the compacted topic each replica has the last value of each key; each group has seen every record and
was not rebalanced more often than brokers went and came; of deleted topics nothing is left. What clients noticed of
each step is told: the longest time without an acknowledgement, and without a record read, of any partition.
"""

import argparse
import json
import re
import signal
import subprocess
import sys
import threading
import time
import traceback

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

import chaos
from chaos import PARTITIONS, SETTLE_SECONDS, TOPIC, millis
from suite import check, eventually, same

COMPACTED, MOVING, TEMPORARY = "compacted", "moving", "temporary"
KEYS = 100
MEMBERS = 2
STOP_SECONDS = 120
OTHER = {"java": "thalweg", "thalweg": "java"}


class Node(chaos.Node):
    def log_dirs(self):
        return [self.dir / name for name in ["a", "b"]]


class Cluster(chaos.Cluster):
    def __init__(self, options):
        kinds = options.brokers.split(",")
        options.java, options.thalweg = len(kinds), 0
        super().__init__(options)
        for node, kind in zip(self.brokers, kinds):
            check(kind in OTHER, f"there is no broker {kind}")
            node.kind = kind

    def broker(self, node_id, kind):
        return Node(self, node_id, kind)

    def start(self):
        super().start()
        compacted = {"cleanup.policy": "compact", "segment.bytes": str(1 << 20), "min.cleanable.dirty.ratio": "0.1"}
        topics = [
            NewTopic(COMPACTED, 1, self.replicas, config=compacted | {"min.insync.replicas": "2"}),
            NewTopic(MOVING, 2, 2),
        ]
        for created in self.admin.create_topics(topics).values():
            created.result(30)


class Writer(chaos.Writer):
    def __init__(self, *args):
        super().__init__(*args)
        self.times = [[] for _ in range(PARTITIONS)]

    def heard(self, partition):
        self.times[partition].append(time.monotonic())


class Reader(chaos.Reader):
    def __init__(self, *args):
        super().__init__(*args)
        self.times = [[] for _ in range(PARTITIONS)]

    def note(self, message):
        super().note(message)
        self.times[message.partition()].append(time.monotonic())


def gap_ms(clients, begin, end):
    """The longest time in which no client heard anything of some partition."""
    longest = 0
    for partition in range(PARTITIONS):
        times = sorted(at for client in clients for at in list(client.times[partition]) if begin <= at <= end)
        times = [begin, *times, end]
        longest = max(longest, *(later - earlier for earlier, later in zip(times, times[1:])))
    return round(longest * 1000)


class Repeated(threading.Thread):
    """Does something again and again; what fails is told at the end."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.failures, self.count = cluster, [], 0
        self.is_over = threading.Event()

    def run(self):
        while not self.is_over.is_set():
            try:
                self.once()
            except Exception as error:
                self.failures.append(f"{type(error).__name__}: {error}")
            self.count += 1
            self.is_over.wait(self.PAUSE)

    def finish(self):
        self.is_over.set()
        self.join(SETTLE_SECONDS)
        check(not self.is_alive(), f"{type(self).__name__} does not end")
        check(not self.failures, f"{type(self).__name__}: {len(self.failures)} failures, the first: {self.failures[:1]}")
        check(self.count, f"{type(self).__name__} did nothing")


class KeyWriter(Repeated):
    """Writes values of a few keys; knows the last one of each that was acknowledged."""

    PAUSE = 0.01

    def __init__(self, cluster):
        super().__init__(cluster)
        self.producer = Producer({
            "bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, "message.timeout.ms": 300_000,
        })  # fmt: skip
        self.last = {}

    def once(self):
        for _ in range(5):
            key, value = f"k{self.count % KEYS}", f"{self.count:08}" + "x" * 1_000
            self.producer.produce(COMPACTED, value, key=key, on_delivery=self.told)
        self.producer.poll(0)

    def told(self, error, message):
        check(error is None, f"{error}")
        self.last[message.key().decode()] = message.value().decode()

    def finish(self):
        super().finish()
        same("records of keys that nobody answered for", 0, self.producer.flush(SETTLE_SECONDS))


class Deleter(Repeated):
    """Makes topics, writes to them and deletes them."""

    PAUSE = 1

    def once(self):
        name = f"{TEMPORARY}-{self.count}"
        admin = self.cluster.admin
        topic = NewTopic(name, 3, 2)
        self.until_done(lambda: admin.create_topics([topic], operation_timeout=30)[name], "TOPIC_ALREADY_EXISTS")
        # A metadata request of this producer after the deletion would create the topic again.
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap, "acks": 1, "message.timeout.ms": 60_000,
                             "allow.auto.create.topics": False})
        for partition in range(3):
            producer.produce(name, b"x" * 1_000, partition=partition)
        same("records of a topic that will be deleted", 0, producer.flush(60))
        self.until_done(lambda: admin.delete_topics([name], operation_timeout=30)[name], "UNKNOWN_TOPIC_OR_PART")

    def until_done(self, ask, done_before):
        """The client for admins gives up when its connection breaks; what it asked for may have been done then."""
        deadline = time.monotonic() + 60
        while True:
            try:
                return ask().result(60)
            except KafkaException as error:
                if error.args[0].name() == done_before:
                    return None
                is_broken = error.args[0].code() < 0 or error.args[0].name() == "REQUEST_TIMED_OUT"
                if not is_broken or time.monotonic() > deadline:
                    raise
                time.sleep(0.2)


class Mover(Repeated):
    """Gives the replicas of a topic to other brokers, one move after the other."""

    PAUSE = 2

    def once(self):
        ids = [node.id for node in self.cluster.brokers]
        wanted = []
        for partition in range(2):
            first = (self.count + partition) % len(ids)
            replicas = [ids[first], ids[(first + 1) % len(ids)]]
            wanted.append({"topic": MOVING, "partition": partition, "replicas": replicas})
        path = self.cluster.scratch / "moves.json"
        path.write_text(json.dumps({"version": 1, "partitions": wanted}))
        command = [self.cluster.binary, "cluster", "reassign", "--file", path, "-b", self.cluster.bootstrap]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90)
        # The one before may not be over: a broker is away.
        is_refused = "in progress" in done.stderr.lower() or "REASSIGNMENT" in done.stderr
        check(done.returncode == 0 or is_refused, f"{done.stderr}")


class Member(threading.Thread):
    """A member of a group, which commits what it has seen."""

    def __init__(self, cluster, group, protocol):
        super().__init__(daemon=True)
        self.group, self.assigned, self.seen, self.failure = group, 0, set(), None
        config = {
            "bootstrap.servers": cluster.bootstrap, "group.id": group, "group.protocol": protocol,
            "auto.offset.reset": "earliest", "enable.auto.commit": False,
        }  # fmt: skip
        if protocol == "classic":
            config["session.timeout.ms"] = 30_000
        self.consumer = Consumer(config)
        self.consumer.subscribe([TOPIC], on_assign=self.on_assign)
        self.is_over = threading.Event()

    def on_assign(self, _consumer, _partitions):
        self.assigned += 1

    def run(self):
        while not self.is_over.is_set():
            messages = self.consumer.consume(1_000, 0.2)
            self.seen.update((m.partition(), m.offset()) for m in messages if m.error() is None)
            if messages:
                try:
                    self.consumer.commit(asynchronous=False)
                except KafkaException as error:
                    # A coordinator that moves, or a rebalance: the next commit says the same and more.
                    check(error.args[0].code() is not None, f"{error}")
        self.consumer.close()

    def finish(self):
        self.is_over.set()
        self.join(SETTLE_SECONDS)
        check(not self.is_alive(), f"a member of {self.group} does not end")


def parsed(plan, cluster):
    """Steps: a broker, what it comes back as, whether it is killed."""
    if plan == "restart":
        return [(node, node.kind, False) for node in cluster.brokers]
    if plan == "there-and-back":
        there = [(node, OTHER[node.kind], False) for node in cluster.brokers]
        back = [(node, node.kind, at % 2 == 1) for at, node in enumerate(cluster.brokers)]
        return there + back
    steps, kinds = [], {node.id: node.kind for node in cluster.brokers}
    for text in plan.split(","):
        found = re.fullmatch(r"(\d+)(!?)(?:=(java|thalweg))?", text)
        check(found and int(found[1]) in kinds, f"{text} is no step")
        node = cluster.brokers[int(found[1]) - 1]
        kinds[node.id] = found[3] or kinds[node.id]
        steps.append((node, kinds[node.id], bool(found[2])))
    return steps


def take(cluster, node, kind, is_killed):
    """One broker goes and comes back, and what it should lead it leads again; how long each of that took."""
    before = node.kind
    begun = time.monotonic()
    node.end(signal.SIGKILL if is_killed else signal.SIGTERM, STOP_SECONDS)
    stop_ms = millis(begun)
    node.kind = kind
    begun = time.monotonic()
    node.start()
    # Until its session is over the metadata may not say that it was away.
    time.sleep(chaos.SESSION_SECONDS)
    eventually(f"{kind} {node.id} in sync", SETTLE_SECONDS, cluster.in_sync)
    in_sync_ms = millis(begun)

    def leads():
        cluster.elect()
        return {partition.leader for partition in cluster.partitions().values()} == {n.id for n in cluster.brokers}

    eventually("every broker leads", SETTLE_SECONDS, leads)
    return {
        "broker": node.id, "from": before, "to": kind, "killed": is_killed, "stop_ms": stop_ms, "in_sync_ms": in_sync_ms,
    }  # fmt: skip


def last_values(cluster, node):
    """The last value of each key of the compacted topic, in one replica's files."""
    files = chaos.segments(node, f"{COMPACTED}-0")
    check(files, f"{node.id} has nothing of {COMPACTED}")
    command = [cluster.binary, "log", "dump", "--deep", "--print-data", "--json", *files]
    dumped = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    last = {}
    for line in dumped.splitlines():
        last.update((record["key"], record["value"]) for record in json.loads(line).get("records", []))
    return last


def verify(cluster, writers, along, keys, members, steps):
    found = chaos.read_all(cluster)
    same("records that clients sent again in a new producer epoch", 0, chaos.verify(found, writers, cluster))
    along.finish(found)
    places = {(partition, offset) for partition, records in found.items() for offset, _ in records}
    for group in sorted({member.group for member in members}):
        ours = [member for member in members if member.group == group]

        def seen_by_all():
            return places <= set().union(*(member.seen for member in ours))

        eventually(f"{group}: every record seen", SETTLE_SECONDS, seen_by_all)
        assigned = sum(member.assigned for member in ours)
        # Each step may move the coordinator away and back; joining takes two rounds for each member.
        allowed = len(ours) * (2 * steps + 4)
        check(0 < assigned <= allowed, f"{group}: members were assigned {assigned} times, in {steps} steps")
    for member in members:
        member.finish()
    chaos.compare(cluster)
    for node in cluster.brokers:
        eventually(
            f"the last values of {COMPACTED} on {node.id}",
            SETTLE_SECONDS,
            lambda node=node: keys.last.items() <= last_values(cluster, node).items(),
        )

    def left():
        # What is to be deleted has another name at once, and goes after file.delete.delay.ms. What was deleted while the
        # broker was away is set aside when it starts.
        places = [place for n in cluster.brokers for d in n.log_dirs() for place in d.glob(f"{TEMPORARY}-*")]
        return [str(place) for place in places if not place.name.endswith(("-delete", "-stray"))]

    eventually(f"nothing left of deleted topics, but {left()[:3]}", SETTLE_SECONDS, lambda: not left())
    return sum(len(records) for records in found.values())


def main():
    parser = argparse.ArgumentParser()
    for name in ["--binary", "--jars", "--scratch"]:
        parser.add_argument(name, required=True)
    parser.add_argument("--brokers", default="java,java,java")
    parser.add_argument("--plan", default="there-and-back")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out")
    options = parser.parse_args()
    cluster = Cluster(options)
    began = time.monotonic()
    try:
        steps = parsed(options.plan, cluster)
        cluster.start()
        writers = [Writer(cluster, f"w{at}", options.seed + at) for at in range(chaos.PRODUCERS)]
        along = Reader(cluster)
        keys = KeyWriter(cluster)
        repeated = [keys, Deleter(cluster), Mover(cluster)]
        protocols = ["classic", "consumer"]
        members = [Member(cluster, f"group-{it}", it) for it in protocols for _ in range(MEMBERS)]
        for thread in [*writers, along, *repeated, *members]:
            thread.start()
        eventually("assignments", 60, lambda: all(member.assigned for member in members))
        taken = []
        for node, kind, is_killed in steps:
            begin = time.monotonic()
            step = take(cluster, node, kind, is_killed)
            time.sleep(1)
            end = time.monotonic()
            step["produce_gap_ms"] = gap_ms(writers, begin, end)
            step["fetch_gap_ms"] = gap_ms([along], begin, end)
            taken.append(step)
            print("rolling:", json.dumps(step), flush=True)
            check(all(t.is_alive() for t in [*writers, along, *repeated, *members]), "a client has ended")
        for thread in [*writers, *repeated]:
            thread.finish()
        refused = [failure for writer in writers for failure in writer.failed]
        check(not refused, f"{len(refused)} records were refused, the first: {refused[:1]}")
        eventually("all replicas in sync", SETTLE_SECONDS, cluster.in_sync)
        read = verify(cluster, writers, along, keys, members, len(steps))
        print(f"pass rolling.live {millis(began)} # {len(steps)} steps, {read} records", flush=True)
        if options.out:
            with open(options.out, "a") as out:
                result = {"brokers": options.brokers, "plan": options.plan, "seed": options.seed, "records": read}
                assigned = {f"{m.group}-{at}": m.assigned for at, m in enumerate(members)}
                out.write(json.dumps(result | {"assigned": assigned, "steps": taken}) + "\n")
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"fail rolling.live {millis(began)}: seed {options.seed}: {why}; see {cluster.scratch}", flush=True)
        traceback.print_exc()
        return 1
    finally:
        cluster.stop()
    chaos.shutil.rmtree(cluster.scratch, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
