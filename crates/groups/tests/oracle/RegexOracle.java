// Asks RE2/J, which Kafka resolves SubscribedTopicRegex with, about patterns and topics.
// Reads one pattern per line from standard input, with the topics to match, as hexadecimal digits of
// UTF-8 with a dash in front of each; and prints one line for each.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;

public class RegexOracle {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer(line.split(" ")));
        }
        out.flush();
    }

    static String answer(String[] words) {
        try {
            Pattern pattern = Pattern.compile(text(words[0]));
            StringBuilder matches = new StringBuilder("ok ");
            for (int i = 1; i < words.length; i++) {
                matches.append(pattern.matcher(text(words[i])).matches() ? '1' : '0');
            }
            return matches.toString();
        } catch (PatternSyntaxException e) {
            byte[] part = e.getPattern().getBytes(StandardCharsets.UTF_8);
            return "no " + e.getDescription() + " -" + HexFormat.of().formatHex(part);
        } catch (StackOverflowError e) {
            return "overflow";
        }
    }

    static String text(String word) {
        return new String(HexFormat.of().parseHex(word.substring(1)), StandardCharsets.UTF_8);
    }
}
