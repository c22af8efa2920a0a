"""Request sequences of group members whose clients cannot be installed here, replayed from what their sources do:
`docs/group-clients.md` says which sources, and what the clients rely on. Part of the raw suite.

Each member is a thread that joins, synchronises, sends heartbeats, and does what its client does with each error.
"""

import threading
import time

from suite import case, check, eventually
from wire import Connection, Reader, array, compact, data, header, i8, i16, i32, i64, string, uvarint

OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR, JOIN, HEARTBEAT, LEAVE, SYNC = 8, 9, 10, 11, 12, 13, 14
METADATA, CREATE_TOPICS = 3, 19
NOT_READY = (14, 15, 16)
UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS, MEMBER_ID_REQUIRED, ILLEGAL_GENERATION = 25, 27, 79, 22
PARTITIONS = 6
SESSION_MS, HEARTBEAT_SECONDS = 10_000, 0.2
# brod waits for so long for all but JoinGroup, and ruby-kafka for 10 s.
ANSWER_SECONDS_MAX = 5
JOIN_SECONDS_MAX = 30


class Flexible(Reader):
    """Compact strings, arrays and tags."""

    def uvarint(self):
        value = shift = 0
        while True:
            byte = self.bytes[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def compact(self):
        size = self.uvarint() - 1
        if size < 0:
            return None
        self.at += size
        return self.bytes[self.at - size : self.at]

    def text(self):
        value = self.compact()
        return None if value is None else value.decode()

    def tags(self):
        for _ in range(self.uvarint()):
            self.uvarint()
            self.at += self.uvarint()


def octets(reader):
    size = reader.i32()
    if size < 0:
        return None
    reader.at += size
    return reader.bytes[reader.at - size : reader.at]


def compact_data(v):
    return uvarint(len(v) + 1) + v


def compact_array(items):
    return uvarint(len(items) + 1) + b"".join(items)


def assignment_of(bytes_):
    """Version, topics, user data: a client without a special case for no bytes at all fails here without them."""
    reader = Reader(bytes_, 0)
    reader.i16()
    out = {reader.string(): [reader.i32() for _ in range(reader.i32())] for _ in range(reader.i32())}
    octets(reader)
    return out


class RubyKafka:
    """ruby-kafka 1.5: JoinGroup v1, SyncGroup v0, Heartbeat v0, OffsetFetch v1, OffsetCommit v2, LeaveGroup v0."""

    protocol = "roundrobin"

    def __init__(self, connection, group, topic):
        self.connection, self.group, self.topic = connection, group, topic

    def join(self, member):
        body = string(self.group) + i32(SESSION_MS) + i32(JOIN_SECONDS_MAX * 1000) + string(member) + string("consumer")
        metadata = i16(0) + array([string(self.topic)]) + data(None)
        body += array([string(self.protocol) + data(metadata)])
        r = Reader(self.connection.call(header(JOIN, 1) + body))
        error, generation, _, leader, member = r.i16(), r.i32(), r.string(), r.string(), r.string()
        return error, generation, leader, member, [(r.string(), octets(r))[0] for _ in range(r.i32())]

    def sync(self, member, generation, assignments):
        body = string(self.group) + i32(generation) + string(member)
        body += array([string(m) + data(a) for m, a in assignments])
        r = Reader(self.connection.call(header(SYNC, 0) + body))
        return r.i16(), octets(r)

    def heartbeat(self, member, generation):
        body = string(self.group) + i32(generation) + string(member)
        return Reader(self.connection.call(header(HEARTBEAT, 0) + body)).i16()

    def offsets(self, partitions):
        body = string(self.group) + array([string(self.topic) + array([i32(p) for p in partitions])])
        r = Reader(self.connection.call(header(OFFSET_FETCH, 1) + body))
        out = {}
        for _ in range(r.i32()):
            r.string()
            for _ in range(r.i32()):
                partition, offset, _, error = r.i32(), r.i64(), r.string(), r.i16()
                out[partition] = (offset, error)
        return out

    def commit(self, member, generation, offsets):
        body = string(self.group) + i32(generation) + string(member) + i64(-1)
        body += array([string(self.topic) + array([i32(p) + i64(o) + string(None) for p, o in offsets.items()])])
        r = Reader(self.connection.call(header(OFFSET_COMMIT, 2) + body))
        errors = set()
        for _ in range(r.i32()):
            r.string()
            for _ in range(r.i32()):
                r.i32()
                errors.add(r.i16())
        return errors

    def leave(self, member):
        return Reader(self.connection.call(header(LEAVE, 0) + string(self.group) + string(member))).i16()


class Brod(RubyKafka):
    """brod 4.6: JoinGroup v6, SyncGroup v3, Heartbeat v4, OffsetFetch v2, OffsetCommit v8, LeaveGroup v0. Its protocol is
    one that no broker knows."""

    protocol = "roundrobin_v2"

    def join(self, member):
        body = compact(self.group) + i32(SESSION_MS) + i32(SESSION_MS) + compact(member) + compact(None)
        metadata = i16(0) + array([string(self.topic)]) + data(b"")
        body += compact("consumer") + compact_array([compact(self.protocol) + compact_data(metadata) + b"\0"]) + b"\0"
        r = Flexible(self.connection.call(header(JOIN, 6, flexible=True) + body))
        r.tags()
        r.i32()
        error, generation, _, leader, member = r.i16(), r.i32(), r.text(), r.text(), r.text()
        members = []
        for _ in range(r.uvarint() - 1):
            members.append(r.text())
            r.text()
            r.compact()
            r.tags()
        return error, generation, leader, member, members

    def sync(self, member, generation, assignments):
        body = string(self.group) + i32(generation) + string(member) + string(None)
        body += array([string(m) + data(a) for m, a in assignments])
        r = Reader(self.connection.call(header(SYNC, 3) + body))
        r.i32()
        return r.i16(), octets(r)

    def heartbeat(self, member, generation):
        body = compact(self.group) + i32(generation) + compact(member) + compact(None) + b"\0"
        r = Flexible(self.connection.call(header(HEARTBEAT, 4, flexible=True) + body))
        r.tags()
        r.i32()
        return r.i16()

    def offsets(self, partitions):
        body = string(self.group) + array([string(self.topic) + array([i32(p) for p in partitions])])
        r = Reader(self.connection.call(header(OFFSET_FETCH, 2) + body))
        out = {}
        for _ in range(r.i32()):
            r.string()
            for _ in range(r.i32()):
                partition, offset, _, error = r.i32(), r.i64(), r.string(), r.i16()
                out[partition] = (offset, error)
        check(r.i16() == 0, "OffsetFetch of the group has an error")
        return out

    def commit(self, member, generation, offsets):
        rows = [i32(p) + i64(o) + i32(-1) + compact("+1") + b"\0" for p, o in offsets.items()]
        body = compact(self.group) + i32(generation) + compact(member) + compact(None)
        body += compact_array([compact(self.topic) + compact_array(rows) + b"\0"]) + b"\0"
        r = Flexible(self.connection.call(header(OFFSET_COMMIT, 8, flexible=True) + body))
        r.tags()
        r.i32()
        errors = set()
        for _ in range(r.uvarint() - 1):
            r.compact()
            for _ in range(r.uvarint() - 1):
                r.i32()
                errors.add(r.i16())
                r.tags()
            r.tags()
        return errors


class BrodAsRoundRobin(Brod):
    """brod whose user has set `protocol_name`, to share a group with other clients."""

    protocol = "roundrobin"


class Member:
    """One member until it is told to leave or to vanish. All of it but `owned` is its thread's."""

    def __init__(self, c, client, group, topic):
        self.connection = Connection(c, seconds=JOIN_SECONDS_MAX)
        self.api = client(self.connection, group, topic)
        self.topic = topic
        self.member, self.generation = "", -1
        self.positions = {}
        self.owned = None
        self.told = []
        self.failure = None
        self.stopping = threading.Event()
        self.leaves = True
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            while not self.stopping.is_set():
                if self.owned is None:
                    self.join()
                else:
                    self.work()
                    self.stopping.wait(HEARTBEAT_SECONDS)
            if self.leaves:
                error = self.quick(lambda: self.api.leave(self.member))
                check(error == 0, f"LeaveGroup has error {error}")
            self.owned = None
        except BaseException as error:
            self.failure = error
        finally:
            self.connection.socket.close()

    def quick(self, call):
        start = time.monotonic()
        try:
            return call()
        finally:
            took = time.monotonic() - start
            check(took < ANSWER_SECONDS_MAX, f"an answer took {took:.1f} s, and the client waits for {ANSWER_SECONDS_MAX}")

    def join(self):
        error, generation, leader, member, members = self.api.join(self.member)
        if error == MEMBER_ID_REQUIRED:
            self.member = member
            return
        if error in NOT_READY:
            time.sleep(0.05)
            return
        if error == UNKNOWN_MEMBER_ID:
            self.member = ""
            return
        check(error == 0, f"JoinGroup has error {error}")
        check(leader and member, f"JoinGroup names leader {leader!r} and member {member!r}")
        check(leader != member or member in members, "a leader is not among the members that it is sent")
        check(leader == member or not members, "a member that does not lead is sent the others")
        self.member, self.generation = member, generation
        assignments = []
        if leader == member:
            for at, one in enumerate(members):
                rows = [i32(p) for p in range(PARTITIONS) if p % len(members) == at]
                assignments.append((one, i16(0) + array([string(self.topic) + array(rows)]) + data(b"")))
        error, assignment = self.quick(lambda: self.api.sync(self.member, self.generation, assignments))
        if error == REBALANCE_IN_PROGRESS:
            return
        check(error == 0, f"SyncGroup has error {error}")
        check(assignment, "SyncGroup has no assignment")
        partitions = assignment_of(assignment).get(self.topic, [])
        offsets = self.quick(lambda: self.api.offsets(partitions)) if partitions else {}
        for partition in partitions:
            offset, error = offsets[partition]
            check(error == 0, f"OffsetFetch has error {error}")
            self.positions[partition] = max(offset, 0)
        self.owned = set(partitions)

    def work(self):
        """A heartbeat, and a commit of what it owns; both clients commit once more before they join again."""
        error = self.quick(lambda: self.api.heartbeat(self.member, self.generation))
        check(error in (0, REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION), f"Heartbeat has error {error}")
        if error not in (UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION) and self.owned:
            offsets = {p: self.positions[p] + 1 for p in self.owned}
            errors = self.quick(lambda: self.api.commit(self.member, self.generation, offsets))
            self.told.append(errors)
            check(errors <= {0, REBALANCE_IN_PROGRESS}, f"OffsetCommit has errors {errors}")
            check(len(errors) == 1, f"OffsetCommit has errors {errors}, and brod ends with more than one")
            if errors == {0}:
                self.positions.update(offsets)
            elif error == 0:
                error = REBALANCE_IN_PROGRESS
        if error == UNKNOWN_MEMBER_ID:
            self.member = ""
        if error != 0:
            self.owned = None

    def end(self, leaves):
        self.leaves = leaves
        self.stopping.set()
        self.thread.join(JOIN_SECONDS_MAX)
        check(not self.thread.is_alive(), "a member does not end")


def known(connection, topic):
    """Whether the broker has the topic in its metadata."""
    reader = Reader(connection.call(header(METADATA, 4) + array([string(topic)]) + i8(0)))
    reader.i32()
    for _ in range(reader.i32()):
        reader.i32(), reader.string(), reader.i32(), reader.string()
    reader.string(), reader.i32()
    check(reader.i32() == 1, "Metadata answers for one topic")
    return reader.i16() == 0


def replay(c, client):
    group, topic = c.name("group"), c.name("topic")
    with Connection(c, seconds=30) as connection:
        body = array([string(topic) + i32(PARTITIONS) + i16(1) + array([]) + array([])]) + i32(10_000) + i8(0)
        connection.call(header(CREATE_TOPICS, 2) + body)
        # Kafka answers before its broker knows the topic, and refuses the first commits until it does.
        eventually("the topic is known", 30, lambda: known(connection, topic))
        connection.call(header(FIND_COORDINATOR, 0) + string(group))

    def settled(members):
        for member in members:
            if member.failure is not None:
                raise member.failure
        owned = [member.owned for member in members]
        if any(not one for one in owned):
            return False
        return sum(map(len, owned)) == PARTITIONS and set().union(*owned) == set(range(PARTITIONS))

    members = [Member(c, client, group, topic)]
    try:
        eventually("one member owns all", 30, lambda: settled(members))
        members += [Member(c, client, group, topic) for _ in range(2)]
        eventually("three members share", 30, lambda: settled(members))
        members.pop().end(leaves=True)
        eventually("two members share", 30, lambda: settled(members))
        # Its connection ends, and its session later.
        members.pop(0).end(leaves=False)
        eventually("one member is left", 30, lambda: settled(members))
        members += [Member(c, client, group, topic) for _ in range(2)]
        eventually("three members share again", 30, lambda: settled(members))
    finally:
        for member in members:
            member.stopping.set()
    for member in members:
        member.end(leaves=True)
        if member.failure is not None:
            raise member.failure
        check({0} in member.told, "no commit was granted")


@case
def replay_of_ruby_kafka(c):
    replay(c, RubyKafka)


@case
def replay_of_brod(c):
    replay(c, Brod)


@case
def replay_of_brod_with_a_known_assignor(c):
    replay(c, BrodAsRoundRobin)
