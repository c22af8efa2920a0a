"""Groups of classic consumers whose coordinator moves to a Java broker and back: by elections, with its broker alive,
and by `kill -9` of its broker.

    coordinator_moves.py --binary THALWEG --jars FOLDER --classes FOLDER --scratch FOLDER
                         [--brokers thalweg,java|java,java] [--mode server|barrier] [--only LIST] [--at-once N]
                         [--steps LIST] [--node-modules FOLDER] [--go-workers FOLDER] [--makes FOLDER]
                         [--rust-worker FILE] [--krafka FILE] [--out FILE]

One of Kafka's controllers, two brokers, every partition on both. Broker 1 coordinates all groups in the beginning. Each
make of client has a group of its own, with three members, which process and commit what is written all the time. After
each move of the coordinator each partition must be committed to where it ended before, within 60 s. Then a fourth
member joins, and leaves: each time every partition has one owner, and commits go on. In the end all was processed, and
what `group_soak_check.py` says holds. A make that fails a step has new processes before the next one.
"""

import argparse
import concurrent.futures
import json
import os
import signal
import sys
import time

import kafka
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

import chaos
from chaos import SESSION_SECONDS, SETTLE_SECONDS, START_SECONDS
from group_run import BEGIN_SECONDS_MAX, GroupRun, Load, Watcher
from group_soak_members import Member, environment, make_programs, programs
from makes_suite import HEARTBEAT_MS, LATE, MODE, REBALANCE_MS, SESSION_MS
from makes_suite import MAKES as OTHER_MAKES
from suite import check, eventually

# Each make with a built-in assignor that the coordinator has, too; goka has its own.
MAKES = {
    "java": "range,cooperative-sticky", "confluent": "range,roundrobin", "kafkajs": "roundrobin",
    "kafka_python": "range,roundrobin", "aiokafka": "range", "franz": "cooperative-sticky", "sarama": "range",
    "thalweg": "range,cooperative-sticky",
} | OTHER_MAKES  # fmt: skip
OFFSETS = "__consumer_offsets"
# Kind of election.
PREFERRED = 0
# How long a make may take to commit what was written before a move.
GO_ON_SECONDS_MAX = 60
# Partitions of each of a group's two topics, and records a second in both.
PARTITIONS, RATE = 4, 40
REST_SECONDS = 1.0
# Those that are there all the time.
MEMBERS = 3
# The steps of a run: where the coordinator is after each, and how it gets there.
STEPS = "start,move,back,kill,back-after-kill"


class Node(chaos.Node):
    def settings(self):
        own = {"offsets.topic.replication.factor": 2, "offsets.topic.num.partitions": 1}
        if self.kind == "thalweg" and self.cluster.mode:
            own[MODE] = self.cluster.mode
        return super().settings() | own


class Cluster(chaos.Cluster):
    def __init__(self, options):
        kinds = options.brokers.split(",")
        options.java, options.thalweg = len(kinds), 0
        self.mode = options.mode
        super().__init__(options)
        check(len(kinds) == 2 and set(kinds) <= {"java", "thalweg"}, f"{options.brokers} are not two brokers")
        for node, kind in zip(self.brokers, kinds):
            node.kind = kind

    def broker(self, node_id, kind):
        return Node(self, node_id, kind)

    def start(self):
        for node in [self.controller, *self.brokers]:
            node.configure()
            node.start()
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        eventually("all brokers", START_SECONDS, lambda: len(self.known()) == len(self.brokers))

        def has_offsets():
            try:
                self.admin.describe_consumer_groups(["nobody"], request_timeout=5)["nobody"].result(10)
            except KafkaException:
                pass
            return self.coordinator() is not None

        eventually(OFFSETS, SETTLE_SECONDS, has_offsets)
        self.coordinate(1)

    def offsets(self):
        try:
            topic = self.admin.list_topics(timeout=5).topics.get(OFFSETS)
        except KafkaException:
            return None
        return topic.partitions.get(0) if topic else None

    def in_sync(self):
        partition = self.offsets()
        return partition is not None and len(partition.isrs) == 2

    def coordinator(self):
        partition = self.offsets()
        return partition.leader if partition and partition.leader > 0 else None

    def coordinate(self, broker):
        """Elects that broker as coordinator of all groups."""

        def leads():
            if self.coordinator() != broker and self.in_sync():
                try:
                    self.elect(broker)
                except kafka.errors.KafkaError as error:
                    print(f"coordinator moves: {error}", flush=True)
                time.sleep(0.2)
            return self.coordinator() == broker

        eventually(f"broker {broker} coordinates", SETTLE_SECONDS, leads)

    def elect(self, broker):
        # Not with librdkafka: an election that met a broker that went has ended the process (an assertion).
        admin = kafka.KafkaAdminClient(bootstrap_servers=self.bootstrap)
        try:
            admin.alter_partition_reassignments({kafka.TopicPartition(OFFSETS, 0): [broker, 3 - broker]})
            admin.elect_leaders(PREFERRED, {OFFSETS: [0]})
        finally:
            admin.close()

    def take(self, step):
        """Moves the coordinator; gives when that began."""
        began = time.monotonic()
        if step == "move":
            self.coordinate(2)
        elif step == "back":
            self.coordinate(1)
        elif step == "kill":
            self.brokers[0].end(signal.SIGKILL, 10)
            eventually("broker 2 coordinates", SETTLE_SECONDS, lambda: self.coordinator() == 2)
        elif step == "back-after-kill":
            self.brokers[0].start()
            # Until its session is over the metadata may not say that it was away.
            time.sleep(SESSION_SECONDS)
            eventually("the replicas are in sync", SETTLE_SECONDS, self.in_sync)
            began = time.monotonic()
            self.coordinate(1)
        return began


class MoveRun(GroupRun):
    """The group of one make."""

    def __init__(self, options, make, bootstrap, scratch):
        group = f"{make}-moves"
        topics = {f"{group}-{letter}": PARTITIONS for letter in "ab"}
        super().__init__(bootstrap, group, topics, scratch / make, SESSION_MS, may_go_back=make in LATE)
        self.make = make
        self.results = {}
        program = all_programs(options)[make]
        arguments = {
            "bootstrap": bootstrap, "group": group, "topics": ",".join(topics), "assignors": MAKES[make],
            "protocol": "classic", "session_ms": SESSION_MS, "heartbeat_ms": HEARTBEAT_MS, "rebalance_ms": REBALANCE_MS,
            "metadata_ms": 2000, "commit": "sync", "commit_ms": 250, "work_us": 1000,
        }  # fmt: skip
        for number in range(MEMBERS + 1):
            self.members.append(Member(f"m{number}", make, program, arguments, environment(options), self.scratch))

    def new_topic(self, name, partitions):
        # Each broker leads some.
        return NewTopic(name, partitions, replica_assignment=[[[1, 2], [2, 1]][at % 2] for at in range(partitions)])

    def begin(self):
        self.create_topics()
        self.load = Load(self.bootstrap, self.topics, RATE)
        self.watcher = Watcher(self.bootstrap, self.group, self.topics)
        for member in self.members[:MEMBERS]:
            member.start()

    def rest(self, members):
        for member in members:
            eventually(f"{member.label} joins", BEGIN_SECONDS_MAX, lambda m=member: self.has_begun(m, m.life))
        self.at_rest(members, REST_SECONDS, all_work=True)

    def owners(self, partition):
        return [member.label for member in self.members if member.lives and partition in member.life.owned]

    def goes_on(self, wanted):
        """Every partition is committed up to where it ended at some time."""
        behind = {}

        def is_there():
            found = self.watcher.seen[-1][1] if self.watcher.seen else {}
            behind.clear()
            behind.update({p: (found.get(p), n) for p, n in wanted.items() if found.get(p, 0) <= n})
            return not behind

        try:
            eventually("commits go on", GO_ON_SECONDS_MAX, is_there)
        except AssertionError as error:
            owners = {p: self.owners(p) for p in behind}
            raise AssertionError(f"{error}: {behind}, owned by {owners}") from None

    def step(self, name, began, wanted):
        """Takes the seconds until commits have gone on after a move, then with a fourth member, then without it."""
        result = self.results.setdefault(name, {})
        *first, fourth = self.members

        def timed(what, since, wanted=None):
            self.goes_on(wanted or dict(self.load.counts))
            result[what] = round(time.monotonic() - since, 1)

        self.say(name)
        try:
            if name == "start":
                self.rest(first)
                return timed("moved", began)
            timed("moved", began, wanted)
            self.say("a member joins")
            since = time.monotonic()
            fourth.start()
            self.rest(self.members)
            timed("joined", since)
            self.say("it leaves")
            since = time.monotonic()
            fourth.tell_to_leave()
            fourth.wait_until_left()
            self.rest(first)
            timed("left", since)
        except Exception as error:  # any is the verdict
            result["fault"] = " ".join(f"{type(error).__name__} {error}".split())[:600]
            self.say(result["fault"])
            self.begin_again()

    def begin_again(self):
        """New processes, so that the next step says something of its own."""
        for member in self.members:
            member.kill()
        for member in self.members[:MEMBERS]:
            member.start()
        try:
            self.rest(self.members[:MEMBERS])
        except AssertionError as error:
            self.say(f"and does not begin again: {error}")

    def finish(self):
        complete = not any("fault" in result for result in self.results.values())
        try:
            self.load.stop()
            if complete:
                self.drained()
                for member in self.members[:MEMBERS]:
                    member.tell_to_leave()
                for member in self.members[:MEMBERS]:
                    member.wait_until_left()
        except Exception as error:
            complete = False
            self.faults.append(f"{type(error).__name__} {' '.join(str(error).split())}")
        finally:
            self.end()
        return self.verify(complete)


def all_programs(options):
    """The command of each make's worker."""
    return programs(options, sys.executable) | make_programs(options)


def batch(options, cluster, makes):
    """Runs some makes at once, from start to end; gives a result for each."""
    runs = [MoveRun(options, make, cluster.bootstrap, cluster.scratch) for make in makes]
    try:
        return moved(options, cluster, runs)
    finally:
        # Of a batch that failed, too: its members would live on.
        for run in runs:
            run.end()


def moved(options, cluster, runs):
    out = []
    with concurrent.futures.ThreadPoolExecutor(len(runs)) as pool:
        list(pool.map(MoveRun.begin, runs))
        for step in options.steps.split(","):
            began = cluster.take(step)
            took = time.monotonic() - began
            # What is written from now on is committed at the new coordinator.
            wanted = [dict(run.load.counts) if step != "start" else None for run in runs]
            list(pool.map(lambda run, want: run.step(step, began, want), runs, wanted))
            told = ", ".join(f"{run.make} {shown(run.results[step])}" for run in runs)
            print(f"  {step} ({took:.1f} s): {told}", flush=True)
        for run, faults in zip(runs, pool.map(MoveRun.finish, runs)):
            errors = [f"{life.name}: {e['what']}" for life in run.lives() for e in life.events if e["e"] == "error"]
            refused = [e for life in run.lives() for e in life.events if e["e"] == "commit" and e["ok"] is False]
            out.append({
                "make": run.make, "brokers": options.brokers, "mode": options.mode, "steps": run.results,
                "faults": faults, "records": sum(run.load.counts.values()), "errors": len(errors),
                "refused_commits": len(refused), "error": errors[:3],
            })  # fmt: skip
    return out


def shown(result):
    if "fault" in result:
        return f"STOPS ({result['fault'][:200]})"
    return " / ".join(f"{result[name]} s" for name in ("moved", "joined", "left") if name in result)


def main():
    parser = argparse.ArgumentParser(description="groups whose coordinator moves to a Java broker and back")
    for name in ["--binary", "--jars", "--scratch"]:
        parser.add_argument(name, required=True)
    parser.add_argument("--brokers", default="thalweg,java")
    parser.add_argument("--mode", default="", choices=["", "server", "barrier"])
    parser.add_argument("--only", default="", metavar="LIST", help=f"of {', '.join(MAKES)}")
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--steps", default=STEPS, metavar="LIST")
    for name in ["--classes", "--node-modules", "--go-workers", "--makes", "--rust-worker", "--krafka", "--out"]:
        parser.add_argument(name)
    options = parser.parse_args()
    unknown = set(options.steps.split(",")) - set(STEPS.split(","))
    check(not unknown, f"there are no steps {unknown}")
    found = all_programs(options)
    makes = [make for make in (options.only.split(",") if options.only else MAKES) if make in found]
    check(makes, "there is no program of any of these makes")
    print(f"coordinator moves: {options.brokers}, mode {options.mode or 'by default'}: {', '.join(makes)}", flush=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began = time.monotonic()
    cluster = Cluster(options)
    faults = 0
    try:
        cluster.start()
        for at in range(0, len(makes), options.at_once):
            for result in batch(options, cluster, makes[at : at + options.at_once]):
                found = [f"{name}: {step['fault']}" for name, step in result["steps"].items() if "fault" in step]
                found += result["faults"]
                faults += len(found)
                verdict = "fail" if found else "pass"
                what = f": {'; '.join(found)[:1500]}" if found else f" # {result['records']} records"
                print(f"{verdict} coordinator_moves.{result['make']} {chaos.millis(began)}{what}", flush=True)
                if options.out:
                    with open(options.out, "a", encoding="utf-8") as file:
                        file.write(json.dumps(result) + "\n")
    finally:
        cluster.stop()
    print(f"coordinator moves: {len(makes)} makes, {faults} faults", flush=True)
    sys.stdout.flush()
    os._exit(1 if faults else 0)


if __name__ == "__main__":
    main()
