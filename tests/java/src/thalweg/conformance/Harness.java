package thalweg.conformance;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.apache.kafka.clients.admin.Admin;

/**
 * Runs cases, prints one result line each ({@code pass NAME MS} or {@code fail NAME MS: why}), and
 * keeps their transcripts.
 *
 * <p>A transcript is what a case saw, in a form that two brokers can be compared by: lines that
 * start with {@code M } hold wording, which may differ; all others must be the same.
 */
final class Harness implements AutoCloseable {
    private static final long CASE_SECONDS_MAX = 120;

    private final String bootstrap;
    private final String target;
    /** What the results are named after: the client that runs the cases. */
    private final String make;
    private final int threads;
    private final String run;
    private final Admin admin;
    private final TreeMap<String, List<String>> transcripts = new TreeMap<>();
    private boolean clean = true;

    Harness(String bootstrap, String target, String make, int threads) {
        this.bootstrap = bootstrap;
        this.target = target;
        this.make = make;
        this.threads = threads;
        this.run = "r" + Integer.toString(ThreadLocalRandom.current().nextInt(46656, 1679616), 36);
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("default.api.timeout.ms", "30000");
        settings.put("request.timeout.ms", "20000");
        this.admin = Admin.create(settings);
    }

    boolean run(List<Case> cases) throws InterruptedException {
        ExecutorService pool = Executors.newFixedThreadPool(threads, Harness::daemon);
        List<Callable<Void>> together = new ArrayList<>();
        for (Case one : cases) {
            if (!one.alone()) {
                together.add(() -> {
                    runOne(one);
                    return null;
                });
            }
        }
        pool.invokeAll(together);
        for (Case one : cases) {
            if (one.alone()) {
                runOne(one);
            }
        }
        pool.shutdownNow();
        return clean;
    }

    private void runOne(Case one) {
        Context context = new Context(one.name(), bootstrap, target, run, admin);
        long start = System.nanoTime();
        String failure = null;
        ExecutorService thread = Executors.newSingleThreadExecutor(Harness::daemon);
        Future<?> outcome = thread.submit(() -> {
            one.body().run(context);
            return null;
        });
        try {
            outcome.get(CASE_SECONDS_MAX, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            failure = explain(e.getCause());
        } catch (TimeoutException e) {
            failure = "no end after " + CASE_SECONDS_MAX + " s; last line: " + context.lastLine();
            outcome.cancel(true);
        } catch (InterruptedException e) {
            failure = "interrupted";
        }
        thread.shutdownNow();
        long millis = (System.nanoTime() - start) / 1_000_000;
        List<String> lines = context.finish();
        synchronized (this) {
            if (failure == null) {
                Console.real().println("pass " + make + "." + one.name() + " " + millis);
            } else {
                clean = false;
                lines.add("E case failed");
                Console.real().println("fail " + make + "." + one.name() + " " + millis + ": " + failure);
            }
            Console.real().flush();
            transcripts.put(one.name(), lines);
        }
    }

    void writeTranscript(Path file) throws IOException {
        List<String> all = new ArrayList<>();
        for (var entry : transcripts.entrySet()) {
            all.add("## " + make + "." + entry.getKey());
            all.addAll(entry.getValue());
        }
        Files.write(file, all);
    }

    private static String explain(Throwable thrown) {
        StringBuilder text = new StringBuilder();
        for (Throwable t = thrown; t != null && text.length() < 1500; t = t.getCause()) {
            text.append(text.length() == 0 ? "" : " <- ").append(t.getClass().getSimpleName());
            text.append(' ').append(String.valueOf(t.getMessage()).replaceAll("\\s+", " "));
        }
        for (StackTraceElement frame : thrown.getStackTrace()) {
            if (frame.getClassName().startsWith("thalweg.") && !frame.getClassName().endsWith("Context")) {
                text.append(" @").append(frame.getFileName()).append(':').append(frame.getLineNumber());
                break;
            }
        }
        return text.toString();
    }

    private static Thread daemon(Runnable body) {
        Thread thread = new Thread(body);
        thread.setDaemon(true);
        return thread;
    }

    @Override
    public void close() {
        admin.close(java.time.Duration.ofSeconds(2));
    }
}
