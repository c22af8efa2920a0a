package thalweg.conformance;

import static thalweg.conformance.Context.check;
import static thalweg.conformance.Context.eventually;
import static thalweg.conformance.Context.partitions;
import static thalweg.conformance.Context.same;
import static thalweg.conformance.Context.send;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;

/** The official admin client on things that work. */
final class AdminCases {
    private AdminCases() {}

    static List<Case> all() {
        return List.of(
                Case.of("admin.create-describe-delete-topics", AdminCases::topics),
                Case.of("admin.create-topics-result", AdminCases::createResult),
                Case.of("admin.create-partitions", AdminCases::createPartitions),
                Case.of("admin.topics-by-id", AdminCases::topicsById),
                Case.of("admin.describe-in-pages", AdminCases::describeInPages),
                Case.of("admin.topic-configs", AdminCases::topicConfigs),
                Case.of("admin.all-topic-configs", AdminCases::allTopicConfigs),
                Case.alone("admin.broker-configs", AdminCases::brokerConfigs),
                Case.of("admin.all-broker-configs", AdminCases::allBrokerConfigs),
                Case.of("admin.group-configs", AdminCases::groupConfigs),
                Case.of("admin.list-config-resources", AdminCases::listConfigResources),
                Case.of("admin.delete-records", AdminCases::deleteRecords),
                Case.of("admin.list-offsets", AdminCases::listOffsets),
                Case.of("admin.describe-cluster", AdminCases::describeCluster),
                Case.of("admin.describe-log-dirs", AdminCases::describeLogDirs),
                Case.of("admin.groups", AdminCases::groups),
                Case.of("admin.group-offsets", AdminCases::groupOffsets),
                Case.of("admin.describe-producers", AdminCases::describeProducers),
                Case.of("admin.elect-leaders", AdminCases::electLeaders),
                Case.of("admin.reassignments", AdminCases::reassignments),
                Case.of("admin.metadata-quorum", AdminCases::metadataQuorum),
                Case.of("admin.features", AdminCases::features),
                Case.of("admin.internal-topics", AdminCases::internalTopics),
                Case.of("admin.list-transactions-producers-acls", AdminCases::listsOfWhatIsNotThere));
    }

    private static void topics(Context c) throws Exception {
        var admin = c.admin();
        String one = c.name("one");
        String two = c.name("two");
        var created = admin.createTopics(List.of(
                new NewTopic(one, 3, (short) 1).configs(Map.of("retention.ms", "3600000")),
                new NewTopic(two, Map.of(0, List.of(1), 1, List.of(1)))));
        created.all().get();
        c.visible(one, 3);
        c.visible(two, 2);
        var names = admin.listTopics().listings().get();
        for (String name : List.of(one, two)) {
            var listing = names.stream().filter(l -> l.name().equals(name)).findFirst().orElseThrow();
            check(!listing.topicId().equals(Uuid.ZERO_UUID), "no topic id");
            c.line("%s internal %s", name, listing.isInternal());
            TopicDescription d = admin.describeTopics(List.of(name)).allTopicNames().get().get(name);
            same("topic id", listing.topicId(), d.topicId());
            c.line("%s: %s", name, describe(d));
            c.line("operations %s", new TreeSet<>(admin.describeTopics(List.of(name), new DescribeTopicsOptions()
                    .includeAuthorizedOperations(true)).allTopicNames().get().get(name).authorizedOperations()));
        }
        admin.deleteTopics(List.of(one, two)).all().get();
        eventually("gone", 15_000, () -> {
            var left = admin.listTopics().names().get();
            return !left.contains(one) && !left.contains(two);
        });
        c.attempt("describe after delete", () -> admin.describeTopics(List.of(one)).allTopicNames().get());
    }

    private static String describe(TopicDescription d) {
        return d.partitions().stream().map(p -> p.partition() + ":leader " + p.leader().id() + " replicas "
                + p.replicas().stream().map(n -> n.id()).toList() + " isr " + p.isr().stream().map(n -> n.id()).toList()
                + " elr " + p.elr() + " last " + p.lastKnownElr())
                .collect(Collectors.joining("; "));
    }

    private static void createResult(Context c) throws Exception {
        var admin = c.admin();
        String name = c.name("t");
        var dry = admin.createTopics(List.of(new NewTopic(name, 4, (short) 1).configs(Map.of("segment.bytes", "2000000"))),
                new CreateTopicsOptions().validateOnly(true));
        dry.all().get();
        c.line("validate only: partitions %d, factor %d", dry.numPartitions(name).get(), dry.replicationFactor(name).get());
        check(!admin.listTopics().names().get().contains(name), "validate only created the topic");
        var wet = admin.createTopics(List.of(new NewTopic(name, Optional.empty(), Optional.empty())
                .configs(Map.of("cleanup.policy", "compact"))));
        c.line("defaults: partitions %d, factor %d", wet.numPartitions(name).get(), wet.replicationFactor(name).get());
        Config config = wet.config(name).get();
        for (String key : List.of("cleanup.policy", "retention.ms", "max.message.bytes")) {
            c.line("%s", entry(config.get(key)));
        }
        // Without configs of Thalweg's own.
        c.line("number of configs in the answer %d",
                config.entries().stream().filter(e -> !e.name().startsWith("thalweg.")).count());
        check(!wet.topicId(name).get().equals(Uuid.ZERO_UUID), "no topic id");
    }

    private static String entry(ConfigEntry e) {
        return e == null ? "absent" : e.name() + "=" + e.value() + " " + e.source() + (e.isDefault() ? " default" : "")
                + (e.isSensitive() ? " sensitive" : "") + (e.isReadOnly() ? " read-only" : "") + " " + e.type();
    }

    private static void createPartitions(Context c) throws Exception {
        var admin = c.admin();
        String topic = c.topic("t", 2);
        send(c.producer(), Data.numbered(topic, 1, 0, 10));
        admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(4))).all().get();
        c.visible(topic, 4);
        admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(6, List.of(List.of(1), List.of(1))))).all().get();
        c.visible(topic, 6);
        var producer = c.producer();
        for (int p = 0; p < 6; p++) {
            send(producer, Data.numbered(topic, p, 10, 5));
        }
        c.readAll(partitions(topic, 6), 40);
        c.line("6 partitions in the end, 40 records");
    }

    private static void topicsById(Context c) throws Exception {
        var admin = c.admin();
        String topic = c.topic("t", 1);
        Uuid id = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).topicId();
        c.line("by id: %s", admin.describeTopics(TopicCollection.ofTopicIds(List.of(id))).allTopicIds().get().get(id).name());
        admin.deleteTopics(TopicCollection.ofTopicIds(List.of(id))).all().get();
        c.attempt("describe a deleted id", () -> {
            for (int i = 0; i < 100; i++) {
                admin.describeTopics(TopicCollection.ofTopicIds(List.of(id))).allTopicIds().get();
                Thread.sleep(50);
            }
            return "still there";
        });
        c.attempt("delete an unknown id",
                () -> admin.deleteTopics(TopicCollection.ofTopicIds(List.of(id))).all().get());
    }

    private static void describeInPages(Context c) throws Exception {
        var admin = c.admin();
        List<String> names = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            names.add(c.topic("t" + i, 7));
        }
        var options = new DescribeTopicsOptions().partitionSizeLimitPerResponse(4);
        var all = new TreeMap<>(admin.describeTopics(names, options).allTopicNames().get());
        for (var one : all.entrySet()) {
            c.line("%s: %d partitions %s", one.getKey(), one.getValue().partitions().size(),
                    one.getValue().partitions().stream().map(p -> p.partition()).toList());
        }
    }

    private static final List<String> SHOWN = List.of("retention.ms", "retention.bytes", "cleanup.policy",
            "segment.bytes", "compression.type", "min.insync.replicas", "max.message.bytes", "message.timestamp.type",
            "unclean.leader.election.enable");

    private static void showTopic(Context c, String topic, String what) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        Config config = c.admin().describeConfigs(List.of(resource)).all().get().get(resource);
        c.line("%s", what);
        for (String key : SHOWN) {
            c.line("  %s", entry(config.get(key)));
        }
    }

    private static void topicConfigs(Context c) throws Exception {
        var admin = c.admin();
        String topic = c.topic("t", 1, "retention.ms", "1000000", "cleanup.policy", "delete");
        showTopic(c, topic, "created");
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        alter(c, resource, new AlterConfigOp(new ConfigEntry("retention.bytes", "5000000"), OpType.SET),
                new AlterConfigOp(new ConfigEntry("retention.ms", ""), OpType.DELETE),
                new AlterConfigOp(new ConfigEntry("cleanup.policy", "compact"), OpType.APPEND),
                new AlterConfigOp(new ConfigEntry("compression.type", "zstd"), OpType.SET));
        settled(c, resource, "retention.bytes", "5000000");
        showTopic(c, topic, "altered");
        alter(c, resource, new AlterConfigOp(new ConfigEntry("cleanup.policy", "delete"), OpType.SUBTRACT),
                new AlterConfigOp(new ConfigEntry("compression.type", null), OpType.DELETE));
        settled(c, resource, "cleanup.policy", "compact");
        showTopic(c, topic, "altered again");
        Config synonyms = admin.describeConfigs(List.of(resource), new DescribeConfigsOptions().includeSynonyms(true)
                .includeDocumentation(true)).all().get().get(resource);
        for (String key : List.of("retention.bytes", "retention.ms", "max.message.bytes")) {
            ConfigEntry e = synonyms.get(key);
            c.line("synonyms of %s: %s", key,
                    e.synonyms().stream().map(s -> s.name() + "=" + s.value() + " " + s.source()).toList());
            check(e.documentation() != null && !e.documentation().isEmpty(), "%s is not documented", key);
        }
        Config chosen = admin.describeConfigs(List.of(resource)).all().get().get(resource);
        c.line("cleanup.policy %s", chosen.get("cleanup.policy").value());
    }

    private static void alter(Context c, ConfigResource resource, AlterConfigOp... ops) throws Exception {
        c.admin().incrementalAlterConfigs(Map.of(resource, List.of(ops))).all().get();
    }

    private static void settled(Context c, ConfigResource resource, String key, String value) throws Exception {
        eventually(key + " is " + value, 15_000, () -> value.equals(
                c.admin().describeConfigs(List.of(resource)).all().get().get(resource).get(key).value()));
    }

    private static void allTopicConfigs(Context c) throws Exception {
        String topic = c.topic("t", 1);
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        Config config = c.admin().describeConfigs(List.of(resource)).all().get().get(resource);
        new TreeMap<>(config.entries().stream().collect(Collectors.toMap(ConfigEntry::name, e -> e)))
                .values().forEach(e -> c.line("%s", entry(e)));
    }

    /** Settings that depend on where and how the broker was started are listed by name and kind only. */
    private static void allBrokerConfigs(Context c) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.BROKER, "1");
        Config config = c.admin().describeConfigs(List.of(resource)).all().get().get(resource);
        for (ConfigEntry e : new TreeMap<>(config.entries().stream()
                .collect(Collectors.toMap(ConfigEntry::name, e -> e))).values()) {
            boolean local = e.source() == ConfigEntry.ConfigSource.STATIC_BROKER_CONFIG
                    || e.name().contains("dir") || e.name().contains("listener") || e.name().contains("quorum");
            c.line("%s %s%s%s %s", e.name(), local ? "" : "=" + e.value(), e.isReadOnly() ? " read-only" : "",
                    e.isSensitive() ? " sensitive" : "", e.type());
        }
    }

    private static void brokerConfigs(Context c) throws Exception {
        ConfigResource one = new ConfigResource(ConfigResource.Type.BROKER, "1");
        ConfigResource all = new ConfigResource(ConfigResource.Type.BROKER, "");
        String key = "log.retention.ms";
        c.line("start: %s", entry(c.admin().describeConfigs(List.of(one)).all().get().get(one).get(key)));
        alter(c, all, new AlterConfigOp(new ConfigEntry(key, "77777777"), OpType.SET));
        settled(c, one, key, "77777777");
        c.line("cluster default set: %s", entry(c.admin().describeConfigs(List.of(one)).all().get().get(one).get(key)));
        alter(c, one, new AlterConfigOp(new ConfigEntry(key, "88888888"), OpType.SET));
        settled(c, one, key, "88888888");
        Config config = c.admin().describeConfigs(List.of(one), new DescribeConfigsOptions().includeSynonyms(true))
                .all().get().get(one);
        c.line("broker set: %s", entry(config.get(key)));
        c.line("synonyms %s", config.get(key).synonyms().stream()
                .map(s -> s.name() + "=" + s.value() + " " + s.source()).toList());
        c.line("cluster default: %s", c.admin().describeConfigs(List.of(all)).all().get().get(all).entries().stream()
                .filter(e -> e.name().equals(key)).map(AdminCases::entry).toList());
        String topic = c.topic("t", 1);
        ConfigResource topicResource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        c.line("topic inherits: %s", entry(c.admin().describeConfigs(List.of(topicResource)).all().get()
                .get(topicResource).get("retention.ms")));
        alter(c, one, new AlterConfigOp(new ConfigEntry(key, null), OpType.DELETE));
        alter(c, all, new AlterConfigOp(new ConfigEntry(key, null), OpType.DELETE));
        eventually("back to the default", 15_000, () -> {
            ConfigEntry e = c.admin().describeConfigs(List.of(one)).all().get().get(one).get(key);
            return e.value() == null || !e.value().endsWith("77777777") && !e.value().endsWith("88888888");
        });
        c.line("end: %s", entry(c.admin().describeConfigs(List.of(one)).all().get().get(one).get(key)));
    }

    private static void groupConfigs(Context c) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, c.name("g"));
        alter(c, resource, new AlterConfigOp(new ConfigEntry("consumer.session.timeout.ms", "50000"), OpType.SET));
        settled(c, resource, "consumer.session.timeout.ms", "50000");
        Config config = c.admin().describeConfigs(List.of(resource)).all().get().get(resource);
        new TreeMap<>(config.entries().stream().collect(Collectors.toMap(ConfigEntry::name, e -> e)))
                .values().forEach(e -> c.line("%s", entry(e)));
    }

    private static void listConfigResources(Context c) throws Exception {
        String topic = c.topic("t", 1, "retention.ms", "5000000");
        var all = c.admin().listConfigResources().all().get();
        c.line("own topic: %s", all.contains(new ConfigResource(ConfigResource.Type.TOPIC, topic)));
        c.line("kinds %s", new TreeSet<>(all.stream().map(r -> r.type().name())
                .filter(n -> !n.equals("GROUP") && !n.equals("CLIENT_METRICS")).toList()));
        c.line("brokers %s", all.stream().filter(r -> r.type() == ConfigResource.Type.BROKER).map(r -> r.name()).toList());
    }

    private static void deleteRecords(Context c) throws Exception {
        var admin = c.admin();
        String topic = c.topic("t", 2);
        List<TopicPartition> both = partitions(topic, 2);
        send(c.producer("batch.size", "100"), Data.numbered(topic, 0, 0, 30));
        var result = admin.deleteRecords(Map.of(both.get(0), RecordsToDelete.beforeOffset(12),
                both.get(1), RecordsToDelete.beforeOffset(-1))).lowWatermarks();
        c.line("to 12: %d, empty partition: %d", result.get(both.get(0)).get().lowWatermark(),
                result.get(both.get(1)).get().lowWatermark());
        var got = c.readAll(List.of(both.get(0)), 18);
        same("first offset", 12L, got.get(0).offset());
        c.line("backwards: %d", admin.deleteRecords(Map.of(both.get(0), RecordsToDelete.beforeOffset(3)))
                .lowWatermarks().get(both.get(0)).get().lowWatermark());
        c.line("to the end: %d", admin.deleteRecords(Map.of(both.get(0), RecordsToDelete.beforeOffset(-1)))
                .lowWatermarks().get(both.get(0)).get().lowWatermark());
        c.attempt("past the end", () -> admin.deleteRecords(Map.of(both.get(0), RecordsToDelete.beforeOffset(31))).all().get());
        send(c.producer(), Data.numbered(topic, 0, 30, 2));
        same("offset after", 30L, c.readAll(List.of(both.get(0)), 2).get(0).offset());
    }

    private static void listOffsets(Context c) throws Exception {
        var admin = c.admin();
        String topic = c.topic("t", 2);
        TopicPartition tp = new TopicPartition(topic, 0);
        var producer = c.producer();
        List<Data> sent = new ArrayList<>(Data.numbered(topic, 0, 0, 20));
        sent.add(new Data(topic, 0, Data.BASE_TIME + 5_000, null, "latest time".getBytes(), List.of()));
        sent.addAll(Data.numbered(topic, 0, 20, 5));
        send(producer, sent);
        Map<String, OffsetSpec> specs = new TreeMap<>(Map.of("earliest", OffsetSpec.earliest(), "latest",
                OffsetSpec.latest(), "max-timestamp", OffsetSpec.maxTimestamp(), "earliest-local",
                OffsetSpec.earliestLocal(), "latest-tiered", OffsetSpec.latestTiered(), "at-100",
                OffsetSpec.forTimestamp(Data.BASE_TIME + 100), "at-101", OffsetSpec.forTimestamp(Data.BASE_TIME + 101),
                "after-all", OffsetSpec.forTimestamp(Data.BASE_TIME + 6_000),
                "earliest-pending-upload", OffsetSpec.earliestPendingUpload()));
        for (var spec : specs.entrySet()) {
            for (TopicPartition one : partitions(topic, 2)) {
                c.attempt(spec.getKey() + " of partition " + one.partition(), () -> {
                    var found = admin.listOffsets(Map.of(one, spec.getValue())).partitionResult(one).get();
                    return found.offset() + " @" + found.timestamp() + " epoch " + found.leaderEpoch();
                });
            }
        }
        c.attempt("a partition that does not exist", () -> admin.listOffsets(
                Map.of(new TopicPartition(topic, 9), OffsetSpec.latest()),
                new org.apache.kafka.clients.admin.ListOffsetsOptions().timeoutMs(2000)).all().get());
        c.attempt("a topic that does not exist", () -> admin.listOffsets(
                Map.of(new TopicPartition(c.name("unknown"), 0), OffsetSpec.latest()),
                new org.apache.kafka.clients.admin.ListOffsetsOptions().timeoutMs(2000)).all().get());
        same("offset", 26L, admin.listOffsets(Map.of(tp, OffsetSpec.latest())).partitionResult(tp).get().offset());
    }

    private static void describeCluster(Context c) throws Exception {
        var cluster = c.admin().describeCluster(new DescribeClusterOptions().includeAuthorizedOperations(true));
        check(!cluster.clusterId().get().isEmpty(), "no cluster id");
        c.line("nodes %s", cluster.nodes().get().stream()
                .map(n -> n.id() + " " + n.host() + ":" + n.port() + " rack " + n.rack() + " fenced " + n.isFenced()).toList());
        c.line("controller %d", cluster.controller().get().id());
        c.line("operations %s", new TreeSet<>(cluster.authorizedOperations().get()));
        var withFenced = c.admin().describeCluster(new DescribeClusterOptions().includeFencedBrokers(true));
        c.line("with fenced %d", withFenced.nodes().get().size());
    }

    private static void describeLogDirs(Context c) throws Exception {
        String topic = c.topic("t", 2);
        send(c.producer("compression.type", "none"), Data.numbered(topic, 0, 0, 100));
        var dirs = c.admin().describeLogDirs(List.of(1)).allDescriptions().get().get(1);
        c.line("directories %d", dirs.size());
        dirs.values().forEach(d -> {
            c.line("error %s", d.error());
            check(d.totalBytes().isPresent() && d.totalBytes().getAsLong() > 0, "no total bytes");
            check(d.usableBytes().isPresent() && d.usableBytes().getAsLong() > 0, "no usable bytes");
            new TreeMap<>(d.replicaInfos().entrySet().stream().filter(e -> e.getKey().topic().equals(topic))
                    .collect(Collectors.toMap(e -> e.getKey().toString(), e -> e.getValue())))
                    .forEach((k, v) -> c.line("%s size>0 %s lag %d future %s", k, v.size() > 0, v.offsetLag(), v.isFuture()));
        });
        var replica = new org.apache.kafka.common.TopicPartitionReplica(topic, 0, 1);
        var info = c.admin().describeReplicaLogDirs(List.of(replica)).all().get().get(replica);
        c.line("replica has a directory %s, lag %d, future %s", info.getCurrentReplicaLogDir() != null,
                info.getCurrentReplicaOffsetLag(), info.getFutureReplicaLogDir());
    }

    private static void groups(Context c) throws Exception {
        var admin = c.admin();
        String topic = c.topic("t", 2);
        String group = c.name("g");
        send(c.producer(), Data.numbered(topic, 0, 0, 10));
        KafkaConsumer<byte[], byte[]> consumer = c.consumer("group.id", group, "client.id", "the client");
        consumer.subscribe(List.of(topic));
        List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
        Context.poll(consumer, got, 10, 20_000);
        consumer.commitSync();
        var description = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
        c.line("state %s type %s simple %s assignor %s coordinator %d operations %s", description.groupState(),
                description.type(), description.isSimpleConsumerGroup(), description.partitionAssignor(),
                description.coordinator().id(), description.authorizedOperations());
        description.members().forEach(m -> c.line("member client %s host %s instance %s assignment %s", m.clientId(),
                m.host(), m.groupInstanceId(), new TreeSet<>(m.assignment().topicPartitions().stream()
                        .map(TopicPartition::toString).toList())));
        c.line("listed %s", listed(c, group, new ListGroupsOptions()));
        c.line("listed stable %s", listed(c, group, new ListGroupsOptions()
                .inGroupStates(Set.of(org.apache.kafka.common.GroupState.STABLE))));
        c.line("listed empty %s", listed(c, group, new ListGroupsOptions()
                .inGroupStates(Set.of(org.apache.kafka.common.GroupState.EMPTY))));
        c.line("listed classic %s", listed(c, group, new ListGroupsOptions()
                .withTypes(Set.of(org.apache.kafka.common.GroupType.CLASSIC))));
        c.attempt("delete while it has members", () -> admin.deleteConsumerGroups(List.of(group)).all().get());
        c.attempt("delete offsets of a subscribed topic",
                () -> admin.deleteConsumerGroupOffsets(group, Set.of(new TopicPartition(topic, 0))).all().get());
        c.attempt("alter offsets while it has members", () -> admin.alterConsumerGroupOffsets(group,
                Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(1))).all().get());
        consumer.close(Duration.ofSeconds(10));
        eventually("empty", 10_000, () -> GroupCases.describe(c, group).startsWith("Empty"));
        c.line("listed %s", listed(c, group, new ListGroupsOptions()));
        c.attempt("delete", () -> admin.deleteConsumerGroups(List.of(group)).all().get());
        c.attempt("delete again", () -> admin.deleteConsumerGroups(List.of(group)).all().get());
        c.attempt("describe after delete", () -> admin.describeConsumerGroups(List.of(group)).all().get());
        c.attempt("describe classic after delete", () -> admin.describeClassicGroups(List.of(group)).all().get());
        c.attempt("offsets after delete", () -> admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get());
        c.line("listed %s", listed(c, group, new ListGroupsOptions()));
    }

    private static List<String> listed(Context c, String group, ListGroupsOptions options) throws Exception {
        return c.admin().listGroups(options).all().get().stream().filter(g -> g.groupId().equals(group))
                .map(g -> g.protocol() + " " + g.type() + " " + g.groupState()).toList();
    }

    private static void groupOffsets(Context c) throws Exception {
        var admin = c.admin();
        String topic = c.topic("t", 3);
        String one = c.name("one");
        String two = c.name("two");
        List<TopicPartition> tps = partitions(topic, 3);
        admin.alterConsumerGroupOffsets(one, Map.of(tps.get(0), new OffsetAndMetadata(4),
                tps.get(1), new OffsetAndMetadata(5, Optional.of(0), "hello"))).all().get();
        admin.alterConsumerGroupOffsets(two, Map.of(tps.get(2), new OffsetAndMetadata(6))).all().get();
        var both = admin.listConsumerGroupOffsets(Map.of(one, new ListConsumerGroupOffsetsSpec(),
                two, new ListConsumerGroupOffsetsSpec().topicPartitions(tps))).all().get();
        for (String group : List.of(one, two)) {
            Map<String, String> shown = new TreeMap<>();
            both.get(group).forEach((k, v) -> shown.put(k.toString(), v == null ? "none"
                    : v.offset() + " '" + v.metadata() + "' " + v.leaderEpoch()));
            c.line("%s: %s", group, shown);
        }
        c.line("group %s", GroupCases.describe(c, one));
        c.attempt("listed", () -> listed(c, one, new ListGroupsOptions()));
        c.attempt("delete one offset", () -> admin.deleteConsumerGroupOffsets(one, Set.of(tps.get(0))).all().get());
        c.attempt("delete an offset that is not there",
                () -> admin.deleteConsumerGroupOffsets(one, Set.of(tps.get(2))).all().get());
        c.line("left: %s", new TreeSet<>(admin.listConsumerGroupOffsets(one).partitionsToOffsetAndMetadata().get()
                .keySet().stream().map(TopicPartition::toString).toList()));
        c.attempt("commit to an unknown topic", () -> admin.alterConsumerGroupOffsets(one,
                Map.of(new TopicPartition(c.name("unknown"), 0), new OffsetAndMetadata(1))).all().get());
        admin.deleteTopics(List.of(topic)).all().get();
        eventually("offsets go with their topic", 20_000,
                () -> admin.listConsumerGroupOffsets(one).partitionsToOffsetAndMetadata().get().isEmpty());
    }

    private static void describeProducers(Context c) throws Exception {
        String topic = c.topic("t", 1);
        TopicPartition tp = new TopicPartition(topic, 0);
        send(c.producer("enable.idempotence", "false"), Data.numbered(topic, 0, 0, 3));
        c.line("without idempotence %d", c.admin().describeProducers(List.of(tp)).partitionResult(tp).get().activeProducers().size());
        var producer = c.producer("enable.idempotence", "true");
        send(producer, Data.numbered(topic, 0, 3, 5));
        send(producer, Data.numbered(topic, 0, 8, 1));
        for (var state : c.admin().describeProducers(List.of(tp)).partitionResult(tp).get().activeProducers()) {
            check(state.producerId() >= 0 && state.lastTimestamp() > 0, "state %s", state);
            c.line("epoch %d last sequence %d coordinator epoch %s transaction start %s", state.producerEpoch(),
                    state.lastSequence(), state.coordinatorEpoch(), state.currentTransactionStartOffset());
        }
        c.attempt("unknown partition", () -> c.admin().describeProducers(List.of(new TopicPartition(topic, 5)),
                new org.apache.kafka.clients.admin.DescribeProducersOptions().timeoutMs(2000)).all().get());
    }

    private static void electLeaders(Context c) throws Exception {
        String topic = c.topic("t", 2);
        for (ElectionType type : ElectionType.values()) {
            var result = c.admin().electLeaders(type, Set.of(new TopicPartition(topic, 0), new TopicPartition(topic, 8)))
                    .partitions().get();
            Map<String, String> shown = new TreeMap<>();
            result.forEach((k, v) -> shown.put(k.toString(), v.map(t -> t.getClass().getSimpleName()).orElse("ok")));
            c.line("%s: %s", type, shown);
        }
        c.line("preferred, all partitions: own ones in the answer %s", c.admin().electLeaders(ElectionType.PREFERRED, null)
                .partitions().get().keySet().stream().filter(tp -> tp.topic().equals(topic)).map(TopicPartition::toString).toList());
    }

    private static void reassignments(Context c) throws Exception {
        var admin = c.admin();
        String topic = c.topic("t", 1);
        TopicPartition tp = new TopicPartition(topic, 0);
        c.line("ongoing %s", admin.listPartitionReassignments(Set.of(tp)).reassignments().get());
        c.attempt("to where it is", () -> admin.alterPartitionReassignments(
                Map.of(tp, Optional.of(new NewPartitionReassignment(List.of(1))))).all().get());
        c.attempt("to an unknown broker", () -> admin.alterPartitionReassignments(
                Map.of(tp, Optional.of(new NewPartitionReassignment(List.of(1, 77))))).all().get());
        c.attempt("to nowhere", () -> admin.alterPartitionReassignments(
                Map.of(tp, Optional.of(new NewPartitionReassignment(List.of(1, 1))))).all().get());
        c.attempt("cancel nothing", () -> admin.alterPartitionReassignments(Map.of(tp, Optional.empty())).all().get());
        c.attempt("unknown partition", () -> admin.alterPartitionReassignments(Map.of(new TopicPartition(topic, 4),
                Optional.of(new NewPartitionReassignment(List.of(1))))).all().get());
        c.line("ongoing, all %s", admin.listPartitionReassignments().reassignments().get());
        send(c.producer(), Data.numbered(topic, 0, 0, 3));
        c.readAll(List.of(tp), 3);
    }

    private static void metadataQuorum(Context c) throws Exception {
        var quorum = c.admin().describeMetadataQuorum().quorumInfo().get();
        c.line("leader %d, voters %s, observers %s", quorum.leaderId(),
                quorum.voters().stream().map(v -> v.replicaId()).toList(),
                quorum.observers().stream().map(v -> v.replicaId()).toList());
        check(quorum.highWatermark() > 0, "high watermark %d", quorum.highWatermark());
        check(quorum.leaderEpoch() > 0, "epoch %d", quorum.leaderEpoch());
        for (var voter : quorum.voters()) {
            check(voter.logEndOffset() >= quorum.highWatermark(), "voter %s below %d", voter, quorum.highWatermark());
        }
        c.line("nodes %s", quorum.nodes().keySet());
        c.line("voters have a directory %s", quorum.voters().stream().allMatch(v -> !v.replicaDirectoryId().equals(Uuid.ZERO_UUID)));
    }

    private static void features(Context c) throws Exception {
        var admin = c.admin();
        var metadata = admin.describeFeatures().featureMetadata().get();
        new TreeMap<>(metadata.finalizedFeatures()).forEach((k, v) -> c.line("finalized %s %s", k, v));
        new TreeMap<>(metadata.supportedFeatures()).forEach((k, v) -> c.line("supported %s %s", k, v));
        check(metadata.finalizedFeaturesEpoch().isPresent(), "no epoch");
        short level = metadata.finalizedFeatures().get("metadata.version").maxVersionLevel();
        c.attempt("same level", () -> admin.updateFeatures(Map.of("metadata.version",
                new FeatureUpdate(level, FeatureUpdate.UpgradeType.UPGRADE)), new UpdateFeaturesOptions().validateOnly(true)).all().get());
        c.attempt("too high", () -> admin.updateFeatures(Map.of("metadata.version",
                new FeatureUpdate((short) 9000, FeatureUpdate.UpgradeType.UPGRADE)), new UpdateFeaturesOptions()).all().get());
        c.attempt("down without leave", () -> admin.updateFeatures(Map.of("metadata.version",
                new FeatureUpdate((short) (level - 1), FeatureUpdate.UpgradeType.UPGRADE)), new UpdateFeaturesOptions()).all().get());
        c.attempt("unknown feature", () -> admin.updateFeatures(Map.of("no.such.feature",
                new FeatureUpdate((short) 1, FeatureUpdate.UpgradeType.UPGRADE)), new UpdateFeaturesOptions()).all().get());
    }

    private static void internalTopics(Context c) throws Exception {
        // Any commit brings the offsets topic into being.
        String topic = c.topic("t", 1);
        c.admin().alterConsumerGroupOffsets(c.name("g"),
                Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(0))).all().get();
        var d = c.admin().describeTopics(List.of("__consumer_offsets")).allTopicNames().get().get("__consumer_offsets");
        c.line("internal %s, partitions %d", d.isInternal(), d.partitions().size());
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, "__consumer_offsets");
        Config config = c.admin().describeConfigs(List.of(resource)).all().get().get(resource);
        for (String key : List.of("cleanup.policy", "segment.bytes", "compression.type")) {
            c.line("%s", entry(config.get(key)));
        }
        check(!c.admin().listTopics().names().get().contains("__consumer_offsets"), "internal topic in a plain listing");
        c.attempt("produce to it", () -> c.producer().send(new org.apache.kafka.clients.producer.ProducerRecord<>(
                "__consumer_offsets", "k".getBytes(), "v".getBytes())).get().offset() >= 0);
    }

    private static void listsOfWhatIsNotThere(Context c) throws Exception {
        var admin = c.admin();
        Map<String, java.util.concurrent.Callable<?>> calls = new HashMap<>();
        calls.put("acls", () -> admin.describeAcls(org.apache.kafka.common.acl.AclBindingFilter.ANY).values().get());
        calls.put("delegation tokens", () -> admin.describeDelegationToken().delegationTokens().get());
        calls.put("quotas", () -> admin.describeClientQuotas(org.apache.kafka.common.quota.ClientQuotaFilter.all()).entities().get());
        calls.put("scram", () -> admin.describeUserScramCredentials().all().get());
        new TreeMap<>(calls).forEach(c::attempt);
    }
}
