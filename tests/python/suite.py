"""What every suite program here shares: options, cases, result lines, transcripts, record data.

A program registers cases and calls `main`. Each case prints `pass SUITE.CASE MS` or
`fail SUITE.CASE MS: why`. A transcript holds what a case saw in a form in which two brokers can be
compared; lines that start with `M ` hold wording, which may differ.

Nothing here starts or stops a broker.
"""

import argparse
import concurrent.futures
import faulthandler
import os
import random
import re
import sys
import threading
import time
import traceback

CASES = []
CASE_SECONDS_MAX = 120
_print_lock = threading.Lock()


def case(function):
    """Registers a function that takes a Context; underscores of its name become hyphens."""
    CASES.append((function.__name__.replace("_", "-"), function))
    return function


def cases_for(name, values):
    """Registers one case per value: `name-value`, called with the context and the value."""

    def register(function):
        for value in values:
            CASES.append((f"{name}-{value}", lambda c, v=value: function(c, v)))
        return function

    return register


class Skipped(Exception):
    """Why a case cannot run on this machine; `tests/cases.txt` says which cases may say that."""


class Context:
    """Names of its own, options and the transcript of one case."""

    def __init__(self, suite, name, options, run):
        self.bootstrap = options.bootstrap
        self.host, port = options.bootstrap.rsplit(":", 1)
        self.port = int(port)
        self.target = options.target
        self.pid = options.pid
        self.jars, self.classes, self.scratch = options.jars, options.classes, options.scratch
        self.options = options
        self._suite = suite
        self._name = name
        self._run = run
        self.lines = []

    def name(self, what):
        """A topic or group name that no other case and no other run uses."""
        return f"{self._run}-{self._suite}.{self._name}-{what}"

    def line(self, text):
        text = str(text).replace(self._run, "<run>").replace(self.bootstrap, "<broker>")
        text = re.sub(rf"\b{self.port}\b", "<port>", text)
        self.lines.append(" ".join(text.split()))


def check(holds, why):
    if not holds:
        raise AssertionError(why)


def same(what, expected, actual):
    if expected != actual:
        raise AssertionError(f"{what}: expected {short(expected)}, got {short(actual)}")


def short(value):
    text = repr(value)
    return text if len(text) < 300 else text[:300] + "..."


def eventually(what, seconds_max, condition):
    deadline = time.monotonic() + seconds_max
    while not condition():
        check(time.monotonic() < deadline, f"{what}: not within {seconds_max} s")
        time.sleep(0.02)


def eventually_with(what, seen, condition):
    """Waits; a failure tells what was seen last."""
    try:
        eventually(what, 30, condition)
    except AssertionError as error:
        raise AssertionError(f"{error}; last seen: {seen}") from error


def records(count, seed):
    """(key, value, headers, timestamp_ms) of every shape: absent, empty, runs, noise."""
    rng = random.Random(seed)
    out = []
    for i in range(count):
        key = [None, b"", b"k%d" % i, rng.randbytes(rng.randrange(1, 50))][i % 4]
        value = [
            b"",
            rng.randbytes(rng.randrange(3000, 6000)),
            bytes(2500),
            b"record %d " % i + b"abcdefgh" * rng.randrange(40),
            b"x%d" % i,
        ][i % 5]
        headers = [("h%d" % h, rng.randbytes(h * 9)) for h in range(i % 4)]
        out.append((key, value, headers, 1_700_000_000_000 + i * 10))
    return out


def offset_of(message):
    """Where an acknowledged record of confluent-kafka is: -1 if the broker recognised a repetition and had no offset for it."""
    return -1 if message.offset() is None else message.offset()


def main(suite, parallel=4, beside="", is_wanted=lambda name, options: True):
    """Runs the cases that are wanted, `parallel` at a time; those that mostly wait, whose names begin with `beside`, beside
    them."""
    parser = argparse.ArgumentParser(description=f"{suite} conformance suite")
    parser.add_argument("--bootstrap", required=True, metavar="HOST:PORT")
    parser.add_argument("--case", default="", metavar="SUBSTRING")
    parser.add_argument("--target", default="kafka", choices=["kafka", "thalweg"])
    parser.add_argument("--transcript", metavar="FILE")
    parser.add_argument("--pid", type=int, help="the broker's process, to watch its memory")
    parser.add_argument("--jars", metavar="FOLDER", help="Apache Kafka's, for suites that start Java")
    parser.add_argument("--classes", metavar="FOLDER", help="those of tests/java")
    parser.add_argument("--scratch", metavar="FOLDER", help="for what such programs leave behind")
    parser.add_argument("--node-modules", metavar="FOLDER", help="for suites that start Node")
    parser.add_argument("--go-workers", metavar="FOLDER", help="programs of tests/go, for suites that start them")
    parser.add_argument("--makes", metavar="FOLDER", help="classes of tests/java/makes, and their jars")
    parser.add_argument("--krafka", metavar="FILE", help="the program of tests/krafka")
    options = parser.parse_args()
    faulthandler.enable()
    run = "r" + "".join(random.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(4))
    transcripts = {}
    failed = []

    def one(name, function):
        context = Context(suite, name, options, run)
        start = time.monotonic()
        outcome = []

        def body():
            try:
                function(context)
                outcome.append(None)
            except Skipped as reason:
                outcome.append(reason)
            except BaseException as error:  # the verdict must be printed whatever happened
                frames = [f for f in traceback.extract_tb(error.__traceback__) if "/tests/" in f.filename]
                at = f" @{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
                outcome.append(f"{type(error).__name__} {' '.join(str(error).split())}{at}")

        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        thread.join(CASE_SECONDS_MAX)
        failure = outcome[0] if outcome else f"no end after {CASE_SECONDS_MAX} s"
        millis = int((time.monotonic() - start) * 1000)
        with _print_lock:
            if isinstance(failure, Skipped):
                print(f"skip {suite}.{name} {millis}: {failure}", flush=True)
            elif failure is None:
                print(f"pass {suite}.{name} {millis}", flush=True)
            else:
                print(f"fail {suite}.{name} {millis}: {failure}", flush=True)
                context.lines.append("E case failed")
                failed.append(name)
            transcripts[name] = context.lines

    chosen = [(n, f) for n, f in CASES if options.case in n and is_wanted(n, options)]
    waiting = [c for c in chosen if beside and c[0].startswith(beside)]
    working = [c for c in chosen if c not in waiting]
    pools = concurrent.futures.ThreadPoolExecutor
    with pools(len(waiting) or 1) as others, pools(parallel) as pool:
        ran = [others.submit(one, *c) for c in waiting] + [pool.submit(one, *c) for c in working]
        for each in ran:
            each.result()
    if options.transcript:
        with open(options.transcript, "w", encoding="utf-8") as file:
            for name in sorted(transcripts):
                file.write(f"## {suite}.{name}\n")
                file.writelines(line + "\n" for line in transcripts[name])
    sys.stdout.flush()
    # Threads of a client that hangs must not keep a finished run alive.
    os._exit(1 if failed else 0)
