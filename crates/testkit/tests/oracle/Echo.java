import java.io.BufferedReader;
import java.io.InputStreamReader;

import org.apache.kafka.common.utils.internals.Exit;

/** Repeats the lines that it reads, with its argument before each, from a thread that it starts; or exits. */
public final class Echo {
    public static void main(String[] args) throws Exception {
        if (args.length == 2) {
            exit(Integer.parseInt(args[1]));
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String text = args[0] + ": " + line;
            Thread thread = new Thread(() -> System.out.println(text));
            thread.start();
            thread.join();
            System.out.flush();
        }
        System.err.println(args[0] + " ends");
    }

    /** As some of Kafka's tools do it. */
    private static void exit(int code) {
        System.out.println("before");
        try {
            Exit.exit(code);
        } catch (Throwable e) {
            System.err.println(e);
            Exit.exit(1);
        }
    }
}
