import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.zip.ZipFile;

import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;
import org.apache.kafka.common.protocol.types.ArrayOf;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.CompactArrayOf;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.NullableSchema;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;

/**
 * Emits what Kafka's own message classes make of random messages.
 *
 * Usage: java -cp 'JARS/*' WireOracle.java JARS SEED CASES
 *
 * For every class with a JSON converter in the jars, for every version, CASES messages are filled
 * at random by walking the class's schema; the class reads the bytes and writes them again, in the
 * same version and in another one. Each case goes to stdout as: name, version (u16), the random
 * bytes, the class's bytes, the JSON, the other version (u16), its bytes. Before each group stands
 * the message that nothing was set in: same form, but without random bytes and JSON. Every part
 * but a version is preceded by its length (u32); a length of 2^32-1 says that the class refuses to
 * write it. An empty name ends the stream; after it stands the number of cases (u32).
 */
public final class WireOracle {
    private static final int LARGE = 24_000;

    public static void main(String[] args) throws Exception {
        File jars = new File(args[0]);
        long seed = Long.parseLong(args[1]);
        int cases = Integer.parseInt(args[2]);
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 20));
        int emitted = 0;
        for (String className : messageClasses(jars)) {
            emitted += emitClass(out, className, seed, cases);
        }
        out.writeInt(0);
        out.writeInt(emitted);
        out.flush();
    }

    private static TreeSet<String> messageClasses(File jars) throws IOException {
        TreeSet<String> names = new TreeSet<>();
        String suffix = "JsonConverter.class";
        File[] files = jars.listFiles((dir, name) -> name.startsWith("kafka") && name.endsWith(".jar"));
        for (File file : files == null ? new File[0] : files) {
            try (ZipFile zip = new ZipFile(file)) {
                zip.stream()
                    .map(entry -> entry.getName())
                    .filter(name -> name.endsWith(suffix) && !name.contains("$"))
                    .forEach(name -> names.add(
                        name.substring(0, name.length() - suffix.length()).replace('/', '.')));
            }
        }
        return names;
    }

    private static int emitClass(DataOutputStream out, String className, long seed, int cases)
            throws Exception {
        Class<?> type = Class.forName(className);
        var converter = Class.forName(className + "JsonConverter")
            .getMethod("write", type, short.class, boolean.class);
        var constructor = type.getConstructor(Readable.class, short.class);
        Schema[] schemas = (Schema[]) type.getField("SCHEMAS").get(null);
        String name = type.getSimpleName();
        if (!converter.getDeclaringClass().getSimpleName().startsWith(name)) {
            throw new IllegalStateException("unexpected converter for " + className);
        }
        int emitted = 0;
        for (short version = 0; version < schemas.length; version++) {
            if (schemas[version] == null) {
                continue;
            }
            Message empty = (Message) type.getConstructor().newInstance();
            part(out, name.getBytes(StandardCharsets.UTF_8));
            out.writeShort(version);
            part(out, new byte[0]);
            part(out, written(empty, version));
            part(out, new byte[0]);
            out.writeShort(version);
            part(out, written(empty, version));
            emitted++;
            for (int i = 0; i < cases; i++) {
                Filler filler = new Filler(seed * 31 + className.hashCode() * 1009L + version * 131L + i, i);
                byte[] filled = filler.fill(schemas[version]);
                ByteBuffer input = ByteBuffer.wrap(filled);
                Message message = (Message) constructor.newInstance(new ByteBufferAccessor(input), version);
                if (input.hasRemaining()) {
                    throw new IllegalStateException(
                        name + " v" + version + " case " + i + " left " + input.remaining() + " bytes");
                }
                short other = filler.version(schemas);
                Object json = converter.invoke(null, message, version, false);
                part(out, name.getBytes(StandardCharsets.UTF_8));
                out.writeShort(version);
                part(out, filled);
                part(out, written(message, version));
                part(out, json.toString().getBytes(StandardCharsets.UTF_8));
                out.writeShort(other);
                part(out, written(message, other));
                emitted++;
            }
        }
        return emitted;
    }

    /** The message's bytes, or null where its class refuses to write them. */
    private static byte[] written(Message message, short version) {
        ByteBuffer buffer;
        try {
            ObjectSerializationCache cache = new ObjectSerializationCache();
            buffer = ByteBuffer.allocate(message.size(cache, version));
            message.write(new ByteBufferAccessor(buffer), cache, version);
        } catch (RuntimeException e) {
            return null;
        }
        if (buffer.hasRemaining()) {
            throw new IllegalStateException(message.getClass() + ": size and write disagree");
        }
        return buffer.array();
    }

    private static void part(DataOutputStream out, byte[] bytes) throws IOException {
        if (bytes == null) {
            out.writeInt(-1);
            return;
        }
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    /** Fills one message. */
    private static final class Filler {
        private final SplittableRandom random;
        /** 0: everything at its smallest; 1: nothing null, arrays of one; 2: all tags; else random. */
        private final int mode;
        /** Whether text may hold bytes that are not UTF-8. */
        private final boolean malformed;
        /** Bytes written so far, at any depth. */
        private int written;

        Filler(long seed, int index) {
            this.random = new SplittableRandom(seed);
            this.mode = index;
            this.malformed = index > 2 && index % 8 == 7;
        }

        byte[] fill(Schema schema) {
            Sink sink = new Sink();
            value(sink, schema);
            return sink.toByteArray();
        }

        /** One of the versions there are. */
        short version(Schema[] schemas) {
            while (true) {
                int version = random.nextInt(schemas.length);
                if (schemas[version] != null) {
                    return (short) version;
                }
            }
        }

        private boolean chance(int percent) {
            return random.nextInt(100) < percent;
        }

        private void fields(Sink sink, Schema schema) {
            for (BoundField field : schema.fields()) {
                value(sink, field.def.type);
            }
        }

        private void value(Sink sink, Type type) {
            int before = sink.size();
            if (type instanceof NullableSchema) {
                if (isNull(type)) {
                    sink.write(chance(90) ? -1 : -1 - random.nextInt(128));
                    return;
                }
                sink.write(chance(90) ? 1 : random.nextInt(128));
                fields(sink, (Schema) type);
            } else if (type instanceof Schema) {
                fields(sink, (Schema) type);
            } else if (type instanceof ArrayOf) {
                array(sink, ((ArrayOf) type).arrayElementType().get(), type.isNullable(), false);
            } else if (type instanceof CompactArrayOf) {
                array(sink, ((CompactArrayOf) type).arrayElementType().get(), type.isNullable(), true);
            } else if (type instanceof TaggedFields) {
                tags(sink, ((TaggedFields) type).fields());
            } else {
                scalar(sink, type);
            }
            written += Math.max(0, sink.size() - before);
        }

        private boolean isNull(Type type) {
            return type.isNullable() && (mode == 0 || (mode > 2 && chance(25)));
        }

        private void scalar(Sink sink, Type type) {
            if (type == Type.BOOLEAN) {
                sink.write(chance(95) ? random.nextInt(2) : random.nextInt(256));
            } else if (type == Type.INT8) {
                sink.number(number(8), 1);
            } else if (type == Type.INT16 || type == Type.UINT16) {
                sink.number(number(16), 2);
            } else if (type == Type.INT32 || type == Type.UNSIGNED_INT32) {
                sink.number(number(32), 4);
            } else if (type == Type.INT64) {
                sink.number(number(64), 8);
            } else if (type == Type.FLOAT64) {
                sink.number(Double.doubleToRawLongBits(floating()), 8);
            } else if (type == Type.UUID) {
                boolean zero = mode == 0 || chance(20);
                sink.number(zero ? 0 : random.nextLong(), 8);
                sink.number(zero ? 0 : random.nextLong(), 8);
            } else if (type == Type.STRING || type == Type.NULLABLE_STRING) {
                if (isNull(type)) {
                    sink.number(chance(90) ? -1 : Short.MIN_VALUE, 2);
                } else {
                    byte[] text = text();
                    sink.number(text.length, 2);
                    sink.writeBytes(text);
                }
            } else if (type == Type.COMPACT_STRING || type == Type.COMPACT_NULLABLE_STRING) {
                compact(sink, isNull(type) ? null : text());
            } else if (type == Type.BYTES || type == Type.NULLABLE_BYTES
                    || type == Type.RECORDS || type == Type.NULLABLE_RECORDS) {
                if (isNull(type)) {
                    sink.number(chance(90) ? -1 : Integer.MIN_VALUE, 4);
                } else {
                    byte[] bytes = bytes();
                    sink.number(bytes.length, 4);
                    sink.writeBytes(bytes);
                }
            } else if (type == Type.COMPACT_BYTES || type == Type.COMPACT_NULLABLE_BYTES
                    || type == Type.COMPACT_RECORDS || type == Type.COMPACT_NULLABLE_RECORDS) {
                compact(sink, isNull(type) ? null : bytes());
            } else {
                throw new IllegalStateException("no filler for type " + type);
            }
        }

        private void compact(Sink sink, byte[] bytes) {
            if (bytes == null) {
                varint(sink, 0);
            } else {
                varint(sink, bytes.length + 1);
                sink.writeBytes(bytes);
            }
        }

        private void array(Sink sink, Type element, boolean nullable, boolean compact) {
            if (nullable && (mode == 0 || (mode > 2 && chance(20)))) {
                if (compact) {
                    varint(sink, 0);
                } else {
                    sink.number(-1, 4);
                }
                return;
            }
            int count = count();
            if (compact) {
                varint(sink, count + 1);
            } else {
                sink.number(count, 4);
            }
            for (int i = 0; i < count; i++) {
                value(sink, element);
            }
        }

        private int count() {
            if (mode == 0) {
                return 0;
            }
            if (mode == 1 || written > LARGE) {
                return 1;
            }
            int dice = random.nextInt(100);
            if (dice < 20) {
                return 0;
            }
            return dice < 96 || written > 2000 ? 1 + random.nextInt(3) : 120 + random.nextInt(20);
        }

        private void tags(Sink sink, Map<Integer, Field> known) {
            List<Integer> order = new ArrayList<>();
            for (int tag : known.keySet()) {
                if (mode == 2 || (mode > 2 && chance(60))) {
                    order.add(tag);
                }
            }
            // Kafka's classes read tags in any order, but write unknown ones only if they ascend.
            if (mode > 2 && chance(30)) {
                Collections.shuffle(order, new java.util.Random(random.nextLong()));
            }
            Map<Integer, byte[]> unknown = new TreeMap<>();
            if (mode == 2 || (mode > 2 && chance(20))) {
                int[] candidates = {50, 100, 127, 128, 300, 16383, 16384, 1 << 21, 1 << 28, Integer.MAX_VALUE - 1};
                for (int i = random.nextInt(3); i >= 0; i--) {
                    byte[] body = new byte[random.nextInt(12)];
                    random.nextBytes(body);
                    unknown.put(candidates[random.nextInt(candidates.length)], body);
                }
            }
            varint(sink, order.size() + unknown.size());
            List<Integer> late = new ArrayList<>(unknown.keySet());
            for (int tag : order) {
                if (!late.isEmpty() && mode > 2 && chance(20)) {
                    int first = late.remove(0);
                    varint(sink, first);
                    raw(sink, unknown.get(first));
                }
                Sink body = new Sink();
                tagged(body, known.get(tag).type);
                varint(sink, tag);
                raw(sink, body.toByteArray());
            }
            for (int tag : late) {
                varint(sink, tag);
                raw(sink, unknown.get(tag));
            }
        }

        private void tagged(Sink body, Type type) {
            if (type instanceof NullableSchema) {
                // In a tag the generated classes mark presence by an unsigned varint.
                boolean absent = isNull(type);
                varint(body, absent ? 0 : 1);
                if (!absent) {
                    fields(body, (Schema) type);
                }
            } else {
                value(body, type);
            }
        }

        private void raw(Sink sink, byte[] body) {
            varint(sink, body.length);
            sink.writeBytes(body);
        }

        private void varint(Sink sink, int value) {
            boolean padded = mode > 2 && value < 128 && chance(2);
            if (padded) {
                sink.write(value | 0x80);
                sink.write(0);
                return;
            }
            while ((value & ~0x7f) != 0) {
                sink.write((value & 0x7f) | 0x80);
                value >>>= 7;
            }
            sink.write(value);
        }

        private long number(int bits) {
            if (mode == 0) {
                return 0;
            }
            switch (random.nextInt(8)) {
                case 0: return 0;
                case 1: return -1;
                case 2: return 1;
                case 3: return 1L << (bits - 1);
                case 4: return (1L << (bits - 1)) - 1;
                default: return random.nextLong();
            }
        }

        private double floating() {
            switch (random.nextInt(8)) {
                case 0: return 0.0;
                case 1: return -0.0;
                case 2: return Double.MAX_VALUE;
                case 3: return Double.MIN_VALUE;
                case 4: return Double.POSITIVE_INFINITY;
                case 5: return Double.NaN;
                default: return Double.longBitsToDouble(random.nextLong());
            }
        }

        private byte[] bytes() {
            int length = length(40_000);
            byte[] bytes = new byte[length];
            random.nextBytes(bytes);
            return bytes;
        }

        private byte[] text() {
            int length = length(32_767);
            if (malformed && chance(30)) {
                byte[] bytes = new byte[Math.min(length, 64)];
                for (int i = 0; i < bytes.length; i++) {
                    int[] leads = {0x41, 0x80, 0xbf, 0xc0, 0xc3, 0xe0, 0xe2, 0xed, 0xa0, 0xb0, 0xf0, 0x90, 0xf4, 0xf5, 0xff};
                    bytes[i] = (byte) (chance(70) ? leads[random.nextInt(leads.length)] : random.nextInt(256));
                }
                return bytes;
            }
            StringBuilder text = new StringBuilder();
            int used = 0;
            while (true) {
                int c = character();
                int size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
                if (used + size > length) {
                    break;
                }
                used += size;
                text.appendCodePoint(c);
            }
            return text.toString().getBytes(StandardCharsets.UTF_8);
        }

        private int character() {
            switch (random.nextInt(12)) {
                case 0: return 0x80 + random.nextInt(0x700);
                case 1: return 0x800 + random.nextInt(0xd000);
                case 2: return 0x10000 + random.nextInt(0x100000);
                case 3: return random.nextInt(0x20);
                case 4: return "\"\\/\u007f".charAt(random.nextInt(4));
                default: return 0x21 + random.nextInt(0x5d);
            }
        }

        private int length(int max) {
            if (mode == 0) {
                return 0;
            }
            int dice = random.nextInt(1000);
            if (dice < 150) {
                return 0;
            }
            if (dice < 950 || written > LARGE) {
                return random.nextInt(14);
            }
            return dice < 998 ? 120 + random.nextInt(20) : random.nextInt(max + 1);
        }
    }

    private static final class Sink extends ByteArrayOutputStream {
        void number(long value, int bytes) {
            for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
                write((int) (value >> shift));
            }
        }
    }
}
