package thalweg.conformance;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Properties;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * An idempotent producer that keeps sending through the broker's deaths, for the kill suite.
 *
 * <p>Usage: {@code KillLoad HOST:PORT TOPIC PARTITIONS NAME}. Values are {@code NAME:PARTITION:NUMBER:...}.
 * Prints {@code PARTITION NUMBER OFFSET} for each acknowledgement, {@code error ...} for each
 * refusal, and ends when its standard input does.
 */
public final class KillLoad {
    private KillLoad() {}

    public static void main(String[] args) throws Exception {
        String topic = args[1];
        int partitions = Integer.parseInt(args[2]);
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("enable.idempotence", "true");
        settings.put("linger.ms", "3");
        settings.put("batch.size", "2000");
        settings.put("delivery.timeout.ms", "300000");
        settings.put("request.timeout.ms", "5000");
        settings.put("max.block.ms", "300000");
        settings.put("reconnect.backoff.max.ms", "200");
        settings.put("compression.type", "zstd");
        Thread stop = new Thread(() -> {
            try {
                System.in.transferTo(java.io.OutputStream.nullOutputStream());
            } catch (java.io.IOException closed) {
                // The same as its end.
            }
        });
        stop.setDaemon(true);
        stop.start();
        PrintStream out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false, "UTF-8");
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (long i = 0; stop.isAlive(); i++) {
                int partition = (int) (i % partitions);
                long number = i / partitions;
                String value = args[3] + ":" + partition + ":" + number + ":" + "x".repeat((int) (i % 97));
                producer.send(new ProducerRecord<>(topic, partition, null, value.getBytes(StandardCharsets.UTF_8)), (at, error) -> {
                    synchronized (out) {
                        out.println(error == null ? partition + " " + number + " " + at.offset()
                                : "error " + partition + " " + number + " " + error);
                        out.flush();
                    }
                });
                Thread.sleep(1);
            }
        }
    }
}
