import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Delayed;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;

import kafka.cluster.DelayedOperations;
import kafka.cluster.Partition;

import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.AlterPartitionRequestData.BrokerState;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.metadata.KRaftMetadataCache;
import org.apache.kafka.metadata.LeaderAndIsr;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.common.TopicIdPartition;
import org.apache.kafka.server.common.TransactionVersion;
import org.apache.kafka.server.metrics.KafkaMetricsGroup;
import org.apache.kafka.server.partition.AlterPartitionListener;
import org.apache.kafka.server.partition.AlterPartitionManager;
import org.apache.kafka.server.partition.PartitionState;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchParams;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.CleanerConfig;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogCleaner;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogManager;
import org.apache.kafka.storage.internals.log.LogReadInfo;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

import scala.Option;
import scala.Tuple2;

/**
 * Kafka's own partition, as leader or follower, with its own log and metadata cache, but with a clock that stands still
 * until it is told the time, and a controller that answers when it is told to.
 *
 * Usage: PartitionOracle SCRATCH ME LAG_MS MIN_ISR. ME is the id of this broker, whose epoch is 100 + ME.
 *
 * Each line of input is a command. A list has commas between its elements, and an empty list is "-".
 *
 * time MS                             sets the clock, which begins at 1000000 and never goes backwards
 * min-isr N                           changes min.insync.replicas of the log
 * brokers ID:EPOCH:FENCED:SHUTTING,.. these brokers are registered, and no others
 * lead LEADER_EPOCH PARTITION_EPOCH REPLICAS ISR ADDING REMOVING
 * follow LEADER LEADER_EPOCH PARTITION_EPOCH REPLICAS ISR
 * append RECORDS ACKS                 one batch
 * fetch REPLICA BROKER_EPOCH CURRENT_LEADER_EPOCH OFFSET LAST_FETCHED_EPOCH LOG_START
 *                                     a follower's fetch; of the two epochs -1 is none
 * check-lag                           removes from the ISR who is out of sync
 * alter ok LEADER_EPOCH PARTITION_EPOCH ISR
 * alter error NAME                    the controller's answer to the oldest request that has none
 * acked OFFSET                        whether a producer that waits for OFFSET gets its answer
 * low-watermark
 * delete-records OFFSET
 * reset                               a new partition, with everything as in the beginning
 *
 * Each is answered with one line:
 *
 * RESULT hw=H leo=L start=S isr=I maximal=M inflight=0|1 le=LEADER_EPOCH pe=PARTITION_EPOCH under=0|1 sent=P
 *
 * RESULT is "ok", or "true" or "false" for lead and follow, ok:FIRST-LAST for append, ok:RECORDS or
 * diverging:EPOCH:END_OFFSET for fetch, "nothing" for alter when no request is open, acked=true|false:ERROR,
 * low=OFFSET, the name of an error, or panic:CLASS:MESSAGE for any other exception. RECORDS counts whole batches,
 * also what lies before the offset. P is what was sent to the controller meanwhile, LEADER_EPOCH:PARTITION_EPOCH:
 * RECOVERY_STATE:ID:BROKER_EPOCH,.. with a semicolon between two requests.
 */
public final class PartitionOracle {
    private static final long START_MS = 1_000_000;
    private static final int MAX_BYTES = 1 << 20;
    /** How the log manager calls the task that removes the files of deleted logs. */
    private static final String DELETE_LOGS = "kafka-delete-logs";

    private final int me;
    private final long lagMs;
    private final int minIsr;
    private final File dir;
    /** Metrics are the virtual machine's, and a topic's name is in theirs. */
    private final String name = "partition-oracle-" + UUID.randomUUID();
    private final Clock clock = new Clock();
    private final Tasks tasks = new Tasks();
    private final Controller controller = new Controller();
    private final BrokerTopicStats stats = new BrokerTopicStats();
    private final Map<Integer, LogConfig> configs = new HashMap<>();
    private final LogManager logs;

    private KRaftMetadataCache metadata;
    private TopicPartition id;
    private Uuid topicId;
    private Partition partition;
    private int topics;

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PartitionOracle oracle = new PartitionOracle(args);
        try {
            String line;
            while ((line = input.readLine()) != null) {
                out.println(oracle.answer(line));
                out.flush();
            }
        } finally {
            oracle.end();
        }
    }

    private PartitionOracle(String[] args) throws Exception {
        me = Integer.parseInt(args[1]);
        lagMs = Long.parseLong(args[2]);
        minIsr = Integer.parseInt(args[3]);
        dir = new File(args[0], name).getAbsoluteFile();
        logs = new LogManager(
            List.of(dir),
            List.of(),
            resource -> new Properties(),
            config(minIsr),
            new CleanerConfig(false),
            1,
            Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE,
            900_000,
            new ProducerStateManagerConfig(Integer.MAX_VALUE, false),
            600_000,
            tasks,
            stats,
            new LogDirFailureChannel(1),
            clock,
            false,
            0,
            LogCleaner::new);
        // There is no log to load; this is how the task that deletes logs gets known.
        logs.startup(Set.of());
        begin();
    }

    private void begin() {
        clock.now = START_MS;
        controller.open.clear();
        controller.sent.clear();
        logs.reconfigureDefaultLogConfig(config(minIsr));
        metadata = new KRaftMetadataCache(me, () -> KRaftVersion.LATEST_PRODUCTION);
        id = new TopicPartition(name + "-" + topics++, 0);
        topicId = Uuid.randomUuid();
        partition = new Partition(id, lagMs, me, () -> (Object) (100L + me), clock, new Deaf(),
            new NothingDelayed(topicId, id), metadata, logs, controller, Option.apply(topicId));
    }

    private void discard() throws Exception {
        partition.delete();
        Partition.removeMetrics(id);
        logs.asyncDelete(id, false, false, false);
        tasks.run(DELETE_LOGS);
    }

    private void end() throws Exception {
        try {
            discard();
        } finally {
            logs.shutdown(-1);
            stats.close();
            // The log manager leaves these.
            KafkaMetricsGroup metrics = new KafkaMetricsGroup("kafka.log", "LogManager");
            metrics.removeMetric("CordonedLogDirectoryCount");
            metrics.removeMetric("LogDirectoryCordoned", Map.of("logDirectory", dir.getPath()));
            Utils.delete(dir);
        }
    }

    /** One segment holds a whole test, and its indexes are small. */
    private LogConfig config(int minIsr) {
        return configs.computeIfAbsent(minIsr, n -> {
            Properties props = new Properties();
            props.put("min.insync.replicas", Integer.toString(n));
            props.put("segment.index.bytes", "4096");
            props.put("segment.ms", Long.toString(Long.MAX_VALUE));
            props.put("retention.ms", "-1");
            props.put("file.delete.delay.ms", "0");
            return new LogConfig(props);
        });
    }

    private String answer(String line) {
        controller.sent.clear();
        String result;
        try {
            result = execute(line.split(" "));
        } catch (ApiException e) {
            result = Errors.forException(e).name();
        } catch (Exception e) {
            result = "panic:" + e.getClass().getName() + ":" + String.valueOf(e.getMessage()).replaceAll("\\s+", "_");
        }
        PartitionState state = partition.partitionState();
        Optional<UnifiedLog> log = partition.unifiedLog();
        return result
            + " hw=" + log.map(UnifiedLog::highWatermark).orElse(-1L)
            + " leo=" + log.map(UnifiedLog::logEndOffset).orElse(-1L)
            + " start=" + log.map(UnifiedLog::logStartOffset).orElse(-1L)
            + " isr=" + sorted(state.isr())
            + " maximal=" + sorted(state.maximalIsr())
            + " inflight=" + (state.isInflight() ? 1 : 0)
            + " le=" + partition.getLeaderEpoch()
            + " pe=" + partition.getPartitionEpoch()
            + " under=" + (partition.isUnderMinIsr() ? 1 : 0)
            + " sent=" + (controller.sent.isEmpty() ? "-" : String.join(";", controller.sent));
    }

    private String execute(String[] words) throws Exception {
        switch (words[0]) {
            case "time" -> {
                long now = Long.parseLong(words[1]);
                if (now < clock.now)
                    throw new IllegalArgumentException("time goes backwards");
                clock.now = now;
                return "ok";
            }
            case "min-isr" -> {
                LogConfig config = config(Integer.parseInt(words[1]));
                logs.reconfigureDefaultLogConfig(config);
                partition.unifiedLog().ifPresent(log -> log.updateConfig(config));
                return "ok";
            }
            case "brokers" -> {
                metadata.setImage(image(words[1]));
                return "ok";
            }
            case "lead" -> {
                PartitionRegistration registration = registration(me, words[1], words[2], words[3], words[4], words[5],
                    words[6]);
                return "" + partition.makeLeader(registration, partition.log().isEmpty(), PartitionOracle::checkpoint,
                    Option.apply(topicId), Option.empty());
            }
            case "follow" -> {
                PartitionRegistration registration = registration(Integer.parseInt(words[1]), words[2], words[3],
                    words[4], words[5], "-", "-");
                return "" + partition.makeFollower(registration, partition.log().isEmpty(), PartitionOracle::checkpoint,
                    Option.apply(topicId), Option.empty());
            }
            case "append" -> {
                LogAppendInfo info = partition.appendRecordsToLeader(batch(Integer.parseInt(words[1])),
                    AppendOrigin.CLIENT, Integer.parseInt(words[2]), RequestLocal.noCaching(),
                    VerificationGuard.SENTINEL, TransactionVersion.TV_UNKNOWN);
                return "ok:" + info.firstOffset() + "-" + info.lastOffset();
            }
            case "fetch" -> {
                return fetch(words);
            }
            case "check-lag" -> {
                partition.maybeShrinkIsr();
                return "ok";
            }
            case "alter" -> {
                return alter(words);
            }
            case "acked" -> {
                Tuple2<Object, Errors> acked = partition.checkEnoughReplicasReachOffset(Long.parseLong(words[1]));
                return "acked=" + acked._1() + ":" + acked._2().name();
            }
            case "low-watermark" -> {
                return "low=" + partition.lowWatermarkIfLeader();
            }
            case "delete-records" -> {
                partition.deleteRecordsOnLeader(Long.parseLong(words[1]));
                return "ok";
            }
            case "reset" -> {
                discard();
                begin();
                return "ok";
            }
            default -> throw new IllegalArgumentException("unknown command " + words[0]);
        }
    }

    private String fetch(String[] words) {
        FetchParams params = new FetchParams(Integer.parseInt(words[1]), Long.parseLong(words[2]), 0, 1, MAX_BYTES,
            FetchIsolation.LOG_END, Optional.empty());
        FetchRequest.PartitionData data = new FetchRequest.PartitionData(topicId, Long.parseLong(words[4]),
            Long.parseLong(words[6]), MAX_BYTES, epoch(words[3]), epoch(words[5]));
        LogReadInfo read = partition.fetchRecords(params, data, clock.now, MAX_BYTES, true, true);
        if (read.divergingEpoch().isPresent()) {
            FetchResponseData.EpochEndOffset diverging = read.divergingEpoch().get();
            return "diverging:" + diverging.epoch() + ":" + diverging.endOffset();
        }
        int count = 0;
        for (Record record : read.fetchedData().records.records()) {
            count++;
        }
        return "ok:" + count;
    }

    private String alter(String[] words) throws Exception {
        Request request = controller.open.poll();
        if (request == null)
            return "nothing";
        switch (words[1]) {
            case "ok" -> request.complete(new LeaderAndIsr(me, Integer.parseInt(words[2]),
                Arrays.stream(ids(words[4])).boxed().toList(), LeaderRecoveryState.RECOVERED,
                Integer.parseInt(words[3])));
            case "error" -> request.completeExceptionally(Errors.valueOf(words[2]).exception());
            default -> throw new IllegalArgumentException("unknown answer " + words[1]);
        }
        if (request.thrown != null)
            throw request.thrown;
        return "ok";
    }

    private MemoryRecords batch(int count) {
        SimpleRecord[] records = new SimpleRecord[count];
        for (int i = 0; i < count; i++) {
            records[i] = new SimpleRecord(clock.now, ("value-" + i).getBytes(StandardCharsets.UTF_8));
        }
        return MemoryRecords.withRecords(Compression.NONE, records);
    }

    private static MetadataImage image(String brokers) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        for (String broker : elements(brokers)) {
            String[] parts = broker.split(":");
            delta.replay(new RegisterBrokerRecord()
                .setBrokerId(Integer.parseInt(parts[0]))
                .setBrokerEpoch(Long.parseLong(parts[1]))
                .setFenced(parts[2].equals("1"))
                .setInControlledShutdown(parts[3].equals("1"))
                .setIncarnationId(new Uuid(1, Long.parseLong(parts[1]))));
        }
        return delta.apply(MetadataProvenance.EMPTY);
    }

    private static PartitionRegistration registration(int leader, String leaderEpoch, String partitionEpoch,
                                                      String replicas, String isr, String adding, String removing) {
        int[] all = ids(replicas);
        return new PartitionRegistration.Builder()
            .setLeader(leader)
            .setLeaderEpoch(Integer.parseInt(leaderEpoch))
            .setPartitionEpoch(Integer.parseInt(partitionEpoch))
            .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED)
            .setReplicas(all)
            .setDirectories(DirectoryId.unassignedArray(all.length))
            .setIsr(ids(isr))
            .setAddingReplicas(ids(adding))
            .setRemovingReplicas(ids(removing))
            .build();
    }

    /** A log that is new has no high watermark yet. */
    private static Optional<Long> checkpoint(String logDir, TopicPartition partition) {
        return Optional.empty();
    }

    private static Optional<Integer> epoch(String word) {
        return word.equals("-1") ? Optional.empty() : Optional.of(Integer.valueOf(word));
    }

    private static String[] elements(String list) {
        return list.equals("-") ? new String[0] : list.split(",");
    }

    private static int[] ids(String list) {
        return Arrays.stream(elements(list)).mapToInt(Integer::parseInt).toArray();
    }

    private static String sorted(Collection<Integer> ids) {
        return ids.isEmpty() ? "-" : new TreeSet<>(ids).stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    /** What was asked of the controller, and what the partition's answer to its answer threw. */
    private static final class Request extends CompletableFuture<LeaderAndIsr> {
        private RuntimeException thrown;

        @Override
        public CompletableFuture<LeaderAndIsr> whenComplete(
                BiConsumer<? super LeaderAndIsr, ? super Throwable> action) {
            return super.whenComplete((value, error) -> {
                try {
                    action.accept(value, error);
                } catch (RuntimeException e) {
                    // It would be lost: nobody looks at the future that this one makes.
                    thrown = e;
                    throw e;
                }
            });
        }
    }

    private static final class Controller implements AlterPartitionManager {
        private final ArrayDeque<Request> open = new ArrayDeque<>();
        private final List<String> sent = new ArrayList<>();

        @Override
        public void start() { }

        @Override
        public void shutdown() { }

        @Override
        public CompletableFuture<LeaderAndIsr> submit(TopicIdPartition partition, LeaderAndIsr state) {
            sent.add(state.leaderEpoch() + ":" + state.partitionEpoch() + ":" + state.leaderRecoveryState() + ":"
                + state.isrWithBrokerEpoch().stream()
                    .sorted(Comparator.comparingInt(BrokerState::brokerId))
                    .map(broker -> broker.brokerId() + ":" + broker.brokerEpoch())
                    .collect(Collectors.joining(",")));
            Request request = new Request();
            open.add(request);
            return request;
        }
    }

    private static final class Deaf implements AlterPartitionListener {
        @Override
        public void markIsrExpand() { }

        @Override
        public void markIsrShrink() { }

        @Override
        public void markFailed() { }
    }

    /** Nobody waits for anything, so there is nothing to complete, and no purgatory is needed. */
    private static final class NothingDelayed extends DelayedOperations {
        NothingDelayed(Uuid topicId, TopicPartition partition) {
            super(Option.apply(topicId), partition, null, null, null, null);
        }

        @Override
        public void checkAndCompleteAll() { }

        @Override
        public int numDelayedDelete() {
            return 0;
        }
    }

    private static final class Clock implements Time {
        private long now;

        @Override
        public long milliseconds() {
            return now;
        }

        @Override
        public long nanoseconds() {
            return TimeUnit.MILLISECONDS.toNanos(now);
        }

        @Override
        public void sleep(long ms) { }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
            throw new UnsupportedOperationException();
        }
    }

    /** Of what is left to it for later it does only what it is told to, and it has no thread. */
    private static final class Tasks implements Scheduler {
        private final Map<String, Runnable> kept = new HashMap<>();

        void run(String name) {
            kept.remove(name).run();
        }

        @Override
        public void startup() { }

        @Override
        public void shutdown() { }

        @Override
        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            if (name.equals(DELETE_LOGS)) {
                kept.put(name, task);
            }
            return new Never();
        }

        @Override
        public void resizeThreadPool(int size) { }
    }

    private static final class Never implements ScheduledFuture<Object> {
        @Override
        public long getDelay(TimeUnit unit) {
            return Long.MAX_VALUE;
        }

        @Override
        public int compareTo(Delayed other) {
            return 0;
        }

        @Override
        public boolean cancel(boolean interrupt) {
            return true;
        }

        @Override
        public boolean isCancelled() {
            return false;
        }

        @Override
        public boolean isDone() {
            return false;
        }

        @Override
        public Object get() {
            throw new UnsupportedOperationException();
        }

        @Override
        public Object get(long timeout, TimeUnit unit) {
            throw new UnsupportedOperationException();
        }
    }
}
