package org.apache.kafka.coordinator.group;

// Runs Kafka's own group coordinator (service, runtime and shard) on a log and a clock in memory.
// Reads one operation per line from standard input, prints what came of it, and ends each with a dot.
// It stands in Kafka's package because most of what it drives is visible only there.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.message.ConsumerGroupDescribeResponseData;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.LeaveGroupRequestData;
import org.apache.kafka.common.message.ListGroupsRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetDeleteRequestData;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.message.OffsetFetchResponseData;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.requests.JoinGroupRequest;
import org.apache.kafka.common.requests.SyncGroupRequest;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.internals.BufferSupplier;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.coordinator.common.runtime.CoordinatorEvent;
import org.apache.kafka.coordinator.common.runtime.CoordinatorEventProcessor;
import org.apache.kafka.coordinator.common.runtime.CoordinatorLoader;
import org.apache.kafka.coordinator.common.runtime.CoordinatorPlayback;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntimeMetrics;
import org.apache.kafka.coordinator.common.runtime.KRaftCoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.KRaftCoordinatorMetadataImage;
import org.apache.kafka.coordinator.common.runtime.PartitionWriter;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.classic.ClassicGroup;
import org.apache.kafka.coordinator.group.classic.ClassicGroupMember;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupCurrentMemberAssignmentKey;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupCurrentMemberAssignmentValue;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupMemberMetadataKey;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupMemberMetadataValue;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupMetadataKey;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupMetadataValue;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupPartitionMetadataKey;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupRegularExpressionKey;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupRegularExpressionValue;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMemberKey;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMemberValue;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMetadataKey;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMetadataValue;
import org.apache.kafka.coordinator.group.generated.GroupMetadataKey;
import org.apache.kafka.coordinator.group.generated.GroupMetadataValue;
import org.apache.kafka.coordinator.group.generated.OffsetCommitKey;
import org.apache.kafka.coordinator.group.generated.OffsetCommitValue;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.group.modern.MemberAssignmentImpl;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfig;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.TopicImage;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.share.persister.NoOpStatePersister;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.server.util.timer.TimerTaskEntry;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.VerificationGuard;

public class GroupOracle {
    static final TopicPartition TP = new TopicPartition("__consumer_offsets", 0);
    static final long START_MS = 1_000_000;

    /** The clock. */
    static class Clock implements Time {
        long nowMs = START_MS;

        public long milliseconds() {
            return nowMs;
        }

        public long nanoseconds() {
            return TimeUnit.MILLISECONDS.toNanos(nowMs);
        }

        public void sleep(long ms) {
            throw new UnsupportedOperationException();
        }

        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
            throw new UnsupportedOperationException();
        }
    }

    /** Timers in the order of their deadlines, then of being set. */
    class Deadlines implements Timer {
        static final int SPINS = 1000;
        static final long SPIN_WAIT_MS = 1000;

        record Due(long atMs, long sequence, TimerTaskEntry entry) { }

        final PriorityQueue<Due> queue = new PriorityQueue<>((a, b) ->
            a.atMs != b.atMs ? Long.compare(a.atMs, b.atMs) : Long.compare(a.sequence, b.sequence));
        long nextSequence = 0;
        /** Tasks that ran since the clock moved. */
        int ranNow = 0;

        public void add(TimerTask task) {
            long atMs = clock.nowMs + Math.max(0, task.delayMs);
            // A classic group whose members allow no time for a rebalance sets the same timer again and
            // again while it waits for a static member. Time does not pass of that here.
            if (ranNow > SPINS && atMs == clock.nowMs) atMs += SPIN_WAIT_MS;
            queue.add(new Due(atMs, nextSequence++, new TimerTaskEntry(task, atMs)));
        }

        public boolean advanceClock(long timeoutMs) {
            long end = clock.nowMs + timeoutMs;
            while (!queue.isEmpty() && queue.peek().atMs <= end) {
                Due due = queue.poll();
                if (due.entry.cancelled()) continue;
                if (due.atMs > clock.nowMs) ranNow = 0;
                clock.nowMs = Math.max(clock.nowMs, due.atMs);
                ranNow++;
                due.entry.timerTask.run();
                events.drain();
            }
            if (end > clock.nowMs) ranNow = 0;
            clock.nowMs = end;
            return true;
        }

        public int size() {
            return queue.size();
        }

        public void close() { }
    }

    /** Runs the runtime's events one after the other. */
    static class Events implements CoordinatorEventProcessor {
        final ArrayDeque<CoordinatorEvent> queue = new ArrayDeque<>();

        public void enqueueLast(CoordinatorEvent event) {
            queue.addLast(event);
        }

        public void enqueueFirst(CoordinatorEvent event) {
            queue.addFirst(event);
        }

        void drain() {
            CoordinatorEvent event;
            while ((event = queue.pollFirst()) != null) {
                try {
                    event.run();
                } catch (Throwable t) {
                    event.complete(t);
                }
            }
        }

        public void close() { }
    }

    /** The log: appends are committed at once, or fail with what was asked for. */
    class Log implements PartitionWriter, CoordinatorLoader<CoordinatorRecord> {
        final List<TxnOracle.Entry> entries = new ArrayList<>();
        final ArrayDeque<Errors> failures = new ArrayDeque<>();
        final GroupCoordinatorRecordSerde serde = new GroupCoordinatorRecordSerde();
        Listener listener;

        public void registerListener(TopicPartition tp, Listener listener) {
            this.listener = listener;
        }

        public void deregisterListener(TopicPartition tp, Listener listener) {
            this.listener = null;
        }

        public LogConfig config(TopicPartition tp) {
            return new LogConfig(Map.of());
        }

        public long append(TopicPartition tp, VerificationGuard guard, MemoryRecords records, short version) {
            Errors failure = failures.poll();
            if (failure != null) throw failure.exception();
            for (RecordBatch batch : records.batches()) {
                for (Record record : batch) add(batch, record);
            }
            long end = entries.size();
            if (listener != null) listener.onHighWatermarkUpdated(TP, end);
            return end;
        }

        void add(RecordBatch batch, Record record) {
            if (batch.isControlBatch()) {
                entries.add(TxnOracle.marker(entries.size(), batch, record));
                lines.add(TxnOracle.show(entries.get(entries.size() - 1)));
                return;
            }
            CoordinatorRecord decoded = serde.deserialize(record.key(), record.value());
            entries.add(TxnOracle.record(entries.size(), batch, decoded));
            short valueVersion = record.hasValue() ? record.value().getShort(0) : -1;
            lines.add(show(decoded, valueVersion) + TxnOracle.producer(batch));
        }

        public CompletableFuture<VerificationGuard> maybeStartTransactionVerification(
            TopicPartition tp, String transactionalId, long producerId, short producerEpoch, int apiVersion
        ) {
            return CompletableFuture.completedFuture(VerificationGuard.SENTINEL);
        }

        public CompletableFuture<Void> deleteRecords(TopicPartition tp, long offset) {
            return CompletableFuture.completedFuture(null);
        }

        public CompletableFuture<LoadSummary> load(TopicPartition tp, CoordinatorPlayback<CoordinatorRecord> playback) {
            for (TxnOracle.Entry entry : entries) entry.replay(playback);
            if (!entries.isEmpty()) {
                playback.updateLastWrittenOffset(entries.size());
                playback.updateLastCommittedOffset(entries.size());
            }
            return CompletableFuture.completedFuture(new LoadSummary(0, 0, 0, 0, 0));
        }

        public void close() { }
    }

    record Context(int requestVersion, String clientId) implements AuthorizableRequestContext {
        public String listenerName() {
            return "L";
        }

        public SecurityProtocol securityProtocol() {
            return SecurityProtocol.PLAINTEXT;
        }

        public KafkaPrincipal principal() {
            return KafkaPrincipal.ANONYMOUS;
        }

        public InetAddress clientAddress() {
            try {
                return InetAddress.getByAddress(new byte[] {127, 0, 0, 1});
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }

        public int requestType() {
            return 0;
        }

        public int correlationId() {
            return 0;
        }
    }

    /** Deals partitions to the subscribed members in the order of their ids. */
    public static class Dealer implements ConsumerGroupPartitionAssignor {
        public String name() {
            return "dealer";
        }

        int at(int partition, int members) {
            return partition % members;
        }

        public GroupAssignment assign(GroupSpec group, SubscribedTopicDescriber topics) {
            Map<String, Map<Uuid, Set<Integer>>> dealt = new HashMap<>();
            Map<Uuid, List<String>> subscribers = new HashMap<>();
            for (String member : new TreeSet<>(group.memberIds())) {
                dealt.put(member, new HashMap<>());
                for (Uuid topic : group.memberSubscription(member).subscribedTopicIds()) {
                    subscribers.computeIfAbsent(topic, __ -> new ArrayList<>()).add(member);
                }
            }
            subscribers.forEach((topic, members) -> {
                for (int p = 0; p < topics.numPartitions(topic); p++) {
                    String member = members.get(at(p, members.size()));
                    dealt.get(member).computeIfAbsent(topic, __ -> new java.util.HashSet<>()).add(p);
                }
            });
            Map<String, MemberAssignment> assignments = new HashMap<>();
            dealt.forEach((member, partitions) -> assignments.put(member, new MemberAssignmentImpl(partitions)));
            return new GroupAssignment(assignments);
        }
    }

    /** The same, beginning with the last one. */
    public static class BackwardsDealer extends Dealer {
        @Override
        public String name() {
            return "backwards";
        }

        @Override
        int at(int partition, int members) {
            return members - 1 - partition % members;
        }
    }

    final List<String> lines = new ArrayList<>();
    MetadataImage image = MetadataImage.EMPTY;
    long imageVersion;
    GroupConfigManager groupConfigs;
    Clock clock;
    Deadlines timer;
    Events events;
    Log log;
    CoordinatorRuntime<GroupCoordinatorShard, CoordinatorRecord> runtime;
    GroupCoordinatorService service;
    com.yammer.metrics.core.MetricsRegistry registry;
    GroupCoordinatorShard shard;
    int epoch;
    int nextRequest;

    void start(Map<String, String> op) throws Exception {
        if (service != null) {
            service.shutdown();
            registry.shutdown();
            lines.clear();
        }
        registry = new com.yammer.metrics.core.MetricsRegistry();
        clock = new Clock();
        timer = new Deadlines();
        events = new Events();
        log = new Log();
        nextRequest = 0;
        epoch = 1;
        Map<String, String> props = new HashMap<>();
        Map<String, String> names = Map.of(
            "max", "group.max.size",
            "delay", "group.initial.rebalance.delay.ms",
            "minsession", "group.min.session.timeout.ms",
            "maxsession", "group.max.session.timeout.ms",
            "maxmeta", "offset.metadata.max.bytes",
            "retention", "offsets.retention.minutes",
            "check", "offsets.retention.check.interval.ms");
        names.forEach((ours, kafkas) -> {
            if (op.containsKey(ours)) props.put(kafkas, op.get(ours));
        });
        Map<String, String> consumers = Map.of(
            "csession", "session.timeout.ms",
            "chb", "heartbeat.interval.ms",
            "cint", "assignment.interval.ms",
            "cmax", "max.size",
            "policy", "migration.policy");
        consumers.forEach((ours, kafkas) -> {
            if (!op.containsKey(ours)) return;
            props.put("group.consumer." + kafkas, op.get(ours));
            if (kafkas.endsWith(".ms")) props.put("group.consumer.min." + kafkas, op.get(ours));
        });
        props.put("group.consumer.assignors", Dealer.class.getName() + "," + BackwardsDealer.class.getName());
        image = MetadataImage.EMPTY;
        imageVersion = 0;
        GroupCoordinatorConfig config = GroupCoordinatorConfig.fromProps(props);
        ShareGroupConfig shareConfig = new ShareGroupConfig(new AbstractConfig(
            Utils.mergeConfigs(List.of(ShareGroupConfig.CONFIG_DEF, GroupCoordinatorConfig.CONFIG_DEF)),
            Map.of(), false));
        GroupConfigManager configs = new GroupConfigManager(config, shareConfig);
        groupConfigs = configs;
        GroupCoordinatorMetrics metrics =
            new GroupCoordinatorMetrics(registry, new org.apache.kafka.common.metrics.Metrics());
        CoordinatorRuntimeMetrics runtimeMetrics = (CoordinatorRuntimeMetrics) Proxy.newProxyInstance(
            GroupOracle.class.getClassLoader(), new Class<?>[] {CoordinatorRuntimeMetrics.class},
            (proxy, method, args) -> null);
        LogContext logContext = new LogContext("");
        runtime = new CoordinatorRuntime.Builder<GroupCoordinatorShard, CoordinatorRecord>()
            .withTime(clock)
            .withTimer(timer)
            .withLogContext(logContext)
            .withEventProcessor(events)
            .withPartitionWriter(log)
            .withLoader(log)
            .withCoordinatorShardBuilderSupplier(() -> {
                GroupCoordinatorShard.Builder builder = new GroupCoordinatorShard.Builder(config, configs) {
                    @Override
                    public GroupCoordinatorShard build() {
                        shard = super.build();
                        return shard;
                    }
                };
                return builder.withAuthorizerPlugin(Optional.empty());
            })
            .withWriteTimeout(java.time.Duration.ofMillis(5000))
            .withCoordinatorRuntimeMetrics(runtimeMetrics)
            .withCoordinatorMetrics(metrics)
            .withSerializer(new GroupCoordinatorRecordSerde())
            .withCompression(Compression.NONE)
            .withAppendLingerMs(OptionalInt.of(0))
            .withExecutorService(new InPlace())
            .withCachedBufferMaxBytesSupplier(() -> 1 << 20)
            .build();
        service = new GroupCoordinatorService(
            logContext, config, runtime, metrics, configs, new NoOpStatePersister(), timer, null,
            Optional.empty(), clock);
        service.startup(() -> 1);
        service.onElection(0, epoch);
        events.drain();
    }

    static class InPlace extends AbstractExecutorService implements ExecutorService {
        public void shutdown() { }

        public List<Runnable> shutdownNow() {
            return List.of();
        }

        public boolean isShutdown() {
            return false;
        }

        public boolean isTerminated() {
            return false;
        }

        public boolean awaitTermination(long timeout, TimeUnit unit) {
            return true;
        }

        public void execute(Runnable command) {
            command.run();
        }
    }

    <T> void answer(CompletableFuture<T> future, Function<T, List<String>> show) {
        int id = nextRequest++;
        future.whenComplete((response, error) -> {
            if (error != null) {
                Throwable cause = Errors.maybeUnwrapException(error);
                lines.add("#" + id + " error " + Errors.forException(cause).code());
            } else {
                show.apply(response).forEach(line -> lines.add("#" + id + " " + line));
            }
        });
        events.drain();
    }

    void run(String line) throws Exception {
        String[] words = line.trim().split(" +");
        Map<String, String> op = new LinkedHashMap<>();
        for (int i = 1; i < words.length; i++) {
            int at = words[i].indexOf('=');
            op.put(words[i].substring(0, at), words[i].substring(at + 1));
        }
        Context context = new Context(number(op, "v", 0), op.getOrDefault("c", "c"));
        switch (words[0]) {
            case "new" -> start(op);
            case "tick" -> timer.advanceClock(number(op, "ms", 0));
            case "fail" -> log.failures.add(Errors.forCode((short) number(op, "code", 0)));
            case "reload" -> {
                service.onResignation(0, OptionalInt.of(++epoch));
                events.drain();
                service.onElection(0, ++epoch);
                events.drain();
            }
            case "join" -> answer(service.joinGroup(context, join(op), BufferSupplier.NO_CACHING), r -> List.of(
                "join err=" + r.errorCode() + " gen=" + r.generationId() + " type=" + r.protocolType()
                    + " name=" + ("".equals(r.protocolName()) ? null : r.protocolName()) + " leader=" + r.leader() + " skip=" + r.skipAssignment()
                    + " id=" + r.memberId() + " members=" + set(r.members().stream().map(m ->
                        m.memberId() + "/" + m.groupInstanceId() + ":" + hex(m.metadata())).toList())));
            case "sync" -> answer(syncGroup(context, sync(op)), r -> List.of(
                "sync err=" + r.errorCode() + " type=" + r.protocolType() + " name=" + r.protocolName()
                    + " assignment=" + hex(r.assignment())));
            case "hb" -> answer(service.heartbeat(context, new HeartbeatRequestData()
                .setGroupId(op.get("g")).setMemberId(op.getOrDefault("m", ""))
                .setGenerationId(number(op, "gen", 0)).setGroupInstanceId(op.get("i"))),
                r -> List.of("hb err=" + r.errorCode()));
            case "leave" -> {
                LeaveGroupRequestData request = new LeaveGroupRequestData().setGroupId(op.get("g"));
                for (String member : list(op, "m")) {
                    String[] parts = member.split("/", -1);
                    request.members().add(new LeaveGroupRequestData.MemberIdentity()
                        .setMemberId(parts[0])
                        .setGroupInstanceId(parts.length > 1 && !parts[1].isEmpty() ? parts[1] : null));
                }
                answer(service.leaveGroup(context, request), r -> List.of("leave err=" + r.errorCode()
                    + " members=" + set(r.members().stream().map(m ->
                        m.memberId() + "/" + m.groupInstanceId() + "/" + m.errorCode()).toList())));
            }
            case "describe" -> answer(service.describeGroups(context, list(op, "g")), r -> r.stream().map(g ->
                "describe g=" + g.groupId() + " err=" + g.errorCode() + " state=" + g.groupState() + " type="
                    + g.protocolType() + " data=" + g.protocolData() + " members=" + set(g.members().stream().map(m ->
                        m.memberId() + "/" + m.groupInstanceId() + "/" + m.clientId() + "/" + m.clientHost() + ":"
                            + hex(m.memberMetadata()) + ":" + hex(m.memberAssignment())).toList())).toList());
            case "list" -> answer(service.listGroups(context, new ListGroupsRequestData()
                .setStatesFilter(list(op, "states")).setTypesFilter(list(op, "types"))), r -> List.of(
                    "list err=" + r.errorCode() + " groups=" + set(r.groups().stream().map(g ->
                        g.groupId() + "/" + g.protocolType() + "/" + g.groupState() + "/" + g.groupType()).toList())));
            case "delete" -> answer(service.deleteGroups(context, list(op, "g"), BufferSupplier.NO_CACHING), r ->
                List.of("delete groups=" + set(r.stream().map(g -> g.groupId() + "/" + g.errorCode()).toList())));
            case "commit" -> answer(service.commitOffsets(context, commit(op), BufferSupplier.NO_CACHING), r -> List.of(
                "commit topics=" + set(r.topics().stream().flatMap(t -> t.partitions().stream().map(p ->
                    t.name() + "/" + p.partitionIndex() + "/" + p.errorCode())).toList())));
            case "tcommit" -> answer(
                service.commitTransactionalOffsets(context, TxnOracle.commit(this, op), BufferSupplier.NO_CACHING), TxnOracle::committed);
            case "txnend" -> answer(TxnOracle.end(service, TP, op), error -> List.of("txnend err=" + error));
            // What the broker makes of an error is the group's error.
            case "fetch" -> answer(service.fetchOffsets(context, fetch(op), "1".equals(op.get("stable"))).exceptionally(e ->
                new OffsetFetchResponseData.OffsetFetchResponseGroup().setGroupId(op.get("g"))
                    .setErrorCode(Errors.forException(Errors.maybeUnwrapException(e)).code())), r -> List.of(
                "fetch g=" + r.groupId() + " err=" + r.errorCode() + " topics=" + set(r.topics().stream().flatMap(t ->
                    t.partitions().stream().map(p -> t.name() + "/" + p.partitionIndex() + "/" + p.committedOffset()
                        + "/" + p.committedLeaderEpoch() + "/" + p.metadata() + "/" + p.errorCode())).toList())));
            case "odel" -> answer(service.deleteOffsets(context, offsetDelete(op), BufferSupplier.NO_CACHING), r -> List.of(
                "odel err=" + r.errorCode() + " topics=" + set(r.topics().stream().flatMap(t ->
                    t.partitions().stream().map(p -> t.name() + "/" + p.partitionIndex() + "/" + p.errorCode())).toList())));
            case "topicdel" -> topicsDeleted(list(op, "t"), Map.of());
            case "topic" -> {
                String name = op.get("n");
                MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
                TopicImage known = image.topics().getTopic(name);
                Uuid id = known == null ? topicId(name, number(op, "life", 0)) : known.id();
                if (known == null) delta.replay(new TopicRecord().setName(name).setTopicId(id));
                for (int p = known == null ? 0 : known.partitions().size(); p < number(op, "p", 1); p++) {
                    delta.replay(new PartitionRecord().setTopicId(id).setPartitionId(p).setReplicas(List.of(1))
                        .setIsr(List.of(1)).setLeader(1).setDirectories(List.of(Uuid.ZERO_UUID)));
                }
                publish(delta);
            }
            case "untopic" -> {
                String name = op.get("n");
                TopicImage known = image.topics().getTopic(name);
                if (known != null) {
                    MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
                    delta.replay(new RemoveTopicRecord().setTopicId(known.id()));
                    publish(delta);
                    topicsDeleted(List.of(name), Map.of(name, known.id()));
                }
            }
            case "gconf" -> {
                java.util.Properties configs = new java.util.Properties();
                op.forEach((name, value) -> {
                    if (!name.equals("g")) configs.put("consumer." + name + ".ms", value);
                });
                groupConfigs.updateGroupConfig(op.get("g"), configs);
            }
            case "chb" -> answer(service.consumerGroupHeartbeat(context, consumerHeartbeat(op)), r -> List.of(
                "chb err=" + r.errorCode() + " id=" + r.memberId() + " epoch=" + r.memberEpoch() + " every="
                    + r.heartbeatIntervalMs() + " assignment=" + (r.assignment() == null ? "null" :
                        set(r.assignment().topicPartitions().stream().flatMap(t ->
                            t.partitions().stream().map(p -> t.topicId() + "-" + p)).toList()))));
            case "cdesc" -> answer(service.consumerGroupDescribe(context, list(op, "g")), r -> r.stream().map(g ->
                "cdesc g=" + g.groupId() + " err=" + g.errorCode() + " msg=" + g.errorMessage() + " state="
                    + g.groupState() + " epoch=" + g.groupEpoch() + " aepoch=" + g.assignmentEpoch() + " assignor="
                    + g.assignorName() + " members=" + set(g.members().stream().map(m ->
                        m.memberId() + "/" + m.instanceId() + "/" + m.rackId() + "/" + m.memberEpoch() + "/"
                            + m.clientId() + "/" + m.clientHost() + "/" + m.subscribedTopicNames().stream().sorted().toList() + "/"
                            + m.subscribedTopicRegex() + "/" + m.memberType() + "/"
                            + described(m.assignment()) + "/" + described(m.targetAssignment())).toList())).toList());
            default -> throw new IllegalArgumentException(line);
        }
        events.drain();
    }

    static List<String> described(ConsumerGroupDescribeResponseData.Assignment assignment) {
        return assignment.topicPartitions().stream().flatMap(t ->
            t.partitions().stream().map(p -> t.topicName() + "-" + t.topicId() + "-" + p)).sorted().toList();
    }

    void publish(MetadataDelta delta) {
        image = delta.apply(new MetadataProvenance(++imageVersion, 0, 0, true));
        runtime.onMetadataUpdate(new KRaftCoordinatorMetadataDelta(delta), new KRaftCoordinatorMetadataImage(image));
        events.drain();
    }

    void topicsDeleted(List<String> names, Map<String, Uuid> ids) {
        List<GroupCoordinatorShard.DeletedTopic> topics = names.stream().map(t ->
            new GroupCoordinatorShard.DeletedTopic(ids.getOrDefault(t, topicId(t)), t)).toList();
        runtime.<Void>scheduleWriteAllOperation("topics", s -> s.onTopicsDeleted(topics));
        events.drain();
    }

    ConsumerGroupHeartbeatRequestData consumerHeartbeat(Map<String, String> op) {
        ConsumerGroupHeartbeatRequestData request = new ConsumerGroupHeartbeatRequestData()
            .setGroupId(op.get("g"))
            .setMemberId(op.getOrDefault("m", ""))
            .setMemberEpoch(number(op, "e", 0))
            .setInstanceId(op.get("i"))
            .setRackId(op.get("rack"))
            .setRebalanceTimeoutMs(number(op, "rt", -1))
            .setSubscribedTopicNames(op.containsKey("t") ? list(op, "t").stream().filter(t -> !t.isEmpty()).toList() : null)
            .setSubscribedTopicRegex(op.get("x"))
            .setServerAssignor(op.get("a"));
        if (op.containsKey("o")) {
            List<ConsumerGroupHeartbeatRequestData.TopicPartitions> owned = new ArrayList<>();
            for (String topic : list(op, "o")) {
                if (topic.isEmpty()) continue;
                String[] parts = topic.split(":");
                List<Integer> partitions = new ArrayList<>();
                for (int i = 2; i < parts.length; i++) partitions.add(Integer.parseInt(parts[i]));
                owned.add(new ConsumerGroupHeartbeatRequestData.TopicPartitions()
                    .setTopicId(topicId(parts[0], Integer.parseInt(parts[1]))).setPartitions(partitions));
            }
            request.setTopicPartitions(owned);
        }
        return request;
    }

    /** With the one check that stands before the coordinator. */
    CompletableFuture<SyncGroupResponseData> syncGroup(Context context, SyncGroupRequestData request) {
        short version = (short) context.requestVersion;
        if (version >= 5
            && !new SyncGroupRequest.Builder(request).build(version).areMandatoryProtocolTypeAndNamePresent()) {
            return CompletableFuture.completedFuture(
                new SyncGroupResponseData().setErrorCode(Errors.INCONSISTENT_GROUP_PROTOCOL.code()));
        }
        return service.syncGroup(context, request, BufferSupplier.NO_CACHING);
    }

    static JoinGroupRequestData join(Map<String, String> op) {
        JoinGroupRequestData request = new JoinGroupRequestData()
            .setGroupId(op.get("g"))
            .setMemberId(op.getOrDefault("m", ""))
            .setGroupInstanceId(op.get("i"))
            .setSessionTimeoutMs(number(op, "s", 10_000))
            .setRebalanceTimeoutMs(number(op, "r", 60_000))
            .setProtocolType(op.getOrDefault("t", "consumer"));
        for (String protocol : list(op, "p")) {
            int at = protocol.indexOf(':');
            request.protocols().add(new JoinGroupRequestData.JoinGroupRequestProtocol()
                .setName(at < 0 ? protocol : protocol.substring(0, at))
                .setMetadata(metadata(at < 0 ? "" : protocol.substring(at + 1))));
        }
        // Version 0 gets its rebalance timeout here.
        return new JoinGroupRequest(request, (short) number(op, "v", 0)).data();
    }

    static SyncGroupRequestData sync(Map<String, String> op) {
        SyncGroupRequestData request = new SyncGroupRequestData()
            .setGroupId(op.get("g"))
            .setMemberId(op.getOrDefault("m", ""))
            .setGroupInstanceId(op.get("i"))
            .setGenerationId(number(op, "gen", 0))
            .setProtocolType(op.get("t"))
            .setProtocolName(op.get("n"));
        for (String assignment : list(op, "a")) {
            int at = assignment.indexOf(':');
            String given = assignment.substring(at + 1);
            request.assignments().add(new SyncGroupRequestData.SyncGroupRequestAssignment()
                .setMemberId(assignment.substring(0, at))
                .setAssignment(given.startsWith("!") ? metadata(given) : given.getBytes(StandardCharsets.UTF_8)));
        }
        return request;
    }

    OffsetCommitRequestData commit(Map<String, String> op) {
        OffsetCommitRequestData request = new OffsetCommitRequestData()
            .setGroupId(op.get("g"))
            .setMemberId(op.getOrDefault("m", ""))
            .setGroupInstanceId(op.get("i"))
            .setGenerationIdOrMemberEpoch(number(op, "gen", -1))
            .setRetentionTimeMs(number(op, "ret", -1));
        for (String offset : list(op, "o")) {
            String[] parts = offset.split(":", -1);
            request.topics().add(new OffsetCommitRequestData.OffsetCommitRequestTopic()
                .setName(parts[0])
                .setTopicId(known(parts[0]))
                .setPartitions(List.of(new OffsetCommitRequestData.OffsetCommitRequestPartition()
                    .setPartitionIndex(Integer.parseInt(parts[1]))
                    .setCommittedOffset(Long.parseLong(parts[2]))
                    .setCommittedMetadata(parts.length > 3 ? parts[3] : null)
                    .setCommittedLeaderEpoch(parts.length > 4 ? Integer.parseInt(parts[4]) : -1))));
        }
        return request;
    }

    OffsetFetchRequestData.OffsetFetchRequestGroup fetch(Map<String, String> op) {
        OffsetFetchRequestData.OffsetFetchRequestGroup request =
            new OffsetFetchRequestData.OffsetFetchRequestGroup().setGroupId(op.get("g"))
                .setMemberId(op.get("m")).setMemberEpoch(number(op, "e", -1));
        if ("all".equals(op.get("o"))) return request.setTopics(null);
        List<OffsetFetchRequestData.OffsetFetchRequestTopics> topics = new ArrayList<>();
        for (String partition : list(op, "o")) {
            String[] parts = partition.split(":", -1);
            topics.add(new OffsetFetchRequestData.OffsetFetchRequestTopics()
                .setName(parts[0])
                .setTopicId(parts.length > 2 ? topicId(parts[2]) : known(parts[0]))
                .setPartitionIndexes(List.of(Integer.parseInt(parts[1]))));
        }
        return request.setTopics(topics);
    }

    static OffsetDeleteRequestData offsetDelete(Map<String, String> op) {
        OffsetDeleteRequestData request = new OffsetDeleteRequestData().setGroupId(op.get("g"));
        for (String partition : list(op, "o")) {
            String[] parts = partition.split(":", -1);
            request.topics().add(new OffsetDeleteRequestData.OffsetDeleteRequestTopic()
                .setName(parts[0])
                .setPartitions(List.of(new OffsetDeleteRequestData.OffsetDeleteRequestPartition()
                    .setPartitionIndex(Integer.parseInt(parts[1])))));
        }
        return request;
    }

    /** Topic names of tests are short; so their ids can be told from the names. */
    static Uuid topicId(String name) {
        return name.startsWith("old") ? Uuid.ZERO_UUID : new Uuid(0x7000_0000_0000_0000L, name.hashCode());
    }

    /** The id of a topic in one of its lives. */
    static Uuid topicId(String name, int life) {
        return new Uuid(0x7000_0000_0000_0000L + life, name.hashCode());
    }

    /** The id of a topic now. */
    Uuid known(String name) {
        TopicImage topic = image.topics().getTopic(name);
        return topic == null ? topicId(name) : topic.id();
    }

    /** {@code !hex} is taken as it is, anything else names topics. */
    static byte[] metadata(String text) {
        if (text.startsWith("!")) return HexFormat.of().parseHex(text.substring(1));
        // topics, and what is owned: t1+t2~t1.0.1~t2.4
        String[] halves = text.split("~");
        text = halves[0];
        String[] topics = text.isEmpty() ? new String[0] : text.split("\\+");
        ByteBuffer buffer = ByteBuffer.allocate(1024);
        buffer.putShort((short) 1).putInt(topics.length);
        for (String topic : topics) {
            byte[] bytes = topic.getBytes(StandardCharsets.UTF_8);
            buffer.putShort((short) bytes.length).put(bytes);
        }
        buffer.putInt(-1).putInt(halves.length - 1);
        for (int i = 1; i < halves.length; i++) {
            String[] parts = halves[i].split("\\.");
            byte[] bytes = parts[0].getBytes(StandardCharsets.UTF_8);
            buffer.putShort((short) bytes.length).put(bytes).putInt(parts.length - 1);
            for (int j = 1; j < parts.length; j++) buffer.putInt(Integer.parseInt(parts[j]));
        }
        byte[] bytes = new byte[buffer.position()];
        buffer.flip().get(bytes);
        return bytes;
    }

    static int number(Map<String, String> op, String key, int otherwise) {
        return op.containsKey(key) ? Integer.parseInt(op.get(key)) : otherwise;
    }

    static List<String> list(Map<String, String> op, String key) {
        String text = op.get(key);
        return text == null ? List.of() : List.of(text.split(",", -1));
    }

    static String hex(byte[] bytes) {
        return bytes == null ? "" : HexFormat.of().formatHex(bytes);
    }

    /** Items whose order does not count. */
    static String set(List<String> items) {
        return items.stream().collect(Collectors.joining("|", "{", "}"));
    }

    static String show(CoordinatorRecord record, short version) {
        ApiMessage key = record.key();
        if (key instanceof GroupMetadataKey group) {
            if (record.value() == null) return "log group g=" + group.group() + " tombstone";
            GroupMetadataValue v = (GroupMetadataValue) record.value().message();
            return "log group g=" + group.group() + " v=" + version + " gen=" + v.generation() + " type="
                + v.protocolType() + " proto=" + v.protocol() + " leader=" + v.leader() + " ts="
                + v.currentStateTimestamp() + " members=" + set(v.members().stream().map(m ->
                    m.memberId() + "/" + m.groupInstanceId() + "/" + m.clientId() + "/" + m.clientHost() + "/"
                        + m.rebalanceTimeout() + "/" + m.sessionTimeout() + ":" + hex(m.subscription()) + ":"
                        + hex(m.assignment())).toList());
        }
        if (!(key instanceof OffsetCommitKey)) return showConsumer(record, version);
        OffsetCommitKey offset = (OffsetCommitKey) key;
        String at = "log offset " + offset.group() + "/" + offset.topic() + "/" + offset.partition();
        if (record.value() == null) return at + " tombstone";
        OffsetCommitValue v = (OffsetCommitValue) record.value().message();
        return at + " v=" + version + " off=" + v.offset() + " epoch=" + v.leaderEpoch() + " meta=" + v.metadata()
            + " ts=" + v.commitTimestamp() + " exp=" + v.expireTimestamp() + " tid=" + v.topicId();
    }

    static String showConsumer(CoordinatorRecord record, short version) {
        ApiMessage key = record.key();
        ApiMessage value = record.value() == null ? null : record.value().message();
        String tail = value == null ? " tombstone" : " v=" + version + " ";
        if (key instanceof ConsumerGroupMetadataKey k) {
            ConsumerGroupMetadataValue v = (ConsumerGroupMetadataValue) value;
            return "log cgroup g=" + k.groupId() + tail
                + (v == null ? "" : "epoch=" + v.epoch() + " hash=" + v.metadataHash());
        } else if (key instanceof ConsumerGroupPartitionMetadataKey k) {
            return "log cpartitions g=" + k.groupId() + tail;
        } else if (key instanceof ConsumerGroupMemberMetadataKey k) {
            ConsumerGroupMemberMetadataValue v = (ConsumerGroupMemberMetadataValue) value;
            return "log cmember g=" + k.groupId() + " id=" + k.memberId() + tail + (v == null ? "" :
                "i=" + v.instanceId() + " rack=" + v.rackId() + " c=" + v.clientId() + " h=" + v.clientHost() + " t="
                    + v.subscribedTopicNames() + " x=" + v.subscribedTopicRegex() + " rt=" + v.rebalanceTimeoutMs()
                    + " a=" + v.serverAssignor() + " classic=" + classic(v.classicMemberMetadata()));
        } else if (key instanceof ConsumerGroupTargetAssignmentMetadataKey k) {
            ConsumerGroupTargetAssignmentMetadataValue v = (ConsumerGroupTargetAssignmentMetadataValue) value;
            return "log ctepoch g=" + k.groupId() + tail
                + (v == null ? "" : "epoch=" + v.assignmentEpoch() + " ts=" + v.assignmentTimestamp());
        } else if (key instanceof ConsumerGroupTargetAssignmentMemberKey k) {
            ConsumerGroupTargetAssignmentMemberValue v = (ConsumerGroupTargetAssignmentMemberValue) value;
            return "log ctarget g=" + k.groupId() + " id=" + k.memberId() + tail + (v == null ? "" :
                set(v.topicPartitions().stream().flatMap(t ->
                    t.partitions().stream().map(p -> t.topicId() + "-" + p)).toList()));
        } else if (key instanceof ConsumerGroupCurrentMemberAssignmentKey k) {
            ConsumerGroupCurrentMemberAssignmentValue v = (ConsumerGroupCurrentMemberAssignmentValue) value;
            return "log ccurrent g=" + k.groupId() + " id=" + k.memberId() + tail + (v == null ? "" :
                "epoch=" + v.memberEpoch() + " prev=" + v.previousMemberEpoch() + " state=" + v.state() + " assigned="
                    + current(v.assignedPartitions()) + " pending=" + current(v.partitionsPendingRevocation()));
        } else if (key instanceof ConsumerGroupRegularExpressionKey k) {
            ConsumerGroupRegularExpressionValue v = (ConsumerGroupRegularExpressionValue) value;
            return "log cregex g=" + k.groupId() + " x=" + k.regularExpression() + tail + (v == null ? "" :
                "t=" + v.topics() + " version=" + v.version() + " ts=" + v.timestamp());
        }
        throw new IllegalArgumentException("unknown record " + key);
    }

    static String classic(ConsumerGroupMemberMetadataValue.ClassicMemberMetadata classic) {
        return classic == null ? "null" : classic.sessionTimeoutMs() + ":" + classic.supportedProtocols().stream()
            .map(p -> p.name() + "=" + hex(p.metadata())).toList();
    }

    static String current(List<ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions> topics) {
        List<String> all = new ArrayList<>();
        for (ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions topic : topics) {
            for (int i = 0; i < topic.partitions().size(); i++) {
                all.add(topic.topicId() + "-" + topic.partitions().get(i) + "@" + topic.assignmentEpochs().get(i));
            }
        }
        return set(all);
    }

    static String owned(Map<Uuid, Map<Integer, Integer>> owned) {
        List<String> all = new ArrayList<>();
        owned.forEach((topic, partitions) -> partitions.forEach((p, epoch) -> all.add(topic + "-" + p + "@" + epoch)));
        java.util.Collections.sort(all);
        return all.toString();
    }

    void consumerState(ConsumerGroup group) {
        List<String> members = new ArrayList<>();
        group.members().forEach((id, m) -> members.add(id + "/" + m.instanceId() + "/" + m.rackId() + "/"
            + m.clientId() + "/" + new TreeSet<>(m.subscribedTopicNames()) + "/" + m.subscribedTopicRegex() + "/"
            + m.rebalanceTimeoutMs() + "/" + m.serverAssignorName().orElse(null) + "/" + m.memberEpoch() + "/"
            + m.previousMemberEpoch() + "/" + m.state().value() + "/" + owned(m.assignedPartitions()) + "/"
            + owned(m.partitionsPendingRevocation()) + "/" + classic(m.classicMemberMetadata().orElse(null))));
        List<String> targets = new ArrayList<>();
        group.targetAssignment().forEach((id, assignment) -> {
            List<String> all = new ArrayList<>();
            assignment.partitions().forEach((topic, ps) -> ps.forEach(p -> all.add(topic + "-" + p)));
            java.util.Collections.sort(all);
            targets.add(id + "/" + all);
        });
        List<String> regexes = new ArrayList<>();
        group.resolvedRegularExpressions().forEach((regex, r) ->
            regexes.add(regex + "/" + new TreeSet<>(r.topics()) + "/" + r.version() + "/" + r.timestamp()));
        lines.add("cgroup " + group.groupId() + " " + group.state() + " epoch=" + group.groupEpoch() + " hash="
            + group.metadataHash() + " aepoch=" + group.assignmentEpoch() + " at=" + group.assignmentTimestamp()
            + " topics=" + new TreeSet<>(group.subscribedTopicNames().keySet())
            + " members=" + set(members) + " targets=" + set(targets) + " regexes=" + set(regexes));
    }

    void state() throws Exception {
        if (!log.failures.isEmpty()) lines.add("failures to come: " + log.failures.size());
        Field field = GroupCoordinatorShard.class.getDeclaredField("groupMetadataManager");
        field.setAccessible(true);
        GroupMetadataManager manager = (GroupMetadataManager) field.get(shard);
        for (String id : new TreeSet<>(manager.groupIds())) {
            if (manager.group(id) instanceof ConsumerGroup consumers) {
                consumerState(consumers);
                continue;
            }
            ClassicGroup group = (ClassicGroup) manager.group(id);
            List<String> members = new ArrayList<>();
            for (ClassicGroupMember member : group.allMembers()) {
                members.add(member.memberId() + "/" + member.groupInstanceId().orElse(null) + "/"
                    + (member.isAwaitingJoin() ? "J" : "") + (member.isAwaitingSync() ? "S" : "")
                    + (member.isNew() ? "N" : "") + "/" + hex(member.assignment()));
            }
            Set<String> topics = group.subscribedTopics().map(TreeSet::new).orElse(null);
            lines.add("group " + id + " " + group.currentState() + " gen=" + group.generationId() + " type="
                + group.protocolType().orElse(null) + " proto=" + group.protocolName().orElse(null) + " leader="
                + group.leaderOrNull() + " since=" + group.currentStateTimestampOrDefault() + " pending="
                + group.numPendingJoinMembers() + " unsynced=" + set(new ArrayList<>(group.allPendingSyncMembers()))
                + " topics=" + (topics == null ? "unknown" : String.join("+", topics)) + " members=" + set(members));
        }
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        GroupOracle oracle = new GroupOracle();
        String line;
        while ((line = in.readLine()) != null) {
            oracle.lines.clear();
            oracle.run(line);
            oracle.state();
            oracle.lines.forEach(out::println);
            out.println(".");
            out.flush();
        }
    }
}
