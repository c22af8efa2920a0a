package thalweg.oldest;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** What a user of the oldest client does: topics, transactions, a group, its offsets. One result line per part. */
public final class Oldest {
    private static final int PARTITIONS = 3;
    private static final int PER_TRANSACTION = 300;
    private static final Duration READ_MAX = Duration.ofSeconds(30);
    private static final String TOPIC = "oldest";
    private static final TopicPartition FIRST = new TopicPartition(TOPIC, 0);

    private final Properties common = new Properties();
    private boolean clean = true;

    private interface Part {
        void run() throws Exception;
    }

    public static void main(String[] args) {
        if (args.length != 2 || !args[0].equals("--bootstrap")) {
            System.err.println("Oldest --bootstrap HOST:PORT");
            System.exit(2);
        }
        Oldest oldest = new Oldest();
        oldest.common.put("bootstrap.servers", args[1]);
        oldest.part("topics", oldest::create);
        oldest.part("transactions", oldest::produce);
        oldest.part("groups", oldest::consume);
        oldest.part("deletion", oldest::delete);
        Runtime.getRuntime().halt(oldest.clean ? 0 : 1);
    }

    private void part(String name, Part part) {
        long start = System.nanoTime();
        String failure = "";
        try {
            part.run();
        } catch (Exception | AssertionError e) {
            failure = ": " + String.valueOf(e).replaceAll("\\s+", " ");
            clean = false;
        }
        long millis = (System.nanoTime() - start) / 1_000_000;
        System.out.println((failure.isEmpty() ? "pass" : "fail") + " oldest." + name + " " + millis + failure);
    }

    private Properties with(String... pairs) {
        Properties settings = new Properties();
        settings.putAll(common);
        for (int i = 0; i < pairs.length; i += 2) {
            settings.put(pairs[i], pairs[i + 1]);
        }
        return settings;
    }

    private static void same(String what, Object expected, Object found) {
        if (!expected.equals(found)) {
            throw new AssertionError(what + ": " + found + ", not " + expected);
        }
    }

    private void create() throws Exception {
        try (AdminClient admin = AdminClient.create(common)) {
            admin.createTopics(List.of(new NewTopic(TOPIC, PARTITIONS, (short) 1))).all().get();
            int found = admin.describeTopics(List.of(TOPIC)).all().get().get(TOPIC).partitions().size();
            same("partitions", PARTITIONS, found);
        }
    }

    /** Two transactions are committed, and one between them is aborted. */
    private void produce() {
        Properties settings = with("transactional.id", "oldest", "compression.type", "lz4");
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            for (int round = 0; round < 3; round++) {
                producer.beginTransaction();
                for (int i = 0; i < PER_TRANSACTION; i++) {
                    producer.send(new ProducerRecord<>(TOPIC, i % PARTITIONS, "k" + i, round + "-" + i));
                }
                producer.sendOffsetsToTransaction(Map.of(FIRST, new OffsetAndMetadata(round)), "oldest-offsets");
                if (round == 1) {
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                }
            }
        }
    }

    private void consume() throws Exception {
        Properties settings = with(
                "group.id", "oldest", "auto.offset.reset", "earliest", "isolation.level", "read_committed");
        List<String> values = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(TOPIC));
            long end = System.nanoTime() + READ_MAX.toNanos();
            while (values.size() < 2 * PER_TRANSACTION && System.nanoTime() < end) {
                consumer.poll(Duration.ofMillis(200)).forEach(record -> values.add(record.value()));
            }
            consumer.commitSync();
            same("records", 2L * PER_TRANSACTION, (long) values.size());
            same("aborted records", 0L, values.stream().filter(value -> value.startsWith("1-")).count());
            same("the position is committed", consumer.position(FIRST), consumer.committed(FIRST).offset());
        }
        try (AdminClient admin = AdminClient.create(common)) {
            Map<TopicPartition, OffsetAndMetadata> offsets =
                    admin.listConsumerGroupOffsets("oldest-offsets").partitionsToOffsetAndMetadata().get();
            same("the offset of the last transaction", 2L, offsets.get(FIRST).offset());
        }
    }

    private void delete() throws Exception {
        try (AdminClient admin = AdminClient.create(common)) {
            admin.deleteConsumerGroups(List.of("oldest", "oldest-offsets")).all().get();
            admin.deleteTopics(List.of(TOPIC)).all().get();
        }
    }
}
