import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Kafka's own log, for comparison.
 *
 * write DIR clean|crash START fills a partition directory and describes it; a crash leaves it open
 * describe DIR clean|crash START loads a partition directory as after a clean stop or a crash, describes it, appends one
 *                          batch and closes it; START is a recent time, because Kafka forgets producers by the clock
 * lock FILE START          says whether Java gets the lock on a file
 * hold FILE START          takes the lock on a file and keeps it until its input ends
 */
public class LogOracle {
    private final KafkaScheduler scheduler = new KafkaScheduler(1);
    private final long startMs;

    private LogOracle(long startMs) {
        this.startMs = startMs;
    }

    public static void main(String[] args) throws Exception {
        LogOracle oracle = new LogOracle(Long.parseLong(args[args.length - 1]));
        oracle.scheduler.startup();
        try {
            oracle.run(args);
        } finally {
            // Of what a log left to it for later nothing may happen to the files now.
            oracle.scheduler.shutdown();
        }
    }

    private void run(String[] args) throws Exception {
        switch (args[0]) {
            case "write" -> write(new File(args[1]), args[2].equals("clean"));
            case "describe" -> {
                UnifiedLog log = open(new File(args[1]), args[2].equals("clean"));
                describe(log);
                log.appendAsLeader(batch(Compression.NONE, 3, startMs + 9_000L), 7);
                stop(log);
            }
            case "lock" -> {
                try (FileChannel channel = channel(args[1]); FileLock lock = channel.tryLock()) {
                    System.out.println(lock == null ? "taken" : "free");
                }
            }
            case "hold" -> {
                try (FileChannel channel = channel(args[1]); FileLock lock = channel.tryLock()) {
                    System.out.println(lock == null ? "taken" : "held");
                    System.out.flush();
                    while (System.in.read() >= 0) { }
                }
            }
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static FileChannel channel(String path) throws IOException {
        return FileChannel.open(Path.of(path), StandardOpenOption.CREATE, StandardOpenOption.READ,
            StandardOpenOption.WRITE);
    }

    private UnifiedLog open(File dir, boolean clean) throws Exception {
        Properties props = new Properties();
        props.put("internal.segment.bytes", "6000");
        props.put("index.interval.bytes", "300");
        return UnifiedLog.create(dir, new LogConfig(props), 0L, 0L, scheduler, new BrokerTopicStats(), Time.SYSTEM,
            900_000, new ProducerStateManagerConfig(Integer.MAX_VALUE, false), 600_000,
            new LogDirFailureChannel(1), clean, Optional.empty());
    }

    private MemoryRecords batch(Compression compression, int count, long timestamp) {
        return MemoryRecords.withRecords(compression, records(count, timestamp));
    }

    private SimpleRecord[] records(int count, long timestamp) {
        SimpleRecord[] records = new SimpleRecord[count];
        for (int i = 0; i < count; i++) {
            long at = timestamp + (i * 7L) % 5;
            records[i] = new SimpleRecord(at, ("key-" + i).getBytes(), ("value-" + i + "-" + timestamp).getBytes());
        }
        return records;
    }

    private void write(File dir, boolean clean) throws Exception {
        UnifiedLog log = open(dir, true);
        Compression[] codecs = {
            Compression.NONE, Compression.gzip().build(), Compression.snappy().build(), Compression.lz4().build(),
            Compression.zstd().build()
        };
        int sequence = 0;
        for (int i = 0; i < 120; i++) {
            long timestamp = startMs + i * 10L - (i % 9) * 15L;
            int count = 1 + i % 6;
            Compression codec = codecs[i % codecs.length];
            int epoch = i / 50;
            if (i % 3 == 0) {
                log.appendAsLeader(MemoryRecords.withIdempotentRecords(codec, 77L, (short) 2, sequence,
                    records(count, timestamp)), epoch);
                sequence += count;
            } else {
                log.appendAsLeader(batch(codec, count, timestamp), epoch);
            }
            if (i == 30 || i == 70 || i == 75) {
                long id = 1000L + i;
                transaction(log, id, codec, timestamp, epoch);
                marker(log, id, i == 70 ? ControlRecordType.COMMIT : ControlRecordType.ABORT, epoch);
            }
        }
        transaction(log, 5000L, Compression.NONE, startMs + 5_000L, 2);
        log.updateHighWatermark(log.logEndOffset());
        log.flush(false);
        describe(log);
        if (clean) {
            stop(log);
        }
    }

    /** As its manager stops it: a close alone neither trims the indexes nor flushes. */
    private static void stop(UnifiedLog log) {
        log.prepareActiveSegmentForClose();
        log.flush(true);
        log.close();
    }

    private void transaction(UnifiedLog log, long id, Compression codec, long timestamp, int epoch)
            throws IOException {
        log.appendAsLeader(MemoryRecords.withTransactionalRecords(codec, id, (short) 0, 0, records(2, timestamp)), epoch);
        log.appendAsLeader(batch(codec, 1, timestamp), epoch);
        log.appendAsLeader(MemoryRecords.withTransactionalRecords(codec, id, (short) 0, 2, records(1, timestamp)), epoch);
    }

    private void marker(UnifiedLog log, long id, ControlRecordType type, int epoch) {
        log.appendAsLeader(MemoryRecords.withEndTransactionMarker(startMs, id, (short) 0,
            new EndTransactionMarker(type, 4)), epoch, AppendOrigin.COORDINATOR, RequestLocal.noCaching(), VerificationGuard.SENTINEL,
            (short) 0);
    }

    private void describe(UnifiedLog log) throws Exception {
        log.updateHighWatermark(log.logEndOffset());
        System.out.println("offsets " + log.logStartOffset() + " " + log.logEndOffset() + " " + log.lastStableOffset());
        List<Long> bases = new ArrayList<>();
        for (LogSegment segment : log.logSegments()) {
            bases.add(segment.baseOffset());
            for (RecordBatch batch : segment.log().batches()) {
                System.out.println("batch " + batch.baseOffset() + " " + batch.lastOffset() + " "
                    + batch.maxTimestamp() + " " + batch.partitionLeaderEpoch() + " " + batch.producerId() + " "
                    + batch.producerEpoch() + " " + batch.baseSequence() + " " + batch.checksum() + " "
                    + batch.sizeInBytes() + (batch.isValid() ? "" : " INVALID")
                    + (batch.timestampType() == TimestampType.CREATE_TIME ? "" : " APPEND"));
            }
        }
        for (long base : bases) {
            System.out.println("segment " + base);
        }
        Map<Long, String> producers = new TreeMap<>();
        log.activeProducers().forEach(p -> producers.put(p.producerId(), p.producerEpoch() + " " + p.lastSequence()
            + " " + p.lastTimestamp() + " " + p.coordinatorEpoch() + " " + p.currentTxnStartOffset()));
        producers.forEach((id, text) -> System.out.println("producer " + id + " " + text));
        for (long from = log.logStartOffset(); from < log.logEndOffset(); from += 37) {
            StringBuilder line = new StringBuilder("aborted " + from);
            log.collectAbortedTransactions(from, log.logEndOffset()).stream()
                .filter(a -> a.lastOffset() >= 0)
                .forEach(a -> line.append(" ").append(a.producerId()).append(":").append(a.firstOffset()).append(":")
                    .append(a.lastOffset()).append(":").append(a.lastStableOffset()));
            System.out.println(line);
        }
        log.leaderEpochCache().epochEntries().forEach(entry ->
            System.out.println("epoch " + entry.epoch() + " " + entry.startOffset()));
        for (int epoch = -1; epoch < 9; epoch++) {
            System.out.println("end " + epoch + " " + log.endOffsetForEpoch(epoch)
                .map(end -> end.epoch() + " " + end.offset()).orElse("none"));
        }
        for (long target = startMs - 200; target < startMs + 1_400; target += 7) {
            System.out.println("time " + target + " " + log.fetchOffsetByTimestamp(target, Optional.empty())
                .timestampAndOffsetOpt().map(found -> found.offset + " " + found.timestamp).orElse("none"));
        }
        System.out.println("max " + log.fetchOffsetByTimestamp(-3L, Optional.empty()).timestampAndOffsetOpt()
            .map(found -> found.offset + " " + found.timestamp).orElse("none"));
    }
}
