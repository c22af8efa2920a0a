package thalweg.conformance;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/** One record to send, which knows how to compare itself with what comes back. */
record Data(String topic, int partition, Long timestamp, byte[] key, byte[] value, List<Header> headers) {
    static final long BASE_TIME = 1_700_000_000_000L;

    ProducerRecord<byte[], byte[]> toRecord() {
        return new ProducerRecord<>(topic, partition, timestamp, key, value, headers);
    }

    /**
     * Records of every shape over the partitions: keys and values null, empty, short and long, runs
     * and noise, headers with null, empty and repeated names, timestamps out of order.
     */
    static List<Data> mixed(String topic, int partitions, int count, long seed) {
        Random random = new Random(seed);
        List<Data> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            byte[] key = switch (i % 4) {
                case 0 -> null;
                case 1 -> new byte[0];
                default -> bytes(random, 1 + random.nextInt(40));
            };
            byte[] value = switch (i % 10) {
                case 0 -> null;
                case 1 -> new byte[0];
                case 2 -> bytes(random, 4000 + random.nextInt(4000));
                case 3 -> new byte[3000];
                default -> ("record " + i + " " + "abcdefgh".repeat(random.nextInt(30))).getBytes();
            };
            List<Header> headers = new ArrayList<>();
            for (int h = 0; h < i % 4; h++) {
                headers.add(new RecordHeader(h == 1 ? "" : "h" + (i % 3), h == 2 ? null : bytes(random, h * 7)));
            }
            long timestamp = BASE_TIME + i * 10L + (i % 5 == 0 ? -7 : 0);
            all.add(new Data(topic, i % partitions, timestamp, key, value, headers));
        }
        return all;
    }

    /** Short numbered values on one partition, ten milliseconds apart. */
    static List<Data> numbered(String topic, int partition, int from, int count) {
        List<Data> all = new ArrayList<>();
        for (int i = from; i < from + count; i++) {
            all.add(new Data(topic, partition, BASE_TIME + i * 10L, null, ("v" + i).getBytes(), List.of()));
        }
        return all;
    }

    private static byte[] bytes(Random random, int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    /** Each acknowledged record is there once, in order, at its offset, the same byte for byte. */
    static void verify(
            List<Data> sent,
            List<RecordMetadata> acknowledged,
            List<ConsumerRecord<byte[], byte[]>> got,
            boolean compareTimestamps) {
        Context.same("number of records", sent.size(), got.size());
        Map<Integer, Long> next = new HashMap<>();
        Map<String, ConsumerRecord<byte[], byte[]>> byPlace = new HashMap<>();
        for (ConsumerRecord<byte[], byte[]> record : got) {
            long expected = next.getOrDefault(record.partition(), record.offset());
            Context.check(record.offset() == expected, "partition %d: offset %d after %d",
                    record.partition(), record.offset(), expected - 1);
            next.put(record.partition(), expected + 1);
            byPlace.put(record.partition() + "/" + record.offset(), record);
        }
        for (int i = 0; i < sent.size(); i++) {
            Data data = sent.get(i);
            RecordMetadata place = acknowledged.get(i);
            Context.same("partition", data.partition, place.partition());
            ConsumerRecord<byte[], byte[]> record = byPlace.remove(place.partition() + "/" + place.offset());
            Context.check(record != null, "record %d acknowledged at %s is not there", i, place);
            data.sameAs(record, compareTimestamps, "record " + i + " at " + place);
        }
    }

    void sameAs(ConsumerRecord<byte[], byte[]> record, boolean compareTimestamps, String where) {
        Context.check(Arrays.equals(key, record.key()), "%s: key differs", where);
        Context.check(Arrays.equals(value, record.value()), "%s: value differs", where);
        Header[] back = record.headers().toArray();
        Context.same(where + ": number of headers", headers.size(), back.length);
        for (int h = 0; h < back.length; h++) {
            Context.same(where + ": header name", headers.get(h).key(), back[h].key());
            Context.check(Arrays.equals(headers.get(h).value(), back[h].value()), "%s: header %d differs", where, h);
        }
        if (compareTimestamps && timestamp != null) {
            Context.same(where + ": timestamp", timestamp, record.timestamp());
        }
    }
}
