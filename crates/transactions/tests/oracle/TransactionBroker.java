// What stands around the transaction coordinator of TransactionOracle: the log of __transaction_state in memory,
// the replica manager that appends to it, the cluster's metadata, the clock, the scheduler and the producer ids.

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import kafka.server.ReplicaManager;

import org.apache.kafka.clients.MetadataUpdater;
import org.apache.kafka.clients.NetworkClient;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.internals.Topic;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.transaction.ProducerIdManager;
import org.apache.kafka.metadata.MetadataCache;
import org.apache.kafka.server.common.FinalizedFeatures;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.common.TransactionVersion;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.internals.log.RecordValidationStats;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;

import scala.Function1;
import scala.Option;
import scala.runtime.BoxedUnit;

class TransactionBroker {
    /** No leader is known, as of a partition that was deleted. */
    static final int NO_LEADER = -1;
    /** The leader is known, but does not have the listener that is asked for. */
    static final int NO_LISTENER = -2;

    final Clock clock = new Clock();
    final Tasks tasks = new Tasks();
    final Ids ids = new Ids();
    final Map<Integer, Log> logs = new HashMap<>();
    /** The partitions of the transaction log that this broker leads. */
    final Set<Integer> led = new HashSet<>();
    /** The leaders of the partitions of other topics. */
    final Map<String, List<Integer>> leaders = new HashMap<>();
    /** Appends whose end nobody has heard of yet, and what becomes of those that are still to come. */
    final ArrayDeque<Held> held = new ArrayDeque<>();
    final ArrayDeque<Failure> failures = new ArrayDeque<>();
    boolean holding = false;
    /** Appends since the last command. */
    final List<Append> appends = new ArrayList<>();
    int partitions = 1;
    short transactionVersion = 2;
    int maxMessageBytes = 1_048_588;

    /** What was appended, or was refused, and until when its end is waited for. */
    record Append(int partition, boolean written, long timeoutMs, List<SimpleRecord> records, long baseOffset) { }

    /** An append that is in the log, but of which the high watermark has not been heard. */
    record Held(TopicIdPartition partition, Function1<Map<TopicIdPartition, PartitionResponse>, BoxedUnit> callback) {
        void end(Errors error) {
            Map<TopicIdPartition, PartitionResponse> responses = new HashMap<>();
            responses.put(partition, new PartitionResponse(error));
            callback.apply(responses);
        }
    }

    record Failure(Errors error, boolean written) { }

    static class Clock implements Time {
        long nowMs = 1_000_000;

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

    /** Tasks wait until the script runs them: those of a period under their names, others in order. */
    static class Tasks implements Scheduler {
        final Map<String, Runnable> periodic = new HashMap<>();
        final ArrayDeque<Runnable> once = new ArrayDeque<>();

        public void startup() { }

        public void shutdown() { }

        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            if (periodMs >= 0) periodic.put(name, task);
            else once.add(task);
            return null;
        }

        public void resizeThreadPool(int newSize) { }
    }

    static class Ids implements ProducerIdManager {
        long next = 1000;
        Errors error = Errors.NONE;

        public long generateProducerId() {
            if (error != Errors.NONE) throw error.exception();
            return next++;
        }
    }

    /** One partition's log, a batch for each append. Unlike UnifiedLog, it stands in memory. */
    static class Log extends UnifiedLog {
        List<MemoryRecords> batches;
        long end;

        /** Nobody calls it: instances are made without a constructor. */
        Log() throws IOException {
            super(0, null, null, 0, null, null, null, false, null);
        }

        static Log empty() {
            Log log = without(Log.class);
            log.batches = new ArrayList<>();
            return log;
        }

        long append(List<SimpleRecord> records) {
            long base = end;
            batches.add(MemoryRecords.withRecords(base, Compression.NONE, records.toArray(new SimpleRecord[0])));
            end += records.size();
            return base;
        }

        /** Takes out what no later leader has seen. */
        void truncate(long offset) {
            batches.removeIf(batch -> batch.batches().iterator().next().lastOffset() >= offset);
            end = batches.isEmpty() ? 0 : batches.get(batches.size() - 1).batches().iterator().next().nextOffset();
        }

        @Override
        public long logStartOffset() {
            return 0;
        }

        @Override
        public FetchDataInfo read(long offset, int lengthMax, FetchIsolation isolation, boolean minOneMessage) {
            for (MemoryRecords batch : batches) {
                if (batch.batches().iterator().next().lastOffset() >= offset) {
                    return new FetchDataInfo(new LogOffsetMetadata(offset), batch);
                }
            }
            return new FetchDataInfo(new LogOffsetMetadata(offset), MemoryRecords.EMPTY);
        }
    }

    /** The part of the replica manager that the coordinator uses. */
    static class Replicas extends ReplicaManager {
        TransactionBroker broker;

        /** Nobody calls it: instances are made without a constructor. */
        Replicas() {
            super(null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
                null, null, null, null, null);
        }

        private boolean leads(TopicPartition partition) {
            return broker.led.contains(partition.partition());
        }

        @Override
        public TopicIdPartition topicIdPartition(TopicPartition partition) {
            return new TopicIdPartition(Uuid.ONE_UUID, partition);
        }

        @Override
        public Option<UnifiedLog> getLog(TopicPartition partition) {
            return Option.apply(broker.logs.get(partition.partition()));
        }

        @Override
        public Option<Object> getLogEndOffset(TopicPartition partition) {
            return leads(partition) ? Option.apply(broker.logs.get(partition.partition()).end) : Option.empty();
        }

        @Override
        public Option<LogConfig> getLogConfig(TopicPartition partition) {
            if (!leads(partition)) return Option.empty();
            return Option.apply(new LogConfig(Map.of("max.message.bytes", broker.maxMessageBytes)));
        }

        @Override
        public void appendRecords(
            long timeoutMs, short requiredAcks, boolean internalTopicsAllowed, AppendOrigin origin,
            scala.collection.Map<TopicIdPartition, MemoryRecords> entries,
            Function1<Map<TopicIdPartition, PartitionResponse>, BoxedUnit> callback,
            Function1<scala.collection.Map<TopicIdPartition, RecordValidationStats>, BoxedUnit> stats,
            RequestLocal requestLocal, scala.collection.Map<TopicPartition, VerificationGuard> guards, short version
        ) {
            if (requiredAcks != -1 || origin != AppendOrigin.COORDINATOR || entries.size() != 1) {
                throw new IllegalArgumentException("acks " + requiredAcks + " of " + origin + ", to " + entries);
            }
            TopicIdPartition partition = entries.head()._1;
            List<SimpleRecord> records = new ArrayList<>();
            for (Record record : entries.head()._2.records()) records.add(new SimpleRecord(record));
            broker.append(partition, timeoutMs, records, callback);
        }
    }

    /** A client that is woken, and never asked to send. */
    static class Client extends NetworkClient {
        /** Nobody calls it: instances are made without a constructor. */
        Client() {
            super(null, (MetadataUpdater) null, null, 0, 0, 0, 0, 0, 0, 0, 0, null, false, null, null, null,
                null, false);
        }

        @Override
        public void wakeup() { }
    }

    private void append(
        TopicIdPartition partition, long timeoutMs, List<SimpleRecord> records,
        Function1<Map<TopicIdPartition, PartitionResponse>, BoxedUnit> callback
    ) {
        Failure failure = failures.poll();
        if (!led.contains(partition.partition())) failure = new Failure(Errors.NOT_LEADER_OR_FOLLOWER, false);
        boolean written = failure == null || failure.written;
        long base = written ? logs.get(partition.partition()).append(records) : -1;
        appends.add(new Append(partition.partition(), written, timeoutMs, records, base));
        Held append = new Held(partition, callback);
        if (failure != null) append.end(failure.error);
        else if (holding) held.add(append);
        else append.end(Errors.NONE);
    }

    Replicas replicas() {
        Replicas replicas = without(Replicas.class);
        replicas.broker = this;
        return replicas;
    }

    static Client client() {
        return without(Client.class);
    }

    MetadataCache metadata() {
        return (MetadataCache) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {MetadataCache.class},
            (proxy, method, args) -> switch (method.getName()) {
                case "features" -> FinalizedFeatures.of(MetadataVersion.LATEST_PRODUCTION,
                    Map.of(TransactionVersion.FEATURE_NAME, transactionVersion), 0);
                case "numPartitions" -> Topic.TRANSACTION_STATE_TOPIC_NAME.equals(args[0])
                    ? Optional.of(partitions) : Optional.empty();
                case "getPartitionLeaderEndpoint" -> leader((String) args[0], (int) args[1]);
                default -> throw new UnsupportedOperationException(method.getName());
            });
    }

    private Optional<Node> leader(String topic, int partition) {
        List<Integer> all = leaders.getOrDefault(topic, List.of());
        int leader = partition < all.size() ? all.get(partition) : NO_LEADER;
        if (leader == NO_LEADER) return Optional.empty();
        return Optional.of(leader == NO_LISTENER ? Node.noNode() : new Node(leader, "broker" + leader, 9092));
    }

    /** An instance on which no constructor ran. */
    static <T> T without(Class<T> type) {
        try {
            Class<?> unsafe = Class.forName("sun.misc.Unsafe");
            Field field = unsafe.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return type.cast(unsafe.getMethod("allocateInstance", Class.class).invoke(field.get(null), type));
        } catch (ClassNotFoundException | NoSuchFieldException | NoSuchMethodException | IllegalAccessException
                | InvocationTargetException e) {
            throw new IllegalStateException(e);
        }
    }
}
