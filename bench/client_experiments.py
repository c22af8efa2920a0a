"""The experiments with clients: what each does, in which order, and what is read off."""

import json
import os
import subprocess
import time
from dataclasses import dataclass, field

import client_results
import payload
import peers
import results
import servers
from servers import Failure

# Longest run of a client, in seconds.
RUN_MAX = 300
# The same for all, but with --best.
FETCH = {"fetch-min-bytes": "1", "fetch-max-wait-ms": "500", "max-partition-fetch-bytes": "1m"}
WRITE = {"linger-ms": "5", "batch-size": "16384", "acks": "all", "idempotence": "true", "buffer-memory": "33554432"}
# Before a write is measured, in every client: so many seconds, or so many times the data.
WRITE_WARMUP = 8
WRITE_WARMUP_TIMES = 2
# The key of the request that groups of KIP-848 live by.
CONSUMER_GROUP_HEARTBEAT = 68
# Partitions that one request may ask for; a controller takes 10 000 changes at a time at most.
CREATE_MAX = 5_000
# Seconds until all of them must have a leader that knows it.
READY_MAX = 240
# Seconds until a client of more than that is at rest: it has found them, and committed them once.
REST = 25
# Records a second that the stage of a stream takes.
STAGE = 20_000
# The same of a reader that is slow, and what its budgets are.
SLOW = 2_000
BUDGETS = {"thalweg-4m": "4m", "thalweg-16m": "16m", "thalweg-64m": "64m"}
# The paced producer: what a linger of 5 ms gives at this rate, 250 records of 107 bytes.
RATE = 50_000
PACED = ["--partitions", "4", "--record-size", "100", "--batch-bytes", "26750", "--connections", "1", "--partitions-per-request", "1", "--acks", "1"]
# Deleted topics give their space back at once.
TOPIC = ["--topic-config", "file.delete.delay.ms=1000"]


@dataclass
class Experiment:
    """`metrics` by name: the first is the one that is plotted."""

    kind: str
    text: str
    metrics: list
    size: int = 0
    megabytes: int = 0
    compression: str = "none"
    ratio: str = "4"
    records_max: int = 500
    lower_is_better: bool = True
    partitions: int = 4
    options: dict = field(default_factory=dict)

    def applies(self, args):
        """Whether it differs from the first table."""
        if args.best and self.kind not in ("read", "write"):
            return False
        return not args.groups or self.kind in ("poll", "read", "idle", "stream")


POLL = ["cpu_us_per_record", "fetches_per_second", "records_per_poll", "polls_per_second", "records_per_second", "switches_per_second", "rss_mib"]
BULK = ["cpu_seconds_per_gb", "cpu_user_per_gb", "cpu_system_per_gb", "mb_per_second", "requests", "switches_per_second", "rss_mib"]
STREAM = ["records_per_fetch", "requests", "cpu_us_per_record", "received_per_delivered", "records_per_second", "switches_per_second", "held_mib", "rss_mib"]
IDLE = ["switches_per_second", "cpu_percent", "fetches_per_second", "rss_mib"]
ALL = {
    f"poll-{most}": Experiment(
        "poll", f"{RATE} records of 100 B a second, at most {most} per poll: what a record costs the client", POLL, records_max=most,
    )
    for most in (5, 1, 500)
}
ALL["pause"] = Experiment(
    "pause", "10 partitions, 9 random ones paused before each poll, 1 record per poll: how many records come",
    ["records_per_second", "received_per_delivered", "cpu_us_per_record", "fetches_per_second", "rss_mib"],
    records_max=1, lower_is_better=False,
)
ALL.update({
    "read-1k": Experiment("read", "Bulk read, 1 KiB records, 4 partitions, 16 KiB batches", BULK, 1024, 2048),
    "read-100": Experiment("read", "Bulk read, 100 B records, 4 partitions, 16 KiB batches", BULK, 100, 768),
    "read-1k-lz4": Experiment("read", "Bulk read, 1 KiB records, lz4 at 4:1, 4 partitions, batches of 16 KiB on the wire", BULK, 1024, 3072, "lz4"),
    "read-100-lz4": Experiment("read", "Bulk read, 100 B records, lz4 at 3:1, 4 partitions, batches of 16 KiB on the wire", BULK, 100, 768, "lz4", "3"),
    "write-1k": Experiment("write", "Bulk write, 1 KiB records, 4 partitions", BULK, 1024, 1024),
    "write-100": Experiment("write", "Bulk write, 100 B records, 4 partitions", BULK, 100, 384),
    "write-1k-lz4": Experiment("write", "Bulk write, 1 KiB records, lz4 at about 4:1, 4 partitions", BULK, 1024, 1024, "lz4"),
    "write-100-lz4": Experiment("write", "Bulk write, 100 B records, lz4 at about 3:1, 4 partitions", BULK, 100, 384, "lz4"),
    "idle": Experiment("idle", "A consumer of 100 partitions without records: what waiting costs", IDLE, partitions=100),
    "idle-paused": Experiment(
        "idle", "A consumer of 10 000 partitions, all of them paused: what waiting costs", IDLE,
        partitions=10_000, options={"paused-all": None},
    ),
    "stream": Experiment(
        "stream", f"A stream through a stage that takes {STAGE} records of 5 kB a second, 200 at a time; 100 partitions",
        STREAM, 5000, 5000, lower_is_better=False, partitions=100, options={"burst": 200},
    ),
    "stream-bursts": Experiment(
        "stream", f"A stream through a stage that takes {STAGE} records of 5 kB a second, 4000 at a time; 100 partitions",
        STREAM, 5000, 5000, lower_is_better=False, partitions=100, options={"burst": 4000},
    ),
    "stream-partitioned": Experiment(
        "stream", f"A stream for each of 100 partitions, {STAGE // 100} records of 5 kB a second, but 10 for one of them",
        STREAM, 5000, 5000, lower_is_better=False, partitions=100,
        options={"burst": 20, "partitioned": None, "slow-rate": 10},
    ),
    "memory": Experiment(
        "memory", f"A stream whose stage takes {SLOW} records of 5 kB a second; 100 partitions: memory, by budget",
        ["rss_mib", "held_mib", "budget_mib", "records_per_fetch", "records_per_second"], 5000, 500, partitions=100,
    ),
})


class Bench:
    """Brokers that stay up, and clients that come and go."""

    def __init__(self, args, clients, brokers, missing):
        self.args, self.clients, self.brokers, self.missing = args, clients, brokers, missing
        self.running = {}
        self.topics = 0

    def run(self, name):
        experiment = ALL[name]
        print(f"== {name}: {experiment.text}", flush=True)
        begun = time.monotonic()
        self.experiment, self.name = experiment, name
        self.settings = {**results.origin(self.args.thalweg, self.args.kafka_classpath), "runs": self.args.runs, "scale": self.args.scale}
        self.notes = [f"{client} was left out: {why}" for client, why in self.missing.items() if peers.does(client, experiment.kind)]
        self.left_out = set()
        load = os.getloadavg()[0]
        if load > 0.5:
            self.notes.append(f"the machine was not idle at the beginning: load average {load:.1f}")
        prepare, measure = getattr(self, f"prepare_{experiment.kind}"), getattr(self, experiment.kind)
        clients = [client for client in self.clients if peers.does(client, experiment.kind)]
        if self.args.groups:
            clients = [client for client in clients if self.args.groups in peers.PROTOCOLS[client]]
            self.settings["groups"] = self.args.groups
        if experiment.kind == "memory" and "thalweg" in clients:
            clients = [*BUDGETS, *(client for client in clients if client != "thalweg")]
        if not clients:
            print("   none of the clients does this", flush=True)
            return
        if experiment.kind == "write" and "java-classic" in clients and "java-consumer" in clients:
            clients = [client for client in clients if client != "java-consumer"]
            self.notes.append("java-classic stands for Java: there is one producer")
        runs, brokers = [], self.brokers
        if self.args.groups == "consumer":
            # Some clients would take a classic group then, or none, and say nothing.
            brokers = [broker for broker in brokers if CONSUMER_GROUP_HEARTBEAT in servers.versions(self.broker(broker).port)]
            self.notes += [f"{broker} does not offer groups of KIP-848" for broker in self.brokers if broker not in brokers]
        for broker in brokers:
            prepare(self.broker(broker))
        for round_ in range(self.args.runs):
            # Each client is first, second, ... as often as the others.
            first = round_ % len(clients)
            order = clients[first:] + clients[:first]
            for client in order:
                for broker in brokers if round_ % 2 == 0 else reversed(brokers):
                    if (client, broker) in self.left_out:
                        continue
                    try:
                        report = measure(self.broker(broker), client, round_)
                    except Failure as failure:
                        self.left_out.add((client, broker))
                        self.notes.append(f"{client} on {broker}: {failure}")
                        print(f"   {client} on {broker}: {failure}", flush=True)
                        continue
                    runs.append(self.figures(client, broker, report))
        for broker in brokers:
            self.delete(self.broker(broker), self.topic_of(broker))
        # A client that failed once is not shown by its better runs.
        runs = [run for run in runs if (run["system"], run["broker"]) not in self.left_out]
        if runs:
            title = f"clients-{name}" + ("-best" if self.args.best else "") + (f"-{self.args.groups}" if self.args.groups else "")
            print(client_results.write(self.args.results, title, experiment, self.settings, runs, self.notes))
        print(f"   {time.monotonic() - begun:.0f} s", flush=True)

    def figures(self, client, broker, report):
        """What is told of a run."""
        seconds, cpu, records = report["seconds"], report["cpu_seconds"], report["records"]
        gigabytes = report["bytes"] / 1e9

        def over(value, by):
            return value / by if value is not None and by else None

        run = {
            "system": client, "broker": broker,
            "cpu_us_per_record": over(cpu * 1e6, records),
            "cpu_seconds_per_gb": over(cpu, gigabytes),
            "cpu_user_per_gb": over(report["cpu_user"], gigabytes),
            "cpu_system_per_gb": over(report["cpu_sys"], gigabytes),
            "cpu_percent": cpu / seconds * 100,
            "mb_per_second": report["bytes"] / 1e6 / seconds,
            "records_per_second": records / seconds,
            "records_per_poll": over(records, report.get("polls")),
            "polls_per_second": over(report.get("polls"), seconds),
            "fetches_per_second": over(report.get("fetches"), seconds),
            "requests": report.get("fetches"),
            "records_per_fetch": over(records, report.get("fetches")),
            "held_mib": over(report.get("budget_peak"), 1 << 20),
            "budget_mib": over(report.get("budget"), 1 << 20),
            "received_per_delivered": over(report.get("bytes_received"), report["bytes"]),
            "switches_per_second": over(report.get("voluntary_switches"), seconds),
            "rss_mib": over(report.get("rss_peak_kib"), 1024),
            "report": report,
        }
        first = self.experiment.metrics[0]
        print(f"   {client:14} on {broker:8} {client_results.text(run, first)} {first.replace('_', ' ')}, {records} records in {seconds:.2f} s", flush=True)
        return run

    # -- brokers and topics ----------------------------------------------------------------

    def broker(self, name):
        """The running broker."""
        if name not in self.running:
            place = self.args.scratch / f"clients-{name}"
            if name == "kafka":
                server = servers.Kafka(place, self.args.port, self.args.java, self.args.kafka_classpath)
            else:
                server = servers.Thalweg(place, self.args.port + 2, self.args.thalweg, self.args.serve)
            server.prepare()
            server.start()
            self.running[name] = server
        return self.running[name]

    def close(self):
        for server in self.running.values():
            server.remove()
        self.running.clear()

    def topic_of(self, broker):
        return f"{self.name}-{broker}"

    def load(self, server, command, *options):
        """`thalweg bench` with one broker; returns its report."""
        line = [self.args.thalweg, "bench", command, "--bootstrap", server.bootstrap, "--json", "--quiet", *options]
        done = subprocess.run(line, capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(f"{' '.join(line)} ended with {done.returncode}: {done.stderr}{done.stdout}")
        return json.loads(done.stdout)

    def command(self, server, *words):
        """Any other command of `thalweg`."""
        line = [self.args.thalweg, *words, "-b", server.bootstrap]
        done = subprocess.run(line, capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(f"{' '.join(line)} ended with {done.returncode}: {done.stderr}{done.stdout}")

    def delete(self, server, topic):
        self.command(server, "topic", "delete", topic)

    # -- one run of a client ---------------------------------------------------------------

    def client(self, client, server, command, options, best=None):
        """Runs a client to its end; returns its report."""
        options = {"bootstrap": server.bootstrap, **options}
        configs = {}
        if self.args.best and best:
            better, configs = peers.best(client, best)
            options.update(better)
            self.settings[f"{client} at its best"] = " ".join(f"{name}={value}" for name, value in {**better, **configs}.items())
        line = peers.line(client, self.args, command, options, configs)
        try:
            done = subprocess.run(line, capture_output=True, text=True, timeout=RUN_MAX)
        except subprocess.TimeoutExpired:
            raise Failure(f"did not end within {RUN_MAX} s") from None
        if done.returncode != 0:
            why = [text for text in done.stderr.strip().splitlines() if text] or ["no message"]
            raise Failure(f"{command} ended with {done.returncode}: {(why[-1] if 'panicked' in why[-1] else why[0])[:300]}")
        try:
            report = json.loads(done.stdout.strip().splitlines()[-1])
        except (IndexError, ValueError):
            raise Failure(f"{command} printed no report: {done.stdout[:200]}") from None
        if report["errors"]:
            raise Failure(f"{report['errors']} records failed")
        return report

    @property
    def mode(self):
        return self.args.groups or "assign"

    def seconds(self, seconds, least):
        return max(least, seconds * self.args.scale)

    def warmup(self, client, seconds, least):
        """Before a measurement. A JVM compiles for a quarter of a minute what it runs often."""
        return 15 if client.startswith("java") else self.seconds(seconds, least)

    def prepare_poll(self, server):
        self.load(server, "produce", "--topic", self.topic_of(server.name), *PACED, *TOPIC, "--records", "1000")
        self.settings.update(producer=" ".join([f"--rate {RATE}", *PACED]), **FETCH)

    def poll(self, server, client, _round):
        warmup, seconds = self.warmup(client, 4, 1), self.seconds(6, 2)
        topic = self.topic_of(server.name)
        # Longer than the client, which takes a while to find its partitions.
        line = [
            self.args.thalweg, "bench", "produce", "--bootstrap", server.bootstrap, "--topic", topic, "--json", "--quiet",
            *PACED, "--rate", str(RATE), "--seconds", str(warmup + seconds + 60),
        ]
        producer = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(0.5)
            report = self.client(client, server, "poll", {
                "topic": topic, "mode": self.mode, "max-records": self.experiment.records_max,
                "warmup-seconds": warmup, "seconds": seconds, "from": "latest", **FETCH,
            })
            if producer.poll() is not None:
                raise Failure("the producer ended before the client")
        finally:
            producer.terminate()
            producer.wait()
        rate = report["records"] / report["seconds"]
        if not 0.95 < rate / RATE < 1.05:
            self.notes.append(f"{client} on {server.name} saw {rate:.0f} records/s in one run")
        return report

    def prepare_pause(self, server):
        records = 2_000_000
        self.load(
            server, "produce", "--topic", self.topic_of(server.name), "--partitions", "10", "--record-size", "100",
            "--batch-bytes", "16384", "--records", str(records), *TOPIC,
        )
        self.settings.update(records=records, partitions=10, paused=9)

    def pause(self, server, client, _round):
        return self.client(client, server, "pause", {
            "topic": self.topic_of(server.name), "partitions": 10, "paused": 9, "max-records": 1,
            "warmup-seconds": self.warmup(client, 3, 1), "seconds": self.seconds(6, 2),
        })

    def prepare_read(self, server):
        experiment = self.experiment
        records = max(10_000, int(experiment.megabytes * 1e6 * self.args.scale / experiment.size))
        done = self.load(
            server, "produce", "--topic", self.topic_of(server.name), "--partitions", "4", "--record-size", str(experiment.size),
            "--batch-bytes", "16384", "--compression", experiment.compression, "--compress-ratio", experiment.ratio,
            "--records", str(records), "--acks", "1", *TOPIC,
        )
        # The load ends with whole batches.
        self.records = done["with_warmup"]["records"]
        self.settings.update(records=self.records, bytes=done["with_warmup"]["bytes"], **FETCH, **{"max-records": 500})
        self.sums = {}

    def read(self, server, client, _round):
        report = self.client(client, server, "poll", {
            "topic": self.topic_of(server.name), "mode": self.mode, "max-records": 500,
            "records": self.records, "from": "earliest", **FETCH,
        }, best="read")
        # The same records, whole, in every client.
        for sum_ in ("records", "bytes", "checksum"):
            if not isinstance(report[sum_], str if sum_ == "checksum" else int):
                self.notes.append(f"{client} on {server.name}: its {sum_} cannot be compared")
                continue
            first = self.sums.setdefault((server.name, sum_), (client, report[sum_]))
            if report[sum_] != first[1]:
                raise Failure(f"read other records than {first[0]}: {sum_} {report[sum_]}, not {first[1]}")
        return report

    def prepare_write(self, server):
        experiment = self.experiment
        self.records = max(10_000, int(experiment.megabytes * 1e6 * self.args.scale / experiment.size))
        self.payload = self.args.scratch / f"payload-{experiment.size}"
        if not self.payload.exists():
            payload.write(self.payload, experiment.size, 8_000_000 // experiment.size)
        self.load(server, "produce", "--topic", self.topic_of(server.name), "--records", "1", *TOPIC)
        self.settings.update(
            records=self.records, compression=experiment.compression,
            warmup=f"{self.seconds(WRITE_WARMUP, 1):g} s or {WRITE_WARMUP_TIMES * self.records} records", **WRITE,
        )

    def write(self, server, client, round_):
        self.topics += 1
        topic = f"{self.name}-{self.topics}"
        self.load(server, "produce", "--topic", topic, "--partitions", "4", "--batch-bytes", "1000", "--records", "1", *TOPIC)
        try:
            before = self.load(server, "fetch", "--topic", topic)["records"]
            size = log_bytes(server, topic)
            report = self.client(client, server, "write", {
                "topic": topic, "record-size": self.experiment.size, "records": self.records,
                "warmup-seconds": self.seconds(WRITE_WARMUP, 1), "warmup-records": WRITE_WARMUP_TIMES * self.records,
                "compression": self.experiment.compression, "payload": self.payload, **WRITE,
            }, best="write")
            written = self.records + report["warmup_records"]
            if round_ == 0:
                # Once for each client: what was acknowledged is there.
                there = self.load(server, "fetch", "--topic", topic, "--connections", "4", "--verify", "crc")["records"] - before
                if there != written:
                    raise Failure(f"{there} records are there, {written} were acknowledged")
                ratio = written * self.experiment.size / max(1, log_bytes(server, topic) - size)
                self.notes.append(f"{client} on {server.name}: {there} records read back; payload to log {ratio:.2f} : 1")
        finally:
            self.delete(server, topic)
        return report

    @property
    def rest(self):
        """Seconds until a client of very many partitions is at rest, however short the run; 0 for others."""
        return REST if self.experiment.partitions > CREATE_MAX else 0

    def prepare_idle(self, server):
        partitions, topic = self.experiment.partitions, self.topic_of(server.name)
        self.command(server, "topic", "create", topic, "-p", str(min(partitions, CREATE_MAX)), "--config", TOPIC[1])
        if partitions > CREATE_MAX:
            self.command(server, "topic", "alter", topic, "-p", str(partitions))
        # Kafka takes a while until each of so many has its leader; this asks all of them.
        end = time.monotonic() + READY_MAX
        while True:
            try:
                self.load(server, "produce", "--topic", topic, "--records", "1")
                break
            except Failure:
                if time.monotonic() > end:
                    raise
                time.sleep(1)
        self.settings.update(partitions=partitions, **FETCH)
        if self.rest:
            self.settings.update(**{"warmup-seconds": self.rest})

    def idle(self, server, client, _round):
        warmup = self.warmup(client, 10, 8 if self.args.groups else 3)
        if self.rest:
            warmup = self.rest
        report = self.client(client, server, "poll", {
            "topic": self.topic_of(server.name), "mode": self.mode, "max-records": 500, "idle": None, **self.experiment.options,
            "warmup-seconds": warmup, "seconds": self.seconds(15, 3), "from": "latest", **FETCH,
        })
        if "paused-all" in self.experiment.options and report["held"] != self.experiment.partitions:
            raise Failure(f"{report['held']} partitions were there to be paused when the window began")
        return report

    def prepare_stream(self, server):
        experiment = self.experiment
        records = max(20_000, int(experiment.megabytes * 1e6 * self.args.scale / experiment.size))
        done = self.load(
            server, "produce", "--topic", self.topic_of(server.name), "--partitions", str(experiment.partitions),
            "--record-size", str(experiment.size), "--batch-bytes", "16384", "--records", str(records), "--acks", "1", *TOPIC,
        )
        self.records = done["with_warmup"]["records"]
        if "partitioned" in experiment.options:
            # What the others have when a tenth is still to come of the one that is slow.
            self.records = self.records * 9 // 10
        self.settings.update(records=self.records, **FETCH, **{"fetch-budget of thalweg": "64m", "heap of pekko": "2g"})

    def stream(self, server, client, _round):
        options = self.experiment.options
        mode = "classic" if "partitioned" in options and not self.args.groups else self.mode
        warmup = min(15, 0.3 * self.records / STAGE)
        self.settings.update(mode=mode, rate=STAGE, **{"warmup-seconds": f"{warmup:.1f}"})
        report = self.client(client, server, "stream", {
            "topic": self.topic_of(server.name), "mode": mode, "rate": STAGE, **options,
            "warmup-seconds": warmup, "records": self.records, **FETCH,
        })
        rate = report["records"] / report["seconds"]
        if rate < 0.95 * STAGE:
            self.notes.append(f"{client} on {server.name}: the stage was not the limit in one run: {rate:.0f} records/s")
        self.notes.append(
            f"{client} on {server.name}: {report['fetches_all']} fetches for {report['records_all']} records with those before the window"
        )
        return report

    prepare_memory = prepare_stream

    def memory(self, server, client, _round):
        seconds = self.seconds(15, 3)
        self.settings.update(rate=SLOW, seconds=seconds)
        options = {"fetch-budget": BUDGETS[client]} if client in BUDGETS else {}
        report = self.client("thalweg" if client in BUDGETS else client, server, "stream", {
            "topic": self.topic_of(server.name), "rate": SLOW, "burst": 20,
            "records": min(self.records, int(SLOW * seconds)), **FETCH, **options,
        })
        if options:
            report["budget"] = int(BUDGETS[client].rstrip("m")) << 20
        return report


def log_bytes(server, topic):
    """Bytes of the segments of a topic."""
    return sum(path.stat().st_size for path in server.data.glob(f"{topic}-[0-9]*/*.log"))
