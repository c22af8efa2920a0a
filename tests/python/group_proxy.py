"""Stands between clients and a broker, and cuts the connections of single clients, with a reset, by the beginning of
their client ids. While a client is refused, its new connections end with its first request. It also restarts, with its
port closed for some time, and closes connections that are idle.

All of it is one event loop in a thread. Frames pass unchanged; only the client id of the first request, and the API keys
of all, are read.
"""

import asyncio
import socket
import struct
import threading
import time

# Size, api key, version, correlation id, and the length of the client id.
HEADER = struct.Struct(">ihhih")
CLIENT_ID_BYTES_MAX = 1024
CHUNK_BYTES = 1 << 16
CALL_SECONDS_MAX = 10
IDLE_LOOK_SECONDS = 0.1


class ApiKeys:
    """The API keys of the requests in what a client sends, piece by piece."""

    HEAD = struct.Struct(">ih")

    def __init__(self):
        self.head, self.to_skip = b"", 0

    def of(self, some):
        keys, at = [], 0
        while at < len(some):
            skipped = min(self.to_skip, len(some) - at)
            self.to_skip -= skipped
            at += skipped
            wanted = some[at : at + self.HEAD.size - len(self.head)]
            self.head += wanted
            at += len(wanted)
            if len(self.head) == self.HEAD.size:
                size, key = self.HEAD.unpack(self.head)
                self.head, self.to_skip = b"", max(size - 2, 0)
                keys.append(key)
        return keys


class Link:
    """A connection of a client, and the one to the broker that belongs to it."""

    def __init__(self, *writers):
        self.writers = writers
        self.used()

    def used(self):
        self.used_at = time.monotonic()

    def reset(self):
        for writer in self.writers:
            reset(writer)

    def close(self):
        for writer in self.writers:
            writer.close()


class Proxy:
    """Listens on `port` and passes everything on to `broker_port`."""

    def __init__(self, port, broker_port, on_request=lambda client_id, key: None):
        """`on_request` is called in the loop's thread, with each request's client id and API key."""
        self.port, self.broker_port, self.on_request = port, broker_port, on_request
        # All of it is the loop's. The links of each client id; a client's connections that have sent nothing have none.
        self.links = {}
        self.unnamed = set()
        self.refused = {}
        self.idle_seconds = self.idle_task = self.server = None
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.call(self._listen())

    async def _listen(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", self.port)

    def call(self, what):
        return asyncio.run_coroutine_threadsafe(what, self.loop).result(CALL_SECONDS_MAX)

    def cut(self, prefix, seconds=0.0):
        """Resets the connections of clients whose ids begin so, and refuses them for so long; gives their number."""
        return self.call(self._cut(prefix, seconds))

    async def _cut(self, prefix, seconds):
        if seconds > 0:
            self.refused[prefix] = self.refused.get(prefix, 0) + 1
            self.loop.call_later(seconds, self._allow, prefix)
        doomed = [link for client_id, links in self.links.items() if client_id.startswith(prefix) for link in links]
        for link in doomed:
            link.reset()
        return len(doomed)

    def restart(self, seconds, with_reset=False):
        """Ends all connections, with a reset or in good order, and refuses new ones on the port for so long; gives
        their number."""
        return self.call(self._restart(seconds, with_reset))

    async def _restart(self, seconds, with_reset):
        self.server.close()
        doomed = [link for links in self.links.values() for link in links] + list(self.unnamed)
        for link in doomed:
            link.reset() if with_reset else link.close()
        self.loop.call_later(seconds, lambda: self.loop.create_task(self._listen()))
        return len(doomed)

    def close_idle(self, seconds):
        """From now on, closes connections on which nothing passed for so long; `None`: no more."""
        self.call(self._close_idle(seconds))

    async def _close_idle(self, seconds):
        self.idle_seconds = seconds
        if seconds is not None and self.idle_task is None:
            self.idle_task = self.loop.create_task(self._look_for_idle())

    async def _look_for_idle(self):
        while self.idle_seconds is not None:
            oldest = time.monotonic() - self.idle_seconds
            for links in self.links.values():
                for link in links:
                    if link.used_at < oldest:
                        link.close()
            await asyncio.sleep(IDLE_LOOK_SECONDS)
        self.idle_task = None

    def _allow(self, prefix):
        self.refused[prefix] -= 1
        if self.refused[prefix] == 0:
            del self.refused[prefix]

    async def serve(self, reader, writer):
        client_id, link = None, Link(writer)
        self.unnamed.add(link)
        try:
            first = await reader.readexactly(HEADER.size)
            length = HEADER.unpack(first)[-1]
            if length > CLIENT_ID_BYTES_MAX:
                return
            name = await reader.readexactly(max(length, 0))
            client_id = name.decode(errors="replace")
            if any(client_id.startswith(prefix) for prefix in self.refused):
                link.reset()
                return
            broker_reader, broker_writer = await asyncio.open_connection("127.0.0.1", self.broker_port)
            self.unnamed.discard(link)
            link = Link(writer, broker_writer)
            self.links.setdefault(client_id, set()).add(link)
            keys = ApiKeys()

            def sent(some):
                for key in keys.of(some):
                    self.on_request(client_id, key)

            sent(first + name)
            broker_writer.write(first + name)
            await asyncio.gather(
                pass_on(reader, broker_writer, link, sent), pass_on(broker_reader, writer, link, lambda some: None)
            )
        except (OSError, asyncio.IncompleteReadError):
            # One side has ended; the other one ends below.
            pass
        finally:
            self.unnamed.discard(link)
            if client_id in self.links:
                self.links[client_id].discard(link)
                if not self.links[client_id]:
                    del self.links[client_id]
            link.close()


async def pass_on(reader, writer, link, passed):
    """Until one of them ends, which ends both."""
    try:
        while some := await reader.read(CHUNK_BYTES):
            link.used()
            passed(some)
            writer.write(some)
            await writer.drain()
    finally:
        writer.close()


def reset(writer):
    """Ends a connection at once, with a reset instead of an orderly end."""
    connection = writer.get_extra_info("socket")
    if connection is not None and connection.fileno() >= 0:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
