"""Clusters for benchmarks: brokers of one make under one Java controller, and proxies that clients may go through.

A proxy (version_proxy.rs) stands before every broker, at an address that the broker advertises on a listener of its
own; brokers among themselves and the script's own requests go without. Its kinds are in PROXIES.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).parent.parent / "tests/python"))

from confluent_kafka import ElectionType, KafkaError, TopicPartition
from confluent_kafka.admin import NewTopic

import chaos
from ports import free

HERE = pathlib.Path(__file__).resolve().parent
# Off: Produce 10 and Fetch 16 are the first whose answers name leaders (KIP-951).
PROXIES = {"on": [], "off": ["--cap", "0=9", "--cap", "1=15"], "stale": ["--stale-metadata"]}
DIRECT = "direct"
ELECTION_SECONDS = 60
TICKS = os.sysconf("SC_CLK_TCK")


class Node(chaos.Node):
    """A broker; what its processes cost is summed up."""

    def __init__(self, cluster, node_id, kind):
        super().__init__(cluster, node_id, kind)
        self.ended_cpu = 0.0
        # By kind: where the broker listens, and what it advertises.
        self.fronts = {front: (f"127.0.0.1:{free()}", f"127.0.0.1:{free()}") for front in cluster.fronts}

    def settings(self):
        settings = super().settings()
        if not self.fronts:
            return settings
        listeners, advertised = [settings["listeners"]], [settings["listeners"]]
        protocols = [settings["listener.security.protocol.map"]]
        for front, (listener, proxy) in self.fronts.items():
            listeners.append(f"{front.upper()}://{listener}")
            advertised.append(f"{front.upper()}://{proxy}")
            protocols.append(f"{front.upper()}:PLAINTEXT")
        return settings | {
            "listeners": ",".join(listeners),
            "advertised.listeners": ",".join(advertised),
            "listener.security.protocol.map": ",".join(protocols),
            "inter.broker.listener.name": "PLAINTEXT",
        }

    def cpu(self):
        """CPU seconds so far, of all its processes."""
        if not self.is_running():
            return self.ended_cpu
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return self.ended_cpu + (int(fields[11]) + int(fields[12])) / TICKS

    def end(self, number, seconds):
        # What ending costs is not counted.
        self.ended_cpu = self.cpu()
        super().end(number, seconds)


class Cluster(chaos.Cluster):
    """Java's processes as Kafka's scripts start them, but for a smaller heap; the chaos suite spares compiling."""

    def __init__(self, options, kind, count=3, fronts=()):
        self.fronts = fronts
        # Partitions that were not elected at once.
        self.late_elections = 0
        sizes = {"java": 0, "thalweg": 0} | {kind: count}
        scratch = pathlib.Path(options.scratch) / "cluster"
        super().__init__(argparse.Namespace(binary=options.binary, jars=options.jars, scratch=scratch, **sizes))

    def broker(self, node_id, kind):
        return Node(self, node_id, kind)

    def java_command(self, args, mib, jars=None):
        tuned = ["-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35"]
        return ["java", f"-Xmx{2 * mib}m", *tuned, "-cp", f"{jars or self.jars}/*", *args]

    def stop(self):
        super().stop()
        # It would go on looking for its brokers.
        self.admin = None

    def bootstrap_of(self, front):
        if front == DIRECT:
            return self.bootstrap
        return ",".join(node.fronts[front][1] for node in self.brokers)

    def cpu(self):
        return sum(node.cpu() for node in self.brokers)

    def create(self, topic, replicas, config=None):
        """With these replicas of its partitions; returns when all are in sync."""
        made = NewTopic(topic, len(replicas), replica_assignment=replicas, config=config or {})
        self.admin.create_topics([made], operation_timeout=60)[topic].result(120)
        self.wait_in_sync([topic], len(replicas[0]), 120)

    def partitions_of(self, topic):
        return self.admin.list_topics(topic, timeout=10).topics[topic].partitions

    def wait_in_sync(self, topics, replicas, seconds):
        def are():
            try:
                found = self.admin.list_topics(timeout=60).topics
            except Exception:
                return False
            return all(
                name in found and all(len(it.isrs) == replicas for it in found[name].partitions.values())
                for name in topics
            )

        chaos.eventually(f"{len(topics)} topics in sync", seconds, are)

    def reassign(self, replicas):
        """Replicas by (topic, partition)."""
        wanted = [{"topic": topic, "partition": at, "replicas": nodes} for (topic, at), nodes in replicas.items()]
        path = self.scratch / "plan.json"
        path.write_text(json.dumps({"version": 1, "partitions": wanted}))
        command = [self.binary, "cluster", "reassign", "--file", path, "-b", self.bootstrap]
        subprocess.run(command, check=True, capture_output=True, timeout=60)

    def elect_preferred(self, partitions):
        """The first replicas of these (topic, partition) lead, which they did not; says when that began."""
        begin = time.monotonic()
        wanted = [TopicPartition(*partition) for partition in partitions]
        while True:
            elected = self.admin.elect_leaders(ElectionType.PREFERRED, wanted).result(30)
            refused = {at: error for at, error in elected.items() if error is not None}
            if not refused:
                return begin
            # Where the machine is too busy, a replica falls behind between a look and the election, or a leader did before.
            codes = {at: error.code() for at, error in refused.items()}
            may_pass = set(codes.values()) <= {KafkaError.PREFERRED_LEADER_NOT_AVAILABLE, KafkaError.ELECTION_NOT_NEEDED}
            chaos.check(may_pass and time.monotonic() < begin + ELECTION_SECONDS, f"not elected: {refused}")
            self.late_elections += len(refused)
            wanted = [at for at, code in codes.items() if code == KafkaError.PREFERRED_LEADER_NOT_AVAILABLE]
            if not wanted:
                return begin
            time.sleep(0.1)


class Proxies:
    """One before each broker, of one kind, for one load at a time."""

    def __init__(self, built, cluster, front):
        places = [f"{proxy}={listener}" for listener, proxy in (node.fronts[front] for node in cluster.brokers)]
        self.process = subprocess.Popen(
            [built / "version_proxy", *PROXIES[front], *places], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        ready = self.process.stdout.readline()
        chaos.check(ready == "ready\n", f"no proxy: {ready!r}")
        self.metadata, self.used = [], collections.defaultdict(list)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        """When who asked for metadata, and the versions that clients used."""
        for line in self.process.stdout:
            what, *words = line.rstrip("\n").split(" ")
            if what == "metadata":
                self.metadata.append((time.monotonic(), " ".join(words)))
            else:
                self.used[int(words[0])].append(int(words[1]))

    def versions(self):
        """Of Produce and Fetch."""
        return {"produce": sorted(self.used[0]), "fetch": sorted(self.used[1])}

    def stop(self):
        self.process.stdin.close()
        self.process.wait(10)
        self.reader.join()


def begin(options):
    """Builds clients and proxies; says where they are."""
    # So that what was started is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    built = pathlib.Path(options.scratch).absolute() / "built"
    built.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["rustc", "--edition", "2024", "-O", "-o", built / "version_proxy", HERE / "version_proxy.rs"], check=True
    )
    sources = [HERE / "peers/java" / name for name in ["Peer.java", "Moves.java"]]
    subprocess.run(["javac", "-d", built, "-cp", f"{options.jars}/*", *sources], check=True)
    return built


def some_of(allowed):
    """Reads an option whose value is a list of these."""

    def read(text):
        for name in (names := text.split(",")):
            if name not in allowed:
                raise argparse.ArgumentTypeError(f"{name!r}: it takes {', '.join(allowed)}")
        return names

    return read


def cpu_times():
    """All time of all processors, and what of it they were idle."""
    numbers = [int(field) for field in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    return sum(numbers), numbers[3] + numbers[4]


def busy_since(before):
    """The share of the processors' time that was used since `cpu_times` told that."""
    used = [later - earlier for earlier, later in zip(before, cpu_times())]
    return round(1 - used[1] / used[0], 3)


def percentile(values, share):
    """The least value that this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
