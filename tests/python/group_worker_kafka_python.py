"""A member of the group soak: kafka-python. See group_worker.py."""

import time

from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from group_worker import Worker, brief, now, split

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
worker = Worker()


def name_of(partition):
    return f"{partition.topic}-{partition.partition}"


def targets(offsets):
    return {TopicPartition(*split(name)): OffsetAndMetadata(offset, "", -1) for name, offset in offsets.items()}


def generation():
    return consumer.group_metadata().generation_id


def commit():
    offsets = worker.take_dirty()
    if not offsets:
        return
    start, gen = now(), generation()
    try:
        consumer.commit(targets(offsets))
        worker.committed(offsets, start, None, gen)
    except KafkaError as error:
        worker.committed(offsets, start, brief(error), gen)


def commit_later():
    offsets = worker.take_dirty()
    start, gen = now(), generation()

    def answered(_, response):
        worker.committed(offsets, start, brief(response) if isinstance(response, Exception) else None, gen)

    consumer.commit_async(targets(offsets), answered)


class Listener(AsyncConsumerRebalanceListener):
    async def on_partitions_assigned(self, assigned):
        worker.assigned([name_of(p) for p in assigned])

    async def on_partitions_revoked(self, revoked):
        names = [name_of(p) for p in revoked]
        offsets = worker.take_dirty(names)
        if offsets:
            start, gen = now(), generation()
            try:
                await consumer.commit_async(targets(offsets))
                worker.committed(offsets, start, None, gen)
            except KafkaError as error:
                worker.committed(offsets, start, brief(error), gen)
        worker.gone("revoked", names)

    async def on_partitions_lost(self, lost):
        worker.gone("lost", [name_of(p) for p in lost])


consumer = KafkaConsumer(
    bootstrap_servers=worker.bootstrap,
    group_id=worker.group,
    client_id=worker.name,
    group_instance_id=worker.instance,
    auto_offset_reset="earliest",
    enable_auto_commit=False,
    partition_assignment_strategy=[ASSIGNORS[name] for name in worker.assignor_names],
    session_timeout_ms=worker.session_ms,
    heartbeat_interval_ms=worker.heartbeat_ms,
    max_poll_interval_ms=worker.rebalance_ms,
    metadata_max_age_ms=worker.metadata_ms,
    fetch_max_wait_ms=100,
    max_poll_records=50,
)
consumer.subscribe(topics=worker.topic_names, listener=Listener())
while not worker.stopping.is_set():
    try:
        batches = consumer.poll(timeout_ms=100)
    except KafkaError as error:
        worker.tell("error", what=brief(error))
        continue
    for partition, records in batches.items():
        start = now()
        time.sleep(worker.work_seconds(len(records)))
        worker.processed(name_of(partition), [record.offset for record in records], start)
    if worker.is_due():
        commit_later() if worker.commit == "async" else commit()
commit()
consumer.close()
worker.end()
