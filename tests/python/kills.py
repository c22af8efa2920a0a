"""A broker that dies at any moment: during recovery, creation and deletion of topics, retention,
DeleteRecords, changes of configs, commits and snapshots, twice in a row, while it stops; one that is
stopped by SIGSTOP; a file system that is full; a wall clock that moves.

`kill.py` asks whether records survive under four clients, and runs against Apache Kafka, too. This
one knows of everything that was asked for whether it was acknowledged (`kills_book.py`).

    kills.py --binary THALWEG --scratch FOLDER [--seed N] [--rounds N] [--minutes N] [--only LIST]

The seed decides the schedule: settings, storms, moments, how the broker dies. There is one house, and
the special rounds beside it; with minutes, houses follow each other, each with the next seed and a
directory of its own. The first rounds of a seed are the same however many there are.
"""

import argparse
import collections
import concurrent.futures
import faulthandler
import itertools
import os
import pathlib
import random
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback

import kills_special
from kill import Broker, Member, RdkafkaLoad, catch_up
from kills_book import Book
from kills_loads import CliLoad, CliMember, Readers, Writer
from kills_storms import STORMS, Storms
from ports import free_address
from suite import check, eventually, same
from wire import Closed

# Everything that runs by the clock runs often, and segments and snapshots are small.
SETTINGS = {
    "node.id": 1,
    "log.segment.bytes": 1 << 20,
    "log.roll.ms": 900,
    "log.segment.delete.delay.ms": 200,
    "log.initial.task.delay.ms": 50,
    "log.retention.check.interval.ms": 150,
    "log.flush.offset.checkpoint.interval.ms": 200,
    "log.flush.start.offset.checkpoint.interval.ms": 60_000,
    "log.flush.scheduler.interval.ms": 300,
    "log.index.interval.bytes": 512,
    "offsets.topic.num.partitions": 3,
    "offsets.topic.segment.bytes": 1 << 20,
    "metadata.log.max.record.bytes.between.snapshots": 3000,
    "metadata.log.max.snapshot.interval.ms": 1000,
    "metadata.max.retention.bytes": 20_000,
    "broker.session.timeout.ms": 2000,
    "broker.heartbeat.interval.ms": 300,
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 1000,
}
# One of each for a house.
DRAWN = [
    ("log.preallocate", ["false", "true"]),
    ("log.flush.interval.messages", ["9223372036854775807", "1", "50"]),
    ("num.recovery.threads.per.data.dir", ["1", "4"]),
    ("internal.metadata.log.segment.bytes", ["4000", "8388608"]),
    ("log.dirs", ["one", "two"]),
]
# How the broker dies, and how often each is drawn.
WAYS = ["kill"] * 3 + ["twice"] * 3 + ["dying"] * 2 + ["stopped"]
STORM_SECONDS = (0.05, 1.2)
# Longer than the sessions of groups, of the broker with its controller, and the clients' requests.
STOPPED_SECONDS = 6.5
ROUNDS = 8
# In the long form: houses from one with special rounds to the next.
SPECIALS_EVERY = 4
REPEAT = "THALWEG_SEED_BASE={} cargo xtask soak kills 0"


class House:
    """A directory, the broker that lives and dies in it, and the loads."""

    def __init__(self, options, seed):
        self.rng = random.Random(seed)
        self.binary = options.binary
        self.scratch = pathlib.Path(options.scratch).absolute() / f"house-{seed}"
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        self.log = (self.scratch / "broker.log").open("ab", buffering=0)
        self.bootstrap = free_address()
        settings = dict(SETTINGS) | {name: self.rng.choice(values) for name, values in DRAWN}
        self.data = [self.scratch / "data"]
        if settings.pop("log.dirs") == "two":
            self.data.append(self.scratch / "more")
        settings["log.dirs"] = ",".join(str(one) for one in self.data)
        command = [self.binary, "serve", "--listen", self.bootstrap]
        for name, value in settings.items():
            command += ["--set", f"{name}={value}"]
        self.broker = Broker(shlex.join(command), self.bootstrap, self.log)
        self.book = Book(self.bootstrap, self.data)
        self.storms = Storms(self.book, self.rng)
        self.usual_start = 0.5
        self.loads, self.groups, self.members = [], [], []

    def plan(self, rounds):
        """Each storm and each way to die comes before one comes again."""
        out = []
        storms, ways = [], []
        for _ in range(rounds):
            storms = storms or self.rng.sample(STORMS, len(STORMS))
            ways = ways or self.rng.sample(WAYS, len(WAYS))
            raging = [storms.pop()]
            other = self.rng.choice(STORMS)
            if other not in raging and self.rng.random() < 0.5:
                raging.append(other)
            out.append((raging, ways.pop(), self.rng.uniform(*STORM_SECONDS), self.rng.randrange(1 << 30)))
        return out

    def begin(self):
        self.usual_start = self.broker.start()
        with self.book.connection() as connection:
            steady = self.storms.ensure(connection, "steady", 3, {"segment.ms": "700"})
            trimmed = self.storms.ensure(connection, "trimmed", 2, {"segment.ms": "500"})
            wide = self.storms.ensure(connection, "wide", 30, {"segment.bytes": "1048576"})
        for name, topic, idempotent, config in [
            ("plain", steady, True, {}),
            ("lz4", steady, True, {"compression_type": "lz4"}),
            ("once", steady, False, {"acks": 1, "retries": 0}),
            ("zstd", trimmed, True, {"compression_type": "zstd"}),
            ("wide", wide, True, {}),
        ]:
            more = {"enable_idempotence": True, "message_timeout_ms": 200_000} if idempotent else {}
            self.loads.append(RdkafkaLoad(self.bootstrap, Writer(self.book, topic, name, idempotent), **more, **config))
        for p in range(2):
            writer = Writer(self.book, steady, f"cli-{p}", True)
            self.loads.append(CliLoad(self.binary, self.bootstrap, writer, p, self.log))
        self.groups = [Readers(self.book, steady, "readers"), Readers(self.book, steady, "walkers")]
        self.members = [Member(self.bootstrap, self.groups[0])]
        self.members.append(CliMember(self.binary, self.bootstrap, self.groups[1], self.log))

    def end(self):
        """Whatever is left of it."""
        if self.broker.process is not None and self.broker.process.poll() is None:
            self.broker.process.send_signal(signal.SIGCONT)
            self.broker.process.kill()
            self.broker.process.wait(30)
        for one in self.loads + self.members:
            if isinstance(one, (CliLoad, CliMember)):
                one.kill()
            else:
                one.stopping.set()

    # ---- a round ----

    def round(self, raging, way, moment, seed):
        rng = random.Random(seed)
        done = self.storms.done
        stop, failures = threading.Event(), []
        dying = threading.Event()

        def rage(storm, own):
            self.storms.own.rng = random.Random(own)
            try:
                getattr(self.storms, storm)(stop)
            except (Closed, OSError) as error:
                if not dying.is_set():
                    # Nothing was done to the broker that excuses it.
                    traceback.print_exc()
                    failures.append(f"{storm}, while the broker was to live: {type(error).__name__} {error}")
                    return
                # The broker is dead: what was asked for last is in doubt.
                self.log.write(f"kills: {storm} ends with {type(error).__name__}\n".encode())
            except BaseException as error:  # any other is the verdict
                traceback.print_exc()
                failures.append(f"{storm}: {type(error).__name__} {error}")

        threads = [threading.Thread(target=rage, args=(one, rng.random()), daemon=True) for one in raging]
        for thread in threads:
            thread.start()
        time.sleep(moment)
        if way != "stopped":
            # Before the signal, so that nobody sees the death earlier than it is announced.
            dying.set()
        took = getattr(self, way)(rng)
        # From here on, so that what was acknowledged before the kill does not count as going on.
        before = [load_book(load).acknowledged for load in self.loads]
        if way == "stopped":
            # It was never dead: everything goes on, also what was under way.
            at = self.storms.done
            eventually("the storms go on", 30, lambda: self.storms.done > at or failures)
            stop.set()
        for thread in threads:
            thread.join(40)
            check(not thread.is_alive(), f"a storm does not end: {raging}")
        same("failures of the storms", [], failures)
        self.book.verify(whole=rng.random() < 0.3)
        self.storms.again()
        for storm in raging:
            self.storms.settle(storm)
        for group in self.groups:
            group.verify()
        for load, count in zip(self.loads, before):
            book = load_book(load)
            eventually(f"{book.name} goes on", 40, lambda book=book, count=count: book.acknowledged > count)
            same(f"errors of {book.name}", [], self.errors(load)[:3])
        for member in self.members:
            if isinstance(member, CliMember):
                member.alive()
                same(f"errors of {member.name}", [], member.errors[:3])
        return f"{' and '.join(raging)}, {way} at {moment:.2f} s, {self.storms.done - done} done, {took}"

    @staticmethod
    def errors(load):
        if isinstance(load, CliLoad):
            return load.errors + load.writer.errors
        # Without retries a record that was on its way is lost, and says so.
        return load.book.errors

    def kill(self, _):
        self.broker.stop(signal.SIGKILL)
        return f"back after {self.up():.2f} s"

    def twice(self, rng):
        """Recovery is killed, too, once to three times in a row."""
        self.broker.stop(signal.SIGKILL)
        moments = [rng.uniform(0, 1.2 * self.usual_start) for _ in range(rng.randint(1, 3))]
        for moment in moments:
            self.broker.launch()
            time.sleep(moment)
            check(self.broker.process.poll() is None, f"it ended by itself with {self.broker.process.returncode}")
            self.broker.stop(signal.SIGKILL)
        return f"killed again after {', '.join(f'{one:.2f}' for one in moments)} s, back after {self.up():.2f} s"

    def dying(self, rng):
        """It stops in good order, and is killed in that, or is not."""
        self.broker.process.send_signal(signal.SIGTERM)
        try:
            self.broker.process.wait(rng.uniform(0, 0.4))
        except subprocess.TimeoutExpired:
            self.broker.stop(signal.SIGKILL)
        code = self.broker.process.returncode
        check(code in (0, -signal.SIGKILL), f"it stopped with {code}")
        return f"{'stopped' if code == 0 else 'killed'}, back after {self.up():.2f} s"

    def stopped(self, _):
        """Frozen for longer than anybody waits."""
        process = self.broker.process
        process.send_signal(signal.SIGSTOP)
        time.sleep(STOPPED_SECONDS)
        process.send_signal(signal.SIGCONT)
        eventually("the broker answers", 30, self.broker.answers)
        check(process.poll() is None, "it died of being stopped")
        return f"frozen for {STOPPED_SECONDS} s"

    def up(self):
        took = self.broker.start()
        self.usual_start = max(0.05, 0.5 * (self.usual_start + took))
        return took

    # ---- the end ----

    def last(self):
        """Everybody stops writing; the groups read all of it; all of it is read once more, after a clean stop."""
        for load in self.loads:
            load.stop()
        for load in self.loads:
            same(f"errors of {load_book(load).name}", [], self.errors(load)[:3])
        self.book.verify(whole=True)
        self.all_there(self.book.topics["steady"])
        ends = [part.end for part in self.book.topics["steady"].parts]
        for group in self.groups:
            catch_up(group, ends)
            group.verify()
        for member in self.members:
            member.stop()
        snapshots = list(self.data[0].glob("__cluster_metadata-0/*.checkpoint"))
        check(max(one.name for one in snapshots) > "00000000000000000100", f"no late snapshot: {snapshots}")
        self.broker.stop(signal.SIGTERM)
        same("exit code", 0, self.broker.process.returncode)
        self.broker.start()
        self.book.verify(whole=True)
        self.all_there(self.book.topics["steady"])
        log = (self.scratch / "broker.log").read_text(errors="replace")
        bad = [line for line in log.splitlines() if " ERROR " in line or "panicked" in line]
        same("errors in the broker's log", [], bad[:3])
        return f"{self.book.records} records read and compared, {self.storms.done} requests acknowledged"


    def all_there(self, topic):
        """Every number that an idempotent producer gave out: it was told of no failure."""
        for p, part in enumerate(topic.parts):
            there = collections.Counter(producer for producer, _ in part.known.values())
            for (producer, tag, partition), sent in self.book.producers.sent.items():
                if (tag, partition) == (topic.tag, p) and producer in self.book.producers.idempotent:
                    same(f"records of {producer} in {topic.tag}-{p}", sent, there[producer])


def load_book(load):
    return load.writer if isinstance(load, CliLoad) else load.book


class Lines:
    """Result lines, as every suite prints them."""

    def __init__(self, prefix):
        self.prefix = prefix
        self.failed = []

    def case(self, name, work):
        start = time.monotonic()
        name = f"{self.prefix}.{name}"
        try:
            what = work()
        except kills_special.Skipped as why:
            print(f"skip {name} {millis(start)}: {why}", flush=True)
            return True
        except Exception as error:
            traceback.print_exc()
            why = f"{type(error).__name__} {' '.join(str(error).split())[:1500]}"
            print(f"fail {name} {millis(start)}: {why}", flush=True)
            self.failed.append(name)
            return False
        print(f"pass {name} {millis(start)} # {what}", flush=True)
        return True


def millis(start):
    return int((time.monotonic() - start) * 1000)


def special(options, names, lines):
    for name in names:
        lines.case(name, lambda name=name: kills_special.run(name, options))


def house(options, seed, lines):
    """All rounds of one seed; what failed keeps its directory."""
    home = House(options, seed)
    try:
        plan = home.plan(options.rounds)
        going = lines.case("begin", lambda: home.begin() or f"seed {seed}: {shlex.join(home.broker.command[3:])}")
        for number, one in enumerate(plan, 1):
            going = going and lines.case(f"round-{number:02d}", lambda one=one: home.round(*one))
        going = going and lines.case("everything-once", home.last)
    finally:
        home.end()
    if going:
        shutil.rmtree(home.scratch, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description="a broker that dies at any moment")
    parser.add_argument("--binary", required=True, metavar="THALWEG")
    parser.add_argument("--scratch", required=True, metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--only", default="house,special", help="house, special or the name of a special round")
    options = parser.parse_args()
    faulthandler.enable()
    wanted = options.only.split(",")
    specials = [name for name in kills_special.ROUNDS if "special" in wanted or name in wanted]
    failed = []

    def one(seed, prefix, has_specials):
        lines = Lines(prefix)
        options.seed = seed
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            beside = pool.submit(special, options, specials if has_specials else [], lines)
            if "house" in wanted:
                house(options, seed, lines)
            beside.result()
        failed.extend(lines.failed)
        if lines.failed:
            print(f"kills: {REPEAT.format(seed)} repeats what failed; what it left is in {options.scratch}", flush=True)

    if options.minutes is None:
        one(options.seed, "kills", True)
    else:
        first, end = options.seed, time.monotonic() + 60 * options.minutes
        for seed in itertools.count(first):
            one(seed, f"kills.{seed}", (seed - first) % SPECIALS_EVERY == 0)
            if time.monotonic() > end:
                break
        print(f"kills: {seed - first + 1} houses, seeds {first} to {seed}, {len(failed)} cases failed: {failed}", flush=True)
    sys.stdout.flush()
    # Threads of clients that hang must not keep a finished run alive.
    os._exit(1 if failed else 0)


if __name__ == "__main__":
    main()
