"""Who writes to a broker that leads no more and has not heard of it, as clients do that have not heard of it either.

Records are sent to the one broker with acks=all, whatever the metadata says. While it is cut off from the other
replicas it must not acknowledge any, and its high watermark must stand still. What became of the records is known when
all is over only; none may be there twice.
"""

import argparse
import collections
import time

import wire
from suite import check, same

REQUEST_TIMEOUT_MS = 300
PRODUCE, LIST_OFFSETS = 0, 2
REFUSALS = {6: "not the leader", 7: "timed out", 19: "not enough replicas", 20: "not enough replicas after append"}


class DirectWriter:
    def __init__(self, topic):
        self.topic = topic
        self.next, self.answers = collections.Counter(), collections.Counter()

    def write(self, node, partitions, seconds):
        """Writes to partitions that a broker leads, in turn, and looks at their high watermarks, for so long."""
        end = time.monotonic() + seconds
        place = argparse.Namespace(host=node.host, port=node.port)
        watermarks = {}
        with wire.Connection(place) as connection:
            while partitions and time.monotonic() < end:
                for partition in partitions:
                    self.one(connection, node, partition)
                    now = high_watermark(connection, self.topic, partition)
                    # The first look comes when what had arrived before the cut has long been handled.
                    same(
                        f"high watermark of {self.topic}-{partition} at {node.id}, which is cut off from its followers",
                        watermarks.setdefault(partition, now), now,
                    )  # fmt: skip
        time.sleep(max(0, end - time.monotonic()))

    def one(self, connection, node, partition):
        number = self.next[partition]
        self.next[partition] += 1
        value = f"direct:{partition}:{number}".encode()
        batch = wire.batch([wire.record(None, value)])
        body = wire.produce_body(self.topic, batch, -1, REQUEST_TIMEOUT_MS, partition)
        answer = wire.Reader(connection.call(wire.header(PRODUCE, 3) + body))
        error, offset = error_of(answer, self.topic, partition), answer.i64()
        check(
            error in REFUSALS,
            f"{node.kind} {node.id} is cut off from its followers and answers {value} with {error} at {offset}",
        )
        self.answers[REFUSALS[error]] += 1


def high_watermark(connection, topic, partition):
    body = wire.i32(-1) + wire.array([wire.string(topic) + wire.array([wire.i32(partition) + wire.i64(-1)])])
    answer = wire.Reader(connection.call(wire.header(LIST_OFFSETS, 1) + body))
    error, _, offset = error_of(answer, topic, partition), answer.i64(), answer.i64()
    # The error is part of what must stay as it is.
    return error, offset


def error_of(answer, topic, partition):
    """The error of the one partition that an answer is about."""
    same("topics", 1, answer.i32())
    same("topic", topic, answer.string())
    same("partitions", 1, answer.i32())
    same("partition", partition, answer.i32())
    return answer.i16()
