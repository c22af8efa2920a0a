"""Rounds of their own: a file system that is really full, and a wall clock that moves.

    kills_special.py NAME --binary THALWEG --scratch FOLDER

runs one of them in this process; a full file system needs a mount, and has it in a namespace of its
own, so that nothing is left of it, whatever ends the round.
"""

import argparse
import ctypes
import faulthandler
import mmap
import os
import pathlib
import random
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import time
import traceback

from kill import Broker, Member, RdkafkaLoad
from kills_book import EARLIEST, LATEST, Book, value_of
from kills_loads import Readers, Writer
from kills_storms import NOT_LED, PRODUCE, TOPIC, Storms
from ports import free_address
from suite import check, eventually, eventually_with, same
from wire import Closed, Reader, array, batch, data, header, i16, i32, record, string

# Whoever may not mount ends with this code, which no interpreter ends with by itself.
SKIPPED = 77
SECONDS_MAX = 120
# How long a killed process may take to be gone, with its output read.
KILLED_SECONDS_MAX = 20
PR_SET_PDEATHSIG = 1
STORAGE_ERROR, INVALID_TIMESTAMP = 56, 32
BIG = 200_000
SIZE, ENLARGED = "12m", "64m"
MINUTE_MS, HOUR_MS = 60_000, 3_600_000
DAY_MS = 24 * HOUR_MS


class Skipped(Exception):
    """The round cannot run here, and says why."""


class Place:
    """A broker with directories of its own, and a book of what it holds."""

    def __init__(self, options, name, data, settings, env=None):
        self.scratch = pathlib.Path(options.scratch).absolute() / name
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        self.data = [self.scratch / one for one in data]
        self.log = (self.scratch / "broker.log").open("ab", buffering=0)
        self.bootstrap = free_address()
        # It must not outlive the round, which may be killed: nobody could find it any more.
        command = ["setpriv", "--pdeathsig", "KILL", options.binary, "serve", "--listen", self.bootstrap]
        settings = {"node.id": 1, "log.dirs": ",".join(map(str, self.data)), "log.segment.bytes": 1 << 20, **settings}
        for one, value in settings.items():
            command += ["--set", f"{one}={value}"]
        self.broker = Broker(shlex.join(command), self.bootstrap, self.log, env)
        self.book = Book(self.bootstrap, self.data)
        self.storms = Storms(self.book, random.Random(options.seed))

    def end(self):
        if self.broker.process is not None and self.broker.process.poll() is None:
            self.broker.process.kill()
            self.broker.process.wait(30)


# ---- a full file system ----


def call(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=20)
    return done.returncode, done.stdout.strip()


def mounted(folder):
    folder.mkdir(parents=True)
    code, said = call("mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(folder))
    if code != 0:
        raise Skipped(f"no file system can be mounted here: {said}")


def enlarge(folder):
    same("remount", (0, ""), call("mount", "-o", f"remount,size={ENLARGED}", str(folder)))


def fill(place, topic, partitions):
    """Writes in turn until every one of them was refused, and gives the answers after which it was over."""
    book, out = place.book, {}
    deadline = time.monotonic() + 40
    with book.connection() as connection:
        while set(out) != set(partitions):
            check(time.monotonic() < deadline, "the file system is never full")
            for p in set(partitions) - set(out):
                number = book.producers.sent[("raw", topic.tag, p)]
                book.producers.sent[("raw", topic.tag, p)] += 1
                value = value_of("raw", topic.tag, p, number, BIG)
                body = string(None) + i16(-1) + i32(10_000)
                body += array([string(topic.name) + array([i32(p) + data(batch([record(None, value)]))])])
                try:
                    reader = Reader(connection.call(header(PRODUCE, 7) + body))
                except (Closed, OSError):
                    return {**out, p: "closed"}
                reader.i32(), reader.string(), reader.i32(), reader.i32()
                error, offset = reader.i16(), reader.i64()
                if error == 0:
                    book.ack(topic, p, offset, "raw", number)
                else:
                    out[p] = error
    return out


def full_file_system(options):
    """The only directory: the process ends, and starts again when there is room."""
    place = Place(options, "full", ["small/data"], {})
    small = place.scratch / "small"
    mounted(small)
    try:
        place.broker.start()
        with place.book.connection() as connection:
            topic = place.storms.create(connection, "t", 2, {})
            place.storms.write(connection, topic, 0, 3)
        answers = fill(place, topic, [0, 1])
        check(set(answers.values()) <= {STORAGE_ERROR, "closed"}, f"answers when it is full: {answers}")
        # Nothing can be decided any more without a metadata log.
        same("exit code of a broker without a directory", 1, place.broker.process.wait(30))
        acked = place.book.count()
        check(acked > 20, f"only {acked} records were taken")
        # A start that finds no room either fails with a reason, or serves what is there.
        place.broker.launch()
        try:
            eventually("it starts, or it ends", 30, lambda: place.broker.process.poll() is not None or place.broker.answers())
        except AssertionError as error:
            check(place.broker.process.poll() is not None, str(error))
        code = place.broker.process.poll()
        check(code in (None, 1), f"it ended with {code}")
        place.end()
        enlarge(small)
        place.broker.start()
        place.book.verify(whole=True)
        with place.book.connection() as connection:
            place.storms.write(connection, topic, 0, 3, BIG)
            place.storms.write(connection, topic, 1, 3, BIG)
        place.book.verify(whole=True)
        return f"{acked} records before it was full, answers {answers}; a start without room: {code or 'served'}"
    finally:
        place.end()


def full_one_of_two(options):
    """One of two directories: its partitions are offline, the others go on."""
    place = Place(options, "full-one", ["wide/data", "small/data"], {})
    small = place.scratch / "small"
    mounted(small)
    try:
        place.broker.start()
        with place.book.connection() as connection:
            topic = place.storms.create(connection, "t", 4, {})
            for p in range(4):
                place.storms.write(connection, topic, p, 3)
        held = [p for p in range(4) if (place.data[1] / f"t-{p}").is_dir()]
        check(0 < len(held) < 4, f"partitions in the small directory: {held}")
        answers = fill(place, topic, held)
        check(set(answers.values()) <= {STORAGE_ERROR, *NOT_LED} and STORAGE_ERROR in answers.values(), f"{answers}")
        same("a broker with a directory left", None, place.broker.process.poll())
        others = [p for p in range(4) if p not in held]
        with place.book.connection() as connection:
            for p in others:
                place.storms.write(connection, topic, p, 3, BIG)
            # What is new finds room where there is some.
            other = place.storms.create(connection, "other", 4, {})
            for p in range(4):
                place.storms.write(connection, other, p, 3)
        acked = place.book.count()
        place.broker.stop(signal.SIGKILL)
        enlarge(small)
        place.broker.start()
        place.book.verify(whole=True)
        with place.book.connection() as connection:
            for p in range(4):
                place.storms.write(connection, topic, p, 3, BIG)
        place.book.verify(whole=True)
        return f"{acked} records; of partitions {held} in the full directory: {answers}"
    finally:
        place.end()


# ---- a wall clock that moves ----


class Clock:
    """The wall clock of one broker, as clock.c tells it."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        library = folder / "clock.so"
        source = pathlib.Path(__file__).with_name("clock.c")
        check(shutil.which("cc") is not None, f"there is no C compiler 'cc' here, and {source.name} must be compiled")
        # Only errors count: each compiler has warnings of its own.
        same("cc", (0, ""), call("cc", "-w", "-O1", "-shared", "-fPIC", "-o", str(library), str(source)))
        path = folder / "offset"
        path.write_bytes(bytes(8))
        self.file = path.open("r+b")
        self.map = mmap.mmap(self.file.fileno(), 8)
        self.env = {**os.environ, "LD_PRELOAD": str(library), "CLOCK_OFFSET_FILE": str(path)}
        self.offset_ms = 0

    def move(self, offset_ms):
        self.offset_ms = offset_ms
        self.map[:] = struct.pack("=q", offset_ms * 1_000_000)

    def now_ms(self):
        return int(time.time() * 1000) + self.offset_ms


SETTINGS_OF_CLOCK = {
    "log.initial.task.delay.ms": 50,
    "log.retention.check.interval.ms": 150,
    "log.segment.delete.delay.ms": 200,
    "log.flush.scheduler.interval.ms": 200,
    "offsets.topic.num.partitions": 3,
    "offsets.retention.minutes": 24 * 60,
    "offsets.retention.check.interval.ms": 300,
    "producer.id.expiration.check.interval.ms": 300,
    "group.initial.rebalance.delay.ms": 0,
    "broker.session.timeout.ms": 2000,
    "broker.heartbeat.interval.ms": 300,
    "metadata.log.max.record.bytes.between.snapshots": 3000,
    "metadata.log.max.snapshot.interval.ms": 500,
}


class Moving:
    """The round of the clock."""

    def __init__(self, options):
        self.clock = Clock(pathlib.Path(options.scratch).absolute() / "clock-shim")
        self.place = Place(options, "clock", ["data"], SETTINGS_OF_CLOCK, self.clock.env)
        self.book, self.storms, self.broker = self.place.book, self.place.storms, self.place.broker
        self.book.broker_ms = self.clock.now_ms

    def begin(self):
        self.broker.start()
        with self.book.connection() as connection:
            create = self.storms.create
            # Its records are of now also while the broker believes in three hours ago.
            kept = {"retention.ms": "-1", "segment.ms": "600", "message.timestamp.after.max.ms": str(DAY_MS)}
            self.kept = create(connection, "kept", 2, kept)
            self.short = create(connection, "short", 1, {"retention.ms": str(2 * HOUR_MS)})
            self.week = create(connection, "week", 1, {})
            stamped = {"retention.ms": "-1", "message.timestamp.type": "LogAppendTime"}
            self.stamped = create(connection, "stamped", 1, stamped)
            for topic in (self.short, self.week, self.stamped):
                self.storms.write(connection, topic, 0, 3)
        self.writer = Writer(self.book, self.kept, "kept", True)
        config = {"enable_idempotence": True, "message_timeout_ms": 100_000}
        self.load = RdkafkaLoad(self.place.bootstrap, self.writer, **config)
        self.group = Readers(self.book, self.kept, "readers")
        # Only the clock may throw its member out, not a machine that has no time for it.
        self.group.session_ms = 30_000
        self.member = Member(self.place.bootstrap, self.group)
        self.members = None
        self.commit(1)

    def commit(self, offset):
        """By a group that has no members."""
        with self.book.connection() as connection:
            eventually("the commit", 20, lambda: self.storms.commit(connection, "keeper", "week", 0, offset) == 0)

    def goes_on(self, what):
        """Records are acknowledged and handed out, by the same member."""
        self.members = self.members or self.joined()
        for _ in range(3):
            acked, handed, confirmed = self.writer.acknowledged, self.group.count, sum(self.group.confirmed)
            eventually(f"{what}: records are acknowledged", 20, lambda: self.writer.acknowledged > acked + 20)
            eventually(f"{what}: the group is handed records", 20, lambda: self.group.count > handed + 20)
            eventually(f"{what}: commits are confirmed", 20, lambda: sum(self.group.confirmed) > confirmed)
        same(f"{what}: the group's member", self.members, self.joined())
        same(f"{what}: errors", [], self.writer.errors + self.group.errors)

    def joined(self):
        """Ids of the group's members: one that was thrown out comes back under another."""
        admin, found = self.book.estate.admin(), []

        def stable():
            group = admin.describe_consumer_groups([self.group.name])[self.group.name].result(20)
            found[:] = [one.member_id for one in group.members]
            return group.state.name == "STABLE" and len(found) == 1

        eventually_with("the group is stable", found, stable)
        return found

    def at(self, what, offset_ms):
        with self.book.connection() as connection:
            self.come_and_go(connection)
            # Its files have a moment left, and the clock is another one.
            self.clock.move(offset_ms)
            self.book.verify_disk()
            self.goes_on(what)
            error, stamp = self.storms.try_write(connection, self.stamped, 0)
            same(f"{what}: error of a write", 0, error)
            now = self.clock.now_ms()
            check(abs(stamp - now) < 5000, f"{what}: LogAppendTime {stamp}, the clock says {now}")
            # What runs by the clock still runs.
            self.come_and_go(connection)
            newest = self.snapshot()
            for turn in range(80):
                self.book.alter(TOPIC, "kept", {"flush.ms": str(10**6 + turn)}, connection)
        eventually(f"{what}: a snapshot", 20, lambda: self.snapshot() > newest)
        self.book.verify(whole=True)

    def come_and_go(self, connection):
        """A topic that is deleted at once."""
        gone = self.storms.create(connection, "gone", 2, {})
        self.storms.write(connection, gone, 0, 1)
        self.storms.delete(connection, gone)

    def snapshot(self):
        return max((one.name for one in self.place.data[0].glob("__cluster_metadata-0/*.checkpoint")), default="")

    def run(self):
        self.begin()
        self.goes_on("at first")
        self.at("now", 0)
        self.at("3 hours ahead", 3 * HOUR_MS)
        self.expired(self.short, "what is older than two hours")
        self.restart("killed 3 hours ahead", signal.SIGKILL)
        with self.book.connection() as connection:
            # Of now by the broker's clock.
            self.storms.write(connection, self.short, 0, 3, timestamp=self.clock.now_ms())
        self.at("40 minutes behind", -40 * MINUTE_MS)
        self.restart("killed 40 minutes behind", signal.SIGKILL)
        self.refused()
        self.at("now again", 0)
        self.restart("stopped", signal.SIGTERM)
        self.commit(2)
        self.book.verify(whole=True)
        self.clock.move(3 * DAY_MS)
        self.goes_on("3 days ahead")
        self.forgotten()
        self.expired(self.short, "what was written 3 hours ahead")
        self.restart("killed 3 days ahead", signal.SIGKILL)
        self.load.stop()
        self.book.verify(whole=True)
        with self.book.connection() as connection:
            same("the beginning of what is kept for a week", 0, self.book.offsets([("week", 0)], EARLIEST)[("week", 0)])
            self.storms.write(connection, self.week, 0, 1)
        self.member.stop()
        return f"{self.book.records} records read and compared"

    def expired(self, topic, what):
        place = [(topic.name, 0)]
        eventually(
            f"{what} is deleted", 20, lambda: self.book.offsets(place, EARLIEST) == self.book.offsets(place, LATEST)
        )
        self.book.verify(whole=True)

    def restart(self, what, how):
        self.broker.stop(how)
        self.broker.start()
        self.book.verify(whole=True)
        self.goes_on(what)

    def refused(self):
        """More than an hour ahead of the broker's clock is message.timestamp.after.max.ms; who is given the
        broker's time does not mind."""
        self.clock.move(-3 * HOUR_MS)
        with self.book.connection() as connection:
            error, _ = self.storms.try_write(connection, self.week, 0)
            same("error of a record of 3 hours ahead", INVALID_TIMESTAMP, error)
            self.storms.write(connection, self.stamped, 0, 1)
        self.clock.move(-40 * MINUTE_MS)

    def forgotten(self):
        """Offsets of a group without members go after a day; those of a member stay."""
        place = ("keeper", "week", 0)
        held = self.book.commits.pop(place)
        found = {}

        def gone():
            found.clear()
            found.update(self.book.committed("keeper"))
            return place not in found

        check(held[0] == 2, f"{held}")
        eventually_with("the offsets of a group without members go", found, gone)
        there = self.book.committed("readers")
        check(set(there) >= {("readers", "kept", p) for p in range(2)}, f"offsets of a group with a member: {there}")

    def end(self):
        for one in (getattr(self, name, None) for name in ("load", "member")):
            if one is not None:
                one.stopping.set()
        self.place.end()


def clock(options):
    moving = Moving(options)
    try:
        return moving.run()
    finally:
        moving.end()


ROUNDS = {"full-file-system": full_file_system, "full-one-of-two": full_one_of_two, "clock": clock}
MOUNTS = ("full-file-system", "full-one-of-two")


def run(name, options):
    """In a process of its own; gives what it has to say."""
    command = [sys.executable, __file__, name, "--binary", options.binary]
    command += ["--scratch", str(options.scratch), "--seed", str(options.seed), "--parent", str(os.getpid())]
    if name in MOUNTS:
        # Without privileges a namespace of users may give them.
        command = ["unshare", "--mount", *(["--map-root-user"] if os.getuid() else []), *command]
    try:
        # A session of its own, so that the broker that it started ends with it.
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
    except FileNotFoundError as error:
        raise Skipped(f"{error}") from error
    late = False
    try:
        said, errors = child.communicate(timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        late = True
        kill_group(child.pid)
        said, errors = child.communicate(timeout=KILLED_SECONDS_MAX)
    finally:
        kill_group(child.pid)
    sys.stderr.write(errors)
    said = said.strip()
    check(not late, f"no end after {SECONDS_MAX} s; it said '{said}', and at last: {errors.strip()[-1000:]}")
    # unshare itself ends with 1 and says so, before there is an interpreter.
    if child.returncode == SKIPPED or child.returncode != 0 and errors.startswith("unshare:"):
        raise Skipped(said or errors.strip())
    check(child.returncode == 0, said or f"it ended with {child.returncode}")
    return said


def kill_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def die_with(parent):
    """Its own session keeps this process out of the group that is killed when the suite takes too long. It
    asks for that itself: what runs between fork and exec could hang in a process that has threads."""
    same("prctl", 0, ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    # Who died before that sends no signal any more.
    same("parent", parent, os.getppid())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="one special round")
    parser.add_argument("name", choices=list(ROUNDS))
    parser.add_argument("--binary", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parent", type=int, help="the process that started this one, and whose death ends it")
    chosen = parser.parse_args()
    if chosen.parent is not None:
        die_with(chosen.parent)
    # Where it hangs, shortly before it is killed for that.
    faulthandler.dump_traceback_later(SECONDS_MAX - 5)
    code = 0
    try:
        print(ROUNDS[chosen.name](chosen))
    except Skipped as why:
        print(why)
        code = SKIPPED
    except Exception as failure:
        traceback.print_exc()
        print(f"{type(failure).__name__} {failure}")
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of clients that hang must not keep a finished round alive.
    os._exit(code)
