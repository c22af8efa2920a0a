"""What a broker that is killed again and again must hold, by content, and how that is checked.

The book knows of everything that was asked for whether it was acknowledged, and of one thing at a
time that it is in doubt: the broker died before it answered. After a restart that happened entirely
or not at all, and the book learns which.

A record's value tells who wrote it, to which making of which topic, with which number, and the sum
of all that. What was read once must be read again, acknowledged or not.
"""

import collections
import threading
import time
import zlib

from confluent_kafka import TopicCollection, TopicPartition
from confluent_kafka.admin import ResourceType

from estate import ALTER_CONFIGS, BROKER_RESOURCE, LIST_OFFSETS, Estate
from suite import check, eventually, eventually_with, same
from wire import Connection, Reader, array, header, i32, i64, i8, string

METADATA, OFFSET_FETCH = 3, 9
EARLIEST, LATEST = -2, -1
LOADING = (14, 15, 16)
# An incremental reading begins so many records before its place, to see that they are still there.
OVERLAP = 300
DISK_SECONDS_MAX = 20


def value_of(producer, tag, partition, number, size=0):
    """Text without line ends, so that a command line can carry it."""
    head = f"{producer}|{tag}|{partition}|{number}|".encode()
    body = head + (head * (size // len(head) + 1))[:size]
    return body + b"%08x" % zlib.crc32(body)


def told_by(value):
    """(producer, tag, partition, number) of a value that is as it was written."""
    body, found = value[:-8], value[-8:]
    same("sum of a value", b"%08x" % zlib.crc32(body), bytes(found))
    producer, tag, partition, number, _ = body.split(b"|", 4)
    return producer.decode(), tag.decode(), int(partition), int(number)


def size_of(file):
    """Retention may take it meanwhile."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


class Part:
    """A partition of one making of a topic."""

    def __init__(self):
        self.acked = {}  # offset -> (producer, number, timestamp)
        self.unplaced = set()  # (producer, number) confirmed as a duplicate, without an offset
        self.known = {}  # offset -> (producer, number): what was read
        self.low = 0  # where the log begins
        self.end = 0  # up to where it was read
        self.deleted = 0  # DeleteRecords: acknowledged
        self.tried = 0  # and asked for


class Topic:
    """One making of a topic: made anew under the same name it is another one."""

    def __init__(self, name, making, partitions, configs):
        self.name = name
        self.making = making
        self.tag = f"{name}.{making}"
        self.id = None
        self.there = False  # acknowledged
        self.gone = False
        self.leaving = False  # its deletion is in doubt
        self.growing = None  # the number of partitions that is in doubt
        self.configs = dict(configs)
        self.altered = None  # the configs that are in doubt
        self.in_force = [dict(configs)]  # all since the last check
        self.parts = [Part() for _ in range(partitions)]

    def is_in_doubt(self):
        return not self.there or self.leaving

    def limits(self, name):
        """Values of a retention config that may have been in force, those without a limit left out."""
        found = (int(one.get(name, -1)) for one in self.in_force)
        return [value for value in found if value >= 0]


class Producers:
    """Who may have written what: producers, and the numbers that they have given out."""

    def __init__(self):
        self.sent = collections.Counter()  # (producer, tag, partition) -> numbers that were begun
        # Whose records come in order and once, with no number left out.
        self.idempotent = set()


class Book:
    def __init__(self, bootstrap, data):
        self.bootstrap = bootstrap
        self.data = data  # the log directories
        self.estate = Estate(bootstrap)
        self.lock = threading.Lock()
        self.topics = {}  # name -> Topic, the newest making
        self.producers = Producers()
        # (group, topic, partition) -> [acknowledged, asked for since]; None is no offset.
        self.commits = {}
        self.settings = {}  # (resource type, name) -> [configs, in doubt or None]
        self.producer_ids = set()
        # Directories that may have been set aside: of topics whose deletion was in doubt.
        self.set_aside = set()
        self.records = 0  # read and compared
        self.broker_ms = self.client_ms

    @staticmethod
    def client_ms():
        return int(time.time() * 1000)

    def connection(self, seconds=20):
        return Connection(self.estate, seconds=seconds)

    def living(self):
        return [topic for topic in self.topics.values() if not topic.gone]

    def ack(self, topic, partition, offset, producer, number, timestamp=None):
        stamp = self.client_ms() if timestamp is None else timestamp
        with self.lock:
            part = topic.parts[partition]
            if offset < 0:
                part.unplaced.add((producer, number))
                return
            before = part.acked.get(offset)
            part.acked[offset] = (producer, number, stamp)
        check(
            before is None or before[:2] == (producer, number),
            f"{topic.tag}-{partition}: offset {offset} was acknowledged for {before} and for {producer} {number}",
        )

    def count(self):
        with self.lock:
            return sum(len(p.acked) for topic in self.topics.values() for p in topic.parts)

    # ---- checks ----

    def verify(self, whole):
        """`whole`: every record from the log's start, not only what is new."""
        # First, so that everything in it must be below the ends that are asked for next.
        with self.lock:
            acked = {id(p): (dict(p.acked), set(p.unplaced)) for t in self.living() for p in t.parts}
        self.verify_topics()
        self.verify_configs()
        self.verify_records(acked, whole)
        self.verify_commits()
        self.verify_disk()

    def listed(self):
        """Names and numbers of partitions of all topics that are not internal."""
        with self.connection() as connection:
            reader = Reader(connection.call(header(METADATA, 1) + array(None)))
        for _ in range(reader.i32()):
            reader.i32(), reader.string(), reader.i32(), reader.string()
        reader.i32()
        found = {}
        for _ in range(reader.i32()):
            reader.i16()
            name, internal = reader.string(), reader.take(">b")
            partitions = []
            for _ in range(reader.i32()):
                reader.i16()
                partitions.append(reader.i32())
                reader.i32()
                for _ in range(2):
                    [reader.i32() for _ in range(reader.i32())]
            if not internal:
                same(f"partitions of {name}", list(range(len(partitions))), sorted(partitions))
                found[name] = len(partitions)
        return found

    def verify_topics(self):
        listed = self.listed()
        for topic in self.living():
            if topic.name not in listed:
                check(topic.is_in_doubt(), f"topic {topic.tag} is lost")
                topic.gone = True
                count = max(len(topic.parts), topic.growing or 0)
                self.set_aside.update(f"{topic.name}-{p}" for p in range(count))
                continue
            topic.there, topic.leaving = True, False
            partitions = listed[topic.name]
            if topic.growing is not None:
                check(
                    partitions in (len(topic.parts), topic.growing),
                    f"{topic.tag} has {partitions} partitions, of {topic.growing} asked for",
                )
                topic.growing = None
                topic.parts += [Part() for _ in range(partitions - len(topic.parts))]
            same(f"partitions of {topic.tag}", len(topic.parts), partitions)
        extra = set(listed) - {topic.name for topic in self.living()}
        check(not extra, f"topics that should not be there: {sorted(extra)}")
        if not listed:
            return
        admin = self.estate.admin()
        found = admin.describe_topics(TopicCollection(sorted(listed)))
        for name, future in found.items():
            topic = self.topics[name]
            id_ = str(future.result(30).topic_id)
            topic.id = topic.id or id_
            same(f"id of {topic.tag}", topic.id, id_)

    def verify_configs(self):
        for topic in self.living():
            found = self.estate.dynamic(ResourceType.TOPIC, topic.name)
            wanted = [topic.configs] + ([topic.altered] if topic.altered is not None else [])
            check(found in wanted, f"configs of {topic.tag}: {found}, which is none of {wanted}")
            topic.configs, topic.altered = found, None
        for (kind, name), held in self.settings.items():
            found = self.estate.dynamic(kind, name)
            if (kind, name) == (BROKER_RESOURCE, ""):
                # A new cluster has one of its own there.
                found.pop("min.insync.replicas", None)
            wanted = [one for one in held if one is not None]
            check(found in wanted, f"configs of {kind} '{name}': {found}, which is none of {wanted}")
            held[:] = [found, None]

    def offsets(self, places, timestamp):
        """Of each (topic, partition), once they are all led."""
        by_topic = collections.defaultdict(list)
        for name, p in places:
            by_topic[name].append(p)
        body = i32(-1) + array(
            [string(name) + array([i32(p) + i64(timestamp) for p in ps]) for name, ps in by_topic.items()]
        )
        found, errors = {}, {}

        def answered():
            reader = Reader(connection.call(header(LIST_OFFSETS, 1) + body))
            errors.clear()
            for _ in range(reader.i32()):
                name = reader.string()
                for _ in range(reader.i32()):
                    p, error = reader.i32(), reader.i16()
                    reader.i64()
                    found[(name, p)] = reader.i64()
                    if error != 0:
                        errors[(name, p)] = error
            return not errors

        with self.connection() as connection:
            eventually_with("partitions are led", errors, answered)
        return found

    def verify_records(self, acked, whole):
        places = [(t.name, p) for t in self.living() for p in range(len(t.parts))]
        if not places:
            return
        ends = self.offsets(places, LATEST)
        lows = self.offsets(places, EARLIEST)
        starts = {}
        for topic in self.living():
            for p, part in enumerate(topic.parts):
                place = (topic.name, p)
                check(
                    ends[place] >= part.end, f"{topic.tag}-{p} ends at {ends[place]}, it was read up to {part.end}"
                )
                self.explain_start(topic, p, lows[place], acked.get(id(part), ({},))[0])
                starts[place] = lows[place] if whole else max(lows[place], part.end - OVERLAP)
        got = self.read(starts, ends)
        for topic in self.living():
            for p, part in enumerate(topic.parts):
                place = (topic.name, p)
                # What expires while it is read is gone, and only with a limit.
                first = min(got[place], default=ends[place])
                last = max(got[place], default=ends[place] - 1)
                told, unplaced = acked.get(id(part), ({}, set()))
                if first > starts[place]:
                    self.explain_start(topic, p, self.offsets([place], EARLIEST)[place], told)
                # Between what was read, `compare` sees holes. Here are those at both ends: what is missing
                # at the beginning must be gone from the log, not only from this reading.
                asked = max(starts[place], part.low)
                check(first <= asked, f"{topic.tag}-{p}: {first} is the first offset read, {asked} was asked for")
                check(last + 1 == ends[place], f"{topic.tag}-{p}: {last} is the last one read, it ends at {ends[place]}")
                self.compare(topic, p, got[place], part.low, told, unplaced)
                part.end = max(ends[place], part.end)
        for topic in self.living():
            topic.in_force = [dict(topic.configs)]

    def explain_start(self, topic, p, low, acked):
        """A log may begin later than it did where records were deleted or expired, and never earlier."""
        part, name = topic.parts[p], f"{topic.tag}-{p}"
        check(low >= part.low, f"{name} begins at {low}, it began at {part.low}: what was deleted is back")
        check(low >= part.deleted, f"{name} begins at {low}, DeleteRecords up to {part.deleted} was acknowledged")
        if low > max(part.low, part.tried):
            why = f"{name} begins at {low}, before at {part.low}, and DeleteRecords was asked for up to {part.tried}"
            sizes, ages = topic.limits("retention.bytes"), topic.limits("retention.ms")
            check(sizes or ages, f"{why}; it had no retention: {topic.in_force}")
            held = sum(size_of(file) for file in self.segments(topic, p))
            by_size = sizes and held >= min(sizes)
            latest = max(
                (stamp for offset, (_, _, stamp) in acked.items() if max(part.low, part.tried) <= offset < low),
                default=0,
            )
            by_age = ages and latest <= self.broker_ms() - min(ages)
            check(by_size or by_age, f"{why}; {held} bytes are left of {sizes}, and a record was of {latest}: {ages}")
        part.low = low

    def segments(self, topic, p):
        return [file for data in self.data for file in (data / f"{topic.name}-{p}").glob("*.log")]

    def read(self, starts, ends):
        """Offset -> value of each place, from its start to its end."""
        got = {place: {} for place in starts}
        left = {place for place in starts if starts[place] < ends[place]}
        if not left:
            return got
        reader = self.estate.consumer(isolation_level="read_committed", enable_partition_eof=False)
        # Where retention is at work, a place may have begun to expire meanwhile.
        settings = [TopicPartition(*place, starts[place]) for place in left]
        deadline = time.monotonic() + 90
        try:
            reader.assign(settings)
            while left:
                check(
                    time.monotonic() < deadline,
                    f"reading stalls: {[(place, len(got[place]), ends[place]) for place in left][:3]}",
                )
                for message in reader.consume(2000, 0.2):
                    place = (message.topic(), message.partition())
                    if message.error() is not None:
                        self.skip_expired(reader, place, got, left, starts, ends)
                        continue
                    if message.offset() < ends[place]:
                        got[place][message.offset()] = message.value()
                    if message.offset() + 1 >= ends[place]:
                        left.discard(place)
        finally:
            reader.close()
        return got

    def skip_expired(self, reader, place, got, left, starts, ends):
        """Its start has moved: what was read of it is gone, too."""
        low = self.offsets([place], EARLIEST)[place]
        got[place].clear()
        if low >= ends[place]:
            left.discard(place)
        at = {one: max(got[one], default=starts[one] - 1) + 1 for one in left}
        reader.assign([TopicPartition(*one, max(low, at[one]) if one == place else at[one]) for one in left])

    def compare(self, topic, p, got, low, acked, unplaced):
        part, name = topic.parts[p], f"{topic.tag}-{p}"
        last = {}
        before = None
        for offset, value in sorted(got.items()):
            check(before is None or offset == before + 1, f"{name}: {offset} follows {before}")
            before = offset
            producer, tag, partition, number = told_by(value)
            same(f"topic and partition of the record at {offset} of {name}", (topic.tag, p), (tag, partition))
            held = part.known.setdefault(offset, (producer, number))
            same(f"the record at {offset} of {name}, read again", held, (producer, number))
            if producer in self.producers.idempotent:
                if producer in last:
                    same(f"number of {producer} at {offset} of {name}", last[producer] + 1, number)
                last[producer] = number
            begun = self.producers.sent[(producer, tag, p)]
            check(number < begun, f"{name}: {producer} {number} at {offset}, and {begun} were sent")
        self.records += len(got)
        for offset, (producer, number, _) in acked.items():
            if offset < low:
                continue
            there = part.known.get(offset)
            check(
                there == (producer, number),
                f"{name}: {producer} {number} was acknowledged at {offset}, where {there or 'nothing'} is",
            )
        places = collections.Counter(part.known.values())
        if low == 0:
            lost = [one for one in unplaced if one not in places]
            check(not lost, f"{name}: acknowledged as duplicates and not there: {lost[:3]}")
        twice = [one for one, times in places.items() if times > 1 and one[0] in self.producers.idempotent]
        check(not twice, f"{name} holds twice: {twice[:3]}")
        with self.lock:
            for held in (part.acked, part.known):
                for offset in [one for one in held if one < low]:
                    del held[offset]

    def committed(self, group):
        """(group, topic, partition) -> (offset, metadata) of all that the group has committed."""
        found, error = {}, []

        def answered():
            reader = Reader(connection.call(header(OFFSET_FETCH, 5) + string(group) + array(None)))
            reader.i32()
            found.clear()
            for _ in range(reader.i32()):
                name = reader.string()
                for _ in range(reader.i32()):
                    p, offset = reader.i32(), reader.i64()
                    reader.i32()
                    found[(group, name, p)] = (offset, reader.string())
                    same(f"error of {group} {name} {p}", 0, reader.i16())
            error[:] = [reader.i16()]
            check(error[0] in (0, *LOADING), f"OffsetFetch of {group}: error {error[0]}")
            return error[0] == 0

        with self.connection() as connection:
            eventually_with(f"offsets of {group} are loaded", error, answered)
        return found

    def verify_commits(self):
        for group in {group for group, _, _ in self.commits}:
            found = self.committed(group)
            places = {place: held for place, held in self.commits.items() if place[0] == group}
            leaving = {found.get(place) is None for place, held in places.items() if held[0] is not None and held[1] == [None]}
            check(len(leaving) < 2, f"the deletion of {group} was done in part: {found}")
            for place, held in places.items():
                offset, metadata = found.get(place, (None, None))
                check(offset in [held[0], *held[1]], f"offset of {place}: {offset}, acknowledged and asked for {held}")
                if offset is not None:
                    same(f"metadata of {place}", f"{group} at {offset}", metadata)
                held[:] = [offset, []]

    def verify_disk(self):
        """Nothing is left of a topic that is gone, under a name by which it would come back."""
        wanted = {f"{t.name}-{p}" for t in self.living() for p in range(len(t.parts))}
        left = []

        def clean():
            names = [one.name for data in self.data for one in data.iterdir() if one.is_dir()]
            there = {one for one in names if "-" in one and not one.startswith("__")}
            strays = {one for one in there if one.endswith("-stray") and one.rsplit(".", 1)[0] in self.set_aside}
            left[:] = sorted((there - strays) ^ wanted)
            return not left

        try:
            eventually("directories", DISK_SECONDS_MAX, clean)
        except AssertionError as error:
            raise AssertionError(f"directories of partitions that differ from the topics: {left[:5]}") from error

    # ---- what the storms share ----

    def alter(self, kind, name, changes, connection):
        """IncrementalAlterConfigs, all of it or nothing; in doubt until it is answered."""
        ops = [string(k) + i8(0 if v is not None else 1) + string(v) for k, v in changes.items()]
        body = array([i8(kind) + string(name) + array(ops)]) + i8(0)
        topic = self.topics[name] if kind == ResourceType.TOPIC.value else None
        held = self.settings.setdefault((kind, name), [{}, None]) if topic is None else None
        now = dict(topic.configs if topic else held[0])
        for config, value in changes.items():
            if value is None:
                now.pop(config, None)
            else:
                now[config] = value
        if topic:
            topic.altered = now
            topic.in_force.append(now)
        else:
            held[1] = now
        reader = Reader(connection.call(header(ALTER_CONFIGS, 0) + body))
        reader.i32(), reader.i32()
        error = reader.i16()
        check(error == 0, f"configs of {kind} '{name}' to {changes}: error {error}, {reader.string()}")
        if topic:
            topic.configs, topic.altered = now, None
        else:
            held[:] = [now, None]
