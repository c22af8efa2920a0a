"""Transactions of aiokafka: each record and each offset is looked at, as readers of either isolation level find them.

Of what confluent-kafka is asked, one thing is left out: aiokafka's transactions do not say which member of a group their
offsets are from (it speaks TxnOffsetCommit before KIP-447), so none of them can be stale.
"""

import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError, MessageSizeTooLargeError

from aiokafka_client import topic, until
from suite import case, cases_for, check, records, same


def run(body):
    """Registers a coroutine as a case."""

    def function(c, *value):
        asyncio.run(body(c, *value))

    function.__name__ = body.__name__
    return function


async def transactional(c, what="id", **config):
    settings = {"bootstrap_servers": c.bootstrap, "transactional_id": c.name(what), "linger_ms": 2, **config}
    producer = AIOKafkaProducer(**settings)
    await producer.start()
    return producer


async def send(producer, name, data):
    """Sends to partition i % 2 within the transaction and waits; gives what arrived, as readers should find it."""
    pending = []
    for i, (key, value, headers, timestamp) in enumerate(data):
        pending.append(await producer.send(name, value, key, i % 2, timestamp, headers))
    arrived = {0: [], 1: []}
    for sent, done in zip(data, await asyncio.wait_for(asyncio.gather(*pending), 60)):
        arrived[done.partition].append((done.offset, *sent))
    return arrived


async def read(c, name, level):
    """All records of each partition up to its last stable offset or its end, as (offset, key, value, headers, timestamp)."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=c.bootstrap, isolation_level=level, auto_offset_reset="earliest", fetch_max_wait_ms=50
    )
    await consumer.start()
    try:
        places = [TopicPartition(name, p) for p in (0, 1)]
        consumer.assign(places)
        ends = await consumer.end_offsets(places)
        found = {0: [], 1: []}

        async def is_read():
            for batch in (await consumer.getmany(timeout_ms=100)).values():
                for r in batch:
                    found[r.partition].append((r.offset, r.key, r.value, list(r.headers), r.timestamp))
            return [await consumer.position(place) >= ends[place] for place in places] == [True, True]

        await until(f"the ends {ends}", 30, is_read)
        return found, {p: ends[TopicPartition(name, p)] for p in (0, 1)}
    finally:
        await consumer.stop()


async def compare(c, name, committed, everything):
    """Compares what readers find when all transactions have ended; gives the ends."""
    await settled(c, name)
    for level, expected in [("read_committed", committed), ("read_uncommitted", everything)]:
        found, ends = await read(c, name, level)
        for partition in (0, 1):
            same(f"{level} offsets", [r[0] for r in expected[partition]], [r[0] for r in found[partition]])
            for left, right in zip(expected[partition], found[partition]):
                same(f"{level} record", left, right)
    return ends


async def settled(c, name):
    """Waits for the end of all transactions: a producer hears of one before the markers are written."""

    async def ends(level):
        consumer = AIOKafkaConsumer(bootstrap_servers=c.bootstrap, isolation_level=level)
        await consumer.start()
        try:
            return await consumer.end_offsets([TopicPartition(name, p) for p in (0, 1)])
        finally:
            await consumer.stop()

    async def is_settled():
        return await ends("read_committed") == await ends("read_uncommitted")

    await until("the last stable offset is the end", 20, is_settled)


def joined(*parts):
    return {p: [record for part in parts for record in part[p]] for p in (0, 1)}


async def failure(call):
    """The name of the error with which a call ends."""
    try:
        await asyncio.wait_for(call, 30)
    except KafkaError as error:
        return type(error).__name__
    raise AssertionError("the call succeeded")


@cases_for("transactions-commit-and-abort", ["none", "gzip", "lz4"])
@run
async def commit_and_abort(c, codec):
    t = await topic(c, "t", 2)
    producer = await transactional(c, compression_type=None if codec == "none" else codec)
    data = records(480, codec)
    everything, committed = joined(), joined()
    for round_ in range(12):
        await producer.begin_transaction()
        arrived = await send(producer, t, data[round_ * 40 : round_ * 40 + 40])
        if round_ % 3 == 2:
            await producer.abort_transaction()
        else:
            await producer.commit_transaction()
            committed = joined(committed, arrived)
        everything = joined(everything, arrived)
    # One without anything in it.
    async with producer.transaction():
        pass
    c.line(f"ends {await compare(c, t, committed, everything)}")
    c.line(f"first offsets of the transactions {[r[0] for r in everything[0][::20]]}")
    # What is open is not read, nor what others write behind it.
    await producer.begin_transaction()
    opened = await send(producer, t, data[:10])
    other = AIOKafkaProducer(bootstrap_servers=c.bootstrap)
    await other.start()
    behind = await send(other, t, data[10:20])
    found, stable = await read(c, t, "read_committed")
    same("beside an open one", committed, found)
    same("last stable offsets", {p: opened[p][0][0] for p in (0, 1)}, stable)
    await producer.abort_transaction()
    await compare(c, t, joined(committed, behind), joined(everything, opened, behind))
    await other.stop()
    await producer.stop()


@case
@run
async def transactions_copied_by_a_group(c):
    """A member copies and aborts; another takes over from it. Every record is there once, in order."""
    source, sink, group = await topic(c, "from", 2), await topic(c, "to", 2), c.name("g")
    async with AIOKafkaProducer(bootstrap_servers=c.bootstrap, linger_ms=2) as plain:
        for number in range(300):
            for partition in (0, 1):
                await plain.send(source, str(number).encode(), partition=partition)
    aborted = 0
    for member in range(2):
        producer = await transactional(c)
        consumer = AIOKafkaConsumer(
            source, bootstrap_servers=c.bootstrap, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False,
            isolation_level="read_committed", heartbeat_interval_ms=200, fetch_max_wait_ms=50,
        )  # fmt: skip
        await consumer.start()
        wanted, round_ = 300 * (member + 1), 0
        copied = 300 * member

        async def rewind():
            for place in consumer.assignment():
                offset = await consumer.committed(place)
                consumer.seek(place, offset or 0)

        async def step():
            nonlocal copied, round_, aborted
            batches = await consumer.getmany(timeout_ms=200, max_records=min(37, wanted - copied) if copied < wanted else 1)
            if not batches:
                return copied >= wanted
            round_ += 1
            await producer.begin_transaction()
            offsets = {}
            for place, batch in batches.items():
                for record in batch:
                    await producer.send(sink, record.value, partition=record.partition)
                offsets[place] = batch[-1].offset + 1
            await producer.send_offsets_to_transaction(offsets, group)
            if round_ % 3 == 2:
                await producer.abort_transaction()
                aborted += 1
                await rewind()
            else:
                await producer.commit_transaction()
                copied += sum(len(batch) for batch in batches.values())
            return copied >= wanted

        await until(f"{wanted} are copied", 60, step)
        await consumer.stop()
        await producer.stop()
    check(aborted > 0, "no transaction was aborted")
    await settled(c, sink)
    found, _ = await read(c, sink, "read_committed")
    for partition in (0, 1):
        same(f"values of {partition}", list(range(300)), [int(r[2]) for r in found[partition]])
    c.line("600 records copied once")


@case
@run
async def transactions_offsets(c):
    t, group = await topic(c, "t", 2), c.name("g")
    place = TopicPartition(t, 0)
    producer = await transactional(c)
    consumer = AIOKafkaConsumer(bootstrap_servers=c.bootstrap, group_id=group, enable_auto_commit=False)
    await consumer.start()
    consumer.assign([place])
    for number, is_committed, wanted in [(5, True, 5), (7, False, 5), (9, True, 9)]:
        await producer.begin_transaction()
        if number < 9:
            await send(producer, t, records(4, number))
        await producer.send_offsets_to_transaction({place: number}, group)
        await (producer.commit_transaction() if is_committed else producer.abort_transaction())

        async def is_there(wanted=wanted):
            return await consumer.committed(place) == wanted

        await until(f"offset {wanted}", 20, is_there)
        c.line(f"after {number}: {await consumer.committed(place)}")
    await consumer.stop()
    await producer.stop()


@case
@run
async def transactions_fencing(c):
    t = await topic(c, "t", 2)
    first = await transactional(c)
    await first.begin_transaction()
    lost = await send(first, t, records(10, 1))
    second = await transactional(c)
    await second.begin_transaction()
    kept = await send(second, t, records(10, 2))
    c.line(f"the first: {await failure(first.commit_transaction())}")
    await second.commit_transaction()
    c.line(f"ends {await compare(c, t, kept, joined(lost, kept))}")
    await second.stop()
    await first.stop()


@case
@run
async def transactions_aborted_by_an_error(c):
    """A record that is too large for the client, or for the broker, ends the block; the next one passes."""
    t = await topic(c, "t", 2)
    small = await topic(c, "small", 2, max_message_bytes="1000")
    producer = await transactional(c, max_request_size=100_000)
    lost, kept = joined(), joined()
    # aiokafka counts the sequence numbers of what the broker refuses, so that each partition of this is good for one.
    for size, to, partition in [(200_000, t, 0), (10, t, 0), (2_000, small, 0), (20, t, 0), (2_000, small, 1), (30, t, 0)]:
        try:
            async with producer.transaction():
                arrived = await send(producer, t, records(10, size))
                await producer.send_and_wait(to, bytes(size), partition=partition, timestamp_ms=1)
        except MessageSizeTooLargeError as error:
            check(size > 1000, f"{size} bytes are too large: {error}")
            lost = joined(lost, arrived)
        else:
            check(size < 1000, f"{size} bytes are not too large")
            arrived[0].append((arrived[0][-1][0] + 1, None, bytes(size), [], 1))
            kept = joined(kept, arrived)
    everything = {p: sorted(joined(lost, kept)[p], key=lambda r: r[0]) for p in (0, 1)}
    c.line(f"ends {await compare(c, t, kept, everything)}")
    await producer.stop()


@case
@run
async def transactions_timeout(c):
    """The coordinator aborts what lasts too long; its producer is told, and another one goes on."""
    t = await topic(c, "t", 2)
    producer = await transactional(c, transaction_timeout_ms=2000)
    await producer.begin_transaction()
    lost = await send(producer, t, records(10, 1))
    await compare(c, t, joined(), lost)
    c.line(f"the commit: {await failure(producer.commit_transaction())}")
    another = await transactional(c)
    await another.begin_transaction()
    kept = await send(another, t, records(10, 2))
    await another.commit_transaction()
    c.line(f"ends {await compare(c, t, kept, joined(lost, kept))}")
    await another.stop()
    await producer.stop()
