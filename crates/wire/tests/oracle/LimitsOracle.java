import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Readable;

/**
 * Says whether Kafka's classes read a message. An argument is a message: NAME,VERSION,BEGIN,PART,TIMES,END, the three
 * parts in hexadecimal digits, of which PART stands TIMES times. A line "read" or "refused" for each.
 */
public final class LimitsOracle {
    public static void main(String[] args) throws Exception {
        for (String arg : args) {
            String[] words = arg.split(",", -1);
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            bytes.write(HexFormat.of().parseHex(words[2]));
            byte[] part = HexFormat.of().parseHex(words[3]);
            for (int i = 0; i < Integer.parseInt(words[4]); i++)
                bytes.write(part);
            bytes.write(HexFormat.of().parseHex(words[5]));
            var constructor = Class.forName("org.apache.kafka.common.message." + words[0] + "Data")
                .getConstructor(Readable.class, short.class);
            String verdict = "read";
            try {
                constructor.newInstance(new ByteBufferAccessor(ByteBuffer.wrap(bytes.toByteArray())),
                    Short.parseShort(words[1]));
            } catch (ReflectiveOperationException e) {
                verdict = "refused";
            }
            System.out.println(verdict);
        }
    }
}
