import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;

/** Kafka Streams as a peer of `thalweg bench client copy`: each record with its value in capital letters, exactly once. */
public final class StreamsCopy {
    public static void main(String[] arguments) throws Exception {
        String[] all = new String[arguments.length + 1];
        all[0] = "copy";
        System.arraycopy(arguments, 0, all, 1, arguments.length);
        Peer.Options options = new Peer.Options(all);
        String topic = options.text("topic", null);
        String to = options.text("to", null);
        long warmup = options.number("warmup-records", "0");
        long records = options.number("records", null);
        Path state = Files.createTempDirectory("streams-copy");
        Properties config = new Properties();
        config.put(StreamsConfig.APPLICATION_ID_CONFIG, "bench-copy-" + UUID.randomUUID());
        config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, options.text("bootstrap", null));
        config.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        config.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, options.number("commit-interval-ms", "100"));
        config.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
        config.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
        config.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.ByteArraySerde.class);
        config.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.ByteArraySerde.class);
        config.put("auto.offset.reset", "earliest");
        config.putAll(options.sets);
        options.finish();
        AtomicLong count = new AtomicLong();
        AtomicReference<Peer.Usage> begin = new AtomicReference<>(Peer.Usage.now());
        CountDownLatch done = new CountDownLatch(1);
        StreamsBuilder builder = new StreamsBuilder();
        builder.<byte[], byte[]>stream(topic).mapValues(value -> upper(value)).peek((key, value) -> {
            long now = count.incrementAndGet();
            if (now == warmup) {
                begin.set(usage());
            }
            if (now == records) {
                done.countDown();
            }
        }).to(to);
        try (KafkaStreams streams = new KafkaStreams(builder.build(), config)) {
            streams.start();
            if (!done.await(10, TimeUnit.MINUTES)) {
                throw new IllegalStateException("only " + count + " records came");
            }
            Peer.Usage from = begin.get();
            Peer.Usage after = Peer.Usage.now();
            double seconds = (after.at() - from.at()) / 1e9;
            double cpu = after.cpu() - from.cpu();
            long counted = records - warmup;
            System.out.printf(Locale.ROOT,
                "{\"client\": \"kafka-streams\", \"seconds\": %f, \"cpu_seconds\": %f, \"records\": %d, "
                    + "\"records_per_second\": %f, \"cpu_us_per_record\": %f, \"rss_peak_kib\": %d}%n",
                seconds, cpu, counted, counted / seconds, cpu * 1e6 / counted, peak());
        }
        System.exit(0);
    }

    private static byte[] upper(byte[] value) {
        byte[] upper = value.clone();
        for (int at = 0; at < upper.length; at++) {
            if (upper[at] >= 'a' && upper[at] <= 'z') {
                upper[at] -= 32;
            }
        }
        return upper;
    }

    private static Peer.Usage usage() {
        try {
            return Peer.Usage.now();
        } catch (java.io.IOException why) {
            throw new java.io.UncheckedIOException(why);
        }
    }

    private static long peak() throws java.io.IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"), StandardCharsets.UTF_8)) {
            if (line.startsWith("VmHWM:")) {
                return Long.parseLong(line.replaceAll("\\D", ""));
            }
        }
        return -1;
    }
}
