"""One installation that goes to another broker and back, with members of groups that live through it."""

import signal
import threading
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from estate import GROUP_RESOURCE, READERS, Estate
from installation import KAFKA, THALWEG, Installation, Official
from suite import check, eventually, eventually_with, same
from wire import Connection, Reader, array, compact, data, header, i8, i16, i32, string, uvarint

CLEAN, KILL = "clean", "kill"
SIGNALS = {CLEAN: signal.SIGTERM, KILL: signal.SIGKILL}
LIVE, SHARED, COMPACTED = "live", "shared", "compacted"
SHARING, STREAMING = "sharing", "streaming"
JOIN_GROUP, STREAMS_HEARTBEAT = 11, 88
# What a member that lost its partitions counts, at least; the official clients' process has the same number.
LOST = 1000
INCONSISTENT_GROUP_PROTOCOL = 23
NON_EMPTY_GROUP = 68


class Compacted:
    """A topic whose old records go, and a book of what must stay."""

    def __init__(self, estate):
        self.estate = estate
        self.values = {}  # (partition, offset) -> (key, value)
        self.newest = {}  # (partition, key) -> offset; without those that were deleted

    def create(self):
        config = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "200"}
        config |= {"delete.retention.ms": "100", "retention.ms": "-1"}
        self.estate.create(self.estate.admin(), COMPACTED, 2, config)
        # It loses records, so it is checked here.
        self.estate.resting.add(COMPACTED)
        for p in range(2):
            del self.estate.records[(COMPACTED, p)], self.estate.starts[(COMPACTED, p)]

    def fill(self, step):
        """Every key many times, in several segments; some are deleted. Waits until it was compacted."""
        before = len(self.read())
        written = 0
        for turn in range(4):
            settings = {"bootstrap.servers": self.estate.bootstrap, "enable.idempotence": True, "log_level": 0}
            producer = Producer(settings)
            for i in range(100):
                partition, key = i % 2, b"key-%d" % (i % 20)
                value = None if turn == 3 and i % 20 == step else b"%d/%d/%d " % (step, turn, i) + b"v" * 500

                def done(error, message, partition=partition, key=key, value=value):
                    check(error is None, f"{error}")
                    self.values[(partition, message.offset())] = (key, value)
                    self.newest[(partition, key)] = message.offset()

                producer.produce(COMPACTED, value, key, partition, on_delivery=done)
                written += 1
            same("records without an answer", 0, producer.flush(30))
            time.sleep(0.25)  # longer than segment.ms
        left = []

        def compacted():
            left[:] = [len(self.read())]
            return left[0] <= before + written // 2

        eventually_with(f"{before + written} records of a compacted topic become {before + written // 2}", left, compacted)

    def read(self):
        """Everything that is left. Each record must be one that was written, and the newest of each key
        must be there."""
        reader = self.estate.consumer()
        there = {}
        try:
            self.read_with(reader, there)
        finally:
            reader.close()
        for place, found in there.items():
            same(f"record {place} of the compacted topic", self.values.get(place), found)
        gone = [
            (partition, key)
            for (partition, key), offset in self.newest.items()
            if self.values[(partition, offset)][1] is not None and (partition, offset) not in there
        ]
        check(not gone, f"the newest record is gone of {gone[:5]}")
        return there

    @staticmethod
    def read_with(reader, there):
        parts, open_ = [], set()
        for p in range(2):
            low, high = reader.get_watermark_offsets(TopicPartition(COMPACTED, p), 30)
            parts.append(TopicPartition(COMPACTED, p, low))
            if high > low:
                open_.add(p)
        reader.assign(parts)

        def all_read():
            for message in reader.consume(1000, 0.1):
                if message.error() is not None:
                    open_.discard(message.partition())
                else:
                    there[(message.partition(), message.offset())] = (message.key(), message.value())
            return not open_

        eventually("the compacted topic is read", 30, all_read)


class Member:
    """A member by librdkafka that lives through everything."""

    def __init__(self, bootstrap, name, group, protocol, assignor=None):
        self.name = name
        self.seen = set()
        self.twice = 0
        self.rebalances = 0
        self.error = None
        self.stopping = threading.Event()
        settings = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "group.protocol": protocol,
            "client.id": name,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 50,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }
        if protocol == "classic":
            settings |= {"session.timeout.ms": 60_000, "heartbeat.interval.ms": 300}
        if assignor is not None:
            settings["partition.assignment.strategy"] = assignor
        self.consumer = Consumer(settings)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        def moved(*_):
            self.rebalances += 1

        def lost(*_):
            self.rebalances += LOST

        try:
            self.consumer.subscribe([LIVE], on_assign=moved, on_revoke=moved, on_lost=lost)
            behind = False
            while not self.stopping.is_set():
                for message in self.consumer.consume(200, 0.1):
                    if message.error() is None:
                        place = (message.partition(), message.offset())
                        self.twice += place in self.seen
                        self.seen.add(place)
                        behind = True
                if behind:
                    try:
                        self.consumer.commit(asynchronous=False)
                        behind = False
                    except KafkaException:
                        pass  # The broker is away.
        except Exception as error:
            self.error = str(error)

    def state(self):
        return (len(self.seen), self.twice, self.rebalances, "-", self.error or "-")

    def leave(self):
        self.stopping.set()
        self.thread.join(10)
        check(not self.thread.is_alive(), f"{self.name} still polls")
        same(f"error of {self.name}", None, self.error)
        self.consumer.close()

    def end(self):
        self.stopping.set()
        self.thread.join(10)
        # Not closed: a broker that is gone would be waited for.


class Move:
    """An installation and its book. `order`: who runs it, one after the other."""

    order = (KAFKA, THALWEG, KAFKA, THALWEG)
    # Whether the levels of the features allow share and streams groups.
    has_new_groups = True
    format_options = ()

    def __init__(self, options, case, stops, **site):
        self.stops = stops
        self.site = Installation(options, case, **site)
        self.estate = Estate(self.site.bootstrap)
        self.compacted = Compacted(self.estate)
        self.official = None
        self.librdkafka = []
        self.rebalances = None
        self.told = {}
        self.shared = set()  # offsets that the share group has taken
        self.cleaned = {}

    def steps(self):
        for step, who in enumerate(self.order, 1):
            stop = CLEAN if step == len(self.order) else self.stops[who]
            act = self.begin if step == 1 else self.take_over
            yield f"{step}-{who}", lambda step=step, who=who, stop=stop, act=act: act(step, who, stop)
        yield f"{len(self.order) + 1}-files", self.site.check_files

    def begin(self, step, who, stop):
        if who == KAFKA:
            self.site.format(*self.format_options)
        self.site.start(who)
        self.official = Official(self.site)
        admin = self.estate.admin()
        for name, partitions in ((LIVE, 4), (SHARED, 1)):
            self.estate.create(admin, name, partitions)
        self.compacted.create()
        for name, group, protocol, instance in (
            ("java-a", "live-classic", "classic", ""),
            ("java-b", "live-classic", "classic", ""),
            ("java-c", "live-static", "classic", "fixed-c"),
            ("java-d", "live-consumer", "consumer", ""),
            ("java-e", "live-consumer", "consumer", ""),
        ):
            self.official.call(f"join {name} {group} {protocol} {LIVE} {instance}".rstrip())
        self.librdkafka = [
            Member(self.site.bootstrap, "rd-a", "rd-classic", "classic"),
            Member(self.site.bootstrap, "rd-b", "rd-consumer", "consumer"),
        ]
        self.change(step, who)
        self.members_read_on()
        self.rebalances = {name: state[2] for name, state in self.members().items()}
        self.leave(who, stop)

    def take_over(self, step, who, stop):
        took = self.site.start(who)
        self.compare(who)
        self.estate.verify(kafka=who == KAFKA)
        self.compacted.read()
        if who == THALWEG and self.shared:
            self.reserved()
        self.change(step, who)
        self.members_read_on()
        self.leave(who, stop)
        return f"up after {took:.1f} s"

    def change(self, step, who):
        self.estate.fill(step, kafka=who == KAFKA, clean=self.stops[who] == CLEAN)
        if who == KAFKA and self.has_new_groups:
            if not self.shared:
                self.stream()
            self.share()
        self.compacted.fill(step)

    def leave(self, who, stop):
        """What this broker tells in the end is what the next one must tell."""
        self.told |= {section: lines for section, lines in self.inventory().items() if lines is not None}
        self.site.stop(SIGNALS[stop])
        checkpoint = self.site.checkpoint("cleaner-offset-checkpoint")
        cleaned = {place: at for place, at in checkpoint.items() if place.startswith(COMPACTED)}
        same("partitions in cleaner-offset-checkpoint", 2, len(cleaned))
        for place, before in self.cleaned.items():
            check(cleaned[place] > before, f"{place} was compacted up to {cleaned[place]}, by the one before to {before}")
        self.cleaned = cleaned

    def inventory(self):
        """What an Admin client is told, once every member has committed what it has read."""
        ends = {f"{LIVE}-{p}": self.estate.records[(LIVE, p)][-1][0] + 1 for p in range(4)}
        groups = ("live-classic", "live-static", "live-consumer", "rd-classic", "rd-consumer")
        wanted = {(group, place, str(end)) for group in groups for place, end in ends.items()}
        found, missing = {}, []

        def settled():
            found.clear()
            found.update(self.official.inventory())
            committed = set()
            for line in found.get("offset", ()):
                group, place, rest = line.split(" ", 2)
                committed.add((group, place, rest.split("offset=")[1].split(",")[0]))
            missing[:] = sorted(wanted - committed)
            return not missing

        eventually_with("everything that members have read is committed", missing, settled)
        for section in ("start", "end", "producer"):
            # What coordinators write for themselves is their own affair.
            found[section] = {line for line in found.get(section, ()) if not line.startswith("__")}
        # Of long ago: a start forgets such producers.
        found["producer"] = {line for line in found["producer"] if "lastTimestamp=17000000" not in line}
        # Its member is away, and its session ends by the clock.
        found["member"] = {line for line in found["member"] if not line.startswith(f"{READERS} ")}
        return found

    def compare(self, who):
        """The same as the one before told, as far as both tell it."""
        different = []

        def equal():
            different.clear()
            try:
                now = self.inventory()
            except AssertionError as error:
                # The coordinator may still load.
                different.append(str(error))
                return False
            for section, expected in self.told.items():
                if now.get(section, set()) is None:
                    check(who == THALWEG, f"Kafka does not tell {section}")
                    continue
                there = now.get(section, set())
                different.extend(f"{section} - {line}" for line in sorted(expected - there))
                different.extend(f"{section} + {line}" for line in sorted(there - expected))
            del different[20:]
            return not different

        eventually_with(f"{who} tells what was told before", different, equal)

    # ---- groups ----

    def members(self):
        return self.official.members() | {one.name: one.state() for one in self.librdkafka}

    def members_read_on(self):
        """Every group is given every record once, by the members that it had."""
        total = sum(len(self.estate.records[(LIVE, p)]) for p in range(4))
        groups = (("java-a", "java-b"), ("java-c",), ("java-d", "java-e"), ("rd-a",), ("rd-b",))
        now = {}

        def read():
            now.clear()
            now.update(self.members())
            return all(sum(now[name][0] for name in names) >= total for names in groups)

        eventually_with(f"each group has read {total} records", now, read)
        for names in groups:
            same(f"records of {names}", total, sum(now[name][0] for name in names))
        for name, (_, twice, rebalances, _, error) in now.items():
            same(f"error of member {name}", "-", error)
            if self.rebalances is not None:
                same(f"records that {name} was given again", 0, twice)
                same(f"rebalances that {name} has seen", self.rebalances[name], rebalances)

    def share(self):
        """The share group takes what is new, and nothing that it had taken before."""
        expected = {one[0] for one in self.estate.records[(SHARED, 0)]} - self.shared
        got = [int(line) for line in self.official.call(f"share {SHARING} {SHARED} {len(expected)}")]
        same("records of the share group", sorted(expected), sorted(got))
        self.shared |= expected
        # Its reset strategy was set on the way.
        self.estate.note(GROUP_RESOURCE, SHARING, {"share.auto.offset.reset": "earliest"})

    def stream(self):
        """A streams group that had a member, and offsets of it."""

        def heartbeat(epoch, topology, tasks):
            body = compact(STREAMING) + compact("a-member") + i32(epoch) + i32(0) + compact(None) + compact(None) + i32(30_000)
            body += topology + tasks * 3 + compact("a-process")
            # No endpoint of its own, no tags, no offsets of tasks, and the application goes on.
            body += i8(-1) + uvarint(0) * 3 + i8(0) + b"\0"
            with Connection(self.estate, seconds=30) as connection:
                answer = connection.call(header(STREAMS_HEARTBEAT, 0, flexible=True) + body)
            return Reader(answer, at=5 + 4).i16()

        sources = uvarint(2) + compact(LIVE)
        subtopology = compact("0") + sources + uvarint(1) * 5 + b"\0"
        topology = i8(1) + i32(0) + uvarint(2) + subtopology + b"\0"
        eventually("a member joins a streams group", 30, lambda: heartbeat(0, topology, uvarint(1)) == 0)
        same("error of a member that leaves its streams group", 0, heartbeat(-1, i8(-1), uvarint(0)))
        self.official.call(f"streams {STREAMING} {LIVE} 7")

    def reserved(self):
        """Ids of share and streams groups are taken: nobody joins, commits to or deletes them."""
        admin = self.estate.admin()
        for group in (SHARING, STREAMING):
            join = string(group) + i32(10_000) + i32(10_000) + string("") + string("consumer")
            join += array([string("range") + data(i16(0) + array([string(LIVE)]) + data(b""))])
            with Connection(self.estate, seconds=30) as connection:
                reader = Reader(connection.call(header(JOIN_GROUP, 4) + join))
            reader.i32()
            same(f"error of a join to {group}", INCONSISTENT_GROUP_PROTOCOL, reader.i16())
            try:
                admin.delete_consumer_groups([group])[group].result(30)
            except KafkaException as error:
                same(f"error of deleting {group}", NON_EMPTY_GROUP, error.args[0].code())
            else:
                raise AssertionError(f"group {group} was deleted")

    def end(self):
        for member in self.librdkafka:
            member.end()
        if self.official is not None:
            self.official.end()
        self.site.end()
