"""How long moved partitions have no owner when a member of the consumer protocol (KIP-848) joins.

    kip848_joins.py --binary THALWEG --scratch FOLDER [--only LIST] [--joins 200] [--jars FOLDER --classes FOLDER]
                    [--rust-worker FILE] [--out FILE]

One member stays, another joins and leaves, again and again, both of one make: `java`, `librdkafka` (this Python's),
`thalweg`; `bench` is `thalweg bench group`, for each protocol and kind of member. A gap is the time from the moment at
which the member that stays gives a partition up to the moment at which the other one has it, by their listeners and one
clock; of several partitions that of the slowest.

All times are of this machine.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import shlex
import statistics
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "python"))

from confluent_kafka import Consumer  # noqa: E402
from confluent_kafka.admin import AdminClient, NewTopic  # noqa: E402

from group_soak_members import Member as Process  # noqa: E402
from kill import Broker  # noqa: E402
from ports import free_address  # noqa: E402
from suite import eventually  # noqa: E402

# What lies between two joins is not a whole number of heartbeats.
REST_SECONDS = (0.5, 2.0)
# What `bench group` is run with, besides the protocol.
BENCH_MEMBERS, BENCH_PARTITIONS = 3, 8
BENCH = {
    "bench consumer, both kinds": ["--protocol", "consumer", "--clients", "both"],
    "bench consumer, java": ["--protocol", "consumer", "--clients", "java"],
    "bench consumer, librdkafka": ["--protocol", "consumer", "--clients", "librdkafka"],
    "bench classic range": ["--protocol", "classic", "--assignor", "range"],
    "bench classic cooperative-sticky": ["--protocol", "classic", "--assignor", "cooperative-sticky"],
}


class Rdkafka:
    """A member in a thread of this process."""

    def __init__(self, bootstrap, group, topic, poll_ms):
        self.poll_ms = poll_ms
        self.owned, self.assigned, self.revoked = set(), {}, {}
        self.stopping = threading.Event()
        self.consumer = Consumer({
            "bootstrap.servers": bootstrap, "group.id": group, "group.protocol": "consumer",
            "auto.offset.reset": "latest", "log_level": 3,
        })
        self.consumer.subscribe([topic], on_assign=self.on_assign, on_revoke=self.on_revoke)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def on_assign(self, _, partitions):
        now = time.monotonic()
        for partition in partitions:
            self.assigned[partition.partition] = now
            self.owned.add(partition.partition)

    def on_revoke(self, _, partitions):
        now = time.monotonic()
        for partition in partitions:
            self.owned.discard(partition.partition)
            self.revoked[partition.partition] = now

    def run(self):
        while not self.stopping.is_set():
            self.consumer.poll(self.poll_ms / 1000)
        self.consumer.close()

    def end(self):
        self.stopping.set()
        self.thread.join(60)


class Worker:
    """A member in a process of its own, of a make that the group soak has."""

    number = 0

    def __init__(self, command, scratch, bootstrap, group, topic):
        Worker.number += 1
        arguments = dict(
            bootstrap=bootstrap, group=group, topics=topic, protocol="consumer", assignors="range",
            session_ms=45_000, heartbeat_ms=3000, rebalance_ms=60_000, metadata_ms=60_000, commit="sync",
            commit_ms=5000, work_us=0,
        )
        self.process = Process(f"w{Worker.number}", "thalweg", command, arguments, dict(os.environ), scratch)
        self.process.start()

    def times(self, what):
        return {p: event["t"] / 1e6 for event in self.process.life.events if event["e"] == what for p in event["p"]}

    @property
    def owned(self):
        return self.process.life.owned

    @property
    def assigned(self):
        return self.times("assigned")

    @property
    def revoked(self):
        return self.times("revoked")

    def end(self):
        self.process.process.stdin.close()
        self.process.process.wait(60)


def settle(members, partitions):
    """Waits until members have all partitions, and each its part."""
    def is_settled():
        held = [len(member.owned) for member in members]
        return sum(held) == partitions and min(held) >= partitions // len(members)
    eventually(f"{len(members)} members have {partitions} partitions", 60, is_settled)


def gaps(options, new_member):
    chance = random.Random(1)
    members = [new_member() for _ in range(options.stay)]
    out = []
    for _ in range(options.joins // options.groups):
        settle(members, options.partitions)
        time.sleep(chance.uniform(*REST_SECONDS))
        joiner = new_member()
        settle([*members, joiner], options.partitions)
        released = {}
        for member in members:
            for partition, at in member.revoked.items():
                released[partition] = max(at, released.get(partition, at))
        assigned = joiner.assigned
        out.append(max((assigned[p] - released[p]) * 1000 for p in joiner.owned))
        joiner.end()
    for member in members:
        member.end()
    return out


def java_gaps(options, bootstrap, group, topic):
    options.scratch.mkdir(exist_ok=True)
    command = [
        "java", "-Xmx128m", "-XX:+UseSerialGC", "-cp", f"{options.classes}:{options.jars}/*", "JoinGaps", bootstrap,
        topic, group, str(options.partitions), str(options.joins // options.groups), str(options.poll_ms),
        str(options.stay),
    ]
    with (options.scratch / "java.err").open("wb") as errors:
        lines = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, check=True).stdout
    return [float(line.split()[0]) for line in lines.splitlines()]


def bench_gaps(options, bootstrap, arguments):
    """Some groups at a time: `bench group` waits longer than an interval until one counts as settled."""
    command = [
        options.binary, "bench", "group", "--bootstrap", bootstrap, "--members", str(BENCH_MEMBERS),
        "--partitions", str(BENCH_PARTITIONS), "--scenario", "join", "--rounds", str(options.joins // options.groups),
        "--settle-seconds", "1", "--json", *arguments,
    ]
    runs = [
        subprocess.Popen([*command, "--topic", f"bench-{number}"], stdout=subprocess.PIPE)
        for number in range(options.groups)
    ]
    reports = [json.loads(run.communicate()[0]) for run in runs]
    gaps = [event["unowned_ms"] for report in reports for event in report["events"]]
    return [gap["max"] for gap in gaps if gap["count"]]


def row(name, times):
    times = sorted(times)
    at = lambda share: times[min(len(times) - 1, int(len(times) * share))]  # noqa: E731
    slow = sum(time > 1000 for time in times)
    return f"| {name} | {len(times)} | {statistics.median(times):.1f} | {at(0.9):.1f} | {at(0.99):.1f} | {times[-1]:.1f} | {slow} |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--scratch", required=True, type=pathlib.Path)
    parser.add_argument("--only", default="java,librdkafka,thalweg,bench")
    parser.add_argument("--joins", type=int, default=200)
    parser.add_argument("--groups", type=int, default=4)
    parser.add_argument("--stay", type=int, default=1)
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--poll-ms", type=int, default=100)
    parser.add_argument("--jars")
    parser.add_argument("--classes")
    parser.add_argument("--rust-worker")
    parser.add_argument("--serve-args", default="")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    bootstrap = free_address()
    data = options.scratch / f"data{os.getpid()}"
    command = f"{shlex.quote(options.binary)} serve --data {data} --listen {bootstrap} {options.serve_args}"
    with (options.scratch / "broker.log").open("wb") as log:
        broker = Broker(command, bootstrap, log)
        broker.start()
        try:
            run(options, bootstrap)
        finally:
            broker.stop(15)


def run(options, bootstrap):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    rows, raw = [], {}
    for make in options.only.split(","):
        topic = f"joins-{make}"
        admin.create_topics([NewTopic(topic, options.partitions, 1)])[topic].result(30)
        if make == "java":
            gaps_of = lambda group: java_gaps(options, bootstrap, group, topic)  # noqa: E731
        elif make == "librdkafka":
            gaps_of = lambda group: gaps(options, lambda: Rdkafka(bootstrap, group, topic, options.poll_ms))  # noqa: E731
        elif make == "thalweg":
            command = [options.rust_worker]
            gaps_of = lambda group: gaps(options, lambda: Worker(command, options.scratch, bootstrap, group, topic))  # noqa: E731
        else:
            found = {name: bench_gaps(options, bootstrap, arguments) for name, arguments in BENCH.items()}
        if make != "bench":
            names = [f"g-{make}-{number}" for number in range(options.groups)]
            with concurrent.futures.ThreadPoolExecutor(options.groups) as pool:
                found = {make: [gap for part in pool.map(gaps_of, names) for gap in part]}
        raw.update(found)
        for name, times in found.items():
            rows.append(row(name, times))
            print(rows[-1], flush=True)
    if options.out:
        options.out.write_text(json.dumps(raw))


if __name__ == "__main__":
    main()
