import java.util.Arrays;
import java.util.Locale;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.TransactionAbortableException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Apache Kafka's producer writing transactions one after the other, with the options of `thalweg bench client transact`. */
public final class Transactions {
    public static void main(String[] arguments) throws Exception {
        String[] all = new String[arguments.length + 1];
        all[0] = "transact";
        System.arraycopy(arguments, 0, all, 1, arguments.length);
        Peer.Options options = new Peer.Options(all);
        String topic = options.text("topic", null);
        long records = options.number("records-per-transaction", "100");
        int partitions = (int) options.number("partitions", "1");
        byte[] value = new byte[(int) options.number("record-size", "100")];
        Arrays.fill(value, (byte) 'x');
        double rate = Double.parseDouble(options.text("rate", "0"));
        long warmup = options.nanos("warmup-seconds", "1");
        long length = options.nanos("seconds", "10");
        boolean plain = options.truth("plain", "false");
        Properties config = new Properties();
        config.put("bootstrap.servers", options.text("bootstrap", null));
        config.put("key.serializer", ByteArraySerializer.class.getName());
        config.put("value.serializer", ByteArraySerializer.class.getName());
        config.put("linger.ms", (int) options.number("linger-ms", "5"));
        if (!plain) {
            config.put("transactional.id", "bench-" + UUID.randomUUID());
        }
        config.putAll(options.sets);
        options.finish();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config)) {
            if (!plain) {
                producer.initTransactions();
            }
            Times commits = new Times();
            Times transactions = new Times();
            long aborted = 0;
            long before = 0;
            long number = 0;
            Peer.Usage usage = null;
            long begin = System.nanoTime();
            long end = begin + warmup + length;
            for (;; number++) {
                long now = System.nanoTime();
                if (usage == null && now - begin >= warmup) {
                    usage = Peer.Usage.now();
                    before = number;
                }
                long due = rate > 0 ? begin + (long) (number / rate * 1e9) : now;
                if (Math.max(now, due) - end >= 0) {
                    break;
                }
                for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
                    LockSupport.parkNanos(left);
                }
                if (!plain) {
                    producer.beginTransaction();
                }
                for (long record = 0; record < records; record++) {
                    producer.send(new ProducerRecord<>(topic, (int) (record % partitions), null, value));
                }
                long asked = System.nanoTime();
                try {
                    if (plain) {
                        producer.flush();
                    } else {
                        producer.commitTransaction();
                    }
                } catch (TransactionAbortableException why) {
                    producer.abortTransaction();
                    aborted++;
                    continue;
                }
                long over = System.nanoTime();
                if (usage != null) {
                    commits.add(over - asked);
                    transactions.add(over - due);
                }
            }
            if (usage == null) {
                throw new IllegalStateException("the first transaction took longer than the warm-up and the measurement");
            }
            Peer.Usage after = Peer.Usage.now();
            double seconds = (after.at() - usage.at()) / 1e9;
            long measured = number - before;
            double cpu = after.cpu() - usage.cpu();
            System.out.printf(Locale.ROOT,
                "{\"client\": \"java\", \"mode\": \"%s\", \"seconds\": %f, \"cpu_seconds\": %f, \"transactions\": %d, "
                    + "\"transactions_all\": %d, \"aborted\": %d, \"records\": %d, \"records_per_second\": %f, "
                    + "\"transactions_per_second\": %f, \"cpu_us_per_record\": %f, \"cpu_us_per_transaction\": %f, "
                    + "\"commit_ms\": %s, \"transaction_ms\": %s, \"errors\": %d}%n",
                plain ? "plain" : "transactional", seconds, cpu, measured, number, aborted, measured * records,
                measured * records / seconds, measured / seconds, cpu * 1e6 / (measured * records), cpu * 1e6 / measured,
                commits.json(), transactions.json(), aborted);
        }
    }

    /** Times in nanoseconds. */
    private static final class Times {
        private long[] all = new long[1 << 16];
        private int count;

        void add(long time) {
            if (count == all.length) {
                all = Arrays.copyOf(all, 2 * count);
            }
            all[count++] = time;
        }

        String json() {
            long[] sorted = Arrays.copyOf(all, count);
            Arrays.sort(sorted);
            return String.format(Locale.ROOT, "{\"p50\": %f, \"p90\": %f, \"p99\": %f, \"max\": %f}",
                at(sorted, 0.5), at(sorted, 0.9), at(sorted, 0.99), at(sorted, 1));
        }

        private static double at(long[] sorted, double share) {
            int index = (int) Math.ceil(share * sorted.length) - 1;
            return sorted.length == 0 ? 0 : sorted[Math.max(index, 0)] / 1e6;
        }
    }
}
