// Runs Kafka's own transaction coordinator (coordinator, state manager and marker channel manager) on a log and a
// clock in memory (TransactionBroker). Nothing runs by itself: the script says when time passes, when an append ends,
// when a partition is loaded, when markers are sent, and what brokers answer to them.
//
// Standard input has a command on each line, standard output an answer for each (TransactionAnswer): JSON objects.
// Before anything else comes `start`. A command has its name in "op"; what else it may have, and what is taken without
// it, stands here. A name that does not stand here is an error, and so is one without a value that is missing.
//
//   start            config {} (Kafka's names of settings), transactionVersion 2, firstProducerId 1000, nowMs 1000000,
//                    maxMessageBytes 1048588 (of the log; limits a batch of tombstones), elect true (all partitions
//                    are led, at coordinator epoch 0). A new coordinator, and an empty log of as many partitions as
//                    transaction.state.log.num.partitions says, or 1
//   restart          transactionVersion (as before), elect {} ({partition: epoch}). A new coordinator on the same log;
//                    what the old one waited for is forgotten, and "send" counts anew
//   clock            ms
//   leaders          topic, leaders [broker, ...]: of partitions 0, 1, ...; -1 is none, -2 a broker without the
//                    listener. Topics of which this is not said do not exist
//   producerIds      next (as it is), error "NONE": the next id, and with which error none is given out
//   transactionVersion  level: the finalized feature
//   partitionCount   count: of __transaction_state, as the metadata have it
//
//   init             transactionalId null, timeoutMs 60000, enable2Pc false, keepPreparedTxn false, producerId -1 and
//                    producerEpoch -1 (what is expected; both -1: nothing)       -> error, producerId, producerEpoch
//   add              transactionalId, producerId, producerEpoch, partitions [["t", 0], ...],
//                    clientTransactionVersion 2                                  -> error
//   verify           transactionalId, producerId, producerEpoch, partitions      -> errors [{topic, partition, error}]
//   end              transactionalId, producerId, producerEpoch, committed,
//                    clientTransactionVersion 2                                  -> error, producerId, producerEpoch
//   describe         transactionalId        -> error, and what DescribeTransactions has
//   list             states [], producerIds [], durationMs -1, pattern null
//                                           -> error, unknownStateFilters, transactions
//   partitionFor     transactionalId        -> partition
//   topicConfigs                            -> the settings of __transaction_state
//   abortTimedOut    aborts transactions that have timed out. Each becomes an entry of "completed", with this
//                    command's number, as it ends: {transactionalId, producerId, producerEpoch (as found), error}
//   expire           removes transactional ids that have expired
//
//   elect            partition, epoch, load true (false: it stays loading until `load`)
//   load             runs the loads that wait, in order
//   resign           partition, epoch null (null: the partition was deleted)
//   holdAppends      appends are written, and their end is not heard until they are released
//   releaseAppends   count (all), error "NONE": how the oldest ones end; without count no more are held
//   failAppends      error, written false (whether they stand in the log nonetheless), count 1: the next appends fail
//   clearFailures    drops the failures of later appends
//   write            partition, and transactionalId, value null (as in an answer; null is a tombstone), version 1, or
//                    hex {key, value}: puts a record into the log past the coordinator       -> offset
//   truncate         partition, offset: takes out what stands there and after it
//
//   markers          -> queued [{broker, markers}]: those that no request has taken yet; broker -1 is unknown
//   sendMarkers      A round of the sender: it tries again to append completions, asks again for unknown leaders, and
//                    makes a request for each broker         -> sent [{send, broker, version, markers}]
//   answerMarkers    send, disconnected false, errors [{topic, partition, error, producerId (all)}], otherwise "NONE"
//                    (of partitions not named), omit [producerId, ...]: what the broker answers
//   state            -> what the coordinator keeps: partitions, loading, pendingMarkers, appendRetries; and failures, the
//                    number of appends that are still to fail
//
// A marker is {transactionalId, producerId, producerEpoch, coordinatorEpoch, committed, transactionVersion,
// partitions}.
//
// An answer has:
//   request          the number of the command, from 1
//   result           what came of it; absent while it is pending, and if something was thrown instead
//   completed        [{request, result}]: earlier commands that have come to an end, in this order
//   pending          [request]: those that have not
//   records          [{partition, offset, timeoutMs, timestampMs, keyVersion, key, valueVersion, value, keyHex,
//                    valueHex}]: what was appended, in order; value null is a tombstone. In value, lists of partitions
//                    are sorted and tagged fields at their default are absent; valueHex has what Kafka wrote
//   refused          the same, with offset -1: appends that failed and were not written
//   errors           [{class, message, code}]: what was thrown; code is the error with which KafkaApis answers it
//
// Orders that mean nothing: of ids in one abortTimedOut, expire or elect, and of markers for one broker. Brokers and
// partitions are sorted. As in Kafka, a broker's answer to markers is by producer id: markers of one share it.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.coordinator.transaction.TransactionCoordinator;
import kafka.coordinator.transaction.TransactionMarkerChannelManager;
import kafka.coordinator.transaction.TransactionStateManager;
import kafka.server.KafkaConfig;

import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.common.requests.WriteTxnMarkersRequest.TxnMarkerEntry;
import org.apache.kafka.common.requests.WriteTxnMarkersResponse;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.common.utils.internals.ProducerIdAndEpoch;
import org.apache.kafka.coordinator.transaction.PendingCompleteTxnAndMarkerEntry;
import org.apache.kafka.coordinator.transaction.TransactionConfig;
import org.apache.kafka.coordinator.transaction.TransactionLog;
import org.apache.kafka.coordinator.transaction.TransactionLogConfig;
import org.apache.kafka.coordinator.transaction.TransactionStateManagerConfig;
import org.apache.kafka.coordinator.transaction.TxnMarkerQueue;
import org.apache.kafka.coordinator.transaction.generated.TransactionLogValue;
import org.apache.kafka.coordinator.transaction.generated.TransactionLogValueJsonConverter;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.common.TransactionVersion;
import org.apache.kafka.server.util.RequestAndCompletionHandler;

import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

public class TransactionOracle {
    /** Markers that were sent to a broker, which has not answered. */
    record Sent(RequestAndCompletionHandler request, List<PendingCompleteTxnAndMarkerEntry> entries) { }

    /** Its sender does not run by itself. */
    static class Sender extends TransactionMarkerChannelManager {
        Sender(KafkaConfig config, TransactionBroker broker, TransactionStateManager states) {
            super(config, broker.metadata(), TransactionBroker.client(), states, broker.clock);
        }

        @Override
        public void start() { }
    }

    /** What each command may have. */
    static final Map<String, Set<String>> NAMES = """
        start config transactionVersion firstProducerId nowMs maxMessageBytes elect
        restart transactionVersion elect
        clock ms
        leaders topic leaders
        producerIds next error
        transactionVersion level
        partitionCount count
        init transactionalId timeoutMs enable2Pc keepPreparedTxn producerId producerEpoch
        add transactionalId producerId producerEpoch partitions clientTransactionVersion
        verify transactionalId producerId producerEpoch partitions
        end transactionalId producerId producerEpoch committed clientTransactionVersion
        describe transactionalId
        list states producerIds durationMs pattern
        partitionFor transactionalId
        topicConfigs
        abortTimedOut
        expire
        elect partition epoch load
        load
        resign partition epoch
        holdAppends
        releaseAppends count error
        failAppends error written count
        clearFailures
        write partition transactionalId value version hex
        truncate partition offset
        markers
        sendMarkers
        answerMarkers send disconnected errors otherwise omit
        state
        """.lines().map(line -> line.trim().split(" "))
        .collect(Collectors.toMap(line -> line[0], line -> Set.copyOf(List.of(line).subList(1, line.length))));

    TransactionBroker broker;
    KafkaConfig config;
    TransactionStateManager states;
    Sender sender;
    TransactionCoordinator coordinator;
    final Map<Integer, Sent> sent = new HashMap<>();
    final TreeSet<Integer> pending = new TreeSet<>();
    int commands = 0;
    int sends = 0;
    TransactionAnswer answer;

    void start(JsonNode op) {
        Map<String, Object> settings = new HashMap<>(Map.of(
            "process.roles", "broker", "node.id", "0", "controller.listener.names", "CONTROLLER",
            "controller.quorum.bootstrap.servers", "127.0.0.1:1", "listeners", "PLAINTEXT://127.0.0.1:0",
            "transaction.state.log.num.partitions", "1"));
        op.path("config").properties().forEach(one -> settings.put(one.getKey(), one.getValue().asText()));
        config = new KafkaConfig(settings, false);
        broker = new TransactionBroker();
        broker.clock.nowMs = op.path("nowMs").asLong(broker.clock.nowMs);
        broker.ids.next = op.path("firstProducerId").asLong(broker.ids.next);
        broker.maxMessageBytes = op.path("maxMessageBytes").asInt(broker.maxMessageBytes);
        broker.partitions = new TransactionLogConfig(config).transactionTopicPartitions();
        for (int i = 0; i < broker.partitions; i++) broker.logs.put(i, TransactionBroker.Log.empty());
        begin(op);
        for (int i = 0; i < broker.partitions && op.path("elect").asBoolean(true); i++) elect(i, 0, true);
    }

    /** A new coordinator of this broker. What the old one waited for is forgotten. */
    void begin(JsonNode op) {
        broker.transactionVersion = (short) op.path("transactionVersion").asInt(broker.transactionVersion);
        broker.led.clear();
        broker.tasks.once.clear();
        broker.held.clear();
        broker.failures.clear();
        broker.holding = false;
        sent.clear();
        sends = 0;
        pending.removeIf(request -> request != commands);
        TransactionLogConfig log = new TransactionLogConfig(config);
        TransactionStateManagerConfig of = new TransactionStateManagerConfig(config);
        TransactionConfig transactions = new TransactionConfig(of.transactionalIdExpirationMs(),
            of.transactionMaxTimeoutMs(), log.transactionTopicPartitions(), log.transactionTopicReplicationFactor(),
            log.transactionTopicSegmentBytes(), log.transactionLoadBufferSize(), log.transactionTopicMinISR(),
            of.transactionAbortTimedOutTransactionCleanupIntervalMs(),
            of.transactionRemoveExpiredTransactionalIdCleanupIntervalMs(), of.transaction2PCEnabled(),
            config.requestTimeoutMs());
        states = new TransactionStateManager(config.brokerId(), broker.tasks, broker.replicas(), broker.metadata(),
            transactions, broker.clock, new Metrics());
        sender = new Sender(config, broker, states);
        coordinator = new TransactionCoordinator(transactions, broker.tasks, () -> broker.ids, states, sender,
            broker.clock, new LogContext());
        coordinator.startup(() -> broker.partitions, true);
    }

    void elect(int partition, int epoch, boolean load) {
        if (broker.logs.get(partition) == null) throw new IllegalArgumentException("no partition " + partition);
        broker.led.add(partition);
        coordinator.onElection(partition, epoch);
        if (load) load();
    }

    void load() {
        Runnable task;
        while ((task = broker.tasks.once.poll()) != null) guarded(task);
    }

    /** Runs the command; {@code null} says that its result comes by {@link #done}, now or later. */
    JsonNode run(int request, JsonNode op) throws Exception {
        String id = op.path("transactionalId").textValue();
        long producerId = op.path("producerId").asLong(-1);
        short epoch = (short) op.path("producerEpoch").asInt(-1);
        ObjectNode result = TransactionAnswer.JSON.createObjectNode();
        switch (op.path("op").asText()) {
            case "start" -> start(op);
            case "restart" -> {
                begin(op);
                op.path("elect").properties().forEach(
                    one -> elect(Integer.parseInt(one.getKey()), one.getValue().asInt(), true));
            }
            case "clock" -> broker.clock.nowMs += need(op, "ms").asLong();
            case "leaders" -> {
                List<Integer> leaders = new ArrayList<>();
                need(op, "leaders").forEach(one -> leaders.add(one.asInt()));
                broker.leaders.put(need(op, "topic").asText(), leaders);
            }
            case "producerIds" -> {
                broker.ids.next = op.path("next").asLong(broker.ids.next);
                broker.ids.error = error(op);
            }
            case "transactionVersion" -> broker.transactionVersion = (short) need(op, "level").asInt();
            case "partitionCount" -> broker.partitions = need(op, "count").asInt();
            case "init" -> {
                Option<ProducerIdAndEpoch> expected = producerId == -1 && epoch == -1
                    ? Option.empty() : Option.apply(new ProducerIdAndEpoch(producerId, epoch));
                coordinator.handleInitProducerId(id, op.path("timeoutMs").asInt(60_000),
                    op.path("enable2Pc").asBoolean(), op.path("keepPreparedTxn").asBoolean(), expected,
                    of -> done(request,
                        TransactionAnswer.producer(of.error(), of.producerId(), of.producerEpoch())),
                    RequestLocal.noCaching());
                return null;
            }
            case "add" -> {
                coordinator.handleAddPartitionsToTransaction(id, producerId, epoch, partitions(op),
                    error -> done(request, TransactionAnswer.error(error)), version(op),
                    RequestLocal.noCaching());
                return null;
            }
            case "verify" -> {
                coordinator.handleVerifyPartitionsInTransaction(id, producerId, epoch, partitions(op),
                    of -> done(request, TransactionAnswer.verified(of)));
                return null;
            }
            case "end" -> {
                coordinator.handleEndTransaction(id, producerId, epoch,
                    TransactionResult.forId(need(op, "committed").asBoolean()), version(op),
                    (error, newId, newEpoch) -> done(request,
                        TransactionAnswer.producer(error, (long) newId, (short) newEpoch)),
                    RequestLocal.noCaching());
                return null;
            }
            case "describe" -> {
                return TransactionAnswer.described(coordinator.handleDescribeTransactions(id));
            }
            case "list" -> {
                Set<String> stateNames = new HashSet<>();
                op.path("states").forEach(one -> stateNames.add(one.asText()));
                Set<Object> producerIds = new HashSet<>();
                op.path("producerIds").forEach(one -> producerIds.add(one.asLong()));
                return TransactionAnswer.listed(coordinator.handleListTransactions(
                    CollectionConverters.asScala(producerIds).toSet(), CollectionConverters.asScala(stateNames).toSet(),
                    op.path("durationMs").asLong(-1), op.path("pattern").textValue()));
            }
            case "partitionFor" -> result.put("partition", coordinator.partitionFor(id));
            case "topicConfigs" ->
                new TreeMap<>(coordinator.transactionStateTopicConfigs()).forEach(result::put);
            case "abortTimedOut" -> coordinator.abortTimedOutTransactions(of -> (error, newId, newEpoch) -> {
                answer.completed(request, TransactionAnswer.producer(error, of.producerId(), of.producerEpoch())
                    .put("transactionalId", of.transactionalId()));
                return BoxedUnit.UNIT;
            });
            case "expire" -> broker.tasks.periodic.get("transactionalId-expiration").run();
            case "elect" ->
                elect(need(op, "partition").asInt(), need(op, "epoch").asInt(), op.path("load").asBoolean(true));
            case "load" -> load();
            case "resign" -> {
                int partition = need(op, "partition").asInt();
                broker.led.remove(partition);
                JsonNode of = op.path("epoch");
                coordinator.onResignation(partition, of.isNumber() ? Option.apply(of.asInt()) : Option.empty());
            }
            case "holdAppends" -> broker.holding = true;
            case "releaseAppends" -> {
                Errors error = error(op);
                broker.holding = broker.holding && op.has("count");
                int count = Math.min(op.path("count").asInt(Integer.MAX_VALUE), broker.held.size());
                for (int i = 0; i < count; i++) {
                    TransactionBroker.Held append = broker.held.poll();
                    guarded(() -> append.end(error));
                }
            }
            case "failAppends" -> {
                need(op, "error");
                TransactionBroker.Failure failure =
                    new TransactionBroker.Failure(error(op), op.path("written").asBoolean());
                for (int i = 0; i < op.path("count").asInt(1); i++) broker.failures.add(failure);
            }
            case "clearFailures" -> broker.failures.clear();
            case "write" -> {
                SimpleRecord record = record(op);
                result.put("offset", broker.logs.get(need(op, "partition").asInt()).append(List.of(record)));
            }
            case "truncate" ->
                broker.logs.get(need(op, "partition").asInt()).truncate(need(op, "offset").asLong());
            case "markers" -> queued(result.putArray("queued"));
            case "sendMarkers" -> send(result.putArray("sent"));
            case "answerMarkers" -> answerMarkers(op);
            case "state" -> {
                return TransactionAnswer.state(states, sender).put("failures", broker.failures.size());
            }
            default -> throw new IllegalStateException("no such command: " + op);
        }
        return result;
    }

    static void known(JsonNode op) {
        Set<String> names = NAMES.get(op.path("op").asText());
        if (names == null) throw new IllegalArgumentException("unknown command " + op);
        op.properties().forEach(one -> {
            if (!"op".equals(one.getKey()) && !names.contains(one.getKey())) {
                throw new IllegalArgumentException("unknown " + one.getKey() + " in " + op);
            }
        });
        if (op.hasNonNull("transactionalId") && !op.get("transactionalId").isTextual()) {
            throw new IllegalArgumentException("a transactionalId that is no string in " + op);
        }
    }

    static JsonNode need(JsonNode op, String name) {
        if (!op.hasNonNull(name)) throw new IllegalArgumentException(name + " is missing in " + op);
        return op.get(name);
    }

    static Errors error(JsonNode op) {
        return Errors.valueOf(op.path("error").asText("NONE"));
    }

    static TransactionVersion version(JsonNode op) {
        return TransactionVersion.fromFeatureLevel((short) op.path("clientTransactionVersion").asInt(2));
    }

    static Set<TopicPartition> partitions(JsonNode op) {
        Set<TopicPartition> all = new HashSet<>();
        need(op, "partitions").forEach(one -> all.add(new TopicPartition(one.get(0).asText(), one.get(1).asInt())));
        return all;
    }

    /** A record that the script writes itself. */
    SimpleRecord record(JsonNode op) {
        if (op.has("hex")) {
            JsonNode hex = op.get("hex");
            return new SimpleRecord(broker.clock.nowMs, bytes(hex.get("key")), bytes(hex.get("value")));
        }
        byte[] key = TransactionLog.keyToBytes(need(op, "transactionalId").asText());
        if (!op.hasNonNull("value")) return new SimpleRecord(broker.clock.nowMs, key, null);
        short version = (short) op.path("version").asInt(1);
        TransactionLogValue value = TransactionLogValueJsonConverter.read(op.get("value"), version);
        return new SimpleRecord(broker.clock.nowMs, key, MessageUtil.toVersionPrefixedBytes(version, value));
    }

    static byte[] bytes(JsonNode hex) {
        return hex == null || hex.isNull() ? null : HexFormat.of().parseHex(hex.asText());
    }

    void queued(ArrayNode all) {
        Map<Integer, List<PendingCompleteTxnAndMarkerEntry>> entries = new TreeMap<>();
        scala.collection.Map<Object, TxnMarkerQueue> queues =
            TransactionAnswer.field(TransactionMarkerChannelManager.class, sender, "markersQueuePerBroker");
        Map<Object, TxnMarkerQueue> brokers = new HashMap<>(CollectionConverters.asJava(queues));
        brokers.put(-1, sender.queueForUnknownBroker());
        brokers.forEach((id, queue) -> queue.forEachTxnTopicPartition((partition, of) ->
            entries.computeIfAbsent((Integer) id, none -> new ArrayList<>()).addAll(of)));
        entries.forEach((id, of) -> TransactionAnswer.markers(all.addObject().put("broker", id), of));
    }

    void send(ArrayNode all) {
        List<RequestAndCompletionHandler> requests = new ArrayList<>(sender.generateRequests());
        requests.sort(Comparator.comparing(request -> request.destination.id()));
        for (RequestAndCompletionHandler request : requests) {
            List<PendingCompleteTxnAndMarkerEntry> entries = TransactionAnswer.field(
                request.handler.getClass(), request.handler, "pendingCompleteTxnAndMarkerEntries");
            sent.put(++sends, new Sent(request, entries));
            ObjectNode one = all.addObject().put("send", sends).put("broker", request.destination.id());
            TransactionAnswer.markers(one.put("version", request.request.latestAllowedVersion()), entries);
        }
    }

    void answerMarkers(JsonNode op) {
        Sent of = sent.remove(need(op, "send").asInt());
        if (of == null) throw new IllegalArgumentException("nothing was sent of " + op);
        boolean disconnected = op.path("disconnected").asBoolean();
        Map<Long, Map<TopicPartition, Errors>> errors = new HashMap<>();
        for (PendingCompleteTxnAndMarkerEntry entry : of.entries) {
            TxnMarkerEntry marker = entry.txnMarkerEntry();
            Map<TopicPartition, Errors> results = errors.computeIfAbsent(marker.producerId(), id -> new HashMap<>());
            Errors otherwise = Errors.valueOf(op.path("otherwise").asText("NONE"));
            for (TopicPartition partition : marker.partitions()) results.put(partition, otherwise);
            for (JsonNode one : op.path("errors")) {
                TopicPartition at = new TopicPartition(need(one, "topic").asText(), need(one, "partition").asInt());
                boolean meant = one.path("producerId").asLong(marker.producerId()) == marker.producerId();
                if (meant && marker.partitions().contains(at)) results.put(at, error(one));
            }
        }
        op.path("omit").forEach(id -> errors.remove(id.asLong()));
        short version = of.request.request.latestAllowedVersion();
        of.request.handler.onComplete(new ClientResponse(
            new RequestHeader(ApiKeys.WRITE_TXN_MARKERS, version, "", 0), null, of.request.destination.idString(),
            broker.clock.nowMs, broker.clock.nowMs, disconnected, null, null,
            disconnected ? null : new WriteTxnMarkersResponse(errors)));
    }

    BoxedUnit done(int request, JsonNode result) {
        pending.remove(request);
        answer.done(request, result);
        return BoxedUnit.UNIT;
    }

    /** Runs something of which others must not hear that it failed. */
    void guarded(Runnable task) {
        try {
            task.run();
        } catch (Exception e) {
            answer.thrown(e);
        }
    }

    String answer(String line) {
        int request = ++commands;
        answer = new TransactionAnswer(request);
        pending.add(request);
        try {
            JsonNode op = TransactionAnswer.JSON.readTree(line);
            known(op);
            if (coordinator == null && !"start".equals(op.path("op").asText())) {
                throw new IllegalStateException("nothing is started");
            }
            JsonNode result = run(request, op);
            if (result != null) done(request, result);
        } catch (Exception e) {
            pending.remove(request);
            answer.thrown(e);
        }
        if (broker != null) {
            answer.appended(broker.appends);
            broker.appends.clear();
        }
        return answer.line(pending);
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        TransactionOracle oracle = new TransactionOracle();
        String line;
        while ((line = in.readLine()) != null) {
            out.println(oracle.answer(line));
            out.flush();
        }
    }
}
