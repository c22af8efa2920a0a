package thalweg.conformance;

import static thalweg.conformance.Context.check;
import static thalweg.conformance.Context.eventually;
import static thalweg.conformance.Context.partitions;
import static thalweg.conformance.Context.same;
import static thalweg.conformance.Context.send;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Kafka's command-line tools, their real main methods, called inside this JVM so that each costs no
 * start. The two that end the process themselves run as processes of their own.
 */
final class ToolCases {
    private static final String TOOLS = "org.apache.kafka.tools.";

    /** Lines that repeat the broker's own wording of a reason. */
    private static final Pattern REASONS = Pattern.compile("Error|[Cc]ould not|Exception");

    private ToolCases() {}

    static List<Case> all() {
        return List.of(
                Case.alone("tools.topics", ToolCases::topics),
                Case.alone("tools.console-producer-consumer", ToolCases::console),
                Case.alone("tools.console-properties", ToolCases::consoleProperties),
                Case.alone("tools.consumer-groups", ToolCases::consumerGroups),
                Case.alone("tools.groups", ToolCases::groupsCommand),
                Case.alone("tools.configs", ToolCases::configs),
                Case.alone("tools.get-offsets", ToolCases::getOffsets),
                Case.alone("tools.delete-records", ToolCases::deleteRecords),
                Case.alone("tools.log-dirs", ToolCases::logDirs),
                Case.alone("tools.broker-api-versions", ToolCases::apiVersions),
                Case.alone("tools.metadata-quorum", ToolCases::metadataQuorum),
                Case.alone("tools.features", ToolCases::features),
                Case.alone("tools.leader-election", ToolCases::leaderElection),
                Case.alone("tools.reassign-partitions", ToolCases::reassign),
                Case.alone("tools.performance", ToolCases::performance),
                Case.alone("tools.transactions-list", ToolCases::transactions),
                Case.alone("tools.cluster", ToolCases::cluster),
                Case.alone("tools.console-offsets-topic", ToolCases::offsetsTopic),
                Case.of("tools.verifiable", ToolCases::verifiable));
    }

    /** What a tool gave back to a command. */
    private record Result(String command, int code, String out, String err) {
        List<String> lines() {
            return out.lines().map(String::stripTrailing).filter(line -> !line.isBlank()).toList();
        }
    }

    /** Stands for the end of the process that the tool asked for. */
    private static final class Ended extends RuntimeException {
        Ended(int code) {
            super("exit " + code);
        }
    }

    private static Result run(String input, String name, String... args) throws Exception {
        AtomicInteger code = new AtomicInteger(-1);
        List<Runnable> hooks = Collections.synchronizedList(new ArrayList<>());
        InputStream stdin = System.in;
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Exit.Procedure end = (status, message) -> {
            code.compareAndSet(-1, status);
            throw new Ended(status);
        };
        Exit.setExitProcedure(end);
        Exit.setHaltProcedure(end);
        Exit.setShutdownHookAdder((hookName, hook) -> hooks.add(hook));
        System.setIn(new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)));
        Console.begin();
        String[] output;
        try {
            Thread tool = new Thread(() -> {
                try {
                    Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) args);
                } catch (InvocationTargetException e) {
                    if (!(e.getCause() instanceof Ended)) {
                        thrown.set(e.getCause());
                    }
                } catch (ReflectiveOperationException e) {
                    thrown.set(e);
                }
                hooks.forEach(Runnable::run);
            }, "tool");
            tool.setDaemon(true);
            tool.start();
            tool.join(60_000);
            check(!tool.isAlive(), "%s %s did not end; so far: %s", name, List.of(args), Console.soFar());
        } finally {
            output = Console.end();
            System.setIn(stdin);
            Exit.resetExitProcedure();
            Exit.resetHaltProcedure();
            Exit.resetShutdownHookAdder();
        }
        if (thrown.get() != null) {
            throw new AssertionError(name + " threw " + thrown.get() + "; output: " + output[0], thrown.get());
        }
        return new Result(name + " " + String.join(" ", args), Math.max(code.get(), 0), output[0], output[1]);
    }

    /** Runs the tool against the broker and writes what it printed to the transcript. */
    private static Result tool(Context c, String name, String... args) throws Exception {
        return tool(c, line -> true, name, args);
    }

    private static Result tool(Context c, Predicate<String> shown, String name, String... args) throws Exception {
        String[] all = Arrays.copyOf(args, args.length + 2);
        all[args.length] = "--bootstrap-server";
        all[args.length + 1] = c.bootstrap();
        Result result = run("", name, all);
        return show(c, shown, name, args, result);
    }

    /** The same for a tool that looks at all topics: one that another suite deletes meanwhile fails it. */
    private static Result ofAll(Context c, String name, String... args) throws Exception {
        String[] all = Arrays.copyOf(args, args.length + 2);
        all[args.length] = "--bootstrap-server";
        all[args.length + 1] = c.bootstrap();
        Result result = run("", name, all);
        for (int tries = 1; result.code != 0 && tries < 5; tries++) {
            result = run("", name, all);
        }
        return show(c, line -> line.contains(c.name("")), name, args, result);
    }

    private static Result show(Context c, Predicate<String> shown, String name, String[] args, Result result) {
        String brief = name.substring(name.lastIndexOf('.') + 1);
        c.line("%s", brief + " " + String.join(" ", args) + " -> " + result.code);
        // The tool walks a hash map here, so that its order tells nothing.
        boolean unordered = List.of(args).contains("--reset-offsets") || List.of(args).contains("--topics-with-overrides")
                || args.length > 0 && args[args.length - 1].endsWith(".*");
        var lines = result.lines().stream().filter(shown);
        (unordered ? lines.sorted() : lines).forEach(line -> c.line("%s",
                (REASONS.matcher(line).find() ? "M " : "  ") + squeeze(line).replaceAll("\"log_dirs\":\\[\"/[^]]*]", "<log-dirs>")));
        // Standard error is wording (and stack traces): its first line tells what went wrong.
        result.err.lines().filter(line -> !line.isBlank() && !line.startsWith("exit "))
                .findFirst().ifPresent(line -> c.line("%s", "M " + squeeze(line)));
        return result;
    }

    private static String squeeze(String line) {
        return line.strip().replaceAll("[ \\t]+", " ");
    }

    private static Result good(Result result) {
        // A tool says what went wrong in its first lines, or in a stack trace.
        String err = result.err.lines().filter(line -> !line.isBlank()).limit(8).collect(Collectors.joining(" | "));
        check(result.code == 0, "%s: exit code %d: %s %s", result.command, result.code, result.out, err);
        return result;
    }

    private static void contains(Result result, String text) {
        check(result.out.contains(text), "output lacks '%s': %s %s", text, result.out, result.err);
    }

    private static void topics(Context c) throws Exception {
        String tool = TOOLS + "TopicCommand";
        String one = c.name("one");
        String two = c.name("two");
        good(tool(c, tool, "--create", "--topic", one, "--partitions", "3", "--replication-factor", "1",
                "--config", "retention.ms=7200000"));
        good(tool(c, tool, "--create", "--topic", two));
        c.visible(one, 3);
        c.visible(two, 1);
        same("creating it again", 1, tool(c, tool, "--create", "--topic", one).code);
        good(tool(c, tool, "--create", "--topic", one, "--if-not-exists"));
        contains(good(tool(c, line -> line.contains(c.name("")), tool, "--list")), one);
        contains(good(tool(c, tool, "--describe", "--topic", one)), "PartitionCount: 3");
        good(tool(c, tool, "--describe", "--topic", c.name("") + ".*"));
        good(ofAll(c, tool, "--describe", "--under-replicated-partitions"));
        good(ofAll(c, tool, "--describe", "--unavailable-partitions"));
        good(ofAll(c, tool, "--describe", "--topics-with-overrides"));
        good(tool(c, tool, "--alter", "--topic", one, "--partitions", "5"));
        c.visible(one, 5);
        same("fewer partitions", 1, tool(c, tool, "--alter", "--topic", one, "--partitions", "2").code);
        same("unknown topic", 1, tool(c, tool, "--describe", "--topic", c.name("unknown")).code);
        same("three replicas", 1, tool(c, tool, "--create", "--topic", c.name("x"), "--replication-factor", "3").code);
        good(tool(c, tool, "--delete", "--topic", one));
        good(tool(c, tool, "--delete", "--topic", two));
        same("deleting it again", 1, tool(c, tool, "--delete", "--topic", two).code);
    }

    private static Result produce(Context c, String topic, String text, String... more) throws Exception {
        List<String> args = new ArrayList<>(List.of("--bootstrap-server", c.bootstrap(), "--topic", topic));
        args.addAll(List.of(more));
        return good(run(text, TOOLS + "ConsoleProducer", args.toArray(new String[0])));
    }

    private static Result consume(Context c, String topic, int count, String... more) throws Exception {
        List<String> args = new ArrayList<>(List.of("--topic", topic, "--max-messages",
                Integer.toString(count), "--timeout-ms", "20000"));
        args.addAll(List.of(more));
        return good(tool(c, TOOLS + "consumer.ConsoleConsumer", args.toArray(new String[0])));
    }

    private static void console(Context c) throws Exception {
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            String topic = c.topic(codec, 1);
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < 200; i++) {
                text.append("line ").append(i).append(" of the ").append(codec).append(" text, ünïcode ✓\n");
            }
            produce(c, topic, text.toString(), "--compression-codec", codec);
            List<String> args = List.of("--bootstrap-server", c.bootstrap(), "--topic", topic, "--from-beginning",
                    "--max-messages", "200", "--timeout-ms", "20000");
            Result got = good(run("", TOOLS + "consumer.ConsoleConsumer", args.toArray(new String[0])));
            same("text through " + codec, text.toString(), got.out);
            c.line("200 lines through %s", codec);
        }
    }

    private static void consoleProperties(Context c) throws Exception {
        String topic = c.topic("t", 1);
        produce(c, topic, "h1:a,h2:b\tk1\tv1\nh1:c\tk2\tv2\n", "--reader-property", "parse.key=true",
                "--reader-property", "parse.headers=true");
        Result result = consume(c, topic, 2, "--from-beginning", "--formatter-property", "print.key=true",
                "--formatter-property", "print.headers=true", "--formatter-property", "print.offset=true",
                "--formatter-property", "print.partition=true");
        contains(result, "h1:a,h2:b");
        consume(c, topic, 1, "--partition", "0", "--offset", "1");
        String group = c.name("g");
        consume(c, topic, 1, "--group", group, "--from-beginning");
        // The first run stopped after one record and committed when it closed.
        consume(c, topic, 1, "--group", group);
    }

    private static void consumerGroups(Context c) throws Exception {
        String tool = TOOLS + "consumer.group.ConsumerGroupCommand";
        String topic = c.topic("t", 2);
        String group = c.name("g");
        send(c.producer(), Data.numbered(topic, 0, 0, 20));
        send(c.producer(), Data.numbered(topic, 1, 0, 10));
        var consumer = c.consumer("group.id", group, "client.id", "worker", "max.poll.records", "30");
        consumer.subscribe(List.of(topic));
        Context.poll(consumer, new ArrayList<>(), 30, 20_000);
        consumer.commitSync();
        contains(good(tool(c, tool, "--describe", "--group", group)), "worker");
        good(tool(c, tool, "--describe", "--group", group, "--members", "--verbose"));
        good(tool(c, tool, "--describe", "--group", group, "--state"));
        contains(good(tool(c, line -> line.contains(group), tool, "--list", "--state")), "Stable");
        tool(c, tool, "--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute");
        tool(c, tool, "--delete", "--group", group);
        consumer.close(java.time.Duration.ofSeconds(10));
        good(tool(c, tool, "--describe", "--group", group));
        good(tool(c, tool, "--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--dry-run"));
        good(tool(c, tool, "--reset-offsets", "--group", group, "--topic", topic, "--shift-by", "-5", "--execute"));
        good(tool(c, tool, "--reset-offsets", "--group", group, "--topic", topic + ":0", "--to-offset", "3", "--execute"));
        good(tool(c, tool, "--reset-offsets", "--group", group, "--all-topics", "--to-datetime",
                "2023-11-14T22:13:20.050", "--execute"));
        good(tool(c, tool, "--describe", "--group", group));
        good(tool(c, tool, "--delete-offsets", "--group", group, "--topic", topic + ":1"));
        good(tool(c, tool, "--describe", "--group", group, "--offsets"));
        good(tool(c, tool, "--delete", "--group", group));
        tool(c, tool, "--describe", "--group", group);
        check(!tool(c, line -> line.contains(group), tool, "--list").out.contains(group), "group is still listed");
    }

    private static void groupsCommand(Context c) throws Exception {
        String tool = TOOLS + "GroupsCommand";
        String topic = c.topic("t", 1);
        String group = c.name("g");
        send(c.producer(), Data.numbered(topic, 0, 0, 1));
        var consumer = c.consumer("group.id", group);
        consumer.subscribe(List.of(topic));
        Context.poll(consumer, new ArrayList<>(), 1, 20_000);
        contains(good(tool(c, line -> line.contains(group), tool, "--list")), group);
        contains(good(tool(c, line -> line.contains(group), tool, "--list", "--consumer")), group);
        check(!good(tool(c, line -> line.contains(group), tool, "--list", "--group-type", "share")).out.contains(group), "listed as share group");
    }

    private static void configs(Context c) throws Exception {
        String tool = "org.apache.kafka.tools.ConfigCommand";
        String topic = c.topic("t", 1);
        good(tool(c, tool, "--alter", "--entity-type", "topics", "--entity-name", topic, "--add-config",
                "retention.ms=123456789,cleanup.policy=[compact,delete]"));
        contains(good(tool(c, tool, "--describe", "--entity-type", "topics", "--entity-name", topic)), "123456789");
        good(tool(c, tool, "--alter", "--entity-type", "topics", "--entity-name", topic, "--delete-config", "retention.ms"));
        good(tool(c, tool, "--describe", "--topic", topic));
        good(tool(c, line -> line.contains("retention") || line.contains("cleanup"), tool, "--describe", "--topic", topic, "--all"));
        check(tool(c, tool, "--alter", "--topic", topic, "--add-config", "retention.ms=x").code != 0, "a bad value was taken");
        // A config that is not set.
        tool(c, tool, "--alter", "--topic", topic, "--delete-config", "retention.ms");
        good(tool(c, tool, "--alter", "--broker", "1", "--add-config", "log.cleaner.threads=2"));
        // The broker takes it over after it has been written: until then it is described with its old value.
        inForce(c, "1", "log.cleaner.threads", "2");
        good(tool(c, line -> line.contains("log.cleaner.threads"), tool, "--describe", "--broker", "1"));
        good(tool(c, tool, "--alter", "--broker", "1", "--delete-config", "log.cleaner.threads"));
        good(tool(c, tool, "--alter", "--broker-defaults", "--add-config", "background.threads=9"));
        inForce(c, "1", "background.threads", "9");
        good(tool(c, line -> line.contains("background.threads"), tool, "--describe", "--broker-defaults"));
        good(tool(c, tool, "--alter", "--broker-defaults", "--delete-config", "background.threads"));
    }

    private static void inForce(Context c, String broker, String name, String value) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.BROKER, broker);
        eventually(name + " is in force", 10_000, () -> {
            var configs = c.admin().describeConfigs(List.of(resource)).all().get().get(resource);
            return value.equals(configs.get(name).value());
        });
    }

    private static void getOffsets(Context c) throws Exception {
        String tool = TOOLS + "GetOffsetShell";
        String topic = c.topic("t", 2);
        send(c.producer(), Data.numbered(topic, 0, 0, 20));
        contains(good(tool(c, tool, "--topic", topic)), topic + ":0:20");
        for (String time : List.of("earliest", "latest", "max-timestamp", "-1", "-2", Long.toString(Data.BASE_TIME + 55))) {
            good(tool(c, tool, "--topic", topic, "--time", time));
        }
        good(tool(c, tool, "--topic-partitions", topic + ":1"));
        tool(c, tool, "--topic", c.name("unknown"));
    }

    private static void deleteRecords(Context c) throws Exception {
        String topic = c.topic("t", 1);
        send(c.producer(), Data.numbered(topic, 0, 0, 20));
        Path file = Files.createTempFile("offsets", ".json");
        Files.writeString(file, "{\"version\":1,\"partitions\":[{\"topic\":\"" + topic + "\",\"partition\":0,\"offset\":8}]}");
        String[] args = {"--bootstrap-server", c.bootstrap(), "--offset-json-file", file.toString()};
        Result result = good(run("", TOOLS + "DeleteRecordsCommand", args));
        Files.delete(file);
        contains(result, "low_watermark: 8");
        c.readAll(partitions(topic, 1), 12);
    }

    private static void logDirs(Context c) throws Exception {
        String topic = c.topic("t", 2);
        send(c.producer(), Data.numbered(topic, 0, 0, 20));
        Result result = good(tool(c, line -> false, TOOLS + "LogDirsCommand", "--describe", "--topic-list", topic));
        contains(result, "\"partition\":\"" + topic + "-0\"");
        contains(result, "\"partition\":\"" + topic + "-1\"");
        contains(result, "\"offsetLag\":0");
    }

    /** The differences between brokers here are what one of them does not offer; each range counts. */
    private static void apiVersions(Context c) throws Exception {
        Result result = good(tool(c, line -> true, TOOLS + "BrokerApiVersionsCommand"));
        contains(result, "Produce(0): 0 to 13 [usable: 13]");
        contains(result, "Fetch(1): 4 to 18 [usable: 18]");
        contains(result, "OffsetFetch(9): 1 to 10 [usable: 10]");
    }

    private static void metadataQuorum(Context c) throws Exception {
        Predicate<String> steady = line -> line.startsWith("LeaderId") || line.startsWith("MaxFollowerLag:")
                || line.startsWith("CurrentObservers") || line.startsWith("NodeId");
        contains(good(quorum(c, steady, "describe", "--status")), "LeaderId:");
        good(quorum(c, steady, "describe", "--replication"));
    }

    private static Result quorum(Context c, Predicate<String> shown, String... args) throws Exception {
        return first(c, shown, TOOLS + "MetadataQuorumCommand", args);
    }

    /** Some tools want the address before their sub-command. */
    private static Result first(Context c, Predicate<String> shown, String name, String... args) throws Exception {
        List<String> all = new ArrayList<>(List.of("--bootstrap-server", c.bootstrap()));
        all.addAll(List.of(args));
        return show(c, shown, name, args, run("", name, all.toArray(new String[0])));
    }

    private static void features(Context c) throws Exception {
        String tool = TOOLS + "FeatureCommand";
        Result result = run("", tool, "--bootstrap-server", c.bootstrap(), "describe");
        good(result);
        contains(result, "metadata.version");
        result.lines().forEach(line -> c.line("%s", squeeze(line).replaceAll("Epoch: \\d+", "Epoch: <epoch>")));
        first(c, line -> true, tool, "upgrade", "--feature", "metadata.version=9999");
        first(c, line -> true, tool, "upgrade", "--feature", "no.such.feature=1");
    }

    private static void leaderElection(Context c) throws Exception {
        String topic = c.topic("t", 1);
        String tool = TOOLS + "LeaderElectionCommand";
        good(tool(c, tool, "--election-type", "preferred", "--topic", topic, "--partition", "0"));
        good(tool(c, tool, "--election-type", "unclean", "--topic", topic, "--partition", "0"));
        check(tool(c, tool, "--election-type", "preferred", "--topic", topic, "--partition", "7").code != 0,
                "an unknown partition was accepted");
    }

    private static void reassign(Context c) throws Exception {
        String tool = TOOLS + "reassign.ReassignPartitionsCommand";
        String topic = c.topic("t", 2);
        send(c.producer(), Data.numbered(topic, 0, 0, 20));
        Path move = Files.createTempFile("topics", ".json");
        Files.writeString(move, "{\"version\":1,\"topics\":[{\"topic\":\"" + topic + "\"}]}");
        Path plan = Files.createTempFile("plan", ".json");
        Files.writeString(plan, "{\"version\":1,\"partitions\":[{\"topic\":\"" + topic + "\",\"partition\":0,\"replicas\":[1]}]}");
        try {
            String[][] calls = {
                {"--generate", "--topics-to-move-json-file", move.toString(), "--broker-list", "1"},
                {"--execute", "--reassignment-json-file", plan.toString()},
                {"--verify", "--reassignment-json-file", plan.toString()},
                {"--list"},
                {"--cancel", "--reassignment-json-file", plan.toString()}};
            for (String[] args : calls) {
                String[] all = Arrays.copyOf(args, args.length + 2);
                all[args.length] = "--bootstrap-server";
                all[args.length + 1] = c.bootstrap();
                Result result = good(run("", tool, all));
                String[] named = {args[0]};
                show(c, line -> true, tool, named, result);
            }
        } finally {
            Files.delete(move);
            Files.delete(plan);
        }
        c.readAll(partitions(topic, 1), 20);
    }

    private static void performance(Context c) throws Exception {
        String topic = c.topic("t", 3);
        Result produced = good(run("", TOOLS + "ProducerPerformance", "--bootstrap-server", c.bootstrap(), "--topic", topic,
                "--num-records", "20000", "--record-size", "200", "--throughput", "-1", "--command-property",
                "compression.type=lz4"));
        contains(produced, "20000 records sent");
        Result consumed = good(run("", TOOLS + "ConsumerPerformance", "--bootstrap-server", c.bootstrap(), "--topic",
                topic, "--num-records", "20000", "--timeout", "20000"));
        List<String> lines = consumed.lines();
        String[] fields = lines.get(lines.size() - 1).split(", ");
        check(Long.parseLong(fields[4].strip()) >= 20_000, "consumed %s", lines);
        c.line("20000 records there and back");
    }

    private static void transactions(Context c) throws Exception {
        String id = c.name("tx");
        c.producer("transactional.id", id).initTransactions();
        // Other cases have theirs in the same cluster.
        String[] list = {"--bootstrap-server", c.bootstrap(), "list", "--transactional-id-pattern", id};
        Result result = good(run("", TOOLS + "TransactionsCommand", list));
        result.lines().forEach(line -> c.line("%s", squeeze(line).replace(id, "<id>").replaceAll("\\d+", "<n>")));
    }

    private static void cluster(Context c) throws Exception {
        Result id = good(run("", TOOLS + "ClusterTool", "cluster-id", "--bootstrap-server", c.bootstrap()));
        contains(id, "Cluster ID: ");
        Result endpoints = good(run("", TOOLS + "ClusterTool", "list-endpoints", "--bootstrap-server", c.bootstrap()));
        endpoints.lines().forEach(line -> c.line("%s", squeeze(line)));
    }

    /** The group coordinator's own topic, read with the formatter that Kafka ships for it. */
    private static void offsetsTopic(Context c) throws Exception {
        String topic = c.topic("t", 1);
        String group = c.name("g");
        c.admin().alterConsumerGroupOffsets(group, java.util.Map.of(new org.apache.kafka.common.TopicPartition(topic, 0),
                new org.apache.kafka.clients.consumer.OffsetAndMetadata(41, "mark"))).all().get(20, TimeUnit.SECONDS);
        int partition = Math.abs(group.hashCode() % 50);
        Result result = run("", TOOLS + "consumer.ConsoleConsumer", "--bootstrap-server", c.bootstrap(), "--topic",
                "__consumer_offsets", "--partition", Integer.toString(partition), "--offset", "earliest",
                "--timeout-ms", "2000", "--formatter", TOOLS + "consumer.OffsetsMessageFormatter");
        // The formatter ends no line after a commit.
        String line = Arrays.stream(result.out.split("(?=\\{\"key\":)")).filter(l -> l.contains(group)).findFirst()
                .orElseThrow(() -> new AssertionError("no commit of " + group + " in " + result.out + result.err));
        c.line("%s", line.strip().replaceAll("\"(commitTimestamp|expireTimestamp)\":\\d+", "\"$1\":<time>")
                .replaceAll("\"topicId\":\"[^\"]*\"", "\"topicId\":<id>"));
        check(line.contains("\"offset\":41"), "%s", line);
    }

    private static String process(String... args) throws Exception {
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path")));
        command.addAll(List.of(args));
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        process.getOutputStream().close();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        check(process.waitFor(60, TimeUnit.SECONDS), "%s did not end", args[0]);
        same("exit code of " + args[0], 0, process.exitValue());
        return out;
    }

    private static void verifiable(Context c) throws Exception {
        String topic = c.topic("t", 1);
        String produced = process(TOOLS + "VerifiableProducer", "--bootstrap-server", c.bootstrap(), "--topic", topic,
                "--max-messages", "300", "--repeating-keys", "5");
        same("acknowledged", 300L, produced.lines().filter(l -> l.contains("producer_send_success")).count());
        String consumed = process(TOOLS + "VerifiableConsumer", "--bootstrap-server", c.bootstrap(), "--topic", topic,
                "--group-id", c.name("g"), "--max-messages", "300", "--verbose", "--reset-policy", "earliest");
        same("consumed", 300L, consumed.lines().filter(l -> l.contains("\"name\":\"record_data\"")).count());
        c.line("300 records by the verifiable pair");
    }
}
