"""A member of the group soak: confluent-kafka (librdkafka). See group_worker.py."""

import time

from confluent_kafka import Consumer, KafkaException, TopicPartition

from group_worker import Worker, brief, now, split

worker = Worker()


def name_of(partition):
    return f"{partition.topic}-{partition.partition}"


def targets(offsets):
    return [TopicPartition(*split(name), offset) for name, offset in offsets.items()]


def commit(names=None):
    offsets = worker.take_dirty(names)
    if not offsets:
        return
    start = now()
    try:
        answers = consumer.commit(offsets=targets(offsets), asynchronous=False)
        errors = [answer.error for answer in answers if answer.error is not None]
        worker.committed(offsets, start, str(errors[0]) if errors else None)
    except KafkaException as error:
        worker.committed(offsets, start, brief(error))


# When commits were sent that are not answered; answers come in that order.
sent = []


def commit_later():
    offsets = worker.take_dirty()
    sent.append((offsets, now()))
    try:
        consumer.commit(offsets=targets(offsets), asynchronous=True)
    except KafkaException as error:
        sent.pop()
        worker.committed(offsets, now(), brief(error))


def on_commit(error, partitions):
    # Calls that wait come here, too; theirs are told already.
    answered = {name_of(p): p.offset for p in partitions}
    for at, (offsets, start) in enumerate(sent):
        if offsets == answered:
            del sent[at]
            errors = [p.error for p in partitions if p.error is not None]
            error = error or (errors[0] if errors else None)
            worker.committed(offsets, start, None if error is None else str(error))
            return


def on_assign(_, partitions):
    worker.assigned([name_of(p) for p in partitions])


def on_revoke(_, partitions):
    names = [name_of(p) for p in partitions]
    commit(names)
    worker.gone("revoked", names)


def on_lost(_, partitions):
    worker.gone("lost", [name_of(p) for p in partitions])


settings = {
    "bootstrap.servers": worker.bootstrap,
    "group.id": worker.group,
    "client.id": worker.name,
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "max.poll.interval.ms": worker.rebalance_ms,
    "topic.metadata.refresh.interval.ms": worker.metadata_ms,
    "fetch.wait.max.ms": 100,
    "log_level": 3,
    "on_commit": on_commit,
}
if worker.protocol == "classic":
    settings["partition.assignment.strategy"] = ",".join(worker.assignor_names)
    settings["session.timeout.ms"] = worker.session_ms
    settings["heartbeat.interval.ms"] = worker.heartbeat_ms
else:
    # Older releases do not know the name.
    settings["group.protocol"] = worker.protocol
if worker.instance:
    settings["group.instance.id"] = worker.instance
consumer = Consumer(settings)



def subscribe(topics):
    consumer.subscribe(topics, on_assign=on_assign, on_revoke=on_revoke, on_lost=on_lost)


subscribe(worker.topic_names)
while not worker.stopping.is_set():
    if worker.topics_to_come:
        subscribe(worker.topics_to_come)
        worker.topics_to_come = None
    batches = {}
    try:
        messages = consumer.consume(50, 0.1)
    except KafkaException as error:
        worker.tell("error", what=brief(error))
        continue
    start = now()
    for message in messages:
        if message.error() is not None:
            worker.tell("error", what=str(message.error()))
        else:
            batches.setdefault(f"{message.topic()}-{message.partition()}", []).append(message.offset())
    for name, offsets in batches.items():
        # In the Python client the callbacks run before what came with them is handed out.
        if name not in worker.owned:
            worker.tell("error", what=f"{name} {offsets[0]} is handed out after the partition was taken")
            continue
        time.sleep(worker.work_seconds(len(offsets)))
        worker.processed(name, offsets, start)
        start = now()
    if worker.is_due():
        commit_later() if worker.commit == "async" else commit()
commit()
consumer.close()
worker.end()
