#!/usr/bin/env python3
"""What transactions cost, Thalweg's broker beside Apache Kafka's, one node each, on this machine.

    transactions.py --binary THALWEG --jars FOLDER --scratch FOLDER --out FILE [--rounds N] [--seconds N] EXPERIMENT...

    serial  a producer (ours, Java's) that begins a transaction when the one before is committed, of 100 records of
            100 B in 1 and in 100 partitions: commits per second, p50 and p99, CPU of the broker per transaction
    paced   our producer at half of the rate that Kafka took in `serial` (or at --rate 1=N,100=N): the same
    many    eight of our producers at once, in 1 partition: the same
    read    transactions of 100 records, read_committed beside read_uncommitted: CPU of client and broker per record
    client  our client's CPU per record in transactions of 10 000, beside a flush after as many, and none
    streams each record of a topic in capital letters in another one, exactly once, by our streams and by Kafka Streams
            (exactly_once_v2), with a commit every 100 ms: CPU and memory of the application
    ids     100 000 transactional ids: memory of each, and a restart until the coordinators of all of them answer

Both brokers run all the time, with nothing to do while the other one has; their order is A B B A. Each is warmed up before it is
measured. CPU of a broker is what it took from the client's start to its end, over all transactions of that time. A line
of JSON for each run; `report` as the last argument prints medians of what FILE has.
"""

import argparse
import collections
import json
import os
import pathlib
import socket
import statistics
import struct
import subprocess
import time

import results
import servers

HERE = pathlib.Path(__file__).resolve().parent
RECORDS, SIZE = 100, 100
PARTITIONS = [1, 100]
READ_SECONDS, READ_TIMES, READ_MAX = 12, 40, 2_000_000
LARGE = 10_000
STREAM_PARTITIONS, STREAM_RECORDS = 4, 3_000_000
IDS, IDS_AT_ONCE = 100_000, 5_000
# Errors of a coordinator that does not know yet.
LOADING = {14, 15, 16}
DESCRIBE_TRANSACTIONS = 65


class Bench:
    def __init__(self, options):
        self.options = options
        options.binary = pathlib.Path(options.binary).resolve()
        self.classpath = f"{pathlib.Path(options.jars).resolve()}/*"
        self.scratch = pathlib.Path(options.scratch).resolve()
        self.scratch.mkdir(parents=True, exist_ok=True)
        self.origin = results.origin(options.binary, self.classpath)
        self.brokers = {
            "kafka": servers.Kafka(self.scratch / "kafka", options.port, "java", self.classpath),
            "thalweg": servers.Thalweg(self.scratch / "thalweg", options.port + 2, options.binary, []),
        }
        self.rates = {int(part): float(rate) for part, rate in (pair.split("=") for pair in options.rate)}
        java = ["javac", "-d", self.scratch / "java", "-cp", self.classpath]
        peers = ["Peer.java", "Transactions.java", "StreamsCopy.java"]
        subprocess.run([*java, *(HERE / "peers/java" / name for name in peers)], check=True)

    def start(self):
        for broker in self.brokers.values():
            broker.prepare()
            broker.start()

    def close(self):
        for broker in self.brokers.values():
            broker.remove()

    def ordered(self, round_):
        """A B, B A, A B, ..."""
        names = list(self.brokers)
        return names if round_ % 2 == 0 else names[::-1]

    # -- commands --------------------------------------------------------------------------

    def thalweg(self, *words):
        done = subprocess.run([self.options.binary, *map(str, words)], capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            raise servers.Failure(f"{words}: {done.returncode}: {done.stderr[-2000:]}{done.stdout[-2000:]}")
        return done.stdout

    def topic(self, broker, name, partitions):
        self.thalweg("topic", "create", name, "-p", partitions, "-b", broker.bootstrap)

    def transact(self, broker, client, topic, **options):
        """Runs a client; its report, with what the broker took for each transaction."""
        words = [
            self.options.binary, "bench", "client", "transact"
        ] if client == "thalweg" else [
            "java", "-Xmx512M", "-cp", f"{self.scratch / 'java'}{os.pathsep}{self.classpath}", "Transactions"
        ]  # fmt: skip
        options = {"bootstrap": broker.bootstrap, "topic": topic, "record-size": SIZE, **options}
        for name, value in options.items():
            words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
        load, before = os.getloadavg()[0], sum(broker.cpu())
        done = subprocess.run(words, capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            raise servers.Failure(f"{words}: {done.returncode}: {done.stderr[-2000:]}{done.stdout[-2000:]}")
        report = json.loads(done.stdout.strip().splitlines()[-1])
        cpu = sum(broker.cpu()) - before
        report["broker_cpu_us_per_transaction"] = cpu * 1e6 / report["transactions_all"]
        report["load_before"] = load
        return report

    # -- experiments: each gives results ------------------------------------------------------

    def serial(self, round_):
        seconds = self.options.seconds
        for partitions in PARTITIONS:
            for client in self.options.clients:
                for name in self.ordered(round_):
                    broker, topic = self.brokers[name], f"t{partitions}"
                    report = self.transact(
                        broker, client, topic, partitions=partitions, **{"records-per-transaction": RECORDS},
                        seconds=seconds, **{"warmup-seconds": 1 if client == "thalweg" else 3},
                    )  # fmt: skip
                    if name == "kafka" and client == "thalweg":
                        self.rates.setdefault(partitions, round(report["transactions_per_second"] / 2))
                    yield {"brokers": name, "client": client, "partitions": partitions, "report": report}

    def paced(self, round_):
        for partitions in PARTITIONS:
            for name in self.ordered(round_):
                report = self.transact(
                    self.brokers[name], "thalweg", f"t{partitions}", partitions=partitions, rate=self.rates[partitions],
                    seconds=self.options.seconds, **{"warmup-seconds": 1, "records-per-transaction": RECORDS},
                )  # fmt: skip
                yield {"brokers": name, "client": "thalweg", "partitions": partitions, "report": report}

    def many(self, round_):
        for name in self.ordered(round_):
            report = self.transact(
                self.brokers[name], "thalweg", "t1", producers=8, seconds=self.options.seconds,
                **{"warmup-seconds": 1, "records-per-transaction": RECORDS},
            )  # fmt: skip
            yield {"brokers": name, "client": "thalweg", "partitions": 1, "report": report}

    def read(self, round_):
        for name in self.ordered(round_):
            broker, topic = self.brokers[name], f"read{round_}"
            self.topic(broker, topic, 1)
            written = self.transact(
                broker, "thalweg", topic, producers=8, seconds=READ_SECONDS,
                **{"warmup-seconds": 0, "records-per-transaction": RECORDS},
            )  # fmt: skip
            # The last markers.
            time.sleep(1)
            records = min(written["transactions_all"] * RECORDS, READ_MAX)
            reads = collections.defaultdict(list)
            # The first of each is not counted.
            for at in range(-2, 2 * READ_TIMES):
                isolation = ["read_uncommitted", "read_committed"][(at + at // 2) % 2]
                before = exact_cpu(broker)
                report = json.loads(self.thalweg(
                    "bench", "client", "poll", "--bootstrap", broker.bootstrap, "--topic", topic, "--records", records,
                    "--max-records", 5000, "--isolation", isolation,
                ))  # fmt: skip
                if at >= 0:
                    count = report["records"]
                    reads[isolation].append({
                        "client_cpu_ns_per_record": report["cpu_seconds"] * 1e9 / count,
                        "broker_cpu_ns_per_record": (exact_cpu(broker) - before) * 1e9 / count,
                        "records_per_second": count / report["seconds"], "bytes_per_record": report["bytes_received"] / count,
                    })  # fmt: skip
            for isolation, of in reads.items():
                medians = {figure: statistics.median(one[figure] for one in of) for figure in of[0]}
                yield {"brokers": name, "isolation": isolation, "records": records, "report": {**medians, "reads": of}}

    def client(self, round_):
        ways = [("transactions", {}), ("flushes", {"plain": True})]
        for name in self.ordered(round_):
            for way, options in ways if round_ % 2 == 0 else ways[::-1]:
                report = self.transact(
                    self.brokers[name], "thalweg", "large", seconds=self.options.seconds,
                    **{"warmup-seconds": 1, "records-per-transaction": LARGE}, **options,
                )  # fmt: skip
                yield {"brokers": name, "way": way, "report": report}
            value = self.scratch / "value"
            value.write_bytes(b"x" * SIZE)
            report = json.loads(self.thalweg(
                "bench", "client", "write", "--bootstrap", self.brokers[name].bootstrap, "--topic", "large",
                "--record-size", SIZE, "--payload", value, "--records", int(1e6 * self.options.seconds / 3),
                "--warmup-seconds", 1,
            ))  # fmt: skip
            report["cpu_us_per_record"] = report["cpu_seconds"] * 1e6 / report["records"]
            report["records_per_second"] = report["records"] / report["seconds"]
            yield {"brokers": name, "way": "none", "report": report}

    def streams(self, round_):
        apps = ["thalweg", "kafka-streams"]
        value = self.scratch / "value"
        value.write_bytes(b"x" * SIZE)
        for name in self.ordered(round_):
            broker = self.brokers[name]
            self.topic(broker, f"in{round_}", STREAM_PARTITIONS)
            self.thalweg(
                "bench", "client", "write", "--bootstrap", broker.bootstrap, "--topic", f"in{round_}", "--record-size", SIZE,
                "--payload", value, "--records", STREAM_RECORDS,
            )  # fmt: skip
            for app in apps if round_ % 2 == 0 else apps[::-1]:
                self.topic(broker, f"out{round_}-{app}", STREAM_PARTITIONS)
                words = [self.options.binary, "bench", "client", "copy"] if app == "thalweg" else [
                    "java", "-Xmx256M", "-cp", f"{self.scratch / 'java'}{os.pathsep}{self.classpath}", "StreamsCopy"
                ]  # fmt: skip
                words += [
                    "--bootstrap", broker.bootstrap, "--topic", f"in{round_}", "--to", f"out{round_}-{app}", "--records",
                    str(STREAM_RECORDS), "--warmup-records", str(STREAM_RECORDS // 3), "--commit-interval-ms", "100",
                ]  # fmt: skip
                load = os.getloadavg()[0]
                done = subprocess.run(words, capture_output=True, text=True, timeout=600)
                if done.returncode != 0:
                    raise servers.Failure(f"{words}: {done.returncode}: {done.stderr[-2000:]}{done.stdout[-2000:]}")
                report = json.loads(done.stdout.strip().splitlines()[-1])
                report["rss_peak_mib"] = report["rss_peak_kib"] / 1024
                report["load_before"] = load
                yield {"brokers": name, "client": app, "report": report}

    def ids(self, round_):
        for name in self.ordered(round_):
            broker = self.brokers[name]
            ids = [f"round-{round_}-of-id-{number:06}" for number in range(IDS)]
            # Whatever is made at the first use is not an id's.
            self.fence(broker, [f"warm-{round_}-{number}" for number in range(2_000)])
            before, cpu, begun = memory(broker), sum(broker.cpu()), time.monotonic()
            for first in range(0, IDS, IDS_AT_ONCE):
                self.fence(broker, ids[first : first + IDS_AT_ONCE])
            seconds, cpu = time.monotonic() - begun, sum(broker.cpu()) - cpu
            after = memory(broker)
            restarts = []
            for _ in range(3):
                broker.stop()
                begun = time.monotonic()
                broker.start()
                listening = time.monotonic() - begun
                coordinators_answer(broker.port, ids[:: IDS // 500], begun)
                restarts.append({"listening": listening, "coordinating": time.monotonic() - begun})
            again = memory(broker)
            yield {"brokers": name, "ids": IDS, "report": {
                "bytes_per_id": (after - before) / IDS, "seconds": seconds, "broker_cpu_us_per_id": cpu * 1e6 / IDS,
                "restarts": restarts, "bytes_after_restart": again, "log_bytes": broker.log_bytes(),
            }}  # fmt: skip

    def fence(self, broker, ids):
        self.thalweg("transactions", "fence", *ids, "-b", broker.bootstrap, "--json")

    def prepare(self):
        for broker in self.brokers.values():
            for partitions in PARTITIONS:
                self.topic(broker, f"t{partitions}", partitions)
            self.topic(broker, "large", 1)
            for partitions in PARTITIONS:
                self.transact(
                    broker, "thalweg", f"t{partitions}", partitions=partitions, producers=4, seconds=self.options.warm,
                    **{"records-per-transaction": RECORDS},
                )  # fmt: skip


def exact_cpu(broker):
    """CPU seconds of the threads that live, which the kernel counts in nanoseconds and not in ticks."""
    tasks = pathlib.Path(f"/proc/{broker.process.pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def memory(broker):
    """Bytes of what the broker has allocated and uses: resident ones, or what Java's heap has after a collection."""
    if broker.name == "thalweg":
        # What was freed goes back after a while.
        time.sleep(12)
        return broker.rss()[0]
    page = subprocess.run(["jcmd", str(broker.process.pid), "GC.class_histogram"], capture_output=True, text=True, check=True)
    total = page.stdout.strip().splitlines()[-1].split()
    return int(total[2])


def varint(number):
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def compact(text):
    return varint(len(text) + 1) + text.encode()


def coordinators_answer(port, ids, begun):
    """Waits until a broker says of all these transactional ids how they stand (DescribeTransactions 0)."""
    body = varint(len(ids) + 1) + b"".join(map(compact, ids)) + b"\0"
    header = struct.pack(">hhi", DESCRIBE_TRANSACTIONS, 0, 7) + struct.pack(">h", -1) + b"\0"
    frame = struct.pack(">i", len(header) + len(body)) + header + body
    while time.monotonic() - begun < 120:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                reader = connection.makefile("rb")
                while time.monotonic() - begun < 120:
                    connection.sendall(frame)
                    (size,) = struct.unpack(">i", reader.read(4))
                    errors = set(errors_of(reader.read(size), len(ids)))
                    if not errors & LOADING:
                        if errors != {0}:
                            raise servers.Failure(f"errors {errors}")
                        return
                    time.sleep(0.002)
        except (OSError, struct.error):
            time.sleep(0.002)
    raise servers.Failure("the coordinators do not answer")


def errors_of(answer, count):
    """The error of each id: none of them has partitions."""
    # Correlation id, tags, throttle time.
    at = 4 + 1 + 4

    def length():
        nonlocal at
        value = shift = 0
        while True:
            byte = answer[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - 1

    found = length()
    if found != count:
        raise servers.Failure(f"{found} of {count} ids")
    for _ in range(count):
        yield struct.unpack_from(">h", answer, at)[0]
        at += 2
        for _ in range(2):
            # Not in one step, which would add to where this was before.
            of_text = length()
            at += of_text
        # Timeout, start, producer id, epoch.
        at += 4 + 8 + 8 + 2
        if length() != 0:
            raise servers.Failure("an id has partitions")
        at += 1


FIGURES = [
    "transactions_per_second", "records_per_second", "commit_p50", "commit_p99", "transaction_p50", "transaction_p99", "broker_cpu_us_per_transaction",
    "cpu_us_per_transaction", "cpu_us_per_record", "requests_per_transaction", "concurrent_transactions", "client_cpu_ns_per_record",
    "broker_cpu_ns_per_record", "bytes_per_record", "bytes_per_id", "broker_cpu_us_per_id", "listening", "coordinating",
    "rss_peak_mib",
]  # fmt: skip
EXPERIMENTS = ["serial", "paced", "many", "read", "client", "streams", "ids"]


def report(path):
    """Medians, with the least and the most."""
    runs = collections.defaultdict(list)
    for line in pathlib.Path(path).read_text().splitlines():
        run = json.loads(line)
        key = tuple((name, run[name]) for name in ["experiment", "client", "partitions", "isolation", "way"] if name in run)
        runs[key, run["brokers"]].append(run["report"])
    for (key, brokers), reports in sorted(runs.items(), key=str):
        print(" ".join(str(value) for _, value in key), "on", brokers, f"({len(reports)} runs)")
        for figure in FIGURES:
            values = []
            for one in reports:
                name, _, at = figure.rpartition("_")
                if f"{name}_ms" in one and at.startswith("p"):
                    values.append(one[f"{name}_ms"][at])
                elif figure in one and one[figure] is not None:
                    values.append(one[figure])
                values += [restart[figure] for restart in one.get("restarts", []) if figure in restart]
            if values:
                print(f"    {figure:32} {statistics.median(values):14.3f} ({min(values):.3f} - {max(values):.3f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ["--binary", "--jars", "--scratch", "--out"]:
        parser.add_argument(name, required=True)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=8, help="length of each measurement")
    parser.add_argument("--warm", type=int, default=15, help="seconds of load before anything is measured, twice")
    parser.add_argument("--port", type=int, default=21600, help="first of four ports")
    parser.add_argument("--clients", default="thalweg,java", type=lambda text: text.split(","))
    parser.add_argument("--rate", default=[], type=lambda text: text.split(","), help="PARTITIONS=TRANSACTIONS a second, ...")
    parser.add_argument("experiments", nargs="+", choices=[*EXPERIMENTS, "report"])
    options = parser.parse_args()
    wanted = [name for name in options.experiments if name != "report"]
    if wanted:
        bench = Bench(options)
        try:
            bench.start()
            bench.prepare()
            with open(options.out, "a") as out:
                for round_ in range(options.rounds):
                    for name in wanted:
                        for result in getattr(bench, name)(round_):
                            line = {"experiment": name, **bench.origin, "round": round_, **result}
                            print(json.dumps(line), file=out, flush=True)
                            print(json.dumps(line)[:300], flush=True)
        finally:
            bench.close()
    if "report" in options.experiments:
        report(options.out)


if __name__ == "__main__":
    main()
