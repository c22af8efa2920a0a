package thalweg.makes;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * What the members in Java share. {@code tests/python/group_worker.py} says what their arguments are and what their
 * lines mean. One lock is held for the work on a batch and for every change of what is owned.
 */
final class Worker {
    final Map<String, String> given = new HashMap<>();
    /** Ends when the member is to leave. */
    final CountDownLatch stopping = new CountDownLatch(1);
    /** The next offset of each owned partition. A make may still hand out records from before a rebalance. */
    private final Map<TopicPartition, Long> owned = new HashMap<>();
    private final PrintStream out;

    Worker(String[] args) throws IOException {
        for (String arg : args) {
            String[] pair = arg.split("=", 2);
            given.put(pair[0], pair[1]);
        }
        out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, "UTF-8");
        Thread stop = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                    continue;
                }
            } catch (IOException closed) {
                // An end as well.
            }
            stopping.countDown();
        });
        stop.setDaemon(true);
        stop.start();
        tell("ready", "");
    }

    List<String> topics() {
        return List.of(given.get("topics").split(","));
    }

    /** The settings of the consumer below each make. The assignors are the defaults of the make. */
    Map<String, Object> settings() {
        Map<String, Object> settings = new HashMap<>();
        settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, given.get("bootstrap"));
        settings.put(ConsumerConfig.GROUP_ID_CONFIG, given.get("group"));
        settings.put(ConsumerConfig.CLIENT_ID_CONFIG, given.get("name"));
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false");
        settings.put(ConsumerConfig.MAX_POLL_INTERVAL_MS_CONFIG, given.get("rebalance_ms"));
        settings.put(ConsumerConfig.METADATA_MAX_AGE_CONFIG, given.get("metadata_ms"));
        settings.put(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, given.get("session_ms"));
        settings.put(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG, given.get("heartbeat_ms"));
        settings.put(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, "100");
        settings.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, "50");
        settings.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
        settings.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
        return settings;
    }

    long number(String name) {
        return Long.parseLong(given.get(name));
    }

    /** Partitions and where each begins. */
    synchronized void assigned(Map<TopicPartition, Long> positions) {
        owned.putAll(positions);
        tell("assigned", list(positions.keySet()));
    }

    /** {@code what} is revoked or lost. */
    synchronized void gone(String what, Collection<TopicPartition> partitions) {
        owned.keySet().removeAll(partitions);
        tell(what, list(partitions));
    }

    synchronized boolean owns(TopicPartition partition) {
        return owned.containsKey(partition);
    }

    /**
     * Works on records that follow each other, and says that they are about to be committed; false if they are from
     * before a rebalance.
     */
    synchronized boolean work(TopicPartition partition, long first, long last) {
        Long next = owned.get(partition);
        if (next == null || next != first) {
            return false;
        }
        long start = now();
        LockSupport.parkNanos((last - first + 1) * number("work_us") * 1000);
        tell("batch", ",\"p\":\"" + partition + "\",\"from\":" + first + ",\"to\":" + last + ",\"t0\":" + start);
        owned.put(partition, last + 1);
        tell("sent", ",\"o\":{\"" + partition + "\":" + (last + 1) + "}");
        return true;
    }

    void error(Throwable error) {
        String plain = error.toString().replaceAll("[\\p{Cntrl}\"\\\\]+", " ");
        tell("error", ",\"what\":\"" + plain.substring(0, Math.min(200, plain.length())) + "\"");
    }

    /** Ends the process. Threads of a make must not keep a member alive that has left. */
    void left() {
        tell("left", "");
        Runtime.getRuntime().halt(0);
    }

    private static String list(Collection<TopicPartition> partitions) {
        return partitions.stream().map(p -> "\"" + p + "\"").sorted().collect(Collectors.joining(",", ",\"p\":[", "]"));
    }

    /** Microseconds of the monotonic clock. */
    private static long now() {
        return System.nanoTime() / 1000;
    }

    private synchronized void tell(String what, String more) {
        out.println("{\"e\":\"" + what + "\",\"t\":" + now() + more + "}");
        out.flush();
    }
}
