import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;

/**
 * Prints Kafka's tables, one row a line: APIs with their versions, listeners and header versions,
 * and error codes.
 */
public final class TablesOracle {
    public static void main(String[] args) {
        for (ApiKeys api : ApiKeys.values()) {
            ApiMessageType type = api.messageType;
            short lowest = type.lowestSupportedVersion();
            short highest = type.highestSupportedVersion(true);
            if (highest < lowest) {
                // The class is there, but no version of it.
                continue;
            }
            System.out.printf("api %d %s %d %d %d %b %b", api.id, api.name, lowest, highest,
                type.highestSupportedVersion(false),
                type.listeners().contains(ApiMessageType.ListenerType.BROKER),
                type.listeners().contains(ApiMessageType.ListenerType.CONTROLLER));
            for (short version = lowest; version <= highest; version++) {
                System.out.printf(" %d/%d", type.requestHeaderVersion(version),
                    type.responseHeaderVersion(version));
            }
            System.out.println();
        }
        for (Errors error : Errors.values()) {
            System.out.printf("error %d %s %b%n", error.code(), error.name(),
                error.exception() instanceof RetriableException);
        }
    }
}
