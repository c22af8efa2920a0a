package thalweg.conformance;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * Standard output and error that can be captured while a command-line tool runs inside this JVM.
 *
 * <p>Installed before any tool class is loaded, because Scala's console keeps the stream that it
 * found first. What a tool writes while nothing is captured goes nowhere, so that background
 * threads cannot disturb the result lines.
 */
final class Console {
    private static final PrintStream REAL = System.out;
    private static volatile ByteArrayOutputStream out;
    private static volatile ByteArrayOutputStream err;

    private Console() {}

    static void install() {
        System.setOut(new PrintStream(new Switch(true), true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(new Switch(false), true, StandardCharsets.UTF_8));
    }

    static PrintStream real() {
        return REAL;
    }

    static void begin() {
        out = new ByteArrayOutputStream();
        err = new ByteArrayOutputStream();
    }

    /** Ends the capture: what was written to standard output and standard error. */
    static String[] end() {
        System.out.flush();
        System.err.flush();
        String[] both = {out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8)};
        out = null;
        err = null;
        return both;
    }

    /** What standard output has received so far; empty when nothing is captured. */
    static String soFar() {
        ByteArrayOutputStream current = out;
        return current == null ? "" : current.toString(StandardCharsets.UTF_8);
    }

    private static final class Switch extends OutputStream {
        private final boolean standard;

        Switch(boolean standard) {
            this.standard = standard;
        }

        @Override
        public void write(int b) {
            ByteArrayOutputStream target = standard ? out : err;
            if (target != null) {
                target.write(b);
            }
        }

        @Override
        public void write(byte[] bytes, int from, int length) {
            ByteArrayOutputStream target = standard ? out : err;
            if (target != null) {
                target.write(bytes, from, length);
            }
        }
    }
}
