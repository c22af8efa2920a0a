"""Transactional producers as `transaction_kills.py` drives them: librdkafka's, which speaks of transactions as version 1 of
them does, and Thalweg's (`tests/user/src/bin/transactor.rs`), which uses version 2 (KIP-890).

Each call returns when it is done, or raises what an application has to know: `Aborted`, the transaction can only be
aborted, and the producer goes on; `Over`, it takes a new producer, and what became of the transaction is unknown.
"""

import queue
import subprocess
import threading
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from suite import check

# How long one step may take, with what is repeated in it.
STEP_SECONDS = 30
STUCK_SECONDS = STEP_SECONDS + 5
# librdkafka 2.16 may wait for ever for the offsets of a transaction (its issues 5456 and 5511), whatever it was told to wait
# for: who is in there for so long is left behind. What is only late is tried again before that.
OFFSETS_SECONDS = 2
STUCK_OFFSETS_SECONDS = OFFSETS_SECONDS + 3


class Aborted(Exception):
    """The transaction can only be aborted."""


class Over(Exception):
    """The producer cannot go on."""


class Stuck(Over):
    """It does not come back from a call."""


class Rdkafka:
    NAME = "librdkafka"
    # Producers that are stuck, kept because ending them would wait for what they wait for.
    left = []

    def __init__(self, bootstrap, transactional_id, _program):
        self.producer = Producer({
            "bootstrap.servers": bootstrap, "transactional.id": transactional_id, "client.id": transactional_id,
            "transaction.timeout.ms": 60_000,
            "message.timeout.ms": 25_000, "linger.ms": 2, "retry.backoff.ms": 20, "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 200, "log_level": 0,
        })  # fmt: skip
        self.consumer = None

    def init(self):
        self.step(self.producer.init_transactions)

    def begin(self):
        self.step(lambda _: self.producer.begin_transaction())

    def send(self, topic, partition, value):
        try:
            self.producer.produce(topic, value, partition=partition)
        except KafkaException as error:
            # Why, says the abort.
            raise Aborted(error.args[0].name()) from error

    def offsets(self, group, topic, partition, offset):
        # It is no member of the group, and commits for it; it connects to nobody but when it is asked something.
        self.consumer = self.consumer or Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": group, "log_level": 0})
        places = [TopicPartition(topic, partition, offset)]
        group = self.consumer.consumer_group_metadata()

        def send(_):
            self.producer.send_offsets_to_transaction(places, group, OFFSETS_SECONDS)

        self.step(send, STUCK_OFFSETS_SECONDS)

    def flush(self):
        # What has failed comes up with the next step of the transaction.
        self.within(self.producer.flush, STUCK_SECONDS)

    def commit(self):
        self.step(self.producer.commit_transaction)

    def abort(self):
        self.step(self.producer.abort_transaction)

    def step(self, call, stuck_seconds=STUCK_SECONDS):
        """What is retriable is tried again for a while, as librdkafka wants it."""
        deadline = time.monotonic() + STEP_SECONDS
        while True:
            try:
                return self.within(call, stuck_seconds)
            except KafkaException as error:
                it = error.args[0]
                if it.txn_requires_abort():
                    raise Aborted(it.name()) from error
                if not it.retriable() or it.fatal() or time.monotonic() > deadline:
                    raise Over(it.name()) from error

    def within(self, call, seconds_max):
        outcome = queue.Queue()

        def run():
            try:
                call(STEP_SECONDS)
                outcome.put(None)
            except BaseException as error:  # whatever it is, the caller is told
                outcome.put(error)

        threading.Thread(target=run, daemon=True).start()
        try:
            error = outcome.get(timeout=seconds_max)
        except queue.Empty:
            self.left.append(self.producer)
            raise Stuck(f"not back after {seconds_max} s") from None
        if error is not None:
            raise error

    def close(self):
        """It goes with what it holds; nobody waits for what it still has to do."""
        self.producer = None
        if self.consumer is not None:
            self.consumer.close()


class Transactor:
    NAME = "thalweg"

    def __init__(self, bootstrap, transactional_id, program):
        command = [program, bootstrap, transactional_id]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answers = queue.Queue()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            self.answers.put(line.rstrip("\n"))
        self.answers.put(None)

    def init(self):
        self.step("init")

    def begin(self):
        self.step("begin")

    def send(self, topic, partition, value):
        self.step(f"send {topic} {partition} {value}")

    def offsets(self, group, topic, partition, offset):
        self.step(f"offsets {group} {topic} {partition} {offset}")

    def flush(self):
        self.step("flush")

    def commit(self):
        self.step("commit")

    def abort(self):
        self.step("abort")

    def step(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        # Its own limit is a minute, max.block.ms; that it keeps it is asked for, too.
        answer = self.answers.get(timeout=90)
        check(answer is not None, f"the transactor has ended at {line!r}")
        verdict, _, why = answer.partition(" ")
        if verdict == "aborted":
            raise Aborted(why)
        if verdict != "ok":
            raise Over(answer)

    def close(self):
        self.process.kill()
        # Where the disk is slow even a process that was killed takes its time to go.
        self.process.wait(90)


CLIENTS = {client.NAME: client for client in (Rdkafka, Transactor)}
