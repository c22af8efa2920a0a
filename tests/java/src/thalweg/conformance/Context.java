package thalweg.conformance;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** What a case works with: names of its own, clients, checks, and its transcript. */
final class Context {
    private final String caseName;
    private final String bootstrap;
    private final String target;
    private final String run;
    private final Admin admin;
    private final List<String> lines = Collections.synchronizedList(new ArrayList<>());
    private final List<AutoCloseable> open = Collections.synchronizedList(new ArrayList<>());

    Context(String caseName, String bootstrap, String target, String run, Admin admin) {
        this.caseName = caseName;
        this.bootstrap = bootstrap;
        this.target = target;
        this.run = run;
        this.admin = admin;
    }

    String bootstrap() {
        return bootstrap;
    }

    boolean isThalweg() {
        return target.equals("thalweg");
    }

    Admin admin() {
        return admin;
    }

    /** A name for a topic or group that no other case and no other run uses. */
    String name(String what) {
        return run + "-" + caseName + "-" + what;
    }

    // ---- transcript ----

    void line(String format, Object... values) {
        lines.add(normalise(values.length == 0 ? format : String.format(format, values)));
    }

    /** Runs the call and writes its value, or its error in canonical form, as one transcript line. */
    void attempt(String what, Callable<?> call) {
        try {
            line("%s = %s", what, call.call());
        } catch (Throwable thrown) {
            Throwable root = root(thrown);
            line("%s ! %s", what, root.getClass().getSimpleName());
            wording(root);
        }
    }

    /** Runs the call, which must fail with this class; writes it to the transcript. */
    void mustFail(String what, Class<? extends Throwable> expected, Callable<?> call) {
        Object value;
        try {
            value = call.call();
        } catch (Throwable thrown) {
            Throwable root = root(thrown);
            line("%s ! %s", what, root.getClass().getSimpleName());
            wording(root);
            if (!expected.isInstance(root)) {
                throw new AssertionError(what + ": expected " + expected.getSimpleName() + ", got " + root, root);
            }
            return;
        }
        throw new AssertionError(what + ": expected " + expected.getSimpleName() + ", but it gave " + value);
    }

    private void wording(Throwable thrown) {
        lines.add("M " + normalise(String.valueOf(thrown.getMessage())).replaceAll("\\b1[0-9]{12}\\b", "<time>"));
    }

    static Throwable root(Throwable thrown) {
        Throwable root = thrown;
        while ((root instanceof ExecutionException || root instanceof CompletionException) && root.getCause() != null) {
            root = root.getCause();
        }
        return root;
    }

    /** Takes out what differs between two runs by nature: run prefix, address, random ids. */
    private String normalise(String text) {
        String host = bootstrap.substring(0, bootstrap.lastIndexOf(':'));
        String port = bootstrap.substring(bootstrap.lastIndexOf(':') + 1);
        return text.replace(run, "<run>")
                .replace(bootstrap, "<broker>")
                .replace(host, "<host>")
                .replaceAll("\\b" + port + "\\b", "<port>")
                .replaceAll("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<id>")
                .replaceAll("(TopicId:? )[A-Za-z0-9_-]{22}\\b", "$1<topic-id>")
                .replaceAll("tries=\\d+|after \\d+ attempt", "<tries>")
                .replaceAll("\\R", " ");
    }

    String lastLine() {
        synchronized (lines) {
            return lines.isEmpty() ? "none" : lines.get(lines.size() - 1);
        }
    }

    List<String> finish() {
        synchronized (open) {
            for (AutoCloseable one : open) {
                try {
                    if (one instanceof KafkaProducer<?, ?> producer) {
                        producer.close(Duration.ZERO);
                    } else if (one instanceof KafkaConsumer<?, ?> consumer) {
                        consumer.wakeup();
                        consumer.close(org.apache.kafka.clients.consumer.CloseOptions.timeout(Duration.ZERO));
                    } else {
                        one.close();
                    }
                } catch (Exception alreadyClosedOrBusy) {
                    // The verdict stands; a client that cannot be closed dies with the JVM.
                }
            }
        }
        return new ArrayList<>(lines);
    }

    // ---- checks ----

    static void check(boolean holds, String format, Object... values) {
        if (!holds) {
            throw new AssertionError(String.format(format, values));
        }
    }

    static void same(String what, Object expected, Object actual) {
        check(Objects.equals(expected, actual), "%s: expected %s, got %s", what, expected, actual);
    }

    /** Polls the condition until it holds; fails after the given time. */
    static void eventually(String what, long millisMax, Callable<Boolean> condition) throws Exception {
        long deadline = System.nanoTime() + millisMax * 1_000_000;
        while (true) {
            if (condition.call()) {
                return;
            }
            check(System.nanoTime() < deadline, "%s: not within %d ms", what, millisMax);
            Thread.sleep(20);
        }
    }

    // ---- topics ----

    String topic(String what, int partitions, String... configs) throws Exception {
        String name = name(what);
        create(name, partitions, configs);
        return name;
    }

    void create(String name, int partitions, String... configs) throws Exception {
        Map<String, String> map = new HashMap<>();
        for (int i = 0; i < configs.length; i += 2) {
            map.put(configs[i], configs[i + 1]);
        }
        admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1).configs(map)))
                .all().get(30, TimeUnit.SECONDS);
        visible(name, partitions);
    }

    /**
     * Waits until metadata shows the topic with that many partitions, all led, and the leader
     * answers for each. Without the last, idempotent producers that start at once on a new topic of
     * Apache Kafka's were seen to stall until their delivery timeout.
     */
    void visible(String name, int partitions) throws Exception {
        eventually("topic " + name + " visible", 15_000, () -> {
            try {
                Map<TopicPartition, OffsetSpec> ends = new HashMap<>();
                partitions(name, partitions).forEach(tp -> ends.put(tp, OffsetSpec.latest()));
                var description = admin.describeTopics(List.of(name)).allTopicNames().get().get(name);
                return description.partitions().size() == partitions
                        && description.partitions().stream().allMatch(p -> p.leader() != null && !p.leader().isEmpty())
                        && admin.listOffsets(ends).all().get().size() == partitions;
            } catch (ExecutionException notYet) {
                return false;
            }
        });
    }

    // ---- clients ----

    KafkaProducer<byte[], byte[]> producer(String... configs) {
        Properties settings = settings(configs);
        settings.putIfAbsent("delivery.timeout.ms", "30000");
        settings.putIfAbsent("request.timeout.ms", "20000");
        KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        open.add(producer);
        return producer;
    }

    KafkaConsumer<byte[], byte[]> consumer(String... configs) {
        Properties settings = settings(configs);
        settings.putIfAbsent("group.protocol", "classic");
        settings.putIfAbsent("auto.offset.reset", "earliest");
        settings.putIfAbsent("enable.auto.commit", "false");
        KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        open.add(consumer);
        return consumer;
    }

    Properties settings(String... configs) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        for (int i = 0; i < configs.length; i += 2) {
            settings.put(configs[i], configs[i + 1]);
        }
        return settings;
    }

    static List<TopicPartition> partitions(String topic, int count) {
        List<TopicPartition> all = new ArrayList<>();
        for (int p = 0; p < count; p++) {
            all.add(new TopicPartition(topic, p));
        }
        return all;
    }

    /** Sends every record in order and waits for every acknowledgement. */
    static List<RecordMetadata> send(KafkaProducer<byte[], byte[]> producer, Collection<Data> records) throws Exception {
        List<java.util.concurrent.Future<RecordMetadata>> pending = new ArrayList<>();
        for (Data record : records) {
            pending.add(producer.send(record.toRecord()));
        }
        producer.flush();
        List<RecordMetadata> acknowledged = new ArrayList<>();
        for (var one : pending) {
            acknowledged.add(one.get(60, TimeUnit.SECONDS));
        }
        return acknowledged;
    }

    /** Reads the given partitions from their beginning until {@code count} records came. */
    List<ConsumerRecord<byte[], byte[]>> readAll(Collection<TopicPartition> from, int count, String... configs) {
        List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(configs)) {
            consumer.assign(from);
            consumer.seekToBeginning(from);
            poll(consumer, got, count, 30_000);
            // One more look, so that a duplicate at the end is not missed.
            consumer.poll(Duration.ofMillis(50)).forEach(got::add);
        }
        check(got.size() == count, "read %d records of %s, expected %d", got.size(), from, count);
        return got;
    }

    static void poll(
            KafkaConsumer<byte[], byte[]> consumer,
            List<ConsumerRecord<byte[], byte[]>> into,
            int count,
            long millisMax) {
        long deadline = System.nanoTime() + millisMax * 1_000_000;
        while (into.size() < count && System.nanoTime() < deadline) {
            consumer.poll(Duration.ofMillis(200)).forEach(into::add);
        }
        check(into.size() >= count, "got %d of %d records within %d ms", into.size(), count, millisMax);
    }
}
