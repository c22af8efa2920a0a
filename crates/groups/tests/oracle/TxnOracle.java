package org.apache.kafka.coordinator.group;

// Offsets in transactions for GroupOracle: what is asked, and what stands in the log.

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.TxnOffsetCommitRequestData;
import org.apache.kafka.common.message.TxnOffsetCommitResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.coordinator.common.runtime.CoordinatorPlayback;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;

class TxnOracle {
    /** What stands at one offset: a record, of a producer perhaps, or the end of a transaction. */
    record Entry(long offset, CoordinatorRecord record, long producerId, short producerEpoch, EndTransactionMarker marker) {
        void replay(CoordinatorPlayback<CoordinatorRecord> playback) {
            if (marker == null) {
                playback.replay(offset, producerId, producerEpoch, record);
            } else {
                boolean commit = marker.controlType() == ControlRecordType.COMMIT;
                playback.replayEndTransactionMarker(
                    producerId, producerEpoch, commit ? TransactionResult.COMMIT : TransactionResult.ABORT);
            }
        }
    }

    static Entry record(long offset, RecordBatch batch, CoordinatorRecord record) {
        return new Entry(offset, record, batch.producerId(), batch.producerEpoch(), null);
    }

    static Entry marker(long offset, RecordBatch batch, Record record) {
        return new Entry(offset, null, batch.producerId(), batch.producerEpoch(), EndTransactionMarker.deserialize(record));
    }

    static String show(Entry entry) {
        return "log marker pid=" + entry.producerId + " pe=" + entry.producerEpoch + " "
            + entry.marker.controlType() + " ce=" + entry.marker.coordinatorEpoch();
    }

    /** What belongs to a producer's transaction ends with this. */
    static String producer(RecordBatch batch) {
        if (!batch.isTransactional()) return "";
        if (batch.baseSequence() != 0) throw new IllegalStateException("sequence " + batch.baseSequence());
        return " pid=" + batch.producerId() + " pe=" + batch.producerEpoch();
    }

    static TxnOffsetCommitRequestData commit(GroupOracle oracle, Map<String, String> op) {
        TxnOffsetCommitRequestData request = new TxnOffsetCommitRequestData()
            .setTransactionalId(op.getOrDefault("txn", "txn"))
            .setGroupId(op.get("g"))
            .setProducerId(GroupOracle.number(op, "pid", 7))
            .setProducerEpoch((short) GroupOracle.number(op, "pe", 0))
            .setGenerationIdOrMemberEpoch(GroupOracle.number(op, "gen", -1))
            .setMemberId(op.getOrDefault("m", ""))
            .setGroupInstanceId(op.get("i"));
        for (String offset : GroupOracle.list(op, "o")) {
            String[] parts = offset.split(":", -1);
            request.topics().add(new TxnOffsetCommitRequestData.TxnOffsetCommitRequestTopic()
                .setName(parts[0])
                .setTopicId(oracle.known(parts[0]))
                .setPartitions(List.of(new TxnOffsetCommitRequestData.TxnOffsetCommitRequestPartition()
                    .setPartitionIndex(Integer.parseInt(parts[1]))
                    .setCommittedOffset(Long.parseLong(parts[2]))
                    .setCommittedMetadata(parts.length > 3 ? parts[3] : null)
                    .setCommittedLeaderEpoch(parts.length > 4 ? Integer.parseInt(parts[4]) : -1))));
        }
        return request;
    }

    static List<String> committed(TxnOffsetCommitResponseData response) {
        return List.of("tcommit topics=" + GroupOracle.set(response.topics().stream().flatMap(t ->
            t.partitions().stream().map(p -> t.name() + "/" + p.partitionIndex() + "/" + p.errorCode())).toList()));
    }

    /** Ends a transaction; the error. */
    static CompletableFuture<Short> end(GroupCoordinatorService service, TopicPartition tp, Map<String, String> op) {
        return service.completeTransaction(
            tp,
            GroupOracle.number(op, "pid", 7),
            (short) GroupOracle.number(op, "pe", 0),
            GroupOracle.number(op, "ce", 0),
            GroupOracle.number(op, "commit", 1) == 1 ? TransactionResult.COMMIT : TransactionResult.ABORT,
            (short) GroupOracle.number(op, "tv", 0)
        ).handle((done, error) -> error == null ? 0 : Errors.forException(Errors.maybeUnwrapException(error)).code());
    }
}
