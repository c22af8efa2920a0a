// An answer of TransactionOracle, as JSON: what its header describes.

import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.coordinator.transaction.TransactionMarkerChannelManager;
import kafka.coordinator.transaction.TransactionStateManager;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.AddPartitionsToTxnResponseData.AddPartitionsToTxnResult;
import org.apache.kafka.common.message.DescribeTransactionsResponseData;
import org.apache.kafka.common.message.DescribeTransactionsResponseDataJsonConverter;
import org.apache.kafka.common.message.ListTransactionsResponseData;
import org.apache.kafka.common.message.ListTransactionsResponseDataJsonConverter;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.WriteTxnMarkersRequest.TxnMarkerEntry;
import org.apache.kafka.coordinator.transaction.PendingCompleteTxnAndMarkerEntry;
import org.apache.kafka.coordinator.transaction.TransactionMetadata;
import org.apache.kafka.coordinator.transaction.TransactionPartitionAndLeaderEpoch;
import org.apache.kafka.coordinator.transaction.TxnMetadataCacheEntry;
import org.apache.kafka.coordinator.transaction.generated.TransactionLogKey;
import org.apache.kafka.coordinator.transaction.generated.TransactionLogValue;
import org.apache.kafka.coordinator.transaction.generated.TransactionLogValueJsonConverter;

import scala.jdk.javaapi.CollectionConverters;

class TransactionAnswer {
    static final ObjectMapper JSON = new ObjectMapper();

    static final Comparator<TopicPartition> ORDER =
        Comparator.comparing(TopicPartition::topic).thenComparing(TopicPartition::partition);

    private final int request;
    private final ObjectNode node = JSON.createObjectNode();
    private final ArrayNode completed;
    private final ArrayNode records;
    private final ArrayNode refused;
    private final ArrayNode errors;

    TransactionAnswer(int request) {
        this.request = request;
        node.put("request", request);
        completed = node.putArray("completed");
        records = node.putArray("records");
        refused = node.putArray("refused");
        errors = node.putArray("errors");
    }

    /** A command, this or an earlier one, has come to an end. */
    void done(int of, JsonNode result) {
        if (of == request) node.set("result", result);
        else completed(of, result);
    }

    void completed(int of, JsonNode result) {
        completed.addObject().put("request", of).set("result", result);
    }

    void thrown(Exception e) {
        errors.addObject().put("class", e.getClass().getName()).put("message", e.getMessage())
            .put("code", Errors.forException(e).name());
    }

    String line(Iterable<Integer> pending) {
        ArrayNode all = node.putArray("pending");
        pending.forEach(all::add);
        return node.toString();
    }

    static ObjectNode error(Errors error) {
        return JSON.createObjectNode().put("error", error.name());
    }

    static ObjectNode producer(Errors error, long producerId, short epoch) {
        return error(error).put("producerId", producerId).put("producerEpoch", epoch);
    }

    static ObjectNode verified(AddPartitionsToTxnResult of) {
        Map<TopicPartition, Errors> errors = new TreeMap<>(ORDER);
        of.topicResults().forEach(topic -> topic.resultsByPartition().forEach(one -> errors.put(
            new TopicPartition(topic.name(), one.partitionIndex()), Errors.forCode(one.partitionErrorCode()))));
        ObjectNode result = JSON.createObjectNode();
        ArrayNode all = result.putArray("errors");
        errors.forEach((at, error) -> all.addObject().put("topic", at.topic()).put("partition", at.partition())
            .put("error", error.name()));
        return result;
    }

    static ObjectNode described(DescribeTransactionsResponseData.TransactionState of) {
        of.topics().sort(Comparator.comparing(DescribeTransactionsResponseData.TopicData::topic));
        of.topics().forEach(topic -> topic.partitions().sort(null));
        ObjectNode all = (ObjectNode) DescribeTransactionsResponseDataJsonConverter.TransactionStateJsonConverter
            .write(of, (short) 0);
        return all.put("error", Errors.forCode((short) all.remove("errorCode").asInt()).name());
    }

    static ObjectNode listed(ListTransactionsResponseData of) {
        of.transactionStates().sort(
            Comparator.comparing(ListTransactionsResponseData.TransactionState::transactionalId));
        of.unknownStateFilters().sort(null);
        JsonNode all = ListTransactionsResponseDataJsonConverter.write(of, (short) 2);
        ObjectNode result = error(Errors.forCode(of.errorCode()));
        result.set("transactions", all.get("transactionStates"));
        result.set("unknownStateFilters", all.get("unknownStateFilters"));
        return result;
    }

    static void markers(ObjectNode of, List<PendingCompleteTxnAndMarkerEntry> entries) {
        ArrayNode all = of.putArray("markers");
        for (PendingCompleteTxnAndMarkerEntry entry : entries) {
            TxnMarkerEntry marker = entry.txnMarkerEntry();
            ObjectNode one = all.addObject().put("transactionalId", entry.pendingCompleteTxn().transactionalId())
                .put("producerId", marker.producerId()).put("producerEpoch", marker.producerEpoch())
                .put("coordinatorEpoch", marker.coordinatorEpoch()).put("committed", marker.transactionResult().id)
                .put("transactionVersion", marker.transactionVersion());
            sorted(one.putArray("partitions"), marker.partitions());
        }
    }

    private static void sorted(ArrayNode all, Iterable<TopicPartition> partitions) {
        TreeSet<TopicPartition> sorted = new TreeSet<>(ORDER);
        partitions.forEach(sorted::add);
        sorted.forEach(one -> all.addArray().add(one.topic()).add(one.partition()));
    }

    /** What the coordinator keeps in memory. */
    static ObjectNode state(TransactionStateManager states, TransactionMarkerChannelManager sender) {
        ObjectNode result = JSON.createObjectNode();
        ArrayNode all = result.putArray("partitions");
        Map<Object, TxnMetadataCacheEntry> cache = CollectionConverters.asJava(states.transactionMetadataCache());
        new TreeMap<>(cache).forEach((partition, entry) -> {
            ObjectNode one = all.addObject().put("partition", (Integer) partition)
                .put("coordinatorEpoch", entry.coordinatorEpoch());
            ArrayNode transactions = one.putArray("transactions");
            new TreeMap<>(entry.metadataPerTransactionalId()).values()
                .forEach(of -> transaction(transactions.addObject(), of));
        });
        TreeSet<TransactionPartitionAndLeaderEpoch> loading = new TreeSet<>(Comparator
            .comparing(TransactionPartitionAndLeaderEpoch::txnPartitionId)
            .thenComparing(TransactionPartitionAndLeaderEpoch::coordinatorEpoch));
        loading.addAll(CollectionConverters.asJava(states.loadingPartitions()));
        ArrayNode partitions = result.putArray("loading");
        loading.forEach(of -> partitions.addArray().add(of.txnPartitionId()).add(of.coordinatorEpoch()));
        Map<String, ?> marked = field(TransactionMarkerChannelManager.class, sender, "transactionsWithPendingMarkers");
        ArrayNode ids = result.putArray("pendingMarkers");
        new TreeSet<>(marked.keySet()).forEach(ids::add);
        BlockingQueue<?> retries = field(TransactionMarkerChannelManager.class, sender, "txnLogAppendRetryQueue");
        return result.put("appendRetries", retries.size());
    }

    private static void transaction(ObjectNode one, TransactionMetadata of) {
        long nextProducerId = field(TransactionMetadata.class, of, "nextProducerId");
        one.put("transactionalId", of.transactionalId()).put("producerId", of.producerId())
            .put("prevProducerId", of.prevProducerId()).put("nextProducerId", nextProducerId)
            .put("producerEpoch", of.producerEpoch()).put("lastProducerEpoch", of.lastProducerEpoch())
            .put("timeoutMs", of.txnTimeoutMs()).put("state", of.state().stateName())
            .put("pendingState", of.pendingState().map(state -> state.stateName()).orElse(null))
            .put("startMs", of.txnStartTimestamp()).put("lastUpdateMs", of.txnLastUpdateTimestamp())
            .put("clientTransactionVersion", of.clientTransactionVersion().featureLevel())
            .put("hasFailedEpochFence", of.hasFailedEpochFence());
        sorted(one.putArray("partitions"), of.topicPartitions());
    }

    void appended(List<TransactionBroker.Append> appends) {
        for (TransactionBroker.Append append : appends) {
            long offset = append.baseOffset();
            for (SimpleRecord record : append.records()) {
                ObjectNode one = (append.written() ? records : refused).addObject();
                one.put("partition", append.partition()).put("offset", append.written() ? offset++ : -1)
                    .put("timeoutMs", append.timeoutMs()).put("timestampMs", record.timestamp());
                ByteBuffer key = record.key().duplicate();
                one.put("keyVersion", key.getShort());
                TransactionLogKey of = new TransactionLogKey(new ByteBufferAccessor(key), (short) 0);
                one.putObject("key").put("transactionalId", of.transactionalId());
                ByteBuffer value = record.value() == null ? null : record.value().duplicate();
                one.put("valueVersion", value == null ? null : (Short) value.getShort(value.position()));
                one.set("value", value == null ? null : value(value));
                one.put("keyHex", hex(record.key())).put("valueHex", hex(record.value()));
            }
        }
    }

    private static JsonNode value(ByteBuffer bytes) {
        short version = bytes.getShort();
        TransactionLogValue value = new TransactionLogValue(new ByteBufferAccessor(bytes), version);
        if (value.transactionPartitions() != null) {
            value.transactionPartitions().sort(Comparator.comparing(TransactionLogValue.PartitionsSchema::topic));
            value.transactionPartitions().forEach(topic -> topic.partitionIds().sort(null));
        }
        return TransactionLogValueJsonConverter.write(value, version);
    }

    private static String hex(ByteBuffer buffer) {
        if (buffer == null) return null;
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    /** A field that only Kafka sees. */
    @SuppressWarnings("unchecked")
    static <T> T field(Class<?> type, Object of, String name) {
        try {
            Field field = type.getDeclaredField(name);
            field.setAccessible(true);
            return (T) field.get(of);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
