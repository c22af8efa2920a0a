package org.apache.kafka.controller;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;

import kafka.server.KafkaRaftServer;

import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.requests.AlterPartitionRequest;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.controller.errors.EventHandlerExceptionInfo;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * Kafka's own ReplicationControlManager, with what it looks at, fed with records of the metadata log.
 *
 * Each line of input is a command; records and messages are in base64.
 *
 * begin                      forgets everything
 * replay RECORD..            brokers, topics, partitions, configs and levels of features are so from now on
 * alter VERSION REQUEST      an AlterPartition request, encoded in its version
 *
 * Each is answered with one line: "ok", which the response and the records follow for alter. A request that fails as a
 * whole is answered as Kafka's API would; its records are not replayed.
 */
public final class ReplicationOracle {
    private static final int NODE_ID = 1;

    private final LogContext log = new LogContext();
    private FeatureControlManager features;
    private ClusterControlManager cluster;
    private ConfigurationControlManager configs;
    private ReplicationControlManager replication;
    private long offset;

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        ReplicationOracle oracle = new ReplicationOracle();
        String line;
        while ((line = input.readLine()) != null) {
            out.println(oracle.answer(line.split(" ")));
            out.flush();
        }
    }

    private String answer(String[] words) {
        switch (words[0]) {
            case "begin":
                begin();
                return "ok";
            case "replay":
                for (int i = 1; i < words.length; i++) {
                    byte[] bytes = Base64.getDecoder().decode(words[i]);
                    ByteBufferAccessor accessor = new ByteBufferAccessor(ByteBuffer.wrap(bytes));
                    replay(MetadataRecordSerde.INSTANCE.read(accessor, bytes.length).message());
                }
                return "ok";
            case "alter":
                return alter(Short.parseShort(words[1]), Base64.getDecoder().decode(words[2]));
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private void begin() {
        SnapshotRegistry registry = new SnapshotRegistry(log);
        features = new FeatureControlManager.Builder()
            .setSnapshotRegistry(registry)
            .setQuorumFeatures(new QuorumFeatures(
                NODE_ID, QuorumFeatures.defaultSupportedFeatureMap(true), List.of(NODE_ID)))
            .build();
        cluster = new ClusterControlManager.Builder()
            .setSnapshotRegistry(registry)
            .setFeatureControlManager(features)
            .setBrokerShutdownHandler((broker, clean, records) -> { })
            .build();
        configs = new ConfigurationControlManager.Builder()
            .setSnapshotRegistry(registry)
            .setFeatureControl(features)
            .setKafkaConfigSchema(KafkaRaftServer.configSchema())
            .setNodeId(NODE_ID)
            .build();
        replication = new ReplicationControlManager.Builder()
            .setSnapshotRegistry(registry)
            .setConfigurationControl(configs)
            .setClusterControl(cluster)
            .setFeatureControl(features)
            .build();
        offset = 0;
    }

    private void replay(ApiMessage record) {
        offset += 1;
        if (record instanceof RegisterBrokerRecord) {
            cluster.replay((RegisterBrokerRecord) record, offset);
        } else if (record instanceof BrokerRegistrationChangeRecord) {
            cluster.replay((BrokerRegistrationChangeRecord) record);
        } else if (record instanceof TopicRecord) {
            replication.replay((TopicRecord) record);
        } else if (record instanceof PartitionRecord) {
            replication.replay((PartitionRecord) record);
        } else if (record instanceof PartitionChangeRecord) {
            replication.replay((PartitionChangeRecord) record);
        } else if (record instanceof ConfigRecord) {
            configs.replay((ConfigRecord) record);
        } else if (record instanceof FeatureLevelRecord) {
            features.replay((FeatureLevelRecord) record);
        } else {
            throw new IllegalArgumentException(record.toString());
        }
    }

    private String alter(short version, byte[] request) {
        AlterPartitionRequestData data = new AlterPartitionRequestData(
            new ByteBufferAccessor(ByteBuffer.wrap(request)), version);
        ControllerRequestContext context = new ControllerRequestContext(
            new RequestHeaderData().setRequestApiVersion(version), KafkaPrincipal.ANONYMOUS, OptionalLong.empty());
        AlterPartitionResponseData response;
        List<ApiMessageAndVersion> records;
        try {
            ControllerResult<AlterPartitionResponseData> result = replication.alterPartition(context, data);
            response = result.response();
            records = result.records();
        } catch (Exception e) {
            Throwable told = EventHandlerExceptionInfo.fromInternal(e, () -> OptionalInt.of(NODE_ID))
                .effectiveExternalException();
            AlterPartitionRequest asked = new AlterPartitionRequest(data, version);
            response = (AlterPartitionResponseData) asked.getErrorResponse(0, told).data();
            records = List.of();
        }
        StringBuilder line = new StringBuilder("ok ").append(
            base64(MessageUtil.toByteBufferAccessor(response, version).buffer()));
        for (ApiMessageAndVersion record : records) {
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer buffer = ByteBuffer.allocate(MetadataRecordSerde.INSTANCE.recordSize(record, cache));
            MetadataRecordSerde.INSTANCE.write(record, cache, new ByteBufferAccessor(buffer));
            buffer.flip();
            line.append(' ').append(base64(buffer));
        }
        return line.toString();
    }

    private static String base64(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return Base64.getEncoder().encodeToString(bytes);
    }
}
