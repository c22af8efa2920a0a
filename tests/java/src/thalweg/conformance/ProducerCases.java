package thalweg.conformance;

import static thalweg.conformance.Context.check;
import static thalweg.conformance.Context.partitions;
import static thalweg.conformance.Context.same;
import static thalweg.conformance.Context.send;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.errors.InvalidTimestampException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.record.TimestampType;

/** The official producer: every record sent is read back and compared byte for byte. */
final class ProducerCases {
    private ProducerCases() {}

    static List<Case> all() {
        List<Case> cases = new ArrayList<>();
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            cases.add(Case.of("producer.codec-" + codec, c -> roundTrip(c, 3, 400,
                    "compression.type", codec, "acks", "all", "linger.ms", "5")));
            cases.add(Case.of("producer.big-batches-" + codec, c -> bigBatches(c, codec)));
            cases.add(Case.of("producer.topic-recompresses-to-" + codec, c -> recompress(c, codec)));
        }
        cases.add(Case.of("producer.acks-0", ProducerCases::acksZero));
        cases.add(Case.of("producer.acks-1", c -> roundTrip(c, 2, 200, "acks", "1", "enable.idempotence", "false")));
        cases.add(Case.of("producer.acks-all-not-idempotent",
                c -> roundTrip(c, 2, 200, "acks", "all", "enable.idempotence", "false")));
        cases.add(Case.of("producer.idempotent-small-batches",
                c -> roundTrip(c, 2, 500, "enable.idempotence", "true", "batch.size", "1",
                        "max.in.flight.requests.per.connection", "5")));
        cases.add(Case.of("producer.several-idempotent", ProducerCases::severalIdempotent));
        cases.add(Case.of("producer.fifty-partitions",
                c -> roundTrip(c, 50, 2000, "linger.ms", "20", "compression.type", "lz4")));
        cases.add(Case.of("producer.big-records", ProducerCases::bigRecords));
        cases.add(Case.of("producer.log-append-time", ProducerCases::logAppendTime));
        cases.add(Case.of("producer.timestamp-bounds", ProducerCases::timestampBounds));
        cases.add(Case.of("producer.auto-create", ProducerCases::autoCreate));
        cases.add(Case.of("producer.min-insync-above-replicas", ProducerCases::minInsyncAboveReplicas));
        cases.add(Case.of("producer.compacted-needs-keys", ProducerCases::compactedNeedsKeys));
        cases.add(Case.of("producer.small-topic-limit", ProducerCases::smallTopicLimit));
        return cases;
    }

    private static void roundTrip(Context c, int partitionCount, int count, String... configs) throws Exception {
        String topic = c.topic("t", partitionCount);
        KafkaProducer<byte[], byte[]> producer = c.producer(configs);
        List<Data> sent = Data.mixed(topic, partitionCount, count, count);
        List<RecordMetadata> acknowledged = send(producer, sent);
        Data.verify(sent, acknowledged, c.readAll(partitions(topic, partitionCount), count), true);
        c.line("%d records over %d partitions, same bytes", count, partitionCount);
    }

    private static void bigBatches(Context c, String codec) throws Exception {
        String topic = c.topic("t", 1);
        KafkaProducer<byte[], byte[]> producer = c.producer("compression.type", codec, "linger.ms", "200",
                "batch.size", "500000", "enable.idempotence", "true");
        List<Data> sent = Data.numbered(topic, 0, 0, 20_000);
        List<RecordMetadata> acknowledged = send(producer, sent);
        for (int i = 0; i < sent.size(); i++) {
            same("offset", (long) i, acknowledged.get(i).offset());
        }
        Data.verify(sent, acknowledged, c.readAll(partitions(topic, 1), sent.size()), true);
        c.line("20000 records in order");
    }

    private static void recompress(Context c, String codec) throws Exception {
        String topic = c.topic("t", 1, "compression.type", codec.equals("none") ? "uncompressed" : codec);
        String own = codec.equals("lz4") ? "snappy" : "lz4";
        KafkaProducer<byte[], byte[]> producer = c.producer("compression.type", own, "linger.ms", "20");
        List<Data> sent = Data.mixed(topic, 1, 300, 7);
        List<RecordMetadata> acknowledged = send(producer, sent);
        Data.verify(sent, acknowledged, c.readAll(partitions(topic, 1), sent.size()), true);
        c.line("300 records, same bytes after recompression");
    }

    private static void acksZero(Context c) throws Exception {
        String topic = c.topic("t", 1);
        KafkaProducer<byte[], byte[]> producer =
                c.producer("acks", "0", "enable.idempotence", "false", "linger.ms", "5");
        List<Data> sent = Data.numbered(topic, 0, 0, 300);
        List<RecordMetadata> acknowledged = send(producer, sent);
        c.line("hasOffset %s", acknowledged.get(0).hasOffset());
        producer.close(Duration.ofSeconds(10));
        var got = c.readAll(partitions(topic, 1), sent.size());
        for (int i = 0; i < got.size(); i++) {
            same("offset", (long) i, got.get(i).offset());
            sent.get(i).sameAs(got.get(i), true, "record " + i);
        }
    }

    private static void severalIdempotent(Context c) throws Exception {
        String topic = c.topic("t", 2);
        List<KafkaProducer<byte[], byte[]>> producers = new ArrayList<>();
        for (int p = 0; p < 4; p++) {
            producers.add(c.producer("enable.idempotence", "true", "linger.ms", "1", "batch.size", "600"));
        }
        Map<String, Future<RecordMetadata>> pending = new HashMap<>();
        for (int i = 0; i < 400; i++) {
            for (int p = 0; p < 4; p++) {
                String value = p + ":" + i;
                pending.put(value, producers.get(p).send(new ProducerRecord<>(topic, i % 2, null, value.getBytes())));
            }
        }
        for (var one : pending.values()) {
            one.get(60, TimeUnit.SECONDS);
        }
        var got = c.readAll(partitions(topic, 2), 1600);
        Map<String, Integer> last = new HashMap<>();
        for (var record : got) {
            String[] parts = new String(record.value()).split(":");
            int number = Integer.parseInt(parts[1]);
            Integer before = last.put(record.partition() + "/" + parts[0], number);
            same("order of producer " + parts[0], before == null ? record.partition() : before + 2, number);
            same("offset of " + parts[0] + ":" + number,
                    pending.get(parts[0] + ":" + number).get().offset(), record.offset());
        }
        c.line("4 producers, 1600 records, each in order and once");
    }

    private static void bigRecords(Context c) throws Exception {
        String topic = c.topic("t", 1, "max.message.bytes", "3000000");
        KafkaProducer<byte[], byte[]> producer = c.producer("max.request.size", "4000000",
                "buffer.memory", "33554432", "compression.type", "none");
        Random random = new Random(1);
        List<Data> sent = new ArrayList<>();
        for (int size : new int[] {900_000, 1_048_000, 1_500_000, 2_900_000, 10}) {
            byte[] value = new byte[size];
            random.nextBytes(value);
            sent.add(new Data(topic, 0, Data.BASE_TIME, null, value, List.of()));
        }
        List<RecordMetadata> acknowledged = send(producer, sent);
        // The limit of a fetch is smaller than a record: Kafka still hands out the first batch whole.
        var got = c.readAll(partitions(topic, 1), sent.size(), "max.partition.fetch.bytes", "1000");
        Data.verify(sent, acknowledged, got, true);
        byte[] tooBig = new byte[3_500_000];
        random.nextBytes(tooBig);
        c.mustFail("3.5 MB into a topic of 3 MB", RecordTooLargeException.class,
                () -> producer.send(new ProducerRecord<>(topic, tooBig)).get(30, TimeUnit.SECONDS));
    }

    private static void logAppendTime(Context c) throws Exception {
        String topic = c.topic("t", 1, "message.timestamp.type", "LogAppendTime");
        for (String codec : List.of("none", "lz4", "gzip")) {
            long before = System.currentTimeMillis();
            List<Data> sent = Data.numbered(topic, 0, 0, 50);
            var acknowledged = send(c.producer("compression.type", codec, "linger.ms", "20"), sent);
            long after = System.currentTimeMillis();
            for (RecordMetadata one : acknowledged) {
                check(one.timestamp() >= before - 1000 && one.timestamp() <= after + 1000,
                        "%s: acknowledged timestamp %d not between %d and %d", codec, one.timestamp(), before, after);
            }
        }
        var got = c.readAll(partitions(topic, 1), 150);
        for (var record : got) {
            same("timestamp type", TimestampType.LOG_APPEND_TIME, record.timestampType());
            check(record.timestamp() > Data.BASE_TIME + 10_000_000, "timestamp %d is the producer's", record.timestamp());
        }
        c.line("timestamps are the broker's");
    }

    private static void timestampBounds(Context c) throws Exception {
        String topic = c.topic("t", 1, "message.timestamp.before.max.ms", "3600000",
                "message.timestamp.after.max.ms", "3600000");
        KafkaProducer<byte[], byte[]> producer = c.producer();
        long now = System.currentTimeMillis();
        c.mustFail("two hours late", InvalidTimestampException.class,
                () -> producer.send(new ProducerRecord<>(topic, 0, now - 7_200_000, null, new byte[1])).get());
        c.mustFail("two hours early", InvalidTimestampException.class,
                () -> producer.send(new ProducerRecord<>(topic, 0, now + 7_200_000, null, new byte[1])).get());
        c.attempt("half an hour late",
                () -> producer.send(new ProducerRecord<>(topic, 0, now - 1_800_000, null, new byte[1])).get().offset());
        c.readAll(partitions(topic, 1), 1);
    }

    private static void autoCreate(Context c) throws Exception {
        String topic = c.name("t");
        KafkaProducer<byte[], byte[]> producer = c.producer();
        RecordMetadata first = producer.send(new ProducerRecord<>(topic, "hello".getBytes())).get(30, TimeUnit.SECONDS);
        same("offset", 0L, first.offset());
        c.line("partitions %d", producer.partitionsFor(topic).size());
        c.visible(topic, 1);
        same("value", "hello", new String(c.readAll(partitions(topic, 1), 1).get(0).value()));
    }

    private static void minInsyncAboveReplicas(Context c) throws Exception {
        String topic = c.topic("t", 1, "min.insync.replicas", "2");
        KafkaProducer<byte[], byte[]> all = c.producer("acks", "all", "retries", "0", "enable.idempotence", "false");
        // More than there are replicas: Kafka then asks for no more than there are.
        c.attempt("acks all", () -> all.send(new ProducerRecord<>(topic, new byte[1])).get(30, TimeUnit.SECONDS).offset());
        KafkaProducer<byte[], byte[]> one = c.producer("acks", "1", "retries", "0", "enable.idempotence", "false");
        c.attempt("acks 1", () -> one.send(new ProducerRecord<>(topic, new byte[1])).get(30, TimeUnit.SECONDS).offset());
    }

    private static void compactedNeedsKeys(Context c) throws Exception {
        String topic = c.topic("t", 1, "cleanup.policy", "compact");
        for (String codec : List.of("none", "zstd")) {
            KafkaProducer<byte[], byte[]> producer = c.producer("compression.type", codec);
            c.mustFail("no key, " + codec, org.apache.kafka.common.InvalidRecordException.class,
                    () -> producer.send(new ProducerRecord<>(topic, new byte[1])).get(30, TimeUnit.SECONDS));
            c.attempt("key, " + codec, () -> producer
                    .send(new ProducerRecord<>(topic, "k".getBytes(), new byte[1])).get(30, TimeUnit.SECONDS).offset());
        }
    }

    private static void smallTopicLimit(Context c) throws Exception {
        String topic = c.topic("t", 1, "max.message.bytes", "1000");
        KafkaProducer<byte[], byte[]> producer = c.producer("linger.ms", "0");
        c.mustFail("2000 bytes of noise", RecordTooLargeException.class, () -> {
            byte[] noise = new byte[2000];
            new Random(3).nextBytes(noise);
            return producer.send(new ProducerRecord<>(topic, noise)).get(30, TimeUnit.SECONDS);
        });
        byte[] fits = new byte[800];
        Arrays.fill(fits, (byte) 'x');
        c.attempt("800 bytes", () -> producer.send(new ProducerRecord<>(topic, fits)).get(30, TimeUnit.SECONDS).offset());
        // A batch that is too large as a whole is split by the producer after the broker's refusal.
        KafkaProducer<byte[], byte[]> batching = c.producer("linger.ms", "200", "batch.size", "8000");
        List<Data> sent = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            sent.add(new Data(topic, 0, null, null, Arrays.copyOf(fits, 300 + i), List.of()));
        }
        send(batching, sent);
        c.readAll(partitions(topic, 1), 21);
    }
}
