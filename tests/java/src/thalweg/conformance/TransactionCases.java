package thalweg.conformance;

import static thalweg.conformance.Context.eventually;
import static thalweg.conformance.Context.partitions;
import static thalweg.conformance.Context.same;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;

import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;

/** Transactions of the official client. */
final class TransactionCases {
    private TransactionCases() {}

    static List<Case> all() {
        return List.of(
                Case.of("transactions.commit-and-abort", TransactionCases::commitAndAbort),
                Case.of("transactions.many-partitions", TransactionCases::manyPartitions),
                Case.of("transactions.fencing", TransactionCases::fencing),
                Case.of("transactions.offsets", TransactionCases::offsets),
                Case.of("transactions.offsets-of-members", TransactionCases::offsetsOfMembers),
                Case.of("transactions.described", TransactionCases::described),
                Case.of("transactions.fenced-by-admin", TransactionCases::fencedByAdmin),
                Case.of("transactions.bad-settings", TransactionCases::badSettings));
    }

    private static KafkaProducer<byte[], byte[]> producer(Context c, String id, String... configs) {
        List<String> all = new ArrayList<>(List.of(configs));
        all.addAll(List.of("transactional.id", id, "max.block.ms", "30000"));
        return c.producer(all.toArray(String[]::new));
    }

    private static void send(KafkaProducer<byte[], byte[]> producer, TopicPartition to, String value) {
        producer.send(new ProducerRecord<>(to.topic(), to.partition(), null, value.getBytes()));
    }

    /** Values of each partition, as they are read until their ends. */
    private static Map<Integer, List<String>> values(Context c, Collection<TopicPartition> from, String isolation) {
        Map<Integer, List<String>> values = new TreeMap<>();
        try (KafkaConsumer<byte[], byte[]> consumer = c.consumer("isolation.level", isolation)) {
            consumer.assign(from);
            consumer.seekToBeginning(from);
            var ends = consumer.endOffsets(from);
            long deadline = System.nanoTime() + 30_000_000_000L;
            while (from.stream().anyMatch(tp -> consumer.position(tp) < ends.get(tp))) {
                Context.check(System.nanoTime() < deadline, "the ends %s were not reached", ends);
                consumer.poll(Duration.ofMillis(100)).forEach(record ->
                        values.computeIfAbsent(record.partition(), p -> new ArrayList<>()).add(new String(record.value())));
            }
        }
        return values;
    }

    /** What is committed, once it is all there: a producer hears of the end of its transaction before the markers are written. */
    private static Map<Integer, List<String>> committed(
            Context c, Collection<TopicPartition> from, Predicate<Map<Integer, List<String>>> isAll) throws Exception {
        eventually("all that is committed is read", 10_000, () -> isAll.test(values(c, from, "read_committed")));
        return values(c, from, "read_committed");
    }

    private static void commitAndAbort(Context c) throws Exception {
        String topic = c.topic("t", 2);
        List<TopicPartition> to = partitions(topic, 2);
        KafkaProducer<byte[], byte[]> producer = producer(c, c.name("id"));
        producer.initTransactions();
        for (int round = 0; round < 10; round++) {
            producer.beginTransaction();
            send(producer, to.get(round % 2), "a" + round);
            send(producer, to.get(1), "b" + round);
            if (round % 3 == 2) {
                // What is not sent by then is dropped.
                producer.flush();
                producer.abortTransaction();
            } else {
                producer.commitTransaction();
            }
        }
        producer.beginTransaction();
        producer.commitTransaction();
        producer.beginTransaction();
        producer.abortTransaction();
        c.line("committed %s", committed(c, to, values -> values.getOrDefault(1, List.of()).contains("b9")));
        c.line("all %s", values(c, to, "read_uncommitted"));
        // What is open is not read, nor what comes behind it.
        producer.beginTransaction();
        send(producer, to.get(0), "open");
        producer.flush();
        Context.send(c.producer(), Data.numbered(topic, 0, 0, 1));
        c.line("beside an open one %s", values(c, to, "read_committed"));
        producer.commitTransaction();
        c.line("in the end %s", committed(c, to, values -> values.getOrDefault(0, List.of()).contains("v0")));
    }

    private static void manyPartitions(Context c) throws Exception {
        String topic = c.topic("t", 50);
        List<TopicPartition> to = partitions(topic, 50);
        KafkaProducer<byte[], byte[]> producer = producer(c, c.name("id"), "linger.ms", "5");
        producer.initTransactions();
        for (boolean commit : new boolean[] {true, false, true}) {
            producer.beginTransaction();
            for (TopicPartition partition : to) {
                send(producer, partition, commit ? "yes" : "no");
            }
            if (commit) {
                producer.commitTransaction();
            } else {
                producer.abortTransaction();
            }
        }
        var values = committed(c, to, read -> read.values().stream().mapToInt(List::size).sum() >= 2 * to.size());
        same("partitions", 50, values.size());
        values.values().forEach(of -> same("values", List.of("yes", "yes"), of));
        c.line("50 partitions, 3 transactions");
    }

    private static void fencing(Context c) throws Exception {
        String topic = c.topic("t", 1);
        TopicPartition to = new TopicPartition(topic, 0);
        String id = c.name("id");
        KafkaProducer<byte[], byte[]> first = producer(c, id);
        first.initTransactions();
        first.beginTransaction();
        send(first, to, "of a zombie");
        first.flush();
        KafkaProducer<byte[], byte[]> second = producer(c, id);
        second.initTransactions();
        second.beginTransaction();
        send(second, to, "of the second");
        second.commitTransaction();
        Exception fenced = null;
        try {
            send(first, to, "of a zombie again");
            first.commitTransaction();
        } catch (ProducerFencedException | InvalidProducerEpochException e) {
            fenced = e;
        }
        Context.check(fenced != null, "the first producer was not fenced");
        c.line("%s", committed(c, List.of(to), values -> values.getOrDefault(0, List.of()).contains("of the second")));
    }

    private static Object committed(KafkaConsumer<byte[], byte[]> consumer, TopicPartition of) {
        OffsetAndMetadata offset = consumer.committed(Set.of(of)).get(of);
        return offset == null ? null : offset.offset();
    }

    private static void offsets(Context c) throws Exception {
        String topic = c.topic("t", 1);
        TopicPartition of = new TopicPartition(topic, 0);
        String group = c.name("g");
        KafkaProducer<byte[], byte[]> producer = producer(c, c.name("id"));
        producer.initTransactions();
        try (KafkaConsumer<byte[], byte[]> consumer = c.consumer("group.id", group)) {
            for (boolean commit : new boolean[] {true, false}) {
                producer.beginTransaction();
                send(producer, of, "with offsets");
                producer.sendOffsetsToTransaction(
                        Map.of(of, new OffsetAndMetadata(commit ? 5 : 7)), new ConsumerGroupMetadata(group));
                if (commit) {
                    producer.commitTransaction();
                    eventually("the offset is committed", 10_000, () -> committed(consumer, of) != null);
                } else {
                    producer.abortTransaction();
                }
                c.line("commit %s: %s", commit, committed(consumer, of));
            }
            // Offsets alone.
            producer.beginTransaction();
            producer.sendOffsetsToTransaction(Map.of(of, new OffsetAndMetadata(9)), new ConsumerGroupMetadata(group));
            producer.commitTransaction();
            eventually("the offset alone", 10_000, () -> Long.valueOf(9).equals(committed(consumer, of)));
        }
    }

    /** Reads, writes and commits both in transactions. */
    private static void offsetsOfMembers(Context c) throws Exception {
        String from = c.topic("from", 2);
        String to = c.topic("to", 1);
        List<Data> sent = new ArrayList<>();
        for (int p = 0; p < 2; p++) {
            sent.addAll(Data.numbered(from, p, 0, 100));
        }
        Context.send(c.producer(), sent);
        KafkaProducer<byte[], byte[]> producer = producer(c, c.name("id"));
        producer.initTransactions();
        int copied = 0;
        try (KafkaConsumer<byte[], byte[]> consumer =
                c.consumer("group.id", c.name("g"), "isolation.level", "read_committed", "max.poll.records", "17")) {
            consumer.subscribe(List.of(from));
            long deadline = System.nanoTime() + 60_000_000_000L;
            for (int round = 0; copied < 200; round++) {
                Context.check(System.nanoTime() < deadline, "%d of 200 were copied", copied);
                var records = consumer.poll(Duration.ofMillis(200));
                if (records.isEmpty()) {
                    continue;
                }
                producer.beginTransaction();
                Map<TopicPartition, OffsetAndMetadata> offsets = new TreeMap<>(
                        (a, b) -> Integer.compare(a.partition(), b.partition()));
                records.forEach(record -> {
                    send(producer, new TopicPartition(to, 0), record.partition() + "/" + new String(record.value()));
                    offsets.put(new TopicPartition(from, record.partition()), new OffsetAndMetadata(record.offset() + 1));
                });
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                if (round % 4 == 1) {
                    producer.abortTransaction();
                    // As after a restart.
                    consumer.committed(consumer.assignment()).forEach((partition, offset) -> {
                        if (offset == null) {
                            consumer.seekToBeginning(List.of(partition));
                        } else {
                            consumer.seek(partition, offset.offset());
                        }
                    });
                } else {
                    producer.commitTransaction();
                    copied += records.count();
                }
            }
        }
        var read = committed(c, partitions(to, 1), values -> values.getOrDefault(0, List.of()).size() >= 200).get(0);
        same("records", 200, read.size());
        same("different ones", 200, Set.copyOf(read).size());
        c.line("200 records copied once");
    }

    private static void described(Context c) throws Exception {
        String topic = c.topic("t", 2);
        List<TopicPartition> to = partitions(topic, 2);
        String id = c.name("id");
        c.attempt("an unknown id", () -> c.admin().describeTransactions(List.of(c.name("unknown"))).all().get());
        KafkaProducer<byte[], byte[]> producer = producer(c, id, "transaction.timeout.ms", "54321");
        producer.initTransactions();
        describe(c, "initialized", id);
        producer.beginTransaction();
        send(producer, to.get(0), "a");
        send(producer, to.get(1), "b");
        producer.flush();
        describe(c, "open", id);
        same("listed", List.of(TransactionState.ONGOING), states(c, id, new ListTransactionsOptions()));
        same("by another state", List.of(), states(c, id,
                new ListTransactionsOptions().filterStates(Set.of(TransactionState.COMPLETE_ABORT))));
        same("by its state", List.of(TransactionState.ONGOING), states(c, id,
                new ListTransactionsOptions().filterStates(Set.of(TransactionState.ONGOING))));
        same("by a duration", List.of(), states(c, id, new ListTransactionsOptions().filterOnDuration(3_600_000)));
        same("by a producer", List.of(), states(c, id, new ListTransactionsOptions().filterProducerIds(Set.of(1L << 60))));
        same("by a pattern", List.of(TransactionState.ONGOING),
                states(c, id, new ListTransactionsOptions().filterOnTransactionalIdPattern(".*" + id)));
        producer.commitTransaction();
        eventually("it is complete", 10_000, () -> states(c, id, new ListTransactionsOptions())
                .equals(List.of(TransactionState.COMPLETE_COMMIT)));
        describe(c, "committed", id);
    }

    private static void describe(Context c, String what, String id) throws Exception {
        var all = c.admin().describeTransactions(List.of(id)).all().get();
        var described = all.get(id);
        var topics = described.topicPartitions().stream().map(tp -> "t-" + tp.partition()).sorted().toList();
        c.line("%s: %s timeout %d begun %s partitions %s epoch %s", what, described.state(),
                described.transactionTimeoutMs(), described.transactionStartTimeMs().isPresent(), topics,
                described.producerEpoch());
    }

    private static List<TransactionState> states(Context c, String id, ListTransactionsOptions options) throws Exception {
        return c.admin().listTransactions(options).all().get().stream()
                .filter(listing -> listing.transactionalId().equals(id))
                .map(listing -> listing.state())
                .toList();
    }

    private static void fencedByAdmin(Context c) throws Exception {
        String topic = c.topic("t", 1);
        TopicPartition to = new TopicPartition(topic, 0);
        String id = c.name("id");
        KafkaProducer<byte[], byte[]> producer = producer(c, id);
        producer.initTransactions();
        producer.beginTransaction();
        send(producer, to, "of the fenced one");
        producer.flush();
        c.admin().fenceProducers(List.of(id)).all().get();
        Exception fenced = null;
        try {
            producer.commitTransaction();
        } catch (ProducerFencedException | InvalidProducerEpochException e) {
            fenced = e;
        }
        Context.check(fenced != null, "the producer was not fenced");
        eventually("it is aborted", 10_000, () -> values(c, List.of(to), "read_committed").isEmpty());
        c.line("nothing is read");
    }

    private static void badSettings(Context c) throws Exception {
        c.attempt("a timeout above the broker's", () -> {
            try (var producer = producer(c, c.name("long"), "transaction.timeout.ms", "900001")) {
                producer.initTransactions();
            }
            return "initialized";
        });
        c.attempt("the longest timeout", () -> {
            try (var producer = producer(c, c.name("longest"), "transaction.timeout.ms", "900000")) {
                producer.initTransactions();
            }
            return "initialized";
        });
    }
}
