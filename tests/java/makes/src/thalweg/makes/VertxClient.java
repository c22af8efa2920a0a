package thalweg.makes;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

import io.vertx.core.Vertx;
import io.vertx.kafka.client.consumer.KafkaReadStream;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * A member: Vert.x' client. Vert.x calls its handlers of rebalances later, on another thread, so the lines are written
 * by a listener around the one that Vert.x gives to the consumer.
 */
public final class VertxClient {
    private VertxClient() {
    }

    private static final class Told extends KafkaConsumer<byte[], byte[]> {
        private final Worker worker;

        private Told(Worker worker) {
            super(worker.settings());
            this.worker = worker;
        }

        @Override
        public void subscribe(Collection<String> topics, ConsumerRebalanceListener inner) {
            super.subscribe(topics, new ConsumerRebalanceListener() {
                @Override
                public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                    Map<TopicPartition, Long> positions = new HashMap<>();
                    partitions.forEach(partition -> positions.put(partition, position(partition)));
                    worker.assigned(positions);
                    inner.onPartitionsAssigned(partitions);
                }

                @Override
                public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                    worker.gone("revoked", partitions);
                    inner.onPartitionsRevoked(partitions);
                }

                @Override
                public void onPartitionsLost(Collection<TopicPartition> partitions) {
                    worker.gone("lost", partitions);
                    inner.onPartitionsLost(partitions);
                }
            });
        }
    }

    public static void main(String[] args) throws Exception {
        Worker worker = new Worker(args);
        Vertx vertx = Vertx.vertx();
        KafkaReadStream<byte[], byte[]> stream = KafkaReadStream.create(vertx, new Told(worker));
        // Both are used by the event loop alone.
        Map<TopicPartition, OffsetAndMetadata> dirty = new HashMap<>();
        stream.exceptionHandler(worker::error);
        stream.handler((ConsumerRecord<byte[], byte[]> record) -> {
            TopicPartition partition = new TopicPartition(record.topic(), record.partition());
            if (worker.work(partition, record.offset(), record.offset())) {
                dirty.put(partition, new OffsetAndMetadata(record.offset() + 1));
            }
        });
        vertx.setPeriodic(worker.number("commit_ms"), timer -> {
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>(dirty);
            dirty.clear();
            offsets.keySet().removeIf(partition -> !worker.owns(partition));
            if (!offsets.isEmpty()) {
                stream.commit(offsets).onFailure(worker::error);
            }
        });
        stream.pollTimeout(java.time.Duration.ofMillis(100));
        Set<String> topics = new HashSet<>(worker.topics());
        stream.subscribe(topics).onFailure(worker::error);
        worker.stopping.await();
        stream.close().toCompletionStage().toCompletableFuture().get();
        worker.left();
    }
}
