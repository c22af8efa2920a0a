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
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.LeaveGroupRequestData;
import org.apache.kafka.common.message.ListGroupsRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetDeleteRequestData;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.requests.JoinGroupRequest;
import org.apache.kafka.common.requests.SyncGroupRequest;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.coordinator.common.runtime.CoordinatorEvent;
import org.apache.kafka.coordinator.common.runtime.CoordinatorEventProcessor;
import org.apache.kafka.coordinator.common.runtime.CoordinatorLoader;
import org.apache.kafka.coordinator.common.runtime.CoordinatorPlayback;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntimeMetrics;
import org.apache.kafka.coordinator.common.runtime.PartitionWriter;
import org.apache.kafka.coordinator.group.classic.ClassicGroup;
import org.apache.kafka.coordinator.group.classic.ClassicGroupMember;
import org.apache.kafka.coordinator.group.generated.GroupMetadataKey;
import org.apache.kafka.coordinator.group.generated.GroupMetadataValue;
import org.apache.kafka.coordinator.group.generated.OffsetCommitKey;
import org.apache.kafka.coordinator.group.generated.OffsetCommitValue;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfig;
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
        record Due(long atMs, long sequence, TimerTaskEntry entry) { }

        final PriorityQueue<Due> queue = new PriorityQueue<>((a, b) ->
            a.atMs != b.atMs ? Long.compare(a.atMs, b.atMs) : Long.compare(a.sequence, b.sequence));
        long nextSequence = 0;

        public void add(TimerTask task) {
            long atMs = clock.nowMs + Math.max(0, task.delayMs);
            queue.add(new Due(atMs, nextSequence++, new TimerTaskEntry(task, atMs)));
        }

        public boolean advanceClock(long timeoutMs) {
            long end = clock.nowMs + timeoutMs;
            while (!queue.isEmpty() && queue.peek().atMs <= end) {
                Due due = queue.poll();
                if (due.entry.cancelled()) continue;
                clock.nowMs = Math.max(clock.nowMs, due.atMs);
                due.entry.timerTask.run();
                events.drain();
            }
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

    record Entry(long offset, CoordinatorRecord record) { }

    /** The log: appends are committed at once, or fail with what was asked for. */
    class Log implements PartitionWriter, CoordinatorLoader<CoordinatorRecord> {
        final List<Entry> entries = new ArrayList<>();
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
            for (Record record : records.records()) {
                CoordinatorRecord decoded = serde.deserialize(record.key(), record.value());
                entries.add(new Entry(entries.size(), decoded));
                short valueVersion = record.hasValue() ? record.value().getShort(0) : -1;
                lines.add(show(decoded, valueVersion));
            }
            long end = entries.size();
            if (listener != null) listener.onHighWatermarkUpdated(TP, end);
            return end;
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
            for (Entry entry : entries) {
                playback.replay(entry.offset, -1L, (short) -1, entry.record);
            }
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

    final List<String> lines = new ArrayList<>();
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
        GroupCoordinatorConfig config = GroupCoordinatorConfig.fromProps(props);
        ShareGroupConfig shareConfig = new ShareGroupConfig(new AbstractConfig(
            Utils.mergeConfigs(List.of(ShareGroupConfig.CONFIG_DEF, GroupCoordinatorConfig.CONFIG_DEF)),
            Map.of(), false));
        GroupConfigManager configs = new GroupConfigManager(Map.of(), config, shareConfig);
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
            logContext, config, runtime, metrics, configs, new NoOpStatePersister(), timer, null);
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
            case "fetch" -> answer(service.fetchOffsets(context, fetch(op), "1".equals(op.get("stable"))), r -> List.of(
                "fetch g=" + r.groupId() + " err=" + r.errorCode() + " topics=" + set(r.topics().stream().flatMap(t ->
                    t.partitions().stream().map(p -> t.name() + "/" + p.partitionIndex() + "/" + p.committedOffset()
                        + "/" + p.committedLeaderEpoch() + "/" + p.metadata() + "/" + p.errorCode())).toList())));
            case "odel" -> answer(service.deleteOffsets(context, offsetDelete(op), BufferSupplier.NO_CACHING), r -> List.of(
                "odel err=" + r.errorCode() + " topics=" + set(r.topics().stream().flatMap(t ->
                    t.partitions().stream().map(p -> t.name() + "/" + p.partitionIndex() + "/" + p.errorCode())).toList())));
            case "topicdel" -> {
                List<GroupCoordinatorShard.DeletedTopic> topics = list(op, "t").stream()
                    .map(t -> new GroupCoordinatorShard.DeletedTopic(topicId(t), t)).toList();
                CompletableFuture<?> all = CompletableFuture.allOf(
                    runtime.<Void>scheduleWriteAllOperation("topics", s -> s.onTopicsDeleted(topics))
                        .toArray(new CompletableFuture<?>[0]));
                answer(all.handle((r, e) -> e == null ? Errors.NONE : Errors.forException(Errors.maybeUnwrapException(e))),
                    error -> List.of("topicdel err=" + error.code()));
            }
            default -> throw new IllegalArgumentException(line);
        }
        events.drain();
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
            request.assignments().add(new SyncGroupRequestData.SyncGroupRequestAssignment()
                .setMemberId(assignment.substring(0, at))
                .setAssignment(assignment.substring(at + 1).getBytes(StandardCharsets.UTF_8)));
        }
        return request;
    }

    static OffsetCommitRequestData commit(Map<String, String> op) {
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
                .setTopicId(topicId(parts[0]))
                .setPartitions(List.of(new OffsetCommitRequestData.OffsetCommitRequestPartition()
                    .setPartitionIndex(Integer.parseInt(parts[1]))
                    .setCommittedOffset(Long.parseLong(parts[2]))
                    .setCommittedMetadata(parts.length > 3 ? parts[3] : null)
                    .setCommittedLeaderEpoch(parts.length > 4 ? Integer.parseInt(parts[4]) : -1))));
        }
        return request;
    }

    static OffsetFetchRequestData.OffsetFetchRequestGroup fetch(Map<String, String> op) {
        OffsetFetchRequestData.OffsetFetchRequestGroup request =
            new OffsetFetchRequestData.OffsetFetchRequestGroup().setGroupId(op.get("g"));
        if ("all".equals(op.get("o"))) return request.setTopics(null);
        List<OffsetFetchRequestData.OffsetFetchRequestTopics> topics = new ArrayList<>();
        for (String partition : list(op, "o")) {
            String[] parts = partition.split(":", -1);
            topics.add(new OffsetFetchRequestData.OffsetFetchRequestTopics()
                .setName(parts[0])
                .setTopicId(parts.length > 2 ? topicId(parts[2]) : topicId(parts[0]))
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

    /** {@code !hex} is taken as it is, anything else names topics. */
    static byte[] metadata(String text) {
        if (text.startsWith("!")) return HexFormat.of().parseHex(text.substring(1));
        String[] topics = text.isEmpty() ? new String[0] : text.split("\\+");
        ByteBuffer buffer = ByteBuffer.allocate(1024);
        buffer.putShort((short) 1).putInt(topics.length);
        for (String topic : topics) {
            byte[] bytes = topic.getBytes(StandardCharsets.UTF_8);
            buffer.putShort((short) bytes.length).put(bytes);
        }
        buffer.putInt(-1).putInt(0);
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
        OffsetCommitKey offset = (OffsetCommitKey) key;
        String at = "log offset " + offset.group() + "/" + offset.topic() + "/" + offset.partition();
        if (record.value() == null) return at + " tombstone";
        OffsetCommitValue v = (OffsetCommitValue) record.value().message();
        return at + " v=" + version + " off=" + v.offset() + " epoch=" + v.leaderEpoch() + " meta=" + v.metadata()
            + " ts=" + v.commitTimestamp() + " exp=" + v.expireTimestamp() + " tid=" + v.topicId();
    }

    void state() throws Exception {
        Field field = GroupCoordinatorShard.class.getDeclaredField("groupMetadataManager");
        field.setAccessible(true);
        GroupMetadataManager manager = (GroupMetadataManager) field.get(shard);
        for (String id : new TreeSet<>(manager.groupIds())) {
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
