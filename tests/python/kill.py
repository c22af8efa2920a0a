"""`kill -9` under load, again and again.

Producers write through the deaths of the broker and keep a book of what was acknowledged; a group
reads and commits all the while. After each restart:

- everything acknowledged before the kill is there, at its offset, in order, once;
- the idempotent producers' numbers have no gap and no repetition;
- the group's committed offsets are not behind what was acknowledged, and the group goes on.

    kill.py --start COMMAND --bootstrap HOST:PORT [--rounds 20] [--jars FOLDER --classes FOLDER]

COMMAND starts the broker in the foreground on HOST:PORT and on the same data each time.
"""

import argparse
import os
import random
import shlex
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from suite import check, eventually, offset_of, same

PARTITIONS = 4
TOPIC = "killed"
GROUP = "survivors"


class Broker:
    """The process under test."""

    def __init__(self, command, bootstrap, log=None, env=None):
        self.command = shlex.split(command)
        self.log = log
        self.env = env
        self.host, port = bootstrap.rsplit(":", 1)
        self.port = int(port)
        self.process = None

    def launch(self):
        """Starts the process and waits for nothing."""
        self.process = subprocess.Popen(
            self.command, stdout=self.log or subprocess.DEVNULL, stderr=self.log, env=self.env
        )

    def start(self):
        start = time.monotonic()
        self.launch()
        eventually("the broker answers", 60, self.answers)
        return time.monotonic() - start

    def answers(self):
        check(self.process.poll() is None, f"the broker ended by itself with {self.process.returncode}")
        request = struct.pack(">hhih", 18, 0, 1, -1)
        try:
            with socket.create_connection((self.host, self.port), timeout=1) as connection:
                connection.sendall(struct.pack(">i", len(request)) + request)
                return len(connection.recv(4)) == 4
        except OSError:
            return False

    def stop(self, how):
        self.process.send_signal(how)
        self.process.wait(60)


class Book:
    """What one producer was told: offset by partition and number."""

    topic, partitions = TOPIC, PARTITIONS
    # Seconds between two records.
    pause = 0.0015

    def __init__(self, name, idempotent):
        self.name = name
        self.idempotent = idempotent
        self.lock = threading.Lock()
        self.acknowledged = [{} for _ in range(PARTITIONS)]
        self.errors = []

    def value(self, partition, number):
        size = (number * PARTITIONS + partition) % 89
        return f"{self.name}:{partition}:{number}:".encode() + b"y" * size

    def add(self, partition, number, offset):
        with self.lock:
            self.acknowledged[partition][number] = offset

    def copy(self):
        with self.lock:
            return [dict(one) for one in self.acknowledged]

    def count(self):
        with self.lock:
            return sum(len(one) for one in self.acknowledged)


class RdkafkaLoad:
    def __init__(self, bootstrap, book, **config):
        self.book = book
        self.stopping = threading.Event()
        settings = {
            "bootstrap.servers": bootstrap,
            "linger.ms": 3,
            "batch.num.messages": 40,
            "reconnect.backoff.max.ms": 200,
            "socket.timeout.ms": 5000,
            "log_level": 0,
        }
        settings.update({k.replace("_", "."): v for k, v in config.items()})
        self.producer = Producer(settings)
        self.thread = threading.Thread(target=self.loop, daemon=True)
        self.thread.start()

    def loop(self):
        i = 0
        while not self.stopping.is_set():
            partition, number = i % self.book.partitions, i // self.book.partitions
            value = self.book.value(partition, number)

            def done(error, message, partition=partition, number=number):
                if error is None:
                    self.book.add(partition, number, offset_of(message))
                elif self.book.idempotent:
                    self.book.errors.append(f"{partition}:{number} {error}")

            try:
                self.producer.produce(self.book.topic, value, partition=partition, on_delivery=done)
                i += 1
            except BufferError:
                pass
            except KafkaException as error:
                self.book.errors.append(str(error))
                return
            self.producer.poll(0)
            time.sleep(self.book.pause)

    def stop(self):
        self.stopping.set()
        self.thread.join(10)
        left = self.producer.flush(90)
        if self.book.idempotent:
            same(f"{self.book.name}: records without an answer", 0, left)


class JavaLoad:
    def __init__(self, bootstrap, book, jars, classes):
        self.book = book
        command = ["java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{classes}:{jars}/*"]
        command += ["thalweg.conformance.KillLoad", bootstrap, TOPIC, str(PARTITIONS), book.name]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self.loop, daemon=True)
        self.thread.start()

    def loop(self):
        for line in self.process.stdout:
            words = line.split()
            if words and words[0] == "error":
                self.book.errors.append(line.strip())
            elif len(words) == 3:
                self.book.add(*(int(word) for word in words))

    def stop(self):
        self.process.stdin.close()
        same("exit code of the Java producer", 0, self.process.wait(120))
        self.thread.join(10)


class Member:
    """A group member that commits after each batch and notes what the broker confirmed."""

    def __init__(self, bootstrap, group):
        self.group = group
        self.stopping = threading.Event()
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group.name,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "session.timeout.ms": group.session_ms,
                "heartbeat.interval.ms": 500,
                "reconnect.backoff.max.ms": 200,
                "socket.timeout.ms": 5000,
                "fetch.wait.max.ms": 100,
                "log_level": 0,
            }
        )
        self.thread = threading.Thread(target=self.loop, daemon=True)
        self.thread.start()

    def loop(self):
        self.consumer.subscribe([self.group.topic])
        while not self.stopping.is_set():
            got = [m for m in self.consumer.consume(500, 0.1) if m.error() is None]
            self.group.held[id(self) % 1000] = [t.partition for t in self.consumer.assignment()]
            if not got:
                continue
            self.group.take(got)
            ends = {}
            for message in got:
                ends[message.partition()] = max(ends.get(message.partition(), 0), message.offset() + 1)
            try:
                done = self.consumer.commit(
                    offsets=[TopicPartition(self.group.topic, p, o) for p, o in ends.items()], asynchronous=False
                )
            except KafkaException:
                continue  # the broker is away, or this member is out: the records come again
            with self.group.lock:
                for one in done:
                    if one.error is None:
                        self.group.confirmed[one.partition] = max(self.group.confirmed[one.partition], one.offset)
        self.consumer.close()

    def stop(self):
        self.stopping.set()
        self.thread.join(60)


class Group:
    name, topic, partitions, session_ms = GROUP, TOPIC, PARTITIONS, 10_000

    def __init__(self):
        self.lock = threading.Lock()
        self.seen = [set() for _ in range(self.partitions)]
        self.count = 0
        self.confirmed = [0] * self.partitions
        # What each member holds now, for when something is missing.
        self.held = {}

    def take(self, messages):
        with self.lock:
            for message in messages:
                self.seen[message.partition()].add(message.offset())
                self.count += 1

    def missing(self, ends):
        """In words, which offsets below the ends nobody was handed."""
        with self.lock:
            out = [f"members hold {self.held}"]
            for p, end in enumerate(ends):
                gaps = [o for o in range(end) if o not in self.seen[p]]
                if gaps:
                    span = f"{len(gaps)} of {end} from {gaps[0]} to {gaps[-1]}"
                    out.append(f"partition {p}: {span}, committed {self.confirmed[p]}")
                beyond = [o for o in self.seen[p] if o >= end]
                if beyond:
                    out.append(f"partition {p}: {min(beyond)} is beyond the end {end}")
            return "; ".join(out)


def end_of(consumer, partition):
    """The partition's end, once it is led again after a restart."""
    found = []

    def asked():
        try:
            found.append(consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), 10)[1])
        except KafkaException:
            return False
        return True

    eventually(f"partition {partition} is led", 60, asked)
    return found[0]


class Ledger:
    """Reads what is on the broker, a bit further each time, and checks it against the books."""

    def __init__(self, bootstrap, books):
        self.bootstrap = bootstrap
        self.books = {book.name: book for book in books}
        self.position = [0] * PARTITIONS
        self.values = [[] for _ in range(PARTITIONS)]
        self.last = {}
        self.places = {}

    def consumer(self):
        return Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "ledger",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "check.crcs": True,
                "log_level": 0,
            }
        )

    def read(self, consumer, starts, ends):
        """(partition, offset, value) in order, from starts to ends."""
        consumer.assign([TopicPartition(TOPIC, p, starts[p]) for p in range(PARTITIONS)])
        out = []
        at = list(starts)
        deadline = time.monotonic() + 60
        while any(at[p] < ends[p] for p in range(PARTITIONS)):
            check(time.monotonic() < deadline, f"reading stalls at {at} of {ends}")
            for message in consumer.consume(2000, 0.3):
                check(message.error() is None, message.error())
                p = message.partition()
                same(f"offset in partition {p}", at[p], message.offset())
                at[p] += 1
                out.append((p, message.offset(), message.value()))
        return out

    def verify(self, known):
        """Everything in `known` (copies of the books from before the kill) is there."""
        consumer = self.consumer()
        try:
            ends = [end_of(consumer, p) for p in range(PARTITIONS)]
            for p in range(PARTITIONS):
                check(ends[p] >= self.position[p], f"partition {p} ends at {ends[p]}, it held {self.position[p]}")
            for p, offset, value in self.read(consumer, self.position, ends):
                if p >= PARTITIONS or offset >= ends[p]:
                    continue
                self.take(p, offset, value)
            self.position = [len(one) for one in self.values]
        finally:
            consumer.close()
        for name, book in known.items():
            for p in range(PARTITIONS):
                for number, offset in book[p].items():
                    there = self.places.get((name, p, number))
                    check(there is not None, f"{name} {p}:{number}, acknowledged at {offset}, is lost")
                    # A duplicate that the broker recognised late is confirmed without an offset.
                    if offset == -1 and self.books[name].idempotent:
                        continue
                    held = self.values[p][offset].decode() if 0 <= offset < len(self.values[p]) else "nothing"
                    check(
                        held.startswith(f"{name}:{p}:{number}:"),
                        f"{name} {p}:{number} was acknowledged at {offset}, where {held[:40]} is",
                    )

    def take(self, p, offset, value):
        same("place in the ledger", len(self.values[p]), offset)
        self.values[p].append(value)
        name, partition, number, _ = value.decode().split(":")
        number = int(number)
        same("partition in the value", p, int(partition))
        # Without idempotence a client may send what it held back later, or twice.
        if self.books[name].idempotent:
            before = self.last.get((name, p), -1)
            same(f"number after {before} of {name} in partition {p} at {offset}", before + 1, number)
            self.last[(name, p)] = number
        self.places[(name, p, number)] = offset

    def verify_again(self):
        """A second reading from the start gives the same bytes."""
        consumer = self.consumer()
        try:
            for p, offset, value in self.read(consumer, [0] * PARTITIONS, self.position):
                if offset < len(self.values[p]):
                    same(f"value at {p}/{offset}", self.values[p][offset], value)
        finally:
            consumer.close()


def committed(bootstrap):
    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP, "log_level": 0})
    found = []

    def asked():
        try:
            found[:] = reader.committed([TopicPartition(TOPIC, p) for p in range(PARTITIONS)], 10)
        except KafkaException:
            return False
        return all(one.error is None for one in found)

    eventually("the group's offsets are loaded", 60, asked)
    reader.close()
    return found


def catch_up(group, ends):
    """Waits until the group has read to the ends; it may be slow, but must not stand still."""
    while [len(one) for one in group.seen] != ends:
        before = group.count
        try:
            eventually("the group goes on", 40, lambda: group.count > before)
        except AssertionError as error:
            if [len(one) for one in group.seen] != ends:
                raise AssertionError(f"the group does not reach the end: {group.missing(ends)}") from error


def run(options):
    broker = Broker(options.start, options.bootstrap)
    broker.start()
    admin = AdminClient({"bootstrap.servers": options.bootstrap})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1, config={"segment.bytes": "2000000"})])[TOPIC].result(30)
    time.sleep(1)
    books = [Book("plain", True), Book("lz4", True), Book("once", False)]
    loads = [
        RdkafkaLoad(options.bootstrap, books[0], enable_idempotence=True),
        RdkafkaLoad(options.bootstrap, books[1], enable_idempotence=True, compression_type="lz4"),
        RdkafkaLoad(options.bootstrap, books[2], acks=1, retries=0),
    ]
    if options.jars:
        books.append(Book("java", True))
        loads.append(JavaLoad(options.bootstrap, books[-1], options.jars, options.classes))
    ledger = Ledger(options.bootstrap, books)
    group = Group()
    members = [Member(options.bootstrap, group) for _ in range(2)]
    rng = random.Random(options.seed)
    failed = 0

    def one_round(name, how):
        nonlocal failed
        start = time.monotonic()
        took = 0.0
        try:
            count = [book.count() for book in books]
            handed, committed_before = group.count, sum(group.confirmed)
            time.sleep(rng.uniform(0.7, 1.7))
            eventually("records are acknowledged", 60, lambda: all(b.count() > c for b, c in zip(books, count)))
            eventually("the group goes on", 60, lambda: group.count > handed)
            eventually("the group's commits go on", 60, lambda: sum(group.confirmed) > committed_before)
            if how == signal.SIGKILL:
                broker.stop(signal.SIGKILL)
            else:
                broker.stop(how)
            known = {book.name: book.copy() for book in books}
            with group.lock:
                confirmed = list(group.confirmed)
            took = broker.start()
            ledger.verify(known)
            found = committed(options.bootstrap)
            for one in found:
                check(
                    max(one.offset, 0) >= confirmed[one.partition],
                    f"partition {one.partition}: commit {confirmed[one.partition]} was confirmed, {one.offset} is there",
                )
            same("errors of producers", [], [e for book in books for e in book.errors][:3])
        except Exception as error:
            failed += 1
            print(f"fail kill.{name} {int((time.monotonic() - start) * 1000)}: {' '.join(str(error).split())}", flush=True)
            return False
        total = sum(book.count() for book in books)
        millis = int((time.monotonic() - start) * 1000)
        print(f"pass kill.{name} {millis} # {total} acknowledged, back after {took:.2f} s", flush=True)
        return True

    try:
        going = all(one_round(f"round-{i + 1:02d}", signal.SIGKILL) for i in range(options.rounds))
        going = going and one_round("clean-stop", signal.SIGTERM)
        start = time.monotonic()
        if going:
            for load in loads:
                load.stop()
            ledger.verify({book.name: book.copy() for book in books})
            ledger.verify_again()
            catch_up(group, ledger.position)
            for book in books:
                if book.idempotent:
                    same(f"{book.name}: acknowledged and there", book.count(), sum(1 for k in ledger.places if k[0] == book.name))
            for member in members:
                member.stop()
            print(f"pass kill.everything-once {int((time.monotonic() - start) * 1000)}", flush=True)
    except Exception as error:
        failed += 1
        print(f"fail kill.everything-once 0: {' '.join(str(error).split())}", flush=True)
    finally:
        broker.process.kill()
        for load in loads:
            if isinstance(load, JavaLoad):
                load.process.kill()
    sys.stdout.flush()
    os._exit(1 if failed else 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="kill -9 under load")
    parser.add_argument("--start", required=True, metavar="COMMAND")
    parser.add_argument("--bootstrap", required=True, metavar="HOST:PORT")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jars")
    parser.add_argument("--classes")
    run(parser.parse_args())
