"""Moves of installations that do not depend on the quorum, the directories or the way to stop: each is a
case of its own beside the matrix."""

import pathlib
import signal
import time

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from estate import TXN, Estate
from installation import KAFKA, THALWEG, Installation
from moves import CLEAN, KILL, Move
from suite import check, eventually, same

AUTHORIZER = """\
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
"""


def is_metadata_index(path):
    return path.parent.name == "__cluster_metadata-0" and path.suffix in (".index", ".timeindex")


class Single:
    """An installation with a book."""

    def __init__(self, options, case, **site):
        self.site = Installation(options, case, **site)
        self.options = options
        self.estate = Estate(self.site.bootstrap)

    def end(self):
        self.site.end()


class Refused(Single):
    """What Thalweg cannot enforce, or must not fork, stops its start; every byte but those of the metadata log's
    indexes stays as it was. Kafka 4.4 ends without closing these (10 MiB each, with zeros at the end), and a log that
    was not closed is indexed from its batches before it is read."""

    def __init__(self, options, case):
        super().__init__(options, case, dirs=2)
        self.quorum = Installation(options, f"{case}-quorum")
        self.static = Installation(options, f"{case}-static", static=True)

    def steps(self):
        yield "1-kafka", self.begin
        yield "2-thalweg-refuses", self.refuse
        yield "3-kafka-again", self.again

    def begin(self):
        self.site.configure(AUTHORIZER)
        self.site.format()
        self.site.start(KAFKA)
        self.estate.fill(1, kafka=True, clean=True)
        self.acl = AclBinding(
            ResourceType.TOPIC,
            "main",
            ResourcePatternType.LITERAL,
            "User:alice",
            "*",
            AclOperation.READ,
            AclPermissionType.ALLOW,
        )
        admin = self.estate.admin()
        for future in admin.create_acls([self.acl]).values():
            future.result(30)
        self.site.stop(signal.SIGTERM)
        # Another node would be asked, too, who leads this quorum.
        self.quorum.format_for_three()
        self.static.format()

    def refuse(self):
        text = self.site.text
        count = 0
        for site, properties, more, expected in (
            (self.site, text, AUTHORIZER, "authorizer.class.name"),
            (self.site, text, "", "access control entries"),
            (self.site, text.replace("node.id=1", "node.id=2"), "", "node.id"),
            (self.site, text.replace("process.roles=broker,controller", "process.roles=broker"), "", "controller.listener.names"),
            (self.site, text.replace(",PLAINTEXT:PLAINTEXT", ",PLAINTEXT:SASL_PLAINTEXT"), "", "SASL_PLAINTEXT"),
            (self.site, text, "create.topic.policy.class.name=a.B\n", "create.topic.policy.class.name"),
            (self.site, text, "remote.log.storage.system.enable=true\n", "remote.log.storage.system.enable"),
            (self.quorum, self.quorum.text, "", "3 voters"),
        ):
            before = site.files()
            site.text = properties
            site.configure(more)
            said = site.refused()
            check(expected in said, f"the start was not refused for {expected}: {said[-800:]}")
            self.unchanged(expected, before, site.files())
            count += 1
        self.site.text = text
        return f"{count} starts were refused"

    @staticmethod
    def unchanged(why, before, after):
        paths = (path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        different = sorted(str(path) for path in paths if not is_metadata_index(path))
        others = sorted(map(str, before.keys() ^ after.keys()))
        check(not others, f"a start that was refused for {why} made or deleted {others[:8]}")
        check(not different, f"a start that was refused for {why} changed {different[:8]}")

    def again(self):
        self.site.configure(AUTHORIZER)
        self.site.start(KAFKA)
        self.estate.verify(kafka=True)
        everything = AclBindingFilter(
            ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
        )
        admin = self.estate.admin()
        same("access control entries", [self.acl], admin.describe_acls(everything).result(30))
        self.site.stop(signal.SIGTERM)

    def end(self):
        super().end()
        self.quorum.end()
        self.static.end()


class OpenTransaction(Single):
    """Kafka dies with an open transaction. Nobody reads past it who reads only what is committed, and
    Kafka ends it when it is back."""

    def steps(self):
        yield "1-kafka", self.begin
        yield "2-thalweg", self.between
        yield "3-kafka-again", self.again

    def begin(self):
        self.site.format()
        self.site.start(KAFKA)
        admin = self.estate.admin()
        for name in (TXN, "side"):
            self.estate.create(admin, name, 1)
        self.estate.transaction(1)
        # Longer than anything takes here, or whoever coordinates it aborts it.
        config = {"bootstrap.servers": self.site.bootstrap, "transactional.id": "open", "log_level": 0}
        self.producer = Producer(config | {"transaction.timeout.ms": 600_000})
        self.producer.init_transactions(60)
        reader = self.estate.consumer(group_id="in-transaction")
        self.producer.begin_transaction()
        self.write(b"first")
        self.producer.send_offsets_to_transaction([TopicPartition(TXN, 0, 3)], reader.consumer_group_metadata(), 30)
        self.producer.commit_transaction(60)
        # Behind its end nothing is committed before this one is over.
        self.first_open = self.estate.records[(TXN, 0)][-1][0] + 2
        self.producer.begin_transaction()
        self.write(b"open")
        self.producer.send_offsets_to_transaction([TopicPartition(TXN, 0, 5)], reader.consumer_group_metadata(), 30)
        reader.close()
        self.site.stop(signal.SIGKILL)

    def write(self, value):
        offsets = []

        def done(error, message):
            check(error is None, f"{error}")
            offsets.append((message.offset(), 1_700_000_000_000, None, value, []))

        self.producer.produce(TXN, value, partition=0, timestamp=1_700_000_000_000, on_delivery=done)
        same("records without an answer", 0, self.producer.flush(30))
        self.estate.records[(TXN, 0)] += offsets

    def committed(self, group):
        admin = self.estate.admin()
        found = []

        def told():
            try:
                wanted = [ConsumerGroupTopicPartitions(group, [TopicPartition(TXN, 0)])]
                answer = admin.list_consumer_group_offsets(wanted, require_stable=False)[group].result(30)
                found[:] = [one.offset for one in answer.topic_partitions]
                return True
            except KafkaException:
                return False  # the coordinator is loading

        eventually(f"offsets of {group}", 30, told)
        return found

    def stable_end(self):
        """Where readers of what is committed end now."""
        reader = self.estate.consumer(isolation_level="read_committed")
        try:
            return reader.get_watermark_offsets(TopicPartition(TXN, 0), 30)[1]
        finally:
            reader.close()

    def read(self, isolation):
        got = []
        reader = self.estate.consumer(isolation_level=isolation)
        reader.assign([TopicPartition(TXN, 0, 0)])
        ended = []

        def all_read():
            for message in reader.consume(100, 0.1):
                (ended if message.error() is not None else got).append(message)
            return ended

        try:
            eventually("the topic is read", 30, all_read)
        finally:
            reader.close()
        return [message.offset() for message in got]

    def between(self):
        self.site.start(THALWEG)
        same("offsets of in-transaction", [3], self.committed("in-transaction"))
        self.estate.send([(TXN, 0, b"k", b"without a transaction", [], 1_700_000_000_000)], "none")
        written = [one[0] for one in self.estate.records[(TXN, 0)]]
        same("all records", written, self.read("read_uncommitted"))
        aborted = self.estate.aborted[(TXN, 0)]
        visible = [offset for offset in written if offset < self.first_open and offset not in aborted]
        same("records that are committed", visible, self.read("read_committed"))
        same("the last stable offset", self.first_open, self.stable_end())
        self.site.stop(signal.SIGTERM)

    def again(self):
        self.site.start(KAFKA)
        open_ = [one[0] for one in self.estate.records[(TXN, 0)] if one[3] == b"open"]
        self.estate.aborted[(TXN, 0)].update(open_)
        # The same transactional id again ends what its predecessor left.
        successor = Producer({"bootstrap.servers": self.site.bootstrap, "transactional.id": "open", "log_level": 0})
        successor.init_transactions(60)
        written = [one[0] for one in self.estate.records[(TXN, 0)]]
        visible = [offset for offset in written if offset not in self.estate.aborted[(TXN, 0)]]
        deadline = time.monotonic() + 30
        while (got := self.read("read_committed")) != visible and time.monotonic() < deadline:
            time.sleep(0.2)
        same("records that are committed", visible, got)
        same("offsets of in-transaction", [3], self.committed("in-transaction"))
        self.site.stop(signal.SIGTERM)


class OlderLevels(Move):
    """Formatted by an older release, with a directory of its own for the metadata: the levels of its features
    stay, and what they do not allow stays away."""

    has_new_groups = False
    format_options = ("--release-version", "4.0")

    def __init__(self, options, case):
        stops = {KAFKA: CLEAN, THALWEG: KILL}
        super().__init__(options, case, stops, static=True, dirs=2, metadata_dir=True)


class BegunByThalweg(Move):
    """Thalweg makes the installation, with voters in its configuration as kraft.version 0 has them."""

    order = (THALWEG, KAFKA, THALWEG, KAFKA)

    def __init__(self, options, case):
        super().__init__(options, case, {KAFKA: KILL, THALWEG: CLEAN}, static=True)


class BegunForPrevious(Move):
    """Thalweg makes it with the feature levels of the release before the oracle's. That release opens it."""

    order = (THALWEG, KAFKA, THALWEG, KAFKA)

    def __init__(self, options, case):
        stops = {KAFKA: CLEAN, THALWEG: KILL}
        super().__init__(options, case, stops, static=True, kafka_jars=options.previous_jars)
        clients = next(pathlib.Path(options.previous_jars).glob("kafka-clients-*.jar"))
        major, minor, _ = clients.stem.removeprefix("kafka-clients-").split(".")
        self.site.text += f"thalweg.format.release.version={major}.{minor}\n"
        self.site.configure("")


CASES = {
    "begun-by-thalweg": BegunByThalweg,
    "begun-for-previous": BegunForPrevious,
    "older-levels": OlderLevels,
    "open-transaction": OpenTransaction,
    "refused": Refused,
}
