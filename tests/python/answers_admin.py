"""Topics, configs, quotas: requests that ask for the impossible."""

import struct

from shapes import Flexible, ask, topic
from suite import case, check, eventually
from wire import Connection, Reader, array, compact, frame, header, i8, i16, i32, string, uvarint

METADATA, CREATE_TOPICS, DELETE_TOPICS, DESCRIBE_CONFIGS, ALTER_CONFIGS, CREATE_PARTITIONS, ELECT_LEADERS = 3, 19, 20, 32, 33, 37, 43
ALTER_INCREMENTALLY, ALTER_QUOTAS, TOPIC_PARTITIONS = 44, 49, 75
ALTER_LOG_DIRS, LOG_DIRS, REASSIGN, REASSIGNMENTS, UPDATE_FEATURES = 34, 35, 45, 46, 57
DESCRIBE_CLUSTER, PRODUCERS, UNREGISTER_BROKER, UNREGISTER_CONTROLLER = 60, 61, 64, 94


@case
def create_topics(c):
    name = c.name
    shape = (".", [("s", "h", "x")])

    def creation(what, partitions, replication, assignments=(), configs=(), version=4, timeout=10_000, validate=0):
        one = string(what) + i32(partitions) + i16(replication)
        one += array([i32(p) + array([i32(r) for r in replicas]) for p, replicas in assignments])
        one += array([string(k) + string(v) for k, v in configs])
        return array([one]) + i32(timeout) + i8(validate)

    def tried(what, *args, **more):
        ask(c, what, CREATE_TOPICS, more.pop("version", 4), creation(*args, **more), shape)

    for number in (0, -1, -2, -(2**31)):
        tried(f"{number} partitions", name(f"p{number}"), number, 1)
    tried("10^9 partitions", name("many"), 10**9, 1)
    tried("2^31-1 partitions", name("most"), 2**31 - 1, 1)
    for number in (0, -1, -2, 2, 3, 32767, -32768):
        tried(f"{number} replicas", name(f"r{number}"), 1, number)
    tried("defaults before version 4", name("d3"), -1, -1, version=3)
    for odd in ("", ".", "..", "a b", "a/b", "ä", "x" * 249, "x" * 250, "__consumer_offsets", "__cluster_metadata", "...", "-"):
        tried(f"named '{odd[:9]}' {len(odd)}", odd, 1, 1, validate=1)
    tried("a.b_c", name("a.b_c"), 1, 1)
    tried("a_b.c", name("a_b.c"), 1, 1)
    tried("a.b_c again", name("a.b_c"), 1, 1)
    for config, value in (
        ("no.such.config", "1"),
        ("retention.ms", "x"),
        ("retention.ms", "-2"),
        ("retention.ms", ""),
        ("retention.ms", None),
        ("segment.bytes", "1"),
        ("cleanup.policy", "shred"),
        ("cleanup.policy", "compact,delete"),
        ("cleanup.policy", ""),
        ("compression.type", "rar"),
        ("min.insync.replicas", "0"),
        ("min.insync.replicas", "5"),
        ("max.message.bytes", "-1"),
        ("message.timestamp.type", "Never"),
        ("local.retention.ms", "1"),
        ("remote.storage.enable", "true"),
        ("", "1"),
        ("message.format.version", "2.0"),
    ):
        tried(f"config {config}={value}", name("k"), 1, 1, configs=[(config, value)], validate=1)
    tried("a config twice", name("k"), 1, 1, configs=[("retention.ms", "1"), ("retention.ms", "2")], validate=1)
    for what, assignments in {
        "unknown broker": [(0, [7])],
        "no replicas": [(0, [])],
        "a broker twice": [(0, [1, 1])],
        "from 1": [(1, [1])],
        "a gap": [(0, [1]), (2, [1])],
        "a partition twice": [(0, [1]), (0, [1])],
        "negative partition": [(-1, [1])],
        "negative broker": [(0, [-1])],
        "uneven": [(0, [1]), (1, [1, 2])],
    }.items():
        tried(f"assignment: {what}", name("as"), -1, -1, assignments=assignments, validate=1)
    tried("assignment and numbers", name("as"), 1, 1, assignments=[(0, [1])], validate=1)
    one = creation(name("twice"), 1, 1)[4:-5]
    ask(c, "a topic twice", CREATE_TOPICS, 4, array([one, one]) + i32(1000) + i8(0), shape)
    ask(c, "nothing", CREATE_TOPICS, 4, array([]) + i32(1000) + i8(0), shape)
    tried("timeout -1", name("late"), 1, 1, timeout=-1, validate=1)
    tried("timeout 0", name("late"), 1, 1, timeout=0, validate=1)


@case
def create_topics_texts(c):
    """What is said of topics that cannot be made: clients compare the texts."""
    name = topic(c, "t")
    shape = (".", [("s", "h", "s")])

    def tried(what, named, partitions=1, replication=1, assignments=(), configs=()):
        one = string(named) + i32(partitions) + i16(replication)
        one += array([i32(p) + array([i32(r) for r in replicas]) for p, replicas in assignments])
        one += array([string(k) + string(v) for k, v in configs])
        ask(c, what, CREATE_TOPICS, 4, array([one]) + i32(10_000) + i8(1), shape)

    tried("exists", name)
    for odd in ("", ".", "..", "a b", "a/b", "x" * 250, "__cluster_metadata"):
        tried(f"named '{odd[:9]}' {len(odd)}", odd)
    topic(c, "a.b_c")
    tried("collides", c.name("a_b.c"))
    for number in (0, -2):
        tried(f"{number} partitions", c.name("p"), partitions=number)
        tried(f"{number} replicas", c.name("r"), replication=number)
    tried("assignment and replicas", c.name("as"), -1, 1, [(0, [1])])
    tried("assignment and partitions", c.name("as"), 1, -1, [(0, [1])])
    tried("a partition twice", c.name("as"), -1, -1, [(0, [1]), (0, [1])])
    tried("a gap", c.name("as"), -1, -1, [(0, [1]), (2, [1])])
    tried("configs without values", c.name("k"), configs=[("retention.ms", None)])
    one = string(c.name("twice")) + i32(1) + i16(1) + array([]) + array([])
    ask(c, "a topic twice", CREATE_TOPICS, 4, array([one, one]) + i32(1000) + i8(1), shape)


@case
def loggers(c):
    """Levels of the log: the names differ, but for the root."""
    shape = (".", [("h", "s", "b", "s")])
    described = (".", [("h", "s", "b", "s", [("s", "s", "b", "b", "b", [("s", "s", "b")])])])

    def tried(what, *ops, who="1", validate=0):
        one = i8(8) + string(who) + array([string(k) + i8(op) + string(v) for k, op, v in ops])
        ask(c, what, ALTER_INCREMENTALLY, 0, array([one]) + i8(validate), shape)

    def describe(what, who="1", keys=("root",)):
        one = i8(8) + string(who) + array([string(k) for k in keys])
        ask(c, what, DESCRIBE_CONFIGS, 1, array([one]) + i8(1), described)

    for who in ("", "9", "x", "-1"):
        tried(f"of '{who}'", ("root", 0, "INFO"), who=who)
        describe(f"describe '{who}'", who=who)
    tried("unknown", ("no.such.logger", 0, "INFO"))
    tried("unknown, deleted", ("no.such.logger", 1, None))
    for level in ("LOUD", "info", "", None, "OFF"):
        tried(f"level {level}", ("root", 0, level))
    for op in (1, 2, 3, 4, -1):
        tried(f"op {op}", ("root", op, "INFO"))
    tried("twice", ("root", 0, "INFO"), ("root", 0, "WARN"))
    tried("nothing")
    tried("validated", ("root", 0, "FATAL"), validate=1)
    tried("root", ("root", 0, "WARN"))
    describe("root")
    tried("good and bad", ("root", 0, "ERROR"), ("no.such.logger", 0, "INFO"))
    describe("root still")
    tried("back", ("root", 0, "INFO"))
    describe("root again")
    describe("no such", keys=("no.such.logger",))
    one = i8(8) + string("1") + array([string("root") + i8(0) + string("INFO")])
    ask(c, "a resource twice", ALTER_INCREMENTALLY, 0, array([one, one]) + i8(1), shape)
    legacy = i8(8) + string("1") + array([string("root") + string("INFO")])
    ask(c, "legacy", ALTER_CONFIGS, 1, array([legacy]) + i8(1), shape)


@case
def made_on_demand(c):
    """A topic that a client names is made meanwhile."""
    shape = (".", [(".", "x", ".", "s")], "x", "i", [("h", "s", "b", [("h", "i", "i", ["i"], ["i"])])])

    def named(*names):
        return array([string(name) for name in names]) + i8(1)

    ask(c, "new", METADATA, 4, named(c.name("new")), shape)
    ask(c, "new and illegal", METADATA, 4, named(c.name("other"), "a b"), shape)
    ask(c, "without", METADATA, 4, array([string(c.name("none"))]) + i8(0), shape)

    def partitions(name):
        with Connection(c, seconds=20) as connection:
            answer = connection.call(header(TOPIC_PARTITIONS, 0, flexible=True) + uvarint(2) + compact(name) + b"\0" + i32(2000) + i8(-1) + b"\0")
        reader = Flexible(answer)
        reader.tags()
        reader.i32()
        check(reader.count() == 1, "one topic")
        error = reader.i16()
        reader.string()
        reader.at += 17
        return reader.count() if error == 0 else 0

    for name in (c.name("new"), c.name("other")):
        eventually("the topic", 20, lambda name=name: partitions(name) > 0)
        c.line(f"{partitions(name)} partitions of {name}")
    # Internal ones as their coordinators would make them.
    for name in ("__consumer_offsets", "__transaction_state", "__share_group_state"):
        with Connection(c, seconds=20) as connection:
            connection.call(header(METADATA, 4) + named(name))
        eventually("the topic", 20, lambda name=name: partitions(name) > 0)
        c.line(f"{partitions(name)} partitions of {name}")


@case
def create_partitions(c):
    name = topic(c, "t", 2)
    shape = (".", [("s", "h", "x")])
    for count in (0, -1, 1, 2, 10**9, 2**31 - 1, -(2**31)):
        body = array([string(name) + i32(count) + array(None)]) + i32(5000) + i8(1)
        ask(c, f"count {count}", CREATE_PARTITIONS, 1, body, shape)
    for what, replicas in {
        "too many": [[1], [1]],
        "none": [],
        "no replicas": [[]],
        "unknown": [[9]],
        "twice": [[1, 1]],
        "more": [[1, 2]],
    }.items():
        assignments = array([array([i32(r) for r in one]) for one in replicas])
        ask(c, f"assignments {what}", CREATE_PARTITIONS, 1, array([string(name) + i32(3) + assignments]) + i32(5000) + i8(1), shape)
    for odd in (c.name("no"), "", "a b", "__consumer_offsets"):
        ask(c, f"topic '{odd}'", CREATE_PARTITIONS, 1, array([string(odd) + i32(300) + array(None)]) + i32(5000) + i8(1), shape)
    one = string(name) + i32(3) + array(None)
    ask(c, "a topic twice", CREATE_PARTITIONS, 1, array([one, one]) + i32(5000) + i8(1), shape)
    ask(c, "nothing", CREATE_PARTITIONS, 1, array([]) + i32(5000) + i8(1), shape)


@case
def delete_topics(c):
    name = topic(c, "t")
    shape = (".", [("s", "h")])
    for what, names in {
        "unknown": [c.name("no")],
        "empty": [""],
        "odd": ["a b"],
        "twice": [c.name("no")] * 2,
        "nothing": [],
    }.items():
        ask(c, what, DELETE_TOPICS, 3, array([string(n) for n in names]) + i32(5000), shape)
    shape = (".", [("s", "u", "h", "x")])
    zero, some = bytes(16), bytes(range(16))
    for what, named, id_ in (("neither", None, zero), ("both", name, some), ("an unknown id", None, some)):
        body = uvarint(2) + compact(named) + id_ + b"\0" + i32(5000) + b"\0"
        ask(c, what, DELETE_TOPICS, 6, body, shape, flexible=True)
    body = uvarint(3) + (compact(name) + zero + b"\0") * 2 + i32(5000) + b"\0"
    ask(c, "a name twice", DELETE_TOPICS, 6, body, shape, flexible=True)


@case
def topic_partitions(c):
    name = topic(c, "t", 3)
    other = topic(c, "u", 1)
    shape = (".", [("h", "s", "u", "b", [("h", "i", "i", "i", ["i"], ["i"], ["i"], ["i"], ["i"])], "i")])

    def cursor(at):
        return i8(-1) if at is None else i8(1) + compact(at[0]) + i32(at[1]) + b"\0"

    def tried(what, names, limit, at):
        body = uvarint(len(names) + 1) + b"".join(compact(n) + b"\0" for n in names) + i32(limit) + cursor(at) + b"\0"
        with Connection(c, seconds=20) as connection:
            answer = connection.outcome(frame(header(TOPIC_PARTITIONS, 0, flexible=True) + body))
        if isinstance(answer, str):
            c.line(f"{what}: {answer}")
            return
        reader = Flexible(answer)
        reader.tags()
        reader.i32()
        topics = []
        for _ in range(reader.count()):
            error, named = reader.i16(), reader.string()
            reader.at += 16
            internal = reader.take(">b")
            parts = []
            for _ in range(reader.count()):
                parts.append((reader.i16(), reader.i32(), reader.i32()))
                reader.i32()
                for _ in range(5):
                    for _ in range(max(reader.count(), 0)):
                        reader.i32()
                reader.tags()
            operations = reader.i32()
            reader.tags()
            topics.append((error, named, internal, parts, operations))
        more = None
        if reader.take(">b") >= 0:
            more = (reader.string(), reader.i32())
        c.line(f"{what}: {sorted(topics)} next {more}")

    both = [name, other]
    for limit in (-1, 0, 1, 2, 3, 4, 2000, 2001, 2**31 - 1, -(2**31)):
        tried(f"limit {limit}", both, limit, None)
    for where, p in ((name, 0), (name, 2), (name, 3), (name, 99), (name, -1), (name, -(2**31)), (other, 0), (c.name("tt"), 0), ("", 0), ("zzz", 0)):
        tried(f"cursor {where} {p}", both, 100, (where, p))
    tried("unknown", [c.name("no")], 100, None)
    tried("unknown under the cursor", [c.name("no")], 100, (c.name("no"), 0))
    tried("odd names", ["", "a b", "."], 100, None)
    tried("a name twice", [name, name], 100, None)


@case
def alter_incrementally(c):
    name = topic(c, "t")
    shape = (".", [("h", "x", "b", "s")])

    def resource(kind, what, ops):
        return i8(kind) + string(what) + array([string(k) + i8(op) + string(v) for k, op, v in ops])

    def tried(what, *resources, validate=0):
        body = array([resource(*one) for one in resources]) + i8(validate)
        ask(c, what, ALTER_INCREMENTALLY, 0, body, shape)

    for op in (4, 9, -1, 127, -128):
        tried(f"op {op}", (2, name, [("retention.ms", op, "1")]))
    tried("a config twice", (2, name, [("retention.ms", 0, "1"), ("retention.ms", 0, "2")]))
    tried("set and delete", (2, name, [("retention.ms", 0, "1"), ("retention.ms", 1, None)]))
    tried("a resource twice", (2, name, [("retention.ms", 0, "1")]), (2, name, [("segment.ms", 0, "1000")]))
    tried("set to null", (2, name, [("retention.ms", 0, None)]))
    tried("append to no list", (2, name, [("retention.ms", 2, "1")]))
    tried("subtract from no list", (2, name, [("retention.ms", 3, "1")]))
    tried("append null", (2, name, [("cleanup.policy", 2, None)]))
    tried("append unknown", (2, name, [("cleanup.policy", 2, "shred")]))
    tried("append", (2, name, [("cleanup.policy", 2, "compact")]))
    tried("append again", (2, name, [("cleanup.policy", 2, "compact")]))
    tried("subtract what is not there", (2, name, [("cleanup.policy", 3, "none")]))
    tried("subtract", (2, name, [("cleanup.policy", 3, "delete")]))
    tried("subtract the last", (2, name, [("cleanup.policy", 3, "compact")]))
    tried("unknown config", (2, name, [("no.such", 0, "1")]))
    tried("delete unknown config", (2, name, [("no.such", 1, None)]))
    tried("delete what is not set", (2, name, [("flush.ms", 1, None)]))
    tried("empty name of a config", (2, name, [("", 0, "1")]))
    tried("bad value", (2, name, [("retention.ms", 0, "x")]))
    tried("no ops", (2, name, []))
    tried("nothing")
    tried("unknown topic", (2, c.name("no"), [("retention.ms", 0, "1")]))
    for odd in ("", "a b", "."):
        tried(f"topic '{odd}'", (2, odd, [("retention.ms", 0, "1")]))
    for kind in (0, 1, 3, 5, 99, -1, 127):
        tried(f"kind {kind}", (kind, "x", [("retention.ms", 0, "1")]))
    for who in ("9", "-1", "x", "01", " 1"):
        tried(f"broker '{who}'", (4, who, [("background.threads", 0, "10")]), validate=1)
        tried(f"logger '{who}'", (8, who, [("kafka", 0, "INFO")]), validate=1)
    tried("read-only", (4, "1", [("node.id", 0, "2")]), validate=1)
    tried("read-only default", (4, "", [("log.dirs", 0, "/x")]), validate=1)
    tried("per broker as default", (4, "", [("listeners", 0, "PLAINTEXT://:1")]), validate=1)
    tried("unknown of broker", (4, "1", [("no.such", 0, "1")]), validate=1)
    tried("bad value of broker", (4, "1", [("background.threads", 0, "-1")]), validate=1)
    tried("bad and good", (2, name, [("retention.ms", 0, "5")]), (2, c.name("no"), [("retention.ms", 0, "1")]))
    tried("one bad of two", (2, name, [("retention.ms", 0, "6"), ("segment.ms", 0, "x")]))
    for what, configs in {"group": [("consumer.session.timeout.ms", 0, "1")], "unknown": [("no.such", 0, "1")]}.items():
        tried(f"group: {what}", (32, c.name("g"), configs), validate=1)
        tried(f"metrics: {what}", (16, c.name("x"), configs), validate=1)
    tried("group without name", (32, "", [("consumer.session.timeout.ms", 0, "50000")]), validate=1)
    tried("metrics without name", (16, "", [("interval.ms", 0, "1000")]), validate=1)
    body = array([i8(2) + string(name) + array([string(k) for k in ("retention.ms", "segment.ms", "cleanup.policy")])]) + i8(0)
    with Connection(c, seconds=20) as connection:
        # Apache Kafka's brokers hear a little later of what was the last change.
        last = string("retention.ms") + string("5")
        eventually("the last change", 10, lambda: last in connection.call(header(DESCRIBE_CONFIGS, 1) + body))
    ask(c, "in the end", DESCRIBE_CONFIGS, 1, body, (".", [("h", "x", "b", "s", [("s", "s", "b", "b", "b", [("s", "s", "b")])])]))


@case
def alter_legacy(c):
    name = topic(c, "t")
    shape = (".", [("h", "x", "b", "s")])

    def tried(what, *resources, validate=0):
        made = [i8(k) + string(n) + array([string(a) + string(b) for a, b in configs]) for k, n, configs in resources]
        ask(c, what, ALTER_CONFIGS, 1, array(made) + i8(validate), shape)

    tried("good", (2, name, [("retention.ms", "1")]))
    tried("null", (2, name, [("retention.ms", None)]))
    tried("twice", (2, name, [("retention.ms", "1"), ("retention.ms", "2")]))
    if c.target == "thalweg":
        # Apache Kafka forgets to answer this one.
        tried("a resource twice", (2, name, [("retention.ms", "1")]), (2, name, [("segment.ms", "1000")]))
    tried("unknown", (2, name, [("no.such", "1")]))
    tried("unknown topic", (2, c.name("no"), [("retention.ms", "1")]))
    tried("kind 99", (99, "x", []))
    tried("nothing")
    tried("none", (2, name, []))


@case
def describe_configs(c):
    name = topic(c, "t")
    shape = (".", [("h", "x", "b", "s", [("s", "s", "b", "b", "b", [("s", "s", "b")])])])

    def tried(what, kind, named, keys):
        keys = array(None if keys is None else [string(k) for k in keys])
        ask(c, what, DESCRIBE_CONFIGS, 1, array([i8(kind) + string(named) + keys]) + i8(0), shape)

    tried("no keys", 2, name, [])
    tried("unknown key", 2, name, ["no.such", ""])
    tried("a key twice", 2, name, ["retention.ms", "retention.ms"])
    tried("unknown topic", 2, c.name("no"), None)
    for kind, odd in ((2, ""), (2, "a b"), (4, "9"), (4, "x"), (4, "-1"), (4, " 1"), (8, "9"), (8, ""), (32, ""), (16, ""), (99, "x"), (0, "x"), (-1, "x")):
        tried(f"{kind} '{odd}'", kind, odd, ["retention.ms"])
    tried("group", 32, c.name("none"), ["consumer.session.timeout.ms"])
    tried("metrics", 16, c.name("none"), ["interval.ms"])
    ask(c, "nothing", DESCRIBE_CONFIGS, 1, array([]) + i8(0), shape)


@case
def quotas(c):
    # Clients compare the texts.
    shape = (".", [("h", "s", [("s", "s")])])

    def tried(what, entity, ops, validate=1):
        # Java prints a map in the order of its hash table, and that of one entry as it is.
        one = array([string(k) + string(v) for k, v in entity])
        one += array([string(k) + struct.pack(">d", v) + i8(remove) for k, v, remove in ops])
        ask(c, what, ALTER_QUOTAS, 0, array([one]) + i8(validate), shape)

    user = [("user", c.name("u"))]
    for value in (0.0, -1.0, 0.5, 1e300, float("nan"), float("inf")):
        for key in ("producer_byte_rate", "request_percentage", "controller_mutation_rate"):
            tried(f"{key} {value}", user, [(key, value, 0)])
    tried("unknown key", user, [("no_such", 1.0, 0)])
    tried("remove unknown key", user, [("no_such", 1.0, 1)])
    tried("key twice", user, [("producer_byte_rate", 1.0, 0), ("producer_byte_rate", 2.0, 0)])
    tried("remove what is not set", user, [("producer_byte_rate", 1.0, 1)])
    tried("no ops", user, [])
    tried("no entity", [], [("producer_byte_rate", 1.0, 0)])
    tried("unknown entity", [("tribe", "x")], [("producer_byte_rate", 1.0, 0)])
    tried("user twice", user + user, [("producer_byte_rate", 1.0, 0)])
    tried("empty user", [("user", "")], [("producer_byte_rate", 1.0, 0)])
    tried("default user", [("user", None)], [("producer_byte_rate", 1.0, 0)])
    tried("ip and user", [("ip", "127.0.0.1"), ("user", "x")], [("connection_creation_rate", 1.0, 0)])
    tried("ip", [("ip", "127.0.0.1")], [("connection_creation_rate", 1.0, 0)])
    tried("ip with another key", [("ip", "127.0.0.1")], [("producer_byte_rate", 1.0, 0)])
    tried("no address", [("ip", "nobody.invalid")], [("connection_creation_rate", 1.0, 0)])


@case
def elect_leaders(c):
    name = topic(c, "t")
    shape = (".", "h", [("s", [("i", "h", "x")])])
    for kind in (0, 1, 2, -1, 127):
        body = i8(kind) + array([string(name) + array([i32(0), i32(1), i32(-1)])]) + i32(5000)
        ask(c, f"kind {kind}", ELECT_LEADERS, 1, body, shape)
    ask(c, "unknown", ELECT_LEADERS, 1, i8(0) + array([string(c.name("no")) + array([i32(0)])]) + i32(5000), shape)
    ask(c, "nothing", ELECT_LEADERS, 1, i8(0) + array([]) + i32(5000), shape)
    ask(c, "twice", ELECT_LEADERS, 1, i8(0) + array([string(name) + array([i32(0), i32(0)])]) + i32(5000), shape)


@case
def metadata(c):
    # Without the brokers' addresses, of which the port is another one each time.
    shape = (".", [(".", "x", ".", "s")], "x", "i", [("h", "s", "b", [("h", "i", "i", ["i"], ["i"])])])
    for odd in ("", ".", "..", "a b", "x" * 250, "ä"):
        for create in (0, 1):
            ask(c, f"'{odd[:9]}' create {create}", METADATA, 4, array([string(odd)]) + i8(create), shape)
    one = topic(c, "t")
    ask(c, "a name twice", METADATA, 4, array([string(one), string(one)]) + i8(0), shape)
    ask(c, "no names", METADATA, 4, array([]) + i8(0), shape)
    shape = (".", [(".", "x", ".", "s")], "x", "i", [("h", "s", "u", "b", [("h", "i", "i", "i", ["i"], ["i"], ["i"])], "i")])
    for what, id_, named in (("unknown id", bytes(range(16)), None), ("neither", bytes(16), None), ("both", bytes(range(16)), one)):
        body = uvarint(2) + id_ + compact(named) + b"\0" + i8(0) + i8(0) + b"\0"
        ask(c, what, METADATA, 12, body, shape, flexible=True)


@case
def reassignments(c):
    name = topic(c, "t", 2)
    shape = (".", "h", "x", [("s", [("i", "h", "x")])])

    def tried(what, *targets, where=name):
        parts = b"".join(
            i32(p) + (uvarint(0) if r is None else uvarint(len(r) + 1) + b"".join(map(i32, r))) + b"\0" for p, r in targets
        )
        body = i32(5000) + uvarint(2) + compact(where) + uvarint(len(targets) + 1) + parts + b"\0" + b"\0"
        ask(c, what, REASSIGN, 0, body, shape, flexible=True)

    tried("to itself", (0, [1]))
    tried("cancel nothing", (0, None))
    tried("to nobody", (0, []))
    tried("to an unknown broker", (0, [7]))
    tried("to itself and another", (0, [1, 7]))
    tried("twice the same", (0, [1, 1]))
    tried("to a negative broker", (0, [-1]))
    tried("unknown partition", (9, [1]))
    tried("negative partition", (-1, [1]))
    tried("a partition twice", (0, [1]), (0, [1]))
    tried("unknown topic", (0, [1]), where=c.name("no"))
    tried("no partitions")
    ask(c, "nothing", REASSIGN, 0, i32(5000) + uvarint(1) + b"\0", shape, flexible=True)
    listed = (".", "h", "x", [("s", [("i", ["i"], ["i"], ["i"])])])
    for where, parts in ((name, [0, 1, 9, -1]), (c.name("no"), [0]), (name, [])):
        body = i32(5000) + uvarint(2) + compact(where) + uvarint(len(parts) + 1) + b"".join(map(i32, parts)) + b"\0" + b"\0"
        ask(c, f"list {where} {parts}", REASSIGNMENTS, 0, body, listed, flexible=True)
    ask(c, "list nothing", REASSIGNMENTS, 0, i32(5000) + uvarint(1) + b"\0", listed, flexible=True)


@case
def log_dirs(c):
    name = topic(c, "t")
    shape = (".", [("h", "x", [("s", [("i", "-", "q", "b")])])])
    for where, p in ((name, 0), (name, 1), (name, -1), (c.name("no"), 0), ("", 0)):
        ask(c, f"'{where}' {p}", LOG_DIRS, 1, array([string(where) + array([i32(p)])]), shape)
    ask(c, "nothing", LOG_DIRS, 1, array([]), shape)
    ask(c, "no partitions", LOG_DIRS, 1, array([string(name) + array([])]), shape)
    ask(c, "twice", LOG_DIRS, 1, array([string(name) + array([i32(0), i32(0)])]), shape)


@case
def alter_log_dirs(c):
    name = topic(c, "t")
    shape = (".", [("s", [("i", "h")])])
    with Connection(c) as connection:
        reader = Reader(connection.call(header(LOG_DIRS, 1) + array([])))
        reader.i32(), reader.i32(), reader.i16()
        there = reader.string()

    def tried(what, path, *targets):
        topics = [string(named) + array([i32(p) for p in parts]) for named, parts in targets]
        ask(c, what, ALTER_LOG_DIRS, 1, array([string(path) + array(topics)]), shape)

    for odd in ("", "/", "no", "/no/such", there + "/", there + "/.", "."):
        tried(f"to {odd.replace(there, 'DIR')}", odd, (name, [0]))
    tried("to where it is", there, (name, [0]))
    tried("partitions there are not", there, (name, [-1, 1, 2**31 - 1]))
    for named in (c.name("no"), "", ".", "a b", "__cluster_metadata", "x" * 200, "x" * 214, "x" * 250):
        tried(f"'{named[:20]}' {len(named)}", there, (named, [0]))
    tried("a partition twice", there, (name, [0, 0]))
    tried("nothing", there)
    twice = [string(path) + array([string(name) + array([i32(0)])]) for path in ("/no/such", there)]
    ask(c, "to two, of which the last is", ALTER_LOG_DIRS, 1, array(twice), shape)
    ask(c, "to two, of which the first is", ALTER_LOG_DIRS, 1, array(twice[::-1]), shape)
    ask(c, "none", ALTER_LOG_DIRS, 1, array([]), shape)


@case
def unregister_broker(c):
    # Not the node itself, which would not be the same afterwards.
    for who in (7, 0, -1, 2**31 - 1):
        ask(c, f"broker {who}", UNREGISTER_BROKER, 0, i32(who) + b"\0", (".", "h", "x"), flexible=True)


@case
def unregister_controller(c):
    # The node itself, 1, is the active controller.
    for who in (7, 0, -1, 2**31 - 1, 1):
        ask(c, f"controller {who}", UNREGISTER_CONTROLLER, 0, i32(who) + b"\0", (".", "h", "x"), flexible=True)


@case
def producers(c):
    name = topic(c, "t")
    shape = (".", [("s", [("i", "h", "x", [("q", "i", "i", "q", "i", "q")])])])
    for where, p in ((name, 0), (name, 1), (name, -1), (c.name("no"), 0), ("", 0), ("a b", 0)):
        body = uvarint(2) + compact(where) + uvarint(2) + i32(p) + b"\0" + b"\0"
        ask(c, f"'{where}' {p}", PRODUCERS, 0, body, shape, flexible=True)
    ask(c, "nothing", PRODUCERS, 0, uvarint(1) + b"\0", shape, flexible=True)


@case
def features(c):
    shape = (".", "h", "x")
    shape1 = (".", "h", "x", [("s", "h", "x")])

    def tried(what, *updates, version=1, dry=1):
        body = i32(5000) + uvarint(len(updates) + 1)
        for feature, level, kind in updates:
            body += compact(feature) + i16(level) + i8(kind) + b"\0"
        body += (i8(dry) if version >= 1 else b"") + b"\0"
        ask(c, f"{what}, version {version}", UPDATE_FEATURES, version, body, shape if version == 2 else shape1, flexible=True)

    for version in (1, 2):
        tried("unknown", ("no.such", 1, 1), version=version)
        tried("no name", ("", 1, 1), version=version)
        tried("too high", ("metadata.version", 9999, 1), version=version)
        tried("zero", ("metadata.version", 0, 2), version=version)
        tried("negative", ("metadata.version", -1, 1), version=version)
        tried("as it is", ("group.version", 1, 1), version=version)
        tried("down without leave", ("group.version", 0, 1), version=version)
        tried("down", ("group.version", 0, 2), version=version)
        tried("kind 0", ("group.version", 1, 0), version=version)
        tried("kind 9", ("group.version", 1, 9), version=version)
        tried("twice", ("group.version", 1, 1), ("group.version", 1, 1), version=version)
        tried("nothing", version=version)
        tried("good and bad", ("group.version", 1, 1), ("no.such", 1, 1), version=version)


@case
def cluster(c):
    for kind in (0, 1, 2, 3, -1):
        for fenced in (0, 1):
            with Connection(c, seconds=20) as connection:
                answer = connection.outcome(frame(header(DESCRIBE_CLUSTER, 2, flexible=True) + i8(1) + i8(kind) + i8(fenced) + b"\0"))
            if isinstance(answer, str):
                c.line(f"{kind} {fenced}: {answer}")
                continue
            reader = Flexible(answer)
            reader.tags(), reader.i32()
            error = reader.i16()
            reader.string()
            c.line(f"{kind} {fenced}: error {error} kind {reader.take('>b')}")
