package thalweg.conformance;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListConfigResourcesOptions;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListStreamsGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.SecurityDisabledException;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * The official clients' side of an installation that goes from one broker to another.
 *
 * <p>Usage: {@code Installation HOST:PORT}, with a command on each line of standard input. What a command
 * prints ends with a line {@code .} or {@code failed REASON}. The program ends with its input.
 *
 * <ul>
 *   <li>{@code inventory}: everything an Admin client is told, as {@code SECTION TEXT} in a stable order; {@code
 *       unsupported SECTION} for what the broker does not answer.
 *   <li>{@code join NAME GROUP PROTOCOL TOPIC [INSTANCE [ASSIGNOR]]}: a member that reads, commits, and stays. An
 *       instance {@code -} is none; an assignor is a class of the client's, without its package.
 *   <li>{@code leave NAME}: a member leaves its group, and is none of the members any more.
 *   <li>{@code members}: of each member {@code NAME RECORDS DUPLICATES REBALANCES PARTITIONS ERRORS}.
 *   <li>{@code share GROUP TOPIC COUNT}: a share consumer takes so many records; prints their offsets.
 *   <li>{@code streams GROUP TOPIC OFFSET}: commits for an empty streams group.
 * </ul>
 */
public final class Installation {
    private static final int ANSWER_SECONDS_MAX = 30;
    private static final PrintStream OUT = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);

    private final String bootstrap;
    private final Admin admin;
    private final Map<String, Member> members = new TreeMap<>();

    private Installation(String bootstrap) {
        this.bootstrap = bootstrap;
        this.admin = Admin.create(settings());
    }

    public static void main(String[] args) throws Exception {
        Installation installation = new Installation(args[0]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                installation.command(line.split(" "));
                OUT.println(".");
            } catch (Exception failure) {
                OUT.println("failed " + String.valueOf(cause(failure)).replace('\n', ' '));
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private void command(String[] words) throws Exception {
        switch (words[0]) {
            case "inventory" -> inventory();
            case "join" -> members.put(
                    words[1],
                    new Member(
                            words[1],
                            words[2],
                            words[3],
                            words[4],
                            words.length > 5 && !words[5].equals("-") ? words[5] : null,
                            words.length > 6 ? words[6] : null));
            case "leave" -> members.remove(words[1]).leave();
            case "members" -> members.values().forEach(OUT::println);
            case "share" -> share(words[1], words[2], Integer.parseInt(words[3]));
            case "streams" -> done(admin.alterStreamsGroupOffsets(
                            words[1],
                            Map.of(new TopicPartition(words[2], 0), new OffsetAndMetadata(Long.parseLong(words[3]), "streams")))
                    .all());
            default -> throw new IllegalArgumentException(words[0]);
        }
    }

    private Properties settings() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("reconnect.backoff.max.ms", "200");
        settings.put("request.timeout.ms", "10000");
        settings.put("default.api.timeout.ms", "20000");
        return settings;
    }

    private static <T> T done(KafkaFuture<T> future) throws Exception {
        return future.get(ANSWER_SECONDS_MAX, TimeUnit.SECONDS);
    }

    private static Throwable cause(Throwable failure) {
        return failure instanceof ExecutionException && failure.getCause() != null ? failure.getCause() : failure;
    }

    // ---- what there is ----

    private interface Section {
        void write(Set<String> lines) throws Exception;
    }

    private void section(String name, Section section) throws Exception {
        Set<String> lines = new TreeSet<>();
        try {
            section.write(lines);
        } catch (Exception failure) {
            Throwable cause = cause(failure);
            // The second is how Kafka answers without an authorizer.
            if (cause instanceof UnsupportedVersionException || cause instanceof SecurityDisabledException) {
                OUT.println("unsupported " + name);
                return;
            }
            throw new KafkaException(name + ": " + cause, cause);
        }
        lines.forEach(line -> OUT.println(name + " " + line.replace('\n', ' ')));
    }

    private void inventory() throws Exception {
        section("cluster", lines -> {
            lines.add("id " + done(admin.describeCluster().clusterId()));
            done(admin.describeCluster().nodes()).forEach(node -> lines.add("node " + node));
        });
        section("feature", lines -> done(admin.describeFeatures().featureMetadata())
                .finalizedFeatures()
                .forEach((name, range) -> lines.add(name + " " + range.maxVersionLevel())));
        section("voter", lines -> {
            var quorum = done(admin.describeMetadataQuorum().quorumInfo());
            quorum.voters().forEach(voter -> lines.add(voter.replicaId() + " " + voter.replicaDirectoryId()));
            lines.add("observers " + quorum.observers().size() + " leader " + quorum.leaderId() + " nodes " + quorum.nodes());
        });
        Set<String> topics = done(admin.listTopics(new ListTopicsOptions().listInternal(true)).names());
        Set<TopicPartition> partitions = new HashSet<>();
        section("topic", lines -> done(admin.describeTopics(topics).allTopicNames()).forEach((name, topic) -> {
            lines.add(name + " " + topic.topicId() + (topic.isInternal() ? " internal" : ""));
            topic.partitions().forEach(p -> {
                partitions.add(new TopicPartition(name, p.partition()));
                lines.add(name + "-" + p.partition() + " leader " + p.leader() + " replicas " + p.replicas() + " isr " + p.isr());
            });
        }));
        section("config", this::configs);
        section("quota", lines -> done(admin.describeClientQuotas(ClientQuotaFilter.all()).entities())
                .forEach((entity, values) -> lines.add(new TreeMap<>(entity.entries()) + " " + new TreeMap<>(values))));
        section("scram", lines -> done(admin.describeUserScramCredentials().all())
                .forEach((user, found) -> lines.add(user + " " + found.credentialInfos())));
        section("acl", lines -> done(admin.describeAcls(AclBindingFilter.ANY).values()).forEach(acl -> lines.add(acl.toString())));
        offsets("start", partitions, OffsetSpec.earliest());
        offsets("end", partitions, OffsetSpec.latest());
        section("producer", lines -> {
            for (var entry : done(admin.describeProducers(partitions).all()).entrySet()) {
                entry.getValue().activeProducers().forEach(p -> lines.add(entry.getKey() + " " + p));
            }
        });
        section("directory", lines -> done(admin.describeLogDirs(List.of(1)).allDescriptions())
                .forEach((node, dirs) -> dirs.forEach((path, dir) -> dir.replicaInfos().keySet().forEach(p -> lines.add(p + " " + path)))));
        section("transaction", lines -> done(admin.listTransactions().all()).forEach(one -> lines.add(one.toString())));
        groups();
    }

    private void offsets(String name, Set<TopicPartition> partitions, OffsetSpec spec) throws Exception {
        section(name, lines -> done(admin.listOffsets(partitions.stream().collect(Collectors.toMap(p -> p, p -> spec))).all())
                .forEach((p, found) -> lines.add(p + " " + found.offset())));
    }

    /** What was set by anybody, not what follows from defaults and the configuration's file. */
    private void configs(Set<String> lines) throws Exception {
        Set<ConfigResource> resources = new HashSet<>();
        resources.add(new ConfigResource(ConfigResource.Type.BROKER, ""));
        for (ConfigResource one : done(admin.listConfigResources(
                        Set.of(
                                ConfigResource.Type.TOPIC,
                                ConfigResource.Type.BROKER,
                                ConfigResource.Type.GROUP,
                                ConfigResource.Type.CLIENT_METRICS),
                        new ListConfigResourcesOptions())
                .all())) {
            resources.add(one);
        }
        done(admin.describeConfigs(resources).all()).forEach((resource, config) -> config.entries().forEach(entry -> {
            switch (entry.source()) {
                case DYNAMIC_TOPIC_CONFIG, DYNAMIC_GROUP_CONFIG, DYNAMIC_CLIENT_METRICS_CONFIG, DYNAMIC_BROKER_CONFIG ->
                    lines.add(resource.type() + " " + resource.name() + " " + entry.name() + "=" + entry.value());
                case DYNAMIC_DEFAULT_BROKER_CONFIG -> {
                    if (resource.type() == ConfigResource.Type.BROKER && resource.name().isEmpty()) {
                        lines.add("BROKER default " + entry.name() + "=" + entry.value());
                    }
                }
                default -> { }
            }
        }));
    }

    private void groups() throws Exception {
        Map<GroupType, Set<String>> byType = new HashMap<>();
        section("group", lines -> done(admin.listGroups().all()).forEach(group -> {
            GroupType type = group.type().orElse(GroupType.UNKNOWN);
            byType.computeIfAbsent(type, t -> new TreeSet<>()).add(group.groupId());
            lines.add(group.groupId() + " " + type + " " + group.protocol());
        }));
        Set<String> consumers = new TreeSet<>(byType.getOrDefault(GroupType.CLASSIC, Set.of()));
        consumers.addAll(byType.getOrDefault(GroupType.CONSUMER, Set.of()));
        section("member", lines -> done(admin.describeConsumerGroups(consumers).all()).forEach((id, group) -> {
            lines.add(id + " " + group.type() + " " + group.groupState() + " assignor " + group.partitionAssignor() + " epochs "
                    + group.groupEpoch() + " " + group.targetAssignmentEpoch());
            group.members().forEach(m -> lines.add(id + " " + m.consumerId() + " " + m.groupInstanceId() + " " + m.clientId() + " "
                    + m.host() + " " + sorted(m.assignment().topicPartitions()) + " "
                    + m.targetAssignment().map(target -> sorted(target.topicPartitions())) + " " + m.memberEpoch()));
        }));
        section("offset", lines -> {
            for (String id : consumers) {
                done(admin.listConsumerGroupOffsets(id).partitionsToOffsetAndMetadata()).forEach((p, at) -> lines.add(id + " " + p + " " + at));
            }
        });
        Set<String> shares = byType.getOrDefault(GroupType.SHARE, Set.of());
        section("sharing", lines -> {
            if (shares.isEmpty()) {
                return;
            }
            done(admin.describeShareGroups(shares).all()).forEach((id, group) -> lines.add(id + " " + group.groupState() + " epochs "
                    + group.groupEpoch() + " " + group.targetAssignmentEpoch() + " " + group.members()));
            for (String id : shares) {
                done(admin.listShareGroupOffsets(Map.of(id, new ListShareGroupOffsetsSpec())).partitionsToOffsetInfo(id))
                        .forEach((p, at) -> lines.add(id + " " + p + " " + at.startOffset()));
            }
        });
        Set<String> streams = byType.getOrDefault(GroupType.STREAMS, Set.of());
        section("streaming", lines -> {
            if (streams.isEmpty()) {
                return;
            }
            done(admin.describeStreamsGroups(streams).all()).forEach((id, group) -> lines.add(id + " " + group.groupState() + " epochs "
                    + group.groupEpoch() + " " + group.targetAssignmentEpoch() + " " + group.topologyEpoch() + " " + group.subtopologies()
                    + " " + group.members()));
            for (String id : streams) {
                done(admin.listStreamsGroupOffsets(Map.of(id, new ListStreamsGroupOffsetsSpec())).partitionsToOffsetAndMetadata(id))
                        .forEach((p, at) -> lines.add(id + " " + p + " " + at));
            }
        });
    }

    private static String sorted(Collection<TopicPartition> partitions) {
        return partitions.stream().map(TopicPartition::toString).sorted().collect(Collectors.joining(","));
    }

    // ---- groups ----

    /** Takes records from a share group until it has so many, and confirms them. */
    private void share(String group, String topic, int count) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
        AlterConfigOp earliest = new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
        done(admin.incrementalAlterConfigs(Map.of(resource, List.of(earliest))).all());
        Properties settings = settings();
        settings.put("group.id", group);
        settings.put("client.id", "sharing");
        List<Long> got = new ArrayList<>();
        try (var consumer = new KafkaShareConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(topic));
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(ANSWER_SECONDS_MAX);
            // What is above the count was not acknowledged by anybody before, and must not come.
            while (got.size() < count && System.nanoTime() < deadline) {
                consumer.poll(Duration.ofMillis(200)).forEach(record -> got.add(record.offset()));
                for (var failed : consumer.commitSync(Duration.ofSeconds(10)).values()) {
                    if (failed.isPresent()) {
                        throw failed.get();
                    }
                }
            }
        }
        got.forEach(OUT::println);
    }

    /** A member that reads what comes, commits it and stays, whatever becomes of the broker. */
    private final class Member implements Runnable, ConsumerRebalanceListener {
        private final String name;
        private final String topic;
        private final KafkaConsumer<byte[], byte[]> consumer;
        private final Set<String> seen = ConcurrentHashMap.newKeySet();
        private volatile int duplicates;
        private volatile int rebalances;
        private volatile String partitions = "-";
        private volatile String errors = "-";
        private volatile boolean isLeaving;
        private final Thread thread;

        Member(String name, String group, String protocol, String topic, String instance, String assignor) {
            this.name = name;
            this.topic = topic;
            Properties settings = settings();
            settings.put("group.id", group);
            settings.put("client.id", name);
            settings.put("group.protocol", protocol);
            settings.put("enable.auto.commit", "false");
            settings.put("auto.offset.reset", "earliest");
            settings.put("fetch.max.wait.ms", "50");
            if (instance != null) {
                settings.put("group.instance.id", instance);
            }
            if (assignor != null) {
                settings.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer." + assignor);
            }
            if (protocol.equals("classic")) {
                // Without it the client forgets its topics when the only broker is away, takes that for a change
                // of the topics, and joins anew by itself.
                settings.put("metadata.recovery.strategy", "none");
                settings.put("session.timeout.ms", "60000");
                settings.put("heartbeat.interval.ms", "300");
            }
            this.consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            this.thread = new Thread(this, name);
            thread.setDaemon(true);
            thread.start();
        }

        void leave() throws InterruptedException {
            isLeaving = true;
            thread.join(TimeUnit.SECONDS.toMillis(ANSWER_SECONDS_MAX));
            if (thread.isAlive() || !errors.equals("-")) {
                throw new KafkaException(name + " does not leave: " + errors);
            }
        }

        @Override
        public void run() {
            try {
                consumer.subscribe(List.of(topic), this);
                boolean isBehind = false;
                while (!isLeaving) {
                    for (var record : consumer.poll(Duration.ofMillis(100))) {
                        if (!seen.add(record.partition() + "@" + record.offset())) {
                            duplicates++;
                        }
                        isBehind = true;
                    }
                    if (isBehind) {
                        try {
                            consumer.commitSync(Duration.ofSeconds(2));
                            isBehind = false;
                        } catch (RetriableException later) {
                            // The broker is away; what is read is committed when it is back.
                        }
                    }
                }
                consumer.close();
            } catch (Throwable failure) {
                errors = String.valueOf(failure).replaceAll("\\s+", "_");
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
            rebalances++;
            partitions = consumer.assignment().stream().map(TopicPartition::toString).sorted().collect(Collectors.joining(","));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
            rebalances++;
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> lost) {
            rebalances += 1000;
        }

        @Override
        public String toString() {
            return String.join(
                    " ",
                    name,
                    String.valueOf(seen.size()),
                    String.valueOf(duplicates),
                    String.valueOf(rebalances),
                    partitions.isEmpty() ? "-" : partitions,
                    errors);
        }
    }
}
