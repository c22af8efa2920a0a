"""A member of the group soak: aiokafka. See group_worker.py."""

import asyncio

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError

from group_worker import Worker, brief, now, split

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}
worker = Worker()


def name_of(partition):
    return f"{partition.topic}-{partition.partition}"


class Member(ConsumerRebalanceListener):
    def __init__(self):
        # The client rebalances while the application works, unless the application forbids it.
        self.lock = asyncio.Lock()

    async def on_partitions_assigned(self, assigned):
        worker.assigned([name_of(p) for p in assigned])

    async def on_partitions_revoked(self, revoked):
        async with self.lock:
            names = [name_of(p) for p in revoked]
            await self.commit(names)
            worker.gone("revoked", names)

    async def commit(self, names=None):
        offsets = worker.take_dirty(names)
        if not offsets:
            return
        start = now()
        try:
            await self.consumer.commit({TopicPartition(*split(name)): offset for name, offset in offsets.items()})
            worker.committed(offsets, start)
        except (KafkaError, ValueError) as error:
            worker.committed(offsets, start, brief(error))

    async def run(self):
        self.consumer = consumer = AIOKafkaConsumer(
            bootstrap_servers=worker.bootstrap,
            group_id=worker.group,
            client_id=worker.name,
            group_instance_id=worker.instance,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            partition_assignment_strategy=[ASSIGNORS[name] for name in worker.assignor_names],
            session_timeout_ms=worker.session_ms,
            heartbeat_interval_ms=worker.heartbeat_ms,
            rebalance_timeout_ms=worker.rebalance_ms,
            max_poll_interval_ms=worker.rebalance_ms,
            metadata_max_age_ms=worker.metadata_ms,
            fetch_max_wait_ms=100,
            max_poll_records=50,
        )
        consumer.subscribe(worker.topic_names, listener=self)
        await consumer.start()
        while not worker.stopping.is_set():
            try:
                batches = await consumer.getmany(timeout_ms=100, max_records=50)
            except KafkaError as error:
                worker.tell("error", what=brief(error))
                continue
            async with self.lock:
                for partition, records in batches.items():
                    name, start = name_of(partition), now()
                    # A rebalance may have come between the client's answer and the lock.
                    if name not in worker.owned or partition not in consumer.assignment():
                        continue
                    await asyncio.sleep(worker.work_seconds(len(records)))
                    worker.processed(name, [record.offset for record in records], start)
                if worker.is_due():
                    await self.commit()
        async with self.lock:
            await self.commit()
        # The client tells nobody that it gives its partitions up.
        worker.gone("revoked", list(worker.owned))
        await consumer.stop()
        worker.end()


asyncio.run(Member().run())
