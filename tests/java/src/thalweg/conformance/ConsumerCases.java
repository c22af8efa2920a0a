package thalweg.conformance;

import static thalweg.conformance.Context.check;
import static thalweg.conformance.Context.partitions;
import static thalweg.conformance.Context.poll;
import static thalweg.conformance.Context.same;
import static thalweg.conformance.Context.send;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.NoOffsetForPartitionException;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** The official consumer with partitions assigned by hand. */
final class ConsumerCases {
    private ConsumerCases() {}

    static List<Case> all() {
        return List.of(
                Case.of("consumer.seek-and-position", ConsumerCases::seekAndPosition),
                Case.of("consumer.offsets-for-times", ConsumerCases::offsetsForTimes),
                Case.of("consumer.pause-resume", ConsumerCases::pauseResume),
                Case.of("consumer.auto-offset-reset", ConsumerCases::autoOffsetReset),
                Case.of("consumer.small-fetches", ConsumerCases::smallFetches),
                Case.of("consumer.long-poll", ConsumerCases::longPoll),
                Case.of("consumer.min-bytes", ConsumerCases::minBytes),
                Case.of("consumer.read-committed", ConsumerCases::readCommitted),
                Case.of("consumer.many-partitions-session", ConsumerCases::manyPartitions),
                Case.of("consumer.sessions-off-and-on", ConsumerCases::changingAssignment),
                Case.of("consumer.below-log-start", ConsumerCases::belowLogStart),
                Case.of("consumer.topic-recreated", ConsumerCases::topicRecreated),
                Case.of("consumer.commit-without-group-membership", ConsumerCases::simpleConsumer),
                Case.of("consumer.metadata", ConsumerCases::metadata));
    }

    private static TopicPartition filled(Context c, int count) throws Exception {
        String topic = c.topic("t", 1);
        // Small batches, so that positions fall inside and between them.
        send(c.producer("batch.size", "200"), Data.numbered(topic, 0, 0, count));
        return new TopicPartition(topic, 0);
    }

    private static String next(KafkaConsumer<byte[], byte[]> consumer) {
        List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
        poll(consumer, got, 1, 15_000);
        return got.get(0).offset() + ":" + new String(got.get(0).value());
    }

    private static void seekAndPosition(Context c) throws Exception {
        TopicPartition tp = filled(c, 100);
        KafkaConsumer<byte[], byte[]> consumer = c.consumer("max.poll.records", "1");
        consumer.assign(Set.of(tp));
        c.line("position at first %d", consumer.position(tp));
        for (long offset : new long[] {50, 0, 99, 33, 34}) {
            consumer.seek(tp, offset);
            same("record at " + offset, offset + ":v" + offset, next(consumer));
            c.line("after %d: position %d, lag %s", offset, consumer.position(tp), consumer.currentLag(tp));
        }
        consumer.seekToEnd(Set.of(tp));
        c.line("end %d", consumer.position(tp));
        consumer.seekToBeginning(Set.of(tp));
        c.line("beginning %d", consumer.position(tp));
        c.line("beginningOffsets %s", consumer.beginningOffsets(Set.of(tp)));
        c.line("endOffsets %s", consumer.endOffsets(Set.of(tp)));
        c.line("committed %s", c.consumer("group.id", c.name("none")).committed(Set.of(tp)).get(tp));
    }

    private static void offsetsForTimes(Context c) throws Exception {
        String topic = c.topic("t", 2);
        for (String codec : List.of("none", "lz4", "zstd")) {
            send(c.producer("compression.type", codec, "linger.ms", "50"), Data.numbered(topic, 0, 0, 40));
        }
        KafkaConsumer<byte[], byte[]> consumer = c.consumer();
        for (long time : new long[] {0, Data.BASE_TIME - 1, Data.BASE_TIME, Data.BASE_TIME + 1, Data.BASE_TIME + 205,
            Data.BASE_TIME + 390, Data.BASE_TIME + 391, Long.MAX_VALUE}) {
            for (TopicPartition tp : partitions(topic, 2)) {
                var found = consumer.offsetsForTimes(Map.of(tp, time)).get(tp);
                c.line("partition %d at %d: %s", tp.partition(), time,
                        found == null ? "none" : found.offset() + "@" + found.timestamp());
            }
        }
        c.mustFail("negative time", IllegalArgumentException.class,
                () -> consumer.offsetsForTimes(Map.of(new TopicPartition(topic, 0), -1L)));
    }

    private static void pauseResume(Context c) throws Exception {
        String topic = c.topic("t", 2);
        var all = partitions(topic, 2);
        KafkaProducer<byte[], byte[]> producer = c.producer();
        send(producer, Data.numbered(topic, 0, 0, 100));
        send(producer, Data.numbered(topic, 1, 0, 100));
        KafkaConsumer<byte[], byte[]> consumer = c.consumer("max.poll.records", "10");
        consumer.assign(all);
        consumer.pause(Set.of(all.get(1)));
        List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
        poll(consumer, got, 100, 15_000);
        check(got.stream().allMatch(r -> r.partition() == 0), "records of a paused partition came");
        consumer.pause(Set.of(all.get(0)));
        consumer.resume(Set.of(all.get(1)));
        List<ConsumerRecord<byte[], byte[]>> second = new ArrayList<>();
        poll(consumer, second, 100, 15_000);
        check(second.stream().allMatch(r -> r.partition() == 1), "records of a paused partition came");
        for (int i = 0; i < 100; i++) {
            same("order", "v" + i, new String(got.get(i).value()));
            same("order", "v" + i, new String(second.get(i).value()));
        }
        c.line("100 + 100 records around pause and resume");
    }

    private static void autoOffsetReset(Context c) throws Exception {
        TopicPartition tp = filled(c, 20);
        for (String policy : List.of("earliest", "latest")) {
            KafkaConsumer<byte[], byte[]> consumer = c.consumer("auto.offset.reset", policy);
            consumer.assign(Set.of(tp));
            c.line("%s: %d", policy, consumer.position(tp));
            consumer.seek(tp, 500);
            consumer.poll(Duration.ofMillis(500));
            c.line("%s after a seek past the end: %d", policy, consumer.position(tp));
        }
        KafkaConsumer<byte[], byte[]> none = c.consumer("auto.offset.reset", "none");
        none.assign(Set.of(tp));
        c.mustFail("none", NoOffsetForPartitionException.class, () -> none.poll(Duration.ofSeconds(10)));
        none.seek(tp, 500);
        c.mustFail("none, past the end", OffsetOutOfRangeException.class, () -> {
            for (int i = 0; i < 20; i++) {
                none.poll(Duration.ofMillis(500));
            }
            return "no error";
        });
        KafkaConsumer<byte[], byte[]> duration = c.consumer("auto.offset.reset", "by_duration:P5000D");
        duration.assign(Set.of(tp));
        c.line("by_duration: %d", duration.position(tp));
    }

    private static void smallFetches(Context c) throws Exception {
        String topic = c.topic("t", 3);
        List<Data> sent = Data.mixed(topic, 3, 300, 11);
        var acknowledged = send(c.producer("compression.type", "snappy", "linger.ms", "10"), sent);
        for (String[] limits : new String[][] {
            {"max.partition.fetch.bytes", "1"}, {"fetch.max.bytes", "1"}, {"max.poll.records", "7"},
            {"fetch.max.bytes", "5000", "max.partition.fetch.bytes", "3000"}, {"fetch.min.bytes", "100000", "fetch.max.wait.ms", "20"},
            {"check.crcs", "false"}}) {
            Data.verify(sent, acknowledged, c.readAll(partitions(topic, 3), 300, limits), true);
        }
        c.line("300 records under each limit");
    }

    private static void longPoll(Context c) throws Exception {
        TopicPartition tp = filled(c, 1);
        KafkaConsumer<byte[], byte[]> consumer = c.consumer("fetch.max.wait.ms", "8000");
        consumer.assign(Set.of(tp));
        next(consumer);
        KafkaProducer<byte[], byte[]> producer = c.producer("linger.ms", "0");
        producer.partitionsFor(tp.topic());
        for (int round = 0; round < 3; round++) {
            CompletableFuture<Long> sentAt = CompletableFuture.supplyAsync(() -> {
                try {
                    Thread.sleep(700);
                    long at = System.nanoTime();
                    producer.send(new ProducerRecord<>(tp.topic(), 0, null, "late".getBytes())).get();
                    return at;
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            next(consumer);
            long millis = (System.nanoTime() - sentAt.get(10, TimeUnit.SECONDS)) / 1_000_000;
            check(millis < 2500, "a waiting fetch was answered %d ms after the record was sent", millis);
        }
        c.line("a waiting fetch is answered when a record arrives");
    }

    private static void minBytes(Context c) throws Exception {
        TopicPartition tp = filled(c, 1);
        KafkaConsumer<byte[], byte[]> consumer = c.consumer("fetch.max.wait.ms", "1500", "fetch.min.bytes", "1000000");
        consumer.assign(Set.of(tp));
        consumer.position(tp);
        long start = System.nanoTime();
        next(consumer);
        long millis = (System.nanoTime() - start) / 1_000_000;
        check(millis > 700, "fetch.min.bytes was not waited for: answered after %d ms", millis);
        c.line("too few bytes are held back until the wait is over");
    }

    private static void readCommitted(Context c) throws Exception {
        String topic = c.topic("t", 1);
        List<Data> sent = Data.mixed(topic, 1, 100, 5);
        var acknowledged = send(c.producer("compression.type", "gzip"), sent);
        Data.verify(sent, acknowledged,
                c.readAll(partitions(topic, 1), 100, "isolation.level", "read_committed"), true);
        try (var consumer = c.consumer("isolation.level", "read_committed")) {
            c.line("end %s", consumer.endOffsets(partitions(topic, 1)).values());
        }
    }

    private static void manyPartitions(Context c) throws Exception {
        String topic = c.topic("t", 60);
        KafkaProducer<byte[], byte[]> producer = c.producer("linger.ms", "5");
        KafkaConsumer<byte[], byte[]> consumer = c.consumer("fetch.max.wait.ms", "100");
        consumer.assign(partitions(topic, 60));
        consumer.seekToBeginning(partitions(topic, 60));
        Map<Integer, Integer> perPartition = new HashMap<>();
        for (int round = 0; round < 8; round++) {
            // Only a few partitions get data in a round: the session carries the others.
            List<Data> sent = new ArrayList<>();
            for (int p = round; p < 60; p += 7) {
                sent.addAll(Data.numbered(topic, p, perPartition.getOrDefault(p, 0), 3));
            }
            send(producer, sent);
            List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
            poll(consumer, got, sent.size(), 15_000);
            same("records of round " + round, sent.size(), got.size());
            for (var record : got) {
                int number = perPartition.merge(record.partition(), 1, Integer::sum) - 1;
                same("value", "v" + number, new String(record.value()));
                same("offset", (long) number, record.offset());
            }
        }
        c.line("8 rounds over 60 partitions");
    }

    private static void changingAssignment(Context c) throws Exception {
        String topic = c.topic("t", 6);
        KafkaProducer<byte[], byte[]> producer = c.producer();
        for (int p = 0; p < 6; p++) {
            send(producer, Data.numbered(topic, p, 0, 50));
        }
        KafkaConsumer<byte[], byte[]> consumer = c.consumer("max.poll.records", "20", "fetch.max.wait.ms", "50");
        var all = partitions(topic, 6);
        long[] next = new long[6];
        for (int round = 0; round < 24; round++) {
            List<TopicPartition> chosen = new ArrayList<>();
            for (int p = 0; p < 6; p++) {
                if ((round + p) % 3 != 0) {
                    chosen.add(all.get(p));
                }
            }
            consumer.assign(chosen);
            for (TopicPartition tp : chosen) {
                consumer.seek(tp, next[tp.partition()]);
            }
            for (var record : consumer.poll(Duration.ofMillis(round < 20 ? 60 : 500))) {
                same("offset of partition " + record.partition(), next[record.partition()], record.offset());
                same("value", "v" + record.offset(), new String(record.value()));
                next[record.partition()]++;
            }
        }
        consumer.assign(all);
        long missing = 0;
        for (TopicPartition tp : all) {
            consumer.seek(tp, next[tp.partition()]);
            missing += 50 - next[tp.partition()];
        }
        List<ConsumerRecord<byte[], byte[]>> rest = new ArrayList<>();
        poll(consumer, rest, (int) missing, 15_000);
        same("rest", missing, (long) rest.size());
        c.line("300 records while the assignment changed 24 times");
    }

    private static void belowLogStart(Context c) throws Exception {
        TopicPartition tp = filled(c, 100);
        long low = c.admin().deleteRecords(Map.of(tp, RecordsToDelete.beforeOffset(60))).all().get() == null
                ? c.admin().deleteRecords(Map.of(tp, RecordsToDelete.beforeOffset(60))).lowWatermarks().get(tp).get().lowWatermark()
                : -1;
        c.line("low watermark %d", low);
        KafkaConsumer<byte[], byte[]> consumer = c.consumer("max.poll.records", "1");
        consumer.assign(Set.of(tp));
        consumer.seek(tp, 10);
        same("reset to the log start", "60:v60", next(consumer));
        c.line("beginning %s", consumer.beginningOffsets(Set.of(tp)).values());
        KafkaConsumer<byte[], byte[]> none = c.consumer("auto.offset.reset", "none");
        none.assign(Set.of(tp));
        none.seek(tp, 59);
        c.mustFail("below the start without reset", OffsetOutOfRangeException.class, () -> {
            for (int i = 0; i < 20; i++) {
                none.poll(Duration.ofMillis(500));
            }
            return "no error";
        });
        same("offsetsForTimes", 60L, consumer.offsetsForTimes(Map.of(tp, 0L)).get(tp).offset());
    }

    private static void topicRecreated(Context c) throws Exception {
        String topic = c.topic("t", 1);
        TopicPartition tp = new TopicPartition(topic, 0);
        KafkaProducer<byte[], byte[]> producer = c.producer("metadata.max.age.ms", "500");
        send(producer, Data.numbered(topic, 0, 0, 10));
        KafkaConsumer<byte[], byte[]> consumer = c.consumer("metadata.max.age.ms", "500", "allow.auto.create.topics", "false");
        consumer.assign(Set.of(tp));
        List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
        poll(consumer, got, 10, 15_000);
        // A producer that asks for its topic's metadata would create it again.
        producer.close();
        c.admin().deleteTopics(List.of(topic)).all().get();
        Context.eventually("topic is gone", 15_000, () -> !c.admin().listTopics().names().get().contains(topic));
        consumer.poll(Duration.ofMillis(300));
        c.create(topic, 1);
        send(c.producer(), Data.numbered(topic, 0, 100, 10));
        consumer.seekToBeginning(Set.of(tp));
        got.clear();
        poll(consumer, got, 10, 20_000);
        same("first value", "v100", new String(got.get(0).value()));
        same("first offset", 0L, got.get(0).offset());
        c.line("a topic of the same name starts empty and is read through the same client");
    }

    private static void simpleConsumer(Context c) throws Exception {
        TopicPartition tp = filled(c, 30);
        String group = c.name("g");
        KafkaConsumer<byte[], byte[]> consumer = c.consumer("group.id", group, "max.poll.records", "10");
        consumer.assign(Set.of(tp));
        consumer.seekToBeginning(Set.of(tp));
        List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
        poll(consumer, got, 10, 15_000);
        consumer.commitSync();
        c.line("committed %s", consumer.committed(Set.of(tp)).get(tp).offset());
        KafkaConsumer<byte[], byte[]> second = c.consumer("group.id", group, "max.poll.records", "1");
        second.assign(Set.of(tp));
        c.line("a second one starts at %d", second.position(tp));
        c.line("group %s", c.admin().describeClassicGroups(List.of(group)).all().get().get(group).state());
    }

    private static void metadata(Context c) throws Exception {
        String topic = c.topic("t", 3);
        KafkaConsumer<byte[], byte[]> consumer = c.consumer("allow.auto.create.topics", "false");
        var infos = consumer.partitionsFor(topic);
        for (var info : infos.stream().sorted((a, b) -> a.partition() - b.partition()).toList()) {
            c.line("partition %d leader %d replicas %d isr %d offline %d", info.partition(), info.leader().id(),
                    info.replicas().length, info.inSyncReplicas().length, info.offlineReplicas().length);
        }
        check(consumer.listTopics().containsKey(topic), "listTopics lacks %s", topic);
        c.attempt("partitions of an unknown topic", () -> consumer.partitionsFor(c.name("unknown")));
        c.attempt("end of a partition that does not exist", () -> consumer.endOffsets(
                Set.of(new TopicPartition(topic, 7)), Duration.ofSeconds(2)));
    }
}
