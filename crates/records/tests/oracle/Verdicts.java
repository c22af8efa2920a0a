// Appends each case of a file to a fresh log of Apache Kafka's own and writes down what it said.
// Arguments: case file, result file, directory for the logs. See kafka.rs for both formats.

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.ProduceResponse.RecordError;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.common.TransactionVersion;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.RecordValidationException;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

public final class Verdicts {
    private static final long START_OFFSET = 1000;
    private static final int LEADER_EPOCH = 7;
    private static final Still CLOCK = new Still();
    private static UnifiedLog log;

    public static void main(String[] args) throws Exception {
        Path logs = Path.of(args[2]);
        RequestLocal local = RequestLocal.withThreadConfinedCaching();
        BrokerTopicStats stats = new BrokerTopicStats();
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(Path.of(args[0]))));
             DataOutputStream out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(Path.of(args[1]))))) {
            int count = in.readInt();
            out.writeInt(count);
            for (int i = 0; i < count; i++) {
                Map<String, String> config = new HashMap<>();
                config.put(LogConfig.INTERNAL_SEGMENT_BYTES_CONFIG, String.valueOf(1 << 30));
                config.put("segment.index.bytes", "4096");
                config.put("index.interval.bytes", "1000000000");
                int pairs = in.readInt();
                for (int p = 0; p < pairs; p++)
                    config.put(text(in), text(in));
                long now = in.readLong();
                boolean client = in.readBoolean();
                short version = in.readShort();
                byte[] bytes = new byte[in.readInt()];
                in.readFully(bytes);
                judge(logs, config, now, client, version, bytes, local, stats, out);
            }
        }
        // Whatever was scheduled must not keep the process alive.
        System.exit(0);
    }

    private static String text(DataInputStream in) throws IOException {
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static void judge(Path logs, Map<String, String> config, long now, boolean client,
                              short version, byte[] bytes, RequestLocal local, BrokerTopicStats stats,
                              DataOutputStream out) throws Exception {
        Path dir = logs.resolve("topic-0");
        CLOCK.now = now;
        // A refused case leaves the log as it was, and making one takes longer than all the rest.
        if (log == null)
            log = UnifiedLog.create(dir.toFile(), new LogConfig(config), START_OFFSET, START_OFFSET,
                new Idle(), stats, CLOCK, 60000, new ProducerStateManagerConfig(86400000, false), 600000,
                new LogDirFailureChannel(1), true, Optional.empty());
        else
            log.updateConfig(new LogConfig(config));
        boolean written = false;
        try {
            MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(bytes));
            Throwable failed = null;
            LogAppendInfo info = null;
            try {
                if (client)
                    ProduceRequest.validateRecords(version, records);
                info = log.appendAsLeader(records, LEADER_EPOCH,
                    client ? AppendOrigin.CLIENT : AppendOrigin.COORDINATOR, local, VerificationGuard.SENTINEL,
                    TransactionVersion.TV_2.featureLevel());
            } catch (Throwable t) {
                failed = t;
            }
            if (failed == null) {
                written = true;
                byte[] stored = Files.readAllBytes(log.activeSegment().log().file().toPath());
                out.writeShort(0);
                out.writeLong(info.maxTimestamp());
                out.writeLong(info.logAppendTime());
                out.writeLong(info.firstOffset());
                out.writeLong(info.lastOffset());
                out.writeLong(log.activeSegment().readMaxTimestampAndOffsetSoFar().timestamp());
                out.writeLong(log.activeSegment().readMaxTimestampAndOffsetSoFar().offset());
                out.writeInt(stored.length);
                out.write(stored);
            } else {
                List<RecordError> errors = List.of();
                if (failed instanceof RecordValidationException rejected) {
                    errors = rejected.recordErrors();
                    failed = rejected.invalidException();
                }
                out.writeShort(Errors.forException(failed).code());
                out.writeInt(errors.size());
                for (RecordError error : errors)
                    out.writeInt(error.batchIndex);
                byte[] said = failed.toString().getBytes(StandardCharsets.UTF_8);
                out.writeInt(said.length);
                out.write(said);
            }
        } finally {
            if (written) {
                log.closeQuietly();
                log = null;
                File[] files = dir.toFile().listFiles();
                if (files != null)
                    for (File file : files)
                        file.delete();
                dir.toFile().delete();
            }
        }
    }

    /** A clock that stands where it is put. */
    private static final class Still implements Time {
        private long now;

        @Override
        public long milliseconds() {
            return now;
        }

        @Override
        public long nanoseconds() {
            return now * 1000000;
        }

        @Override
        public void sleep(long ms) {
        }

        @Override
        public void waitObject(Object obj, Supplier<Boolean> condition, long deadlineMs) {
            throw new UnsupportedOperationException();
        }
    }

    /** Runs nothing, but hands out futures that can be cancelled. */
    private static final class Idle implements Scheduler {
        private static final ScheduledThreadPoolExecutor NEVER = new ScheduledThreadPoolExecutor(0);

        @Override
        public void startup() {
        }

        @Override
        public void shutdown() {
        }

        @Override
        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            NEVER.setRemoveOnCancelPolicy(true);
            return NEVER.schedule(() -> { }, 1000, TimeUnit.DAYS);
        }

        @Override
        public void resizeThreadPool(int newSize) {
        }
    }
}
