"""The clients that are measured: how they are built and called."""

import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent / "peers"

# Called alike; "thalweg" is the command's own `bench client`.
ALL = ["thalweg", "java-classic", "java-consumer", "rdkafka", "confluent", "krafka", "franz", "pekko", "pekko-oracle"]
# The experiments with streams are between these, and the last two do nothing else.
STREAMS = ["thalweg", "pekko", "pekko-oracle"]
# The same program.
BUILT_WITH = {"java-consumer": "java-classic", "pekko-oracle": "pekko"}
RUST = {"rdkafka": "peer-rdkafka", "confluent": "peer-confluent", "krafka": "peer-krafka"}

# The protocols of groups that each client has.
PROTOCOLS = {
    "thalweg": ["classic", "consumer"], "java-classic": ["classic"], "java-consumer": ["consumer"],
    "rdkafka": ["classic", "consumer"], "confluent": ["consumer"], "krafka": ["classic", "consumer"],
    "franz": ["classic", "consumer"], "pekko": ["classic"], "pekko-oracle": ["classic", "consumer"],
}

# With --best: what each client's own documentation recommends for throughput, or the bounds its
# defaults leave. Options by name, and configs of the client that have no option.
BEST = {
    "thalweg": {
        "read": ({"fetch-min-bytes": "100000"}, {}),
        "write": ({"linger-ms": "20", "batch-size": "131072"}, {}),
    },
    "java": {
        "read": ({"fetch-min-bytes": "100000"}, {"receive.buffer.bytes": "1048576"}),
        "write": ({"linger-ms": "20", "batch-size": "131072"}, {"send.buffer.bytes": "1048576"}),
    },
    "rdkafka": {
        "read": ({"fetch-min-bytes": "100000"}, {"queued.min.messages": "1000000"}),
        "write": ({"linger-ms": "50", "batch-size": "1000000"}, {}),
    },
    "confluent": {
        "read": ({"fetch-min-bytes": "100000"}, {"receive.buffer.bytes": "1048576"}),
        "write": ({"linger-ms": "20", "batch-size": "131072"}, {"send.buffer.bytes": "1048576"}),
    },
    "krafka": {
        "read": ({"fetch-min-bytes": "100000", "max-records": "5000"}, {"max_buffered_records": "0"}),
        "write": ({"linger-ms": "20", "batch-size": "131072"}, {}),
    },
    "franz": {
        "read": ({"fetch-min-bytes": "100000", "max-records": "10000"}, {}),
        "write": ({"linger-ms": "10", "batch-size": "1000012"}, {}),
    },
}


def best(client, kind):
    """Options and configs of `client` for "read" or "write"."""
    return BEST["java" if client.startswith("java") else client][kind]


def program(client, args):
    """The beginning of a client's command line."""
    if client == "thalweg":
        return [args.thalweg, "bench", "client"]
    if client.startswith("java"):
        places = os.pathsep.join([str(args.scratch / "peer-java"), args.kafka_classpath])
        return [args.java, "-Xmx512M", "-cp", places, "Peer"]
    if client.startswith("pekko"):
        # With the client that it names itself, or with that of the broker's jars, found first.
        first = [] if client == "pekko" else [args.kafka_classpath]
        places = os.pathsep.join([str(args.scratch / "peer-pekko/classes"), *first, str(args.scratch / "peer-pekko/jars/*")])
        # With 512 MB it ends: each thread that polls keeps a direct buffer of 50 MB, and there are a dozen.
        return [args.java, "-Xmx2G", "-cp", places, "Streams"]
    if client == "franz":
        return [str(args.scratch / "peer-franz")]
    return [str(args.scratch / "peer-rust/release" / RUST[client])]


def is_built(client, args):
    if client.startswith("java"):
        return (args.scratch / "peer-java/Peer.class").is_file()
    if client.startswith("pekko"):
        return (args.scratch / "peer-pekko/classes/Streams.class").is_file()
    return os.access(program(client, args)[0], os.X_OK)


def does(client, kind):
    """Whether a client takes part in a kind of experiment."""
    return client in STREAMS if kind in ("stream", "memory") else not client.startswith("pekko")


def build(clients, args):
    """Builds what is needed; returns why those that do not build do not."""
    missing = {}
    for client in clients:
        if client == "thalweg" or BUILT_WITH.get(client) in clients:
            continue
        print(f"building {client}", flush=True)
        for line, place, env in build_lines(client, args):
            try:
                done = subprocess.run(line, cwd=place, env=env, capture_output=True, text=True)
            except OSError as error:
                missing[client] = str(error)
                break
            if done.returncode != 0:
                missing[client] = f"{line[0]}: {(done.stderr + done.stdout).strip()[-1500:]}"
                break
    for client, other in BUILT_WITH.items():
        if client in clients and other in missing:
            missing[client] = missing[other]
    return missing


def build_lines(client, args):
    """Commands, where they run, and in which environment."""
    if client.startswith("java"):
        target = args.scratch / "peer-java"
        return [([args.javac, "-d", str(target), "-cp", args.kafka_classpath, "Peer.java"], HERE / "java", None)]
    if client.startswith("pekko"):
        target, place = args.scratch / "peer-pekko", HERE / "pekko"
        jars = [args.mvn, "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={target / 'jars'}", "-DincludeScope=runtime"]
        # What an earlier build left would be found as well.
        shutil.rmtree(target, ignore_errors=True)
        classes = [args.javac, "-d", str(target / "classes"), "-cp", str(target / "jars/*"), "../java/Peer.java", "Streams.java"]
        return [(jars, place, None), (classes, place, None)]
    if client == "franz":
        return [([args.go, "build", "-trimpath", "-o", str(args.scratch / "peer-franz"), "."], HERE / "go", None)]
    env = {**os.environ, "CARGO_TARGET_DIR": str(args.scratch / "peer-rust")}
    return [(["cargo", "build", "--release", "--locked", "-p", RUST[client]], HERE / "rust", env)]


def line(client, args, experiment, options, configs=None):
    """The command line of one run; `options` by name, None for those without a value."""
    words = program(client, args) + [experiment]
    if client == "java-consumer" and experiment != "write":
        # Which of the two consumers works inside, also where partitions are assigned.
        words += ["--protocol", "consumer"]
    for name, value in options.items():
        words += [f"--{name}"] if value is None else [f"--{name}", str(value)]
    for name, value in (configs or {}).items():
        words += ["--set", f"{name}={value}"]
    return words
