"""How long a partition stands still when its leader moves: three brokers of Kafka or of Thalweg under one Java
controller, a client (librdkafka or Thalweg's) that writes a record every millisecond to one partition and reads it.

    leader_moves.py --binary THALWEG --jars FOLDER --scratch FOLDER --out FILE [--moves N] [--rounds N]
                    [--clients thalweg,librdkafka] [--brokers thalweg,java] [--acks all,1] [--kills N]

Leaders move by a new order of replicas and an election of the preferred one. The partitions of another topic keep
every follower's fetch at every leader. The gap of a move is the longest time between two acknowledgements (two
arrivals at the consumer) within two seconds of it; beside it is the longest one in the second before. Metadata
requests are those between the first move and the last. With --kills the leader is killed (SIGKILL) instead, and its
gap is counted from the moment at which another broker says that somebody else leads.
"""

import argparse
import itertools
import json
import pathlib
import signal
import statistics
import subprocess
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).parent.parent / "tests/python"))

from confluent_kafka import OFFSET_END, Consumer, ElectionType, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

import chaos

AFTER_SECONDS = 2.0
BETWEEN_SECONDS = 2.5
# The rounds begin with new processes.
WARM_SECONDS = 30


class Gaps:
    """When records were acknowledged and arrived."""

    def __init__(self):
        self.acknowledged, self.arrived = [], []

    def gaps_ms(self, begin, end):
        """The longest time without one, of both."""
        return [longest(times, begin, end) for times in (self.acknowledged, self.arrived)]


def longest(times, begin, end):
    times = [begin, *(at for at in list(times) if begin <= at <= end), end]
    return max(later - earlier for earlier, later in zip(times, times[1:])) * 1000


class Librdkafka(Gaps):
    """A record every millisecond, and a consumer without a group that reads it."""

    def __init__(self, _options, bootstrap, topic, acks):
        super().__init__()
        self.topic, self.failed, self.requests = topic, 0, {}
        self.is_over = threading.Event()
        common = {
            "bootstrap.servers": bootstrap, "topic.metadata.refresh.interval.ms": 300_000,
            "statistics.interval.ms": 200,
        }  # fmt: skip
        self.producer = Producer(common | {
            "acks": acks, "linger.ms": 0, "enable.idempotence": acks == "all", "message.timeout.ms": 60_000,
            "stats_cb": lambda text: self.count("producer", text),
        })  # fmt: skip
        self.consumer = Consumer(common | {
            "group.id": "none", "enable.auto.commit": False, "auto.offset.reset": "latest",
            "stats_cb": lambda text: self.count("consumer", text),
        })  # fmt: skip
        # With an offset, or a coordinator would be asked for one.
        self.consumer.assign([TopicPartition(topic, 0, OFFSET_END)])
        self.threads = [threading.Thread(target=run, daemon=True) for run in (self.send, self.read)]
        for thread in self.threads:
            thread.start()

    def count(self, who, text):
        brokers = json.loads(text)["brokers"].values()
        self.requests[who] = sum(broker["req"].get("Metadata", 0) for broker in brokers)

    def metadata_requests(self):
        # As new as the last statistics are.
        time.sleep(0.5)
        return sum(self.requests.values())

    def delivered(self, error, _message):
        if error is None:
            self.acknowledged.append(time.monotonic())
        else:
            self.failed += 1

    def send(self):
        while not self.is_over.is_set():
            self.producer.produce(self.topic, b"x" * 100, partition=0, on_delivery=self.delivered)
            self.producer.poll(0.001)
        self.producer.flush(60)

    def read(self):
        while not self.is_over.is_set():
            message = self.consumer.poll(0.2)
            if message is None:
                continue
            if message.error() is None:
                self.arrived.append(time.monotonic())
            else:
                self.failed += 1
        self.consumer.close()

    def finish(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join(90)
        return {"failed": self.failed}


class Thalweg(Gaps):
    """The same by `thalweg bench client moves`."""

    def __init__(self, options, bootstrap, topic, acks):
        super().__init__()
        command = [options.binary, "bench", "client", "moves", "--topic", topic, "--acks", acks]
        command += ["--bootstrap", bootstrap]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last = {}
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.last = told = json.loads(line)
            self.acknowledged += told.get("acknowledged_at", [])
            self.arrived += told.get("arrived_at", [])

    def metadata_requests(self):
        # Its lines come every 100 ms.
        time.sleep(0.5)
        return self.last["metadata_requests"]

    def finish(self):
        self.process.stdin.close()
        self.process.wait(90)
        self.reader.join()
        return {name: self.last[name] for name in ["failed", "read_errors", "out_of_order", "first_error", "retries"]}


CLIENTS = {"thalweg": Thalweg, "librdkafka": Librdkafka}


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


def move(options, cluster, topic, leader):
    """The partition is led by another broker; says when that began."""
    others = [node for node in (1, 2, 3) if node != leader]
    reassign(options, cluster, topic, [leader, *others])
    time.sleep(0.5)
    begin = time.monotonic()
    elected = cluster.admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition(topic, 0)])
    for result in elected.result(30).values():
        if result is not None:
            raise AssertionError(result)
    return begin


def leader_of(cluster, topic):
    return cluster.admin.list_topics(topic, timeout=10).topics[topic].partitions[0]


def kill(cluster, topic):
    """The leader is killed; says which, and when another one was known to lead."""
    before = leader_of(cluster, topic).leader
    node = cluster.brokers[before - 1]
    node.end(signal.SIGKILL, 10)
    while leader_of(cluster, topic).leader in (before, -1):
        time.sleep(0.002)
    return node, time.monotonic()


def measure(options, client, kind, acks):
    sizes = {"java": 3 if kind == "java" else 0, "thalweg": 3 if kind == "thalweg" else 0}
    made = argparse.Namespace(binary=options.binary, jars=options.jars, scratch=options.scratch, **sizes)
    cluster = Cluster(made)
    try:
        cluster.start()
        topic = "moves"
        cluster.admin.create_topics([NewTopic(topic, 1, 3)])[topic].result(30)
        # All brokers have heard of it, Java's that have just begun as well.
        time.sleep(5)
        load = CLIENTS[client](options, cluster.bootstrap, topic, acks)
        time.sleep(WARM_SECONDS)
        leader = leader_of(cluster, topic).leader
        begins, stills = [], []
        asked, busy = load.metadata_requests(), cpu_times()
        for _ in range(options.kills or options.moves):
            stills.append(time.monotonic() - 1)
            if options.kills:
                node, begin = kill(cluster, topic)
            else:
                leader = leader % 3 + 1
                begin = move(options, cluster, topic, leader)
            begins.append(begin)
            time.sleep(max(0, begin + BETWEEN_SECONDS - time.monotonic()))
            if options.kills:
                node.start()
                chaos.eventually("all in sync", 60, lambda: len(leader_of(cluster, topic).isrs) == 3)
        used = [later - earlier for earlier, later in zip(busy, cpu_times())]
        asked = load.metadata_requests() - asked
        gaps = [load.gaps_ms(begin, begin + AFTER_SECONDS) for begin in begins]
        still = [load.gaps_ms(begin, begin + 1) for begin in stills]
        result = {"client": client, "brokers": kind, "acks": acks, "way": "kill" if options.kills else "move"}
        for at, side in enumerate(["produce", "fetch"]):
            result[f"{side}_ms"] = [round(gap[at], 2) for gap in gaps]
            result[f"{side}_still_ms"] = [round(gap[at], 2) for gap in still]
        result["metadata_requests"] = asked
        result["machine_busy"] = round(1 - used[1] / used[0], 2)
        return result | load.finish()
    finally:
        cluster.stop()
        # It would go on looking for its brokers.
        cluster.admin = None


def cpu_times():
    """All time of all processors, and what of it they were idle."""
    numbers = [int(field) for field in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    return sum(numbers), numbers[3] + numbers[4]


def main():
    parser = argparse.ArgumentParser()
    for name in ["--binary", "--jars", "--scratch", "--out"]:
        parser.add_argument(name, required=True)
    parser.add_argument("--moves", type=int, default=15)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=2)
    for name, default in [("clients", "thalweg,librdkafka"), ("brokers", "thalweg,java"), ("acks", "all,1")]:
        parser.add_argument(f"--{name}", type=lambda text: text.split(","), default=default.split(","))
    options = parser.parse_args()
    with open(options.out, "a") as out:
        for _ in range(options.rounds):
            for acks, client, kind in itertools.product(options.acks, options.clients, options.brokers):
                result = measure(options, client, kind, acks)
                print(json.dumps(result), file=out, flush=True)
                print(f"{client} on {kind}, acks={acks}: {summary(result)}", flush=True)


def summary(result):
    def of(name):
        gaps = sorted(result[name])
        return f"{statistics.median(gaps):.1f} ms (least {gaps[0]:.1f}, most {gaps[-1]:.1f})"

    sides = ", ".join(f"{side} {of(f'{side}_ms')}, still {of(f'{side}_still_ms')}" for side in ["produce", "fetch"])
    others = {name: value for name, value in result.items() if not isinstance(value, list)}
    return f"{sides}; {others}"


if __name__ == "__main__":
    main()
