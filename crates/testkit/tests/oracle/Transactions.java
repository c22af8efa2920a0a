import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Transactional producers of Kafka's client, and readers of what they write. Each line of standard input is a command,
 * and is answered by a line: "ok", what was asked for, or "failed" and why.
 */
public final class Transactions {
    private static final PrintStream OUT = System.out;

    private final Map<String, KafkaProducer<String, String>> producers = new HashMap<>();
    private final Map<String, List<Future<RecordMetadata>>> sent = new HashMap<>();

    private static Properties configs(String bootstrap) {
        Properties configs = new Properties();
        configs.put("bootstrap.servers", bootstrap);
        configs.put("reconnect.backoff.max.ms", "100");
        return configs;
    }

    private void open(String name, String bootstrap, String timeoutMs) {
        Properties configs = configs(bootstrap);
        configs.put("transactional.id", name);
        configs.put("transaction.timeout.ms", timeoutMs);
        configs.put("max.block.ms", "30000");
        configs.put("delivery.timeout.ms", "60000");
        configs.put("request.timeout.ms", "10000");
        StringSerializer strings = new StringSerializer();
        KafkaProducer<String, String> producer = new KafkaProducer<>(configs, strings, strings);
        producers.put(name, producer);
        sent.put(name, new ArrayList<>());
        producer.initTransactions();
    }

    private void flush(String name) throws Exception {
        producers.get(name).flush();
        for (Future<RecordMetadata> one : sent.get(name)) {
            one.get();
        }
        sent.get(name).clear();
    }

    /** All values of a partition that a reader of this isolation level sees. */
    private static String read(String bootstrap, String topic, int partition, String isolation) {
        Properties configs = configs(bootstrap);
        configs.put("isolation.level", isolation);
        StringDeserializer strings = new StringDeserializer();
        TopicPartition of = new TopicPartition(topic, partition);
        List<String> values = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(configs, strings, strings)) {
            consumer.assign(List.of(of));
            consumer.seekToBeginning(List.of(of));
            long end = consumer.endOffsets(List.of(of)).get(of);
            long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
            while (consumer.position(of) < end) {
                if (System.nanoTime() > deadline) {
                    throw new IllegalStateException("at " + consumer.position(of) + " of " + end + ": " + values);
                }
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    values.add(record.value());
                }
            }
        }
        return String.join(",", values);
    }

    private String answer(String[] words) throws Exception {
        String name = words[1];
        KafkaProducer<String, String> producer = producers.get(name);
        switch (words[0]) {
            case "open" -> open(name, words[2], words[3]);
            case "begin" -> producer.beginTransaction();
            case "send" -> {
                int partition = Integer.parseInt(words[3]);
                sent.get(name).add(producer.send(new ProducerRecord<>(words[2], partition, null, words[4])));
            }
            case "flush" -> flush(name);
            case "offset" -> {
                TopicPartition of = new TopicPartition(words[3], Integer.parseInt(words[4]));
                OffsetAndMetadata offset = new OffsetAndMetadata(Long.parseLong(words[5]));
                producer.sendOffsetsToTransaction(Map.of(of, offset), new ConsumerGroupMetadata(words[2]));
            }
            case "commit" -> {
                producer.commitTransaction();
                sent.get(name).clear();
            }
            case "abort" -> {
                producer.abortTransaction();
                sent.get(name).clear();
            }
            // Without an end of its transaction.
            case "leave" -> producers.remove(name).close(Duration.ZERO);
            case "read" -> {
                return read(words[2], words[3], Integer.parseInt(words[4]), words[1]);
            }
            default -> throw new IllegalArgumentException(Arrays.toString(words));
        }
        return "ok";
    }

    public static void main(String[] args) throws Exception {
        Transactions all = new Transactions();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = all.answer(line.split(" "));
            } catch (Exception error) {
                answer = "failed " + error;
            }
            OUT.println(answer.replace('\n', ' '));
            OUT.flush();
        }
        all.producers.values().forEach(producer -> producer.close(Duration.ZERO));
    }
}
