import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.CleanerStats;
import org.apache.kafka.storage.internals.log.LogCleanerManager;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.PreCleanStats;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Kafka's own cleaner. Each line of input is one pass through the partition t-0 of a log directory that was closed
 * cleanly:
 *
 * DIR NOW LOG_START HIGH_WATERMARK MAP_BYTES LOAD_FACTOR IO_BYTES NAME=VALUE...
 *
 * answered with "cleaned FROM TO READ WRITTEN" (the last two in bytes), "none" or "failed REASON".
 * With the argument "time" the CPU time of the pass in nanoseconds follows.
 */
public class CleanerOracle {
    private static final TopicPartition PARTITION = new TopicPartition("t", 0);

    public static void main(String[] args) throws Exception {
        boolean timed = args.length > 0 && args[0].equals("time");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        String line;
        while ((line = input.readLine()) != null) {
            String answer;
            try {
                answer = clean(line.split(" "), timed);
            } catch (Exception e) {
                answer = "failed " + e.toString().replace('\n', ' ');
            }
            System.out.println(answer);
            System.out.flush();
        }
    }

    /** The system's clock, but for the time of day. */
    private static Time at(long now) {
        return (Time) Proxy.newProxyInstance(Time.class.getClassLoader(), new Class<?>[] {Time.class},
            (proxy, method, values) -> {
                if (method.getName().equals("milliseconds"))
                    return now;
                try {
                    return method.invoke(Time.SYSTEM, values);
                } catch (InvocationTargetException e) {
                    throw e.getCause();
                }
            });
    }

    private static long cpu() {
        return java.lang.management.ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private static String clean(String[] words, boolean timed) throws Exception {
        File dir = new File(words[0]);
        Time time = at(Long.parseLong(words[1]));
        long logStart = Long.parseLong(words[2]);
        Properties props = new Properties();
        for (int i = 7; i < words.length; i++) {
            String[] pair = words[i].split("=", 2);
            props.put(pair[0], pair[1]);
        }
        LogDirFailureChannel failures = new LogDirFailureChannel(1);
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        try {
            UnifiedLog log = UnifiedLog.create(new File(dir, "t-0"), new LogConfig(props), logStart, 0L, scheduler,
                new BrokerTopicStats(), time, Integer.MAX_VALUE, new ProducerStateManagerConfig(Integer.MAX_VALUE, false),
                600_000, failures, true, Optional.empty());
            log.updateHighWatermark(Long.parseLong(words[3]));
            ConcurrentHashMap<TopicPartition, UnifiedLog> logs = new ConcurrentHashMap<>(Map.of(PARTITION, log));
            LogCleanerManager manager = new LogCleanerManager(List.of(dir), logs, failures);
            Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(Integer.parseInt(words[4])),
                Integer.parseInt(words[6]), Integer.MAX_VALUE, Double.parseDouble(words[5]),
                new Throttler(Double.MAX_VALUE, 300, "io", "bytes", time), time, partition -> { });
            try {
                long begin = cpu();
                Optional<LogToClean> due = manager.grabFilthiestCompactedLog(time, new PreCleanStats());
                if (due.isEmpty())
                    return "none";
                Map.Entry<Long, CleanerStats> done = cleaner.doClean(due.get(), time.milliseconds());
                long took = cpu() - begin;
                manager.doneCleaning(PARTITION, dir, done.getKey());
                CleanerStats stats = done.getValue();
                return "cleaned " + due.get().firstDirtyOffset() + " " + done.getKey()
                    + " " + stats.bytesRead() + " " + stats.bytesWritten() + (timed ? " " + took : "");
            } finally {
                manager.removeMetrics();
                log.closeQuietly();
            }
        } finally {
            // What waits to be deleted stays.
            scheduler.shutdown();
        }
    }
}
