package thalweg.conformance;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;

import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A member of the group soak: the Java client. {@code tests/python/group_worker.py} says what its arguments
 * are and what its lines mean.
 */
public final class GroupWorker implements ConsumerRebalanceListener {
    private static final Map<String, Class<?>> ASSIGNORS = Map.of(
            "range", RangeAssignor.class,
            "roundrobin", RoundRobinAssignor.class,
            "sticky", StickyAssignor.class,
            "cooperative-sticky", CooperativeStickyAssignor.class);

    private final Map<String, String> given = new HashMap<>();
    private final PrintStream out;
    private final KafkaConsumer<byte[], byte[]> consumer;
    /** Where it is in what it owns, and what of that is to be committed. */
    private final Map<TopicPartition, Long> at = new HashMap<>();
    private final Map<TopicPartition, Long> dirty = new HashMap<>();
    /** What it is to subscribe to now. */
    private volatile List<String> topics;

    private GroupWorker(String[] args) throws Exception {
        for (String arg : args) {
            String[] pair = arg.split("=", 2);
            given.put(pair[0], pair[1]);
        }
        out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, "UTF-8");
        Properties settings = new Properties();
        settings.put("bootstrap.servers", given.get("bootstrap"));
        settings.put("group.id", given.get("group"));
        settings.put("client.id", given.get("name"));
        settings.put("group.protocol", given.get("protocol"));
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        settings.put("max.poll.interval.ms", given.get("rebalance_ms"));
        settings.put("metadata.max.age.ms", given.get("metadata_ms"));
        settings.put("fetch.max.wait.ms", "100");
        settings.put("max.poll.records", "50");
        if (!given.getOrDefault("instance", "").isEmpty()) {
            settings.put("group.instance.id", given.get("instance"));
        }
        if (given.get("protocol").equals("classic")) {
            settings.put("session.timeout.ms", given.get("session_ms"));
            settings.put("heartbeat.interval.ms", given.get("heartbeat_ms"));
            settings.put("partition.assignment.strategy", Arrays.stream(given.get("assignors").split(","))
                    .map(name -> ASSIGNORS.get(name).getName()).collect(Collectors.joining(",")));
        }
        consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    public static void main(String[] args) throws Exception {
        new GroupWorker(args).run();
    }

    private void run() throws Exception {
        Thread stop = new Thread(() -> {
            try {
                BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
                String line;
                while ((line = lines.readLine()) != null) {
                    topics = List.of(line.split(","));
                }
            } catch (java.io.IOException closed) {
                // The same as its end.
            }
        });
        stop.setDaemon(true);
        stop.start();
        tell("ready", now(), "");
        long commitNanos = Long.parseLong(given.get("commit_ms")) * 1_000_000;
        long workMicros = Long.parseLong(given.get("work_us"));
        boolean async = given.get("commit").equals("async");
        consumer.subscribe(List.of(given.get("topics").split(",")), this);
        long committed = System.nanoTime();
        while (stop.isAlive()) {
            if (topics != null) {
                consumer.subscribe(topics, this);
                topics = null;
            }
            ConsumerRecords<byte[], byte[]> got;
            try {
                got = consumer.poll(Duration.ofMillis(100));
            } catch (KafkaException error) {
                tell("error", now(), ",\"what\":" + quoted(error.toString()));
                continue;
            }
            for (TopicPartition partition : got.partitions()) {
                process(partition, got.records(partition), workMicros);
            }
            if (!dirty.isEmpty() && System.nanoTime() - committed > commitNanos) {
                committed = System.nanoTime();
                if (async) {
                    commitLater();
                } else {
                    commit(dirty.keySet());
                }
            }
        }
        commit(dirty.keySet());
        consumer.close();
        tell("left", now(), "");
    }

    private void process(TopicPartition partition, List<ConsumerRecord<byte[], byte[]>> records, long workMicros)
            throws InterruptedException {
        long start = now();
        Thread.sleep(records.size() * workMicros / 1000);
        Iterator<ConsumerRecord<byte[], byte[]>> each = records.iterator();
        long first = each.next().offset();
        long last = first;
        while (each.hasNext()) {
            long offset = each.next().offset();
            if (offset != last + 1) {
                batch(partition, first, last, start);
                first = offset;
            }
            last = offset;
        }
        batch(partition, first, last, start);
        at.put(partition, last + 1);
        dirty.put(partition, last + 1);
    }

    private void batch(TopicPartition partition, long first, long last, long start) {
        tell("batch", now(), ",\"p\":\"" + partition + "\",\"from\":" + first + ",\"to\":" + last + ",\"t0\":" + start);
    }

    /** What is to be committed of these partitions; it counts as committed unless that fails. */
    private Map<TopicPartition, OffsetAndMetadata> take(Collection<TopicPartition> of) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (TopicPartition partition : List.copyOf(of)) {
            Long offset = dirty.remove(partition);
            if (offset != null) {
                offsets.put(partition, new OffsetAndMetadata(offset));
            }
        }
        if (!offsets.isEmpty()) {
            tell("sent", now(), ",\"o\":{" + map(offsets) + "}");
        }
        return offsets;
    }

    private void commit(Collection<TopicPartition> of) {
        Map<TopicPartition, OffsetAndMetadata> offsets = take(of);
        if (offsets.isEmpty()) {
            return;
        }
        long start = now();
        int generation = consumer.groupMetadata().generationId();
        try {
            consumer.commitSync(offsets);
            answered(offsets, start, generation, null);
        } catch (KafkaException error) {
            answered(offsets, start, generation, error);
        }
    }

    private void commitLater() {
        Map<TopicPartition, OffsetAndMetadata> offsets = take(dirty.keySet());
        long start = now();
        int generation = consumer.groupMetadata().generationId();
        consumer.commitAsync(offsets, (same, error) -> answered(offsets, start, generation, error));
    }

    private void answered(Map<TopicPartition, OffsetAndMetadata> offsets, long start, int generation, Exception error) {
        String why = error == null ? "" : ",\"why\":" + quoted(error.toString());
        tell("commit", now(), ",\"ok\":" + (error == null) + ",\"o\":{" + map(offsets) + "},\"t0\":" + start
                + ",\"gen\":" + generation + why);
        if (error != null) {
            // What was refused may be from before a rebalance: only where it is now may be committed.
            offsets.keySet().stream().filter(at::containsKey).forEach(p -> dirty.put(p, at.get(p)));
        }
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        tell("assigned", now(), list(partitions));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        commit(partitions);
        forget(partitions);
        tell("revoked", now(), list(partitions));
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        forget(partitions);
        tell("lost", now(), list(partitions));
    }

    /** What was not committed by now is somebody else's. */
    private void forget(Collection<TopicPartition> partitions) {
        at.keySet().removeAll(partitions);
        dirty.keySet().removeAll(partitions);
    }

    private static String list(Collection<TopicPartition> partitions) {
        return partitions.stream().map(p -> "\"" + p + "\"").sorted().collect(Collectors.joining(",", ",\"p\":[", "]"));
    }

    private static String map(Map<TopicPartition, OffsetAndMetadata> offsets) {
        return offsets.entrySet().stream()
                .map(e -> "\"" + e.getKey() + "\":" + e.getValue().offset()).collect(Collectors.joining(","));
    }

    private static String quoted(String text) {
        String plain = text.replaceAll("[\\p{Cntrl}\"\\\\]+", " ");
        return "\"" + plain.substring(0, Math.min(200, plain.length())) + "\"";
    }

    /** Microseconds of the monotonic clock. */
    private static long now() {
        return System.nanoTime() / 1000;
    }

    private synchronized void tell(String what, long at, String more) {
        out.println("{\"e\":\"" + what + "\",\"t\":" + at + more + "}");
        out.flush();
    }
}
