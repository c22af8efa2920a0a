"""A broker that is killed between any two requests of a transaction.

    transaction_kills.py --binary THALWEG --scratch FOLDER --transactor PROGRAM [--seed N] [--all]
                         [--clients librdkafka,thalweg] [--only N.WAY,...]

A proxy (`transaction_proxy.py`) counts what a transactional client and its broker exchange about transactions, and has the
broker killed at one of these exchanges: before the request is passed on, while the broker is at it, or when it is answered and the
client has not heard it. The broker, which leads the partitions and coordinates transactions and group, starts again on the same directory.
Meanwhile an application makes three transactions over two partitions and the offset of a group, of which it aborts the
second. It does what applications do: it aborts and repeats what was aborted, takes a new producer with the same
transactional id when the old one is over, and goes on from where the group's committed offset is. With `--all` every exchange
is hit once in each way, otherwise the seed draws some.
"""

import argparse
import collections
import concurrent.futures
import faulthandler
import json
import os
import pathlib
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
import traceback

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from kill import Broker
from ports import free
from suite import check, eventually, eventually_with, same
from transaction_clients import CLIENTS, Aborted, Over, Stuck
from transaction_kills_check import ABORTED, OFFSETS, TRANSACTIONS, verify
from transaction_proxy import WAYS, Proxy

SETTINGS = {
    "node.id": 1,
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,DIRECT:PLAINTEXT",
    "inter.broker.listener.name": "DIRECT",
    "transaction.state.log.num.partitions": 3,
    "offsets.topic.num.partitions": 3,
    "log.segment.bytes": 1 << 20,
    "transaction.state.log.segment.bytes": 1 << 20,
    "offsets.topic.segment.bytes": 1 << 20,
}
PARTITIONS = 2
SETTLE_SECONDS = 60
# With a directory that has no topics yet: the first exchanges, which have the topics of the coordinators made.
FIRST = 4
# Exchanges of the short form, in one way each: fewer for the client that gets stuck.
SAMPLE = {"librdkafka": 5, "thalweg": 16}
# As many runs in a row in which the exchange did not come end the long form: how many there are may differ by one.
BEYOND = 2
# How long a broker may be at a request before it is killed in it: many times as long as most take.
DURING_SECONDS_MAX = 0.003
OPEN_STATES = ["Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"]


class House:
    """A directory, the broker that lives and dies in it, and the proxy before it."""

    def __init__(self, options, name):
        self.binary = options.binary
        self.scratch = pathlib.Path(options.scratch).absolute() / name
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        port, direct, proxied = free(), free(), free()
        self.bootstrap, self.direct = f"127.0.0.1:{proxied}", f"127.0.0.1:{direct}"
        settings = SETTINGS | {
            "log.dirs": self.scratch / "data",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},DIRECT://{self.direct}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap},DIRECT://{self.direct}",
        }
        command = [self.binary, "serve"]
        for one, value in settings.items():
            command += ["--set", f"{one}={value}"]
        self.log = (self.scratch / "broker.log").open("ab", buffering=0)
        self.broker = Broker(shlex.join(command), self.direct, self.log)
        self.broker.start()
        self.proxy = Proxy(proxied, port, lambda: self.broker.stop(signal.SIGKILL), self.broker.start)

    def topic(self, name):
        admin = AdminClient({"bootstrap.servers": self.direct})
        admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(30)

    def committed(self, group, topic):
        """The group's offset as who asks for stable ones is told: an answer means that no transaction holds it."""
        consumer = Consumer({
            "bootstrap.servers": self.direct, "group.id": group, "isolation.level": "read_committed", "log_level": 0,
        })  # fmt: skip
        found, errors = [], ["nothing"]

        def is_stable():
            try:
                found[:] = consumer.committed([TopicPartition(topic, 0)], 5)
                check(found[0].error is None, f"{found}")
                return True
            except KafkaException as error:
                errors[:] = [str(error)]
                return False

        try:
            eventually_with("the group's stable offset", errors, is_stable)
        finally:
            consumer.close()
        return max(0, found[0].offset)

    def values(self, topic):
        """What a reader of committed records finds in each partition."""
        consumer = Consumer({
            "bootstrap.servers": self.direct, "group.id": "readers", "isolation.level": "read_committed",
            "enable.partition.eof": True, "enable.auto.commit": False, "fetch.wait.max.ms": 50, "log_level": 0,
        })  # fmt: skip
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
        values, ended = [[] for _ in range(PARTITIONS)], set()
        deadline = time.monotonic() + SETTLE_SECONDS
        while len(ended) < PARTITIONS:
            check(time.monotonic() < deadline, f"only the ends of {ended} are reached")
            for message in consumer.consume(100, 0.1):
                if message.error() is None:
                    values[message.partition()].append(message.value().decode())
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
        consumer.close()
        return values

    def settle(self, topic, transactional_id):
        """No transaction is open: neither in its coordinator nor in a partition."""
        command = [self.binary, "transactions", "list", "--json", "-b", self.direct, "--id-pattern", transactional_id]
        states, ends = [], {}
        admin = AdminClient({"bootstrap.servers": self.direct})
        spec = {TopicPartition(topic, partition): OffsetSpec.latest() for partition in range(PARTITIONS)}

        def is_over():
            told = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)
            states[:] = [one["state"] for one in told]
            return states and not set(states) & set(OPEN_STATES)

        def is_read():
            for level in IsolationLevel:
                found = admin.list_offsets(spec, isolation_level=level)
                ends[level.name] = [found[one].result(20).offset for one in spec]
            return ends["READ_COMMITTED"] == ends["READ_UNCOMMITTED"]

        eventually_with("the transaction is over", states, is_over)
        eventually_with("the last stable offset is the end", ends, is_read)

    def end(self):
        self.proxy.close()
        if self.broker.process.poll() is None:
            self.broker.process.kill()
            self.broker.process.wait(30)

    def check_log(self):
        log = (self.scratch / "broker.log").read_text(errors="replace")
        bad = [line for line in log.splitlines() if " ERROR " in line or "panicked" in line]
        same("errors in the broker's log", [], bad[:3])


class Application:
    """Makes the transactions, whatever happens, and keeps a book of what it was told."""

    def __init__(self, house, client, program, name):
        self.house, self.name, self.topic = house, name, name
        self.open = lambda: client(house.bootstrap, name, program)
        self.producer = None
        # The next transaction, attempts so far, and the attempts that were told to be committed, or aborted.
        self.at, self.attempts = 0, 0
        self.committed, self.aborted = {}, []
        self.outcomes = collections.Counter()

    def run(self):
        try:
            while self.at < TRANSACTIONS:
                try:
                    if self.producer is None:
                        self.begin()
                        continue
                    self.transaction()
                    # Before the kill nobody is kept from beginning while the last transaction is being completed.
                    if self.house.proxy.is_killed:
                        same(f"the group's offset before {self.at}", OFFSETS[self.at], self.committed_offset())
                except Stuck:
                    waiting = self.house.proxy.waiting()
                    check(not waiting, f"the producer waits because the broker does not answer {waiting}")
                    self.outcomes["stuck in librdkafka"] += 1
                    self.close()
                except Over as why:
                    self.outcomes[f"over: {short(why)}"] += 1
                    self.close()
                check(self.attempts < 20, f"no end: {self.outcomes}")
        finally:
            self.close()

    def begin(self):
        """A new producer, which ends what the one before has left; then it is known how far the group is."""
        self.producer = self.open()
        self.producer.init()
        offset = self.committed_offset()
        known = [OFFSETS[self.at], OFFSETS[self.at + 1]]
        check(offset in known, f"the group is at {offset}, and may be at {known}: {self.outcomes}")
        if self.at != ABORTED and offset == OFFSETS[self.at + 1]:
            self.outcomes["found committed"] += 1
            self.at += 1

    def committed_offset(self):
        return self.house.committed(self.name, self.topic)

    def transaction(self):
        producer, attempt = self.producer, f"{self.at}.{self.attempts}"
        self.attempts += 1
        try:
            producer.begin()
            for partition in range(PARTITIONS):
                producer.send(self.topic, partition, attempt)
                if self.at == ABORTED + 1:
                    # One after the other, so that the transaction is half there in between.
                    producer.flush()
            producer.offsets(self.name, self.topic, 0, self.at + 1)
            if self.at != ABORTED:
                producer.commit()
                self.committed[self.at] = attempt
                self.at += 1
                return
            # Otherwise what is aborted may never have been sent.
            producer.flush()
        except Aborted as why:
            self.outcomes[f"aborted: {short(why)}"] += 1
        else:
            # Whether it is told that it succeeded, or that the next producer has to do it.
            self.at += 1
        self.aborted.append(attempt)
        try:
            producer.abort()
        except Aborted as why:
            raise Over(f"the abort: {why}") from why

    def close(self):
        if self.producer is not None:
            self.producer.close()
            self.producer = None

    def verify(self):
        self.house.settle(self.topic, self.name)
        same("the group's offset", OFFSETS[-1], self.committed_offset())
        verify(self.house.values(self.topic), self.committed, self.aborted)


def short(why):
    """An outcome without the addresses and times of this run."""
    return " ".join(str(why).split())[:100]


class Client:
    """All runs with one client."""

    def __init__(self, options, name):
        self.options, self.name, self.client = options, name, CLIENTS[name]
        self.rng = random.Random(f"{options.seed} {name}")
        self.kills, self.outcomes = collections.Counter(), collections.Counter()
        self.runs = 0

    def run(self):
        options = self.options
        moments = [(at, way) for at in range(FIRST) for way in WAYS]
        for at, way in moments if options.all else self.rng.sample(moments, 1 if not options.only else 0):
            self.house = House(options, f"{self.name}-first-{at}-{way}")
            self.one(at, way)
            self.leave()
        self.house = House(options, self.name)
        # Nothing is killed: so many exchanges there are.
        self.exchanges = self.one(None, None)
        moments = [(at, way) for at in range(self.exchanges) for way in WAYS]
        if options.only:
            for at, way in options.only:
                self.one(at, way)
        elif options.all:
            for way in WAYS:
                at = beyond = 0
                while beyond < BEYOND:
                    beyond = 0 if self.one(at, way) else beyond + 1
                    at += 1
        else:
            sample = SAMPLE[self.name]
            for at, way in self.rng.sample(moments, sample):
                self.one(at, way)
            # An exchange fewer than without a kill is possible, all of them are not.
            check(self.kills.total() > sample // 2, f"too few exchanges came: {self.kills}")
        self.leave()
        return {
            "seed": options.seed, "runs": self.runs, "exchanges": self.exchanges, "killed at": dict(sorted(self.kills.items())),
            "outcomes": dict(self.outcomes),
        }  # fmt: skip

    def one(self, at, way):
        """A run; gives how many exchanges there were without a kill, and whether there was one with it."""
        self.runs += 1
        name = f"{self.name}-{self.runs}"
        house, proxy = self.house, self.house.proxy
        house.topic(name)
        proxy.arm(name, at, way, self.rng.uniform(0, DURING_SECONDS_MAX))
        application = Application(house, self.client, self.options.transactor, name)
        try:
            application.run()
            if proxy.is_killed:
                check(proxy.is_back.wait(SETTLE_SECONDS), "the broker does not come back")
                check(proxy.failure is None, f"the broker: {proxy.failure}")
            application.verify()
        except Exception as error:
            where = f"killed {way} exchange {at} of {proxy.seen}, {dict(application.outcomes)}"
            raise AssertionError(f"{name}, {where}: {type(error).__name__} {error}") from error
        if at is not None:
            exchange = proxy.seen[at] if proxy.is_killed else "none: there were fewer"
            told = f"killed {way} exchange {at}, {exchange}; {dict(application.outcomes)}"
            print(f"transaction kills: {name}, {told}", flush=True)
        self.outcomes += application.outcomes
        if at is None:
            same("outcomes without a kill", {}, dict(application.outcomes))
            return len(proxy.seen)
        if proxy.is_killed:
            self.kills[f"{proxy.seen[at]} {way}"] += 1
        return proxy.is_killed

    def leave(self):
        self.house.end()
        self.house.check_log()
        shutil.rmtree(self.house.scratch, ignore_errors=True)


def case(options, name):
    began = time.monotonic()
    client = Client(options, name)
    try:
        result = client.run()
        millis = int((time.monotonic() - began) * 1000)
        print(f"pass transaction_kills.{name} {millis} # {client.kills.total()} exchanges killed", flush=True)
        print(f"transaction kills of {name}:", json.dumps(result), flush=True)
        return True
    except Exception as error:
        traceback.print_exc()
        millis = int((time.monotonic() - began) * 1000)
        why = " ".join(f"{type(error).__name__} {error}".split())[:2000]
        print(f"fail transaction_kills.{name} {millis}: seed {options.seed}: {why}; see {options.scratch}", flush=True)
        return False
    finally:
        house = getattr(client, "house", None)
        if house is not None:
            house.end()


def moments(text):
    """N.WAY,... as an option says it."""
    out = []
    for one in text.split(","):
        at, _, way = one.partition(".")
        if not at.isdecimal() or way not in WAYS:
            raise argparse.ArgumentTypeError(f"{one!r} is no number and one of {', '.join(WAYS)}, as 7.{WAYS[0]}")
        out.append((int(at), way))
    return out


def main():
    parser = argparse.ArgumentParser(description="a broker that is killed between any two requests of a transaction")
    for name in ["--binary", "--scratch", "--transactor"]:
        parser.add_argument(name, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all", action="store_true", help="every exchange, in each way")
    parser.add_argument("--clients", default=",".join(CLIENTS), help="librdkafka, thalweg")
    parser.add_argument("--only", type=moments, metavar="N.WAY,...", help="these exchanges, as 7.before,8.after")
    options = parser.parse_args()
    names = options.clients.split(",")
    for name in names:
        if name not in CLIENTS:
            parser.error(f"there is no client {name!r}; there are {', '.join(CLIENTS)}")
    faulthandler.enable()
    with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
        passed = list(pool.map(lambda name: case(options, name), names))
    sys.stdout.flush()
    # Threads of clients that hang must not keep a finished run alive.
    os._exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
