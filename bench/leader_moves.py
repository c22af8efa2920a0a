"""How long a partition stands still when its leader moves: three brokers of Kafka or of Thalweg under one Java
controller, a client (librdkafka, Thalweg's or Java's) that writes a record every millisecond to one partition and reads
it.

    leader_moves.py --binary THALWEG --jars FOLDER --scratch FOLDER --out FILE [--moves N] [--rounds N]
                    [--clients thalweg,librdkafka,java] [--brokers thalweg,java] [--acks all,1]
                    [--way elect|reassign|shutdown|kill] [--through direct|on|off|stale]

Leaders move by a new order of replicas and an election of the preferred one (`elect`), by new replicas of which the
leader is none (`reassign`), because the leader is told to stop (`shutdown`), or because it is killed (`kill`). The
partitions of another topic keep every follower's fetch at every leader; nothing else is written, because a follower that
has other partitions to fetch from the new leader does not wait there. The gap of a move is the longest time between two
acknowledgements (two arrivals at the consumer) of those that begin within the time after it; that of a kill counts from
the moment at which another broker says that somebody else leads. Beside it are the longest ones in times as long without
a move. Metadata requests are those between the first move and the last. With --through other than direct, clients go
through a proxy before each broker, which counts those requests: `off` hides the versions whose answers name leaders,
with `stale` clients never hear of another leader by Metadata.
"""

import argparse
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

TOPIC = "moves"
# Kafka's default; the clusters that are made to fail have segments of a megabyte.
chaos.SETTINGS["log.segment.bytes"] = 1 << 30
# Java's brokers take up to 0.6 s, and a gap that lasts longer is counted to its end.
AFTER_SECONDS = {"elect": 0.7, "reassign": 0.7, "shutdown": 2.0, "kill": 2.0}
# From the new order to the election, so that all brokers have heard of it; and to a moment of any long poll of a follower
# that began with it (500 ms), or all moves would meet the same one.
ORDER_SECONDS = (0.2, 0.7)
# The clusters begin with new processes, and so do the clients.
WARM_SECONDS = 30
WARM_CLIENT_SECONDS = 10
WARM_MOVES = 6
STILL = 10


class Moves:
    """Moves the partition in one way; each move says when it began, and until when it is looked at, which it waits
    for."""

    def __init__(self, cluster, way):
        self.cluster, self.way = cluster, way
        self.after = AFTER_SECONDS[way]
        # The same moments for both makes.
        self.random = random.Random(1)
        self.replicas = [1, 2] if way == "reassign" else [1, 2, 3]

    def partition(self):
        return self.cluster.partitions_of(TOPIC)[0]

    def make(self, count):
        return [getattr(self, self.way)() for _ in range(count)]

    def wait(self, begin, end=None):
        end = (end or begin) + self.after
        time.sleep(max(0, end - time.monotonic()))
        return begin, end

    def reassign_to(self, replicas):
        self.replicas = replicas
        self.cluster.reassign({(TOPIC, 0): replicas})

    def elect(self):
        self.reassign_to(self.replicas[1:] + self.replicas[:1])
        time.sleep(self.random.uniform(*ORDER_SECONDS))
        # A replica that has fallen behind is not elected.
        self.cluster.wait_in_sync([TOPIC], len(self.replicas), 60)
        return self.wait(self.cluster.elect_preferred([(TOPIC, 0)]))

    def reassign(self):
        begin = time.monotonic()
        gone = self.replicas[0]
        self.reassign_to([self.replicas[1], 6 - sum(self.replicas)])
        chaos.eventually(f"{gone} is no replica", 30, lambda: gone not in self.partition().replicas)
        # The leader changed some time before that.
        return self.wait(begin, time.monotonic())

    def shutdown(self):
        node, begin = self.leader(), time.monotonic()
        node.end(signal.SIGTERM, 60)
        return self.bring_back(node, self.wait(begin))

    def kill(self):
        node = self.leader()
        node.end(signal.SIGKILL, 10)
        while self.partition().leader in (node.id, -1):
            time.sleep(0.002)
        return self.bring_back(node, self.wait(time.monotonic()))

    def leader(self):
        return self.cluster.brokers[self.partition().leader - 1]

    def bring_back(self, node, looked_at):
        node.start()
        self.cluster.wait_in_sync([TOPIC, chaos.TOPIC], 3, 60)
        return looked_at


def measure(options, moves, client, acks):
    cluster, load_before = moves.cluster, os.getloadavg()[0]
    load = move_loads.CLIENTS[client](cluster, options.built, options.through, TOPIC, acks)
    time.sleep(WARM_CLIENT_SECONDS)
    moves.make(WARM_MOVES if options.way in ("elect", "reassign") else 1)
    begin_still = time.monotonic()
    time.sleep(STILL * moves.after)
    asked, late = load.metadata_requests(), cluster.late_elections
    busy, cpu, began = clusters.cpu_times(), cluster.cpu(), time.monotonic()
    made = moves.make(options.moves)
    seconds, cpu, busy = time.monotonic() - began, cluster.cpu() - cpu, clusters.busy_since(busy)
    if asked is not None:
        asked = load.metadata_requests() - asked
    noticed = load.finish()
    gaps = [load.gaps_ms(begin, end) for begin, end in made]
    stills = [begin_still + at * moves.after for at in range(STILL)]
    still = [load.gaps_ms(begin, begin + moves.after) for begin in stills]
    result = {"client": client, "acks": acks, "way": options.way, "through": options.through}
    for at, side in enumerate(["produce", "fetch"]):
        result[f"{side}_ms"] = [round(gap[at], 2) for gap in gaps]
        result[f"{side}_still_ms"] = [round(gap[at], 2) for gap in still]
    result |= {"late_elections": cluster.late_elections - late, "metadata_requests": asked, "machine_busy": busy, "load_before": load_before}
    return result | {"brokers_cpu_percent": round(100 * cpu / seconds, 1)} | noticed


def run(options, kind):
    """All clients on one cluster."""
    fronts = [] if options.through == clusters.DIRECT else [options.through]
    cluster = clusters.Cluster(options, kind, fronts=fronts)
    try:
        cluster.start()
        moves = Moves(cluster, options.way)
        cluster.create(TOPIC, [moves.replicas])
        time.sleep(WARM_SECONDS)
        for acks in options.acks:
            for client in options.clients:
                yield {"brokers": kind, **measure(options, moves, client, acks)}
    finally:
        cluster.stop()


def main():
    parser = argparse.ArgumentParser()
    for name in ["--binary", "--jars", "--scratch", "--out"]:
        parser.add_argument(name, required=True)
    parser.add_argument("--moves", type=int, default=150)
    parser.add_argument("--way", choices=AFTER_SECONDS, default="elect")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--through", choices=[clusters.DIRECT, *clusters.PROXIES], default=clusters.DIRECT)
    for name, allowed in [("clients", list(move_loads.CLIENTS)), ("brokers", ["thalweg", "java"]), ("acks", ["all", "1"])]:
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


def summary(result):
    def of(name):
        gaps = result[name]
        p99 = clusters.percentile(gaps, 0.99)
        return f"{statistics.median(gaps):.1f} ms (least {min(gaps):.1f}, p99 {p99:.1f}, most {max(gaps):.1f})"

    sides = ", ".join(f"{side} {of(f'{side}_ms')}, still {of(f'{side}_still_ms')}" for side in ["produce", "fetch"])
    others = {name: value for name, value in result.items() if not isinstance(value, list)}
    return f"{sides}; {others}"


if __name__ == "__main__":
    main()
