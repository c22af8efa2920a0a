"""What a heartbeat that is held (`thalweg.group.heartbeat.push`) does to clients, make by make.

    held_heartbeats.py --binary THALWEG --scratch FOLDER [--only LIST] [--protocol LIST] [--out FILE]
                       [--jars FOLDER --classes FOLDER] [--node-modules FOLDER] [--go-workers FOLDER]
                       [--rust-worker FILE]

Three members of one make and protocol consume two of three topics, with push off and on, in mode `server`, at
the clients' own heartbeat interval (3 s; the consumer protocol's is the broker's, 5 s). Members are those of the
group soak. A row says

- `held`: the share of members whose heartbeat is held, members that commit nothing, every 5 s, every second;
- `cpu`: the share of a core that a member takes meanwhile, which commits nothing, and every 5 s: a client may
  wait for the answer in a loop;
- `commit`: the longest time from a commit to its answer;
- `gap`: the longest time in which a member that keeps its partitions processed no record (50 records a second
  come for each of them);
- `leave`: how long a member takes to close, of which nobody knows before; `to others`: from then until the others
  own what it had, median and longest;
- `subscribe`: from a member's further topic until that has an owner, median and longest.

All times are of this machine, and no test asserts them.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import statistics
import sys
import threading
import time
import urllib.request

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from group_soak_members import Member, now, programs
from kill import Broker
from ports import free_address
from suite import eventually

HEARTBEAT_MS, CONSUMER_HEARTBEAT_MS, SESSION_MS = 3000, 5000, 45_000
PARTITIONS = 6
RATE = 50 * 3
# How often a member leaves, and subscribes to more.
TIMES = 3
SETTLE_SECONDS_MAX = 90
# How long is looked at who is held.
LOOK_SECONDS = 20
ASSIGNORS = {"kafkajs": "roundrobin"}
NEVER_MS = 1_000_000_000


class Load:
    """Writes to all partitions of the topics, in turn."""

    def __init__(self, bootstrap, topics):
        self.producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "log_level": 0})
        self.partitions = [(topic, p) for topic in topics for p in range(PARTITIONS)]
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        start = time.monotonic()
        number = 0
        while not self.stopping.is_set():
            topic, partition = self.partitions[number % len(self.partitions)]
            self.producer.produce(topic, b"record", partition=partition)
            self.producer.poll(0)
            number += 1
            time.sleep(max(0.0, start + number / RATE - time.monotonic()))

    def stop(self):
        self.stopping.set()
        self.thread.join(30)
        self.producer.flush(30)


class Group:
    """Three members of one make."""

    def __init__(self, place, client, protocol, commit_ms):
        self.place = place
        self.name = f"{client}-{protocol}-{commit_ms}"
        self.topics = [f"{self.name}-{letter}" for letter in "abc"]
        admin = AdminClient({"bootstrap.servers": place.bootstrap, "log_level": 0})
        new = [NewTopic(topic, PARTITIONS, 1) for topic in self.topics]
        for future in admin.create_topics(new).values():
            future.result(30)
        arguments = {
            "bootstrap": place.bootstrap, "group": self.name, "topics": ",".join(self.topics[:2]),
            "assignors": ASSIGNORS.get(client, "range"), "protocol": protocol, "session_ms": SESSION_MS,
            "heartbeat_ms": HEARTBEAT_MS, "rebalance_ms": 60_000, "metadata_ms": 300_000,
            "commit": "sync", "commit_ms": commit_ms, "work_us": 10,
        }
        scratch = place.scratch / self.name
        scratch.mkdir()
        environment = dict(os.environ, NODE_PATH=place.options.node_modules or "")
        command = place.commands[client]
        self.members = [
            Member(f"{self.name}-{at}", client, command, arguments, environment, scratch) for at in range(3)
        ]
        self.load = Load(place.bootstrap, self.topics)
        for member in self.members:
            member.start()
        self.settled(self.members, self.topics[:2])

    def settled(self, members, topics):
        """Waits until these own these topics, all of them something; when that was."""
        wanted = {f"{topic}-{p}" for topic in topics for p in range(PARTITIONS)}

        def is_settled():
            owned = [member.life.owned for member in members]
            return all(owned) and set().union(*owned) == wanted and sum(map(len, owned)) == len(wanted)

        eventually(f"{self.name} is settled", SETTLE_SECONDS_MAX, is_settled)
        return max(e["t"] for m in members for e in list(m.life.events) if e["e"] in ("assigned", "revoked"))

    def held(self):
        """The share of members that are held, and what share of a core a member takes."""
        # A member that has just been told something is not held at first.
        time.sleep(2.5 * CONSUMER_HEARTBEAT_MS / 1000)
        seen = []
        begun, before = time.monotonic(), self.cpu_seconds()
        end = begun + LOOK_SECONDS
        while time.monotonic() < end:
            if not self.place.push:
                # As long, for the longest commit.
                time.sleep(end - time.monotonic())
                seen = [0]
                break
            seen.append(self.place.metric("thalweg_heartbeats_held"))
            time.sleep(0.02)
        took = (self.cpu_seconds() - before) / (time.monotonic() - begun)
        return statistics.mean(seen) / len(self.members), took / len(self.members)

    def cpu_seconds(self):
        """What the members have taken so far, all together."""
        ticks = 0
        for member in self.members:
            stat = pathlib.Path(f"/proc/{member.process.pid}/stat").read_text()
            ticks += sum(int(field) for field in stat.rpartition(")")[2].split()[11:13])
        return ticks / os.sysconf("SC_CLK_TCK")

    def commit(self):
        """The longest commit."""
        commits = [e for m in self.members for e in m.life.events if e["e"] == "commit" and e["ok"]]
        return max((e["t"] - e["t0"] for e in commits), default=0) / 1000

    def gap(self):
        """The longest gap between records of the first member, which is never touched."""
        times = [e["t"] for e in self.members[0].life.events if e["e"] == "batch"]
        return max((b - a for a, b in zip(times, times[1:])), default=0) / 1000

    def leaves(self):
        closes, others = [], []
        for _ in range(TIMES):
            # Somewhere in the others' intervals.
            time.sleep(2 * CONSUMER_HEARTBEAT_MS / 1000)
            *stay, goes = self.members
            goes.tell_to_leave()
            told = goes.life.told_to_leave
            goes.wait_until_left()
            closes.append((next(e["t"] for e in goes.life.events if e["e"] == "left") - told) / 1000)
            # While it closes the others may hear of it already.
            others.append((self.settled(stay, self.topics[:2]) - told) / 1000)
            goes.start()
            self.settled(self.members, self.topics[:2])
        return closes, others

    def subscribes(self):
        out = []
        for _ in range(TIMES):
            time.sleep(2 * CONSUMER_HEARTBEAT_MS / 1000)
            member = self.members[1]
            start = now()
            self.subscribe(member, self.topics)
            out.append((self.settled(self.members, self.topics) - start) / 1000)
            time.sleep(2 * CONSUMER_HEARTBEAT_MS / 1000)
            self.subscribe(member, self.topics[:2])
            self.settled(self.members, self.topics[:2])
        return out

    @staticmethod
    def subscribe(member, topics):
        member.process.stdin.write(",".join(topics).encode() + b"\n")
        member.process.stdin.flush()

    def end(self):
        self.load.stop()
        for member in self.members:
            member.kill()


class Place:
    """A broker with or without push, and the members' programs."""

    def __init__(self, options, commands, push):
        self.options, self.commands, self.push = options, commands, push
        self.scratch = pathlib.Path(options.scratch).absolute() / ("on" if push else "off")
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        self.bootstrap, self.metrics = free_address(), free_address()
        command = [options.binary, "serve", "--listen", self.bootstrap, "--data", str(self.scratch / "data")]
        command += ["--metrics", self.metrics]
        settings = {
            "thalweg.group.heartbeat.push": str(push).lower(), "thalweg.group.classic.rebalance.mode": "server",
            "group.initial.rebalance.delay.ms": 0, "group.consumer.assignment.interval.ms": 0,
            "group.consumer.heartbeat.interval.ms": CONSUMER_HEARTBEAT_MS,
        }
        for name, value in settings.items():
            command += ["--set", f"{name}={value}"]
        self.log = (self.scratch / "broker.log").open("ab", buffering=0)
        self.broker = Broker(shlex.join(command), self.bootstrap, self.log)
        self.broker.start()

    def metric(self, name):
        with urllib.request.urlopen(f"http://{self.metrics}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        return float(re.search(rf"^{name} (\S+)", text, re.M).group(1))

    def row(self, client, protocol):
        out = {"client": client, "protocol": protocol}
        for commit_ms, what in [(1000, "held at 1 s"), (5000, "held at 5 s"), (NEVER_MS, "held")]:
            group = Group(self, client, protocol, commit_ms)
            try:
                out[what], out[what.replace("held", "cpu")] = group.held()
                if commit_ms == 1000:
                    out["commit"] = group.commit()
                if commit_ms == NEVER_MS:
                    out["leave"], out["to others"] = group.leaves()
                    can_subscribe = client in ("java", "confluent", "thalweg")
                    out["subscribe"] = group.subscribes() if can_subscribe else []
                    out["gap"] = group.gap()
            finally:
                group.end()
            # The coordinator forgets members that were killed.
            time.sleep(1)
        return out

    def end(self):
        self.broker.stop(signal.SIGTERM)
        self.log.close()


def shown(values):
    if not values:
        return "-"
    return f"{statistics.median(values):.0f} ({max(values):.0f})"


def table(rows):
    lines = [
        "| client | protocol | push | held | at 5 s | at 1 s | cpu | cpu at 5 s | commit ms | gap ms "
        "| leave ms | to others ms | subscribe ms |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row['client']} | {row['protocol']} | {row['push']} | {row['held']:.2f} | {row['held at 5 s']:.2f} "
            f"| {row['held at 1 s']:.2f} | {row['cpu']:.3f} | {row['cpu at 5 s']:.3f} | {row['commit']:.0f} | {row['gap']:.0f} | {shown(row['leave'])} "
            f"| {shown(row['to others'])} | {shown(row['subscribe'])} |"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description="held heartbeats, make by make")
    parser.add_argument("--binary", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--only", default="", metavar="LIST", help="of makes")
    parser.add_argument("--protocol", default="classic,consumer", metavar="LIST")
    parser.add_argument("--out", metavar="FILE", help="where the rows go, as JSON, and beside it as a table")
    parser.add_argument("--jars", metavar="FOLDER")
    parser.add_argument("--classes", metavar="FOLDER")
    parser.add_argument("--node-modules", metavar="FOLDER")
    parser.add_argument("--go-workers", metavar="FOLDER")
    parser.add_argument("--rust-worker", metavar="FILE")
    options = parser.parse_args()
    commands = programs(options, sys.executable)
    only = options.only.split(",") if options.only else list(commands)
    unknown = sorted(set(only) - set(commands))
    if unknown:
        parser.error(f"there is no program for {', '.join(unknown)}")
    makes = [(client, protocol) for client in only for protocol in options.protocol.split(",")
             if protocol == "classic" or client in ("java", "confluent", "thalweg")]
    rows = []
    places = {push: Place(options, commands, push) for push in (False, True)}
    try:
        for client, protocol in makes:
            for push, place in places.items():
                row = {**place.row(client, protocol), "push": "on" if push else "off"}
                rows.append(row)
                print(json.dumps(row), flush=True)
    finally:
        for place in places.values():
            place.end()
    print(table(rows))
    if options.out:
        out = pathlib.Path(options.out)
        out.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")
        out.with_suffix(".md").write_text(table(rows) + "\n")


main()
