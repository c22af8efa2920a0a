"""What the cases with aiokafka share: waits, and topics that are there."""

import asyncio
import time

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from suite import check


async def until(what, seconds_max, condition):
    """Waits for a condition, which may be a coroutine."""
    deadline = time.monotonic() + seconds_max

    async def holds():
        found = condition()
        return await found if asyncio.iscoroutine(found) else found

    while not await holds():
        check(time.monotonic() < deadline, f"{what}: not within {seconds_max} s")
        await asyncio.sleep(0.02)


async def topic(c, what, partitions, **config):
    name = c.name(what)
    settings = {k.replace("_", "."): v for k, v in config.items()}
    admin = AIOKafkaAdminClient(bootstrap_servers=c.bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(name, partitions, 1, topic_configs=settings)])
    await admin.close()
    # The first fetch of the ends tells that every partition is led and open.
    consumer = AIOKafkaConsumer(bootstrap_servers=c.bootstrap)
    await consumer.start()
    await consumer.end_offsets([TopicPartition(name, p) for p in range(partitions)])
    await consumer.stop()
    return name
