"""Groups of unmodified clients of many makes, in one consumer group, killed, paused, restarted, while topics
grow: in both modes of `thalweg.group.classic.rebalance.mode`, and with heartbeats held and not
(`thalweg.group.heartbeat.push`).

    group_soak.py --binary THALWEG --scratch FOLDER [--mode server|barrier|both] [--minutes N] [--seed N]
                  [--only LIST] [--keep] [--also WHAT] [--push on|off]
                  [--jars FOLDER --classes FOLDER] [--node-modules FOLDER] [--go-workers FOLDER]
                  [--rust-worker FILE]

The groups are in `group_soak_runs.py`, what must hold in `group_soak_check.py`, the members' programs are
`group_worker_*.py` and those that they name. A round is one group; rounds follow each other, each with the
next seed, until the minutes are over, which are those of each mode. A seed decides who does what and when, and
whether the broker dies, too, or the group's mode changes all the time; 0 minutes are one round. Clients whose
programs are not there are left out, and named.
"""

import argparse
import collections
import faulthandler
import itertools
import json
import os
import pathlib
import random
import shlex
import shutil
import signal
import sys
import time
import traceback

from confluent_kafka import KafkaException
from confluent_kafka.admin import NewPartitions

import group_soak_check as checks
from group_run import BEGIN_SECONDS_MAX, METADATA_MS, GroupRun, Load, Watcher
from group_soak_members import Member, environment, now, programs
from group_soak_runs import ASSIGNED_BY_SERVER, GROUPS, ORDER, broker_deaths, plan, switches
from kill import Broker
from ports import free_address
from suite import check, eventually

SESSION_MS, HEARTBEAT_MS, REBALANCE_MS = 4000, 400, 10_000
SETTINGS = {
    "node.id": 1,
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": 4,
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 1000,
    "group.consumer.min.session.timeout.ms": 1000,
    "group.consumer.session.timeout.ms": SESSION_MS,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": HEARTBEAT_MS,
}
MODE = "thalweg.group.classic.rebalance.mode"
PUSH = "thalweg.group.heartbeat.push"
# How long a round's storm lasts.
STORM_SECONDS = 24
# Partitions of the two topics, and records a second in all of them.
PARTITIONS = (7, 5)
RATE = 300
# What a round has beside members that are killed and so on: round after round of all groups.
ALSO = ["nothing", "nothing", "broker-dies", "mode-changes"]
# No rebalance for so long is rest.
REST_SECONDS = 2.5
FAULTS_SHOWN = 12


class Round(GroupRun):
    """One group from its first member to its last."""

    def __init__(self, options, mode, name, seed, broker, scratch, commands):
        self.mode, self.name, self.seed = mode, name, seed
        # What is done beside what is done to members.
        self.also = options.also or ALSO[seed // len(ORDER) % len(ALSO)]
        group = f"{name}-{seed}"
        topics = {f"{group}-{letter}": count for letter, count in zip("ab", PARTITIONS)}
        super().__init__(f"{broker.host}:{broker.port}", group, topics, scratch / group, SESSION_MS)
        self.broker = broker
        self.rng = random.Random(f"{seed} {name}")
        self.left_out = []
        variables = environment(options)
        for at, seat in enumerate(GROUPS[name]):
            commit = self.rng.choice(["sync", "async"])
            work_us = self.rng.choice([100, 1000, 4000])
            if seat.client not in commands:
                self.left_out.append(seat.client)
                continue
            arguments = {
                "bootstrap": self.bootstrap, "group": self.group, "topics": ",".join(self.topics),
                "assignors": seat.assignors, "protocol": seat.protocol, "session_ms": SESSION_MS,
                "heartbeat_ms": HEARTBEAT_MS, "rebalance_ms": REBALANCE_MS, "metadata_ms": METADATA_MS,
                "commit": commit, "commit_ms": 250, "work_us": work_us,
            }
            member_name = f"m{at}-{seat.client}" + ("-848" if seat.protocol == "consumer" else "")
            if seat.is_static:
                arguments["instance"] = member_name
            self.members.append(
                Member(member_name, seat.client, commands[seat.client], arguments, variables, self.scratch)
            )
        self.deeds = plan(self.rng, len(self.members), STORM_SECONDS, SESSION_MS / 1000)
        if self.also == "broker-dies":
            self.deeds += broker_deaths(random.Random(f"{seed} {name} broker"), STORM_SECONDS)
        if self.also == "mode-changes":
            self.deeds += switches(random.Random(f"{seed} {name} switch"), STORM_SECONDS)
        self.now_in = mode
        # Heartbeats are held in two rounds of three.
        self.push = options.push == "on" if options.push else random.Random(f"{seed} {name} push").randrange(3) > 0
        self.grown = []

    # ---- the course of it ----

    def run(self):
        self.create_topics()
        if not self.push:
            self.configure(PUSH, "false")
        self.load = Load(self.bootstrap, self.topics, RATE)
        self.watcher = Watcher(self.bootstrap, self.group, self.topics)
        for member in self.members:
            member.start()
            time.sleep(self.rng.choice([0.0, 0.1, 0.6]))
        for member in self.members:
            life = member.life
            eventually(f"{member.label} joins", BEGIN_SECONDS_MAX, lambda m=member, l=life: self.has_begun(m, l))
        self.storm(self.deeds)
        self.settle()

    def check_broker(self):
        check(self.broker.process.poll() is None, "the broker ended by itself")

    def do(self, deed):
        if deed.what == "grow":
            topic = list(self.topics)[deed.whom]
            before, count = self.topics[topic], self.topics[topic] + int(deed.seconds)
            self.grown.append(now())
            self.say(f"{topic} grows from {before} to {count}")
            self.admin.create_partitions([NewPartitions(topic, count)])[topic].result(30)
            self.topics[topic] = count
            self.load.grow(topic, before, count)
            return
        if deed.what.startswith("broker"):
            self.say(deed.what)
            self.broker.stop(signal.SIGKILL if deed.what == "broker-kill" else signal.SIGTERM)
            self.broker.start()
            self.say("the broker is back")
            return
        if deed.what == "switch":
            self.now_in = "barrier" if self.now_in == "server" else "server"
            self.say(f"from here on {self.now_in}")
            self.configure(MODE, self.now_in)
            return
        super().do(deed)

    def settle(self):
        self.say("settle")
        for member in self.members:
            life = member.life
            eventually(f"{member.label} joins", BEGIN_SECONDS_MAX, lambda m=member, l=life: self.has_begun(m, l))
        self.at_rest(self.members, REST_SECONDS)
        self.say("at rest")
        self.load.stop()
        self.drained()
        self.say("drained")
        for member in self.members:
            member.tell_to_leave()
        for member in self.members:
            try:
                member.wait_until_left()
            except AssertionError as error:
                self.faults.append(str(error))
        self.say("left")

    # ---- the verdict ----

    def verify(self, complete):
        faults = super().verify(complete)
        # Clients whose connections end join again.
        if self.mode == "server" and self.name in ASSIGNED_BY_SERVER and self.also == "nothing":
            checks.untouched(self.lives(), SESSION_MS * 1000, self.grown, faults)
        return faults

    def report(self):
        counts = checks.summary(self.lives(), SESSION_MS * 1000, self.grown)
        records = sum(self.load.counts.values()) if self.load else 0
        batches = [e for life in self.lives() for e in life.events if e["e"] == "batch"]
        commits = collections.Counter(e["ok"] for life in self.lives() for e in life.events if e["e"] == "commit")
        return {
            "mode": self.mode, "group": self.name, "also": "" if self.also == "nothing" else self.also,
            "push": self.push, "seed": self.seed, "records": records,
            "processed": sum(b["to"] - b["from"] + 1 for b in batches),
            "commits": commits[True], "refused": commits[False], "unknown": commits[None],
            "lives": len(self.lives()), "deeds": len(self.deeds), "left out": self.left_out,
            "turns": {client: dict(sorted(kinds.items())) for client, kinds in sorted(counts.items())},
        }

def one_round(options, mode, name, seed, broker, scratch, commands):
    this = Round(options, mode, name, seed, broker, scratch, commands)
    also = "" if this.also == "nothing" else f", {this.also}"
    push = "on" if this.push else "off"
    print(f"soak mixed: {mode} {name}{also}, push {push}, seed {seed}", flush=True)
    start = time.monotonic()
    complete = False
    try:
        this.run()
        complete = True
    except AssertionError as error:
        this.say(f"fails: {error}")
        this.faults.append(" ".join(str(error).split()))
    except BaseException as error:  # any other is the verdict, too
        traceback.print_exc()
        this.faults.append(f"{type(error).__name__} {error}")
        if isinstance(error, KeyboardInterrupt):
            raise
    finally:
        this.end()
    try:
        faults = this.verify(complete)
    except KafkaException as error:
        faults = [*this.faults, f"what is committed cannot be read: {error}"]
    report = this.report()
    with (scratch / "rounds.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({**report, "faults": faults}) + "\n")
    took = time.monotonic() - start
    print(
        f"  {took:.0f} s, {report['deeds']} deeds, {report['lives']} processes, {report['records']} records processed "
        f"{report['processed']} times, commits {report['commits']} ok {report['refused']} refused"
        + (f"; left out: {', '.join(this.left_out)}" if this.left_out else "")
    )
    for client, kinds in report["turns"].items():
        print(f"  {client}: " + ", ".join(f"{kind} {count}" for kind, count in kinds.items()))
    for fault in faults[:FAULTS_SHOWN]:
        print(f"  FAULT {fault}")
    if len(faults) > FAULTS_SHOWN:
        print(f"  and {len(faults) - FAULTS_SHOWN} more")
    if faults:
        again = f"THALWEG_SEED_BASE={seed} cargo xtask soak mixed 0"
        if options.only or options.also or options.push:
            again = f"--only {name} --also {this.also} --push {push} --seed {seed}"
        print(f"  see {this.scratch}; again: {again}", flush=True)
    elif not options.keep:
        shutil.rmtree(this.scratch, ignore_errors=True)
    return report, faults


def in_mode(options, mode, commands):
    """Rounds of one broker in one mode; gives their reports and the number of faults."""
    scratch = pathlib.Path(options.scratch).absolute() / mode
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    bootstrap = free_address()
    command = [options.binary, "serve", "--listen", bootstrap, "--data", str(scratch / "data")]
    settings = {**SETTINGS, MODE: mode, **dict(one.split("=", 1) for one in options.set)}
    for name, value in settings.items():
        command += ["--set", f"{name}={value}"]
    names = options.only.split(",") if options.only else ORDER
    begin = options.seed % len(names)
    reports, failures = [], 0
    with (scratch / "broker.log").open("ab", buffering=0) as log:
        broker = Broker(shlex.join(command), bootstrap, log)
        broker.start()
        try:
            end = time.monotonic() + options.minutes * 60
            for number in itertools.count():
                name = names[(begin + number) % len(names)]
                report, faults = one_round(options, mode, name, options.seed + number, broker, scratch, commands)
                reports.append(report)
                failures += len(faults)
                if time.monotonic() >= end:
                    break
        finally:
            if broker.process.poll() is None:
                broker.stop(signal.SIGTERM)
    for line in (scratch / "broker.log").read_text(errors="replace").splitlines():
        if "ERROR" in line or "panicked" in line:
            print(f"soak mixed: the broker's log: {line}")
            failures += 1
    return reports, failures


def table(reports):
    """Rebalances by mode and client, over all rounds. Groups that the coordinator assigns in no mode, or by
    Kafka's rules in both, stand apart."""
    sums = collections.defaultdict(collections.Counter)
    for report in reports:
        mode = report["mode"]
        if report["group"] not in ASSIGNED_BY_SERVER:
            mode += " *"
        elif report["also"]:
            mode += " +"
        for client, kinds in report["turns"].items():
            sums[mode, client].update(kinds)
    kinds = ["first", "kept", "asked", "settled", "gained", "moved", "fenced", "idle", "stood_ms"]
    print("soak mixed: rebalances by what they did to the member that was told")
    print("  (* members of the consumer protocol or assignors of their own, + the broker dies or the mode changes)")
    print(f"  {'mode':10} {'client':13}" + "".join(f"{kind:>10}" for kind in kinds))
    for (mode, client), counts in sorted(sums.items()):
        print(f"  {mode:10} {client:13}" + "".join(f"{counts[kind]:>10}" for kind in kinds))


def main():
    parser = argparse.ArgumentParser(description="clients of many makes in one group")
    parser.add_argument("--binary", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--mode", default="both", choices=["server", "barrier", "both"])
    parser.add_argument("--minutes", type=float, default=0.0, help="of each mode")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--only", default="", metavar="LIST", help=f"of {', '.join(ORDER)}")
    parser.add_argument("--also", default="", choices=sorted(set(ALSO)), help="for all rounds, whatever the seed")
    parser.add_argument("--push", default="", choices=["on", "off"], help=f"{PUSH}, whatever the seed")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--keep", action="store_true", help="what the members of rounds without faults told")
    parser.add_argument("--jars", metavar="FOLDER")
    parser.add_argument("--classes", metavar="FOLDER")
    parser.add_argument("--node-modules", metavar="FOLDER")
    parser.add_argument("--go-workers", metavar="FOLDER", help="with the programs franz and sarama")
    parser.add_argument("--rust-worker", metavar="FILE", help="the program of tests/user with our client")
    options = parser.parse_args()
    faulthandler.enable()
    # So that what was started ends, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    unknown = [name for name in options.only.split(",") if name and name not in GROUPS]
    if unknown:
        parser.error(f"--only: {', '.join(unknown)} is not among {', '.join(ORDER)}")
    commands = programs(options, sys.executable)
    print(f"soak mixed: seed {options.seed}; clients: {', '.join(sorted(commands))}", flush=True)
    reports, failures = [], 0
    for mode in ["server", "barrier"] if options.mode == "both" else [options.mode]:
        more, failed = in_mode(options, mode, commands)
        reports += more
        failures += failed
    table(reports)
    print(f"soak mixed: {len(reports)} rounds, {failures} faults", flush=True)
    # Threads of a client that hangs must not keep a finished run alive.
    sys.stdout.flush()
    os._exit(1 if failures else 0)


if __name__ == "__main__":
    main()
