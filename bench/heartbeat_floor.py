#!/usr/bin/env python3
"""What a heartbeat costs a server that does nothing but receive and send: CPU microseconds each.

    python3 bench/heartbeat_floor.py [--connections 3000,10000] [--heartbeat-ms 3000] [--seconds 15] [--runs 2]

Compiles heartbeat_floor.c with cc into a temporary folder and sends it frames as long as heartbeats, one at a
time, evenly spread over the connections.
"""

import argparse
import pathlib
import resource
import socket
import subprocess
import tempfile
import time

FRAME = b"x" * 110
ANSWER = 18
TICKS = 100  # a second, in /proc/PID/stat


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def connect(port):
    deadline = time.monotonic() + 10
    while True:
        try:
            client = socket.create_connection(("127.0.0.1", port), timeout=10)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return client
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def run(binary, connections, heartbeat_ms, seconds):
    port = free_port()
    server = subprocess.Popen([binary, str(port)])
    try:
        clients = [connect(port) for _ in range(connections)]
        time.sleep(0.5)
        before, begun, sent = cpu_seconds(server.pid), time.monotonic(), 0
        while (now := time.monotonic() - begun) < seconds:
            due = int(now * connections * 1000 / heartbeat_ms)
            while sent < due:
                client = clients[sent % connections]
                if sent >= connections and len(client.recv(64)) != ANSWER:
                    raise RuntimeError("an answer of another length")
                client.sendall(FRAME)
                sent += 1
            time.sleep(0.0002)
        time.sleep(0.2)
        return sent / seconds, (cpu_seconds(server.pid) - before) / sent * 1e6
    finally:
        server.kill()
        server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--connections", default="3000,10000", metavar="N,...")
    parser.add_argument("--heartbeat-ms", type=int, default=3000)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--runs", type=int, default=2)
    options = parser.parse_args()
    counts = [int(count) for count in options.connections.split(",")]
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    with tempfile.TemporaryDirectory() as folder:
        binary = str(pathlib.Path(folder, "heartbeat_floor"))
        source = pathlib.Path(__file__).with_suffix(".c")
        subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-o", binary, str(source)], check=True)
        for connections in counts:
            for _ in range(options.runs):
                rate, cost = run(binary, connections, options.heartbeat_ms, options.seconds)
                print(f"{connections} connections, {rate:.0f} a second: {cost:.1f} us", flush=True)


if __name__ == "__main__":
    main()
