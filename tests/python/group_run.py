"""A consumer group of processes under load: what is written to its topics, what it commits, when it is at rest, and
whether what its members told is right (`group_soak_check.py`).
"""

import collections
import heapq
import itertools
import signal
import threading
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

import group_soak_check as checks
from group_soak_members import now
from suite import check, eventually

# How often clients look whether topics have grown.
METADATA_MS = 1500
# How long it may take until a member has its first answer, until all is consumed, and until all is at rest.
BEGIN_SECONDS_MAX, DRAIN_SECONDS_MAX, REST_SECONDS_MAX = 90, 90, 60


class Load:
    """Writes to all partitions, and knows how many records each has."""

    def __init__(self, bootstrap, topics, rate):
        self.lock = threading.Lock()
        self.rate = rate
        self.partitions = [(topic, p) for topic, count in topics.items() for p in range(count)]
        self.counts = collections.Counter()
        self.errors = []
        self.stopping = threading.Event()
        self.producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, "log_level": 0,
             "topic.metadata.refresh.interval.ms": METADATA_MS}
        )
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def grow(self, topic, before, count):
        with self.lock:
            self.partitions += [(topic, p) for p in range(before, count)]

    def done(self, error, message):
        if error is not None:
            self.errors.append(str(error))
        else:
            self.counts[f"{message.topic()}-{message.partition()}"] += 1

    def run(self):
        number = 0
        start = time.monotonic()
        while not self.stopping.is_set():
            with self.lock:
                topic, partition = self.partitions[number % len(self.partitions)]
            try:
                self.producer.produce(topic, b"record %d" % number, partition=partition, on_delivery=self.done)
            except (KafkaException, BufferError) as error:
                # A partition that is new to the client.
                if "UNKNOWN_PARTITION" not in str(error):
                    self.errors.append(str(error))
            number += 1
            self.producer.poll(0)
            time.sleep(max(0.0, start + number / self.rate - time.monotonic()))

    def stop(self):
        self.stopping.set()
        self.thread.join(30)
        check(self.producer.flush(30) == 0, "records are not acknowledged within 30 s")
        check(not self.errors, f"the load: {self.errors[:3]}")


class Watcher:
    """Reads what the group has committed, again and again."""

    def __init__(self, bootstrap, group, topics):
        # It joins nothing.
        self.consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0})
        self.topics = topics
        self.seen = []
        self.error = None
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def read(self):
        targets = [TopicPartition(t, p) for t, count in list(self.topics.items()) for p in range(count)]
        found = self.consumer.committed(targets, timeout=20)
        return {f"{p.topic}-{p.partition}": max(p.offset, 0) for p in found if p.error is None}

    def run(self):
        while not self.stopping.wait(0.25):
            try:
                self.seen.append((now(), self.read()))
            except KafkaException as error:
                self.error = str(error)

    def stop(self):
        self.stopping.set()
        self.thread.join(30)
        return self.read()


class GroupRun:
    """A group, its members, and what is written to its topics while they come and go."""

    def __init__(self, bootstrap, group, topics, scratch, session_ms, may_go_back=False):
        """`may_go_back`: a member may have offsets committed after others got their partitions."""
        self.may_go_back = may_go_back
        self.bootstrap, self.group, self.topics = bootstrap, group, topics
        self.scratch, self.session_ms = scratch, session_ms
        self.scratch.mkdir(parents=True)
        self.admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self.members = []
        self.log = (scratch / "deeds.txt").open("w", encoding="utf-8", buffering=1)
        self.load = self.watcher = None
        self.faults = []

    def say(self, text):
        self.log.write(f"{now()} {text}\n")

    def check_alive(self, member):
        check(member.is_alive, f"{member.label} ended by itself; see {self.scratch}/{member.life.name}.err")

    def new_topic(self, name, partitions):
        return NewTopic(name, partitions, 1)

    def create_topics(self):
        """Creates the topics, and waits until each partition is led. A producer's first batch that is refused before,
        and its second one that is not, would leave a record out: the broker has no sequence number to miss."""
        for future in self.admin.create_topics([self.new_topic(*it) for it in self.topics.items()]).values():
            future.result(30)
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": self.group, "log_level": 0})

        def is_led(partition):
            try:
                return consumer.get_watermark_offsets(partition, timeout=5) is not None
            except KafkaException:
                return False

        for partition in [TopicPartition(t, p) for t, count in self.topics.items() for p in range(count)]:
            eventually(f"{partition.topic}-{partition.partition} is led", 30, lambda p=partition: is_led(p))
        consumer.close()

    def storm(self, deeds):
        """Does the deeds at their times, and what follows from them later."""
        start = time.monotonic()
        number = itertools.count()
        agenda = [(deed.at, next(number), lambda d=deed: self.do(d)) for deed in deeds]
        heapq.heapify(agenda)
        self.later = lambda seconds, act: heapq.heappush(
            agenda, (time.monotonic() - start + seconds, next(number), act)
        )
        while agenda:
            at, _, act = heapq.heappop(agenda)
            time.sleep(max(0.0, start + at - time.monotonic()))
            self.check_broker()
            act()

    def check_broker(self):
        """Fails if the broker ended; a run that starts no broker knows nothing of it."""

    def do(self, deed):
        """What is done to a member."""
        member = self.members[deed.whom]
        self.say(f"{deed.what} {member.life.name} {deed.seconds:.1f}")
        self.check_alive(member)
        if deed.what in ("short", "long"):
            member.pause()
            self.later(deed.seconds, lambda: self.resume(member))
        elif deed.what == "kill":
            member.kill()
            self.later(deed.seconds, member.start)
        else:
            member.tell_to_leave()
            self.later(deed.seconds, lambda: self.comes_back(member))

    def resume(self, member):
        self.say(f"resume {member.life.name}")
        member.resume()

    def comes_back(self, member):
        member.wait_until_left()
        member.start()

    def has_begun(self, member, life):
        self.check_alive(member)
        return life.has("assigned")

    def configure(self, name, value):
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        change = ConfigResource(ResourceType.GROUP, self.group, incremental_configs=[entry])
        for future in self.admin.incremental_alter_configs([change]).values():
            future.result(30)

    def at_rest(self, members, seconds, all_work=False):
        """Every partition has one owner among these members, and for so long none was told of a change. With `all_work`
        each of them owns one at least."""
        everything = {f"{t}-{p}" for t, count in self.topics.items() for p in range(count)}
        why = [""]

        def rests():
            for member in members:
                self.check_alive(member)
            if now() - max(m.life.told for m in members) < seconds * 1e6:
                why[0] = "a member was told of a change"
                return False
            owners = collections.Counter(p for m in members for p in m.life.owned)
            missing = sorted(everything - set(owners))
            twice = sorted(p for p, count in owners.items() if count > 1)
            idle = [m.label for m in members if not m.life.owned] if all_work else []
            why[0] = f"{missing} has no owner, {twice} has two, {idle} own nothing"
            return not missing and not twice and not idle

        try:
            eventually("the group is at rest", REST_SECONDS_MAX, rests)
        except AssertionError as error:
            raise AssertionError(f"{error}: {why[0]}") from None

    def drained(self):
        behind = {}

        def is_drained():
            committed = self.watcher.seen[-1][1] if self.watcher.seen else {}
            behind.clear()
            behind.update({p: (committed.get(p), n) for p, n in self.load.counts.items() if committed.get(p, 0) < n})
            return not behind

        try:
            eventually("all is consumed", DRAIN_SECONDS_MAX, is_drained)
        except AssertionError as error:
            owners = {p: [m.label for m in self.members if m.lives and p in m.life.owned] for p in behind}
            raise AssertionError(f"{error}: committed and written {behind}, owned by {owners}") from None

    def lives(self):
        return [life for member in self.members for life in member.lives]

    def verify(self, complete):
        session_us = self.session_ms * 1000
        faults = self.faults
        committed = {}
        if self.watcher is not None:
            committed = self.watcher.stop()
            if not self.may_go_back:
                checks.never_backwards(self.watcher.seen, faults)
        by_partition = collections.defaultdict(list)
        for life in self.lives():
            for holding in checks.holdings(life, session_us, faults):
                by_partition[holding.partition].append(holding)
                checks.without_gaps(holding, faults)
            if life.killed is None:
                faults += [f"{life.name}: {e['line']}" for e in life.events if e["e"] == "garbled"]
        for partition, held in sorted(by_partition.items()):
            checks.in_turn(partition, held, faults)
            checks.acknowledged_in_order(partition, held, faults)
        if complete:
            for partition, count in sorted(self.load.counts.items()):
                held = by_partition.get(partition, [])
                checks.everything(partition, held, count, committed.get(partition), faults)
        return faults

    def end(self):
        """Whatever is left of it."""
        for member in self.members:
            if member.is_alive:
                member.signal(signal.SIGCONT)
            member.kill()
        if self.load is not None:
            self.load.stopping.set()
        if self.watcher is not None:
            self.watcher.stopping.set()
        self.log.close()
