"""CPU of compaction, beside Apache Kafka's own cleaner: the same log directories, one pass each.

    python3 bench/compaction.py --jars DIR [--megabytes N] [--runs N] [--results bench/results]

Kafka's cleaner runs in one virtual machine for all of its passes, of which the first ones of each kind are
not counted; the CPU is that of the thread that cleans, without its garbage collector and compiler. Ours runs
in a process of its own each time. Both read what is in the page cache, and both flush what they write.
GB is 10^9 bytes of the segments that a pass writes anew, before.
"""

import argparse
import datetime
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
KINDS = ["whole", "again", "spread", "parts", "lz4", "zstd", "snappy", "gzip"]
ORACLE = ROOT / "crates/log/tests/oracle/CleanerOracle.java"
# As `clean` of the example has it, and Kafka's defaults.
SETTINGS = (
    "1700000000000 0 {end} 134217728 0.9 262144 cleanup.policy=compact segment.bytes=104857600 "
    "min.cleanable.dirty.ratio=0"
)
SECONDS_MAX = 600


class Kafka:
    """Kafka's cleaner, one pass per line."""

    def __init__(self, jars):
        words = ["java", "-Xmx1g", "-cp", f"{jars}/*", str(ORACLE), "time"]
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def clean(self, path, end):
        self.process.stdin.write(f"{path} {SETTINGS.format(end=end)}\n")
        self.process.stdin.flush()
        words = self.process.stdout.readline().split()
        if words[:1] != ["cleaned"]:
            raise RuntimeError(" ".join(words))
        return {"read": int(words[3]), "written": int(words[4]), "cpu_s": int(words[5]) / 1e9}

    def stop(self):
        self.process.stdin.close()
        self.process.wait(60)


def ours(program, path):
    done = subprocess.run([program, "clean", path], capture_output=True, text=True, timeout=SECONDS_MAX, check=True)
    words = done.stdout.split()
    return {
        "read": int(words[3]),
        "written": int(words[4]),
        "cpu_s": int(words[5]) / 1e9,
        "map_mib": int(words[6]) / 2**20,
        "peak_rss_mib": int(words[7]) / 2**10,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jars", default=os.environ.get("THALWEG_KAFKA_JARS"))
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--warm", type=int, default=2, help="passes of Kafka's that are not counted")
    parser.add_argument("--kinds", nargs="*", default=KINDS)
    parser.add_argument("--note", default="", help="what ran beside it")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--scratch", default=None)
    options = parser.parse_args()
    if not options.jars:
        parser.error("--jars: where the jars of Apache Kafka are")
    build = ["cargo", "build", "--release", "--quiet", "-p", "thalweg-log", "--example", "compact"]
    subprocess.run(build, cwd=ROOT, check=True)
    program = str(ROOT / "target/release/examples/compact")
    load = os.getloadavg()[0]
    runs, kafka = [], Kafka(options.jars)
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        for kind in options.kinds:
            source = f"{scratch}/{kind}"
            fill = [program, "fill", source, kind, str(options.megabytes)]
            filled = subprocess.run(fill, capture_output=True, text=True, timeout=SECONDS_MAX, check=True)
            end = filled.stdout.split()[2]

            def one(system, number):
                path = f"{scratch}/copy"
                shutil.copytree(source, path)
                try:
                    figures = kafka.clean(path, end) if system == "kafka" else ours(program, path)
                finally:
                    shutil.rmtree(path)
                if number >= 0:
                    runs.append({"kind": kind, "system": system, "run": number, **figures})
                return figures

            for _ in range(options.warm):
                one("kafka", -1)
            for number in range(options.runs):
                order = ["kafka", "thalweg"] if number % 2 == 0 else ["thalweg", "kafka"]
                seen = [one(system, number) for system in order]
                if kind in ("whole", "again", "spread", "parts"):
                    assert seen[0]["written"] == seen[1]["written"], "they keep other bytes"
            shutil.rmtree(source)
    kafka.stop()
    report(options, runs, load)


def report(options, runs, load):
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    about = {
        "commit": commit.stdout.strip(),
        "at": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "megabytes": options.megabytes,
        "load_average": round(load, 1),
        "load_average_at_the_end": round(os.getloadavg()[0], 1),
        "beside_it": options.note,
    }

    def per_gb(kind, system):
        values = [r["cpu_s"] / (r["read"] / 1e9) for r in runs if (r["kind"], r["system"]) == (kind, system)]
        return statistics.median(values), min(values), max(values)

    lines = ["# compaction", "", "CPU seconds per GB that a pass goes through; median of all runs, with the least and the most.", ""]
    lines += ["|  | kafka | thalweg | thalweg/kafka | stays |", "|---|--:|--:|--:|--:|"]
    for kind in options.kinds:
        theirs, mine = per_gb(kind, "kafka"), per_gb(kind, "thalweg")
        sample = next(r for r in runs if (r["kind"], r["system"]) == (kind, "thalweg"))
        cells = [f"{m:.3g} ({low:.3g} - {high:.3g})" for m, low, high in (theirs, mine)]
        stays = f"{100 * sample['written'] / sample['read']:.0f} %"
        lines.append(f"| {kind} | {cells[0]} | {cells[1]} | {mine[0] / theirs[0]:.3g} | {stays} |")
    largest = max(r["peak_rss_mib"] for r in runs if r["system"] == "thalweg")
    table = max(r["map_mib"] for r in runs if r["system"] == "thalweg")
    lines += ["", f"Thalweg's memory: offset map {table:.1f} MiB of 128, process {largest:.1f} MiB at its peak."]
    lines += [f"{name.replace('_', ' ')}: {value}." for name, value in about.items() if value != ""]
    text = "\n".join(lines) + "\n"
    print(text)
    if options.results:
        day = about["at"][:10]
        (options.results / f"{day}-compaction.md").write_text(text)
        (options.results / f"{day}-compaction.json").write_text(json.dumps({"about": about, "runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
