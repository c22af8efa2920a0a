"""The processes of the group soak: members in many languages that are started, stopped, killed and paused,
and what they tell (`group_worker.py` says how).
"""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import threading
import time

from suite import check

HERE = pathlib.Path(__file__).resolve().parent
JAVA = ["java", "-Xmx96m", "-Xss512k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]
# How long a member may take that is to leave the group.
LEAVE_SECONDS_MAX = 40


def now():
    return time.monotonic_ns() // 1000


def programs(options, python):
    """The command of each client's worker."""
    python_worker = lambda name: [python, str(HERE / f"group_worker_{name}.py")]  # noqa: E731
    out = {name: python_worker(name) for name in ("confluent", "kafka_python", "aiokafka")}
    if options.jars:
        out["java"] = [*JAVA, f"{options.classes}:{options.jars}/*", "thalweg.conformance.GroupWorker"]
    if options.node_modules:
        out["kafkajs"] = ["node", str(HERE.parent / "node" / "group_worker.js")]
    if options.rust_worker:
        out["thalweg"] = [options.rust_worker]
    return out | go_programs(options, "franz", "sarama")


def go_programs(options, *names):
    folder = pathlib.Path(options.go_workers or "/nonexistent")
    return {name: [str(folder / name)] for name in names if (folder / name).exists()}


def make_programs(options):
    """The same of makes that have a group of their own (`makes_suite.py`)."""
    out = {}
    if options.node_modules:
        out["platformatic"] = ["node", str(HERE.parent / "node" / "platformatic_worker.js")]
    if options.makes:
        folder = pathlib.Path(options.makes)
        for name, main in (("spring", "Spring"), ("vertx", "VertxClient"), ("pekko", "Pekko")):
            out[name] = [*JAVA, f"{folder / 'classes'}:{folder / 'jars'}/*", f"thalweg.makes.{main}"]
    if options.krafka:
        out["krafka"] = [options.krafka]
    return out | go_programs(options, "kafka_go", "goka")


def environment(options):
    """What the processes of the members find in their environment."""
    return dict(os.environ, **({"NODE_PATH": options.node_modules} if options.node_modules else {}))


@dataclasses.dataclass
class Life:
    """One process of a member, from its start to its end."""

    client: str
    name: str
    started: int
    # Whether it gives up only what it is to give up.
    incremental: bool = False
    events: list = dataclasses.field(default_factory=list)
    # From when to when it did not run.
    pauses: list = dataclasses.field(default_factory=list)
    # When it was killed, or told to leave.
    killed: int = None
    told_to_leave: int = None
    ended: int = None
    # What it owns, and when it was last told of a change of that.
    owned: frozenset = frozenset()
    told: int = 0

    def add(self, event):
        if event["e"] == "assigned":
            self.owned, self.told = self.owned | set(event["p"]), event["t"]
        elif event["e"] in ("revoked", "lost"):
            self.owned, self.told = self.owned - set(event["p"]), event["t"]
        self.events.append(event)

    def has(self, what):
        return any(event["e"] == what for event in list(self.events))


class Member:
    """A place in the group: one process after the other. All of it is called by one thread."""

    def __init__(self, name, client, command, arguments, environment, scratch):
        self.name, self.client = name, client
        self.command = command
        self.arguments = arguments
        self.environment = environment
        self.scratch = scratch
        self.process = None
        self.reader = None
        self.lives = []

    @property
    def life(self):
        return self.lives[-1]

    @property
    def label(self):
        return f"{self.client} {self.name}"

    def start(self):
        given = self.arguments
        incremental = given["protocol"] == "consumer" or given["assignors"] == "cooperative-sticky"
        life = Life(self.client, f"{self.name}.{len(self.lives)}", now(), incremental)
        arguments = dict(self.arguments, name=life.name)
        errors = (self.scratch / f"{life.name}.err").open("wb")
        self.process = subprocess.Popen(
            [*self.command, *(f"{name}={value}" for name, value in arguments.items())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=self.environment,
        )
        errors.close()
        self.lives.append(life)
        self.reader = threading.Thread(target=self._read, args=(self.process.stdout, life), daemon=True)
        self.reader.start()

    def _read(self, stream, life):
        with stream, (self.scratch / f"{life.name}.jsonl").open("wb") as copy:
            for line in stream:
                copy.write(line)
                try:
                    life.add(json.loads(line))
                except ValueError:
                    # The last words of a process that was killed; anything else is an error of the worker.
                    life.add({"e": "garbled", "t": now(), "line": line.decode(errors="replace")[:200]})
        life.ended = now()

    @property
    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, which):
        os.kill(self.process.pid, which)

    def pause(self):
        self.life.pauses.append((now(), None))
        self.signal(signal.SIGSTOP)

    def resume(self):
        self.signal(signal.SIGCONT)
        self.life.pauses[-1] = (self.life.pauses[-1][0], now())

    def kill(self):
        if self.is_alive:
            # Before the signal: from here on it may be dead.
            self.life.killed = self.life.killed or now()
            self.signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait(30)
            self.reader.join(30)
            self.process.stdin.close()
        self.process = None

    def tell_to_leave(self):
        self.life.told_to_leave = now()
        self.process.stdin.close()

    def wait_until_left(self):
        try:
            code = self.process.wait(LEAVE_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.label} does not leave within {LEAVE_SECONDS_MAX} s") from None
        self.reader.join(30)
        self.process = None
        has_left = code == 0 and self.life.has("left")
        check(has_left, f"{self.label} ended with {code} when it was to leave{self._last_words()}")

    def _last_words(self):
        """What the process said of its end: its last error, and the last lines of its standard error."""
        told = [event.get("what", "an error") for event in self.life.events if event["e"] == "error"][-1:]
        errors = (self.scratch / f"{self.life.name}.err").read_text(errors="replace").strip()
        return "".join(f"; {words}" for words in [*told, *errors.splitlines()[-5:]])
