"""aiokafka (asyncio): every codec, groups with rebalances, commits, admin basics."""

import asyncio
import time

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

import aiokafka_transactions  # noqa: F401 - it registers its cases
from aiokafka_client import topic, until
from suite import case, cases_for, check, main, records, same

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}


async def produce(c, name, partitions, data, **config):
    producer = AIOKafkaProducer(bootstrap_servers=c.bootstrap, **config)
    await producer.start()
    try:
        pending = []
        for i, (key, value, headers, timestamp) in enumerate(data):
            pending.append(await producer.send(name, value, key, i % partitions, timestamp, headers))
        done = await asyncio.wait_for(asyncio.gather(*pending), 60)
        return [one.offset if one is not None else None for one in done]
    finally:
        await producer.stop()


async def read(c, name, partitions, count):
    consumer = AIOKafkaConsumer(bootstrap_servers=c.bootstrap, auto_offset_reset="earliest")
    await consumer.start()
    try:
        all_partitions = [TopicPartition(name, p) for p in range(partitions)]
        consumer.assign(all_partitions)
        await consumer.seek_to_beginning(*all_partitions)
        got = []
        deadline = time.monotonic() + 30
        while len(got) < count and time.monotonic() < deadline:
            for batch in (await consumer.getmany(timeout_ms=300)).values():
                got += batch
        for batch in (await consumer.getmany(timeout_ms=100)).values():
            got += batch
        same("number of records", count, len(got))
        return got
    finally:
        await consumer.stop()


@cases_for("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def codec(c, name):
    async def body():
        t = await topic(c, "t", 3)
        data = records(300, name)
        offsets = await produce(c, t, 3, data, compression_type=None if name == "none" else name, linger_ms=10)
        at = {(r.partition, r.offset): r for r in await read(c, t, 3, 300)}
        for i, (key, value, headers, timestamp) in enumerate(data):
            record = at[(i % 3, offsets[i])]
            same("key", key, record.key)
            same("value", value, record.value)
            same("headers", headers, list(record.headers))
            same("timestamp", timestamp, record.timestamp)
        c.line("300 records, same bytes")

    asyncio.run(body())


@cases_for("acks", [0, 1, "all"])
def acks(c, level):
    async def body():
        t = await topic(c, "t", 1)
        data = records(100, 1)
        await produce(c, t, 1, data, acks=level)
        same("values", [d[1] for d in data], [r.value for r in await read(c, t, 1, 100)])

    asyncio.run(body())


@case
def idempotent(c):
    async def body():
        t = await topic(c, "t", 1)
        data = [(None, b"%d" % i, [], None) for i in range(500)]
        offsets = await produce(c, t, 1, data, enable_idempotence=True, max_batch_size=300)
        same("offsets", list(range(500)), offsets)
        same("values", [d[1] for d in data], [r.value for r in await read(c, t, 1, 500)])

    asyncio.run(body())


@cases_for("group", sorted(ASSIGNORS))
def group(c, strategy):
    """Members join and leave while records come; every record arrives exactly once."""

    async def body():
        t = await topic(c, "t", 6)
        seen = {}

        class Member(ConsumerRebalanceListener):
            def __init__(self):
                self.consumer = AIOKafkaConsumer(
                    bootstrap_servers=c.bootstrap,
                    group_id=c.name("g"),
                    auto_offset_reset="earliest",
                    enable_auto_commit=False,
                    heartbeat_interval_ms=200,
                    partition_assignment_strategy=[ASSIGNORS[strategy]],
                    fetch_max_wait_ms=50,
                )
                self.lock = asyncio.Lock()
                self.stopping = False

            async def on_partitions_revoked(self, revoked):
                async with self.lock:
                    if revoked:
                        await self.consumer.commit()

            async def on_partitions_assigned(self, assigned):
                pass

            async def run(self):
                self.consumer.subscribe([t], listener=self)
                await self.consumer.start()
                while not self.stopping:
                    async with self.lock:
                        batches = await self.consumer.getmany(timeout_ms=50)
                        for batch in batches.values():
                            for record in batch:
                                seen.setdefault((record.partition, record.offset), []).append(record.value)
                    await asyncio.sleep(0)
                await self.consumer.commit()
                await self.consumer.stop()

        def balanced(members):
            wanted = [6 // len(members)] * len(members)
            return lambda: sorted(len(m.consumer.assignment()) for m in members) == wanted

        expected = {}
        members, tasks = [], []
        number = 0
        for part in range(3):
            members.append(Member())
            tasks.append(asyncio.create_task(members[-1].run()))
            await until(f"{len(members)} members", 40, balanced(members))
            data = [(None, b"v%d" % (number + i), [], None) for i in range(198)]
            number += 198
            for i, offset in enumerate(await produce(c, t, 6, data)):
                expected[(i % 6, offset)] = data[i][1]
            await until("all seen", 30, lambda: len(seen) >= len(expected))
        members[0].stopping = True
        await asyncio.wait_for(tasks[0], 30)
        await until("two of three", 40, balanced(members[1:]))
        same("places", sorted(expected), sorted(seen))
        for place, value in expected.items():
            same(f"values at {place}", [value], seen[place])
        for member in members[1:]:
            member.stopping = True
        await asyncio.wait_for(asyncio.gather(*tasks[1:]), 40)
        c.line("every record once")

    asyncio.run(body())


@case
def commits(c):
    async def body():
        t = await topic(c, "t", 1)
        partition = TopicPartition(t, 0)
        consumer = AIOKafkaConsumer(bootstrap_servers=c.bootstrap, group_id=c.name("g"), enable_auto_commit=False)
        await consumer.start()
        consumer.assign([partition])
        c.line(f"before {await consumer.committed(partition)}")
        await consumer.commit({partition: 7})
        c.line(f"after {await consumer.committed(partition)}")
        c.line(f"ends {(await consumer.end_offsets([partition]))[partition]}")
        await consumer.stop()

    asyncio.run(body())


@case
def admin_basics(c):
    async def body():
        t = await topic(c, "t", 2)
        admin = AIOKafkaAdminClient(bootstrap_servers=c.bootstrap)
        await admin.start()
        check(t in await admin.list_topics(), "topic is not listed")
        c.line(f"partitions {len((await admin.describe_topics([t]))[0]['partitions'])}")
        answer = await admin.create_topics([NewTopic(t, 1, 1)])
        c.line(f"created twice: {[error[1] for error in answer.topic_errors]}")
        await admin.delete_topics([t])
        for _ in range(200):
            if t not in await admin.list_topics():
                break
            await asyncio.sleep(0.05)
        check(t not in await admin.list_topics(), "topic is still listed")
        await admin.close()

    asyncio.run(body())


if __name__ == "__main__":
    main("aiokafka", parallel=3)
