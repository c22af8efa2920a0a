package thalweg.conformance;

import static thalweg.conformance.Context.check;
import static thalweg.conformance.Context.eventually;
import static thalweg.conformance.Context.partitions;
import static thalweg.conformance.Context.same;
import static thalweg.conformance.Context.send;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;

import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.InconsistentGroupProtocolException;
import org.apache.kafka.common.errors.InvalidSessionTimeoutException;
import org.apache.kafka.common.errors.RebalanceInProgressException;

/** Consumer groups through the official consumer: classic ones, and those of the consumer protocol. */
final class GroupCases {
    private static final Map<String, String> ASSIGNORS = new TreeMap<>(Map.of(
            "range", "org.apache.kafka.clients.consumer.RangeAssignor",
            "roundrobin", "org.apache.kafka.clients.consumer.RoundRobinAssignor",
            "sticky", "org.apache.kafka.clients.consumer.StickyAssignor",
            "cooperative-sticky", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"));

    private GroupCases() {}

    static List<Case> all() {
        List<Case> cases = new ArrayList<>();
        for (var assignor : ASSIGNORS.entrySet()) {
            cases.add(Case.of("groups.rebalance-" + assignor.getKey(), c -> rebalance(c, classic(assignor.getValue()))));
            cases.add(Case.of("groups.two-topics-" + assignor.getKey(), c -> twoTopics(c, assignor.getValue())));
        }
        for (String assignor : List.of("uniform", "range")) {
            cases.add(Case.of("groups.consumer-protocol-" + assignor, c -> rebalance(c, List.of(
                    "group.protocol", "consumer", "group.remote.assignor", assignor))));
        }
        cases.add(Case.of("groups.consumer-protocol-new-topics", GroupCases::newTopics));
        cases.add(Case.of("groups.static-member-returns", GroupCases::staticMemberReturns));
        cases.add(Case.of("groups.static-member-fenced", GroupCases::staticMemberFenced));
        cases.add(Case.of("groups.session-timeout", GroupCases::sessionTimeout));
        cases.add(Case.of("groups.commit-sync-async", GroupCases::commits));
        cases.add(Case.of("groups.commit-after-eviction", GroupCases::commitAfterEviction));
        cases.add(Case.of("groups.auto-commit", GroupCases::autoCommit));
        cases.add(Case.of("groups.pattern-subscription", GroupCases::patternSubscription));
        cases.add(Case.of("groups.new-partitions", GroupCases::newPartitions));
        cases.add(Case.of("groups.protocol-selection", GroupCases::protocolSelection));
        cases.add(Case.of("groups.inconsistent-protocol", GroupCases::inconsistentProtocol));
        cases.add(Case.of("groups.bad-session-timeout", GroupCases::badSessionTimeout));
        cases.add(Case.of("groups.enforced-rebalance", GroupCases::enforcedRebalance));
        cases.add(Case.of("groups.many-members", GroupCases::manyMembers));
        return cases;
    }

    /** A consumer on its own thread that commits what it has handed over before it lets partitions go. */
    private static final class Member implements ConsumerRebalanceListener {
        final KafkaConsumer<byte[], byte[]> consumer;
        final Map<String, List<String>> seen;
        final Set<TopicPartition> owned = Collections.synchronizedSet(new HashSet<>());
        final AtomicInteger rebalances = new AtomicInteger();
        final AtomicInteger generation = new AtomicInteger();
        final AtomicReference<Throwable> failure = new AtomicReference<>();
        private final AtomicReference<CloseOptions.GroupMembershipOperation> stop = new AtomicReference<>();
        private final AtomicBoolean enforce = new AtomicBoolean();
        private final Thread thread;

        Member(Context c, Collection<String> topics, Map<String, List<String>> seen, String... configs) {
            this.consumer = c.consumer(configs);
            this.seen = seen;
            this.thread = new Thread(() -> loop(topics), "member");
            thread.setDaemon(true);
            thread.start();
        }

        private void loop(Collection<String> topics) {
            try {
                consumer.subscribe(topics, this);
                while (stop.get() == null) {
                    if (enforce.getAndSet(false)) {
                        consumer.enforceRebalance("asked for by the test");
                    }
                    poll();
                }
                while (!isCommitted()) {
                    poll();
                }
                consumer.close(CloseOptions.groupMembershipOperation(stop.get()).withTimeout(Duration.ofSeconds(10)));
            } catch (Throwable thrown) {
                failure.set(thrown);
            }
        }

        private void poll() {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(30))) {
                String value = record.value() == null ? "" : new String(record.value());
                seen.computeIfAbsent(record.topic() + "/" + record.partition() + "/" + record.offset(),
                        k -> Collections.synchronizedList(new ArrayList<>())).add(value);
            }
        }

        /** A rebalance that has begun is completed by polling first: the consumer refuses until then. */
        private boolean isCommitted() {
            try {
                consumer.commitSync();
                return true;
            } catch (RebalanceInProgressException e) {
                return false;
            }
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            consumer.commitSync();
            owned.removeAll(partitions);
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            owned.removeAll(partitions);
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            generation.set(consumer.groupMetadata().generationId());
            owned.addAll(partitions);
            rebalances.incrementAndGet();
        }

        void leave(CloseOptions.GroupMembershipOperation how) throws Exception {
            stop.set(how);
            thread.join(20_000);
            check(!thread.isAlive(), "member did not stop");
            healthy();
        }

        void healthy() {
            if (failure.get() != null) {
                throw new AssertionError("member failed: " + failure.get(), failure.get());
            }
        }
    }

    private static final CloseOptions.GroupMembershipOperation LEAVE = CloseOptions.GroupMembershipOperation.LEAVE_GROUP;
    private static final CloseOptions.GroupMembershipOperation REMAIN =
            CloseOptions.GroupMembershipOperation.REMAIN_IN_GROUP;

    private static void settled(String what, int partitionCount, Member... members) throws Exception {
        eventually(what, 40_000, () -> {
            Set<TopicPartition> union = new HashSet<>();
            int total = 0;
            for (Member member : members) {
                member.healthy();
                if (member.owned.isEmpty()) {
                    return false;
                }
                synchronized (member.owned) {
                    union.addAll(member.owned);
                    total += member.owned.size();
                }
            }
            return union.size() == partitionCount && total == partitionCount;
        });
    }

    /**
     * The group has come to rest: it is stable, and its members own what it says that they do. Under the
     * consumer protocol one member may have got its partitions while another still gives some up, so that
     * every partition having an owner does not say that the target is reached.
     */
    private static void stable(Context c, String group, Member... members) throws Exception {
        eventually("group is stable", 20_000, () -> {
            var described = c.admin().describeConsumerGroups(List.of(group)).all().get().get(group);
            Set<Set<TopicPartition>> assigned = new HashSet<>();
            for (var member : described.members()) {
                assigned.add(member.assignment().topicPartitions());
            }
            Set<Set<TopicPartition>> owned = new HashSet<>();
            for (Member member : members) {
                member.healthy();
                synchronized (member.owned) {
                    owned.add(Set.copyOf(member.owned));
                }
            }
            return described.groupState() == GroupState.STABLE && assigned.equals(owned);
        });
    }

    private static String sizes(Member... members) {
        List<Integer> sizes = new ArrayList<>();
        for (Member member : members) {
            sizes.add(member.owned.size());
        }
        Collections.sort(sizes);
        return sizes.toString();
    }

    /** A steady stream into the topic until stopped; counts what was acknowledged. */
    private static final class Stream implements AutoCloseable {
        private final Thread thread;
        private final AtomicBoolean stop = new AtomicBoolean();
        final Map<String, String> acknowledged = new ConcurrentHashMap<>();

        Stream(Context c, String topic, int partitionCount) {
            KafkaProducer<byte[], byte[]> producer = c.producer("linger.ms", "2");
            thread = new Thread(() -> {
                for (int i = 0; !stop.get(); i++) {
                    String value = "s" + i;
                    producer.send(new ProducerRecord<>(topic, i % partitionCount, null, value.getBytes()), (at, e) -> {
                        if (e == null) {
                            acknowledged.put(at.topic() + "/" + at.partition() + "/" + at.offset(), value);
                        }
                    });
                    try {
                        Thread.sleep(3);
                    } catch (InterruptedException e) {
                        break;
                    }
                }
                producer.close(Duration.ofSeconds(20));
            });
            thread.setDaemon(true);
            thread.start();
        }

        @Override
        public void close() throws Exception {
            stop.set(true);
            thread.join(25_000);
            check(!thread.isAlive(), "producer did not stop");
        }
    }

    private static List<String> classic(String assignor) {
        return List.of("partition.assignment.strategy", assignor, "heartbeat.interval.ms", "200");
    }

    private static void rebalance(Context c, List<String> protocol) throws Exception {
        String topic = c.topic("t", 6);
        String group = c.name("g");
        Map<String, List<String>> seen = new ConcurrentHashMap<>();
        String[] configs = with(protocol.toArray(String[]::new), "group.id", group, "fetch.max.wait.ms", "50");
        Stream stream = new Stream(c, topic, 6);
        Member a = new Member(c, List.of(topic), seen, configs);
        settled("one member", 6, a);
        stable(c, group, a);
        c.line("one: %s", sizes(a));
        Member b = new Member(c, List.of(topic), seen, configs);
        settled("two members", 6, a, b);
        stable(c, group, a, b);
        c.line("two: %s", sizes(a, b));
        Member d = new Member(c, List.of(topic), seen, configs);
        settled("three members", 6, a, b, d);
        stable(c, group, a, b, d);
        c.line("three: %s", sizes(a, b, d));
        c.line("described: %s", describe(c, group));
        a.leave(LEAVE);
        settled("two of three", 6, b, d);
        stable(c, group, b, d);
        c.line("after one left: %s", sizes(b, d));
        b.leave(LEAVE);
        settled("one of three", 6, d);
        stream.close();
        eventually("every acknowledged record is seen", 30_000, () -> {
            d.healthy();
            return seen.keySet().containsAll(stream.acknowledged.keySet());
        });
        d.leave(LEAVE);
        same("records", new TreeSet<>(stream.acknowledged.keySet()), new TreeSet<>(seen.keySet()));
        for (var one : stream.acknowledged.entrySet()) {
            same("values at " + one.getKey(), List.of(one.getValue()), seen.get(one.getKey()));
        }
        var committed = c.admin().listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
        for (TopicPartition tp : partitions(topic, 6)) {
            long count = stream.acknowledged.keySet().stream().filter(k -> k.startsWith(topic + "/" + tp.partition() + "/")).count();
            same("committed of " + tp, count, committed.get(tp).offset());
        }
        eventually("group is empty", 10_000, () -> describe(c, group).startsWith("Empty"));
        c.line("described: %s", describe(c, group));
        c.line("every record once, all committed");
    }

    static String describe(Context c, String group) throws Exception {
        var any = c.admin().describeConsumerGroups(List.of(group)).all().get().get(group);
        if (any.type() == GroupType.CONSUMER) {
            return any.groupState() + " assignor " + any.partitionAssignor() + " members " + any.members().size();
        }
        var description = c.admin().describeClassicGroups(List.of(group)).all().get().get(group);
        return description.state() + " protocol " + description.protocol() + " " + description.protocolData()
                + " members " + description.members().size();
    }

    /** Topics that come to be, by name and by pattern, reach members of the consumer protocol. */
    private static void newTopics(Context c) throws Exception {
        String one = c.topic("one", 1);
        Map<String, List<String>> seen = new ConcurrentHashMap<>();
        String[] configs = {"group.id", c.name("g"), "group.protocol", "consumer", "allow.auto.create.topics", "false"};
        String later = c.name("later");
        Member member = new Member(c, List.of(one, later), seen, configs);
        settled("what there is", 1, member);
        c.admin().createTopics(List.of(new NewTopic(later, 2, (short) 1))).all().get();
        settled("what there is now", 3, member);
        member.leave(LEAVE);
        try (KafkaConsumer<byte[], byte[]> consumer = c.consumer("group.id", c.name("p"), "group.protocol", "consumer")) {
            consumer.subscribe(new SubscriptionPattern(later + ".*"));
            eventually("what matches", 20_000, () -> {
                consumer.poll(Duration.ofMillis(50));
                return consumer.assignment().size() == 2;
            });
            for (TopicPartition tp : consumer.assignment()) {
                same("the topic that matches", later, tp.topic());
            }
        }
        c.line("1, then 3 partitions; 2 by pattern");
    }

    private static void twoTopics(Context c, String assignor) throws Exception {
        String one = c.topic("one", 4);
        String two = c.topic("two", 5);
        Map<String, List<String>> seen = new ConcurrentHashMap<>();
        String[] configs = {"group.id", c.name("g"), "partition.assignment.strategy", assignor,
            "heartbeat.interval.ms", "200", "client.id", "x"};
        KafkaProducer<byte[], byte[]> producer = c.producer();
        List<Data> sent = new ArrayList<>();
        for (int p = 0; p < 4; p++) {
            sent.addAll(Data.numbered(one, p, 0, 20));
        }
        for (int p = 0; p < 5; p++) {
            sent.addAll(Data.numbered(two, p, 0, 20));
        }
        send(producer, sent);
        Member both = new Member(c, List.of(one, two), seen, configs);
        settled("first member", 9, both);
        Member second = new Member(c, List.of(two), seen, configs);
        settled("both members", 9, both, second);
        for (TopicPartition tp : second.owned) {
            same("the second member's topic", two, tp.topic());
        }
        // The older two go by member ids, which are random.
        if (assignor.endsWith("StickyAssignor")) {
            c.line("sizes %s", sizes(both, second));
        }
        eventually("all seen", 20_000, () -> seen.size() == 180);
        both.leave(LEAVE);
        second.leave(LEAVE);
        same("each once", 180, seen.values().stream().mapToInt(List::size).sum());
    }

    private static void staticMemberReturns(Context c) throws Exception {
        String topic = c.topic("t", 4);
        String group = c.name("g");
        Map<String, List<String>> seen = new ConcurrentHashMap<>();
        Stream stream = new Stream(c, topic, 4);
        String[] common = {"group.id", group, "session.timeout.ms", "30000", "heartbeat.interval.ms", "200",
            "partition.assignment.strategy", ASSIGNORS.get("range"), "group.instance.id"};
        Member a = new Member(c, List.of(topic), seen, with(common, "a"));
        settled("first", 4, a);
        Member b = new Member(c, List.of(topic), seen, with(common, "b"));
        settled("both", 4, a, b);
        Set<TopicPartition> before = Set.copyOf(b.owned);
        int rebalancesBefore = a.rebalances.get();
        int generation = a.generation.get();
        b.leave(REMAIN);
        Member again = new Member(c, List.of(topic), seen, with(common, "b"));
        settled("back", 4, a, again);
        same("partitions of the member that came back", before, Set.copyOf(again.owned));
        Thread.sleep(600);
        same("rebalances of the other member", rebalancesBefore, a.rebalances.get());
        same("generation", generation, a.generation.get());
        same("generation of the member that came back", generation, again.generation.get());
        var description = c.admin().describeClassicGroups(List.of(group)).all().get().get(group);
        c.line("instance ids %s", new TreeSet<>(description.members().stream()
                .map(m -> m.groupInstanceId().orElse("none")).toList()));
        var removed = c.admin().removeMembersFromConsumerGroup(group,
                new org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions(Set.of(
                        new org.apache.kafka.clients.admin.MemberToRemove("unknown"))));
        c.attempt("removing an unknown instance", () -> removed.all().get());
        stream.close();
        eventually("all seen", 20_000, () -> seen.keySet().containsAll(stream.acknowledged.keySet()));
        a.leave(LEAVE);
        again.leave(LEAVE);
        for (var one : stream.acknowledged.entrySet()) {
            same("values at " + one.getKey(), List.of(one.getValue()), seen.get(one.getKey()));
        }
    }

    private static String[] with(String[] configs, String... more) {
        String[] all = java.util.Arrays.copyOf(configs, configs.length + more.length);
        System.arraycopy(more, 0, all, configs.length, more.length);
        return all;
    }

    private static void staticMemberFenced(Context c) throws Exception {
        String topic = c.topic("t", 2);
        String[] configs = {"group.id", c.name("g"), "heartbeat.interval.ms", "200", "group.instance.id", "same"};
        Map<String, List<String>> seen = new ConcurrentHashMap<>();
        Member first = new Member(c, List.of(topic), seen, configs);
        settled("first", 2, first);
        Member second = new Member(c, List.of(topic), seen, configs);
        settled("second", 2, second);
        eventually("first is fenced", 20_000, () -> first.failure.get() != null);
        c.line("the first ends with %s", first.failure.get().getClass().getSimpleName());
        check(first.failure.get() instanceof FencedInstanceIdException, "first ended with %s", first.failure.get());
        second.leave(LEAVE);
    }

    private static void sessionTimeout(Context c) throws Exception {
        String topic = c.topic("t", 2);
        Map<String, List<String>> seen = new ConcurrentHashMap<>();
        String[] configs = {"group.id", c.name("g"), "session.timeout.ms", "6000", "heartbeat.interval.ms", "300"};
        Member a = new Member(c, List.of(topic), seen, configs);
        settled("first", 2, a);
        Member b = new Member(c, List.of(topic), seen, configs);
        settled("both", 2, a, b);
        long start = System.nanoTime();
        a.leave(REMAIN);
        settled("after the silence of one", 2, b);
        long millis = (System.nanoTime() - start) / 1_000_000;
        check(millis > 4500 && millis < 20_000, "partitions moved after %d ms", millis);
        b.leave(LEAVE);
        c.line("a silent member's partitions move after its session timeout");
    }

    private static void commits(Context c) throws Exception {
        String topic = c.topic("t", 2);
        String group = c.name("g");
        send(c.producer(), Data.numbered(topic, 0, 0, 40));
        KafkaConsumer<byte[], byte[]> consumer = c.consumer("group.id", group, "max.poll.records", "10",
                "session.timeout.ms", "6000", "max.poll.interval.ms", "6000", "heartbeat.interval.ms", "500");
        consumer.subscribe(List.of(topic));
        List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
        Context.poll(consumer, got, 10, 20_000);
        TopicPartition tp = new TopicPartition(topic, 0);
        consumer.commitSync();
        c.line("commitSync: %s", consumer.committed(Set.of(tp)).get(tp).offset());
        consumer.commitSync(Map.of(tp, new OffsetAndMetadata(5, "some metadata")));
        var five = consumer.committed(Set.of(tp)).get(tp);
        c.line("with metadata: %d '%s' epoch %s", five.offset(), five.metadata(), five.leaderEpoch());
        AtomicReference<String> called = new AtomicReference<>();
        consumer.commitAsync(Map.of(tp, new OffsetAndMetadata(17)), (offsets, e) -> called.set(e == null ? "ok" : e.toString()));
        eventually("commitAsync returns", 10_000, () -> {
            consumer.poll(Duration.ofMillis(20));
            return called.get() != null;
        });
        c.line("commitAsync: %s, %d", called.get(), consumer.committed(Set.of(tp)).get(tp).offset());
        c.attempt("offset past the end", () -> {
            consumer.commitSync(Map.of(tp, new OffsetAndMetadata(100_000)));
            return consumer.committed(Set.of(tp)).get(tp).offset();
        });
        c.attempt("partition that does not exist", () -> {
            consumer.commitSync(Map.of(new TopicPartition(topic, 9), new OffsetAndMetadata(1)), Duration.ofSeconds(2));
            return "ok";
        });
        c.attempt("5000 bytes of metadata", () -> {
            consumer.commitSync(Map.of(tp, new OffsetAndMetadata(3, "m".repeat(5000))));
            return "ok";
        });
        ConsumerGroupMetadata metadata = consumer.groupMetadata();
        c.line("generation %d, member %s", metadata.generationId(), !metadata.memberId().isEmpty());
        consumer.close();
        KafkaConsumer<byte[], byte[]> next = c.consumer("group.id", group);
        next.assign(Set.of(tp));
        next.commitSync(Map.of(tp, new OffsetAndMetadata(12)));
        next.unsubscribe();
        next.subscribe(List.of(topic));
        got.clear();
        Context.poll(next, got, 28, 40_000);
        same("goes on at", 12L, got.get(0).offset());
    }

    private static void commitAfterEviction(Context c) throws Exception {
        String topic = c.topic("t", 1);
        send(c.producer(), Data.numbered(topic, 0, 0, 10));
        KafkaConsumer<byte[], byte[]> consumer = c.consumer("group.id", c.name("g"), "max.poll.interval.ms", "1000",
                "heartbeat.interval.ms", "200", "max.poll.records", "2");
        consumer.subscribe(List.of(topic));
        List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
        Context.poll(consumer, got, 2, 20_000);
        Thread.sleep(2500);
        c.mustFail("commit after the poll interval", CommitFailedException.class, () -> {
            consumer.commitSync();
            return "ok";
        });
        got.clear();
        Context.poll(consumer, got, 10, 20_000);
        same("starts over at", 0L, got.get(0).offset());
        c.line("rejoined and read from the last commit");
    }

    private static void autoCommit(Context c) throws Exception {
        String topic = c.topic("t", 1);
        String group = c.name("g");
        send(c.producer(), Data.numbered(topic, 0, 0, 25));
        KafkaConsumer<byte[], byte[]> consumer = c.consumer("group.id", group, "enable.auto.commit", "true",
                "auto.commit.interval.ms", "200");
        consumer.subscribe(List.of(topic));
        List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
        Context.poll(consumer, got, 25, 20_000);
        TopicPartition tp = new TopicPartition(topic, 0);
        eventually("auto commit", 10_000, () -> {
            consumer.poll(Duration.ofMillis(50));
            var committed = c.admin().listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(tp);
            return committed != null && committed.offset() == 25;
        });
        consumer.close();
        c.line("committed %s", c.admin().listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(tp).offset());
    }

    private static void patternSubscription(Context c) throws Exception {
        String first = c.topic("p-one", 1);
        KafkaConsumer<byte[], byte[]> consumer =
                c.consumer("group.id", c.name("g"), "metadata.max.age.ms", "300", "heartbeat.interval.ms", "200");
        consumer.subscribe(Pattern.compile(Pattern.quote(c.name("p-")) + ".*"));
        eventually("first topic", 20_000, () -> {
            consumer.poll(Duration.ofMillis(50));
            return consumer.assignment().equals(Set.of(new TopicPartition(first, 0)));
        });
        String second = c.topic("p-two", 2);
        send(c.producer(), Data.numbered(second, 1, 0, 5));
        List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
        Context.poll(consumer, got, 5, 20_000);
        same("assignment", 3, consumer.assignment().size());
        c.line("a topic created later is found");
    }

    private static void newPartitions(Context c) throws Exception {
        String topic = c.topic("t", 1);
        KafkaConsumer<byte[], byte[]> consumer =
                c.consumer("group.id", c.name("g"), "metadata.max.age.ms", "300", "heartbeat.interval.ms", "200");
        consumer.subscribe(List.of(topic));
        eventually("one partition", 20_000, () -> {
            consumer.poll(Duration.ofMillis(50));
            return consumer.assignment().size() == 1;
        });
        c.admin().createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
        eventually("three partitions", 20_000, () -> {
            consumer.poll(Duration.ofMillis(50));
            return consumer.assignment().size() == 3;
        });
        c.line("added partitions are assigned");
    }

    private static void protocolSelection(Context c) throws Exception {
        String topic = c.topic("t", 4);
        String group = c.name("g");
        Map<String, List<String>> seen = new ConcurrentHashMap<>();
        String range = ASSIGNORS.get("range");
        String roundrobin = ASSIGNORS.get("roundrobin");
        String[] common = {"group.id", group, "heartbeat.interval.ms", "200", "partition.assignment.strategy"};
        Member a = new Member(c, List.of(topic), seen, with(common, roundrobin + "," + range));
        settled("first", 4, a);
        c.line("first alone: %s", describe(c, group));
        Member b = new Member(c, List.of(topic), seen, with(common, range));
        settled("both", 4, a, b);
        c.line("with one that knows range only: %s", describe(c, group));
        b.leave(LEAVE);
        settled("first again", 4, a);
        eventually("stable", 10_000, () -> describe(c, group).startsWith("Stable"));
        c.line("first alone again: %s", describe(c, group));
        a.leave(LEAVE);
    }

    private static void inconsistentProtocol(Context c) throws Exception {
        String topic = c.topic("t", 2);
        String group = c.name("g");
        Map<String, List<String>> seen = new ConcurrentHashMap<>();
        String[] common = {"group.id", group, "heartbeat.interval.ms", "200", "partition.assignment.strategy"};
        Member a = new Member(c, List.of(topic), seen, with(common, ASSIGNORS.get("range")));
        settled("first", 2, a);
        KafkaConsumer<byte[], byte[]> other = c.consumer(with(common, ASSIGNORS.get("roundrobin")));
        other.subscribe(List.of(topic));
        c.mustFail("no common protocol", InconsistentGroupProtocolException.class,
                () -> other.poll(Duration.ofSeconds(20)).count());
        a.healthy();
        a.leave(LEAVE);
    }

    private static void badSessionTimeout(Context c) throws Exception {
        String topic = c.topic("t", 1);
        for (String timeout : List.of("100", "2000000")) {
            KafkaConsumer<byte[], byte[]> consumer = c.consumer("group.id", c.name("g"), "session.timeout.ms", timeout,
                    "heartbeat.interval.ms", "30", "max.poll.interval.ms", "3000000");
            consumer.subscribe(List.of(topic));
            c.mustFail("session timeout " + timeout, InvalidSessionTimeoutException.class,
                    () -> consumer.poll(Duration.ofSeconds(20)).count());
        }
    }

    /** Members that the coordinator assigns have nothing to gain: at the barrier a leader may. */
    private static void enforcedRebalance(Context c) throws Exception {
        String topic = c.topic("t", 4);
        String group = c.name("g");
        if (c.isThalweg()) {
            ConfigEntry barrier = new ConfigEntry("thalweg.group.classic.rebalance.mode", "barrier");
            c.admin().incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, group),
                    List.of(new AlterConfigOp(barrier, AlterConfigOp.OpType.SET)))).all().get();
        }
        Map<String, List<String>> seen = new ConcurrentHashMap<>();
        String[] configs = {"group.id", group, "heartbeat.interval.ms", "200"};
        Member a = new Member(c, List.of(topic), seen, configs);
        settled("first", 4, a);
        Member b = new Member(c, List.of(topic), seen, configs);
        settled("both", 4, a, b);
        int before = a.generation.get();
        b.enforce.set(true);
        eventually("a new generation", 20_000, () -> {
            a.healthy();
            b.healthy();
            return a.generation.get() > before && a.generation.get() == b.generation.get();
        });
        settled("both again", 4, a, b);
        c.line("generations go on");
        a.leave(LEAVE);
        b.leave(LEAVE);
    }

    private static void manyMembers(Context c) throws Exception {
        String topic = c.topic("t", 20);
        String group = c.name("g");
        Map<String, List<String>> seen = new ConcurrentHashMap<>();
        List<Member> members = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            members.add(new Member(c, List.of(topic), seen, "group.id", group, "heartbeat.interval.ms", "200",
                    "partition.assignment.strategy", ASSIGNORS.get("roundrobin")));
        }
        Member[] array = members.toArray(new Member[0]);
        settled("eight members", 20, array);
        c.line("sizes %s", sizes(array));
        Map<Integer, Integer> expected = new HashMap<>();
        for (int p = 0; p < 20; p++) {
            send(c.producer(), Data.numbered(topic, p, 0, 5));
            expected.put(p, 5);
        }
        eventually("all seen", 20_000, () -> seen.size() == 100);
        for (Member member : members) {
            member.leave(LEAVE);
        }
        same("each once", 100, seen.values().stream().mapToInt(List::size).sum());
    }
}
