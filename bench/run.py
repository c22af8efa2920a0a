#!/usr/bin/env python3
"""Measures Thalweg beside Apache Kafka, interleaved, on this machine.

    bench/run.py                          every experiment, five runs of each system
    bench/run.py --list                   what there is
    bench/run.py produce-1k fetch-tail --runs 3 --scale 0.5

Needs the command `thalweg` (--thalweg, built with `cargo build --profile dist --features jemalloc`), Java 17 or later, and
Apache Kafka's jars (--kafka-classpath or KAFKA_CLASSPATH, as in `/opt/kafka/libs/*`). Results go to
bench/results: one JSON file with every run, one Markdown file to read. Nothing but Python's own
library is used.
"""

import argparse
import os
import pathlib
import signal
import sys
import tempfile

import experiments
import servers

HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="EXPERIMENT", help="all of them when none is named")
    parser.add_argument("--list", action="store_true", help="list the experiments")
    parser.add_argument("--runs", type=int, default=5, help="runs of each system (default 5)")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the data of each run (default 1)")
    parser.add_argument("--warm", type=float, default=20, help="seconds of load before anything is measured (default 20)")
    parser.add_argument("--systems", default="kafka,thalweg,floor", help="which to run (default kafka,thalweg,floor)")
    parser.add_argument("--thalweg", default=str(HERE.parent / "target/dist/thalweg"), help="the command under test")
    parser.add_argument("--load", help="the command that makes the load (default: the one under test)")
    parser.add_argument("--serve", action="append", default=[], metavar="NAME=VALUE", help="a config for thalweg serve; may be repeated")
    parser.add_argument("--heartbeat-ms", type=int, default=3000, help="group-rebalance: heartbeat interval (default 3000, as Java's)")
    parser.add_argument("--cells", default="", metavar="MEMBERS[xPARTITIONS]:SCENARIO,...", help="group-rebalance: only these, as 3000:join, 3000x6100:join or 100:roll-static")
    parser.add_argument("--kafka-classpath", default=os.environ.get("KAFKA_CLASSPATH", ""))
    parser.add_argument("--java", default="java")
    parser.add_argument("--scratch", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "thalweg-bench")
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results")
    parser.add_argument("--port", type=int, default=21400, help="first of ten ports (default 21400)")
    args = parser.parse_args()

    if args.list:
        for name, (_, text) in experiments.ALL.items():
            print(f"{name:24} {text}")
        return 0
    unknown = [name for name in args.names if name not in experiments.ALL]
    if unknown:
        parser.error(f"no such experiment: {', '.join(unknown)}")
    systems = args.systems.split(",")
    if set(systems) - {"kafka", "thalweg", "floor"}:
        parser.error("--systems takes kafka, thalweg and floor")
    if "kafka" in systems and not args.kafka_classpath:
        parser.error("--kafka-classpath or KAFKA_CLASSPATH must name Apache Kafka's jars")
    if not os.access(args.thalweg, os.X_OK):
        parser.error(f"{args.thalweg} is not there: cargo build --profile dist --features jemalloc, or --thalweg")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    bench = experiments.Bench(args, systems)
    try:
        for name in args.names or experiments.ALL:
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
