package org.apache.kafka.coordinator.group;

// Runs Kafka's server-side assignors and those of its consumers, and its hash of a group's topics.
// Reads one question per line from standard input and prints one line for each.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

public class AssignorOracle {
    /** A topic with the racks of its partitions. */
    record Topic(String name, Uuid id, List<List<String>> racks) implements CoordinatorMetadataImage.TopicMetadata {
        public int partitionCount() {
            return racks.size();
        }

        public List<String> partitionRacks(int partition) {
            return new ArrayList<>(racks.get(partition));
        }
    }

    /** An image of one topic. */
    record Image(Topic topic) implements CoordinatorMetadataImage {
        public Set<Uuid> topicIds() {
            return Set.of(topic.id());
        }

        public Set<String> topicNames() {
            return Set.of(topic.name());
        }

        public Optional<TopicMetadata> topicMetadata(String name) {
            return name.equals(topic.name()) ? Optional.of(topic) : Optional.empty();
        }

        public Optional<TopicMetadata> topicMetadata(Uuid id) {
            return id.equals(topic.id()) ? Optional.of(topic) : Optional.empty();
        }

        public CoordinatorMetadataDelta emptyDelta() {
            throw new UnsupportedOperationException();
        }

        public long version() {
            return 1;
        }

        public boolean isEmpty() {
            return false;
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            out.println(switch (words[0]) {
                case "hash" -> hash(words);
                case "consumers" -> consumers(words);
                default -> assign(words);
            });
        }
        out.flush();
    }

    /** hash name:id:partitions:rack,rack;rack,... ... */
    static String hash(String[] words) {
        StringBuilder answer = new StringBuilder();
        Map<String, Long> hashes = new HashMap<>();
        for (int i = 1; i < words.length; i++) {
            String[] parts = words[i].split(":", -1);
            String[] partitions = parts[3].split(";", -1);
            List<List<String>> racks = new ArrayList<>();
            for (int p = 0; p < Integer.parseInt(parts[2]); p++) {
                racks.add(partitions[p].isEmpty() ? List.of() : List.of(partitions[p].split(",")));
            }
            Topic topic = new Topic(parts[0], Uuid.fromString(parts[1]), racks);
            long hash = Utils.computeTopicHash(topic.name(), new Image(topic));
            hashes.put(topic.name(), hash);
            answer.append(hash).append(' ');
        }
        return answer.append(Utils.computeGroupHash(hashes)).toString();
    }

    /** assignor type t:id:partitions ... m:id:instance:topic,topic:topic=1.2;topic=3 ... */
    static String assign(String[] words) {
        Map<Uuid, Integer> topics = new HashMap<>();
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        for (String word : words) {
            String[] parts = word.split(":", -1);
            if (parts[0].equals("t")) {
                topics.put(Uuid.fromString(parts[1]), Integer.parseInt(parts[2]));
            } else if (parts[0].equals("m")) {
                Set<Uuid> subscribed = new HashSet<>();
                for (String id : split(parts[3], ",")) subscribed.add(Uuid.fromString(id));
                Map<Uuid, Set<Integer>> partitions = new HashMap<>();
                for (String topic : split(parts[4], ";")) {
                    Uuid id = Uuid.fromString(topic.substring(0, topic.indexOf('=')));
                    for (String partition : split(topic.substring(topic.indexOf('=') + 1), "\\.")) {
                        partitions.computeIfAbsent(id, k -> new HashSet<>()).add(Integer.parseInt(partition));
                        owners.computeIfAbsent(id, k -> new HashMap<>()).put(Integer.parseInt(partition), parts[1]);
                    }
                }
                members.put(parts[1], new MemberSubscriptionAndAssignmentImpl(
                    Optional.empty(),
                    parts[2].isEmpty() ? Optional.empty() : Optional.of(parts[2]),
                    subscribed,
                    new Assignment(partitions)));
            }
        }
        PartitionAssignor assignor = words[0].equals("range") ? new RangeAssignor() : new UniformAssignor();
        SubscriptionType type = words[1].equals("same") ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        GroupAssignment assignment = assignor.assign(
            new GroupSpecImpl(Collections.unmodifiableMap(members), type, owners),
            new SubscribedTopicDescriber() {
                public int numPartitions(Uuid topicId) {
                    return topics.getOrDefault(topicId, -1);
                }

                public Set<String> racksForPartition(Uuid topicId, int partition) {
                    return Set.of();
                }
            });
        StringBuilder answer = new StringBuilder();
        assignment.members().forEach((member, assigned) -> {
            answer.append(member);
            assigned.partitions().forEach((topic, partitions) ->
                new TreeSet<>(partitions).forEach(partition ->
                    answer.append(' ').append(topic).append('=').append(partition)));
            answer.append(':');
        });
        return answer.toString();
    }

    /** consumers assignor b:id:rack ... t:name:replica.replica,replica.replica,... m:id:instance:rack:topic,topic ... */
    static String consumers(String[] words) {
        Map<Integer, Node> nodes = new HashMap<>();
        List<PartitionInfo> partitions = new ArrayList<>();
        Map<String, ConsumerPartitionAssignor.Subscription> members = new HashMap<>();
        for (String word : words) {
            String[] parts = word.split(":", -1);
            if (parts[0].equals("b")) {
                int id = Integer.parseInt(parts[1]);
                nodes.put(id, new Node(id, "host", 9092, parts[2].isEmpty() ? null : parts[2]));
            } else if (parts[0].equals("t")) {
                int number = 0;
                for (String ids : parts[2].split(",", -1)) {
                    Node[] replicas = Stream.of(split(ids, "\\.")).map(Integer::parseInt).map(nodes::get).toArray(Node[]::new);
                    partitions.add(new PartitionInfo(parts[1], number++, replicas[0], replicas, replicas));
                }
            } else if (parts[0].equals("m")) {
                ConsumerPartitionAssignor.Subscription subscription = new ConsumerPartitionAssignor.Subscription(
                    List.of(split(parts[4], ",")), null, List.of(), -1,
                    parts[3].isEmpty() ? Optional.empty() : Optional.of(parts[3]));
                subscription.setGroupInstanceId(parts[2].isEmpty() ? Optional.empty() : Optional.of(parts[2]));
                members.put(parts[1], subscription);
            }
        }
        ConsumerPartitionAssignor assignor = switch (words[1]) {
            case "range" -> new org.apache.kafka.clients.consumer.RangeAssignor();
            case "roundrobin" -> new RoundRobinAssignor();
            case "sticky" -> new StickyAssignor();
            case "cooperative-sticky" -> new CooperativeStickyAssignor();
            default -> throw new IllegalArgumentException(words[1]);
        };
        Cluster cluster = new Cluster("c", nodes.values(), partitions, Set.of(), Set.of());
        StringBuilder answer = new StringBuilder();
        assignor.assign(cluster, new ConsumerPartitionAssignor.GroupSubscription(members)).groupAssignment().forEach((member, assigned) -> {
            answer.append(member);
            assigned.partitions().forEach(p -> answer.append(' ').append(p.topic()).append('=').append(p.partition()));
            answer.append(':');
        });
        return answer.toString();
    }

    static String[] split(String text, String separator) {
        return text.isEmpty() ? new String[0] : text.split(separator);
    }
}
