import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.internals.AppInfoParser;

/** Apache Kafka's Java client as a peer: poll, pause and write, with one line of JSON at the end. */
public final class Peer {
    /** Silence after which a run that waits for records gives up. */
    private static final long SILENCE_MAX_NS = TimeUnit.SECONDS.toNanos(10);
    /** Polls between two looks at the clock while records come. */
    private static final int CLOCK_EVERY = 64;
    /** Records of a warm-up between two looks at the clock. */
    private static final int WARMUP_STEP = 1000;

    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 0) {
            throw new IllegalArgumentException("poll, pause or write is missing");
        }
        Options options = new Options(arguments);
        String report = switch (arguments[0]) {
            case "poll" -> poll(options);
            case "pause" -> pause(options);
            case "write" -> write(options);
            default -> throw new IllegalArgumentException(arguments[0] + ": poll, pause or write");
        };
        System.out.println(report);
        // Nothing that is still closing belongs to the run.
        System.exit(0);
    }

    /** The name the runner knows: the two consumers inside are as different as two clients. */
    private static String client(String protocol) {
        return protocol.equals("consumer") ? "java-consumer" : "java-classic";
    }

    private static String poll(Options options) throws IOException {
        String mode = options.text("mode", "assign");
        // With assigned partitions, too, this says which of the two consumers works inside.
        String protocol = options.text("protocol", mode.equals("consumer") ? "consumer" : "classic");
        int recordsMax = (int) options.number("max-records", "500");
        Duration timeout = Duration.ofMillis(options.number("poll-timeout-ms", "1000"));
        String topic = options.text("topic", null);
        Properties config = consumer(options, protocol, recordsMax);
        config.put("auto.offset.reset", options.text("from", "earliest"));
        fetching(options, config);
        config.put("isolation.level", options.text("isolation", "read_uncommitted"));
        config.put("enable.auto.commit", !mode.equals("assign"));
        Meter meter = new Meter("poll", mode, client(protocol));
        meter.warmup = options.nanos("warmup-seconds", "0");
        meter.length = options.has("seconds") ? options.nanos("seconds", null) : -1;
        meter.wanted = options.has("records") ? options.number("records", null) : -1;
        if ((meter.length < 0) == (meter.wanted < 0)) {
            throw new IllegalArgumentException("either --seconds or --records");
        }
        boolean idle = options.truth("idle", "false");
        boolean pausedAll = options.truth("paused-all", "false");
        config.putAll(options.sets);
        options.finish();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config)) {
            if (mode.equals("assign")) {
                consumer.assign(consumer.partitionsFor(topic).stream()
                    .map(part -> new TopicPartition(topic, part.partition())).toList());
            } else {
                consumer.subscribe(List.of(topic));
            }
            meter.begin(idle, consumer.metrics());
            do {
                if (pausedAll && !meter.measured && consumer.assignment().size() != meter.held) {
                    meter.held = consumer.assignment().size();
                    consumer.pause(consumer.assignment());
                }
                ConsumerRecords<byte[], byte[]> records = consumer.poll(timeout);
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    meter.record(record);
                }
            } while (!meter.polled());
            return meter.report();
        }
    }

    private static String pause(Options options) throws IOException {
        int partitions = (int) options.number("partitions", "10");
        int paused = (int) options.number("paused", "9");
        if (paused >= partitions) {
            throw new IllegalArgumentException("--paused is below --partitions");
        }
        String topic = options.text("topic", null);
        String protocol = options.text("protocol", "classic");
        Duration timeout = Duration.ofMillis(options.number("poll-timeout-ms", "100"));
        Properties config = consumer(options, protocol, (int) options.number("max-records", "1"));
        config.put("auto.offset.reset", "earliest");
        config.put("enable.auto.commit", false);
        Meter meter = new Meter("pause", "assign", client(protocol));
        meter.warmup = options.nanos("warmup-seconds", "0");
        meter.length = options.nanos("seconds", null);
        config.putAll(options.sets);
        options.finish();
        List<TopicPartition> all = new ArrayList<>();
        for (int partition = 0; partition < partitions; partition++) {
            all.add(new TopicPartition(topic, partition));
        }
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config)) {
            Map<TopicPartition, Long> endOf = consumer.endOffsets(all);
            long[] ends = all.stream().mapToLong(endOf::get).toArray();
            consumer.assign(all);
            Pauser pauser = new Pauser(all, paused);
            meter.begin(false, consumer.metrics());
            do {
                pauser.draw();
                if (!pauser.pause.isEmpty()) {
                    consumer.pause(pauser.pause);
                }
                if (!pauser.resume.isEmpty()) {
                    consumer.resume(pauser.resume);
                }
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(timeout)) {
                    meter.record(record);
                    if (record.offset() + 1 >= ends[record.partition()]) {
                        consumer.seekToBeginning(List.of(all.get(record.partition())));
                    }
                }
            } while (!meter.polled());
            return meter.report();
        }
    }

    static void fetching(Options options, Properties config) {
        config.put("fetch.min.bytes", (int) options.number("fetch-min-bytes", "1"));
        config.put("fetch.max.wait.ms", (int) options.number("fetch-max-wait-ms", "500"));
        config.put("max.partition.fetch.bytes", (int) options.number("max-partition-fetch-bytes", "1m"));
    }

    static Properties consumer(Options options, String protocol, int recordsMax) {
        Properties config = new Properties();
        config.put("bootstrap.servers", options.text("bootstrap", null));
        config.put("group.id", "peer-" + UUID.randomUUID());
        config.put("group.protocol", protocol);
        config.put("key.deserializer", ByteArrayDeserializer.class);
        config.put("value.deserializer", ByteArrayDeserializer.class);
        config.put("max.poll.records", recordsMax);
        return config;
    }

    private static String write(Options options) throws IOException {
        String topic = options.text("topic", null);
        int size = (int) options.number("record-size", "1024");
        long records = options.number("records", null);
        long warmupLength = options.nanos("warmup-seconds", "0");
        long warmupMost = options.number("warmup-records", "1000000000");
        Properties config = new Properties();
        config.put("bootstrap.servers", options.text("bootstrap", null));
        config.put("key.serializer", ByteArraySerializer.class);
        config.put("value.serializer", ByteArraySerializer.class);
        config.put("compression.type", options.text("compression", "none"));
        config.put("linger.ms", (int) options.number("linger-ms", "5"));
        config.put("batch.size", (int) options.number("batch-size", "16384"));
        config.put("acks", options.text("acks", "all"));
        config.put("enable.idempotence", options.truth("idempotence", "true"));
        config.put("buffer.memory", options.number("buffer-memory", "33554432"));
        byte[][] values = values(Path.of(options.text("payload", null)), size);
        config.putAll(options.sets);
        options.finish();
        LongAdder done = new LongAdder();
        LongAdder errors = new LongAdder();
        // Completions come from one thread, the producer's own.
        Callback callback = (metadata, error) -> {
            done.increment();
            if (error != null) {
                errors.increment();
            }
        };
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config)) {
            int next = 0;
            long warmup = 0;
            for (long warm = System.nanoTime(); warmup < warmupMost && System.nanoTime() - warm < warmupLength;) {
                long step = Math.min(WARMUP_STEP, warmupMost - warmup);
                next = send(producer, topic, values, next, step, callback);
                warmup += step;
            }
            producer.flush();
            Totals before = Totals.of(producer.metrics(), "producer-metrics", "request-total");
            Usage begun = Usage.now();
            send(producer, topic, values, next, records, callback);
            producer.flush();
            Usage ended = Usage.now();
            Totals after = Totals.of(producer.metrics(), "producer-metrics", "request-total");
            if (done.sum() != warmup + records) {
                throw new IllegalStateException(done.sum() + " records were completed");
            }
            return new Report("java", AppInfoParser.getVersion(), "write", config.getProperty("compression.type"), begun, ended)
                .number("records", records).number("bytes", records * size).none("polls")
                .number("warmup_records", warmup)
                .number("fetches", after.requests - before.requests)
                .number("bytes_received", after.received - before.received)
                .number("errors", errors.sum()).none("checksum").line();
        }
    }

    private static int send(KafkaProducer<byte[], byte[]> producer, String topic, byte[][] values,
                            int next, long records, Callback callback) {
        for (long number = 0; number < records; number++) {
            producer.send(new ProducerRecord<>(topic, values[next]), callback);
            next = next + 1 == values.length ? 0 : next + 1;
        }
        return next;
    }

    private static byte[][] values(Path file, int size) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        int count = size > 0 ? bytes.length / size : 0;
        if (count == 0) {
            throw new IllegalArgumentException(file + ": no value of " + size + " bytes");
        }
        byte[][] values = new byte[count][size];
        for (int index = 0; index < count; index++) {
            System.arraycopy(bytes, index * size, values[index], 0, size);
        }
        return values;
    }

    /** Draws the partitions that stay at the next poll: the same ones in every peer. */
    private static final class Pauser {
        final List<TopicPartition> pause = new ArrayList<>();
        final List<TopicPartition> resume = new ArrayList<>();
        private final List<TopicPartition> all;
        private final int[] order;
        private final boolean[] isPaused;
        private final int keep;
        private long random = 0x7468_616c_7765_6721L;

        Pauser(List<TopicPartition> all, int paused) {
            this.all = all;
            order = new int[all.size()];
            for (int index = 0; index < order.length; index++) {
                order[index] = index;
            }
            isPaused = new boolean[all.size()];
            keep = all.size() - paused;
        }

        /** The first steps of a Fisher-Yates shuffle choose the ones that stay. */
        void draw() {
            for (int at = 0; at < keep; at++) {
                int other = at + below(order.length - at);
                int swapped = order[at];
                order[at] = order[other];
                order[other] = swapped;
            }
            pause.clear();
            resume.clear();
            for (int place = 0; place < order.length; place++) {
                int partition = order[place];
                boolean paused = place >= keep;
                if (isPaused[partition] != paused) {
                    isPaused[partition] = paused;
                    (paused ? pause : resume).add(all.get(partition));
                }
            }
        }

        /** xorshift64*. */
        private int below(int bound) {
            random ^= random >>> 12;
            random ^= random << 25;
            random ^= random >>> 27;
            return (int) (((random * 0x2545_f491_4f6c_dd1dL) >>> 33) % bound);
        }
    }

    /** The command line that all peers understand. */
    static final class Options {
        private static final Set<String> FLAGS = Set.of("idle", "paused-all", "partitioned");
        final Map<String, String> sets = new HashMap<>();
        private final Map<String, String> values = new HashMap<>();
        private final Set<String> known = new HashSet<>();

        Options(String[] arguments) {
            for (int index = 1; index < arguments.length; index++) {
                if (!arguments[index].startsWith("--")) {
                    throw new IllegalArgumentException(arguments[index] + ": options begin with --");
                }
                String name = arguments[index].substring(2);
                if (FLAGS.contains(name)) {
                    values.put(name, "true");
                    continue;
                }
                index++;
                if (index == arguments.length) {
                    throw new IllegalArgumentException("--" + name + " has no value");
                }
                if (name.equals("set")) {
                    String[] pair = arguments[index].split("=", 2);
                    if (pair.length < 2) {
                        throw new IllegalArgumentException("--set key=value");
                    }
                    sets.put(pair[0], pair[1]);
                } else {
                    values.put(name, arguments[index]);
                }
            }
        }

        boolean has(String name) {
            return values.containsKey(name);
        }

        String text(String name, String ifMissing) {
            known.add(name);
            String value = values.getOrDefault(name, ifMissing);
            if (value == null) {
                throw new IllegalArgumentException("--" + name + " is missing");
            }
            return value;
        }

        long number(String name, String ifMissing) {
            String text = text(name, ifMissing);
            long factor = text.endsWith("k") ? 1L << 10 : text.endsWith("m") ? 1L << 20 : 1;
            String digits = factor == 1 ? text : text.substring(0, text.length() - 1);
            return Math.multiplyExact(Long.parseUnsignedLong(digits), factor);
        }

        long nanos(String name, String ifMissing) {
            return (long) (Double.parseDouble(text(name, ifMissing)) * 1e9);
        }

        boolean truth(String name, String ifMissing) {
            return Boolean.parseBoolean(text(name, ifMissing));
        }

        /** Refuses what nobody asked for. */
        void finish() {
            for (String name : values.keySet()) {
                if (!known.contains(name)) {
                    throw new IllegalArgumentException("--" + name + " is not an option here");
                }
            }
        }
    }

    /** What the process has used so far. */
    record Usage(long at, double cpu, double user, double system, long voluntary) {
        private static final double TICK = 0.01;

        static Usage now() throws IOException {
            var bean = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
            String stat = Files.readString(Path.of("/proc/self/stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            double cpu = bean.getProcessCpuTime() / 1e9;
            double user = Long.parseLong(fields[11]) * TICK;
            double system = Long.parseLong(fields[12]) * TICK;
            return new Usage(System.nanoTime(), cpu, user, system, voluntarySwitches());
        }

        /** Of the threads that live. */
        private static long voluntarySwitches() throws IOException {
            long sum = 0;
            try (Stream<Path> tasks = Files.list(Path.of("/proc/self/task"))) {
                for (Path task : tasks.toList()) {
                    try (Stream<String> lines = Files.lines(task.resolve("status"))) {
                        sum += lines.filter(line -> line.startsWith("voluntary_ctxt_switches:"))
                            .mapToLong(line -> Long.parseLong(line.substring(24).trim())).sum();
                    } catch (IOException | java.io.UncheckedIOException ended) {
                        continue;
                    }
                }
            }
            return sum;
        }
    }

    /** Totals that the client counts. */
    private record Totals(long requests, long received) {
        static Totals of(Map<MetricName, ? extends Metric> metrics, String group, String requests) {
            return new Totals(total(metrics, group, requests), total(metrics, group, "incoming-byte-total"));
        }

        private static long total(Map<MetricName, ? extends Metric> metrics, String group, String name) {
            for (Metric metric : metrics.values()) {
                MetricName of = metric.metricName();
                if (of.name().equals(name) && of.group().equals(group) && !of.tags().containsKey("topic")
                    && metric.metricValue() instanceof Double value) {
                    return value.longValue();
                }
            }
            return 0;
        }
    }

    /** What the kernel counted on this process's connections; -1 without the command ss. */
    private static long socketBytes() {
        String owner = "pid=" + ProcessHandle.current().pid() + ",";
        try {
            Process process = new ProcessBuilder("ss", "-tinpOH").start();
            long sum = 0;
            try (BufferedReader lines = new BufferedReader(new InputStreamReader(process.getInputStream()))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    int at = line.indexOf(" bytes_received:");
                    if (at >= 0 && line.contains(owner)) {
                        String rest = line.substring(at + 16);
                        sum += Long.parseLong(rest.split("\\s", 2)[0]);
                    }
                }
            }
            return process.waitFor() == 0 ? sum : -1;
        } catch (IOException | InterruptedException missing) {
            return -1;
        }
    }

    /** The measured window of a consumer. */
    static final class Meter {
        /** Partitions that were paused for good, where that was asked for. */
        int held;
        String version = AppInfoParser.getVersion();
        long warmup;
        long length = -1;
        long wanted = -1;
        private final String mode;
        private final String client;
        private String experiment;
        private Map<MetricName, ? extends Metric> metrics;
        private boolean measured;
        private long warmUntil = -1;
        private Usage begun;
        private Usage ended;
        private long kernelBefore;
        private long kernelAfter;
        private Totals before = new Totals(0, 0);
        private Totals after;
        private long records;
        private long bytes;
        private long checksum;
        private long polls;
        private long recordsBefore;
        private long bytesBefore;
        private long checksumBefore;
        private long pollsBefore;
        private int untilClock;
        private long lastRecord;
        private long lastRecords;

        Meter(String experiment, String mode, String client) {
            this.experiment = experiment;
            this.mode = mode;
            this.client = client;
        }

        /** Right before the first poll. */
        void begin(boolean idle, Map<MetricName, ? extends Metric> metrics) throws IOException {
            this.metrics = metrics;
            begun = Usage.now();
            lastRecord = begun.at;
            measured = wanted >= 0 && warmup == 0;
            if (idle) {
                experiment = "idle";
                warmUntil = begun.at + warmup;
            }
        }

        void record(ConsumerRecord<byte[], byte[]> record) {
            byte[] value = record.value();
            int size = value == null ? 0 : value.length;
            long first = size == 0 ? 0 : value[0] & 0xff;
            records++;
            bytes += size;
            checksum += (first * 0x9e37_79b9_7f4a_7c15L) ^ record.offset()
                ^ Long.rotateLeft(record.timestamp(), 24);
        }

        /** After each poll; whether the window has ended. */
        boolean polled() throws IOException {
            polls++;
            if (measured && wanted >= 0 && records >= wanted) {
                end();
                return true;
            }
            boolean silent = records == lastRecords;
            if (untilClock > 0 && !silent) {
                untilClock--;
                lastRecords = records;
                return false;
            }
            untilClock = CLOCK_EVERY;
            long now = System.nanoTime();
            if (!silent) {
                lastRecord = now;
                lastRecords = records;
            } else if (!experiment.equals("idle") && now - lastRecord > SILENCE_MAX_NS) {
                throw new IllegalStateException("no record for 10 s, after " + records);
            }
            if (measured) {
                if (length >= 0 && now - begun.at >= length) {
                    end();
                    return true;
                }
            } else if (warmUntil < 0 && !silent) {
                warmUntil = now + warmup;
            } else if (warmUntil >= 0 && now >= warmUntil) {
                measured = true;
                recordsBefore = records;
                bytesBefore = bytes;
                checksumBefore = checksum;
                pollsBefore = polls;
                kernelBefore = socketBytes();
                before = totals();
                begun = Usage.now();
            }
            return false;
        }

        private Totals totals() {
            long requests = Totals.of(metrics, "consumer-fetch-manager-metrics", "fetch-total").requests;
            return new Totals(requests, Totals.of(metrics, "consumer-metrics", "request-total").received);
        }

        private void end() throws IOException {
            ended = Usage.now();
            after = totals();
            kernelAfter = socketBytes();
        }

        String report() throws IOException {
            boolean kernel = kernelBefore >= 0 && kernelAfter >= 0;
            long received = kernel ? kernelAfter - kernelBefore : after.received - before.received;
            return new Report(client, version, experiment, mode, begun, ended)
                .number("records", records - recordsBefore).number("bytes", bytes - bytesBefore)
                .number("polls", polls - pollsBefore)
                .number("fetches", after.requests - before.requests)
                .number("bytes_received", received).number("errors", 0).number("held", held)
                .number("fetches_all", after.requests).number("records_all", records)
                .text("checksum", String.format("%016x", checksum - checksumBefore)).line();
        }
    }

    /** One line of JSON. */
    static final class Report {
        private final StringBuilder json = new StringBuilder("{");

        Report(String client, String version, String experiment, String mode, Usage begun, Usage ended) throws IOException {
            text("client", client).text("version", version);
            text("experiment", experiment).text("mode", mode);
            real("seconds", (ended.at - begun.at) / 1e9).real("cpu_seconds", ended.cpu - begun.cpu);
            real("cpu_user", ended.user - begun.user).real("cpu_sys", ended.system - begun.system);
            number("voluntary_switches", ended.voluntary - begun.voluntary);
            for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
                if (line.startsWith("VmHWM:")) {
                    number("rss_peak_kib", Long.parseLong(line.substring(6).replace("kB", "").trim()));
                }
            }
        }

        Report text(String name, String value) {
            return raw(name, '"' + value.replace("\\", "\\\\").replace("\"", "\\\"") + '"');
        }

        Report number(String name, long value) {
            return raw(name, Long.toString(value));
        }

        Report real(String name, double value) {
            return raw(name, Double.toString(value));
        }

        Report none(String name) {
            return raw(name, "null");
        }

        private Report raw(String name, String value) {
            json.append(json.length() > 1 ? ", \"" : "\"").append(name).append("\": ").append(value);
            return this;
        }

        String line() {
            return json.append('}').toString();
        }
    }
}
