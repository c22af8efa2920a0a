package thalweg.conformance;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;

import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * One instance of an application that counts the words of the lines in a topic, in a store with a changelog. Every
 * count goes to the output topic.
 *
 * <p>Usage: {@code StreamsWorker bootstrap=HOST:PORT application=ID guarantee=exactly_once_v2|at_least_once
 * state=FOLDER from=TOPIC to=TOPIC}. Its lines: {@code state STATE}, {@code tasks N} (active ones, when it runs),
 * {@code restored TOPIC-PARTITION N} (records of a changelog), {@code failed WHY}. It closes when its standard input
 * ends.
 */
public final class StreamsWorker {
    private static final Duration CLOSE_MAX = Duration.ofSeconds(30);

    private StreamsWorker() {}

    public static void main(String[] args) throws Exception {
        Map<String, String> given = new HashMap<>();
        for (String arg : args) {
            String[] parts = arg.split("=", 2);
            if (parts.length < 2) {
                System.err.println("not NAME=VALUE: " + arg);
                System.exit(2);
            }
            given.put(parts[0], parts[1]);
        }
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        KafkaStreams streams = new KafkaStreams(topology(given).build(), settings(given));
        streams.setUncaughtExceptionHandler(thrown -> {
            out.println("failed " + String.valueOf(thrown).replaceAll("\\R", " "));
            thrown.printStackTrace();
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.setStateListener((now, before) -> {
            out.println("state " + now);
            if (now == KafkaStreams.State.RUNNING) {
                out.println("tasks " + streams.metadataForLocalThreads().stream()
                        .mapToInt(thread -> thread.activeTasks().size()).sum());
            }
        });
        streams.setGlobalStateRestoreListener(new StateRestoreListener() {
            @Override
            public void onRestoreStart(TopicPartition partition, String store, long begin, long end) {}

            @Override
            public void onBatchRestored(TopicPartition partition, String store, long end, long count) {}

            @Override
            public void onRestoreEnd(TopicPartition partition, String store, long total) {
                out.println("restored " + partition + " " + total);
            }
        });
        streams.start();
        while (System.in.read() >= 0) {
            // What is said to it counts for nothing.
        }
        System.exit(streams.close(CLOSE_MAX) ? 0 : 1);
    }

    private static StreamsBuilder topology(Map<String, String> given) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(given.get("from"), Consumed.with(Serdes.ByteArray(), Serdes.String()))
                .flatMapValues(line -> Arrays.asList(line.split(" ")))
                .groupBy((key, word) -> word, Grouped.with("by-word", Serdes.String(), Serdes.String()))
                // Without a cache, so that each count is seen.
                .count(Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("counts").withCachingDisabled())
                .toStream()
                .to(given.get("to"), Produced.with(Serdes.String(), Serdes.Long()));
        return builder;
    }

    private static Properties settings(Map<String, String> given) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, given.get("bootstrap"));
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, given.get("application"));
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, given.get("guarantee"));
        settings.put(StreamsConfig.STATE_DIR_CONFIG, given.get("state"));
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 200);
        settings.put(StreamsConfig.REPARTITION_PURGE_INTERVAL_MS_CONFIG, 1000);
        settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
        settings.put(StreamsConfig.mainConsumerPrefix(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG), 6000);
        settings.put(StreamsConfig.mainConsumerPrefix(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG), 300);
        settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG), 50);
        // Counts are to be seen before they are committed.
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), 5);
        settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.METADATA_MAX_AGE_CONFIG), 5000);
        if (!given.get("guarantee").equals(StreamsConfig.AT_LEAST_ONCE)) {
            // What a killed instance leaves open is aborted before its session ends.
            settings.put(StreamsConfig.producerPrefix(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG), 4000);
        }
        return settings;
    }
}
