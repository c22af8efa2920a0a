"""An installation that two brokers run in turn: its directories, its configuration, and who asks about it.

`Installation` starts Apache Kafka or Thalweg on the same directories with the same server.properties.
`Official` is a Java process with the official clients: what it is told is compared before and after, and
the members of groups that it holds live on while the broker changes.
"""

import pathlib
import queue
import shlex
import signal
import subprocess
import threading
import time

from kill import Broker
from ports import free_address
from suite import check, same

KAFKA, THALWEG = "kafka", "thalweg"
# How long one of Kafka's tools may run, and an answer of the official clients may take.
TOOL_SECONDS_MAX = 120
ANSWER_SECONDS_MAX = 60
JAVA = ["java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]
# Kafka's own config/server.properties, with what makes a test short. `mode`: by default groups go by the barrier,
# because Kafka shows those that Thalweg's coordinator assigns as consumer groups.
SETTINGS = """\
process.roles=broker,controller
node.id=1
{quorum}
listeners=PLAINTEXT://{broker},CONTROLLER://{controller}
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://{broker},CONTROLLER://{controller}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs={log_dirs}
num.partitions=1
num.recovery.threads.per.data.dir=2
offsets.topic.replication.factor=1
offsets.topic.num.partitions=5
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=2
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=3
transaction.max.timeout.ms=900000
log.retention.hours=168
log.segment.bytes=1048576
log.retention.check.interval.ms=300
log.initial.task.delay.ms=300
log.cleaner.backoff.ms=200
log.cleaner.dedupe.buffer.size=8388608
group.initial.rebalance.delay.ms=0
thalweg.group.classic.rebalance.mode={mode}
group.consumer.min.heartbeat.interval.ms=200
group.consumer.heartbeat.interval.ms=300
group.consumer.session.timeout.ms=60000
metadata.log.max.record.bytes.between.snapshots=6000
broker.session.timeout.ms=1500
broker.heartbeat.interval.ms=300
"""


class Installation:
    """Directories, a configuration, and the two who can run it. `kafka_jars`: those of another Kafka than the oracle."""

    def __init__(self, options, name, static=False, dirs=1, metadata_dir=False, mode="barrier", kafka_jars=None):
        self.bootstrap = free_address()
        self.controller = free_address()
        scratch = pathlib.Path(options.scratch).absolute()
        self.log_dirs = [scratch / f"{name}-{number}" for number in range(1, dirs + 1)]
        self.dirs = list(self.log_dirs)
        self.static = static
        quorum = f"controller.quorum.voters=1@{self.controller}"
        if not static:
            quorum = f"controller.quorum.bootstrap.servers={self.controller}"
        self.text = SETTINGS.format(
            quorum=quorum,
            mode=mode,
            broker=self.bootstrap,
            controller=self.controller,
            log_dirs=",".join(str(path) for path in self.log_dirs),
        )
        self.config = scratch / f"{name}.properties"
        if metadata_dir:
            self.dirs.append(scratch / f"{name}-metadata")
            self.text += f"metadata.log.dir={self.dirs[-1]}\n"
        self.configure("")
        self.jars = f"{options.jars}/*"
        self.classes = options.classes
        self.commands = {
            THALWEG: [options.thalweg, "serve", "--config", str(self.config)],
            KAFKA: [*JAVA, f"{kafka_jars or options.jars}/*", "kafka.Kafka", str(self.config)],
        }
        self.log_path = scratch / f"{name}.log"
        self.log = self.log_path.open("ab")
        self.broker = None
        self.who = None

    def configure(self, more):
        """Writes server.properties, with these lines behind the usual ones."""
        self.config.write_text(self.text + more, encoding="utf-8")

    def format(self, *more):
        """What Kafka needs before its first start."""
        command = [*JAVA, self.jars, "kafka.tools.StorageTool", "format"]
        command += [] if self.static else ["--standalone"]
        command += ["-t", "thalwegTestClusterAAAA", "-c", str(self.config), *more]
        subprocess.run(command, check=True, stdout=self.log, stderr=self.log, timeout=TOOL_SECONDS_MAX)

    def format_for_three(self):
        """As one of three controllers."""
        ids = ("bB3yT9pPSGyZ8yQnq5b1Aw", "bB3yT9pPSGyZ8yQnq5b1Ag", "bB3yT9pPSGyZ8yQnq5b1AQ")
        voters = ",".join(f"{number}@{self.controller}:{id_}" for number, id_ in enumerate(ids, 1))
        command = [*JAVA, self.jars, "kafka.tools.StorageTool", "format", "--initial-controllers", voters]
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
        self.broker = None

    def refused(self):
        """A start of Thalweg that must come to nothing: what it said."""
        done = subprocess.run(self.commands[THALWEG], capture_output=True, text=True, timeout=TOOL_SECONDS_MAX)
        self.log.write(done.stderr.encode())
        check(done.returncode in (1, 2), f"a start that must be refused ended with {done.returncode}")
        return done.stderr

    def end(self):
        """Whatever happened: nothing is left running."""
        if self.broker is not None and self.broker.process is not None:
            self.broker.process.kill()
            self.broker.process.wait(60)
        self.log.close()

    def files(self):
        """Every file of the directories, with what is in it."""
        found = [path for top in self.dirs for path in top.rglob("*")]
        return {path: path.read_bytes() for path in found if path.is_file() and path.name != ".lock"}

    def checkpoint(self, name):
        """`topic-partition -> offset` of one of Kafka's checkpoint files, over all directories."""
        found = {}
        for top in self.dirs:
            file = top / name
            for line in file.read_text(encoding="ascii").splitlines()[2:] if file.exists() else []:
                topic, partition, offset = line.split(" ")
                found[f"{topic}-{partition}"] = int(offset)
        return found

    def check_files(self):
        """Kafka's DumpLogSegments opens every file of the stopped broker."""
        for top in self.log_dirs:
            command = [*JAVA, f"{self.classes}:{self.jars}", "thalweg.conformance.DirectoryCheck", str(top)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=TOOL_SECONDS_MAX)
            bad = [line for line in done.stdout.splitlines() if not line.startswith("pass ")]
            check(done.returncode == 0 and not bad, f"files in {top.name}: {bad or done.stderr[-500:]}")


class Official:
    """The official clients, in a process that outlives brokers."""

    def __init__(self, installation):
        command = [*JAVA, f"{installation.classes}:{installation.jars}", "thalweg.conformance.Installation"]
        self.process = subprocess.Popen(
            [*command, installation.bootstrap],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=installation.log,
            text=True,
            bufsize=1,
        )
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put("failed the process ended")

    def call(self, command):
        """What a command prints."""
        self.process.stdin.write(command + "\n")
        out = []
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        while True:
            try:
                line = self.lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"{command}: no answer within {ANSWER_SECONDS_MAX} s") from None
            if line == ".":
                return out
            check(not line.startswith("failed "), f"{command}: {line}")
            out.append(line)

    def inventory(self):
        """Section -> what an Admin client is told of it; `None` for what the broker does not answer."""
        found = {}
        for line in self.call("inventory"):
            section, _, text = line.partition(" ")
            if section == "unsupported":
                found[text] = None
            else:
                found.setdefault(section, set()).add(text)
        return found

    def members(self):
        """Name -> (records, records twice, rebalances, partitions, error)."""
        found = {}
        for line in self.call("members"):
            name, records, twice, rebalances, partitions, error = line.split(" ")
            found[name] = (int(records), int(twice), int(rebalances), partitions, error)
        return found

    def end(self):
        self.process.kill()
        self.process.wait(60)
