"""Rebalances of consumer groups: `thalweg bench group` on both brokers, interleaved."""

import json
import os
import shlex
import tempfile
import threading
import time

import plots
import results
import servers
from servers import Failure

# What a group's member sees, the same everywhere; the broker's defaults forbid so short intervals.
SESSION_MS = 6000

# Groups are formed and rebalanced at once, and KIP-848's intervals are those of the classic members.
def configs(heartbeat_ms):
    return {
        "group.initial.rebalance.delay.ms": 0,
        "group.min.session.timeout.ms": 1000,
        "group.consumer.assignment.interval.ms": 0,
        "group.consumer.min.heartbeat.interval.ms": min(heartbeat_ms, 5000),
        "group.consumer.heartbeat.interval.ms": heartbeat_ms,
        "group.consumer.min.session.timeout.ms": SESSION_MS,
        "group.consumer.session.timeout.ms": SESSION_MS,
        "group.consumer.max.size": 20000,
    }


# Protocol, assignor.
PROTOCOLS = [("classic", "range"), ("classic", "cooperative-sticky"), ("consumer", "uniform")]
# Members, partitions, scenario, its options at --scale 1. With as many members as partitions, as in
# the source's groups of 1 600 and 3 000, a newcomer gets none, and a leaver's goes to somebody.
# A scenario may be in a variant (`VARIANTS`).
CELLS = [
    (100, 200, "join", {"rounds": 8}),
    (100, 200, "leave", {"rounds": 8}),
    (100, 200, "crash", {"rounds": 4}),
    (100, 200, "roll", {"rounds": 4}),
    (100, 200, "roll-static", {"rounds": 4}),
    (100, 200, "storm", {"duration": 30}),
    (1600, 1600, "join", {"rounds": 4}),
    (1600, 1600, "leave", {"rounds": 4}),
    (3000, 3000, "join", {"rounds": 4}),
    (3000, 3000, "leave", {"rounds": 4}),
    (3000, 3000, "storm", {"duration": 30}),
    # Two or three each: a newcomer gets some, and the others' change hands.
    (3000, 6100, "join", {"rounds": 4}),
    (3000, 6100, "leave", {"rounds": 4}),
    # A commit of a member ends the hold of its heartbeat, with clients that send both over one connection.
    (3000, 3000, "leave-commits", {"rounds": 8}),
    (3000, 6100, "join-commits", {"rounds": 8}),
    # The broker is stopped and started again, cleanly and not, under members that live on.
    (3000, 3000, "command-restart", {"rounds": 1}),
    (3000, 3000, "command-kill", {"rounds": 1}),
    # Everything at once: a coordinator's limit, and that of the simulation.
    (10000, 100000, "join", {"rounds": 2}),
]
# Ends of scenarios' names: what they add to the command line.
VARIANTS = {
    "static": ["--static"],
    "commits": ["--auto-commit-ms", "5000"],
    "restart": [],
    "kill": [],
}
# What a report says of things that went wrong.
FAULTS = ("not_stable", "errors_by_name", "refused")
TIMEOUT_SECONDS = 180
CONSUMER_GROUP_HEARTBEAT = 68

# Of a run's report: heading, path, digits.
COLUMNS = [
    ("stable after, mean", ("stable_ms",), 0),
    ("slowest pause, mean", ("summary", "slowest_pause_mean_ms"), 1),
    ("max", ("summary", "slowest_pause_max_ms"), 1),
    ("of those that kept all, max", ("summary", "kept_slowest_pause_max_ms"), 1),
    ("told to settled, max", ("summary", "settling_ms", "max"), 0),
    ("rejoins of those", ("summary", "kept_rejoins"), 0),
    ("rejoins", ("summary", "rejoins"), 0),
    ("unowned p50", ("summary", "unowned_ms", "p50"), 0),
    ("p99", ("summary", "unowned_ms", "p99"), 0),
    ("max", ("summary", "unowned_ms", "max"), 0),
    ("share without owner: stopped", ("summary", "unavailable_after_stop"), 4),
    ("given up", ("summary", "unavailable_after_revocation"), 4),
    ("moves", ("summary", "moves"), 0),
    ("least", ("summary", "least_moves"), 0),
    ("double", ("double_ownership",), 0),
    ("broker CPU s", ("broker_cpu",), 2),
    ("answers waited p99", ("load", "answers_waited_ms", "p99"), 2),
]
RESTART_COLUMNS = [
    ("broker away", ("down_ms", 0), 0),
    ("connections lost", ("disconnected_ms", "count"), 0),
    ("without one p50", ("disconnected_ms", "p50"), 0),
    ("max", ("disconnected_ms", "max"), 0),
]
COSTS = [
    ("formed in s", ("formed_seconds",), 2),
    ("CPU s for it", ("formed", "cost", "broker_cpu_seconds"), 2),
    ("KiB a member", ("kib_per_member",), 1),
    ("us CPU a heartbeat", ("settled", "cpu_us_per_heartbeat"), 0),
    ("less idle", ("settled", "cpu_us_per_heartbeat_without_idle"), 0),
    ("heartbeats/s", ("settled", "heartbeats_per_second"), 0),
]
# Figures that are drawn, of each cell and at rest: file name's end, what it is, path.
PLOTS = [
    ("pause", "slowest pause of a member, ms", ("summary", "slowest_pause_max_ms")),
    ("unowned", "partition that moved without owner, p99, ms", ("summary", "unowned_ms", "p99")),
    ("stable", "stable after, ms", ("stable_ms",)),
]
PLOTS_AT_REST = [("heartbeat", "CPU of a heartbeat, us", ("settled", "cpu_us_per_heartbeat"))]


def rebalance(bench, name):
    """Every cell on every system, with as many runs of each as asked for, every other round in the
    other order; writes its own page."""
    systems = [system for system in bench.systems if system != "floor"]
    heartbeat_ms = bench.args.heartbeat_ms
    bench.settings.update({"heartbeat ms": heartbeat_ms, "session ms": SESSION_MS})
    bench.settings.update(configs(heartbeat_ms))
    wanted = [cell for cell in bench.args.cells.split(",") if cell]
    known = set().union(*map(names_of, CELLS))
    unknown = [cell for cell in wanted if cell not in known]
    if unknown:
        raise Failure(f"--cells: there are {', '.join(sorted(known))}, but no {', '.join(unknown)}")
    cells = [cell for cell in CELLS if not wanted or names_of(cell) & set(wanted)]
    running, runs, offered = {}, [], {}
    try:
        for system in systems:
            server = bench.make(system, f"group-{system}", configs(heartbeat_ms))
            server.prepare()
            server.start()
            running[system] = server
            # Made once: thousands of partitions that come and go would be most of what a broker does.
            for partitions in sorted({200} | {partitions for _, partitions, _, _ in cells}):
                bench.bench(server, "produce", "--topic", topic_of(partitions), "--partitions", str(partitions), "--records", "1")
            offered[system] = servers.versions(server.port) or {}
        # The first groups of a JVM cost several times what the later ones do.
        for system in systems:
            for protocol, assignor in PROTOCOLS:
                if serves(offered[system], protocol):
                    one(bench, running[system], protocol, assignor, 100, 200, "join", {"rounds": 3})
        for members, partitions, scenario, options in cells:
            for system in bench.order(systems):
                for protocol, assignor in PROTOCOLS:
                    if serves(offered[system], protocol):
                        how = scaled(options, bench.args.scale)
                        runs.append(one(bench, running[system], protocol, assignor, members, partitions, scenario, how))
        loads = [run["load_average_before"] for run in runs]
        bench.notes.append(f"load average of the machine before the runs: {min(loads):.1f} to {max(loads):.1f}")
        for system in systems:
            if not serves(offered[system], "consumer"):
                bench.notes.append(f"{system} does not serve KIP-848's protocol")
    finally:
        if runs:
            write(bench, name, runs)
        for server in running.values():
            server.remove()
    return None, None


def names_of(cell):
    """What --cells may call it: all of so many members, or the one of so many partitions."""
    members, partitions, scenario, _ = cell
    return {f"{members}:{scenario}", f"{members}x{partitions}:{scenario}"}


def topic_of(partitions):
    return f"group-{partitions}"


def serves(offered, protocol):
    return protocol == "classic" or offered.get(CONSUMER_GROUP_HEARTBEAT, -1) >= 1


def scaled(options, scale):
    return {name: max(1 if name == "rounds" else 10, round(value * scale)) for name, value in options.items()}


def one(bench, server, protocol, assignor, members, partitions, scenario, options):
    line = ["--protocol", protocol, "--assignor", assignor, "--members", members, "--partitions", partitions]
    line += ["--topic", topic_of(partitions)]
    scenario, _, variant = scenario.partition("-")
    line += VARIANTS[variant] if variant else []
    line += ["--scenario", scenario, "--timeout-seconds", TIMEOUT_SECONDS, "--broker-pid", server.process.pid]
    line += [word for name, value in options.items() for word in (f"--{name}", value)]
    if protocol == "classic":
        line += ["--heartbeat-ms", bench.args.heartbeat_ms, "--session-ms", SESSION_MS]
    load = os.getloadavg()[0]
    begun = time.monotonic()
    restarts = Restarts(server, variant) if scenario == "command" else None
    line += ["--run", restarts.command()] if restarts else []
    command, process = bench.start_load(server, "group", *map(str, line))
    out, err = process.communicate()
    down = restarts.close() if restarts else []
    # 3 is a group that did not become stable, or worse: a result like any other.
    if process.returncode not in (0, 3) or not out:
        raise Failure(f"{' '.join(command)} ended with {process.returncode}: {err}{out}")
    report = json.loads(out)
    events = [event["cost"]["broker_cpu_seconds"] for event in report["events"]]
    formed = report.get("formed") or {}
    per_member = formed.get("rss_bytes_per_member")
    run = {
        "system": server.name, "protocol": protocol, "assignor": assignor, "members": members,
        "partitions": partitions,
        "scenario": "-".join(filter(None, (scenario, variant))), "load_average_before": load, "seconds": time.monotonic() - begun,
        "broker_cpu": sum(events) / len(events) if events and None not in events else None,
        "stable_ms": sum(event["stable_after_ms"] for event in report["events"]) / len(events) if events else None,
        "formed_seconds": formed.get("stable_after_ms", 0) / 1000,
        "down_ms": down,
        "kib_per_member": None if per_member is None else per_member / 1024,
        "report": report,
    }
    summary = report.get("summary", {})
    print(
        f"   {server.name:8} {protocol:8} {assignor:18} {members:5} {run['scenario']:13}"
        f" slowest pause {summary.get('slowest_pause_mean_ms', float('nan')):9.1f} ms"
        f"  rejoins of the untouched {summary.get('kept_rejoins', '-')}  double {report['double_ownership']}"
        f"  {report.get('not_stable') or ''}",
        flush=True,
    )
    return run


class Restarts:
    """Stops the broker and starts it again whenever the command is run."""

    def __init__(self, server, how):
        self.server, self.how = server, how
        self.directory = tempfile.mkdtemp(dir=server.directory)
        self.asked, self.done = (os.path.join(self.directory, name) for name in ("asked", "done"))
        self.down_ms, self.failure, self.is_over = [], None, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def command(self):
        asked, done = shlex.quote(self.asked), shlex.quote(self.done)
        return f"touch {asked}; while [ ! -e {done} ]; do sleep 0.02; done; rm {done}"

    def run(self):
        while not self.is_over.wait(0.01):
            if not os.path.exists(self.asked):
                continue
            os.remove(self.asked)
            begun = time.monotonic()
            try:
                self.server.kill() if self.how == "kill" else self.server.stop()
                self.server.start()
            except Failure as failure:
                self.failure = failure
            # From the moment it is told to go to the first request that is answered.
            self.down_ms.append((time.monotonic() - begun) * 1000)
            open(self.done, "w").close()

    def close(self):
        """How long it was away each time, in milliseconds."""
        self.is_over.set()
        self.thread.join()
        if self.failure:
            raise self.failure
        return self.down_ms


def write(bench, name, runs):
    """<date>-<name>.json with every run, .md with a table for each cell."""
    base, record = results.record(bench.args.results, name, NAME, bench.settings, bench.notes)
    record["runs"] = runs
    base.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
    cells, at_rest = cells_of(record["runs"])
    drawn = []
    for of, which in ((cells, PLOTS), (at_rest, PLOTS_AT_REST)):
        for end, what, path in which:
            file = base.with_name(f"{base.name}-{end}.svg")
            file.write_text(plots.bars(name, what, "less is better", sections(of, path)))
            drawn.append(f"![{what}]({file.name})")
    base.with_suffix(".md").write_text(page(record, drawn))
    print(base.with_suffix(".md"))


def cells_of(runs):
    """Runs by cell, and by number of members; of each by system, protocol and assignor."""
    cells, at_rest = {}, {}
    for run in runs:
        key = (run["system"], run["protocol"], run["assignor"])
        cell_of = (run["members"], run["partitions"], run["scenario"])
        cells.setdefault(cell_of, {}).setdefault(key, []).append(run)
        # A variant's members do more than heartbeats.
        if "-" not in run["scenario"]:
            at_rest.setdefault((run["members"],), {}).setdefault(key, []).append(run)
    return cells, at_rest


def sections(cells, path):
    """What a plot has of each cell: a bar of each system that has the figure."""
    drawn = {}
    for key, systems in cells.items():
        values = {
            " ".join(system): [value for value in (look(run, path) for run in runs) if value is not None]
            for system, runs in systems.items()
        }
        bars = [(label, results.spread(of)) for label, of in values.items() if of]
        if bars:
            drawn[heading_of(*key)] = bars
    return drawn


def heading_of(members, partitions=None, scenario=None):
    return f"{members} members" + (f", {partitions} partitions: {scenario}" if scenario else "")


def page(record, drawn):
    cells, at_rest = cells_of(record["runs"])
    lines = results.heading(record)
    lines += [*drawn, ""]
    lines += [
        "Times in ms; stable after, pauses, CPU: of each event (tick of a storm). A member pauses from giving up",
        "its last partition, which eager members do when they are told of a rebalance, until it has one again.",
        "Unowned: from the last owner's release or end to the new owner, of each partition that moved.",
        "Moves, rejoins: of all events together. Answers waited: for the thread that simulates the members.", "",
    ]
    for key, systems in cells.items():
        is_restart = key[2].startswith("command")
        columns = COLUMNS + RESTART_COLUMNS if is_restart else COLUMNS
        lines += [f"## {heading_of(*key)}", "", *table(columns, systems), ""]
        faults = [
            f"- {' '.join(system)}: {' '.join(str(run['report'][name]) for name in FAULTS if run['report'].get(name))}"
            for system, of in systems.items() for run in of
            if any(run["report"].get(name) for name in FAULTS)
        ]
        lines += [*faults, ""] if faults else []
    rows = {
        (heading_of(*key), *system): runs
        for key, systems in at_rest.items() for system, runs in systems.items()
    }
    lines += ["## What groups cost at rest", "", *table(COSTS, dict(sorted(rows.items(), key=lambda row: row[0][1:]))), ""]
    return "\n".join(lines + results.closing(record))


def table(columns, rows):
    lines = [
        "| | " + " | ".join(heading for heading, _, _ in columns) + " |",
        "|---" + "|--:" * len(columns) + "|",
    ]
    for key, of in rows.items():
        cells = [cell([look(run, path) for run in of], digits) for _, path, digits in columns]
        lines.append(f"| {' '.join(key)} | " + " | ".join(cells) + " |")
    return lines


def look(run, path):
    """A figure of the run, or of its report."""
    value = run if path[0] in run else run["report"]
    for name in path:
        if isinstance(name, int):
            value = value[name] if isinstance(value, list) and name < len(value) else None
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return value


def cell(values, digits):
    values = [value for value in values if value is not None]
    if not values:
        return "-"
    spread = results.spread(values)
    text = f"{spread['median']:,.{digits}f}"
    if len(values) > 1:
        text += f" ({spread['min']:,.{digits}f} - {spread['max']:,.{digits}f})"
    return text.replace(",", " ")


NAME = "Rebalances of consumer groups: `thalweg bench group` on both brokers, interleaved"
