"""Clients that write to a topic and read it while its leaders move: librdkafka, Thalweg's, and Java's.

Each is made with the cluster, the proxies it goes through (or DIRECT), topic and `acks`. When it has finished, it says
when records were acknowledged and when they arrived, in seconds of the system's monotonic clock.
"""

import array
import bisect
import json
import subprocess
import threading
import time

from confluent_kafka import OFFSET_END, Consumer, Producer, TopicPartition

import clusters


class Load:
    """One partition, a record every millisecond."""

    def __init__(self, cluster, built, front):
        self.acknowledged, self.arrived = [], []
        self.bootstrap = cluster.bootstrap_of(front)
        self.proxies = None if front == clusters.DIRECT else clusters.Proxies(built, cluster, front)

    def metadata_requests(self):
        """So far, as the proxy counts them, or the client does; None where neither does."""
        if self.proxies is None:
            return self.own_metadata_requests()
        return len(self.proxies.metadata)

    def own_metadata_requests(self):
        return None

    def finish(self):
        """Ends it; says what the application noticed."""
        told = self.end()
        if self.proxies is not None:
            self.proxies.stop()
            told["versions"] = self.proxies.versions()
        return told

    def gaps_ms(self, begin, end):
        """The longest time between two acknowledgements, and between two arrivals, of those that begin within these
        times or last when they begin."""
        return [longest(times, begin, end) for times in (self.acknowledged, self.arrived)]


def longest(times, begin, end):
    first, behind = max(0, bisect.bisect_right(times, begin) - 1), bisect.bisect_right(times, end)
    # The last one may end later.
    times = times[first : behind + 1]
    return max(((later - earlier) * 1000 for earlier, later in zip(times, times[1:])), default=(end - begin) * 1000)


class Librdkafka(Load):
    """In the script's own process, with a consumer without a group."""

    def __init__(self, cluster, built, front, topic, acks):
        super().__init__(cluster, built, front)
        self.topic, self.failed, self.read_errors, self.first_error, self.requests = topic, 0, 0, None, {}
        self.is_over = threading.Event()
        common = {
            "bootstrap.servers": self.bootstrap, "topic.metadata.refresh.interval.ms": 300_000,
            "statistics.interval.ms": 200, "log_level": 0,
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

    def own_metadata_requests(self):
        # As new as the last statistics are.
        time.sleep(0.5)
        return sum(self.requests.values())

    def delivered(self, error, _message):
        if error is None:
            self.acknowledged.append(time.monotonic())
        else:
            self.failed += 1
            self.first_error = self.first_error or str(error)

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
                self.read_errors += 1
                self.first_error = self.first_error or str(message.error())
        self.consumer.close()

    def end(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join(90)
        return {"failed": self.failed, "read_errors": self.read_errors, "first_error": self.first_error}


class Thalweg(Load):
    """The same by `thalweg bench client moves`."""

    def __init__(self, cluster, built, front, topic, acks):
        super().__init__(cluster, built, front)
        command = [cluster.binary, "bench", "client", "moves", "--topic", topic, "--acks", acks]
        command += ["--bootstrap", self.bootstrap]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last = {}
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.last = told = json.loads(line)
            self.acknowledged += told.get("acknowledged_at", [])
            self.arrived += told.get("arrived_at", [])

    def own_metadata_requests(self):
        # Its lines come every 100 ms.
        time.sleep(0.5)
        return self.last["metadata_requests"]

    def end(self):
        self.process.stdin.close()
        self.process.wait(90)
        self.reader.join()
        return {name: self.last[name] for name in ["failed", "read_errors", "out_of_order", "first_error", "retries"]}


class Java(Load):
    """Kafka's Java client, producer and consumer in one process: the partitions of the topic in turn."""

    def __init__(self, cluster, built, front, topic, acks, rate=1000, record_size=100, linger_ms=0):
        super().__init__(cluster, built, front)
        self.out = built / f"{topic}.records"
        options = {
            "bootstrap": self.bootstrap, "topic": topic, "acks": acks, "rate": rate, "record-size": record_size,
            "linger-ms": linger_ms, "out": self.out,
        }  # fmt: skip
        # Its second compiler would take a processor for the first minute of every run, from whom it measures.
        command = ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", f"{built}:{cluster.jars}/*", "Moves", "load"]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def end(self):
        self.process.stdin.close()
        line = self.process.stdout.read()
        self.process.wait(90)
        self.told = told = json.loads(line)
        self.begin, self.rate, self.partitions = told["begin_ns"] / 1e9, told["rate"], told["partitions"]
        numbers = array.array("i")
        with self.out.open("rb") as file:
            numbers.fromfile(file, 2 * told["sent"])
        self.out.unlink()
        # Microseconds after each record's time; less than 0 where that did not happen.
        self.acknowledged_us, self.arrived_us = numbers[::2], numbers[1::2]
        if self.partitions == 1:
            self.acknowledged, self.arrived = self.times(self.acknowledged_us, 0), self.times(self.arrived_us, 0)
        names = ["failed", "read_errors", "out_of_order", "first_error", "version"]
        return {name: told[name] for name in names} | {"not_arrived": told["sent"] - told["failed"] - told["arrived"]}

    def times(self, micros, partition):
        """When the partition's records were acknowledged, or arrived."""
        happened = range(partition, len(micros), self.partitions)
        return sorted(self.begin + at / self.rate + micros[at] / 1e6 for at in happened if micros[at] >= 0)

    def sent_within(self, begin, end):
        """The numbers of the records that were to be sent then."""
        first, behind = (max(0, int((at - self.begin) * self.rate) + 1) for at in (begin, end))
        return range(first, min(behind, len(self.arrived_us)))


CLIENTS = {"thalweg": Thalweg, "librdkafka": Librdkafka, "java": Java}
