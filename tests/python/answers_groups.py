"""Groups and their offsets: requests that ask for the impossible."""

from shapes import Flexible, ask, coordinator, topic
from suite import case, eventually
from wire import Connection, Reader, array, compact, data, frame, header, i8, i16, i32, i64, string, uvarint

OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR, JOIN, HEARTBEAT, LEAVE, SYNC = 8, 9, 10, 11, 12, 13, 14
DESCRIBE_GROUPS, LIST_GROUPS, DELETE_GROUPS, OFFSET_DELETE = 15, 16, 42, 47
METADATA, INIT_PRODUCER_ID, TXN_OFFSET_COMMIT = 3, 22, 28
MIN, MAX = -(2**63), 2**63 - 1


def join_body(group, session=10_000, rebalance=10_000, member="", kind="consumer", protocols=(("range", b""),)):
    body = string(group) + i32(session) + i32(rebalance) + string(member) + string(kind)
    return body + array([string(p) + data(m) for p, m in protocols])


def join(c, what, group, connection=None, note=True, **fields):
    """Joins with version 3; gives (error, generation, member)."""
    with Connection(c, seconds=20) as own:
        answer = (connection or own).outcome(frame(header(JOIN, 3) + join_body(group, **fields)))
    if isinstance(answer, str):
        c.line(f"{what}: {answer}")
        return -1, -1, ""
    reader = Reader(answer)
    reader.i32()
    error, generation, protocol = reader.i16(), reader.i32(), reader.string()
    leader, member = reader.string(), reader.string()
    if note:
        c.line(f"{what}: error {error} generation {generation} protocol {protocol!r} leader {leader == member} {bool(member)}")
    return error, generation, member


@case
def join_group(c):
    coordinator(c)
    name = c.name
    for rebalance in (-1, 0, -(2**31), 2**31 - 1):
        join(c, f"rebalance timeout {rebalance}", name(f"r{rebalance}"), rebalance=rebalance)
    for session in (0, -1, 5999, 6000, 1_800_000, 1_800_001):
        join(c, f"session timeout {session}", name(f"s{session}"), session=session)
    join(c, "10 MB of metadata", name("big"), protocols=(("range", bytes(10_000_000)),))
    join(c, "no protocols", name("none"), protocols=())
    join(c, "no kind", name("kind"), kind="")
    join(c, "neither", name("neither"), kind="", protocols=())
    join(c, "another kind", name("connect"), kind="connect", protocols=(("sessioned", b"x"),))
    with Connection(c, seconds=20) as connection:
        group = name("g")
        _, generation, member = join(c, "first", group, connection)
        body = string(group) + i32(generation) + string(member) + array([string(member) + data(b"a")])
        ask(c, "synced", SYNC, 1, body, (".", "h", "d"), connection=connection)
        join(c, "kind mismatch", group, kind="connect")
        join(c, "protocol mismatch", group, protocols=(("other", b""),))
        join(c, "unknown member", group, member="nobody")
        join(c, "unknown member of an empty group", name("empty"), member="nobody")
        for what, g, m in (
            ("wrong generation", generation + 1, member),
            ("old generation", generation - 1, member),
            ("negative generation", -1, member),
            ("unknown member", generation, "nobody"),
            ("no member", generation, ""),
        ):
            ask(c, f"sync, {what}", SYNC, 1, string(group) + i32(g) + string(m) + array([]), (".", "h", "d"))
            ask(c, f"heartbeat, {what}", HEARTBEAT, 1, string(group) + i32(g) + string(m), (".", "h"))
        for kind, protocol in ((None, None), ("consumer", "range"), ("connect", "range"), ("consumer", "other"), ("", "")):
            body = compact(group) + i32(generation) + compact(member) + compact(None) + compact(kind) + compact(protocol) + uvarint(1) + b"\0"
            with Connection(c, seconds=20) as own:
                answer = own.outcome(frame(header(SYNC, 5, flexible=True) + body))
            if isinstance(answer, str):
                c.line(f"sync as {kind} {protocol}: {answer}")
            else:
                reader = Flexible(answer)
                reader.tags(), reader.i32()
                c.line(f"sync as {kind} {protocol}: {reader.i16()} {reader.string()} {reader.string()}")
        ask(c, "leave, unknown", LEAVE, 1, string(group) + string("nobody"), (".", "h"))
        ask(c, "leave, no member", LEAVE, 1, string(group) + string(""), (".", "h"))
        ask(c, "leave, unknown group", LEAVE, 1, string(name("no")) + string("x"), (".", "h"))
        ask(c, "leave, no group", LEAVE, 1, string("") + string("x"), (".", "h"))
        shape = (".", "h", [("s", "s", "h")])
        ask(c, "leave, nobody", LEAVE, 3, string(group) + array([]), shape)
        ask(c, "leave, two unknown", LEAVE, 3, string(group) + array([string("a") + string(None), string("") + string("b")]), shape)
        ask(c, "delete with a member", DELETE_GROUPS, 1, array([string(group)]), (".", [("s", "h")]))
        described = (".", [("h", "s", "s", "s", "s", [("x", "s", "s", "d", "d")])])
        ask(c, "describe", DESCRIBE_GROUPS, 1, array([string(group)]), described)
        ask(c, "describe twice", DESCRIBE_GROUPS, 1, array([string(name("no")), string(name("no"))]), described)
        ask(c, "describe nothing", DESCRIBE_GROUPS, 1, array([]), described)
        ask(c, "describe without name", DESCRIBE_GROUPS, 1, array([string("")]), described)
        connection.call(header(LEAVE, 1) + string(group) + string(member))
    for version in (5, 6):
        flexible = version >= 6
        names = [compact(name("no")) if flexible else string(name("no"))]
        body = (uvarint(2) + names[0] if flexible else array(names)) + i8(0) + (b"\0" if flexible else b"")
        shape = (".", [("h", *(["x"] if flexible else []), "s", "s", "s", "s", [("s",)], "i")])
        ask(c, f"describe unknown, version {version}", DESCRIBE_GROUPS, version, body, shape, flexible=flexible)
    ask(c, "delete unknown", DELETE_GROUPS, 1, array([string(name("no")), string("")]), (".", [("s", "h")]))
    ask(c, "delete nothing", DELETE_GROUPS, 1, array([]), (".", [("s", "h")]))
    ask(c, "delete twice", DELETE_GROUPS, 1, array([string(name("no"))] * 2), (".", [("s", "h")]))


@case
def offsets(c):
    coordinator(c)
    name, no = topic(c, "t", 2), c.name("no")
    shape = (".", [("s", [("i", "h")])])

    def tried(what, group, partitions, generation=-1, member="", where=name):
        body = string(group) + i32(generation) + string(member) + string(None)
        body += array([string(where) + array([i32(p) + i64(o) + i32(e) + string(m) for p, o, e, m in partitions])])
        ask(c, what, OFFSET_COMMIT, 7, body, shape)

    group = c.name("g")
    for offset in (0, 1, -1, -2, MIN, MAX):
        tried(f"offset {offset}", group, [(0, offset, -1, "")])
    for epoch in (-1, -2, 0, 99, 2**31 - 1):
        tried(f"epoch {epoch}", group, [(0, 5, epoch, "")])
    for length in (4095, 4096, 4097, 30_000):
        tried(f"{length} bytes of metadata", group, [(0, 5, -1, "x" * length)])
    tried("metadata of null", group, [(0, 5, -1, None)])
    tried("one too long of two", group, [(0, 6, -1, ""), (1, 6, -1, "x" * 5000)])
    for p in (1, 2, -1, 2**31 - 1, -(2**31)):
        tried(f"partition {p}", group, [(p, 5, -1, "")])
    tried("partition twice", group, [(0, 5, -1, ""), (0, 6, -1, "")])
    tried("unknown topic", group, [(0, 5, -1, "")], where=no)
    for odd in ("", "a b", "."):
        tried(f"topic '{odd}'", group, [(0, 5, -1, "")], where=odd)
    tried("no partitions", group, [])
    tried("no group", "", [(0, 5, -1, "")])
    for generation, member in ((0, ""), (-1, "nobody"), (0, "nobody"), (5, "nobody"), (-2, ""), (5, "")):
        tried(f"generation {generation} member '{member}'", group, [(0, 7, -1, "")], generation, member)
        tried(f"new group: generation {generation} member '{member}'", c.name("n"), [(0, 7, -1, "")], generation, member)
    with Connection(c, seconds=20) as connection:
        with_member = c.name("w")
        _, generation, member = join(c, "a member", with_member, connection)
        tried("before the sync", with_member, [(0, 1, -1, "")], generation, member)
        body = string(with_member) + i32(generation) + string(member) + array([string(member) + data(b"a")])
        connection.call(header(SYNC, 1) + body)
        tried("its own", with_member, [(0, 1, -1, "")], generation, member)
        tried("another generation", with_member, [(0, 1, -1, "")], generation + 1, member)
        tried("another member", with_member, [(0, 1, -1, "")], generation, "nobody")
        tried("from outside", with_member, [(0, 1, -1, "")])
        deletion = string(with_member) + array([string(name) + array([i32(0), i32(1), i32(9)]), string(no) + array([i32(0)])])
        ask(c, "delete offsets of a member", OFFSET_DELETE, 0, deletion, ("h", ".", [("s", [("i", "h")])]))
        connection.call(header(LEAVE, 1) + string(with_member) + string(member))
    body = string(group) + i32(-1) + string("") + i64(1000) + array([string(name) + array([i32(1) + i64(5) + string("kept")])])
    ask(c, "with a retention", OFFSET_COMMIT, 2, body, ([("s", [("i", "h")])],))
    fetched = (".", [("s", [("i", "q", "i", "s", "h")])], "h")

    def fetch(what, group, topics):
        wanted = array(None if topics is None else [string(n) + array([i32(p) for p in ps]) for n, ps in topics])
        ask(c, what, OFFSET_FETCH, 5, string(group) + wanted, fetched)

    fetch("fetch all", group, None)
    fetch("fetch some", group, [(name, [0, 1, 2, -1]), (no, [0])])
    fetch("fetch twice", group, [(name, [0, 0])])
    fetch("fetch nothing", group, [])
    fetch("fetch of an unknown group", no, None)
    fetch("fetch some of an unknown group", no, [(name, [0])])
    fetch("fetch without group", "", None)
    fetch("fetch of an odd topic", group, [("", [0]), ("a b", [0])])
    deleted = ("h", ".", [("s", [("i", "h")])])
    ask(c, "delete offsets", OFFSET_DELETE, 0, string(group) + array([string(name) + array([i32(0), i32(7)])]), deleted)
    ask(c, "delete offsets of an unknown group", OFFSET_DELETE, 0, string(no) + array([string(name) + array([i32(0)])]), deleted)
    ask(c, "delete no offsets", OFFSET_DELETE, 0, string(group) + array([]), deleted)
    ask(c, "delete offsets without group", OFFSET_DELETE, 0, string("") + array([]), deleted)


@case
def find_coordinator(c):
    coordinator(c)
    for kind in (0, 2, 3, -1, 127, -128):
        for key in ("g", "", "a:AAAAAAAAAAAAAAAAAAAAKg:0"):
            ask(c, f"kind {kind} '{key}'", FIND_COORDINATOR, 1, string(key) + i8(kind), (".", "h", "x", "i", "x", "."))
    shape = (".", [("s", "i", "x", ".", "h", "x")])
    for keys in ([], ["g", "g"], ["", "x"]):
        for kind in (0, 9):
            body = i8(kind) + uvarint(len(keys) + 1) + b"".join(compact(k) for k in keys) + b"\0"
            ask(c, f"kind {kind} of {keys}", FIND_COORDINATOR, 4, body, shape, flexible=True)


@case
def list_groups(c):
    coordinator(c)
    for states, kinds in ((["NoSuchState"], []), ([""], []), (["Dead"], []), ([], ["nokind"]), ([], [""]), (["stable", "STABLE"], ["CLASSIC"])):
        body = uvarint(len(states) + 1) + b"".join(map(compact, states)) + uvarint(len(kinds) + 1) + b"".join(map(compact, kinds)) + b"\0"
        with Connection(c, seconds=20) as connection:
            answer = connection.outcome(frame(header(LIST_GROUPS, 5, flexible=True) + body))
        if isinstance(answer, str):
            c.line(f"{states} {kinds}: {answer}")
            continue
        reader = Flexible(answer)
        reader.tags(), reader.i32()
        error = reader.i16()
        c.line(f"{states} {kinds}: {error} {'none' if reader.count() == 0 or states[:1] == ['stable'] else 'some'}")


@case
def static_members(c):
    """Group instance ids: replaced, fenced, unknown (KIP-345)."""
    coordinator(c)
    group = c.name("g")

    def join5(what, member="", instance=None, version=5, session=10_000):
        body = string(group) + i32(session) + i32(10_000) + string(member) + string(instance) + string("consumer")
        body += array([string("range") + data(b"")])
        with Connection(c, seconds=20) as connection:
            answer = connection.outcome(frame(header(JOIN, version) + body))
        if isinstance(answer, str):
            c.line(f"{what}: {answer}")
            return -1, ""
        reader = Reader(answer)
        reader.i32()
        error, generation, protocol, leader, got = reader.i16(), reader.i32(), reader.string(), reader.string(), reader.string()
        c.line(f"{what}: error {error} generation {generation} protocol {protocol!r} leader {leader == got} {bool(got)}")
        return generation, got

    def sync3(what, generation, member, instance):
        body = string(group) + i32(generation) + string(member) + string(instance)
        body += array([string(member) + data(b"a")])
        ask(c, what, SYNC, 3, body, (".", "h", "d"))

    def beat(what, generation, member, instance):
        body = string(group) + i32(generation) + string(member) + string(instance)
        ask(c, what, HEARTBEAT, 3, body, (".", "h"))

    join5("without a member id")
    for odd in ("", ".", "a b", "x" * 250, "ok-1"):
        join5(f"instance '{odd[:5]}' with an unknown member", "nobody", odd)
    generation, first = join5("first", instance="one")
    sync3("synced", generation, first, "one")
    beat("beats", generation, first, "one")
    beat("beats as another instance", generation, first, "two")
    beat("beats without instance", generation, first, None)
    beat("beats as another member", generation, "nobody", "one")
    again, second = join5("the instance again", instance="one")
    c.line(f"another member {first != second}, generation moved {again - generation}")
    beat("the first is fenced", again, first, "one")
    sync3("the first is fenced in sync", again, first, "one")
    join5("the first is fenced in join", first, "one")
    beat("the second goes on", again, second, "one")
    commit = string(group) + i32(again) + string(first) + string("one") + array([])
    ask(c, "the first commits", OFFSET_COMMIT, 7, commit, (".", [("s", [("i", "h")])]))
    name = topic(c, "t")
    wanted = array([string(name) + array([i32(0) + i64(1) + i32(-1) + string("")])])
    for who, instance in ((first, "one"), (second, "one"), (second, "two"), ("", "one"), (second, None)):
        body = string(group) + i32(again) + string(who) + string(instance) + wanted
        what = "first" if who == first else "second" if who else "none"
        ask(c, f"commit as {what} {instance}", OFFSET_COMMIT, 7, body, (".", [("s", [("i", "h")])]))
    shape = (".", "h", [("x", "s", "h")])
    for what, member, instance in (
        ("the fenced", first, "one"),
        ("another instance", "", "two"),
        ("a member with another instance", second, "two"),
        ("by instance", "", "one"),
        ("by instance again", "", "one"),
    ):
        ask(c, f"leave: {what}", LEAVE, 3, string(group) + array([string(member) + string(instance)]), shape)


@case
def offsets_of_many(c):
    """OffsetFetch for several groups at once (KIP-709)."""
    coordinator(c)
    name = topic(c, "t")
    shape = (".", [("s", [("s", [("i", "q", "i", "s", "h")])], "h")])

    def tried(what, *groups, stable=0, version=8):
        body = uvarint(len(groups) + 1)
        for group, topics in groups:
            body += compact(group) + (compact(None) + i32(-1) if version >= 9 else b"")
            body += uvarint(0) if topics is None else uvarint(len(topics) + 1)
            for named, parts in topics or []:
                body += compact(named) + uvarint(len(parts) + 1) + b"".join(map(i32, parts)) + b"\0"
            body += b"\0"
        ask(c, f"{what}, version {version}", OFFSET_FETCH, version, body + i8(stable) + b"\0", shape, flexible=True)

    for version in (8, 9):
        tried("unknown", (c.name("no"), None), version=version)
        tried("unknown with partitions", (c.name("no"), [(name, [0, 1, -1])]), version=version)
        tried("two", (c.name("a"), None), (c.name("b"), [(name, [0])]), version=version)
        tried("none", version=version)
        tried("no name", ("", None), version=version)
        tried("unknown topic", (c.name("a"), [(c.name("no"), [0]), ("", [0])]), version=version)
        tried("stable", (c.name("a"), None), stable=1, version=version)


@case
def describe_unknown(c):
    """From version 6 on a group that is not there is an error with a text."""
    shape = (".", [("h", "s", "s", "s", "s", "s", ["s"], "i")])
    coordinator(c)
    for what, named in (("one", [c.name("nobody")]), ("without a name", [""])):
        body = uvarint(len(named) + 1) + b"".join(compact(one) for one in named) + i8(0) + b"\0"
        ask(c, what, DESCRIBE_GROUPS, 6, body, shape, flexible=True)


def topic_id(c, name):
    """The id of a topic, from Metadata version 12."""
    body = uvarint(2) + b"\0" * 16 + compact(name) + b"\0" + i8(0) + i8(0) + b"\0"
    with Connection(c, seconds=20) as connection:
        reader = Flexible(connection.call(header(METADATA, 12, flexible=True) + body))
    reader.tags()
    reader.i32()
    for _ in range(reader.count()):
        reader.i32(), reader.string(), reader.i32(), reader.string(), reader.tags()
    reader.string(), reader.i32()
    assert reader.count() == 1 and reader.i16() == 0 and reader.string() == name, name
    return reader.bytes[reader.at : reader.at + 16]


def transactional_producer(c, transactional_id):
    """Id and epoch of a new producer of transactions."""

    def begun():
        connection.call(header(FIND_COORDINATOR, 1) + string(transactional_id) + i8(1))
        reader = Reader(connection.call(header(INIT_PRODUCER_ID, 0) + string(transactional_id) + i32(60_000)))
        reader.i32()
        found.append((reader.i16(), reader.i64(), reader.i16()))
        return found[-1][0] == 0

    found = []
    with Connection(c, seconds=30) as connection:
        eventually("a coordinator of transactions", 30, begun)
    return found[-1][1:]


@case
def offsets_in_transactions(c):
    """TxnOffsetCommit by topic ids (KIP-1319) and by names. Each topic asks for partitions of its own numbers."""
    coordinator(c)
    name, transactional_id = topic(c, "t"), c.name("txn")
    known, unknown, zero = topic_id(c, name), b"\x11" * 16, b"\0" * 16
    producer, epoch = transactional_producer(c, transactional_id)

    def tried(what, version, topics, group=None, id_=transactional_id, generation=-1, member="", owner=None):
        of, its_epoch = owner or (producer, epoch)
        body = compact(id_) + compact(c.name("g") if group is None else group) + i64(of) + i16(its_epoch)
        body += i32(generation) + compact(member) + uvarint(0) + uvarint(len(topics) + 1)
        for key, partitions in topics:
            body += (key if version >= 6 else compact(key)) + uvarint(len(partitions) + 1)
            for partition in partitions:
                body += i32(partition) + i64(7) + i32(-1) + compact("") + b"\0"
            body += b"\0"
        shape = (".", [("u" if version >= 6 else "x", [("i", "h")])])
        ask(c, f"{version}: {what}", TXN_OFFSET_COMMIT, version, body + b"\0", shape, flexible=True)

    for version in (5, 6):
        by = (lambda id_, name_: id_) if version >= 6 else (lambda id_, name_: name_)
        here = by(known, name)
        tried("what is there, and what is not", version, [
            (here, [0, 9]), (by(unknown, c.name("no")), [1]), (by(zero, ""), [2]),
        ])  # fmt: skip
        tried("nothing that is there", version, [(by(unknown, c.name("no")), [1])])
        tried("no topics", version, [])
        tried("no partitions", version, [(here, [])])
        tried("a partition below zero", version, [(here, [-1])])
        tried("no group", version, [(here, [0])], group="")
        tried("another transactional id", version, [(here, [0])], id_=c.name("other"))
        tried("a generation of a group that is not there", version, [(here, [0])], group=c.name("none"), generation=3)
        tried("a member that is not there", version, [(here, [0])], generation=3, member="nobody")
        tried("an older epoch", version, [(here, [0])], owner=(producer, -1))
        tried("another producer", version, [(here, [0])], owner=(producer + 1_000, 0))
