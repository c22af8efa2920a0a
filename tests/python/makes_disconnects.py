"""What ended connections do to members of each make of clients, with and without `thalweg.group.disconnect.grace.ms`.

    makes_disconnects.py --binary THALWEG --scratch FOLDER --out FILE [--only LIST] [--mode server|barrier]
                         [--graces LIST] [--events LIST] [--repetitions N] [--kills N] [--at-once N] [--set NAME=VALUE] [--tables]
                         [--jars FOLDER --classes FOLDER]
                         [--node-modules FOLDER] [--go-workers FOLDER] [--rust-worker FILE] [--makes FOLDER]
                         [--krafka FILE]

Each make has a group of three members for each grace, behind a proxy (`group_proxy.py`), with the session timeout and the
heartbeat interval that clients have by default. All groups go through the same events at once. A member lost its
membership if its process has another member id after the event, or, with the consumer protocol, where clients keep their
ids, if it was removed. "Returned" is how long after the event each member sent its next request. At the end one member of each group is killed, again and again, and the time is taken until
its partitions have a new owner. A line of FILE is one group and event, as JSON; the tables follow on standard output.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shlex
import signal
import statistics
import subprocess
import sys
import time
import urllib.request

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from group_proxy import Proxy
from group_run import BEGIN_SECONDS_MAX, GroupRun, Load
from group_soak_members import Member, environment, make_programs, programs
from kill import Broker
from makes_suite import MAKES, MODE, MODES
from ports import free
from suite import check, eventually

GRACE = "thalweg.group.disconnect.grace.ms"
# What clients have by default.
SESSION_MS, HEARTBEAT_MS, REBALANCE_MS = 45_000, 3_000, 60_000
MEMBERS, PARTITIONS, RATE = 3, 3, 10
# JoinGroup, Heartbeat, SyncGroup, ConsumerGroupHeartbeat.
MEMBER_REQUESTS = {11, 12, 14, 68}
# Client, assignors and protocol of each make.
SEATS = {
    "java": ("java", "range", "classic"),
    "java-consumer": ("java", "", "consumer"),
    "confluent": ("confluent", "range", "classic"),
    "confluent-consumer": ("confluent", "", "consumer"),
    "thalweg": ("thalweg", "range", "classic"),
    "thalweg-consumer": ("thalweg", "", "consumer"),
    "kafka_python": ("kafka_python", "range", "classic"),
    "aiokafka": ("aiokafka", "range", "classic"),
    "kafkajs": ("kafkajs", "roundrobin", "classic"),
    "franz": ("franz", "range", "classic"),
    "sarama": ("sarama", "range", "classic"),
    **{make: (make, assignors, "classic") for make, assignors in MAKES.items()},
    "krafka-consumer": ("krafka", "", "consumer"),
}  # fmt: skip
# Two intervals of 5 s, a grace of 5 s, and some time to join again.
SETTLE_SECONDS = 17
# Shorter than a heartbeat interval.
IDLE_SECONDS, IDLE_PHASE_SECONDS = 2.0, 20
KILL_SECONDS_MAX = 75
IDLE = "idle closing"
DISCONNECTED = "thalweg_group_members_disconnected_total"

EVENTS = {
    "reset": lambda proxy: proxy.cut(""),
    "restart of the proxy": lambda proxy: proxy.restart(0.3),
    "port closed for 2 s": lambda proxy: proxy.restart(2.0, with_reset=True),
}


def idle(proxy):
    proxy.close_idle(IDLE_SECONDS)
    time.sleep(IDLE_PHASE_SECONDS)
    proxy.close_idle(None)


class Group(GroupRun):
    """The group of one make with one grace."""

    def __init__(self, options, make, mode, grace, bootstrap, scratch):
        client, assignors, protocol = SEATS[make]
        group = f"{make}-{mode}-{grace}"
        topics = {f"{group}-{letter}": PARTITIONS for letter in "ab"}
        super().__init__(bootstrap, group, topics, scratch / group, SESSION_MS)
        self.make, self.mode, self.grace = make, mode, grace
        command = (programs(options, sys.executable) | make_programs(options))[client]
        for number in range(MEMBERS):
            arguments = {
                "bootstrap": bootstrap, "group": group, "topics": ",".join(topics), "assignors": assignors,
                "protocol": protocol, "session_ms": SESSION_MS, "heartbeat_ms": HEARTBEAT_MS,
                "rebalance_ms": REBALANCE_MS, "metadata_ms": 5000, "commit": "sync", "commit_ms": 1000, "work_us": 1000,
            }  # fmt: skip
            self.members.append(
                Member(f"{group}-m{number}", make, command, arguments, environment(options), self.scratch)
            )

    def begin(self):
        self.create_topics()
        self.configure(MODE, self.mode)
        self.configure(GRACE, str(self.grace))
        self.load = Load(self.bootstrap, self.topics, RATE)
        for member in self.members:
            member.start()

    def formed(self):
        for member in self.members:
            eventually(f"{member.label} joins", BEGIN_SECONDS_MAX, lambda m=member: self.has_begun(m, m.life))
        self.at_rest(self.members, 1.0, all_work=True)

    def kill_one(self):
        """When it was killed, and what it owned."""
        victim = self.members[-1]
        owned = set(victim.life.owned)
        check(owned, f"{victim.label} owns nothing")
        victim.kill()
        return victim.life.killed, owned

    def taken_over(self, killed, owned):
        """Seconds from the kill to the moment at which the last of its partitions was assigned; `None` if not yet."""
        survivors = [member.life for member in self.members[:-1]]
        if owned - set().union(*(life.owned for life in survivors)):
            return None
        at = 0
        for partition in owned:
            for life in survivors:
                if partition in life.owned:
                    told = [e["t"] for e in list(life.events) if e["e"] == "assigned" and partition in e["p"]]
                    at = max(at, told[-1])
        return (at - killed) / 1e6


class Run:
    """Groups of several makes, one broker, one proxy."""

    def __init__(self, options, scratch):
        self.options, self.scratch = options, scratch
        self.scratch.mkdir(parents=True, exist_ok=True)
        self.inner, self.outer, self.metrics = free(), free(), free()
        self.bootstrap = f"127.0.0.1:{self.outer}"
        self.out = open(options.out, "a", encoding="utf-8", buffering=1)
        self.reports = []
        self.requests = collections.defaultdict(list)
        self.groups = []

    def heard(self, client_id, key):
        """A request of a member has passed."""
        if key in MEMBER_REQUESTS:
            self.requests[client_id].append(time.monotonic())

    def returned(self, group, since):
        """Seconds until the next request of each of the group's members; `None` for one that sent none."""
        out = []
        for member in group.members:
            times = [at - since for at in list(self.requests[member.life.name]) if at > since]
            out.append(round(times[0], 2) if times else None)
        return out

    def report(self, group, event, **more):
        report = {"make": group.make, "mode": group.mode, "grace_ms": group.grace, "event": event, **more}
        self.reports.append(report)
        self.out.write(json.dumps(report) + "\n")

    def removed(self):
        """Members that the broker has removed because their connections were gone."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics}/metrics", timeout=10) as page:
            return int(float(re.search(rf"^{DISCONNECTED} (\S+)", page.read().decode(), re.MULTILINE)[1]))

    def ids(self):
        """The member ids of each group, when it has all of its members."""
        found = {}

        def all_there():
            # A new one each time: after a cut, librdkafka's admin client was seen to time out for minutes.
            admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
            asked = admin.describe_consumer_groups([group.group for group in self.groups], request_timeout=10)
            try:
                for name, future in asked.items():
                    found[name] = {member.member_id for member in future.result(15).members}
            except KafkaException as error:
                found["error"] = str(error)
                return False
            found.pop("error", None)
            return all(len(ids) >= MEMBERS for ids in found.values())

        try:
            eventually("every group has its members", 90, all_there)
        except AssertionError as error:
            raise AssertionError(f"{error}: {found}") from None
        return found

    def why(self, group):
        command = [self.options.binary, "group", "why", group.group, "--bootstrap-server", self.bootstrap]
        told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return [line.strip() for line in told.stdout.splitlines() if "removed" in line or "gone" in line or "timeout" in line]

    def event(self, name, number, act):
        before, removed = self.ids(), self.removed()
        since = time.monotonic()
        act(self.proxy)
        time.sleep(SETTLE_SECONDS)
        after, removed = self.ids(), self.removed() - removed
        for group in self.groups:
            had, has = before[group.group], after[group.group]
            # Some clients join again as new members, whatever the broker does; what they were stays for a session.
            lost, gone = len(has - had), len(had - has)
            if SEATS[group.make][2] == "consumer":
                lost = sum(
                    any(e["e"] == "lost" and e["t"] > since * 1e6 for e in list(member.life.events))
                    for member in group.members
                )
            why = self.why(group) if lost or gone else []
            self.report(group, name, number=number, members=MEMBERS, lost=lost, gone=gone, why=why,
                        returned=self.returned(group, since))  # fmt: skip
        lost = sum(report["lost"] for report in self.reports[-len(self.groups) :])
        print(f"{name} {number}: {lost} memberships lost, {removed} removed for their connections", flush=True)

    def kills(self, number):
        for group in list(self.groups):
            try:
                group.formed()
            except AssertionError as error:
                # Its old members may keep its partitions for a session.
                print(f"kill {number}: {group.group} is left out: {error}", flush=True)
                self.groups.remove(group)
                group.end()
        # So that every connection has carried two heartbeats.
        time.sleep(3 * HEARTBEAT_MS / 1000)
        waiting = {group: group.kill_one() for group in self.groups}
        deadline = time.monotonic() + KILL_SECONDS_MAX
        while waiting and time.monotonic() < deadline:
            for group, killed in list(waiting.items()):
                seconds = group.taken_over(*killed)
                if seconds is not None:
                    del waiting[group]
                    self.report(group, "kill", number=number, seconds=seconds)
                    print(f"kill {number}: {group.group} {seconds:.1f} s", flush=True)
            time.sleep(0.05)
        for group in waiting:
            self.report(group, "kill", number=number, seconds=None)
            print(f"kill {number}: {group.group}: no new owner within {KILL_SECONDS_MAX} s", flush=True)
        for group in self.groups:
            group.members[-1].start()

    def run(self, makes):
        options = self.options
        settings = {
            "node.id": 1, "auto.create.topics.enable": "false", "group.initial.rebalance.delay.ms": 500,
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap}",
        }  # fmt: skip
        settings.update(one.split("=", 1) for one in options.set)
        command = [options.binary, "serve", "--listen", f"127.0.0.1:{self.inner}", "--data", str(self.scratch / "data"),
                   "--metrics", f"127.0.0.1:{self.metrics}"]  # fmt: skip
        for name, value in settings.items():
            command += ["--set", f"{name}={value}"]
        with (self.scratch / "broker.log").open("ab", buffering=0) as log:
            broker = Broker(shlex.join(command), f"127.0.0.1:{self.inner}", log)
            broker.start()
            self.proxy = Proxy(self.outer, self.inner, self.heard)
            graces = [int(grace) for grace in options.graces.split(",")]
            try:
                for make in makes:
                    for grace in graces:
                        group = Group(options, make, options.mode, grace, self.bootstrap, self.scratch)
                        self.groups.append(group)
                        group.begin()
                for group in self.groups:
                    group.formed()
                print(f"{len(self.groups)} groups are formed", flush=True)
                time.sleep(3 * HEARTBEAT_MS / 1000)
                events = options.events.split(",") if options.events else [*EVENTS, IDLE]
                for number in range(options.repetitions):
                    for name in EVENTS:
                        if name in events:
                            self.event(name, number, EVENTS[name])
                for group in self.groups:
                    group.load.stop()
                for number in range(min(options.repetitions, 2) if IDLE in events else 0):
                    self.event(IDLE, number, idle)
                for number in range(options.kills):
                    self.kills(number)
            finally:
                for group in self.groups:
                    group.end()
                if broker.process.poll() is None:
                    broker.stop(signal.SIGTERM)


def tables(reports):
    """Lost memberships of each make and event, and how long a killed member's partitions had no owner."""
    lost, seconds = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(list)
    for report in reports:
        key = report["make"], report["mode"], report["event"], report["grace_ms"]
        if report["event"] == "kill":
            seconds[key].append(report["seconds"])
        else:
            lost[key][0] += report["lost"]
            lost[key][1] += report["members"]
    print("| make | mode | event | grace ms | lost of |\n|---|---|---|---|---|")
    for (make, mode, event, grace), (gone, members) in sorted(lost.items()):
        print(f"| {make} | {mode} | {event} | {grace} | {gone} of {members} |")
    print("\n| make | mode | grace ms | kills | seconds, median | longest |\n|---|---|---|---|---|---|")
    for (make, mode, _, grace), taken in sorted(seconds.items()):
        known = [one for one in taken if one is not None]
        median, longest = (f"{statistics.median(known):.1f}", f"{max(known):.1f}") if known else ("-", "-")
        print(f"| {make} | {mode} | {grace} | {len(known)} of {len(taken)} | {median} | {longest} |")


def main():
    parser = argparse.ArgumentParser(description="what ended connections do to members of each make")
    parser.add_argument("--binary")
    parser.add_argument("--scratch")
    parser.add_argument("--out", required=True, help="lines of JSON; more are appended")
    parser.add_argument("--only", default="", metavar="LIST", help=f"of {', '.join(SEATS)}")
    parser.add_argument("--mode", default="server", choices=MODES)
    parser.add_argument("--graces", default="5000,0")
    parser.add_argument("--events", default="", metavar="LIST", help=f"of {', '.join([*EVENTS, IDLE])}")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--at-once", type=int, default=6, metavar="N", help="so many makes have a broker together")
    parser.add_argument("--tables", action="store_true", help="only of what FILE has")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    for name in ("--jars", "--classes", "--node-modules", "--go-workers", "--rust-worker", "--makes", "--krafka"):
        parser.add_argument(name)
    options = parser.parse_args()
    if not options.tables:
        known = programs(options, sys.executable) | make_programs(options)
        makes = [make for make in (options.only.split(",") if options.only else SEATS) if SEATS[make][0] in known]
        if not makes:
            parser.error("there is no program of any of these makes")
        print(f"disconnects: {', '.join(makes)}", flush=True)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        scratch = pathlib.Path(options.scratch).absolute()
        for at in range(0, len(makes), options.at_once):
            Run(options, scratch / str(at)).run(makes[at : at + options.at_once])
    with open(options.out, encoding="utf-8") as file:
        tables([json.loads(line) for line in file])
    sys.stdout.flush()
    # Threads of a client that hangs must not keep a finished run alive.
    os._exit(0)


if __name__ == "__main__":
    main()
