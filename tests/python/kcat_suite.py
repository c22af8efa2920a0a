"""kcat (librdkafka 2.0 of Debian): lines in, the same bytes out; metadata, groups, queries."""

import os
import re
import subprocess
import tempfile
import threading
import time

from suite import case, cases_for, check, eventually, main, same

LOG_FILES = ["/var/log/dpkg.log", "/var/log/bootstrap.log", "/var/log/apt/history.log"]


def kcat(c, *args, stdin=b"", seconds=60, expect=0):
    done = subprocess.run(["kcat", "-b", c.bootstrap, *args], input=stdin, capture_output=True, timeout=seconds)
    if expect is not None:
        check(done.returncode == expect, f"kcat {' '.join(args)}: {done.returncode} {done.stderr.decode(errors='replace')[-300:]}")
    return done.stdout


def log_lines():
    """A real log of this machine, without empty lines, which kcat does not send."""
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Cargo.lock")
    for path in [*LOG_FILES, here]:
        if os.path.exists(path) and os.path.getsize(path) > 20_000:
            with open(path, "rb") as file:
                lines = [line for line in file.read(400_000).split(b"\n")[:-1] if line]
            return b"".join(line + b"\n" for line in lines)
    raise AssertionError("no log file found")


@cases_for("log-file", ["none", "gzip", "snappy", "lz4", "zstd"])
def log_file(c, codec):
    t = c.name("t")
    text = log_lines()
    kcat(c, "-P", "-t", t, "-p", "0", "-z", codec, "-X", "topic.metadata.refresh.interval.ms=1000", stdin=text)
    out = kcat(c, "-C", "-t", t, "-p", "0", "-o", "beginning", "-e", "-q")
    check(out == text, f"{len(text)} bytes went in, {len(out)} came out, or others")
    c.line("same bytes")


@case
def idempotent_log_file(c):
    t = c.name("t")
    text = log_lines()
    kcat(c, "-P", "-t", t, "-p", "0", "-X", "enable.idempotence=true", stdin=text)
    same("bytes", text, kcat(c, "-C", "-t", t, "-p", "0", "-o", "beginning", "-e", "-q"))


@case
def keys_and_headers(c):
    t = c.name("t")
    kcat(c, "-P", "-t", t, "-p", "0", "-K", ":", "-H", "a=1", "-H", "b=", "-Z", stdin=b"k1:v1\nk2:\n:v3\n")
    out = kcat(c, "-C", "-t", t, "-e", "-q", "-o", "beginning", "-J")
    for line in out.decode().splitlines():
        c.line(re.sub(r'"ts":\d+', '"ts":<time>', line))
    fields = kcat(c, "-C", "-t", t, "-e", "-q", "-o", "beginning", "-f", "%o %K %k %S %s %h\\n").decode()
    for line in fields.splitlines():
        c.line(line)


@case
def metadata(c):
    t = c.name("t")
    kcat(c, "-P", "-t", t, stdin=b"x\n")
    out = kcat(c, "-L").decode()
    check(f'topic "{t}"' in out, f"{t} is not listed")
    # A listing without a topic names brokers and the number of topics, which depends on others.
    for line in kcat(c, "-L", "-t", t).decode().splitlines():
        c.line(line)
    for line in kcat(c, "-L", "-t", c.name("unknown"), "-X", "allow.auto.create.topics=false").decode().splitlines():
        c.line(line)


@case
def offsets_and_queries(c):
    t = c.name("t")
    kcat(c, "-P", "-t", t, "-p", "0", stdin=b"".join(b"m%d\n" % i for i in range(20)))
    for query in ("-1", "-2", "0", "4102444800000"):
        c.line(kcat(c, "-Q", "-t", f"{t}:0:{query}").decode())
    same("from 15", b"m15\nm16\nm17\nm18\nm19\n", kcat(c, "-C", "-t", t, "-p", "0", "-o", "15", "-e", "-q"))
    same("last 3", b"m17\nm18\nm19\n", kcat(c, "-C", "-t", t, "-p", "0", "-o", "-3", "-e", "-q"))
    same("two", b"m0\nm1\n", kcat(c, "-C", "-t", t, "-p", "0", "-o", "beginning", "-c", "2", "-q"))
    same("from a time", b"m0\n", kcat(c, "-C", "-t", t, "-p", "0", "-o", "s@1000000000000", "-c", "1", "-q"))
    same("unknown partition", b"", kcat(c, "-C", "-t", t, "-p", "9", "-o", "beginning", "-e", "-q", expect=None))


@case
def many_partitions(c):
    t = c.name("t")
    subprocess_input = b"".join(b"%d:%d\n" % (i, i) for i in range(1000))
    # Auto-creation gives the broker's default number of partitions.
    kcat(c, "-P", "-t", t, "-K", ":", stdin=subprocess_input)
    out = kcat(c, "-C", "-t", t, "-o", "beginning", "-e", "-q", "-K", ":")
    same("lines", sorted(subprocess_input.splitlines()), sorted(out.splitlines()))


@case
def group(c):
    """Two members of a group share what is produced while they run; nothing is lost or doubled."""
    t = c.name("t")
    g = c.name("g")
    kcat(c, "-P", "-t", t, stdin=b"first\n")
    outputs = [tempfile.TemporaryFile() for _ in range(2)]
    command = ["kcat", "-b", c.bootstrap, "-G", g, "-q", "-u", "-X", "auto.offset.reset=earliest"]
    command += ["-X", "heartbeat.interval.ms=200", "-X", "auto.commit.interval.ms=200", t]
    members = [subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL) for out in outputs]
    lines = [b"line %d" % i for i in range(300)]
    try:
        time.sleep(1.5)
        kcat(c, "-P", "-t", t, stdin=b"\n".join(lines) + b"\n")

        def got():
            found = []
            for out in outputs:
                found += os.pread(out.fileno(), 1 << 20, 0).splitlines()
            return found

        eventually("all lines", 30, lambda: len(got()) >= 301)
        same("lines", sorted([b"first", *lines]), sorted(got()))
    finally:
        for member in members:
            member.terminate()
        for member in members:
            member.wait(20)
    # What was committed is not read again.
    kcat(c, "-P", "-t", t, stdin=b"after\n")
    again = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    lines_after = []
    reader = threading.Thread(target=lambda: lines_after.extend(iter(again.stdout.readline, b"")), daemon=True)
    reader.start()
    try:
        eventually("the line after", 30, lambda: b"after\n" in lines_after)
    finally:
        again.terminate()
        again.wait(20)
    same("only what is new", [b"after\n"], lines_after)


if __name__ == "__main__":
    main("kcat", parallel=3)
