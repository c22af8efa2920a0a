"""Transactions of confluent-kafka (librdkafka): each record and each offset is looked at, as readers of either isolation
level find them."""

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from confluent_client import ends, read_to_end, settled, topic
from copier import Copier, begin_group
from suite import case, cases_for, check, eventually, records, same


def transactional(c, what="id", **config):
    settings = {k.replace("_", "."): v for k, v in config.items()}
    producer = Producer({
        "bootstrap.servers": c.bootstrap, "transactional.id": c.name(what), "linger.ms": 2, **settings,
    })  # fmt: skip
    producer.init_transactions(30)
    return producer


def send(producer, name, data):
    """Sends to partition i % 2 within the transaction and waits; gives what arrived, as readers should find it."""
    arrived, errors = {0: [], 1: []}, []
    for i, (key, value, headers, timestamp) in enumerate(data):

        def done(error, message, sent=(key, value, headers, timestamp)):
            if error is None:
                arrived[message.partition()].append((message.offset(), *sent))
            else:
                errors.append(error)

        producer.produce(name, value, key, i % 2, on_delivery=done, timestamp=timestamp, headers=headers or None)
    check(producer.flush(60) == 0, "not everything was delivered")
    same("delivery errors", [], errors)
    return arrived


def read(c, name, level):
    """All records of each partition, as (offset, key, value, headers, timestamp)."""
    return {
        partition: [(m.offset(), m.key(), m.value(), m.headers() or [], m.timestamp()[1]) for m in messages]
        for partition, messages in read_to_end(c, name, 2, level).items()
    }


def failure(call):
    """The error with which a call of a producer ends, and a description of it."""
    try:
        call()
    except KafkaException as error:
        it = error.args[0]
        kind = "fatal" if it.fatal() else "abortable" if it.txn_requires_abort() else "other"
        return it, f"{it.name()} {kind}"
    raise AssertionError("the call succeeded")


def compare(what, expected, found):
    for partition in (0, 1):
        same(f"{what} offsets of {partition}", [r[0] for r in expected[partition]], [r[0] for r in found[partition]])
        for left, right in zip(expected[partition], found[partition]):
            same(f"{what} record of {partition}", left, right)


@cases_for("transactions-commit-and-abort", ["none", "lz4", "zstd"])
def commit_and_abort(c, codec):
    t = topic(c, "t", 2)
    producer = transactional(c, compression_type=codec)
    data = records(480, codec)
    everything, committed = {0: [], 1: []}, {0: [], 1: []}
    for round_ in range(12):
        producer.begin_transaction()
        arrived = send(producer, t, data[round_ * 40 : round_ * 40 + 40])
        is_committed = round_ % 3 != 2
        producer.commit_transaction(30) if is_committed else producer.abort_transaction(30)
        for partition in (0, 1):
            everything[partition] += arrived[partition]
            committed[partition] += arrived[partition] if is_committed else []
    for end in [producer.commit_transaction, producer.abort_transaction]:
        # One without anything in it.
        producer.begin_transaction()
        end(30)
    settled(c, t, 2)
    compare("committed", committed, read(c, t, "read_committed"))
    compare("all", everything, read(c, t, "read_uncommitted"))
    c.line(f"first offsets of the transactions {[r[0] for r in everything[0][::20]]}, ends {ends(c, t, 2, 'read_committed')}")
    # What is open is not read, nor what others write behind it.
    producer.begin_transaction()
    opened = send(producer, t, data[:10])
    other = Producer({"bootstrap.servers": c.bootstrap})
    behind = send(other, t, data[10:20])
    compare("beside an open one", committed, read(c, t, "read_committed"))
    stable = ends(c, t, 2, "read_committed")
    same("last stable offsets", {p: opened[p][0][0] for p in (0, 1)}, stable)
    producer.abort_transaction(30)
    settled(c, t, 2)
    compare("in the end", {p: committed[p] + behind[p] for p in (0, 1)}, read(c, t, "read_committed"))


@cases_for("transactions-copied-by-a-group", ["classic", "consumer"])
def copied_by_a_group(c, protocol):
    """Members join and leave; of some transactions each aborts. Every record is there once, in order."""
    source, sink, group = topic(c, "from", 2), topic(c, "to", 2), c.name("g")
    places = [TopicPartition(source, p, 0) for p in (0, 1)]
    begin_group(c.bootstrap, group, places, 30)
    consumer = Consumer({"bootstrap.servers": c.bootstrap, "group.id": group})
    producer = Producer({"bootstrap.servers": c.bootstrap, "linger.ms": 2})
    numbers = 600
    settings = {"group.protocol": "consumer"} if protocol == "consumer" else {}

    def member(at):
        one = Copier(c.bootstrap, c.name(f"copier-{at}"), at, source, sink, group, batch=40, aborted=50, **settings)
        one.start()
        return one

    members = [member(0), member(1)]
    for part in range(3):
        for number in range(part * numbers // 3, (part + 1) * numbers // 3):
            for partition in (0, 1):
                producer.produce(source, str(number), partition=partition)
        check(producer.flush(30) == 0, "not everything was delivered")
        sent = (part + 1) * numbers // 3

        def is_copied(sent=sent):
            for one in members:
                check(one.broken is None, f"{one.name}: {one.broken!r}")
            return [p.offset for p in consumer.committed(places, 20)] == [sent, sent]

        if part == 1:
            members[0].finish(60)
        eventually(f"{sent} records of each partition are copied", 60, is_copied)
    members[1].finish(60)
    consumer.close()
    settled(c, sink, 2)
    copied = read(c, sink, "read_committed")
    for partition in (0, 1):
        values = [int(record[2]) for record in copied[partition]]
        same(f"values of partition {partition}", list(range(numbers)), values)
    aborted = sum(one.counts["aborted by itself"] for one in members)
    check(aborted > 0, "no transaction was aborted")
    c.line(f"{2 * numbers} records copied once")


@case
def transactions_offsets(c):
    """Offsets alone and beside records: what is aborted leaves no trace, what is open makes who asks for stable ones wait."""
    t, group = topic(c, "t", 2), c.name("g")
    places = [TopicPartition(t, p) for p in (0, 1)]
    consumer = Consumer({"bootstrap.servers": c.bootstrap, "group.id": group})
    metadata = consumer.consumer_group_metadata()
    producer = transactional(c)

    def committed():
        return [(p.offset, p.metadata) for p in consumer.committed(places, 20)]

    same("at first", [(-1001, None)] * 2, [(offset, metadata or None) for offset, metadata in committed()])
    for number, is_committed in [(5, True), (7, False), (9, True)]:
        before = committed()
        producer.begin_transaction()
        if number < 9:
            send(producer, t, records(4, number))
        asked = [TopicPartition(t, 0, number, f"m{number}"), TopicPartition(t, 1, number + 100)]
        producer.send_offsets_to_transaction(asked, metadata, 30)
        # librdkafka asks for stable offsets.
        error, shown = failure(lambda: consumer.committed(places, 0.5))
        c.line(f"while it is open: {shown}")
        producer.commit_transaction(30) if is_committed else producer.abort_transaction(30)
        wanted = [(number, f"m{number}"), (number + 100, "")] if is_committed else before
        same(f"after {number}", [w[0] for w in wanted], [f[0] for f in committed()])
        c.line(f"after {number}: {committed()}")
    consumer.close()
    settled(c, t, 2)
    same("records", 2, len(read(c, t, "read_committed")[0]))


@case
def transactions_fencing(c):
    t = topic(c, "t", 2)
    first = transactional(c)
    first.begin_transaction()
    lost = send(first, t, records(10, 1))
    second = transactional(c)
    settled(c, t, 2)
    compare("what the first left", {0: [], 1: []}, read(c, t, "read_committed"))
    second.begin_transaction()
    kept = send(second, t, records(10, 2))
    # While the second has a transaction open, too, the first can neither add to its own nor end it.
    first.produce(t, b"of a zombie", partition=0)
    error, shown = failure(lambda: first.commit_transaction(30))
    check(error.fatal(), f"{error} is not fatal")
    c.line(f"the first: {shown}")
    second.commit_transaction(30)
    settled(c, t, 2)
    compare("committed", kept, read(c, t, "read_committed"))
    compare("all", {p: lost[p] + kept[p] for p in (0, 1)}, read(c, t, "read_uncommitted"))
    error, shown = failure(lambda: first.begin_transaction())
    c.line(f"the first again: {shown}")


@case
def transactions_abortable_errors(c):
    """A record that is too large, and offsets of a generation that has passed: both are aborted, and the next one passes."""
    t = topic(c, "t", 2)
    small = topic(c, "small", 1, max_message_bytes="1000")
    group = c.name("g")
    producer = transactional(c)
    lost = {0: [], 1: []}

    def recovered(what, kept):
        producer.abort_transaction(30)
        producer.begin_transaction()
        found = send(producer, t, records(6, what))
        producer.commit_transaction(30)
        return {p: kept[p] + found[p] for p in (0, 1)}

    producer.begin_transaction()
    lost = send(producer, t, records(6, 0))
    producer.produce(small, bytes(range(256)) * 8)
    error, shown = failure(lambda: producer.commit_transaction(30))
    check(error.txn_requires_abort(), f"{error} asks for no abort")
    c.line(f"too large: {shown}")
    kept = recovered("large", {0: [], 1: []})

    consumer = Consumer({
        "bootstrap.servers": c.bootstrap, "group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False,
    })  # fmt: skip
    consumer.subscribe([t])
    eventually("a member", 30, lambda: consumer.poll(0.1) is not None or len(consumer.assignment()) == 2)
    stale = consumer.consumer_group_metadata()
    consumer.close()
    producer.begin_transaction()
    again = send(producer, t, records(6, 3))
    error, shown = failure(lambda: producer.send_offsets_to_transaction([TopicPartition(t, 0, 3)], stale, 30))
    check(error.txn_requires_abort(), f"{error} asks for no abort")
    c.line(f"offsets of who has left: {shown}")
    kept = recovered("stale", kept)
    settled(c, t, 2)
    compare("committed", kept, read(c, t, "read_committed"))
    everything = read(c, t, "read_uncommitted")
    wanted = {p: sorted(kept[p] + lost[p] + again[p]) for p in (0, 1)}
    compare("all", wanted, everything)
    reader = Consumer({"bootstrap.servers": c.bootstrap, "group.id": group})
    same("the group's offset", -1001, reader.committed([TopicPartition(t, 0)], 20)[0].offset)
    reader.close()


@case
def transactions_timeout(c):
    """The coordinator aborts what lasts too long; its producer is told, and another one goes on."""
    t = topic(c, "t", 2)
    producer = transactional(c, transaction_timeout_ms=2000)
    producer.begin_transaction()
    lost = send(producer, t, records(10, 1))
    settled(c, t, 2)
    error, shown = failure(lambda: producer.commit_transaction(30))
    c.line(f"the commit: {shown}")
    compare("committed", {0: [], 1: []}, read(c, t, "read_committed"))
    another = transactional(c)
    another.begin_transaction()
    kept = send(another, t, records(10, 2))
    another.commit_transaction(30)
    settled(c, t, 2)
    compare("in the end", kept, read(c, t, "read_committed"))
    compare("all", {p: lost[p] + kept[p] for p in (0, 1)}, read(c, t, "read_uncommitted"))
    c.line(f"ends {ends(c, t, 2, 'read_committed')}")


@case
def transactions_bad_settings(c):
    """A timeout that is longer than the broker's, and calls in an order that makes no sense."""
    config = {"bootstrap.servers": c.bootstrap, "transactional.id": c.name("long"), "transaction.timeout.ms": 900_001}
    c.line(f"timeout: {failure(lambda: Producer(config).init_transactions(30))[1]}")
    producer = transactional(c)
    c.line(f"without a transaction: {failure(lambda: producer.commit_transaction(30))[1]}")
    producer.begin_transaction()
    c.line(f"begun twice: {failure(producer.begin_transaction)[1]}")
    producer.abort_transaction(30)
