package thalweg.conformance;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Entry point of the Java conformance suites.
 *
 * <p>Usage: {@code Main --bootstrap HOST:PORT [--suite a,b] [--case SUBSTRING] [--transcript FILE]
 * [--target kafka|thalweg] [--threads N]}. One JVM runs every case; nothing in it starts or stops
 * a broker. Exit code 0 when every case passed, 1 otherwise.
 */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        String bootstrap = null;
        String suites = "producer,consumer,groups,admin,errors,tools,transactions";
        String filter = "";
        String target = "kafka";
        String make = "java";
        Path transcript = null;
        int threads = 4;
        for (int i = 0; i < args.length; i++) {
            if (i + 1 == args.length) {
                usage("missing value after " + args[i]);
            }
            String name = args[i];
            String value = args[++i];
            switch (name) {
                case "--bootstrap" -> bootstrap = value;
                case "--suite" -> suites = value;
                case "--case" -> filter = value;
                case "--target" -> target = value;
                case "--make" -> make = value;
                case "--transcript" -> transcript = Path.of(value);
                case "--threads" -> threads = Integer.parseInt(value);
                default -> usage("unknown option " + name);
            }
        }
        if (bootstrap == null) {
            usage("--bootstrap is required");
        }
        Console.install();
        try (Harness harness = new Harness(bootstrap, target, make, threads)) {
            List<Case> cases = new ArrayList<>();
            for (String suite : suites.split(",")) {
                cases.addAll(
                        switch (suite) {
                            case "producer" -> ProducerCases.all();
                            case "consumer" -> ConsumerCases.all();
                            case "groups" -> GroupCases.all();
                            case "admin" -> AdminCases.all();
                            case "errors" -> ErrorCases.all();
                            case "tools" -> ToolCases.all();
                            case "transactions" -> TransactionCases.all();
                            default -> throw new IllegalArgumentException("unknown suite " + suite);
                        });
            }
            String wanted = filter;
            cases.removeIf(c -> !c.name().contains(wanted));
            boolean clean = harness.run(cases);
            if (transcript != null) {
                harness.writeTranscript(transcript);
            }
            Console.real().flush();
            // Client threads of a failed case may still be alive; the verdict is already printed.
            Runtime.getRuntime().halt(clean ? 0 : 1);
        }
    }

    private static void usage(String why) {
        System.err.println(why);
        System.err.println("Main --bootstrap HOST:PORT [--suite LIST] [--case SUBSTRING]"
                + " [--transcript FILE] [--target kafka|thalweg] [--make NAME] [--threads N]");
        System.exit(2);
    }
}
