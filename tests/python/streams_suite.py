"""Kafka Streams: an application that counts words, in a store with a changelog, whose instances are killed.

    streams_suite.py --bootstrap HOST:PORT --jars FOLDER --classes FOLDER --scratch FOLDER

Lines come all the time. The first instance is killed within a transaction, and loses its store: another one restores it
from the changelog. A further one joins, and one of the two is killed within a transaction; the other takes over. At the end
the counts are compared with those of the lines: with exactly_once_v2 each count of each word is there once and in order,
with at_least_once the last one is as high as it must be.
"""

import collections
import os
import random
import shutil
import signal
import subprocess
import threading
import time

from confluent_kafka import Consumer, Producer, TopicPartition

from confluent_client import ends, read_to_end, settled, topic
from suite import cases_for, check, eventually, main, same

PARTITIONS = 3
WORDS = [f"word-{number}" for number in range(40)]
LINES_PER_SECOND = 100
# As in StreamsWorker.java.
COMMIT_SECONDS = 0.2
JAVA = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xms64m", "-Xmx192m"]
# A killed member's session is over after 6 s; the rest is what starting Java takes beside other suites.
SECONDS_MAX = 60


class Feeder(threading.Thread):
    """Writes lines, and counts their words."""

    def __init__(self, c, name):
        super().__init__(daemon=True)
        self.producer = Producer({"bootstrap.servers": c.bootstrap, "enable.idempotence": True, "linger.ms": 2})
        self.name_of_topic = name
        self.rng = random.Random(c.name("lines"))
        self.counts = collections.Counter()
        self.lines = [0] * PARTITIONS
        self.failed = []
        self.is_over = threading.Event()

    def run(self):
        while not self.is_over.wait(PARTITIONS / LINES_PER_SECOND):
            for partition in range(PARTITIONS):
                words = self.rng.choices(WORDS, k=3)
                self.producer.produce(self.name_of_topic, " ".join(words), partition=partition, on_delivery=self.delivered)
                self.counts.update(words)
                self.lines[partition] += 1
            self.producer.poll(0)

    def delivered(self, error, message):
        if error is not None:
            self.failed.append(error)

    def finish(self):
        self.is_over.set()
        self.join()
        same("lines that were not sent", 0, self.producer.flush(30))
        same("lines that failed", [], self.failed)


class Instance:
    """A process of the application."""

    def __init__(self, c, name, guarantee, state):
        self.name, self.state = name, state
        self.lines = []
        self.log = open(f"{state}.log", "w", encoding="utf-8")
        given = {
            "bootstrap": c.bootstrap, "application": c.name("app"), "guarantee": guarantee, "state": state,
            "from": c.name("in"), "to": c.name("out"),
        }  # fmt: skip
        command = [*JAVA, "-cp", f"{c.classes}:{c.jars}/*", "thalweg.conformance.StreamsWorker"]
        self.process = subprocess.Popen(
            command + [f"{key}={value}" for key, value in given.items()],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
        )  # fmt: skip
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.log.write(line)
            self.log.flush()
            self.lines.append(line.split())

    def check_lives(self):
        failed = [line for line in list(self.lines) if line[0] == "failed"]
        check(not failed, f"{self.name}: {' '.join(failed[0]) if failed else ''}")
        check(self.process.poll() is None, f"{self.name} ended with {self.process.returncode}; see {self.log.name}")

    def tasks(self):
        """How many it has, if it runs."""
        self.check_lives()
        lines = list(self.lines)
        states = [line[1] for line in lines if line[0] == "state"]
        told = [int(line[1]) for line in lines if line[0] == "tasks"]
        return told[-1] if states and states[-1] == "RUNNING" and told else 0

    def restored(self):
        return sum(int(line[2]) for line in list(self.lines) if line[0] == "restored")

    def signal(self, what):
        self.process.send_signal(what)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait(30)

    def close(self):
        """Ends it as an operator would."""
        self.process.stdin.close()
        same(f"what {self.name} ended with", 0, self.process.wait(SECONDS_MAX))

    def abandon(self):
        if self.process.poll() is None:
            self.kill()
        self.reader.join(10)
        self.log.close()


def written(c, level="read_uncommitted"):
    return sum(ends(c, c.name("out"), PARTITIONS, level).values())


def words_of(c):
    """The topic of the words, which the application writes and reads itself."""
    return f"{c.name('app')}-by-word-repartition"


def group_offsets(c, name):
    consumer = Consumer({"bootstrap.servers": c.bootstrap, "group.id": c.name("app")})
    try:
        return [found.offset for found in consumer.committed([TopicPartition(name, p) for p in range(PARTITIONS)], 10)]
    finally:
        consumer.close()


def is_open(c):
    """Whether a transaction of a stopped process is open: it holds the last stable offset of a partition back for longer
    than a running one would."""

    def of(level):
        return ends(c, c.name("out"), PARTITIONS, level)

    begin, held = of("read_committed"), of("read_uncommitted")
    until = time.monotonic() + 3 * COMMIT_SECONDS
    while time.monotonic() < until:
        time.sleep(COMMIT_SECONDS / 4)
        stable = of("read_committed")
        held = {p: end for p, end in held.items() if begin[p] == stable[p] < end}
    return len(held) > 0


def is_ahead(c):
    """Whether the only process, which is stopped, has written counts of words whose offsets are not committed."""
    seen = [None]

    def is_still():
        time.sleep(0.05)
        seen.append((written(c), sum(group_offsets(c, words_of(c)))))
        return seen[-1] == seen[-2]

    eventually("nothing is under way", SECONDS_MAX, is_still)
    return seen[-1][0] > seen[-1][1]


def kill_when(c, instance, is_within):
    """Kills it at a moment, after it was stopped, of which something holds."""

    def is_stopped_within():
        before = written(c)
        eventually("new counts", SECONDS_MAX, lambda: written(c) > before)
        instance.signal(signal.SIGSTOP)
        if is_within(c):
            return True
        instance.signal(signal.SIGCONT)
        return False

    eventually(f"{instance.name} is stopped between two commits", SECONDS_MAX, is_stopped_within)
    instance.kill()


def counts_of(messages):
    """The counts of each word, in the order in which they were written."""
    counts = collections.defaultdict(list)
    for of_partition in messages.values():
        for message in of_partition:
            counts[message.key().decode()].append(int.from_bytes(message.value(), "big"))
    return counts


def verify(c, feeder, is_exact):
    eventually("all lines are processed", SECONDS_MAX, lambda: group_offsets(c, c.name("in")) == feeder.lines)
    level = "read_committed" if is_exact else "read_uncommitted"

    def last_counts(name):
        return {word: counts[-1] for word, counts in counts_of(read_to_end(c, name, PARTITIONS, level)).items()}

    # Behind them is a topic by words, whose offsets are committed by themselves.
    if is_exact:
        total = sum(feeder.counts.values())
        eventually("all words are counted", SECONDS_MAX, lambda: sum(last_counts(c.name("out")).values()) >= total)
        settled(c, c.name("out"), PARTITIONS)
    else:
        # What is counted twice must not pass for what is yet to be counted.
        end = ends(c, words_of(c), PARTITIONS, level)
        eventually("all words are counted", SECONDS_MAX, lambda: dict(enumerate(group_offsets(c, words_of(c)))) == end)
    counts = counts_of(read_to_end(c, c.name("out"), PARTITIONS, level))
    same("words", sorted(feeder.counts), sorted(counts))
    for word, total in feeder.counts.items():
        if is_exact:
            same(f"counts of {word}", list(range(1, total + 1)), counts[word])
        else:
            # Some may be in the changelog only: what writes to both is killed.
            check(counts[word][-1] >= total, f"{word} was counted {counts[word][-1]} times, of {total}")
    last = {word: of[-1] for word, of in counts.items()}
    same("the changelog", last, last_counts(f"{c.name('app')}-counts-changelog"))


@cases_for("counted", ["exactly_once_v2", "at_least_once"])
def counted(c, guarantee):
    is_exact = guarantee == "exactly_once_v2"
    for what in ["in", "out"]:
        topic(c, what, PARTITIONS)
    place = os.path.join(c.scratch, guarantee)
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    instances = []

    def start(name):
        instances.append(Instance(c, name, guarantee, os.path.join(place, name)))
        return instances[-1]

    feeder = Feeder(c, c.name("in"))
    feeder.start()
    try:
        first = start("first")
        eventually("the first has all tasks", SECONDS_MAX, lambda: first.tasks() == 2 * PARTITIONS)
        # There is to be something in the changelog.
        eventually("counts", SECONDS_MAX, lambda: written(c, "read_committed") >= 10 * len(WORDS))
        kill_when(c, first, is_open if is_exact else is_ahead)
        shutil.rmtree(first.state)
        second = start("second")
        eventually("the second has all tasks", SECONDS_MAX, lambda: second.tasks() == 2 * PARTITIONS)
        check(second.restored() > 0, "nothing was restored from the changelog")
        third = start("third")
        eventually("both have tasks", SECONDS_MAX, lambda: third.tasks() > 0 and second.tasks() + third.tasks() == 2 * PARTITIONS)
        # Beside another process that writes nothing tells whether this one is ahead.
        kill_when(c, second, is_open if is_exact else lambda _: True)
        eventually("the third has all tasks", SECONDS_MAX, lambda: third.tasks() == 2 * PARTITIONS)
        check(third.restored() > 0, "nothing was restored from the changelog")
        feeder.finish()
        verify(c, feeder, is_exact)
        third.close()
        c.line("every word of every line is counted " + ("once" if is_exact else "at least once"))
    finally:
        feeder.is_over.set()
        for instance in instances:
            instance.abandon()
    shutil.rmtree(place)


if __name__ == "__main__":
    main("streams")
