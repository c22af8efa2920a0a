"""What it is worth that answers name the new leader (KIP-951): latencies of Kafka's Java client while leaders move, with
these hints and without, on three brokers of Kafka or of Thalweg under one Java controller.

    kip951.py --binary THALWEG --jars FOLDER --scratch FOLDER --out FILE [--rounds N] [--brokers java,thalweg]
              [--workloads many,few] [--many-rate N] [--few-rate N] [--acks all] [--elections N] [--shutdowns N]

Two producers, each with a consumer, run at once on topics of the same shape, so that they have the same moves at the same
moments: one is told of leaders, one goes through proxies that offer it no version of Produce and Fetch which tells
(the other goes through proxies, too). `many` partitions get few records each, `few` partitions many. The rates are for both producers together; that of `few`
should be about half of what Java's brokers take.

There are three ways in which leaders move: `elect`, a third of the partitions of every broker get a new order of
replicas and an election; `shutdown`, a broker is told to stop, and its partitions move; `return`, it is back, in sync,
and is elected for what it led before. Latencies are counted from the moment at which a record was to be sent, for
the records of the five seconds after a move, those of the partitions that moved apart, and for the time without
moves. A line of JSON for each producer.
"""

import argparse
import collections
import json
import os
import random
import signal
import statistics
import time

import clusters
import move_loads
import results
from clusters import chaos

HINTS = ["on", "off"]
RECORD = 1024
LINGER_MS = 1
# Partitions of each of the two topics.
WORKLOADS = {"few": 9, "many": 150}
WINDOW_SECONDS = 5
# From the end of a window to the new order of replicas, and from there to the election: to a moment of any long poll of a
# follower that began with it (500 ms).
REST_SECONDS = 1
ORDER_SECONDS = (0.7, 1.2)
# Brokers begin with new processes, and clients do with every workload. Elections that are not measured follow.
WARM_SECONDS = 60
WARM_CLIENT_SECONDS = 20
WARM_ELECTIONS = 3
GROUPS = 3
CONFIG = {"min.insync.replicas": "2", "segment.bytes": str(128 << 20)}

Move = collections.namedtuple("Move", "way prepared begin partitions")


class Mover:
    """Moves the leaders of topics that have the same partitions."""

    def __init__(self, cluster, topics, partitions):
        self.cluster, self.topics = cluster, topics
        self.replicas = {at: initial(at) for at in range(partitions)}
        self.turn = 0
        # The same moments for both makes.
        self.random = random.Random(1)
        self.moves = []

    def everywhere(self, partitions):
        return [(topic, at) for topic in self.topics for at in partitions]

    def elect(self):
        moved = [at for at in self.replicas if at // 3 % GROUPS == self.turn % GROUPS]
        self.turn += 1
        prepared = time.monotonic()
        for at in moved:
            self.replicas[at] = self.replicas[at][1:] + self.replicas[at][:1]
        self.cluster.reassign({(topic, at): self.replicas[at] for topic, at in self.everywhere(moved)})
        time.sleep(self.random.uniform(*ORDER_SECONDS))
        # A replica that has fallen behind is not elected.
        self.cluster.wait_in_sync(self.topics, len(self.cluster.brokers), 60)
        self.note("elect", prepared, self.cluster.elect_preferred(self.everywhere(moved)), moved)

    def shut_down_and_return(self):
        node = self.cluster.brokers[self.turn % len(self.cluster.brokers)]
        self.turn += 1
        moved = [at for at, nodes in self.replicas.items() if nodes[0] == node.id]
        begin = time.monotonic()
        node.end(signal.SIGTERM, 60)
        self.note("shutdown", begin, begin, moved)
        node.start()
        # The topic that nobody writes to as well: it is what a broker that has just started has of it.
        self.cluster.wait_in_sync([*self.topics, chaos.TOPIC], len(self.cluster.brokers), 120)
        self.note("return", None, self.cluster.elect_preferred(self.everywhere(moved)), moved)

    def note(self, way, prepared, begin, partitions):
        self.moves.append(Move(way, prepared, begin, frozenset(partitions)))
        time.sleep(max(0, begin + WINDOW_SECONDS + REST_SECONDS - time.monotonic()))


def initial(partition):
    return [(partition + at) % 3 + 1 for at in range(3)]


def latencies(micros, records):
    """In milliseconds; a record that never came is told apart."""
    found = [micros[at] / 1000 for at in records if micros[at] >= 0]
    if not found:
        return {"records": 0}
    told = {name: round(clusters.percentile(found, share), 2) for name, share in [("p50", 0.5), ("p99", 0.99)]}
    return told | {"max": round(max(found), 2), "records": len(found), "missing": len(records) - len(found)}


def sides(load, records):
    return {"produce": latencies(load.acknowledged_us, records), "end_to_end": latencies(load.arrived_us, records)}


def of_move(load, move):
    records = load.sent_within(move.begin, move.begin + WINDOW_SECONDS)
    moved = [at for at in records if at % load.partitions in move.partitions]
    asked = collections.Counter(who for at, who in load.proxies.metadata if 0 <= at - move.begin < WINDOW_SECONDS)
    return {
        "way": move.way, "partitions": len(move.partitions), "metadata_requests": asked,
        "all": sides(load, records), "moved": sides(load, moved),
    }  # fmt: skip


def without_moves(moves):
    """The times behind one move's window and before the next one is begun."""
    for move, following in zip(moves, moves[1:]):
        # While a broker comes back there is something going on.
        if following.prepared is not None:
            yield move.begin + WINDOW_SECONDS, following.prepared


def gaps(load, moves):
    """Of each partition that moved: the longest times between acknowledgements, and between arrivals."""
    found = collections.defaultdict(list)
    for side, micros in [("produce", load.acknowledged_us), ("end_to_end", load.arrived_us)]:
        times = [load.times(micros, partition) for partition in range(load.partitions)]
        for move in moves:
            end = move.begin + WINDOW_SECONDS
            found[side] += [round(move_loads.longest(times[at], move.begin, end), 2) for at in sorted(move.partitions)]
    return found


def measure(options, cluster, workload, warm_seconds):
    partitions, rate = WORKLOADS[workload], getattr(options, f"{workload}_rate") // len(HINTS)
    topics = {hints: f"{workload}-{hints}" for hints in HINTS}
    for topic in topics.values():
        cluster.create(topic, [initial(at) for at in range(partitions)], CONFIG)
    mover = Mover(cluster, list(topics.values()), partitions)
    load_before = os.getloadavg()[0]
    loads = {
        hints: move_loads.Java(cluster, options.built, hints, topic, options.acks, rate, RECORD, LINGER_MS)
        for hints, topic in topics.items()
    }
    time.sleep(warm_seconds)
    for _ in range(WARM_ELECTIONS):
        mover.elect()
    mover.moves.clear()
    asked = {hints: load.metadata_requests() for hints, load in loads.items()}
    busy, cpu, began, late = clusters.cpu_times(), cluster.cpu(), time.monotonic(), cluster.late_elections
    for _ in range(options.elections):
        mover.elect()
    # Behind them, because the broker that comes back is a new process.
    for _ in range(options.shutdowns):
        mover.shut_down_and_return()
    seconds, cpu, busy = time.monotonic() - began, cluster.cpu() - cpu, clusters.busy_since(busy)
    common = {
        "workload": workload, "acks": options.acks, "partitions": partitions, "rate": rate, "seconds": round(seconds, 1),
        "late_elections": cluster.late_elections - late, "machine_busy": busy, "load_before": load_before, "brokers_cpu_percent": round(100 * cpu / seconds, 1),
    }  # fmt: skip
    asked = {hints: load.metadata_requests() - asked[hints] for hints, load in loads.items()}
    for hints, load in loads.items():
        noticed = load.finish()
        quiet = [at for begin, end in without_moves(mover.moves) for at in load.sent_within(begin, end)]
        result = common | {"hints": hints, "metadata_requests": asked[hints], "without_moves": sides(load, quiet)}
        result["moves"] = [of_move(load, move) for move in mover.moves]
        if workload == "few":
            # Elsewhere a partition's records are too far apart.
            result["gaps_ms"] = gaps(load, mover.moves)
        yield result | noticed


def run(options, kind):
    cluster = clusters.Cluster(options, kind, fronts=HINTS)
    try:
        cluster.start()
        for at, workload in enumerate(options.workloads):
            for result in measure(options, cluster, workload, WARM_CLIENT_SECONDS if at else WARM_SECONDS):
                yield {"brokers": kind, **result}
    finally:
        cluster.stop()


def summary(result):
    def p99s(moves, records, side):
        found = [move[records][side].get("p99") for move in moves]
        found = [value for value in found if value is not None]
        return f"{statistics.median(found):.1f} (most {max(found):.1f})" if found else "none"

    lines = [", ".join(f"{name} {value}" for name, value in result.items() if not isinstance(value, (list, dict)))]
    lines.append(f"  without moves: {json.dumps(result['without_moves'])}")
    for way in ["elect", "shutdown", "return"]:
        moves = [move for move in result["moves"] if move["way"] == way]
        cells = [f"{records} {side} {p99s(moves, records, side)}" for records in ["all", "moved"] for side in ["produce", "end_to_end"]]
        lines.append(f"  {way}, p99 ms: {', '.join(cells)}")
    for side, found in result.get("gaps_ms", {}).items():
        lines.append(f"  gap, {side}: median {statistics.median(found)}, p99 {clusters.percentile(found, 0.99)}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    for name in ["--binary", "--jars", "--scratch", "--out"]:
        parser.add_argument(name, required=True)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--elections", type=int, default=6)
    parser.add_argument("--shutdowns", type=int, default=2)
    for name, default in [("few", 1200), ("many", 100)]:
        parser.add_argument(f"--{name}-rate", type=int, default=default)
    parser.add_argument("--acks", choices=["all", "1"], default="all")
    for name, allowed in [("brokers", ["thalweg", "java"]), ("workloads", list(WORKLOADS))]:
        parser.add_argument(f"--{name}", type=clusters.some_of(allowed), default=allowed)
    options = parser.parse_args()
    options.built = clusters.begin(options)
    origin = results.origin(options.binary, f"{options.jars}/*")
    with open(options.out, "a") as out:
        for _ in range(options.rounds):
            for kind in options.brokers:
                for result in run(options, kind):
                    print(json.dumps({**origin, **result}), file=out, flush=True)
                    print(summary(result), flush=True)


if __name__ == "__main__":
    main()
