package thalweg.conformance;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.apache.kafka.common.utils.internals.Exit;
import org.apache.kafka.tools.DumpLogSegments;

/**
 * Opens every file of a stopped broker's data directory with Kafka's DumpLogSegments.
 *
 * <p>Usage: {@code DirectoryCheck DIR}. One result line per kind of file, and one for the small
 * files, which are read here. The broker must have been stopped in good order.
 */
public final class DirectoryCheck {
    private static final Pattern TROUBLE = Pattern.compile(
            "isvalid: false|Exception|mismatch|Mismatch|Misses|Could not|Invalid|invalid|corrupt|trailing|Found timestamp"
                    + "|Found out of order|Error ");

    private static final PrintStream REAL = System.out;

    private DirectoryCheck() {}

    public static void main(String[] args) throws Exception {
        Path data = Path.of(args[0]);
        var kinds = new TreeMap<String, List<Path>>();
        try (Stream<Path> all = Files.walk(data)) {
            for (Path path : (Iterable<Path>) all.filter(Files::isRegularFile).sorted()::iterator) {
                kind(path).ifPresent(k -> kinds.computeIfAbsent(k, x -> new ArrayList<>()).add(path));
            }
        }
        boolean clean = true;
        for (String kind : List.of("segments", "metadata", "metadata-snapshots", "group-offsets", "offset-indexes",
                "time-indexes", "transaction-indexes", "producer-snapshots")) {
            clean &= dump(kind, kinds.getOrDefault(kind, List.of()));
        }
        clean &= properties(data, kinds.getOrDefault("partition-metadata", List.of()));
        Runtime.getRuntime().halt(clean ? 0 : 1);
    }

    private static java.util.Optional<String> kind(Path path) {
        String name = path.getFileName().toString();
        String folder = path.getParent().getFileName().toString();
        if (folder.endsWith("-delete") || folder.endsWith("-stray")) {
            // On its way out, and not trimmed for that.
            return java.util.Optional.empty();
        }
        if (name.endsWith(".log")) {
            return java.util.Optional.of(folder.startsWith("__cluster_metadata") ? "metadata"
                    : folder.startsWith("__consumer_offsets") ? "group-offsets" : "segments");
        }
        if (name.endsWith(".checkpoint") && folder.startsWith("__cluster_metadata")) {
            return java.util.Optional.of("metadata-snapshots");
        }
        return java.util.Optional.ofNullable(name.endsWith(".index") ? "offset-indexes"
                : name.endsWith(".timeindex") ? "time-indexes"
                : name.endsWith(".txnindex") ? "transaction-indexes"
                : name.endsWith(".snapshot") ? "producer-snapshots"
                : name.equals("partition.metadata") ? "partition-metadata" : null);
    }

    private static String[] options(String kind) {
        return switch (kind) {
            case "metadata", "metadata-snapshots" -> new String[] {"--cluster-metadata-decoder"};
            case "group-offsets" -> new String[] {"--offsets-decoder"};
            case "segments" -> new String[] {"--deep-iteration"};
            case "offset-indexes", "time-indexes" -> new String[] {"--verify-index-only"};
            default -> new String[] {};
        };
    }

    private static boolean dump(String kind, List<Path> files) throws Exception {
        long start = System.nanoTime();
        String trouble = null;
        long lines = 0;
        // In bundles: the tool takes a list, and its output stays small enough to hold.
        for (int from = 0; from < files.size() && trouble == null; from += 40) {
            List<Path> bundle = files.subList(from, Math.min(from + 40, files.size()));
            List<String> args = new ArrayList<>(List.of(options(kind)));
            args.add("--files");
            args.add(String.join(",", bundle.stream().map(Path::toString).toList()));
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            PrintStream captured = new PrintStream(out, true, StandardCharsets.UTF_8);
            System.setOut(captured);
            System.setErr(captured);
            Exit.setExitProcedure((code, message) -> {
                throw new IllegalStateException("exit " + code + " " + message);
            });
            try {
                DumpLogSegments.main(args.toArray(new String[0]));
            } catch (Throwable thrown) {
                trouble = thrown.toString();
            } finally {
                System.setOut(REAL);
            }
            String current = "";
            for (String line : out.toString(StandardCharsets.UTF_8).split("\n")) {
                lines++;
                current = line.startsWith("Dumping ") ? line : current;
                // A record's content may hold any word; only the tool's own remarks count.
                String remark = line.replaceAll("(key|payload): .*", "");
                if (trouble == null && TROUBLE.matcher(remark).find() && !remark.startsWith("Dumping")) {
                    trouble = line + " (" + current + ")";
                }
            }
        }
        return report(kind, start, trouble, files.size() + " files, " + lines + " lines");
    }

    private static boolean properties(Path data, List<Path> partitions) throws Exception {
        long start = System.nanoTime();
        String trouble = null;
        Properties meta = new Properties();
        try (var in = Files.newBufferedReader(data.resolve("meta.properties"))) {
            meta.load(in);
        }
        if (!"1".equals(meta.getProperty("version")) || !"1".equals(meta.getProperty("node.id"))
                || !meta.containsKey("cluster.id") || !meta.containsKey("directory.id")) {
            trouble = "meta.properties holds " + meta;
        }
        for (Path path : partitions) {
            List<String> lines = Files.readAllLines(path);
            if (lines.size() != 2 || !lines.get(0).equals("version: 0") || !lines.get(1).startsWith("topic_id: ")) {
                trouble = path + " holds " + lines;
            }
        }
        for (String name : List.of("recovery-point-offset-checkpoint", "log-start-offset-checkpoint",
                "replication-offset-checkpoint")) {
            List<String> lines = Files.readAllLines(data.resolve(name));
            if (lines.size() < 2 || !lines.get(0).equals("0") || Integer.parseInt(lines.get(1)) != lines.size() - 2
                    || !lines.stream().skip(2).allMatch(l -> l.matches("\\S+ \\d+ \\d+"))) {
                trouble = name + " holds " + lines.stream().limit(5).toList();
            }
        }
        if (!Files.exists(data.resolve(".kafka_cleanshutdown"))) {
            trouble = "no .kafka_cleanshutdown";
        }
        return report("small-files", start, trouble, partitions.size() + " partitions");
    }

    private static boolean report(String kind, long start, String trouble, String what) {
        long millis = (System.nanoTime() - start) / 1_000_000;
        REAL.println(trouble == null ? "pass directory." + kind + " " + millis + " # " + what
                : "fail directory." + kind + " " + millis + ": " + trouble.replaceAll("\\s+", " "));
        REAL.flush();
        return trouble == null;
    }
}
