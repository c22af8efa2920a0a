package thalweg.conformance;

import static thalweg.conformance.Context.send;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidPartitionsException;
import org.apache.kafka.common.errors.InvalidReplicationFactorException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** What the official clients are told when a request is wrong. */
final class ErrorCases {
    private ErrorCases() {}

    static List<Case> all() {
        return List.of(
                Case.of("errors.create-topics", ErrorCases::createTopics),
                Case.of("errors.create-topic-configs", ErrorCases::createTopicConfigs),
                Case.of("errors.create-partitions", ErrorCases::createPartitions),
                Case.of("errors.delete-topics", ErrorCases::deleteTopics),
                Case.of("errors.alter-topic-configs", ErrorCases::alterTopicConfigs),
                Case.of("errors.alter-broker-configs", ErrorCases::alterBrokerConfigs),
                Case.of("errors.describe-configs", ErrorCases::describeConfigs),
                Case.of("errors.delete-records", ErrorCases::deleteRecords),
                Case.of("errors.produce", ErrorCases::produce),
                Case.of("errors.groups", ErrorCases::groups));
    }

    private static Object create(Context c, NewTopic topic) throws Exception {
        return c.admin().createTopics(List.of(topic)).all().get(30, TimeUnit.SECONDS);
    }

    private static void createTopics(Context c) throws Exception {
        String topic = c.topic("t", 1);
        c.mustFail("twice", TopicExistsException.class, () -> create(c, new NewTopic(topic, 1, (short) 1)));
        c.mustFail("twice, validate only", TopicExistsException.class, () -> c.admin().createTopics(
                List.of(new NewTopic(topic, 1, (short) 1)), new CreateTopicsOptions().validateOnly(true)).all().get());
        c.mustFail("no partitions", InvalidPartitionsException.class, () -> create(c, new NewTopic(c.name("a"), 0, (short) 1)));
        c.mustFail("-5 partitions", InvalidPartitionsException.class, () -> create(c, new NewTopic(c.name("a"), -5, (short) 1)));
        c.mustFail("factor 0", InvalidReplicationFactorException.class, () -> create(c, new NewTopic(c.name("a"), 1, (short) 0)));
        c.mustFail("factor 3 on one broker", InvalidReplicationFactorException.class,
                () -> create(c, new NewTopic(c.name("a"), 1, (short) 3)));
        for (String name : List.of("", ".", "..", "with space", "slash/", "ä", "x".repeat(250))) {
            c.mustFail("name '" + (name.length() > 20 ? "250 letters" : name) + "'", InvalidTopicException.class,
                    () -> create(c, new NewTopic(name, 1, (short) 1)));
        }
        c.attempt("249 letters", () -> create(c, new NewTopic((c.name("n") + "x".repeat(249)).substring(0, 249), 1, (short) 1)));
        c.topic("dotted.name", 1);
        c.mustFail("collides by dot and underscore", InvalidTopicException.class,
                () -> create(c, new NewTopic(c.name("dotted_name"), 1, (short) 1)));
        c.attempt("assignment with a hole", () -> create(c, new NewTopic(c.name("b"), Map.of(0, List.of(1), 2, List.of(1)))));
        c.attempt("assignment to an unknown broker", () -> create(c, new NewTopic(c.name("b"), Map.of(0, List.of(9)))));
        c.attempt("assignment with a duplicate", () -> create(c, new NewTopic(c.name("b"), Map.of(0, List.of(1, 1)))));
        c.attempt("assignment to nobody", () -> create(c, new NewTopic(c.name("b"), Map.of(0, List.of()))));
        c.attempt("uneven assignment", () -> create(c, new NewTopic(c.name("b"), Map.of(0, List.of(1), 1, List.of(1, 2)))));
        c.attempt("an internal name", () -> create(c, new NewTopic("__cluster_metadata", 1, (short) 1)));
        c.attempt("too many partitions", () -> create(c, new NewTopic(c.name("d"), 100_000, (short) 1)));
        var mixed = c.admin().createTopics(List.of(new NewTopic(c.name("good"), 1, (short) 1), new NewTopic(topic, 1, (short) 1)));
        c.attempt("the good one of two", () -> mixed.values().get(c.name("good")).get());
        c.attempt("the bad one of two", () -> mixed.values().get(topic).get());
    }

    private static void createTopicConfigs(Context c) throws Exception {
        String[][] bad = {{"retention.ms", "soon"}, {"retention.ms", "-2"}, {"cleanup.policy", "burn"},
            {"no.such.config", "1"}, {"segment.bytes", "0"}, {"segment.bytes", "99999999999"},
            {"compression.type", "rar"}, {"min.insync.replicas", "0"}, {"max.message.bytes", "-1"},
            {"message.timestamp.type", "Yesterday"}, {"unclean.leader.election.enable", "maybe"},
            {"min.cleanable.dirty.ratio", "1.5"}, {"compression.lz4.level", "99"}, {"compression.gzip.level", "77"},
            {"flush.messages", "0"}, {"index.interval.bytes", "-1"}, {"remote.storage.enable", "true"},
            {"local.retention.ms", "-3"}, {"preallocate", "2"}, {"cleanup.policy", ""}, {"cleanup.policy", "delete,,compact"}};
        for (String[] one : bad) {
            c.attempt(one[0] + "=" + one[1],
                    () -> create(c, new NewTopic(c.name("x" + Math.abs(one[1].hashCode()) + one[0]), 1, (short) 1)
                            .configs(Map.of(one[0], one[1]))));
        }
        c.mustFail("null value", InvalidConfigurationException.class, () -> create(c,
                new NewTopic(c.name("n"), 1, (short) 1).configs(Collections.singletonMap("retention.ms", null))));
        c.attempt("value with spaces around", () -> create(c,
                new NewTopic(c.name("spaces"), 1, (short) 1).configs(Map.of("retention.ms", " 100000 "))));
    }

    private static void createPartitions(Context c) throws Exception {
        String topic = c.topic("t", 3);
        for (int count : new int[] {3, 2, 0, -1}) {
            c.mustFail("to " + count, InvalidPartitionsException.class,
                    () -> c.admin().createPartitions(Map.of(topic, NewPartitions.increaseTo(count))).all().get());
        }
        c.mustFail("unknown topic", UnknownTopicOrPartitionException.class,
                () -> c.admin().createPartitions(Map.of(c.name("unknown"), NewPartitions.increaseTo(3))).all().get());
        c.attempt("too few assignments", () -> c.admin().createPartitions(
                Map.of(topic, NewPartitions.increaseTo(5, List.of(List.of(1))))).all().get());
        c.attempt("unknown broker", () -> c.admin().createPartitions(
                Map.of(topic, NewPartitions.increaseTo(4, List.of(List.of(4))))).all().get());
        c.attempt("two replicas where one was", () -> c.admin().createPartitions(
                Map.of(topic, NewPartitions.increaseTo(4, List.of(List.of(1, 1))))).all().get());
        c.attempt("validate only", () -> c.admin().createPartitions(Map.of(topic, NewPartitions.increaseTo(4)),
                new org.apache.kafka.clients.admin.CreatePartitionsOptions().validateOnly(true)).all().get());
        Thread.sleep(200);
        c.line("still %d", c.admin().describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size());
    }

    private static void deleteTopics(Context c) {
        c.mustFail("unknown", UnknownTopicOrPartitionException.class,
                () -> c.admin().deleteTopics(List.of(c.name("unknown"))).all().get());
        c.mustFail("empty name", InvalidTopicException.class, () -> c.admin().deleteTopics(List.of("")).all().get());
        c.attempt("impossible name", () -> c.admin().deleteTopics(List.of("a b")).all().get());
    }

    private static Object alter(Context c, ConfigResource.Type type, String name, OpType op, String key, String value)
            throws Exception {
        return c.admin().incrementalAlterConfigs(Map.of(new ConfigResource(type, name),
                List.of(new AlterConfigOp(new ConfigEntry(key, value), op)))).all().get(30, TimeUnit.SECONDS);
    }

    private static void alterTopicConfigs(Context c) throws Exception {
        String topic = c.topic("t", 1);
        var type = ConfigResource.Type.TOPIC;
        c.mustFail("not a number", InvalidConfigurationException.class,
                () -> alter(c, type, topic, OpType.SET, "retention.ms", "x"));
        c.attempt("unknown config", () -> alter(c, type, topic, OpType.SET, "no.such", "1"));
        c.attempt("delete an unknown config", () -> alter(c, type, topic, OpType.DELETE, "no.such", null));
        c.attempt("append to a number", () -> alter(c, type, topic, OpType.APPEND, "retention.ms", "1"));
        c.attempt("subtract from a number", () -> alter(c, type, topic, OpType.SUBTRACT, "retention.ms", "1"));
        c.attempt("append what is not allowed", () -> alter(c, type, topic, OpType.APPEND, "cleanup.policy", "burn"));
        c.attempt("subtract what is not there", () -> alter(c, type, topic, OpType.SUBTRACT, "cleanup.policy", "compact"));
        c.mustFail("unknown topic", UnknownTopicOrPartitionException.class,
                () -> alter(c, type, c.name("unknown"), OpType.SET, "retention.ms", "100000"));
        c.attempt("no name", () -> alter(c, type, "", OpType.SET, "retention.ms", "100000"));
        c.attempt("a config twice", () -> c.admin().incrementalAlterConfigs(Map.of(new ConfigResource(type, topic),
                List.of(new AlterConfigOp(new ConfigEntry("retention.ms", "1000"), OpType.SET),
                        new AlterConfigOp(new ConfigEntry("retention.ms", "2000"), OpType.SET)))).all().get());
        c.attempt("validate only", () -> c.admin().incrementalAlterConfigs(Map.of(new ConfigResource(type, topic),
                List.of(new AlterConfigOp(new ConfigEntry("retention.ms", "123"), OpType.SET))),
                new org.apache.kafka.clients.admin.AlterConfigsOptions().validateOnly(true)).all().get());
        var resource = new ConfigResource(type, topic);
        c.line("untouched %s", c.admin().describeConfigs(List.of(resource)).all().get().get(resource).get("retention.ms").value());
    }

    private static void alterBrokerConfigs(Context c) {
        var type = ConfigResource.Type.BROKER;
        c.attempt("a read-only one", () -> alter(c, type, "1", OpType.SET, "node.id", "4"));
        c.attempt("not a number", () -> alter(c, type, "1", OpType.SET, "log.retention.ms", "x"));
        c.attempt("out of bounds", () -> alter(c, type, "", OpType.SET, "log.segment.bytes", "1"));
        c.attempt("a name that is no number", () -> alter(c, type, "x", OpType.SET, "log.retention.ms", "100000"));
        c.attempt("per-broker only, for all", () -> alter(c, type, "", OpType.SET, "advertised.listeners", "PLAINTEXT://x:1"));
        c.attempt("unknown group config", () -> alter(c, ConfigResource.Type.GROUP, c.name("g"), OpType.SET, "no.such", "1"));
        c.attempt("group config out of bounds", () -> alter(c, ConfigResource.Type.GROUP, c.name("g"), OpType.SET,
                "consumer.session.timeout.ms", "1"));
        c.attempt("logger", () -> alter(c, ConfigResource.Type.BROKER_LOGGER, "1", OpType.SET, "no.such.logger", "LOUD"));
        c.attempt("kind unknown", () -> alter(c, ConfigResource.Type.UNKNOWN, "1", OpType.SET, "a", "1"));
    }

    private static void describeConfigs(Context c) {
        c.mustFail("unknown topic", UnknownTopicOrPartitionException.class, () -> c.admin().describeConfigs(
                List.of(new ConfigResource(ConfigResource.Type.TOPIC, c.name("unknown")))).all().get());
        c.mustFail("impossible topic", InvalidTopicException.class, () -> c.admin().describeConfigs(
                List.of(new ConfigResource(ConfigResource.Type.TOPIC, "a b"))).all().get());
        c.attempt("unknown group", () -> c.admin().describeConfigs(
                List.of(new ConfigResource(ConfigResource.Type.GROUP, c.name("unknown")))).all().get().size());
    }

    private static void deleteRecords(Context c) throws Exception {
        String topic = c.topic("t", 1);
        TopicPartition tp = new TopicPartition(topic, 0);
        send(c.producer(), Data.numbered(topic, 0, 0, 5));
        c.attempt("past the end", () -> c.admin().deleteRecords(Map.of(tp, RecordsToDelete.beforeOffset(6))).all().get());
        c.attempt("negative", () -> c.admin().deleteRecords(Map.of(tp, RecordsToDelete.beforeOffset(-7))).all().get());
        c.attempt("unknown partition", () -> c.admin().deleteRecords(
                Map.of(new TopicPartition(topic, 4), RecordsToDelete.beforeOffset(1)),
                new org.apache.kafka.clients.admin.DeleteRecordsOptions().timeoutMs(2000)).all().get());
        String compacted = c.topic("compacted", 1, "cleanup.policy", "compact");
        c.attempt("a compacted topic", () -> c.admin().deleteRecords(
                Map.of(new TopicPartition(compacted, 0), RecordsToDelete.beforeOffset(0))).all().get());
        c.readAll(List.of(tp), 5);
    }

    private static void produce(Context c) throws Exception {
        String topic = c.topic("t", 1);
        c.attempt("partition that does not exist", () -> c.producer("max.block.ms", "1500").send(
                new ProducerRecord<>(topic, 5, null, new byte[1])).get());
        c.attempt("impossible topic name", () -> c.producer("max.block.ms", "5000").send(
                new ProducerRecord<>("a b", new byte[1])).get());
        c.attempt("idempotent with acks 1", () -> c.producer("enable.idempotence", "true", "acks", "1"));
    }

    private static void groups(Context c) throws Exception {
        String topic = c.topic("t", 1);
        TopicPartition tp = new TopicPartition(topic, 0);
        c.attempt("empty group id", () -> {
            var consumer = c.consumer("group.id", "");
            consumer.subscribe(List.of(topic));
            return consumer.poll(java.time.Duration.ofSeconds(5)).count();
        });
        c.attempt("no group id, commit", () -> {
            var consumer = c.consumer();
            consumer.assign(Set.of(tp));
            consumer.commitSync(Map.of(tp, new OffsetAndMetadata(1)));
            return "ok";
        });
        c.attempt("describe an unknown group",
                () -> c.admin().describeConsumerGroups(List.of(c.name("unknown"))).all().get());
        c.attempt("offsets of an unknown group",
                () -> c.admin().listConsumerGroupOffsets(c.name("unknown")).partitionsToOffsetAndMetadata().get());
        c.attempt("delete an unknown group", () -> c.admin().deleteConsumerGroups(List.of(c.name("unknown"))).all().get());
        c.attempt("delete offsets of an unknown group",
                () -> c.admin().deleteConsumerGroupOffsets(c.name("unknown"), Set.of(tp)).all().get());
        c.attempt("negative offset", () -> c.admin().alterConsumerGroupOffsets(c.name("g"),
                Map.of(tp, new OffsetAndMetadata(0, Optional.of(3), "x".repeat(5000)))).all().get());
    }
}
