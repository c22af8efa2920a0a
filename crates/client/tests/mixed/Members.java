import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Members of groups, each a Java consumer in a thread of its own, as told line by line:
 * {@code join NAME TOPIC,TOPIC CONFIG=VALUE ...} and {@code leave NAME}. Each says what it reads and
 * what becomes of it: {@code NAME read TOPIC PARTITION OFFSET}, {@code NAME assigned},
 * {@code NAME left}, {@code NAME failed WHY}.
 */
public final class Members {
    private static final PrintStream OUT = new PrintStream(System.out, true);

    private static void say(String line) {
        synchronized (OUT) {
            OUT.println(line);
        }
    }

    private static void run(String name, KafkaConsumer<String, String> consumer, String[] topics) {
        try (consumer) {
            consumer.subscribe(Arrays.asList(topics), new ConsumerRebalanceListener() {
                @Override
                public void onPartitionsRevoked(Collection<TopicPartition> gone) {
                    // A cooperative member reads on after its automatic commit, which comes before
                    // it joins: without this those records would be read by the next one, too.
                    consumer.commitSync();
                }

                @Override
                public void onPartitionsAssigned(Collection<TopicPartition> come) {
                    say(name + " assigned");
                }

                @Override
                public void onPartitionsLost(Collection<TopicPartition> gone) {
                    say(name + " failed lost " + gone);
                }
            });
            while (true) {
                for (ConsumerRecord<String, String> r : consumer.poll(Duration.ofSeconds(1))) {
                    say(name + " read " + r.topic() + " " + r.partition() + " " + r.offset());
                }
            }
        } catch (WakeupException told) {
            // The consumer is closed by now, and has left.
            say(name + " left");
        } catch (RuntimeException error) {
            say(name + " failed " + error);
        }
    }

    public static void main(String[] args) throws Exception {
        Map<String, KafkaConsumer<String, String>> members = new HashMap<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            String name = words[1];
            if (words[0].equals("leave")) {
                members.remove(name).wakeup();
                continue;
            }
            Properties configs = new Properties();
            for (String config : Arrays.asList(words).subList(3, words.length)) {
                String[] pair = config.split("=", 2);
                configs.put(pair[0], pair[1]);
            }
            StringDeserializer strings = new StringDeserializer();
            KafkaConsumer<String, String> consumer = new KafkaConsumer<>(configs, strings, strings);
            members.put(name, consumer);
            String[] topics = words[2].split(",");
            Thread thread = new Thread(() -> run(name, consumer, topics), name);
            thread.setDaemon(true);
            thread.start();
        }
    }
}
