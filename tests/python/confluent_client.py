"""What the cases with confluent-kafka share: an admin client, and topics that are there."""

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from suite import eventually


def admin(c):
    return AdminClient({"bootstrap.servers": c.bootstrap})


def topic(c, what, partitions, **config):
    name = c.name(what)
    settings = {k.replace("_", "."): v for k, v in config.items()}
    a = admin(c)
    a.create_topics([NewTopic(name, partitions, 1, config=settings)])[name].result(30)

    def visible():
        found = a.list_topics(name, timeout=10).topics[name]
        if found.error is not None or len(found.partitions) != partitions:
            return False
        spec = {TopicPartition(name, p): OffsetSpec.latest() for p in range(partitions)}
        try:
            return all(f.result(10) is not None for f in a.list_offsets(spec).values())
        except KafkaException:
            return False

    eventually("topic visible", 15, visible)
    return name
