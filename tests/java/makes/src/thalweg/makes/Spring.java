package thalweg.makes;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.listener.BatchMessageListener;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ConsumerAwareRebalanceListener;
import org.springframework.kafka.listener.ContainerProperties;

/** A member: a listener container of Spring Kafka, which commits each batch when the listener returns. */
public final class Spring implements ConsumerAwareRebalanceListener, BatchMessageListener<byte[], byte[]> {
    private final Worker worker;

    private Spring(Worker worker) {
        this.worker = worker;
    }

    public static void main(String[] args) throws Exception {
        Worker worker = new Worker(args);
        Spring spring = new Spring(worker);
        ContainerProperties properties = new ContainerProperties(worker.topics().toArray(new String[0]));
        properties.setAckMode(ContainerProperties.AckMode.BATCH);
        properties.setPollTimeout(100);
        properties.setMessageListener(spring);
        properties.setConsumerRebalanceListener(spring);
        ConcurrentMessageListenerContainer<byte[], byte[]> container = new ConcurrentMessageListenerContainer<>(
                new DefaultKafkaConsumerFactory<>(worker.settings()), properties);
        container.start();
        worker.stopping.await();
        container.stop();
        worker.left();
    }

    @Override
    public void onMessage(List<ConsumerRecord<byte[], byte[]>> records) {
        Map<String, long[]> runs = new TreeMap<>();
        Map<String, TopicPartition> partitions = new HashMap<>();
        for (ConsumerRecord<byte[], byte[]> record : records) {
            TopicPartition partition = new TopicPartition(record.topic(), record.partition());
            partitions.put(partition.toString(), partition);
            runs.computeIfAbsent(partition.toString(), none -> new long[] {record.offset(), 0})[1] = record.offset();
        }
        runs.forEach((name, run) -> {
            if (!worker.work(partitions.get(name), run[0], run[1])) {
                worker.error(new IllegalStateException(name + " " + run[0] + " is not the next record"));
            }
        });
    }

    @Override
    public void onPartitionsRevokedAfterCommit(Consumer<?, ?> consumer, Collection<TopicPartition> partitions) {
        worker.gone("revoked", partitions);
    }

    @Override
    public void onPartitionsLost(Consumer<?, ?> consumer, Collection<TopicPartition> partitions) {
        worker.gone("lost", partitions);
    }

    @Override
    public void onPartitionsAssigned(Consumer<?, ?> consumer, Collection<TopicPartition> partitions) {
        Map<TopicPartition, Long> positions = new HashMap<>();
        partitions.forEach(partition -> positions.put(partition, consumer.position(partition)));
        worker.assigned(positions);
    }
}
