"""What replication costs, Thalweg's brokers beside Kafka's in the same places, under one Java controller.

    replication.py --binary THALWEG --jars FOLDER --scratch FOLDER --out FILE [--rounds N] EXPERIMENT...

    catch-up  a new replica gets a gigabyte: CPU seconds per GB of leader and follower, and how long it takes
    tail      a replica follows a producer: CPU seconds per GB of the follower
    idle      10 000 partitions that nobody writes to: CPU of leader and follower, fetches per second
    latency   acks=all with three replicas at half of the rate that Java's brokers take: p50, p99
    join      a broker of 1 000 partitions starts after a clean stop, when its session is over: until it is unfenced
    away      a broker comes back that has missed a gigabyte: until it is in sync, and p99 of others' produce meanwhile
    floor     a process that sends a gigabyte with sendfile, and one that receives, checks and writes it: CPU seconds per GB

Every experiment but the last is run for both makes in each round, on new clusters, after a smaller one that warms them
up. A line of JSON for each.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import urllib.request

import clusters
from clusters import chaos, free

GIB = 1 << 30
# Kafka's default; the clusters that are made to fail have segments of a megabyte, each with its files and its fsync.
chaos.SETTINGS["log.segment.bytes"] = GIB
WARM_BYTES = 256 << 20
RECORD = 1024
BATCH = 16 << 10
IDLE_TOPICS, IDLE_PARTITIONS = 10, 1000
IDLE_SECONDS = 60
JOIN_PARTITIONS = 1000
AWAY_RATE = 2000
# A little more than broker.session.timeout.ms of the clusters.
SESSION_SECONDS = 4


class Node(clusters.Node):
    def start(self):
        if self.kind == "java":
            return super().start()
        self.metrics = f"127.0.0.1:{free()}"
        command = [self.cluster.binary, "serve", "--config", str(self.config), "--metrics", self.metrics]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)

    def fetches(self):
        """Fetch requests so far; None where nobody counts them."""
        if self.kind == "java":
            return None
        page = urllib.request.urlopen(f"http://{self.metrics}/metrics", timeout=10).read().decode()
        found = re.search(r'^\S*requests?\S*\{[^}]*"Fetch"[^}]*\} (\d+)', page, re.MULTILINE | re.IGNORECASE)
        return int(found[1]) if found else None


class Cluster(clusters.Cluster):
    def broker(self, node_id, kind):
        return Node(self, node_id, kind)


@contextlib.contextmanager
def started(options, kind, count):
    chaos.MIN_ISR = min(2, count)
    cluster = Cluster(options, kind, count)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def bench(options, cluster, command, *args):
    command = [options.binary, "bench", command, "-b", cluster.bootstrap, "--json", "--quiet", *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {done.returncode}: {done.stdout[-2000:]} {done.stderr}")
    return json.loads(done.stdout)


def write(options, cluster, topic, size, acks=1, *args):
    bench(options, cluster, "produce", "--topic", topic, "--records", size // RECORD, "--record-size", RECORD,
          "--acks", acks, *args)  # fmt: skip


def catch_up(options, kind):
    with started(options, kind, 2) as cluster:
        leader, follower = cluster.brokers
        result = {}
        for name, size in [("warm", WARM_BYTES), ("measured", GIB)]:
            cluster.create(name, [[1]] * 4)
            write(options, cluster, name, size)
            time.sleep(2)
            begun, before = time.monotonic(), (leader.cpu(), follower.cpu())
            cluster.reassign({(name, at): [1, 2] for at in range(4)})
            cluster.wait_in_sync([name], 2, 300)
            seconds = time.monotonic() - begun
            result = {
                "seconds": seconds,
                "leader_cpu_per_gb": (leader.cpu() - before[0]) / (size / 1e9),
                "follower_cpu_per_gb": (follower.cpu() - before[1]) / (size / 1e9),
            }
        return result


def tail(options, kind):
    with started(options, kind, 2) as cluster:
        _, follower = cluster.brokers
        cluster.create("t", [[1, 2]] * 4)
        write(options, cluster, "t", WARM_BYTES, "all")
        before, size = follower.cpu(), GIB
        write(options, cluster, "t", size, "all", "--rate", 40_000)
        cluster.wait_in_sync(["t"], 2, 60)
        return {"follower_cpu_per_gb": (follower.cpu() - before) / (size / 1e9)}


def idle(options, kind):
    with started(options, kind, 2) as cluster:
        leader, follower = cluster.brokers
        names = [f"idle-{at}" for at in range(IDLE_TOPICS)]
        for name in names:
            cluster.create(name, [[1, 2]] * IDLE_PARTITIONS)
        time.sleep(30)
        begun, before = time.monotonic(), (leader.cpu(), follower.cpu(), leader.fetches())
        time.sleep(IDLE_SECONDS)
        seconds = time.monotonic() - begun
        fetches = leader.fetches()
        return {
            "partitions": IDLE_TOPICS * IDLE_PARTITIONS,
            "leader_cpu_percent": 100 * (leader.cpu() - before[0]) / seconds,
            "follower_cpu_percent": 100 * (follower.cpu() - before[1]) / seconds,
            "fetches_per_second": None if fetches is None else (fetches - before[2]) / seconds,
        }


def latency(options, kind):
    with started(options, kind, 3) as cluster:
        shape = [
            "--topic", "l", "--partitions", 6, "--replication-factor", 3, "--record-size", RECORD, "--acks", "all",
            "--batch-bytes", BATCH,
        ]  # fmt: skip
        bench(options, cluster, "produce", *shape, "--seconds", 20)
        most = bench(options, cluster, "produce", *shape, "--seconds", 10)
        if options.rate is None:
            # The first run is Java's.
            options.rate = round(rate_of(most) / 2)
        measured = bench(options, cluster, "latency", *shape, "--rate", options.rate, "--warmup-seconds", 5, "--seconds", 20)
        return {"most_per_second": rate_of(most), "rate": options.rate, "report": measured}


def join(options, kind):
    with started(options, kind, 2) as cluster:
        _, node = cluster.brokers
        cluster.create("j", [[1, 2]] * JOIN_PARTITIONS)
        seconds = []
        for _ in range(3):
            node.end(signal.SIGTERM, 60)
            time.sleep(2 * SESSION_SECONDS)
            begun = time.monotonic()
            node.start()
            while node.id not in cluster.admin.list_topics("j", timeout=10).brokers:
                chaos.check(time.monotonic() - begun < 60, "the broker is not unfenced")
                time.sleep(0.02)
            seconds.append(time.monotonic() - begun)
            cluster.wait_in_sync(["j"], 2, 120)
        return {"partitions": JOIN_PARTITIONS, "seconds": seconds}


def away(options, kind):
    with started(options, kind, 3) as cluster:
        node = cluster.brokers[2]
        for name in ["missed", "l"]:
            cluster.create(name, [[1, 2, 3]] * 4)
        write(options, cluster, "missed", WARM_BYTES, "all")
        shape = ["--topic", "l", "--record-size", RECORD, "--acks", "all", "--batch-bytes", BATCH, "--rate", AWAY_RATE]

        def latency_for(seconds):
            return bench(options, cluster, "latency", *shape, "--warmup-seconds", 2, "--seconds", seconds)

        latency_for(10)
        before = latency_for(20)
        node.end(signal.SIGTERM, 60)
        write(options, cluster, "missed", GIB)
        time.sleep(SESSION_SECONDS)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            during = pool.submit(latency_for, 20)
            time.sleep(3)
            begun = time.monotonic()
            node.start()
            cluster.wait_in_sync(["missed", "l"], 3, 300)
            seconds = time.monotonic() - begun
            return {"seconds": seconds, "rate": AWAY_RATE, "before": before, "during": during.result()}


def floor(options, _kind):
    scratch = pathlib.Path(options.scratch)
    scratch.mkdir(parents=True, exist_ok=True)
    program = scratch / "floor"
    source = pathlib.Path(__file__).parent / "replication_floor.c"
    subprocess.run(["cc", "-O2", "-msse4.2", "-o", program, source], check=True)
    done = subprocess.run([program, scratch, str(GIB)], check=True, capture_output=True, text=True, timeout=300)
    return json.loads(done.stdout)


def rate_of(report):
    return report["records_per_second"] if "records_per_second" in report else report["records"] / report["seconds"]


EXPERIMENTS = {
    "catch-up": catch_up,
    "tail": tail,
    "idle": idle,
    "latency": latency,
    "join": join,
    "away": away,
    "floor": floor,
}


def main():
    parser = argparse.ArgumentParser()
    for name in ["--binary", "--jars", "--scratch", "--out"]:
        parser.add_argument(name, required=True)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--rate", type=int, help="records per second of the latency experiment")
    parser.add_argument("experiments", nargs="+", choices=EXPERIMENTS)
    options = parser.parse_args()
    with open(options.out, "a") as out:
        for _ in range(options.rounds):
            for name in options.experiments:
                for kind in ["none"] if name == "floor" else ["java", "thalweg"]:
                    load = os.getloadavg()[0]
                    result = EXPERIMENTS[name](options, kind)
                    line = {"experiment": name, "brokers": kind, "load_before": load, **result}
                    print(json.dumps(line), file=out, flush=True)
                    print(json.dumps(line)[:400], flush=True)


if __name__ == "__main__":
    main()
