package thalweg.conformance;

/**
 * One named check.
 *
 * <p>{@code alone} cases share process-wide state (standard output, exit procedures) or broker-wide
 * state and therefore run one after the other once the parallel ones have ended.
 */
record Case(String name, boolean alone, Body body) {
    interface Body {
        void run(Context context) throws Exception;
    }

    static Case of(String name, Body body) {
        return new Case(name, false, body);
    }

    static Case alone(String name, Body body) {
        return new Case(name, true, body);
    }
}
