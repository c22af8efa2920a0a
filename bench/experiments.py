"""The experiments: which load, in which order, and what is read off."""

import json
import os
import re
import statistics
import subprocess
import time

import group_experiments
import group_growth
import results
import servers
from servers import Failure

# 200 partitions, 16 KiB batches, as a producer's batch.size counts them.
SHAPE = ["--partitions", "200", "--batch-bytes", "16384", "--connections", "10", "--acks", "1"]
# Deleted topics give their space back at once.
TOPIC = ["--topic-config", "file.delete.delay.ms=1000"]

LOADS = {
    "produce-1k": (
        ["--record-size", "1024"], 512,
        "1 KiB records, uncompressed, 200 partitions, 16 KiB batches",
    ),
    "produce-100b": (
        ["--record-size", "100"], 384,
        "100 B records, uncompressed, 200 partitions, 16 KiB batches",
    ),
    "produce-1k-lz4-4": (
        ["--record-size", "1024", "--compression", "lz4", "--compress-ratio", "4"], 1536,
        "1 KiB records, lz4 at 4:1, 200 partitions, batches of 16 KiB on the wire",
    ),
    "produce-1k-lz4-40": (
        ["--record-size", "1024", "--compression", "lz4", "--compress-ratio", "40"], 6144,
        "1 KiB records, lz4 at 40:1, 200 partitions, batches of 16 KiB on the wire",
    ),
    "produce-1k-lz4-4-small": (
        ["--record-size", "1024", "--compression", "lz4", "--compress-ratio", "4", "--batch-of", "payload"], 768,
        "1 KiB records, lz4 at 4:1, 200 partitions, batches of 16 KiB before compression",
    ),
    "produce-1k-lz4-25-small": (
        ["--record-size", "1024", "--compression", "lz4", "--compress-ratio", "25", "--batch-of", "payload"], 1024,
        "1 KiB records, lz4 at 25:1 (about the most for so few records), 200 partitions, batches of 16 KiB before compression",
    ),
}

PRODUCE_METRICS = [
    "cpu_seconds_per_gb", "cpu_user_per_gb", "cpu_system_per_gb", "cpu_seconds_per_million_records",
    "mb_per_second", "records_per_second", "p50_ms", "p99_ms", "rss_mib", "load_cpu_seconds_per_gb",
    "load_busiest_thread",
]


class Bench:
    """Systems that stay up from experiment to experiment, so that they stay warm."""

    def __init__(self, args, systems):
        self.args = args
        self.systems = systems
        self.running = {}
        self.load_binary = args.load or args.thalweg
        self.topics = 0

    def run(self, name):
        function, text = ALL[name]
        print(f"== {name}: {text}", flush=True)
        begun = time.monotonic()
        self.settings = {**results.origin(self.args.thalweg, self.args.kafka_classpath), "runs": self.args.runs, "scale": self.args.scale}
        if self.args.serve:
            self.settings["thalweg serve"] = " ".join(self.args.serve)
        self.notes = []
        load = os.getloadavg()[0]
        if load > 0.5:
            self.notes.append(f"the machine was not idle at the beginning: load average {load:.1f}")
        runs, metrics = function(self, name)
        if runs:
            page = results.write(
                self.args.results, name, text, self.settings, runs, metrics, self.notes
            )
            print(page)
        print(f"   {time.monotonic() - begun:.0f} s", flush=True)

    # -- systems ---------------------------------------------------------------------------

    def make(self, system, place=None, configs=None):
        """A server that is not started yet; `configs` by Kafka's names."""
        directory = self.args.scratch / (place or system)
        ports = {"kafka": 0, "thalweg": 2, "floor": 3}
        port = self.args.port + ports[system] + (5 if place else 0)
        if system == "kafka":
            return servers.Kafka(directory, port, self.args.java, self.args.kafka_classpath, configs)
        if system == "thalweg":
            options = [f"{name}={value}" for name, value in (configs or {}).items()]
            return servers.Thalweg(directory, port, self.args.thalweg, options + self.args.serve)
        return servers.Floor(directory, port, self.load_binary)

    def server(self, system):
        """The running server, warm."""
        if system not in self.running:
            server = self.make(system)
            server.prepare()
            server.start()
            self.running[system] = server
            self.warm(server)
        return self.running[system]

    def warm(self, server):
        """Load of every kind for some seconds, on a topic of its own."""
        if server.name == "floor" or self.args.warm <= 0:
            return
        share = max(1.0, self.args.warm / 6)
        for index, extra in enumerate([[], ["--record-size", "100"], ["--compression", "lz4"]]):
            topic = f"warm-{index}"
            # At a rate, so that warming up does not fill the disk.
            rate = "1m" if extra and extra[1] == "100" else "150k"
            rate = str({"1m": 1_000_000, "150k": 150_000}[rate])
            self.bench(server, "produce", "--topic", topic, *SHAPE, *extra, "--seconds", str(share), "--rate", rate, *TOPIC)
            self.bench(server, "fetch", "--topic", topic, "--connections", "4", "--verify", "crc", "--delete-after")
        settle(server)

    def close(self):
        for server in self.running.values():
            server.remove()
        self.running.clear()

    def order(self, systems):
        """A B B A A B ...: as many rounds as there are runs, every other one backwards."""
        for round_ in range(self.args.runs):
            yield from systems if round_ % 2 == 0 else reversed(systems)

    def topic(self, name):
        self.topics += 1
        return f"{name}-{self.topics}"

    def records(self, megabytes, size):
        return str(max(1000, int(megabytes * 1e6 * self.args.scale / size)))

    # -- load ------------------------------------------------------------------------------

    def start_load(self, server, command, *options):
        line = [self.load_binary, "bench", command, "--bootstrap", server.bootstrap, "--json", "--quiet", *options]
        return line, subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish_load(self, line, process):
        out, err = process.communicate()
        if process.returncode != 0:
            raise Failure(f"{' '.join(line)} ended with {process.returncode}: {err}{out}")
        return json.loads(out)

    def bench(self, server, command, *options):
        return self.finish_load(*self.start_load(server, command, *options))

    def measured(self, server, load):
        """Runs `load` and adds what it cost the server."""
        settle(server)
        user, system = server.cpu()
        report = load()
        # What the request left to do is part of it.
        time.sleep(0.2)
        user_after, system_after = server.cpu()
        rss, peak = server.rss()
        # The server worked for the warm-up of the load, too.
        done = report.get("with_warmup", report)
        gigabytes, millions = done["bytes"] / 1e9, done["records"] / 1e6
        cpu_user, cpu_system = user_after - user, system_after - system
        latency = report.get("latency_ms", {})
        run = {
            "system": server.name,
            "cpu_seconds_per_gb": (cpu_user + cpu_system) / gigabytes,
            "cpu_user_per_gb": cpu_user / gigabytes,
            "cpu_system_per_gb": cpu_system / gigabytes,
            "cpu_seconds_per_million_records": (cpu_user + cpu_system) / millions,
            "cpu_seconds": cpu_user + cpu_system,
            "mb_per_second": report["bytes_per_second"] / 1e6,
            "records_per_second": report["records_per_second"],
            "p50_ms": latency.get("p50"),
            "p99_ms": latency.get("p99"),
            "rss_mib": rss / 2**20,
            "rss_peak_mib": peak / 2**20,
            "report": report,
        }
        if "load" in report:
            run["load_cpu_seconds_per_gb"] = report["load"]["cpu_seconds"] / gigabytes
            run["load_busiest_thread"] = report["load"]["busiest_thread"]
        print(
            f"   {server.name:8} {run['cpu_seconds_per_gb']:7.3f} CPU s/GB  {run['mb_per_second']:8.1f} MB/s"
            f"  p99 {run['p99_ms'] or 0:8.2f} ms  RSS {run['rss_mib']:6.0f} MiB",
            flush=True,
        )
        return run

    # -- experiments -----------------------------------------------------------------------

    def produce(self, name):
        extra, megabytes, _ = LOADS[name]
        options = [*SHAPE, *extra]
        size = int(extra[extra.index("--record-size") + 1])
        records = self.records(megabytes, size)
        self.settings.update(records=records, options=" ".join(options))
        topic = self.topic(name)
        # Files, their index pages and the code for just this load are warm before it counts.
        for system in self.systems:
            server = self.server(system)
            for _ in range(2):
                self.bench(server, "produce", "--topic", topic, *options, "--records", records, *TOPIC)
        runs = []
        for system in self.order(self.systems):
            server = self.server(system)
            load = lambda: self.bench(server, "produce", "--topic", topic, *options, "--records", records)
            runs.append(self.measured(server, load))
        for system in self.systems:
            # Every record that was acknowledged is there, and whole.
            read = self.bench(self.server(system), "fetch", "--topic", topic, "--connections", "4", "--verify", "records", "--delete-after")
            self.notes.append(f"{system}: {read['records']} records read back, each checked")
        return runs, PRODUCE_METRICS

    def fetch_catch_up(self, name):
        records = self.records(1024, 1024)
        options = ["--connections", "4", "--verify", "crc", "--record-size", "1024"]
        self.settings.update(records=records, options=" ".join(options))
        topic = self.topic(name)
        for system in self.systems:
            server = self.server(system)
            self.bench(server, "produce", "--topic", topic, *SHAPE, "--record-size", "1024", "--records", records, *TOPIC)
            for _ in range(3):
                self.bench(server, "fetch", "--topic", topic, *options)
        runs = []
        for system in self.order(self.systems):
            server = self.server(system)
            runs.append(self.measured(server, lambda: self.bench(server, "fetch", "--topic", topic, *options)))
        self.delete(topic)
        return runs, PRODUCE_METRICS

    def fetch_tail(self, name):
        """Consumers wait at the end while a producer runs; its own cost, measured alone at the
        same rate, is taken off."""
        records = self.records(384, 1024)
        rate = 60_000
        produce = [*SHAPE, "--record-size", "1024", "--records", records, "--rate", str(rate)]
        fetch = ["--connections", "4", "--from", "latest", "--verify", "crc", "--record-size", "1024", "--records", records]
        self.settings.update(records=records, producer_rate=rate, options=" ".join(fetch))
        systems = [system for system in self.systems if system != "floor"]
        topic = self.topic(name)

        def both(server):
            line, tail = self.start_load(server, "fetch", "--topic", topic, *fetch, "--seconds", "120")
            time.sleep(0.5)
            self.bench(server, "produce", "--topic", topic, *produce)
            return self.finish_load(line, tail)

        for system in systems:
            server = self.server(system)
            self.bench(server, "produce", "--topic", topic, *produce, *TOPIC)
            both(server)
        runs = []
        for system in self.order(systems):
            server = self.server(system)
            alone = self.measured(server, lambda: self.bench(server, "produce", "--topic", topic, *produce))
            run = self.measured(server, lambda: both(server))
            run["cpu_both_per_gb"] = run["cpu_seconds_per_gb"]
            run["cpu_produce_per_gb"] = alone["cpu_seconds_per_gb"]
            run["cpu_seconds_per_gb"] = run["cpu_both_per_gb"] - run["cpu_produce_per_gb"]
            run["produce_alone"] = alone
            runs.append(run)
        self.delete(topic)
        self.notes.append("cpu seconds per gb is what fetching adds: both together less the producer alone")
        return runs, ["cpu_seconds_per_gb", "cpu_both_per_gb", "cpu_produce_per_gb", "mb_per_second", "rss_mib"]

    def latency(self, name):
        """Half of Kafka's maximum rate, acks=1."""
        extra = ["--record-size", "1024", "--compression", "lz4", "--compress-ratio", "4"]
        systems = [system for system in self.systems if system != "floor"]
        topic = self.topic(name)
        records = self.records(1536, 1024)
        rates = []
        for system in systems:
            self.bench(self.server(system), "produce", "--topic", topic, *SHAPE, *extra, "--records", records, *TOPIC)
        if "kafka" in systems:
            for _ in range(3):
                settle(self.server("kafka"))
                report = self.bench(self.server("kafka"), "produce", "--topic", topic, *SHAPE, *extra, "--records", records)
                rates.append(report["records_per_second"])
        half = statistics.median(rates) / 2 if rates else 100_000
        seconds = str(max(3.0, 8 * self.args.scale))
        self.settings.update(kafka_maximum=rates, rate=half, seconds=seconds, options=" ".join([*SHAPE, *extra]))
        runs = []
        for system in self.order(systems):
            server = self.server(system)
            load = lambda: self.bench(
                server, "produce", "--topic", topic, *SHAPE, *extra,
                "--rate", str(half), "--warmup-seconds", "1", "--seconds", seconds,
            )
            run = self.measured(server, load)
            run["p999_ms"] = run["report"]["latency_ms"]["p99.9"]
            runs.append(run)
        self.delete(topic)
        return runs, ["p50_ms", "p99_ms", "p999_ms", "cpu_seconds_per_gb", "mb_per_second"]

    def end_to_end(self, name):
        """From the intended sending of a record to its arrival at a consumer."""
        systems = [system for system in self.systems if system != "floor"]
        options = ["--partitions", "20", "--connections", "4", "--rate", "5000", "--acks", "all", "--warmup-seconds", "2"]
        seconds = str(max(3.0, 10 * self.args.scale))
        self.settings.update(options=" ".join(options), seconds=seconds)
        topic = self.topic(name)
        for system in systems:
            try:
                self.bench(self.server(system), "latency", "--topic", topic, *options, "--seconds", seconds, *TOPIC)
            except Failure as failure:
                # A cold JVM may not keep up. What is measured afterwards has to.
                self.notes.append(f"{system} did not keep up while it was warmed: {str(failure)[:80]}")
        runs = []
        for system in self.order(systems):
            server = self.server(system)
            run = self.measured(server, lambda: self.bench(server, "latency", "--topic", topic, *options, "--seconds", seconds))
            ends = run["report"]["end_to_end_ms"]
            run.update({"end_to_end_p50_ms": ends["p50"], "end_to_end_p99_ms": ends["p99"], "end_to_end_p999_ms": ends["p99.9"]})
            runs.append(run)
        self.delete(topic)
        return runs, ["p50_ms", "p99_ms", "end_to_end_p50_ms", "end_to_end_p99_ms", "end_to_end_p999_ms", "cpu_seconds_per_million_records"]

    def start_up(self, name):
        """From process start to the first answered request, on an empty directory."""
        runs = []
        systems = [system for system in self.systems if system != "floor"]
        self.notes.append("Kafka's directory is formatted beforehand, which takes a JVM of its own and is not counted")
        for system in systems:
            for _ in range(self.args.runs if system == "kafka" else 4 * self.args.runs):
                server = self.make(system, f"start-{system}")
                server.prepare()
                try:
                    seconds = server.start()
                    rss, _ = server.rss()
                    cpu = sum(server.cpu())
                finally:
                    server.remove()
                runs.append({"system": system, "milliseconds": seconds * 1000, "rss_mib": rss / 2**20, "cpu_seconds": cpu})
            print(f"   {system:8} {runs[-1]['milliseconds']:8.1f} ms  {runs[-1]['rss_mib']:6.1f} MiB", flush=True)
        return runs, ["milliseconds", "rss_mib", "cpu_seconds"]

    def recovery(self, name):
        """kill -9 under data that nobody flushed, then start until every partition is served."""
        runs = []
        records = self.records(1024, 1024)
        self.settings.update(records=records)
        systems = [system for system in self.systems if system != "floor"]
        for system in self.order(systems):
            server = self.make(system, f"recovery-{system}")
            server.prepare()
            try:
                server.start()
                written = self.bench(server, "produce", "--topic", "t", *SHAPE, "--record-size", "1024", "--records", records)
                server.stop()
                clean = self.time_until_served(server)
                more = self.bench(server, "produce", "--topic", "t", *SHAPE, "--record-size", "1024", "--records", records)
                server.kill()
                unflushed = more["wire_bytes"] / 1e9
                seconds = self.time_until_served(server)
                read = self.bench(server, "fetch", "--topic", "t", "--connections", "4", "--verify", "records")
                lost = written["records"] + more["records"] - read["records"]
                if lost:
                    raise Failure(f"{system}: {lost} acknowledged records are gone after kill -9")
            finally:
                server.remove()
            run = {
                "system": system,
                "seconds": seconds,
                "seconds_after_clean_stop": clean,
                "unflushed_gb": unflushed,
                "seconds_per_gb": (seconds - clean) / unflushed,
            }
            runs.append(run)
            print(f"   {system:8} {seconds:6.2f} s after kill -9, {clean:6.2f} s after a clean stop", flush=True)
        self.notes.append("seconds per gb: what a start after kill -9 takes longer than one after a clean stop")
        return runs, ["seconds", "seconds_after_clean_stop", "seconds_per_gb", "unflushed_gb"]

    def time_until_served(self, server):
        begun = time.monotonic()
        server.start(timeout=600)
        # Returns once every partition has a leader that tells its offsets.
        self.bench(server, "fetch", "--topic", "t", "--records", "1", "--verify", "offsets")
        return time.monotonic() - begun

    def java_produce(self, name):
        """Kafka's ProducerPerformance as the load."""
        records = self.records(384, 1024)
        self.settings.update(records=records, load="ProducerPerformance, acks=1, linger.ms=5, batch.size=16384")
        topic = self.topic(name)

        def load(server):
            out = self.java(
                "org.apache.kafka.tools.ProducerPerformance", "--topic", topic, "--num-records", records,
                "--record-size", "1024", "--throughput", "-1", "--producer-props",
                f"bootstrap.servers={server.bootstrap}", "acks=1", "linger.ms=5", "batch.size=16384",
            )
            last = out.strip().splitlines()[-1]
            rate = float(re.search(r"([\d.]+) records/sec", last).group(1))
            p99 = float(re.search(r"([\d.]+) ms 99th", last).group(1))
            p50 = float(re.search(r"([\d.]+) ms 50th", last).group(1))
            return {
                "records": int(records), "bytes": int(records) * 1024, "records_per_second": rate,
                "bytes_per_second": rate * 1024, "latency_ms": {"p50": p50, "p99": p99}, "output": last,
            }

        return self.java_runs(topic, load, name)

    def java_fetch(self, name):
        """Kafka's ConsumerPerformance as the load."""
        records = self.records(1024, 1024)
        self.settings.update(records=records, load="ConsumerPerformance")
        topic = self.topic(name)

        def load(server):
            out = self.java(
                "org.apache.kafka.tools.ConsumerPerformance", "--topic", topic, "--bootstrap-server",
                server.bootstrap, "--num-records", records, "--timeout", "60000",
                "--group", f"perf-{time.monotonic_ns()}",
            )
            cells = out.strip().splitlines()[-1].split(", ")
            megabytes, count = float(cells[2]), int(cells[4])
            if count < int(records):
                raise Failure(f"ConsumerPerformance read {count} of {records} records from {server.name}")
            rate = float(cells[9]) if len(cells) > 9 else float(cells[5])
            return {
                "records": count, "bytes": int(megabytes * 2**20), "records_per_second": rate,
                "bytes_per_second": rate * 1024, "output": cells,
            }

        return self.java_runs(topic, load, name, fill=records)

    def java_runs(self, topic, load, name, fill=None):
        systems = [system for system in self.systems if system != "floor"]
        for system in systems:
            server = self.server(system)
            self.bench(server, "produce", "--topic", topic, *SHAPE, "--record-size", "1024", "--records", fill or "200000", *TOPIC)
            load(server)
        runs = []
        for system in self.order(systems):
            server = self.server(system)
            runs.append(self.measured(server, lambda: load(server)))
        self.delete(topic)
        return runs, PRODUCE_METRICS

    def java(self, *command):
        if not self.args.kafka_classpath:
            raise Failure("this experiment needs --kafka-classpath")
        line = [self.args.java, "-Xmx512M", "-cp", self.args.kafka_classpath, *command]
        done = subprocess.run(line, capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(f"{' '.join(command)}: {done.stdout}{done.stderr}")
        return done.stdout

    def delete(self, topic):
        for server in self.running.values():
            self.bench(server, "produce", "--topic", topic, "--records", "1", "--delete-after")


def settle(server):
    """Waits until what was written is on the disk and the server has come to rest, so that no run
    pays for the one before it."""
    os.sync()
    deadline = time.monotonic() + 10
    before = sum(server.cpu())
    while time.monotonic() < deadline:
        time.sleep(0.25)
        now = sum(server.cpu())
        if now - before < 0.03:
            return
        before = now


ALL = {name: (Bench.produce, "Produce: " + text) for name, (_, _, text) in LOADS.items()}
ALL.update({
    "fetch-catch-up": (Bench.fetch_catch_up, "Fetch what is there: 1 KiB records, 200 partitions, from the page cache"),
    "fetch-tail": (Bench.fetch_tail, "Fetch what arrives: 1 KiB records, 200 partitions, four consumers at the end"),
    "latency": (Bench.latency, "Produce latency at half of Kafka's maximum rate, acks=1, 1 KiB lz4 4:1"),
    "end-to-end": (Bench.end_to_end, "From producer to consumer: 5 000 records/s, 20 partitions, acks=all, no linger"),
    "start-up": (Bench.start_up, "Process start to first answered request on an empty directory"),
    "recovery": (Bench.recovery, "Start after kill -9 with a gigabyte that was not flushed"),
    "java-produce": (Bench.java_produce, "Kafka's ProducerPerformance, 1 KiB records, 200 partitions"),
    "group-rebalance": (group_experiments.rebalance, group_experiments.NAME),
    "group-growth": (group_growth.growth, group_growth.NAME),
    "java-fetch": (Bench.java_fetch, "Kafka's ConsumerPerformance, 1 KiB records, 200 partitions"),
})
