"""Who writes and reads through the deaths of the broker: librdkafka, and this project's command line."""

import json
import os
import signal
import subprocess
import threading
import time

import kill
from kills_book import told_by, value_of
from suite import check, same


class Writer:
    """A producer's numbers in one topic, and where its acknowledgements go: a `kill.Book` for `RdkafkaLoad`."""

    pause = 0.004

    def __init__(self, book, topic, name, idempotent):
        self.book = book
        self.made = topic
        self.topic, self.partitions = topic.name, len(topic.parts)
        self.name = name
        self.idempotent = idempotent
        self.errors = []
        self.acknowledged = 0
        if idempotent:
            book.producers.idempotent.add(name)

    def value(self, partition, number):
        self.book.producers.sent[(self.name, self.made.tag, partition)] = number + 1
        return value_of(self.name, self.made.tag, partition, number, number * 7 % 300)

    def add(self, partition, number, offset):
        try:
            self.book.ack(self.made, partition, offset, self.name, number)
            self.acknowledged += 1
        except AssertionError as error:
            self.errors.append(str(error))


class CommandLine:
    """`thalweg produce` or `thalweg consume`, which must live through everything."""

    def __init__(self, binary, bootstrap, words, log):
        command = [binary, *words, "-b", bootstrap, "-q", "-X", "request.timeout.ms=5000"]
        command += ["-X", "reconnect.backoff.max.ms=200"]
        self.name = " ".join(words[:2])
        self.log = log
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
        )
        self.errors = []
        self.threads = [threading.Thread(target=self.read, args=(one,), daemon=True) for one in self.sources()]
        for thread in self.threads:
            thread.start()

    def sources(self):
        return [(self.process.stdout, self.on_output), (self.process.stderr, self.on_error)]

    def read(self, source):
        pipe, take = source
        for line in pipe:
            try:
                take(line.rstrip("\n"))
            except (AssertionError, ValueError, KeyError) as error:
                self.errors.append(f"{self.name}: {error}")

    def on_error(self, line):
        self.log.write(f"{self.name}: {line}\n".encode())

    def alive(self):
        check(self.process.poll() is None, f"{self.name} ended with {self.process.returncode}; its log tells why")

    def kill(self):
        self.process.kill()
        self.process.wait(30)

    def ended(self, seconds):
        same(f"exit code of {self.name}", 0, self.process.wait(seconds))
        for thread in self.threads:
            thread.join(10)


class CliLoad(CommandLine):
    """`thalweg produce -v` to one partition: it prints the place of each record in the order of its input."""

    def __init__(self, binary, bootstrap, writer, partition, log):
        self.writer = writer
        self.partition = partition
        self.answered = 0
        words = ["produce", writer.topic, "-p", str(partition), "-v", "--timeout", "120", "-X", "linger.ms=3"]
        super().__init__(binary, bootstrap, words, log)
        self.stopping = threading.Event()
        self.feeder = threading.Thread(target=self.feed, daemon=True)
        self.feeder.start()

    def feed(self):
        number = 0
        while not self.stopping.is_set():
            try:
                self.process.stdin.write(self.writer.value(self.partition, number).decode() + "\n")
                self.process.stdin.flush()
            except OSError as error:
                self.errors.append(f"{self.name} reads no more: {error}")
                return
            number += 1
            time.sleep(self.writer.pause)

    def on_output(self, line):
        raise AssertionError(f"a line on its output: {line}")

    def on_error(self, line):
        if line.startswith("partition "):
            _, partition, _, offset = line.replace(",", "").split()
            same("partition", self.partition, int(partition))
            self.writer.add(self.partition, self.answered, int(offset))
            self.answered += 1
        else:
            super().on_error(line)

    def stop(self):
        self.stopping.set()
        self.feeder.join(30)
        self.process.stdin.close()
        self.ended(150)
        same(
            f"{self.name}: records acknowledged",
            self.writer.book.producers.sent[(self.writer.name, self.writer.made.tag, self.partition)],
            self.answered,
        )


class Readers(kill.Group):
    """What a group was handed of a topic that loses nothing, by content."""

    session_ms = 6000

    def __init__(self, book, topic, name):
        self.name = name
        self.made = topic
        self.topic, self.partitions = topic.name, len(topic.parts)
        self.told = [{} for _ in topic.parts]
        self.errors = []
        super().__init__()

    def take(self, messages):
        for message in messages:
            self.one(message.partition(), message.offset(), message.value())

    def one(self, p, offset, value):
        try:
            producer, tag, partition, number = told_by(value)
            same(f"topic and partition at {offset}", (self.made.tag, p), (tag, partition))
            with self.lock:
                before = self.told[p].setdefault(offset, (producer, number))
                self.seen[p].add(offset)
                self.count += 1
            same(f"record at {p}:{offset}, handed out again", before, (producer, number))
        except AssertionError as error:
            self.errors.append(f"{self.name}: {error}")

    def verify(self):
        """What was handed out is what is in the log."""
        same(f"errors of {self.name}", [], self.errors[:3])
        for p, part in enumerate(self.made.parts):
            with self.lock:
                told = dict(self.told[p])
            for offset, what in told.items():
                held = part.known.get(offset, what)
                same(f"record at {p}:{offset} as {self.name} was handed it", held, what)


class CliMember(CommandLine):
    """`thalweg consume -G`: a group's only member."""

    def __init__(self, binary, bootstrap, group, log):
        self.group = group
        words = ["consume", group.topic, "-G", group.name, "--json", "-o", "beginning"]
        words += ["-X", f"session.timeout.ms={group.session_ms}", "-X", "auto.commit.interval.ms=300"]
        words += ["-X", "heartbeat.interval.ms=500"]
        super().__init__(binary, bootstrap, words, log)

    def on_output(self, line):
        one = json.loads(line)
        self.group.one(one["partition"], one["offset"], one["payload"].encode())

    def stop(self):
        os.kill(self.process.pid, signal.SIGINT)
        self.ended(60)
