import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;

import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs the main methods of other classes, each for a connection and in a thread of its own: Kafka's
 * tools, and the oracles of the tests, whose source is compiled when it is first asked for.
 *
 * Usage: java -cp 'SCRATCH/classes:JARS/*' OracleServer.java SCRATCH. What is compiled has to be on the class
 * path, because an oracle that stands in one of Kafka's packages must have Kafka's loader.
 *
 * The first line of standard output is the port. It ends when standard input does, and removes SCRATCH:
 * whoever started it cannot leave it behind.
 *
 * A connection begins with the path of a source file (or nothing; several are separated by colons), the name
 * of a class, and the number of arguments and each of them; a text is preceded by its length in bytes, and all
 * numbers are i32. What follows is the program's standard input. Back come frames: a byte for the kind, an i32, and for the kinds
 * 1 (standard output) and 2 (standard error) so many bytes. Kind 3 is the end; its number is the exit code.
 *
 * Programs share Kafka's classes, and what these keep in static fields. A program that ends the virtual
 * machine ends it for all.
 */
public final class OracleServer {
    private static final int OUT = 1;
    private static final int ERR = 2;
    private static final int END = 3;

    /** The standard streams of a program, which threads that it starts inherit. */
    private static final class Streams {
        private static final PrintStream NOWHERE = new PrintStream(OutputStream.nullOutputStream());

        private final InputStream in;
        private final PrintStream out;
        private final PrintStream err;
        /** The exit code with which it ended the process first, as it believes. */
        private Integer status;

        Streams(InputStream in, PrintStream out, PrintStream err) {
            this.in = in;
            this.out = out;
            this.err = err;
        }

        synchronized void end(int with) {
            status = status == null ? Integer.valueOf(with) : status;
        }

        synchronized Integer status() {
            return status;
        }

        InputStream in() {
            return in;
        }

        PrintStream out() {
            return status() == null ? out : NOWHERE;
        }

        PrintStream err() {
            return status() == null ? err : NOWHERE;
        }
    }

    /**
     * What a program's call to end the process becomes. Some catch it, and say that something went wrong:
     * that is not heard, and the first exit code counts.
     */
    private static final class Ended extends Error {
        private static final long serialVersionUID = 1;
    }

    private static final InheritableThreadLocal<Streams> STREAMS = new InheritableThreadLocal<>();
    private static final Set<String> COMPILED = new HashSet<>();
    private static Path classes;

    public static void main(String[] args) throws Exception {
        classes = Path.of(args[0], "classes");
        Streams own = new Streams(System.in, System.out, System.err);
        Supplier<Streams> current = () -> {
            Streams streams = STREAMS.get();
            return streams == null ? own : streams;
        };
        System.setIn(new Input(() -> current.get().in()));
        System.setOut(new Print(() -> current.get().out()));
        System.setErr(new Print(() -> current.get().err()));
        Exit.Procedure end = (status, message) -> {
            current.get().end(status);
            throw new Ended();
        };
        Exit.setExitProcedure(end);
        Exit.setHaltProcedure(end);
        ServerSocket server = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
        own.out().println(server.getLocalPort());
        own.out().flush();
        Thread accepting = new Thread(() -> accept(server), "accept");
        accepting.setDaemon(true);
        accepting.start();
        while (own.in().read() >= 0) { }
        try (Stream<Path> all = Files.walk(Path.of(args[0]))) {
            all.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
        }
        Runtime.getRuntime().halt(0);
    }

    private static void accept(ServerSocket server) {
        try {
            while (true) {
                Socket socket = server.accept();
                Thread thread = new Thread(() -> serve(socket), "program");
                thread.setDaemon(true);
                thread.start();
            }
        } catch (IOException e) {
            e.printStackTrace();
            // A server that takes no connections any more must not look like one that is slow.
            Runtime.getRuntime().halt(1);
        }
    }

    private static void serve(Socket socket) {
        try (socket) {
            socket.setTcpNoDelay(true);
            DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
            String source = text(in);
            String program = text(in);
            String[] args = new String[in.readInt()];
            for (int i = 0; i < args.length; i++) {
                args[i] = text(in);
            }
            DataOutputStream frames = new DataOutputStream(socket.getOutputStream());
            PrintStream out = new PrintStream(new Frames(frames, OUT), false, StandardCharsets.UTF_8);
            PrintStream err = new PrintStream(new Frames(frames, ERR), false, StandardCharsets.UTF_8);
            Streams streams = new Streams(in, out, err);
            STREAMS.set(streams);
            int returned = run(source, program, args, err);
            int status = streams.status() == null ? returned : streams.status();
            out.flush();
            err.flush();
            synchronized (frames) {
                frames.write(frame(END, status, 0));
            }
        } catch (IOException e) {
            // Whoever asked is gone.
        }
    }

    private static String text(DataInputStream in) throws IOException {
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static int run(String source, String program, String[] args, PrintStream err) {
        try {
            compile(source);
            ClassLoader loader = ClassLoader.getSystemClassLoader();
            Thread.currentThread().setContextClassLoader(loader);
            Class.forName(program, true, loader).getMethod("main", String[].class)
                .invoke(null, (Object) args);
            return 0;
        } catch (InvocationTargetException e) {
            if (!(e.getCause() instanceof Ended)) {
                e.getCause().printStackTrace(err);
            }
            return 1;
        } catch (Exception e) {
            e.printStackTrace(err);
            return 1;
        }
    }

    /** One at a time: whoever comes second finds the classes. */
    private static synchronized void compile(String source) throws IOException {
        if (source.isEmpty() || COMPILED.contains(source)) {
            return;
        }
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, StandardCharsets.UTF_8)) {
            List<String> options = new ArrayList<>(List.of("-nowarn", "-Xlint:none", "-proc:none"));
            options.addAll(List.of("-cp", System.getProperty("java.class.path"), "-d", classes.toString()));
            StringWriter said = new StringWriter();
            boolean compiles = compiler.getTask(said, files, null, options, null,
                files.getJavaFileObjects(source.split(":"))).call();
            if (!compiles) {
                throw new IOException(source + " does not compile: " + said);
            }
        }
        COMPILED.add(source);
    }

    private static byte[] frame(int kind, int number, int length) {
        byte[] frame = new byte[5 + length];
        frame[0] = (byte) kind;
        for (int i = 0; i < 4; i++) {
            frame[1 + i] = (byte) (number >> (24 - 8 * i));
        }
        return frame;
    }

    /** Collects bytes, and sends them as frames. */
    private static final class Frames extends OutputStream {
        private final DataOutputStream frames;
        private final int kind;
        private final byte[] buffer = new byte[1 << 16];
        private int length;

        Frames(DataOutputStream frames, int kind) {
            this.frames = frames;
            this.kind = kind;
        }

        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public synchronized void write(byte[] bytes, int from, int count) throws IOException {
            while (count > 0) {
                int part = Math.min(count, buffer.length - length);
                System.arraycopy(bytes, from, buffer, length, part);
                length += part;
                from += part;
                count -= part;
                if (length == buffer.length) {
                    flush();
                }
            }
        }

        @Override
        public synchronized void flush() throws IOException {
            if (length > 0) {
                byte[] frame = frame(kind, length, length);
                System.arraycopy(buffer, 0, frame, 5, length);
                length = 0;
                synchronized (frames) {
                    frames.write(frame);
                }
            }
        }
    }

    /** Standard input of whichever program asks. */
    private static final class Input extends InputStream {
        private final Supplier<InputStream> current;

        Input(Supplier<InputStream> current) {
            this.current = current;
        }

        @Override
        public int read() throws IOException {
            return current.get().read();
        }

        @Override
        public int read(byte[] bytes, int from, int count) throws IOException {
            return current.get().read(bytes, from, count);
        }

        @Override
        public int available() throws IOException {
            return current.get().available();
        }
    }

    /**
     * Standard output, or standard error, of whichever program prints. Every method is handed on: the
     * class's own would take a lock, and a program whose reader is slow would hold up all others.
     */
    private static final class Print extends PrintStream {
        private final Supplier<PrintStream> current;

        Print(Supplier<PrintStream> current) {
            super(OutputStream.nullOutputStream());
            this.current = current;
        }

        @Override public void flush() {
            current.get().flush();
        }

        @Override public void close() {
            current.get().flush();
        }

        @Override public boolean checkError() {
            return current.get().checkError();
        }

        @Override public void write(int b) {
            current.get().write(b);
        }

        @Override public void write(byte[] bytes) throws IOException {
            current.get().write(bytes);
        }

        @Override public void write(byte[] bytes, int from, int count) {
            current.get().write(bytes, from, count);
        }

        @Override public void writeBytes(byte[] bytes) {
            current.get().writeBytes(bytes);
        }

        @Override public void print(boolean b) {
            current.get().print(b);
        }

        @Override public void print(char c) {
            current.get().print(c);
        }

        @Override public void print(int i) {
            current.get().print(i);
        }

        @Override public void print(long l) {
            current.get().print(l);
        }

        @Override public void print(float f) {
            current.get().print(f);
        }

        @Override public void print(double d) {
            current.get().print(d);
        }

        @Override public void print(char[] s) {
            current.get().print(s);
        }

        @Override public void print(String s) {
            current.get().print(s);
        }

        @Override public void print(Object o) {
            current.get().print(o);
        }

        @Override public void println() {
            current.get().println();
        }

        @Override public void println(boolean b) {
            current.get().println(b);
        }

        @Override public void println(char c) {
            current.get().println(c);
        }

        @Override public void println(int i) {
            current.get().println(i);
        }

        @Override public void println(long l) {
            current.get().println(l);
        }

        @Override public void println(float f) {
            current.get().println(f);
        }

        @Override public void println(double d) {
            current.get().println(d);
        }

        @Override public void println(char[] s) {
            current.get().println(s);
        }

        @Override public void println(String s) {
            current.get().println(s);
        }

        @Override public void println(Object o) {
            current.get().println(o);
        }

        @Override public PrintStream printf(String format, Object... args) {
            current.get().printf(format, args);
            return this;
        }

        @Override public PrintStream printf(Locale locale, String format, Object... args) {
            current.get().printf(locale, format, args);
            return this;
        }

        @Override public PrintStream format(String format, Object... args) {
            current.get().format(format, args);
            return this;
        }

        @Override public PrintStream format(Locale locale, String format, Object... args) {
            current.get().format(locale, format, args);
            return this;
        }

        @Override public PrintStream append(CharSequence s) {
            current.get().append(s);
            return this;
        }

        @Override public PrintStream append(CharSequence s, int from, int to) {
            current.get().append(s, from, to);
            return this;
        }

        @Override public PrintStream append(char c) {
            current.get().append(c);
            return this;
        }
    }
}
