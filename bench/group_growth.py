"""Groups that grow: how often their members join again, and how often partitions move.

A group of none or ten gets members one after the other within two seconds, until it has a hundred. Kafka, and
Thalweg in both values of `thalweg.group.classic.rebalance.mode`, in `server` also with a target for each join; each
with `group.initial.rebalance.delay.ms` at its default and at 0. Everything else is at its default.
"""

import json

import results
import servers
from group_experiments import serves, table
from servers import Failure

NAME = "Groups that grow to 100 members within two seconds: `thalweg bench group --scenario grow`"
DELAYS_MS = [3000, 0]
INTERVAL = "group.consumer.assignment.interval.ms"
# What Thalweg is set to, by what a table calls it. A hosted group has a new target once in the interval.
MODES = {
    "server": {"thalweg.group.classic.rebalance.mode": "server"},
    "server, a target for each join": {"thalweg.group.classic.rebalance.mode": "server", INTERVAL: 0},
    "barrier": {"thalweg.group.classic.rebalance.mode": "barrier"},
}
FROM = [0, 10]
PROTOCOLS = [("classic", "range"), ("classic", "cooperative-sticky"), ("consumer", "uniform")]
MEMBERS, PARTITIONS, OVER_MS, ROUNDS = 100, 200, 2000, 2
TOPIC = "group-growth"
TIMEOUT_SECONDS = 120
# Heading, path in a run, digits.
COLUMNS = [
    ("rejoins of a member", ("report", "rejoins_per_member"), 2),
    ("moves", ("moves_per_round",), 0),
    ("least", ("least_per_round",), 0),
    ("partitions without owner p50, ms", ("report", "summary", "unowned_ms", "p50"), 0),
    ("p99", ("report", "summary", "unowned_ms", "p99"), 0),
    ("slowest pause, ms", ("report", "summary", "slowest_pause_max_ms"), 0),
    ("stable after, ms", ("stable_ms",), 0),
    ("broker CPU s", ("broker_cpu",), 2),
]


def growth(bench, name):
    """Every group on every broker, as often as runs are asked for; writes its own page."""
    running, runs = [], []
    try:
        for nth, (label, system, delay_ms, configs) in enumerate(brokers(bench)):
            server = make(bench, system, nth, configs)
            server.prepare()
            server.start()
            running.append((label, delay_ms, server))
            bench.bench(server, "produce", "--topic", TOPIC, "--partitions", str(PARTITIONS), "--records", "1")
            # The first groups of a JVM cost several times what the later ones do.
            one(bench, label, delay_ms, server, "classic", "range", 0)
        for round_ in range(bench.args.runs):
            for label, delay_ms, server in running if round_ % 2 == 0 else reversed(running):
                offered = servers.versions(server.port) or {}
                for protocol, assignor in PROTOCOLS:
                    # The mode is for classic members only, and the delay for classic groups.
                    if protocol == "consumer" and (delay_ms == 0 or label.endswith("barrier")):
                        continue
                    if serves(offered, protocol):
                        runs += [one(bench, label, delay_ms, server, protocol, assignor, begin) for begin in FROM]
    finally:
        if runs:
            write(bench, name, runs)
        for _, _, server in running:
            server.remove()
    return None, None


def brokers(bench):
    for delay_ms in DELAYS_MS:
        delay = {"group.initial.rebalance.delay.ms": delay_ms}
        if "kafka" in bench.systems:
            yield "kafka", "kafka", delay_ms, delay
        if "thalweg" in bench.systems:
            for mode, configs in MODES.items():
                yield f"thalweg {mode}", "thalweg", delay_ms, {**delay, **configs}


def make(bench, system, nth, configs):
    directory, port = bench.args.scratch / f"growth-{nth}", bench.args.port + 10 + 2 * nth
    if system == "kafka":
        return servers.Kafka(directory, port, bench.args.java, bench.args.kafka_classpath, configs)
    options = [f"{name}={value}" for name, value in configs.items()]
    return servers.Thalweg(directory, port, bench.args.thalweg, options + bench.args.serve)


def one(bench, label, delay_ms, server, protocol, assignor, begin):
    options = ["--protocol", protocol, "--assignor", assignor, "--members", MEMBERS, "--partitions", PARTITIONS]
    options += ["--topic", TOPIC, "--scenario", "grow", "--grow-from", begin, "--over-ms", OVER_MS]
    options += ["--rounds", ROUNDS, "--settle-seconds", 1, "--timeout-seconds", TIMEOUT_SECONDS]
    options += ["--broker-pid", server.process.pid]
    command, process = bench.start_load(server, "group", *map(str, options))
    out, err = process.communicate()
    # 3 is a group that did not become stable, or worse: a result like any other.
    if process.returncode not in (0, 3) or not out:
        raise Failure(f"{' '.join(command)} ended with {process.returncode}: {err}{out}")
    report = json.loads(out)
    events = report["events"]
    cpu = [event["cost"]["broker_cpu_seconds"] for event in events]
    run = {
        "system": label, "delay_ms": delay_ms, "protocol": protocol, "assignor": assignor, "from": begin,
        "moves_per_round": sum(event["moves"] for event in events) / max(1, len(events)),
        "least_per_round": sum(event["least_moves"] for event in events) / max(1, len(events)),
        "stable_ms": max((event["stable_after_ms"] for event in events), default=None),
        "broker_cpu": sum(cpu) / len(cpu) if cpu and None not in cpu else None,
        "report": report,
    }
    print(
        f"   {label:38} delay {delay_ms:4} {protocol:8} {assignor:18} {begin:2} -> {MEMBERS}"
        f"  rejoins {report.get('rejoins_per_member', '-')}  moves {run['moves_per_round']:.0f} of"
        f" {run['least_per_round']:.0f}  double {report['double_ownership']}  {report.get('not_stable') or ''}",
        flush=True,
    )
    return run


def write(bench, name, runs):
    """<date>-<name>.json with every run, .md with a table for each way to grow."""
    base, record = results.record(bench.args.results, name, NAME, bench.settings, bench.notes)
    record["runs"] = runs
    base.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
    base.with_suffix(".md").write_text(page(record))
    print(base.with_suffix(".md"))


def page(record):
    lines = results.heading(record)
    lines += [
        f"{PARTITIONS} partitions. Moves: of a round, from one member to another; least: that the newcomers' share",
        "needs. Rejoins: JoinGroup of a member that had joined already, or a KIP-848 member that was fenced.", "",
    ]
    for begin in FROM:
        for delay_ms in DELAYS_MS:
            rows = {}
            for run in record["runs"]:
                if (run["from"], run["delay_ms"]) == (begin, delay_ms):
                    rows.setdefault((run["system"], run["protocol"], run["assignor"]), []).append(run)
            if rows:
                lines += [f"## {begin} to {MEMBERS} members, initial delay {delay_ms} ms", "", *table(COLUMNS, rows), ""]
    return "\n".join(lines + results.closing(record))
