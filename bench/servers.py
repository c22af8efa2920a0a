"""The systems that are measured: starting, stopping, and what they cost."""

import base64
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import time
import uuid

TICKS = os.sysconf("SC_CLK_TCK")

# As kafka-server-start.sh and kafka-run-class.sh have them.
KAFKA_JVM = [
    "-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15", "-Djava.awt.headless=true",
]

# config/server.properties of the distribution, but for addresses and directories.
KAFKA_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs={data}
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""


class Failure(Exception):
    """Something that ends the whole run."""


class Server:
    """One system under measurement, in a process of its own."""

    name = ""

    def __init__(self, directory, port):
        self.directory = pathlib.Path(directory)
        self.data = self.directory / "data"
        self.port = port
        self.process = None

    @property
    def bootstrap(self):
        return f"127.0.0.1:{self.port}"

    def command(self):
        raise NotImplementedError

    def prepare(self):
        """Makes an empty directory ready to start on."""
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)

    def start(self, timeout=120):
        """Starts; returns the seconds until the first request was answered."""
        log = open(self.directory / "output.txt", "ab")
        begun = time.monotonic()
        self.process = subprocess.Popen(
            self.command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            cwd=self.directory, start_new_session=True,
        )
        log.close()
        while time.monotonic() - begun < timeout:
            if answers(self.port):
                return time.monotonic() - begun
            if self.process.poll() is not None:
                break
            time.sleep(0.001)
        output = (self.directory / "output.txt").read_text(errors="replace")[-2000:]
        self.kill()
        raise Failure(f"{self.name} does not start:\n{output}")

    def stop(self, timeout=60):
        """Asks it to end, and waits."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
        self.process = None

    def kill(self):
        """kill -9."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process = None

    def remove(self):
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def cpu(self):
        """User and system seconds of all its threads, those that ended included."""
        text = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text()
        fields = text.rsplit(")", 1)[1].split()
        return int(fields[11]) / TICKS, int(fields[12]) / TICKS

    def rss(self):
        """Resident bytes now and at most."""
        sizes = {}
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(("VmRSS", "VmHWM")):
                sizes[line[:5]] = int(line.split()[1]) * 1024
        return sizes.get("VmRSS", 0), sizes.get("VmHWM", 0)

    def log_bytes(self):
        """Bytes of the partitions' segments."""
        return sum(path.stat().st_size for path in self.data.rglob("*.log"))


class Kafka(Server):
    name = "kafka"

    def __init__(self, directory, port, java, classpath, configs=None):
        super().__init__(directory, port)
        self.java, self.classpath, self.configs = java, classpath, configs or {}

    def prepare(self):
        super().prepare()
        properties = KAFKA_PROPERTIES.format(port=self.port, controller=self.port + 1, data=self.data)
        properties += "".join(f"{name}={value}\n" for name, value in self.configs.items())
        (self.directory / "server.properties").write_text(properties)
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        done = subprocess.run(
            [self.java, "-cp", self.classpath, "kafka.tools.StorageTool", "format", "--standalone",
             "-t", cluster, "-c", "server.properties"],
            cwd=self.directory, capture_output=True, text=True,
        )
        if done.returncode != 0:
            raise Failure(f"Kafka's storage tool: {done.stdout}{done.stderr}")

    def command(self):
        return [self.java, *KAFKA_JVM, "-cp", self.classpath, "kafka.Kafka", "server.properties"]


class Thalweg(Server):
    name = "thalweg"

    def __init__(self, directory, port, binary, options):
        super().__init__(directory, port)
        self.binary, self.options = binary, options

    def command(self):
        settings = [part for option in self.options for part in ("--set", option)]
        return [self.binary, "serve", "--listen", self.bootstrap, "--data", str(self.data), *settings]


class Floor(Server):
    name = "floor"

    def __init__(self, directory, port, binary):
        super().__init__(directory, port)
        self.binary = binary

    def command(self):
        return [self.binary, "bench", "floor", "--listen", self.bootstrap, "--data", str(self.data)]


def answers(port):
    """Whether an ApiVersions request is answered without error."""
    return versions(port) is not None


def versions(port):
    """The newest version of each request that is offered, by key; None without an answer."""
    request = struct.pack(">hhih", 18, 0, 7, -1)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            with connection.makefile("rb") as answer:
                size, number, error, count = struct.unpack(">iihi", answer.read(14))
                offered = answer.read(size - 10)
        if (number, error) != (7, 0):
            return None
        return {key: most for key, _, most in struct.iter_unpack(">hhh", offered[:6 * count])}
    except (OSError, struct.error):
        return None
