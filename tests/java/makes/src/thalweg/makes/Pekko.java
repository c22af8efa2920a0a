package thalweg.makes;

import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;

import com.typesafe.config.ConfigFactory;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.kafka.CommitterSettings;
import org.apache.pekko.kafka.ConsumerMessage;
import org.apache.pekko.kafka.ConsumerSettings;
import org.apache.pekko.kafka.RestrictedConsumer;
import org.apache.pekko.kafka.Subscriptions;
import org.apache.pekko.kafka.javadsl.Committer;
import org.apache.pekko.kafka.javadsl.Consumer;
import org.apache.pekko.kafka.javadsl.PartitionAssignmentHandler;
import org.apache.pekko.stream.RestartSettings;
import org.apache.pekko.stream.javadsl.RestartSource;
import org.apache.pekko.stream.javadsl.Sink;

/** A member: a committable source of Pekko Connectors, started again when it fails, as its guide has it. */
public final class Pekko implements PartitionAssignmentHandler {
    private final Worker worker;

    private Pekko(Worker worker) {
        this.worker = worker;
    }

    public static void main(String[] args) throws Exception {
        Worker worker = new Worker(args);
        // Its log goes to the standard output, which has the lines.
        ActorSystem system = ActorSystem.create("makes",
                ConfigFactory.parseString("pekko.loglevel = OFF, pekko.stdout-loglevel = OFF, pekko.log-dead-letters = off")
                        .withFallback(ConfigFactory.load()));
        Map<String, String> properties = new HashMap<>();
        worker.settings().forEach((name, value) -> properties.put(name, value.toString()));
        ConsumerSettings<byte[], byte[]> settings = ConsumerSettings
                .create(system, new ByteArrayDeserializer(), new ByteArrayDeserializer())
                .withProperties(properties)
                .withStopTimeout(Duration.ZERO);
        CommitterSettings committer = CommitterSettings.create(system)
                .withMaxInterval(Duration.ofMillis(worker.number("commit_ms")));
        AtomicReference<Consumer.Control> control = new AtomicReference<>(Consumer.createNoopControl());
        Set<String> topics = new HashSet<>(worker.topics());
        var done = RestartSource
                .onFailuresWithBackoff(
                        RestartSettings.create(Duration.ofMillis(200), Duration.ofSeconds(1), 0.1),
                        () -> Consumer
                                .committableSource(settings,
                                        Subscriptions.topics(topics).withPartitionAssignmentHandler(new Pekko(worker)))
                                .mapMaterializedValue(now -> {
                                    control.set(now);
                                    return now;
                                })
                                .filter(message -> work(worker, message))
                                .map(ConsumerMessage.CommittableMessage::committableOffset)
                                .via(Committer.flow(committer))
                                .mapError(Throwable.class, error -> {
                                    worker.error(error);
                                    return error;
                                }))
                .runWith(Sink.ignore(), system);
        worker.stopping.await();
        control.get().drainAndShutdown(done, system.dispatcher()).toCompletableFuture().get();
        worker.left();
    }

    private static boolean work(Worker worker, ConsumerMessage.CommittableMessage<byte[], byte[]> message) {
        TopicPartition partition = new TopicPartition(message.record().topic(), message.record().partition());
        return worker.work(partition, message.record().offset(), message.record().offset());
    }

    @Override
    public void onRevoke(Set<TopicPartition> partitions, RestrictedConsumer consumer) {
        worker.gone("revoked", partitions);
    }

    @Override
    public void onAssign(Set<TopicPartition> partitions, RestrictedConsumer consumer) {
        Map<TopicPartition, Long> positions = new HashMap<>();
        partitions.forEach(partition -> positions.put(partition, consumer.position(partition)));
        worker.assigned(positions);
    }

    @Override
    public void onLost(Set<TopicPartition> partitions, RestrictedConsumer consumer) {
        worker.gone("lost", partitions);
    }

    @Override
    public void onStop(Set<TopicPartition> partitions, RestrictedConsumer consumer) {
        worker.gone("revoked", partitions);
    }
}
