"""Ports for processes that must be told theirs: as crates/testkit/src/ports.rs, which says why."""

import fcntl
import os
import pathlib
import socket
import tempfile

RANGE = range(20_000, 32_000)
_held = []


def free():
    """A port of 127.0.0.1 that nobody listens on, and that nobody else is given."""
    locks = pathlib.Path(tempfile.gettempdir()) / "thalweg-ports"
    locks.mkdir(exist_ok=True)
    first = os.getpid() % len(RANGE)
    for port in [*RANGE[first:], *RANGE[:first]]:
        file = open(locks / str(port), "w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            continue
        try:
            with socket.socket() as one:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                one.bind(("127.0.0.1", port))
        except OSError:
            file.close()
            continue
        _held.append(file)
        return port
    raise RuntimeError(f"no port of {RANGE} is free")


def free_address():
    return f"127.0.0.1:{free()}"
