import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.internals.AppInfoParser;

/**
 * Writes records at a rate, the partitions of a topic in turn, and reads them, until standard input ends, while somebody
 * else moves leaders.
 *
 * The file has two numbers of 32 bits, little-endian, for each record: microseconds from when it was to be sent until it
 * was acknowledged, and until it arrived; -1 where that did not happen. The line of JSON says when the first one was to
 * be sent, in nanoseconds of the system's monotonic clock.
 */
public final class Moves {
    private static final int CHUNK = 1 << 16;
    private static final int CHUNKS_MAX = 1 << 12;
    private static final int NEVER = -1;
    private static final long TICK_NS = 500_000;
    /** How long the last records are waited for. */
    private static final long DRAIN_NS = 60_000_000_000L;

    private final AtomicReferenceArray<Chunk> chunks = new AtomicReferenceArray<>(CHUNKS_MAX);
    private final int partitions;
    private final long rate;
    private long begin;
    private volatile long failed;
    private volatile long readErrors;
    private volatile long arrived;
    private volatile long outOfOrder;
    private volatile String firstError;

    private static final class Chunk {
        final int[] acknowledged = new int[CHUNK];
        final int[] arrived = new int[CHUNK];

        Chunk() {
            Arrays.fill(acknowledged, NEVER);
            Arrays.fill(arrived, NEVER);
        }
    }

    private Moves(int partitions, long rate) {
        this.partitions = partitions;
        this.rate = rate;
    }

    public static void main(String[] arguments) throws Exception {
        Peer.Options options = new Peer.Options(arguments);
        String topic = options.text("topic", null);
        String acks = options.text("acks", "all");
        int size = (int) options.number("record-size", "100");
        long rate = options.number("rate", "1000");
        Path out = Path.of(options.text("out", null));
        Properties config = new Properties();
        config.put("bootstrap.servers", options.text("bootstrap", null));
        config.put("key.serializer", ByteArraySerializer.class);
        config.put("value.serializer", ByteArraySerializer.class);
        config.put("acks", acks);
        config.put("enable.idempotence", acks.equals("all"));
        config.put("linger.ms", (int) options.number("linger-ms", "0"));
        config.putAll(options.sets);
        Properties reading = new Properties();
        reading.put("bootstrap.servers", options.text("bootstrap", null));
        reading.put("key.deserializer", ByteArrayDeserializer.class);
        reading.put("value.deserializer", ByteArrayDeserializer.class);
        reading.put("enable.auto.commit", false);
        reading.put("auto.offset.reset", "latest");
        options.finish();
        if (size < Long.BYTES || rate == 0) {
            throw new IllegalArgumentException("--record-size is 8 at least, --rate 1");
        }
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config);
             KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(reading)) {
            int partitions = producer.partitionsFor(topic).size();
            List<TopicPartition> all =
                IntStream.range(0, partitions).mapToObj(at -> new TopicPartition(topic, at)).toList();
            consumer.assign(all);
            // Where they end now, or the first records would not be read.
            all.forEach(consumer::position);
            Moves moves = new Moves(partitions, rate);
            System.out.println(moves.run(producer, consumer, topic, size, out));
        }
        // Nothing that is still closing belongs to the run.
        System.exit(0);
    }

    private String run(KafkaProducer<byte[], byte[]> producer, KafkaConsumer<byte[], byte[]> consumer, String topic,
                       int size, Path out) throws Exception {
        Thread input = new Thread(Moves::drainInput);
        input.setDaemon(true);
        input.start();
        Thread reader = new Thread(() -> read(consumer));
        begin = System.nanoTime();
        reader.start();
        long sent = 0;
        while (input.isAlive()) {
            long due = Math.floorDiv((System.nanoTime() - begin) * rate, 1_000_000_000L) + 1;
            for (; sent < due; sent++) {
                send(producer, topic, sent, size);
            }
            LockSupport.parkNanos(Math.min(TICK_NS, Math.max(1, dueAt(sent) - System.nanoTime())));
        }
        producer.flush();
        long deadline = System.nanoTime() + DRAIN_NS;
        while (arrived < sent - failed && System.nanoTime() < deadline) {
            Thread.sleep(1);
        }
        consumer.wakeup();
        reader.join();
        write(out, sent);
        String error = firstError == null ? "" : firstError;
        return "{\"begin_ns\": " + begin + ", \"rate\": " + rate + ", \"partitions\": " + partitions + ", \"sent\": " + sent
            + ", \"failed\": " + failed + ", \"read_errors\": " + readErrors + ", \"arrived\": " + arrived
            + ", \"out_of_order\": " + outOfOrder + ", \"version\": \"" + AppInfoParser.getVersion()
            + "\", \"first_error\": \"" + error.replace("\\", "\\\\").replace("\"", "\\\"") + "\"}";
    }

    private static void drainInput() {
        try {
            System.in.readAllBytes();
        } catch (IOException ended) {
            // As good as its end.
        }
    }

    /** When a record was to be sent, however late it is: whoever is held up is not to be spared. */
    private long dueAt(long number) {
        return begin + Math.multiplyExact(number, 1_000_000_000L) / rate;
    }

    private int micros(long number) {
        return (int) ((System.nanoTime() - dueAt(number)) / 1000);
    }

    private void send(KafkaProducer<byte[], byte[]> producer, String topic, long number, int size) {
        int at = (int) (number % CHUNK);
        int chunk = Math.toIntExact(number / CHUNK);
        if (at == 0) {
            chunks.set(chunk, new Chunk());
        }
        int[] acknowledged = chunks.get(chunk).acknowledged;
        byte[] value = ByteBuffer.allocate(size).putLong(number).array();
        // Completions come from one thread, the producer's own.
        producer.send(new ProducerRecord<>(topic, (int) (number % partitions), null, value), (metadata, error) -> {
            if (error == null) {
                acknowledged[at] = micros(number);
            } else {
                failed++;
                note(error);
            }
        });
    }

    private void read(KafkaConsumer<byte[], byte[]> consumer) {
        long[] next = LongStream.range(0, partitions).toArray();
        while (true) {
            try {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                    long number = ByteBuffer.wrap(record.value()).getLong();
                    int at = (int) (number % CHUNK);
                    Chunk chunk = chunks.get((int) (number / CHUNK));
                    if (number != next[record.partition()]) {
                        outOfOrder++;
                    }
                    next[record.partition()] = number + partitions;
                    if (chunk.arrived[at] == NEVER) {
                        chunk.arrived[at] = micros(number);
                        arrived++;
                    }
                }
            } catch (WakeupException over) {
                return;
            } catch (KafkaException error) {
                readErrors++;
                note(error);
            }
        }
    }

    private synchronized void note(Exception error) {
        if (firstError == null) {
            firstError = error.toString();
        }
    }

    private void write(Path out, long sent) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(CHUNK * 2 * Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        try (FileChannel file = FileChannel.open(out, StandardOpenOption.CREATE, StandardOpenOption.WRITE,
            StandardOpenOption.TRUNCATE_EXISTING)) {
            for (long number = 0; number < sent; number++) {
                int at = (int) (number % CHUNK);
                Chunk chunk = chunks.get((int) (number / CHUNK));
                bytes.putInt(chunk.acknowledged[at]).putInt(chunk.arrived[at]);
                if (!bytes.hasRemaining() || number + 1 == sent) {
                    bytes.flip();
                    while (bytes.hasRemaining()) {
                        file.write(bytes);
                    }
                    bytes.clear();
                }
            }
        }
    }
}
