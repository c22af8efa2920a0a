#!/usr/bin/env python3
"""A consumer that lags and whose fetch.min.bytes is near a limit: MB/s of librdkafka's consumer on several brokers.

    fetch_min_bytes.py --out FILE.md NAME=HOST:PORT ...

The brokers have fetch.max.bytes=2097152 (the shape "the broker's limit"). Each shape is read --runs times from each
broker in turn, each time for 10 s at most; the table has the median. A rate is of values, in 10^6 bytes a second.
"""

import argparse
import os
import statistics
import time
import uuid

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

MIB = 1 << 20
VALUE = os.urandom(1000)
RECORDS = 40_000
# The last answers may wait: there is less than is asked for.
LEFT = 4_000
SECONDS_MAX = 10

# Name, fetch.min.bytes, max.partition.fetch.bytes, fetch.max.bytes, bytes of a batch, partitions, segment.bytes.
SHAPES = [
    ("the minimum is a partition's limit", MIB, MIB, 50 * MIB, 16 << 10, 1, 1 << 30),
    ("the minimum is the request's limit", MIB, 10 * MIB, MIB, 16 << 10, 1, 1 << 30),
    ("it is within a batch of the limit", MIB - (8 << 10), MIB, 50 * MIB, 16 << 10, 1, 1 << 30),
    ("batches of 700 KB", MIB, MIB, 50 * MIB, 700 << 10, 1, 1 << 30),
    ("4 partitions, the request's limit", 2 * MIB, MIB, 2 * MIB, 16 << 10, 4, 1 << 30),
    ("segments of 1 MiB", MIB, MIB, 50 * MIB, 16 << 10, 1, MIB),
    ("4 partitions, above the broker's limit", 50 * MIB, MIB, 50 * MIB, 16 << 10, 4, 1 << 30),
    ("a minimum of 1 byte", 1, MIB, 50 * MIB, 16 << 10, 1, 1 << 30),
]


def load(where):
    """A topic for each shape of batches, partitions and segments; the names by these."""
    admin = AdminClient({"bootstrap.servers": where})
    topics = {}
    for *_, batch, partitions, segment in SHAPES:
        key = (batch, partitions, segment)
        if key in topics:
            continue
        topic = f"lag-{uuid.uuid4().hex[:6]}"
        new = NewTopic(topic, partitions, 1, config={"segment.bytes": str(segment)})
        for future in admin.create_topics([new]).values():
            future.result()
        producer = Producer({
            "bootstrap.servers": where, "linger.ms": 200, "batch.size": batch, "message.max.bytes": 2 * MIB,
            "queue.buffering.max.messages": 2 * RECORDS,
        })
        for at in range(RECORDS):
            producer.produce(topic, VALUE, partition=at % partitions)
            producer.poll(0)
        producer.flush()
        topics[key] = topic
    return topics


def read(where, topic, shape):
    """MB/s."""
    _, least, partition_max, most, _, partitions, _ = shape
    consumer = Consumer({
        "bootstrap.servers": where, "group.id": uuid.uuid4().hex, "enable.auto.commit": False,
        "fetch.min.bytes": least, "max.partition.fetch.bytes": partition_max, "fetch.max.bytes": most,
        "fetch.wait.max.ms": 500, "auto.offset.reset": "earliest",
    })
    consumer.assign([TopicPartition(topic, at, 0) for at in range(partitions)])
    begin = last = time.monotonic()
    seen = 0
    while seen < RECORDS - LEFT and time.monotonic() - begin < SECONDS_MAX:
        got = [message for message in consumer.consume(2000, 0.5) if not message.error()]
        if got:
            seen, last = seen + len(got), time.monotonic()
    consumer.close()
    return seen * len(VALUE) / 1e6 / (last - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("brokers", nargs="+", metavar="NAME=HOST:PORT")
    args = parser.parse_args()
    brokers = [broker.split("=", 1) for broker in args.brokers]
    topics = {name: load(where) for name, where in brokers}
    rates = {}
    for _ in range(args.runs):
        for shape in SHAPES:
            for name, where in brokers:
                rate = read(where, topics[name][shape[4:]], shape)
                rates.setdefault((shape[0], name), []).append(rate)
                print(f"{shape[0]}: {name} {rate:.1f} MB/s", flush=True)
    with open(args.out, "w") as out:
        print("| |" + "|".join(name for name, _ in brokers) + "|", file=out)
        print("|---|" + "--:|" * len(brokers), file=out)
        for name, *_ in SHAPES:
            medians = [f"{statistics.median(rates[name, broker]):.1f}" for broker, _ in brokers]
            print(f"| {name} |" + "|".join(medians) + "|", file=out)


main()
