import java.io.IOException;
import java.util.HashSet;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.pekko.Done;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.kafka.ConsumerSettings;
import org.apache.pekko.kafka.Subscriptions;
import org.apache.pekko.kafka.javadsl.Consumer;
import org.apache.pekko.stream.javadsl.Sink;

/** Pekko Connectors Kafka as a peer: a stream whose stage is slower than the network. */
public final class Streams {
    /** Silence after which a run gives up. */
    private static final long SILENCE_MAX_S = 10;
    /** What a stage that was late may make up for: the clock's coarseness, and no more. */
    private static final long LATE_MAX_NS = TimeUnit.MILLISECONDS.toNanos(20);

    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    private final CompletableFuture<String> report = new CompletableFuture<>();
    private final Peer.Meter meter;
    private Map<MetricName, ? extends Metric> metrics;
    private long records;

    private Streams(Peer.Meter meter) {
        this.meter = meter;
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 0 || !arguments[0].equals("stream")) {
            throw new IllegalArgumentException("stream is all that this one does");
        }
        System.out.println(stream(new Peer.Options(arguments)));
        // Nothing that is still closing belongs to the run.
        System.exit(0);
    }

    private static String stream(Peer.Options options) throws Exception {
        String mode = options.text("mode", "assign");
        String topic = options.text("topic", null);
        double rate = options.number("rate", "20000");
        long burst = options.number("burst", "200");
        boolean partitioned = options.truth("partitioned", "false");
        double slow = options.number("slow-rate", "0");
        Properties config = Peer.consumer(options, mode.equals("consumer") ? "consumer" : "classic", 500);
        Peer.fetching(options, config);
        config.put("auto.offset.reset", "earliest");
        config.put("enable.auto.commit", false);
        config.putAll(options.sets);
        Peer.Meter meter = new Peer.Meter("stream", mode, "pekko");
        meter.version = Consumer.class.getPackage().getImplementationVersion() + " on " + meter.version;
        meter.warmup = options.nanos("warmup-seconds", "0");
        meter.wanted = options.number("records", null);
        options.finish();
        if (partitioned && mode.equals("assign")) {
            throw new IllegalArgumentException("--partitioned needs a group: --mode classic or consumer");
        }
        Set<TopicPartition> all = partitions(config, topic);
        ActorSystem system = ActorSystem.create();
        Streams run = new Streams(meter);
        ConsumerSettings<byte[], byte[]> settings = run.settings(system, config);
        CompletionStage<Done> ended;
        if (partitioned) {
            double share = rate / all.size();
            ended = Consumer.plainPartitionedSource(settings, Subscriptions.topics(topic))
                .mapAsyncUnordered(all.size(), pair -> {
                    boolean first = pair.first().partition() == 0;
                    Stage stage = run.new Stage(first && slow > 0 ? slow : share, burst);
                    return pair.second().mapAsync(1, stage::took).runWith(Sink.ignore(), system);
                })
                .runWith(Sink.ignore(), system);
        } else {
            Stage stage = run.new Stage(rate, burst);
            var subscription = mode.equals("assign") ? Subscriptions.assignment(all) : Subscriptions.topics(topic);
            ended = Consumer.plainSource(settings, subscription)
                .mapAsync(1, stage::took).runWith(Sink.ignore(), system);
        }
        ended.whenComplete((done, error) -> {
            Throwable why = error != null ? error : new IllegalStateException("the stream ended before its records did");
            run.report.completeExceptionally(why);
        });
        return run.await();
    }

    private static Set<TopicPartition> partitions(Properties config, String topic) {
        Set<TopicPartition> all = new HashSet<>();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config)) {
            consumer.partitionsFor(topic).forEach(part -> all.add(new TopicPartition(topic, part.partition())));
        }
        return all;
    }

    /** The client's own settings; the connector's stay at their defaults. */
    private ConsumerSettings<byte[], byte[]> settings(ActorSystem system, Properties config) {
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        ConsumerSettings<byte[], byte[]> settings = ConsumerSettings.create(system, bytes, bytes);
        for (String name : config.stringPropertyNames()) {
            settings = settings.withProperty(name, config.getProperty(name));
        }
        for (Map.Entry<Object, Object> entry : config.entrySet()) {
            if (!(entry.getValue() instanceof String) && !(entry.getValue() instanceof Class)) {
                settings = settings.withProperty(entry.getKey().toString(), entry.getValue().toString());
            }
        }
        // What the default does, with a look at the metrics.
        return settings.withConsumerFactory(with -> {
            KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(with.getProperties(), bytes, bytes);
            synchronized (this) {
                metrics = consumer.metrics();
            }
            return consumer;
        });
    }

    private String await() throws Exception {
        for (long before = -1;;) {
            try {
                return report.get(SILENCE_MAX_S, TimeUnit.SECONDS);
            } catch (TimeoutException going) {
                long now;
                synchronized (this) {
                    now = records;
                }
                if (now == before) {
                    throw new IllegalStateException("no record for 10 s, after " + now);
                }
                before = now;
            }
        }
    }

    private synchronized void count(ConsumerRecord<byte[], byte[]> record) throws IOException {
        if (report.isDone()) {
            return;
        }
        if (records == 0) {
            meter.begin(false, metrics);
        }
        records++;
        meter.record(record);
        if (meter.polled()) {
            report.complete(meter.report());
        }
    }

    /** Takes some records at once, and is busy then for as long as they are worth. */
    private final class Stage {
        private final long burst;
        private final long busy;
        private long left;
        private boolean begun;
        private long due;

        Stage(double rate, long burst) {
            this.burst = burst;
            busy = (long) (burst / rate * 1e9);
            left = burst;
        }

        CompletionStage<Done> took(ConsumerRecord<byte[], byte[]> record) throws IOException {
            count(record);
            left--;
            if (left > 0) {
                return CompletableFuture.completedFuture(Done.getInstance());
            }
            left = burst;
            long now = System.nanoTime();
            due = (begun ? Math.max(due, now - LATE_MAX_NS) : now) + busy;
            begun = true;
            CompletableFuture<Done> over = new CompletableFuture<>();
            timer.schedule(() -> over.complete(Done.getInstance()), due - now, TimeUnit.NANOSECONDS);
            return over;
        }
    }
}
