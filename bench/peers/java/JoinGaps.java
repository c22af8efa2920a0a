import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * How long partitions have no owner when a member joins (`bench/kip848_joins.py`): some members stay, another joins and
 * leaves, again and again. A line for each join: milliseconds from the release by one that stays to the ownership of
 * the one that joins, of the partition that took longest.
 */
public final class JoinGaps {
    /** When a partition was given up or taken last, in nanoseconds. */
    private static final class Book implements ConsumerRebalanceListener {
        final ConcurrentHashMap<TopicPartition, Long> revoked = new ConcurrentHashMap<>();
        final ConcurrentHashMap<TopicPartition, Long> assigned = new ConcurrentHashMap<>();
        /** Changed last: the other thread looks at it first. */
        final Set<TopicPartition> owned = ConcurrentHashMap.newKeySet();

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            long now = System.nanoTime();
            partitions.forEach(partition -> revoked.put(partition, now));
            owned.removeAll(partitions);
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            long now = System.nanoTime();
            partitions.forEach(partition -> assigned.put(partition, now));
            owned.addAll(partitions);
        }
    }

    private static final class Member {
        final Book book = new Book();
        private final Thread thread;
        private volatile boolean ends;

        Member(String bootstrap, String group, String topic, int pollMs) {
            Properties settings = new Properties();
            settings.put("bootstrap.servers", bootstrap);
            settings.put("group.id", group);
            settings.put("group.protocol", "consumer");
            settings.put("auto.offset.reset", "latest");
            KafkaConsumer<byte[], byte[]> consumer =
                    new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            consumer.subscribe(List.of(topic), book);
            thread = new Thread(() -> {
                while (!ends) {
                    consumer.poll(Duration.ofMillis(pollMs));
                }
                consumer.close();
            });
            // An error of the main thread ends the program.
            thread.setDaemon(true);
            thread.start();
        }

        void end() throws InterruptedException {
            ends = true;
            thread.join();
        }
    }

    /** Waits until members have all partitions, and each its part. */
    private static void settle(List<Member> members, int partitions) throws InterruptedException {
        long deadline = System.nanoTime() + 60_000_000_000L;
        int part = partitions / members.size();
        while (members.stream().anyMatch(member -> member.book.owned.size() < part)
                || members.stream().mapToInt(member -> member.book.owned.size()).sum() != partitions) {
            if (System.nanoTime() > deadline) {
                members.forEach(member -> System.err.println("not settled: " + member.book.owned));
                System.exit(1);
            }
            Thread.sleep(1);
        }
    }

    /** When a partition was given up last. */
    private static long revoked(List<Member> members, TopicPartition partition) {
        return members.stream().mapToLong(m -> m.book.revoked.getOrDefault(partition, Long.MIN_VALUE)).max().orElseThrow();
    }

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0];
        String topic = args[1];
        String group = args[2];
        int partitions = Integer.parseInt(args[3]);
        int joins = Integer.parseInt(args[4]);
        int pollMs = Integer.parseInt(args[5]);
        int stay = Integer.parseInt(args[6]);
        Random random = new Random(1);
        List<Member> members = new ArrayList<>();
        for (int i = 0; i < stay; i++) {
            members.add(new Member(bootstrap, group, topic, pollMs));
        }
        for (int join = 0; join < joins; join++) {
            settle(members, partitions);
            // Heartbeats come at any time of the interval.
            Thread.sleep(500 + random.nextInt(1500));
            Member joiner = new Member(bootstrap, group, topic, pollMs);
            List<Member> before = List.copyOf(members);
            members.add(joiner);
            settle(members, partitions);
            long gap = 0;
            for (TopicPartition partition : joiner.book.owned) {
                gap = Math.max(gap, joiner.book.assigned.get(partition) - revoked(before, partition));
            }
            System.out.println(gap / 1e6);
            System.out.flush();
            members.remove(joiner);
            joiner.end();
        }
        for (Member member : members) {
            member.end();
        }
        System.exit(0);
    }
}
