"""Stands between clients and a broker, and cuts the connections of single clients, with a reset, by the beginning of
their client ids. While a client is refused, its new connections end with its first request.

All of it is one event loop in a thread. Frames pass unchanged; only the client id of the first request is read.
"""

import asyncio
import socket
import struct
import threading

# Size, api key, version, correlation id, and the length of the client id.
HEADER = struct.Struct(">ihhih")
CLIENT_ID_BYTES_MAX = 1024
CHUNK_BYTES = 1 << 16
CALL_SECONDS_MAX = 10


class Proxy:
    """Listens on `port` and passes everything on to `broker_port`."""

    def __init__(self, port, broker_port):
        self.broker_port = broker_port
        # The writers of each connection, the client's first, by client id; all of it is the loop's.
        self.links = {}
        self.refused = {}
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.call(asyncio.start_server(self.serve, "127.0.0.1", port))

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
            for writer in link:
                reset(writer)
        return len(doomed)

    def _allow(self, prefix):
        self.refused[prefix] -= 1
        if self.refused[prefix] == 0:
            del self.refused[prefix]

    async def serve(self, reader, writer):
        client_id, link = None, (writer,)
        try:
            first = await reader.readexactly(HEADER.size)
            length = HEADER.unpack(first)[-1]
            if length > CLIENT_ID_BYTES_MAX:
                return
            name = await reader.readexactly(max(length, 0))
            client_id = name.decode(errors="replace")
            if any(client_id.startswith(prefix) for prefix in self.refused):
                reset(writer)
                return
            broker_reader, broker_writer = await asyncio.open_connection("127.0.0.1", self.broker_port)
            link = (writer, broker_writer)
            self.links.setdefault(client_id, set()).add(link)
            broker_writer.write(first + name)
            await asyncio.gather(pass_on(reader, broker_writer), pass_on(broker_reader, writer))
        except (OSError, asyncio.IncompleteReadError):
            # One side has ended; the other one ends below.
            pass
        finally:
            if client_id in self.links:
                self.links[client_id].discard(link)
                if not self.links[client_id]:
                    del self.links[client_id]
            for one in link:
                one.close()


async def pass_on(reader, writer):
    """Until one of them ends, which ends both."""
    try:
        while some := await reader.read(CHUNK_BYTES):
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
