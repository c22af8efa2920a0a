"""One data directory, two brokers in turn: Apache Kafka and Thalweg.

Each starts on what the other left behind, with the same server.properties, in good order and after
`kill -9`, and must serve everything that was ever acknowledged: records, topic ids, configs, quotas,
groups with their offsets, producers' sequences. Then it changes a bit of everything itself.

Kafka's own tools read what Thalweg wrote, too: its metadata shell, and DumpLogSegments.

    handover.py --thalweg BINARY --jars FOLDER --previous-jars FOLDER --classes FOLDER --scratch FOLDER
"""

import argparse
import concurrent.futures
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import time
import traceback

import aging
from estate import SIDE, Estate
from kill import Broker
from ports import free_address
from suite import check, eventually, same

KAFKA, THALWEG = "kafka", "thalweg"
# How long one of Kafka's tools may run.
TOOL_SECONDS_MAX = 120
JAVA = ["java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]
SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers={controller}
listeners=PLAINTEXT://{broker},CONTROLLER://{controller}
controller.listener.names=CONTROLLER
log.dirs={data}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=5
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=3
log.segment.bytes=1048576
log.initial.task.delay.ms=300
log.retention.check.interval.ms=300
group.initial.rebalance.delay.ms=0
metadata.log.max.record.bytes.between.snapshots=4000
broker.session.timeout.ms=1500
broker.heartbeat.interval.ms=300
"""


class House:
    """The directory and the two who can live in it."""

    def __init__(self, options, name):
        self.bootstrap = free_address()
        self.data = pathlib.Path(options.scratch).absolute() / f"{name}-data"
        self.config = self.data.with_suffix(".properties")
        self.config.write_text(
            SETTINGS.format(controller=free_address(), broker=self.bootstrap, data=self.data), encoding="utf-8"
        )
        self.jars = f"{options.jars}/*"
        # The shell of the release before runs on the classes of this one, which was published without it.
        self.shell_jars = f"{self.jars}:{options.previous_jars}/*"
        self.classes = options.classes
        self.commands = {
            THALWEG: [options.thalweg, "serve", "--config", str(self.config)],
            KAFKA: [*JAVA, self.jars, "kafka.Kafka", str(self.config)],
        }
        self.log = self.data.with_suffix(".log").open("ab")
        self.broker = None
        self.who = None

    def format(self):
        """What Kafka needs before its first start; Thalweg does that by itself."""
        command = [*JAVA, self.jars, "kafka.tools.StorageTool", "format", "--standalone"]
        command += ["-t", "thalwegTestClusterAAAA", "-c", str(self.config)]
        subprocess.run(command, check=True, stdout=self.log, stderr=self.log, timeout=TOOL_SECONDS_MAX)

    def start(self, who):
        self.who = who
        self.broker = Broker(shlex.join(self.commands[who]), self.bootstrap, self.log)
        return self.broker.start()

    def stop(self, how):
        self.broker.stop(how)
        if how == signal.SIGTERM and self.who == THALWEG:
            same("Thalweg's exit code", 0, self.broker.process.returncode)


    def plant(self, topic):
        """A partition that the metadata does not know, as a kill may leave one behind."""
        into = self.data / f"{topic}-0"
        shutil.copytree(self.data / f"{SIDE}-0", into)
        (into / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAKg", encoding="ascii")

    def metadata_files(self):
        """The log, and the newest snapshot of it."""
        folder = self.data / "__cluster_metadata-0"
        return [folder / f"{0:020}.log", max(folder.glob("*.checkpoint"))]

    def shell(self, file, expected):
        """Kafka's metadata shell shows the topics that are in the file."""
        command = [*JAVA, self.shell_jars, "org.apache.kafka.shell.MetadataShell", "--snapshot", str(file)]
        command += ["ls", "image/topics/byName"]
        shown = []

        def listed():
            done = subprocess.run(
                command, capture_output=True, check=True, text=True, stdin=subprocess.DEVNULL, timeout=TOOL_SECONDS_MAX
            )
            shown[:] = done.stdout.split()
            return bool(shown)

        # The shell does not always wait until it has read the file.
        eventually(f"{file.name} is shown", 60, listed)
        check(set(expected) <= set(shown), f"{file.name} shows {shown}, not all of {sorted(expected)}")

    def dump(self, prefix):
        """Kafka's DumpLogSegments opens every file; its verdicts are printed."""
        command = [*JAVA, f"{self.classes}:{self.jars}", "thalweg.conformance.DirectoryCheck", str(self.data)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=self.log, text=True, timeout=TOOL_SECONDS_MAX)
        lines = [line.replace(" directory.", f" {prefix}.directory-", 1) for line in done.stdout.splitlines()]
        check(lines, f"DirectoryCheck ended with {done.returncode} and said nothing")
        print("\n".join(lines), flush=True)
        return done.returncode == 0


def scenario(options, first):
    """Each side takes over twice: from a clean stop and from a kill."""
    second = KAFKA if first == THALWEG else THALWEG
    prefix = f"handover.{first}-first"
    house = House(options, f"{first}-first")
    estate = Estate(house.bootstrap)
    steps = [
        (f"{first}-begins", first, signal.SIGTERM),
        (f"{second}-after-stop", second, signal.SIGKILL),
        (f"{first}-after-kill", first, signal.SIGKILL),
        (f"{second}-after-kill", second, signal.SIGTERM),
        (f"{first}-after-stop", first, signal.SIGTERM),
    ]

    def step(number, who, end):
        stray = f"stray-{number}"
        if number > 1:
            house.plant(stray)
        took = house.start(who)
        if number > 1:
            estate.verify(kafka=who == KAFKA)
            estate.create(estate.admin(), stray, 1)
        if number < len(steps):
            estate.fill(number, kafka=who == KAFKA, clean=end == signal.SIGTERM)
        if number <= 2:
            aging.let_age(estate, number)
        house.stop(end)
        if number == 1 and who == THALWEG:
            for file in house.metadata_files():
                house.shell(file, ["main", "side"])
        total = sum(len(one) for one in estate.records.values())
        return f"{total} records, up after {took:.1f} s"

    try:
        if first == KAFKA:
            house.format()
        for number, (name, who, end) in enumerate(steps, 1):
            start = time.monotonic()
            name = f"{prefix}.{number}-{name}"
            try:
                what = step(number, who, end)
            except Exception as error:
                traceback.print_exc()
                why = f"{type(error).__name__} {' '.join(str(error).split())[:1500]}"
                print(f"fail {name} {millis(start)}: {why}", flush=True)
                return False
            print(f"pass {name} {millis(start)} # {what}", flush=True)
        return house.dump(prefix)
    finally:
        if house.broker is not None and house.broker.process is not None:
            house.broker.process.kill()


def millis(start):
    return int((time.monotonic() - start) * 1000)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="a directory that goes back and forth")
    parser.add_argument("--thalweg", required=True, metavar="BINARY")
    parser.add_argument("--jars", required=True, metavar="FOLDER")
    parser.add_argument("--previous-jars", required=True, metavar="FOLDER")
    parser.add_argument("--classes", required=True, metavar="FOLDER")
    parser.add_argument("--scratch", required=True, metavar="FOLDER")
    parser.add_argument("--first", default="thalweg,kafka", help="who begins")
    chosen = parser.parse_args()
    begins = chosen.first.split(",")
    with concurrent.futures.ThreadPoolExecutor(len(begins)) as pool:
        clean = all(list(pool.map(lambda first: scenario(chosen, first), begins)))
    sys.stdout.flush()
    os._exit(0 if clean else 1)
