"""How long a partition stands still when its leader moves: three brokers of Kafka or of Thalweg under one Java
controller, a producer of librdkafka that sends a record every millisecond to one partition.

    leader_moves.py --binary THALWEG --jars FOLDER --scratch FOLDER --out FILE [--moves N] [--rounds N]

Leaders move by a new order of replicas and an election of the preferred one. The partitions of another topic keep
every follower's fetch at every leader. The gap of a move is the longest time between two acknowledgements within
two seconds of it; beside it is the longest one in the second before.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).parent.parent / "tests/python"))

from confluent_kafka import ElectionType, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

import chaos

AFTER_SECONDS = 2.0
BETWEEN_SECONDS = 2.5
# The rounds begin with new processes.
WARM_SECONDS = 30


class Sender(threading.Thread):
    """A record every millisecond; when each was acknowledged."""

    def __init__(self, bootstrap, topic, acks):
        super().__init__(daemon=True)
        self.topic, self.acknowledged, self.failed = topic, [], 0
        self.is_over = threading.Event()
        self.producer = Producer({
            "bootstrap.servers": bootstrap, "acks": acks, "linger.ms": 0, "enable.idempotence": acks == "all",
            "message.timeout.ms": 60_000, "topic.metadata.refresh.interval.ms": 300_000,
        })  # fmt: skip

    def delivered(self, error, _message):
        if error is None:
            self.acknowledged.append(time.monotonic())
        else:
            self.failed += 1

    def run(self):
        while not self.is_over.is_set():
            self.producer.produce(self.topic, b"x" * 100, partition=0, on_delivery=self.delivered)
            self.producer.poll(0.001)
        self.producer.flush(60)

    def gap(self, begin, end):
        times = [begin, *(at for at in list(self.acknowledged) if begin <= at <= end), end]
        return max(later - earlier for earlier, later in zip(times, times[1:]))


class Cluster(chaos.Cluster):
    """Java's processes as Kafka's scripts start them, but for a smaller heap; the chaos suite spares compiling."""

    def java_command(self, args, mib):
        tuned = ["-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35"]
        return ["java", f"-Xmx{2 * mib}m", *tuned, "-cp", f"{self.jars}/*", *args]


def reassign(options, cluster, topic, replicas):
    plan = {"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": replicas}]}
    path = cluster.scratch / "plan.json"
    path.write_text(json.dumps(plan))
    command = [options.binary, "cluster", "reassign", "--file", path, "-b", cluster.bootstrap]
    subprocess.run(command, check=True, capture_output=True, timeout=30)


def measure(options, kind, acks, moves):
    sizes = {"java": 3 if kind == "java" else 0, "thalweg": 3 if kind == "thalweg" else 0}
    made = argparse.Namespace(binary=options.binary, jars=options.jars, scratch=options.scratch, **sizes)
    cluster = Cluster(made)
    try:
        cluster.start()
        topic = "moves"
        cluster.admin.create_topics([NewTopic(topic, 1, 3)])[topic].result(30)
        sender = Sender(cluster.bootstrap, topic, acks)
        sender.start()
        time.sleep(WARM_SECONDS)
        leader = cluster.admin.list_topics(topic, timeout=10).topics[topic].partitions[0].leader
        gaps, still = [], []
        for _ in range(moves):
            now = time.monotonic()
            still.append(sender.gap(now - 1, now) * 1000)
            leader = leader % 3 + 1
            others = [node for node in (1, 2, 3) if node != leader]
            reassign(options, cluster, topic, [leader, *others])
            time.sleep(0.5)
            begin = time.monotonic()
            elected = cluster.admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition(topic, 0)])
            for result in elected.result(30).values():
                if result is not None:
                    raise AssertionError(result)
            time.sleep(max(0, begin + BETWEEN_SECONDS - time.monotonic()))
            gaps.append(sender.gap(begin, begin + AFTER_SECONDS) * 1000)
        sender.is_over.set()
        sender.join(90)
        return {"brokers": kind, "acks": acks, "gaps_ms": gaps, "still_ms": still, "failed": sender.failed}
    finally:
        cluster.stop()


def main():
    parser = argparse.ArgumentParser()
    for name in ["--binary", "--jars", "--scratch", "--out"]:
        parser.add_argument(name, required=True)
    parser.add_argument("--moves", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    with open(options.out, "a") as out:
        for _ in range(options.rounds):
            for acks in ["all", "1"]:
                for kind in ["thalweg", "java"]:
                    result = measure(options, kind, acks, options.moves)
                    print(json.dumps(result), file=out, flush=True)
                    gaps = sorted(result["gaps_ms"])
                    print(
                        f"{kind} acks={acks}: gap median {statistics.median(gaps):.1f} ms, least {gaps[0]:.1f}, "
                        f"most {gaps[-1]:.1f}; without a move {statistics.median(result['still_ms']):.1f}; "
                        f"{result['failed']} failed",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
