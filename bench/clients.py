#!/usr/bin/env python3
"""Measures Thalweg's client beside other Kafka clients, interleaved, on this machine.

    bench/clients.py --build                        builds the peers, then runs every experiment
    bench/clients.py --list                         what there is
    bench/clients.py poll-5 pause --runs 3 --clients thalweg,java-classic,rdkafka --brokers kafka
    bench/clients.py --best                         each client with settings for throughput
    bench/clients.py --groups consumer              consumers are members of a group of KIP-848

What is measured is the client: CPU time of its process, its requests, its wake-ups. The brokers
are Apache Kafka and Thalweg, both on this machine. Needs the command `thalweg` (--thalweg), Apache
Kafka's jars (--kafka-classpath or KAFKA_CLASSPATH) and, for --build, cargo, javac, mvn and go. A peer
that does not build, or that cannot do an experiment, is left out and the page says so. Results go
to bench/results: JSON with every run, a page, and a plot for each experiment. The peers
themselves, and what is fair about them, are described in bench/peers/README.md.
"""

import argparse
import os
import pathlib
import signal
import sys
import tempfile

import client_experiments
import peers
import servers

HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="EXPERIMENT", help="all of them when none is named")
    parser.add_argument("--list", action="store_true", help="list the experiments")
    parser.add_argument("--build", action="store_true", help="build the peers into --scratch first")
    parser.add_argument("--runs", type=int, default=5, help="runs of each client on each broker (default 5)")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the data or time of each run (default 1)")
    parser.add_argument("--clients", default=",".join(peers.ALL), help=f"which to run (default {','.join(peers.ALL)})")
    parser.add_argument("--brokers", default="kafka,thalweg", help="which to run on (default kafka,thalweg)")
    parser.add_argument("--groups", choices=["classic", "consumer"], help="consumers are members of a group of this protocol, not assigned")
    parser.add_argument("--best", action="store_true", help="each client with settings recommended for throughput (reads and writes)")
    parser.add_argument("--thalweg", default=str(HERE.parent / "target/dist/thalweg"), help="the command: client, load and broker")
    parser.add_argument("--serve", action="append", default=[], metavar="NAME=VALUE", help="a config for thalweg serve; may be repeated")
    parser.add_argument("--kafka-classpath", default=os.environ.get("KAFKA_CLASSPATH", ""))
    parser.add_argument("--java", default="java")
    parser.add_argument("--javac", default="javac")
    parser.add_argument("--mvn", default="mvn")
    parser.add_argument("--go", default="go")
    parser.add_argument("--scratch", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "thalweg-bench")
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results")
    parser.add_argument("--port", type=int, default=21500, help="first of four ports (default 21500)")
    args = parser.parse_args()

    if args.list:
        for name, experiment in client_experiments.ALL.items():
            print(f"{name:14} {experiment.text}")
        return 0
    unknown = [name for name in args.names if name not in client_experiments.ALL]
    if unknown:
        parser.error(f"no such experiment: {', '.join(unknown)}")
    other = [name for name in args.names if not client_experiments.ALL[name].applies(args)]
    if other:
        parser.error(f"--groups and --best change nothing in {', '.join(other)}")
    names, brokers = args.clients.split(","), args.brokers.split(",")
    if set(names) - set(peers.ALL):
        parser.error(f"--clients takes {', '.join(peers.ALL)}")
    if set(brokers) - {"kafka", "thalweg"}:
        parser.error("--brokers takes kafka and thalweg")
    if not args.kafka_classpath and ("kafka" in brokers or any(name.startswith("java") or name == "pekko-oracle" for name in names)):
        parser.error("--kafka-classpath or KAFKA_CLASSPATH must name Apache Kafka's jars")
    if not os.access(args.thalweg, os.X_OK):
        parser.error(f"{args.thalweg} is not there: cargo build --profile dist --features jemalloc, or --thalweg")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    args.scratch.mkdir(parents=True, exist_ok=True)
    missing = peers.build(names, args) if args.build else {}
    for name in names:
        if name not in missing and not peers.is_built(name, args):
            missing[name] = "it is not built: --build"
    for name, why in missing.items():
        print(f"{name} is left out: {why}", file=sys.stderr)
    bench = client_experiments.Bench(args, [name for name in names if name not in missing], brokers, missing)
    try:
        for name, experiment in client_experiments.ALL.items():
            if name in args.names if args.names else experiment.applies(args):
                bench.run(name)
    except servers.Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        bench.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
