import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.ConfigSynonym;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.server.config.QuotaConfig;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.server.metrics.ClientMetricsConfigs;
import org.apache.kafka.storage.internals.log.LogConfig;

/**
 * Answers questions about Kafka's configs, one line each: words in base64, the first is what is
 * asked. The answer is "ok" or "no", then words in base64.
 */
public class Configs {
    static final Map<String, Map<String, ConfigDef.ConfigKey>> SCOPES = new LinkedHashMap<>();

    static {
        SCOPES.put("topic", LogConfig.configKeys());
        SCOPES.put("broker", AbstractKafkaConfig.CONFIG_DEF.configKeys());
        SCOPES.put("broker-dynamic", QuotaConfig.brokerQuotaConfigs().configKeys());
        SCOPES.put("group", GroupConfig.CONFIG_DEF.configKeys());
        SCOPES.put("client-metrics", ClientMetricsConfigs.configDef().configKeys());
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            List<String> words = new ArrayList<>();
            for (String word : line.split(" ", -1)) {
                words.add(new String(Base64.getDecoder().decode(word), StandardCharsets.UTF_8));
            }
            List<String> answer = new ArrayList<>();
            String verdict = "ok";
            try {
                answer(words, answer);
            } catch (Throwable e) {
                verdict = "no";
                answer.clear();
                answer.add(String.valueOf(e));
            }
            StringBuilder text = new StringBuilder(verdict);
            for (String word : answer) {
                byte[] bytes = word.getBytes(StandardCharsets.UTF_8);
                text.append(' ').append(Base64.getEncoder().encodeToString(bytes));
            }
            out.println(text);
        }
        out.flush();
    }

    static Map<String, String> pairs(List<String> words, int from) {
        Map<String, String> map = new HashMap<>();
        for (int i = from; i + 1 < words.size(); i += 2) map.put(words.get(i), words.get(i + 1));
        return map;
    }

    static Properties properties(Map<String, String> map) {
        Properties props = new Properties();
        props.putAll(map);
        return props;
    }

    static kafka.server.KafkaConfig broker(Map<String, String> map) {
        return kafka.server.KafkaConfig.fromProps(properties(map), false);
    }

    static Map<String, String> minimal() {
        Map<String, String> map = new HashMap<>();
        map.put("process.roles", "broker,controller");
        map.put("node.id", "1");
        map.put("listeners", "PLAINTEXT://:9092,CONTROLLER://:9093");
        map.put("controller.listener.names", "CONTROLLER");
        map.put("controller.quorum.bootstrap.servers", "localhost:9093");
        return map;
    }

    static void answer(List<String> words, List<String> out) throws Exception {
        switch (words.get(0)) {
            case "facts":
                for (Map.Entry<String, Map<String, ConfigDef.ConfigKey>> scope : SCOPES.entrySet()) {
                    for (ConfigDef.ConfigKey key : new TreeMap<>(scope.getValue()).values()) {
                        out.add(facts(scope.getKey(), key));
                    }
                }
                break;
            case "value": {
                ConfigDef.ConfigKey key = SCOPES.get(words.get(1)).get(words.get(2));
                ConfigDef alone = new ConfigDef();
                alone.define(key);
                Object value = alone.parse(Map.of(key.name, words.get(3))).get(key.name);
                out.add(text(key, value));
                break;
            }
            case "broker": {
                kafka.server.KafkaConfig config = broker(pairs(words, 1));
                for (Map.Entry<String, Object> entry : new TreeMap<>(config.extractLogConfigMap()).entrySet()) {
                    ConfigDef.ConfigKey key = LogConfig.configKeys().get(entry.getKey());
                    out.add(entry.getKey() + "=" + text(key, entry.getValue()));
                }
                String advertised = "";
                scala.collection.Iterator<org.apache.kafka.common.Endpoint> all =
                    config.effectiveAdvertisedBrokerListeners().iterator();
                while (all.hasNext()) {
                    org.apache.kafka.common.Endpoint e = all.next();
                    advertised += e.listener() + " " + e.securityProtocol() + " " + e.host() + " " + e.port() + ";";
                }
                out.add("advertised=" + advertised);
                break;
            }
            case "topic": {
                kafka.server.KafkaConfig config = broker(minimal());
                LogConfig.validate(Map.of(), pairs(words, 1), config.extractLogConfigMap(), false);
                break;
            }
            case "group": {
                kafka.server.KafkaConfig config = broker(minimal());
                GroupConfig.validate(pairs(words, 1), config.groupCoordinatorConfig(), config.shareGroupConfig());
                break;
            }
            case "client-metrics":
                ClientMetricsConfigs.validate(words.get(1), pairs(words, 2));
                break;
            case "dynamic": {
                boolean one = words.get(1).equals("one");
                Map<String, String> changes = pairs(words, 2);
                DynamicBrokerConfig.validateConfigs(properties(changes), properties(changes), one);
                Map<String, String> all = minimal();
                for (Map.Entry<String, String> change : changes.entrySet()) {
                    DynamicBrokerConfig.brokerConfigSynonyms(change.getKey(), false).forEach(all::remove);
                    all.put(change.getKey(), change.getValue());
                }
                broker(all);
                break;
            }
            case "properties": {
                Properties props = new Properties();
                props.load(new ByteArrayInputStream(words.get(1).getBytes(StandardCharsets.ISO_8859_1)));
                for (Map.Entry<Object, Object> entry : new TreeMap<>(props).entrySet()) {
                    out.add((String) entry.getKey());
                    out.add((String) entry.getValue());
                }
                break;
            }
            case "name":
                org.apache.kafka.common.internals.Topic.validate(words.get(1));
                break;
            default:
                throw new IllegalArgumentException(words.get(0));
        }
    }

    static String text(ConfigDef.ConfigKey key, Object value) {
        if (value == null) return "null";
        if (value instanceof org.apache.kafka.common.config.types.Password)
            return "=" + ((org.apache.kafka.common.config.types.Password) value).value();
        return "=" + ConfigDef.convertToString(value, key.type);
    }

    static String facts(String scope, ConfigDef.ConfigKey key) throws Exception {
        String update = "dynamic";
        String synonyms = "";
        if (scope.startsWith("broker")) {
            update = DynamicBrokerConfig.dynamicConfigUpdateModes().getOrDefault(key.name, "read-only");
            synonyms = String.join(",", DynamicBrokerConfig.brokerConfigSynonyms(key.name, true));
        } else if (scope.equals("topic")) {
            for (ConfigSynonym synonym : ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS.getOrDefault(key.name, List.of())) {
                synonyms += synonym.name() + "*" + synonym.converter().apply("1") + ",";
            }
        } else if (scope.equals("group")) {
            synonyms = GroupConfig.brokerSynonym(key.name).orElse("");
        }
        String fallback = key.hasDefault() ? text(key, key.defaultValue) : "none";
        return String.join("|", scope, key.name, key.type.toString().toLowerCase(), fallback, valid(key.validator),
            key.importance.toString().toLowerCase(), key.internalConfig ? "internal" : "", update, synonyms);
    }

    static Object field(Object object, String name) throws Exception {
        Field field = object.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(object);
    }

    static String valid(ConfigDef.Validator validator) throws Exception {
        if (validator == null) return "-";
        String kind = validator.getClass().getSimpleName();
        switch (kind) {
            case "Range": {
                Object max = field(validator, "max");
                return field(validator, "min") + ".." + (max == null ? "" : max);
            }
            case "ValidString":
                return "{" + String.join(",", (List<String>) field(validator, "validStrings")) + "}";
            case "CaseInsensitiveValidString": {
                List<String> words = new ArrayList<>((java.util.Set<String>) field(validator, "validStrings"));
                words.replaceAll(String::toLowerCase);
                words.sort(null);
                return "{~" + String.join(",", words) + "}";
            }
            case "ValidList": {
                List<String> words = (List<String>) field(field(validator, "validString"), "validStrings");
                return "list" + (words.isEmpty() ? "" : "{" + String.join(",", words) + "}")
                    + ((Boolean) field(validator, "isEmptyAllowed") ? "+empty" : "")
                    + ((Boolean) field(validator, "isNullAllowed") ? "+null" : "");
            }
            case "NonEmptyString":
                return "nonempty";
            case "NonNullValidator":
                return "nonnull";
            case "ThrottledReplicaListValidator":
                return "throttled-replicas";
            case "ControllerQuorumVotersValidator":
                return "voters";
            case "ControllerQuorumBootstrapServersValidator":
                return "host-ports";
            case "LambdaValidator":
                return validator.toString().equals("[1,...,9] or -1") ? "gzip-level" : "unknown";
            case "Validator":
                return "offset-reset";
            default:
                return "unknown " + kind;
        }
    }
}
